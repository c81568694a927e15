"""How much processor time judging interactions takes, beside bare Chromium in the same run.

    python bench/interactions.py [DATASET GENERATED] [--most 40] [--verdicts]

Bare warm Chromium navigates twice and takes two full-page screenshots, without acting. We judge the
same cases with one warm judge; both sides take turns. References are read anew: the cache of
readings is an empty folder. A small sample shares few references, so it reads more than a run does;
the first case warms up and is then counted with its readings known. With
`--verdicts` only the verdicts are made, without the scores of pictures. Without folders the bundled
pages are judged against themselves.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import uiproof
from cpu import Clocks, Spent, adopt_orphans, spent_so_far
from design2code import Bare
from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.interaction2code.cases import Answer, InteractionCase, cases
from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
from uiproof.browser.source import PageSource

BUNDLED = Path(uiproof.__file__).parent / "demo" / "interaction2code"


class Verdicts(Interaction2CodeJudge):
    """Makes verdicts only."""

    def _scores(self, *_: Any) -> dict[str, Any]:
        return {}


def page_of(case: InteractionCase, generated: Path | None) -> Path:
    """Return the generated page of a case."""
    if generated is not None:
        return generated / f"{case.id.rpartition('/')[0]}.html"
    return case.truth.graph.folder / "page.html"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="data set and generated pages")
    parser.add_argument("--most", type=int, default=40, help="cases, evenly chosen")
    parser.add_argument("--verdicts", action="store_true", help="without the scores of pictures")
    options = parser.parse_args()
    dataset, generated = options.folders or (BUNDLED, None)
    found = [one for one in cases(dataset) if not isinstance(one, BrokenCase)]
    chosen = found[:: max(len(found) // options.most, 1)][: options.most]
    adopt_orphans()
    clocks, bare = Clocks(), Bare()
    ours: list[Spent] = []
    bares: list[float] = []
    with tempfile.TemporaryDirectory() as readings:
        judge = (Verdicts if options.verdicts else Interaction2CodeJudge)(readings=Path(readings))
        for number, case in enumerate([chosen[0], *chosen]):  # the first one warms up
            page = page_of(case, generated)
            before = spent_so_far(clocks)
            judge.score(case, Answer(PageSource.from_file(page), "all"))
            used = spent_so_far(clocks) - before
            began = bare.browser_seconds()
            bare.look_at(page, page)
            if number:
                ours.append(used)
                bares.append(bare.browser_seconds() - began)
        judge.close()
    bare.close()
    total = [one.total for one in ours]
    mean = statistics.mean
    print(f"{len(ours)} cases, CPU seconds a case: mean {mean(total):.2f}, ", end="")
    print(f"median {statistics.median(total):.2f}, worst {max(total):.2f}")
    for name in ("chromium", "ocr", "own"):
        print(f"  {name:9} {mean(getattr(one, name) for one in ours):.2f}")
    print(f"bare Chromium {mean(bares):.2f}: {mean(total) / mean(bares):.1f} times as much")


if __name__ == "__main__":
    main()
