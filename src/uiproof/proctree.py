"""Processes and what descends from them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def descendants(root: int) -> list[int]:
    """The living processes below a process, whatever group or session they are in."""
    children = defaultdict(list)
    for pid, parent in _processes():
        children[parent].append(pid)
    found: list[int] = []
    todo = [root]
    while todo:
        below = children[todo.pop()]
        found += below
        todo += below
    return found


def known_descendants(root: int) -> list[int]:
    """The same from the kernel's own lists: cheap on machines with many processes.

    It may miss a process that is just starting or ending; good enough for looking, not for killing.
    """
    if not Path("/proc/self/task", str(os.getpid()), "children").exists():
        return descendants(root)
    found: list[int] = []
    todo = [root]
    while todo:
        tasks = Path("/proc", str(todo.pop()), "task")
        with suppress(OSError):  # a process, or a thread of it, may end while it is looked at
            for thread in os.listdir(tasks):  # noqa: PTH208 - quicker than a glob
                with suppress(OSError):
                    told = (tasks / thread / "children").read_text()
                    below = [int(word) for word in told.split()]
                    found += below
                    todo += below
    return found


def kill_descendants(root: int) -> None:
    """Kill everything that was started below a process."""
    for _ in range(100):  # what is killed may just have started something
        found = descendants(root)
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(0.01)


def kill_tree(root: int) -> None:
    """Kill a process and everything that was started below it."""
    found = descendants(root)  # before the root is gone and its children belong to nobody
    _kill(root)
    for pid in found:
        kill_descendants(pid)
        _kill(pid)


def resident_mb(pid: int) -> int:
    """Megabytes of memory that a process holds; 0 where this system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc", str(pid), "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20
    return 0


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _processes() -> Iterator[tuple[int, int]]:
    """All living processes with their parents; zombies are left out."""
    if not Path("/proc/self/stat").exists():
        yield from _processes_by_ps()
        return
    for name in os.listdir("/proc"):  # noqa: PTH208 - quicker, and this looks at every process
        if name.isdigit():
            try:
                # The name of a program may contain anything, so count from its closing bracket.
                state, parent = (
                    Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[:2]
                )
            except OSError:
                continue  # it ended meanwhile
            if state not in b"ZX":
                yield int(name), int(parent)


def _processes_by_ps() -> Iterator[tuple[int, int]]:
    command = ["ps", "-axo", "pid=,ppid=,stat="]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ps:
        for line in ps.communicate()[0].splitlines():
            pid, parent, state = line.split(maxsplit=2)
            if int(pid) != ps.pid and not state.startswith("Z"):
                yield int(pid), int(parent)
