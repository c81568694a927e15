"""Memory that runs out and clocks that jump."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from engine_toy import run_toy, write_dataset
from fault_toy import GREEDY

SOURCE = Path(__file__).resolve().parents[2] / "src" / "uiproof"

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@linux_only
def test_a_worker_that_hits_a_memory_limit_fails_its_case_with_what_to_do(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "limited 200", "nothing", "limited 200", "nothing")
    run = run_toy(tmp_path / "run", dataset, benchmark=GREEDY, executor="processes", workers=1)
    ended = {one.id: one for one in run.records()}
    for case_id in "02":
        assert ended[case_id].error.code == "out_of_memory"
        assert "fewer workers" in ended[case_id].error.remedy
        assert ended[case_id].scores == {"value": 0.0}
    assert ended["1"].status == ended["3"].status == "scored"
    assert run.summary["n"] == 4


@pytest.fixture
def memory_group():
    """A control group of the kernel with 150 MB of memory."""
    old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    base, limit = (old, "memory.limit_in_bytes") if old.is_dir() else (new, "memory.max")
    group = base / f"uiproof-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(150 << 20))
        with suppress(OSError):  # where there is swap, it must not help
            (group / "memory.swap.max").write_text("0")
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"this user may not make control groups: {error}")
    yield group
    deadline = time.monotonic() + 10
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.05)


@linux_only
def test_a_worker_that_the_kernel_kills_for_its_memory_is_replaced(tmp_path, memory_group):
    dataset = write_dataset(tmp_path / "d.json", f"group {memory_group}", "nothing", "nothing")
    run = run_toy(tmp_path / "run", dataset, benchmark=GREEDY, executor="processes", workers=1)
    ended = {one.id: one for one in run.records()}
    assert ended["0"].error.code == "worker_died"
    assert "killed by SIGKILL" in ended["0"].error.message
    assert "If memory ran out" in ended["0"].error.remedy
    assert ended["0"].attempts == 2
    assert ended["1"].status == ended["2"].status == "scored"


@pytest.mark.parametrize("to", [0.0, 4e9])
def test_a_clock_that_jumps_changes_neither_results_nor_durations(tmp_path, monkeypatch, to):
    dataset = write_dataset(tmp_path / "d.json", "nothing", f"clock {to}", "sleep 0.1", "nothing")
    run = run_toy(tmp_path / "run", dataset, limit=1)
    monkeypatch.setattr(time, "time", lambda: to)  # the judge's thread does it too, in the middle
    for path in (run.path / "run.json", dataset):
        os.utime(path, (4e9, 4e9))  # files from the future
    run = run_toy(tmp_path / "run", dataset, benchmark=GREEDY)
    ended = list(run.records())
    assert [one.status for one in ended] == ["scored"] * 4
    assert all(0 <= spent < 60 for one in ended for spent in one.seconds.values())
    assert ended[2].seconds["score"] >= 0.1
    assert 0 < run.summary["timing"]["wall_seconds"] < 60
    assert [json.loads(line)["id"] for line in run.journal.read_bytes().splitlines()] == list(
        "0123"
    )


def test_no_duration_is_taken_from_the_clock_on_the_wall():
    # Moments that are stored and compared with the age of files; everything else is monotonic.
    allowed = {
        "models/cache.py",
        "models/http.py",
        "engine/run_sync.py",  # signs of life at a URL
        "studio/store.py",
        "studio/live.py",
    }
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"\btime\.time\(\)", path.read_text("utf-8"))
    }
    assert not {name for name in users - allowed if name.startswith(("engine/", "browser/"))}
    assert not {name for name in users - allowed if name.startswith(("benchmarks/", "vision/"))}
