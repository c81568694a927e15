"""How much processor time Design2Code scoring takes, beside bare Chromium in the same run.

    python bench/design2code.py [REFERENCE GENERATED] [--rounds 5]
    python bench/design2code.py [REFERENCE GENERATED] --load [--references 64] [--answers 8]

A pair costs bare warm Chromium (Playwright, one page that is used again) two navigations and two
full-page screenshots. We judge the same pairs with one warm judge; each reference is rendered.
Both sides take turns, pair by pair. Counted are the processor seconds of the browser and of Python;
those of Playwright's driver are not.

`--load` is the shape of training: several answers to each of many references, scored by
`uiproof score` with two workers, start-up included. Without folders the bundled pages are used.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from cpu import adopt_orphans
from uiproof.benchmarks.design2code.cases import pages_in
from uiproof.process_tree import known_descendants
from uiproof.registry import resolve_dataset

WORKERS = 2
_TICK = os.sysconf("SC_CLK_TCK")


def seconds_of(root: int) -> float:
    """Return the processor seconds of a process and all below it, also of those that ended."""
    total = 0
    for pid in (root, *known_descendants(root)):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, words[11:15]))
    return total / _TICK


class Bare:
    """Warm Chromium without anything of ours."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        from uiproof.browser.chromium import find_chromium

        others = known_descendants(os.getpid())
        self._playwright = sync_playwright().start()
        launch = self._playwright.chromium.launch
        self._browser = launch(
            executable_path=find_chromium().path, args=["--no-sandbox", "--disable-gpu"]
        )
        self._page = self._browser.new_page(viewport={"width": 1280, "height": 720})
        (self._driver,) = set(_children(os.getpid())).difference(others)

    def look_at(self, *pages: Path) -> None:
        """Navigate to some pages and take a picture of each."""
        for page in pages:
            self._page.goto(page.as_uri())
            self._page.screenshot(full_page=True)

    def browser_seconds(self) -> float:
        """Return those of the browser, without the driver."""
        return sum(seconds_of(pid) for pid in _children(self._driver))

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._playwright.stop()


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started, and that run."""
    found = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(word) for words in found for word in words]


def compare_sides(pairs: list[tuple[Path, Path]], rounds: int) -> None:
    """Let both sides take turns, pair by pair, and print the ratio of each round."""
    from uiproof.benchmarks.design2code.judge import Design2CodeJudge
    from uiproof.browser import PageSource, Renderer
    from uiproof.web import FrozenWeb

    ratios = []
    bare = Bare()
    with Renderer(web=FrozenWeb.installed()) as renderer:
        bare.look_at(*pairs[0])
        for number in range(rounds + 1):
            judge = Design2CodeJudge(renderer=renderer)  # it knows no reference yet
            spent: dict[str, list[float]] = {"bare": [0.0, 0.0], "uiproof": [0.0, 0.0]}
            # The first round only makes everything warm.
            for pair in pairs[: 1 if number == 0 else None]:
                before = time.process_time(), bare.browser_seconds()
                bare.look_at(*pair)
                _add(spent["bare"], before, bare.browser_seconds())
                before = time.process_time(), seconds_of(renderer.pid or 0)
                judge.compare(*(PageSource.from_file(page) for page in pair))
                _add(spent["uiproof"], before, seconds_of(renderer.pid or 0))
            base, own = (sum(side) for side in spent.values())
            if number == 0:
                continue
            ratios.append(own / base)
            sides = (
                f"{name} {python / len(pairs):.3f} s Python + {browser / len(pairs):.3f} s browser"
                for name, (python, browser) in spent.items()
            )
            print(f"round {number}: {'; '.join(sides)}; ratio {own / base:.2f}", flush=True)
    bare.close()
    print(
        f"{len(pairs)} pairs, median of {rounds} rounds: {statistics.median(ratios):.2f} times "
        "bare Chromium with one screenshot a page (processor seconds)"
    )


def _add(spent: list[float], before: tuple[float, float], browser: float) -> None:
    spent[0] += time.process_time() - before[0]
    spent[1] += browser - before[1]


def load(pairs: list[tuple[Path, Path]], references: int, answers: int) -> None:
    """Score several answers to each of many references and print what a page costs."""
    adopt_orphans()
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, name) for name in ("reference", "generated")]
        for folder in folders:
            folder.mkdir()
        number = 0
        for reference, (theirs, _) in zip(range(references), cycle(pairs), strict=False):
            for answer in range(answers):
                page = pairs[(reference + answer) % len(pairs)][1]
                # Pages that differ in a comment are different pages, equally expensive.
                for folder, path, mark in zip(
                    folders, (theirs, page), (f"{reference}", f"{number}"), strict=True
                ):
                    html = path.read_bytes() + f"<!-- {mark} -->".encode()
                    (folder / f"{number}.html").write_bytes(html)
                number += 1
        command = [sys.executable, "-m", "uiproof", "score", "design2code", *map(str, folders)]
        began = time.perf_counter()
        subprocess.run(
            [*command, "--workers", str(WORKERS), "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=scratch,
        )
        seconds = time.perf_counter() - began
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(
        f"{number} pages for {references} references on {WORKERS} workers: "
        f"{number / seconds:.2f} pages/s, {cpu / number:.3f} CPU s a page ({cpu:.0f} s in all)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", nargs="?", type=Path)
    parser.add_argument("generated", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", action="store_true", help="many answers to each reference")
    parser.add_argument("--references", type=int, default=64)
    parser.add_argument("--answers", type=int, default=8, help="to each reference")
    options = parser.parse_args()
    reference = options.reference or resolve_dataset("design2code-demo")[1]
    generated = options.generated or reference.parent / "generated"
    theirs, predictions = pages_in(reference), pages_in(generated)
    names = sorted(theirs.keys() & predictions.keys())
    pairs = [(theirs[name].resolve(), predictions[name].resolve()) for name in names]
    if options.load:
        load(pairs, options.references, options.answers)
    else:
        compare_sides(pairs, options.rounds)


if __name__ == "__main__":
    main()
