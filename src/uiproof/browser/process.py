"""A running Chromium: its process, its connection and its watchdog."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from uiproof.browser.chromium import (
    FONTS_CONF,
    SWITCHES,
    UNATTENDED,
    Chromium,
    confinement,
    find_chromium,
)
from uiproof.browser.devtools import BrowserError, DevTools
from uiproof.errors import MissingDependencyError
from uiproof.process_tree import kill_tree, known_descendants, resident_mb
from uiproof.scratch import ScratchFolder

_START_SECONDS = 60
_END_SECONDS = 3
_WATCH_SECONDS = 0.25
_STDERR_BYTES = 4_096  # bytes kept
# Browser processes exchange pictures through shared memory if there is enough, otherwise through
# files, which cost a tenth more. Containers often have 64 MB.
_SHARED_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 2_000_000_000


class RunningBrowser:
    """A headless Chromium driven over pipes; `close` leaves no process or file behind."""

    def __init__(self, memory_mb: int, fonts: Iterable[bytes] = ()) -> None:
        """Start it, with further font files for `system-ui`."""
        chromium = find_chromium()
        self._scratch = ScratchFolder()
        self._folder = self._scratch.path
        self._kind = chromium.kind
        self._confinement = confinement(chromium.path)
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None
        self._stderr = b""
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        _widen(ours_in)
        self.tools = DevTools(ours_out, ours_in)
        try:
            try:
                (self._folder / "fonts.conf").write_text(FONTS_CONF)
                (self._folder / "fonts").mkdir()
                for number, font in enumerate(fonts):
                    (self._folder / "fonts" / f"{number}.ttf").write_bytes(font)
                if self._confinement.user is not None:
                    os.chown(self._folder, self._confinement.user, -1)
                self._process = self._start(chromium.path, theirs_in, theirs_out)
            finally:
                os.close(theirs_in)
                os.close(theirs_out)
            self.pid = self._process.pid
            self._connect(chromium)
            self.watchdog = self._watchdog = Watchdog(self.pid, memory_mb)
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Return whether the process is running and connected."""
        running = self._process is not None and self._process.poll() is None
        return running and self.tools.connected

    def close(self) -> None:
        """Kill all processes of the browser and remove its files."""
        if self._watchdog is not None:
            self._watchdog.stop()
        if self._process is not None:
            if self._kind == "chromium":  # it removes its files outside of our folder on exit
                with suppress(BrowserError, subprocess.TimeoutExpired):
                    self.tools.browser.post("Browser.close")
                    self._process.wait(_END_SECONDS)
            kill_tree(self._process.pid)
            self._process.wait()
        self.tools.close()
        self._scratch.remove()

    def _start(self, path: Path, commands: int, replies: int) -> subprocess.Popen[bytes]:
        # The browser reads from descriptor 3 and writes to 4, which a shell can set up.
        shell = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
        profile = f"--user-data-dir={self._folder / 'profile'}"
        switches = (
            *UNATTENDED,
            *SWITCHES,
            *_memory_switches(),
            *self._confinement.switches,
            profile,
        )
        # A FONTCONFIG_FILE of the user overrides this one.
        fonts = {"FONTCONFIG_FILE": str(self._folder / "fonts.conf")}
        stderr, errors = os.pipe()
        # Pages can make a browser write a lot, so everything is read and only the end is kept.
        self._reader = threading.Thread(target=self._read_stderr, args=(stderr,), daemon=True)
        self._reader.start()
        try:
            return subprocess.Popen(
                [*shell, *self._confinement.command, str(path), *switches],
                stdin=commands,
                stdout=replies,
                stderr=errors,
                env=fonts | self._confinement.environment(self._folder),
                start_new_session=True,  # Ctrl-C is for us
            )
        finally:
            os.close(errors)

    def _connect(self, chromium: Chromium) -> None:
        """Open the connection; raise `MissingDependencyError` if the browser does not start."""
        try:
            self.tools.start(until=time.monotonic() + _START_SECONDS)
        except BrowserError as error:
            raise MissingDependencyError(
                f"{chromium.path} does not start: {self._last_line() or error}",
                remedy="Install another browser or set UIPROOF_CHROMIUM. If it says that there is "
                "no usable sandbox, allow user namespaces for this user, or run as root.",
            ) from error

    def _read_stderr(self, stderr: int) -> None:
        while text := os.read(stderr, 65_536):
            self._stderr = (self._stderr + text)[-_STDERR_BYTES:]
        os.close(stderr)

    def _last_line(self) -> str:
        self._reader.join(_END_SECONDS)
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


class Watchdog:
    """A thread that kills a browser that takes too long or too much memory.

    - within `limit(seconds)`, the browser is killed when the time is up, so no call waits forever;
      `timed_out` tells that this happened
    - a browser process that exceeds `memory_mb` is killed, which crashes its page
    """

    def __init__(self, pid: int, memory_mb: int) -> None:
        self._pid = pid
        self._memory_mb = memory_mb
        self._deadline: float | None = None
        self._stopped = threading.Event()
        self.timed_out = False
        threading.Thread(target=self._watch, name="browser-watchdog", daemon=True).start()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Limit the time that the block may take; an outer limit stays in force."""
        outer = self._deadline
        deadline = time.monotonic() + seconds
        self._deadline = deadline if outer is None else min(outer, deadline)
        try:
            yield
        finally:
            self._deadline = outer

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(_WATCH_SECONDS):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self.timed_out = True
                kill_tree(self._pid)
                return
            for pid in known_descendants(self._pid):
                if resident_mb(pid) > self._memory_mb:
                    kill_tree(pid)


def _memory_switches() -> tuple[str, ...]:
    try:
        enough = shutil.disk_usage(_SHARED_MEMORY).free >= _ENOUGH_BYTES
    except OSError:
        enough = False
    return () if enough else ("--disable-dev-shm-usage",)


def _widen(pipe: int) -> None:
    """Enlarge a pipe so that it holds a whole screenshot, if the system can do that."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)  # type: ignore[attr-defined,unused-ignore]
