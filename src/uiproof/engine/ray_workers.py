"""Judges on the nodes of a Ray cluster, each in a process of its own below an actor.

The actor only passes on: the judge is in a `ProcessWorker` under it, whose guardian ends it with
everything that it started when the actor is killed or its node goes away. So hostile pages are
contained as they are on one machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
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

from uiproof.engine.executors import MakeJudge, Pool, Stage, as_error
from uiproof.engine.outpost import BEACON, Outpost
from uiproof.engine.places import Place, pack, parts_of, unpack, write_files
from uiproof.engine.processes import ProcessWorker
from uiproof.engine.ray_cluster import (
    CPUS,
    MEMORY,
    connect,
    live_nodes,
    ray_module,
    room,
    shortage,
)
from uiproof.engine.rundir import dataset_key, mismatch
from uiproof.engine.storage import access
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

_log = logging.getLogger("uiproof")

START_SECONDS = 600.0  # clusters that grow by themselves take minutes to get a node
_END_SECONDS = 10.0
_LOG_BYTES = 1 << 20  # of what a judge prints during one case
# What is said about this machine and not about how pages are judged.
_OWN_SETTINGS = frozenset(
    f"UIPROOF_{name}"
    for name in (
        *("API_KEY", "CACHE", "CHROMIUM", "CLIP", "MIRROR_SIZE", "PRICES", "RUNS", "WORKERS"),
    )
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What comes back from an actor, also where something went wrong."""

    value: Any
    error: UiproofError | None
    log: bytes  # what was printed meanwhile


class Host:
    """The actor: a worker process on some node, and nothing else."""

    def __init__(self, path: Sequence[str], settings: Mapping[str, str]) -> None:
        os.environ.update(settings)
        # The worker process gets this path; modules of the user may lie beside the first script.
        sys.path += [one for one in path if one not in sys.path and Path(one).exists()]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name and goes with us
        log = Path(f"/dev/fd/{self._log.fileno()}")
        self._worker = ProcessWorker(pickle.dumps(Outpost), log, hidden=True)

    async def start(self) -> Reply:
        """Start the process; says which node this is."""
        reply = await self._replied(self._worker.start())
        return replace(reply, value=ray_module().get_runtime_context().get_node_id())

    async def call(self, what: str, *args: Any) -> Reply:
        """Let the outpost in the process do one thing."""
        return await self._replied(self._worker.call(cast(Stage, what), *args))

    async def end(self) -> None:
        """End the process and all that it has started."""
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
) -> Pool:
    """A pool of workers on a Ray cluster; see `make_pool`."""
    headquarters = Headquarters(make_judge, log=log, folders=folders, fingerprint=fingerprint)
    disconnect = connect()
    places = room()
    if not places:
        _log.warning("Waiting for nodes. %s", shortage())

    def release() -> None:
        headquarters.close()
        disconnect()

    return Pool(
        lambda: RayWorker(headquarters),
        workers=workers or max(places, 1),
        case_timeout=case_timeout,
        start_seconds=START_SECONDS,
        why_not=shortage,
        release=release,
    )


