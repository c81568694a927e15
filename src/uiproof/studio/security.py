"""Authentication of visitors, checks of requests, and the policies of the studio's pages.

A token opens the studio: `/?token=…` moves it into a cookie that scripts cannot read. The owner's
token is made at every start; each annotator has one that only labels. A link for another visitor
never replaces a session without asking.

Every request must name a known host, which stops DNS rebinding. Every change must carry the header
`X-CSRF-Token`, which scripts of other origins can neither know nor send. Bodies are bounded, and
JSON may hold only what the store can: numbers of 64 bits and valid Unicode. Generated pages are
served from `/frame/` without a cookie: see `frames`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from uiproof.files import has_more_values
from uiproof.sockets import HostNames
from uiproof.studio.store import Store

_SAFE = frozenset({"GET", "HEAD"})
_OPEN = ("/static/", "/frame/")  # nothing secret, or opened by an address that cannot be guessed
_YEAR = 365 * 24 * 3600  # seconds; how long cookies last

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_MOST_FORM_BYTES = 66 * 2**20  # uploads have a separate limit, with a remedy
_MOST_JSON_BYTES = 8 * 2**20
_MOST_VALUES = 200_000


@dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request: the owner, or one annotator."""

    token: str
    owner: bool
    annotator: int | None  # fixed for annotators; the owner chooses a name

    def csrf(self, secret: bytes) -> str:
        """Return the token that every change must carry."""
        return hmac.new(secret, self.token.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class AccessControl:
    """The tokens and host names that are accepted."""

    store: Store
    hosts: HostNames
    owner_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def visitor(self, token: str | None) -> Visitor | None:
        """Return the visitor with this token, if there is one."""
        if not token:
            return None
        if hmac.compare_digest(token.encode(), self.owner_token.encode()):
            return Visitor(token, owner=True, annotator=None)
        for person in self.store.annotators():
            if hmac.compare_digest(token.encode(), person.token.encode()):
                return Visitor(token, owner=False, annotator=person.id)
        return None

    def sign(self, text: str) -> str:
        """Return a signature that only this studio can make."""
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()[:40]


class Security:
    """ASGI middleware that checks requests and adds the policies to responses."""

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the application."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope)
        path = str(scope["path"])

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _headers(request.headers.get("host", ""), path).items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(request, path)
        if answer is None and request.method not in _SAFE:
            try:
                receive = await _checked_body(request, receive)
            except _BadBodyError as error:
                answer = PlainTextResponse(f"{error}\n", error.status)
        await (answer or self._app)(scope, receive, send_protected)

    def _refusal(self, request: Request, path: str) -> Response | None:
        if not self._access.hosts.know(request.headers.get("host", "")):
            return PlainTextResponse(
                "This host name is not allowed. Use the address that the studio printed, or start "
                "it with --allow-host.\n",
                400,
            )
        if path.startswith(_OPEN) and request.method in _SAFE:
            return None
        cookie = cookie_name(request)
        visitor = self._access.visitor(request.cookies.get(cookie))
        given = request.query_params.get("token")
        if given is not None and request.method in _SAFE:
            return self._entered(request, cookie, visitor, self._access.visitor(given))
        if visitor is None:
            return PlainTextResponse(
                "Open the studio with the address that it printed at its start, which holds a "
                "token.\n",
                403,
            )
        if request.method not in _SAFE and not self._is_ours(request, visitor):
            return PlainTextResponse("This request did not come from a page of the studio.\n", 403)
        request.scope["visitor"] = visitor
        return None

    def _entered(
        self, request: Request, cookie: str, now: Visitor | None, wanted: Visitor | None
    ) -> Response:
        """Answer a link with a token: open that session, after a question if there is another."""
        if now is None or wanted is None or now.token == wanted.token:
            return _settled(request, cookie, wanted or now)
        agreed = self._access.sign(f"become {now.token} {wanted.token}")
        if hmac.compare_digest(request.query_params.get("agreed", "").encode(), agreed.encode()):
            return _settled(request, cookie, wanted)
        names = {person.id: person.name for person in self._access.store.annotators()}
        pairs = [pair for pair in parse_qsl(request.url.query) if pair[0] != "agreed"]
        there = f"{_path(request)}?{urlencode([*pairs, ('agreed', agreed)])}"
        return HTMLResponse(_question(_called(now, names), _called(wanted, names), there))

    def _is_ours(self, request: Request, visitor: Visitor) -> bool:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return False
        sent = request.headers.get("x-csrf-token", "")
        return hmac.compare_digest(sent.encode(), visitor.csrf(self._access.secret).encode())


def _settled(request: Request, cookie: str, visitor: Visitor | None) -> Response:
    """Redirect to the same address without its token, which moves into a cookie."""
    if visitor is None:
        return PlainTextResponse(
            "This link is from an earlier start of the studio, or was replaced.\n", 403
        )
    left = [pair for pair in parse_qsl(request.url.query) if pair[0] not in ("token", "agreed")]
    response = RedirectResponse(_path(request) + (f"?{urlencode(left)}" if left else ""), 303)
    set_cookie(request, response, cookie, visitor.token)
    return response


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="strict", secure=secure)


