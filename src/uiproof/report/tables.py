"""Runs, analyses and plans as text, for a terminal and as markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Metric
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import UsageError
from uiproof.files import access
from uiproof.leaderboard import leaderboard
from uiproof.registry import benchmarks
from uiproof.report.sections import analyses
from uiproof.settings import Settings
from uiproof.stats.intervals import bounds_text
from uiproof.tables import Table, console, markdown, printable
from uiproof.views.base import INTERVALS, Analyses, Leaderboard, MetricMean, RunRow

if TYPE_CHECKING:
    from uiproof.dry_run import CostEstimate

NOT_MEASURED = "not measured"
TIE = "≈"
_PLAN_HEADER = (
    *("Method", "Cases", "Done", "Requests", "In cache", "Tokens in", "Tokens out"),
    *("Cost", "at most"),
)


def comparison(runs: Sequence[RunDirectory | Path | str], *, width: int | None = None) -> str:
    """Return a table for a terminal: means, their intervals, ties, failures."""
    return console([leaderboard_table(leaderboard(runs))], width=width)


def comparison_details(
    runs: Sequence[RunDirectory | Path | str], *, charts_dir: str | Path | None = None
) -> str:
    """Return the tables and tests of the runs' benchmark, and draw its charts in `charts_dir`.

    Empty where the benchmark has none. Without `charts_dir`, EVAL_CHARTS_DIR counts.
    """
    found = [RunDirectory.of(run, pictures=False) for run in runs]
    benchmark = benchmarks().get(str(found[0].manifest["benchmark"]))
    folder = Path(charts_dir) if charts_dir else Settings.from_environment().charts_dir
    if benchmark is not None and (text := benchmark.compared(found, folder)):
        return f"\n{text}\n"
    analysed = analyses(leaderboard(found), found)
    drawn = _drawn(analysed, found, charts_dir)
    lines = [console(analysed.tables)] if analysed.tables else []
    lines += [f"Written: {file}" for file in drawn]
    return "\n".join(["", *lines, ""]) if lines else ""


def comparison_markdown(
    runs: Sequence[RunDirectory | Path | str], *, charts_dir: str | Path | None = None
) -> str:
    """Return the leaderboard and the tables of the report as markdown, and draw the charts."""
    found = [RunDirectory.of(run, pictures=False) for run in runs]
    board = leaderboard(found)
    analysed = analyses(board, found)
    if charts_dir:
        _drawn(analysed, found, charts_dir)
    return markdown([leaderboard_table(board), *analysed.tables]).rstrip("\n")


def leaderboard_table(board: Leaderboard) -> Table:
    """Return a leaderboard as a table, best first, with its notes."""
    ranked, absent = board.ranked(), _unmeasured(board)
    shown = [(n, metric) for n, metric in enumerate(board.metrics) if n not in absent]
    header = ("Method", "n", "Clusters", "Failed")
    rows, best = [], []
    for number, row in enumerate(ranked):
        clusters = "" if row.clusters is None else str(row.clusters)
        means = [_mean(row.cells[n], metric) for n, metric in shown]
        rows.append((_label(row), str(row.n), clusters, str(row.failed), *means))
        best += [(number, 4 + place) for place, (n, _) in enumerate(shown) if row.cells[n].best]
    return Table(
        "",
        (*header, *(metric.label for _, metric in shown)),
        tuple(rows),
        tuple(notes(board)),
        best=tuple(best),
        warnings=tuple((number, 3) for number, row in enumerate(ranked) if row.failed),
        starred=False,
    )


def plan_table(plans: Sequence[CostEstimate]) -> str:
    """Return one line per run and a total; costs where all prices are known."""
    names = [one.method for one in plans]
    numbers: list[tuple[float | None, ...]] = [
        (
            *(one.cases, one.done, one.requests, one.cached, one.input_tokens, one.output_tokens),
            *(one.cost, one.most_cost),
        )
        for one in plans
    ]
    if len(plans) > 1:
        names.append("total")
        numbers.append(tuple(map(_sum, zip(*numbers, strict=True))))
    rows = [
        (name, *(f"{n:,}" for n in row[:-2]), *map(dollars, row[-2:]))
        for name, row in zip(names, numbers, strict=True)
    ]
    note = "Nothing was sent. Tokens are estimates; without repeated requests `at most` is a bound."
    remarks = [note]
    if any(one.cost is None for one in plans):
        remarks.append("Set UIPROOF_PRICES to a file with the prices that are unknown.")
    if broken := sum(one.broken for one in plans):
        cases = "1 case" if broken == 1 else f"{broken:,} cases"
        remarks.append(f"{cases} cannot be asked about and will fail.")
    total = range(len(_PLAN_HEADER)) if len(plans) > 1 else ()
    bold = tuple((len(plans), column) for column in total)
    table = Table("", _PLAN_HEADER, tuple(rows), tuple(remarks), best=bold, starred=False)
    return console([table])


def dollars(amount: float | None) -> str:
    """Return an amount for people."""
    if amount is None:
        return "unknown"
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"


def notes(board: Leaderboard) -> list[str]:
    """Return what explains the leaderboard, without remarks on what does not occur in it."""
    found = []
    every = [cell for row in board.rows for cell in row.cells]
    if any(cell.low is not None for cell in every):
        found.append(INTERVALS)
    if reasons := sorted({cell.no_interval for cell in every if cell.no_interval}):
        found.append(f"No interval: {'; '.join(reasons)}.")
    if any(cell.tie for cell in every):
        found.append(
            f"{TIE} cannot be told apart from the best on the same cases (paired permutation test "
            "over clusters, p at least 0.05)."
        )
    if board.shared is not None:
        found.append(
            f"Only {board.shared} cases are in all runs; means over different cases compare badly."
        )
    if any(row.failed for row in board.rows):
        found.append("Failed cases count in every mean.")
    found += [
        f"{row.name} is incomplete: servers, machines or files of the data set failed, and those "
        "cases count as wrong."
        for row in board.rows
        if row.incomplete
    ]
    if any(row.assisted for row in board.rows):
        found.append("Assisted methods were given the truth.")
    found += [f"{row.name}: {_usage(row.usage)}." for row in board.rows if row.usage]
    found += [f"{row.name}: {_answers(row.answers)}." for row in board.rows if row.answers]
    if absent := [board.metrics[column] for column in _unmeasured(board)]:
        remedies = dict.fromkeys(metric.remedy for metric in absent if metric.remedy)
        how = f" To measure it: `{'`, `'.join(remedies)}`." if remedies else ""
        found.append(f"Not measured: {', '.join(metric.label for metric in absent)}.{how}")
    for index, metric in enumerate(board.metrics):
        for row in board.rows:
            cell = row.cells[index]
            if cell.mean is None and cell.note != NOT_MEASURED:
                found.append(f"{metric.label}, {row.name}: {cell.note}.")
        variants = {
            row.cells[index].note for row in board.rows if row.cells[index].mean is not None
        }
        if len(variants) == 1 and "" not in variants:
            found.append(f"{metric.label} is the variant {variants.pop()}.")
        elif len(variants) > 1:
            found.append(
                f"{metric.label} is on different scales ({', '.join(sorted(variants))}) and is "
                "not compared."
            )
    return found


def samples_table(run: RunDirectory) -> Table | None:
    """Return the best of several answers and pass@k of each metric; None for one answer each."""
    board, samples = leaderboard([run]), run.summary.get("samples")
    if not samples:
        return None
    each, scores = samples["each"], samples["scores"]
    rows: list[tuple[str, ...]] = []
    shown: list[str] = []
    for metric, cell in zip(board.metrics, board.rows[0].cells, strict=True):
        if (found := scores.get(metric.key)) is not None:
            shown = list(found["pass"])
            means = (
                f"{one['mean']:.3f} {bounds_text(one['low'], one['high'])}".rstrip()
                for one in (found["best"], *found["pass"].values())
            )
            rows.append((metric.label, _mean(cell, metric), *means))
    return Table(
        f"{each} answers for each of {samples['cases']} cases",
        ("Score", "Mean", f"Best of {each}", *(f"pass@{k}" for k in shown)),
        tuple(rows),
        (
            f"pass@k: the chance that one of k answers scores {samples['pass_score']:g} or more "
            "(unbiased estimate). Intervals are over cases.",
        ),
    )


def _unmeasured(board: Leaderboard) -> list[int]:
    """Return the metrics that no run has, and of which there is nothing else to say."""

    def is_absent(cell: MetricMean) -> bool:
        return cell.mean is None and cell.note == NOT_MEASURED

    columns = zip(*(row.cells for row in board.rows), strict=True)
    absent = [n for n, cells in enumerate(columns) if all(map(is_absent, cells))]
    return absent if len(absent) < len(board.metrics) else []


def _usage(usage: Mapping[str, Any]) -> str:
    requests = "1 request" if usage["requests"] == 1 else f"{usage['requests']:,} requests"
    if usage["cached"]:
        requests += f" ({usage['cached']:,} answered from the cache)"
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    price = dollars(usage["cost"])
    if usage["cost"] is None:
        price = "price unknown"
    elif usage["unpriced"]:
        price = f"{price} without {usage['unpriced']:,} of unknown price"
    return f"{requests}, {tokens}, {price}"


def _answers(answers: Mapping[str, int]) -> str:
    return "answers " + ", ".join(f"{what} {count:,}" for what, count in answers.items())


def _drawn(
    analysed: Analyses, runs: Sequence[RunDirectory], charts_dir: str | Path | None
) -> list[Path]:
    """Draw the charts if a folder is given, and return the files."""
    if not charts_dir:
        return []
    if not analysed.charts:
        raise UsageError(f"There are no charts of {runs[0].manifest['benchmark']} runs yet.")
    folder = Path(charts_dir)
    with access(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    analysed.draw(folder)
    files = [folder / f"{name}.{kind}" for name in analysed.charts for kind in ("svg", "png")]
    return [file for file in files if file.exists()]


def _label(row: RunRow) -> str:
    marks = [mark for mark in ("assisted", "incomplete") if getattr(row, mark)]
    marks += [] if row.complete else ["unfinished"]
    name = printable(row.name)
    return f"{name} [{', '.join(marks)}]" if marks else name


def _mean(cell: MetricMean, metric: Metric) -> str:
    if cell.mean is None:
        return NOT_MEASURED
    mean = f"{TIE if cell.tie else ''}{cell.mean:.{metric.digits}f}"
    return f"{mean} {bounds_text(cell.low, cell.high, metric.digits)}".rstrip()


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
