"""The local copy of a run that lives at a URL: what is pulled into it, what is pushed from it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any
from uuid import uuid4

from uiproof.engine.journal import Journal, is_empty
from uiproof.engine.rundir import RunDirectory, mismatch
from uiproof.engine.storage import access
from uiproof.errors import InputError, RunMismatchError
from uiproof.remote.claim import CLAIM
from uiproof.remote.mirror import CONNECTIONS, Home, bring, read_known, write_known
from uiproof.remote.store import Store, Version

_MANIFEST, _JOURNAL, _SUMMARY = "run.json", "journal.jsonl", "summary.json"
_LOG = "workers.log"
_NOT_PUSHED = {"lock", _JOURNAL}  # of the files directly in a run; the journal has its own way
_CHUNK = 1 << 20

Sign = tuple[int, int]  # size and time of a file: they change when it does


class Copy:
    """A run's directory and the store that it belongs to. `alive` is called now and then."""

    def __init__(self, store: Store, home: Home, alive: Callable[[], None]) -> None:
        self._store, self._home, self._alive = store, home, alive
        self._run = RunDirectory(home.content)
        self._pushed: dict[str, Sign] = {}  # what is there as it is here
        self._journal_there = -1  # how much of the journal is there
        # Whether the run was ever there; if it is not any more, somebody has deleted it.
        self._was_there = home.folder / "was-there"

    def pull(self) -> None:
        """Make the directory what a run at the URL continues from.

        What is there counts, together with the cases that are only here: those that a process of
        this machine finished but could not push before it died.
        """
        listed = self._store.listing(missing_ok=True)
        listed.pop(CLAIM, None)
        if listed and _MANIFEST not in listed:
            raise InputError(
                f"{self._home.url} is neither empty nor a run.",
                remedy="Choose another place for the run.",
            )
        self._forget_what_was_replaced(listed)
        with access(self._home.content, "made"):
            self._home.content.mkdir(exist_ok=True)
        if not listed:
            return
        journal = listed.pop(_JOURNAL, None)
        self._recognise(listed)
        bring(self._store, listed, self._home, listed=listed)
        write_known(self._home, {})  # only for a pull that was interrupted: all may change now
        self._pushed = {name: sign for name, sign in self._files() if name in listed}
        if journal is not None:
            self._join_journals()
        self._was_there.touch()

    def push(self, *, last: bool = False) -> None:
        """Bring the URL up to date; with the summary only where the run has ended."""
        if not (self._home.content / _MANIFEST).exists():
            return  # the run has not begun
        lines = _whole_lines(self._run.journal)
        # Listed only now: whatever those lines name is among these files.
        here = dict(self._files())
        summary, manifest = here.pop(_SUMMARY, None), here.pop(_MANIFEST)
        if not last:
            here.pop(_LOG, None)  # an empty one goes in the end
        self._put(_MANIFEST, manifest)
        self._was_there.touch()
        kept = {*here, _MANIFEST, *([_SUMMARY] if summary else [])}
        for name in self._pushed.keys() - kept:
            self._store.delete(name)
            del self._pushed[name]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            waiting = [pool.submit(self._put, name, sign) for name, sign in here.items()]
            try:
                for one in waiting:
                    one.result()
                    self._alive()
            finally:
                pool.shutdown(cancel_futures=True)
        self._put_journal(lines)
        if last and summary is not None:
            self._put(_SUMMARY, summary)

    def _forget_what_was_replaced(self, listed: dict[str, Version]) -> None:
        """A copy of a run that is not there any more must not come back to life."""
        was_there = self._was_there.exists()
        if listed and (self._home.content / _MANIFEST).exists():
            mine, theirs = self._run.manifest, self._remote_manifest()
            if mine.get("created") == theirs.get("created"):
                return
            if not was_there:
                if (difference := mismatch(theirs, mine)) and not is_empty(self._run.journal):
                    raise RunMismatchError(
                        f"{self._home.url} holds another run than {self._home.content}, which "
                        f"could not be written there: {difference}.",
                        remedy="Delete one of them, or write to another place.",
                    )
                return
        if was_there:
            with access(self._home.content, "deleted"):
                shutil.rmtree(self._home.content, ignore_errors=True)
                self._was_there.unlink()
            write_known(self._home, {})

    def _remote_manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads(self._store.read(_MANIFEST) or b"")
        except ValueError as error:
            raise InputError(f"{self._home.url}/{_MANIFEST} is damaged: {error}.") from error
        return manifest

    def _recognise(self, listed: dict[str, Version]) -> None:
        """What this machine has pushed need not come back."""
        known = read_known(self._home)
        for name, sign in self._files():
            version = listed.get(name)
            # What changes from session to session is small: it comes always.
            if version is None or name in known or "/" not in name or sign[0] != version.size:
                continue
            if _may_be(self._home.content / name, version):
                known[name] = list(astuple(version))
        write_known(self._home, known)

    def _join_journals(self) -> None:
        journal = self._run.journal
        with self._partial() as theirs:
            self._store.get(_JOURNAL, theirs)
            for one in (journal, theirs):
                with Journal(one):
                    pass  # cuts off a torn last line
            self._journal_there = theirs.stat().st_size
            if _begins_with(journal, theirs):
                return
            if not _begins_with(theirs, journal):
                _append_missing(theirs, journal)
            with access(journal, "written"):
                theirs.replace(journal)

    def _put(self, name: str, sign: Sign) -> None:
        if self._pushed.get(name) != sign:
            self._store.put(name, self._home.content / name)
            self._pushed[name] = sign

    def _put_journal(self, size: int) -> None:
        if size in (0, self._journal_there):
            return
        with self._partial() as snapshot:  # the journal itself grows meanwhile
            with (
                access(snapshot, "written"),
                self._run.journal.open("rb") as journal,
                snapshot.open("wb") as target,
            ):
                for start in range(0, size, _CHUNK):
                    target.write(journal.read(min(_CHUNK, size - start)))
            self._store.put(_JOURNAL, snapshot)
        self._journal_there = size

    def _files(self) -> Iterator[tuple[str, Sign]]:
        """What is pushed as it is; not the files that are just being made."""
        root = self._home.content
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(folder, name)
                relative = path.relative_to(root).as_posix()
                if name.startswith(".") or name.endswith(".tmp") or relative in _NOT_PUSHED:
                    continue
                try:
                    found = path.stat()
                except FileNotFoundError:
                    continue  # it was there for a moment only
                yield relative, (found.st_size, found.st_mtime_ns)

    @contextmanager
    def _partial(self) -> Iterator[Path]:
        path = self._home.folder / f"partial-{uuid4().hex}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


