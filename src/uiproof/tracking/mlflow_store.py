"""Runs in MLflow."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MissingDependencyError, TrackingError
from uiproof.remote.urls import without_secrets
from uiproof.tracking.facts import Facts, cases_of, facts_of, opened, said

_ID_TAG = "uiproof.id"
_AT_ONCE = 100  # what MLflow takes in one request
_TABLE = "cases.json"
# MLflow would try for many minutes. Whoever sets these has the last word.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
# A folder of files was asked for by its name: that MLflow prefers databases is no reason to refuse.
_FOLDER = {"MLFLOW_ALLOW_FILE_STORE": "true"}


def track_mlflow(
    runs: Sequence[RunDirectory | Path | str],
    *,
    experiment: str,
    tracking_uri: str | None = None,
    report: bool = False,
) -> list[str]:
    """Send runs to MLflow, one run there for each; returns their ids there.

        uiproof.track_mlflow(["runs/a"], experiment="pages", tracking_uri="http://localhost:5000")
        uiproof.track_mlflow(["runs/a"], experiment="pages", tracking_uri="mlruns")

    Parameters, every mean with its interval, and the table of cases; with `report` also the HTML
    report. Tracking a run again updates it. `tracking_uri` is a server or a folder; without it
    MLFLOW_TRACKING_URI is used. Raises `TrackingError` where the server does not answer or refuses.
    """
    directories = opened(runs, pictures=report)
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise MissingDependencyError(
            "Tracking in MLflow needs mlflow-skinny.", remedy="pip install 'uiproof[mlflow]'"
        ) from error
    address = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
    _check_address(address)
    known = [facts_of(run) for run in directories]  # what is wrong shows before anything is sent
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
                f"MLflow at {without_secrets(address)} did not take it: {said(error)}",
                remedy="Check that the server runs, the address, and who may write there.",
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
        # A parameter can never be changed in MLflow; what may change when a run is continued is a
        # tag. So is what was not measured: an earlier value of it cannot be deleted.
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
    """The cases in the form in which MLflow shows tables, without holding them in memory."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"columns": {json.dumps(columns)}, "data": [')
        for number, row in enumerate(cases_of(run, columns)):
            file.write((",\n" if number else "\n") + json.dumps(row, allow_nan=False))
        file.write("\n]}\n")


def _experiment_id(client: Any, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        raise TrackingError(
            f"The experiment {name!r} was deleted in MLflow.", remedy="Restore it or name another."
        )
    return str(found.experiment_id if found is not None else client.create_experiment(name))


def _check_address(address: str) -> None:
    scheme = address.partition("://")[0] if "://" in address else ""
    if scheme.startswith(("sqlite", "postgresql", "mysql", "mssql")):
        from importlib.util import find_spec

        if find_spec("sqlalchemy") is None:
            raise MissingDependencyError(
                "MLflow needs SQLAlchemy to write to a database.",
                remedy="pip install mlflow, or name a server or a folder.",
            )


def _is_folder(address: str) -> bool:
    return ("://" not in address and address != "databricks") or address.startswith("file:")


def _uri(address: str) -> str:
    if _is_folder(address) and not address.startswith("file:"):
        return Path(address).absolute().as_uri()
    return address


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Variables that are set for a while, where nobody has set them."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
