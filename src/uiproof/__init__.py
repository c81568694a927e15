"""uiproof measures how well a multimodal model sees and rebuilds user interfaces.

    import uiproof

    uiproof.score_page("<h1>Hi</h1>", "<h1>Hi!</h1>")           # one pair, as a dictionary
    run = uiproof.score_folders("reference", "generated")
    run = uiproof.run("my/pages", "blueprint")                   # a data set and a method
    print(run.summary["scores"]["paper"]["text"]["mean"])
    uiproof.write_report([run.path], Path("report.html"))

Nothing is loaded before it is used: `import uiproof` costs a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.api import merge, run, run_matrix, score
    from uiproof.benchmark import Completion
    from uiproof.benchmarks import (
        Differ,
        Difference,
        InteractionReference,
        PageDiff,
        annotated_picture,
        audit,
        collect,
        compare_results,
        dataset_statistics,
        diagnose_run,
        diff,
        generate,
        score_folders,
        score_interactions,
        score_predictions,
        score_variants,
        second_opinion,
    )
    from uiproof.bundled_demo import demo
    from uiproof.doctor import examine
    from uiproof.dry_run import plan
    from uiproof.engine.rundir import RunDirectory
    from uiproof.errors import UiproofError
    from uiproof.export import dataframe, write_json, write_table
    from uiproof.hub import catalogue, fetch
    from uiproof.integrations.tracking import track_mlflow, track_wandb
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions
    from uiproof.report import write_report
    from uiproof.report.regression import regressions
    from uiproof.report.tables import comparison, comparison_details
    from uiproof.rewards.client import Client
    from uiproof.rewards.reward import Reward, reward, reward_async, reward_many, reward_many_async
    from uiproof.scoring.scorer import Scorer, check_page, score_page, score_page_async, score_pages
    from uiproof.settings import Settings
    from uiproof.submissions import check_submission, rank_submissions, write_submission

    __version__: str

__all__ = [
    "Budget",
    "Client",
    "Completion",
    "Differ",
    "Difference",
    "InteractionReference",
    "ModelOptions",
    "PageDiff",
    "Reward",
    "RunDirectory",
    "Scorer",
    "Settings",
    "UiproofError",
    "__version__",
    "annotated_picture",
    "audit",
    "catalogue",
    "check_page",
    "check_submission",
    "collect",
    "compare_results",
    "comparison",
    "comparison_details",
    "dataframe",
    "dataset_statistics",
    "demo",
    "diagnose_run",
    "diff",
    "examine",
    "fetch",
    "generate",
    "merge",
    "plan",
    "rank_submissions",
    "regressions",
    "reward",
    "reward_async",
    "reward_many",
    "reward_many_async",
    "run",
    "run_matrix",
    "score",
    "score_folders",
    "score_interactions",
    "score_page",
    "score_page_async",
    "score_pages",
    "score_predictions",
    "score_variants",
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
    "Client": "uiproof.rewards.client",
    "Completion": "uiproof.benchmark",
    "ModelOptions": "uiproof.models.chat",
    "RunDirectory": "uiproof.engine.rundir",
    "Scorer": "uiproof.scoring.scorer",
    "Settings": "uiproof.settings",
    "UiproofError": "uiproof.errors",
    "catalogue": "uiproof.hub",
    "check_page": "uiproof.scoring.scorer",
    "check_submission": "uiproof.submissions",
    "comparison": "uiproof.report.tables",
    "comparison_details": "uiproof.report.tables",
    "dataframe": "uiproof.export",
    "demo": "uiproof.bundled_demo",
    "examine": "uiproof.doctor",
    "fetch": "uiproof.hub",
    "merge": "uiproof.api",
    "plan": "uiproof.dry_run",
    "rank_submissions": "uiproof.submissions",
    "regressions": "uiproof.report.regression",
    "Reward": "uiproof.rewards.reward",
    "reward": "uiproof.rewards.reward",
    "reward_async": "uiproof.rewards.reward",
    "reward_many": "uiproof.rewards.reward",
    "reward_many_async": "uiproof.rewards.reward",
    "run": "uiproof.api",
    "score": "uiproof.api",
    "run_matrix": "uiproof.api",
    "score_page": "uiproof.scoring.scorer",
    "score_page_async": "uiproof.scoring.scorer",
    "score_pages": "uiproof.scoring.scorer",
    "track_mlflow": "uiproof.integrations.tracking",
    "track_wandb": "uiproof.integrations.tracking",
    "write_json": "uiproof.export",
    "write_report": "uiproof.report",
    "write_submission": "uiproof.submissions",
    "write_table": "uiproof.export",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("uiproof")
    if name not in __all__:
        raise AttributeError(f"module 'uiproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "uiproof.benchmarks")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
