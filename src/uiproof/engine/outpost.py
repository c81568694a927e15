"""The far end of a worker on another machine: a judge that may not see the files of the run.

It works in a worker process (`processes.py`) in place of the judge, and has the judge inside. The
machine that started the run first asks it what is here, sends what is not, lets it make the judge,
and then one case after the other.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from uiproof.engine.executors import Stage, perform
from uiproof.engine.places import Outgoing, Part, Place, pack, unpack, write_part
from uiproof.errors import InputError, MissingDependencyError, UiproofError
from uiproof.remote import mirror

BEACON = ".beacon"  # lies in a run directory while workers have to find out whether they see it


class Outpost:
    """Everything that one worker elsewhere is asked to do, in this order."""

    def __init__(self) -> None:
        self._judge: Any = None
        self._folders: dict[str, Path] = {}
        self._elsewhere: set[str] = set()  # folders that are not where the run has them
        self._outgoing: Outgoing | None = None
        self._arriving: Path | None = None

    def identity(self, fingerprint: bytes) -> dict[str, Any]:
        """What has to be the same on all machines for scores to be comparable."""
        return {"uiproof": version("uiproof"), "fingerprint": dict(_loaded(fingerprint, {})())}

    def find(self, place: Place, run: Path) -> Path | None:
        """Where this machine has a place: where the run has it, or fetched from its URL."""
        if place.is_same(place.folder, run=run):
            return place.folder
        if place.url is None:
            return None
        found = mirror.fetch(place.url)
        found = found.parent if found.is_file() else found
        if not place.is_same(found, run=run):
            raise InputError(
                f"{place.url} has other files than when the run began.",
                remedy="Start the command again; data must not change during a run.",
            )
        return found

    def stored(self, key: str) -> Path | None:
        """Where a folder is that was sent here, in this run or an earlier one."""
        home = mirror.sent_home(key)
        if home.is_dir():
            mirror.keep(home)
        return home if home.is_dir() else None

    def receive(self, part: Part) -> None:
        """Take one part of a folder that is sent."""
        if self._arriving is None:
            self._arriving = mirror.sent_home(f".{uuid4().hex}")
            self._arriving.mkdir(parents=True)
        write_part(self._arriving, part)

    def complete(self, key: str) -> Path:
        """Put the folder that was received where all workers of this machine find it."""
        assert self._arriving is not None
        arrived, self._arriving = self._arriving, None
        home = mirror.sent_home(key)
        mirror.keep(home)
        try:
            arrived.rename(home)
        except OSError:
            shutil.rmtree(arrived, ignore_errors=True)
            if not home.is_dir():  # else another run was faster
                raise
        mirror.make_room(home)
        return home

    def begin(
        self, recipe: bytes, run: Path, token: str, homes: Mapping[str, tuple[Path, Path]]
    ) -> None:
        """Make the judge. `homes` are places by name: where they are in the run, and here."""
        for _, ours in homes.values():
            mirror.keep(ours)
        here = run
        if not _sees(run, token):
            # The guardian of this process removes its temporary files, however it ends.
            here = Path(tempfile.mkdtemp(prefix="run-"))
            self._outgoing = Outgoing(here)
        pairs = {"run": (run, here), **homes}
        self._folders = {name: ours for name, (_, ours) in pairs.items()}
        self._elsewhere = {name for name, (theirs, ours) in pairs.items() if theirs != ours}
        self._judge = _loaded(recipe, self._folders)()

    def carry(self, stage: Stage, request: bytes) -> tuple[bytes, dict[str, bytes]]:
        """Let the judge do one thing: its answer, and the files that it wrote for the run."""
        try:
            answer = True, perform(self._judge, stage, *unpack(request, self._folders))
        except UiproofError as error:
            answer = False, error
        reply = pack(answer, self._folders, in_texts=self._elsewhere)
        return reply, self._outgoing.take() if self._outgoing else {}

    def close(self) -> None:
        """Close the judge."""
        if self._judge is not None:
            self._judge.close()


def _loaded(packed: bytes, folders: Mapping[str, Path]) -> Any:
    try:
        return unpack(packed, folders)
    except ImportError as error:
        raise MissingDependencyError(
            f"The benchmark cannot be loaded: {error}.",
            remedy="Install the same packages on every node.",
        ) from error


def _sees(run: Path, token: str) -> bool:
    try:
        return (run / BEACON).read_text("ascii") == token
    except (OSError, ValueError):
        return False
