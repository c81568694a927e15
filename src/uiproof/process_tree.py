"""Process trees: descendants, their memory, killing them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_THOROUGH_EVERY = 8  # scans of a tree, of which one asks every thread of every process


def descendants(root: int) -> list[int]:
    """Return the living processes below a process, whatever group or session they are in."""
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


class ProcessTree:
    """The living processes below a process, for polling.

    It asks the kernel's own lists, which is cheap on machines with many processes, and most of the
    time only for the threads that had children before: browsers have hundreds of threads and start
    processes from a few. It may miss a process that is just starting or ending, so it is not for
    killing.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._looks = 0
        self._parents: dict[int, list[str]] = {}  # by process: its threads that have children
        self._listed = Path("/proc/self/task", str(os.getpid()), "children").exists()

    def members(self) -> list[int]:
        """Return the processes below the root."""
        if not self._listed:
            return descendants(self._root)
        thorough = self._looks % _THOROUGH_EVERY == 0
        self._looks += 1
        found: list[int] = []
        todo = [self._root]
        parents: dict[int, list[str]] = {}
        while todo:
            pid = todo.pop()
            threads = None if thorough else self._parents.get(pid)
            below = parents[pid] = []
            for thread in _threads_of(pid) if threads is None else threads:
                children = _read(f"/proc/{pid}/task/{thread}/children").split()
                if children or thread == str(pid):
                    below.append(thread)
                found += map(int, children)
                todo += map(int, children)
        self._parents = parents
        return found


def known_descendants(root: int) -> list[int]:
    """Return the processes below a process, as a new `ProcessTree` finds them."""
    return ProcessTree(root).members()


def _threads_of(pid: int) -> list[str]:
    with suppress(OSError):  # it may end while it is looked at
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - quicker than a glob
    return []


def _read(path: str) -> bytes:
    """Read a file of the kernel; return nothing if the process just ended."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 65536)
    except OSError:
        return b""
    finally:
        os.close(file)


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
    found = descendants(root)  # before the root is gone and its children are orphans
    _kill(root)
    for pid in found:
        kill_descendants(pid)
        _kill(pid)


def resident_mb(pid: int) -> int:
    """Return the resident memory of a process in MB; 0 if unknown."""
    numbers = _read(f"/proc/{pid}/statm").split()
    return int(numbers[1]) * os.sysconf("SC_PAGE_SIZE") >> 20 if len(numbers) > 1 else 0


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _processes() -> Iterator[tuple[int, int]]:
    """Yield all living processes with their parents; zombies are left out."""
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
