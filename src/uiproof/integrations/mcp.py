"""A Model Context Protocol server, with which agents render, compare and check pages.

    uiproof mcp site/ designs/

Only files in the given folders can be read. Pages are rendered in the sealed browser, without a
network. `docs/agents.md` shows how to set up clients.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, FiniteFloat

from uiproof.benchmarks import Differ, annotated_picture
from uiproof.browser import PageSource, Renderer
from uiproof.browser.source import is_page_asset
from uiproof.errors import InputError, MissingDependencyError, UiproofError, UsageError
from uiproof.page_check import check_source
from uiproof.settings import Settings
from uiproof.web import FrozenWeb

try:
    from mcp.server.mcpserver import Image, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
except ImportError as error:
    raise MissingDependencyError(
        "The MCP server needs the package mcp.", remedy="Run: pip install 'uiproof[mcp]'"
    ) from error

LARGEST_SIDE = 1568  # pixels of a returned picture
MOST_LISTED = 20  # returned differences or faults
_PAGES = (".html", ".htm")
_PICTURES = (".png", ".jpg", ".jpeg")
_MOST_WINDOWS = 3  # browsers that are kept, each for one viewport and colour scheme
_SIDE = re.compile("[0-9]{1,5}")
_T = TypeVar("_T")

INSTRUCTIONS = """\
Rebuild pages from designs, and check pages. Paths are those of files in the folders of this server.
Call diff after every change of a page that has a design: mend the first differences, then call it
again, and stop when the list is empty or the score no longer rises. Call check before you are done;
it needs no design. Call render to look at a page, and again with a box to look closer."""


class Difference(BaseModel):
    """One thing to mend; boxes are x, y, width, height in CSS pixels."""

    number: int = Field(description="its number in the annotated picture")
    kind: str
    says: str
    selector: str | None = Field(description="the element on the page; null if it is missing")
    was: str | None = Field(description="as in the reference")
    now: str | None = Field(description="as on the page")
    impact: float = Field(description="how much of what a person sees, 0-1")
    box: tuple[float, float, float, float] | None
    reference_box: tuple[float, float, float, float] | None


class Differences(BaseModel):
    """The differences of a page from its reference, worst first."""

    total: int
    score: float | None = Field(description="1 is a perfect copy")
    differences: list[Difference]
    flags: list[str] = Field(description="what was unusual when pages were shown")


class Scores(BaseModel):
    """How well a page copies its reference; 1 is a perfect copy."""

    score: float | None
    parts: dict[str, float]


class Fault(BaseModel):
    """One fault of a page."""

    kind: str
    says: str
    selector: str


class Check(BaseModel):
    """The faults of a page that need no reference to be found."""

    score: float = Field(description="1 is without fault")
    parts: dict[str, float]
    faults: list[Fault]


class Workshop:
    """The browser of the tools and the folders that they may read."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(_folder(one) for one in folders)
        # One page at a time; a browser has to be used by the thread that started it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mcp")
        self._differs: dict[tuple[str | None, bool], Differ] = {}

    async def do(self, work: Callable[[], _T]) -> _T:
        """Run a function in the browser thread; raise its errors as `ToolError`."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except UiproofError as error:
            raise ToolError(str(error)) from error

    def file(self, name: str, kinds: Sequence[str]) -> Path:
        """Return a file in the folders that is neither hidden nor a link to the outside."""
        for folder in self._folders:
            try:
                path = (folder / name).resolve(strict=True)
            except (OSError, ValueError):
                continue
            homes = [one for one in self._folders if path.is_relative_to(one)]
            if not any(is_page_asset(str(path.relative_to(one))) for one in homes):
                continue
            if path.is_file() and path.suffix.lower() in kinds:
                return path
        raise InputError(
            f"There is no file {name!r} that may be read.",
            remedy=f"Use a file that ends in {', '.join(kinds)} in: "
            f"{', '.join(map(str, self._folders))}.",
        )

    def differ(self, viewport: str | None, dark: bool) -> Differ:
        """Return the comparison for a viewport and colour scheme."""
        key = viewport, dark
        if key not in self._differs:
            while len(self._differs) >= _MOST_WINDOWS:
                self._differs.pop(next(iter(self._differs))).close()
            self._differs[key] = Differ(viewport=viewport, dark=dark)
        return self._differs[key]

    @cached_property
    def renderer(self) -> Renderer:
        """Return the renderer of single pages."""
        return Renderer(web=FrozenWeb(Settings.from_environment().web_dir))

    def close(self) -> None:
        """Stop the browsers."""

        def end() -> None:
            for differ in self._differs.values():
                differ.close()
            if "renderer" in self.__dict__:
                self.renderer.close()

        self._thread.submit(end).result()
        self._thread.shutdown()


Page = Annotated[str, Field(description="path of an HTML file")]
Reference = Annotated[str, Field(description="path of the design: an HTML file or a screenshot")]
Viewport = Annotated[
    str | None, Field(description="window as WIDTHxHEIGHT; by default 1280x720, or as a screenshot")
]
Dark = Annotated[bool, Field(description="prefer dark colours")]
Box = Annotated[
    tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None,
    Field(description="x, y, width, height in CSS pixels, to look closer"),
]


def make_server(workshop: Workshop) -> MCPServer[Any]:
    """Return the server for the files of a workshop, which the caller has to close."""
    server = MCPServer(
        "uiproof",
        version=version("uiproof"),
        instructions=INSTRUCTIONS,
        log_level="WARNING",
    )
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False, idempotent_hint=True)

    def answer(result: BaseModel, picture: bytes | None = None) -> CallToolResult:
        content: list[Any] = [TextContent(type="text", text=result.model_dump_json())]
        if picture is not None:
            content.append(Image(data=picture, format="png").to_image_content())
        return CallToolResult(content=content, structured_content=result.model_dump(mode="json"))

    @server.tool(annotations=reads)
    async def render(
        page: Page, viewport: Viewport = None, dark: Dark = False, box: Box = None
    ) -> list[str | Image]:
        """Return a picture of a page, the whole of it or the part in a box."""

        def work() -> tuple[str, bytes]:
            path = workshop.file(page, _PAGES)
            return _picture(workshop.renderer, path, viewport, dark=dark, box=box)

        said, picture = await workshop.do(work)
        return [said, Image(data=picture, format="png")]

    @server.tool(annotations=reads)
    async def diff(
        reference: Reference,
        page: Page,
        viewport: Viewport = None,
        dark: Dark = False,
        picture: Annotated[bool, Field(description="also return an annotated picture")] = True,
    ) -> Annotated[CallToolResult, Differences]:
        """Say what is different on a page from its design, worst first, with selectors."""

        def work() -> tuple[Differences, bytes | None]:
            paths = workshop.file(reference, (*_PAGES, *_PICTURES)), workshop.file(page, _PAGES)
            found = workshop.differ(viewport, dark).diff(*paths)
            image = annotated_picture(found, largest=LARGEST_SIDE) if picture else None
            return _differences(found), image

        return answer(*await workshop.do(work))

    @server.tool(annotations=reads)
    async def score(
        reference: Reference, page: Page, viewport: Viewport = None, dark: Dark = False
    ) -> Annotated[CallToolResult, Scores]:
        """Say how well a page copies its design, as a number with its parts."""

        def work() -> Scores:
            paths = workshop.file(reference, (*_PAGES, *_PICTURES)), workshop.file(page, _PAGES)
            found = workshop.differ(viewport, dark).diff(*paths)
            total, parts = _score(found.scores)
            return Scores(score=total, parts=parts)

        return answer(await workshop.do(work))

    @server.tool(annotations=reads)
    async def check(page: Page) -> Annotated[CallToolResult, Check]:
        """Find faults without a design: script errors, overflow, contrast, dead controls."""

        def work() -> Check:
            source = PageSource.from_file(workshop.file(page, _PAGES))
            found = check_source(workshop.renderer, source)
            faults = [
                Fault(kind=one.kind, says=one.says, selector=one.selector)
                for one in found.findings[:MOST_LISTED]
            ]
            return Check(score=found.score, parts=dict(found.components), faults=faults)

        return answer(await workshop.do(work))

    return server


def serve(folders: Sequence[Path], *, http: bool = False, port: int = 8721) -> None:
    """Serve until the client disconnects (stdio) or until interrupted (HTTP on localhost)."""
    workshop = Workshop(folders)
    server = make_server(workshop)
    try:
        if http:
            server.run("streamable-http", host="127.0.0.1", port=port)
        else:
            server.run("stdio")
    finally:
        workshop.close()


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", remedy="Give the folders that may be read.")
    return path.resolve()


def _picture(
    renderer: Renderer,
    path: Path,
    viewport: str | None,
    *,
    dark: bool,
    box: tuple[float, float, float, float] | None,
) -> tuple[str, bytes]:
    """Return a description and the picture of a page or a part of it."""
    from PIL import Image as Pictures

    limits = replace(renderer.limits, dark=dark)
    if viewport is not None:
        limits = replace(limits, viewport=window_size(viewport))
    with renderer.open(PageSource.from_file(path), limits) as page:
        png, flags = page.screenshot(), sorted(page.flags)
    with Pictures.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    width, height = picture.size
    if box is not None:
        x, y, w, h = box
        left, top = min(max(round(x), 0), width - 1), min(max(round(y), 0), height - 1)
        right, bottom = min(round(x + w), width), min(round(y + h), height)
        if right <= left or bottom <= top:
            raise UsageError(f"The box is outside of the page, which is {width} × {height} px.")
        picture = picture.crop((left, top, right, bottom))
    scale = min(LARGEST_SIDE / max(picture.size), 1.0)
    if scale < 1:
        size = max(round(picture.width * scale), 1), max(round(picture.height * scale), 1)
        picture = picture.resize(size, Pictures.Resampling.LANCZOS, reducing_gap=3)
    out = io.BytesIO()
    picture.save(out, "PNG")
    said = f"The page is {width} × {height} px"
    said += f", shown at {scale:.0%}; ask for a box to look closer." if scale < 1 else "."
    return said + (f" Unusual: {', '.join(flags)}." if flags else ""), out.getvalue()


def window_size(viewport: str) -> tuple[int, int]:
    """Parse a viewport, WIDTHxHEIGHT."""
    sides = viewport.lower().replace("×", "x").split("x")
    if len(sides) != 2 or not all(_SIDE.fullmatch(side.strip()) for side in sides):
        raise UsageError(f"{viewport!r} is not a viewport.", remedy="Write it as 390x844.")
    width, height = (int(side) for side in sides)
    if not (100 <= width <= 8_192 and 100 <= height <= 8_192):
        raise UsageError(f"The viewport {viewport} is out of range.", remedy="Use 100 to 8192.")
    return width, height


def _differences(found: Any) -> Differences:
    listed = [
        Difference(
            number=number,
            kind=one.kind,
            says=one.says,
            selector=one.selector,
            was=one.was,
            now=one.is_,
            impact=round(one.impact, 4),
            box=one.box,
            reference_box=one.reference_box,
        )
        for number, one in enumerate(found.differences[:MOST_LISTED], 1)
    ]
    total, _ = _score(found.scores)
    return Differences(
        total=len(found.differences), score=total, differences=listed, flags=list(found.flags)
    )


def _score(scores: Mapping[str, Any]) -> tuple[float | None, dict[str, float]]:
    """Return the score that differences lower, and its parts."""
    profiles = [one for one in scores.values() if isinstance(one, Mapping)]
    own = scores.get("strict") or (profiles[-1] if profiles else {})
    parts = {name: round(value, 4) for name, value in own.items() if isinstance(value, float)}
    total = own.get("final")
    total = own.get("mean_without_clip") if total is None else total
    return total, parts
