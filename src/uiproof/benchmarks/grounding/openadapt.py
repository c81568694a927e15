"""The synthetic data sets of openadapt-grounding 0.1.2, on which it published its results.

    uiproof generate --compat openadapt-v1 --count 100 --seed 42      1922 elements
    uiproof generate --compat openadapt-v1 --count 50 --seed 42       48 samples, 1035 elements

Ids, boxes, types, texts, instructions and metadata equal the original's: they follow from its
rules, its lists of words and the order in which it draws random numbers. Only the pictures have
another font. Its flaws are kept: counts are truncated, boxes are those of the layout rather than of
what is drawn, texts repeat and may not fit, icons show only a letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from PIL import Image

from uiproof.benchmarks.grounding.data import AnnotatedElement, Dataset, ElementType, Sample
from uiproof.benchmarks.grounding.drawing import (
    Layer,
    Sprite,
    cap_height,
    paint,
    png,
    rounded_box,
    text_layer,
    text_width,
)
from uiproof.benchmarks.grounding.synthetic import DEFAULT_MIX, Progress, write_samples
from uiproof.errors import UsageError
from uiproof.geometry import PixelBox

COMPAT = ("openadapt-v1", "openadapt-0.1.2")  # two names of the same
WIDTH, HEIGHT = 1920, 1080
_MARGIN, _GAP, _TRIES = 20, 10, 20
_LEVELS = {"easy": (3, 8, 80, 200), "medium": (8, 20, 40, 150), "hard": (20, 50, 16, 80)}
_TYPES = (
    ElementType.BUTTON,
    ElementType.ICON,
    ElementType.TEXT,
    ElementType.LINK,
    ElementType.TEXT_FIELD,
)
_TYPE_WEIGHTS = (0.35, 0.20, 0.20, 0.15, 0.10)
_LETTERS, _FIELD_LETTERS = 14, 12

_BACKGROUNDS = {
    "light": ("#ffffff", "#f5f5f5", "#fafafa", "#f0f0f0", "#e8e8e8"),
    "dark": ("#1e1e1e", "#2d2d2d", "#333333", "#424242", "#212121"),
}
_BUTTON_FILLS = (
    *("#2196f3", "#4caf50", "#f44336", "#ff9800", "#9c27b0"),
    *("#607d8b", "#00bcd4", "#795548", "#3f51b5", "#009688"),
)


@dataclass(frozen=True, slots=True)
class _Tones:
    link: str
    icon: str
    text: str
    field: str
    border: str
    placeholder: str


_TONES = {
    "light": _Tones("#1976d2", "#757575", "#333333", "#ffffff", "#cccccc", "#999999"),
    "dark": _Tones("#64b5f6", "#bdbdbd", "#eeeeee", "#2d2d2d", "#555555", "#666666"),
}
# The lists of the original: their order decides which word a random number gives.
_WORDS = {
    ElementType.BUTTON: (
        *("Submit", "Cancel", "OK", "Save", "Delete", "Close", "Open", "New", "Edit", "Copy"),
        *("Paste", "Undo", "Redo", "Apply", "Next", "Back", "Continue", "Finish", "Start", "Stop"),
        *("Pause", "Resume", "Refresh", "Update", "Download", "Upload", "Send", "Share", "Print"),
        "Export",
    ),
    ElementType.LINK: (
        *("Learn more", "Sign up", "Log in", "Forgot password?", "Help", "Contact us"),
        *("Privacy Policy", "Terms of Service", "View details", "See all", "Read more"),
        *("Click here", "Get started", "Try it free", "Sign out"),
    ),
    ElementType.ICON: (
        *("settings", "search", "home", "menu", "close", "add", "remove", "share", "download"),
        *("upload", "refresh", "star", "heart", "bookmark", "edit", "delete", "copy", "paste"),
        *("undo", "redo"),
    ),
    ElementType.TEXT: (
        *("Username", "Password", "Email", "Phone", "Address"),
        *("Name", "Title", "Description", "Message", "Comment"),
    ),
}


@dataclass(frozen=True, slots=True)
class _Element:
    order: int  # among the elements that were tried, some of which found no place
    kind: ElementType
    word: str
    x: int
    y: int
    width: int
    height: int
    fill: str  # of buttons


@dataclass(frozen=True, slots=True)
class _Screen:
    level: str
    theme: str
    background: str
    elements: tuple[_Element, ...]


def generate(
    out: Path,
    *,
    count: int = 100,
    seed: int = 42,
    width: int = WIDTH,
    height: int = HEIGHT,
    mix: Mapping[str, float] = DEFAULT_MIX,
    progress: Progress | None = None,
) -> Dataset:
    """Write the original's data set to the folder `out`; `count` is truncated per part of `mix`.

    `mix` maps names such as `easy-light` to shares.
    """
    # The widest element is a text field or the widest icon, which is also the highest element.
    largest = max((_LEVELS[name.split("-")[0]][3] for name in mix), default=0)
    if width < max(largest, 150) + 2 * _MARGIN or height < largest + 2 * _MARGIN:
        raise UsageError(
            f"{width}x{height} has no room for the largest elements, which have {largest} pixels.",
            remedy=f"Use at least {max(largest, 150) + 2 * _MARGIN}x{largest + 2 * _MARGIN}.",
        )
    screens = list(_screens(Random(seed), count, mix, (width, height)))
    if not screens:
        raise UsageError(
            f"A count of {count} gives no samples: each kind's share is truncated.",
            remedy="Ask for at least 4, or leave out --compat.",
        )
    settings = {
        "generator": COMPAT[0],
        "generator_version": "3",
        "seed": seed,
        "count": count,
        "resolution": f"{width}x{height}",
        "mix": dict(mix),
    }
    metadata = {
        "num_samples": len(screens),
        "distribution": {name.replace("-", "_"): share for name, share in mix.items()},
        "width": width,
        "height": height,
    }
    size = (width, height)
    made = (
        (_sample(number, screen, size), _drawn(screen, size))
        for number, screen in enumerate(screens)
    )
    return write_samples(
        out, made, settings, total=len(screens), metadata=metadata, progress=progress
    )


def _screens(
    random: Random, count: int, mix: Mapping[str, float], size: tuple[int, int]
) -> Iterator[_Screen]:
    for name, share in mix.items():
        level, theme = name.split("-")
        for _ in range(int(count * share)):
            background = random.choice(_BACKGROUNDS[theme])
            yield _Screen(level, theme, background, tuple(_elements(random, level, size)))


def _elements(random: Random, level: str, size: tuple[int, int]) -> list[_Element]:
    fewest, most, smallest, largest = _LEVELS[level]
    placed: list[_Element] = []
    taken: list[tuple[int, int, int, int]] = []
    for order in range(random.randint(fewest, most)):
        kind = random.choices(_TYPES, _TYPE_WEIGHTS)[0]
        for _ in range(_TRIES):
            width = random.randint(smallest, largest)
            height = random.randint(smallest // 3, smallest)
            if kind is ElementType.ICON:
                height = width
            elif kind is ElementType.TEXT_FIELD:
                width, height = max(width, 150), max(30, smallest // 2)
            x = random.randint(_MARGIN, size[0] - width - _MARGIN)
            y = random.randint(_MARGIN, size[1] - height - _MARGIN)
            if any(_close((x, y, width, height), other) for other in taken):
                continue
            # Fields choose among the words of texts.
            word = random.choice(_WORDS.get(kind, _WORDS[ElementType.TEXT]))
            fill = random.choice(_BUTTON_FILLS) if kind is ElementType.BUTTON else ""
            placed.append(_Element(order, kind, word, x, y, width, height, fill))
            taken.append(_kept((x, y, width, height), size))
            break
    return placed


def _kept(place: tuple[int, int, int, int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a place as the original keeps it: as fractions and back, which may lose a pixel."""
    (x, y, width, height), (across, down) = place, size
    return (
        int(x / across * across),
        int(y / down * down),
        int(width / across * across),
        int(height / down * down),
    )


