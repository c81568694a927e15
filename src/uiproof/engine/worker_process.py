"""A worker process: a guardian, and its child that runs the judge.

The guardian only waits, so a hanging judge cannot block it. When the main process closes the pipe
(or dies, which closes it too), or when the judge's process ends, it kills everything below it,
browsers included, removes their temporary files, and exits. If the guardian itself is killed, the
judge's process dies with it and the main process removes what is left; if both are killed, the
next process does (`uiproof.scratch`).
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from uiproof.process_tree import kill_descendants
from uiproof.scratch import ScratchFolder, sweep

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MOST_SWEEPING = 5.0  # seconds; folders of other runs stay in use
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(fd: int, *, hidden: bool = False) -> NoReturn:
    """Serve calls that come over the socket `fd`; standard input is the life line.

    With `hidden` the guardian is not a child of the starting process: Ray kills the children of
    a worker that ends, and a guardian that is killed cannot clean up.
    """
    if hidden:
        _stand_in_front(fd)
    # Killed browsers leave their profiles behind; keep them where they can be found.
    try:
        place = Path(tempfile.gettempdir())
        scratch = ScratchFolder()
    except OSError as error:
        _refuse(fd, error)
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch.path)
    # There is a worker for each core; further threads would spend their time waiting for it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Adopt orphans of the judge's process, also those in other sessions.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _work(fd)
    os.close(fd)
    _guard(child, scratch, place)


def _refuse(fd: int, error: OSError) -> NoReturn:
    """Report to the main process that no temporary folder can be made, and exit."""
    from uiproof.errors import StorageError

    problem = StorageError(
        f"No temporary folder can be made: {error.strerror or error}.",
        remedy="Make room there or name another one in TMPDIR, then run the same command again: "
        "the run continues where it stopped.",
    )
    with suppress(OSError):
        Connection(fd).send_bytes(pickle.dumps((False, problem)))
    os._exit(1)


def _stand_in_front(fd: int) -> None:
    """Continue in a child process; this one waits and exits with its code."""
    guardian = os.fork()
    if guardian:
        os.close(fd)
        _, status = os.waitpid(guardian, 0)
        os._exit(_exit_code(status))


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # as shells report signals


def _guard(child: int, scratch: ScratchFolder, place: Path) -> NoReturn:
    ending = threading.Lock()  # held by the thread that kills everything

    def end(code: int) -> NoReturn:
        kill_descendants(os.getpid())
        scratch.remove()
        os._exit(code)

    def end_when_cut_off() -> None:
        parent = os.getppid()
        # The parent is checked too: another process may have inherited the end of the pipe.
        while os.getppid() == parent and not select.select([0], [], [], 1.0)[0]:
            pass
        ending.acquire()
        if os.getppid() != parent or not os.read(0, 1):
            # The main process was killed: remove what it would have removed.
            kill_descendants(os.getpid())
            scratch.remove()
            # Its last thread may still hold its locks when it is nobody's parent any more.
            until = time.monotonic() + _MOST_SWEEPING
            while sweep(place) and time.monotonic() < until:
                time.sleep(0.02)
        end(0)

    def end_by(number: int, _: object) -> None:
        if ending.acquire(blocking=False):
            end(128 + number)

    for number in _ENDING:
        signal.signal(number, end_by)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=end_when_cut_off, daemon=True).start()
    while True:
        pid, status = os.wait()
        if pid == child:
            ending.acquire()
            end(_exit_code(status))


def _work(fd: int) -> NoReturn:
    guardian = os.getppid()
    # Browsers must not inherit signals that the shell ignores.
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guardian:
        os._exit(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.set_inheritable(fd, False)
    with suppress(EOFError, OSError):  # the main process is gone; the guardian cleans up
        _serve(Connection(fd))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _serve(connection: Connection) -> None:
    from uiproof.engine.executors import as_error

    try:
        judge = pickle.loads(connection.recv_bytes())()
    except Exception as error:  # noqa: BLE001 - the main process raises it
        connection.send_bytes(pickle.dumps((False, as_error(error))))
        return
    connection.send_bytes(pickle.dumps((True, None)))
    while request := connection.recv_bytes():  # an empty request ends it
        connection.send_bytes(_answer(judge, request))
    judge.close()


def _answer(judge: Any, request: bytes) -> bytes:
    from uiproof.engine.executors import as_error, perform
    from uiproof.errors import InternalError

    try:
        stage, args = pickle.loads(request)
        return pickle.dumps((True, perform(judge, stage, *args)))
    except Exception as error:  # noqa: BLE001 - the main process raises it
        try:
            return pickle.dumps((False, as_error(error)))
        except Exception:  # noqa: BLE001 - errors of outside benchmarks may not be picklable
            return pickle.dumps((False, InternalError(f"{type(error).__name__}: {error}")))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
