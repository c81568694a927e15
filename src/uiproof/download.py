"""Downloads that resume where they stopped and are checked against digests.

The hub's client library drops partial files when it is interrupted, so uiproof fetches them itself.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from uiproof.errors import DownloadError

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int], None]  # bytes that are here, bytes in all

_CONNECTIONS = 8  # data sets are hundreds of small files
_TRIES = 5  # in a row without a single new byte
_PAUSE = 0.5  # seconds before the next try; doubles each time


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as its server announces it."""

    path: str
    size: int
    digest: str  # "sha256:…" for large files, "git:…" for those that git holds itself


def download_all(
    client: httpx.Client,
    address: str,
    remote_files: Sequence[RemoteFile],
    folder: Path,
    *,
    progress: Progress | None = None,
) -> None:
    """Download files below an address into a folder; intact ones are kept.

    Raise `DownloadError`; partial files are kept for the next try.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _check_room(folder, remote_files)
    _Transfer(client, address, folder, progress, remote_files).run()


def shown_on(stream: TextIO, unit: str = "MB") -> Progress:
    """Return a progress that is shown in place on a terminal, else as a line every ten per cent.

    It counts bytes, shown in `MB`, or anything else.
    """
    terminal = stream.isatty()
    step = 1 if terminal else 10
    shown = -1

    def show(here: int, total: int) -> None:
        nonlocal shown
        percent = 100 * here // max(total, 1)
        if percent // step == shown:
            return
        shown = percent // step
        line = f"{percent:3d} % of {f'{total / 1e6:.1f}' if unit == 'MB' else total} {unit}"
        end = "\n" if not terminal or here >= total else ""
        stream.write(f"\r{line}{end}" if terminal else f"{line}{end}")
        stream.flush()

    return show


def digest_matches(path: Path, digest: str) -> bool:
    """Compare a file with `sha256:…`, or with `git:…`, the name that git gives its content."""
    kind, _, expected = digest.partition(":")
    if kind == "sha256":
        state = hashlib.sha256()
    else:  # git's name of a file: SHA-1 over a short header and the content
        state = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            state.update(chunk)
    return state.hexdigest() == expected


def unreachable(what: str, error: Exception) -> DownloadError:
    """Return the error for something that could not be fetched from the hub."""
    return DownloadError(
        f"{what} could not be fetched from the Hugging Face hub ({type(error).__name__}: {error}).",
        remedy="Check the network and run the same command again: it continues where it stopped. "
        "Without a network, copy the folder from a machine that has it; "
        "HF_ENDPOINT names a mirror.",
    )


def _check_room(folder: Path, remote_files: Sequence[RemoteFile]) -> None:
    needed = sum(file.size for file in remote_files)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DownloadError(
            f"{folder.parent} needs {needed / 1e6:.0f} MB and has {free / 1e6:.0f} MB free.",
            remedy="Make room, or set UIPROOF_CACHE to a larger disk.",
        )


class _Transfer:
    """Download files of one repository in parallel."""

    def __init__(
        self,
        client: httpx.Client,
        address: str,
        folder: Path,
        progress: Progress | None,
        remote_files: Sequence[RemoteFile],
    ) -> None:
        self._client = client
        self._address = address
        self._folder = folder
        self._progress = progress
        self._files = remote_files
        self._total = sum(file.size for file in remote_files)
        self._here = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def run(self) -> None:
        pool = ThreadPoolExecutor(min(_CONNECTIONS, len(self._files)))
        try:
            # `map` raises the first failure, in order; the others stop at their next chunk.
            for _ in pool.map(self._bring, self._files):
                pass
        finally:
            self._stopped.set()
            pool.shutdown(cancel_futures=True)

    def _count(self, size: int) -> None:
        with self._lock:
            self._here += size
            if self._progress:
                self._progress(self._here, self._total)

    def _bring(self, file: RemoteFile) -> None:
        target = self._folder / file.path
        if target.is_file() and digest_matches(target, file.digest):
            self._count(file.size)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        # Named after the content: a file that changed on the server starts anew.
        part = target.with_name(f"{target.name}.{file.digest.rpartition(':')[2][:12]}.part")
        if part.is_file() and part.stat().st_size > file.size:
            part.unlink()
        self._count(part.stat().st_size if part.is_file() else 0)
        self._receive_all(file, part)
        if not digest_matches(part, file.digest):
            part.unlink()
            raise DownloadError(
                f"{file.path} arrived damaged: it does not have the digest that the hub announced.",
                remedy="It was deleted; run the same command again.",
            )
        part.replace(target)

    def _receive_all(self, file: RemoteFile, part: Path) -> None:
        import httpx

        part.touch()
        tries = 0
        while (size := part.stat().st_size) < file.size:
            try:
                self._receive_more(file, part)
            except httpx.HTTPError as error:
                if _is_final(error):
                    raise unreachable(file.path, error) from error
                tries = 0 if part.stat().st_size > size else tries + 1
                if tries >= _TRIES:
                    raise unreachable(file.path, error) from error
                if self._stopped.wait(_PAUSE * 2**tries):
                    raise DownloadError(f"{file.path}: stopped.") from error

    def _receive_more(self, file: RemoteFile, part: Path) -> None:
        offset = part.stat().st_size
        headers = {"range": f"bytes={offset}-"} if offset else {}
        with self._client.stream(
            "GET", self._address + quote(file.path), headers=headers
        ) as answer:
            answer.raise_for_status()
            if offset and answer.status_code != 206:  # the server sends everything once more
                self._count(-offset)
                offset = 0
            with part.open("r+b") as stream:
                stream.truncate(offset)
                stream.seek(offset)
                for chunk in answer.iter_bytes():
                    if self._stopped.is_set():
                        raise DownloadError(f"{file.path}: stopped.")
                    stream.write(chunk)
                    self._count(len(chunk))
                    if stream.tell() > file.size:
                        break  # the digest will not match; no need to fill the disk


def _is_final(error: httpx.HTTPError) -> bool:
    """Return whether trying again cannot help: the server understood and refused."""
    import httpx

    if not isinstance(error, httpx.HTTPStatusError):
        return False
    status = error.response.status_code
    return 400 <= status < 500 and status not in (408, 429)
