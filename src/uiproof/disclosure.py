"""What of a run may be told to others: names and numbers, no secrets and no paths of a machine.

told("replay:/home/ann/predictions")                      # replay:predictions
told({"api_key": "…", "url": "https://ann:pw@host/v1"})   # {"url": "https://host/v1"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from uiproof.engine.rundir import RunDirectory
from uiproof.models.names import redacted

_SECRET_WORDS = {
    *("apikey", "authorization", "auth", "bearer", "cookie", "credential", "credentials"),
    *("passphrase", "passwd", "password", "secret", "secrets", "token"),
}
_SECRET_PAIRS = {("api", "key"), ("access", "key"), ("private", "key")}
# What keys of well-known services look like, wherever they stand.
_KEY = re.compile(
    r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[opsu]_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|xox[abp]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)|(?<=Bearer )[\w.~+/=-]{8,}"
)
_URL = r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+"
_PATH = r"(?<![\w.])(?:~[\w.-]*|[A-Za-z]:)?[\\/](?:[^\s\"'<>|:\\/]+[\\/]+)+[^\s\"'<>|:,;)\\/]*"
_URL_OR_PATH = re.compile(f"(?P<url>{_URL})|(?P<path>{_PATH})")
# One path and nothing else, perhaps after the name of a method: it may have blanks in it.
_WHOLE_PATH = re.compile(
    r"((?:[A-Za-z][\w-]+:)?)((?:~[\w.-]*)?/(?!/).*|[A-Za-z]:[\\/].*)", re.DOTALL
)
# What the manifest says that others may know; where the data lies is not among it.
_MANIFEST = (
    *("benchmark", "dataset", "dataset_key", "method", "assisted", "settings", "limit", "shard"),
    *("cases", "executor", "workers", "fingerprint", "created", "uiproof"),
)


def told(value: Any) -> Any:
    """A JSON value without secrets, and with the last name of every path of this machine."""
    if isinstance(value, str):
        return _told_text(value)
    if isinstance(value, Mapping):
        return {
            _told_text(str(name)): told(item)
            for name, item in value.items()
            if not _is_secret(str(name))
        }
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    return value


def told_manifest(run: RunDirectory) -> dict[str, Any]:
    """What `run.json` says, as far as others may know it."""
    manifest = run.manifest
    found = {name: told(manifest.get(name)) for name in _MANIFEST}
    # A data set that was named by its path is called by the last part of it.
    found["dataset"] = _last_name(str(found["dataset"] or "").rstrip("/\\")) or "unnamed"
    return found


def _is_secret(name: str) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    lower = [word.lower() for word in words]
    return bool(_SECRET_WORDS & set(lower) or _SECRET_PAIRS & set(pairwise(lower)))


def _told_text(text: str) -> str:
    # Names of files need not be valid Unicode, and others may not be able to read them then.
    text = text.encode("utf-8", "backslashreplace").decode()
    text = _KEY.sub("[key]", redacted(text))
    if (whole := _WHOLE_PATH.fullmatch(text)) and "://" not in text:
        return whole[1] + _last_name(whole[2])
    return _URL_OR_PATH.sub(_told_place, text)


def _told_place(found: re.Match[str]) -> str:
    if found["path"]:
        return _last_name(found["path"])
    try:
        parts = urlsplit(found["url"])
        if parts.scheme.lower() == "file":
            return _last_name(parts.path)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:  # brackets that are no address
        return "[address]"


def _last_name(path: str) -> str:
    kind = PureWindowsPath if "\\" in path else PurePosixPath
    return kind(path).name
