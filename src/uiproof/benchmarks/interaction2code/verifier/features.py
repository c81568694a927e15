"""The features of one interaction: the reference's change compared with the generated page's.

Every feature is a number; those that cannot be told are `UNKNOWN`. They do not depend on how a
page is laid out: words, places among other texts, colours and kinds of change are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import log1p

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.assignment import (
    Assignment,
    in_line,
    redrawn,
    unmatched,
)
from uiproof.benchmarks.interaction2code.verifier.element import kind_fits, kinds_of, trigger_tags
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.benchmarks.interaction2code.verifier.layout import Layout, around, gap, shift
from uiproof.benchmarks.interaction2code.verifier.objects import (
    Side,
    Word,
    found_letters,
    letters,
)
from uiproof.benchmarks.interaction2code.verifier.observation import (
    Observation,
    beyond_pointing,
    is_control,
    likeness,
    options_of,
    trigger_names,
)
from uiproof.benchmarks.interaction2code.verifier.text_compare import has_digit, plain
from uiproof.browser.snapshots import Element
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

UNKNOWN = -1.0
# The same act once more, or leaving, leads back; not another control that does. What is done
# again may do something else.
PROMISES_BACK = re.compile(
    r"(?i)\b(?:undo(?:es)?|toggl\w+|leaving|moving (?:away|out|off)"
    r"|(?:switch|turn)ing (?:it |them )?(?:off|back)|(?:untick|uncheck|deselect)\w*)\b"
    r"|\b(?:again|once more)\b[^.;]*\b(?:restor|clos|undo|back|off|hid|fold|collaps|empt|remov|paus"
    r"|stop|disappear|clear|shrink|revers|revert|return|normal|un(?!til)\w)"
)
_SCROLLS = re.compile(r"(?i)\bscroll(?:s|ed|ing)?\b")
_WINDOW = re.compile(r"(?i)\b(?:separate|browser|new) (?:browser )?(?:window|tab)\b|\bnew page\b")
_OVERLAY = re.compile(
    r"(?i)\b(?:window|dialog\w*|modal|pop-?up|overlay|tooltip|bubble|toast|drops?|dropdown|drawer"
    r"|menu|panel|sheet|popover|flyout|slides? (?:in|out))\b"
)


@dataclass(frozen=True, slots=True)
class Features:
    """Everything that the decision looks at. Shares are 0-1, lengths in logarithms of pixels."""

    # the action, and what the data set says of the effect
    click: float
    hover: float
    type: float
    select: float
    drag: float
    says_text: float
    says_component: float
    says_window: float
    says_browser_window: float
    says_page: float
    says_overlay: float
    says_back: float
    # the element
    by_id: float
    score: float
    visible: float
    reads: float  # likeness of its text to the reference's
    reference_reads: float  # whether anything is written on the reference's
    kind_fits: float
    offset: float  # from the place with the same surroundings
    raw_offset: float
    look: float  # correlation with the reference's picture
    place_look: float  # the same, of what is at the reference's place
    rival: float  # an element that reads more like the reference's
    at_place: float  # share of its place that it is on
    belongs: float  # it is a text, heading or label, or reads like what is meant
    sibling: float  # a thing of its kind changes as it should
    other_action: float
    # the pages before
    shared: float
    close: float
    # the amount of change
    reference_own: float
    own: float
    reference_elsewhere: float
    elsewhere: float
    approach: float  # share of the change that pointing does
    # events
    dialog: float
    window: float
    leaves: float
    scrolls: float  # to another part of the page, as the description says: no picture shows it
    # words
    reference_came: float
    reference_went: float
    reference_moved: float
    came: float
    went: float
    moved: float
    came_recall: float
    came_precision: float
    went_recall: float
    number_recall: float
    number_precision: float
    relative: float  # recall, as a share of the texts that the page has at all
    moved_recall: float
    # places
    area_recall: float  # by the layout
    area_precision: float
    context: float  # of the changed area
    growth: float
    floating: float
    floating_area: float
    over: float  # what appears covers words that stay
    veil: float  # share of the page that looks different
    reference_veil: float
    # colours and drawings
    same_after: float  # share of the changed area that looks as the reference's: on near copies
    colour: float  # likeness of the new colours
    own_colour: float
    # kinds of change of the generated page
    appeared: float
    vanished: float
    pushed: float
    own_state: float
    # the way back
    back: float  # share of the change that acting again undoes
    # other elements, where this one does nothing
    other_works: float
    other_area: float
    other_belongs: float
    other_same: float  # share of its change that looks as the reference's, on near copies
    # the expected changes, weighed by their importance, and all that happens besides
    present: float
    misplaced: float
    peer: float
    different: float
    absent: float
    substitute: float
    harmful: float
    lacks: float  # expected changes at whose places nothing happens
    main: float  # whether the text that the description names first is there
    redrawn: float  # share of the element that clearly changes, beyond what pointing does
    reference_redrawn: float
    contrary: float  # numbers rise that should fall, what should stay goes and the rest stays
    told: float  # share of the numbers in the description that come, of those that are new
    strange: float  # numbers that come and that neither the reference nor the description has

    def row(self) -> list[float]:
        """Return the numbers in order."""
        return [float(getattr(self, one.name)) for one in fields(self)]


NAMES = tuple(one.name for one in fields(Features))


def features(o: Observation, assigned: Assignment) -> Features:
    """Return the features of an interaction."""
    return Features(
        **_said(o),
        **_element(o),
        **_amounts(o),
        **_words(o),
        **_places(o),
        **_colours(o),
        **_kinds(o),
        **_back(o),
        **_others(o),
        **assigned.shares(),
        **_redrawn(o),
        contrary=float(_contrary(o)),
        **_numbers_told(o),
    )


def _size(picture: Rgb) -> tuple[int, int]:
    return picture.shape[1], picture.shape[0]


def _log(pixels_: float) -> float:
    return log1p(max(pixels_, 0.0))


# --- the action and the element


def _said(o: Observation) -> dict[str, float]:
    kind, visuals = o.reference.action.kind, {one.lower() for one in o.reference.visuals}
    text = f"{o.reference.description} {o.reference.sentence}"
    return {
        **{name: float(kind == name) for name in ("click", "hover", "type", "select", "drag")},
        "says_text": float("text" in visuals),
        "says_component": float("new component" in visuals),
        "says_window": float("new window" in visuals),
        "says_browser_window": float(bool(_WINDOW.search(text))),
        "says_page": float("new page" in visuals),
        "says_overlay": float(bool(_OVERLAY.search(text))),
        "says_back": float(
            kind == "hover"
            or o.reference.reverts
            or bool(PROMISES_BACK.search(o.reference.description))
        ),
    }


def _element(o: Observation) -> dict[str, float]:
    found, trigger, snapshot = o.found, o.reference.trigger, o.generated.snapshot
    names = trigger_names(o)
    # A switch without a text of its own has it beside it.
    lettered = any(map(str.isalnum, found.label))
    reads = UNKNOWN
    if names and lettered:
        reads = max(likeness(names, one) for one in (found.label, *options_of(found)))
    fits = _kind_fits(o)
    offset = raw = look = place_look = UNKNOWN
    if trigger is not None:
        place = o.layout.place(trigger, without=trigger)
        offset, raw = _log(shift(place, found.box)), _log(shift(trigger, found.box))
        look = _correlation(o.reference.before, trigger, o.generated.before, found.box)
        place_look = _correlation(o.reference.before, trigger, o.generated.before, place)
    rivals = [
        likeness(names, one.label)
        for one in snapshot.elements
        if one.ref != found.ref and len(one.label) <= 120 and not _related(one, found)
    ]
    box = found.box
    shown = min(box.width, box.height) >= const.LEAST_SIDE and not pixels.is_blank(
        pixels.crop(o.generated.before, pixels.grown(box, 2, *_size(o.generated.before)))
    )
    return {
        "by_id": float(o.generated.found_by == "id"),
        "score": o.generated.score,
        "visible": float(shown),
        "reads": reads,
        "reference_reads": float(bool(names)),
        "kind_fits": float(fits),
        "offset": offset,
        "raw_offset": raw,
        "look": look,
        "place_look": place_look,
        "rival": max(rivals, default=0.0) - reads if reads >= 0 else UNKNOWN,
        "at_place": UNKNOWN if trigger is None else _share_at(place, found.box),
        "belongs": float(_belongs(o, found, names)),
        "sibling": float(_sibling(o)),
        "other_action": float(
            o.generated.action is not None and o.generated.action.kind != o.reference.action.kind
        ),
        "shared": o.layout.shared,
        "close": o.layout.close,
    }


def _share_at(place: PixelBox, box: PixelBox) -> float:
    return place.overlap(box) / max(min(place.area, box.area), 1)


def _belongs(o: Observation, element: Element, names: Sequence[str]) -> bool:
    """Return whether an element can stand in for another one: it has no meaning of its own."""
    means = element.tag in ("button", "a", "select", "input", "textarea")
    name = o.reference.name or ""
    if not means and plain(name) and likeness([name], element.label) >= const.ALL_WORDS:
        return True  # its label, wherever it is
    if element.attributes.get("draggable") == "true":
        return False
    if not means and element.role not in const.CONTROL_ROLES:
        place = None if o.reference.trigger is None else o.layout.place(o.reference.trigger)
        return place is None or (
            gap(place, element.box) <= const.BELONGS and not _is_one_of(o, element)
        )
    if names and not any(map(str.isalnum, element.label)) and is_control(element):
        # A sign beside the button with the text.
        return gap(element.box, o.found.box) <= const.BESIDE_NAME
    called = [*names, *([o.reference.action.value] if o.reference.action.value else [])]
    return bool(plain(element.label)) and likeness(called, element.label) >= const.ALL_WORDS


def _is_one_of(o: Observation, element: Element) -> bool:
    """Return whether an element is one of several with a pointer, each for itself."""
    pointed = element.style.get("cursor") == "pointer"
    return pointed and any(
        one.style.get("cursor") == "pointer" and 0.5 <= one.box.width / element.box.width <= 2
        for one in _peers(o, element)
    )


def _peers(o: Observation, element: Element) -> list[Element]:
    """Return the things of an element's kind, in one row or column with it."""
    return [
        one
        for one in o.generated.snapshot.elements
        if one.tag == element.tag
        and one.ref not in (element.ref, o.found.ref)
        and not _related(one, element)
        and abs(one.box.height - element.box.height) <= const.PEER_SLACK
        and in_line(one.box, element.box)
    ]


