"""Diagnosis of coordinates: which contract do the answers of a model follow?

Many very low grounding scores come from reading numbers under the wrong contract. Stored answers
can be read again under every other one, without asking the model:

    diagnosis = diagnose(records, declared=contract_for("my-model"))
    print(diagnosis.verdict)    # The coordinates are 0-1000: with that, 51.0 % instead of 2.1 % ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.grounding.coordinates import (
    WHOLE,
    Contract,
    Order,
    Point,
    Resize,
    Space,
    sent_size,
)
from uiproof.benchmarks.grounding.judge import distance_to_polygon
from uiproof.benchmarks.grounding.parsing import Parsed, locate, parse
from uiproof.benchmarks.grounding.prediction_files import BoxForm
from uiproof.benchmarks.grounding.predictions import Predictions, unit_box
from uiproof.errors import InputError, UsageError
from uiproof.geometry import Box
from uiproof.stats.intervals import clustered_rate, mcnemar, paired_permutation

Polygon = tuple[Point, ...]

_RESIZES = (
    Resize(28, 3136, 12845056),  # Qwen2.5-VL and most models made from it
    Resize(28, 78400, 12845056),  # UI-TARS 1.5
    Resize(28, 3136, 1003520),  # a limit that many servers are started with
    Resize(28, 3136, 2116800),  # Jedi
    Resize(28, 2000000, 4800000),  # UI-Venus 1.0
    Resize(32, 65536, 16777216),  # Qwen3-VL
)
_SENT = ((1568, 1150000), (2048, None), (1280, None), (1024, None))  # limits of side and area
_PIXELS = Contract(Space.PIXELS)
_FEWEST_HITS = 5  # under the best contract, to claim anything
_RESAMPLES = 1999
_MANY_UNREADABLE = 0.1  # a share of answers that is worth a word
_SHIFTS = 20  # comparisons with the targets of other answers, for the rate of chance


@dataclass(frozen=True, slots=True)
class Replayed:
    """One stored answer, the picture that was sent, and the target.

    `region` is the part of the whole image that was sent. `target` is a box or polygon in 0-1 of
    the whole image, or None if it is unknown.
    """

    raw: str
    sent_width: int
    sent_height: int
    region: Box = WHOLE
    target: Box | Polygon | None = None
    parsed: Parsed | None = None  # where a file has numbers instead of a text
    other_target: Box | None = None  # if the numbers of its box had the form `other_form`
    other_form: str = ""

    @property
    def place(self) -> Parsed:
        """Return what the answer says."""
        return parse(self.raw) if self.parsed is None else self.parsed


def replayed_predictions(found: Predictions, method: str) -> list[Replayed]:
    """Return the answers of one method of a prediction file, as they are written."""
    replayed = []
    other: BoxForm = "size" if found.boxes == "corners" else "corners"
    for item, one in zip(found.items, found.methods[method], strict=True):
        if isinstance(one.case, BrokenCase) or item.negative or item.size is None:
            continue
        element, given = one.case.truth.element, item.answers[method]
        target = element.polygon or element.clickable or element.bbox
        answer = Replayed(given.raw, *item.size, target=target, parsed=given.parsed)
        if item.box is not None:
            misread = unit_box(item.box, other, item.size)
            answer = replace(answer, other_form=other, other_target=misread)
        replayed.append(answer)
    if not replayed:
        raise InputError(
            f"{found.path} does not contain the sizes of its screenshots.",
            remedy="Add --dataset with the folder of the data set.",
        )
    return replayed


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """The answers under one contract; arrays are over those with a target."""

    contract: Contract
    hit: NDArray[np.bool_]
    farness: NDArray[np.float64]  # see `_farness`
    points: Sequence[Point | None]
    targets: Sequence[Box | Polygon]
    p_value: float = 1.0  # against the declared contract: exact McNemar test on the same answers
    plausible: bool = True  # not distinguishable from the contract that fits best

    @property
    def hits(self) -> int:
        """Return the number of hits; unreadable answers are misses."""
        return int(self.hit.sum())

    @property
    def n(self) -> int:
        """Return the number of answers with a target."""
        return len(self.hit)

    @property
    def rate(self) -> float:
        """Return the share of hits."""
        return self.hits / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The contracts that the answers may follow; `fits` has all that were tried, best first.

    `certain` is true if one convention could be named, `should_change` if the declared contract
    costs significantly many hits.
    """

    n: int
    unreadable: int
    declared: Fit
    best: Fit
    fits: tuple[Fit, ...]
    certain: bool
    should_change: bool
    numbers_say: str  # evidence from the size of the numbers alone
    verdict: str = ""

    @property
    def plausible(self) -> tuple[Contract, ...]:
        """Return the best contract and those that cannot be told from it."""
        return tuple(fit.contract for fit in self.fits if fit.plausible)


