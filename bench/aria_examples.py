"""How much `uiproof collect` finds on the examples of the W3C's ARIA Authoring Practices.

    python bench/aria_examples.py --fetch apg      fetch the pages once, from GitHub
    python bench/aria_examples.py apg              collect them, and compare with what is documented

`aria_examples.json` lists for each page, in our words, what its documentation says that people can
do: open, close, choose, set. Keys count where no click does the same. What only moves the focus,
ticks one box or opens another page is not listed. `within` marks options beside the component:
they may be found and need not be. The pages are the W3C's and no part of this repository.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import normpath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from cpu import cpu_of_all
from uiproof.benchmarks.interaction2code.collect import collect_page
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.browser.renderer import Renderer
from uiproof.browser.snapshots import ACTION_KINDS, ActionKind
from uiproof.browser.source import PageSource
from uiproof.browser.stage import Stage
from uiproof.errors import UiproofError
from uiproof.geometry import PixelBox

SOURCE = "https://raw.githubusercontent.com/w3c/aria-practices/main/"
PATTERNS = "content/patterns/"
WANTED = Path(__file__).with_suffix(".json")
_NAMED = re.compile(r"""(?:src|href)\s*=\s*["']([^"'#?]+)|url\(\s*["']?([^"')#?]+)""")
_KEPT = (".css", ".js", ".jpg", ".png", ".svg")
_MOST_FILES = 400
_NEAR = 4  # pixels between the edges of a box that was found and the one that is meant
# The example lies between two separators that name its start and its end.
_PLACES = """
(selector) => [...document.querySelectorAll(selector)].map((one) => {
  const box = one.getBoundingClientRect();
  return [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
})
"""
_EXAMPLE = "#ex_start_sep + *, #ex_start_sep + * *"


def main() -> None:
    """Fetch or measure, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with the pages")
    parser.add_argument("--fetch", action="store_true", help="use the network to get the pages")
    parser.add_argument("--source", default=SOURCE, help="the repository's root on the web")
    parser.add_argument("--wanted", type=Path, default=WANTED)
    parser.add_argument("--only", help="a word in the names of the pages")
    parser.add_argument("--verbose", action="store_true", help="list everything that was kept")
    parser.add_argument("--out", type=Path, help="keep what was collected")
    given = parser.parse_args()
    wanted = json.loads(given.wanted.read_text())
    names = [name for name in wanted if not given.only or given.only in name]
    if given.fetch:
        print(f"{fetch(names, given.source, given.folder)} files in {given.folder}")
        return
    with TemporaryDirectory() as temporary:
        measure(names, wanted, given, given.out or Path(temporary))


def fetch(names: Sequence[str], source: str, folder: Path) -> int:
    """Get pages and the files that they name, in the repository's layout. Return how many."""
    import httpx

    waiting = [PATTERNS + name for name in names]
    seen = set(waiting)
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        got = 0
        while waiting:
            name = waiting.pop(0)
            reply = client.get(source + name)
            if reply.status_code == 404 and not name.endswith(".html"):
                continue  # pages name files that are made when the site is built
            reply.raise_for_status()
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(reply.content)
            got += 1
            if name.endswith((".html", ".css")):
                named = dict.fromkeys(_named_in(reply.text, name))
                new = [one for one in named if one not in seen]
                seen.update(new)
                waiting += new
            if got >= _MOST_FILES:
                raise SystemExit(f"More than {_MOST_FILES} files: is {source} the right address?")
    return got


def _named_in(text: str, name: str) -> Iterator[str]:
    """Yield the repository's names of the scripts, styles and pictures that a file uses."""
    for pair in _NAMED.findall(text):
        file = "".join(pair).strip()
        if urlsplit(file).scheme or file.startswith("//") or not file.endswith(_KEPT):
            continue
        path = normpath(f"{name.rpartition('/')[0]}/{file}")
        if path.startswith("content/"):
            yield path


def measure(
    names: Sequence[str],
    wanted: Mapping[str, Sequence[Mapping[str, Any]]],
    given: argparse.Namespace,
    out: Path,
) -> None:
    """Collect each page and print what was found of the list, and what else was kept."""
    found = listed = own_first = 0
    spent: list[float] = []
    print(f"{'page':<34}{'found':>9}{'kept':>6}{'others':>8}{'first':>7}{'CPU s':>8}")
    for name in names:
        began = cpu_of_all()
        try:
            page = given.folder / PATTERNS / name
            folder = out / Path(name).stem
            graph = collect_page(page, folder, root=given.folder).graph
        except UiproofError as error:
            listed += len(wanted[name])
            print(f"{Path(name).stem:<34}{error}")
            continue
        spent.append(cpu_of_all() - began)
        missed, others, is_first = compare(graph, folder, wanted[name])
        found += len(wanted[name]) - len(missed)
        listed += len(wanted[name])
        own_first += is_first
        score = f"{len(wanted[name]) - len(missed)}/{len(wanted[name])}"
        kept, first = len(graph.interactions), "own" if is_first else "site"
        print(
            f"{Path(name).stem:<34}{score:>9}{kept:>6}{len(others):>8}{first:>7}{spent[-1]:>8.1f}"
        )
        for one in missed:
            print(f"    missed: {one['does']}")
        for other in graph.interactions if given.verbose else others:
            mark = "beside" if other in others else "  kept"
            print(f"    {mark}: {other.source}>{other.target} {other.sentence} {other.visuals}")
    print(
        f"{found} of {listed} found, the component's own first on {own_first} of {len(names)} pages"
    )
    if spent:
        average = sum(spent) / len(spent)
        print(f"CPU seconds a page: {average:.1f} on average, {max(spent):.1f} at most")


def compare(
    graph: Graph, folder: Path, wanted: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Interaction], bool]:
    """Return what was missed, what was kept beside the component, and whether its own is first."""
    left = list(graph.interactions)
    hits: list[Mapping[str, Any]] = []
    opened = {one.target for one in graph.interactions}
    with Renderer() as renderer:
        source = PageSource.from_file(folder / "page.html")
        viewport = graph.viewport or (1280, 720)

        def places(stage: Stage, selector: str) -> list[PixelBox]:
            boxes = stage._evaluate(f"({_PLACES})({json.dumps(selector)})")
            return [PixelBox(*(round(side) for side in box)) for box in boxes]

        with renderer.stage(source, viewport) as stage:
            example = places(stage, _EXAMPLE)
            starts = {
                after: places(stage, after)
                for after in {one["after"] for one in wanted if "after" in one}
            }
        # In the page as it was loaded, and in what each kept interaction opened.
        for opener in (None, *(one for one in graph.interactions if one.source not in opened)):
            ready = [
                other
                for other in left
                if (other.source == opener.target if opener else other.source not in opened)
            ]
            if not ready:
                continue
            with renderer.stage(source, viewport) as stage:
                if opener is not None and opener.trigger is not None:
                    stage.act(opener.trigger.centre, opener.action)
                    stage.settle()
                for one in [one for one in wanted if one not in hits]:
                    if (opener is None) != ("after" not in one):
                        continue
                    if opener and not any(
                        _is_near(opener.trigger, at) for at in starts[one["after"]]
                    ):
                        continue
                    meant = {
                        kind: places(stage, one["on" if kind == "key" else kind])
                        for kind in ACTION_KINDS
                        if kind in one
                    }
                    hit = next((other for other in ready if _is_meant(other, one, meant)), None)
                    if hit is not None:
                        hits.append(one)
                        ready.remove(hit)
                        left.remove(hit)
    missed = [one for one in wanted if one not in hits]
    others = [
        other
        for other in graph.interactions
        if other.source not in opened and not any(_is_near(other.trigger, box) for box in example)
    ]
    is_first = bool(graph.interactions) and graph.interactions[0] not in others
    return missed, others, is_first


def _is_meant(
    other: Interaction, one: Mapping[str, Any], meant: Mapping[ActionKind, Sequence[PixelBox]]
) -> bool:
    kind = other.action.kind
    if kind == "key" and other.action.value not in one.get("key", ()):
        return False
    return any(_is_near(other.trigger, box) for box in meant.get(kind, ()))


def _is_near(one: PixelBox | None, other: PixelBox) -> bool:
    return one is not None and all(
        abs(a - b) <= _NEAR
        for a, b in (
            (one.left, other.left),
            (one.top, other.top),
            (one.right, other.right),
            (one.bottom, other.bottom),
        )
    )


if __name__ == "__main__":
    main()
