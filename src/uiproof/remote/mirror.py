"""Local copies of what lies at URLs.

    fetch("s3://bucket/pages")      the folder that holds the same files as the bucket does now
    url_of(fetch(url) / "1.html")   "s3://bucket/pages/1.html"

A mirror is below `remote/data` of the cache, the local copy of a run that is written to a URL below
`remote/runs`. Each has a folder that also holds its metadata. If all of them together grow too
large, unused ones are evicted.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

from uiproof.download import shown_on
from uiproof.errors import InputError
from uiproof.files import access, folder_size, write_atomic
from uiproof.remote.store import Store, Version, checked, here, is_url, scheme_of
from uiproof.settings import Settings

CONNECTIONS = 8  # data sets are thousands of small files
_LOOKS = 3  # list again what changes while it is fetched, such as a run in progress
_SHOWN_AFTER = 2.0  # seconds; what takes longer is worth a line

Kind = Literal["data", "runs"]


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of a local copy, with its metadata."""

    url: str
    folder: Path

    @property
    def content(self) -> Path:
        """Return the copy itself; it has the name of the original, which tables show."""
        address = self.url.split("?")[0] if scheme_of(self.url).startswith("http") else self.url
        name = address.rstrip("/").rpartition("/")[2].replace("\\", "_").replace("\0", "_")
        return self.folder / "content" / (name if name.strip(".") else "unnamed")


def home_of(url: str, kind: Kind) -> Home:
    """Return the folder for a local copy, made if needed and kept while this process lives.

    The network is not used.
    """
    url = checked(url)
    digest = hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()[:24]
    home = Home(url, _root() / kind / digest)
    hold(home.folder)
    with access(home.folder, "made"):
        home.content.parent.mkdir(parents=True, exist_ok=True)
        if not (home.folder / "url").exists():
            write_whole(home.folder / "url", url)
    return home


def fetch(url: str, *, deep: bool = True) -> Path:
    """Make or refresh the local mirror of a file or folder, and return its path.

    Only changes are fetched; unless `deep`, only files directly in the folder. Files that were
    deleted there are deleted here. Several processes may fetch the same URL at once. A `file://`
    URL is returned as a path.
    """
    if (path := here(url)) is not None:
        if not path.exists():
            raise InputError(f"There is nothing at {url}.", remedy="Check the name.")
        return path
    home = home_of(url, "data")
    with _waiting(home.folder / "lock"):
        store = Store(home.url)
        for _ in range(_LOOKS):
            listed = store.listing()
            _clear_way(home.content, folder="" not in listed)
            if "" not in listed:
                _remove_others(home.content, listed)
            wanted = {name: one for name, one in listed.items() if deep or "/" not in name}
            brought = bring(store, wanted, home, listed=listed)
            if not brought or all(one.token is None for one in wanted.values()):
                break  # nothing has changed, or that cannot be known
    evict()
    return home.content


def keep(path: Path) -> None:
    """Mark the local copy that a path lies in, if any, as used by this process."""
    if path.is_relative_to(_root()):
        hold(_root().joinpath(*path.relative_to(_root()).parts[:2]))


def local(name: str | Path) -> Path:
    """Return a local path for what the user named by path or URL."""
    if isinstance(name, str) and is_url(name):
        return fetch(name)
    return Path(name).expanduser()


def url_of(path: Path) -> str | None:
    """Return the URL that a local file or folder is a copy of; None if it is not a copy."""
    found = located(path)
    return None if found is None else "/".join((found[0].url.rstrip("/"), *found[1]))


def name_of(path: Path) -> str:
    """Return the name of a file or folder for other machines: its URL or its full path."""
    return url_of(path) or str(path.resolve())


def shown(path: Path) -> str:
    """Return the name of a file or folder for messages: its URL, or its path as given."""
    return url_of(path) or str(path)


def located(path: Path, kind: Kind | None = None) -> tuple[Home, tuple[str, ...]] | None:
    """Return the local copy that a path lies in, and the path below it."""
    root = _root().resolve()
    path = path.resolve()
    if not path.is_relative_to(root):
        return None
    names = path.relative_to(root).parts
    if len(names) < 4 or names[0] not in (get_args(Kind) if kind is None else (kind,)):
        return None
    folder = root / names[0] / names[1]
    try:
        url = (folder / "url").read_text("utf-8", errors="surrogateescape")
    except OSError:
        return None
    return Home(url, folder), names[4:]


