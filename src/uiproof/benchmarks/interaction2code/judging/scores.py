"""The scores of one interaction, in both profiles.

`paper` keeps the published rules: pictures are read as gray by OpenCV and stretched to the size of
the reference, text is compared character by character, positions are shares of the page. `strict`
puts pictures on one canvas without stretching, compares words (those of the DOM on the generated
side), gives CLIP whole pictures instead of their middles, and measures positions in CSS pixels of
one window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.judging.acts import Act
from uiproof.benchmarks.interaction2code.judging.reference import Reference, whole
from uiproof.benchmarks.interaction2code.judging.text import (
    Reader,
    TextPiece,
    character_bleu,
    published_text,
    read_inside,
    reading_text,
    respaced,
    word_bleu,
    written_inside,
)
from uiproof.benchmarks.interaction2code.region import paper_region, region
from uiproof.benchmarks.interaction2code.summary import FULL
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.geometry import PixelBox
from uiproof.vision.clip import Vector, clip_similarity
from uiproof.vision.images import Gray, Rgb, cut_png, decode, decode_gray, encode_png
from uiproof.vision.ssim import aligned_ssim, ssim

Embed: TypeAlias = Callable[[Rgb], Vector]
Scores: TypeAlias = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class ChangedRegion:
    """The region in which a generated page changed, in pixels of the picture after."""

    box: PixelBox | None = None
    parts: tuple[PixelBox, ...] = ()
    paper_box: PixelBox | None = None  # by the published rule


@dataclass(frozen=True, slots=True)
class View:
    """A picture, or a part of one, and the text on it."""

    picture: Rgb
    words: Sequence[TextPiece]
    # As OpenCV reads the file; None where there is no file but only pixels.
    gray: Gray | None = None

    @classmethod
    def of_file(cls, data: bytes, words: Sequence[TextPiece]) -> View:
        """Make a view of a picture file, without scaling it."""
        return cls(decode(data, blend=False), words, decode_gray(data))

    @classmethod
    def of_part(cls, picture: Rgb, words: Sequence[TextPiece], box: PixelBox) -> View:
        """Make a view of the part of a picture in a box."""
        crop = picture[max(box.top, 0) : box.bottom, max(box.left, 0) : box.right]
        return cls(np.ascontiguousarray(crop), words)


@dataclass(frozen=True, slots=True)
class PagePoint:
    """A point on a page of some size, in CSS pixels."""

    point: tuple[float, float]
    size: tuple[int, int]

    @classmethod
    def middle_of(cls, box: PixelBox | None, size: tuple[int, int]) -> PagePoint | None:
        """Return the centre of a box on a page; None without a box."""
        return None if box is None else cls(box.centre, size)


# --- pages and changed parts


def changed(done: Act, noise: Mask | None) -> ChangedRegion:
    """Return the visible change that an act made on a generated page."""
    if done.after is None:
        return ChangedRegion()
    before, after = done.before.picture, done.after.picture
    found = region(before, after, noise=noise)
    if found.box is None:
        return ChangedRegion()  # what differs without being acted on is no change by any rule
    return ChangedRegion(found.box, found.parts, paper_region(before, after).box)


def full_scores(
    reference: Reference,
    done: Act,
    reader: Reader,
    embed: Embed | None,
    flags: list[str],
    *,
    implemented: bool,
) -> dict[str, Scores]:
    """Score the page as a whole: after the interaction in `paper`, before it in `strict`.

    Anything unusual, such as text on one side only, is added to `flags`.
    """
    theirs = View(reference.before, read_inside(reader.lines(reference.before), None))
    written = View(done.loaded.picture, written_inside(done.loaded.snapshot, None))
    return {
        "paper": _paper_page(reference, done, reader, embed, flags, implemented=implemented),
        "strict": strict_look(theirs, written, embed),
    }


def _paper_page(
    reference: Reference,
    done: Act,
    reader: Reader,
    embed: Embed | None,
    flags: list[str],
    *,
    implemented: bool,
) -> Scores:
    """Compare the states after the interaction as the published evaluator does.

    SSIM and text are 0 where nothing was implemented or is visible. CLIP is measured wherever
    something was acted on.
    """
    nothing = zeros(FULL, clip=embed is not None)
    if done.after is None:
        return nothing
    if not implemented or np.array_equal(done.before.picture, done.after.picture):
        if embed is not None:
            picture = decode(reference.after_file)
            nothing["clip"] = clip_score(picture, done.after.picture, embed)
        return nothing
    lines = reader.lines_after(reference.before, reference.after)
    our_lines = reader.lines_after(done.before.picture, done.after.picture)
    theirs = View.of_file(reference.after_file, read_inside(lines, None))
    ours = View.of_file(done.after.png, read_inside(our_lines, None))
    _flag_wordless(theirs, ours, "page", flags)
    return paper_look(theirs, ours, embed)


def part_scores(
    reference: Reference,
    done: Act,
    ours: ChangedRegion,
    reader: Reader,
    embed: Embed | None,
    flags: list[str],
    *,
    contours: bool = False,
) -> dict[str, Scores]:
    """Score the change that the interaction made, by profile.

    With `contours` the `paper` positions follow the published rules on both sides: those of the
    first red contour, the element's top left corner, and whole pixels.
    """
    assert done.found is not None
    assert done.after is not None
    after = done.after
    lines = reader.lines_after(reference.before, reference.after)
    ours_lines = reader.lines_after(done.before.picture, after.picture)

    theirs_box = reference.paper_box or reference.box or reference.effect or whole(reference.after)
    if reference.crop is not None:
        # Cut out by hand for the published evaluation.
        seen = (
            read_inside(lines, reference.crop_box)
            if reference.crop_box is not None
            else read_inside(reader.lines(reference.crop), None)
        )
    else:
        seen = read_inside(lines, theirs_box)
    theirs = View.of_file(reference.part_file, seen)
    our_box = ours.paper_box
    mine = None
    if our_box is not None:
        mine = View.of_file(cut_png(after.png, our_box), read_inside(ours_lines, our_box))
    paper = _look(paper_look, theirs, mine, embed)
    _flag_wordless(theirs, mine, "part", flags)

    strict_box = reference.box or reference.effect or whole(reference.after)
    theirs = View.of_part(reference.after, read_inside(lines, strict_box), strict_box)
    mine = None
    if ours.box is not None:
        mine = View.of_part(after.picture, written_inside(after.snapshot, ours.box), ours.box)
    strict = _look(strict_look, theirs, mine, embed)

    size, size_after = _size(done.before.picture), _size(after.picture)
    trigger = PagePoint.middle_of(done.found.element.box, size)
    their_trigger = PagePoint.middle_of(reference.trigger, reference.size)
    their_effect = PagePoint.middle_of(
        reference.effect or reference.paper_box, reference.size_after
    )
    our_trigger, our_effect = trigger, PagePoint.middle_of(our_box, size_after)
    if contours:
        their_trigger = _published_point(reference.contours[0], reference.size)
        their_effect = _published_point(reference.contours[1], reference.size_after)
        corner = done.found.element.box
        our_trigger = PagePoint((corner.left, corner.top), size)
        if our_effect is not None:
            x, y = our_effect.point
            our_effect = PagePoint((int(x), int(y)), size_after)
    paper["position_before"] = paper_position(their_trigger, our_trigger)
    paper["position_after"] = paper_position(their_effect, our_effect)
    strict["position_before"] = strict_position(
        PagePoint.middle_of(reference.trigger, reference.size), trigger
    )
    strict["position_after"] = strict_position(
        PagePoint.middle_of(reference.box or reference.effect, reference.size_after),
        PagePoint.middle_of(ours.box, size_after),
    )
    return {"paper": paper, "strict": strict}


def _look(
    compare: Callable[[View, View, Embed | None], Scores],
    theirs: View,
    ours: View | None,
    embed: Embed | None,
) -> Scores:
    if ours is None or not ours.picture.size or not theirs.picture.size:
        return zeros(FULL, clip=embed is not None)
    return compare(theirs, ours, embed)


def _flag_wordless(theirs: View, ours: View | None, what: str, flags: list[str]) -> None:
    """Flag text on one side only: it scores 0, and may be an OCR error."""
    if ours is not None and bool(theirs.words) != bool(ours.words):
        flags.append(f"{'generated' if theirs.words else 'reference'}:no_text_on_{what}")


def _published_point(
    position: tuple[float, float] | None, size: tuple[int, int]
) -> PagePoint | None:
    if position is None:
        return None
    return PagePoint((position[0] * size[0], position[1] * size[1]), size)


def _size(picture: Rgb) -> tuple[int, int]:
    return picture.shape[1], picture.shape[0]


# --- pictures, texts and positions


def paper_look(reference: View, generated: View, embed: Embed | None) -> Scores:
    """Return `clip`, `ssim` and `text` by the published rules; `clip` is None without a model."""
    return {
        "clip": clip_score(reference.picture, generated.picture, embed),
        "ssim": stretched_ssim(_gray(reference), _gray(generated)),
        "text": character_bleu(published_text(reference.words), published_text(generated.words)),
    }


def strict_look(reference: View, generated: View, embed: Embed | None) -> Scores:
    """Return `clip`, `ssim` and `text` of the strict profile."""
    same = np.array_equal(reference.picture, generated.picture)
    clip = None
    if embed is not None:
        clip = clip_score(_on_square(reference.picture), _on_square(generated.picture), embed)
    return {
        "clip": clip,
        "ssim": aligned_ssim(reference.picture, generated.picture),
        # One side is read by OCR, which errs; equal pictures have equal text.
        "text": 1.0 if same else strict_text(reference.words, generated.words),
    }


def strict_text(reference: Sequence[TextPiece], generated: Sequence[TextPiece]) -> float:
    """Return BLEU of words, block by block; spaces that OCR lost or added do not count."""
    written = reading_text(generated)
    return word_bleu(respaced(reading_text(reference), written), written)


def stretched_ssim(reference: Gray, generated: Gray) -> float:
    """Return SSIM after stretching the generated picture to the reference's size."""
    if reference.shape != generated.shape:
        size = (reference.shape[1], reference.shape[0])
        stretched = cv2.resize(generated, size, interpolation=cv2.INTER_LINEAR)
        generated = np.asarray(stretched, dtype=np.uint8)
    return ssim(reference, generated)


