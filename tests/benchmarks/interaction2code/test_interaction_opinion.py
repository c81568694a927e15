"""A second opinion on verdicts, from a chat model that does not know them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tiny_pages import GREEN, LIST, RESULT, picture
from typer.testing import CliRunner

import uiproof
from uiproof.benchmark import Record
from uiproof.benchmarks.interaction2code.opinion import Opinion, opinion_in
from uiproof.cli import app
from uiproof.engine.rundir import Journal, RunDirectory, encode
from uiproof.errors import AnswerError, InputError, ModelError
from uiproof.vision.images import encode_png

sys.path.append(str(Path(__file__).parents[2] / "models"))
from provider_servers import Fault, ProviderServer

VERDICTS = {"1": (True, "none"), "2": (False, "b"), "3": (True, "i"), "4": (False, "a")}


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    with ProviderServer() as server:
        yield server


@pytest.fixture
def model(server):
    return f"compatible:{server.base_url('openai')}#judge"


@pytest.fixture
def run(tmp_path):
    """A run of four interactions; the page of the last one was never acted on."""
    run = RunDirectory(tmp_path / "run")
    run.create()
    run._write("run.json", {"benchmark": "interaction2code"})
    run.write_summary({"n": 4})
    with Journal(run.journal) as journal:
        for number, (usable, failure) in VERDICTS.items():
            journal.append(encode(record(run, number, usable, failure)))
    return run


def record(run, number, usable, failure):
    folder = run.artifact_dir(f"page/{number}")
    size = (480 + int(number), 300)  # no two cases ask the same
    shown = {
        "reference_before": picture(size=size),
        "reference_after": picture((LIST, GREEN), size=size),
        "generated_before": picture(size=size),
        "generated_after": picture((RESULT, GREEN), size=size),
    }
    artifacts = {}
    for name, rgb in shown.items() if failure != "a" else ():
        (folder / f"{name}.png").write_bytes(encode_png(rgb))
        artifacts[name] = (folder / f"{name}.png").relative_to(run.path).as_posix()
    return Record(
        id=f"page/{number}",
        status="scored",
        scores={"usable": float(usable)},
        details={
            "verdict": {"usable": usable, "failure": failure, "evidence": ["SECRET"]},
            "action": {"kind": "type", "value": "tea"},
        },
        artifacts=artifacts,
    )


def test_a_model_sees_four_pictures_and_the_action_and_agrees_or_not(run, server, model):
    server.answer = lambda asked: json.dumps(
        {"usable": len(asked.images[0]) > 0, "failure": "none", "reason": "it works"}
    )
    said = uiproof.second_opinion(run.path, model, quiet=True)
    assert len(server.log) == 3
    assert said.not_asked == 1
    assert {len(asked.images) for asked in server.log} == {4}
    assert all(
        'type "tea"' in asked.prompt and "SECRET" not in asked.prompt for asked in server.log
    )
    assert said.usable["n"] == 3
    assert said.usable["accuracy"] == pytest.approx(2 / 3)
    assert said.failure["accuracy"] == pytest.approx(1 / 3)
    assert said.usable["kappa"] == 0
    kept = json.loads((run.path / "opinions.json").read_text())
    assert kept["opinions"]["page/1"] == {
        "usable": True,
        "failure": "none",
        "reason": "it works",
        "error": None,
    }
    assert kept["settings"]["parameters"]["temperature"] == 0.0
    assert run.summary["opinion"]["usable"] == kept["usable"]
    uiproof.second_opinion(run.path, model, quiet=True)
    assert len(server.log) == 3  # answers come from the cache


def test_an_opinion_that_is_none_is_written_down_and_stops_nothing(run, server, model):
    answers = iter(['{"usable": false, "failure": "b"}', "I would rather not say.", "{"])
    server.answer = lambda _: next(answers)
    done = CliRunner().invoke(app, ["opinion", str(run.path), "--model", model, "--quiet"])
    assert done.exit_code == 0, done.output
    assert "3 interactions; 1 without pictures; 2 without an opinion" in done.output
    kept = json.loads((run.path / "opinions.json").read_text())
    assert kept["usable"]["n"] == 1
    assert sum("There is no opinion" in str(one["error"]) for one in kept["opinions"].values()) == 2


def test_a_model_that_never_answers_is_an_error(run, server, model):
    server.faults = lambda _: Fault(status=400, message="not with me")
    with pytest.raises(ModelError, match="not with me"):
        uiproof.second_opinion(run.path, model, quiet=True)
    assert json.loads((run.path / "opinions.json").read_text())["failed"] == 3


def test_other_runs_have_no_interactions(tmp_path, model):
    run = RunDirectory(tmp_path / "other")
    run.create()
    run._write("run.json", {"benchmark": "design2code"})
    with pytest.raises(InputError, match="run of design2code"):
        uiproof.second_opinion(run.path, model)


@pytest.mark.parametrize(
    ("text", "usable", "failure"),
    [
        ('{"usable": true, "failure": "none", "reason": "x"}', True, "none"),
        ('Well.\n```json\n{"usable": "no", "failure": "(B) no interaction"}\n```', False, "b"),
        ('{"a": 1} then {"usable": false, "failure": "wrong function"} and so on', False, "j"),
        ('{"failure": "h"}', False, "h"),
        ('{"failure": "i."}', True, "i"),
        ('{"usable": "true", "failure": null}', True, None),
        ('{"usable": true, "failure": "No failure"}', True, "none"),
        ('{"usable": true, "failure": "a small matter"}', True, None),
        ('{"usable": true, "failure": 3}', True, None),
    ],
)
def test_opinions_are_read_as_models_write_them(text, usable, failure):
    said = opinion_in(text)
    assert (said.usable, said.failure) == (usable, failure)


@pytest.mark.parametrize("text", ["", "usable: yes", "{}", '{"usable": 7}', "[1, 2]", "{" * 5000])
def test_what_is_no_opinion_is_refused(text):
    with pytest.raises(AnswerError):
        opinion_in(text)
    assert Opinion().usable is None
