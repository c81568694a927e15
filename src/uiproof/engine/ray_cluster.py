"""A Ray to work on: one that is there already, one by its address, or a small one of our own."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from typing import Any

from uiproof.engine.machine import usable_cores
from uiproof.errors import MissingDependencyError, UsageError

CPUS = 1
MEMORY = 1 << 30  # bytes that a judge with its browser and models needs
_ANSWER_SECONDS = 5.0
_OBJECT_STORE = 512 << 20  # for a Ray of our own; larger things go to disk
_REMEDY = (
    "Run the command on a node of the cluster, with --ray-address or RAY_ADDRESS as `ray status` "
    "there knows it, such as auto or 10.0.0.1:6379."
)


def ray_module() -> Any:
    """Ray, which is an optional part."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before it is imported
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no word about GPUs
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "Ray is not installed.", remedy="pip install 'uiproof[ray]'"
        ) from error
    return ray


def connect() -> Callable[[], None]:
    """Connect to a Ray; what is returned lets go of it, or ends it if it was started here.

    A connection of this process is used and left alone. Else `RAY_ADDRESS` says where to connect
    to; without it a Ray is started on this machine, for as long as it is needed.
    """
    ray = ray_module()
    if ray.is_initialized():
        return lambda: None
    address = os.environ.get("RAY_ADDRESS", "").strip()
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address in ("", "local"):
        try:
            ray.init(
                address="local",
                num_cpus=usable_cores(),
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                **quiet,
            )
        except Exception as error:  # Ray raises plain ones
            raise MissingDependencyError(
                f"Ray could not be started on this machine: {error}",
                remedy="Try again when less is going on here, or use the processes executor.",
            ) from error
    else:
        _check(address)
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            why = str(error).strip().split("\n")[0]
            raise UsageError(
                f"There is no Ray to use at {address}: {why}", remedy=_REMEDY
            ) from error
    return lambda: ray.shutdown()


def _check(address: str) -> None:
    """Ask whether somebody listens: Ray itself asks for a long time."""
    if address.startswith("ray://"):
        raise UsageError(
            f"{address} is an address for Ray Client, which cannot carry a run.",
            remedy=f"{_REMEDY} From elsewhere: `ray job submit`.",
        )
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except ValueError:
        raise UsageError(f"{address!r} is no address of a Ray.", remedy=_REMEDY) from None
    except OSError as error:
        raise UsageError(f"Nobody answers at {address}: {error}.", remedy=_REMEDY) from error


def room() -> int:
    """How many workers the live nodes have room for when nothing else runs there."""
    return sum(_room_on(node) for node in live_nodes().values())


def live_nodes() -> dict[str, dict[str, Any]]:
    """The nodes that Ray takes for alive, by their ids."""
    return {node["NodeID"]: node for node in ray_module().nodes() if node["Alive"]}


def _room_on(node: dict[str, Any]) -> int:
    has = node["Resources"]
    return int(min(has.get("CPU", 0) // CPUS, has.get("memory", 0) // MEMORY))


def shortage() -> str:
    """Why no worker starts, for people who have to change that."""
    ray = ray_module()
    nodes = [
        f"{node['NodeManagerAddress']} with {node['Resources'].get('CPU', 0):g} CPUs and "
        f"{node['Resources'].get('memory', 0) / MEMORY:.1f} GiB"
        for node in live_nodes().values()
    ]
    free = ray.available_resources()
    return (
        f"The cluster has no room, or what is there does not start. A worker needs {CPUS} CPU and "
        f"{MEMORY >> 30} GiB of memory on one node. Nodes: {'; '.join(nodes) or 'none'}. Free on "
        f"all of them: {free.get('CPU', 0):g} CPUs, {free.get('memory', 0) / MEMORY:.1f} GiB."
    )
