"""Browsers that were started here: one for pages that are looked at, one for pages acted on."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uiproof.browser.chromium import (
    SWITCHES,
    UNATTENDED,
    Chromium,
    network_namespace,
    sandbox_switches,
)
from uiproof.browser.devtools import BrowserError, DevTools
from uiproof.errors import MissingDependencyError, RenderError
from uiproof.proctree import kill_tree
from uiproof.scratch import ScratchFolder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

_START_SECONDS = 60
_END_SECONDS = 3
_MOST_WORDS = 4_096  # bytes of complaints

# Playwright switches the popup blocker off; hostile pages are a reason to keep it.
_UNWANTED_DEFAULTS = ("--disable-popup-blocking",)

# What Playwright says when the process through which it talks to browsers is gone.
_DRIVER_DIED = re.compile("connection closed", re.IGNORECASE)


class RunningBrowser(Protocol):
    """A browser that can be watched and ended."""

    pid: int

    @property
    def alive(self) -> bool:
        """Whether the browser is there, as far as is known."""

    def survived(self, error: Exception) -> bool:
        """Whether the browser can still be used after this."""

    def close(self) -> None:
        """End the browser; nothing of it remains."""


class PipedChromium:
    """A browser that we talk to directly."""

    def __init__(self, chromium: Chromium) -> None:
        self._scratch = ScratchFolder()
        self._folder = self._scratch.path
        self._kind = chromium.kind
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""  # the last of what the browser complains about
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        _widen(ours_in)
        self.tools = DevTools(ours_out, ours_in)
        try:
            try:
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

    def survived(self, error: Exception) -> bool:  # noqa: ARG002 - if it did not, that is known
        """Whether the browser can still be used after this."""
        return self.alive

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
        self._scratch.remove()

    def _start(self, path: Path, commands: int, replies: int) -> subprocess.Popen[bytes]:
        # The browser listens at descriptor 3 and speaks at 4; a shell can put them there.
        shell = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
        profile = f"--user-data-dir={self._folder / 'profile'}"
        switches = (*UNATTENDED, *SWITCHES, *sandbox_switches(), profile)
        listening, errors = os.pipe()
        # Pages can make a browser say a lot, so it is heard to the end and only the last is kept.
        self._listener = threading.Thread(target=self._listen, args=(listening,), daemon=True)
        self._listener.start()
        try:
            return subprocess.Popen(
                [*shell, *network_namespace(), str(path), *switches],
                stdin=commands,
                stdout=replies,
                stderr=errors,
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


class PlaywrightChromium:
    """A browser with a mouse and a keyboard, which are Playwright's."""

    def __init__(self, chromium: Chromium) -> None:
        from playwright.sync_api import Error

        self._playwright = _start_playwright()
        self._scratch = ScratchFolder()
        self._folder = self._scratch.path
        try:
            self.browser: Browser = self._playwright.chromium.launch(
                executable_path=self._launcher(chromium.path),
                args=[*SWITCHES, *sandbox_switches()],
                ignore_default_args=list(_UNWANTED_DEFAULTS),
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            self.pid = int((self._folder / "pid").read_text())
        except BaseException as error:
            self._forget()
            if isinstance(error, Error):
                raise _does_not_start(chromium, _told_by_playwright(error)) from error
            raise

    @property
    def alive(self) -> bool:
        """Whether the browser is there, as far as Playwright's driver knows."""
        return self.browser.is_connected()

    def survived(self, error: Exception) -> bool:
        """Whether the browser can still be used after this."""
        return self.alive and not _DRIVER_DIED.search(str(error))

    def close(self) -> None:
        """End the browser, politely or not; nothing of it remains."""
        from playwright.sync_api import Error

        with suppress(Error):
            self.browser.close()
        kill_tree(self.pid)
        self._forget()

    def _forget(self) -> None:
        from playwright.sync_api import Error

        with suppress(Error):  # its driver may be dead
            self._playwright.stop()
        self._scratch.remove()

    def _launcher(self, path: Path) -> Path:
        """A script that notes its process id and becomes the browser, without network if it can."""
        launcher = self._folder / "chromium"
        command = " ".join(shlex.quote(part) for part in (*network_namespace(), str(path)))
        note = shlex.quote(str(self._folder / "pid"))
        launcher.write_text(f'#!/bin/sh\necho $$ > {note}\nexec {command} "$@"\n')
        launcher.chmod(0o700)
        return launcher


def _start_playwright() -> Playwright:
    from playwright.sync_api import Error, sync_playwright

    try:
        return sync_playwright().start()
    except Error as error:
        raise RenderError(
            "A browser to act in cannot be started from this thread: an asyncio loop runs in it, "
            "or another renderer has one open.",
            remedy="Close the other renderer, or use a thread of its own.",
        ) from error


def _does_not_start(chromium: Chromium, why: str) -> MissingDependencyError:
    """The machine is at fault, not the page that was to be shown."""
    return MissingDependencyError(
        f"{chromium.path} does not start: {why}",
        remedy="Install another browser, or name one in UIPROOF_CHROMIUM.",
    )


def _told_by_playwright(error: Exception) -> str:
    """What a browser that did not start wrote last, else what Playwright says of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    written = [line for line in lines if "[err]" in line]
    return (written or lines or [type(error).__name__])[-1 if written else 0]


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole screenshot where the system has such pipes: fewer turns for it."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)  # type: ignore[attr-defined,unused-ignore]