def _path(request: Request) -> str:
    # Two slashes at the beginning would name another host.
    return "/" + request.url.path.lstrip("/")


def _called(visitor: Visitor, names: dict[int, str]) -> str:
    if visitor.owner or visitor.annotator is None:
        return "the owner of this studio"
    return names.get(visitor.annotator, "an annotator")


def _question(now: str, wanted: str, there: str) -> str:
    """Return a page that asks before one session replaces another."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Switch session?</title>'
        '<link rel="stylesheet" href="/static/studio.css"><main><section>'
        f"<h1>Continue as {escape(wanted)}?</h1>"
        f"<p>This browser is signed in as {escape(now)}. The link is for {escape(wanted)}.</p>"
        f'<p><a href="{escape(there)}">Continue as {escape(wanted)}</a></p>'
        f'<p><a href="/">Stay {escape(now)}</a></p></section></main></html>'
    )


class _BadBodyError(Exception):
    """A body that is refused, whatever it is for."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def _checked_body(request: Request, receive: Receive) -> Receive:
    """Return a stream of the body once it is checked; raise `_BadBodyError`."""
    kind, _, options = request.headers.get("content-type", "").lower().partition(";")
    form = kind.strip() in _FORMS
    most = _MOST_FORM_BYTES if form else _MOST_JSON_BYTES
    length = request.headers.get("content-length", "0")
    if "transfer-encoding" in request.headers or not length.isdecimal():
        raise _BadBodyError("The header `Content-Length` is missing.")
    if int(length) > most:
        raise _BadBodyError(f"The request is larger than {most // 2**20} MB.", 413)
    if form:
        if "charset" in options and "utf-8" not in options and "utf8" not in options:
            raise _BadBodyError("Forms must be in UTF-8.", 415)
        return receive
    try:
        body = b"".join([part async for part in Request(request.scope, receive).stream()])
    except ClientDisconnect:
        raise _BadBodyError("The request did not arrive.") from None
    if body:
        _check_json(body)
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _check_json(body: bytes) -> None:
    if has_more_values(body, _MOST_VALUES):
        raise _BadBodyError(f"The request has more than {_MOST_VALUES:,} values.", 413)
    try:
        content: Any = json.loads(
            body.decode(), parse_int=_number, parse_float=_number, parse_constant=_number
        )
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise _BadBodyError("The text has characters that cannot be written as UTF-8.") from None
    except RecursionError:
        raise _BadBodyError("The JSON is nested too deeply.") from None
    except ValueError:
        raise _BadBodyError("The request is not JSON.") from None


def _number(text: str) -> float:
    """Return a number that the store can hold; raise `_BadBodyError` for larger ones."""
    value = float(text) if len(text) < 1_000 else math.inf
    if not abs(value) < 2**63:
        raise _BadBodyError(f"The number {text[:30]} is too large.")
    return value


def cookie_name(request: Request) -> str:
    """Return a name by port, since all ports of a host share cookies."""
    return f"uiproof_{request.url.port or 80}"


def _headers(host: str, path: str) -> dict[str, str]:
    # A policy cannot hold an IPv6 address; only our own origin is allowed then.
    frames = "'self'" if host.startswith("[") else f"http://{host}/frame/"
    return {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
        # Also keeps generated pages from navigating elsewhere.
        f"frame-src {frames}; base-uri 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-DNS-Prefetch-Control": "off",
        **({} if path.startswith("/static/") else {"Cache-Control": "no-store"}),
    }
