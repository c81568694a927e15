"""A benchmark of another package has every door that the built-in ones have."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import uiproof
from uiproof.cli import app
from uiproof.registry import benchmarks
from uiproof.scoring.pool import WarmPool
from uiproof.serve.app import make_app
from uiproof.serve.queue import Limits, Metrics, ScoreQueue, open_datasets
from uiproof.sockets import HostNames

TOY = Path(__file__).parent / "toy_benchmark"


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("UIPROOF_WORKERS", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.txt").write_text("one two three")
    (tmp_path / "answers.txt").write_text("one zwei")
    return tmp_path


def command(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.stdout


def test_list_and_help_show_it():
    assert "\ntoy\n" in command("list")
    assert "toy" in command("score", "--help")
    assert "one word a line" in " ".join(command("score", "toy", "--help").split())


def test_run_compare_report_and_export():
    command("run", "--dataset", "data", "--method", "echo", "--out", "a", "-q")
    command("score", "toy", "data", "answers.txt", "--out", "b", "-q", code=1)
    summary = uiproof.RunDirectory.of("b").summary
    assert (summary["n"], summary["failed"]) == (3, 1)
    assert summary["scores"]["same"]["mean"] == pytest.approx(1 / 3)
    table = command("compare", "a", "b")
    assert "Same" in table
    assert "1.000" in table
    command("compare", "a", "b", "--json", "board.json")
    board = json.loads(Path("board.json").read_text())
    assert [row["method"] for row in board["runs"]] == ["echo", "replay"]
    command("report", "a", "b", "--out", "report.html")
    assert "echo" in Path("report.html").read_text()
    command("export", "a", "--out", "cases.csv")
    with Path("cases.csv").open() as file:
        assert [row["same"] for row in csv.DictReader(file)] == ["1.0", "1.0", "1.0"]
    command("submit", "a", "--name", "Echo", "--out", "echo.json")
    assert "nothing is wrong" in command("check", "echo.json")
    assert "Echo" in command("leaderboard", "echo.json")


def test_shards_are_merged():
    for shard in ("1/2", "2/2"):
        arguments = ("--dataset", "data", "--method", "echo", "--shard", shard, "-q")
        command("run", *arguments, "--out", f"shards/{shard[0]}")
    command("merge", "shards/1", "shards/2", "--out", "merged", "-q")
    assert uiproof.RunDirectory.of("merged").summary["n"] == 3


def test_a_scorer_takes_its_references_and_cases():
    case = next(iter(benchmarks()["toy"].cases(Path("data"))))
    with uiproof.Scorer(benchmark="toy", workers=1) as scorer:
        assert scorer.score("word", "word") == {"same": 1.0}
        assert scorer.score(case, uiproof.Completion("two")) == {"same": 0.0}
        records = scorer.score_many([("a", "a"), 3])
    assert [record.status for record in records] == ["scored", "failed"]


def test_the_service_scores_it():
    pool = WarmPool(workers=1)
    queue = ScoreQueue(pool, Limits(), open_datasets(["words=data"]), Metrics(pool))
    names = HostNames.of("127.0.0.1", ["testserver"])
    with TestClient(make_app(queue, hosts=names)) as client:
        body = {"benchmark": "toy", "reference": "a", "generated": "a"}
        answer = client.post("/score", json=body).json()
        assert (answer["benchmark"], answer["scores"]) == ("toy", {"same": 1.0})
        body = {"dataset": "words", "case": "2", "generated": "zwei"}
        assert client.post("/score", json=body).json()["scores"] == {"same": 0.0}
        assert "a word" in client.get("/openapi.json").text
        client.portal.call(pool.close)


@pytest.mark.usefixtures("inspect_streams")
@pytest.mark.filterwarnings(  # inspect leaves streams to the garbage collector
    "ignore:.*<function MemoryObject\\w+Stream.__del__:pytest.PytestUnraisableExceptionWarning"
)
def test_inspect_evaluates_it():
    pytest.importorskip("inspect_ai", reason="needs the extra: pip install 'uiproof[inspect]'")
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from uiproof.integrations import inspect as integration

    def respond(messages, *_):
        answer = ModelOutput.from_content("mockllm/model", messages[-1].text.split()[-1])
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return answer

    integration.add_tasks()
    (log,) = inspect_eval(
        integration.toy("data", "shout"),
        model=get_model("mockllm/model", custom_outputs=respond),
        display="none",
        log_dir="logs",
    )
    assert log.status == "success", log.error
    (score,) = log.results.scores
    assert (score.name, score.metrics["mean"].value) == ("same", 1.0)
