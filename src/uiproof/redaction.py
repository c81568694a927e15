"""Redact what leaves this machine: names and numbers stay, secrets and local paths go.

redact("replay:/home/ann/predictions")                      # replay:predictions
redact({"api_key": "…", "url": "https://ann:pw@host/v1"})   # {"url": "https://host/v1"}
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
# Patterns of API keys of well-known services.
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
# Manifest entries that may be published; paths of data are not among them.
_MANIFEST = (
    *("benchmark", "dataset", "dataset_key", "method", "assisted", "settings", "limit", "shard"),
    *("cases", "executor", "workers", "fingerprint", "created", "uiproof"),
)


def redact(value: Any) -> Any:
    """Return a JSON value without secrets, and with only the last name of every local path."""
    if isinstance(value, str):
        return _redact_text(value)
    if isinstance(value, Mapping):
        return {
            _redact_text(str(name)): redact(item)
            for name, item in value.items()
            if not _is_secret(str(name))
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def redacted_manifest(run: RunDirectory) -> dict[str, Any]:
    """Return what `run.json` says, without what others must not know."""
    manifest = run.manifest
    found = {name: redact(manifest.get(name)) for name in _MANIFEST}
    # A data set that was named by its path is called by the last part of it.
    found["dataset"] = _last_name(str(found["dataset"] or "").rstrip("/\\")) or "unnamed"
    return found


def _is_secret(name: str) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    lower = [word.lower() for word in words]
    return bool(_SECRET_WORDS & set(lower) or _SECRET_PAIRS & set(pairwise(lower)))


def _redact_text(text: str) -> str:
    # Names of files need not be valid Unicode, and others may not be able to read them then.
    text = text.encode("utf-8", "backslashreplace").decode()
    text = _KEY.sub("[key]", redacted(text))
    if (whole := _WHOLE_PATH.fullmatch(text)) and "://" not in text:
        return whole[1] + _last_name(whole[2])
    return _URL_OR_PATH.sub(_redact_place, text)


def _redact_place(found: re.Match[str]) -> str:
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
