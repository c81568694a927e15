"""Commands in processes of their own that are ready at once.

A fresh `python -m uiproof` imports for a second before it does anything, and tests start hundreds.
Here one process imports everything, once for all tests of a worker, and forks. What is started is a
real process all the same: its own arguments, folder, environment, streams, signals and exit code.
`test_cli.py` and others start some from nothing.

done = run("compare", "a", "b", cwd=folder, env=os.environ)
with Command(["run", "--dataset", words], cwd=folder, env=os.environ) as process:
    out, err = process.communicate(timeout=60)
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

# What takes long to import. Nothing that does anything else while it is imported.
IMPORTED = """
asyncio httpx numpy PIL.Image PIL.PngImagePlugin PIL.JpegImagePlugin rich.console rich.table cv2
typer._adapters uiproof.cli
uiproof.api uiproof.registry uiproof.engine.run uiproof.report.tables
uiproof.engine.workers uiproof.models.chat uiproof.models.providers uiproof.report
uiproof.benchmarks.design2code.judge uiproof.benchmarks.grounding.methods
uiproof.benchmarks.grounding.cases uiproof.benchmarks.interaction2code.summary
uiproof.benchmarks.interaction2code.prompting
"""
_NUMBER = struct.Struct("i")
_STARTING = threading.Lock()


class Command:
    """`uiproof` with arguments, whose output is kept: as much of `subprocess.Popen` as is used."""

    def __init__(self, arguments, *, cwd, env) -> None:
        self.args = list(map(str, arguments))
        self.returncode: int | None = None
        self._looking = threading.Lock()
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._line, theirs = socket.socketpair()
        order = json.dumps([self.args, str(cwd), dict(env)]).encode()
        with theirs, Path(os.devnull).open("rb") as nothing, _STARTING:
            fds = [theirs, nothing, self._out, self._err]
            socket.send_fds(_forking_process(), [order], [file.fileno() for file in fds])
        self.pid = _NUMBER.unpack(self._line.recv(_NUMBER.size))[0]
        self._line.setblocking(False)

    def poll(self) -> int | None:
        with self._looking:
            if self.returncode is None:
                try:
                    self.returncode = _NUMBER.unpack(self._line.recv(_NUMBER.size))[0]
                except BlockingIOError:
                    return None
                self._line.close()
            return self.returncode

    def wait(self, timeout=None) -> int:
        deadline = time.monotonic() + (timeout or 3600)
        pause = 0.001
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return code

    def send_signal(self, number) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its end is not told yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait()
        self._out.close()
        self._err.close()

    def communicate(self, timeout=None) -> tuple[str, str]:
        """What it has printed until its end."""
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return _written(self._out), _written(self._err)

    def first_lines(self, count, timeout=60) -> list[str]:
        """The first lines on standard output, as soon as they are there."""
        deadline = time.monotonic() + timeout
        while (out := _written(self._out)).count("\n") < count:
            assert self.poll() is None, _written(self._err)
            assert time.monotonic() < deadline, out
            time.sleep(0.01)
        return out.splitlines()[:count]


def _written(file) -> str:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


def run(*arguments, cwd, env, timeout=300) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with Command(arguments, cwd=cwd, env=env) as process:
        out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@functools.cache
def _forking_process() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


def _become_the_next_one(orders: socket.socket):
    """Fork for each order; returns in what was forked. This process ends when nobody can order."""
    signal.signal(signal.SIGCHLD, _bury)
    while True:
        order, fds, *_ = socket.recv_fds(orders, 2**20, 4)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    orders.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line, *streams = fds
    if pid := os.fork():
        for fd in streams:
            os.close(fd)
        os.write(line, _NUMBER.pack(pid))
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # whoever started it is gone
            os.write(line, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    os.close(line)
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    return json.loads(order)


def _bury(*_) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _be_a_command(arguments: list[str], path: list[str]) -> None:
    sys.path[:] = path
    sys.argv = ["uiproof", *arguments]
    try:
        runpy.run_module("uiproof", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # As Python ends, but for taking every imported module apart, which takes as long as a test.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    usual_path = list(sys.path)
    for name in IMPORTED.split():
        importlib.import_module(name)
    gc.freeze()  # what is here already is shared by all
    try:
        arguments, folder, environment = _become_the_next_one(
            socket.socket(fileno=int(sys.argv[1]))
        )
    except KeyboardInterrupt:
        os._exit(130)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    own = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    path = [folder, *own, *(part for part in usual_path if part not in own)]
    _be_a_command(arguments, path)
