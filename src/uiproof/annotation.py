"""Annotation of a benchmark's results in the studio.

    class MyAnnotation(Annotation):
        kinds = ("judge", "compare")
        failures = {"a": FailureType("button missing", "there is nothing to press")}

    class MyBenchmark(Benchmark):
        def annotation(self): return MyAnnotation()

The defaults suit benchmarks whose cases are whole pages that are compared side by side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from uiproof.errors import InputError
from uiproof.files import write_atomic
from uiproof.labels import LETTERS, NONE, OUTCOMES, Choice, Kind, LabelGroup, LabelValue, Rating

if TYPE_CHECKING:
    from uiproof.benchmark import Case, Record
    from uiproof.tables import Table

PixelEdges = tuple[float, float, float, float]  # left, top, right, bottom in pixels of the page
USUAL_WIDTH = 1280  # pixels; of a page whose size is not known
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


class FailureType(NamedTuple):
    """A way in which a result fails: its name, and one line below it."""

    name: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CasePicture:
    """A picture that a judge kept, with what to outline on it."""

    label: str
    artifact: str  # its name in `Record.artifacts`
    page_width: float = 0.0  # of the page that it shows; 0: as many pixels as the file has
    trigger: PixelEdges | None = None  # what is acted on
    changed: PixelEdges | None = None  # what has changed


@dataclass(frozen=True, slots=True)
class CaseMedia:
    """The pictures and the page of one case, as names of artifacts."""

    page: str = "html"
    sentence: str = ""  # what is done to the page
    reference: tuple[CasePicture, ...] = ()
    generated: tuple[CasePicture, ...] = ()
    width: int = USUAL_WIDTH  # of the window that the page was made for


class Annotation:
    """The defaults for annotating one benchmark; override what differs."""

    kinds: ClassVar[tuple[Kind, ...]] = ("compare",)
    # Failure types by their letter, which is also the key that annotators press.
    failures: ClassVar[Mapping[str, FailureType]] = {}
    # When a result is usable, for people who judge it: what fails, and the rule.
    guidelines: ClassVar[tuple[tuple[str, str], ...]] = ()
    # Failures that mean that nothing is there to use; results show the share of items without.
    unimplemented: ClassVar[frozenset[str]] = frozenset()
    failure_title: ClassVar[str] = "Failures, all labels"
    # The model and prompt that published comparisons compare with.
    published_baseline: ClassVar[tuple[str, str] | None] = None
    usable_score: ClassVar[str] = "usable"  # the score that says whether the judge calls it usable

    def media(self, record: Record) -> CaseMedia:
        """Return what annotators see of a case; it must not name the model."""
        reference, generated = page_facts(record, "reference"), page_facts(record, "generated")
        return CaseMedia(
            reference=(CasePicture("Screenshot", "reference", page_width(reference)),),
            generated=(CasePicture("Screenshot", "generated", page_width(generated)),),
            width=round(page_width(generated) or page_width(reference) or USUAL_WIDTH),
        )

    def reference_files(self, case: Case[Any, Any]) -> Mapping[str, Path]:  # noqa: ARG002
        """Return files of a data set that show the reference of a case: pictures or pages.

        They are shown, by their labels, where a run has kept no picture, as of a failed case.
        """
        return {}

    def verdict(self, record: Record) -> str | None:  # noqa: ARG002
        """Return the failure that the judge found, `none`, or None for judges that find none."""
        return None

    def urgent(self, record: Record) -> bool:  # noqa: ARG002
        """Return whether people should look at a result first, since its judge is not sure."""
        return False

    def categories(self, record: Record) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the categories of a case, by kind of category."""
        return {}

    def order(self, model: str, prompt: str) -> tuple[Any, ...]:
        """Return a sort key for rows of tables: by name, 7B before 72B."""
        return re.sub(r"\d+", lambda match: match[0].zfill(6), model), prompt

    def category_tables(
        self,
        groups: Sequence[LabelGroup],  # noqa: ARG002
        categories: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]],  # noqa: ARG002
    ) -> Iterable[Table]:
        """Return tables of usability by category; `categories` are by page and interaction."""
        return ()

    def published_tables(self, groups: Sequence[LabelGroup]) -> Iterable[Table]:  # noqa: ARG002
        """Return tables that set these labels beside published figures, if they can be compared."""
        return ()

    def read_labels(self, path: Path) -> LabelGroup | None:  # noqa: ARG002
        """Read a published label file; None for files of other kinds, by their names."""
        return None

    def write_labels(self, group: LabelGroup, folder: Path) -> Path:
        """Write a label file; its name holds the model and the prompt, so they must be safe."""
        model, prompt = (_NOT_IN_NAMES.sub("-", name) for name in (group.model, group.prompt))
        content = {
            f"{one.page}/{one.interaction}-{prompt}_prompt-{model}.html": self.label_code(one.value)
            for one in group.labels
        }
        kind = "compare" if group.kind == "compare" else "failure"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{kind}_{prompt}_prompt_{model}.json"
        write_atomic(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return path

    def label_code(self, value: LabelValue) -> str | int:
        """Return a label as files hold it: 0, 1, 2 for win, tie, lose, or `FAILURE/UNUSABLE`."""
        if isinstance(value, Choice):
            return OUTCOMES.index(value.outcome)
        if isinstance(value, Rating):
            raise InputError("The published format has no ratings.")
        return f"{(NONE, *LETTERS).index(value.failure)}/{0 if value.usable else 1}"


def page_facts(record: Record, side: str) -> Mapping[str, Any]:
    """Return what a judge noted about the reference or the generated page."""
    facts = record.details.get(side)
    return facts if isinstance(facts, Mapping) else {}


def page_width(facts: Mapping[str, Any]) -> float:
    """Return the width of a page as a judge noted it; 0 where it did not."""
    size = facts.get("size") or (facts.get("width"), facts.get("height"))
    numbers = edge_numbers(size, 2)
    return numbers[0] if numbers else 0.0


def pixel_edges(value: object) -> PixelEdges | None:
    """Return a box as a judge noted it; None for anything else."""
    numbers = edge_numbers(value, 4)
    return None if numbers is None else (numbers[0], numbers[1], numbers[2], numbers[3])


def edge_numbers(values: object, count: int) -> list[float] | None:
    """Return as many numbers as are wanted, none of them negative; None for anything else."""
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != count:
        return None
    if not all(isinstance(value, int | float) and value >= 0 for value in values):
        return None
    return [float(value) for value in values]
