"""How long a report takes to write and to open, beside a plain page with the same pictures.

    python bench/report.py [--cases 500]

Makes a run of each benchmark with so many cases, writes its report and opens it from disk. The
plain page has every picture as an `<img>` with its screenshot inside, as it is on disk. What
counts is the ratio, measured in one run; opening ends when the page has loaded and was painted.
Scrolling goes through the whole report screen by screen: `stall` is the longest time for which the
page kept the browser from answering.
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

SCROLL = """async () => {
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) longest = Math.max(longest, task.duration);
  }).observe({ type: "longtask" });
  for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
    scrollTo(0, top);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
  await new Promise((done) => setTimeout(done, 100));
  return longest;
}"""


def plain(folder: Path) -> Path:
    """A page with all pictures of a run, at once and as they are."""
    page = folder / "plain.html"
    with page.open("w") as file:
        file.write("<!doctype html><title>plain</title>")
        for picture in sorted(folder.rglob("*.png")):
            content = base64.b64encode(picture.read_bytes()).decode("ascii")
            file.write(f'<img width="300" src="data:image/png;base64,{content}">\n')
    return page


def opening(browser: Browser, page: Path, repeat: int = 3) -> tuple[float, float]:
    """Seconds until a page is there, and those for which scrolling stalls; the best of so many."""
    times, stalls = [], []
    for _ in range(repeat):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate(PAINTED)
        times.append(time.perf_counter() - start)
        stalls.append(tab.evaluate(SCROLL) / 1000)
        context.close()
    return min(times), min(stalls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    options = parser.parse_args()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    print(f"{options.cases} cases         write s   MB   open s  stall s  plain MB  plain s  ratio")
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
            ours, stalled = opening(browser, report)
            theirs, _ = opening(browser, beside, repeat=1)
            print(
                f"{benchmark:18}{written:8.1f}{report.stat().st_size / 1e6:7.1f}{ours:8.2f}"
                f"{stalled:9.2f}{beside.stat().st_size / 1e6:10.1f}{theirs:9.2f}"
                f"{ours / theirs:7.2f}"
            )
        browser.close()


if __name__ == "__main__":
    main()
