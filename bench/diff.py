"""What `uiproof diff` costs beside `score`: processor seconds of the same pairs in one process.

    python bench/diff.py                                     the bundled pages
    python bench/diff.py --reference REAL --generated OURS

The browser is warm, the reference pages are not: every pair renders both. With `--screenshots` the
references are pictures that were read before, and every page is new, as in a loop that mends it:
both verbs read it. With `--known` the pages were read before as well.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from cpu import Clocks, Meter, adopt_orphans
from uiproof.benchmarks.design2code.cases import Screenshot
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.picture import PictureViews
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
    parser.add_argument("--known", action="store_true", help="the pages were read before, too")
    given = parser.parse_args()
    pages = sorted(given.reference.glob("*.html"))
    pairs = [(page, given.generated / page.name) for page in pages]
    pairs = [pair for pair in pairs if pair[1].is_file()][: given.limit]
    spent = {"score": 0.0, "diff": 0.0}

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
    with Renderer() as renderer:
        for number, pair in enumerate(sources(renderer, *one) for one in [pairs[0], *pairs]):
            for what in ("score", "diff") if number % 2 else ("diff", "score"):
                with TemporaryDirectory() as folder:
                    os.environ["UIPROOF_CACHE"] = folder
                    if isinstance(pair[0], Screenshot):
                        PictureViews(None).get(pair[0], 1)
                    if given.known:
                        _judge(renderer, *pair, "score")
                    with Meter(clocks) as meter:
                        _judge(renderer, *pair, what)
                spent[what] += meter.spent.total if number else 0.0  # the first starts the browser
    times = spent["diff"] / spent["score"]
    print(f"{len(pairs)} pairs: score {spent['score']:.2f} s, diff {spent['diff']:.2f} s of CPU")
    print(f"diff costs {times:.2f} times what score costs (at most {MOST})")
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
