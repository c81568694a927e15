"""The strict profile: missing content counts against a page, and more than text counts.

`docs/design2code.md` has the definition to cite, and says what changed between its versions. Every
score is in 0-1; identical pages score exactly 1 and an empty page against a full one exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import fmean

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.alignment import Alignment, align
from uiproof.benchmarks.design2code.blocks import (
    EDGE_CONTRAST,
    Gray,
    LegibleText,
    PixelRect,
    TextBlock,
    commonest_level,
    painted_height,
)
from uiproof.benchmarks.design2code.matching import (
    Matching,
    TextSimilarity,
    as_read,
    match_by_place,
    with_unreadable,
)
from uiproof.benchmarks.design2code.pages import PageView
from uiproof.benchmarks.design2code.scores import BlockScores, strict_block_scores
from uiproof.geometry import Box
from uiproof.vision.images import Rgb
from uiproof.vision.ssim import content_ssim, grayscale

VERSION = 5  # of the definition; runs say which one they used
VISIBLE_CONTRAST = 12  # levels of 0-255 between the darkest and the lightest pixel of a seen thing
SMALLER = 0.7  # of the area of a picture: what covers less of it is not the picture itself
FRAME = 3  # pixels around a picture or a control that are compared with it
EDGE_SHARE = 0.2  # how much of its outline must be an edge for a surface to be seen
EDGE_SAMPLES = 24  # pixels of each side of a surface that are looked at
LAYOUT_CELL = 4  # pixels; layout is compared on a grid of such cells
MOST_BLANK = 120  # rows: a longer stretch without content makes a page no higher than that
MATCHED_SHARE = 0.5  # of the text or the layout must match, or the height of a page pays less
SSIM_SCALE = 0.5  # structure is compared at half size, so that single pixels matter less


@dataclass(frozen=True, slots=True)
class StrictScores:
    """The scores of the strict profile."""

    block_match: float
    text: float
    position: float
    color: float
    layout: float
    page_height: float
    ssim: float
    clip: float | None

    @property
    def mean_without_clip(self) -> float:
        """Return the mean of the seven scores that are always measured."""
        return fmean(
            (
                *(self.block_match, self.text, self.position, self.color),
                *(self.layout, self.page_height, self.ssim),
            )
        )

    @property
    def final(self) -> float | None:
        """Return the mean of all eight; None where CLIP was not measured."""
        return None if self.clip is None else (self.mean_without_clip * 7 + self.clip) / 8


@dataclass(frozen=True, slots=True)
class Contents:
    """The things on a page that can be seen, in page pixels."""

    texts: tuple[LegibleText, ...]
    images: tuple[PixelRect, ...]
    controls: tuple[PixelRect, ...]
    surfaces: tuple[PixelRect, ...]
    unreadable: tuple[tuple[PixelRect, str], ...] = ()  # texts that lie on each other

    @property
    def classes(self) -> tuple[tuple[PixelRect, ...], ...]:
        """Return the boxes of each kind of thing."""
        return tuple(box for box, *_ in self.texts), self.images, self.controls, self.surfaces

    @property
    def bottom(self) -> float:
        """Return where the lowest thing ends; 0 for an empty page."""
        return lowest(self.classes)


def lowest(classes: Iterable[Iterable[PixelRect]]) -> float:
    """Return where the lowest of some boxes ends; 0 for none."""
    return max((y + h for boxes in classes for _, y, _, h in boxes), default=0.0)


def content_height(content: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> int:
    """Return how many rows a page has, given those with content, where blank stretches are short.

    A dot far below the rest of a page does not make it as long as one with content all the way.
    Rows of a long stretch count only where the other page is blank, too.
    """
    rows = np.arange(len(content))
    last = np.maximum.accumulate(np.where(content, rows, -1))
    counts = (rows - last <= MOST_BLANK) | ~other
    return int(np.count_nonzero(counts[: last[-1] + 1]))


def rows_with_content(classes: Iterable[Iterable[PixelRect]], height: int) -> npt.NDArray[np.bool_]:
    """Return which rows of a page some boxes cover."""
    rows = np.zeros(height, np.bool_)
    for boxes in classes:
        for _, y, _, h in boxes:
            rows[max(round(y), 0) : max(round(y + h), 0)] = True
    return rows


def strict_scores(
    generated: PageView,
    reference: PageView,
    *,
    similarity: TextSimilarity | None = None,
    clip: float | None = None,
) -> StrictScores:
    """Compare two pages strictly.

    `clip` is the CLIP score of this profile (`above_blank`), or None where there are no weights.
    """
    our_gray, their_gray = grayscale(generated.reachable), grayscale(reference.reachable)
    ours, theirs = seen_contents(generated, our_gray), seen_contents(reference, their_gray)
    empty = (ours.bottom == 0) + (theirs.bottom == 0)  # how many of the two pages show nothing
    # Not the height of the generated picture: what is not seen would make every distance smaller.
    height = max(ceil(ours.bottom), their_gray.shape[0])
    width = max(our_gray.shape[1], their_gray.shape[1])
    found = align(ours.texts, theirs.texts, our_gray, their_gray, height)
    blocks = _block_scores(ours, theirs, width, height, similarity or TextSimilarity(), found)
    # From here on, what is displaced stands where it should: `position` was charged for it.
    our_gray, their_gray = our_gray[found.generated], their_gray[found.reference]
    our_boxes = tuple(found.of_generated(boxes) for boxes in ours.classes)
    their_boxes = tuple(found.of_reference(boxes) for boxes in theirs.classes)
    height = max(our_gray.shape[0], their_gray.shape[0])
    layout = layout_overlap(our_boxes, their_boxes, width, height)
    extents = (our_boxes, painted_height(our_gray)), (their_boxes, painted_height(their_gray))
    ends = [min(lowest(boxes), painted) for boxes, painted in extents]
    rows = [
        rows_with_content(boxes, height) & (np.arange(height) < painted)
        for boxes, painted in extents
    ]
    heights = content_height(*rows), content_height(*reversed(rows))
    # The height of a page that shows something else is nothing to be paid for.
    matched = min(max(blocks.block_match, layout) / MATCHED_SHARE, 1.0)
    return StrictScores(
        block_match=blocks.block_match,
        text=blocks.text,
        position=blocks.position,
        color=blocks.color,
        layout=layout,
        page_height=min(ratio(*ends), ratio(*heights)) * matched,
        ssim=structure(our_gray, their_gray) if empty in (0, 2) else 0.0,
        clip=clip,
    )


def seen_contents(view: PageView, gray: Gray | None = None) -> Contents:
    """Return what of a page's inventory leaves pixels that can be seen."""
    rgb, inventory = view.reachable, view.inventory
    gray = grayscale(rgb) if gray is None else gray
    texts = [box for box, *_ in inventory.texts]
    surfaces = _with_edges(rgb, inventory.surfaces)
    seen = Contents(
        texts=view.seen_texts,
        images=_standing_out(
            *(rgb, gray, inventory.images),
            others=[*texts, *inventory.images, *inventory.controls, *surfaces],
        ),
        # A control may overlap its own text and outline.
        controls=_standing_out(rgb, gray, inventory.controls),
        surfaces=surfaces,
        unreadable=view.heaped,
    )
    if seen.bottom == 0 and (painted := _painted(gray)) is not None:
        # Nothing that the inventory knows, such as a background picture, but not an empty page.
        return replace(seen, images=(painted,))
    return seen


