"""From what was seen on both sides to the scores of an interaction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uiproof.benchmarks.interaction2code.judging.metrics import (
    Embed,
    Place,
    Scores,
    View,
    paper_look,
    paper_position,
    strict_look,
    strict_position,
)
from uiproof.benchmarks.interaction2code.judging.playing import Act, Seen
from uiproof.benchmarks.interaction2code.judging.reading import Reader, read_inside
from uiproof.benchmarks.interaction2code.judging.reference import Reference
from uiproof.benchmarks.interaction2code.judging.texts import Words, written_inside
from uiproof.benchmarks.interaction2code.region import paper_region, region
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb


@dataclass(frozen=True, slots=True)
class Changed:
    """Where a generated page changed, in pixels of the picture after."""

    box: PixelBox | None = None
    parts: tuple[PixelBox, ...] = ()
    paper_box: PixelBox | None = None  # by the published rule


def changed(done: Act, noise: Mask | None) -> Changed:
    """What an act changed on a generated page, to the eye."""
    if done.after is None:
        return Changed()
    before, after = done.before.picture, done.after.picture
    found = region(before, after, noise=noise)
    if found.box is None:
        return Changed()  # what differs without being acted on is no change by any rule
    return Changed(found.box, found.parts, paper_region(before, after).box)


def full_scores(
    reference: Reference, loaded: Seen, reader: Reader, embed: Embed | None, flags: list[str]
) -> dict[str, Scores]:
    """The page before the interaction, as a whole, by profile.

    `flags` gets what was unusual, such as text on one side only.
    """
    theirs = View(reference.before, read_inside(reader.lines(reference.before), None))
    ours = View(loaded.picture, read_inside(reader.lines(loaded.picture), None))
    written = View(loaded.picture, written_inside(loaded.snapshot, None))
    _flag_wordless(theirs, ours, "page", flags)
    return {
        "paper": paper_look(theirs, ours, embed),
        "strict": strict_look(theirs, written, embed),
    }


def part_scores(
    reference: Reference,
    done: Act,
    ours: Changed,
    reader: Reader,
    embed: Embed | None,
    flags: list[str],
    *,
    contours: bool = False,
) -> dict[str, Scores]:
    """What the interaction changed, by profile.

    With `contours` the reference's positions are those of the published contour rule.
    """
    assert done.found is not None
    assert done.after is not None
    after = done.after
    lines = reader.lines_after(reference.before, reference.after)
    ours_lines = reader.lines_after(done.before.picture, after.picture)

    theirs_box = reference.paper_box or reference.box or reference.effect or _all(reference.after)
    if reference.crop is not None:
        # Cut out by hand for the published evaluation.
        seen = (
            read_inside(lines, reference.crop_box)
            if reference.crop_box is not None
            else read_inside(reader.lines(reference.crop), None)
        )
        theirs = View(reference.crop, seen)
    else:
        theirs = _view(reference.after, read_inside(lines, theirs_box), theirs_box)
    our_box = ours.paper_box
    mine = None
    if our_box is not None:
        mine = _view(after.picture, read_inside(ours_lines, our_box), our_box)
    paper = _look(theirs, mine, embed, strict=False)
    _flag_wordless(theirs, mine, "part", flags)

    strict_box = reference.box or reference.effect or _all(reference.after)
    theirs = _view(reference.after, read_inside(lines, strict_box), strict_box)
    mine = None
    if ours.box is not None:
        mine = _view(after.picture, written_inside(after.snapshot, ours.box), ours.box)
    strict = _look(theirs, mine, embed, strict=True)

    size, size_after = _size(done.before.picture), _size(after.picture)
    trigger = Place.middle_of(done.found.element.box, size)
    their_trigger = _place(reference.trigger, reference.size)
    their_mark = reference.effect or reference.paper_box
    their_effect = _place(their_mark, reference.size_after)
    if contours:
        their_trigger = _published(reference.contours[0], reference.size)
        their_effect = _published(reference.contours[1], reference.size_after)
    paper["position_before"] = paper_position(their_trigger, trigger)
    paper["position_after"] = paper_position(their_effect, _place(our_box, size_after))
    strict["position_before"] = strict_position(_place(reference.trigger, reference.size), trigger)
    strict["position_after"] = strict_position(
        _place(reference.box or reference.effect, reference.size_after),
        _place(ours.box, size_after),
    )
    return {"paper": paper, "strict": strict}


def _look(theirs: View, ours: View | None, embed: Embed | None, *, strict: bool) -> Scores:
    if ours is None or not ours.picture.size or not theirs.picture.size:
        return {"clip": 0.0, "ssim": 0.0, "text": 0.0}
    return (strict_look if strict else paper_look)(theirs, ours, embed)


def _flag_wordless(theirs: View, ours: View | None, what: str, flags: list[str]) -> None:
    """Text on one side only scores 0, and may be the fault of whoever reads it."""
    if ours is not None and bool(theirs.words) != bool(ours.words):
        flags.append(f"{'generated' if theirs.words else 'reference'}:no_text_on_{what}")


def _view(picture: Rgb, words: list[Words], box: PixelBox) -> View:
    crop = picture[max(box.top, 0) : box.bottom, max(box.left, 0) : box.right]
    return View(np.ascontiguousarray(crop), words)


def _place(box: PixelBox | None, size: tuple[int, int]) -> Place | None:
    return None if box is None else Place.middle_of(box, size)


def _published(position: tuple[float, float] | None, size: tuple[int, int]) -> Place | None:
    return None if position is None else Place((position[0] * size[0], position[1] * size[1]), size)


def _size(picture: Rgb) -> tuple[int, int]:
    return picture.shape[1], picture.shape[0]


def _all(picture: Rgb) -> PixelBox:
    return PixelBox(0, 0, *_size(picture))
