"""How long a report takes to write and to open, beside a plain page with the same pictures.

    python bench/report.py [--cases 500]

Makes a run of each benchmark with so many cases, writes its report and opens it from disk. The
plain page has every picture as an `<img>` with its screenshot inside, as it is on disk. What
counts is the ratio, measured in one run; opening ends when the page has loaded and was painted.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from uiproof.browser.chromium import find_chromium
from uiproof.report import write_report

sys.path.append(str(Path(__file__).parents[1] / "tests" / "report"))

from large_runs import MAKERS

# Two frames: the first one after loading is painted when the second begins.
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def plain(folder: Path) -> Path:
    """A page with all pictures of a run, at once and as they are."""
    page = folder / "plain.html"
    with page.open("w") as file:
        file.write("<!doctype html><title>plain</title>")
        for picture in sorted(folder.rglob("*.png")):
            content = base64.b64encode(picture.read_bytes()).decode("ascii")
            file.write(f'<img width="300" src="data:image/png;base64,{content}">\n')
    return page


def opening(browser: Browser, page: Path, repeat: int = 3) -> float:
    """Seconds until a page is there, the best of so many."""
    times = []
    for _ in range(repeat):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate(PAINTED)
        times.append(time.perf_counter() - start)
        context.close()
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    options = parser.parse_args()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    print(f"{options.cases} cases         write s   MB   open s   plain MB   plain s   open/plain")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        browser = playwright.chromium.launch(
            executable_path=find_chromium().path, args=arguments, chromium_sandbox=not arguments
        )
        for benchmark, make in MAKERS.items():
            folder = Path(name) / benchmark
            run = make(folder, options.cases, size=(1280, 900))
            start = time.perf_counter()
            report = write_report([run], folder / "report.html")
            written = time.perf_counter() - start
            beside = plain(folder)
            ours, theirs = opening(browser, report), opening(browser, beside)
            print(
                f"{benchmark:18}{written:8.1f}{report.stat().st_size / 1e6:7.1f}{ours:8.2f}"
                f"{beside.stat().st_size / 1e6:10.1f}{theirs:10.2f}{ours / theirs:12.2f}"
            )
        browser.close()


if __name__ == "__main__":
    main()
