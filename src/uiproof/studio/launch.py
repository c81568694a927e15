"""Runs that the owner starts and stops in the page.

    launcher = RunLauncher(Path("runs"))
    name = launcher.start("design2code-demo", "blueprint", limit=5)
    launcher.stop(name)

A run is a process `uiproof run` in its own session, so it outlives the page and the studio. Its
progress is read from its directory. Stopping it does what Ctrl-C does in a terminal: the current
case is dropped, and the run can be continued.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread

from uiproof.engine.rundir import is_locked, lock_holder
from uiproof.errors import InputError, UsageError
from uiproof.models.names import is_model_name
from uiproof.registry import is_built_in, resolve_dataset, slug
from uiproof.remote.store import is_url

_LOGS = ".studio"  # hidden, so that it is never taken for a run
_MOST_AT_ONCE = 4
_LOG_SHOWN = 2000  # characters of the end of a log
_ENDED_WELL = (0, 1)  # 1: with failed cases, which the list shows


@dataclass(slots=True)
class StartedRun:
    """A run that was started here."""

    name: str
    dataset: str
    method: str
    process: subprocess.Popen[bytes]
    stopped: bool = False
    problem: str = ""  # the end of its log, if it ended with an error


class RunLauncher:
    """The runs that this studio started; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._started: dict[str, StartedRun] = {}
        self._stopping: set[str] = set()
        self._lock = Lock()

    def start(
        self,
        dataset: str,
        method: str,
        *,
        prompt: str = "",
        limit: int | None = None,
        max_cost: float | None = None,
    ) -> str:
        """Start a run as a process; return its name. Raises `InputError`."""
        if is_url(dataset):
            raise UsageError(
                "Data sets at URLs are not run from the page.",
                remedy="Use `uiproof run` in a terminal, or name a local copy.",
            )
        benchmark, path = resolve_dataset(dataset)
        if not method or (
            ":" in method and not is_model_name(method) and not is_built_in(benchmark, method)
        ):
            raise UsageError(
                f"{method!r} cannot be run from the page.",
                remedy="Choose a built-in method or a model; functions need `uiproof run` in a "
                "terminal.",
            )
        if prompt and not is_model_name(method):
            raise UsageError("Only models have a prompt.", remedy="Leave it empty.")
        with self._lock:
            if sum(one.process.poll() is None for one in self._started.values()) >= _MOST_AT_ONCE:
                raise UsageError(
                    f"{_MOST_AT_ONCE} runs are going on already.", remedy="Wait, or stop one."
                )
            given = dataset if dataset in benchmark.bundled else str(path)
            name = self._free_name(slug(f"{Path(given).name}-{method}"))
            options = {
                "dataset": given,
                "method": method,
                "out": str(self._folder / name),
                "prompt": prompt,
                "limit": limit,
                "max-cost": max_cost,
            }
            # `--name=value`: no value is taken for an option.
            arguments = [
                f"--{key}={value}" for key, value in options.items() if value not in ("", None)
            ]
            log = self._log(name)
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [sys.executable, "-m", "uiproof", "run", "--quiet", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C in the studio's terminal is not meant for it
                )
            self._started[name] = StartedRun(name, dataset, method, process)
            Thread(target=process.wait, daemon=True).start()  # so that it never stays a zombie
        return name

    def stop(self, name: str) -> None:
        """End a run as Ctrl-C does; raise `InputError` if it does not run on this machine."""
        with self._lock:
            started = self._started.get(name)
            if started is not None and started.process.poll() is None:
                started.stopped = True
                started.process.terminate()
                self._stopping.add(name)
                return
        lock = self._folder / name / "lock"
        holder = lock_holder(lock)
        if holder is None or not is_locked(lock) or holder[1] != socket.gethostname():
            raise InputError(f"{name} does not run on this machine.", remedy="Reload the page.")
        try:
            os.kill(holder[0], signal.SIGTERM)
        except OSError as error:
            raise InputError(f"{name} cannot be stopped: {error.strerror}.") from error
        with self._lock:
            self._stopping.add(name)

    def is_stopping(self, name: str) -> bool:
        """Return whether a running run was asked to stop."""
        return name in self._stopping and is_locked(self._folder / name / "lock")

    def started(self) -> list[StartedRun]:
        """Return the runs that have no directory yet, and those that ended with an error."""
        found = []
        with self._lock:
            for one in list(self._started.values()):
                code = one.process.poll()
                if code is None:
                    found += [] if (self._folder / one.name / "run.json").is_file() else [one]
                elif code in _ENDED_WELL or one.stopped:
                    self._forget(one.name)
                else:
                    one.problem = one.problem or self._end_of_log(one.name)
                    found.append(one)
        return found

    def dismiss(self, name: str) -> None:
        """Forget a run that ended with an error."""
        with self._lock:
            if name in self._started and self._started[name].process.poll() is not None:
                self._forget(name)

    def _forget(self, name: str) -> None:
        del self._started[name]
        self._log(name).unlink(missing_ok=True)

    def _log(self, name: str) -> Path:
        return self._folder / _LOGS / f"{name}.log"

    def _end_of_log(self, name: str) -> str:
        try:
            text = self._log(name).read_bytes()[-_LOG_SHOWN:].decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        return text or "It ended without a message."

    def _free_name(self, wanted: str) -> str:
        wanted = wanted[:100].strip(".-") or "run"
        name, number = wanted, 1
        while (self._folder / name).exists() or name in self._started:
            number += 1
            name = f"{wanted}-{number}"
        return name
