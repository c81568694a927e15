"""What `uiproof diff` costs beside `score`: processor seconds of the same pairs in one process.

    python bench/diff.py                                     the bundled pages
    python bench/diff.py --reference REAL --generated OURS

The browser is warm, the reference pages are not: every pair renders both. With `--screenshots` the
references are pictures. Their texts and those of the pages are read once, which both verbs need
and keep; what diff costs is printed without and with this reading.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from cpu import Clocks, Meter, adopt_orphans
from uiproof.benchmarks.design2code.cases import Screenshot
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.browser import PageSource, Renderer

MOST = 1.3  # times what scoring costs
DEMO = Path(__file__).parents[1] / "src" / "uiproof" / "demo" / "design2code"


def main() -> None:
    """Compare every pair twice, and print how much more the list of differences costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=Path, default=DEMO / "reference")
    parser.add_argument("--generated", type=Path, default=DEMO / "generated")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--screenshots", action="store_true", help="of the references")
    given = parser.parse_args()
    pages = sorted(given.reference.glob("*.html"))
    pairs = [(page, given.generated / page.name) for page in pages]
    pairs = [pair for pair in pairs if pair[1].is_file()][: given.limit]
    spent = {"read": 0.0, "score": 0.0, "diff": 0.0}

    def sources(
        renderer: Renderer, reference: Path, generated: Path
    ) -> tuple[PageSource | Screenshot, PageSource]:
        pages = PageSource.from_file(reference), PageSource.from_file(generated)
        if not given.screenshots:
            return pages
        with renderer.open(pages[0]) as shown:
            return Screenshot(shown.screenshot()), pages[1]

    adopt_orphans()
    clocks = Clocks()
    with TemporaryDirectory() as folder, Renderer() as renderer:
        os.environ["UIPROOF_CACHE"] = folder  # where nothing was read before
        _judge(renderer, *sources(renderer, *pairs[0]), "score")  # starts the browser
        for number, pair in enumerate(sources(renderer, *one) for one in pairs):
            if given.screenshots:
                with Meter(clocks) as meter:
                    _judge(renderer, *pair, "score")
                spent["read"] += meter.spent.total
            order = ("score", "diff") if number % 2 else ("diff", "score")
            for what in order:
                with Meter(clocks) as meter:
                    _judge(renderer, *pair, what)
                spent[what] += meter.spent.total
    times = spent["diff"] / spent["score"]
    print(f"{len(pairs)} pairs: score {spent['score']:.2f} s, diff {spent['diff']:.2f} s of CPU")
    print(f"diff costs {times:.2f} times what score costs (at most {MOST})")
    if given.screenshots:
        more = spent["diff"] - spent["score"]
        times = 1 + more / spent["read"]
        print(f"{times:.2f} times where the texts of the page were not read before")
    raise SystemExit(times > MOST)


def _judge(
    renderer: Renderer, reference: PageSource | Screenshot, generated: PageSource, what: str
) -> None:
    judge = Design2CodeJudge(renderer=renderer)
    if what == "diff":
        judge.diff(reference, generated)
    elif isinstance(reference, Screenshot):
        judge.compare_with_picture(reference, generated)
    else:
        judge.compare(reference, generated)


if __name__ == "__main__":
    main()