def clip_score(reference: Rgb, generated: Rgb, embed: Embed | None) -> float | None:
    """Return the cosine similarity of two CLIP embeddings, not below 0; None without CLIP."""
    if embed is None:
        return None
    if np.array_equal(reference, generated):
        return 1.0
    return max(clip_similarity(embed(reference), embed(generated)), 0.0)


def paper_position(reference: PagePoint | None, generated: PagePoint | None) -> float | None:
    """Return `1 - max(|dx|, |dy|)` of two points as shares of their pages.

    0 where the generated one is missing; None, not measured, where the reference's is unknown.
    """
    if reference is None or generated is None:
        return None if reference is None else 0.0
    distances = (
        abs(a / size_a - b / size_b)
        for a, b, size_a, size_b in zip(
            reference.point, generated.point, reference.size, generated.size, strict=True
        )
    )
    return 1 - min(max(distances), 1.0)


def strict_position(reference: PagePoint | None, generated: PagePoint | None) -> float | None:
    """Return the same with distances in CSS pixels, as shares of the reference's size.

    Both pages are shown in a window of one width: equal pixels are equal positions, however much
    longer one of the pages is.
    """
    if reference is None or generated is None:
        return None if reference is None else 0.0
    distances = (
        abs(a - b) / size
        for a, b, size in zip(reference.point, generated.point, reference.size, strict=True)
    )
    return 1 - min(max(distances), 1.0)


def zeros(names: Sequence[str], *, clip: bool) -> Scores:
    """Return 0 for every score; without a CLIP model, `clip` stays None."""
    return {name: None if name == "clip" and not clip else 0.0 for name in names}


def _gray(view: View) -> Gray:
    return decode_gray(encode_png(view.picture)) if view.gray is None else view.gray


def _on_square(rgb: Rgb) -> Rgb:
    """Return a picture in the middle of a white square: CLIP crops pictures to their middle."""
    height, width = rgb.shape[:2]
    side = max(height, width)
    square = np.full((side, side, 3), 255, dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = rgb
    return square
