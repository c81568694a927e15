"""A run at a URL: executed in a local copy, which is pushed while it runs and when it ends.

Readers of the URL see a valid run at any time: `run.json` is pushed first, pictures before the
journal lines that name them, and `summary.json` last; it is deleted first when a run continues.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any
from uuid import uuid4

from uiproof.engine.rundir import (
    RunDirectory,
    cut_torn_line,
    is_empty,
    locked,
    mismatch,
    whole_lines,
)
from uiproof.errors import InputError, RunLockedError, RunMismatchError, StorageError, UiproofError
from uiproof.files import access
from uiproof.remote.mirror import (
    CONNECTIONS,
    PUSHED,
    Home,
    bring,
    evict,
    home_of,
    located,
    write_known,
    write_whole,
)
from uiproof.remote.store import Store, Version, here, is_url
from uiproof.settings import Settings

_log = logging.getLogger("uiproof")

_SHARE = 20  # a push may take one part of so many of the time
_FIRST_SECONDS = 2.0  # soon after the start: others see that there is a run
_LONGEST_PAUSE = 120.0
_LAST_PAUSES = (1.0, 2.0, 4.0, 8.0)  # between the tries at the end


def run_place(out: str | Path, *below: str) -> Path:
    """Return the local directory for a run at a path or URL."""
    if not isinstance(out, str) or not is_url(out):
        return Path(out, *below)
    if (path := here(out)) is not None:
        return path.joinpath(*below)
    return home_of("/".join((out.rstrip("/"), *below)), "runs").content


def holds_run(out: str | Path) -> bool:
    """Return whether there is a run at a path or a URL."""
    if isinstance(out, str) and is_url(out) and here(out) is None:
        return Store(out).read("run.json") is not None
    return (run_place(out) / "run.json").is_file()


def run_url(directory: Path) -> str | None:
    """Return the URL that a directory of `run_place` is pushed to; None for a local run."""
    found = located(directory, "runs")
    return None if found is None or found[1] else found[0].url


@contextmanager
def kept_at_url(directory: Path) -> Iterator[None]:
    """Push a run to its URL, if it has one, while it is written to `directory`.

    The existing run is pulled first. Raise `RunLockedError` while another machine writes there,
    and `StorageError` if not everything could be pushed in the end.
    """
    found = located(directory, "runs")
    if found is None or found[1]:
        yield
        return
    home = found[0]
    with locked(home.folder / "lock", home.url):
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


class _Pusher:
    """Pull, then push in a background thread until the run has ended."""

    def __init__(self, home: Home) -> None:
        self._home = home
        store = Store(home.url)
        self._lease = WriterLease(store, home.folder / "identity")
        self._lease.acquire()
        self._copy = Copy(store, home, self._lease.renew)
        try:
            self._copy.pull()
        except BaseException:
            self._lease.release()
            raise
        (home.folder / PUSHED).unlink(missing_ok=True)
        self._interval = Settings.from_environment().push_seconds
        self._ended = threading.Event()
        self._lost: RunLockedError | None = None
        self._thread = threading.Thread(target=self._push_on, daemon=True, name="uiproof push")
        self._thread.start()

    def finish(self) -> None:
        """Push what is left and release the lease."""
        self._ended.set()
        self._thread.join()
        for pause in (*_LAST_PAUSES, None):
            if self._lost:
                raise self._lost
            try:
                self._copy.push(last=True)
                self._lease.release()
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
                evict()
                return

    def _push_on(self) -> None:
        pause, failures = min(_FIRST_SECONDS, self._interval), 0
        try:
            while not self._wait(pause):
                began = time.monotonic()
                try:
                    self._copy.push()
                except RunLockedError:
                    raise
                except Exception as error:  # noqa: BLE001 - `finish` tries again and reports
                    failures += 1
                    pause = min(self._interval * 2**failures, _LONGEST_PAUSE)
                    if failures == 1:
                        _log.warning("%s The run goes on; it is tried again.", error)
                else:
                    failures = 0
                    pause = max(self._interval, _SHARE * (time.monotonic() - began))
        except RunLockedError as error:
            self._lost = error
            _log.warning("%s Nothing more is written there.", error.message)

    def _wait(self, seconds: float) -> bool:
        """Wait and renew the lease meanwhile; return whether the run has ended."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._ended.wait(
            min(left, BEAT_SECONDS)
        ):
            try:
                self._lease.renew()
            except RunLockedError:
                raise
            except UiproofError:
                continue  # the next push fails too and reports it
        return self._ended.is_set()


LEASE = "writer.json"
STALE_SECONDS = 120.0  # a writer without a heartbeat for so long counts as dead
BEAT_SECONDS = 30.0
_SETTLE_SECONDS = 0.2  # for a writer that starts at the same moment to overwrite us


