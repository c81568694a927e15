"""A page as the judge sees it: its picture, its text blocks, and what else is on it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from uiproof.benchmarks.design2code.blocks import (
    Glyphs,
    LegibleText,
    ListedText,
    PixelRect,
    TextBlock,
    end_of_page,
    find_blocks,
    painted_height,
    seen_blocks,
)
from uiproof.benchmarks.design2code.screens import Screen
from uiproof.browser import PageSource, Renderer
from uiproof.browser.page import (
    FAULT_FLAGS,
    MISSING_GLYPHS,
    Fleeting,
    LivePage,
    TextCapture,
    TextPlace,
    capture_text,
    missing_glyphs,
)
from uiproof.errors import ReferenceRenderError
from uiproof.files import BoundedCache, write_atomic
from uiproof.geometry import Box
from uiproof.vision.images import Rgb, decode_screenshot
from uiproof.vision.ssim import grayscale

MOST_PIXELS_KEPT = 60_000_000  # of reference pages in memory: about twenty-five ordinary ones
MOST_THINGS = 20_000  # texts, pictures, controls and surfaces that are listed of one page
_DEFAULT = Screen()
MOST_FLEETING = 0.5  # of the texts: where more are gone soon, the picture is not what readers see
MOST_LOST = 0.1  # of the texts: so many may go without others in their place, if some come
_NOTHING_GOES = Fleeting()


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a page: its place in the tree, in the picture, and how it is drawn."""

    parent: int  # -1 for the outermost
    tag: str
    step: str  # its selector, or what leads to it from its parent, such as ` > h2`
    box: PixelRect  # of its visible part
    font: str  # size, weight, family, slant, line height, spacing, lines, case, colour: joined by |
    paint: str  # background, picture, border, radius, shadow and opacity, joined by |


@dataclass(frozen=True, slots=True)
class Inventory:
    """Texts, images, controls and surfaces of a page, in page pixels."""

    texts: tuple[ListedText, ...] = ()
    images: tuple[PixelRect, ...] = ()
    controls: tuple[PixelRect, ...] = ()
    surfaces: tuple[tuple[PixelRect, tuple[int, int, int] | None], ...] = ()  # with a plain colour
    gone: tuple[PixelRect, ...] = ()  # places of what soon is gone
    reach: tuple[float, float] | None = None  # how much of the page stays, and can be scrolled to
    elements: tuple[Element, ...] = ()
    text_elements: tuple[int, ...] = ()  # the element of each text, before any is left out


@dataclass(frozen=True, slots=True)
class Photographs:
    """The pictures and lists that the browser makes of a page."""

    png: bytes
    capture: TextCapture
    inventory: Inventory
    flags: tuple[str, ...]
    scale: int = 1  # device pixels of the pictures for each CSS pixel of the inventory
    web: Mapping[str, Any] = field(default_factory=dict)  # as `WebLog.as_json` has it
    window: float | None = None  # the height of the window, if something may be in front of it all
    fleeting: Fleeting = _NOTHING_GOES


@dataclass(frozen=True)
class PageView:
    """A page, measured in CSS pixels."""

    png: bytes
    blocks: tuple[TextBlock, ...]  # as the paper finds them
    seen_blocks: tuple[TextBlock, ...]  # the same, of what is seen only
    inventory: Inventory
    seen_texts: tuple[LegibleText, ...]  # of the inventory's, with the colours of their pixels
    flags: tuple[str, ...]
    scale: int = 1  # device pixels of the picture for each CSS pixel
    seen_elements: tuple[int, ...] = ()  # the element of each seen text
    web: Mapping[str, Any] = field(default_factory=dict)  # what it asked of other hosts
    heaped: tuple[tuple[PixelRect, str], ...] = ()  # texts that lie on each other
    # Results that scores compute from this page and use again.
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rgb(self) -> Rgb:
        """Return the CSS pixels of the page."""
        return reduced(decode_screenshot(self.png), self.scale)

    def shows_the_same_as(self, other: PageView) -> bool:
        """Return whether two pages look the same and have the same texts."""
        return (self.png, self.blocks, self.seen_blocks) == (
            *(other.png, other.blocks, other.seen_blocks),
        )

    def with_colors_of(self, other: PageView) -> PageView:
        """Return the page with the text colours of another that looks the same.

        Colours of thin letters are estimated, and two markups of one picture may differ by a level.
        """
        mine, theirs = ([text[:2] for text in view.seen_texts] for view in (self, other))
        if self.seen_texts == other.seen_texts or self.png != other.png or mine != theirs:
            return self
        return replace(self, seen_texts=other.seen_texts)

    @property
    def reachable(self) -> Rgb:
        """Return the pixels of the page that a reader can scroll to and that stay."""
        rgb = _blanked(self.rgb, self.inventory.gone)
        if self.inventory.reach is None:
            return rgb
        width, height = (int(length) for length in self.inventory.reach)
        return rgb[:height, :width] if width and height else np.full_like(rgb, 255)

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]