class Headquarters:
    """What all workers of a run share, on the machine that started it."""

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
        self._places: tuple[Place, ...] | None = None
        self._homes: dict[str, Mapping[str, tuple[Path, Path]]] = {}  # by node
        self._settling: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._sending: dict[str, asyncio.Task[list[Any]]] = {}
        self.folders: Mapping[str, Path] = {"run": self.run}
        # What cannot travel shows here, before anything is started.
        self.recipe, self._pickled_fingerprint = self._packed(make_judge), self._packed(fingerprint)

    async def open(self) -> None:
        """Look at the folders and light the beacon; by now there is a run directory."""
        async with self._opening:
            if self._places is None:
                self._places = await asyncio.to_thread(self._look)

    def _look(self) -> tuple[Place, ...]:
        places = tuple(
            Place.of(f"folder{number}", path, run=self.run)
            for number, path in enumerate(self._given)
        )
        self.folders = {"run": self.run, **{place.name: place.folder for place in places}}
        self.recipe = self._packed(self._make_judge)
        self._identity = {"uiproof": version("uiproof"), "fingerprint": dict(self._fingerprint())}
        beacon = self.run / BEACON
        with access(beacon, "written"):
            beacon.write_text(self.token, "ascii")
        return places

    def close(self) -> None:
        """Put the beacon out."""
        with suppress(OSError):
            (self.run / BEACON).unlink()

    def _packed(self, function: Callable[[], Any]) -> bytes:
        try:
            return pack(function, self.folders)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UsageError(
                f"The benchmark cannot be used on other machines: {error}.",
                remedy="Define it at the top level of a module, or use another executor.",
            ) from error

    async def homes(self, worker: RayWorker) -> Mapping[str, tuple[Path, Path]]:
        """Where a worker finds the places; the first one of its node finds out or gets them."""
        async with self._settling[worker.node]:
            if worker.node not in self._homes:
                await self._check(worker)
                found = {}
                for place in self._places or ():
                    home = await worker.ask("find", place, self.run)
                    found[place.name] = place.folder, home or await self._send(worker, place)
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

    async def _send(self, worker: RayWorker, place: Place) -> Path:
        """Send a folder through Ray's object store, where each part is put once per run."""
        key = await asyncio.to_thread(dataset_key, place.folder, run=self.run)
        home: Path | None = await worker.ask("stored", key)
        if home is None:
            if place.name not in self._sending:
                self._sending[place.name] = asyncio.create_task(self._put(place))
            for part in await asyncio.shield(self._sending[place.name]):
                await worker.ask("receive", part)
            home = await worker.ask("complete", key)
        assert home is not None
        return home

    async def _put(self, place: Place) -> list[Any]:
        ray = ray_module()
        parts = parts_of(place, run=self.run)
        return await asyncio.to_thread(lambda: [ray.put(part) for part in parts])


class RayWorker:
    """A judge on a node of a cluster; see `Worker`."""

    def __init__(self, headquarters: Headquarters) -> None:
        self._hq = headquarters
        self._actor: Any = None
        self.node = self.address = ""

    async def start(self) -> None:
        """See `Worker`. Waits for a node that has room."""
        await self._hq.open()
        ray = ray_module()
        options = {"num_cpus": CPUS, "memory": MEMORY, "max_restarts": 0}
        actor = ray.remote(Host).options(**options, scheduling_strategy="SPREAD")
        self._actor = actor.remote(sys.path, _settings())
        self.node = await self._replied("start")
        self.address = live_nodes().get(self.node, {}).get("NodeManagerAddress", self.node)
        homes = await self._hq.homes(self)
        await self.ask("begin", self._hq.recipe, self._hq.run, self._hq.token, homes)

    async def call(self, stage: Stage, *args: Any) -> Any:
        """See `Worker`."""
        try:
            request = pack(args, self._hq.folders)
        except Exception as error:
            raise as_error(error) from error
        reply, files = await self.ask("carry", stage, request)
        if files:
            await asyncio.to_thread(write_files, self._hq.run, files)
        done, value = unpack(reply, self._hq.folders)
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
        """Let the outpost do one thing; arguments that are in the object store are fetched."""
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
            with access(self._hq.log, "written"), self._hq.log.open("ab") as log:
                log.write(reply.log)
        if reply.error is not None:
            raise self._placed(reply.error)
        return reply.value

    def _placed(self, error: UiproofError) -> UiproofError:
        """An error that stops the run says on which node something has to be done."""
        if isinstance(error, MissingDependencyError | StorageError):
            return type(error)(f"On node {self.address}: {error.message}", remedy=error.remedy)
        return error

    def _death(self, error: Exception) -> WorkerDiedError:
        with suppress(ray_module().exceptions.RayError):  # nobody can be asked any more
            if self.node and self.node not in live_nodes():
                return NodeLostError(
                    f"The node {self.address} went away while it worked on the case.",
                    remedy="Cases go to other nodes; this one had no luck several times.",
                )
        why = " ".join(str(error).split())[-300:]
        return WorkerDiedError(
            f"The worker on node {self.address or '(none yet)'} ended while it worked: {why}",
            remedy="If memory ran out, use nodes with more of it, or fewer workers.",
        )


def _settings() -> dict[str, str]:
    """What was said about judging in this process's environment, for processes elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("UIPROOF_") and name not in _OWN_SETTINGS
    }