def _sibling(o: Observation) -> bool:
    """Return whether a thing of the element's kind changes as the element itself should."""
    found, theirs, mine = o.found, o.theirs, o.mine
    stay = {one.ref for one in o.outcome.snapshot.elements}
    peers = [one for one in _peers(o, found) if one.ref in stay]
    if not peers or theirs.trigger is None:
        return False

    def share(mask: Mask, box: PixelBox) -> float:
        return pixels.count(mask, box) / max(box.area, 1)

    if share(theirs.changed, theirs.trigger) > 0.1 and share(mine.changed, found.box) < 0.02:
        wanted = [o.layout.place(one.box) for one in theirs.parts()[: const.MOST_PARTS]]
        for one in peers:
            if share(mine.fresh, one.box) > 0.04 and not any(
                one.box.overlap(box) for box in wanted if box.area < 4 * one.box.area
            ):
                return True
    came = around(one.box for one in theirs.came)
    new = max(o.outcome.changes.appeared, key=lambda one: one.box.area, default=None)
    if came is None or new is None or gap(came, theirs.trigger) > const.BESIDE:
        return False
    nearest = min(gap(one.box, new.box) for one in peers)
    return nearest <= const.BESIDE and nearest + const.PEER_SLACK < gap(found.box, new.box)


def _kind_fits(o: Observation) -> bool:
    """Return whether the element is of the reference's kind, as far as a person can see.

    A box with a text is a button, whatever its tag; a text without a box is a link; a small box
    without a text that can be clicked is a switch.
    """
    found, snapshot = o.found, o.generated.snapshot
    tags = trigger_tags(o.reference.tags, o.reference.sentence)
    kinds = kinds_of(found, snapshot)
    if kind_fits(tags, kinds, alike=o.layout.close > 0.7):
        return True
    wanted = {const.TAG_SYNONYMS.get(one.strip().lower(), one.strip().lower()) for one in tags}
    fields = {"input", "textarea", "select", "option", "datalist", "progress"}
    if o.layout.close < const.HALF and not (fields & wanted or fields & set(kinds)):
        return True  # built anew: what can be clicked is a matter of style
    shown = {found.tag, *(one.tag for one in snapshot.inside(found))} & {
        "input",
        "select",
        "textarea",
    }
    if found.type in ("button", "submit", "reset", "image") or found.role == "button":
        shown = set()
    if found.tag == "label" and not shown:
        return not {"select", "textarea"} & wanted  # a hidden box: it looks like anything
    if fields & set(kinds) and shown:
        return False
    boxed = found.background[3] > 0.1 or bool(
        {"border", "box-shadow", "background-image"} & set(found.style)
    )
    mute = not any(map(str.isalnum, found.label))
    if "input" in wanted or "label" in wanted:
        small = found.box.height <= 48 and found.box.width <= 90
        return found.role in ("switch", "checkbox", "radio", "slider") or (small and mute)
    if "button" in wanted:
        return boxed or mute or found.role in ("button", "tab")
    if "link" in wanted:
        return not boxed
    return not fields & wanted