def reduced(rgb: Rgb, scale: int) -> Rgb:
    """Return a picture in CSS pixels: limits and distances of scores are counted in those."""
    if scale == 1:
        return rgb
    size = max(round(rgb.shape[1] / scale), 1), max(round(rgb.shape[0] / scale), 1)
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def photograph(renderer: Renderer, source: PageSource, screen: Screen = _DEFAULT) -> Photographs:
    """Load a page once on a screen and take everything from it that scores need."""
    with renderer.open(source, screen.limits(renderer.limits)) as page:
        png = page.screenshot()
        found = listing(page)
        if missing_glyphs(page.run_script, (text for _, text, _ in found["texts"])):
            page.flags.add(MISSING_GLYPHS)
        capture = capture_text(page)
        flags = tuple(sorted(page.flags))
        inventory = read_inventory(found)
        window = float(found["window"]) if found["veiled"] else None
        return Photographs(
            png,
            capture,
            inventory,
            flags,
            scale=screen.scale,
            web=page.web.as_json(),
            window=window,
            fleeting=page.fleeting(),
        )


def listing(page: LivePage) -> dict[str, Any]:
    """Return what the browser lists of a page."""
    width, height = page.size
    asked = {"width": width, "height": height, "most": MOST_THINGS}
    found: dict[str, Any] = page.run_listing("inventory", asked)
    return found


def measure(photographs: Photographs) -> PageView:
    """Find the text blocks in the photographs of a page."""
    scale = photographs.scale
    picture = decode_screenshot(photographs.png)
    rgb = reduced(picture, scale)
    capture, inventory = photographs.capture, photographs.inventory
    glyphs = Glyphs.read(capture, picture, scale)
    seen = glyphs.seen_texts(*_in_device_pixels(inventory.texts, capture.places, scale))
    fleeting, listed = photographs.fleeting, len(inventory.texts)
    gone = fleeting.texts
    if len(gone) > MOST_FLEETING * listed:
        inventory = Inventory(texts=inventory.texts, reach=(0, 0))
    elif len(gone) <= min(2 * fleeting.others, fleeting.others + MOST_LOST * listed):
        gone = frozenset()  # some texts take turns
    else:
        # Values of fields, and texts that occur elsewhere too, go with the element around them.
        inside = (n for n, one in enumerate(inventory.texts) if _is_inside(one[0], fleeting.boxes))
        gone |= frozenset(inside)
        inventory = _without(inventory, fleeting.boxes)
    seen = tuple(text for text in seen if text.index not in gone)
    end = end_of_page(rgb)
    window = photographs.window
    if window is not None and not any(
        text.box[1] + text.box[3] <= window * scale for text in seen if not text.in_heap
    ):
        # A cover hides all texts in the window, and would hide the others when scrolled.
        seen, end = (), min(end, int(window))
        inventory = replace(inventory, reach=(rgb.shape[1], end))
    if end < len(rgb):
        seen = tuple(text for text in seen if text.box[1] < end * scale)
        inventory = Inventory(
            texts=tuple(one for one in inventory.texts if one[0][1] < end),
            images=tuple(box for box in inventory.images if box[1] < end),
            controls=tuple(box for box in inventory.controls if box[1] < end),
            surfaces=tuple(one for one in inventory.surfaces if one[0][1] < end),
            gone=inventory.gone,
            reach=inventory.reach,
            elements=inventory.elements,
        )
    heaped = tuple((_scaled(text.box, 1 / scale), text.text) for text in seen if text.in_heap)
    seen = tuple(text for text in seen if not text.in_heap)
    boxes = (*(_scaled(one.box, 1 / scale) for one in seen), *inventory.images, *inventory.controls)
    surfaces = tuple(box for box, _ in inventory.surfaces)
    # Not below what is painted: boxes that leave no pixels would make the page longer.
    painted = painted_height(grayscale(_blanked(rgb, inventory.gone)))
    bottom = min(max((y + h for _, y, _, h in (*boxes, *surfaces)), default=0.0), painted)
    view = PageView(
        png=photographs.png,
        blocks=tuple(find_blocks(capture, picture, glyphs)),
        seen_blocks=tuple(seen_blocks(capture, glyphs, seen, bottom)),
        inventory=inventory,
        seen_texts=tuple(
            (_scaled(one.box, 1 / scale), one.text, one.color, one.legibility) for one in seen
        ),
        flags=photographs.flags,
        heaped=heaped,
        scale=scale,
        seen_elements=tuple(photographs.inventory.text_elements[one.index] for one in seen),
        web=photographs.web,
    )
    view.__dict__["rgb"] = rgb
    return view


