"""URLs that data and runs can be named by, and what can be wrong with them, in plain words."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from uiproof.engine.storage import storage_fault
from uiproof.errors import (
    DownloadError,
    InputError,
    MissingDependencyError,
    UiproofError,
    UsageError,
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
    """Whether a data set, a folder or a run is named by a URL, such as `s3://bucket/pages`."""
    return isinstance(name, str) and _URL.match(name) is not None


def refuse_url(path: str | Path, done: str) -> None:
    """Raise `UsageError` where a file or folder of this machine is named by a URL.

    A `Path` of `s3://bucket/x` is `s3:/bucket/x`: nobody would find what is written there.
    """
    if _URL_AS_PATH.match(str(path)):
        raise UsageError(
            f"{path} is a URL, and this is {done} on this machine.",
            remedy="Name a path here. Only data, predictions and runs can be at a URL.",
        )


def scheme_of(url: str) -> str:
    """`s3` of `s3://bucket/pages`."""
    found = _URL.match(url)
    return found[1].lower() if found else ""


def checked(url: str) -> str:
    """A URL as it is compared and written down; `UsageError` where it carries secrets.

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
    """The path that `file:///data/pages` stands for; None for what is not on this machine."""
    scheme = scheme_of(url)
    return Path(checked(url)[len(f"{scheme}://") :]) if scheme in _HERE else None


def without_secrets(text: str) -> str:
    """A message of a library, should it quote an address with its user and password."""
    return _USER.sub(r"\1", text)


def explained(url: str, error: BaseException, *, done: str = "read") -> UiproofError:
    """What a person is told when something at a URL cannot be read or written."""
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
        return MissingDependencyError(f"{scheme}:// needs another package.", remedy=remedy)
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
        return InputError(f"{url} is no possible place ({text}).")
    return DownloadError(
        f"{url} cannot be {done} ({kind}: {text}).",
        remedy="Check the network and the address, and run the same command again: "
        "it continues where it stopped.",
    )


def _code(error: BaseException) -> str:
    """The code that a server answered with, as botocore and gcsfs keep it."""
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        return str(answer.get("Error", {}).get("Code", ""))
    return str(getattr(error, "code", None) or getattr(error, "status", ""))


def advice(url: str) -> str:
    """How credentials for a URL are given."""
    return _CREDENTIALS.get(_EXTRAS.get(scheme_of(url), ""), "")