def _painted(gray: Gray) -> PixelRect | None:
    """Return the box around everything that differs from a page's commonest brightness."""
    background = np.full_like(gray, commonest_level(gray))
    ys, xs = np.nonzero(cv2.absdiff(gray, background) >= EDGE_CONTRAST)
    if len(ys) == 0:
        return None
    left, top = float(xs.min()), float(ys.min())
    return left, top, float(xs.max()) + 1 - left, float(ys.max()) + 1 - top


def layout_overlap(
    ours: Sequence[Sequence[PixelRect]],
    theirs: Sequence[Sequence[PixelRect]],
    width: int,
    height: int,
) -> float:
    """Return area where both pages have the same kind of thing, over the area where either has it.

    Both areas are summed over the kinds: text, pictures, controls and surfaces.
    """
    shared = either = 0
    for our_boxes, their_boxes in zip(ours, theirs, strict=True):
        a, b = layout_cells(our_boxes, width, height), layout_cells(their_boxes, width, height)
        shared += int(np.count_nonzero(a & b))
        either += int(np.count_nonzero(a | b))
    return shared / either if either else 1.0


def structure(generated: Rgb | Gray, reference: Rgb | Gray) -> float:
    """Return the structural similarity of two pages at half size, laid over each other."""
    return content_ssim(_half(generated), _half(reference))


def above_blank(similarity: float, blank: float) -> float:
    """Return how far a similarity is from that of a blank page (0) on the way to sameness (1)."""
    if blank >= 1:
        return 1.0 if similarity >= 1 else 0.0
    return min(max((similarity - blank) / (1 - blank), 0.0), 1.0)