def _without(inventory: Inventory, places: Sequence[PixelRect]) -> Inventory:
    """Return an inventory without all but the texts that lies in some places."""
    return replace(
        inventory,
        images=tuple(box for box in inventory.images if not _is_inside(box, places)),
        controls=tuple(box for box in inventory.controls if not _is_inside(box, places)),
        surfaces=tuple(one for one in inventory.surfaces if not _is_inside(one[0], places)),
        gone=tuple(places),
    )


def _is_inside(box: PixelRect, places: Sequence[PixelRect]) -> bool:
    x, y, w, h = box
    return any(
        x >= a - 2 and y >= b - 2 and x + w <= a + c + 2 and y + h <= b + d + 2
        for a, b, c, d in places
    )


def _blanked(rgb: Rgb, places: Sequence[PixelRect]) -> Rgb:
    """Return a picture with the colour beside each of some places in that place."""
    if not places:
        return rgb
    rgb = rgb.copy()
    for x, y, w, h in places:
        left, top = max(round(x), 0), max(round(y), 0)
        part = rgb[top : max(round(y + h), 0), left : max(round(x + w), 0)]
        if part.size:
            part[:] = rgb[top, max(left - 2, 0)]
    return rgb


def _in_device_pixels(
    texts: tuple[ListedText, ...], places: tuple[TextPlace, ...], scale: int
) -> tuple[tuple[ListedText, ...], tuple[TextPlace, ...]]:
    if scale == 1:
        return texts, places
    return tuple((_scaled(box, scale), text, color) for box, text, color in texts), tuple(
        replace(
            place,
            font_size=place.font_size * scale,
            lines=tuple(_scaled(line, scale) for line in place.lines),
        )
        for place in places
    )


def _scaled(box: PixelRect, scale: float) -> PixelRect:
    if scale == 1:
        return box
    x, y, w, h = box
    return x * scale, y * scale, w * scale, h * scale


class ReferenceViews:
    """Reference pages, each rendered once: kept in memory, and in a folder for other workers.

    The folder grows with every page, or up to `most_bytes`.
    """

    def __init__(self, folder: Path | None, *, most_bytes: int | None = None) -> None:
        self._folder, self._most_bytes = folder, most_bytes
        self.rendered = 0  # how many were neither in memory nor in the folder
        self._views: OrderedDict[str, Future[PageView]] = OrderedDict()

    def get(
        self,
        source: PageSource,
        screen: Screen,
        take: Callable[[PageSource, Screen], Photographs],
        threads: ThreadPoolExecutor,
    ) -> Future[PageView]:
        """Return the view of a page; a thread measures it while the caller renders the next."""
        key = source.key + screen.suffix
        if key in self._views:
            self._views.move_to_end(key)
            return self._views[key]
        if (stored := self._read(key)) is not None:
            view: Future[PageView] = Future()
            view.set_result(stored)
        else:
            photographs = take(source, screen)
            if faults := FAULT_FLAGS.intersection(photographs.flags):
                # Kept, it would spoil every later score against this page.
                raise ReferenceRenderError(
                    f"The reference page could not be rendered properly ({', '.join(faults)}).",
                    remedy="Run again with --retry-failed, with fewer workers if the machine is "
                    "busy; if it stays so, the page never comes to an end.",
                )
            self.rendered += 1
            view = threads.submit(self._measure_and_store, key, photographs)
        self._views[key] = view
        while len(self._views) > 1 and self._pixels() > MOST_PIXELS_KEPT:
            self._views.popitem(last=False)
        return view

    def _pixels(self) -> int:
        done = (view for view in self._views.values() if view.done() and not view.exception())
        return sum(view.result().size[0] * view.result().size[1] for view in done)

    def picture(self, source: PageSource, screen: Screen) -> Path | None:
        """Return where the page's screenshot is kept."""
        return None if self._folder is None else self._folder / f"{source.key}{screen.suffix}.png"

    def _measure_and_store(self, key: str, photographs: Photographs) -> PageView:
        view = measure(photographs)
        if self._folder is not None:
            # A bounded folder is in a scratch folder, which is gone with its owner.
            self._folder.mkdir(parents=self._most_bytes is None, exist_ok=True)
            write_atomic(self._folder / f"{key}.png", view.png)
            write_atomic(self._folder / f"{key}.json", json.dumps(_as_json(view)).encode())
            if self._most_bytes is not None:
                BoundedCache(self._folder, self._most_bytes).after_write(len(view.png))
        return view

    def _read(self, key: str) -> PageView | None:
        if self._folder is None:
            return None
        try:
            # The JSON is written last, so where it is, the picture is too.
            stored = json.loads((self._folder / f"{key}.json").read_bytes())
            view = _from_json(stored, (self._folder / f"{key}.png").read_bytes())
        except (FileNotFoundError, ValueError, KeyError):  # a key is missing in older ones
            return None
        return None if FAULT_FLAGS.intersection(view.flags) else view  # older versions kept those


