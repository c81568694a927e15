"""The objects below one URL: listed, read and written through fsspec."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from uiproof.errors import (
    DownloadError,
    InputError,
    MissingDependencyError,
    UiproofError,
    UsageError,
)
from uiproof.files import storage_fault

Result = TypeVar("Result")

_PATIENCE = 30.0  # seconds for the first answer of a server
# Keys under which file systems report the version of an object.
_TOKENS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "mtime", "LastModified", "updated")
_SPEAKS = ("AWS_", "GOOGLE_", "GCE_", "STORAGE_", "FSSPEC_")  # variables that configure connections
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
        """Return every object below the URL; the name of a URL that is an object itself is empty.

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
        """Return the content of a small object; None where there is none."""
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
        """Make the first call to the server, which shows whether it is up."""
        try:
            return self._in_time(call)
        finally:
            self._answered = True  # the next call has its own time limit

    def _in_time(self, call: Callable[[], Result]) -> Result:
        """Call with a time limit: libraries retry for many minutes."""
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
    # It logs every failed try with a traceback; we report the error once.
    logging.getLogger("gcsfs").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {"skip_instance_cache": True}
    if scheme in ("s3", "s3a") and "config_kwargs" not in conf.get(scheme, {}):
        options["config_kwargs"] = _S3_TIMEOUTS
    return fsspec.core.url_to_fs(url, **options)[0]


def _version(about: dict[str, Any]) -> Version:
    token = next((str(about[name]) for name in _TOKENS if about.get(name) is not None), None)
    return Version(about.get("size"), token)


def _is_folder(name: str) -> bool:
    """Return whether an object is a placeholder for a folder, which some programs make."""
    return not name or name.endswith("/")


def _check_names(url: str, names: dict[str, Version]) -> None:
    """Raise `InputError` for names that cannot be files below one folder."""
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


# Two letters at least, so that no drive of Windows is taken for one. Names of models such as
# `compatible:http://…` have their colon elsewhere.
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_URL_AS_PATH = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/")
_HERE = ("file", "local")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
_SECRET = re.compile(r"sig|token|secret|password|credential|key", re.IGNORECASE)
_USER = re.compile(r"(://)[^/@\s]*:[^/@\s]*@")
_CREDENTIALS = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; "
    "AWS_ENDPOINT_URL for a server that is not Amazon's.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS.",
}
# By name: the libraries that raise them are not there for every user.
_NO_CREDENTIALS = {
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "TokenRetrievalError",
    "DefaultCredentialsError",
    "RefreshError",
}
_REFUSED = {"401", "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"}


def is_url(name: str | Path) -> bool:
    """Return whether a data set, folder or run is named by a URL, such as `s3://bucket/pages`."""
    return isinstance(name, str) and _URL.match(name) is not None


def refuse_url(path: str | Path, done: str) -> None:
    """Raise `UsageError` where a file or folder of this machine is named by a URL.

    A `Path` of `s3://bucket/x` is `s3:/bucket/x`: what is written there would not be found.
    """
    if _URL_AS_PATH.match(str(path)):
        raise UsageError(
            f"{path} is a URL, and this is {done} on this machine.",
            remedy="Name a path here. Only data, predictions and runs can be at a URL.",
        )


def scheme_of(url: str) -> str:
    """Return `s3` for `s3://bucket/pages`."""
    found = _URL.match(url)
    return found[1].lower() if found else ""


def checked(url: str) -> str:
    """Return a URL as it is compared and written down; `UsageError` where it carries secrets.

    It ends up in `run.json`, in reports and in messages, so it must not hold credentials.
    """
    scheme = scheme_of(url)
    address = url[len(scheme) + 3 :].rstrip("/")
    host, _, place = address.partition("/")
    query = urlsplit(f"http://{address}").query
    named = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    if ":" in host.rpartition("@")[0] or any(map(_SECRET.search, named)):
        raise UsageError(
            f"{scheme}://… carries credentials, and URLs are written into runs and reports.",
            remedy=f"Leave them out. {advice(url)}".strip(),
        )
    if not host and not (scheme in (*_HERE, "memory") and place):
        raise UsageError(f"{url} names no bucket or server.", remedy="Such as s3://bucket/pages.")
    # Only the slash tells a folder from a page there.
    folder = "/" if scheme in ("http", "https") and url.endswith("/") else ""
    return f"{scheme}://{address}{folder}"


def here(url: str) -> Path | None:
    """Return the path of a `file://` URL; None for what is not on this machine."""
    scheme = scheme_of(url)
    return Path(checked(url)[len(f"{scheme}://") :]) if scheme in _HERE else None


def without_secrets(text: str) -> str:
    """Return a library's message without users and passwords in addresses."""
    return _USER.sub(r"\1", text)


def explained(url: str, error: BaseException, *, done: str = "read") -> UiproofError:
    """Return the error for something at a URL that cannot be read or written."""
    if isinstance(error, UiproofError):
        return error
    scheme = scheme_of(url)
    if fault := storage_fault(error):
        return fault
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, OSError):
        error = error.__cause__  # over HTTP a server that is away looks like a missing file
    if isinstance(error, ImportError):
        extra = _EXTRAS.get(scheme)
        remedy = f"pip install 'uiproof[{extra}]'" if extra else f"{error}"
        return MissingDependencyError(
            f"{scheme}:// needs a package that is not installed.", remedy=remedy
        )
    kind, text = type(error).__name__, without_secrets(str(error).strip().split("\n")[0])
    if isinstance(error, ValueError) and "rotocol not known" in text:
        return UsageError(
            f"{url}: nothing is known about {scheme}://.",
            remedy="Use s3://, gs://, file:// or another one that fsspec knows.",
        )
    if kind in _NO_CREDENTIALS:
        return MissingDependencyError(
            f"There are no credentials for {url} ({text}).", remedy=advice(url)
        )
    if isinstance(error, FileNotFoundError):
        why = f" ({text})" if "bucket" in text.lower() and " " in text else ""
        return InputError(
            f"There is nothing at {url}{why}.", remedy="Check the bucket and the name."
        )
    if isinstance(error, PermissionError) or _code(error) in _REFUSED or text[:9] == "Forbidden":
        return InputError(
            f"{url} may not be {done} with these credentials ({text or kind}).",
            remedy=advice(url),
        )
    if kind == "ParamValidationError":
        return InputError(f"{url} is not a valid address ({text}).")
    return DownloadError(
        f"{url} cannot be {done} ({kind}: {text}).",
        remedy="Check the network and the address, and run the same command again: "
        "it continues where it stopped.",
    )


def _code(error: BaseException) -> str:
    """Return the error code of a server, as botocore and gcsfs keep it."""
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        return str(answer.get("Error", {}).get("Code", ""))
    return str(getattr(error, "code", None) or getattr(error, "status", ""))


def advice(url: str) -> str:
    """Return how to give credentials for a URL."""
    return _CREDENTIALS.get(_EXTRAS.get(scheme_of(url), ""), "")