def _related(one: Element, other: Element) -> bool:
    return one.box.encloses(other.box) or other.box.encloses(one.box)


def _correlation(one: Rgb, box: PixelBox, other: Rgb, place: PixelBox) -> float:
    """Return how much the picture in a box looks like the one near a place of another picture."""
    patch = pixels.crop(one, box)
    around = pixels.crop(other, pixels.grown(place, 14, *_size(other)))
    if min(patch.shape[:2], default=0) < 4 or min(around.shape[:2], default=0) < 4:
        return 0.0
    if patch.shape[0] * patch.shape[1] > 300_000:
        return UNKNOWN
    grays = [pixels.gray(np.ascontiguousarray(each)) for each in (patch, around)]
    if float(grays[0].std()) < 3:
        return UNKNOWN
    height = min(grays[0].shape[0], grays[1].shape[0])
    width = min(grays[0].shape[1], grays[1].shape[1])
    fits = cv2.matchTemplate(grays[1], grays[0][:height, :width], cv2.TM_CCOEFF_NORMED)
    return float(np.nan_to_num(fits, posinf=0, neginf=0).max())


# --- amounts


def _amounts(o: Observation) -> dict[str, float]:
    theirs, mine = o.theirs, o.mine
    approach = UNKNOWN
    done = mine.changed & beyond_pointing(o.generated, mine)
    if o.generated.approach is not None and mine.changed.any():
        approach = 1 - float(done.sum() / mine.changed.sum())
    events = o.outcome.events
    return {
        "reference_own": float((theirs.changed & theirs.own).sum() / max(theirs.own.sum(), 1)),
        "own": float((done & mine.own).sum() / max(mine.own.sum(), 1)),
        "reference_elsewhere": _log(theirs.elsewhere.sum()),
        "elsewhere": _log((done & ~mine.own).sum()),
        "approach": approach,
        "dialog": float(bool(events.dialogs)),
        "window": float(bool(events.windows or events.downloads)),
        "scrolls": float(bool(_SCROLLS.search(o.reference.description)) and _scrolled(o)),
        "leaves": float(o.outcome.changes.new_page or bool(_destination(o))),
    }