def read_inventory(found: dict[str, Any]) -> Inventory:
    """Return a listing as an inventory."""
    return Inventory(
        texts=tuple((_rect(box), str(text), _color(color)) for box, text, color in found["texts"]),
        images=tuple(map(_rect, found["images"])),
        controls=tuple(map(_rect, found["controls"])),
        surfaces=tuple(
            (_rect(box), None if color is None else _color(color))
            for box, color in found["surfaces"]
        ),
        gone=tuple(map(_rect, found.get("gone", ()))),
        reach=None if found["reach"] is None else (found["reach"][0], found["reach"][1]),
        elements=tuple(
            Element(parent, tag, step, _rect(box), found["fonts"][font], found["paints"][paint])
            for parent, tag, step, box, font, paint in found["elements"]
        ),
        text_elements=tuple(found["text_elements"]),
    )


def _rect(values: list[float]) -> PixelRect:
    x, y, w, h = (float(value) for value in values)
    return x, y, w, h


def _color(values: list[float]) -> tuple[int, int, int]:
    r, g, b = (int(value) for value in values)
    return r, g, b


def _as_json(view: PageView) -> dict[str, Any]:
    inventory = view.inventory
    return {
        "blocks": _blocks_as_json(view.blocks),
        "seen_blocks": _blocks_as_json(view.seen_blocks),
        "inventory": {
            "texts": inventory.texts,
            "images": inventory.images,
            "controls": inventory.controls,
            "surfaces": inventory.surfaces,
            "gone": inventory.gone,
            "reach": inventory.reach,
            **_elements_as_json(inventory),
        },
        "seen_texts": view.seen_texts,
        "seen_elements": view.seen_elements,
        "heaped": view.heaped,
        "flags": view.flags,
        "scale": view.scale,
        "web": view.web,
    }


def _elements_as_json(inventory: Inventory) -> dict[str, Any]:
    fonts = {font: i for i, font in enumerate({one.font: 0 for one in inventory.elements})}
    paints = {paint: i for i, paint in enumerate({one.paint: 0 for one in inventory.elements})}
    return {
        "fonts": list(fonts),
        "paints": list(paints),
        "elements": [
            (one.parent, one.tag, one.step, one.box, fonts[one.font], paints[one.paint])
            for one in inventory.elements
        ],
        "text_elements": inventory.text_elements,
    }


def _from_json(stored: dict[str, Any], png: bytes) -> PageView:
    return PageView(
        png=png,
        blocks=_blocks_from_json(stored["blocks"]),
        seen_blocks=_blocks_from_json(stored["seen_blocks"]),
        inventory=read_inventory(stored["inventory"]),
        seen_texts=tuple(
            (_rect(box), str(text), _color(color), float(legibility))
            for box, text, color, legibility in stored["seen_texts"]
        ),
        flags=tuple(stored["flags"]),
        heaped=tuple((_rect(box), str(text)) for box, text in stored["heaped"]),
        scale=int(stored.get("scale", 1)),
        seen_elements=tuple(stored["seen_elements"]),
        web=stored["web"],
    )


def _blocks_as_json(blocks: tuple[TextBlock, ...]) -> list[Any]:
    return [[b.text, [b.box.x, b.box.y, b.box.w, b.box.h], list(b.color)] for b in blocks]


def _blocks_from_json(stored: list[Any]) -> tuple[TextBlock, ...]:
    return tuple(
        TextBlock(text, Box(*box), (color[0], color[1], color[2])) for text, box, color in stored
    )
