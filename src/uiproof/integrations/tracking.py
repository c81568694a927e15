"""Send runs to Weights & Biases and MLflow; tracking a run again updates it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from uiproof.benchmark import means_in
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MissingDependencyError, TrackingError, UsageError
from uiproof.export import columns, rows
from uiproof.models.names import redacted
from uiproof.redaction import redact, redacted_manifest
from uiproof.remote.store import without_secrets

# Identifies a run, and stays the same when the run is continued, moved or renamed.
_IDENTITY = (
    *("format", "uiproof", "benchmark", "dataset_key", "method", "settings", "fingerprint"),
    *("shard", "created"),
)
# May change when a run is continued.
_MAY_CHANGE = ("limit", "cases", "executor", "workers")
_TOTALS = ("seconds", "timing", "usage")  # sums in a summary, not means
_LONGEST_NAME = 200
_LONGEST_TEXT = 500
_ID_TAG = "uiproof.id"
_AT_ONCE = 100  # MLflow's limit per request
_TABLE = "cases.json"
# MLflow's defaults retry for many minutes. The user's settings have precedence.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
# MLflow refuses folders by default, because it prefers databases.
_FOLDER = {"MLFLOW_ALLOW_FILE_STORE": "true"}
_SECONDS_TO_START = 60
_SECONDS_TO_END = 300
_MOST_ROWS = 10_000  # W&B shows no more
_LATER = "Or set WANDB_MODE=offline, and send the run later with `wandb sync`."

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Facts:
    """A run as sent to a tracker, without secrets and paths."""

    id: str  # the same each time the run is tracked
    name: str
    benchmark: str
    parameters: Mapping[str, Value]  # constant
    state: Mapping[str, Value]  # may change when the run is continued
    metrics: Mapping[str, float]  # finite
    not_measured: tuple[str, ...]  # metrics without a mean in the summary
    columns: tuple[str, ...]  # of the table of cases


def track_mlflow(
    runs: Sequence[RunDirectory | Path | str],
    *,
    experiment: str,
    tracking_uri: str | None = None,
    report: bool = False,
) -> list[str]:
    """Send each run to MLflow as one run; returns their ids there.

        uiproof.track_mlflow(["runs/a"], experiment="pages", tracking_uri="http://localhost:5000")
        uiproof.track_mlflow(["runs/a"], experiment="pages", tracking_uri="mlruns")

    Sends parameters, every mean with its interval, the table of cases, and with `report` the HTML
    report. Tracking a run again updates it. `tracking_uri` is a server or a folder, by default
    MLFLOW_TRACKING_URI. Raises `TrackingError` if the server does not respond or refuses.
    """
    directories = open_runs(runs, pictures=report)
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise MissingDependencyError(
            "Tracking in MLflow needs mlflow-skinny.", remedy="pip install 'uiproof[mlflow]'"
        ) from error
    address = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
    _check_address(address)
    known = [facts_of(run) for run in directories]  # fails before anything is sent
    with _environment(_PATIENCE | (_FOLDER if _is_folder(address) else {})):
        try:
            client = MlflowClient(tracking_uri=_uri(address))
            place = _experiment_id(client, experiment)
            return [
                _track(client, place, run, facts, report=report)
                for run, facts in zip(directories, known, strict=True)
            ]
        except (MlflowException, OSError) as error:
            raise TrackingError(
                f"MLflow at {without_secrets(address)} did not take it: {error_line(error)}",
                remedy="Check that the server is running, its address and your permissions.",
            ) from error


def _track(
    client: Any, experiment_id: str, run: RunDirectory, facts: Facts, *, report: bool
) -> str:
    from mlflow.entities import Metric, Param, RunTag

    found = client.search_runs(
        [experiment_id], filter_string=f"tags.`{_ID_TAG}` = '{facts.id}'", max_results=1
    )
    run_id: str
    there: Mapping[str, str] = {}
    if found:
        run_id, there = found[0].info.run_id, found[0].data.params
        client.update_run(run_id, status="RUNNING")
    else:
        own = {_ID_TAG: facts.id, "uiproof.benchmark": facts.benchmark}
        run_id = client.create_run(experiment_id, tags=own, run_name=facts.name).info.run_id
    try:
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, 0) for name, value in facts.metrics.items()]
        # MLflow never changes a parameter and never deletes a metric, so the state of a run and the
        # names of metrics that were not measured are tags.
        new = {name: value for name, value in facts.parameters.items() if name not in there}
        params = [Param(name, str(value)) for name, value in new.items()]
        state = {**facts.state, "not_measured": " ".join(facts.not_measured) or "nothing"}
        tags = [RunTag(f"uiproof.{name}", str(value)) for name, value in state.items()]
        tags.append(
            RunTag("mlflow.loggedArtifacts", json.dumps([{"path": _TABLE, "type": "table"}]))
        )
        for names, values in (("metrics", metrics), ("params", params), ("tags", tags)):
            for start in range(0, len(values), _AT_ONCE):
                client.log_batch(run_id, **{names: values[start : start + _AT_ONCE]})
        with TemporaryDirectory() as folder:
            _write_table(Path(folder) / _TABLE, run, facts.columns)
            client.log_artifact(run_id, str(Path(folder) / _TABLE))
            if report:
                from uiproof.report import write_report

                write_report([run], Path(folder) / "report.html")
                client.log_artifact(run_id, str(Path(folder) / "report.html"))
    except BaseException:
        client.set_terminated(run_id, status="FAILED")
        raise
    client.set_terminated(run_id)
    return run_id


def _write_table(path: Path, run: RunDirectory, columns: Sequence[str]) -> None:
    """Write the cases as an MLflow table, row by row to save memory."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"columns": {json.dumps(columns)}, "data": [')
        for number, row in enumerate(cases_of(run, columns)):
            file.write((",\n" if number else "\n") + json.dumps(row, allow_nan=False))
        file.write("\n]}\n")


