"""The synthetic layouts on which openadapt-grounding published its results.

    uiproof generate --compat openadapt-v1 --count 100 --seed 42      1922 elements
    uiproof generate --compat openadapt-v1 --count 50 --seed 42       48 samples, 1035 elements

Positions, sizes and types follow from the published rules and the order in which they draw from
Python's random numbers. The words are ours: only how many there are to choose from matters for
the layout. What is known to be unfortunate is kept: counts are cut off, boxes are those of the
layout rather than of what is drawn, texts repeat and may not fit, icons show only a letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from uiproof.benchmarks.grounding.data import AnnotatedElement, Dataset, ElementType, Sample
from uiproof.benchmarks.grounding.drawing import Canvas, Colour, Layer, Sprite, colour
from uiproof.benchmarks.grounding.drawing.masks import cap_height, lettering
from uiproof.benchmarks.grounding.drawing.masks import rounded_box as box_mask
from uiproof.benchmarks.grounding.synthetic import DEFAULT_MIX, write_samples
from uiproof.benchmarks.grounding.synthetic.generator import Progress
from uiproof.boxes import PixelBox
from uiproof.errors import UsageError

COMPAT = "openadapt-v1"
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
_WORDS = {
    ElementType.BUTTON: (
        *("Save", "Cancel", "Send", "Open", "Close", "Print", "Share", "Start", "Stop", "Pause"),
        *("Retry", "Accept", "Decline", "Upload", "Download", "Refresh", "Export", "Import"),
        *("Confirm", "Continue", "Register", "Join", "Leave", "Invite", "Publish", "Archive"),
        *("Restore", "Connect", "Install", "Verify"),
    ),
    ElementType.LINK: (
        *("Read on", "Contact", "Imprint", "Careers", "Press", "Partners", "Support", "Guides"),
        *("Pricing", "Roadmap", "Releases", "Community", "Tutorials", "Licences", "Site map"),
    ),
    ElementType.ICON: (
        *("search", "menu", "home", "user", "bell", "heart", "star", "cart", "lock", "mail"),
        *("camera", "clock", "folder", "pencil", "trash", "globe", "flag", "cloud", "music"),
        "gear",
    ),
    ElementType.TEXT: (
        *("Title", "Name", "Street", "City", "Country"),
        *("Phone", "Amount", "Notes", "Status", "Summary"),
    ),
}


@dataclass(frozen=True, slots=True)
class _Element:
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
    out: Path, *, count: int = 100, seed: int = 42, progress: Progress | None = None
) -> Dataset:
    """Make the published layouts in the folder `out`; as published, `count` is cut off by kind."""
    screens = list(_screens(Random(seed), count))
    if not screens:
        raise UsageError(
            f"A count of {count} gives no samples: each kind's share is cut off.",
            remedy="Ask for at least 4, or leave out --compat.",
        )
    settings = {"generator": COMPAT, "generator_version": "1", "seed": seed, "count": count}
    made = ((_sample(number, screen), _drawn(screen)) for number, screen in enumerate(screens))
    return write_samples(out, made, settings, total=len(screens), progress=progress)


def _screens(random: Random, count: int) -> Iterator[_Screen]:
    for name, share in DEFAULT_MIX.items():
        level, theme = name.split("-")
        for _ in range(int(count * share)):
            background = random.choice(_BACKGROUNDS[theme])
            yield _Screen(level, theme, background, tuple(_elements(random, level)))


def _elements(random: Random, level: str) -> list[_Element]:
    fewest, most, smallest, largest = _LEVELS[level]
    placed: list[_Element] = []
    for _ in range(random.randint(fewest, most)):
        kind = random.choices(_TYPES, _TYPE_WEIGHTS)[0]
        for _ in range(_TRIES):
            width = random.randint(smallest, largest)
            height = random.randint(smallest // 3, smallest)
            if kind is ElementType.ICON:
                height = width
            elif kind is ElementType.TEXT_FIELD:
                width, height = max(width, 150), max(30, smallest // 2)
            x = random.randint(_MARGIN, WIDTH - width - _MARGIN)
            y = random.randint(_MARGIN, HEIGHT - height - _MARGIN)
            if any(_close(x, y, width, height, other) for other in placed):
                continue
            # Fields choose among the words of texts.
            word = random.choice(_WORDS.get(kind, _WORDS[ElementType.TEXT]))
            fill = random.choice(_BUTTON_FILLS) if kind is ElementType.BUTTON else ""
            placed.append(_Element(kind, word, x, y, width, height, fill))
            break
    return placed


def _close(x: int, y: int, width: int, height: int, other: _Element) -> bool:
    apart = (
        x + width + _GAP < other.x
        or other.x + other.width + _GAP < x
        or y + height + _GAP < other.y
        or other.y + other.height + _GAP < y
    )
    return not apart


def _sample(number: int, screen: _Screen) -> Sample:
    name = f"synthetic_{number:04d}"
    metadata = {"difficulty": screen.level, "theme": screen.theme}
    elements = tuple(_annotated(order, one) for order, one in enumerate(screen.elements))
    return Sample(name, f"samples/{name}.png", WIDTH, HEIGHT, elements, metadata)


def _annotated(order: int, one: _Element) -> AnnotatedElement:
    box = PixelBox(one.x, one.y, one.x + one.width, one.y + one.height)
    names = {
        ElementType.ICON: f"{one.word} icon",
        ElementType.TEXT: f"text '{one.word}'",
        ElementType.TEXT_FIELD: f"{one.word} text field",
    }
    name = names.get(one.kind, f"'{one.word}' {one.kind}")
    return AnnotatedElement(
        id=f"elem_{order:03d}",
        bbox=box.normalised(WIDTH, HEIGHT),
        text=_placeholder(one) if one.kind is ElementType.TEXT_FIELD else one.word,
        element_type=one.kind,
        instruction=f"Click on the {name}",
    )


def _placeholder(one: _Element) -> str:
    return f"Enter {one.word.lower()}..."


def _drawn(screen: _Screen) -> bytes:
    canvas = Canvas(WIDTH, HEIGHT, colour(screen.background))
    for one in screen.elements:
        layers = tuple(_layers(one, _TONES[screen.theme]))
        canvas.paint(Sprite(one.width, one.height, layers), one.x, one.y)
    return canvas.png()


def _layers(one: _Element, tones: _Tones) -> Iterator[Layer]:
    middle = one.width // 2
    if one.kind is ElementType.BUTTON:
        yield Layer(0, 0, box_mask(one.width, one.height, 4), colour(one.fill))
        yield _line(one.word, one.height, colour("#ffffff"), middle=middle)
    elif one.kind is ElementType.LINK:
        line = _line(one.word, one.height, colour(tones.link), middle=middle)
        underline = box_mask(line.mask.shape[1], 1, 0)
        yield line
        yield Layer(line.x, (one.height + cap_height(_LETTERS)) // 2 + 1, underline, line.colour)
    elif one.kind is ElementType.ICON:
        side = one.width - 4
        yield Layer(2, 2, box_mask(side, side, side // 2), colour(tones.icon))
        yield _line(one.word[0].upper(), one.height, colour("#ffffff"), middle=middle)
    elif one.kind is ElementType.TEXT_FIELD:
        yield Layer(0, 0, box_mask(one.width, one.height, 0), colour(tones.border))
        inner = box_mask(one.width - 2, one.height - 2, 0)
        yield Layer(1, 1, inner, colour(tones.field))
        ink = colour(tones.placeholder)
        yield _line(_placeholder(one), one.height, ink, size=_FIELD_LETTERS)
    else:
        yield _line(one.word, one.height, colour(tones.text), middle=middle)


def _line(
    text: str, height: int, ink: Colour, *, size: int = _LETTERS, middle: int | None = None
) -> Layer:
    """A line of text in the middle of its element, or 8 pixels from the left."""
    line = lettering(text, size)
    x = 8 if middle is None else middle - line.width // 2
    return Layer(x, (height + cap_height(size)) // 2 - line.rise, line.mask, ink)
