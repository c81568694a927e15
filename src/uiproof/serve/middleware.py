"""Checks of requests before they are read, and responses to refused ones."""

from __future__ import annotations

import hmac
import json
import logging
import re
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from uiproof.serve.schema import Problem, Refusal, RefusedError
from uiproof.sockets import HostNames

if TYPE_CHECKING:
    from uiproof.serve.queue import ScoreQueue

# From the root, and at least two names deep; not the rest of an address or the end of a tag.
_PATH = re.compile(r"(?<![\w:/<.])/(?:[^\s/'\"<>:]+/)+([^\s/'\"<>:]*)")
_LONGEST = 1_000
_ASKED = ("/score", "/reward", "/reward/openrlhf", "/reward/slime")
_CLOSED = (*_ASKED, "/metrics")  # what a token is needed for; probes and /docs are open
_SMALLER = "Send smaller pages or smaller batches."


class RequestFilter:
    """ASGI middleware that checks host, origin, token, size and room in the queue."""

    def __init__(
        self, app: ASGIApp, queue: ScoreQueue, token: str | None, hosts: HostNames
    ) -> None:
        self._app, self._queue, self._token, self._hosts = app, queue, token, hosts
        self._held = 0  # bytes of requests that are not answered yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(Request(scope))
        except RefusedError as refused:
            # A client that is still sending would not read the answer.
            await _discard(receive, self._queue.limits.body_bytes)
            await refusal(refused)(scope, receive, send)
            return
        read = 0

        async def receive_bounded() -> Message:
            nonlocal read
            message = await receive()
            size = len(message.get("body", b""))
            read += size
            self._held += size
            if read > self._queue.limits.body_bytes:
                raise self._too_large()
            if self._held > self._queue.limits.held_bytes:
                self._queue.refuse_for_now()
            return message

        try:
            await self._app(scope, receive_bounded, send)
        finally:
            self._held -= read

    def _check(self, request: Request) -> None:
        host = request.headers.get("host", "")
        if host and not self._hosts.know(host):  # browsers always send one
            self._refuse(
                421,
                "host",
                f"Unknown host {host[:100]!a}.",
                "Use its address, or start it with --allow-host NAME.",
            )
        path = request.scope["path"]
        if path not in _CLOSED:
            return
        if not _same_origin(request, host):
            self._refuse(
                403,
                "origin",
                "Pages of other web sites may not use this service.",
                "Ask from a program, not from a page in a browser.",
            )
        if self._token is not None:
            given = request.headers.get("authorization", "")
            expected = f"Bearer {self._token}"
            if not hmac.compare_digest(given.encode(), expected.encode()):
                self._refuse(
                    401,
                    "token",
                    "This service needs its token.",
                    "Send the header `Authorization: Bearer TOKEN`.",
                )
        if path in _ASKED and request.method == "POST":
            self._check_body(request)

    def _refuse(self, status: int, code: str, message: str, remedy: str) -> NoReturn:
        self._queue.metrics.rejected.labels(code).inc()
        raise RefusedError(status, code, message, remedy)

    def _check_body(self, request: Request) -> None:
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusedError(
                415,
                "encoding",
                "Compressed requests are not accepted.",
                "Send the request without `Content-Encoding`.",
            )
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._queue.limits.body_bytes:
            raise self._too_large()
        self._queue.check_open()

    def _too_large(self) -> RefusedError:
        self._queue.metrics.rejected.labels("size").inc()
        most = self._queue.limits.body_bytes
        return RefusedError(
            413, "too_large", f"The request is larger than {most:,} bytes.", _SMALLER
        )


class AsciiResponse(JSONResponse):
    """JSON in ASCII, since texts that come back with an answer may not be valid Unicode."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def _same_origin(request: Request, host: str) -> bool:
    """Tell whether a request comes from a program or from a page of this service."""
    if request.headers.get("sec-fetch-site", "none") in ("cross-site", "same-site"):
        return False
    origin = request.headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


async def _discard(receive: Receive, most: int) -> None:
    read = 0
    while read <= most:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def refusal(refused: RefusedError) -> AsciiResponse:
    """Return the response to a refused request."""
    headers = {"Retry-After": str(refused.after)} if refused.after else {}
    if refused.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = Refusal(error=problem(refused.code, refused.message, refused.remedy))
    return AsciiResponse(content.model_dump(), refused.status, headers)


def problem(code: str, message: str, remedy: str = "") -> Problem:
    """Return an error for a client. Unexpected ones go to the log of the service instead."""
    if code == "internal":
        logging.getLogger("uiproof.serve").error("%s", message)
        return Problem(
            code=code,
            message="The judge failed unexpectedly.",
            remedy="The log of the service says more; please report it.",
        )
    return Problem(code=code, message=_without_folders(message), remedy=_without_folders(remedy))


def _without_folders(text: str) -> str:
    """Return a text with the names of files in place of their paths."""
    return _PATH.sub(lambda path: path[1] or "a folder", text)[:_LONGEST]
