"""What an HTTP error of a provider means."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from uiproof.models.types import AttemptError, AttemptKind

_LONG_ENOUGH = 4_000  # of a message; it is cut to its final length after secrets are taken out

# Nothing left to pay with. Google's words for any rate limit speak of quota and billing too, so
# only what nobody says of a limit per minute counts.
_UNPAID = re.compile(
    r"insufficient_quota|billing_(error|hard_limit|not_active)|credit balance|Arrearage"
    r"|insufficient (credit|balance|fund)|PerDay|per-day",
    re.IGNORECASE,
)
_NO_ACCESS = re.compile(r"API key not valid|API_KEY_INVALID|location is not supported", re.I)
_MODERATED = re.compile(r"moderation|flagged", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded|high demand|rate.?limit|too many requests", re.IGNORECASE)
_TRY_AGAIN = frozenset((408, 409, 425, 499))
_WRONG_ADDRESS = frozenset((404, 405, 410))


def failure(status: int, headers: Mapping[str, str], body: bytes | bytearray) -> AttemptError:
    """The error for an answer with an HTTP status that is none of success."""
    text = body.decode("utf-8", "replace")
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        decoded = None
    retry_after = _retry_after(headers)
    if retry_after is None:
        retry_after = _retry_delay(decoded)
    kind = _kind(status, text, has_retry_after=retry_after is not None)
    if 300 <= status < 400:
        message = f"the address has moved to {headers.get('location', 'an unknown place')}"
    else:
        message = _message(decoded) if decoded is not None else _plain(text)
    shown = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    return AttemptError(kind, shown[:_LONG_ENOUGH], retry_after=retry_after)


def status_in_body(answer: Mapping[str, Any]) -> int | None:
    """The HTTP status that some gateways write into an answer which calls itself a success."""
    error = answer.get("error")
    if not isinstance(error, Mapping) or answer.get("choices"):
        return None
    code = error.get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _kind(status: int, text: str, *, has_retry_after: bool) -> AttemptKind:
    if status == 402 or (status in (400, 403, 429) and _UNPAID.search(text)):
        return "quota"
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "rate_limited" if has_retry_after or _OVERLOADED.search(text) else "server"
    if status >= 500 or status in _TRY_AGAIN:
        return "server"
    if status == 403 and _MODERATED.search(text):  # about what was asked, not who asks
        return "rejected"
    if status in (401, 403) or status in _WRONG_ADDRESS or status < 400:
        return "no_access"
    if status == 400 and _NO_ACCESS.search(text):
        return "no_access"
    return "rejected"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the headers that say so."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _retry_delay(decoded: Any) -> float | None:
    """Seconds to wait, from the details that Google puts into the body."""
    for detail in _details(decoded):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _seconds(delay[:-1])
    return None


def _details(decoded: Any) -> Iterator[Mapping[str, Any]]:
    error = _error(decoded)
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield detail


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _error(decoded: Any) -> Any:
    if isinstance(decoded, list) and decoded:  # Google wraps some errors in a list
        decoded = decoded[0]
    if isinstance(decoded, Mapping) and decoded.get("error"):
        return decoded["error"]
    return decoded


def _message(decoded: Any) -> str:
    """What the provider says, and never what it was sent: some repeat the whole request."""
    error = _error(decoded)
    if isinstance(error, str):
        return _plain(error)
    if not isinstance(error, Mapping):
        return ""
    said = error.get("message") or error.get("detail") or ""
    if isinstance(said, list):  # one entry per field that did not pass
        entries = [entry for entry in said if isinstance(entry, Mapping)]
        said = "; ".join(f"{_field(entry)}: {entry.get('msg', 'wrong')}" for entry in entries)
    message = _plain(str(said))
    parameter = error.get("param")
    if isinstance(parameter, str) and parameter and parameter not in message:
        message += f" (parameter: {_plain(parameter)})"
    return message


def _field(entry: Mapping[str, Any]) -> str:
    location = entry.get("loc")
    return ".".join(map(str, location)) if isinstance(location, list) else "?"


def _plain(text: str) -> str:
    """A text on one line, without markup, repeated input and pictures."""
    text = re.sub(r"(?is)<(style|script)\b.*?</\1>|<[^>]{0,500}>", " ", text[:50_000])
    text = re.split(r"""['"]input['"]\s*:""", text)[0]
    text = re.sub(r"[A-Za-z0-9+/=_-]{400,}", "…", text)
    return " ".join(text.split())[:_LONG_ENOUGH]
