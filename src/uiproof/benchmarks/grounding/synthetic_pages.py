"""Compose synthetic pages: words, colours and elements, arranged in a bar, a side column and cards.

Everything is in whole pixels and follows from a `Stream` of random numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar

from uiproof.benchmarks.grounding import drawing
from uiproof.benchmarks.grounding.data import ElementType
from uiproof.benchmarks.grounding.drawing import PICTOGRAMS, Canvas, Colour, Sprite, colour
from uiproof.errors import InputError

T = TypeVar("T")
Surface = Literal["bar", "side", "card"]
Size = tuple[int, int]
Position = tuple[int, int]
Pixels = Callable[[int], int]  # from design pixels to those of the screen


# --- random numbers


class Stream:
    """Random choices from SHA-256 of a key: the same in every Python and on every machine."""

    def __init__(self, key: str) -> None:
        self._words = _words(key)

    def below(self, end: int) -> int:
        """Return a number from 0 to just below `end`."""
        return next(self._words) * end >> 64

    def between(self, first: int, last: int) -> int:
        """Return a number from `first` to `last`, both included."""
        return first + self.below(last - first + 1)

    def chance(self, percent: int) -> bool:
        """Return True in `percent` of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """Return one of the items in proportion to the weights."""
        place = self.below(sum(weight for _, weight in items))
        for item, weight in items:
            place -= weight
            if place < 0:
                return item
        raise ValueError("there is nothing to choose from")

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle the items in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def _words(key: str) -> Iterator[int]:
    """Yield numbers of 64 bits: SHA-256 of the key and a counter, cut into four."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"{key}/{counter}".encode()).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(digest[start : start + 8], "big")
        counter += 1


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


def theme(stream: Stream, *, dark: bool) -> Theme:
    """Choose colours that go together."""
    page, card, bar, side = map(colour, stream.pick(_DARK if dark else _LIGHT).split())
    accents = _ACCENTS.split()
    stream.shuffle(accents)
    surfaces: dict[Surface, Colour] = {"card": card, "bar": bar, "side": side}
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


def render(page: Page) -> Canvas:
    """Draw a page: its areas, then its elements."""
    canvas = Canvas(page.width, page.height, page.theme.page)
    for area in page.arrangement.areas:
        card = area.surface == "card"
        radius, line = (2 * page.padding, page.theme.line) if card else (0, None)
        fill = page.theme.surfaces[area.surface]
        canvas.paint(drawing.panel(area.width, area.height, fill, radius, line), area.x, area.y)
    for item, (x, y) in zip(page.items, page.arrangement.places, strict=False):
        canvas.paint(item.sprite, x, y)
    return canvas


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


@dataclass(frozen=True, slots=True)
class _Style:
    """The common style of the elements of a page."""

    level: Level
    theme: Theme
    letters: int  # the size that most texts have, in design pixels
    icon: int  # the side that most icons have, in pixels
    px: Pixels


def _items(
    stream: Stream, level: Level, colours: Theme, count: int, px: Pixels
) -> list[DrawnElement]:
    letters = stream.between(*level.letters)
    style = _Style(level, colours, letters, _icon_side(stream, level, px), px)
    items: list[DrawnElement] = []
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
            items.append(DrawnElement(kind, text, drawn))
            taken.add(text)
    return items


def _icon_side(stream: Stream, level: Level, px: Pixels) -> int:
    # Small icons are more usual than large ones.
    return min(stream.between(px(level.smallest) + 2, px(level.largest)) for _ in range(2))


def _sprite(stream: Stream, style: _Style, kind: ElementType, text: str) -> Sprite:
    """Draw an element; it may be larger or smaller than the level allows."""
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


# --- layout

_PLAIN_FROM = 10  # attempts from here on fill one area, row by row


def arrange(
    stream: Stream, sizes: Sequence[Size], width: int, height: int, *, px: Pixels, attempt: int = 0
) -> Arrangement | None:
    """Place elements of these sizes so that none is near another; None without room.

    A higher `attempt` gives another and at last a plainer and tighter arrangement.
    """
    waiting = list(range(len(sizes)))
    stream.shuffle(waiting)
    page = _PageBuilder(stream, sizes, px, waiting)
    if attempt >= _PLAIN_FROM:
        page.fill(Area("card", 0, 0, width, height), len(waiting), plain=True)
        return page.arrangement()
    left = top = 0
    if len(sizes) >= 6 and stream.chance(55):
        top = page.bar(width)
    if len(sizes) >= 10 and stream.chance(45):
        left = page.side(top, width // 4, height)
    rest = Area("card", left, top, width - left, height - top)
    cells = _split(stream, rest, 1 + len(sizes) // stream.between(4, 9), px)
    open_area = sum(cell.width * cell.height for cell in cells)
    for cell in cells:
        area = cell.width * cell.height
        share = -(-len(waiting) * area // open_area)
        page.fill(cell, share, plain=False)
        open_area -= area
    return page.arrangement()


class _PageBuilder:
    """A page that is being filled with the waiting elements."""

    def __init__(
        self, stream: Stream, sizes: Sequence[Size], px: Pixels, waiting: list[int]
    ) -> None:
        self._stream, self._sizes, self._px, self._waiting = stream, sizes, px, waiting
        self._places: dict[int, Position] = {}
        self._areas: list[Area] = []

    def arrangement(self) -> Arrangement | None:
        if self._waiting:
            return None
        places = tuple(self._places[number] for number in range(len(self._sizes)))
        return Arrangement(places, tuple(self._areas))

    def bar(self, width: int) -> int:
        """Put some low elements into a bar at the top and return its height, 0 for none."""
        inner = self._px(self._stream.between(32, 48))
        fitting = [number for number in self._waiting if self._sizes[number][1] <= inner]
        limit = width - 2 * self._px(24)
        chosen = fitting[: len(self._sizes) // 4 + 1]
        gap = self._px(self._stream.between(16, 36))
        found = self._flow(chosen, limit, inner, gap, 0, even=False)
        if not found:
            return 0
        height = inner + 2 * self._px(10)
        taken = max(x + self._sizes[number][0] for number, (x, _) in found.items())
        x = self._px(24) + (limit - taken if self._stream.chance(30) else 0)
        row = max(self._sizes[number][1] for number in found)
        self._take(found, x, (height - row) // 2)
        self._areas.append(Area("bar", 0, 0, width, height))
        return height

    def side(self, top: int, limit: int, height: int) -> int:
        """Put some narrow elements into a column at the left and return its width, 0 for none."""
        inner = min(self._px(self._stream.between(130, 220)), limit) - 2 * self._px(18)
        fitting = [number for number in self._waiting if self._sizes[number][0] <= inner]
        chosen = fitting[: len(self._sizes) // 4 + 1]
        gap = self._px(self._stream.between(14, 30))
        pad = self._px(18)
        found = self._flow(chosen, inner, height - top - 2 * pad, inner, gap, even=True)
        if not found:
            return 0
        self._take(found, pad, top + pad)
        self._areas.append(Area("side", 0, top, inner + 2 * pad, height - top))
        return inner + 2 * pad

    def fill(self, cell: Area, share: int, *, plain: bool) -> None:
        """Put up to `share` elements into a card somewhere inside a cell."""
        px, stream = self._px, self._stream
        margin = px(6) if plain else px(stream.between(10, 22))
        pad = px(6) if plain else px(stream.between(12, 28))
        wide, high = cell.width - 2 * (margin + pad), cell.height - 2 * (margin + pad)
        chosen = [number for number in self._waiting if self._sizes[number][0] <= wide][:share]
        if not chosen:
            return
        gap_x, gap_y = (px(12), px(12)) if plain else self._gaps()
        even = not plain and stream.chance(50)
        narrowest = max(self._sizes[number][0] for number in chosen)
        width = wide if plain else stream.between(narrowest, wide)
        found = self._flow(chosen, width, high, gap_x, gap_y, even=even)
        if len(found) < len(chosen):
            found = self._flow(chosen, wide, high, px(14), px(14), even=False)
        if not found:
            return
        used_wide = max(x + self._sizes[number][0] for number, (x, _) in found.items())
        used_high = max(y + self._sizes[number][1] for number, (_, y) in found.items())
        x = cell.x + margin + stream.below(wide - used_wide + 1)
        y = cell.y + margin + stream.below(high - used_high + 1)
        self._take(found, x + pad, y + pad)
        card = Area("card", x, y, used_wide + 2 * pad, used_high + 2 * pad)
        if plain or stream.chance(20):
            return
        if stream.chance(60):  # as large as the cell, as on a dashboard
            wide, high = cell.width - 2 * margin, cell.height - 2 * margin
            card = Area("card", cell.x + margin, cell.y + margin, wide, high)
        self._areas.append(card)

    def _gaps(self) -> tuple[int, int]:
        return self._px(self._stream.between(16, 90)), self._px(self._stream.between(14, 64))

    def _take(self, found: dict[int, Position], x: int, y: int) -> None:
        for number, (across, down) in found.items():
            self._places[number] = (x + across, y + down)
            self._waiting.remove(number)

    def _flow(
        self, chosen: Sequence[int], wide: int, high: int, gap_x: int, gap_y: int, *, even: bool
    ) -> dict[int, Position]:
        """Place elements in rows, in even columns or close together, as long as there is room."""
        step = max((self._sizes[number][0] for number in chosen), default=0) if even else 0
        rows: list[list[tuple[int, int]]] = [[]]
        x = 0
        for number in chosen:
            own = self._sizes[number][0]
            if rows[-1] and x + own > wide:
                rows.append([])
                x = 0
            rows[-1].append((number, x))
            x += max(step, own) + gap_x
        found: dict[int, Position] = {}
        y = 0
        for row in rows:
            row_height = max((self._sizes[number][1] for number, _ in row), default=0)
            if y + row_height > high:
                break
            for number, x in row:
                found[number] = (x, y + (row_height - self._sizes[number][1]) // 2)
            y += row_height + gap_y
        return found


def _split(stream: Stream, whole: Area, count: int, px: Pixels) -> list[Area]:
    """Cut an area into cells, always the largest one, while they stay large enough."""
    cells = [whole]
    for _ in range(count - 1):
        cell = max(cells, key=lambda one: one.width * one.height)
        share = stream.between(35, 65)
        x, y, width, height = cell.x, cell.y, cell.width, cell.height
        if width * 10 >= height * 13:
            cut = width * share // 100
            room, least = min(cut, width - cut), px(280)
            parts = [(x, y, cut, height), (x + cut, y, width - cut, height)]
        else:
            cut = height * share // 100
            room, least = min(cut, height - cut), px(200)
            parts = [(x, y, width, cut), (x, y + cut, width, height - cut)]
        if room < least:
            break
        cells.remove(cell)
        cells += [Area(cell.surface, *part) for part in parts]
    stream.shuffle(cells)
    return cells