def diagnose(
    records: Sequence[Replayed], *, declared: Contract, confidence: float = 0.95
) -> Diagnosis:
    """Read stored answers under every contract and find the one that the model used.

    Two contracts are told apart by their hits on the same answers (McNemar, corrected for the
    number of contracts), else by the distance of their places from the targets (a paired
    permutation test on logarithms of distances in sizes of the target).
    """
    if not records:
        raise UsageError("There are no stored answers to diagnose.", remedy="Run a method first.")
    parsed = [record.place for record in records]
    fits = [
        _fit(partial(_place, contract), records, parsed, contract)
        for contract in _tried(declared, records, parsed)
    ]
    level = (1 - confidence) / len(fits)
    own, best = fits[0], _best(fits, level, 1 - confidence)
    judged = {
        fit: replace(
            fit,
            p_value=mcnemar(own.hit, fit.hit).p,
            plausible=fit is best
            or (_hits_alike(best, fit, level) and _near_alike(best, fit, 1 - confidence)),
        )
        for fit in fits
    }
    own, best = judged[own], judged[best]
    real = _beats_chance(best, confidence)
    found = Diagnosis(
        n=own.n,
        unreadable=sum(not answer.numbers for answer in parsed),
        declared=own,
        best=best,
        fits=tuple(
            sorted(judged.values(), key=lambda fit: (fit is not best, not fit.plausible, -fit.hits))
        ),
        certain=real
        and len({_convention(fit.contract) for fit in judged.values() if fit.plausible}) == 1,
        should_change=real
        and not own.plausible
        and best.hits > own.hits
        and best.p_value < 1 - confidence,
        numbers_say=numbers_say(records),
    )
    if mistake := _mistake(best, records, parsed, confidence):
        words, fit = mistake
        gain = _gain(words, fit.hits, mcnemar(own.hit, fit.hit).p, found)
        return replace(found, certain=False, should_change=True, verdict=f"{gain}.")
    return replace(found, verdict=_verdict(found, real))


def numbers_say(records: Sequence[Replayed]) -> str:
    """Return what the size of the numbers alone shows about their space, in words."""
    answers = [(record.place.numbers, record) for record in records]
    largest_of_each = sorted(max(found) for found, _ in answers if found)
    if not largest_of_each:
        return "There are no numbers in the answers."
    # A few numbers beyond the range of a contract are slips of the model, no evidence.
    largest = largest_of_each[ceil(0.98 * (len(largest_of_each) - 1))]
    seen = f"The numbers in {len(largest_of_each)} answers go up to {largest:g}"
    beside = sum(
        max(found, default=0) > max(record.sent_width, record.sent_height)
        for found, record in answers
    )
    if largest <= 1:
        return f"{seen}: these are fractions, 0-1."
    if largest > 1000:
        more = f", in {beside} answers more than the picture sent has" if beside else ""
        return f"{seen}: these are pixels, not 0-1000{more}."
    if beside:
        return f"{seen}, in {beside} beyond the pixels of the picture sent: this suggests 0-1000."
    if largest <= 100:
        return f"{seen}: this suggests percent."
    return f"{seen}: this fits 0-1000 as well as pixels."


def _tried(
    declared: Contract, records: Sequence[Replayed], parsed: Sequence[Parsed]
) -> list[Contract]:
    """Return the declared contract, then each space in both orders, with the usual resizes."""
    read = [answer for answer in parsed if answer.numbers]
    # Answers that name their axes or carry percent signs mean the same under every contract.
    orders = (declared.order,) if all(answer.named for answer in read) else tuple(Order)
    tried = [declared]
    if not read or not all(answer.percent for answer in read):
        sizes = {(record.sent_width, record.sent_height) for record in records}
        spaces = [Contract(space) for space in Space if space is not Space.RESIZED]
        spaces += [Contract(Space.RESIZED, resize=resize) for resize in _RESIZES]
        sent = [Contract(Space.PIXELS, sent_side=side, sent_pixels=area) for side, area in _SENT]
        spaces += [one for one in sent if any(sent_size(one, *size) != size for size in sizes)]
        tried += [
            replace(contract, order=order, shape=declared.shape)
            for order in orders
            for contract in spaces
        ]
    return list(dict.fromkeys(tried))


