"""Explore pages and keep their meaningful interactions, in the published folder layout.

    graph = collect(Path("shop/index.html"), Path("data/shop"))
    graph = collect("https://example.com", Path("data/example"), allow_network=True)
    for outcome in collect_pages([Path("site/")], Path("data")): ...

A person corrects the result later; see `docs/interaction2code-collecting.md`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from uiproof.errors import InputError, UiproofError, UsageError
from uiproof.files import write_atomic
from uiproof.scratch import ScratchFolder

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.collect.explorer import Explorer
    from uiproof.benchmarks.interaction2code.collect.findings import Finding, Tree
    from uiproof.benchmarks.interaction2code.graph import Graph
    from uiproof.browser.source import PageSource
    from uiproof.engine.progress import Progress

MOST = 10  # interactions kept of a page
DEPTH = 2  # 1: the page as it was loaded; 2: also what its interactions open
OUTCOMES = "collected.json"  # of many pages, beside their folders
_MOST_OPENERS = 4  # interactions whose opened parts are explored


@dataclass(frozen=True, slots=True)
class Collected:
    """An explored page: its graph, and what was left out of it."""

    graph: Graph
    tried: int  # actions
    dropped: Mapping[str, int]  # findings that were not kept, by reason
    missing: tuple[str, ...] = ()  # files that the page names and that could not be had


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of many pages: how many interactions were kept, or why there are none."""

    page: str  # the name of its folder
    source: str
    kept: int = 0
    tried: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: int = 0
    error: str = ""


def collect(source: str | Path, out: Path, **options: Any) -> Graph:
    """Explore a page and write its interactions into a folder; see `collect_page`."""
    return collect_page(source, out, **options).graph


def collect_page(
    source: str | Path,
    out: Path,
    *,
    most: int = MOST,
    at_least: int = 1,
    depth: int = DEPTH,
    links: bool = False,
    root: Path | None = None,
    topic: str | None = None,
    allow_network: bool = False,
    viewport: tuple[int, int] = (1280, 720),
    progress: Progress | None = None,
) -> Collected:
    """Explore a page and write its interactions into a folder.

    `source` is a file, a folder with an `index.html`, or the address of a live page, which is
    fetched once and only with `allow_network`. Every action that fits a visible element is tried
    on the page as it was loaded, and, up to `depth`, inside what an interaction opens. Trivial
    effects, duplicates and, unless `links`, links that leave the page are dropped, and the `most`
    significant ones kept. Files above the page's folder are used as far as they are in `root`.

    Ctrl-C writes what was found so far. Raises `InputError` where the page cannot be read or has
    fewer than `at_least` interactions.
    """
    from uiproof.benchmarks.interaction2code.collect.findings import choose
    from uiproof.benchmarks.interaction2code.collect.pages import fetch, missing_files, prepare
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
        page = prepare(Path(source), work, everything=bool(link), root=root)
        missing = [] if link else missing_files(Path(source), root=root)
        found = _explore(page, viewport, progress, depth=depth, links=links)
        kept, dropped = choose(found.findings, found.tree, most, links=links)
        dropped["leaves the page"] += found.left_out
        if found.stopped is not None and not kept:
            raise found.stopped
        if len(kept) < max(at_least, 1):
            what = "No interaction was" if not kept else f"Only {len(kept)} interactions were"
            raise InputError(
                f"{what} found on {link or source}: {found.tried} actions were tried.",
                remedy="Open the page in a browser; it may need a network or a login."
                if not missing
                else f"It names files that are missing, such as {missing[0]}: give --root a folder "
                "that holds them.",
            )
        graph = write(kept, found.tree, page, out, topic=topic or "", link=link, viewport=viewport)
    if found.stopped is not None:
        found.stopped.add_note(f"{len(kept)} interactions that were found so far are in {out}.")
        raise found.stopped
    return Collected(graph, found.tried, dict(dropped), tuple(missing))


