"""One writer per run at a URL: an object that says who writes there, and when it last did.

Object stores have no locks. Two writers that begin within the same moment may both believe that
they are alone; this catches what happens in practice, a command that was started twice.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from uiproof.errors import RunLockedError
from uiproof.remote.mirror import write_whole
from uiproof.remote.store import Store

CLAIM = "writer.json"
STALE_SECONDS = 120.0  # without a sign of life a writer is taken for dead
BEAT_SECONDS = 30.0
_SETTLE_SECONDS = 0.2  # until another one that claims at the same moment has overwritten us


@dataclass(frozen=True, slots=True)
class _Writer:
    owner: str
    who: str
    beat: float  # when it last said that it lives, in seconds since 1970


class Claim:
    """The right to write to a run at a URL."""

    def __init__(self, store: Store, identity: Path) -> None:
        self._store = store
        self._owner = _identity(identity)
        self._beaten = 0.0

    def take(self) -> None:
        """Become the writer; raises `RunLockedError` while another one lives.

        One with our own identity is dead: of this machine only one process comes so far at a time.
        """
        writer = self._writer()
        if writer is not None and writer.owner != self._owner and _lives(writer):
            raise self._locked(writer)
        self._beat()
        time.sleep(_SETTLE_SECONDS)
        self._check()

    def beat(self) -> None:
        """Show that this writer lives, where that is due; raises when another took its place."""
        if time.monotonic() - self._beaten >= BEAT_SECONDS:
            self._check()
            self._beat()

    def release(self) -> None:
        """Let the next writer begin at once."""
        writer = self._writer()
        if writer is not None and writer.owner == self._owner:
            self._store.delete(CLAIM)

    def _check(self) -> None:
        writer = self._writer()
        if writer is not None and writer.owner != self._owner:
            raise self._locked(writer)

    def _beat(self) -> None:
        who = f"process {os.getpid()} on {socket.gethostname()}"
        content = {"owner": self._owner, "who": who, "beat": time.time()}
        self._store.write(CLAIM, json.dumps(content).encode())
        self._beaten = time.monotonic()

    def _writer(self) -> _Writer | None:
        content = self._store.read(CLAIM)
        try:
            about: dict[str, Any] = json.loads(content or b"null") or {}
            return _Writer(str(about["owner"]), str(about["who"]), float(about["beat"]))
        except (ValueError, KeyError, TypeError):
            return None  # none, or one that says nothing

    def _locked(self, writer: _Writer) -> RunLockedError:
        ago = max(time.time() - writer.beat, 0)
        return RunLockedError(
            f"{self._store.url} is being written by {writer.who}, last seen {ago:.0f} s ago.",
            remedy="Wait for it to finish or stop it, or write to another place. "
            f"After {STALE_SECONDS:.0f} s without a sign of life the same command continues.",
        )


def _lives(writer: _Writer) -> bool:
    return abs(time.time() - writer.beat) < STALE_SECONDS


def _identity(path: Path) -> str:
    """Who writes, kept beside the local copy so that a later process is the same writer."""
    try:
        return path.read_text("utf-8")
    except OSError:
        write_whole(path, uuid4().hex)
        return path.read_text("utf-8")
