"""Files that are called pages and are something else, and answers that were saved as they came."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from io import BytesIO

import pytest

import uiproof
import warm_commands
from uiproof.benchmarks.page_files import generated_page, reference_page
from uiproof.browser import PageSource
from uiproof.errors import InputError
from uiproof.vision.images import encode_png

PAGE = "<!DOCTYPE html>\n<html><body><h1>Hello</h1><p>Some words</p></body></html>"


def binaries():
    import numpy as np
    from PIL import Image

    rgb = np.full((40, 60, 3), 200, np.uint8)
    jpeg, archive = BytesIO(), BytesIO()
    Image.fromarray(rgb).save(jpeg, "JPEG")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("page.html", PAGE)
    return {
        "png": encode_png(rgb),
        "jpeg": jpeg.getvalue(),
        "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        "zip": archive.getvalue(),
        "gzip": gzip.compress(PAGE.encode(), mtime=0),
    }


@pytest.mark.parametrize(("kind", "data"), binaries().items(), ids=binaries())
def test_a_file_that_is_no_page_is_flagged_where_it_is_generated_and_refused_as_reference(
    kind, data, tmp_path
):
    file = tmp_path / "1.html"
    file.write_bytes(data)
    source = PageSource.from_file(file)
    assert generated_page(source).notes == ("not_html",)
    with pytest.raises(InputError, match=r"1\.html is a.* not an HTML page") as caught:
        reference_page(source)
    assert caught.value.remedy


FENCED = {
    "fence": f"```html\n{PAGE}\n```",
    "words around": f"Here is the page:\n\n```html\n{PAGE}\n```\n\nIt shows **everything**.",
    "tildes": f"~~~\n{PAGE}\n~~~",
    "end of a fence": f"{PAGE}\n```",
    "json": json.dumps({"html": PAGE}),
    "thoughts": f"<think>The page has <html> and ```.</think>\n{PAGE}",
    "byte order mark": f"\ufeff```html\r\n{PAGE}\r\n```\r\n",
}


@pytest.mark.parametrize("answer", FENCED.values(), ids=FENCED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_answer_that_was_saved_as_it_came_is_unwrapped(answer, encoding):
    page = generated_page(PageSource.from_bytes(answer.encode(encoding)))
    assert page.text.replace("\r\n", "\n") == PAGE
    assert page.notes == ("unfenced",)
    assert generated_page(page) == page


@pytest.mark.parametrize(
    "html",
    [
        PAGE,
        "",
        "Plain words with <b>some</b> markup",
        "<p>Hello</p>",
        PAGE.replace("Some words", "<pre>\n```html\n<p>An example</p>\n```\n</pre>"),
        "<!doctype html><h1>Markdown</h1><pre>\n```\ncode\n```\n</pre><p>The end",
        "<div>\n~~~\nart\n~~~\n</div>",
        "{ not json <p>but text</p>",
        "I'm sorry, I can't help with ``` that.",
    ],
)
def test_a_page_stays_as_it_is_also_one_about_fences(html):
    source = PageSource.from_html(html)
    assert generated_page(source) is source
    assert reference_page(source) is source


@pytest.fixture
def folders(tmp_path):
    reference, generated = tmp_path / "reference", tmp_path / "generated"
    for folder in (reference, generated):
        folder.mkdir()
        for name in ("clean", "fenced", "picture", "broken"):
            (folder / f"{name}.html").write_text(PAGE)
    (generated / "fenced.html").write_text(FENCED["words around"])
    (generated / "picture.html").write_bytes(binaries()["png"])
    (reference / "broken.html").write_bytes(binaries()["png"])
    return tmp_path


def test_folders_are_scored_and_the_terminal_says_what_was_found(folders):
    done = warm_commands.run(
        *("score", "design2code", "reference", "generated", "--json", "scores.json"),
        cwd=folders,
        env=os.environ,
    )
    cases = {
        case["id"]: case for case in json.loads((folders / "scores.json").read_text())["cases"]
    }
    assert cases["fenced"]["scores"] == cases["clean"]["scores"]
    assert cases["clean"]["flags"] == []
    assert cases["fenced"]["flags"] == ["generated:unfenced"]
    assert "generated:not_html" in cases["picture"]["flags"]
    assert cases["picture"]["scores"]["human"] < 0.1
    assert cases["broken"]["error"]["code"] == "input"
    assert "broken.html is a PNG picture" in cases["broken"]["error"]["message"]
    assert done.returncode == 1
    assert "unfenced: 1 generated page: was in a Markdown fence" in done.stderr
    assert "not_html: 1 generated page: is not HTML" in done.stderr


def test_the_same_holds_for_strings_and_files_that_are_scored_from_python(folders):
    pairs = [(PAGE, PAGE), (PAGE, FENCED["fence"]), (PAGE, folders / "generated" / "fenced.html")]
    clean, *fenced = uiproof.score_pages(pairs)
    assert clean.flags == ()
    for record in fenced:
        assert record.scores == clean.scores
        assert record.flags == ("generated:unfenced",)
