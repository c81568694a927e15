"""A new run against a baseline: what got better and worse beyond noise, case by case.

    change = uiproof.regressions("runs/main", "runs/branch", fail_under=0.02)
    change.regressed, [(case.id, case.difference) for case in change.worse]

A case is worse where its score fell by more than `fail_under` and by more than noise. The mean is
worse where it fell by more than `fail_under` and a paired test finds the difference, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, Literal
from xml.etree import ElementTree

from uiproof.benchmark import Metric, number_at
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import UsageError, suggestion
from uiproof.files import replacing
from uiproof.leaderboard import case_scores, cluster_of, leaderboard
from uiproof.stats.intervals import (
    FEWEST,
    Interval,
    bounds_text,
    paired_difference,
    paired_permutation,
)
from uiproof.tables import Table, printable

FAIL_UNDER = 0.02
_LEVEL = 0.05
_MAD = 1.4826  # times the median absolute deviation is the standard deviation of normal values
_EPSILON = 1e-9  # sums of the same numbers in another order may differ by this
_MOST_WORSE, _MOST_BETTER = 20, 10

Verdict = Literal["worse", "better", "same"]


@dataclass(frozen=True, slots=True)
class CaseChange:
    """The score of one case in both runs."""

    id: str
    before: float
    after: float
    verdict: Verdict
    error: str = ""  # why it failed in the new run

    @property
    def difference(self) -> float:
        """Return how much it rose."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class MeanChange:
    """The mean of one metric over the cases that both runs have."""

    metric: Metric
    before: float
    after: float
    difference: Interval
    p: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A new run against a baseline; see `regressions`."""

    benchmark: str
    names: tuple[str, str]
    metric: Metric  # the one that decides
    fail_under: float
    noise: float  # differences of a case within this, or within `fail_under`, say nothing
    means: tuple[MeanChange, ...]
    cases: tuple[CaseChange, ...]  # largest fall first
    missing: tuple[str, ...]  # cases of the baseline that the new run does not have
    mean_regressed: bool
    notes: tuple[str, ...] = ()

    @property
    def worse(self) -> list[CaseChange]:
        """Return the cases that got worse, largest fall first."""
        return [case for case in self.cases if case.verdict == "worse"]

    @property
    def better(self) -> list[CaseChange]:
        """Return the cases that got better, largest rise first."""
        return [case for case in reversed(self.cases) if case.verdict == "better"]

    @property
    def regressed(self) -> bool:
        """Return whether the mean or a case got worse."""
        return self.mean_regressed or bool(self.worse)

    @property
    def verdict(self) -> str:
        """Return the result in one line."""
        counts = f"{len(self.worse)} worse, {len(self.better)} better, of {len(self.cases)} cases"
        word = "REGRESSION" if self.regressed else "No regression"
        mean = f", and the mean of {self.metric.label} fell" if self.mean_regressed else ""
        return f"{word}: {counts}{mean}."

    def as_json(self) -> dict[str, Any]:
        """Return it for a file."""
        return {
            "regressed": self.regressed,
            "mean_regressed": self.mean_regressed,
            "metric": self.metric.key,
            "fail_under": self.fail_under,
            "noise": self.noise,
            "means": {
                one.metric.key: {
                    "before": one.before,
                    "after": one.after,
                    "difference": one.difference._asdict(),
                    "p": one.p,
                }
                for one in self.means
            },
            "cases": [{**asdict(case), "difference": case.difference} for case in self.cases],
            "missing": list(self.missing),
        }


def regressions(
    baseline: RunDirectory | Path | str,
    new: RunDirectory | Path | str,
    *,
    fail_under: float = FAIL_UNDER,
    metric: str | None = None,
) -> Change:
    """Compare a new run with a baseline on the cases that both have.

    `metric` is the key or the label of the score that decides, by default the one that ranks runs.
    """
    runs = [RunDirectory.of(run, pictures=False) for run in (baseline, new)]
    board = leaderboard(runs)
    measured = [
        one
        for column, one in enumerate(board.metrics)
        if all(row.cells[column].mean is not None for row in board.rows)
    ]
    deciding = _deciding(measured, board.metrics[board.primary or 0], metric)
    scores = [case_scores(run.records(), measured) for run in runs]
    shared = [case for case in scores[0] if case in scores[1]]
    if not shared:
        raise UsageError(
            "The two runs have no case in common.", remedy="Compare runs of one data set."
        )
    clusters = [cluster_of(case) for case in shared]
    columns = [
        [[one[case][column] or 0.0 for case in shared] for one in scores]
        for column in range(len(measured))
    ]
    means = tuple(
        _mean_change(one, pair[0], pair[1], clusters)
        for one, pair in zip(measured, columns, strict=True)
    )
    place = measured.index(deciding)
    before, after = columns[place]
    noise = _noise(runs, deciding, before, after)
    errors = {record.case: record.error.message for record in runs[1].records() if record.error}
    most = max(fail_under, noise) + _EPSILON
    cases = []
    for case, old, now in zip(shared, before, after, strict=True):
        verdict: Verdict = (
            "worse" if now - old < -most else "better" if now - old > most else "same"
        )
        cases.append(CaseChange(case, old, now, verdict, errors.get(case, "")))
    keys = [run.manifest.get("dataset_key") for run in runs]
    return Change(
        benchmark=board.benchmark,
        names=(board.rows[0].name, board.rows[1].name),
        metric=deciding,
        fail_under=fail_under,
        noise=noise,
        means=means,
        cases=tuple(sorted(cases, key=lambda case: case.difference)),
        missing=tuple(case for case in scores[0] if case not in scores[1]),
        mean_regressed=_mean_regressed(means[place], before, after, clusters, fail_under),
        notes=("The data sets differ.",) if keys[0] != keys[1] else (),
    )


def change_tables(change: Change) -> list[Table]:
    """Return the means, and the cases that got worse and better."""
    rows = tuple(
        (
            one.metric.label + (" (decides)" if one.metric == change.metric else ""),
            f"{one.before:.{one.metric.digits}f}",
            f"{one.after:.{one.metric.digits}f}",
            f"{one.difference.mean:+.{one.metric.digits}f} "
            f"{bounds_text(one.difference.low, one.difference.high, sign='+')}".rstrip(),
            "-" if one.p is None else f"{one.p:.3f}",
        )
        for one in change.means
    )
    noise = f", or within noise (±{change.noise:.3f})" if change.noise > change.fail_under else ""
    notes = [
        "Difference: mean over the same cases with its 95 % interval; p: paired permutation test.",
        f"Cases that changed by at most {change.fail_under:g}{noise} count as the same.",
        *change.notes,
    ]
    if change.missing:
        notes.append(f"Not in the new run, and not compared: {_listed(change.missing)}.")
    tables = [
        Table(change.verdict, ("Score", "Baseline", "New", "Difference", "p"), rows, tuple(notes))
    ]
    for title, cases, most in (
        ("Worse", change.worse, _MOST_WORSE),
        ("Better", change.better, _MOST_BETTER),
    ):
        if cases:
            tables.append(_case_table(title, cases, most, change.metric))
    return tables


def write_junit(change: Change, out: str | Path) -> Path:
    """Write a JUnit file: a test for each case and one for the mean of the score that decides."""
    label = change.metric.label
    (mean,) = (one for one in change.means if one.metric == change.metric)
    results: list[tuple[str, str, str]] = []  # name, outcome and message

    def add(name: str, before: float, after: float, failed: bool, why: str = "") -> None:
        text = f"{label}: {before:.3f} -> {after:.3f} ({after - before:+.3f}) {why}".rstrip()
        results.append((name, "failure" if failed else "", text))

    add(f"mean of {label}", mean.before, mean.after, change.mean_regressed)
    for case in sorted(change.cases, key=lambda case: case.id):
        add(case.id, case.before, case.after, case.verdict == "worse", case.error)
    results += [(missing, "skipped", "not in the new run") for missing in change.missing]
    suite = ElementTree.Element("testsuite", name=f"uiproof {change.benchmark}")
    for name, outcome, message in results:
        about = {"classname": printable(change.names[1]), "name": printable(name)}
        test = ElementTree.SubElement(suite, "testcase", about)
        if outcome:
            ElementTree.SubElement(test, outcome, message=printable(message))
    suite.set("tests", str(len(results)))
    suite.set("failures", str(sum(outcome == "failure" for _, outcome, _ in results)))
    suite.set("skipped", str(len(change.missing)))
    with replacing(out) as stream:
        stream.write(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True))
    return Path(out)


def _deciding(measured: Sequence[Metric], usual: Metric, wanted: str | None) -> Metric:
    if wanted is None and usual in measured:
        return usual
    for one in measured:
        if wanted in (one.key, one.label):
            return one
    keys = [one.key for one in measured]
    raise UsageError(
        f"Both runs have no score {wanted or usual.key!r}.",
        remedy=f"{suggestion(wanted or '', keys)} They have: {', '.join(keys)}.".lstrip(),
    )


def _mean_change(
    metric: Metric, before: Sequence[float], after: Sequence[float], clusters: Sequence[str]
) -> MeanChange:
    difference = paired_difference(after, before, clusters)
    assert difference is not None  # there are cases
    p = paired_permutation(after, before, clusters=clusters)
    return MeanChange(metric, sum(before) / len(before), sum(after) / len(after), difference, p)


def _mean_regressed(
    change: MeanChange,
    before: Sequence[float],
    after: Sequence[float],
    clusters: Sequence[str],
    fail_under: float,
) -> bool:
    if change.difference.mean >= -fail_under - _EPSILON:
        return False
    cases = zip(clusters, before, after, strict=True)
    changed = {cluster for cluster, old, now in cases if abs(now - old) > _EPSILON}
    # So few clusters cannot be significant, whatever happens to them: the threshold decides.
    significant = change.p is not None and change.p < _LEVEL
    return significant or 2.0 ** (1 - len(changed)) >= _LEVEL


def _noise(
    runs: Sequence[RunDirectory], metric: Metric, before: Sequence[float], after: Sequence[float]
) -> float:
    """Return how far the score of some case moves by chance, at 5 % for all cases together.

    From the spread of the answers to a case where both runs have several of them. Else from the
    spread of the differences around their median, which a few cases that broke do not widen; it is
    0 where most cases are exactly as before, and for fewer than eight cases.
    """
    differences = [now - old for old, now in zip(before, after, strict=True)]
    spreads = [_within(run, metric) for run in runs]
    if all(spread is not None for spread in spreads):
        spread = sqrt(sum(spread or 0.0 for spread in spreads))
    elif len(differences) < FEWEST:
        return 0.0  # nothing can be known about it
    else:
        middle = median(differences)
        spread = _MAD * median(abs(one - middle) for one in differences)
    return NormalDist().inv_cdf(1 - _LEVEL / 2 / len(differences)) * spread


def _within(run: RunDirectory, metric: Metric) -> float | None:
    """Return the variance of a case's mean over its answers; None where each has only one."""
    answers: dict[str, list[float]] = {}
    for record in run.records():
        answers.setdefault(record.case, []).append(number_at(record.scores, metric.key) or 0.0)
    several = [values for values in answers.values() if len(values) > 1]
    if not several:
        return None
    squares = sum(
        sum((value - sum(values) / len(values)) ** 2 for value in values) for values in several
    )
    variance = squares / sum(len(values) - 1 for values in several)
    return variance * len(several) / sum(map(len, several))


def _case_table(title: str, cases: Sequence[CaseChange], most: int, metric: Metric) -> Table:
    rows = tuple(
        (
            case.id,
            f"{case.before:.{metric.digits}f}",
            f"{case.after:.{metric.digits}f}",
            f"{case.difference:+.{metric.digits}f}",
            case.error,
        )
        for case in cases[:most]
    )
    more = len(cases) - len(rows)
    notes = (f"… and {more} more.",) if more else ()
    return Table(f"{title}, by {metric.label}", ("Case", "Before", "After", "", ""), rows, notes)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
