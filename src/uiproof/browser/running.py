"""A Chromium process that was started here, and the conversation with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from uiproof.browser.chromium import SWITCHES, UNATTENDED, Chromium, confinement
from uiproof.browser.devtools import BrowserError, DevTools
from uiproof.errors import MissingDependencyError
from uiproof.proctree import kill_tree

_START_SECONDS = 60
_END_SECONDS = 3
_MOST_WORDS = 4_096  # bytes of complaints


class RunningBrowser:
    """A headless Chromium that is talked to over pipes. `close` leaves nothing of it behind."""

    def __init__(self, chromium: Chromium) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="uiproof-"))
        self._kind = chromium.kind
        self._confinement = confinement(chromium.path)
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""  # the last of what the browser complains about
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        _widen(ours_in)
        self.tools = DevTools(ours_out, ours_in)
        try:
            try:
                if self._confinement.user is not None:
                    os.chown(self._folder, self._confinement.user, -1)
                self._process = self._start(chromium.path, theirs_in, theirs_out)
            finally:
                os.close(theirs_in)
                os.close(theirs_out)
            self.pid = self._process.pid
            try:
                self.tools.greet(until=time.monotonic() + _START_SECONDS)
            except BrowserError as error:
                raise _does_not_start(chromium, self._last_words() or str(error)) from error
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the browser is there."""
        running = self._process is not None and self._process.poll() is None
        return running and self.tools.connected

    def close(self) -> None:
        """End the browser, politely or not; nothing of it remains."""
        if self._process is not None:
            if self._kind == "chromium":  # it has files outside of its folder, and takes them along
                with suppress(BrowserError, subprocess.TimeoutExpired):
                    self.tools.browser.post("Browser.close")
                    self._process.wait(_END_SECONDS)
            kill_tree(self._process.pid)
            self._process.wait()
        self.tools.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, path: Path, commands: int, replies: int) -> subprocess.Popen[bytes]:
        # The browser listens at descriptor 3 and speaks at 4; a shell can put them there.
        shell = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
        profile = f"--user-data-dir={self._folder / 'profile'}"
        switches = (*UNATTENDED, *SWITCHES, *self._confinement.switches, profile)
        listening, errors = os.pipe()
        # Pages can make a browser say a lot, so it is heard to the end and only the last is kept.
        self._listener = threading.Thread(target=self._listen, args=(listening,), daemon=True)
        self._listener.start()
        try:
            return subprocess.Popen(
                [*shell, *self._confinement.command, str(path), *switches],
                stdin=commands,
                stdout=replies,
                stderr=errors,
                env=self._confinement.environment(self._folder),
                start_new_session=True,  # Ctrl-C is for us
            )
        finally:
            os.close(errors)

    def _listen(self, errors: int) -> None:
        while said := os.read(errors, 65_536):
            self._said = (self._said + said)[-_MOST_WORDS:]
        os.close(errors)

    def _last_words(self) -> str:
        self._listener.join(_END_SECONDS)
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


def _does_not_start(chromium: Chromium, why: str) -> MissingDependencyError:
    """The machine is at fault, not the page that was to be shown."""
    return MissingDependencyError(
        f"{chromium.path} does not start: {why}",
        remedy="Install another browser, or name one in UIPROOF_CHROMIUM. If it says that there is "
        "no usable sandbox, allow user namespaces to this user, or run as root.",
    )


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole screenshot where the system has such pipes: fewer turns for it."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)  # type: ignore[attr-defined,unused-ignore]