def _fit(
    place: Callable[[Replayed, Parsed], Point | None],
    records: Sequence[Replayed],
    parsed: Sequence[Parsed],
    contract: Contract = _PIXELS,
) -> Fit:
    """Return how answers fit that are placed by this function, in 0-1 of the picture sent."""
    points: list[Point | None] = []
    targets: list[Box | Polygon] = []
    for record, answer in zip(records, parsed, strict=True):
        if record.target is not None:
            point, region = place(record, answer), record.region
            if point is not None:
                point = region.x + point[0] * region.w, region.y + point[1] * region.h
            points.append(point)
            targets.append(record.target)
    pairs = list(zip(points, targets, strict=True))
    return Fit(
        contract,
        np.array([_hits(*pair) for pair in pairs], dtype=bool),
        np.array([_farness(*pair) for pair in pairs], dtype=float),
        points,
        targets,
    )


def _place(contract: Contract, record: Replayed, parsed: Parsed) -> Point | None:
    size = sent_size(contract, record.sent_width, record.sent_height)
    try:
        place = locate(parsed, contract, *size)
    except UsageError:  # the picture is too thin for smart-resize
        return None
    return place.centre if isinstance(place, Box) else place


def _hits(point: Point | None, target: Box | Polygon) -> bool:
    if point is None:
        return False
    if isinstance(target, Box):
        return target.contains(*point)
    return distance_to_polygon(point, target) == 0


def _farness(point: Point | None, target: Box | Polygon) -> float:
    """Return 0 in the middle of the target, growing logarithmically; 0 without an answer."""
    if point is None:
        return 0.0
    box = _around(target)
    across = (point[0] - box.centre[0]) / max(box.w / 2, 1e-4)
    down = (point[1] - box.centre[1]) / max(box.h / 2, 1e-4)
    return float(np.log1p(across * across + down * down))


def _around(target: Box | Polygon) -> Box:
    return target if isinstance(target, Box) else Box.around(target)


def _best(fits: Sequence[Fit], level: float, near: float) -> Fit:
    """Return the contract with the nearest places among those with the most hits.

    Of those of the same convention that cannot be told apart, it is the most usual one.
    """
    most = max(fits, key=lambda fit: fit.hits)
    alike = (fit for fit in fits if _hits_alike(most, fit, level))
    best = min(alike, key=lambda fit: float(fit.farness.sum()))
    same = [fit for fit in fits if _convention(fit.contract) == _convention(best.contract)]
    usual = (fit for fit in same if _hits_alike(best, fit, level) and _near_alike(best, fit, near))
    return next(usual, best)


def _hits_alike(a: Fit, b: Fit, level: float) -> bool:
    return mcnemar(a.hit, b.hit).p >= level


def _near_alike(a: Fit, b: Fit, level: float) -> bool:
    p_value = paired_permutation(a.farness, b.farness, resamples=_RESAMPLES)
    return p_value is None or p_value >= level


def _beats_chance(fit: Fit, confidence: float) -> bool:
    """Return whether the answers hit their own targets more often than those of others."""
    share = clustered_rate(fit.hit, confidence=confidence)
    if share is None or share.low is None or fit.hits < _FEWEST_HITS:
        return False
    return share.low > _chance_hits(fit) / fit.n


def _chance_hits(fit: Fit) -> float:
    """Return how many answers would hit if they had been given about other items."""
    targets, shifts = fit.targets, min(_SHIFTS, fit.n - 1)
    others = sum(
        _hits(point, targets[(i + shift) % fit.n])
        for shift in range(1, shifts + 1)
        for i, point in enumerate(fit.points)
    )
    return others / max(shifts, 1)


def _convention(contract: Contract) -> tuple[str, Order, bool]:
    """Return the space and order; 0-1000 and 0-999 are one convention, as are all resizes."""
    space, shrunk = contract.space, contract.sent_side is not None
    return ("thousand" if space is Space.THOUSAND_999 else str(space)), contract.order, shrunk


# --- mistakes that no contract covers


