"""Runs that are stopped, killed or started twice: as a person does it, with the real command."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest
from fault_tools import (
    UIPROOF,
    ignored,
    journal_ids,
    lines_in,
    living,
    processes,
    wait_until,
    words,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

ECHO = ("--method", "echo", "--out", "run", "--quiet")


# How a shell script starts what it puts into the background, and how `nohup` starts things.
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
WITH_NOHUP = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")


@pytest.fixture
def under_way(tmp_path, start):
    """A run whose first words are done and whose last one takes for ever."""
    dataset = words(tmp_path / "words", 5, "slow")
    main = start(*UIPROOF, "run", "--dataset", dataset, *ECHO, "--workers", "2")
    wait_until(lambda: lines_in(tmp_path / "run") == 5)
    return main


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_stop_ends_cleanly_and_says_how_to_continue(
    tmp_path, under_way, number
):
    under_way.signal(number)
    code, _, err = under_way.finished(60)
    assert code == 130, err
    assert "The same command continues it" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["n"] == 5
    assert living(under_way.marker) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executor", ["processes", "inline"])
def test_a_run_that_a_script_started_in_the_background_is_ended_like_any_other(
    tmp_path, start, number, executor
):
    dataset = words(tmp_path / "words", 5, "slow")
    command = (*UIPROOF, "run", "--dataset", dataset, *ECHO, "--executor", executor)
    main = start(*command, inside=IN_BACKGROUND)
    wait_until(lambda: lines_in(tmp_path / "run") == 5)
    assert ignored(main.pid) & {signal.SIGINT} == set()
    for pid in processes(main.marker):
        assert ignored(pid) & {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} == set()
    main.signal(number)
    code, _, err = main.finished(60)
    assert code == 130, err
    assert "The same command continues it" in err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["n"] == 5
    assert living(main.marker) == []


def test_a_run_under_nohup_outlives_its_terminal_and_is_ended_by_ctrl_c(tmp_path, start):
    dataset = words(tmp_path / "words", 5, "slow")
    main = start(*UIPROOF, "run", "--dataset", dataset, *ECHO, inside=WITH_NOHUP)
    wait_until(lambda: lines_in(tmp_path / "run") == 5)
    assert signal.SIGHUP in ignored(main.pid)
    main.signal(signal.SIGHUP)
    main.signal(signal.SIGINT)
    code, _, err = main.finished(60)
    assert code == 130, err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["n"] == 5
    assert living(main.marker) == []


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_ctrl_c_twice_ends_at_once_and_leaves_nothing_but_a_sound_run(tmp_path, under_way, pause):
    under_way.signal(signal.SIGINT)
    time.sleep(pause)
    under_way.signal(signal.SIGINT)
    code, _, err = under_way.finished(60)
    # The second one may come when the program is about to end by the first, or has ended.
    assert code in (130, -signal.SIGINT), err
    assert living(under_way.marker) == []
    assert sorted(journal_ids(tmp_path / "run")) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_what_was_stopped_in_the_middle_continues_with_nothing_lost_and_nothing_twice(
    tmp_path, start, signals
):
    words(tmp_path / "words", 2_000)
    command = (*UIPROOF, "run", "--dataset", "words", *ECHO, "--executor", "inline")
    main = start(*command)
    wait_until(lambda: lines_in(tmp_path / "run") >= 100)
    for number in signals:
        main.signal(number)
    main.finished(60)
    assert lines_in(tmp_path / "run") < 2_000
    code, _, err = start(*command).finished()
    assert code == 0, err
    assert sorted(map(int, journal_ids(tmp_path / "run"))) == list(range(1, 2_001))


def test_a_second_run_on_the_same_directory_is_refused_also_over_a_link(tmp_path, start, under_way):
    (tmp_path / "link").symlink_to(tmp_path / "run")
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    others = [
        start(*UIPROOF, "run", "--dataset", "words", "--method", "echo", "--out", out)
        for out in ("run", "link")
    ]
    for other in others:
        code, _, err = other.finished()
        assert code == 2
        assert f"is being written by process {under_way.pid} on " in err
        assert "Wait for it to finish or stop it, or write to another directory." in err
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before
    under_way.signal(signal.SIGINT)
    assert under_way.finished(60)[0] == 130


def test_two_runs_that_start_in_the_same_moment_do_every_case_once(tmp_path, start):
    words(tmp_path / "words", 300)
    both = [start(*UIPROOF, "run", "--dataset", "words", *ECHO) for _ in range(2)]
    codes = sorted(one.finished()[0] for one in both)
    assert codes in ([0, 2], [0, 0])  # refused, or it came when the other one was through
    assert sorted(map(int, journal_ids(tmp_path / "run"))) == list(range(1, 301))


def test_ten_thousand_cases_survive_a_kill_in_little_memory(tmp_path, start):
    words(tmp_path / "words", 10_000)
    run = tmp_path / "run"
    command = (*UIPROOF, "run", "--dataset", "words", *ECHO, "--executor", "inline")
    main = start(*command)
    wait_until(lambda: lines_in(run) >= 3_000)
    main.signal(signal.SIGKILL)
    main.finished()
    done = lines_in(run)
    assert 3_000 <= done < 10_000
    code, _, err = start(
        sys.executable,
        "-c",
        "import pathlib, runpy, sys\n"
        "sys.argv = sys.argv[1:]\n"
        "try:\n"
        "    runpy.run_module('uiproof', run_name='__main__')\n"
        "finally:\n"
        # Not `ru_maxrss`: that one remembers how large the process was that started this one.
        "    status = pathlib.Path('/proc/self/status').read_text()\n"
        "    peak = int(status.split('VmHWM:')[1].split()[0]) >> 10\n"
        "    print(f'peak {peak} MB', file=sys.stderr)",
        "uiproof",
        *command[3:],
    ).finished(300)
    assert code == 0, err
    assert sorted(map(int, journal_ids(run))) == list(range(1, 10_001))
    assert json.loads((run / "summary.json").read_text())["n"] == 10_000
    assert int(err.split("peak ")[1].split()[0]) < 400
