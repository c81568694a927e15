"""Interactions as people judge and compare them in the studio, and their published labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from uiproof.annotation import (
    USUAL_WIDTH,
    Annotation,
    CaseMedia,
    CasePicture,
    FailureType,
    page_facts,
    page_width,
    pixel_edges,
)
from uiproof.benchmark import Record
from uiproof.benchmarks.interaction2code.analyses.anchors import (
    FAILURE_SHARES,
    FAILURE_USABILITY,
    PAPER_COMPARISONS,
    PAPER_USABILITY,
    anchor_tables,
    label_categories,
    recompute,
)
from uiproof.benchmarks.interaction2code.analyses.labels import (
    LETTERS,
    Label,
    LabelFile,
    LabelFolder,
    Vote,
    name_parts,
    order,
    read_comparisons,
    read_failures,
)
from uiproof.benchmarks.interaction2code.cases import InteractionCase
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.summary import UNSURE
from uiproof.labels import Choice, Judgement, LabelGroup, LabelValue, PlacedLabel
from uiproof.tables import Table

_HINTS = {
    "a": "there is nothing to use",
    "b": "it is there and does nothing",
    "c": "another element does it",
    "d": "for example a link instead of a button",
    "e": "it is there, in another place",
    "f": "the effect shows up elsewhere",
    "g": "something else happens",
    "h": "something else is changed by it",
    "i": "only some of the effect is there",
    "j": "it looks alike and does not do it",
}
# As in docs/interaction2code-verifier.md, which the verifier follows.
_GUIDELINES = (
    ("none, d, e", "usable"),
    ("a, b, h, j", "not usable"),
    (
        "c",
        "usable if the stand-in belongs to the same thing: its label, heading, text; not if it is "
        "a control with its own meaning or far away",
    ),
    ("f", "usable, unless the place is the function"),
    ("g", "usable if the information or state still arrives"),
    (
        "i",
        "usable if a count, dot, arrow, active mark or the way back is missing; not if the list, "
        "window, field or button that the user came for is missing",
    ),
)
_ACTIONS = {
    "click": "Click the marked element",
    "hover": "Move the pointer over the marked element",
    "type": "Type into the marked field",
    "select": "Choose in the marked list",
    "drag": "Drag the marked element",
    "scroll": "Scroll the marked element",
    "key": "Press a key in the marked element",
}
_PUBLISHED = (PAPER_COMPARISONS, PAPER_USABILITY, FAILURE_USABILITY, FAILURE_SHARES)


class InteractionAnnotation(Annotation):
    """Interactions: judged one by one, or compared with those of a baseline."""

    kinds = ("judge", "compare")
    failures: ClassVar[Mapping[str, FailureType]] = {
        letter: FailureType(FAILURES[letter], _HINTS[letter]) for letter in FAILURES
    }
    guidelines = _GUIDELINES
    unimplemented = frozenset("ab")
    published_baseline = ("gemini", "direct")
    failure_title = "Failures, all labels (Table 7, Fig. 9)"

    def media(self, record: Record) -> CaseMedia:
        """Return the screenshots before and after, and the action as a sentence."""
        widths = [page_width(page_facts(record, side)) for side in ("generated", "reference")]
        return CaseMedia(
            page="page",
            sentence=_sentence(record),
            reference=_pictures(record, "reference"),
            generated=_pictures(record, "generated"),
            width=round(widths[0] or widths[1] or USUAL_WIDTH),
        )

    def reference_files(self, case: InteractionCase) -> Mapping[str, Path]:
        """Return the screenshots before and after, with marks where there are some."""
        graph, interaction = case.truth.graph, case.truth.interaction
        nodes = {"Before": interaction.source, "After": interaction.target}
        return {
            label: marked if (marked := graph.marked(node)).is_file() else graph.screenshot(node)
            for label, node in nodes.items()
        }

    def verdict(self, record: Record) -> str | None:
        """Return the verifier's failure; a case without a page misses its element."""
        verdict = record.details.get("verdict")
        failure = verdict.get("failure") if isinstance(verdict, dict) else None
        if failure in (NONE, *FAILURES):
            return str(failure)
        return "a" if self.usable_score in record.scores else None

    def urgent(self, record: Record) -> bool:
        """Return whether the verifier is not sure."""
        return UNSURE in record.flags

    def categories(self, record: Record) -> Mapping[str, tuple[str, ...]]:
        """Return tags and visual categories."""
        return {
            kind: tuple(map(str, record.details.get(kind) or ())) for kind in ("tags", "visuals")
        }

    def order(self, model: str, prompt: str) -> tuple[Any, ...]:
        """Return a sort key in the order of the paper."""
        return order(model, prompt)

    def category_tables(
        self,
        groups: Sequence[LabelGroup],
        categories: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]],
    ) -> Iterable[Table]:
        """Return Tables 5 and 6 with the categories of the runs."""
        kinds: tuple[Literal["tags", "visuals"], ...] = ("tags", "visuals")
        tables = [
            label_categories(
                _folder(groups).failures,
                {place: known.get(kind, ()) for place, known in categories.items()},
                kind,
            )
            for kind in kinds
        ]
        return [table for table in tables if table.rows]

    def published_tables(self, groups: Sequence[LabelGroup]) -> Iterable[Table]:
        """Return the tables of the paper beside ours."""
        known = [one for one in recompute(_folder(groups)) if one.table in _PUBLISHED]
        if all(one.agrees is None for one in known):
            return ()
        return anchor_tables(known, LabelFolder((), ()))

    def read_labels(self, path: Path) -> LabelGroup | None:
        """Read `failure_PROMPT_prompt_MODEL.json` or `compare_PROMPT_prompt_MODEL.json`."""
        parts = name_parts(path)
        if parts is None:
            return None
        if parts[0] == "compare":
            votes = read_comparisons(path)
            placed = [PlacedLabel(o.page, o.interaction, Choice(o.outcome)) for o in votes.labels]
            return LabelGroup("compare", *votes.name, tuple(placed), votes.problems)
        file = read_failures(path)
        placed = [
            PlacedLabel(one.page, one.interaction, Judgement(one.usable, one.failure))
            for one in file.labels
        ]
        return LabelGroup("judge", *file.name, tuple(placed), file.problems)

    def label_code(self, value: LabelValue) -> str | int:
        """Return a label as published: the codes of failures are not in the order of letters."""
        if isinstance(value, Judgement):
            return f"{LETTERS.index(value.failure)}/{int(not value.usable)}"
        return super().label_code(value)


