"""Judges on the nodes of a Ray cluster, each in a separate process below an actor.

The actor only relays calls. The judge is in a `ProcessWorker` under it, whose guardian kills it
and everything that it started when the actor is killed or its node goes away, so hostile pages
are contained as they are on one machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import socket
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from uiproof.engine.executors import MakeJudge, Pool, Stage, as_error, usable_cores
from uiproof.engine.remote_judge import (
    VISIBILITY_MARKER,
    RemoteJudge,
    SharedFolder,
    pack,
    unpack,
    write_files,
)
from uiproof.engine.rundir import mismatch
from uiproof.engine.workers import ProcessWorker
from uiproof.errors import (
    InternalError,
    MissingDependencyError,
    NodeLostError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerDiedError,
    WorkerStartError,
)
from uiproof.files import access

_log = logging.getLogger("uiproof")

START_SECONDS = 600.0  # clusters that grow by themselves take minutes to get a node
_END_SECONDS = 10.0
_LOG_BYTES = 1 << 20  # of what a judge prints during one case
# Settings of a machine, which do not change how pages are judged.
_OWN_SETTINGS = frozenset(
    f"UIPROOF_{name}"
    for name in (
        *("API_KEY", "CACHE", "CHROMIUM", "CLIP", "MIRROR_SIZE", "PRICES", "RUNS", "WORKERS"),
    )
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of an actor: a value or an error."""

    value: Any
    error: UiproofError | None
    log: bytes  # what was printed meanwhile


class JudgeActor:
    """A Ray actor that relays calls to a worker process on its node."""

    def __init__(self, path: Sequence[str], settings: Mapping[str, str]) -> None:
        os.environ.update(settings)
        # The worker process gets this path; modules of the user may lie beside the first script.
        sys.path += [one for one in path if one not in sys.path and Path(one).exists()]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name and goes with us
        log = Path(f"/dev/fd/{self._log.fileno()}")
        self._worker = ProcessWorker(pickle.dumps(RemoteJudge), log, hidden=True)

    async def start(self) -> Reply:
        """Start the process; the value of the reply is the id of the node."""
        reply = await self._replied(self._worker.start())
        return replace(reply, value=ray_module().get_runtime_context().get_node_id())

    async def call(self, what: str, *args: Any) -> Reply:
        """Call a method of the remote judge in the process."""
        return await self._replied(self._worker.call(cast(Stage, what), *args))

    async def end(self) -> None:
        """Kill the process and everything that it started."""
        await self._worker.end()

    async def _replied(self, work: Any) -> Reply:
        value, error = None, None
        try:
            value = await work
        except Exception as raised:  # noqa: BLE001 - the other side raises it
            error = as_error(raised)
        begin = self._log.tell()
        size = os.fstat(self._log.fileno()).st_size
        self._log.seek(size)
        log = os.pread(self._log.fileno(), min(size - begin, _LOG_BYTES), begin)
        return Reply(value, error, log)


def ray_pool(
    make_judge: MakeJudge,
    *,
    workers: int | None,
    case_timeout: float,
    log: Path,
    folders: Sequence[Path],
    fingerprint: Callable[[], Mapping[str, Any]],
    address: str | None = None,
) -> Pool:
    """Return a pool of workers on a Ray cluster; see `make_pool`."""
    ray_run = RayRun(make_judge, log=log, folders=folders, fingerprint=fingerprint)
    disconnect = connect(address)
    places = room()
    if not places:
        _log.warning("Waiting for nodes. %s", shortage())

    def release() -> None:
        ray_run.close()
        disconnect()

    return Pool(
        lambda: RayWorker(ray_run),
        workers=workers or max(places, 1),
        case_timeout=case_timeout,
        start_seconds=START_SECONDS,
        why_not=shortage,
        release=release,
    )


