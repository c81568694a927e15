"""Show pages, and act on pages, again and again: is everything the same every time?

    python bench/determinism.py pages FOLDER ... --times 10 --busy 4
    python bench/determinism.py interactions DATASET GENERATED --times 10 --most 60
    python bench/determinism.py pages FOLDER ... --times 3 --state seen.json    # and again, later

Every page is shown by one warm renderer of this process, by new browsers and by a worker process,
in another order each time, with the frozen web. What is compared are the bytes of the three
pictures that scores are taken from, the list of what is on the page, and the flags: scores follow
from these. Interactions are judged by new workers every time, or inline; scores and verdicts are
compared. `--busy` keeps so many processors busy meanwhile. With `--state` a long series can be run
in pieces: results are kept in that file after every round and compared with those of later calls.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uiproof.benchmarks.design2code.pages import photograph
from uiproof.browser import PageSource, Renderer
from uiproof.errors import UiproofError
from uiproof.web import FrozenWeb

_renderer: Renderer | None = None  # of a worker process


def seen(renderer: Renderer, path: Path) -> str:
    """Return a digest of all that a judge takes from a page."""
    try:
        taken = photograph(renderer, PageSource.from_file(path))
    except UiproofError as error:
        return f"failed: {error.code}"
    digest = hashlib.sha256(taken.png)
    for pair in taken.capture.pairs:
        for picture in pair:
            digest.update(picture)
    listed = (
        taken.capture.nodes,
        taken.inventory,
        taken.window,
        (sorted(taken.fleeting.texts), taken.fleeting.boxes, taken.fleeting.others),
    )
    digest.update(repr(listed).encode("utf-8", "replace"))
    return f"{digest.hexdigest()[:16]} {' '.join(taken.flags)}"


def seen_by_worker(path: Path) -> str:
    """Do the same in a process that keeps its browser."""
    global _renderer
    _renderer = _renderer or Renderer(web=FrozenWeb.installed())
    return seen(_renderer, path)


@contextmanager
def busy(many: int) -> Iterator[None]:
    """Keep processors busy."""
    loops = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(many)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _spin() -> None:
    while True:
        pass


class Results:
    """Results by what they are of, with how often each came; kept in a file if there is one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        stored = json.loads(file.read_text()) if file and file.exists() else {}
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.counts.update({one: Counter(results) for one, results in stored.items()})

    def add(self, one: object, result: str) -> None:
        """Count a result."""
        self.counts[str(one)][result] += 1

    def save(self) -> None:
        """Write everything to the file."""
        if self._file is not None:
            self._file.write_text(json.dumps(self.counts, indent=1))

    def __str__(self) -> str:
        counts = self.counts
        lines = [
            f"differs: {one}: {dict(found)}" for one, found in counts.items() if len(found) > 1
        ]
        times = [found.total() for found in counts.values()]
        same = f"{len(counts) - len(lines)} of {len(counts)} the same"
        return "\n".join([*lines, f"{same}, {min(times)} to {max(times)} times each"])


def show_pages(pages: list[Path], times: int, found: Results) -> None:
    """Show every page so many times: half of them in a worker process, the others here meanwhile.

    Every second time here is in a new browser for each page.
    """
    orders = [random.Random().sample(pages, len(pages)) for _ in range(times)]
    there, here = orders[: times // 2], orders[times // 2 :]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as worker:
        answers = worker.map(seen_by_worker, [path for order in there for path in order])
        for at, order in enumerate(here):
            began = time.monotonic()
            fresh = at % 2 == 1
            for path, result in zip(order, _shown_here(order, fresh=fresh), strict=True):
                found.add(path, result)
            found.save()
            took = time.monotonic() - began
            print(f"  {'new browsers' if fresh else 'one browser'}: {took:.0f} s", file=sys.stderr)
        for path, result in zip([path for order in there for path in order], answers, strict=True):
            found.add(path, result)
        found.save()


def _shown_here(pages: list[Path], *, fresh: bool) -> Iterator[str]:
    with Renderer(web=FrozenWeb.installed()) as renderer:
        for path in pages:
            yield seen(renderer, path)
            if fresh:
                renderer.close()


def judge_interactions(
    dataset: str, generated: str, times: int, found: Results, *, most: int
) -> None:
    """Judge interactions so many times, every fifth time inline."""
    import uiproof

    for at in range(times):
        began = time.monotonic()
        with TemporaryDirectory() as folder:
            run = uiproof.run(
                dataset,
                f"replay:{generated}",
                out=Path(folder) / "run",
                limit=most,
                executor="inline" if at % 5 == 4 else "processes",
                quiet=True,
            )
            for record in run.records():
                found.add(record.id, _verdict(record))
        found.save()
        print(f"  {at + 1}/{times}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def _verdict(record: Any) -> str:
    details = record.details or {}
    return json.dumps([record.status, record.scores, details.get("verdict")], sort_keys=True)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["pages", "interactions"])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--most", type=int, default=200, help="pages or interactions")
    parser.add_argument("--state", type=Path, help="a file for results of several calls")
    options = parser.parse_args()
    found = Results(options.state)
    with busy(options.busy):
        if options.what == "pages":
            pages = sorted({p for path in options.paths for p in Path(path).rglob("*.html")})
            chosen = random.Random(1).sample(pages, min(options.most, len(pages)))
            show_pages(chosen, options.times, found)
        else:
            dataset, generated = options.paths
            judge_interactions(dataset, generated, options.times, found, most=options.most)
    print(found)


if __name__ == "__main__":
    main()