def _scrolled(o: Observation) -> bool:
    (x, y), (to_x, to_y) = o.generated.snapshot.scroll, o.outcome.snapshot.scroll
    return max(abs(to_x - x), abs(to_y - y)) >= const.SCROLLED


def _destination(o: Observation) -> str | None:
    here = o.generated.snapshot.url.split("#")[0]
    for one in o.outcome.events.navigations[:1]:
        if not one.split("#")[0].endswith(here):
            return one
    return None


# --- words


def _numbers(words: Sequence[Word]) -> list[Word]:
    return [one for one in words if has_digit(one.text)]


def _words(o: Observation) -> dict[str, float]:
    theirs, mine = o.theirs, o.mine
    arrived = mine.came if o.reference.action.kind == "drag" else o.arrived
    before = [*mine.kept, *mine.went, *(Word(one.text, one.before) for one in mine.moved)]
    recall = found_letters(theirs.came, arrived)
    known = found_letters(theirs.went, before)
    # Pages that are built anew leave texts out, of what is there before and after alike.
    kept = known if letters(theirs.went) >= const.FEW_LETTERS else 0.5 + 0.5 * o.layout.shared
    return {
        "reference_came": _log(letters(theirs.came)),
        "reference_went": _log(letters(theirs.went)),
        "reference_moved": _log(letters(theirs.moved)),
        "came": _log(letters(mine.came)),
        "went": _log(letters(mine.went)),
        "moved": _log(letters(mine.moved)),
        "came_recall": recall,
        "came_precision": found_letters(mine.came, theirs.came),
        "went_recall": found_letters(theirs.went, mine.went),
        "number_recall": found_letters(_numbers(theirs.came), _numbers(arrived)),
        "number_precision": found_letters(_numbers(mine.came), _numbers(theirs.came)),
        "relative": UNKNOWN if recall < 0 else min(1.0, recall / max(kept, 0.3)),
        "moved_recall": found_letters(theirs.moved, mine.moved),
    }


