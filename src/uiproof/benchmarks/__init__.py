"""The built-in benchmarks; `uiproof` makes their public functions available under its own name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.api import Differ, diff
    from uiproof.benchmarks.design2code.diff_picture import annotated_picture
    from uiproof.benchmarks.design2code.page_diff import Difference, PageDiff
    from uiproof.benchmarks.grounding.api import (
        audit,
        diagnose_run,
        generate,
        score_predictions,
    )
    from uiproof.benchmarks.grounding.results import compare_results
    from uiproof.benchmarks.interaction2code.analyses.statistics import dataset_statistics
    from uiproof.benchmarks.interaction2code.api import score_interactions, score_variants
    from uiproof.benchmarks.interaction2code.collect import collect
    from uiproof.benchmarks.interaction2code.opinion import second_opinion
    from uiproof.benchmarks.interaction2code.serving import InteractionReference
    from uiproof.engine.rundir import RunDirectory

__all__ = [
    "Differ",
    "Difference",
    "InteractionReference",
    "PageDiff",
    "annotated_picture",
    "audit",
    "collect",
    "compare_results",
    "dataset_statistics",
    "diagnose_run",
    "diff",
    "generate",
    "score_folders",
    "score_interactions",
    "score_predictions",
    "score_variants",
    "second_opinion",
]

_HOME = {
    "Differ": "design2code.api",
    "Difference": "design2code.page_diff",
    "PageDiff": "design2code.page_diff",
    "InteractionReference": "interaction2code.serving",
    "annotated_picture": "design2code.diff_picture",
    "audit": "grounding.api",
    "collect": "interaction2code.collect",
    "compare_results": "grounding.results",
    "dataset_statistics": "interaction2code.analyses.statistics",
    "diagnose_run": "grounding.api",
    "diff": "design2code.api",
    "generate": "grounding.api",
    "score_interactions": "interaction2code.api",
    "score_predictions": "grounding.api",
    "score_variants": "interaction2code.api",
    "second_opinion": "interaction2code.opinion",
}


def score_folders(reference: str | Path, generated: str | Path, **options: Any) -> RunDirectory:
    """Score generated pages against reference pages: two folders with the same names, or two files.

        run = uiproof.score_folders("reference", "generated")
        run.summary["scores"]["paper"]["block_match"]["mean"]

    A reference page without a generated one is a failed case, never left out; a generated page
    without a reference is only warned about. The options are those of `uiproof.score`.
    """
    from uiproof.api import score

    return score("design2code", reference, generated, **options)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
