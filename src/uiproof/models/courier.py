"""The way to a model: a process of its own makes the attempts; see `courier_main.py`.

courier = Courier(endpoint, rule=rule, timeout=300, cache_folder=folder, max_bytes=None)
reply = await courier.attempt(cache.key(endpoint, request, rule), request)
await courier.close()

When this process is killed, what was asked is not lost: the courier goes on alone, stores the
answers that are under way in the cache, and ends.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.executors import as_error
from uiproof.errors import UiproofError
from uiproof.models.cache_format import loaded, pictures
from uiproof.models.types import AttemptError, Reply, Request

if TYPE_CHECKING:
    from uiproof.models.images import ImageRule
    from uiproof.models.names import Endpoint

# Not `-m`: the courier must find the same modules as this process, wherever those come from.
_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[1:]; from uiproof.models.courier_main import main; main()"
)
_LENGTH = struct.Struct(">Q")
_BUFFER = 4 * 2**20
_FAREWELL_SECONDS = 0.5  # for attempts that are under way when nobody wants them any more
_END_SECONDS = 10.0  # for a courier with nothing to do
_DEATH_SECONDS = 1.0  # for one that has closed its end already


@dataclass(frozen=True, slots=True)
class Job:
    """What a courier needs to know. The key of the API is not in it: that is in the environment."""

    endpoint: Endpoint
    rule: ImageRule
    timeout: float
    cache_folder: Path
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt to be made; `since` takes no stored answer that is older."""

    number: int
    key: str
    request: Request
    since: float | None
    at_once: int | None = None  # on the network, from now on


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an order; without a number, of all of them."""

    number: int | None
    reply: Reply | None = None
    error: AttemptError | UiproofError | None = None  # with a reply: it could not be stored


def packed(message: object) -> bytes:
    """A message as it goes to the other process."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[Any]:
    """All messages from the other process till it goes away."""
    with suppress(asyncio.IncompleteReadError, OSError):
        while True:
            (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            yield pickle.loads(await reader.readexactly(length))


async def open_stream(end: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Messages come and go over one end of a pair of sockets."""
    return await asyncio.open_unix_connection(sock=end, limit=_BUFFER)


class Courier:
    """Makes single attempts to get an answer, any number at once, in a process of its own.

    The process is started with the first attempt, and again after it was killed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        rule: ImageRule,
        timeout: float,
        cache_folder: Path,
        max_bytes: int | None,
    ) -> None:
        self._job = Job(endpoint, rule, timeout, cache_folder.absolute(), max_bytes)
        self._starting: asyncio.Task[_Link] | None = None
        self._fresh_since: dict[str, float] = {}
        self._fault: AttemptError | UiproofError | None = None

    async def attempt(
        self, key: str, request: Request, *, fresh: bool = False, at_once: int | None = None
    ) -> Reply:
        """The stored answer or that of the model, asked once; `key` is `ReplyCache.key`'s.

        With `fresh`, an answer that was stored before is asked for anew and replaced. Raises
        `AttemptError` where no answer came, and what makes all attempts vain as it is, such as
        `MissingDependencyError`. An answer that could not be stored is returned all the same; the
        next attempt raises `StorageError`. `at_once` limits, from now on, how many requests are on
        the network at the same time.

        Cancelling this does not cancel the request: it is paid for, and its answer is stored.
        """
        since = None
        if fresh:
            # What comes after a first vain attempt is fresh enough for the second one.
            since = self._fresh_since.setdefault(key, time.time())
        if fault := self._fault:
            self._fault = None
            raise fault
        if any(isinstance(picture.source, Path) for picture in pictures(request)):
            request = await asyncio.to_thread(loaded, request)
        outcome = await (await self._link()).ask(key, request, since, at_once)
        if outcome.reply is None:
            assert outcome.error is not None
            raise outcome.error
        self._fault = outcome.error or self._fault
        self._fresh_since.pop(key, None)
        return outcome.reply

    async def close(self) -> None:
        """Let the courier go: it finishes what is under way on its own.

        With nothing under way, its process is gone when this returns. May be called twice.
        """
        starting, self._starting = self._starting, None
        if starting is not None:
            with suppress(AttemptError, UiproofError):
                await (await starting).close()

    async def _link(self) -> _Link:
        if self._starting is None or _is_over(self._starting):
            self._starting = asyncio.create_task(self._start(self._starting))
        # Whoever waits for the start may be cancelled; the others still want it.
        return await asyncio.shield(self._starting)

    async def _start(self, before: asyncio.Task[_Link] | None) -> _Link:
        if before is not None and not before.cancelled() and before.exception() is None:
            await before.result().close()
        return await _Link.start(self._job)


def _is_over(starting: asyncio.Task[_Link]) -> bool:
    if not starting.done():
        return False
    return starting.cancelled() or starting.exception() is not None or starting.result().broken


class _Link:
    """One courier process, and what it was asked."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.broken = False
        self._process = process
        self._writer = writer
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def start(cls, job: Job) -> _Link:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.to_thread(_start_process, theirs)
            reader, writer = await open_stream(ours)
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise as_error(error) from error
            raise
        writer.write(packed(job))
        return cls(process, reader, writer)

    async def ask(
        self, key: str, request: Request, since: float | None, at_once: int | None
    ) -> Outcome:
        if self.broken:
            raise _died(self._process.poll())
        number = next(self._numbers)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._writer.write(packed(Order(number, key, request, since, at_once)))
        try:
            with suppress(ConnectionError):  # then `_read` notices too
                await self._writer.drain()
            return await answer
        finally:
            answer.cancel()  # nobody waits for it any more

    async def close(self) -> None:
        with suppress(OSError):  # it is dead already
            self._writer.write_eof()
        try:
            ended = await self._ends_within(_FAREWELL_SECONDS if self._waiting else _END_SECONDS)
            if not ended and not self._waiting:  # it hangs, and nothing is lost with it
                self._process.kill()
                await self._ends_within(_END_SECONDS)
        finally:
            if self._process.poll() is None:
                _reap_later(self._process)
            self._reading.cancel()
            self._writer.close()
            self._fail_all(AttemptError("connection", "The way to the model was closed."))
            await asyncio.gather(self._reading, self._writer.wait_closed(), return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        async for outcome in messages(reader):
            if outcome.number is None:
                self._fail_all(outcome.error)
            elif not (answer := self._waiting.pop(outcome.number)).done():
                answer.set_result(outcome)
        self.broken = True
        self._writer.close()
        if not await self._ends_within(_DEATH_SECONDS):
            _reap_later(self._process)
        self._fail_all(_died(self._process.poll()))

    def _fail_all(self, error: Exception) -> None:
        self.broken = True
        while self._waiting:
            _, answer = self._waiting.popitem()
            if not answer.done():
                answer.set_exception(copy.copy(error))  # each is raised somewhere else

    async def _ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        pause = 0.001
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True


def _start_process(theirs: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOTSTRAP, *sys.path],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # neither Ctrl-C nor a closed terminal is its business
    )


def _reap_later(process: subprocess.Popen[bytes]) -> None:
    """Let a process end in its own time without leaving a zombie."""
    threading.Thread(target=process.wait, name="uiproof courier", daemon=True).start()


def _died(code: int | None) -> AttemptError:
    if code is None:
        reason = "it no longer answers"
    elif code < 0:
        reason = f"killed by {signal.Signals(-code).name}"
    else:
        reason = f"exit code {code}"
    return AttemptError("connection", f"The process that talks to the model has ended ({reason}).")
