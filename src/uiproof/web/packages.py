"""The default set: files of npm packages that pages load, pinned by a lock file.

    lock = Lock.packaged()                 # packages, versions, files with hashes, and a date
    Store(folder).read(lock.packages["vue"]["3.5.26"]["dist/vue.global.js"])
    get(lock, Store(folder))               # downloads missing files, with npm or from the CDN

Files are stored by hash, so versions never mix, an interrupted `get` continues, and several
processes may write at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from uiproof.errors import DownloadError
from uiproof.files import access, write_atomic

if TYPE_CHECKING:
    import httpx

LOCK_FILE = Path(__file__).parent / "lock.json"
CDN = "https://cdn.jsdelivr.net/npm/"  # serves every file of every npm package
MAX_FILE_BYTES = 32 << 20
_HASH = re.compile(r"[0-9a-f]{64}")
_BATCH = 8  # packages per `npm pack`: starting npm takes longer than most downloads
_NPM_SECONDS = 300
_TRIES = 3

T = TypeVar("T")
Files = Mapping[str, str]  # path in a package to SHA-256
Progress = Callable[[int, int], None]  # present files, all files


@dataclass(frozen=True)
class Lock:
    """The packages of the set: name, version, path, SHA-256."""

    date: str  # URLs without a version mean the newest version on this day
    packages: Mapping[str, Mapping[str, Files]]

    @classmethod
    @cache
    def packaged(cls) -> Lock:
        """Return the lock that is part of uiproof."""
        return cls.parse(LOCK_FILE.read_bytes())

    @classmethod
    def parse(cls, text: bytes) -> Lock:
        """Read a lock: `{"date": …, "packages": {"name@version": {path: hash}}}`."""
        content = json.loads(text)
        packages: dict[str, dict[str, Files]] = {}
        for key, files in content["packages"].items():
            name, _, version = key.rpartition("@")
            packages.setdefault(name, {})[version] = files
        return cls(content["date"], packages)

    @cached_property
    def hashes(self) -> frozenset[str]:
        """Return the hashes of all files."""
        every = (files.values() for one in self.packages.values() for files in one.values())
        return frozenset(value for values in every for value in values)

    def entries(self) -> Iterator[tuple[str, str, Files]]:
        """Yield every package with its version and files."""
        for name, versions in self.packages.items():
            for version, files in versions.items():
                yield name, version, files


class Store:
    """A folder of files, compressed, that are named by the SHA-256 of their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, digest: str) -> bytes | None:
        """Return a file, or None if it is missing or damaged."""
        try:
            stored = self._path(digest).read_bytes()
            data = zlib.decompressobj().decompress(stored, MAX_FILE_BYTES)
        except (OSError, ValueError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def write(self, data: bytes) -> str:
        """Store a file and return its hash."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        with access(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, zlib.compress(data))
        return digest

    @cached_property
    def present(self) -> frozenset[str]:
        """Return the hashes of all files at the time of the first call."""
        with suppress(OSError):
            folders = [one for one in (self.folder / "files").iterdir() if one.is_dir()]
            names = (file.name for folder in folders for file in folder.iterdir())
            return frozenset(filter(_HASH.fullmatch, names))
        return frozenset()

    def size(self, digests: Iterable[str]) -> int:
        """Return the disk usage of the given files that exist."""
        total = 0
        for digest in digests:
            with suppress(OSError):
                total += self._path(digest).stat().st_size
        return total

    def _path(self, digest: str) -> Path:
        if not _HASH.fullmatch(digest):
            raise ValueError(digest)
        return self.folder / "files" / digest[:2] / digest


def get(
    lock: Lock,
    store: Store,
    *,
    npm: str | None = None,
    cdn: str = CDN,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Download the files of the lock that are missing or damaged, and check their hashes.

    `npm` is the client to try first; without it, or if it fails, files come from `cdn`.
    Raises `DownloadError`; files that were downloaded before it are kept.
    """
    intact = {digest for digest in lock.hashes if store.read(digest) is not None}
    work = _Work(store, intact, len(lock.hashes), progress)
    wanted = [one for one in lock.entries() if work.lacks(one[2])]
    if wanted and npm is not None:
        with suppress(CommandError):
            _get_with_npm(npm, wanted, work)
            wanted = []
        if wanted := [one for one in wanted if work.lacks(one[2])]:
            say("npm did not get every file; the rest comes from the CDN")
    if wanted:
        _get_from_cdn(cdn, wanted, work)


class _Work:
    """The present files, shared by several threads."""

    def __init__(self, store: Store, here: set[str], total: int, progress: Progress | None) -> None:
        self._store, self._here, self._total, self._progress = store, here, total, progress
        self._lock = threading.Lock()
        self._tell()

    def lacks(self, files: Files) -> dict[str, str]:
        """Return the missing files of a package."""
        return {path: digest for path, digest in files.items() if digest not in self._here}

    def keep(self, name: str, data: bytes, digest: str) -> None:
        """Store a file, or raise `DownloadError` if its hash is wrong."""
        if hashlib.sha256(data).hexdigest() != digest:
            raise DownloadError(
                f"{name} does not have the hash of the lock file.",
                remedy="It was discarded; run `uiproof web get` again, or from another network.",
            )
        self._store.write(data)
        with self._lock:
            self._here.add(digest)
            self._tell()

    def _tell(self) -> None:
        if self._progress:
            self._progress(len(self._here), self._total)


# --- npm ----------------------------------------------------------------------------------------


class CommandError(Exception):
    """npm or node failed."""


def find_npm() -> str | None:
    """Return the path of npm, or None if it is not installed."""
    return shutil.which("npm")


def pack(npm: str, names: Iterable[str], folder: Path) -> None:
    """Download the tarballs of packages (`name@version`) into a folder."""
    command = [npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
    run_command([*command, *names], folder, _NPM_SECONDS)


def run_command(command: list[str], folder: Path, seconds: float) -> None:
    """Run npm or node in a folder; raise `CommandError` with its last lines if it fails.

    npm's cache is in that folder, too: in the user's, ten times the size of the set would stay.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "npm_config_cache": str(folder / ".npm")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(str(error)) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise CommandError(" ".join(lines[-3:])[:400])


def unpack(tarball: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a package without the folder that npm puts them in."""
    with tarfile.open(tarball, "r:gz") as content:
        for member in content:
            path = member.name.partition("/")[2]
            if member.isfile() and path and member.size <= MAX_FILE_BYTES:
                stream = content.extractfile(member)
                if stream is not None:
                    yield path, stream.read()


def _get_with_npm(npm: str, wanted: list[tuple[str, str, Files]], work: _Work) -> None:
    batches = [wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH)]

    def bring(batch: list[tuple[str, str, Files]]) -> None:
        with TemporaryDirectory(prefix="uiproof-web-") as place:
            folder = Path(place)
            pack(npm, [f"{name}@{version}" for name, version, _ in batch], folder)
            for name, version, files in batch:
                file = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
                lacking = work.lacks(files)
                try:
                    for path, data in unpack(file):
                        if path in lacking:
                            work.keep(f"{name}@{version}/{path}", data, lacking[path])
                except (OSError, tarfile.TarError) as error:
                    raise CommandError(str(error)) from error

    _in_parallel(bring, batches, threads=3)


# --- the CDN ------------------------------------------------------------------------------------


def _get_from_cdn(cdn: str, wanted: list[tuple[str, str, Files]], work: _Work) -> None:
    import httpx

    files = [
        (f"{name}@{version}/{path}", digest)
        for name, version, files in wanted
        for path, digest in work.lacks(files).items()
    ]
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        _in_parallel(
            lambda file: work.keep(
                file[0], _fetch(client, cdn + quote(file[0], safe="/@")), file[1]
            ),
            files,
            threads=8,
        )


def _fetch(client: httpx.Client, address: str) -> bytes:
    import httpx

    for tries_left in reversed(range(_TRIES)):
        try:
            with client.stream("GET", address) as answer:
                answer.raise_for_status()
                data = bytearray()
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > MAX_FILE_BYTES:
                        break  # too large, so its hash is wrong
                return bytes(data)
        except httpx.HTTPError as error:
            refused = isinstance(error, httpx.HTTPStatusError)
            if not tries_left or (refused and error.response.status_code < 500):  # type: ignore[attr-defined]
                raise DownloadError(
                    f"{address} could not be fetched ({type(error).__name__}: {error}).",
                    remedy="Check the network and run `uiproof web get` again; it continues where "
                    "it stopped. Or copy the folder from a machine that has it, and set "
                    "UIPROOF_WEB to the copy.",
                ) from error
    raise AssertionError("unreachable")


def _in_parallel(task: Callable[[T], None], items: list[T], *, threads: int) -> None:
    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(task, items):  # raises the first failure
            pass
    finally:
        pool.shutdown(cancel_futures=True)