def _experiment_id(client: Any, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        raise TrackingError(
            f"The experiment {name!r} was deleted in MLflow.",
            remedy="Restore it or choose another.",
        )
    return str(found.experiment_id if found is not None else client.create_experiment(name))


def _check_address(address: str) -> None:
    scheme = address.partition("://")[0] if "://" in address else ""
    if scheme.startswith(("sqlite", "postgresql", "mysql", "mssql")):
        from importlib.util import find_spec

        if find_spec("sqlalchemy") is None:
            raise MissingDependencyError(
                "MLflow needs SQLAlchemy to write to a database.",
                remedy="pip install mlflow, or use a server or a folder.",
            )


def _is_folder(address: str) -> bool:
    return ("://" not in address and address != "databricks") or address.startswith("file:")


def _uri(address: str) -> str:
    if _is_folder(address) and not address.startswith("file:"):
        return Path(address).absolute().as_uri()
    return address


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block, except those that the user has set."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def track_wandb(
    runs: Sequence[RunDirectory | Path | str],
    *,
    project: str,
    entity: str | None = None,
    report: bool = False,
) -> list[str]:
    """Send each run to Weights & Biases as one run; returns their ids there.

        uiproof.track_wandb(["runs/a", "runs/b"], project="pages")

    Sends parameters, every mean with its interval, the table of cases, and with `report` the HTML
    report. Tracking a run again updates it. With `WANDB_MODE=offline`, nothing leaves this machine
    until `wandb sync`. Never prompts for a login: raises `TrackingError` without one.
    """
    directories, mode = open_runs(runs, pictures=report), _mode()
    try:
        import wandb
    except ImportError as error:
        raise MissingDependencyError(
            "Tracking in Weights & Biases needs wandb.", remedy="pip install 'uiproof[wandb]'"
        ) from error
    known = [facts_of(run) for run in directories]  # fails before anything is sent
    if mode == "online":
        with _errors_of(wandb):
            logged_in = wandb.login(prompt=False)
        if not logged_in:
            raise TrackingError(
                "Not logged in to Weights & Biases.",
                remedy=f"Run `wandb login`, or set WANDB_API_KEY. {_LATER}",
            )
    for run, facts in zip(directories, known, strict=True):
        with _errors_of(wandb):
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
                reinit="create_new",  # the caller may have an active run
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
        raise UsageError("WANDB_MODE is disabled, so nothing would be sent.", remedy="Unset it.")
    return "online"


