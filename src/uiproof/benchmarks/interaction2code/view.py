"""Interaction2Code in reports: both sides before and after, the verdict, the paper's analyses."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmark import Record, look_up
from uiproof.benchmarks.interaction2code.drawing import (
    NO_PICTURE_HEIGHT,
    cut_height,
    graph_svg,
    thumbnail_height,
)
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, UNSURE
from uiproof.browser.snapshots import Action
from uiproof.engine.rundir import RunDirectory
from uiproof.geometry import PixelBox
from uiproof.markup import Markup, tag
from uiproof.views.base import Analyses, Leaderboard, safe_json, shortened
from uiproof.views.cards import CardView, Filter, Group, ShownCase
from uiproof.views.details import longest_source, requests_of, shown_differences, source_texts
from uiproof.views.pictures import Crop, Limits, Pictures, image

FAILED = "failed"  # there was nothing to judge
OUTCOMES = (NONE, *FAILURES, FAILED)
SIDES = ("reference", "generated")
CHARTS = {
    "usability": "Usability (Fig. 6b)",
    "comparisons": "Win, tie and lose against the first run (Fig. 6a)",
    "implemented": "Implemented interactions by topic (Fig. 1c)",
    "failures": "Distribution of failures (Fig. 9)",
    "failures_of_elements": "Failures of interactive elements (Fig. 7)",
    "failures_of_effects": "Failures of interaction effects (Fig. 8)",
    "usability_by_tags": "Usability by what is acted on (Table 5)",
    "usability_by_visuals": "Usability by what changes (Table 6)",
    "saliency_scores": "Scores by visual saliency (Fig. 10)",
    "saliency": "Visual saliency of the interactions (Fig. 11)",
    "magnification": "Scores by magnification (Fig. 12)",
}
_MOST_CASES = 1000  # of a page; the runs share them
_WHOLE = Limits(pixels=700_000, bytes=60_000, width=900)
_CHANGE = Limits(pixels=160_000, bytes=20_000)
_STATE = Limits(pixels=130_000, bytes=8_000)
_MOST_GRAPHS = 200
_MARGIN = 24  # pixels around what changed
_LONGEST = 400

LabelledBox = tuple[str, PixelBox]  # class of its line, and where it is


def analyses(runs: Sequence[RunDirectory]) -> Analyses:
    """Return the tables and charts of the paper, for runs that have ended."""
    from uiproof.benchmarks.interaction2code.analyses.charts import draw_charts
    from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
    from uiproof.benchmarks.interaction2code.analyses.tables import all_tables

    ended = [run for run in runs if (run.path / "summary.json").exists()]
    if not ended:
        return Analyses()
    found = results_of(ended)
    return Analyses(
        all_tables(found, analyses=["strict"]),
        CHARTS,
        partial(draw_charts, found),
        photos=frozenset({"failures_of_elements", "failures_of_effects"}),
    )


@dataclass(frozen=True, slots=True)
class Pane:
    """A part of a picture by its number, with boxes to draw on it."""

    label: str
    picture: int | None = None
    region: PixelBox | None = None
    boxes: tuple[LabelledBox, ...] = ()


@dataclass(frozen=True, slots=True)
class InteractionCase(ShownCase):
    """An interaction that has a card."""

    panes: tuple[Pane, ...] = ()
    sources: str = "[]"  # its HTML, prompts and answers, as JSON for scripts

    @property
    def failure(self) -> str:
        """Return its type of failure, as one of `OUTCOMES`."""
        if self.record.error is not None:
            return FAILED
        return str((self.record.details.get("verdict") or {}).get("failure", NONE))

    @property
    def usable(self) -> bool:
        """Return whether a user could work with it."""
        return bool(self.record.scores.get("usable"))

    @property
    def unsure(self) -> bool:
        """Return whether the verifier is not sure, so that a person should look."""
        return UNSURE in self.record.flags

    def pictures(self, moment: str) -> list[int | None]:
        """Return pictures of both sides `before` or `after`, or of their `difference`."""
        found = {pane.label: pane.picture for pane in self.panes}
        return [found.get(f"{side} {moment}") for side in SIDES]


class Interactions(CardView[InteractionCase]):
    """The case view: states of both pages, the type of failure and its evidence."""

    styles: ClassVar[tuple[str, ...]] = (
        *CardView.styles,
        "uiproof.benchmarks.interaction2code:view.css",
    )
    title: ClassVar[str] = "Interactions"
    search: ClassVar[str] = "what is done, id or evidence"
    legend: ClassVar[Mapping[str, str]] = {"truth": "acted on", "said": "changed"}
    outcomes_title: ClassVar[str] = "Failure types"
    outcomes: ClassVar[Sequence[str]] = OUTCOMES
    outcomes_class: ClassVar[str] = "verdicts wordy"
    cards_class: ClassVar[str] = "finds wide"

    def __init__(
        self, board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures
    ) -> None:
        most = max(_MOST_CASES // len(runs), 50)
        shown: list[InteractionCase] = []
        counts: list[Mapping[str, int]] = []
        self._left_out = []
        for number, run in enumerate(runs):
            cases = [InteractionCase(number, record) for record in run.records()]
            chosen = _chosen(cases, most)
            longest = longest_source(most * len(runs))
            shown += [
                replace(
                    case,
                    panes=tuple(_panes(run, case.record, pictures)),
                    sources=safe_json(source_texts(run, case.record, {"page": "HTML"}, longest)),
                )
                for case in chosen
            ]
            counts.append(Counter(case.failure for case in cases))
            self._left_out.append(len(cases) - len(chosen))
        self._graphs = _graphs(runs)
        self._pictures = pictures
        super().__init__(board, shown, counts)

    def body(self) -> Iterator[str]:
        """Yield the cards, and the interaction graphs of pages with several interactions."""
        yield from super().body()
        if not self._graphs:
            return
        yield '<section aria-labelledby="graphs-title">'
        yield tag("h2", "Interaction graphs", id="graphs-title")
        for page, drawn in self._graphs.items():
            count = tag("span", f"{len(drawn.graph.interactions)} interactions", class_="quiet")
            drawing = graph_svg(drawn.graph, partial(self._thumbnail, drawn), name=f"{drawn.id}-to")
            label = {"role": "region", "aria_label": f"Interaction graph of {page}"}
            summary = tag("summary", page, " ", count)
            shown = tag("div", drawing, class_="scroll", tabindex=0, **label)
            yield tag("details", summary, shown, id=drawn.id, class_="page-graph")
        yield "</section>"

    def _thumbnail(self, drawn: _DrawnGraph, node: str) -> tuple[Mapping[str, str | int], int]:
        path = drawn.states[node]
        size = self._pictures.size(path)
        if size is None:
            return {}, NO_PICTURE_HEIGHT
        top = Crop(path, PixelBox(0, 0, size[0], cut_height(size)), _STATE)
        number = self._pictures.add(top)
        return ({} if number is None else {"data_picture": number}), thumbnail_height(size)

    def groups(self) -> Sequence[Group]:
        """Return what is not usable first."""
        return (
            Group("Not usable", lambda case: not case.usable),
            Group("Usable", lambda case: case.usable),
        )

    def notes(self) -> list[str]:
        """Return how many interactions of each run are not shown."""
        return [
            f"{name}: {left_out:,} more interactions are not shown."
            for name, left_out in zip(self.names, self._left_out, strict=True)
            if left_out
        ]

    def label(self, outcome: str) -> str:
        """Return a type of failure for people."""
        if outcome in FAILURES:
            return f"({outcome}) {FAILURES[outcome]}"
        return {FAILED: "Not judged", NONE: "No failure"}.get(outcome, outcome)

    def filters(self) -> list[Filter[InteractionCase]]:
        """Return filters by failure, action, element, effect, topic and flag."""

        def listed(key: str) -> Callable[[InteractionCase], Sequence[str]]:
            def values(case: InteractionCase) -> list[str]:
                found = look_up(case.record.details, key) or ()
                return [found] if isinstance(found, str) else [str(one) for one in found]

            return values

        cases = self.cases
        return [
            Filter.of(
                "Failure", cases, lambda case: [case.failure], order=OUTCOMES, shown=self.label
            ),
            Filter.of("Verdict", cases, lambda case: [UNSURE if case.unsure else "sure"]),
            Filter.of("Action", cases, listed("action.kind")),
            Filter.of("Element", cases, listed("tags")),
            Filter.of("Effect", cases, listed("visuals")),
            Filter.of("Topic", cases, listed("topic")),
            Filter.of("Flag", cases, lambda case: case.record.flags),
        ]

    def card(self, case: InteractionCase, run: Markup | None, **attributes: str) -> Markup:
        """Return a card; scripts open it large by the pictures it names."""
        figures = [
            tag("figure", _drawing(pane), tag("figcaption", pane.label)) for pane in case.panes
        ]
        numbers = {
            f"data_{moment}": " ".join("-" if n is None else str(n) for n in case.pictures(moment))
            for moment in ("before", "after", "difference")
        }
        numbers |= self._found(case.record)
        return tag(
            "li",
            tag("div", *figures, class_="states") if figures else "",
            tag("div", self._about(case, run), class_="about"),
            _scores(case.record),
            *_requests(case.record),
            tag("script", Markup(case.sources), type="application/json", class_="sources"),
            **attributes,
            **numbers,
        )

    def _found(self, record: Record) -> dict[str, str]:
        """Return attributes of a card: its differences, and where its page's graph is."""
        details = record.details
        found = shown_differences((details.get("verdict") or {}).get("differences"))
        sizes = ((details.get(side) or {}).get("size") or [0] for side in SIDES)
        attributes = {"data_widths": " ".join(str(size[0]) for size in sizes)}
        if found:
            attributes["data_differences"] = json.dumps(found)
        if drawn := self._graphs.get(str(details.get("page"))):
            attributes["data_graph"] = drawn.id
            attributes["data_interaction"] = str(details.get("interaction"))
        return attributes

    def _about(self, case: InteractionCase, run: Markup | None) -> Markup:
        record, details = case.record, case.record.details
        verdict = details.get("verdict") or {}
        colour = "bad" if not case.usable else "good" if case.failure == NONE else "warn"
        badge = tag("span", "usable" if case.usable else "not usable", class_=f"badge {colour}")
        unsure = tag("span", "unsure", class_="badge warn") if case.unsure else ""
        lines = [tag("p", badge, unsure, self.label(case.failure), class_="verdict")]
        lines.append(tag("p", _sentence(record), class_="instruction", dir="auto"))
        if run is not None:
            lines.append(tag("p", run, class_="small"))
        tags, effects = (", ".join(details.get(key) or ()) for key in ("tags", "visuals"))
        facts = [record.id, " → ".join(filter(None, (tags, effects)))]
        lines.append(tag("p", " · ".join(map(_short, filter(None, facts))), class_="small quiet"))
        if record.error is not None:
            error = f"{record.error.code} ({record.error.stage}): {record.error.message}"
            lines.append(tag("p", _short(error), class_="small bad", dir="auto"))
        evidence = [tag("li", _short(one), dir="auto") for one in verdict.get("evidence") or ()]
        if evidence:
            lines.append(tag("ul", *evidence, class_="evidence small"))
        return tag("div", *lines)


