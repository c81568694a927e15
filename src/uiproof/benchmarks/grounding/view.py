"""Grounding in reports: a gallery of clicks, tables of detection rates, charts."""

from __future__ import annotations

import heapq
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, zip_longest
from math import hypot, isfinite
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmark import Record
from uiproof.benchmarks.grounding.charts import draw_charts
from uiproof.benchmarks.grounding.judge import SIZES, ClickVerdict, sizes
from uiproof.benchmarks.grounding.results import metrics_of_run
from uiproof.benchmarks.grounding.summary import SERVER_ERROR
from uiproof.benchmarks.grounding.tables import report_tables
from uiproof.charts import drawable
from uiproof.engine.rundir import RunDirectory
from uiproof.geometry import Box, PixelBox
from uiproof.markup import Markup, joined, tag
from uiproof.views.base import Analyses, Leaderboard, shortened
from uiproof.views.cards import CardView, Filter, Group, ShownCase
from uiproof.views.pictures import Crop, Limits, Pictures, image

MOST_FAILURES = 800  # of a page; its runs share them
MOST_RIGHT = 200
CHARTS = {
    "detection_rate_overall": "Detection rate",
    "detection_rate_by_size": "Detection rate by size of the element",
    "accuracy_vs_latency": "Detection rate and latency",
}
_NOT_MEASURED = ("server_error", "failed")
# The kinds of verdicts, and the reasons why there is none.
OUTCOMES = (*(kind.value for kind in ClickVerdict), *_NOT_MEASURED)

Point = tuple[float, float]


def analyses(runs: Sequence[RunDirectory]) -> Analyses:
    """Return the tables and charts of the described framework."""
    metrics = [metrics_of_run(run) for run in runs]
    named = [
        replace(one, method_name=drawable(one.method_name), dataset_name=drawable(one.dataset_name))
        for one in metrics
    ]
    return Analyses(report_tables(metrics), CHARTS, partial(draw_charts, named))


@dataclass(frozen=True, slots=True)
class ClickCase(ShownCase):
    """A case of the gallery."""

    outcome: str
    right: bool
    badness: float  # see `_badness`

    @classmethod
    def of(cls, run: int, record: Record) -> ClickCase:
        """Return how a case ended."""
        outcome = _outcome(record)
        # Assisted methods are judged by their own rule, as in their summaries.
        score = record.scores.get("detected", record.scores.get("accuracy"))
        return cls(run, record, outcome, bool(score), _badness(record, outcome))

    @property
    def details(self) -> Mapping[str, Any]:
        """Return the details of the judge; empty if the case could not be loaded."""
        return self.record.details

    @property
    def size(self) -> str | None:
        """Return `small`, `medium` or `large`; None without a target."""
        return sizes(self.details)[0]


