"""The default number of workers."""

from __future__ import annotations

import os

import pytest

from uiproof.engine import executors as machine


def test_this_machine_gets_at_least_one_worker_and_no_more_than_its_cores():
    assert 1 <= machine.default_workers() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        (["max 100000"], ["max"], 8),
        (["150000 100000"], ["max"], 2),
        (["max 100000", "300000 100000"], ["max"], 3),
        (["10000 100000"], ["max"], 1),
        ([], [str(5 << 30)], 5),
        ([], ["1000"], 1),
    ],
)
def test_container_limits_count(monkeypatch, cpu, memory, expected):
    values = {"cpu.max": cpu, "memory.max": memory}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    monkeypatch.setattr(machine, "_cgroup_values", lambda name: iter(values[name]))
    if not memory or memory == ["max"]:
        monkeypatch.setattr(machine, "_BYTES_PER_WORKER", 1)
    assert machine.default_workers() == expected
