"""How fast Design2Code scoring is, as ratios to bare Chromium measured in the same run.

    python bench/design2code.py REFERENCE GENERATED [--workers N] [--rounds K]

Scores a folder of pairs, and lets bare warm Chromium (Playwright, one page per process, reused)
navigate to the same pages and take three full-page screenshots of each, with as many processes.
Both are measured in turns, start-up included; do nothing else on the machine meanwhile. Without
folders the bundled demo pages are used.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from uiproof.benchmarks.design2code.cases import pages_in
from uiproof.browser.chromium import find_chromium
from uiproof.engine.machine import default_workers
from uiproof.registry import resolve_dataset

SCREENSHOTS = 3


def bare_chromium(pages: list[str]) -> None:
    """One process of the baseline: what it must cost to load pages and photograph them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium().path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for path in pages:
            page.goto(Path(path).as_uri())
            for _ in range(SCREENSHOTS):
                page.screenshot(full_page=True)
        browser.close()


def measured(commands: list[list[str]]) -> tuple[float, float]:
    """Seconds that commands take side by side, and the share of all cores that was busy."""
    busy_before = busy_seconds()
    start = time.perf_counter()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    for process in running:
        if process.wait() != 0:
            raise SystemExit(f"{process.args} failed")
    wall = time.perf_counter() - start
    return wall, (busy_seconds() - busy_before) / (wall * (os.cpu_count() or 1))


def busy_seconds() -> float:
    """Seconds that the cores of this machine have worked so far; only Linux tells."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return float("nan")
    idle = ticks[3] + ticks[4]
    return (sum(ticks[:8]) - idle) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", nargs="?", type=Path)
    parser.add_argument("generated", nargs="?", type=Path)
    parser.add_argument("--workers", type=int, default=default_workers())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        bare_chromium(json.loads(options.bare.read_text()))
        return
    reference = options.reference or resolve_dataset("design2code-demo")[1]
    generated = options.generated or reference.parent / "generated"
    references, predictions = pages_in(reference), pages_in(generated)
    pairs = sorted(references.keys() & predictions.keys())
    pages = [str(side[name].resolve()) for name in pairs for side in (references, predictions)]
    # A reference that occurs several times under different names is rendered once by us.
    distinct = list({(Path(p).read_bytes(), str(Path(p).parent)): p for p in pages}.values())

    with tempfile.TemporaryDirectory() as scratch:
        lists = []
        for worker in range(options.workers):
            part = Path(scratch) / f"{worker}.json"
            part.write_text(json.dumps(distinct[worker :: options.workers]))
            lists.append(part)
        bare = [[sys.executable, __file__, "--bare", str(part)] for part in lists]
        score = [sys.executable, "-m", "uiproof", "score", "design2code"]
        score += [str(reference), str(generated), "--workers", str(options.workers), "--quiet"]
        ratios = []
        for number in range(options.rounds):
            base, base_busy = measured(bare)
            ours, our_busy = measured([score])
            ratios.append(ours / base)
            print(
                f"round {number + 1}: bare {base:.1f} s ({base_busy:.0%} of the cores busy), "
                f"uiproof {ours:.1f} s ({our_busy:.0%} busy), ratio {ours / base:.2f}",
                flush=True,
            )
    print(f"{len(pairs)} pairs, {len(distinct)} different pages, {options.workers} workers")
    print(f"median ratio to bare Chromium: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
