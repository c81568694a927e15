"""Judges in processes of their own; see `worker.py` for the other side."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from uiproof.engine.executors import MakeJudge, Stage, as_error
from uiproof.engine.threads import DaemonThread
from uiproof.errors import NodeLostError, UsageError, WorkerDiedError
from uiproof.scratch import sweep

# Not `-m`: the worker must find the same modules as this process, wherever those come from.
_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[3:]; from uiproof.engine.worker import main; "
    "main(int(sys.argv[1]), hidden=sys.argv[2] == 'hidden')"
)
_END_SECONDS = 5.0


def process_workers(make_judge: MakeJudge, log: Path) -> Callable[[], ProcessWorker]:
    """A function that makes workers, each with one judge in a process of its own."""
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
                await self._thread.run(self._say_goodbye)
        finally:
            with suppress(OSError):
                os.write(self._life, b".")  # this process lives, and cleans up after itself
            os.close(self._life)  # whatever still runs over there ends now
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
        if self._connection.poll():  # an idle worker says nothing, so this is the end of the line
            # It died while it had nothing to do: no case is to blame.
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

    def _say_goodbye(self) -> None:
        try:
            self._connection.send_bytes(b"")
        except OSError:
            return  # it is dead already
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
        if code < 0 or code > 128:  # of the guardian itself; of its child, told as a shell does
            return f"killed by {signal.Signals(abs(code) % 128).name}"
        return f"exit code {code}"
