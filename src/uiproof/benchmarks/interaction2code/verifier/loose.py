"""Effects on pages that look different before: texts, rough places and rough colours are compared.

The reference is read from its pictures, the generated page from its elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.verifier import effects, looks, wording
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment, Seen, Status
from uiproof.benchmarks.interaction2code.verifier.evidence import Outcome, ReferenceEvidence
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit, area, leaves
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Snapshot
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

MOSTLY = 0.7  # share of words from which the content is the same
_ALL = 0.85  # and from which nothing is missing: readers make slips
_AWAY = 64  # pixels, beyond how the pages differ before
_AWAY_SHARE = 0.08  # of the page's width
_COVERED = 0.4  # of what changed in the reference
_COVERED_ALONE = 0.7
_REACH = 24


@dataclass(frozen=True, slots=True)
class Texts:
    """Words that came and went on both sides, and the reference's lines."""

    reference_came: tuple[str, ...]
    reference_went: tuple[str, ...]
    came: tuple[str, ...]
    went: tuple[str, ...]
    lines_before: tuple[OcrLine, ...] = ()
    lines: tuple[OcrLine, ...] = ()  # after
    fresh: tuple[str, ...] = ()  # all lines of the reference in which anything changed

    @property
    def recall(self) -> float | None:
        """The share of the reference's new words that the generated page shows as new."""
        return wording.found_share(self.reference_came, self.came)

    def for_unit(self, unit: Unit) -> tuple[str, ...]:
        """What an element may say to say the same: words that stay count where it said others."""
        return self.fresh if any(unit.gone) else self.reference_came

    @property
    def precision(self) -> float | None:
        """The share of the generated page's new words that the reference shows as new."""
        return wording.found_share(self.came, self.reference_came)


def is_new(scene: Scene, line: OcrLine) -> bool:
    """Whether anything changed in a line of the reference."""
    box = looks.grown(line.box, 0, *scene.size)
    return bool(scene.reference_changed[box.top : box.bottom, box.left : box.right].any())


def read_changes(
    scene: Scene,
    reference: ReferenceEvidence,
    before: Snapshot,
    outcome: Outcome,
    *,
    own: frozenset[int] = frozenset(),
) -> Texts | None:
    """Read what came and went; None where nothing can read.

    Of the elements `own`, and at the reference's trigger if there are any, nothing is read: that a
    field shows what was typed in it is no effect.
    """
    if reference.read is None:
        return None
    # Whole pictures: they are read once for all pages that are compared with them.
    old, new = (
        tuple(line for line in reference.read(picture) if not own or not _at(line, reference))
        for picture in (reference.before, reference.after)
    )
    old, new = scene.lines(old, after=False), scene.lines(new, after=True)
    theirs = [wording.words(line.text for line in lines) for lines in (old, new)]
    mine = [
        wording.words(one.text for one in snapshot.elements if one.ref not in own)
        for snapshot in (before, outcome.snapshot)
    ]
    return Texts(
        tuple(one for one in _more(theirs[1], theirs[0]) if _is_word(one)),
        _more(theirs[0], theirs[1]),
        _more(mine[1], mine[0]),
        _more(mine[0], mine[1]),
        old,
        new,
        tuple(line.text for line in new if is_new(scene, line)),
    )


def _is_word(read: str) -> bool:
    """Whether what was read is a word or a number: frames and stains are read as signs."""
    return any(map(str.isdigit, read)) or (len(read) > 1 and any(map(str.isalpha, read)))


def _at(line: OcrLine, reference: ReferenceEvidence) -> bool:
    box = reference.trigger
    if box is None:
        return False
    x, y = (line.box.left + line.box.right) / 2, (line.box.top + line.box.bottom) / 2
    return box.left <= x < box.right and box.top <= y < box.bottom


