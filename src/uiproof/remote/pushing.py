"""A run that lives at a URL: worked on in a local copy, pushed while it runs and when it ends.

Who reads at the URL sees a valid run at any time: `run.json` comes first, pictures before the
journal lines that name them, `summary.json` last, and it goes first when a run is continued.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from uiproof.engine.lock import locked
from uiproof.errors import RunLockedError, StorageError, UiproofError
from uiproof.remote.claim import BEAT_SECONDS, Claim
from uiproof.remote.copies import Copy
from uiproof.remote.mirror import Home, home_of, located, make_room
from uiproof.remote.room import PUSHED
from uiproof.remote.store import Store
from uiproof.remote.urls import here, is_url
from uiproof.settings import Settings

_log = logging.getLogger("uiproof")

_SHARE = 20  # a push may take one part of so many of the time
_FIRST_SECONDS = 2.0  # soon after the start: others see that there is a run
_LONGEST_PAUSE = 120.0
_LAST_PAUSES = (1.0, 2.0, 4.0, 8.0)  # between the tries at the end


def run_place(out: str | Path, *below: str) -> Path:
    """The directory to work in for a run that the user wants at a path or at a URL."""
    if not isinstance(out, str) or not is_url(out):
        return Path(out, *below)
    if (path := here(out)) is not None:
        return path.joinpath(*below)
    return home_of("/".join((out.rstrip("/"), *below)), "runs").content


def holds_run(out: str | Path) -> bool:
    """Whether there is a run at a path or a URL."""
    if isinstance(out, str) and is_url(out) and here(out) is None:
        return Store(out).read("run.json") is not None
    return (run_place(out) / "run.json").is_file()


def run_url(directory: Path) -> str | None:
    """The URL that a directory of `run_place` is pushed to; None for one that just lies here."""
    found = located(directory, "runs")
    return None if found is None or found[1] else found[0].url


@contextmanager
def kept_at_url(directory: Path) -> Iterator[None]:
    """While a run is written to `directory`, keep it at its URL, too, if it has one.

    What is there is pulled first. Raises `RunLockedError` while another machine writes there, and
    `StorageError` when in the end not everything could be pushed.
    """
    found = located(directory, "runs")
    if found is None or found[1]:
        yield
        return
    home = found[0]
    with _alone_here(home):
        pusher = _Pusher(home)
        try:
            yield
        except BaseException as error:
            try:
                pusher.finish()
            except UiproofError as problem:  # why the run ended matters more
                error.add_note(str(problem))
                _log.warning("%s", problem)
            raise
        pusher.finish()


@contextmanager
def _alone_here(home: Home) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(home.folder / "lock"))
        except RunLockedError as error:
            message = error.message.replace(str(home.folder), home.url)
            raise RunLockedError(message, remedy=error.remedy) from None
        yield


class _Pusher:
    """Pulls, then pushes in a thread of its own until the run has ended."""

    def __init__(self, home: Home) -> None:
        self._home = home
        store = Store(home.url)
        self._claim = Claim(store, home.folder / "identity")
        self._claim.take()
        self._copy = Copy(store, home, self._claim.beat)
        try:
            self._copy.pull()
        except BaseException:
            self._claim.release()
            raise
        (home.folder / PUSHED).unlink(missing_ok=True)
        self._interval = Settings.from_environment().push_seconds
        self._ended = threading.Event()
        self._lost: RunLockedError | None = None
        self._thread = threading.Thread(target=self._push_on, daemon=True, name="uiproof push")
        self._thread.start()

    def finish(self) -> None:
        """Push what is left, and let others write."""
        self._ended.set()
        self._thread.join()
        for pause in (*_LAST_PAUSES, None):
            if self._lost:
                raise self._lost
            try:
                self._copy.push(last=True)
                self._claim.release()
            except RunLockedError:
                raise
            except UiproofError as error:
                if pause is None:
                    raise StorageError(
                        f"Not everything could be written to {self._home.url}: {error.message}",
                        remedy=f"It is kept in {self._home.content}. "
                        "The same command on this machine continues with it.",
                    ) from error
                time.sleep(pause)
            else:
                (self._home.folder / PUSHED).touch()
                make_room(self._home.folder)
                return

    def _push_on(self) -> None:
        pause, failures = min(_FIRST_SECONDS, self._interval), 0
        while not self._wait(pause):
            began = time.monotonic()
            try:
                self._copy.push()
            except RunLockedError as error:
                self._lost = error
                _log.warning("%s Nothing more is written there.", error.message)
                return
            except Exception as error:  # noqa: BLE001 - the end tries again and tells
                failures += 1
                pause = min(self._interval * 2**failures, _LONGEST_PAUSE)
                if failures == 1:
                    _log.warning("%s The run goes on; it is tried again.", error)
            else:
                failures = 0
                pause = max(self._interval, _SHARE * (time.monotonic() - began))

    def _wait(self, seconds: float) -> bool:
        """Wait, with signs of life in between; whether the run has ended."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._ended.wait(min(left, BEAT_SECONDS)):
                return True
            try:
                self._claim.beat()
            except RunLockedError as error:
                self._lost = error
                _log.warning("%s Nothing more is written there.", error.message)
                return True
            except UiproofError:
                continue  # the next push meets the same trouble and tells
        return self._ended.is_set()
