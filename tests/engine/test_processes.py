"""Workers die, hang and are killed; runs are interrupted: nothing is lost, nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from engine_toy import OnlyMainJudge, ToyJudge, VariedToy, run_toy, write_dataset

from uiproof.benchmark import Case
from uiproof.engine.workers import process_workers
from uiproof.errors import RunLockedError, UsageError, WorkerStartError

HERE = Path(__file__).parent
RUN_TOY = [sys.executable, "-c", "import engine_toy; engine_toy.main()"]


@pytest.fixture
def start_run():
    """Starts runs in processes of their own, and lets none of them outlive the test."""
    started = []

    def start(directory: Path, dataset: Path) -> subprocess.Popen[bytes]:
        command = [*RUN_TOY, str(directory), str(dataset)]
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def pids_of(directory: Path) -> set[int]:
    """Guardians, judges and what these started, as the toy judge wrote them down."""
    noted = directory / "artifacts" / "pids"
    return {int(pid) for pid in noted.read_text().split()} if noted.exists() else set()


def lines_in(directory: Path) -> int:
    journal = directory / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_a_case_whose_worker_dies_is_tried_once_more_and_then_failed(tmp_path):
    dataset = write_dataset(
        tmp_path / "d.json", "exit", "kill", f"exit-once {tmp_path / 'seen'}", "pose:exit", count=4
    )
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=2)
    ended = {one.id: one for one in run.records()}
    for case_id, reason in [("0", "exit code 7"), ("1", "killed by SIGKILL"), ("3", "exit code 7")]:
        assert ended[case_id].error.code == "worker_died"
        assert reason in ended[case_id].error.message
        assert ended[case_id].attempts == 2
    assert ended["2"].status == "scored"
    assert ended["2"].attempts == 2
    assert run.summary["failed"] == 3


def test_workers_are_kept_warm(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "raise", "fail", "nan", count=40)
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=2)
    assert len({one.details["pid"] for one in run.records() if one.status == "scored"}) <= 2


def test_no_more_workers_are_started_than_there_is_work(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "browse 0.01")
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=8)
    assert len(pids_of(run.path)) == 3  # a guardian, a judge, a browser


def test_a_case_over_its_time_is_failed_and_its_worker_replaced(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "browse 60", "pose:sleep 60", count=3)
    began = time.monotonic()
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=1, case_timeout=0.3)
    ended = {one.id: one for one in run.records()}
    assert [ended[case_id].error.code for case_id in "01"] == ["case_timeout"] * 2
    assert [ended[case_id].attempts for case_id in "01"] == [1, 1]
    assert run.summary["failed"] == 2
    assert not any(map(is_alive, pids_of(run.path)))
    assert time.monotonic() - began < 20


def test_inline_a_case_over_its_time_is_failed_too(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "sleep 3", count=3)
    run = run_toy(tmp_path / "run", dataset, case_timeout=0.2)
    assert [one.status for one in run.records()] == ["failed"] + ["scored"] * 3


def test_browsers_are_gone_after_a_run_and_so_are_those_of_dead_workers(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "browse 0", "browse-and-die", count=3)
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=1)
    assert len(pids_of(run.path)) == 6  # a guardian, a judge and a browser, twice
    assert not any(map(is_alive, pids_of(run.path)))


def test_what_workers_print_goes_to_a_log_and_not_between_the_results(tmp_path, capfd):
    dataset = write_dataset(tmp_path / "d.json", "print", "nothing")
    run = run_toy(tmp_path / "run", dataset, executor="processes", workers=1)
    assert run.summary["failed"] == 0
    assert (run.path / "workers.log").read_text() == "out\nerr\n"
    assert capfd.readouterr() == ("", "")


def test_a_judge_that_cannot_be_made_stops_the_run(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=3)
    with pytest.raises(WorkerStartError, match="cannot be made here"):
        run_toy(
            tmp_path / "run",
            dataset,
            benchmark=VariedToy(judge=OnlyMainJudge),
            executor="processes",
            workers=2,
        )
    assert lines_in(tmp_path / "run") == 0


def test_a_judge_from_inside_a_function_is_refused_for_processes(tmp_path):
    benchmark = VariedToy(judge=lambda run: ToyJudge(run))
    with pytest.raises(UsageError, match="another process"):
        run_toy(tmp_path / "run", tmp_path, benchmark=benchmark, executor="processes")


def test_kills_at_random_moments_change_nothing(tmp_path, start_run):
    dataset = write_dataset(tmp_path / "d.json", "raise", "broken", count=58, do="browse 0.05")
    undisturbed = run_toy(tmp_path / "undisturbed", dataset, executor="processes", workers=2)
    moments = random.Random(7)
    run = tmp_path / "run"
    progress = []
    for _ in range(5):
        main = start_run(run, dataset)
        if moments.random() < 0.8:  # else perhaps before it has begun
            wanted = lines_in(run) + moments.randrange(4)
            wait_until(lambda n=wanted, p=main: lines_in(run) >= n or p.poll() is not None)
        time.sleep(moments.uniform(0, 0.1))
        started = {child.pid for child in psutil.Process(main.pid).children(recursive=True)}
        main.kill()
        main.communicate()
        wait_until(lambda pids=started: not any(map(is_alive, pids | pids_of(run))))
        progress.append(lines_in(run))
    assert progress[0] < progress[-1]  # some of the kills came while it worked
    resumed = run_toy(run, dataset, executor="processes", workers=2)
    expected, found = undisturbed.summary, resumed.summary
    del expected["timing"], found["timing"]
    assert found == expected
    lines = [json.loads(line)["id"] for line in resumed.journal.read_bytes().splitlines()]
    assert sorted(lines) == sorted(str(number) for number in range(60))
    assert not any(map(is_alive, pids_of(run)))


def test_a_killed_run_leaves_no_temporary_files(tmp_path, monkeypatch, start_run):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    dataset = write_dataset(tmp_path / "d.json", count=20, do="browse 0.2")
    main = start_run(tmp_path / "run", dataset)
    wait_until(lambda: lines_in(tmp_path / "run") >= 1)
    assert any(scratch.iterdir())
    main.kill()
    main.communicate()
    wait_until(lambda: not any(scratch.iterdir()))


def test_the_lock_of_a_killed_run_is_free(tmp_path, start_run):
    dataset = write_dataset(tmp_path / "d.json", count=20, do="browse 0.1")
    main = start_run(tmp_path / "run", dataset)
    wait_until(lambda: lines_in(tmp_path / "run") >= 1)
    with pytest.raises(RunLockedError, match=f"process {main.pid} on "):
        run_toy(tmp_path / "run", dataset)
    main.kill()
    main.communicate()
    assert run_toy(tmp_path / "run", dataset, executor="processes").summary["n"] == 20


class SlowToPickle:
    """An answer that takes its time on the way to the worker."""

    def __init__(self) -> None:
        self.on_its_way = threading.Event()

    def __reduce__(self):
        self.on_its_way.set()
        time.sleep(0.2)
        return int, ()


def test_a_worker_that_is_ended_while_a_call_is_on_its_way_does_not_wait_for_the_answer(tmp_path):
    async def run() -> float:
        worker = process_workers(partial(ToyJudge, tmp_path), tmp_path / "log")()
        await worker.start()
        answer = SlowToPickle()
        call = asyncio.create_task(worker.call("score", Case("1", 1, "sleep 60"), answer))
        await asyncio.to_thread(answer.on_its_way.wait)
        call.cancel()
        began = time.monotonic()
        await worker.end()
        return time.monotonic() - began

    assert asyncio.run(run()) < 20
