"""Cores and memory of this machine, and the workers that fit."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_BYTES_PER_WORKER = 1 << 30  # a judge with its browser and models


def default_workers() -> int:
    """Return one worker per usable core, as long as there is a gigabyte for each."""
    return max(1, min(usable_cores(), usable_memory() // _BYTES_PER_WORKER))


def usable_cores() -> int:
    """Return the cores that this process may use, by affinity and container limits."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    for text in _cgroup_values("cpu.max"):
        quota, period = text.split()
        if quota != "max":
            cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(cores, 1)


def usable_memory() -> int:
    """Return the bytes that are free for this process, by memory and container limits."""
    limits = [int(text) for text in _cgroup_values("memory.max") if text != "max"]
    try:
        meminfo = Path("/proc/meminfo").read_text("ascii")
        available = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
        limits.append(int(available.split()[1]) * 1024)
    except (OSError, StopIteration):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(limits)


def _cgroup_values(name: str) -> Iterator[str]:
    """Yield the contents of a control file in this process's group and all groups around it."""
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("0::/"):
            group = root / line.removeprefix("0::/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(root) and (folder / name).is_file():
                    yield (folder / name).read_text("ascii").strip()
