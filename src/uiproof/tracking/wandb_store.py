"""Runs in Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MissingDependencyError, TrackingError, UsageError
from uiproof.tracking.facts import cases_of, facts_of, opened, said

_SECONDS_TO_START = 60
_SECONDS_TO_END = 300
_MOST_ROWS = 10_000  # more than this W&B does not show
_LATER = "Or keep it on this disk with WANDB_MODE=offline, and send it later with `wandb sync`."


def track_wandb(
    runs: Sequence[RunDirectory | Path | str],
    *,
    project: str,
    entity: str | None = None,
    report: bool = False,
) -> list[str]:
    """Send runs to Weights & Biases, one run there for each; returns their ids there.

        uiproof.track_wandb(["runs/a", "runs/b"], project="pages")

    Parameters, every mean with its interval, and the table of cases; with `report` also the HTML
    report. Tracking a run again updates it. With `WANDB_MODE=offline` nothing leaves this machine
    until `wandb sync`. Never asks for a login: raises `TrackingError` where there is none.
    """
    directories, mode = opened(runs, pictures=report), _mode()
    try:
        import wandb
    except ImportError as error:
        raise MissingDependencyError(
            "Tracking in Weights & Biases needs wandb.", remedy="pip install 'uiproof[wandb]'"
        ) from error
    known = [facts_of(run) for run in directories]  # what is wrong shows before anything is sent
    if mode == "online":
        with _told(wandb):
            logged_in = wandb.login(prompt=False)
        if not logged_in:
            raise TrackingError(
                "Nobody is logged in to Weights & Biases.",
                remedy=f"Run `wandb login`, or set WANDB_API_KEY. {_LATER}",
            )
    for run, facts in zip(directories, known, strict=True):
        with _told(wandb):
            tracked = wandb.init(
                project=project,
                entity=entity,
                id=facts.id,
                name=facts.name,
                group=facts.benchmark,
                job_type="evaluation",
                config={
                    **facts.parameters,
                    **facts.state,
                    "not_measured": list(facts.not_measured),
                },
                resume="allow" if mode == "online" else None,
                mode=mode,
                reinit="create_new",  # the caller may have a run of its own
                settings=_settings(wandb),
            )
            try:
                table = wandb.Table(columns=list(facts.columns), allow_mixed_types=True)
                for row in islice(cases_of(run, facts.columns), _MOST_ROWS):
                    table.add_data(*row)
                tracked.log({**facts.metrics, "cases": table})
                if report:
                    _add_report(wandb, tracked, run, facts.id)
            except BaseException:
                tracked.finish(exit_code=1)
                raise
            tracked.finish()
    return [facts.id for facts in known]


def _mode() -> Literal["online", "offline"]:
    mode = os.environ.get("WANDB_MODE", "").strip().lower() or "online"
    if mode in ("offline", "dryrun"):
        return "offline"
    if mode == "disabled":
        raise UsageError("WANDB_MODE is disabled, so nothing would be kept.", remedy="Unset it.")
    return "online"


def _settings(wandb: Any) -> Any:
    """Quiet, bounded, and silent about this machine: no host name, no paths, no source code."""
    return wandb.Settings(
        silent=True,
        console="off",
        host="",
        disable_git=True,
        disable_code=True,
        save_code=False,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
        init_timeout=_SECONDS_TO_START,
        finish_timeout=_SECONDS_TO_END,
        finish_timeout_raises=True,
    )


def _add_report(wandb: Any, tracked: Any, run: RunDirectory, id: str) -> None:
    from uiproof.report import write_report

    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report([run], page)
        artifact = wandb.Artifact(f"report-{id}", type="report")
        artifact.add_file(str(page))  # copies it
        tracked.log_artifact(artifact)


@contextmanager
def _told(wandb: Any) -> Iterator[None]:
    """Turn what W&B cannot do into a typed error."""
    try:
        yield
    except (wandb.errors.Error, TimeoutError, ConnectionError) as error:
        raise TrackingError(
            f"Weights & Biases did not take it: {said(error)}",
            remedy=f"Check the network, the login and the names. {_LATER}",
        ) from error
