"""The web app: one FastAPI application made of the rooms in `routes/`.

app = make_app(Studio(runs=Path("runs"), store=Store(Path("runs/studio.sqlite3"))))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field
from starlette.exceptions import HTTPException

from uiproof.errors import InputError, UiproofError
from uiproof.listening import HostNames
from uiproof.report.views import package_file
from uiproof.studio.browsing.live import Lookout
from uiproof.studio.browsing.reports import Reports
from uiproof.studio.labels import Annotator
from uiproof.studio.security import YEAR, Gate, Security, Visitor, cookie_name
from uiproof.studio.store import Store

_NAMES = "_name"  # ending of the cookie with the name that the owner labels under


@dataclass(frozen=True, slots=True)
class Studio:
    """What the studio shows and where it keeps what people do."""

    runs: Path  # a folder with run directories at any depth
    store: Store
    datasets: tuple[Path, ...] = ()  # folders that the data set tools open
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    gate: Gate = field(init=False)
    lookout: Lookout = field(init=False, default_factory=Lookout)
    reports: Reports = field(init=False, default_factory=Reports)

    def __post_init__(self) -> None:
        names = HostNames.of(self.host, self.allowed_hosts)
        object.__setattr__(self, "gate", Gate(self.store, names))


@dataclass(frozen=True, slots=True)
class Here:
    """One request: the studio, who asks, and how to answer with a page."""

    studio: Studio
    request: Request
    visitor: Visitor

    @property
    def store(self) -> Store:
        """Where labels are."""
        return self.studio.store

    def person(self) -> Annotator | None:
        """Under which name this visitor labels; None while the owner has not said."""
        people = self.store.annotators()
        wanted = self.visitor.annotator
        if wanted is None:
            chosen = self.request.cookies.get(cookie_name(self.request) + _NAMES, "")
            wanted = number_in(chosen)
        return next((person for person in people if person.id == wanted), None)

    def named_person(self) -> Annotator:
        """The same for what needs a name; raises where none was said."""
        person = self.person()
        if person is None:
            raise ForbiddenError(
                "Say under which name you work.", remedy="People, at the top, is where to do that."
            )
        return person

    def owner_only(self) -> None:
        """Raise where an annotator asks for what only the owner may see or do."""
        if not self.visitor.owner:
            raise ForbiddenError("Only who has started the studio can do this.")

    def remember(self, response: Response, person: Annotator) -> None:
        """Let the owner label under this name from now on."""
        name = cookie_name(self.request) + _NAMES
        response.set_cookie(
            name,
            str(person.id),
            max_age=YEAR,
            httponly=True,
            samesite="strict",
            secure=self.request.url.scheme == "https",
        )

    def page(self, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:
        """A page or a piece of one; templates know `here`, `person` and `csrf` too."""
        content = (
            _environment(self.request)
            .get_template(template)
            .render(
                here=self,
                person=self.person(),
                csrf=self.visitor.csrf(self.studio.gate.secret),
                **values,
            )
        )
        # Half a character (a lone surrogate) is possible in JSON and file names, not in a page.
        return HTMLResponse(content.encode("utf-8", "replace"), status)


class ForbiddenError(InputError):
    """Somebody asked for what is not theirs."""


def _here(request: Request) -> Here:
    studio: Studio = request.app.state.studio
    return Here(studio, request, request.scope["visitor"])


Asked = Annotated[Here, Depends(_here)]
# The store keeps numbers of 64 bits.
Id = Annotated[int, InPath(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


def number_in(text: str) -> int | None:
    """Return the number that a text is, if the store can hold it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def make_app(studio: Studio) -> FastAPI:
    """The application; serve it with uvicorn."""
    from uiproof.studio.routes import ROUTERS

    app = FastAPI(title="uiproof studio", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.studio = studio
    app.state.templates = _make_environment()
    for router in ROUTERS:
        app.include_router(router)

    @app.get("/static/report.css", include_in_schema=False)
    def report_css() -> Response:
        return Response(package_file("report.css"), media_type="text/css")

    @app.get("/", include_in_schema=False)
    def home(here: Asked) -> Response:
        return RedirectResponse("/runs" if here.visitor.owner else "/tasks", 303)

    app.mount("/static", StaticFiles(packages=[("uiproof.studio", "static")]))
    app.add_exception_handler(UiproofError, _explain)
    app.add_exception_handler(RequestValidationError, _explain)
    app.add_exception_handler(HTTPException, _explain)
    app.add_middleware(Security, gate=studio.gate)
    return app


def _explain(request: Request, error: Exception) -> Response:
    """Errors that users can meet, as a page or, for a script's request, as text."""
    remedy = ""
    if isinstance(error, UiproofError):
        status = 403 if isinstance(error, ForbiddenError) else 400
        message, remedy = error.message, error.remedy
    elif isinstance(error, RequestValidationError):
        # Without what was sent: it may be long, and need not be text that can be written.
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
    return _here(request).page("error.html", status=status, message=message, remedy=remedy)


def _make_environment() -> Environment:
    return Environment(
        loader=PackageLoader("uiproof.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _environment(request: Request) -> Environment:
    environment: Environment = request.app.state.templates
    return environment