def _whole_lines(journal: Path) -> int:
    """How many bytes of a journal are finished lines."""
    try:
        with journal.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(end - _CHUNK, 0)
                file.seek(start)
                if (found := file.read(end - start).rfind(b"\n")) >= 0:
                    return start + found + 1
                end = start
    except FileNotFoundError:
        pass
    return 0


def _may_be(path: Path, version: Version) -> bool:
    """Whether a file of the same size can be that version; many stores tell its MD5."""
    told = (version.token or "").strip('"')
    if not re.fullmatch(r"[0-9a-f]{32}", told):
        return True
    with path.open("rb") as file:
        return hashlib.file_digest(file, _md5).hexdigest() == told


def _md5() -> hashlib._Hash:
    return hashlib.md5(usedforsecurity=False)


def _begins_with(longer: Path, shorter: Path) -> bool:
    size = shorter.stat().st_size
    if longer.stat().st_size < size:
        return False
    with longer.open("rb") as one, shorter.open("rb") as other:
        return all(
            one.read(min(_CHUNK, size - start)) == other.read(min(_CHUNK, size - start))
            for start in range(0, size, _CHUNK)
        )


def _append_missing(target: Path, source: Path) -> None:
    """Add the lines of cases that only `source` has."""
    with target.open("rb") as file:
        there = {json.loads(line)["id"] for line in file}
    with source.open("rb") as file, target.open("ab") as end:
        for line in file:
            if json.loads(line)["id"] not in there:
                end.write(line)