def collect_pages(
    sources: Iterable[str | Path],
    out: Path,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Iterator[Outcome]:
    """Explore many pages, each into a folder of `out`, and yield how each one ended.

    A folder stands for all pages below it. A page that cannot be used is an outcome with an error,
    and does not stop the others. Outcomes are kept in `out/collected.json`: pages that are listed
    there are not explored again.
    """
    pages = _named(sources)
    done = _read_outcomes(out / OUTCOMES)
    for name, source in pages.items():
        if name in done:
            yield done[name]
            continue
        try:
            found = collect_page(source, out / name, progress=progress, **options)
            kept, missing = len(found.graph.interactions), len(found.missing)
            done[name] = Outcome(name, str(source), kept, found.tried, found.dropped, missing)
        except UiproofError as error:
            done[name] = Outcome(name, str(source), error=error.message)
        out.mkdir(parents=True, exist_ok=True)
        content = json.dumps({one.page: asdict(one) for one in done.values()}, indent=1)
        write_atomic(out / OUTCOMES, content.encode())
        yield done[name]


def is_address(source: str | Path) -> bool:
    """Return whether a source is the address of a live page."""
    return isinstance(source, str) and urlsplit(source).scheme in {"http", "https"}


def is_many(sources: Sequence[str | Path]) -> bool:
    """Return whether sources are more than one page."""
    return len(sources) > 1 or len(_named(sources)) > 1


def _named(sources: Iterable[str | Path]) -> dict[str, str | Path]:
    """Return the pages of all sources, by a unique name for their folders."""
    from uiproof.benchmarks.interaction2code.collect.pages import pages_below

    pages: list[str | Path] = []
    for source in sources:
        if not is_address(source) and Path(source).is_dir():
            pages += pages_below(Path(source)) or [source]
        else:
            pages.append(source)
    named: dict[str, str | Path] = {}
    for page in pages:
        plain = Path(urlsplit(str(page)).path if is_address(page) else page)
        stem = plain.parent.name if plain.stem in {"index", "page"} else plain.stem
        name = first = re.sub(r"[^\w.-]+", "-", stem or plain.resolve().name).strip(".-") or "page"
        number = 2
        while name in named:
            name, number = f"{first}-{number}", number + 1
        named[name] = page
    return named


def _read_outcomes(file: Path) -> dict[str, Outcome]:
    try:
        stored = json.loads(file.read_bytes())
        return {name: Outcome(**one) for name, one in stored.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} is damaged: {error}.", remedy="Delete it; finished pages are explored again."
        ) from error


@dataclass(slots=True)
class _Explored:
    """Everything that was found on a page, also where Ctrl-C stopped the search."""

    tree: Tree
    findings: list[Finding] = field(default_factory=list)
    tried: int = 0
    left_out: int = 0  # links to elsewhere, which are not tried
    stopped: KeyboardInterrupt | None = None


def _explore(
    page: PageSource,
    viewport: tuple[int, int],
    progress: Progress | None,
    *,
    depth: int,
    links: bool,
) -> _Explored:
    """Explore the page, then what its most significant interactions open, level by level."""
    from uiproof.benchmarks.interaction2code.collect.explorer import (
        Explorer,
        Results,
        new_results,
        opens,
    )
    from uiproof.benchmarks.interaction2code.collect.findings import Tree, choose, is_part
    from uiproof.browser.renderer import Renderer
    from uiproof.engine.progress import Progress
    from uiproof.errors import RenderError
    from uiproof.web import FrozenWeb

    progress = progress or Progress()
    found = _Explored(Tree(()))
    openers: Sequence[Finding | None] = [None]
    with Renderer(web=FrozenWeb.installed()) as renderer:
        try:
            for _ in range(depth):
                seen = len(found.findings)
                alike = defaultdict[tuple[object, ...], Results](new_results)
                for opener in openers:
                    # Menus, folders and tabs hold much the same; other openers may not.
                    is_alike = opener is not None and is_part(opener.element)
                    rule = found.tree.rule_key(opener.element) if opener and is_alike else ()
                    try:
                        with Explorer(
                            renderer,
                            page,
                            viewport,
                            opener=opener,
                            links=links,
                            results=alike[rule] if is_alike else None,
                        ) as explorer:
                            found.left_out += explorer.left_out
                            if opener is None:
                                found.tree = explorer.tree
                            _try_all(explorer, found, progress)
                    except RenderError:
                        if opener is None:
                            raise
                        continue  # a state that cannot be reached again costs only itself
                level = found.findings[seen:]
                kept, _ = choose(level, found.tree, len(level), links=links)
                openers = [one for one in kept if opens(one)][:_MOST_OPENERS]
        except KeyboardInterrupt as stop:
            found.stopped = stop
    return found


def _try_all(explorer: Explorer, found: _Explored, progress: Progress) -> None:
    progress.start(total=len(explorer.candidates), done=0, failed=0)
    try:
        for one in explorer.findings():
            found.findings += one
            found.tried += 1
            progress.advance(failed=False)
    finally:
        progress.stop()
