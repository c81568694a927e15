"""What the published labels of people say, computed again and set beside what was published.

anchors = recompute(read_label_folder(Path("human_evaluation")))
print(agree(anchors), [one for one in anchors if one.agrees is False])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Any

from uiproof.benchmarks.interaction2code.analyses.labels import (
    OUTCOMES,
    Label,
    LabelFile,
    LabelFolder,
)
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.stats.clusters import clustered_rate
from uiproof.stats.intervals import Interval

USABILITY = "Usability by model and prompt, all interactions"
VERSION_1 = "Usability on the 97 pages of version 1 (Fig. 6)"
FAILURE_USABILITY = "Usability by type of failure on the 97 pages of version 1 (Table 7)"
COMPARISONS = "Against Gemini 1.5 with the direct prompt"
IMPLEMENTED = "Implemented: neither (a) nor (b) by the labels, beside the published rate"

KNOWN = "known"  # why a number that differs is none of our business
_OTHER_MEASURE = "another measure"
_INCOMPLETE = "not all of the paper's models and prompts are here"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A rate of ours and what was published; both are fractions."""

    table: str
    name: tuple[str, ...]  # model and prompt, or the letter of a failure
    n: int
    rate: float
    low: float | None
    high: float | None
    published: float | None = None
    agrees: bool | None = None  # None: there is nothing to hold it against
    note: str = ""


def recompute(folder: LabelFolder) -> list[Anchor]:
    """Every rate that can be had from the labels, with what was published where there is that."""
    anchors = [_usability(file) for file in folder.failures]
    anchors += [one for file in folder.failures if (one := _version_1(file)) is not None]
    anchors += _failure_usability(folder.failures)
    anchors += _comparisons(folder)
    anchors += [_implemented(file) for file in folder.failures if file.labels]
    return anchors


def agree(anchors: Iterable[Anchor]) -> bool:
    """Whether every number that can be recomputed is the published one."""
    return all(one.agrees is not False for one in anchors)


def as_json(anchors: Sequence[Anchor], folder: LabelFolder) -> dict[str, Any]:
    """`{"agrees", "anchors": [{"table", "name", "n", "rate", …}], "failures", "problems"}`."""
    failures = {
        model: {
            letter: {
                "n": sum(label.failure == letter for label in labels),
                "usable": sum(label.usable for label in labels if label.failure == letter),
            }
            for letter in (NONE, *FAILURES)
        }
        for model, labels in models_of(folder.failures).items()
    }
    return {
        "agrees": agree(anchors),
        "anchors": [{**asdict(one), "name": list(one.name)} for one in anchors],
        "failures": failures,
        "problems": list(folder.problems),
    }


@cache
def published() -> Mapping[str, Any]:
    """The paper's figures, each table with its `source`."""
    text = (
        files("uiproof.benchmarks.interaction2code.analyses")
        .joinpath("published.json")
        .read_text("utf-8")
    )
    content: Mapping[str, Any] = json.loads(text)
    return content


def _usability(file: LabelFile[Label]) -> Anchor:
    reference = _of(published()["label_usability"]["percent"], file)
    rate = label_rate([label.usable for label in file.labels], file.labels)
    return _anchor(USABILITY, (file.model, file.prompt), rate, reference, _rounded(2))


def _version_1(file: LabelFile[Label]) -> Anchor | None:
    reference = _of(published()["version_1"]["usable_percent"], file)
    labels = _first_pages(file.labels)
    if reference is None or not labels:
        return None
    rate = label_rate([label.usable for label in labels], labels)
    return _anchor(VERSION_1, (file.model, file.prompt), rate, reference, _rounded_up)


def _failure_usability(found: Sequence[LabelFile[Label]]) -> list[Anchor]:
    version = published()["version_1"]
    wanted = {
        (model, prompt)
        for model, prompts in version["usable_percent"].items()
        for prompt in prompts
    }
    chosen = [file for file in found if (file.model, file.prompt) in wanted]
    labels = _first_pages(pooled(chosen))
    anchors = []
    for letter, reference in version["failure_usability_percent"].items():
        some = [label for label in labels if label.failure == letter]
        if not some:
            continue
        note = KNOWN if letter in version["not_in_the_labels"] else ""
        if len(chosen) < len(wanted):
            note = _INCOMPLETE
        rate = label_rate([label.usable for label in some], some)
        anchors.append(
            _anchor(FAILURE_USABILITY, (letter,), rate, reference, _rounded(2), note=note)
        )
    return anchors


def _comparisons(folder: LabelFolder) -> list[Anchor]:
    anchors = []
    for file in folder.comparisons:
        reference = _of(published()["label_comparisons"]["percent"], file)
        pages = [vote.page for vote in file.labels]
        for number, outcome in enumerate(OUTCOMES):
            rate = clustered_rate([vote.outcome == outcome for vote in file.labels], pages)
            name = (file.model, file.prompt, outcome)
            known = None if reference is None else reference[number]
            anchors.append(_anchor(COMPARISONS, name, rate, known, _rounded(1)))
    return anchors


def _implemented(file: LabelFile[Label]) -> Anchor:
    row = _of(published()["leaderboard"]["rows"], file)
    rate = label_rate([label.failure not in ("a", "b") for label in file.labels], file.labels)
    reference = None if row is None else 100 * row[-1]
    name = (file.model, file.prompt)
    return _anchor(IMPLEMENTED, name, rate, reference, _rounded(2), note=_OTHER_MEASURE)


def _first_pages(labels: Iterable[Label]) -> list[Label]:
    """The labels of the pages that version 1 of the paper had."""
    version = published()["version_1"]
    wanted = set(range(version["first_page"], version["last_page"] + 1)) - set(version["left_out"])
    return [label for label in labels if label.page.isdecimal() and int(label.page) in wanted]


def models_of(found: Sequence[LabelFile[Label]]) -> dict[str, list[Label]]:
    """The labels of each model, all its prompts together."""
    models = dict.fromkeys(file.model for file in found)
    return {model: pooled(one for one in found if one.model == model) for model in models}


def pooled(found: Iterable[LabelFile[Label]]) -> list[Label]:
    """The labels of several files together."""
    return [label for file in found for label in file.labels]


def label_rate(hits: Sequence[bool], labels: Sequence[Label]) -> Interval | None:
    """A share with Wilson's interval for as many labels as the pages' likeness leaves."""
    return clustered_rate(hits, [label.page for label in labels])


def _of(table: Mapping[str, Mapping[str, Any]], file: LabelFile[Any]) -> Any:
    return table.get(file.model, {}).get(file.prompt)


def _rounded(digits: int) -> Callable[[float, float], bool]:
    """Whether a percentage, rounded to so many digits, is the published one."""
    reach = 0.5 * 10**-digits + 1e-9
    return lambda ours, theirs: abs(ours - theirs) <= reach


def _rounded_up(ours: float, theirs: float) -> bool:
    return ceil(ours - 1e-9) == theirs


def _anchor(
    table: str,
    name: tuple[str, ...],
    rate: Interval | None,
    reference: float | None,
    same: Callable[[float, float], bool],
    *,
    note: str = "",
) -> Anchor:
    if rate is None:
        return Anchor(table, name, 0, 0.0, None, None, note="no labels")
    agrees = None if reference is None or note else same(100 * rate.mean, reference)
    theirs = None if reference is None else round(reference / 100, 6)
    return Anchor(table, name, rate.n, rate.mean, rate.low, rate.high, theirs, agrees, note)
