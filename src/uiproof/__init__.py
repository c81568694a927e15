"""uiproof measures how well a multimodal model sees and rebuilds user interfaces.

    import uiproof

    uiproof.score_page("<h1>Hi</h1>", "<h1>Hi!</h1>")           # one pair, as a dictionary
    run = uiproof.score_folders(Path("reference"), Path("generated"))
    run = uiproof.run("design2code-demo", "blueprint")           # a data set and a method
    print(run.summary["scores"]["paper"]["text"]["mean"])
    uiproof.write_report([run.path], Path("report.html"))

Nothing is loaded before it is used: `import uiproof` costs a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.api import run, score_folders, score_interactions
    from uiproof.benchmarks.grounding.rescoring import score_predictions
    from uiproof.benchmarks.grounding.verbs import audit, diagnose_run, generate
    from uiproof.benchmarks.interaction2code.analyses.statistics import dataset_statistics
    from uiproof.benchmarks.interaction2code.collect import collect
    from uiproof.benchmarks.interaction2code.opinion import second_opinion
    from uiproof.doctor import examine
    from uiproof.engine.rundir import RunDirectory
    from uiproof.errors import UiproofError
    from uiproof.export import write_json
    from uiproof.hub import catalogue, fetch
    from uiproof.matrix import run_matrix
    from uiproof.merging import merge
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions
    from uiproof.planning import plan
    from uiproof.report import write_report
    from uiproof.report.details import compare_results, comparison_details
    from uiproof.report.tables import comparison
    from uiproof.scoring.references import Completion, InteractionReference
    from uiproof.scoring.scorer import Scorer
    from uiproof.scoring.shared import score_page, score_page_async, score_pages
    from uiproof.settings import Settings
    from uiproof.showcase import demo
    from uiproof.submissions import check_submission, rank_submissions, write_submission
    from uiproof.tabular import dataframe, write_table
    from uiproof.tracking import track_mlflow, track_wandb

    __version__: str

__all__ = [
    "Budget",
    "Completion",
    "InteractionReference",
    "ModelOptions",
    "RunDirectory",
    "Scorer",
    "Settings",
    "UiproofError",
    "__version__",
    "audit",
    "catalogue",
    "check_submission",
    "collect",
    "compare_results",
    "comparison",
    "comparison_details",
    "dataframe",
    "dataset_statistics",
    "demo",
    "diagnose_run",
    "examine",
    "fetch",
    "generate",
    "merge",
    "plan",
    "rank_submissions",
    "run",
    "run_matrix",
    "score_folders",
    "score_interactions",
    "score_page",
    "score_page_async",
    "score_pages",
    "score_predictions",
    "second_opinion",
    "track_mlflow",
    "track_wandb",
    "write_json",
    "write_report",
    "write_submission",
    "write_table",
]

_HOME = {
    "Budget": "uiproof.models.budget",
    "Completion": "uiproof.scoring.references",
    "InteractionReference": "uiproof.scoring.references",
    "ModelOptions": "uiproof.models.chat",
    "RunDirectory": "uiproof.engine.rundir",
    "Scorer": "uiproof.scoring.scorer",
    "Settings": "uiproof.settings",
    "UiproofError": "uiproof.errors",
    "audit": "uiproof.benchmarks.grounding.verbs",
    "catalogue": "uiproof.hub",
    "check_submission": "uiproof.submissions",
    "collect": "uiproof.benchmarks.interaction2code.collect",
    "compare_results": "uiproof.report.details",
    "comparison": "uiproof.report.tables",
    "comparison_details": "uiproof.report.details",
    "dataframe": "uiproof.tabular",
    "dataset_statistics": "uiproof.benchmarks.interaction2code.analyses.statistics",
    "demo": "uiproof.showcase",
    "diagnose_run": "uiproof.benchmarks.grounding.verbs",
    "examine": "uiproof.doctor",
    "fetch": "uiproof.hub",
    "generate": "uiproof.benchmarks.grounding.verbs",
    "merge": "uiproof.merging",
    "plan": "uiproof.planning",
    "rank_submissions": "uiproof.submissions",
    "run": "uiproof.api",
    "run_matrix": "uiproof.matrix",
    "score_folders": "uiproof.api",
    "score_interactions": "uiproof.api",
    "score_page": "uiproof.scoring.shared",
    "score_page_async": "uiproof.scoring.shared",
    "score_pages": "uiproof.scoring.shared",
    "score_predictions": "uiproof.benchmarks.grounding.rescoring",
    "second_opinion": "uiproof.benchmarks.interaction2code.opinion",
    "track_mlflow": "uiproof.tracking",
    "track_wandb": "uiproof.tracking",
    "write_json": "uiproof.export",
    "write_report": "uiproof.report",
    "write_submission": "uiproof.submissions",
    "write_table": "uiproof.tabular",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("uiproof")
    if name not in _HOME:
        raise AttributeError(f"module 'uiproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
