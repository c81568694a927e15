"""Synthetic grounding data: simple pages whose elements are known to the pixel.

    uiproof generate --type synthetic --count 500 --out DIR

The same options give the same pixels and annotations on every machine with the same Pillow. Every
sample depends on its own plan alone, so they can be made in any order.

Boxes are tight around what is drawn; `clickable` adds the padding in which texts, links, icons and
checkboxes react. An instruction names one element; where two have the same text, it adds the
position ("the left-most 'Save' button", "the second 'Open' link from the top"). Instructions for
things that are not there (`negatives`) have `refusal` set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, Literal

from PIL import Image

from uiproof.benchmarks.grounding import drawing
from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    Dataset,
    ElementType,
    Sample,
    annotations_file,
    read_dataset,
    write_dataset,
)
from uiproof.benchmarks.grounding.drawing import PICTOGRAMS, Colour, Sprite, png
from uiproof.errors import InputError, UsageError
from uiproof.files import access, write_atomic
from uiproof.geometry import Box, PixelBox

GENERATOR = "uiproof-synthetic"
VERSION = "2"  # grows whenever the same options would give other pages

DEFAULT_MIX: Mapping[str, float] = {
    "easy-light": 0.15,
    "easy-dark": 0.05,
    "medium-light": 0.30,
    "medium-dark": 0.15,
    "hard-light": 0.20,
    "hard-dark": 0.15,
}
_LARGEST_SIDE = 16_384
_MANIFEST = "made_by"  # the key of the settings where the metadata is given
_MOST_NEGATIVES = 0.5  # there are not enough words for more on a full page
_PADDED = {ElementType.TEXT, ElementType.LINK, ElementType.ICON, ElementType.CHECKBOX}

Resolution = tuple[int, int]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """The settings of one sample."""

    index: int
    level: str
    dark: bool
    width: int
    height: int
    scale: float

    @property
    def id(self) -> str:
        """Return the name of the sample and, with `.png`, of its picture."""
        return f"{self.index:04d}-{self.level}-{'dark' if self.dark else 'light'}"


def generate(
    out: Path,
    *,
    count: int = 500,
    seed: int = 42,
    resolutions: Sequence[Resolution] = ((1920, 1080),),
    scales: Sequence[float] = (1.0,),
    negatives: float = 0.0,
    progress: Progress | None = None,
) -> Dataset:
    """Make a data set of exactly `count` samples in the folder `out`.

    `scales` are device pixel ratios, as on dense screens. With several resolutions or scales,
    samples take turns. `negatives` is the share of instructions that ask for something that is not
    there, at most a half. `progress` is called with the number of finished samples and `count`.
    """
    plans = plan_samples(count, resolutions=resolutions, scales=scales)
    if not 0 <= negatives <= _MOST_NEGATIVES:
        raise UsageError(
            f"A share of {negatives} negatives is not possible.",
            remedy=f"Use a number from 0 to {_MOST_NEGATIVES}.",
        )
    settings = {
        "generator": GENERATOR,
        "generator_version": VERSION,
        "seed": seed,
        "count": count,
        "resolutions": [f"{width}x{height}" for width, height in resolutions],
        "scales": [float(scale) for scale in scales],
        "negatives": float(negatives),
        "mix": dict(DEFAULT_MIX),
    }
    made = (make_sample(seed, one, negatives=negatives) for one in plans)
    return write_samples(out, made, settings, total=count, progress=progress)


def write_samples(
    out: Path,
    made: Iterable[tuple[Sample, bytes]],
    settings: Mapping[str, Any],
    *,
    total: int,
    metadata: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Write samples and their PNG files, and at last the annotations with a manifest.

    `InputError` if the folder holds a data set of other settings. The settings and the digests of
    the pictures are the data set's metadata; if `metadata` is given, they are written beside it.
    """
    _check_free(out, settings)
    folder = out / "samples"
    with access(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    samples: list[Sample] = []
    digests: dict[str, str] = {}
    for sample, picture in made:
        file = out / sample.image_path
        with access(file, "written"):
            write_atomic(file, picture)
        samples.append(sample)
        digests[sample.image_path] = hashlib.sha256(picture).hexdigest()
        if progress:
            progress(len(samples), total)
    manifest = {**settings, "sha256": digests}
    if metadata is None:
        dataset = Dataset("synthetic", "1.0", tuple(samples), manifest)
    else:
        extra = {_MANIFEST: manifest}
        dataset = Dataset("synthetic", "1.0", tuple(samples), metadata, extra)
    write_dataset(dataset, out)
    return dataset


def _check_free(out: Path, settings: Mapping[str, Any]) -> None:
    if not annotations_file(out).is_file():
        return
    found = read_dataset(out)
    there = dict(found.extra.get(_MANIFEST) or found.metadata)
    there.pop("sha256", None)
    if there != settings:
        raise InputError(
            f"{out} already holds another data set.",
            remedy="Name another folder with --out, or delete this one.",
        )


def plan_samples(
    count: int,
    *,
    resolutions: Sequence[Resolution] = ((1920, 1080),),
    scales: Sequence[float] = (1.0,),
) -> list[SamplePlan]:
    """Plan each sample, so that any number of first samples has nearly the mix of the whole."""
    sides = [side for size in resolutions for side in size]
    if count < 1 or not resolutions or not scales:
        raise UsageError("A data set needs at least one sample, resolution and scale.")
    if not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise UsageError(f"Sides have 1 to {_LARGEST_SIDE} pixels.")
    if not all(0.5 <= scale <= 8 for scale in scales):
        raise UsageError("Scales are from 0.5 to 8.")
    screens = list(product(resolutions, scales))
    kinds = []
    for order, (name, number) in enumerate(shares(count).items()):
        for turn in range(number):
            kinds.append((Fraction(2 * turn + 1, 2 * number), order, name, turn))
    plans = []
    for index, (_, order, name, turn) in enumerate(sorted(kinds)):
        level, tone = name.split("-")
        (width, height), scale = screens[(turn + order) % len(screens)]
        plans.append(SamplePlan(index, level, tone == "dark", width, height, float(scale)))
    return plans


def shares(count: int) -> dict[str, int]:
    """Divide `count` by the mix with largest remainders, so that the parts add up exactly."""
    exact = {name: count * Fraction(str(weight)) for name, weight in DEFAULT_MIX.items()}
    parts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[: count - sum(parts.values())]:
        parts[name] += 1
    return parts


def make_sample(seed: int, one: SamplePlan, *, negatives: float = 0.0) -> tuple[Sample, bytes]:
    """Make one sample and its picture; they depend on the seed and the plan alone."""
    page, random = make_page(seed, one)
    elements = _elements(page)
    elements += refusals(random, page, len(elements), negatives)
    metadata = {
        "difficulty": one.level,
        "theme": "dark" if one.dark else "light",
        "scale": one.scale,
    }
    path = f"samples/{one.id}.png"
    sample = Sample(one.id, path, one.width, one.height, tuple(elements), metadata)
    return sample, png(render(page))


def make_page(seed: int, one: SamplePlan) -> tuple[Page, Random]:
    """Return the page of a plan, and the random numbers that follow it."""

    def px(length: int) -> int:
        return max(int(length * one.scale + 0.5), 1)

    screen = f"{one.width}x{one.height}@{one.scale}"
    random = Random(f"{GENERATOR}/{VERSION}/{seed}/{one.id}/{screen}")
    level = LEVELS[one.level]
    page = compose(random, level, dark=one.dark, width=one.width, height=one.height, px=px)
    return page, random


def _elements(page: Page) -> list[AnnotatedElement]:
    ranks = tell_apart(page.items, page.arrangement, 1)
    assert ranks is not None  # pages are made so
    elements = []
    for number, (item, (x, y), rank) in enumerate(
        zip(page.items, page.arrangement.places, ranks, strict=True)
    ):
        box = PixelBox(x, y, x + item.sprite.width, y + item.sprite.height)
        pad = page.padding if item.kind in _PADDED else 0
        around = PixelBox(box.left - pad, box.top - pad, box.right + pad, box.bottom + pad)
        elements.append(
            AnnotatedElement(
                id=f"{number:02d}-{item.kind}",
                bbox=box.normalised(page.width, page.height),
                text=item.text,
                element_type=item.kind,
                instruction=f"Click on the {described(item.kind, item.text, rank)}",
                clickable=around.normalised(page.width, page.height),
            )
        )
    return elements


def parse_resolution(text: str) -> Resolution:
    """Parse width and height, such as `1280x720`."""
    found = re.fullmatch(r"\s*([0-9]{1,5})\s*[xX×]\s*([0-9]{1,5})\s*", text)
    if found is None:
        raise UsageError(f"{text!r} is not a resolution.", remedy="Write it like 1280x720.")
    return int(found[1]), int(found[2])


# --- instructions

_ORDINALS = ("first", "second", "third", "fourth")  # pages have no more elements that look alike
_ENDS = (("left-most", "right-most", "left"), ("top-most", "bottom-most", "top"))


def described(kind: ElementType, text: str, rank: tuple[int, int, int] | None) -> str:
    """Return the name of an element in an instruction; `rank` is one of `tell_apart`."""
    noun = kind.replace("_", " ")
    if kind is ElementType.TEXT:
        name = f"text '{text}'"
    elif kind is ElementType.ICON:
        name = f"{text} icon"
    else:
        name = f"'{text}' {noun}"
    if rank is None:
        return name
    axis, place, of = rank
    first, last, side = _ENDS[axis]
    if place == 0:
        return f"{first} {name}"
    if place == of - 1:
        return f"{last} {name}"
    return f"{_ORDINALS[place]} {name} from the {side}"


def refusals(random: Random, page: Page, elements: int, negatives: float) -> list[AnnotatedElement]:
    """Return instructions for missing elements: about this share of all instructions."""
    if not negatives:
        return []
    wanted = int(elements * negatives / (1 - negatives) + random.random())
    everything = {**WORDS, ElementType.ICON: tuple(PICTOGRAMS)}
    absent = [
        (kind, text)
        for kind, texts in everything.items()
        for text in texts
        if is_absent(text, kind, page.items)
    ]
    random.shuffle(absent)
    return [
        AnnotatedElement(
            id=f"absent-{order:02d}-{kind}",
            bbox=Box(0, 0, 0, 0),
            text=text,
            element_type=kind,
            instruction=f"Click on the {described(kind, text, None)}",
            refusal=True,
        )
        for order, (kind, text) in enumerate(absent[:wanted])
    ]


def is_absent(text: str, kind: ElementType, items: Sequence[DrawnElement]) -> bool:
    """Return whether a text can mean no word and no icon on a page."""
    wanted = {text.lower(), *(PICTOGRAMS[text].meanings if kind is ElementType.ICON else ())}
    for item in items:
        there = {item.text.lower()}
        if item.kind is ElementType.ICON:
            there |= set(PICTOGRAMS[item.text].meanings)
        if any(a in b or b in a for a in wanted for b in there):
            return False
    return True


Surface = Literal["bar", "side", "card"]
Size = tuple[int, int]
Position = tuple[int, int]
Pixels = Callable[[int], int]  # from design pixels to those of the screen


# --- words

# No word is used for two kinds of elements.
_TEXTS = {
    ElementType.BUTTON: """
Save|Cancel|Submit|Apply|Continue|Sign in|Register|Delete|Add item|Send|Upload|Download|Print
Export|Import|Share|Refresh|Start|Stop|Finish|Confirm|Reset|Undo|Redo|Publish|Archive|Duplicate
Subscribe|Checkout|Book now|Pay|Compare|Connect|Install|Update|Verify|Accept|Decline|Reply|Forward
Preview|Generate|Launch|Join|Leave|Invite|Filter|Sort|Enable|Restore|Merge|Copy|Paste|Create account
Place order|Get started|Try again|Log out|OK|Go
""",
    ElementType.LINK: """
Forgot password?|Learn more|Terms of use|Privacy policy|Contact us|Help centre|About us|Careers
Read article|View all|Show details|Release notes|Documentation|Community|Site map|Press kit|Imprint
Cookie notice|Report a problem|Give feedback|Change plan|Manage cookies|See examples|Our partners
Shipping costs|Size guide|Opening hours|Gift cards|Newsroom|Investors|Blog|FAQ|Pricing|Tutorials
Mirror sites|Licences|Accessibility|Store finder|Student offers|Roadmap
""",
    ElementType.TEXT: """
Welcome back|Overview|Recent activity|Total revenue|Account balance|Order summary|Your profile
Team members|Weekly report|Last login|Unread messages|Storage used|Monthly goal|Next payment|Status
Pending tasks|System health|New customers|Conversion rate|Visitors today|Project plan|Open tickets
Shipping address|Billing details|Top products|Latest news|Performance|Server load|Active users
Inventory|Upcoming events|Work log|Sales|Profit|Budget|Tasks|Notes|Drafts|Goals|Queue|Backlog
Quarterly results|Response time|Free trial|Premium plan|Version 4.2|Last backup|Draft saved|Room 214
12 items found|3 days left|Step 2 of 5|Total 48.90|In stock|Sold out|Offline|Synced|Page 7
""",
    ElementType.TEXT_FIELD: """
Email address|Password|Username|First name|Last name|Phone number|Street|City|Postcode|Company
Job title|Website|Search term|Card number|Promo code|Comment|Subject|Message|Full name|Nickname
Order number|Tax number|Birthday|Amount|Quantity|Coupon|House number|File name|Tag|Title|Keyword
Account number|Middle name|Department|Height|Weight|Floor|PIN
""",
    ElementType.CHECKBOX: """
Remember me|I agree|Send copies|Show hidden files|Auto-save|Dark mode|Large print|Mute sounds
Gift wrap|Express delivery|Weekly digest|Use location|Keep me signed in|Public profile
Two-step login|Spell check|Line numbers|Word wrap|Snap to grid|Loop video|Subtitles
Read aloud|Backups|Invoices
Sticky|Urgent|Private|Pinned|Repeat|All day|Rulers|Table|Guides|Zoom lock|Hints|Sound
""",
    ElementType.DROPDOWN: """
Country|Language|Time zone|Currency|Category|Sort order|Date range|Font size|Page layout|Priority
Payment method|Delivery slot|Colour|Size|Region|Theme|Quality|Resolution|Format|Account type
Year|Month|Weekday|Role|Group|Branch|Printer|Paper|Speed|Unit|Level|Gender|Model|Brand|Season|Shift
""",
}
WORDS = {kind: tuple(re.split(r"[|\n]", block.strip())) for kind, block in _TEXTS.items()}


# --- pages

_ATTEMPTS = 40  # arrangements to try; from the middle on plain ones, with fewer elements
_TWINS = 0.06  # share of elements that say the same as another one, as lists in real pages do
_MOST_ALIKE = 4
_KINDS = (
    (ElementType.BUTTON, 26),
    (ElementType.ICON, 20),
    (ElementType.TEXT, 15),
    (ElementType.LINK, 13),
    (ElementType.TEXT_FIELD, 10),
    (ElementType.CHECKBOX, 8),
    (ElementType.DROPDOWN, 8),
)


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the page."""

    surface: Surface
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The top left corner of every element, and the areas below them."""

    places: tuple[Position, ...]
    areas: tuple[Area, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A difficulty: the number of elements, and their longer sides in pixels."""

    fewest: int
    most: int
    smallest: int
    largest: int
    letters: tuple[int, int]  # the sizes that texts may have


LEVELS: Mapping[str, Level] = {
    "easy": Level(3, 8, 80, 200, (15, 34)),
    "medium": Level(8, 20, 40, 150, (12, 22)),
    "hard": Level(20, 50, 16, 80, (11, 14)),
}


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a page."""

    page: Colour
    surfaces: Mapping[Surface, Colour]
    line: Colour  # around cards
    ink: Colour
    faint: Colour  # what fields say while they are empty
    link: Colour
    field: Colour
    border: Colour
    accents: tuple[Colour, ...]
    quiet: Colour  # buttons that do not stand out


@dataclass(frozen=True, slots=True, eq=False)
class DrawnElement:
    """An element as it is drawn; elements that look alike are the same object."""

    kind: ElementType
    text: str
    sprite: Sprite


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its elements and their arrangement."""

    width: int
    height: int
    theme: Theme
    items: tuple[DrawnElement, ...]
    arrangement: Arrangement
    padding: int  # how far around an element without a border one may click


_ACCENTS = "#1d5fd1 #157a4a #b3261e #6b3fa0 #0b7285 #a14a00 #37474f #b02a6b"
_LIGHT = (
    # page, card, bar, side
    "#ffffff #f4f6f8 #eef1f5 #f7f7f8",
    "#f3f4f6 #ffffff #ffffff #e9ecf0",
    "#eef2f7 #ffffff #dfe7f1 #f8fafc",
    "#faf8f5 #ffffff #f0ebe3 #f3efe9",
)
_DARK = (
    "#16181d #21242b #1c1f26 #1b1e24",
    "#1e1e1e #2a2a2c #252526 #232325",
    "#0f1720 #1a2532 #14202c #131d28",
    "#212121 #2e2e2e #1a1a1a #282828",
)


def _theme(random: Random, *, dark: bool) -> Theme:
    """Choose colours that go together."""
    page, card, bar, side = random.choice(_DARK if dark else _LIGHT).split()
    tones = (
        "#3a3f47 #f1f3f5 #a9b1bb #82b7ff #12151a #7b8491 #3b424c"
        if dark
        else "#d5d9df #1f2328 #666d76 #1558b8 #ffffff #9aa1ab #e4e7eb"
    )
    line, ink, faint, link, field, border, quiet = tones.split()
    accents = tuple(random.sample(_ACCENTS.split(), 2))
    surfaces: dict[Surface, Colour] = {"card": card, "bar": bar, "side": side}
    return Theme(page, surfaces, line, ink, faint, link, field, border, accents, quiet)


def compose(
    random: Random, level: Level, *, dark: bool, width: int, height: int, px: Pixels
) -> Page:
    """Make a page of this level; `InputError` when the screen is too small for it."""
    theme = _theme(random, dark=dark)
    items = _items(random, level, theme, px)
    for attempt in range(_ATTEMPTS):
        plain = attempt >= _ATTEMPTS // 2
        sizes = [(item.sprite.width, item.sprite.height) for item in items]
        found = arrange(random, sizes, width, height, px, plain=plain)
        if found and tell_apart(items, found, px(10)):
            return Page(width, height, theme, tuple(items), found, px(4))
        if plain:
            del items[max(len(items) * 9 // 10, level.fewest) :]
    raise InputError(
        f"A screen of {width}x{height} has no room for {level.fewest} elements of this size.",
        remedy="Use a larger resolution or a smaller scale.",
    )


def render(page: Page) -> Image.Image:
    """Draw a page: its areas, then its elements."""
    picture = Image.new("RGB", (page.width, page.height), page.theme.page)
    for area in page.arrangement.areas:
        card = area.surface == "card"
        radius, line = (2 * page.padding, page.theme.line) if card else (0, None)
        panel = drawing.panel(
            area.width, area.height, page.theme.surfaces[area.surface], radius, line
        )
        drawing.paint(picture, panel, area.x, area.y)
    for item, (x, y) in zip(page.items, page.arrangement.places, strict=False):
        drawing.paint(picture, item.sprite, x, y)
    return picture


def tell_apart(
    items: Sequence[DrawnElement], arrangement: Arrangement, distance: int
) -> tuple[tuple[int, int, int] | None, ...] | None:
    """Return each element's axis, rank and count among those with the same text; None if alone.

    Axis 0 counts from the left, 1 from the top. All of it is None if two are less than `distance`
    apart on both axes, so that neither order is clear.
    """
    groups: dict[tuple[ElementType, str], list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault((item.kind, item.text), []).append(number)
    ranks: list[tuple[int, int, int] | None] = [None] * len(items)
    for members in groups.values():
        if len(members) == 1:
            continue
        best_gap, best_axis, best_order = -1, 0, members
        for axis in (0, 1):
            middles = {number: _middle(items, arrangement, number, axis) for number in members}
            order = sorted(members, key=lambda number: middles[number])
            gap = min(middles[b] - middles[a] for a, b in pairwise(order))
            if gap > best_gap:
                best_gap, best_axis, best_order = gap, axis, order
        if best_gap < 2 * distance:  # middles are doubled
            return None
        for rank, number in enumerate(best_order):
            ranks[number] = (best_axis, rank, len(best_order))
    return tuple(ranks)


def _middle(items: Sequence[DrawnElement], arrangement: Arrangement, number: int, axis: int) -> int:
    size = (items[number].sprite.width, items[number].sprite.height)
    return 2 * arrangement.places[number][axis] + size[axis]


def _items(random: Random, level: Level, theme: Theme, px: Pixels) -> list[DrawnElement]:
    count, letters = random.randint(level.fewest, level.most), random.randint(*level.letters)
    kinds, weights = zip(*_KINDS, strict=True)
    items: list[DrawnElement] = []
    taken: set[str] = set()
    while len(items) < count:
        if len(items) > 3 and random.random() < _TWINS:
            twin = random.choice(items)
            if items.count(twin) < _MOST_ALIKE:
                items.append(twin)
            continue
        (kind,) = random.choices(kinds, weights)
        text = random.choice(tuple(PICTOGRAMS) if kind is ElementType.ICON else WORDS[kind])
        if text in taken:
            continue
        size = letters if random.random() < 0.7 else random.randint(*level.letters)
        drawn = _sprite(random, level, theme, kind, text, px(size), px)
        if px(level.smallest) <= max(drawn.width, drawn.height) <= px(level.largest):
            items.append(DrawnElement(kind, text, drawn))
            taken.add(text)
    return items


def _sprite(
    random: Random,
    level: Level,
    theme: Theme,
    kind: ElementType,
    text: str,
    size: int,
    px: Pixels,
) -> Sprite:
    """Draw an element; it may be larger or smaller than the level allows."""
    smallest, largest = px(level.smallest), px(level.largest)
    if kind is ElementType.TEXT:
        return drawing.text(text, size, theme.ink)
    if kind is ElementType.LINK:
        return drawing.link(text, size, theme.link)
    if kind is ElementType.ICON:
        # Small icons are more usual than large ones.
        side = min(random.randint(smallest + 2, largest) for _ in range(2))
        return drawing.icon(text, side, theme.ink)
    fills = {"fill": theme.field, "border": theme.border}
    if kind is ElementType.CHECKBOX:
        ticked = random.random() < 0.4
        return drawing.checkbox(text, size, ticked=ticked, ink=theme.ink, **fills)
    high = size * random.randint(20, 26) // 10
    needed = drawing.text_width(text, size) + 2 * drawing.field_padding(size)
    if kind is ElementType.BUTTON:
        wide = max(needed + size * random.randint(0, 12) // 10, smallest)
        if random.random() < 0.35:
            return drawing.button(
                text, size, wide, high, fill=theme.quiet, ink=theme.ink, border=theme.border
            )
        fill = random.choice(theme.accents)
        return drawing.button(text, size, wide, high, fill=fill, ink="#ffffff")
    if kind is ElementType.DROPDOWN:
        wide = max(needed + drawing.dropdown_extra(size), random.randint(smallest, largest))
        return drawing.dropdown(text, size, wide, high, ink=theme.ink, **fills)
    wide = max(needed, random.randint((smallest + largest) // 2, largest))
    return drawing.text_field(text, size, wide, high, ink=theme.faint, **fills)


# --- layout


def arrange(
    random: Random, sizes: Sequence[Size], width: int, height: int, px: Pixels, *, plain: bool
) -> Arrangement | None:
    """Place elements of these sizes so that none is near another; None without room.

    A `plain` arrangement fills one area row by row.
    """
    waiting = list(range(len(sizes)))
    random.shuffle(waiting)
    places: dict[int, Position] = {}
    areas = []
    whole = Area("card", 0, 0, width, height)
    parts = [(whole, len(sizes))] if plain else _parts(random, whole, len(sizes), px)
    for area, most in parts:
        pad = px(6) if plain else px(random.randint(10, 24))
        gap_x, gap_y = (px(12) if plain else px(random.randint(14, 80)) for _ in range(2))
        wide, high = area.width - 2 * pad, area.height - 2 * pad
        fitting = [n for n in waiting if sizes[n][0] <= wide and sizes[n][1] <= high]
        found = _flow(fitting[:most], sizes, (wide, high), gap_x, gap_y)
        if not found:
            continue
        right = max(x + sizes[number][0] for number, (x, _) in found.items())
        bottom = max(y + sizes[number][1] for number, (_, y) in found.items())
        x = area.x + pad + random.randint(0, wide - right)
        y = area.y + pad + random.randint(0, high - bottom)
        for number, (across, down) in found.items():
            places[number] = (x + across, y + down)
            waiting.remove(number)
        if not plain:
            areas.append(area)
    return None if waiting else Arrangement(tuple(places[n] for n in sorted(places)), tuple(areas))


def _parts(random: Random, whole: Area, count: int, px: Pixels) -> Iterator[tuple[Area, int]]:
    """Yield the areas of a page, and how many elements each takes at most."""
    left = top = 0
    if count >= 6 and random.random() < 0.55:
        top = px(random.randint(52, 68))
        yield Area("bar", 0, 0, whole.width, top), count // 4 + 1
    if count >= 10 and random.random() < 0.45:
        left = min(px(random.randint(130, 220)), whole.width // 4)
        yield Area("side", 0, top, left, whole.height - top), count // 4 + 1
    rest = Area("card", left, top, whole.width - left, whole.height - top)
    cells = _split(random, rest, 1 + count // random.randint(4, 9), px)
    for number, cell in enumerate(cells, start=1):
        margin = px(random.randint(6, 14))
        inner = Area(
            "card",
            cell.x + margin,
            cell.y + margin,
            cell.width - 2 * margin,
            cell.height - 2 * margin,
        )
        share = cell.width * cell.height / (rest.width * rest.height)
        yield inner, count if number == len(cells) else 1 + int(count * share)


def _flow(
    chosen: Sequence[int], sizes: Sequence[Size], room: Size, gap_x: int, gap_y: int
) -> dict[int, Position]:
    """Place elements in rows, as long as there is room."""
    found: dict[int, Position] = {}
    x = y = row = 0
    for number in chosen:
        wide, high = sizes[number]
        if x and x + wide > room[0]:
            x, y, row = 0, y + row + gap_y, 0
        if y + high > room[1]:
            break
        found[number] = (x, y)
        x, row = x + wide + gap_x, max(row, high)
    return found


def _split(random: Random, whole: Area, count: int, px: Pixels) -> list[Area]:
    """Cut an area into cells, always the largest one, while they stay large enough."""
    cells = [whole]
    for _ in range(count - 1):
        cell = max(cells, key=lambda one: one.width * one.height)
        x, y, width, height = cell.x, cell.y, cell.width, cell.height
        share = random.uniform(0.35, 0.65)
        if width > 1.3 * height:
            cut, least = int(width * share), px(280)
            room = min(cut, width - cut)
            parts = [(x, y, cut, height), (x + cut, y, width - cut, height)]
        else:
            cut, least = int(height * share), px(200)
            room = min(cut, height - cut)
            parts = [(x, y, width, cut), (x, y + cut, width, height - cut)]
        if room < least:
            break
        cells.remove(cell)
        cells += [Area("card", *part) for part in parts]
    random.shuffle(cells)
    return cells
