"""Screenshots of the reports and the studio for the documentation: `make screenshots`.

    python scripts/screenshots.py --demo runs/demo --out docs/screenshots --only studio-runs

Everything in them is real: the demo's runs (made first where they are not there), a studio of its
own, labels of three people who do not quite agree. Fails where a view is missing.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

import uiproof
from uiproof.browser.chromium import find_chromium
from uiproof.engine.rundir import RunDirectory, locked
from uiproof.labels import Choice, Judgement
from uiproof.registry import resolve_dataset
from uiproof.report import write_report
from uiproof.studio.runs import open_run
from uiproof.studio.store import Store, save_label
from uiproof.studio.tasks import compare_items, single_items

REPORTS = {
    "report": ("blueprint", "replay"),
    "report-grounding": ("ocr", "centre", "centre-fixed"),
    "report-interactions": ("interactions",),
}
DATASETS = {"screenshots": "grounding-demo", "shop": "interaction2code-shop"}
PEOPLE = ("Ann", "Ben", "Cleo")
MOST_BYTES = 3_000_000  # of all pictures together
# Where this ran is nobody's business, and would be another place every time.
TIDY = """([folder, origin]) => {
  const tidy = (text) => text
    .replaceAll(folder + "/", "")
    .replaceAll(origin, "http://127.0.0.1:8710")
    .replace(/token=[\\w-]+/, "token=…");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (tidy(node.data) !== node.data) node.data = tidy(node.data);
  }
  for (const field of document.querySelectorAll("input, textarea")) {
    if (tidy(field.value) !== field.value) field.value = tidy(field.value);
  }
}"""


@dataclass(frozen=True)
class Shot:
    """One view: where it is, how it is looked at, and what is done before."""

    name: str
    address: str  # of the studio, or `file:` with the name of a report
    dark: bool = False
    as_annotator: bool = False
    prepare: Callable[[Page], None] | None = None


def tick_two(page: Page) -> None:
    """Choose the runs of the first benchmark."""
    for box in page.locator("form.group").first.locator("input[name=run]").all()[:2]:
        box.check()


def open_case(page: Page) -> None:
    """The viewer of the first case that has scores to look at."""
    page.locator(".card").nth(1).click()


def to_gallery(page: Page) -> None:
    """Down to the first cards."""
    page.locator("#gallery").evaluate("(place) => place.scrollIntoView()")


SHOTS = (
    Shot("report", "file:report"),
    Shot("report-case", "file:report", dark=True, prepare=open_case),
    Shot("report-interactions-cases", "file:report-interactions", dark=True, prepare=to_gallery),
    Shot("studio-runs", "/runs", prepare=tick_two),
    Shot("studio-judge", "/tasks/1", as_annotator=True),
    Shot("studio-results", "/tasks/1/results"),
    Shot("studio-boxes", "/data/{screenshots}/continue"),
    Shot("studio-interactions", "/data/{shop}/continue"),
)


def main() -> None:
    """Make all screenshots, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=Path, default=Path("runs/demo"), help="runs of the demo")
    parser.add_argument("--out", type=Path, default=Path("docs/screenshots"))
    parser.add_argument("--only", nargs="*", default=[], help="names of views")
    wanted = parser.parse_args()
    shots = [shot for shot in SHOTS if not wanted.only or shot.name in wanted.only]
    wanted.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="uiproof-screenshots-") as folder:
        place = Path(folder)
        prepare(wanted.demo, place)
        with (
            running_run(place / "runs"),
            studio(place) as origin,
            chromium() as browser,
        ):
            problems = [
                problem
                for shot in shots
                if (problem := take(shot, browser, place, origin, wanted.out))
            ]
    total = sum(path.stat().st_size for path in wanted.out.glob("*.png"))
    print(f"{len(shots) - len(problems)} screenshots, {total / 1e6:.1f} MB in {wanted.out}")
    if total > MOST_BYTES:
        problems.append(f"The screenshots have {total} bytes; {MOST_BYTES} are allowed.")
    if problems:
        sys.exit("\n".join(problems))


def prepare(demo: Path, place: Path) -> None:
    """Fill a folder with what the studio shows, and with the three reports."""
    names = [name for group in REPORTS.values() for name in group]
    if not all((demo / name / "summary.json").is_file() for name in names):
        uiproof.demo(demo)
    for name in names:
        shutil.copytree(demo / name, place / "runs" / name, ignore=shutil.ignore_patterns("lock"))
    for report, runs in REPORTS.items():
        write_report([place / "runs" / name for name in runs], place / f"{report}.html")
    for name, dataset in DATASETS.items():
        shutil.copytree(resolve_dataset(dataset)[1], place / "data" / name)
    label(place)