def _contrary(o: Observation) -> bool:
    """Return whether the page does the opposite: its numbers go the other way, or it hides what
    should stay and keeps what should go.
    """
    theirs, mine = o.theirs, o.mine
    ways = [
        (a > 0) == (b > 0)
        for was, a in _steps(theirs)
        for started, b in _steps(mine)
        if was == started
    ]
    if ways:
        return not any(ways)
    if letters(theirs.came) > const.HARDLY * letters(theirs.went):
        return False  # another text is shown instead
    before = [*mine.kept, *mine.went, *(Word(one.text, one.before) for one in mine.moved)]
    known, stay = {one.text for one in before}, {one.text for one in theirs.kept}
    stay |= {one.text for one in theirs.moved}
    gone = [one for one in theirs.went if one.text in known]
    lost = [one for one in unmatched(mine.went, theirs.went) if one.text in stay]
    return (
        letters(gone) >= const.FEW_LETTERS
        and letters(lost) >= max(const.FEW_LETTERS, const.MOSTLY * letters(mine.went))
        and found_letters(gone, mine.went) < 1 - const.MOSTLY
    )


def _steps(side: Side) -> list[tuple[float, float]]:
    """Return the numbers that others take the place of, and by how much those are larger."""
    pairs = [
        (value, new - value)
        for was in side.went
        for one in side.came
        if gap(was.box, one.box) <= const.BESIDE
        and (value := _value(was.text)) is not None
        and (new := _value(one.text)) is not None
    ]
    return [(value, step) for value, step in pairs if step]


def _value(word: str) -> float | None:
    """Return the number that a word is, with a sign of a currency or per cent."""
    digits = re.sub(r"\D", "", word)
    return float(digits) if digits and len(digits) >= len(word) - 2 else None


def _numbers_told(o: Observation) -> dict[str, float]:
    """Return how many numbers of the description come, and how many others."""
    told = {plain(one) for one in re.findall(r"\d+(?:[.,:]\d+)*", o.reference.description)}
    before, after = (
        {plain(word) for one in snapshot.elements for word in one.text.split()}
        for snapshot in (o.generated.snapshot, o.outcome.snapshot)
    )
    new = told - before
    known = told | {one.text for one in o.theirs.came}
    # Amounts may be rounded, or be examples; counts may not.
    counts = [one.text for one in o.arrived if sum(map(str.isdigit, one.text)) in (1, 2)]
    return {
        "told": len(new & after) / len(new) if new else UNKNOWN,
        "strange": float(sum(one not in known for one in counts)),
    }