@dataclass(frozen=True, slots=True)
class _Canvas:
    """Pixels of a picture that was scaled or padded by an unknown `k` before the model saw it.

    On each axis, a number is at `number / k * gain + shift` in 0-1 of the picture.
    """

    words: str
    gain: Callable[[int, int], Point]
    usual: tuple[float, ...] = ()
    usual_words: str = ""
    padded: bool = False

    def place(self, k: float, record: Replayed, parsed: Parsed) -> Point | None:
        """Return where the middle of the answer lies."""
        if not parsed.numbers:
            return None
        (across, down), (right, lower) = self.axes(record)
        x, y = _middle(parsed.numbers)
        return x / k * across + right, y / k * down + lower

    def axes(self, record: Replayed) -> tuple[Point, Point]:
        """Return gain and shift on both axes."""
        gain = self.gain(record.sent_width, record.sent_height)
        return gain, ((1 - gain[0]) / 2, (1 - gain[1]) / 2) if self.padded else (0.0, 0.0)

    def estimate(self, records: Sequence[Replayed], parsed: Sequence[Parsed]) -> float | None:
        """Return the `k` that puts the most answers onto their targets."""
        pairs = [
            (record, answer, record.target)
            for record, answer in zip(records, parsed, strict=True)
            if record.target is not None and answer.numbers
        ]
        pairs = pairs[:: ceil(len(pairs) / _SAMPLED)] if pairs else []
        found = []  # each k under which an answer is in the middle of its target
        for record, answer, target in pairs:
            gain, shift = self.axes(record)
            middle = _around(target).centre
            for axis, number in enumerate(_middle(answer.numbers)):
                wanted = (middle[axis] - shift[axis]) / gain[axis]
                if wanted > _FAR and number > 0:
                    found.append(number / wanted)
        if not found:
            return None
        found.sort()
        k = max(
            found[:: ceil(len(found) / _ESTIMATES)],
            key=lambda k: sum(_hits(self.place(k, *one[:2]), one[2]) for one in pairs),
        )
        return float(np.median([one for one in found if abs(one / k - 1) < _CLOSE]))


_CANVASES = (
    _Canvas(
        "pixels of a picture {:.3g} times as large",
        lambda w, h: (1 / w, 1 / h),
        (2.0, 0.5, 1.5, 3.0),
    ),
    _Canvas(
        "pixels of a picture whose longer side has {:.0f}",
        lambda w, h: (max(w, h) / w, max(w, h) / h),
        (1.0, 100.0, 1000.0),
        "0-{:g} of the longer side",
    ),
    _Canvas("pixels of the picture stretched to {0:.0f}x{0:.0f}", lambda _w, _h: (1.0, 1.0)),
    _Canvas(
        "pixels of the picture padded to a square of {:.0f}",
        lambda w, h: (max(w, h) / w, max(w, h) / h),
        (1.0, 100.0, 1000.0),
        "0-{:g} of the picture padded to a square",
        padded=True,
    ),
    _Canvas(
        "pixels of a picture shrunk to an area of {0:.0f}x{0:.0f}",
        lambda w, h: (sqrt(h / w), sqrt(w / h)),
    ),
)
_MOST = 0.9  # of the most hits that a mistake explains
_FAR = 0.2  # from the first corner, where a small miss changes the estimate of a scale little
_CLOSE = 0.03  # relatively, for estimates of the same scale
_SAMPLED = 200  # answers that take part in estimating a scale
_ESTIMATES = 60  # scales that are tried, of those that single answers suggest


def _mistake(
    best: Fit, records: Sequence[Replayed], parsed: Sequence[Parsed], confidence: float
) -> tuple[str, Fit] | None:
    """Return the mistake that explains significantly more answers than the best contract."""
    if best.n < _FEWEST_HITS:
        return None
    known = list(_mistakes(records, parsed))
    fitted = [
        (f"The coordinates are {one.words.format(k)}", _fit(partial(one.place, k), records, parsed))
        for one in _CANVASES
        if (k := one.estimate(records, parsed))
    ]
    tests = ((known, len(known)), (fitted, _ESTIMATES * len(_CANVASES)))
    better = [
        (words, fit)
        for found, count in tests
        for words, fit in found
        if fit.hits > best.hits and mcnemar(best.hit, fit.hit).p < (1 - confidence) / count
    ]
    if not better:
        return None
    # Targets that were read wrongly may be large, and easily hit.
    gains = [fit.hits - _chance_hits(fit) for _, fit in better]
    better = [one for one, gain in zip(better, gains, strict=True) if gain >= _MOST * max(gains)]
    nearest = min(better, key=lambda one: float(one[1].farness.sum()))[1]
    # The first of those that cannot be told apart: known mistakes come before fitted scales.
    words, fit = next(one for one in better if _near_alike(nearest, one[1], 1 - confidence))
    return (words, fit) if _beats_chance(fit, confidence) else None