def _settings(wandb: Any) -> Any:
    """Return settings with short timeouts that send no host name, paths or source code."""
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
def _errors_of(wandb: Any) -> Iterator[None]:
    """Turn errors of W&B into `TrackingError`."""
    try:
        yield
    except (wandb.errors.Error, TimeoutError, ConnectionError) as error:
        raise TrackingError(
            f"Weights & Biases did not take it: {error_line(error)}",
            remedy=f"Check the network, the login and the names. {_LATER}",
        ) from error


def facts_of(run: RunDirectory) -> Facts:
    """Return the facts about a run to send to a tracker."""
    raw, manifest, summary = run.manifest, redacted_manifest(run), run.summary
    identity = json.dumps({name: raw.get(name) for name in _IDENTITY}, sort_keys=True)
    state = {name: manifest.pop(name) for name in _MAY_CHANGE}
    state["complete"] = bool(summary.get("complete", True))
    found = dict(_measured(summary))
    return Facts(
        id=f"uiproof-{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
        name=_text(f"{manifest['dataset']} · {manifest['method']}", 120),
        benchmark=str(manifest["benchmark"]),
        parameters=_named(_flat(manifest)),
        state=_named(_flat(state)),
        metrics=_named((path, value) for path, value in found.items() if value is not None),
        not_measured=tuple(_name(path) for path, value in found.items() if value is None),
        columns=tuple(columns([run])),
    )


def cases_of(run: RunDirectory, names: Sequence[str]) -> Iterator[list[Any]]:
    """Yield the rows of the table of cases, with None for missing values."""
    for row in rows([run]):
        yield [_cell(row.get(name)) for name in names]


def open_runs(
    runs: Sequence[RunDirectory | Path | str], *, pictures: bool = False
) -> list[RunDirectory]:
    """Open runs; pictures of runs at URLs are fetched only for a report."""
    if not runs:
        raise UsageError("There is no run to track.", remedy="Give at least one run directory.")
    return [RunDirectory.of(run, pictures=pictures) for run in runs]


def error_line(error: BaseException) -> str:
    """Return the first line of an error message, without passwords and keys."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return redacted(without_secrets(lines[0][:400]))


def _measured(summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yield every mean with the bounds of its interval, then counts, seconds and costs."""
    yield from _means(summary.get("scores") or {})
    for part in ("n", "failed"):
        yield part, _number(summary.get(part))
    for part, value in summary.items():
        if part in _TOTALS:
            yield from _numbers(value, part)
        elif part != "scores" and isinstance(value, Mapping):
            yield from ((path, mean) for path, mean in _means({part: value}) if mean is not None)


def _means(values: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for path, value in means_in(values):
        yield path, None if value is None else _number(value["mean"])
        for end in ("low", "high"):
            if value is not None and (bound := _number(value.get(end))) is not None:
                yield f"{path}.{end}", bound


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _numbers(item, f"{path}.{name}")
    elif (number := _number(value)) is not None:
        yield path, number


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        elif isinstance(value, str):
            yield path, _text(value)
        elif isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            yield path, value
        elif value is not None:
            yield path, _text(json.dumps(value))


def _named(pairs: Any) -> dict[str, Any]:
    """Return pairs under unique names that every tracker accepts."""
    found: dict[str, Any] = {}
    for path, value in pairs:
        name = wanted = _name(path)
        number = 2
        while name in found:
            name, number = f"{wanted}_{number}", number + 1
        found[name] = value
    return found


def _name(path: str) -> str:
    """Return a path as a valid name; tags of a data set can contain any character."""
    return re.sub(r"[^\w.\- ]+", "_", path, flags=re.ASCII).strip(" .")[:_LONGEST_NAME] or "_"


def _text(text: str, longest: int = _LONGEST_TEXT) -> str:
    # A file name need not be valid UTF-8, which trackers require.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _text(redact(value), 2_000)
    return None if isinstance(value, float) and not math.isfinite(value) else value