# --- places


def _places(o: Observation) -> dict[str, float]:
    later = o.later
    parts = o.theirs.parts(), o.mine.parts()
    recall, precision = _area_overlap(o, later)
    growth = o.outcome.picture.shape[0] - o.generated.before.shape[0]
    return {
        "area_recall": recall,
        "area_precision": precision,
        "context": _area_context(later, parts),
        "growth": _signed_log(growth),
        **_floating(o),
    }


def _signed_log(value: float) -> float:
    return _log(value) if value >= 0 else -_log(-value)


def _area_context(
    where: Layout, parts: tuple[Sequence[pixels.Cluster], Sequence[pixels.Cluster]]
) -> float:
    """Return the share of the texts next to the reference's change that are next to the page's."""
    sets: list[dict[PixelBox, float]] = []
    for some, mine in zip(parts, (False, True), strict=True):
        weights: dict[PixelBox, float] = {}
        for part in sorted(some, key=lambda one: -one.pixels)[:8]:
            for one in where.around(part.box, mine=mine, most=3):
                weights[one.theirs] = weights.get(one.theirs, 0.0) + part.pixels**0.5
        sets.append(weights)
    total = sum(sets[0].values())
    if not total or not sets[1]:
        return UNKNOWN
    return sum(weight for box, weight in sets[0].items() if box in sets[1]) / total


