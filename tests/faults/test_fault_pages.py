"""Pages in other encodings, of 50 MB, or made to exhaust a browser."""

from __future__ import annotations

import json
import sys

import pytest
from fault_tools import UIPROOF
from hostile_files import MARK, SHEETS

from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.source import MAX_HTML_BYTES
from uiproof.errors import BrowserDiedError, PageTimeoutError, PageTooLargeError
from uiproof.vision.images import decode

LIMITS = Limits(load_seconds=3, step_seconds=6, max_width=2_000, max_height=4_000, memory_mb=900)
GREEN = (0, 200, 83)
BIG = 50 << 20


@pytest.fixture(scope="module")
def renderer():
    with Renderer(LIMITS) as renderer:
        yield renderer


HOSTILE = {
    **{f"sheet-{name}": f"<style>{sheet}</style>{MARK}" for name, sheet in SHEETS.items()},
    "nested": f"{MARK}{'<div>' * 20_000}deep",
    "formatted": f"{MARK}{'<b>' * 5_000}deep",
    "one-line": f"{MARK}<p>{'lorem ipsum ' * 100_000}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_made_to_exhaust_the_browser_harms_no_other(renderer, name):
    try:
        with renderer.open(PageSource.from_html(f"<!doctype html>{HOSTILE[name]}")) as page:
            shown = decode(page.screenshot())
            assert tuple(shown[30, 30]) in (GREEN, (255, 255, 255)) or "shadows" in name
    except (PageTimeoutError, BrowserDiedError):
        pass  # documented, too: the next page is what counts
    with renderer.open(PageSource.from_html(f"<!doctype html>{MARK}")) as page:
        assert tuple(decode(page.screenshot())[30, 30]) == GREEN
        assert not page.flags


TEXT = "Grüße aus Zürich"
ENCODED = {
    "latin-1": f"<meta charset=iso-8859-1><h1>{TEXT}</h1>".encode("latin-1"),
    "undeclared": f"<h1>{TEXT}</h1>".encode("latin-1"),
    "utf-16": f"<h1>{TEXT}</h1>".encode("utf-16"),
    "shift-jis": "<meta charset=shift_jis><h1>日本語のページ</h1>".encode("shift-jis"),
    "invalid": b"<meta charset=utf-8><h1>Gr\xff\xfe\xc3\x28\xf0\x9f e</h1>",
    "nul": b"<h1>Gr\0\0ue\0sse</h1>\0\0",
    "lying": f"<meta charset=utf-16><h1>{TEXT}</h1>".encode(),
    "unknown": f"<meta charset=klingon><h1>{TEXT}</h1>".encode("latin-1"),
}


@pytest.fixture
def scored(tmp_path, start):
    """Score pairs of pages with the real command: id -> its case."""

    def score(pairs):
        for number, folder in enumerate(("reference", "generated")):
            (tmp_path / folder).mkdir()
            for name, pair in pairs.items():
                (tmp_path / folder / f"{name}.html").write_bytes(pair[number])
        main = start(
            *(*UIPROOF, "score", "design2code", "reference", "generated", "--workers", "1"),
            *("--out", "run", "--quiet", "--json", "-"),
        )
        code, out, err = main.finished(300)
        assert code in (0, 1), err
        return {case["id"]: case for case in json.loads(out)["cases"]}

    return score


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_pages_in_any_encoding_and_of_any_size_end_as_documented(scored):
    small = f"<!doctype html>{MARK}".encode()
    large = small + b"<!--" + b"x" * BIG + b"-->"
    as_utf8 = f"<meta charset=utf-8><h1>{TEXT}</h1>".encode()
    pairs = {name: (page, page) for name, page in ENCODED.items()}
    pairs |= {"same-words": (as_utf8, ENCODED["latin-1"])}
    pairs |= {"large-generated": (small, large), "large-reference": (large, small)}
    cases = scored(pairs)
    assert set(cases) == set(pairs)
    for name in ("large-generated", "large-reference"):
        assert cases[name]["error"]["code"] == "page_too_large"
        assert "50 MB" in cases[name]["error"]["message"]
        assert "separate files" in cases[name]["error"]["remedy"]
        assert cases[name]["scores"]["strict"]["text"] == 0
    for name in {*ENCODED, "same-words"}:
        assert cases[name]["status"] == "scored", cases[name]["error"]
        assert cases[name]["scores"]["strict"]["text"] == pytest.approx(1), name


def test_a_page_over_the_limit_is_refused_before_it_is_read(tmp_path):
    hollow = tmp_path / "page.html"
    with hollow.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that nobody could read
    with pytest.raises(PageTooLargeError, match=r"page\.html"):
        PageSource.from_file(hollow)
    with pytest.raises(PageTooLargeError):
        PageSource.from_html("x" * (MAX_HTML_BYTES + 1))
    assert PageSource.from_html("x" * MAX_HTML_BYTES).html
