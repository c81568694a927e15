"""Tables of results: the console table of openadapt-grounding, markdown, reports, audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.judge import SIZES
from uiproof.benchmarks.grounding.results import MethodMetrics, compare
from uiproof.stats.intervals import FEWEST, Interval, bounds, bounds_text, share
from uiproof.tables import MISSING, Table, console, markdown, printable

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited

WIDTH = 90
_COLUMNS = {
    "Method": 28,
    "Dataset": 12,
    "Det.Rate": 10,
    "IoU": 8,
    "Latency": 10,
    "Attempts": 8,
    "Total": 8,
}
_SIZE_WIDTH = 70
_EMPTY = "There are no results to show."
OTHER_ELEMENTS = "Totals differ: these rates are not of the same elements; the paired tests are."
ASSISTED = "assisted: the method was given the truth; its rates say little about blind use."
INCOMPLETE = (
    "incomplete: servers, machines or files of the data set failed; those elements count as "
    "not found."
)


def console_table(metrics: Sequence[MethodMetrics]) -> str:
    """Return the results as a table 90 characters wide, and below it the rates by size.

    There is one table for each protocol and size rule. Lines of methods that were given the truth
    end with `assisted`.
    """
    tables = [_console_table(group) for group in same_rules(metrics)]
    return "\n\n".join(tables) or _EMPTY


def same_rules(metrics: Sequence[MethodMetrics]) -> list[list[MethodMetrics]]:
    """Group the results by protocol and rule for sizes, in their order."""
    groups: dict[tuple[str, str], list[MethodMetrics]] = {}
    for one in metrics:
        groups.setdefault((one.protocol, one.size_rule), []).append(one)
    return list(groups.values())


def _console_table(metrics: Sequence[MethodMetrics]) -> str:
    title = f"EVALUATION RESULTS (protocol {metrics[0].protocol})"
    lines = ["=" * WIDTH, title, "=" * WIDTH]
    # The name of a column may fill it: then a space pushes the next one aside.
    header = "".join(f"{name} ".ljust(width) for name, width in _COLUMNS.items())
    lines += [header.rstrip(), "-" * WIDTH]
    for one in metrics:
        lines.append(_marked(_line(_cells(one)), one, WIDTH - 8))
    lines += ["=" * WIDTH, "", "Detection rate by size of the element", "-" * _SIZE_WIDTH]
    titles = "   ".join(size.capitalize().rjust(9) for size in SIZES)
    lines += [f"{'Method'.ljust(28)} {titles}", "-" * _SIZE_WIDTH]
    for one in metrics:
        rates = "   ".join(f"{_percent(one.by_size.get(size)):>9}" for size in SIZES)
        lines.append(_marked(f"{_cut(one.title, 27):<28} {rates}", one, _SIZE_WIDTH + 1))
    rules = sorted({one.size_rule for one in metrics if one.size_rule})
    notes = [f"Sizes by the {rule}." for rule in rules] + _notes(metrics)
    return "\n".join([*lines, "", *notes]).rstrip()


def markdown_table(metrics: Sequence[MethodMetrics]) -> str:
    """Return the results as markdown tables, one for each protocol and rule for sizes."""
    return markdown(map(_markdown_table, same_rules(metrics))) if metrics else _EMPTY


def _markdown_table(metrics: Sequence[MethodMetrics]) -> Table:
    title = f"Protocol {metrics[0].protocol}"
    if metrics[0].size_rule:
        title += f"; sizes by the {metrics[0].size_rule}"
    header = (
        *("Method", "Dataset", "Detection Rate", "95 % interval, %"),
        *("Mean IoU", "Latency (ms)", "Attempts", "Small", "Medium", "Large", "n", "Screens"),
    )
    rows = [
        (
            one.label,
            one.dataset_name,
            f"{one.detection_rate * 100:.1f}%",
            bounds(one.interval),
            f"{one.mean_iou:.3f}",
            f"{one.mean_latency_ms:.0f}",
            f"{one.mean_attempts:.1f}",
            *(_percent(one.by_size.get(size)) for size in SIZES),
            str(one.total_elements),
            str((one.interval and one.interval.clusters) or MISSING),
        )
        for one in metrics
    ]
    return Table(title, header, tuple(rows), tuple(_notes(metrics)), 2)


def report_tables(metrics: Sequence[MethodMetrics]) -> list[Table]:
    """Return the tables of a report: results, rates by size and type, paired tests."""
    overall = [
        (
            one.label,
            one.dataset_name,
            f"{one.total_elements:,}",
            f"{one.interval.clusters:,}" if one.interval and one.interval.clusters else MISSING,
            share(one.interval),
            f"{one.mean_iou:.3f}",
            f"{one.mean_latency_ms:,.0f}",
            f"{one.mean_attempts:.1f}",
        )
        for one in metrics
    ]
    header = ("Method", "Data set", "n", "Screens", "Detected %", "IoU", "Latency ms", "Looks")
    note = "In brackets 95 % intervals over screenshots."
    tables = [Table("Results", header, tuple(overall), (note,), 2)]
    for group in same_rules(metrics):
        title = f"Detection rate by size of the element, %, protocol {group[0].protocol}"
        notes = (f"Sizes by the {group[0].size_rule}.",) if group[0].size_rule else ()
        rates = [(one.label, *(share(one.by_size.get(size)) for size in SIZES)) for one in group]
        tables.append(Table(title, ("Method", *SIZES), tuple(rates), notes))
    kinds = sorted({kind for one in metrics for kind in one.by_type})
    by_type = [(one.label, *(share(one.by_type.get(kind)) for kind in kinds)) for one in metrics]
    title = "Detection rate by type of the element, %"
    tables.append(Table(title, ("Method", *kinds), tuple(by_type)))
    pairs = [_pair(pair) for pair in compare(metrics)["pairs"]]
    header = ("A", "B", "n", "only A %", "only B %", "A - B %", "95 %", "p")
    note = (
        "p: exact McNemar on the same elements; the interval of the difference is over "
        f"screenshots, and there is none for fewer than {FEWEST}."
    )
    tables.append(Table("Two methods on the same elements", header, tuple(pairs), (note,), 2))
    return [table for table in tables if table.rows and len(table.header) > 1]


def audit_table(rows: Sequence[Audited]) -> str:
    """Return one line per protocol and control, and the conclusion."""
    lines = []
    for row in rows:
        verdict = "" if not row.leaks else "LEAKS" if row.claims_blind else "leaks, as declared"
        counts = (f"{row.rate.n:,}", f"{row.rate.clusters:,}", f"{100 * row.rate.mean:.1f} %")
        chance = f"{100 * row.chance:.2f} %"
        lines.append((row.protocol, row.control, *counts, bounds(row.rate), chance, verdict))
    broken = sorted({row.protocol for row in rows if row.leaks and row.claims_blind})
    notes = ["No control beats chance under a protocol that claims to be blind."]
    if broken:
        notes = [f"Broken: {', '.join(broken)}. A control that never looks beats chance there."]
    if any(row.leaks and not row.claims_blind for row in rows):
        notes.append("Assisted protocols know the target; their rates say little about finding it.")
    header = ("Protocol", "Control", "n", "Screens", "Rate", "95 % interval", "Chance", "")
    return console([Table("", header, tuple(lines), tuple(notes), 2)])


def _pair(pair: Mapping[str, Any]) -> tuple[str, ...]:
    n = int(pair["n"])
    alone = [f"{100 * pair[key] / n:.1f}" if n else MISSING for key in ("only_a", "only_b")]
    difference = pair["difference"]
    shown = [MISSING, MISSING]
    if difference is not None:
        shown[0] = f"{100 * difference['mean']:+.1f}"
        if difference["low"] is not None:
            low, high = 100 * difference["low"], 100 * difference["high"]
            shown[1] = bounds_text(low, high, 1, "+")
    return pair["a"], pair["b"], f"{n:,}", *alone, *shown, f"{pair['p']:.2g}"


def _cells(one: MethodMetrics) -> tuple[str, ...]:
    return (
        one.title,
        one.dataset_name,
        f"{one.detection_rate * 100:.1f}%",
        f"{one.mean_iou:.3f}",
        f"{one.mean_latency_ms:.0f}ms",
        f"{one.mean_attempts:.1f}",
        str(one.total_elements),
    )


def _line(cells: Sequence[str]) -> str:
    # Names may be of any length: one space always stays between columns.
    return "".join(
        _cut(cell, width - 1).ljust(width)
        for cell, width in zip(cells, _COLUMNS.values(), strict=True)
    ).rstrip()


def _cut(text: str, width: int) -> str:
    text = printable(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _marked(line: str, one: MethodMetrics, column: int) -> str:
    """Return a line with its marks from a column on, which leaves room for `assisted`."""
    return f"{line:<{column - 1}} {' '.join(one.marks)}" if one.marks else line


def _percent(rate: Interval | None) -> str:
    return MISSING if rate is None else f"{rate.mean * 100:.1f}%"


def _notes(metrics: Sequence[MethodMetrics]) -> list[str]:
    assisted = any(one.assisted for one in metrics)
    incomplete = any(one.incomplete for one in metrics)
    totals = {(one.dataset_name, one.total_elements) for one in metrics}
    differ = len(totals) > len({dataset for dataset, _ in totals})
    pairs = ((ASSISTED, assisted), (INCOMPLETE, incomplete), (OTHER_ELEMENTS, differ))
    return [note for note, on in pairs if on]
