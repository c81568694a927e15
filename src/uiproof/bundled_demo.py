"""The demo: every benchmark on bundled data."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.api import run
from uiproof.errors import UsageError
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

_REPORTS = (
    *("report.html", "report-grounding.html", "report-interactions.html"),
    "report-today.html",
)
_DIFF = "diff.html"


@dataclass(frozen=True, slots=True)
class Demo:
    """Runs of one benchmark on bundled data, and a report about them."""

    benchmark: str
    runs: tuple[RunDirectory, ...]
    report: Path
    differences: Path | None = None  # a page about one pair


def demo(
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> list[Demo]:
    """Score the bundled data of every benchmark with built-in methods, and write reports.

    Starts afresh each time: demo runs that are there are deleted, other runs never. Without `out`
    the runs are in `runs/demo` and the reports, `report.html` first, in the current folder;
    otherwise everything is in `out`.
    """
    from uiproof.export import check_writable
    from uiproof.registry import resolve_dataset
    from uiproof.report import write_report

    _, reference = resolve_dataset("design2code-demo")
    _, today = resolve_dataset("design2code-today")
    wanted = {
        "design2code-demo": {
            "blueprint": "blueprint",
            "replay": f"replay:{reference.parent / 'generated'}",
        },
        "grounding-demo": {"ocr": "ocr@none", "centre": "centre", "centre-fixed": "centre-fixed"},
        "interaction2code-shop": {"interactions": "blueprint"},
        "design2code-today": {"today": f"replay:{today.parent / 'generated'}"},
    }
    runs_dir = Settings.from_environment().runs_dir
    usual = runs_dir if isinstance(runs_dir, Path) else Path("runs")  # it is to be looked at here
    folder = usual / "demo" if out is None else Path(out)
    reports = {
        dataset: (Path() if out is None else folder) / name
        for dataset, name in zip(wanted, _REPORTS, strict=True)
    }
    check_writable(reports["design2code-demo"].with_name(_DIFF), makes_folders=True)
    for dataset, methods in wanted.items():
        check_writable(reports[dataset], makes_folders=True)
        for name in methods:
            _check_is_demo(folder / name, dataset)
    shown = []
    for dataset, methods in wanted.items():
        runs = []
        for name, method in methods.items():
            _delete_demo(folder / name, dataset)
            place = folder / name
            runs.append(run(dataset, method, out=place, limit=limit, workers=workers, quiet=quiet))
        write_report([one.path for one in runs], reports[dataset])
        shown.append(Demo(runs[0].manifest["benchmark"], tuple(runs), reports[dataset]))
    pages = reports["design2code-demo"].with_name(_DIFF)
    _write_differences(reference, pages)
    return [replace(shown[0], differences=pages), *shown[1:]]


def _write_differences(reference: Path, out: Path) -> None:
    from uiproof.benchmarks.design2code.api import Differ
    from uiproof.benchmarks.design2code.diff_cases import compare, pairs
    from uiproof.benchmarks.design2code.diff_page import write_diff_page

    pair = pairs(reference / "pricing.html", reference.parent / "generated" / "pricing.html")
    with Differ() as differ:
        write_diff_page([compare(differ, pair[0])], out)


def _check_is_demo(directory: Path, dataset: str) -> None:
    from uiproof.engine.rundir import RunDirectory

    if not (directory / "run.json").is_file():
        return
    found = RunDirectory(directory).manifest.get("dataset")
    if found != dataset:
        raise UsageError(
            f"{directory} holds a run on {found}, which the demo does not delete.",
            remedy="Give the demo another folder with --out.",
        )


def _delete_demo(directory: Path, dataset: str) -> None:
    from uiproof.engine.rundir import locked

    if not (directory / "run.json").is_file():
        return
    with locked(directory / "lock"):
        _check_is_demo(directory, dataset)
        # The lock is ours and stays; `run.json` goes last, so that a run is one until then.
        for path in sorted(directory.iterdir(), key=lambda path: path.name == "run.json"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()