@dataclass(frozen=True, slots=True)
class _DrawnGraph:
    """The graph of a page, from what its cases kept."""

    id: str  # of its element
    graph: Graph
    states: Mapping[str, Path]  # screenshots by their names


def _graphs(runs: Sequence[RunDirectory]) -> dict[str, _DrawnGraph]:
    """Return the graphs of all pages with several interactions, by page."""
    edges: dict[str, dict[str, Interaction]] = defaultdict(dict)
    states: dict[str, dict[str, Path]] = defaultdict(dict)
    for run in runs:
        for record in run.records():
            details = record.details
            files = [record.artifacts.get(f"reference_{when}", "") for when in ("before", "after")]
            page, number = details.get("page"), str(details.get("interaction"))
            if not isinstance(page, str) or not all(f.startswith("references/") for f in files):
                continue
            before, after = (run.artifact(file) for file in files)
            for end in (before, after):
                states[page].setdefault(end.stem, end)
            ends, sentence = (before.stem, after.stem), _sentence(record)
            visuals = tuple(map(_short, details.get("visuals") or ()))
            act = Action("click")
            edges[page][number] = Interaction(number, *ends, act, sentence, visuals=visuals)
    several = [page for page, found in edges.items() if len(found) > 1]
    graphs = {}
    for place, page in enumerate(several[:_MOST_GRAPHS]):
        ordered = sorted(edges[page].values(), key=lambda one: (len(one.id), one.id))
        graph = Graph(page, Path(), tuple(ordered))
        graphs[page] = _DrawnGraph(f"graph-{place}", graph, states[page])
    return graphs