class RayRun:
    """The state that all workers of a run share, on the machine that started it."""

    def __init__(
        self,
        make_judge: MakeJudge,
        *,
        log: Path,
        folders: Sequence[Path],
        fingerprint: Callable[[], Mapping[str, Any]],
    ) -> None:
        self.run, self.log, self.token = log.parent.absolute(), log, uuid4().hex
        self._make_judge, self._given, self._fingerprint = make_judge, folders, fingerprint
        self._opening = asyncio.Lock()
        self._shared: tuple[SharedFolder, ...] | None = None
        self._homes: dict[str, Mapping[str, tuple[Path, Path]]] = {}  # by node
        self._settling: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.folders: Mapping[str, Path] = {"run": self.run}
        # Fail before anything is started if they cannot be pickled.
        self.recipe, self._pickled_fingerprint = self._packed(make_judge), self._packed(fingerprint)

    async def open(self) -> None:
        """Check the folders and write the visibility marker into the run directory."""
        async with self._opening:
            if self._shared is None:
                self._shared = await asyncio.to_thread(self._look)

    def _look(self) -> tuple[SharedFolder, ...]:
        places = tuple(
            SharedFolder.of(f"folder{number}", path, run=self.run)
            for number, path in enumerate(self._given)
        )
        self.folders = {"run": self.run, **{place.name: place.folder for place in places}}
        self.recipe = self._packed(self._make_judge)
        self._identity = {"uiproof": version("uiproof"), "fingerprint": dict(self._fingerprint())}
        marker = self.run / VISIBILITY_MARKER
        with access(marker, "written"):
            marker.write_text(self.token, "ascii")
        return places

    def close(self) -> None:
        """Remove the visibility marker."""
        with suppress(OSError):
            (self.run / VISIBILITY_MARKER).unlink()

    def _packed(self, function: Callable[[], Any]) -> bytes:
        try:
            return pack(function, self.folders)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UsageError(
                f"The benchmark cannot be used on other machines: {error}.",
                remedy="Define it at the top level of a module, or use another executor.",
            ) from error

    async def homes(self, worker: RayWorker) -> Mapping[str, tuple[Path, Path]]:
        """Return where a worker finds the shared folders, looked up once for each node."""
        async with self._settling[worker.node]:
            if worker.node not in self._homes:
                await self._check(worker)
                found = {}
                for place in self._shared or ():
                    home = await worker.ask("find", place, self.run)
                    if home is None:
                        raise WorkerStartError(
                            f"Node {worker.address} does not have the files of {place.folder}.",
                            remedy="Put them on a disk that all nodes share, at the same path, or "
                            "name them by a URL such as s3://bucket/pages.",
                        )
                    found[place.name] = place.folder, home
                self._homes[worker.node] = found
        return self._homes[worker.node]

    async def _check(self, worker: RayWorker) -> None:
        theirs = await worker.ask("identity", self._pickled_fingerprint)
        if difference := mismatch(theirs, self._identity):
            raise WorkerStartError(
                f"Scores of node {worker.address} could not be compared with those of this "
                f"machine: {difference}.",
                remedy="Use the same image on all nodes, or leave that node out of the cluster.",
            )


class RayWorker:
    """A judge on a node of a cluster; see `Worker`."""

    def __init__(self, ray_run: RayRun) -> None:
        self._run = ray_run
        self._actor: Any = None
        self.node = self.address = ""

    async def start(self) -> None:
        """See `Worker`. Waits for a node that has room."""
        await self._run.open()
        ray = ray_module()
        options = {"num_cpus": CPUS, "memory": MEMORY, "max_restarts": 0}
        actor = ray.remote(JudgeActor).options(**options, scheduling_strategy="SPREAD")
        self._actor = actor.remote(sys.path, _settings())
        self.node = await self._replied("start")
        self.address = live_nodes().get(self.node, {}).get("NodeManagerAddress", self.node)
        homes = await self._run.homes(self)
        await self.ask("begin", self._run.recipe, self._run.run, self._run.token, homes)

    async def call(self, stage: Stage, *args: Any) -> Any:
        """See `Worker`."""
        try:
            request = pack(args, self._run.folders)
        except Exception as error:
            raise as_error(error) from error
        reply, files = await self.ask("carry", stage, request)
        if files:
            await asyncio.to_thread(write_files, self._run.run, files)
        done, value = unpack(reply, self._run.folders)
        if not done:
            raise self._placed(value)
        return value

    async def end(self) -> None:
        """See `Worker`."""
        actor, self._actor = self._actor, None
        if actor is None:
            return
        ray = ray_module()
        with suppress(TimeoutError, ray.exceptions.RayError):
            if self.node:  # else it has no process yet, or not even a place
                async with asyncio.timeout(_END_SECONDS):
                    await actor.end.remote()
        ray.kill(actor)

    async def ask(self, what: str, *args: Any) -> Any:
        """Call a method of the remote judge; arguments in the object store are fetched."""
        return await self._replied("call", what, *args)

    async def _replied(self, method: str, *args: Any) -> Any:
        ray = ray_module()
        if self._actor is None:
            raise WorkerDiedError("The worker was ended.")
        try:
            reply: Reply = await getattr(self._actor, method).remote(*args)
        except ray.exceptions.RayTaskError as error:  # not raised by a judge, but around it
            raise InternalError(f"The actor of a worker failed: {str(error)[-2000:]}") from error
        except ray.exceptions.RayError as error:
            raise self._death(error) from error
        if reply.log:
            with access(self._run.log, "written"), self._run.log.open("ab") as log:
                log.write(reply.log)
        if reply.error is not None:
            raise self._placed(reply.error)
        return reply.value

    def _placed(self, error: UiproofError) -> UiproofError:
        """Return the error, with the name of the node if the run stops because of it."""
        if isinstance(error, MissingDependencyError | StorageError):
            return type(error)(f"On node {self.address}: {error.message}", remedy=error.remedy)
        return error

    def _death(self, error: Exception) -> WorkerDiedError:
        with suppress(ray_module().exceptions.RayError):  # the cluster is gone
            if self.node and self.node not in live_nodes():
                return NodeLostError(
                    f"The node {self.address} went away while it worked on the case.",
                    remedy="Other nodes take over; this case has now lost several nodes.",
                )
        why = " ".join(str(error).split())[-300:]
        return WorkerDiedError(
            f"The worker on node {self.address or '(none yet)'} ended while it worked: {why}",
            remedy="If memory ran out, use nodes with more of it, or fewer workers.",
        )


