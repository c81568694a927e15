"""Who may come in, and what pages of the studio may do.

A token opens the studio: `/?token=…` puts it into a cookie that scripts cannot read and cleans the
address. The owner's token is made at every start; annotators have one each that only labels.

Every request must name a host that the studio is known by, which keeps out pages of other sites
that point their name at this machine. Every change must carry the header `X-CSRF-Token`, which
scripts of other origins can neither know nor send. Generated pages come from `/frame/` without a
cookie: see `frames`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from uiproof.studio.store import Store

_SAFE = frozenset({"GET", "HEAD"})
_OPEN = ("/static/", "/frame/")  # nothing secret, or opened by an address nobody can guess
YEAR = 365 * 24 * 3600  # seconds; how long cookies last


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who sent a request: the owner, or one annotator."""

    token: str
    owner: bool
    annotator: int | None  # fixed for annotators; the owner chooses a name

    def csrf(self, secret: bytes) -> str:
        """What every change must carry."""
        return hmac.new(secret, self.token.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Gate:
    """The tokens and host names that are let in."""

    store: Store
    hosts: frozenset[str]  # in lower case, without ports
    owner_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def visitor(self, token: str | None) -> Visitor | None:
        """Whose token this is."""
        if not token:
            return None
        if hmac.compare_digest(token.encode(), self.owner_token.encode()):
            return Visitor(token, owner=True, annotator=None)
        for person in self.store.annotators():
            if hmac.compare_digest(token.encode(), person.token.encode()):
                return Visitor(token, owner=False, annotator=person.id)
        return None

    def sign(self, text: str) -> str:
        """A key that only this studio can make for this text."""
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()[:40]


class Security:
    """ASGI middleware: checks requests, and says in every answer what its page may do."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
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

        refusal = self._refusal(request, path)
        await (refusal or self._app)(scope, receive, send_protected)

    def _refusal(self, request: Request, path: str) -> Response | None:
        if _name(request.headers.get("host", "")) not in self._gate.hosts:
            return PlainTextResponse(
                "The studio is not known by this address. Use the one that it printed, or start it "
                "with --allow-host.\n",
                400,
            )
        if path.startswith(_OPEN) and request.method in _SAFE:
            return None
        cookie = cookie_name(request)
        visitor = self._gate.visitor(request.cookies.get(cookie))
        given = request.query_params.get("token")
        if given is not None and request.method in _SAFE:
            visitor = self._gate.visitor(given) or visitor
            return _settled(request, cookie, visitor)
        if visitor is None:
            return PlainTextResponse(
                "Open the studio with the address that it printed when it was started; it has a "
                "token in it.\n",
                403,
            )
        if request.method not in _SAFE and not self._is_ours(request, visitor):
            return PlainTextResponse("This change did not come from a page of the studio.\n", 403)
        request.scope["visitor"] = visitor
        return None

    def _is_ours(self, request: Request, visitor: Visitor) -> bool:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return False
        sent = request.headers.get("x-csrf-token", "")
        return hmac.compare_digest(sent.encode(), visitor.csrf(self._gate.secret).encode())


def _settled(request: Request, cookie: str, visitor: Visitor | None) -> Response:
    """The same address without its token, which is in a cookie from now on."""
    if visitor is None:
        return PlainTextResponse(
            "This address is of an earlier start of the studio, or was taken back.\n", 403
        )
    left = [pair for pair in parse_qsl(request.url.query) if pair[0] != "token"]
    target = request.url.path + (f"?{urlencode(left)}" if left else "")
    # Two slashes at the beginning would name another host.
    response = RedirectResponse("/" + target.lstrip("/"), 303)
    response.set_cookie(
        cookie, visitor.token, max_age=YEAR, httponly=True, samesite="strict", path="/"
    )
    return response


def cookie_name(request: Request) -> str:
    """Cookies are shared by all ports of a host, so each studio has a name of its own."""
    return f"uiproof_{request.url.port or 80}"


def _name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _headers(host: str, path: str) -> dict[str, str]:
    # CSP has no way to write an IPv6 address; without one only our own origin remains.
    frames = "'self'" if host.startswith("[") else f"http://{host}/frame/"
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "frame-src": frames,  # also keeps generated pages from going anywhere else
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    common = {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-DNS-Prefetch-Control": "off",
    }
    if not path.startswith("/static/"):
        common["Cache-Control"] = "no-store"
    return common


def host_names(host: str, allowed: Iterable[str] = ()) -> frozenset[str]:
    """The names by which a studio that listens on `host` may be called."""
    names = {"127.0.0.1", "localhost", "[::1]", *(name.lower() for name in allowed)}
    if host not in ("0.0.0.0", "::", ""):  # those mean every address
        names.add(f"[{host}]" if ":" in host else host.lower())
    return frozenset(names)
