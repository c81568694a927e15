"""Runs that live at a URL: begun on one machine, continued on another, read from anywhere."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time

import pytest
from remote_server import journal_ids, wait_until

import uiproof
from uiproof.engine import run_sync
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import (
    InputError,
    RunLockedError,
    RunMismatchError,
    StorageError,
    UsageError,
)
from uiproof.integrations.tracking import open_runs
from uiproof.remote import store
from uiproof.remote.mirror import PUSHED

WORDS = "alpha be gamma held delta"


@pytest.fixture
def words(bucket):
    bucket.put("words/words.txt", WORDS)
    return f"{bucket.url}/words"


def run(words, out, **options):
    return uiproof.run(words, "echo", out=out, executor="inline", quiet=True, **options)


def test_a_run_at_a_url_is_the_run_that_it_would_be_here(
    bucket, machine, pictures, words, tmp_path
):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "words.txt").write_text(WORDS)
    here = run(tmp_path / "words", tmp_path / "run")
    there = run(words, f"{bucket.url}/runs/x/")
    assert there.place == f"{bucket.url}/runs/x"
    assert bucket.keys("runs/") == [
        *(f"runs/x/artifacts/{number}/picture.txt" for number in range(1, 6)),
        "runs/x/journal.jsonl",
        "runs/x/run.json",
        "runs/x/summary.json",
    ]
    manifest = json.loads(bucket.get("runs/x/run.json"))
    assert manifest["dataset"] == manifest["dataset_path"] == words
    assert manifest["dataset_key"] == here.manifest["dataset_key"]
    assert json.loads(bucket.get("runs/x/summary.json"))["scores"] == here.summary["scores"]
    machine("another")
    read = RunDirectory.of(f"{bucket.url}/runs/x")
    assert [(one.id, one.scores) for one in read.records()] == [
        (one.id, one.scores) for one in here.records()
    ]
    assert read.artifact("artifacts/5/picture.txt").read_text() == "delta"


def test_what_is_done_is_not_done_again_on_another_machine(bucket, machine, pictures, words):
    out = f"{bucket.url}/runs/x"
    run(words, out, limit=2)
    machine("two")
    run(words, out, limit=4)
    machine("one")
    last = run(words, out)
    assert pictures.read_text().split() == ["1", "2", "3", "4", "5"]
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "3", "4", "5"]
    assert last.summary["n"] == 5
    assert last.artifact("artifacts/3/picture.txt").read_text() == "gamma"  # of the other machine


def test_a_killed_run_is_continued_by_another_machine(
    bucket, machine, pictures, words, command, tmp_path, monkeypatch
):
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    out = f"{bucket.url}/runs/x"
    process = command(
        "run", "--dataset", words, "--method", "echo", "--executor", "inline", "--out", out
    )
    wait_until(lambda: "runs/x/journal.jsonl" in bucket)
    wait_until(lambda: len(journal_ids(bucket.get("runs/x/journal.jsonl"))) == 3)
    assert len(RunDirectory.of(out).manifest) > 5  # readable while it goes on
    process.send_signal(signal.SIGKILL)
    process.wait()
    hold.unlink()
    machine("two")
    with pytest.raises(RunLockedError, match="is being written by process") as refused:
        run(words, out)
    assert "120 s" in refused.value.remedy
    writer = json.loads(bucket.get("runs/x/writer.json"))
    bucket.put("runs/x/writer.json", json.dumps(writer | {"beat": time.time() - 121}))
    finished = run(words, out)
    assert pictures.read_text().split() == ["1", "2", "3", "4", "5"]
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "3", "4", "5"]
    assert finished.summary["complete"]
    assert "runs/x/writer.json" not in bucket


def test_the_machine_whose_run_died_continues_at_once(bucket, machine, pictures, words):
    out = f"{bucket.url}/runs/x"
    run(words, out, limit=2)
    home = machine("one") / "remote" / "runs"
    (identity,) = home.glob("*/identity")
    dead = {"owner": identity.read_text(), "who": "process 1 on here", "beat": time.time()}
    bucket.put("runs/x/writer.json", json.dumps(dead))
    assert run(words, out).summary["n"] == 5


def test_a_second_writer_on_this_machine_is_refused(
    bucket, machine, pictures, words, tmp_path, monkeypatch
):
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    out = f"{bucket.url}/runs/x"
    first = threading.Thread(target=run, args=(words, out))
    first.start()
    try:
        wait_until(lambda: len(pictures.read_text().split()) == 3)
        with pytest.raises(RunLockedError, match=f"{out} is being written by process"):
            run(words, out)
    finally:
        hold.unlink()
        first.join()
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "3", "4", "5"]


def test_a_writer_that_was_taken_over_writes_no_more(
    bucket, machine, pictures, words, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_sync, "BEAT_SECONDS", 0.1)
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    refused = []

    def write():
        try:
            run(words, f"{bucket.url}/runs/x")
        except RunLockedError as error:
            refused.append(error)

    first = threading.Thread(target=write)
    first.start()
    wait_until(lambda: "runs/x/journal.jsonl" in bucket)
    other = {"owner": "another", "who": "process 7 on elsewhere", "beat": time.time()}
    bucket.put("runs/x/writer.json", json.dumps(other))
    time.sleep(0.5)
    hold.unlink()
    first.join()
    assert "process 7 on elsewhere" in refused[0].message
    assert "runs/x/summary.json" not in bucket
    assert json.loads(bucket.get("runs/x/writer.json")) == other


def test_a_server_that_is_away_for_a_while_does_no_harm(
    bucket, machine, pictures, words, tmp_path, monkeypatch, caplog
):
    monkeypatch.setitem(store._S3_TIMEOUTS, "retries", {"max_attempts": 0})
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    finished = []
    first = threading.Thread(target=lambda: finished.append(run(words, f"{bucket.url}/runs/x")))
    first.start()
    wait_until(lambda: "runs/x/journal.jsonl" in bucket)
    (copy,) = (machine("one") / "remote" / "runs").glob("*/content/x")
    with bucket.server.down(), caplog.at_level(logging.WARNING, "uiproof"):
        (copy / "artifacts" / "more.txt").write_text("something to push")
        wait_until(lambda: "it is tried again" in caplog.text)
    hold.unlink()
    first.join()
    assert "runs/x/artifacts/more.txt" in bucket
    assert finished[0].summary["n"] == 5
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "3", "4", "5"]
    assert "runs/x/summary.json" in bucket


def test_what_could_not_be_pushed_is_kept_and_pushed_by_the_same_command(
    bucket, machine, pictures, words, monkeypatch
):
    monkeypatch.setattr(run_sync, "_LAST_PAUSES", (0.1,))
    out = f"{bucket.url}/runs/x"
    with monkeypatch.context() as refusing:

        def put(self, name, source):
            raise InputError(f"{self.url}/{name} may not be written.")

        refusing.setattr(store.Store, "put", put)
        with pytest.raises(StorageError, match="Not everything could be written") as failed:
            run(words, out)
    assert str(machine("one")) in failed.value.remedy
    assert "The same command" in failed.value.remedy
    assert bucket.keys("runs/") == ["runs/x/writer.json"]
    (copy,) = (machine("one") / "remote" / "runs").glob("*/content/x")
    assert not (copy.parents[1] / PUSHED).exists()  # so nobody may delete it
    assert run(words, out).summary["n"] == 5
    assert (copy.parents[1] / PUSHED).exists()
    assert pictures.read_text().split() == ["1", "2", "3", "4", "5"]  # nothing was judged twice
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "3", "4", "5"]


def test_cases_that_two_machines_have_apart_are_joined(bucket, machine, pictures, words):
    """The first died with cases that it could not push; the second went on meanwhile."""
    out = f"{bucket.url}/runs/x"
    one = run(words, out)
    lines = bucket.get("runs/x/journal.jsonl").splitlines(keepends=True)
    one.journal.write_bytes(b"".join(lines[:4]) + b'{"id": "torn')
    bucket.put("runs/x/journal.jsonl", b"".join([lines[0], lines[1], lines[4]]))
    bucket.delete("runs/x/artifacts/3/picture.txt")
    assert run(words, out).summary["n"] == 5
    assert journal_ids(bucket.get("runs/x/journal.jsonl")) == ["1", "2", "5", "3", "4"]
    assert "runs/x/artifacts/3/picture.txt" in bucket
    assert pictures.read_text().split() == ["1", "2", "3", "4", "5"]  # nothing was judged again


def test_readers_never_see_lines_whose_pictures_are_missing(
    bucket, machine, pictures, words, monkeypatch
):
    orders = []
    monkeypatch.setattr(
        store.Store, "put", lambda self, name, source: orders.append(name), raising=True
    )
    run(words, f"{bucket.url}/runs/x")
    last = len(orders) - 1 - orders[::-1].index("journal.jsonl")
    assert orders[0] == "run.json"
    assert {f"artifacts/{number}/picture.txt" for number in range(1, 6)} <= set(orders[:last])
    assert orders[-1] == "summary.json"


def test_a_stale_summary_goes_before_new_lines_come(
    bucket, machine, pictures, words, tmp_path, monkeypatch
):
    out = f"{bucket.url}/runs/x"
    run(words, out, limit=2)
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("PICTURE_HOLD", str(hold))
    second = threading.Thread(target=run, args=(words, out))
    second.start()
    wait_until(lambda: len(journal_ids(bucket.get("runs/x/journal.jsonl"))) == 3)
    assert "runs/x/summary.json" not in bucket
    hold.unlink()
    second.join()
    assert json.loads(bucket.get("runs/x/summary.json"))["n"] == 5


def test_a_run_that_was_deleted_there_begins_anew(bucket, machine, pictures, words):
    out = f"{bucket.url}/runs/x"
    run(words, out)
    for key in bucket.keys("runs/"):
        bucket.delete(key)
    assert run(words, out, limit=1).summary["n"] == 1
    assert pictures.read_text().split() == ["1", "2", "3", "4", "5", "1"]


def test_a_url_that_holds_something_else_is_refused(bucket, machine, pictures, words):
    bucket.put("runs/x/precious.txt", "mine")
    with pytest.raises(InputError, match="is neither empty nor a run"):
        run(words, f"{bucket.url}/runs/x")
    assert bucket.keys("runs/") == ["runs/x/precious.txt"]


def test_other_settings_are_refused_and_nothing_is_changed(bucket, machine, pictures, words):
    out = f"{bucket.url}/runs/x"
    run(words, out)
    before = {key: bucket.get(key) for key in bucket.keys("runs/")}
    bucket.put("words/words.txt", f"{WORDS} more")
    machine("two")
    with pytest.raises(RunMismatchError, match=f"{out} holds results of another run"):
        run(words, out)
    assert {key: bucket.get(key) for key in bucket.keys("runs/")} == before


def test_several_methods_get_a_place_each_below_the_url(
    bucket, machine, pictures, words, monkeypatch
):
    monkeypatch.setenv("UIPROOF_RUNS", f"{bucket.url}/all")
    run(words, None)
    assert "all/words-echo/summary.json" in bucket
    out = f"{bucket.url}/runs"
    matrix = uiproof.run_matrix(words, ["echo", "echo-2"], out=out, executor="inline", quiet=True)
    assert [one.place for one in matrix.runs] == [f"{out}/echo", f"{out}/echo-2"]
    assert "runs/echo/summary.json" in bucket
    with pytest.raises(UsageError, match="cannot hold 2 runs"):
        uiproof.run_matrix(words, ["echo", "echo-2"], out=f"{out}/echo", quiet=True)


def test_shards_at_urls_are_merged_at_a_url(bucket, machine, pictures, words):
    shards = []
    for number in (1, 2):
        machine(f"shard-{number}")
        shards.append(f"{bucket.url}/shards/{number}")
        run(words, shards[-1], shard=f"{number}/2")
    machine("merging")
    merged = uiproof.merge(shards, f"{bucket.url}/merged")
    assert merged.place == f"{bucket.url}/merged"
    assert json.loads(bucket.get("merged/summary.json"))["n"] == 5
    assert "merged/artifacts/4/picture.txt" in bucket
    with pytest.raises(InputError, match="is not empty"):
        uiproof.merge(shards, f"{bucket.url}/merged")


def test_tables_submissions_and_trackers_need_no_pictures(
    bucket, machine, pictures, words, tmp_path
):
    there = f"{bucket.url}/runs/x"
    run(words, there)
    uses = {
        "table": lambda: uiproof.comparison([there]),
        "submission": lambda: uiproof.write_submission([there], tmp_path / "x.json", name="x"),
        "tracker": lambda: open_runs([there]),
    }
    for name, use in uses.items():
        machine(f"with-{name}")
        bucket.gets()
        use()
        assert bucket.gets() == ["runs/x/journal.jsonl", "runs/x/run.json", "runs/x/summary.json"]


def test_a_plan_knows_what_is_done_at_a_url(bucket, machine, pictures, words):
    out = f"{bucket.url}/runs/x"
    (before,) = uiproof.plan(words, ["echo"], out=out, quiet=True, executor="inline")
    run(words, out, limit=3)
    machine("two")
    (after,) = uiproof.plan(words, ["echo"], out=out, quiet=True, executor="inline")
    assert (before.done, after.done) == (0, 3)


def test_a_run_can_go_to_a_file_url(machine, pictures, tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "words.txt").write_text(WORDS)
    done = run(f"file://{tmp_path}/words", f"file://{tmp_path}/runs/x")
    assert done.path == tmp_path / "runs" / "x"
    assert done.manifest["dataset"] == f"file://{tmp_path}/words"