def _sentence(record: Record) -> str:
    details = record.details
    return _short(details.get("sentence") or (details.get("action") or {}).get("kind") or "")


def _chosen(cases: Sequence[InteractionCase], most: int) -> list[InteractionCase]:
    """Choose what is not usable first, and some of the rest."""
    bad = [case for case in cases if not case.usable][: max(most - most // 5, 1)]
    good = [case for case in cases if case.usable][: most - len(bad)]
    return [*bad, *good]


def _scores(record: Record) -> Markup:
    """Return a table of the scores in both profiles, closed at first."""
    rows = []
    for part, names in (("full", FULL), ("part", PART)):
        for name in names:
            found = [look_up(record.scores, f"{profile}.{part}.{name}") for profile in PROFILES]
            cells = [tag("td", "–" if value is None else f"{value:.3f}") for value in found]
            label = f"{'Full page' if part == 'full' else 'Part'} {name.replace('_', ' ')}"
            rows.append(tag("tr", tag("th", label, scope="row"), *cells))
    head = tag("tr", tag("td"), *(tag("th", name, scope="col") for name in PROFILES))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return tag("details", tag("summary", "Scores"), table)


def _requests(record: Record) -> Iterator[Markup]:
    """Yield what the page asked of other hosts, and its script errors, closed at first."""
    for asked in requests_of(record):
        lines = [
            tag("li", f"{group['outcome']}: {kind} {address}{note and f' ({note})'}", dir="auto")
            for group in asked["groups"]
            for kind, address, note in group["files"]
        ]
        lines += [tag("li", f"Error: {text}", dir="auto") for text in asked["errors"]]
        yield tag(
            "details",
            tag("summary", f"Asked for by the {asked['side']} page"),
            tag("ul", *lines, class_="evidence small"),
        )


def _drawing(pane: Pane) -> Markup:
    if pane.picture is None or pane.region is None:
        return tag("p", "no picture", class_="missing quiet")
    region, boxes = pane.region, []
    for kind, box in pane.boxes:
        place = {"x": box.left, "y": box.top, "width": box.width, "height": box.height}
        boxes += [tag("rect", **place, class_=f"{layer} {kind}") for layer in ("halo", "line")]
    return tag(
        "svg",
        image(pane.picture, region),
        *boxes,
        viewBox=f"{region.left} {region.top} {region.width} {region.height}",
        preserveAspectRatio="xMidYMin meet",
        role="img",
        aria_label=pane.label,
    )


def _panes(run: RunDirectory, record: Record, pictures: Pictures) -> Iterator[Pane]:
    """Yield before, after and the difference, of the reference and of the generated page."""
    for side in SIDES:
        facts = record.details.get(side) or {}
        if not facts:
            continue
        width = (facts.get("size") or [None])[0]
        found: dict[str, tuple[Path, PixelBox]] = {}
        boxes = {
            "before": ("truth", [facts.get("trigger")]),
            "after": ("said", facts.get("parts") or [facts.get("region")]),
        }
        for moment, drawn in boxes.items():
            file = record.artifacts.get(f"{side}_{moment}")
            path = None if file is None else run.artifact(file)
            size = None if path is None else pictures.size(path)
            if path is None or size is None:
                yield Pane(f"{side} {moment}")
                continue
            whole = PixelBox(0, 0, *size)
            found[moment] = path, whole
            number = pictures.add(Crop(path, whole, _WHOLE))
            yield Pane(f"{side} {moment}", number, whole, _boxes(*drawn, whole, width))
        if len(found) < 2:
            yield Pane(f"{side} difference")
            continue
        path, whole = found["after"]
        region = _boxes("said", [facts.get("region")], whole, width)
        around = _around(region[0][1], whole) if region else whole
        number = pictures.add(Crop(path, around, _CHANGE, found["before"][0]))
        yield Pane(f"{side} difference", number, around)


def _around(box: PixelBox, whole: PixelBox) -> PixelBox:
    left, top, right, bottom = box.left, box.top, box.right, box.bottom
    wide = PixelBox(left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
    return wide.intersection(whole) or whole


def _boxes(
    kind: str, found: Sequence[Any], whole: PixelBox, width: int | None
) -> tuple[LabelledBox, ...]:
    """Return boxes that lie on a picture, given for a page that is `width` wide."""
    scale = whole.width / width if width else 1.0
    given = [
        PixelBox(*(round(scale * float(value)) for value in corners))
        for corners in found
        if isinstance(corners, Sequence) and len(corners) == 4
    ]
    return tuple((kind, seen) for box in given if (seen := box.intersection(whole)) is not None)


def _short(text: object) -> str:
    return shortened(str(text), _LONGEST)