class WriterLease:
    """The right of one writer to push to a run at a URL."""

    def __init__(self, store: Store, identity: Path) -> None:
        self._store = store
        self._owner = _identity(identity)
        self._renewed = 0.0

    def acquire(self) -> None:
        """Take the lease; raise `RunLockedError` while another writer holds it."""
        self._check(stale_too=False)
        self._write()
        time.sleep(_SETTLE_SECONDS)
        self._check()

    def renew(self) -> None:
        """Renew the lease if that is due; raise if another writer has taken it."""
        if time.monotonic() - self._renewed >= BEAT_SECONDS:
            self._check()
            self._write()

    def release(self) -> None:
        """Delete the lease, so that the next writer need not wait."""
        if self._other_writer() is None:
            self._store.delete(LEASE)

    def _check(self, *, stale_too: bool = True) -> None:
        if (found := self._other_writer()) is None:
            return
        who, beat = found
        if stale_too or abs(time.time() - beat) < STALE_SECONDS:
            ago = max(time.time() - beat, 0)
            raise RunLockedError(
                f"{self._store.url} is being written by {who}, last seen {ago:.0f} s ago.",
                remedy="Wait for it to finish or stop it, or write to another place. "
                f"After {STALE_SECONDS:.0f} s without a heartbeat the same command takes over.",
            )

    def _write(self) -> None:
        who = f"process {os.getpid()} on {socket.gethostname()}"
        content = {"owner": self._owner, "who": who, "beat": time.time()}
        self._store.write(LEASE, json.dumps(content).encode())
        self._renewed = time.monotonic()

    def _other_writer(self) -> tuple[str, float] | None:
        """Return who else holds the lease, and when it was renewed; None if nobody does.

        One with our identity is dead: the local lock admits one process at a time.
        """
        try:
            about = json.loads(self._store.read(LEASE) or b"")
            return None if about["owner"] == self._owner else (about["who"], float(about["beat"]))
        except (ValueError, KeyError, TypeError):
            return None  # none, or damaged


def _identity(path: Path) -> str:
    """Return the id of this writer, kept with the local copy so that later processes share it."""
    try:
        return path.read_text("utf-8")
    except OSError:
        write_whole(path, uuid4().hex)
        return path.read_text("utf-8")


_MANIFEST, _JOURNAL, _SUMMARY = "run.json", "journal.jsonl", "summary.json"
_LOG = "workers.log"
_NOT_PUSHED = {"lock", _JOURNAL}  # of the files directly in a run; the journal has its own way
_CHUNK = 1 << 20

Sign = tuple[int, int]  # size and time of a file: they change when it does


class Copy:
    """A local run directory and its store; `alive` is called during long pushes."""

    def __init__(self, store: Store, home: Home, alive: Callable[[], None]) -> None:
        self._store, self._home, self._alive = store, home, alive
        self._run = RunDirectory(home.content)
        self._pushed: dict[str, Sign] = {}  # files that are up to date at the URL
        self._journal_there = -1  # bytes of the journal at the URL
        # Marks that the run was at the URL: if it is gone, it was deleted.
        self._was_there = home.folder / "was-there"

    def pull(self) -> None:
        """Prepare the directory to continue the run at the URL.

        The run at the URL counts, plus local cases that an earlier process of this machine
        finished but could not push before it died.
        """
        listed = self._store.listing(missing_ok=True)
        listed.pop(LEASE, None)
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
        bring(self._store, listed, self._home, listed=listed)
        write_known(self._home, {})  # it only serves interrupted pulls: everything may change now
        self._pushed = {name: sign for name, sign in self._files() if name in listed}
        if journal is not None:
            self._join_journals()
        self._was_there.touch()

    def push(self, *, last: bool = False) -> None:
        """Push what has changed; the summary only once the run has ended."""
        if not (self._home.content / _MANIFEST).exists():
            return  # the run has not begun
        lines = 0
        with suppress(FileNotFoundError), self._run.journal.open("rb") as journal:
            lines = whole_lines(journal)
        # Listed afterwards, so that every file that these lines name is included.
        here = dict(self._files())
        summary, manifest = here.pop(_SUMMARY, None), here.pop(_MANIFEST)
        if not last:
            here.pop(_LOG, None)  # deleted in the end if it is empty
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
            self._note_versions()

    def _forget_what_was_replaced(self, listed: dict[str, Version]) -> None:
        """Delete the local copy of a run that was deleted or replaced at the URL."""
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

    def _note_versions(self) -> None:
        """Record the versions at the URL, so that a later run here need not fetch them again."""
        there = self._store.listing()
        same = {name: there[name] for name in self._pushed if name in there}
        write_known(self._home, {name: astuple(version) for name, version in same.items()})

    def _join_journals(self) -> None:
        journal = self._run.journal
        with self._partial() as theirs:
            self._store.get(_JOURNAL, theirs)
            journal.touch()
            for one in (journal, theirs):
                cut_torn_line(one)
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
            with access(snapshot, "written"):
                shutil.copyfile(self._run.journal, snapshot)
                os.truncate(snapshot, size)
            self._store.put(_JOURNAL, snapshot)
        self._journal_there = size

    def _files(self) -> Iterator[tuple[str, Sign]]:
        """Yield the files to push with their signs, without unfinished ones."""
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
                    continue  # a temporary file
                yield relative, (found.st_size, found.st_mtime_ns)

    @contextmanager
    def _partial(self) -> Iterator[Path]:
        path = self._home.folder / f"partial-{uuid4().hex}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


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
