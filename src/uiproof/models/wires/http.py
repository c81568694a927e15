"""HTTP as the SDKs are made to use it: bounded, strict about answers, quick with many at once.

The SDKs build the requests. What carries them is a `Transport` of ours, for three reasons: an
answer must not fill the memory, whatever a server sends; every failure is to mean the same with
all three SDKs; and the connection pool below them takes seconds of processor time for a few
hundred requests at once. The connections themselves are those of the SDKs' HTTP library.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
import urllib.request
import zlib
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from uiproof.models.types import AttemptError, AttemptKind
from uiproof.models.wires.failures import failure, status_in_body
from uiproof.models.wires.gate import GATE
from uiproof.models.wires.network import Network

MAX_BYTES = 64 * 2**20  # of an answer, unpacked
_MAX_ERROR_BYTES = 2**18  # of an error nobody needs more
_CONNECT_SECONDS = 20.0
_IDLE_SECONDS = 5.0  # servers close what nobody uses, and may do so while a request is on its way

# Where a transport leaves the answer for the call that it belongs to: the SDKs would make types
# of their own from it.
_answers: ContextVar[list[tuple[dict[str, Any], float]]] = ContextVar("answers")


async def answer_to(call: Awaitable[object], timeout: float) -> tuple[dict[str, Any], float]:
    """The JSON that came back for a call to an SDK, as it came, and the seconds on the network."""
    answers: list[tuple[dict[str, Any], float]] = []
    token = _answers.set(answers)
    try:
        async with asyncio.timeout(timeout):
            await call
    except TimeoutError:
        raise AttemptError("timeout", f"There was no answer within {timeout:g} s.") from None
    except Exception as error:  # noqa: BLE001 - SDKs wrap what the transport raises, each its way
        raise _first_cause(error) from None
    finally:
        _answers.reset(token)
    if not answers:
        raise AttemptError("malformed", "The SDK took the request and sent nothing.")
    return answers[-1]


def _first_cause(error: BaseException) -> AttemptError:
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, AttemptError):
            return cause
        cause = cause.__cause__ or cause.__context__
    # Not from the network: the SDK itself would not send this request.
    return AttemptError("rejected", f"{type(error).__name__}: {error}")


def http_client(of_sdk: type, url: str, *, only_headers: frozenset[str] | None = None) -> Any:
    """A client of the kind that an SDK wants, from its own class of clients."""
    # SDKs have moved from httpx to httpx2, which does not take the objects of the other.
    names = (kind.__module__.partition(".")[0] for kind in of_sdk.__mro__)
    library = import_module(next(name for name in names if name in ("httpx", "httpx2")))
    # A key must not follow a redirect to another host.
    transport = Transport(library, url, only_headers=only_headers)
    return library.AsyncClient(transport=transport, follow_redirects=False)


class Transport:
    """Carries requests to one address and hands back only answers; failures are `AttemptError`.

    `url` is the address with its secrets: what it has of user, password and query goes into every
    request here, where no SDK writes it into a log. `only_headers` keeps all others back.
    """

    def __init__(self, library: Any, url: str, *, only_headers: frozenset[str] | None) -> None:
        self._library = library
        self._core = import_module(library.__name__.replace("httpx", "httpcore"))
        self._only_headers = only_headers
        parts = urlsplit(url)
        self._query = dict(parse_qsl(parts.query, keep_blank_values=True))
        user_info, at, _ = parts.netloc.rpartition("@")
        token = base64.b64encode(unquote(user_info).encode())
        self._headers = {b"authorization": b"Basic " + token} if at else {}
        self._headers[b"accept-encoding"] = b"gzip"  # the one that is unpacked here
        # It only makes connections. To look for an idle one it would look at all of them.
        self._connections = self._core.AsyncConnectionPool(
            ssl_context=certificates(library),
            proxy=_proxy(self._core, url),
            keepalive_expiry=_IDLE_SECONDS,
            socket_options=_keep_alive(),
            network_backend=Network(),
        )
        self._idle: deque[Any] = deque()  # the one that was used last is at the end

    async def __aenter__(self) -> Transport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            await self._idle.pop().aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request of the SDK; what it gets for an answer is an empty object."""
        core = self._core
        try:
            _answers.get().append(await self._exchange(request))
        except (core.TimeoutException, TimeoutError) as error:
            raise AttemptError("timeout", f"{_what_happened(error)}.") from error
        except (core.NetworkError, core.ProtocolError, core.ProxyError, OSError) as error:
            # A certificate does not get better by trying again.
            hopeless = "CERTIFICATE_VERIFY" in str(error)
            kind: AttemptKind = "no_access" if hopeless else "connection"
            raise AttemptError(kind, f"{_what_happened(error)}.") from error
        return self._library.Response(200, json={}, request=request)

    async def _exchange(self, request: Any) -> tuple[dict[str, Any], float]:
        url = request.url.copy_merge_params(self._query) if self._query else request.url
        sent = self._core.Request(
            request.method,
            self._core.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=self._with_ours(request.headers.raw),
            content=request.stream,
            extensions={"timeout": {"connect": _CONNECT_SECONDS}},
        )
        async with GATE:
            began = time.perf_counter()
            connection = await self._connection(sent.url.origin)
            response = await connection.handle_async_request(sent)
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers
            }
            good = 200 <= response.status < 300
            limit = MAX_BYTES if good else _MAX_ERROR_BYTES
            try:
                body, whole = await _read(response.stream, headers, limit)
            finally:
                await response.aclose()
                if connection.is_available():
                    self._idle.append(connection)
            seconds = time.perf_counter() - began
        if not good:
            raise failure(response.status, headers, body)
        if not whole:
            raise AttemptError("malformed", f"The answer has more than {MAX_BYTES:,} bytes.")
        answer = _decoded(headers.get("content-type", ""), body)
        if status := status_in_body(answer):
            raise failure(status, headers, body)
        return answer, seconds

    def _with_ours(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        kept = [
            (name, value)
            for name, value in headers
            if (known := name.lower()) not in self._headers
            and (self._only_headers is None or known.decode("latin-1") in self._only_headers)
        ]
        return kept + list(self._headers.items())

    async def _connection(self, origin: Any) -> Any:
        """A connection that is open and idle, or a new one."""
        while self._idle and self._idle[0].has_expired():
            await self._idle.popleft().aclose()
        while self._idle:
            connection = self._idle.pop()
            if connection.can_handle_request(origin) and not connection.has_expired():
                return connection
            await connection.aclose()
        return self._connections.create_connection(origin)


async def _read(
    stream: AsyncIterable[bytes], headers: Mapping[str, str], limit: int
) -> tuple[bytearray, bool]:
    """The unpacked body up to a limit, and whether that was all of it."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise AttemptError("malformed", f"The answer is packed in a way not asked for: {encoding}.")
    unpacker = zlib.decompressobj(wbits=47) if encoding not in ("identity", "") else None
    body = bytearray()
    async for block in stream:
        if not unpacker:
            body += block
        while unpacker and block and len(body) <= limit:
            try:
                body += unpacker.decompress(block, limit + 1 - len(body))
            except zlib.error as error:
                raise AttemptError("malformed", "The answer cannot be unpacked.") from error
            block = unpacker.unconsumed_tail
        if len(body) > limit:
            return body[:limit], False
    if unpacker and not unpacker.eof:
        raise AttemptError("malformed", "The answer is packed, and its end is missing.")
    return body, True


def _decoded(content_type: str, body: bytearray) -> dict[str, Any]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind and "json" not in kind:
        raise AttemptError("malformed", f"The answer is {kind[:80]}, not JSON.")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise AttemptError("malformed", "The answer is not JSON.") from None
    if not isinstance(answer, dict):
        raise AttemptError("malformed", "The answer is JSON, but not an object.")
    return answer


def _what_happened(error: BaseException) -> str:
    words = str(error) or str(error.__cause__ or "")
    return f"{type(error).__name__}: {words}".rstrip(" :.")


@lru_cache(maxsize=2)
def certificates(library: Any) -> Any:
    """Those that are trusted; to load them takes a while."""
    return library.create_ssl_context()


def _proxy(core: Any, url: str) -> Any:
    """The proxy that the environment names for an address, None where it names none."""
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies: Mapping[str, str] = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    user, password = unquote(address.username or ""), unquote(address.password or "")
    return core.Proxy(address.geturl(), auth=(user, password) if user or password else None)


def _keep_alive() -> list[tuple[int, int, int]]:
    """So that routers do not forget a connection on which a model thinks for minutes."""
    wanted = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in wanted.items()
        if hasattr(socket, name)
    ]