def _area_overlap(o: Observation, later: Layout) -> tuple[float, float]:
    """Return how much of the changed areas lies on the other's, by cells of the mapped page."""
    cell = const.CELL
    theirs = _cells(o.theirs.news)
    mine = _cells(o.mine.news)
    if not theirs or not mine:
        return (0.0 if theirs else UNKNOWN), (0.0 if mine else UNKNOWN)
    there: set[tuple[int, int]] = set()
    for row, column in list(theirs)[:4000]:
        x, y = (
            later.point((column + 0.5) * cell, (row + 0.5) * cell)
            if not later.close > 0.95
            else (
                (column + 0.5) * cell,
                (row + 0.5) * cell,
            )
        )
        there.add((int(y // cell), int(x // cell)))
    wide = {(r + i, c + j) for r, c in mine for i in (-1, 0, 1) for j in (-1, 0, 1)}
    spread = {(r + i, c + j) for r, c in there for i in (-1, 0, 1) for j in (-1, 0, 1)}
    return len(there & wide) / len(there), len(mine & spread) / len(mine)


def _cells(mask: Mask) -> set[tuple[int, int]]:
    cell = const.CELL
    height, width = mask.shape
    room = ((0, -height % cell), (0, -width % cell))
    blocks = np.pad(mask, room).reshape((height + room[0][1]) // cell, cell, -1, cell)
    rows, columns = np.nonzero(blocks.sum(axis=(1, 3)) >= const.TRACE)
    return set(zip(rows.tolist(), columns.tolist(), strict=True))


def _floating(o: Observation) -> dict[str, float]:
    """Return whether what appears lies over the page."""
    by_ref = {one.ref: one for one in o.outcome.snapshot.elements}
    area = 0
    floats = False
    boxes = []
    for one in o.outcome.changes.appeared:
        at: Element | None = one
        inside = o.outcome.snapshot.inside(one)
        own = any(
            each.style.get("position") in ("fixed", "absolute") for each in (one, *inside[:3])
        )
        while at is not None and not own:
            own = at.style.get("position") == "fixed"
            at = by_ref.get(at.parent or 0)
        if own:
            floats = True
            area = max(area, one.box.area)
            boxes.append(one.box)
    old = {one.ref for one in o.generated.snapshot.elements if one.text.strip()}
    covered = [
        one
        for one in o.outcome.snapshot.elements
        if one.ref in old and one.ink is not None and one.ink.covered
    ]
    over = any(box.contains(*one.box.centre) for one in covered for box in boxes)
    return {
        "floating": float(floats),
        "floating_area": _log(area),
        "over": float(over),
        "veil": _veil(o.mine),
        "reference_veil": _veil(o.theirs),
    }


def _veil(side: Side) -> float:
    """Return the share of the page that looks different, while most of its words stay."""
    stay = letters(side.kept)
    others = letters(side.went) + letters(side.moved)
    return float(side.changed.mean()) if stay > others else 0.0


# --- colours


def _colours(o: Observation) -> dict[str, float]:
    theirs, mine = o.theirs, o.mine
    sides = []
    for side in (theirs, mine):
        mask = side.news
        if not pixels.clusters(mask, least=const.TRACE):
            mask = side.changed
        sides.append(side.after[mask])
    own = []
    for side in (theirs, mine):
        mask = side.changed & side.own
        own.append(side.after[mask])
    return {
        "same_after": _sameness(theirs, mine),
        "colour": pixels.same_colours(*sides),
        "own_colour": pixels.same_colours(*own),
    }


def _redrawn(o: Observation) -> dict[str, float]:
    trigger, pointed = o.theirs.trigger, o.generated.approach
    before = o.mine.before if pointed is None else pixels.fitted(pointed, *o.mine.size)
    return {
        "redrawn": redrawn(before, o.mine.after, o.found.box),
        "reference_redrawn": (
            UNKNOWN if trigger is None else redrawn(o.theirs.before, o.theirs.after, trigger)
        ),
    }


def _sameness(theirs: Side, mine: Side) -> float:
    """Return how much of what changes on either side looks the same on both afterwards."""
    width = min(theirs.size[0], mine.size[0])
    height = min(theirs.size[1], mine.size[1])
    either = theirs.elsewhere[:height, :width] | mine.elsewhere[:height, :width]
    total = int(either.sum())
    if not total:
        return UNKNOWN
    cut = [np.ascontiguousarray(one.after[:height, :width]) for one in (theirs, mine)]
    return 1 - int((pixels.differing(*cut) & either).sum()) / total


# --- kinds of change


def _kinds(o: Observation) -> dict[str, float]:
    told, own = o.outcome.changes, o.found.ref

    state = any(new.ref == own for _, new in (*told.restated, *told.retexted))
    return {
        "appeared": _log(len(told.appeared)),
        "vanished": _log(len(told.vanished)),
        "pushed": _log(told.pushed),
        "own_state": float(state),
    }


def _back(o: Observation) -> dict[str, float]:
    share = UNKNOWN
    if o.again is not None:
        changed = o.mine.elsewhere
        if not pixels.clusters(changed, least=const.TRACE):
            changed = o.mine.changed
        again = pixels.fitted(o.again.picture, *o.mine.size)
        same = ~pixels.changed(again, o.mine.before)
        share = float((changed & same).sum() / max(int(changed.sum()), 1))
        own = o.mine.changed & o.mine.own
        if (o.theirs.changed & o.theirs.own).any() and own.sum() > const.HARDLY * o.mine.own.sum():
            # The element is as it was, whatever a message says of it.
            share = max(share, float((own & same).sum() / own.sum()))
        height = o.again.picture.shape[0] == o.generated.before.shape[0]
        share = share if height else min(share, 0.9)
    return {"back": share}


def _others(o: Observation) -> dict[str, float]:
    best = {"other_works": 0.0, "other_area": UNKNOWN, "other_belongs": UNKNOWN}
    best["other_same"] = UNKNOWN
    for one in o.tries:
        side, there = one.side, one.shows
        mask = side.elsewhere
        if not pixels.clusters(mask):
            continue
        same = _sameness(o.theirs, side)
        if there < 0:
            there = found_letters(o.theirs.went, side.went) if o.theirs.went else same
        score = 0.3 + max(there, 0.0)
        if score > best["other_works"]:
            best = {
                "other_works": score,
                "other_area": abs(_log(mask.sum()) - _log(o.theirs.elsewhere.sum())),
                "other_belongs": float(_belongs(o, one.element, trigger_names(o))),
                "other_same": same,
            }
    return best
