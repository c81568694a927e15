from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from uiproof import process_tree
from uiproof.process_tree import (
    descendants,
    kill_descendants,
    kill_tree,
    known_descendants,
    resident_mb,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX processes")

# A parent with a child in a session of its own, which has a child too; each says that it is there.
FAMILY = """
import subprocess, sys, time
level = int(sys.argv[1])
if level:
    subprocess.Popen([sys.executable, "-c", sys.argv[2], str(level - 1), sys.argv[2]],
                     start_new_session=True)
print("here", flush=True)
time.sleep(120)
"""


@pytest.fixture
def family():
    """A process with a child and a grandchild, each in a session of its own."""
    command = [sys.executable, "-c", FAMILY, "2", FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as root:
        for _ in range(3):
            root.stdout.readline()
        below = descendants(root.pid)
        yield root, below
        for pid in (*below, root.pid):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue


def gone(pids, seconds=10.0):
    """Whether none of these processes is alive, after a while at most."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not set(pids) & {pid for pid, _ in process_tree._processes()}:
            return True
        time.sleep(0.02)
    return False


def test_descendants_are_found_through_sessions_and_generations(family):
    _, below = family
    assert len(below) == 2
    assert set(below) <= set(descendants(os.getpid()))


def test_a_killed_tree_leaves_nothing_behind(family):
    root, below = family
    kill_tree(root.pid)
    assert root.wait(10) == -9
    assert gone(below)


def test_killing_descendants_spares_the_process_itself(family):
    root, below = family
    kill_descendants(root.pid)
    assert gone(below)
    assert root.poll() is None


def test_zombies_are_no_descendants():
    with subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE) as child:
        child.stdout.read()
        assert gone([child.pid])  # ended, and not waited for yet


def test_killing_what_is_gone_is_no_error():
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        child.wait(30)
    kill_tree(child.pid)
    kill_descendants(child.pid)
    assert descendants(child.pid) == []


def test_ps_tells_the_same_as_the_process_file_system(family):
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    try:
        by_ps = dict(process_tree._processes_by_ps())
    except FileNotFoundError:
        pytest.skip("this system has no ps")
    root, below = family
    by_proc = dict(process_tree._processes())
    for pid in (os.getpid(), root.pid, *below):
        assert by_ps[pid] == by_proc[pid]


def test_memory_of_a_process_is_told_and_of_no_process_is_zero(family):
    root, _ = family
    if Path("/proc/self/statm").exists():
        assert 2 < resident_mb(os.getpid()) < 100_000
    kill_tree(root.pid)
    root.wait(10)
    assert resident_mb(root.pid) == 0


def test_the_quick_list_knows_children_and_grandchildren(family):
    root, below = family
    assert set(known_descendants(root.pid)) == set(below) == set(descendants(root.pid))


def test_the_quick_list_bears_that_processes_end_while_it_looks():
    busy = "while :; do /bin/true & /bin/true & wait; done"
    with subprocess.Popen(["sh", "-c", busy]) as shell:
        try:
            for _ in range(300):
                known_descendants(shell.pid)
        finally:
            shell.kill()