class Gallery(CardView[ClickCase]):
    """The case view: where the clicks went, the worst failures first."""

    title: ClassVar[str] = "Gallery"
    search: ClassVar[str] = "instruction, id or answer"
    legend: ClassVar[Mapping[str, str]] = {
        "truth": "target",
        "clickable": "clickable area",
        "click": "click",
        "said": "box of the answer",
        "look": "looked at",
    }
    outcomes_title: ClassVar[str] = "Verdicts"
    outcomes: ClassVar[Sequence[str]] = OUTCOMES

    def __init__(
        self, board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures
    ) -> None:
        failures = max(MOST_FAILURES // len(runs), 60)
        right = max(MOST_RIGHT // len(runs), 20)
        self._selections = [
            select(number, run.records(), most_failures=failures, most_right=right)
            for number, run in enumerate(runs)
        ]
        shown = [case for selection in self._selections for case in selection.shown]
        cases = [
            *_worst_first(case for case in shown if not case.right),
            *_worst_first(case for case in shown if case.right),
        ]
        super().__init__(board, cases, [selection.outcomes for selection in self._selections])
        self._pictures = pictures

    def groups(self) -> Sequence[Group]:
        """Return failures, and right answers, which are closed where something failed."""
        some_fail = any(not case.right for case in self.cases)
        return (
            Group("Failures", lambda case: not case.right),
            Group("Right answers", lambda case: case.right, not some_fail),
        )

    def notes(self) -> list[str]:
        """Return how many cases of each run are not shown."""
        found = []
        for name, selection in zip(self.names, self._selections, strict=True):
            shown = Counter(case.right for case in selection.shown)
            parts = []
            if shown[False] < selection.failures:
                counts = f"{shown[False]:,} of {selection.failures:,}"
                parts.append(f"{counts} failures are shown, the worst of each verdict")
            if shown[True] < selection.right:
                parts.append(f"{shown[True]:,} of {selection.right:,} right answers are shown")
            if parts:
                found.append(f"{name}: {'; '.join(parts)}.")
        return found

    def filters(self) -> list[Filter[ClickCase]]:
        """Return filters by verdict, type, size and every tag of the data."""

        def one_of(value: Callable[[ClickCase], Any]) -> Callable[[ClickCase], Sequence[str]]:
            return lambda case: [] if (found := value(case)) is None else [str(found)]

        def tagged(name: str) -> Callable[[ClickCase], Sequence[str]]:
            return one_of(lambda case: case.details.get("tags", {}).get(name))

        cases = self.cases
        kind = one_of(lambda case: case.details.get("element_type"))
        filters = [
            Filter.of(
                "Verdict", cases, lambda case: [case.outcome], order=OUTCOMES, shown=self.label
            ),
            Filter.of("Element", cases, kind, shown=self.label),
            Filter.of("Size", cases, one_of(lambda case: case.size), order=SIZES),
        ]
        tags = sorted({str(name) for case in cases for name in case.details.get("tags", {})})
        return filters + [
            Filter.of(self.label(name).capitalize(), cases, tagged(name)) for name in tags
        ]

    def card(self, case: ClickCase, run: Markup | None, **attributes: str) -> Markup:
        """Return target and click enlarged, the whole screenshot, the verdict and the answer."""
        about = tag("div", _verdict(case), _instruction(case), _facts(case, run))
        scene = Scene.read(case.details)
        if scene is None:
            return tag("li", tag("div", about, class_="about"), _more(case), **attributes)
        whole = PixelBox(0, 0, scene.width, scene.height)
        panes = _panes(scene, whole)
        pictures = self._shown(case, scene, [*panes.values(), whole])
        if pictures[-1] is None and len(panes) > 1:
            # Two empty pictures would not even say where they are.
            panes, pictures = {"": whole}, [None, None]
        figures = []
        for (name, region), picture in zip(panes.items(), pictures, strict=False):
            label = f"{name or 'Target and click'}: {_words(case.outcome)}"
            caption = tag("figcaption", name) if name else ""
            figures.append(tag("figure", _drawing(scene, region, picture, label), caption))
        missing = "" if pictures[-1] else tag("span", "no screenshot", class_="quiet")
        drawn = _drawing(scene, whole, pictures[-1], "The whole screenshot", looks=True)
        overview = tag("div", drawn, missing, class_="overview")
        return tag(
            "li",
            tag("div", *figures, class_=f"zoomed of-{len(figures)}"),
            tag("div", overview, about, class_="about"),
            _more(case),
            **attributes,
        )

    def _shown(
        self, case: ClickCase, scene: Scene, regions: Sequence[PixelBox]
    ) -> list[Markup | None]:
        """Return crops of the screenshot, the whole last; None if the file is another picture."""
        path = Path(str(case.details.get("image", "")))
        # Published files name images relative to folders that are not known here.
        if not path.is_absolute() or self._pictures.size(path) != (scene.width, scene.height):
            return [None] * len(regions)
        limits = [*[_ALONE if len(regions) == 2 else _HALF] * (len(regions) - 1), _WHOLE]
        numbers = [
            self._pictures.add(Crop(path, *one)) for one in zip(regions, limits, strict=True)
        ]
        return [
            None if number is None else image(number, region)
            for number, region in zip(numbers, regions, strict=True)
        ]


# Choose the cases that have a card


@dataclass(frozen=True, slots=True)
class Selection:
    """The cases of one run that are shown, and counts of all of them."""

    shown: tuple[ClickCase, ...]
    outcomes: Mapping[str, int]
    failures: int
    right: int


def select(
    run: int,
    records: Iterable[Record],
    *,
    most_failures: int = MOST_FAILURES,
    most_right: int = MOST_RIGHT,
) -> Selection:
    """Choose the worst failures of a run, and a sample of right answers.

    Where there are too many failures, the kinds of verdicts share the places, so that no kind
    hides another. Reads the records once and keeps only what may be shown.
    """
    outcomes: Counter[str] = Counter()
    right = 0
    worst: dict[str, list[_Ranked]] = {outcome: [] for outcome in OUTCOMES}
    sample: list[_Ranked] = []
    for number, record in enumerate(records):
        case = ClickCase.of(run, record)
        outcomes[case.outcome] += 1
        right += case.right
        if case.right:  # the checksum chooses the same ones in every run of a data set
            checksum = zlib.crc32(record.id.encode("utf-8", "replace"))
            _push(sample, most_right, (checksum, -number, case))
        else:
            _push(worst[case.outcome], most_failures, (case.badness, -number, case))
    turns = zip_longest(*(sorted(heap, reverse=True) for heap in worst.values()))
    ranked = islice((one for one in chain.from_iterable(turns) if one), most_failures)
    shown = (*_worst_first(one[2] for one in ranked), *_worst_first(one[2] for one in sample))
    return Selection(shown, outcomes, outcomes.total() - right, right)


_Ranked = tuple[float, int, ClickCase]  # of equal values the first case stays


def _push(heap: list[_Ranked], most: int, entry: _Ranked) -> None:
    if len(heap) < most:
        heapq.heappush(heap, entry)
    elif heap:
        heapq.heappushpop(heap, entry)


def _worst_first(cases: Iterable[ClickCase]) -> list[ClickCase]:
    return sorted(cases, key=lambda case: (-case.badness, case.record.id, case.run))


def _outcome(record: Record) -> str:
    if record.error is None:
        found = str(record.details.get("verdict"))
        return found if found in OUTCOMES else ClickVerdict.UNPARSEABLE.value
    if record.error.code == SERVER_ERROR:
        return "server_error"
    return ClickVerdict.UNPARSEABLE.value if record.error.code.startswith("answer") else "failed"


def _badness(record: Record, outcome: str) -> float:
    """Return the distance from the target in diagonals of the screenshot, 0 without a click.

    Cases that were not measured come last: they are not a failure of the method.
    """
    if outcome in _NOT_MEASURED:
        return -1.0
    distance = record.scores.get("distance_px")
    if distance is None:
        return 0.0
    return float(distance) / hypot(record.details["width"], record.details["height"])


# Texts of a card

_LONGEST_INSTRUCTION = 400
_LONGEST_ANSWER = 600
_MOST_ANSWERS = 6


def _words(name: str) -> str:
    return name.replace("_", " ")


def _verdict(case: ClickCase) -> Markup:
    scores = case.record.scores
    colour = "good" if case.right else "warn" if case.badness < 0 else "bad"
    facts = []
    if case.record.error is not None and case.record.error.stage == "load":
        facts.append("the case could not be loaded")
    if distance := scores.get("distance_px"):
        pixels = f"{distance:.1f}" if distance < 10 else f"{distance:,.0f}"
        facts.append(f"{pixels} px from the target")
    if case.outcome == "wrong_element":
        facts.append(f"on {shortened(str(case.details.get('hit_element')), 60)}")
    if "detected" in scores:
        facts.append(f"{'detected' if scores['detected'] else 'not detected'} by its own rule")
    badge = tag("span", _words(case.outcome), class_=f"badge {colour}")
    return tag("p", badge, " · ".join(facts), class_="verdict")


def _instruction(case: ClickCase) -> Markup:
    text = case.details.get("instruction")
    if text is None:
        return tag("p", "The case could not be loaded.", class_="instruction quiet")
    return tag("p", shortened(str(text), _LONGEST_INSTRUCTION), class_="instruction", dir="auto")


def _facts(case: ClickCase, run: Markup | None) -> Markup:
    details = case.details
    about = [case.record.id]
    if (details.get("truth") or {}).get("refusal"):
        about.append("not on the screenshot")
    elif details.get("element_type"):
        about += [_words(str(details["element_type"])), case.size or ""]
    about += [f"{_words(str(name))}: {value}" for name, value in details.get("tags", {}).items()]
    text = tag("p", " · ".join(shortened(one, 80) for one in about if one), class_="small quiet")
    return text if run is None else joined(tag("p", run, class_="small"), text)


def _more(case: ClickCase) -> Markup:
    """Return the error, the numbers and the raw answers, which are closed at first."""
    rows = [
        joined(tag("dt", name), tag("dd", value, dir="auto"))
        for name, value in _answer_details(case)
        if value
    ]
    if not rows:
        return Markup("")
    return tag("details", tag("summary", "Answer"), tag("dl", *rows))


def _answer_details(case: ClickCase) -> Iterator[tuple[str, str]]:
    def short(text: object) -> str:
        return shortened(str(text or ""), _LONGEST_ANSWER)

    def number(value: Any) -> str:
        return f"{value:.3f}" if isinstance(value, (int, float)) and isfinite(value) else ""

    record, details = case.record, case.details
    if record.error is not None:
        error = record.error
        yield "Error", f"{error.code} ({error.stage}): {short(error.message)}"
        yield "Remedy", short(error.remedy)
    answer = details.get("answer") or {}
    click = answer.get("click")
    if click and None not in click:
        x, y = click[0] * details["width"], click[1] * details["height"]
        yield "Click", f"{x:,.0f}, {y:,.0f} px of {details['width']} × {details['height']}"
    yield "Confidence", number(answer.get("confidence"))
    yield "IoU", number(record.scores.get("iou"))
    yield "Target text", short((details.get("truth") or {}).get("text"))
    finding = details.get("assisted") or {}
    yield "Matched", short(finding.get("matched_text"))
    for error_text in (finding.get("region_errors") or ())[:_MOST_ANSWERS]:
        yield "Look failed", short(error_text)
    looks = details.get("looks") or ()
    if len(looks) > 1:
        yield "Looks", str(len(looks))
    asked = dict.fromkeys(call["prompt"] for call in record.calls if call.get("prompt"))
    for prompt in list(asked)[:_MOST_ANSWERS]:
        yield "Prompt", short(prompt)
    said = [str(look["raw"]) for look in looks if look.get("raw")]
    for raw in said[:_MOST_ANSWERS]:
        yield "Said", short(raw)
    if len(said) > _MOST_ANSWERS:
        yield "And", f"{len(said) - _MOST_ANSWERS} answers more"
    for note in (details.get("notes") or ())[:_MOST_ANSWERS]:
        yield "Note", short(note)


# Drawings of a card: vector graphics over crops of the screenshot

_WHOLE = Limits(pixels=300_000, bytes=30_000)
_ALONE = Limits(pixels=220_000, bytes=40_000)  # a picture of target and click
_HALF = Limits(pixels=120_000, bytes=20_000)  # a picture of one of them
_WIDE, _TALL = 1.6, 0.8  # width by height of a picture alone, and of two beside each other
_LEAST_HEIGHT = 200  # pixels: smaller crops show nothing around the element
_FEWEST_MARGIN, _MOST_MARGIN = 24, 120  # pixels on each side
_MOST_LOOKS = 40


@dataclass(frozen=True, slots=True)
class Scene:
    """The boxes and points of one case, in pixels of its screenshot."""

    width: int
    height: int
    target: Box | None  # None where the right answer is to refuse
    polygon: tuple[Point, ...]
    clickable: Box | None
    click: Point | None  # on the edge if it is outside of the screenshot, where it is not enlarged
    outside: bool
    said: Box | None  # the box of the answer
    looks: tuple[Box, ...]  # parts of the screenshot that were looked at

    @classmethod
    def read(cls, details: Mapping[str, Any]) -> Scene | None:
        """Read the details of a record; None if the case could not be loaded."""
        truth, answer = details.get("truth"), details.get("answer") or {}
        if not truth or not details.get("width") or not details.get("height"):
            return None
        width, height = int(details["width"]), int(details["height"])

        def box(values: Sequence[float | None] | None) -> Box | None:
            found = _numbers(values, 4)
            if found is None:
                return None
            x, y, w, h = found
            return Box(x * width, y * height, max(w, 0.0) * width, max(h, 0.0) * height)

        there = not truth["refusal"]
        same = truth["clickable"] == truth["bbox"]  # one line is enough
        looks = [box(look.get("region")) for look in details.get("looks") or ()]
        parts = [look for look in looks if look is not None and look.area < width * height]
        click = _numbers(answer.get("click"), 2)
        return cls(
            width,
            height,
            target=box(truth["bbox"]) if there else None,
            polygon=tuple((x * width, y * height) for x, y in truth["polygon"] if there),
            clickable=box(truth["clickable"]) if there and not same else None,
            click=(_within(click[0], 1) * width, _within(click[1], 1) * height) if click else None,
            outside=bool(click) and any(not 0 <= part <= 1 for part in click or ()),
            said=box(answer.get("box")),
            looks=tuple(parts[:_MOST_LOOKS]),
        )


def _within(number: float, most: float) -> float:
    return min(max(number, 0), most)


def _panes(scene: Scene, whole: PixelBox) -> dict[str, PixelBox]:
    """Return target and click in one part, or in two with names if they are far apart."""
    click = None if scene.outside or scene.click is None else Box(*scene.click, 0.0, 0.0)
    target = scene.target
    if target is not None and scene.clickable is not None:
        target = target.union(scene.clickable)
    if target is None or click is None:
        only = target or click
        return {"": whole if only is None else _around(only, scene, _WIDE)}
    both = _around(target.union(click), scene, _WIDE)
    if both.width <= 2 * _around(target, scene, _WIDE).width:
        return {"": both}
    wanted = _around(target, scene, _TALL)
    return {"Target": wanted, "Click": _centred(wanted.width, wanted.height, click, scene)}


def _drawing(
    scene: Scene, region: PixelBox, picture: Markup | None, label: str, *, looks: bool = False
) -> Markup:
    """Draw a part of the screenshot and all marks on it; without a picture on a canvas."""
    shapes = [picture or _rect(Box(0, 0, scene.width, scene.height), "canvas")]
    if looks:
        shapes += [_rect(look, "look") for look in scene.looks]
    target = None if scene.polygon else scene.target
    boxes = {"clickable": scene.clickable, "truth": target, "said": scene.said}
    there = {name: box for name, box in boxes.items() if box is not None}
    lines = [_rect(box, f"line {name}") for name, box in there.items()]
    halo = [f"M{b.x:.1f} {b.y:.1f}h{b.w:.1f}v{b.h:.1f}h{-b.w:.1f}z" for b in there.values()]
    if scene.polygon:
        corners = [f"{x:.1f},{y:.1f}" for x, y in scene.polygon]
        lines.append(tag("polygon", points=" ".join(corners), class_="line truth"))
        halo.append(f"M{'L'.join(corners)}z")
    if scene.click is not None:
        # A cross is as large on every picture: it says where, not how much.
        arm = 0.028 * max(region.width, region.height)
        (x, y), side = scene.click, f"{2 * arm:.1f}"
        left, top, bottom = f"{x - arm:.1f}", f"{y - arm:.1f}", f"{y + arm:.1f}"
        halo.append(f"M{left} {top}l{side} {side}M{left} {bottom}l{side} -{side}")
        lines.append(tag("path", d=halo[-1], class_="line click"))
    if halo:  # light, below all lines
        shapes.append(tag("path", d="".join(halo), class_="halo"))
    box = f"{region.left} {region.top} {region.width} {region.height}"
    return tag("svg", *shapes, *lines, viewBox=box, role="img", aria_label=label)


def _rect(box: Box, class_: str) -> Markup:
    return tag("rect", x=box.x, y=box.y, width=box.w, height=box.h, class_=class_)


def _around(box: Box, scene: Scene, aspect: float) -> PixelBox:
    """Return a part of the screenshot with some room around a box, of this shape if it fits."""
    width, height = (
        side + 2 * min(max(0.3 * side, _FEWEST_MARGIN), _MOST_MARGIN) for side in (box.w, box.h)
    )
    height = max(height, width / aspect, _LEAST_HEIGHT)
    return _centred(round(height * aspect), round(height), box, scene)


def _centred(width: int, height: int, box: Box, scene: Scene) -> PixelBox:
    width, height = min(width, scene.width), min(height, scene.height)
    x, y = box.centre
    left = int(_within(round(x - width / 2), scene.width - width))
    top = int(_within(round(y - height / 2), scene.height - height))
    return PixelBox(left, top, left + width, top + height)


def _numbers(values: Sequence[float | None] | None, count: int) -> list[float] | None:
    """Return all numbers or nothing: a number that was not finite is stored as null."""
    known = [float(value) for value in values or () if value is not None]
    return known if len(known) == count else None
