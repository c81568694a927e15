"""The command line with URLs in the place of folders."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
from pathlib import Path

import httpx
import pytest
from PIL import Image
from remote_server import journal_ids, wait_until

import uiproof
import warm_commands
from uiproof.remote.mirror import fetch
from uiproof.studio.datasets import dataset_id

PAGE = "<body style='margin:20px;font:16px sans-serif'><h1>{title}</h1><p>{text}</p></body>"


@pytest.fixture
def done(tmp_path):
    """Run a command to its end; it has to end well."""

    def run(*arguments) -> str:
        ended = warm_commands.run(*map(str, arguments), cwd=tmp_path, env=dict(os.environ))
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def pages(folder: Path, text: str) -> Path:
    folder.mkdir()
    for title in ("First", "Second"):
        (folder / f"{title}.html").write_text(PAGE.format(title=title, text=text))
    return folder


def outcome(run: uiproof.RunDirectory) -> list:
    return [(one.id, one.status, one.scores, one.answer_key) for one in run.records()]


def test_pages_in_a_bucket_score_as_they_do_here(bucket, machine, command, done, tmp_path):
    reference = pages(tmp_path / "reference", "Some text to read.")
    generated = pages(tmp_path / "generated", "Some other text to be read.")
    bucket.put_folder(reference, "data/reference")
    bucket.put_folder(generated, "data/generated")
    there = f"{bucket.url}/runs/mine"
    process = command(
        *("run", "--dataset", f"{bucket.url}/data/reference", "--workers", 1),
        *("--method", f"replay:{bucket.url}/data/generated", "--out", there),
    )
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert f"Run: {there}" in err
    here = uiproof.run(
        reference, f"replay:{generated}", out=tmp_path / "run", executor="inline", quiet=True
    )
    machine("another")
    read = uiproof.RunDirectory.of(there)
    assert outcome(read) == outcome(here)
    assert read.manifest["dataset_key"] == here.manifest["dataset_key"]
    assert read.manifest["method"] == here.manifest["method"] == "replay:generated"
    assert read.manifest["settings"] == {"folder": f"{bucket.url}/data/generated"}
    assert str(tmp_path) not in bucket.get("runs/mine/run.json").decode()
    scored = json.loads(
        done(
            *("score", "design2code", f"{bucket.url}/data/reference/First.html"),
            *(f"{bucket.url}/data/generated/First.html", "--executor", "inline"),
            *("--json", "-", "--quiet"),
        )
    )
    assert scored["cases"][0]["scores"] == next(here.records()).scores
    done("report", there, "--out", "report.html")
    assert "data:image" in (tmp_path / "report.html").read_text()


def test_runs_at_urls_are_compared_exported_and_merged(bucket, machine, pictures, done, tmp_path):
    bucket.put("words/words.txt", "one two three four")
    shards = [f"{bucket.url}/shards/{number}" for number in (1, 2)]
    for number, shard in enumerate(shards, 1):
        uiproof.run(
            f"{bucket.url}/words",
            "echo",
            out=shard,
            shard=f"{number}/2",
            executor="inline",
            quiet=True,
        )
    machine("another")
    table = done("compare", *shards)
    assert table.count("echo") >= 2
    done("export", *shards, "--out", "results.csv")
    with (tmp_path / "results.csv").open() as file:
        assert sorted(row["id"] for row in csv.DictReader(file)) == ["1", "2", "3", "4"]
    done("merge", *shards, "--out", f"{bucket.url}/merged")
    assert json.loads(bucket.get("merged/summary.json"))["n"] == 4


def test_predictions_in_a_bucket_are_scored(bucket, machine, tmp_path):
    """Published files are scored wherever they lie, and the run says where."""
    content = {
        "details": [
            {
                "img_path": "a.png",
                "bbox": [10, 10, 30, 30],
                "pred": [20, 20],
                "img_size": [100, 100],
                "prompt_to_evaluate": "the button",
                "correctness": "correct",
            }
        ]
    }
    bucket.put("predictions.json", json.dumps(content))
    (tmp_path / "predictions.json").write_text(json.dumps(content))
    (here,) = uiproof.score_predictions("screenspot-pro", tmp_path / "predictions.json", quiet=True)
    (there,) = uiproof.score_predictions(
        "screenspot-pro", f"{bucket.url}/predictions.json", out=f"{bucket.url}/runs", quiet=True
    )
    assert outcome(there.run) == outcome(here.run)
    assert there.run.manifest["settings"]["file"] == f"{bucket.url}/predictions.json"
    assert f"runs/{there.method}/summary.json" in bucket


def test_ctrl_c_pushes_what_is_done(bucket, machine, pictures, command, tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_PUSH_SECONDS", "60")  # only the end pushes
    bucket.put("words/words.txt", "one two held four")
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    out = f"{bucket.url}/runs/x"
    process = command(
        *("run", "--dataset", f"{bucket.url}/words", "--method", "echo"),
        *("--workers", 1, "--out", out),
    )
    # Judged is not yet written down, and only what is written down is kept.
    caches = Path(os.environ["UIPROOF_CACHE"])
    wait_until(lambda: [p.read_bytes().count(b"\n") for p in caches.rglob("journal.jsonl")] == [2])
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"What is done is kept in {out}" in err
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2"]
    assert json.loads(bucket.get("runs/x/summary.json"))["complete"] is False
    assert "runs/x/writer.json" not in bucket


def test_the_studio_shows_runs_at_a_url_and_keeps_labels_here(
    bucket, machine, pictures, command, tmp_path
):
    bucket.put("words/words.txt", "one two")
    there = f"{bucket.url}/runs"
    uiproof.run(f"{bucket.url}/words", "echo", out=f"{there}/mine", executor="inline", quiet=True)
    before = bucket.keys()
    machine("another")
    refused = command("studio", "--runs", there, "--port", 0)
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert "--store studio.sqlite3" in err
    studio = command("studio", "--runs", there, "--store", "labels.sqlite3", "--port", 0)
    address = studio.stdout.readline().removeprefix("Studio: ").strip()
    page = httpx.get(address, follow_redirects=True)
    assert "mine" in page.text
    assert (tmp_path / "labels.sqlite3").is_file()
    assert bucket.keys() == before
    assert not list(tmp_path.glob("s3:*"))


def test_corrections_of_a_data_set_at_a_url_belong_to_the_url(
    bucket, machine, command, done, tmp_path
):
    Image.new("RGB", (40, 30), "white").save(tmp_path / "a.png")
    bucket.put("screens/a.png", (tmp_path / "a.png").read_bytes())
    url, labels = f"{bucket.url}/screens", ("--store", "labels.sqlite3")
    studio = command("studio", "--dataset", url, *labels, "--annotator", "Ann", "--port", 0)
    studio.stdout.readline()
    address = studio.stdout.readline().removeprefix("Ann: ").strip()
    box = {"id": "x", "box": [1, 2, 30, 20], "instruction": "", "type": "button", "text": ""}
    with httpx.Client(follow_redirects=True) as ann:
        page = ann.get(address)
        token = re.search(r'data-csrf="(\w+)"', page.text)[1]
        place = page.url.join(f"/data/{dataset_id(fetch(url))}/boxes")
        saved = ann.post(
            place,
            json={"name": "a.png", "revision": 0, "content": {"boxes": [box], "done": True}},
            headers={"X-CSRF-Token": token},
        )
        assert saved.status_code == 200, saved.text
    machine("another")
    done("studio", "export-data", url, "out", *labels)
    (screen,) = json.loads((tmp_path / "out" / "annotations.json").read_text())["samples"]
    assert screen["elements"][0]["bbox"]
    assert bucket.keys() == ["screens/a.png"]


def test_what_is_wrong_with_a_url_is_told_with_an_exit_code(bucket, machine, command):
    process = command("run", "--dataset", f"{bucket.url}/none", "--method", "blueprint")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert f"There is nothing at {bucket.url}/none" in err
    assert "Traceback" not in err
