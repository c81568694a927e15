"""Results of methods as text: the console table of openadapt-grounding, and markdown."""

from __future__ import annotations

from collections.abc import Sequence

from uiproof.benchmarks.grounding.results import MethodMetrics
from uiproof.benchmarks.grounding.sizes import SIZES
from uiproof.stats.intervals import Interval

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
ASSISTED = "assisted: the method was given the truth; its rates say little about blind use."
INCOMPLETE = "incomplete: servers or machines failed; those elements count as not found."


def console_table(metrics: Sequence[MethodMetrics]) -> str:
    """The results as a table 90 characters wide, and below it the rates by size.

    Methods that were given the truth say `assisted` at the end of their lines.
    """
    if not metrics:
        return _EMPTY
    lines = ["=" * WIDTH, "GROUNDING RESULTS", "=" * WIDTH]
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
        lines.append(_marked(f"{_cut(one.method_name, 27):<28} {rates}", one, _SIZE_WIDTH + 1))
    rules = sorted({one.size_rule for one in metrics if one.size_rule})
    notes = [f"Sizes by the {rule}." for rule in rules] + _notes(metrics)
    return "\n".join([*lines, "", *notes]).rstrip()


def markdown_table(metrics: Sequence[MethodMetrics]) -> str:
    """The results as a markdown table, with intervals."""
    if not metrics:
        return _EMPTY
    header = (
        *("Method", "Dataset", "Detection Rate", "95 % interval"),
        *("Mean IoU", "Latency (ms)", "Attempts", "Small", "Medium", "Large", "n"),
    )
    lines = [_row(header), _row([":---", ":---", *["---:"] * (len(header) - 2)])]
    for one in metrics:
        lines.append(
            _row(
                [
                    _escaped(one.label),
                    _escaped(one.dataset_name),
                    f"{one.detection_rate * 100:.1f}%",
                    _bounds(one.interval),
                    f"{one.mean_iou:.3f}",
                    f"{one.mean_latency_ms:.0f}",
                    f"{one.mean_attempts:.1f}",
                    *(_percent(one.by_size.get(size)) for size in SIZES),
                    str(one.total_elements),
                ]
            )
        )
    return "\n".join([*lines, *(f"\n{note}" for note in _notes(metrics))]) + "\n"


def _cells(one: MethodMetrics) -> tuple[str, ...]:
    return (
        one.method_name,
        one.dataset_name,
        f"{one.detection_rate * 100:.1f}%",
        f"{one.mean_iou:.3f}",
        f"{one.mean_latency_ms:.0f}ms",
        f"{one.mean_attempts:.1f}",
        str(one.total_elements),
    )


def _line(cells: Sequence[str]) -> str:
    # A name may come from a file that somebody else made: one space always stays between columns.
    return "".join(
        _cut(cell, width - 1).ljust(width)
        for cell, width in zip(cells, _COLUMNS.values(), strict=True)
    ).rstrip()


def _cut(text: str, width: int) -> str:
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _marked(line: str, one: MethodMetrics, column: int) -> str:
    """A line with its marks from a column on, which leaves room for `assisted`."""
    return f"{line:<{column - 1}} {' '.join(one.marks)}" if one.marks else line


def _percent(rate: Interval | None) -> str:
    return "-" if rate is None else f"{rate.mean * 100:.1f}%"


def _bounds(rate: Interval | None) -> str:
    if rate is None or rate.low is None or rate.high is None:
        return "-"
    return f"{rate.low * 100:.1f}-{rate.high * 100:.1f}%"


def _notes(metrics: Sequence[MethodMetrics]) -> list[str]:
    assisted = any(one.assisted for one in metrics)
    incomplete = any(one.incomplete for one in metrics)
    return [note for note, on in ((ASSISTED, assisted), (INCOMPLETE, incomplete)) if on]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that stays text inside a markdown table."""
    text = " ".join(text.split())
    for character in "\\|`*_<>[]":
        text = text.replace(character, f"\\{character}")
    return text