def label(place: Path) -> None:
    """Two tasks with labels of people who mostly agree; the first of them has some items left."""
    store = Store(place / "studio.sqlite3")
    runs = place / "runs"
    people = [store.add_annotator(name) for name in PEOPLE]
    judged = single_items([open_run(runs, "interactions")])
    store.add_task("judge", "Interactions of the shop", judged, per_item=3)
    compared = compare_items([open_run(runs, "blueprint")], open_run(runs, "replay"))
    store.add_task("compare", "Blueprint against the replay", compared, per_item=3)
    chance = random.Random(4)
    opinions = [Judgement(True), Judgement(True), Judgement(False, "b"), Judgement(True, "i")]
    outcomes = [Choice("win"), Choice("tie"), Choice("lose")]
    for task, said in ((1, opinions), (2, outcomes)):
        for number, item in enumerate(store.items(task)):
            agreed = chance.choice(said)
            for person in people:
                if person.name == PEOPLE[0] and number >= store.task(task).items - 3:
                    continue
                value = agreed if chance.random() < 0.8 else chance.choice(said)
                save_label(store, item.id, person.id, value, seconds=chance.uniform(5, 40))
    store.close()


@contextmanager
def running_run(runs: Path) -> Iterator[None]:
    """Half of a run, whose lock is held: so it is one that goes on."""
    path = runs / "ocr-again"
    path.mkdir()
    began = datetime.now(UTC) - timedelta(minutes=2)
    manifest = dict(RunDirectory(runs / "ocr").manifest)
    lines = (runs / "ocr" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    manifest |= {"created": began.isoformat(timespec="seconds"), "cases": len(lines)}
    (path / "run.json").write_text(json.dumps(manifest), "utf-8")
    (path / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) * 5 // 8]))
    with locked(path / "lock"):
        os.utime(path / "lock", (began.timestamp(), began.timestamp()))
        yield


@contextmanager
def studio(place: Path) -> Iterator[str]:
    """A studio on a free port, as users start it; gives its address without the token."""
    datasets = [argument for name in DATASETS for argument in ("--dataset", f"data/{name}")]
    command = [sys.executable, "-m", "uiproof", "studio", "--port", "0", *datasets]
    with subprocess.Popen(
        [*command, "--runs", "runs", "--store", "studio.sqlite3"],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "token=" not in line:
                sys.exit("The studio did not start.")
            yield line.removeprefix("Studio: ").strip()
        finally:
            process.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    root = os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium().path,
            args=["--no-sandbox"] if root else [],
            chromium_sandbox=not root,
        )
        yield browser
        browser.close()


def take(shot: Shot, browser: Browser, place: Path, opened: str, out: Path) -> str:
    """Make one screenshot; what is wrong with the view, or nothing."""
    origin, _, token = opened.partition("/?token=")
    context = browser.new_context(
        viewport={"width": 1280, "height": 900},
        device_scale_factor=2,
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        if shot.address.startswith("file:"):
            page.goto((place / f"{shot.address.removeprefix('file:')}.html").as_uri())
        else:
            store = Store(place / "studio.sqlite3")
            person = store.annotators()[0]
            store.close()
            page.goto(f"{origin}/?token={person.token if shot.as_annotator else token}")
            if not shot.as_annotator:
                labels_as = {"name": f"uiproof_{origin.rpartition(':')[2]}_name", "url": origin}
                context.add_cookies([{**labels_as, "value": str(person.id)}])
            answer = page.goto(origin + address(page, origin, shot.address))
            if answer is None or answer.status != 200:
                return f"{shot.name}: {shot.address} answers {answer and answer.status}."
        page.wait_for_load_state("networkidle")
        if shot.prepare is not None:
            shot.prepare(page)
        page.wait_for_timeout(1000)  # for pictures that load when they are seen
        page.evaluate(TIDY, [str(place), origin])
        save(page.screenshot(), out / f"{shot.name}.png")
    except BrowserError as error:
        return f"{shot.name}: {error.message.splitlines()[0]}"
    finally:
        context.close()
    return ""


def address(page: Page, origin: str, template: str) -> str:
    """An address with the studio's own names of data sets."""
    if "{" not in template:
        return template
    page.goto(f"{origin}/data")
    links = {
        name: page.get_by_role("link", name=name, exact=True).get_attribute("href") or ""
        for name in DATASETS
    }
    return template.format(**{name: link.rpartition("/")[2] for name, link in links.items()})


def save(content: bytes, path: Path) -> None:
    """Write a picture with 256 colours: a third of the size, and hardly to be told apart."""
    with Image.open(io.BytesIO(content)) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        small.save(path, optimize=True)


if __name__ == "__main__":
    main()
