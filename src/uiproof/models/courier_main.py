"""The courier's process: takes orders over a socket, asks the model, stores what it answers.

When the process that it works for goes away it takes no more orders, finishes the attempts that are
under way, stores their answers, and ends.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from uiproof.engine.executors import as_error
from uiproof.errors import InternalError, UiproofError
from uiproof.models.cache import ReplyCache
from uiproof.models.courier import Job, Order, Outcome, messages, open_stream, packed
from uiproof.models.names import redacted, require_key, require_sdk
from uiproof.models.types import AttemptError
from uiproof.models.wires import Wire, make_wire
from uiproof.models.wires.gate import GATE

_GRACE_SECONDS = 5.0  # beyond the time that a request may take, to store its answer
_STORING_THREADS = 4  # to wait for the disk is no work


def main() -> NoReturn:
    """Serve the process at the other end of standard input, then end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    parent = os.getppid()
    end = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    code = 1
    try:
        asyncio.run(_serve(end, parent))
        code = 0
    finally:
        os._exit(code)  # whatever an SDK left running


async def _serve(end: socket.socket, parent: int) -> None:
    reader, writer = await open_stream(end)
    writer.transport.set_write_buffer_limits(0)  # so that `drain` means sent
    incoming = messages(reader)
    job = await anext(incoming, None)
    if not isinstance(job, Job):
        return  # the parent died in this moment
    try:
        require_sdk(job.endpoint)
        key = require_key(job.endpoint)
        wire = make_wire(job.endpoint, key=key, rule=job.rule, timeout=job.timeout)
    except Exception as error:  # noqa: BLE001 - the main process raises it
        writer.write(packed(Outcome(None, error=_travelling(error, job))))
        with suppress(OSError):
            await writer.drain()
        writer.close()
        return
    service = _Service(job, wire, writer)

    async def take_orders() -> None:
        async for order in incoming:
            GATE.set_limit(order.at_once)
            service.begin(order)

    # Looking at the parent as well helps when somebody inherited its end of the socket.
    ending = [asyncio.create_task(take_orders()), asyncio.create_task(_orphaned(parent))]
    await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
    for task in ending:
        task.cancel()  # no more orders, where the socket is still open somewhere
    await service.finish()
    os._exit(0)


async def _orphaned(parent: int) -> None:
    while os.getppid() == parent:
        await asyncio.sleep(1.0)


class _Service:
    """The attempts that are under way."""

    def __init__(self, job: Job, wire: Wire, writer: asyncio.StreamWriter) -> None:
        self._job, self._wire, self._writer = job, wire, writer
        self._cache = ReplyCache(job.cache_folder, job.max_bytes)
        self._storing = ThreadPoolExecutor(_STORING_THREADS, "storing")
        self._waiting: set[asyncio.Task[None]] = set()  # till nobody else asks the same
        self._sent: set[asyncio.Task[None]] = set()
        self._unsettled: dict[int, Callable[[], None]] = {}  # what is left to do to store answers
        self._trouble: AttemptError | UiproofError | None = None  # with storing one

    def begin(self, order: Order) -> None:
        """Carry out an order, beside the others."""
        task = asyncio.create_task(self._carry_out(order))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        task.add_done_callback(self._sent.discard)

    async def finish(self) -> None:
        """Wait for what was sent, but not for longer than a request may take; drop the rest."""
        for task in self._waiting:
            task.cancel()
        if self._sent:
            await asyncio.wait(self._sent, timeout=self._job.timeout + _GRACE_SECONDS)

    async def _carry_out(self, order: Order) -> None:
        try:
            outcome = await self._attempt(order)
        except Exception as error:  # noqa: BLE001 - the main process raises it
            outcome = Outcome(order.number, error=_travelling(error, self._job))
        self._writer.write(packed(outcome))
        with suppress(OSError):  # nobody is there any more
            await self._writer.drain()
        if settle := self._unsettled.pop(order.number, None):
            try:
                await asyncio.get_running_loop().run_in_executor(self._storing, settle)
            except Exception as error:  # noqa: BLE001 - it goes along with the next answer
                self._trouble = _travelling(error, self._job)

    async def _attempt(self, order: Order) -> Outcome:
        try:
            # Whoever asks the same right now is done by then, or something is wrong with it.
            async with asyncio.timeout(2 * self._job.timeout + _GRACE_SECONDS) as limit:
                async with self._cache.locked(order.key):
                    limit.reschedule(None)
                    return await self._ask_alone(order)
        except TimeoutError:
            raise AttemptError(
                "timeout", "Another process asks the same and does not come to an end."
            ) from None

    async def _ask_alone(self, order: Order) -> Outcome:
        # Somebody else may have asked the same in the meantime.
        reply = self._cache.get(order.key, since=order.since)
        if reply is not None:
            return Outcome(order.number, reply)
        if task := asyncio.current_task():
            self._waiting.discard(task)
            self._sent.add(task)
        reply = await self._wire.send(order.request)
        error, self._trouble = self._trouble, None
        try:
            # Not in a thread, which would wait for its turn to compute again and again.
            self._unsettled[order.number] = self._cache.put_quickly(
                order.key, reply, model=self._job.endpoint.name
            )
        except Exception as caught:  # noqa: BLE001 - the answer is paid for: it goes on its way
            error = _travelling(caught, self._job)
        return Outcome(order.number, reply, error)


def _travelling(error: Exception, job: Job) -> AttemptError | UiproofError:
    """An error for another process, without secrets; one that nobody foresaw says where."""
    if isinstance(error, AttemptError):
        return error
    known = as_error(error)
    if isinstance(known, InternalError):
        text = "".join(traceback.format_exception(error))
        return InternalError(
            redacted(known.message, job.endpoint), traceback=redacted(text, job.endpoint)
        )
    try:
        pickle.loads(pickle.dumps(known))
    except Exception:  # noqa: BLE001 - an error of an odd kind, which must not be lost
        return InternalError(redacted(f"{type(known).__name__}: {known}", job.endpoint))
    return known