def _more(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The words that are in one list more often than in the other, slips of reading aside."""
    more = Counter(some) - Counter(others)
    fewer = list((Counter(others) - Counter(some)).elements())
    kept: list[str] = []
    for word in more.elements():
        twin = next(
            (one for one in fewer if len(word) > 3 and wording.likeness(one, word) > 0.8), None
        )
        if twin is None:
            kept.append(word)
        else:
            fewer.remove(twin)
    return tuple(kept)


def assess(
    scene: Scene, texts: Texts | None, found: Sequence[Unit], outcome: Outcome
) -> Assessment:
    """Judge every change of the generated page by its words, its place and its colour."""
    seen = tuple(_judge(scene, texts, one, outcome) for one in found[:_REACH])
    covered = _covered(scene, [one.unit for one in seen if one.status == "right"])
    recall = texts.recall if texts is not None else None
    if texts is not None and recall is None:  # where words only go, those count
        recall = wording.found_share(texts.reference_went, texts.went)
    # Where things are pushed about, much more changes than the elements that caused it.
    enough = _COVERED if outcome.changes.pushed else _COVERED_ALONE
    share = covered if recall is None else recall
    if not outcome.changes.pushed:
        share = min(share, covered)
    right = [one for one in seen if one.status == "right"]
    precision = texts.precision if texts is not None else None
    content = recall is None or recall >= _ALL
    clean = precision is None or precision >= MOSTLY
    others = [one for one in seen if one.status != "right" and _matters(one)]
    complete = bool(right) and content and clean and not others and covered >= enough
    return Assessment(complete, share, seen, (), int(scene.changed.sum()))


def _matters(one: Seen) -> bool:
    """Whether a change is more than a shade or a frame, which styles differ in."""
    return bool(one.unit.kinds - {"restyled", "resized", "moved", "restated"})


def _judge(scene: Scene, texts: Texts | None, unit: Unit, outcome: Outcome) -> Seen:
    width, height = scene.size
    box = looks.grown(unit.box, 0, width, height)
    dx, dy = scene.offset(unit.before or box)
    there = looks.grown(
        PixelBox(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy), 8, width, height
    )
    changed_there = scene.reference_changes_at(box, (dx, dy))
    if texts is not None and any(unit.texts):
        return _judge_text(scene, texts, unit, outcome, (dx, dy), changed_there)
    if texts is not None and unit.after is None and any(unit.gone):
        share = wording.found_share(unit.gone, texts.reference_went)
        return Seen(unit, "right" if (share or 0) >= MOSTLY else "extra")
    if not changed_there:
        return Seen(unit, "extra")
    if "recoloured" in unit.kinds and unit.after is not None:
        return Seen(unit, colour_status(scene, box, there))
    return Seen(unit, "right")


def colour_status(scene: Scene, box: PixelBox, there: PixelBox) -> Status:
    """Whether the reference becomes lighter, darker, redder … at a place in the same way."""
    mine = _mean(scene.after, box) - _mean(scene.before, box)
    theirs = _mean(scene.reference_after, there) - _mean(scene.reference_before, there)
    strength, other = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
    if other < 0.3 * strength:
        return "extra"
    alike = float(mine @ theirs) / max(strength * other, 1e-9)
    return "right" if strength < 2 or alike > 0.5 else "wrong"


def _mean(picture: Rgb, box: PixelBox) -> npt.NDArray[np.float64]:
    part = looks.crop(picture, box).reshape(-1, 3)
    return np.asarray(part.mean(axis=0)) if len(part) else np.zeros(3)


def _judge_text(
    scene: Scene,
    texts: Texts,
    unit: Unit,
    outcome: Outcome,
    offset: tuple[int, int],
    changed_there: bool,
) -> Seen:
    share = wording.found_share(unit.texts, texts.for_unit(unit))
    if (share or 0) < MOSTLY:
        return Seen(unit, "wrong" if changed_there else "extra")
    shifts = [
        shift(effects.tight_box(scene.after, leaf.box), line.box, offset)
        for leaf in (leaves(outcome.snapshot, unit.element) if unit.element else [])
        for line in texts.lines
        if same_line(leaf.text, line.text)
    ]
    if not shifts:
        return Seen(unit, "right" if changed_there else "elsewhere")
    least = min(shifts, key=lambda one: abs(one[0]) + abs(one[1]))
    far = max(_AWAY, _AWAY_SHARE * scene.size[0])
    away = abs(least[0]) > far or abs(least[1]) > _AWAY
    return Seen(unit, "elsewhere", least) if away else Seen(unit, "right")


def shift(mine: PixelBox, theirs: PixelBox, offset: tuple[int, int]) -> tuple[int, int]:
    """From a line of the reference to a text of one or more lines, by the nearest of its edges."""
    across = (
        mine.left - theirs.left,
        mine.right - theirs.right,
        (mine.left + mine.right - theirs.left - theirs.right) // 2,
    )
    middle = (theirs.top + theirs.bottom) // 2 - offset[1]
    down = min(mine.bottom - middle, 0) + max(mine.top - middle, 0)
    return min((one + offset[0] for one in across), key=abs), down


def same_line(mine: str, theirs: str) -> bool:
    """Whether a line of the reference is a text, or one of the lines that it is broken into."""
    a, b = wording.plain(mine), wording.plain(theirs)
    return wording.likeness(a, b) >= wording.ALIKE or (len(b) >= 6 and b in a)


def _covered(scene: Scene, right: Sequence[Unit]) -> float:
    """The share of what changed in the reference that right changes lie on."""
    total = int(scene.reference_changed.sum())
    if not total:
        return 1.0
    boxes = []
    for unit in right:
        for box in (unit.before, unit.after):
            if box is not None:
                dx, dy = scene.offset(unit.before or box)
                moved = PixelBox(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)
                boxes.append(looks.grown(moved, _REACH, *scene.size))
    return int((scene.reference_changed & area(boxes, scene.size)).sum()) / total