def _close(place: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    (x, y, width, height), (left, top, wide, high) = place, other
    apart = (
        x + width + _GAP < left
        or left + wide + _GAP < x
        or y + height + _GAP < top
        or top + high + _GAP < y
    )
    return not apart


def _sample(number: int, screen: _Screen, size: tuple[int, int]) -> Sample:
    name = f"synthetic_{number:04d}"
    elements = tuple(_annotated(name, one, size) for one in screen.elements)
    metadata = {"difficulty": screen.level, "theme": screen.theme, "num_elements": len(elements)}
    return Sample(name, f"samples/{name}.png", *size, elements, metadata)


def _annotated(sample: str, one: _Element, size: tuple[int, int]) -> AnnotatedElement:
    box = PixelBox(one.x, one.y, one.x + one.width, one.y + one.height)
    names = {
        ElementType.ICON: f"{one.word} icon",
        ElementType.TEXT: f"text '{one.word}'",
        ElementType.TEXT_FIELD: f"{one.word} text field",
    }
    name = names.get(one.kind, f"'{one.word}' {one.kind}")
    return AnnotatedElement(
        id=f"{sample}_elem_{one.order:03d}",
        bbox=box.normalised(*size),
        text=one.word,
        element_type=one.kind,
        instruction=f"Click on the {name}",
    )


def _drawn(screen: _Screen, size: tuple[int, int]) -> bytes:
    picture = Image.new("RGB", size, screen.background)
    for one in screen.elements:
        layers = tuple(_layers(one, _TONES[screen.theme]))
        paint(picture, Sprite(one.width, one.height, layers), one.x, one.y)
    return png(picture)


def _layers(one: _Element, tones: _Tones) -> Iterator[Layer]:
    if one.kind is ElementType.BUTTON:
        yield Layer(0, 0, rounded_box(one.width, one.height, 4), one.fill)
        yield _centred(one.word, one, "#ffffff")
    elif one.kind is ElementType.LINK:
        line = _centred(one.word, one, tones.link)
        yield line
        underline = rounded_box(line.mask.width, 1, 0)
        yield Layer(line.x, (one.height + cap_height(_LETTERS)) // 2 + 1, underline, line.colour)
    elif one.kind is ElementType.ICON:
        side = one.width - 4
        yield Layer(2, 2, rounded_box(side, side, side // 2), tones.icon)
        yield _centred(one.word[0].upper(), one, "#ffffff")
    elif one.kind is ElementType.TEXT_FIELD:
        yield Layer(0, 0, rounded_box(one.width, one.height, 0), tones.border)
        yield Layer(1, 1, rounded_box(one.width - 2, one.height - 2, 0), tones.field)
        words = f"Enter {one.word.lower()}..."
        yield text_layer(words, _FIELD_LETTERS, 8, one.height, tones.placeholder)
    else:
        yield _centred(one.word, one, tones.text)


def _centred(text: str, one: _Element, ink: str) -> Layer:
    """Return a line of text in the middle of its element."""
    x = one.width // 2 - text_width(text, _LETTERS) // 2
    return text_layer(text, _LETTERS, x, one.height, ink)
