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


def known_descendants(root: int) -> list[int]:
    """Return the living processes below a process from the kernel's lists, for polling.

    Much cheaper than `descendants` on machines with many processes. It may miss a process that is
    just starting or ending, so it is not for killing.
    """
    if not Path("/proc/self/task", str(os.getpid()), "children").exists():
        return descendants(root)
    found: list[int] = []
    todo = [root]
    while todo:
        pid = todo.pop()
        for thread in _threads_of(pid):
            children = [
                int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()
            ]
            found += children
            todo += children
    return found


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