def _mistakes(records: Sequence[Replayed], parsed: Sequence[Parsed]) -> Iterator[tuple[str, Fit]]:
    boxes = any(len(answer.numbers) == 4 for answer in parsed)
    form = next((record.other_form for record in records if record.other_form), "")
    others = [replace(one, target=one.target and one.other_target) for one in records]
    for space in Space:
        base = Contract(space, resize=Resize() if space is Space.RESIZED else None)
        place, unit = partial(_place, base), base.words
        yield (
            f"The coordinates are {unit} with y from below",
            _fit(partial(_upside_down, base), records, parsed),
        )
        if boxes:
            corner = [_size_box(answer) for answer in parsed]
            yield f"Boxes are a corner and a size in {unit}", _fit(place, records, corner)
            centre = [replace(answer, numbers=answer.numbers[:2]) for answer in parsed]
            yield f"Boxes are a centre and a size in {unit}", _fit(place, records, centre)
        for shift, which in ((1, "previous"), (-1, "next")):
            moved = [*parsed[shift:], *parsed[:shift]]
            words = f"Each answer, in {unit}, belongs to the {which} item"
            yield words, _fit(place, records, moved)
        if form and all(one.target for one in others):
            words = f"The target boxes have the form `{form}` (--boxes), the points are {unit}"
            yield words, _fit(place, others, parsed)
    for canvas in _CANVASES:
        for k in canvas.usual:
            words = (canvas.usual_words or canvas.words).format(k)
            fit = _fit(partial(canvas.place, k), records, parsed)
            yield f"The coordinates are {words}", fit


def _middle(numbers: Sequence[float]) -> Point:
    return sum(numbers[::2]) / len(numbers[::2]), sum(numbers[1::2]) / len(numbers[1::2])


def _upside_down(contract: Contract, record: Replayed, parsed: Parsed) -> Point | None:
    place = _place(contract, record, parsed)
    return None if place is None else (place[0], 1 - place[1])


def _size_box(answer: Parsed) -> Parsed:
    if len(answer.numbers) != 4:
        return answer
    x, y, w, h = answer.numbers
    return replace(answer, numbers=(x, y, x + w, y + h))


def _verdict(found: Diagnosis, beats_chance: bool) -> str:
    own, best = found.declared, found.best
    if not found.n:
        return f"Cannot tell: no target is known. {found.numbers_say}"
    if not beats_chance:
        return (
            f"Cannot tell: under no contract do the answers hit more than chance does "
            f"(at best {best.hits} of {best.n}, as {best.contract.words}). {found.numbers_say}"
        )
    words: dict[tuple[str, Order, bool], str] = {}
    for fit in found.fits:
        if fit.plausible:
            words.setdefault(_convention(fit.contract), fit.contract.words)
    alike = " or ".join(words.values())
    gain = _gain(f"The coordinates are {alike}", best.hits, best.p_value, found)
    unreadable = ""
    if found.unreadable > _MANY_UNREADABLE * found.n:
        unreadable = f" {found.unreadable} answers cannot be read."
    if found.should_change and found.certain:
        return f"{gain}. Use the contract `{best.contract}`.{unreadable}"
    if found.should_change:
        return f"{gain}; these answers cannot tell which of them it is.{unreadable}"
    declared = f"As declared, {own.contract.words}, {_percent(own.rate)} of {found.n} answers hit"
    if not own.plausible:
        return (
            f"{gain}; not significantly more of them hit, but the places come nearer to their "
            f"targets.{unreadable}"
        )
    if not found.certain:
        same = " from ".join(words.values())
        return f"Cannot tell {same}: both fit these answers. {declared}.{unreadable}"
    other = max(
        (f.rate for f in found.fits if _convention(f.contract) != _convention(best.contract)),
        default=0.0,
    )
    return (
        f"The declared contract fits. {declared}, at most {_percent(other)} as anything else."
        f"{unreadable}"
    )


def _gain(claim: str, hits: int, p_value: float, found: Diagnosis) -> str:
    small = "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"
    return (
        f"{claim}: with that, {_percent(hits / found.n)} instead of "
        f"{_percent(found.declared.rate)} (p {small}, {found.n} answers)"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