def commonest_colour(page: Rgb) -> tuple[int, int, int]:
    """Return what most of a page has for its colour, by a sample of its pixels."""
    pixels = page.reshape(-1, 3)
    sample = pixels[:: max(len(pixels) // 100_000, 1)].astype(np.uint32)
    packed = sample @ np.array([65536, 256, 1], np.uint32)
    values, counts = np.unique(packed, return_counts=True)
    common = int(values[counts.argmax()])
    return common >> 16, common >> 8 & 255, common & 255


def _block_scores(
    ours: Contents,
    theirs: Contents,
    width: int,
    height: int,
    similarity: TextSimilarity,
    found: Alignment,
) -> BlockScores:
    # Both pages are measured on one canvas, so that a page of another length is not forgiven.
    generated = _text_blocks(ours, width, height)
    reference = _text_blocks(theirs, width, height)
    if not generated and not reference:
        # Nothing to compare; but an empty page is not right about a page that shows pictures only.
        alike = float((ours.bottom > 0) == (theirs.bottom > 0))
        return BlockScores(alike, alike, alike, alike)
    matching = with_unreadable(
        as_read(match_by_place(generated, reference, similarity)),
        unreadable_blocks(ours.unreadable, width, height),
        len(theirs.unreadable),
    )
    return strict_block_scores(matching, _positions(matching, found, height))


def _positions(matching: Matching, found: Alignment, height: int) -> list[float]:
    """Return how right the place of each matched text is: its own, and that of the page below it.

    A text that is displaced with the page is charged for the displacement, and for what else its
    place differs; one that is not stands where it should, or is charged for its own distance.
    """
    places = []
    for match in matching.kept():
        ours, theirs = matching.generated[match.generated], matching.reference[match.reference]
        (ax, ay), (bx, by) = ours.box.centre, theirs.box.centre
        moved, charge = found.displacement(by * height)
        own = max(abs(ax - bx), abs(ay - by - moved / height))
        whole = max(abs(ax - bx), abs(ay - by))
        places.append(max(1 - max(own + charge / height, whole), 0.0))
    return places


def _text_blocks(contents: Contents, width: int, height: int) -> list[TextBlock]:
    return [
        TextBlock(
            " ".join(text.split()).lower(),
            Box(x / width, y / height, w / width, h / height),
            color,
            legibility,
        )
        for (x, y, w, h), text, color, legibility in contents.texts
    ]


def unreadable_blocks(
    texts: Iterable[tuple[PixelRect, str]], width: int, height: int
) -> list[TextBlock]:
    """Return texts that lie on each other as blocks; their colours are not known."""
    return [
        TextBlock(
            text.strip().lower(), Box(x / width, y / height, w / width, h / height), (0, 0, 0)
        )
        for (x, y, w, h), text in texts
    ]


def ratio(a: float, b: float) -> float:
    """Return the smaller of two numbers over the larger; 1 for nothing over nothing."""
    return min(a, b) / max(a, b) if max(a, b) > 0 else 1.0


def layout_cells(boxes: Iterable[PixelRect], width: int, height: int) -> npt.NDArray[np.bool_]:
    """Return which cells of a grid over the canvas some boxes cover."""
    cells = np.zeros((height // LAYOUT_CELL + 1, width // LAYOUT_CELL + 1), np.bool_)
    for x, y, w, h in boxes:
        cells[_span(y, h, cells.shape[0]), _span(x, w, cells.shape[1])] = True
    return cells


def _span(start: float, length: float, cells: int) -> slice:
    """Return the cells that something covers in one direction, at least one."""
    first = min(round(start / LAYOUT_CELL), cells - 1)
    return slice(first, max(round((start + length) / LAYOUT_CELL), first + 1))


def _standing_out(
    rgb: Rgb, gray: Gray, boxes: Sequence[PixelRect], others: Sequence[PixelRect] = ()
) -> tuple[PixelRect, ...]:
    """Return the pictures or controls that are seen, by their outline or their contents."""
    outlined = set(_with_edges(rgb, [(box, None) for box in boxes], VISIBLE_CONTRAST))
    edges = np.array([(x, y, x + w, y + h) for x, y, w, h in others]).reshape(-1, 4)
    return tuple(box for box in boxes if box in outlined or _has_contents(gray, box, edges))


def _has_contents(gray: Gray, box: PixelRect, others: npt.NDArray[np.float64]) -> bool:
    """Return whether a box has more contrast inside, apart from other things, than around it.

    A pattern that covers a thing and its surroundings does not show the thing.
    """
    x, y, w, h = (round(value) for value in box)
    inside = gray[max(y, 0) : y + h, max(x, 0) : x + w]
    if inside.size == 0:
        return False
    left, top, right, bottom = others.T
    within = (left >= x - 1) & (top >= y - 1) & (right <= x + w + 1) & (bottom <= y + h + 1)
    within &= (right - left) * (bottom - top) < SMALLER * w * h
    own = np.ones(inside.shape, np.bool_)
    for corners in others[within]:
        x1, y1, x2, y2 = (round(float(value)) for value in corners)
        own[max(y1 - y - 1, 0) : y2 - y + 1, max(x1 - x - 1, 0) : x2 - x + 1] = False
    pixels = inside[own]
    if pixels.size == 0:
        return False
    above, beside = min(y, FRAME), min(x, FRAME)
    frame = gray[y - above : y + h + FRAME, x - beside : x + w + FRAME]
    around = frame[:above], frame[above + h :], frame[:, :beside], frame[:, beside + w :]
    contrast = max((int(part.max()) - int(part.min()) for part in around if part.size), default=0)
    if contrast >= VISIBLE_CONTRAST:
        contrast += VISIBLE_CONTRAST
    return int(pixels.max()) - int(pixels.min()) >= max(contrast, VISIBLE_CONTRAST)


def _with_edges(
    rgb: Rgb,
    surfaces: Sequence[tuple[PixelRect, tuple[int, int, int] | None]],
    contrast: int = EDGE_CONTRAST,
) -> tuple[PixelRect, ...]:
    """Return the surfaces whose outline is seen: pixels differ just inside and just outside of it.

    Where a surface is all of one colour, those outside must differ from that colour too, so that
    what lies on an unseen surface and reaches its edge does not make it seen.
    """
    if not surfaces:
        return ()
    height, width = rgb.shape[:2]
    corners = [(x, y, x + w, y + h) for (x, y, w, h), _ in surfaces]
    left, top, right, bottom = np.array([[round(edge) for edge in one] for one in corners]).T
    plain = np.array([color is not None for _, color in surfaces])
    colors = np.array([color or (0, 0, 0) for _, color in surfaces], np.int16)[:, None]
    across, across_counts = _places_along(left, right, width)
    down, down_counts = _places_along(top, bottom, height)
    differing = np.zeros(len(surfaces), np.int64)
    total = np.zeros(len(surfaces), np.int64)
    for inside, outside, limit, in_row in (
        (top, top - 1, height, True),
        (bottom - 1, bottom, height, True),
        (left, left - 1, width, False),
        (right - 1, right, width, False),
    ):
        on_page = (inside >= 0) & (inside < limit) & (outside >= 0) & (outside < limit)
        a, b = (
            np.int16(rgb[line[:, None], across] if in_row else rgb[down, line[:, None]])
            for line in (inside.clip(0, limit - 1), outside.clip(0, limit - 1))
        )
        steps = np.abs(a - b).max(axis=2)
        from_color = np.abs(b - colors).max(axis=2)
        steps = np.where(plain[:, None], np.minimum(steps, from_color), steps)
        counts = (across_counts if in_row else down_counts) & on_page[:, None]
        differing += (counts & (steps >= contrast)).sum(axis=1)
        total += counts.sum(axis=1)
    seen = (total > 0) & (differing >= EDGE_SHARE * total)
    return tuple(box for (box, _), is_seen in zip(surfaces, seen, strict=True) if is_seen)


def _places_along(
    first: npt.NDArray[np.int64], end: npt.NDArray[np.int64], limit: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return up to `EDGE_SAMPLES` pixels along each side, and which of them count."""
    step = (end - 1 - first) / (EDGE_SAMPLES - 1)
    places = first[:, None] + np.arange(EDGE_SAMPLES) * step[:, None]
    places[:, -1] = end - 1
    whole = places.astype(np.int64)
    counts = np.ones(whole.shape, np.bool_)
    counts[:, 1:] = whole[:, 1:] != whole[:, :-1]
    return whole.clip(0, limit - 1), counts


def _half(picture: Rgb | Gray) -> Gray:
    gray = grayscale(picture)
    size = (max(round(gray.shape[1] * SSIM_SCALE), 1), max(round(gray.shape[0] * SSIM_SCALE), 1))
    return np.asarray(cv2.resize(gray, size, interpolation=cv2.INTER_AREA), np.uint8)
