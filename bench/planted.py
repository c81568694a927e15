"""What differences and `strict` say about pages with planted faults.

    python bench/planted.py lists PAGES…      how many faults are located and named
    python bench/planted.py charges PAGES…    whether more faults, and larger ones, cost more

Faults are those of `tests/benchmarks/design2code/planting.py`; `docs/diff.md` has the figures.
Pages whose names contain `phone` are shown in a window of 390 pixels.
"""

from __future__ import annotations

import argparse
import random
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from uiproof.benchmarks.design2code.api import Differ
from uiproof.benchmarks.design2code.pages import PageView, measure, photograph
from uiproof.benchmarks.design2code.screens import Screen
from uiproof.benchmarks.design2code.strict import strict_scores
from uiproof.browser import PageSource, Renderer
from uiproof.web import FrozenWeb

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "benchmarks" / "design2code"))
import planting

SIZED = ("text", "colour", "background", "moved", "resized", "font", "spacing", "missing", "extra")
STILL = """(() => { const copy = document.documentElement.cloneNode(true);
copy.querySelectorAll("script").forEach((one) => one.remove());
return "<!DOCTYPE html>" + copy.outerHTML; })()"""


def main() -> None:
    """Plant faults into all pages, and print what is said about them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("lists", "charges"))
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=int, default=3, help="on a page, for charges")
    parser.add_argument("--kinds", type=int, default=4, help="whose sizes are compared")
    given = parser.parse_args()
    with Renderer(web=FrozenWeb.installed()) as renderer:
        pages = [(file, *_shown(renderer, file)) for file in given.pages]
        if given.what == "lists":
            _lists(renderer, pages, given.seed)
        else:
            _charges(renderer, pages, given.seed, given.faults, given.kinds)


def _shown(renderer: Renderer, file: Path) -> tuple[PageSource, Screen]:
    """Return a page as its scripts have left it, and its window."""
    screen = Screen(390, 844) if "phone" in file.stem else Screen()
    page = PageSource.from_file(file)
    if "<script" in page.text:
        with renderer.open(page, screen.limits(renderer.limits)) as live:
            page = page.with_text(live.evaluate(STILL))
    return page, screen


def _lists(renderer: Renderer, pages: Sequence[tuple[Path, PageSource, Screen]], seed: int) -> None:
    """Print how many faults are located and named, by a page and by a screenshot."""
    totals = {"page": planting.Accuracy(), "screenshot": planting.Accuracy()}
    for file, page, screen in pages:
        own = zlib.crc32(file.stem.encode()) + seed
        limits, renderer.limits = renderer.limits, screen.limits(renderer.limits)
        with Differ(viewport=screen.name) as differ:
            for count in range(1, 6):
                rng = random.Random(own + count)
                kinds = rng.sample(planting.KINDS, count)
                wanted = [(kind, rng.randrange(3)) for kind in kinds]
                made = planting.plant(renderer, page, wanted, (own + 101 * count) % 100_000)
                sources = page.with_text(made.reference), page.with_text(made.generated)
                by_page = differ.diff(*sources)
                by_picture = differ.diff(by_page.reference_picture, sources[1])
                for name, found in (("page", by_page), ("screenshot", by_picture)):
                    wrong = totals[name].add(made.faults, found.differences)
                    for fault in wrong:
                        print(f"  {file.stem} {count} {name}: {fault.kind} {fault.size}")
                    told = len(found.differences)
                    print(f"{file.stem} {count} {name}: {len(made.faults)} planted, {told} told")
        renderer.limits = limits
    for name, found in totals.items():
        print(
            f"{name} as the reference: {found.planted} faults on {found.pages} pages, "
            f"{found.located / max(found.planted, 1):.1%} located, "
            f"{found.named / max(found.planted, 1):.1%} named, "
            f"{found.beyond / max(found.pages, 1):.2f} beyond"
        )


def _charges(
    renderer: Renderer,
    pages: Sequence[tuple[Path, PageSource, Screen]],
    seed: int,
    most: int,
    kinds: int,
) -> None:
    """Print whether a further fault ever pays, and how costs follow sizes."""
    compared = paid = seen = free = 0
    correlations = defaultdict(list)
    for file, page, screen in pages:
        own = (zlib.crc32(file.stem.encode()) + seed) % 100_000
        limits = screen.limits(renderer.limits)

        def view(html: str, page: PageSource = page, screen: Screen = screen) -> PageView:
            return measure(photograph(renderer, page.with_text(html), screen))

        rng = random.Random(own)
        wanted = [(kind, rng.randrange(3)) for kind in rng.sample(planting.KINDS, most)]
        with renderer.open(page, limits) as live:
            sets = dict(_planted(live, page, wanted, own))
            sizes = {
                kind: [
                    (_area(live, page, one, own + number, size), html)
                    for size, one in enumerate([(kind, size)] for size in range(3))
                    if (html := dict(_planted(live, page, one, own + number)).get((0,)))
                ]
                for number, kind in enumerate(rng.sample(SIZED, kinds))
            }
        clean = view(sets.pop(()))
        scores = {}
        for chosen, html in sets.items():
            if len(chosen) > 3:
                continue
            shown = view(html)
            if shown.png != clean.png or len(chosen) > 1:
                scores[chosen] = strict_scores(shown, clean).mean_without_clip
        for chosen, score in scores.items():
            if len(chosen) == 1:
                seen, free = seen + 1, free + (score >= 1)
                continue
            fewer = [one for one in combinations(chosen, len(chosen) - 1) if one in scores]
            compared += bool(fewer)
            for one in fewer:
                if score > scores[one] + 1e-9:
                    paid += 1
                    names = [wanted[index] for index in chosen]
                    added = [wanted[index] for index in chosen if index not in one]
                    print(f"  {file.stem}: {names} pays {score - scores[one]:.4f} for {added}")
        for kind, planted in sizes.items():
            costs = [1 - strict_scores(view(html), clean).mean_without_clip for _, html in planted]
            if len(costs) == 3 and len(set(costs)) == len({size for size, _ in planted}) == 3:
                ranks = _ranks([size for size, _ in planted]), _ranks(costs)
                correlations[kind].append(float(np.corrcoef(*ranks)[0, 1]))
                if correlations[kind][-1] < 0.8:
                    print(f"  {file.stem}: {kind} costs {[round(one, 5) for one in costs]}")
        print(f"{file.stem}: {len(scores)} pages", flush=True)
    print(f"{compared} pairs and triples, {paid} times a further fault paid")
    print(f"{seen} visible faults alone, {free} of them for nothing")
    for kind, values in sorted(correlations.items()):
        print(f"{kind}: rank correlation of size and cost {fmean(values):.2f} over {len(values)}")


def _ranks(values: Sequence[float]) -> list[int]:
    return [sorted(values).index(one) for one in values]


def _area(
    live: Any, page: PageSource, wanted: Sequence[tuple[str, int]], seed: int, size: int
) -> float:
    """Return how large a fault is: its size, or the area of what is missing or extra."""
    if wanted[0][0] not in ("missing", "extra"):
        return size
    faults = [{"kind": wanted[0][0], "size": size, "place": 1}]
    found = planting.run_script(live, {"source": page.text, "seed": seed, "faults": faults})
    return float(np.prod(found["faults"][0]["before"][0][2:])) if found["faults"] else 0.0


def _planted(
    live: Any, page: PageSource, wanted: Sequence[tuple[str, int]], seed: int
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield pages with every choice of some faults."""
    faults = [
        {"kind": kind, "size": size, "place": place} for place, (kind, size) in enumerate(wanted, 1)
    ]
    asked = {"source": page.text, "seed": seed, "faults": faults}
    every = range(len(planting.run_script(live, asked)["faults"]))
    for count in range(len(every) + 1):
        for chosen in combinations(every, count):
            yield chosen, planting.run_script(live, {**asked, "only": list(chosen)})["html"]


if __name__ == "__main__":
    main()
