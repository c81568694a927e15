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
    from uiproof.api import merge as merge
    from uiproof.api import run as run
    from uiproof.api import run_matrix as run_matrix
    from uiproof.api import score as score
    from uiproof.benchmark import Completion as Completion
    from uiproof.benchmarks import Differ as Differ
    from uiproof.benchmarks import Difference as Difference
    from uiproof.benchmarks import InteractionReference as InteractionReference
    from uiproof.benchmarks import PageDiff as PageDiff
    from uiproof.benchmarks import annotated_picture as annotated_picture
    from uiproof.benchmarks import audit as audit
    from uiproof.benchmarks import collect as collect
    from uiproof.benchmarks import compare_results as compare_results
    from uiproof.benchmarks import dataset_statistics as dataset_statistics
    from uiproof.benchmarks import diagnose_run as diagnose_run
    from uiproof.benchmarks import diff as diff
    from uiproof.benchmarks import generate as generate
    from uiproof.benchmarks import score_folders as score_folders
    from uiproof.benchmarks import score_interactions as score_interactions
    from uiproof.benchmarks import score_predictions as score_predictions
    from uiproof.benchmarks import score_variants as score_variants
    from uiproof.benchmarks import second_opinion as second_opinion
    from uiproof.bundled_demo import demo as demo
    from uiproof.doctor import examine as examine
    from uiproof.dry_run import plan as plan
    from uiproof.engine.rundir import RunDirectory as RunDirectory
    from uiproof.errors import UiproofError as UiproofError
    from uiproof.export import dataframe as dataframe
    from uiproof.export import write_json as write_json
    from uiproof.export import write_table as write_table
    from uiproof.hub import catalogue as catalogue
    from uiproof.hub import fetch as fetch
    from uiproof.integrations.tracking import track_mlflow as track_mlflow
    from uiproof.integrations.tracking import track_wandb as track_wandb
    from uiproof.models.budget import Budget as Budget
    from uiproof.models.chat import ModelOptions as ModelOptions
    from uiproof.report import write_report as write_report
    from uiproof.report.regression import regressions as regressions
    from uiproof.report.tables import comparison as comparison
    from uiproof.report.tables import comparison_details as comparison_details
    from uiproof.rewards.client import Client as Client
    from uiproof.rewards.reward import Reward as Reward
    from uiproof.rewards.reward import reward as reward
    from uiproof.rewards.reward import reward_async as reward_async
    from uiproof.rewards.reward import reward_many as reward_many
    from uiproof.rewards.reward import reward_many_async as reward_many_async
    from uiproof.scoring.scorer import Scorer as Scorer
    from uiproof.scoring.scorer import check_page as check_page
    from uiproof.scoring.scorer import score_page as score_page
    from uiproof.scoring.scorer import score_page_async as score_page_async
    from uiproof.scoring.scorer import score_pages as score_pages
    from uiproof.settings import Settings as Settings
    from uiproof.submissions import check_submission as check_submission
    from uiproof.submissions import rank_submissions as rank_submissions
    from uiproof.submissions import write_submission as write_submission

    __version__: str

_PUBLIC = {
    "uiproof.api": "merge run run_matrix score",
    "uiproof.benchmark": "Completion",
    "uiproof.benchmarks": "Differ Difference InteractionReference PageDiff annotated_picture audit "
    "collect compare_results dataset_statistics diagnose_run diff generate score_folders "
    "score_interactions score_predictions score_variants second_opinion",
    "uiproof.bundled_demo": "demo",
    "uiproof.doctor": "examine",
    "uiproof.dry_run": "plan",
    "uiproof.engine.rundir": "RunDirectory",
    "uiproof.errors": "UiproofError",
    "uiproof.export": "dataframe write_json write_table",
    "uiproof.hub": "catalogue fetch",
    "uiproof.integrations.tracking": "track_mlflow track_wandb",
    "uiproof.models.budget": "Budget",
    "uiproof.models.chat": "ModelOptions",
    "uiproof.report": "write_report",
    "uiproof.report.regression": "regressions",
    "uiproof.report.tables": "comparison comparison_details",
    "uiproof.rewards.client": "Client",
    "uiproof.rewards.reward": "Reward reward reward_async reward_many reward_many_async",
    "uiproof.scoring.scorer": "Scorer check_page score_page score_page_async score_pages",
    "uiproof.settings": "Settings",
    "uiproof.submissions": "check_submission rank_submissions write_submission",
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(["__version__", *_HOME])


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