def _settings() -> dict[str, str]:
    """Return the `UIPROOF_*` settings for judges, for processes on other machines."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("UIPROOF_") and name not in _OWN_SETTINGS
    }


CPUS = 1
MEMORY = 1 << 30  # bytes that a judge with its browser and models needs
_ANSWER_SECONDS = 5.0
_OBJECT_STORE = 512 << 20  # for a Ray that is started here; larger objects spill to disk
_REMEDY = (
    "Run the command on a node of the cluster, with --ray-address or RAY_ADDRESS as `ray status` "
    "there knows it, such as auto or 10.0.0.1:6379. Where the cluster asks for a token (since Ray "
    "2.60), set RAY_AUTH_MODE=token."
)


def ray_module() -> Any:
    """Import Ray, which is optional."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before it is imported
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no word about GPUs
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # lost nodes are reported by us
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "Ray is not installed.", remedy="pip install 'uiproof[ray]'"
        ) from error
    return ray


def connect(address: str | None = None) -> Callable[[], None]:
    """Connect to Ray; return a function that disconnects, or stops a Ray that was started here.

    An existing connection of this process is used and kept. Otherwise connect to `address` or
    RAY_ADDRESS; without either, start Ray on this machine.
    """
    ray = ray_module()
    if ray.is_initialized():
        return lambda: None
    address = (address or os.environ.get("RAY_ADDRESS", "")).strip()
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
                remedy="Try again when the machine is less busy, or use the processes executor.",
            ) from error
    else:
        _check(address)
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            why = str(error).strip().split("\n")[0]
            raise UsageError(f"Ray at {address} cannot be used: {why}", remedy=_REMEDY) from error
    return lambda: ray.shutdown()


def _check(address: str) -> None:
    """Check that something listens there: Ray itself retries for minutes."""
    if address.startswith("ray://"):
        raise UsageError(
            f"{address} is an address of Ray Client, which does not support runs.",
            remedy=f"{_REMEDY} From elsewhere: `ray job submit`.",
        )
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except ValueError:
        raise UsageError(f"{address!r} is not an address of Ray.", remedy=_REMEDY) from None
    except OSError as error:
        raise UsageError(f"Nothing answers at {address}: {error}.", remedy=_REMEDY) from error


def room() -> int:
    """Return how many workers fit on the live nodes if nothing else runs there."""
    return sum(_room_on(node) for node in live_nodes().values())


def live_nodes() -> dict[str, dict[str, Any]]:
    """Return the nodes that Ray considers alive, by id."""
    return {node["NodeID"]: node for node in ray_module().nodes() if node["Alive"]}


def _room_on(node: dict[str, Any]) -> int:
    has = node["Resources"]
    return int(min(has.get("CPU", 0) // CPUS, has.get("memory", 0) // MEMORY))


def shortage() -> str:
    """Describe what workers need and what the cluster has."""
    ray = ray_module()
    nodes = [
        f"{node['NodeManagerAddress']} with {node['Resources'].get('CPU', 0):g} CPUs and "
        f"{node['Resources'].get('memory', 0) / MEMORY:.1f} GiB"
        for node in live_nodes().values()
    ]
    free = ray.available_resources()
    return (
        f"The cluster is full, or its workers do not start. A worker needs {CPUS} CPU and "
        f"{MEMORY >> 30} GiB of memory on one node. Nodes: {'; '.join(nodes) or 'none'}. Free on "
        f"all of them: {free.get('CPU', 0):g} CPUs, {free.get('memory', 0) / MEMORY:.1f} GiB."
    )
