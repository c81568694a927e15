"""Who may ask, and how much: decided before a request is read."""

from __future__ import annotations

import hmac

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from uiproof.serve.desk import Desk, RefusedError
from uiproof.serve.schema import Refusal
from uiproof.serve.wording import problem

_CLOSED = ("/score", "/metrics")  # what a token is needed for; probes and /docs are open


class Gate:
    """ASGI middleware: refuses without a token, too large, or while there is no room."""

    def __init__(self, app: ASGIApp, desk: Desk, token: str | None) -> None:
        self._app, self._desk, self._token = app, desk, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] not in _CLOSED:
            await self._app(scope, receive, send)
            return
        most = self._desk.limits.body_bytes
        try:
            self._check(Request(scope))
        except RefusedError as refused:
            await _discard(receive, most)  # a client that still writes would not read the answer
            await refusal(refused)(scope, receive, send)
            return
        read = 0

        async def receive_bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                self._desk.metrics.rejected.labels("size").inc()
                raise HTTPException(413, _too_large(most))
            return message

        await self._app(scope, receive_bounded, send)

    def _check(self, request: Request) -> None:
        rejected = self._desk.metrics.rejected
        if self._token is not None:
            given = request.headers.get("authorization", "")
            expected = f"Bearer {self._token}"
            if not hmac.compare_digest(given.encode(), expected.encode()):
                rejected.labels("token").inc()
                raise RefusedError(
                    401,
                    "token",
                    "This service needs its token.",
                    "Send the header `Authorization: Bearer TOKEN`.",
                )
        if request.url.path == "/score":
            length = request.headers.get("content-length", "")
            most = self._desk.limits.body_bytes
            if length.isdecimal() and int(length) > most:
                rejected.labels("size").inc()
                raise RefusedError(413, "too_large", _too_large(most), _SMALLER)
            self._desk.check_open()


_SMALLER = "Send smaller pages or smaller batches."


def _too_large(most: int) -> str:
    return f"The request is larger than {most:,} bytes."


async def _discard(receive: Receive, most: int) -> None:
    read = 0
    while read <= most:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def refusal(refused: RefusedError) -> JSONResponse:
    """The answer to a request that is not carried out."""
    headers = {"Retry-After": str(refused.after)} if refused.after else {}
    if refused.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    told = Refusal(error=problem(refused.code, refused.message, refused.remedy))
    return JSONResponse(told.model_dump(), refused.status, headers)
