"""What lies below one URL: listed, read and written through fsspec."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from uiproof.errors import DownloadError, InputError
from uiproof.remote.urls import advice, checked, explained, scheme_of

Result = TypeVar("Result")

_PATIENCE = 30.0  # seconds until a server has to show that it is there
# What tells two versions of an object apart, by the names that file systems have for it.
_TOKENS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "mtime", "LastModified", "updated")
_SPEAKS = ("AWS_", "GOOGLE_", "GCE_", "STORAGE_", "FSSPEC_")  # variables that say how to connect
_S3_TIMEOUTS = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 2}}


@dataclass(frozen=True, slots=True)
class Version:
    """An object as its server announces it; None is what it does not say."""

    size: int | None
    token: str | None


class Store:
    """The objects below a URL, by their names relative to it. Raises `UiproofError` only."""

    def __init__(self, url: str) -> None:
        self.url = checked(url)
        self._is_web = scheme_of(self.url) in ("http", "https")
        self._answered = False
        with self._explaining("read"):
            _import_for(self.url)  # imports, which take long where a machine is busy
            self._began = time.monotonic()
            self._fs, self._root = self._in_time(lambda: _opened(self.url))

    def listing(self, *, missing_ok: bool = False) -> dict[str, Version]:
        """Every object below the URL; the name of a URL that is an object itself is empty.

        Raises `InputError` where there is nothing, unless that is `missing_ok`, and for names that
        no file can have.
        """
        with self._explaining("read"):
            self._fs.invalidate_cache()
            try:
                about = self._first(lambda: self._fs.info(self._root))
            except FileNotFoundError:
                if missing_ok:
                    return {}
                raise
            if about["type"] == "file" and not self.url.endswith("/"):
                return {"": _version(about)}
            found = self._fs.find(self._listed, detail=True)
        names = {self._relative(path): about for path, about in found.items()}
        files = {name: _version(about) for name, about in names.items() if not _is_folder(name)}
        _check_names(self.url, files)
        return files

    def get(self, name: str, target: Path) -> None:
        """Write an object to a file."""
        with self._explaining("read", name):
            self._fs.get_file(self._path(name), str(target))

    def read(self, name: str) -> bytes | None:
        """The content of a small object; None where there is none."""
        with self._explaining("read", name):
            self._fs.invalidate_cache()
            try:
                content: bytes = self._first(lambda: self._fs.cat_file(self._path(name)))
            except FileNotFoundError:
                return None
        return content

    def put(self, name: str, source: Path) -> None:
        """Make or replace an object with the content of a file."""
        with self._explaining("written", name):
            self._fs.put_file(str(source), self._path(name))

    def write(self, name: str, content: bytes) -> None:
        """Make or replace a small object."""
        with self._explaining("written", name):
            self._fs.pipe_file(self._path(name), content)

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        with self._explaining("deleted", name), suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    @property
    def _listed(self) -> str:
        return f"{self._root}/" if self.url.endswith("/") else self._root

    def _path(self, name: str) -> str:
        if not name:
            return self._root
        return f"{self._root}/{quote(name) if self._is_web else name}"

    def _relative(self, path: str) -> str:
        name = path[len(self._root) :].removeprefix("/")
        return unquote(name) if self._is_web else name

    def _first(self, call: Callable[[], Result]) -> Result:
        """A call that shows whether the server is there."""
        try:
            return self._in_time(call)
        finally:
            self._answered = True  # whatever it was; the next call has time of its own

    def _in_time(self, call: Callable[[], Result]) -> Result:
        """Wait no longer than a person would; libraries try for many minutes."""
        spent = 0.0 if self._answered else time.monotonic() - self._began
        results: list[Result] = []
        errors: list[BaseException] = []

        def attempt() -> None:
            try:
                results.append(call())
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                errors.append(error)

        # A daemon: the program can end although a library still waits.
        waiting = threading.Thread(target=attempt, daemon=True, name="uiproof url")
        waiting.start()
        waiting.join(max(_PATIENCE - spent, 1.0))
        if errors:
            raise errors[0]
        if not results:
            raise DownloadError(
                f"{self.url} gave no answer within {_PATIENCE:.0f} seconds.",
                remedy=f"Check the network, the address and the credentials. {advice(self.url)}",
            )
        return results[0]

    @contextmanager
    def _explaining(self, done: str, name: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            url = f"{self.url.rstrip('/')}/{name}" if name else self.url
            raise explained(url, error, done=done) from error


def _import_for(url: str) -> None:
    """Import what a URL needs."""
    import fsspec

    fsspec.get_filesystem_class(scheme_of(url))


def _opened(url: str) -> tuple[Any, str]:
    # Connecting takes longer than asking; but what the environment says may change.
    said = tuple(sorted(one for one in os.environ.items() if one[0].startswith(_SPEAKS)))
    fs = _connected("/".join(url.split("/")[:3]), said)
    return fs, str(fs._strip_protocol(url)).rstrip("/")


@lru_cache(maxsize=8)
def _connected(url: str, _: tuple[tuple[str, str], ...]) -> Any:
    import fsspec
    from fsspec.config import conf

    scheme = scheme_of(url)
    # It tells every failed try with a traceback; what is wrong is told once, by us.
    logging.getLogger("gcsfs").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {"skip_instance_cache": True}
    if scheme in ("s3", "s3a") and "config_kwargs" not in conf.get(scheme, {}):
        options["config_kwargs"] = _S3_TIMEOUTS
    return fsspec.core.url_to_fs(url, **options)[0]


def _version(about: dict[str, Any]) -> Version:
    token = next((str(about[name]) for name in _TOKENS if about.get(name) is not None), None)
    return Version(about.get("size"), token)


def _is_folder(name: str) -> bool:
    """Some programs make empty objects that stand for folders."""
    return not name or name.endswith("/")


def _check_names(url: str, names: dict[str, Version]) -> None:
    """No object may become a file anywhere but below its folder, or take the place of another."""
    for name in names:
        parts = name.split("/")
        if {"", ".", ".."} & set(parts) or "\\" in name or "\0" in name:
            raise InputError(
                f"{url} holds an object that cannot be a file: {name!r}.", remedy="Rename it."
            )
        for depth in range(1, len(parts)):
            if (folder := "/".join(parts[:depth])) in names:
                raise InputError(
                    f"{url} holds {folder!r} and {name!r}: a file cannot be a folder, too.",
                    remedy="Rename one of them.",
                )