def bring(
    store: Store, wanted: Mapping[str, Version], home: Home, *, listed: Collection[str]
) -> int:
    """Fetch the objects that are missing or changed, each atomically; return how many.

    Only what is `listed` stays known.
    """
    known = read_known(home)
    missing = [name for name, version in wanted.items() if not _is_here(name, version, known, home)]
    size, here = sum(wanted[name].size or 0 for name in missing), 0
    began, show = time.monotonic(), None
    pool = ThreadPoolExecutor(CONNECTIONS)

    def one(name: str) -> str:
        partial = home.folder / f"partial-{uuid4().hex}"
        target = home.content / name if name else home.content
        try:
            store.get(name, partial)
            with access(target, "written"):
                target.parent.mkdir(parents=True, exist_ok=True)
                partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        known[name] = list(astuple(wanted[name]))
        return name

    try:
        for name in pool.map(one, missing):
            here += wanted[name].size or 0
            if show is None and time.monotonic() - began > _SHOWN_AFTER:
                sys.stderr.write(
                    f"uiproof: fetching {home.url} ({len(missing):,} files, {size / 1e6:.1f} MB)\n"
                )
                show = shown_on(sys.stderr)
            if show is not None:
                show(here, size)
    finally:
        pool.shutdown(cancel_futures=True)
        write_known(home, {name: known[name] for name in known if name in listed})
    return len(missing)


def read_known(home: Home) -> dict[str, list[Any]]:
    """Return the versions of the objects that are here; nothing if the file is damaged."""
    try:
        known: dict[str, list[Any]] = json.loads((home.folder / "known.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known


def write_known(home: Home, known: Mapping[str, Any]) -> None:
    """Record which versions of which objects are here."""
    write_whole(home.folder / "known.json", json.dumps(known))


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    with access(path, "written"):
        write_atomic(path, text.encode(errors="surrogateescape"))


def _root() -> Path:
    return Settings.from_environment().cache_dir.absolute() / "remote"


def _is_here(name: str, version: Version, known: Mapping[str, list[Any]], home: Home) -> bool:
    if version.token is None or known.get(name) != list(astuple(version)):
        return False
    try:
        return (home.content / name if name else home.content).stat().st_size == version.size
    except OSError:
        return False


def _clear_way(path: Path, *, folder: bool) -> None:
    """Delete a file where a folder belongs now, and the other way round."""
    with access(path, "made"):
        if path.is_dir() and not folder:
            shutil.rmtree(path)
        elif path.is_file() and folder:
            path.unlink()
        if folder:
            path.mkdir(exist_ok=True)


def _remove_others(root: Path, wanted: Collection[str]) -> None:
    """Delete files that are not `wanted`, and folders that this leaves empty."""
    with access(root, "written"):
        for folder, _, names in os.walk(root, topdown=False):
            below = Path(folder).relative_to(root)
            for name in names:
                if (below / name).as_posix() not in wanted:
                    Path(folder, name).unlink()
            if below.parts and not any(Path(folder).iterdir()):
                Path(folder).rmdir()


@contextmanager
def _waiting(path: Path) -> Iterator[None]:
    """Hold a lock file; others wait for their turn."""
    with access(path, "written"):
        file = path.open("ab")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


PUSHED = "pushed"  # in the copy of a run: it is completely pushed

_held: dict[Path, int] = {}  # the locks of this process


def hold(copy: Path) -> None:
    """Mark a copy as used, so that it is not evicted while this process lives."""
    note = _note(copy)
    with access(note, "written"):
        note.parent.mkdir(parents=True, exist_ok=True)
        if copy not in _held:
            _held[copy] = os.open(note, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(_held[copy], fcntl.LOCK_SH)  # waits while another process deletes the copy
        os.utime(note)


def evict() -> None:
    """Delete the least recently used copies while all together exceed the limit.

    Copies in use stay, and so do runs that are not completely pushed.
    """
    notes = [note for note in _root().glob("*/*.used") if note.with_suffix("").is_dir()]
    sizes = {note: folder_size(note.with_suffix("")) for note in notes}
    taken = sum(sizes.values())
    for note in sorted(notes, key=lambda note: note.stat().st_mtime_ns):
        if taken <= Settings.from_environment().mirror_bytes:
            return
        if _deleted(note):
            taken -= sizes[note]


def _deleted(note: Path) -> bool:
    copy = note.with_suffix("")
    with suppress(OSError), note.open("rb") as lock:  # in use, or another process evicts too
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if copy.parent.name == "runs" and not (copy / PUSHED).exists():
            return False
        # Renamed first: a process that is killed meanwhile leaves no half copy under its name.
        going = copy.with_name(f".{copy.name}")
        shutil.rmtree(going, ignore_errors=True)
        copy.rename(going)
        shutil.rmtree(going, ignore_errors=True)
        return True
    return False


def _note(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.used")
