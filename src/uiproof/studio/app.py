"""The web app: one FastAPI application with the routers of `routes/`.

app = make_app(Studio(runs=Path("runs"), store=Store(Path("runs/studio.sqlite3"))))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field
from starlette.exceptions import HTTPException

from uiproof.errors import InputError, UiproofError
from uiproof.labels import Annotator
from uiproof.sockets import HostNames
from uiproof.stats.intervals import bounds_text
from uiproof.studio.datasets import Library
from uiproof.studio.launch import RunLauncher
from uiproof.studio.runs import Reports, RunMonitor
from uiproof.studio.security import AccessControl, Security, Visitor, cookie_name, set_cookie
from uiproof.studio.store import Store
from uiproof.views.base import asset

_Entry = TypeVar("_Entry")
_NAMES = "_name"  # suffix of the cookie with the name that the owner labels under


@dataclass(frozen=True, slots=True)
class Studio:
    """The runs and data sets that are shown, the store, and what is kept in memory."""

    runs: Path  # a folder with run directories at any depth
    store: Store
    datasets: tuple[Path, ...] = ()
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    access: AccessControl = field(init=False)
    library: Library = field(init=False)
    launcher: RunLauncher = field(init=False)
    monitor: RunMonitor = field(init=False, default_factory=RunMonitor)
    reports: Reports = field(init=False, default_factory=Reports)
    results: dict[tuple[int, str], tuple[object, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        names = HostNames.of(self.host, self.allowed_hosts)
        object.__setattr__(self, "access", AccessControl(self.store, names))
        object.__setattr__(self, "library", Library(self.datasets, self.store.datasets))
        object.__setattr__(self, "launcher", RunLauncher(self.runs))


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: the studio, the visitor, and the way to answer with a page."""

    studio: Studio
    request: Request
    visitor: Visitor

    @property
    def store(self) -> Store:
        """Return the store."""
        return self.studio.store

    def person(self) -> Annotator | None:
        """Return the annotator of this visitor; None while the owner has not chosen a name."""
        wanted = self.visitor.annotator
        if wanted is None:
            wanted = number_in(self.request.cookies.get(cookie_name(self.request) + _NAMES, ""))
        return next((one for one in self.store.annotators() if one.id == wanted), None)

    def named_person(self) -> Annotator:
        """Return the annotator; raise `ForbiddenError` if no name was chosen."""
        person = self.person()
        if person is None:
            raise ForbiddenError(
                "Choose the name that you work under.", remedy="Open People at the top."
            )
        return person

    def remember(self, response: Response, person: Annotator) -> None:
        """Let the owner label under this name."""
        set_cookie(self.request, response, cookie_name(self.request) + _NAMES, str(person.id))

    def page(self, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template, which also knows `context`, `person` and `csrf`."""
        environment: Environment = self.request.app.state.templates
        csrf = self.visitor.csrf(self.studio.access.secret)
        content = environment.get_template(template).render(
            context=self, person=self.person(), csrf=csrf, **values
        )
        # JSON and file names can hold lone surrogates, which UTF-8 cannot.
        return HTMLResponse(content.encode("utf-8", "replace"), status)


class ForbiddenError(InputError):
    """A visitor asked for what is not theirs."""


def _context(request: Request) -> RequestContext:
    studio: Studio = request.app.state.studio
    return RequestContext(studio, request, request.scope["visitor"])


def _owner_context(request: Request) -> RequestContext:
    context = _context(request)
    if not context.visitor.owner:
        raise ForbiddenError("Only the owner of the studio can do this.")
    return context


Context = Annotated[RequestContext, Depends(_context)]
OwnerContext = Annotated[RequestContext, Depends(_owner_context)]
# The store keeps numbers of 64 bits.
Id = Annotated[int, InPath(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


def number_in(text: str) -> int | None:
    """Return the number in a text, if the store can hold it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def paged(entries: Sequence[_Entry], page: int, size: int) -> tuple[Sequence[_Entry], int, int]:
    """Return one page of a list, its number, and how many pages there are."""
    pages = max(-(-len(entries) // size), 1)
    number = min(max(page, 1), pages)
    return entries[(number - 1) * size : number * size], number, pages


def make_app(studio: Studio) -> FastAPI:
    """Return the application; serve it with uvicorn."""
    from uiproof.studio.routes import ROUTERS

    app = FastAPI(title="uiproof studio", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.studio = studio
    app.state.templates = Environment(
        loader=PackageLoader("uiproof.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    app.state.templates.globals["bounds_text"] = bounds_text
    for router in ROUTERS:
        app.include_router(router)

    @app.get("/static/report.css", include_in_schema=False)
    def report_css() -> Response:
        return Response(asset("report.css"), media_type="text/css")

    @app.get("/", include_in_schema=False)
    def home(context: Context) -> Response:
        return RedirectResponse("/runs" if context.visitor.owner else "/tasks", 303)

    app.mount("/static", StaticFiles(packages=[("uiproof.studio", "static")]))
    for error in (UiproofError, RequestValidationError, HTTPException):
        app.add_exception_handler(error, _explain)
    app.add_middleware(Security, access=studio.access)
    return app


def _explain(request: Request, error: Exception) -> Response:
    """Answer with an error as a page or, for a script's request, as text."""
    remedy = ""
    if isinstance(error, UiproofError):
        status = 403 if isinstance(error, ForbiddenError) else 400
        message, remedy = error.message, error.remedy
    elif isinstance(error, RequestValidationError):
        # Without the input, which may be long or not valid Unicode.
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][1:])) or "The request"
        status, message = 422, f"{where[:80]}: {first['msg']}."
    else:
        assert isinstance(error, HTTPException)
        status, message = error.status_code, f"{error.detail}."
    script = request.headers.get("hx-request") or request.headers.get("x-csrf-token")
    if script or "visitor" not in request.scope:
        text = f"{message} {remedy}".strip()
        return PlainTextResponse(text.encode("utf-8", "replace"), status)
    return _context(request).page("error.html", status=status, message=message, remedy=remedy)
