"""Programs that are started to be disturbed, and the means to disturb them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import uiproof
from uiproof.browser.chromium import MORE_VARIABLES

TESTS = Path(__file__).resolve().parents[1]
UIPROOF = (sys.executable, "-m", "uiproof")
# The code under test is the one that this process imports.
_SOURCE = str(Path(uiproof.__file__).parents[1])
_PATH = os.pathsep.join(
    (*(str(TESTS / name) for name in ("faults", "engine", "toy_benchmark")), _SOURCE)
)


def wait_until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What the condition gives once that is something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
    return found


def living(marker: str) -> list[int]:
    """The processes that carry a marker in their environment, after a moment to end."""

    def carry() -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found

    deadline = time.monotonic() + 10
    while (found := carry()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def processes(marker: str, *words: str) -> list[int]:
    """The processes with a marker whose command line holds all words, the oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if all(word in command for word in words):
                    found.append(int(entry.name))
    return sorted(found)


def ignored(pid: int) -> set[signal.Signals]:
    """The signals that a process ignores."""
    status = Path("/proc", str(pid), "status").read_text()
    mask = int(status.split("SigIgn:")[1].split()[0], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}


class Started:
    """A program that runs, with a folder for its temporary files and a mark on all it starts."""

    def __init__(
        self,
        command: Sequence[object],
        folder: Path,
        scratch: Path,
        *,
        inside: Sequence[str] = (),
        **environment: str,
    ) -> None:
        self.marker = f"UIPROOF_TEST_FAULTS={uuid.uuid4().hex}"
        name, value = self.marker.split("=")
        self._process = subprocess.Popen(
            [*inside, *map(str, command)],
            cwd=folder,
            env={
                **os.environ,
                MORE_VARIABLES: name,
                "PYTHONPATH": _PATH,
                "UIPROOF_CACHE": str(folder / "cache"),
                "TMPDIR": str(scratch),
                name: value,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # The tests themselves may have been started with `nohup`.
            preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_DFL),
        )
        self.pid = self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program alone, as a person or a cluster would."""
        self._process.send_signal(number)

    def line(self) -> str:
        """The next line on standard output."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def finished(self, seconds: float = 120) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        out, err = self._process.communicate(timeout=seconds)
        return self._process.returncode, out, err

    def end(self) -> None:
        """Kill what still runs."""
        self._process.kill()
        self._process.communicate()


def journal_ids(run: Path) -> list[str]:
    """The ids in a journal, line by line, as they were written."""
    from uiproof.engine.rundir import decode

    return [decode(line).id for line in (run / "journal.jsonl").read_bytes().splitlines()]


def lines_in(run: Path) -> int:
    """How many cases are written down."""
    journal = run / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def words(folder: Path, count: int, *more: str) -> Path:
    """A data set of the toy benchmark with many words, and some special ones at the end."""
    folder.mkdir(exist_ok=True)
    (folder / "words.txt").write_text("\n".join([*(f"w{n}" for n in range(count)), *more]))
    return folder


class Disk:
    """A disk of its own that only programs see which are started with `inside`.

    It lives in a mount namespace that a sleeping process holds, so that nothing of it remains,
    whatever becomes of the test.
    """

    def __init__(
        self, folder: Path, options: str = "", *, of: Path | None = None, read_only: bool = False
    ) -> None:
        if shutil.which("unshare") is None or shutil.which("nsenter") is None:
            pytest.skip("needs unshare and nsenter to make a disk for the test alone")
        self.folder = folder
        root = os.geteuid() == 0
        what = (
            f"mount --bind '{of}' '{folder}'" if of else f"mount -t tmpfs -o {options} t '{folder}'"
        )
        if read_only:
            what += f" && mount -o remount,bind,ro '{folder}'"
        command = ["unshare", "--mount", *([] if root else ["--map-root-user"])]
        self._holder = subprocess.Popen(
            [*command, "sh", "-c", f"{what} && echo ready && exec sleep 600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            self.close()
            pytest.skip("this user may not mount a disk for the test alone")
        self.inside = [
            "nsenter",
            f"--target={self._holder.pid}",
            "--mount",
            f"--wd={folder.parent}",
        ]
        if not root:
            self.inside += ["--user", "--preserve-credentials"]

    def seen(self) -> Path:
        """The disk's folder as this process can look into it."""
        return Path("/proc", str(self._holder.pid), "root", *self.folder.parts[1:])

    def grow(self, size: str) -> None:
        """Make room."""
        options = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        subprocess.run([*self.inside, *options], check=True)

    def close(self) -> None:
        """Let the disk go."""
        self._holder.kill()
        self._holder.communicate()
