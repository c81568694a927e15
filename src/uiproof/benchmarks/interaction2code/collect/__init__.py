"""Explore a page and keep its meaningful interactions, in the published folder layout.

    graph = collect(Path("shop/index.html"), Path("data/shop"))
    graph = collect("https://example.com", Path("data/example"), allow_network=True)

A person corrects the result later; see `docs/interaction2code-collecting.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from uiproof.errors import InputError, UsageError
from uiproof.scratch import ScratchFolder

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.collect.explorer import Explorer
    from uiproof.benchmarks.interaction2code.collect.findings import Finding
    from uiproof.benchmarks.interaction2code.graph import Graph
    from uiproof.browser.source import PageSource
    from uiproof.engine.progress import Progress

MOST = 10  # interactions kept of a page


def collect(
    source: str | Path,
    out: Path,
    *,
    most: int = MOST,
    topic: str | None = None,
    allow_network: bool = False,
    viewport: tuple[int, int] = (1280, 720),
    progress: Progress | None = None,
) -> Graph:
    """Explore a page and write its interactions into a folder.

    `source` is a file, a folder with an `index.html`, or the address of a live page, which is
    fetched once and only with `allow_network`. Every action that fits a visible element is tried
    on the page as it was loaded; trivial effects and duplicates are dropped and the `most`
    significant ones kept.

    Ctrl-C writes what was found so far. Raises `InputError` where the page cannot be read or has no
    interaction.
    """
    from uiproof.benchmarks.interaction2code.collect.findings import best, without_duplicates
    from uiproof.benchmarks.interaction2code.collect.pages import fetch, prepare
    from uiproof.benchmarks.interaction2code.collect.writing import write

    with ScratchFolder() as temporary:
        work = temporary / "page"
        work.mkdir()
        link = ""
        if is_address(source):
            link = str(source)
            if not allow_network:
                raise UsageError(
                    f"{link} is a live page, and uiproof does not use the network by itself.",
                    remedy="Allow it with --allow-network, or save the page and give the file.",
                )
            source = fetch(link, temporary / "fetched", viewport=viewport)
        page = prepare(Path(source), work, everything=bool(link))
        explorer, findings, stopped = _explore(page, viewport, progress)
        kept = best(without_duplicates(findings, explorer.tree), most)
        if stopped is not None and not kept:
            raise stopped
        if not kept:
            raise InputError(
                f"No interaction was found on {link or source}: {len(explorer.candidates)} actions "
                "were tried, and none had a significant effect.",
                remedy="Open the page in a browser; it may need a network or a login.",
            )
        graph = write(
            kept, explorer.tree, page, out, topic=topic or "", link=link, viewport=viewport
        )
    if stopped is not None:
        stopped.add_note(f"{len(kept)} interactions that were found so far are in {out}.")
        raise stopped
    return graph


def is_address(source: str | Path) -> bool:
    """Return whether a source is the address of a live page."""
    return isinstance(source, str) and urlsplit(source).scheme in {"http", "https"}


def _explore(
    page: PageSource, viewport: tuple[int, int], progress: Progress | None
) -> tuple[Explorer, list[Finding], KeyboardInterrupt | None]:
    from uiproof.benchmarks.interaction2code.collect.explorer import Explorer
    from uiproof.browser.renderer import Renderer
    from uiproof.engine.progress import Progress
    from uiproof.web import FrozenWeb

    progress = progress or Progress()
    findings: list[Finding] = []
    renderer = Renderer(web=FrozenWeb.installed())
    with renderer, Explorer(renderer, page, viewport) as explorer:
        progress.start(total=len(explorer.candidates), done=0, failed=0)
        try:
            for found in explorer.findings():
                findings += found
                progress.advance(failed=False)
        except KeyboardInterrupt as stop:
            return explorer, findings, stop
        finally:
            progress.stop()
    return explorer, findings, None
