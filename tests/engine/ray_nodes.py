"""A real Ray of several nodes on one machine, for tests."""

from __future__ import annotations

import time

import psutil

LONG = 120  # seconds; nothing takes that long but on a machine that does a lot else
QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 5,
}

# Programs that start with a cluster, and that nothing here asks: each takes seconds to start.
WITHOUT_HELPERS = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition, seconds: float = LONG) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def started(start):
    """What is started; Ray gives a node thirty seconds, which a busy machine may not have."""
    for tries_left in (2, 1, 0):
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        try:
            return start()
        except Exception as error:
            for child in psutil.Process().children(recursive=True):
                if child.pid not in before:
                    child.kill()
            if not tries_left or "timed out during startup" not in str(error):
                raise
    return None


class Nodes:
    """A cluster with a head that has room for one worker, and nodes that come and go."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        small = {"num_cpus": 1, "object_store_memory": 100 << 20, "memory": 2 << 30}
        self._small = small
        head = {**small, **WITHOUT_HELPERS, "_system_config": QUICK_TO_NOTICE}
        self.cluster = started(lambda: Cluster(initialize_head=True, head_node_args=head))
        self.second = None
        self.address = self.cluster.address

    def add(self) -> None:
        if self.second is None:
            self.second = started(lambda: self.cluster.add_node(**self._small))

    def remove(self) -> None:
        if self.second is not None:
            self.cluster.remove_node(self.second)
            self.second = None