def _folder(groups: Sequence[LabelGroup]) -> LabelFolder:
    """Return labels as the analyses of published files take them."""
    failures, comparisons = [], []
    for group in groups:
        labels, votes = [], []
        for one in group.labels:
            if isinstance(one.value, Judgement):
                failure, usable = one.value.failure, one.value.usable
                labels.append(Label(one.page, one.interaction, failure, usable))
            elif isinstance(one.value, Choice):
                votes.append(Vote(one.page, one.interaction, one.value.outcome))
        if group.kind == "judge":
            failures.append(LabelFile(group.model, group.prompt, tuple(labels)))
        elif group.kind == "compare":
            comparisons.append(LabelFile(group.model, group.prompt, tuple(votes)))
    return LabelFolder(tuple(failures), tuple(comparisons))


def _pictures(record: Record, side: str) -> tuple[CasePicture, ...]:
    facts = page_facts(record, side)
    width = page_width(facts)
    return (
        CasePicture("Before", f"{side}_before", width, trigger=pixel_edges(facts.get("trigger"))),
        CasePicture("After", f"{side}_after", width, changed=pixel_edges(facts.get("region"))),
    )


def _sentence(record: Record) -> str:
    """Return the action as a sentence."""
    sentence = record.details.get("sentence")
    if isinstance(sentence, str) and sentence.strip():
        plain = " ".join(sentence.split())
        return plain[0].upper() + plain[1:]
    action = record.details.get("action")
    if not isinstance(action, Mapping):
        return "Use the marked element" if "reference_before" in record.artifacts else ""
    said = _ACTIONS.get(str(action.get("kind", "")), "Use the marked element")
    value = action.get("value")
    return f"{said}: {value}" if isinstance(value, str) and value else said
