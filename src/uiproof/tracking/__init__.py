"""Runs in experiment trackers: one tracker run for each, updated when it is tracked again."""

from uiproof.tracking.mlflow_store import track_mlflow
from uiproof.tracking.wandb_store import track_wandb

__all__ = ["track_mlflow", "track_wandb"]
