"""`uiproof diff`: the table, JSON, exit codes, the page, the picture, servers and watching."""

from __future__ import annotations

import io
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from typer.testing import CliRunner

from uiproof.benchmarks.design2code.api import Differ
from uiproof.benchmarks.design2code.diff_cases import Pair, compare
from uiproof.benchmarks.design2code.diff_page import write_diff_page
from uiproof.benchmarks.design2code.watch import Watch
from uiproof.browser.chromium import find_chromium
from uiproof.cli.main import app
from uiproof.errors import UiproofError

GOOD = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; font: 16px sans-serif } h1 { margin: 40px } p { margin: 20px 40px }
a { display: inline-block; margin: 20px 40px; padding: 12px 24px; background: #1d4ed8; color: #fff }
</style><h1>Letters, sorted</h1><p>Every letter finds its place.</p><a href="#">Begin</a>"""
BAD = GOOD.replace("#1d4ed8", "#dc2626").replace("Every letter", "Some letters")


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    for folder, page in (("wanted", GOOD), ("made", BAD)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "page.html").write_text(page, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def differ() -> Iterator[Differ]:
    with Differ() as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(find_chromium().path))
        yield opened
        opened.close()


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["diff", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_a_pair_of_files_gives_a_table_json_a_page_and_a_picture(pages: Path) -> None:
    files = [pages / name for name in ("d.json", "d.html", "d.png")]
    options = [part for file in files for part in (f"--{file.suffix[1:]}", file)]
    code, said = call(pages / "wanted/page.html", pages / "made/page.html", *options)
    assert code == 0, "without --fail-over, differences are no failure"
    assert "2 differences" in said
    assert "#dc2626" in said
    (case,) = json.loads(files[0].read_text())["cases"]
    assert case["id"] == "page"
    kinds = {one["kind"] for one in case["differences"]}
    assert "text" in kinds
    assert kinds & {"background", "colour"}
    assert all(one["selector"] for one in case["differences"])
    impacts = [one["impact"] for one in case["differences"]]
    assert impacts == sorted(impacts, reverse=True)
    assert "Some letters" in files[1].read_text("utf-8")
    with Image.open(files[2]) as picture:
        assert max(picture.size) <= 1568


def test_the_exit_code_says_whether_a_difference_is_above_the_limit(pages: Path) -> None:
    pair = pages / "wanted/page.html", pages / "made/page.html"
    assert call(*pair, "--fail-over", "0")[0] == 1
    assert call(*pair, "--fail-over", "1")[0] == 0
    assert call(pair[0], pair[0], "--fail-over", "0")[0] == 0


def test_folders_are_paired_by_name_and_a_missing_page_is_a_failure(pages: Path) -> None:
    (pages / "wanted/other.html").write_text(GOOD)
    code, said = call(pages / "wanted", pages / "made", "-q", "--json", "-")
    assert code == 1
    cases = {one["id"]: one for one in json.loads(said)["cases"]}
    assert cases["page"]["differences"]
    assert "no generated page" in cases["other"]["error"]


def test_a_screenshot_may_stand_on_both_sides(pages: Path, differ: Differ) -> None:
    pytest.importorskip("rapidocr")
    found = differ.diff(pages / "wanted/page.html", pages / "made/page.html")
    (pages / "wanted.png").write_bytes(found.reference_picture)
    (pages / "made.png").write_bytes(found.generated_picture)
    pictures = compare(differ, Pair("p", pages / "wanted.png", pages / "made.png"))
    assert pictures.found is not None
    assert pictures.found.differences
    same = compare(differ, Pair("p", pages / "wanted/page.html", pages / "wanted.png"))
    assert same.found is not None
    assert same.found.differences == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("nothing.html", "page.html"), "There is no file"),
        (("page.html", "."), "a file and a folder"),
        (("page.html", "http://127.0.0.1:9/"), "--allow-network"),
        (("page.html", "page.html", "--watch", "--json", "-"), "--watch writes no files"),
        (("page.html", "http://127.0.0.1:9/", "--allow-network"), "cannot be fetched"),
    ],
)
def test_wrong_use_is_told_shortly(
    pages: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(pages / "wanted")
    with pytest.raises(UiproofError, match=said):
        call(*options)


def test_a_page_of_a_server_is_fetched_with_its_files_and_nothing_else(pages: Path) -> None:
    site = pages / "site"
    (site / "src").mkdir(parents=True)
    (site / "index.html").write_text(
        '<!doctype html><head><link rel="stylesheet" href="/a.css"></head><div id="app"></div>'
        '<script type="module" src="src/main.js"></script>'
    )
    (site / "a.css").write_text("body { margin: 0; background: rgb(1, 2, 3); color: white }")
    (site / "src/main.js").write_text('import { word } from "./word.js"; app.textContent = word;')
    (site / "src/word.js").write_text('export const word = "From a module";')
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        wanted = pages / "wanted.html"
        wanted.write_text(
            '<!doctype html><body style="margin:0;background:rgb(1,2,3);color:white">'
            "<div>From a module</div>"
        )
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        code, said = call(wanted, address, "--allow-network", "--fail-over", "0")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert code == 0, said
    assert "no differences" in said
    assert "another run may show another page" in said
    assert sorted(set(asked)) == ["/", "/a.css", "/src/main.js", "/src/word.js"]


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False), (1920, True)])
def test_the_page_fits_and_pointing_at_one_side_shows_the_other(
    pages: Path, differ: Differ, browser: Browser, width: int, dark: bool
) -> None:
    case = compare(differ, Pair("page", pages / "wanted/page.html", pages / "made/page.html"))
    out = write_diff_page([case], pages / "d.html")
    scheme = "dark" if dark else "light"
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text))
    page.goto(out.as_uri())
    page.wait_for_selector(".generated .marks .mark-group", state="attached")
    for mode in ("Swipe", "Onion skin", "Side by side"):
        page.get_by_role("button", name=mode).click()
        page.wait_for_selector(".generated .marks .mark-group", state="attached")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".generated [data-difference='0'] circle").hover()
    lit = page.locator(".active").evaluate_all("all => all.map((one) => one.tagName)")
    assert sorted(lit) == ["LI", "g", "g"]
    page.locator(".difference").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("li.active").get_attribute("data-difference") == "1"
    kind = page.locator("#kinds button").first
    kind.click()
    assert kind.get_attribute("aria-pressed") == "false"
    assert page.locator("#list li.off").count() >= 1
    assert errors == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page_in_every_window(
    pages: Path, differ: Differ, browser: Browser, scheme: str
) -> None:
    case = compare(differ, Pair("page", pages / "wanted/page.html", pages / "made/page.html"))
    out = write_diff_page([case], pages / "d.html")
    page = browser.new_page(bypass_csp=True, color_scheme=scheme)
    page.goto(out.as_uri())
    page.wait_for_selector(".generated .marks .mark-group", state="attached")
    for width in (390, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    page.close()


def test_the_picture_of_a_long_page_shows_the_parts_that_differ(
    pages: Path, differ: Differ
) -> None:
    from uiproof import annotated_picture

    rest = "".join(f"<p>Line {number}, which is the same.</p>" for number in range(200))
    found = differ.diff(GOOD + rest + "<h2>The end</h2>", GOOD + rest + "<h2>The finish</h2>")
    assert found.reference_size[1] > 5_000
    with Image.open(io.BytesIO(annotated_picture(found))) as picture:
        assert max(picture.size) <= 1568
        marked = sum(
            count for count, colour in picture.getcolors(1 << 24) if colour == (179, 38, 30)
        )
    assert marked > 100, "the heading at the end is marked"


def test_watching_compares_again_when_a_file_beside_the_page_changes(
    pages: Path, differ: Differ
) -> None:
    made = pages / "made/page.html"
    made.write_text(BAD.replace("</style>", '</style><link rel="stylesheet" href="a.css">'))
    watch = Watch(differ, Pair("page", pages / "wanted/page.html", made))
    first = watch.step()
    assert first is not None
    assert watch.step() is None, "nothing has changed"
    with watch.served() as address:
        with urllib.request.urlopen(address) as answer:
            assert "Watching page" in answer.read().decode()
        (pages / "made/a.css").write_text("a { background: #1d4ed8 !important }")
        second = watch.step()
        with urllib.request.urlopen(f"{address}state?version=1") as answer:
            state = json.loads(answer.read())
        with urllib.request.urlopen(f"{address}state?version={'9' * 5000}") as answer:
            assert answer.status == 200
        for other in ("page.html", "made/page.html", "%2e%2e/wanted/page.html", "etc/passwd"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(address + other)
        stranger = urllib.request.Request(address, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(stranger)
    assert second is not None
    assert first.found is not None
    assert second.found is not None
    assert len(second.found.differences) < len(first.found.differences)
    assert state["version"] == 2
    assert len(state["course"]) == 2
    assert state["course"][1] > state["course"][0]
    made.unlink()
    broken = watch.step()
    assert broken is not None
    assert broken.error is not None
    assert (watch.state(2) or {})["cases"][0]["pictures"], "the last pictures stay"
