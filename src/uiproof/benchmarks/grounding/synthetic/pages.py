"""One synthetic page: which elements it has, how they look, and where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from uiproof.benchmarks.grounding import drawing
from uiproof.benchmarks.grounding.data import ElementType
from uiproof.benchmarks.grounding.drawing import Canvas, Colour, Sprite, colour
from uiproof.benchmarks.grounding.drawing.pictograms import PICTOGRAMS
from uiproof.benchmarks.grounding.synthetic.layout import Arrangement, Pixels, Surface, arrange
from uiproof.benchmarks.grounding.synthetic.stream import Stream
from uiproof.benchmarks.grounding.synthetic.words import WORDS
from uiproof.errors import InputError

_ATTEMPTS = 40  # arrangements to try; from the middle on, with fewer elements
_TWINS = 6  # of a hundred elements say the same as another one, as lists in real pages do
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
class Level:
    """How difficult a page is: its number of elements, and their longer sides in pixels."""

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
class Item:
    """An element that is drawn but has no place yet; those that look alike are the same item."""

    kind: ElementType
    text: str
    sprite: Sprite


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page; an item's place is its top left corner."""

    width: int
    height: int
    theme: Theme
    items: tuple[Item, ...]
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


def theme(stream: Stream, *, dark: bool) -> Theme:
    """Colours that go together."""
    page, card, bar, side = map(colour, stream.pick(_DARK if dark else _LIGHT).split())
    accents = _ACCENTS.split()
    stream.shuffle(accents)
    surfaces = {Surface.CARD: card, Surface.BAR: bar, Surface.SIDE: side}
    tones = (
        "#3a3f47 #f1f3f5 #a9b1bb #82b7ff #12151a #7b8491 #3b424c"
        if dark
        else "#d5d9df #1f2328 #666d76 #1558b8 #ffffff #9aa1ab #e4e7eb"
    )
    line, ink, faint, link, field, border, quiet = map(colour, tones.split())
    strong = tuple(map(colour, accents[:2]))
    return Theme(page, surfaces, line, ink, faint, link, field, border, strong, quiet)


def compose(
    stream: Stream, level: Level, *, dark: bool, width: int, height: int, px: Pixels
) -> Page:
    """Make a page of this level; `InputError` when the screen is too small for it."""
    colours = theme(stream, dark=dark)
    items = _items(stream, level, colours, stream.between(level.fewest, level.most), px)
    for attempt in range(_ATTEMPTS):
        sizes = [(item.sprite.width, item.sprite.height) for item in items]
        found = arrange(stream, sizes, width, height, px=px, attempt=attempt)
        if found and tell_apart(items, found, px(10)):
            return Page(width, height, colours, tuple(items), found, px(4))
        if attempt >= _ATTEMPTS // 2:
            del items[max(len(items) * 9 // 10, level.fewest) :]
    raise InputError(
        f"A screen of {width}x{height} has no room for {level.fewest} elements of this size.",
        remedy="Use a larger resolution or a smaller scale.",
    )


def draw(page: Page) -> bytes:
    """The picture of a page, as PNG."""
    return render(page).png()


def render(page: Page) -> Canvas:
    """Draw a page: its areas, then its elements."""
    canvas = Canvas(page.width, page.height, page.theme.page)
    for area in page.arrangement.areas:
        card = area.surface is Surface.CARD
        radius, line = (2 * page.padding, page.theme.line) if card else (0, None)
        fill = page.theme.surfaces[area.surface]
        canvas.paint(drawing.panel(area.width, area.height, fill, radius, line), area.x, area.y)
    for item, (x, y) in zip(page.items, page.arrangement.places, strict=False):
        canvas.paint(item.sprite, x, y)
    return canvas


def tell_apart(
    items: Sequence[Item], arrangement: Arrangement, distance: int
) -> tuple[tuple[int, int, int] | None, ...] | None:
    """For each element None, or its place among those that say the same: axis, rank, of how many.

    Axis 0 counts from the left, 1 from the top. The whole is None when some stand so that neither
    order is clear, that is, when two are less than `distance` apart on both axes.
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


def _middle(items: Sequence[Item], arrangement: Arrangement, number: int, axis: int) -> int:
    size = (items[number].sprite.width, items[number].sprite.height)
    return 2 * arrangement.places[number][axis] + size[axis]


@dataclass(frozen=True, slots=True)
class _Style:
    """What the elements of a page have in common."""

    level: Level
    theme: Theme
    letters: int  # the size that most texts have, in design pixels
    icon: int  # the side that most icons have, in pixels
    px: Pixels


def _items(stream: Stream, level: Level, colours: Theme, count: int, px: Pixels) -> list[Item]:
    letters = stream.between(*level.letters)
    style = _Style(level, colours, letters, _icon_side(stream, level, px), px)
    items: list[Item] = []
    taken: set[str] = set()
    while len(items) < count:
        if len(items) > 3 and stream.chance(_TWINS):
            twin = stream.pick(items)
            if items.count(twin) < _MOST_ALIKE:
                items.append(twin)
            continue
        kind = stream.weighted(_KINDS)
        text = stream.pick(tuple(PICTOGRAMS) if kind is ElementType.ICON else WORDS[kind])
        if text in taken:
            continue
        drawn = _sprite(stream, style, kind, text)
        if px(level.smallest) <= max(drawn.width, drawn.height) <= px(level.largest):
            items.append(Item(kind, text, drawn))
            taken.add(text)
    return items


def _icon_side(stream: Stream, level: Level, px: Pixels) -> int:
    # Small icons are more usual than large ones.
    return min(stream.between(px(level.smallest) + 2, px(level.largest)) for _ in range(2))


def _sprite(stream: Stream, style: _Style, kind: ElementType, text: str) -> Sprite:
    """An element as it could look; it may turn out larger or smaller than the level wants."""
    level, colours, px = style.level, style.theme, style.px
    size = px(style.letters if stream.chance(70) else stream.between(*level.letters))
    smallest, largest = px(level.smallest), px(level.largest)
    if kind is ElementType.TEXT:
        return drawing.text(text, size, colours.ink)
    if kind is ElementType.LINK:
        return drawing.link(text, size, colours.link)
    if kind is ElementType.ICON:
        side = style.icon if stream.chance(60) else _icon_side(stream, level, px)
        return drawing.icon(text, side, colours.ink)
    fills = {"fill": colours.field, "border": colours.border}
    if kind is ElementType.CHECKBOX:
        ticked = stream.chance(40)
        tick = colours.ink
        return drawing.checkbox(text, size, ticked=ticked, ink=colours.ink, tick=tick, **fills)
    high = size * stream.between(20, 26) // 10
    needed = drawing.text_width(text, size) + 2 * drawing.field_padding(size)
    if kind is ElementType.BUTTON:
        wide = max(needed + size * stream.between(0, 12) // 10, smallest)
        if stream.chance(35):
            return drawing.button(
                text, size, wide, high, fill=colours.quiet, ink=colours.ink, border=colours.border
            )
        white = (255, 255, 255)
        return drawing.button(text, size, wide, high, fill=stream.pick(colours.accents), ink=white)
    if kind is ElementType.DROPDOWN:
        wide = max(needed + drawing.dropdown_extra(size), stream.between(smallest, largest))
        return drawing.dropdown(text, size, wide, high, ink=colours.ink, **fills)
    wide = max(needed, stream.between((smallest + largest) // 2, largest))
    return drawing.text_field(text, size, wide, high, ink=colours.faint, **fills)
