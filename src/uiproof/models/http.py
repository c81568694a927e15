"""Post JSON to a model server; every failure is an `AttemptError` whose kind decides on retries.

Plain httpx: with the providers' SDKs the same took more lines, and seconds to import them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import socket
import time
import urllib.request
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx

from uiproof.models.types import AttemptError, AttemptKind

MAX_BYTES = 64 * 2**20  # of an answer, unpacked
_MAX_ERROR_BYTES = 2**18
_MAX_MESSAGE = 4_000  # characters; messages are shortened further after redaction
_CONNECT_SECONDS = 20.0
_IDLE_SECONDS = 5.0  # servers close idle connections, perhaps while a request is being sent


class JsonClient:
    """Post JSON to one server, many requests at once.

    `url` may hold a user, a password and a query. They are added to each request below httpx's
    log, which never shows them.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float) -> None:
        parts = urlsplit(url)
        user_info, at, host = parts.netloc.rpartition("@")
        basic = base64.b64encode(unquote(user_info).encode()).decode()
        self._base = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            transport=_Transport(url),
            headers={
                "user-agent": "uiproof",
                "content-type": "application/json",
                **headers,
                **({"authorization": f"Basic {basic}"} if at else {}),
            },
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),  # `post` limits all of it
            follow_redirects=False,  # a key must not follow a redirect to another host
        )

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the JSON object that came back, and the seconds that it took."""
        content = json.dumps(body).encode()
        began = time.perf_counter()
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream("POST", self._base + path, content=content) as response,
            ):
                answer = await _read(response)
        except (TimeoutError, httpx.TimeoutException):
            message = f"There was no answer within {self._timeout:g} s."
            raise AttemptError("timeout", message) from None
        except httpx.DecodingError:
            raise AttemptError("malformed", "The answer cannot be unpacked.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Retrying does not help against an untrusted certificate.
            hopeless = "CERTIFICATE_VERIFY" in str(error)
            kind: AttemptKind = "no_access" if hopeless else "connection"
            message = f"{type(error).__name__}: {error}".rstrip(" :.")
            raise AttemptError(kind, f"{message}.") from None
        seconds = time.perf_counter() - began
        return _decode(response, answer), seconds

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class _Transport(httpx.AsyncHTTPTransport):
    """A transport that adds the query of an address to every request."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._query = dict(parse_qsl(parts.query, keep_blank_values=True))
        proxies = urllib.request.getproxies()
        direct = urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2])
        proxy = None if direct else proxies.get(parts.scheme) or proxies.get("all")
        super().__init__(
            proxy=proxy if proxy is None or "://" in proxy else f"http://{proxy}",
            limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
            socket_options=_keep_alive(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._query:
            request = httpx.Request(
                request.method,
                request.url.copy_merge_params(self._query),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return await super().handle_async_request(request)


def _keep_alive() -> list[tuple[int, int, int]]:
    # Keep NAT entries alive while a model thinks for minutes.
    wanted = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in wanted.items()
        if hasattr(socket, name)
    ]


async def _read(response: httpx.Response) -> bytes:
    """Read a body up to a limit, so that no server can fill the memory."""
    limit = MAX_BYTES if response.is_success else _MAX_ERROR_BYTES
    body = bytearray()
    async for block in response.aiter_bytes():
        body += block
        if len(body) > limit:
            if response.is_success:
                raise AttemptError("malformed", f"The answer has more than {limit:,} bytes.")
            break
    return bytes(body[:limit])


def _decode(response: httpx.Response, body: bytes) -> dict[str, Any]:
    if not response.is_success:
        raise failure(response.status_code, response.headers, body)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and "json" not in kind:
        raise AttemptError("malformed", f"The answer is {kind[:80]}, not JSON.")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise AttemptError("malformed", "The answer is not JSON.") from None
    if not isinstance(answer, dict):
        raise AttemptError("malformed", "The answer is JSON, but not an object.")
    # Some gateways answer 200 and write the status of the server behind them into the body.
    error = answer.get("error")
    if isinstance(error, Mapping) and not answer.get("choices"):
        code = error.get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise failure(status, response.headers, body)
    return answer


# The account cannot pay. Google mentions quota and billing for any rate limit, so only wording
# counts that is never used for a limit per minute.
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


def failure(status: int, headers: Mapping[str, str], body: bytes) -> AttemptError:
    """Return the error for an HTTP status other than success."""
    text = body.decode("utf-8", "replace")
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        decoded = None
    if isinstance(decoded, list) and decoded:  # Google wraps some errors in a list
        decoded = decoded[0]
    error = decoded.get("error") or decoded if isinstance(decoded, Mapping) else decoded
    retry_after = _retry_after(headers)
    if retry_after is None:
        retry_after = _retry_delay(error)
    kind = _kind(status, text, has_retry_after=retry_after is not None)
    if 300 <= status < 400:
        message = f"the address has moved to {headers.get('location', 'an unknown place')}"
    else:
        message = _plain(text) if decoded is None else _message(error)
    shown = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    return AttemptError(kind, shown[:_MAX_MESSAGE], retry_after=retry_after)


def _kind(status: int, text: str, *, has_retry_after: bool) -> AttemptKind:
    if status == 402 or (status in (400, 403, 429) and _UNPAID.search(text)):
        return "quota"
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "rate_limited" if has_retry_after or _OVERLOADED.search(text) else "server"
    if status == 500:
        return "fault"
    if status > 500 or status in _TRY_AGAIN:
        return "server"
    if status == 403 and _MODERATED.search(text):  # about the request, not about the account
        return "rejected"
    if status in (401, 403) or status in _WRONG_ADDRESS or status < 400:
        return "no_access"
    if status == 400 and _NO_ACCESS.search(text):
        return "no_access"
    return "rejected"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that the headers ask for."""
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


def _retry_delay(error: Any) -> float | None:
    """Return the seconds to wait that Google writes into the body."""
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _seconds(delay[:-1])
    return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _message(error: Any) -> str:
    """Return the provider's message without the request, which some repeat in full."""
    if isinstance(error, str):
        return _plain(error)
    if not isinstance(error, Mapping):
        return ""
    said = error.get("message") or error.get("detail") or ""
    if isinstance(said, list):  # FastAPI: one entry per invalid field
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
    """Return a text on one line, without markup, repeated input and pictures."""
    text = re.sub(r"(?is)<(style|script)\b.*?</\1>|<[^>]{0,500}>", " ", text[:50_000])
    text = re.split(r"""['"]input['"]\s*:""", text)[0]
    text = re.sub(r"[A-Za-z0-9+/=_-]{400,}", "…", text)
    return " ".join(text.split())[:_MAX_MESSAGE]
