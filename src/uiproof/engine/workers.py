"""Judges in processes and threads; `worker_process` is the other side of a process."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from uiproof.engine.executors import MakeJudge, Stage, as_error, perform
from uiproof.errors import NodeLostError, UsageError, WorkerDiedError
from uiproof.scratch import sweep

# Not `-m`: the worker must find the same modules as this process, wherever those come from.
_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[3:]; from uiproof.engine.worker_process import main; "
    "main(int(sys.argv[1]), hidden=sys.argv[2] == 'hidden')"
)
_END_SECONDS = 5.0


def process_workers(make_judge: MakeJudge, log: Path) -> Callable[[], ProcessWorker]:
    """Return a function that makes workers, each with one judge in a separate process."""
    try:
        recipe = pickle.dumps(make_judge)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"The benchmark's judge cannot be made in another process: {error}.",
            remedy="Define it at the top level of a module, or use the inline executor.",
        ) from error
    return lambda: ProcessWorker(recipe, log)


class ProcessWorker:
    """A judge in a process. It lives exactly as long as the pipe to its guardian is open."""

    def __init__(self, recipe: bytes, log: Path, *, hidden: bool = False) -> None:
        self._recipe, self._log, self._hidden = recipe, log, hidden
        self._thread = DaemonThread("uiproof worker")  # waits for answers, off the event loop
        self._life_read, self._life = os.pipe()
        self._connection, self._theirs = Pipe()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle = self._ended = False

    async def start(self) -> None:
        """See `Worker`."""
        await self._thread.run(self._start)

    async def call(self, stage: Stage, *args: Any) -> Any:
        """See `Worker`."""
        self._idle = False  # here and not in the thread: `end` may come before that has begun
        return await self._thread.run(self._call, stage, args)

    async def end(self) -> None:
        """See `Worker`."""
        if self._ended:
            return
        self._ended = True
        try:
            if self._idle:
                await self._thread.run(self._close_judge)
        finally:
            with suppress(OSError):
                os.write(self._life, b".")  # this process is alive and cleans up itself
            os.close(self._life)  # kills whatever still runs there
            reaping = self._thread.run(self._reap)
            self._thread.stop()
        await reaping

    # Everything below runs in the worker's thread.

    def _start(self) -> None:
        fd = self._theirs.fileno()
        how = "hidden" if self._hidden else "plain"
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _BOOTSTRAP, str(fd), how, *sys.path],
                    stdin=self._life_read,
                    stdout=log,
                    stderr=log,
                    pass_fds=[fd],
                    start_new_session=True,  # Ctrl-C on the terminal is for the main process only
                )
        except OSError as error:
            raise as_error(error) from error
        finally:
            self._theirs.close()
            os.close(self._life_read)
        self._exchange(self._recipe)

    def _call(self, stage: Stage, args: tuple[Any, ...]) -> Any:
        try:
            request = pickle.dumps((stage, args))
        except Exception as error:
            raise as_error(error) from error
        if self._connection.poll():  # an idle worker sends nothing, so this is EOF
            # It died while idle: no case is to blame.
            raise NodeLostError("The worker process had ended before the case came to it.")
        return self._exchange(request)

    def _exchange(self, request: bytes) -> Any:
        try:
            self._connection.send_bytes(request)
            reply = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise WorkerDiedError(
                f"The worker process ended while it worked on the case ({self._exit_reason()}).",
                remedy="If memory ran out, use fewer workers. workers.log has what it printed.",
            ) from error
        self._idle = True
        try:
            done, value = pickle.loads(reply)
        except Exception as error:
            raise as_error(error) from error
        if not done:
            raise value
        return value

    def _close_judge(self) -> None:
        try:
            self._connection.send_bytes(b"")
        except OSError:
            return  # it is already dead
        self._wait()

    def _reap(self) -> None:
        if self._process is not None and self._wait() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process is not None and self._process.returncode < 0:
            sweep(Path(tempfile.gettempdir()))  # the guardian was killed before it could clean up
        self._connection.close()

    def _wait(self) -> int | None:
        assert self._process is not None
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _exit_reason(self) -> str:
        code = self._wait()
        if code is None:
            return "it no longer answers"
        if code < 0 or code > 128:  # the guardian's own, or its child's as a shell reports it
            return f"killed by {signal.Signals(abs(code) % 128).name}"
        return f"exit code {code}"


_CLOSE_SECONDS = 5.0  # for a judge to close its browser
_ABANDON_SECONDS = 0.5


class DaemonThread:
    """Run functions one after another off the event loop, without blocking exit."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], Any] | None]
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def run(self, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Return what the function returns or raises, to be awaited."""
        future: Future[Any] = Future()
        self._jobs.put((future, function, args))
        return asyncio.wrap_future(future)

    def stop(self) -> None:
        """End the thread after what it was given so far."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function, args = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*args))
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                future.set_exception(error)


class ThreadWorker:
    """Run a judge in a thread of this process, because it blocks and the event loop must not.

    A judge that hangs cannot be killed here, only abandoned.
    """

    def __init__(self, make_judge: MakeJudge) -> None:
        self._make_judge = make_judge
        self._judge: Any = None
        self._thread = DaemonThread("uiproof judge")
        self._busy = self._ended = False

    async def start(self) -> None:
        """See `Worker`."""
        await self._thread.run(self._make)

    async def call(self, stage: Stage, *args: Any) -> Any:
        """See `Worker`."""
        self._busy = True  # here and not in the thread: `end` may come before that has begun
        return await self._thread.run(self._perform, stage, *args)

    async def end(self) -> None:
        """See `Worker`."""
        if self._ended:
            return
        self._ended = True
        closing = self._thread.run(self._close)
        self._thread.stop()
        # A busy thread closes its judge later; do not wait for it.
        await asyncio.wait([closing], timeout=_ABANDON_SECONDS if self._busy else _CLOSE_SECONDS)

    def _make(self) -> None:
        try:
            self._judge = self._make_judge()
        except Exception as error:
            raise as_error(error) from error

    def _perform(self, stage: Stage, *args: Any) -> Any:
        try:
            return perform(self._judge, stage, *args)
        finally:
            self._busy = False

    def _close(self) -> None:
        try:
            if self._judge is not None:
                self._judge.close()
        except Exception:  # whatever its libraries raise: a run must not fail at its very end
            logging.getLogger(__name__).exception("A judge could not be closed.")
