"""Runs in a real MLflow store on disk, and servers that do not answer."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from tracking_runs import SECRETS

import uiproof
from uiproof.errors import InputError, MissingDependencyError, TrackingError


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A folder for MLflow; what is in it can be read with `client()`."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    return tmp_path / "store"


def client(store):
    from mlflow import MlflowClient

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    try:
        return MlflowClient(tracking_uri=store.as_uri())
    finally:
        del os.environ["MLFLOW_ALLOW_FILE_STORE"]


def tracked(store, name="pages"):
    found = client(store)
    experiment = found.get_experiment_by_name(name)
    return found.search_runs([experiment.experiment_id])


def test_a_run_has_its_parameters_metrics_and_cases_there(a_run, store, tmp_path):
    ids = uiproof.track_mlflow([a_run()], experiment="pages", tracking_uri=str(store), report=False)
    (run,) = tracked(store)
    assert [run.info.run_id] == ids
    assert run.info.status == "FINISHED"
    assert run.data.metrics["paper.text"] == 0.25
    assert run.data.metrics["paper.text.high"] == 0.5
    assert "paper.clip" not in run.data.metrics
    assert run.data.params["settings.parameters.temperature"] == "0.5"
    assert run.data.tags["uiproof.not_measured"] == "paper.clip paper.color"
    assert run.data.tags["uiproof.complete"] == "False"
    path = client(store).download_artifacts(ids[0], "cases.json", str(tmp_path))
    table = json.loads(Path(path).read_text())
    cases = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(case["id"], case["paper.text"]) for case in cases] == [("1", 0.5), ("caf\\udce9", 0.0)]
    assert cases[0]["paper.clip"] is None
    everything = json.dumps([run.data.params, run.data.tags, cases])
    assert not [secret for secret in SECRETS if secret in everything]
    assert "MLFLOW_ALLOW_FILE_STORE" not in os.environ


def test_tracking_again_updates_the_same_run_and_another_run_gets_its_own(a_run, store):
    first = uiproof.track_mlflow([a_run()], experiment="pages", tracking_uri=str(store))
    continued = a_run(mean=0.4, limit=None, cases=None, dataset="renamed")
    other = a_run("b", method="blueprint")
    both = uiproof.track_mlflow([continued, other], experiment="pages", tracking_uri=str(store))
    assert both[0] == first[0] != both[1]
    found = {run.info.run_id: run for run in tracked(store)}
    assert set(found) == set(both)
    assert found[first[0]].data.metrics["paper.text"] == 0.4


def test_a_server_that_is_down_is_an_error_soon(a_run, store):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://ann:hunter2@127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(TrackingError) as caught:
            uiproof.track_mlflow([a_run()], experiment="pages", tracking_uri=address)
    assert caught.value.exit_code == 3
    assert "hunter2" not in str(caught.value)


def test_what_cannot_be_written_to_is_an_error(a_run, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    for address in (str(taken / "below"), "foo://bar"):
        with pytest.raises(TrackingError, match="did not take it"):
            uiproof.track_mlflow([a_run()], experiment="pages", tracking_uri=address)
    with pytest.raises(MissingDependencyError, match="SQLAlchemy"):
        uiproof.track_mlflow([a_run()], experiment="pages", tracking_uri="sqlite:///x.db")


def test_a_run_without_a_summary_is_refused_before_anything_is_made(a_run, store):
    run = a_run()
    (run.path / "summary.json").unlink()
    with pytest.raises(InputError, match=r"summary\.json"):
        uiproof.track_mlflow([run], experiment="pages", tracking_uri=str(store))
    assert not store.exists()
