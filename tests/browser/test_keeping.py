"""Pages that can still be looked at when the folder they came from is gone."""

from __future__ import annotations

import pytest

from uiproof.browser import PageSource
from uiproof.browser.keeping import keep_page


@pytest.fixture
def kept(tmp_path):
    def keep(html, **files):
        source, target = tmp_path / "source", tmp_path / "run" / "case"
        source.mkdir()
        target.mkdir(parents=True)
        (tmp_path / "secret.png").write_bytes(b"secret")
        for name, content in files.items():
            path = source / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        (source / "page.html").write_text(html)
        keep_page(PageSource.from_file(source / "page.html"), target / "generated.html")
        return {p.relative_to(target).as_posix(): p for p in target.rglob("*") if p.is_file()}

    return keep


def test_what_a_page_shows_is_kept_beside_it(kept):
    files = kept(
        '<link href=look.css rel=stylesheet><img src="img/a%20b.png?1">'
        "<p style=\"background: url('paper.webp')\"><img src=missing.png>",
        look_css=b"p{}",
        **{"img__a b_png": b"1", "paper_webp": b"2", "unused_png": b"3", "notes_txt": b"4"},
    )
    assert set(files) == {"generated.html", "look.css", "img/a b.png", "paper.webp"}
    assert files["img/a b.png"].read_bytes() == b"1"


def test_nothing_from_elsewhere_is_kept(kept, tmp_path):
    files = kept(
        "<img src=../secret.png><img src=/../secret.png><img src=link.png>"
        f"<img src=file://{tmp_path}/secret.png><img src=http://x.example/a.png><img src=//[/a.png>"
    )
    assert set(files) == {"generated.html"}


def test_a_picture_with_the_name_of_a_kept_file_does_not_replace_it(kept):
    files = kept("<img src=generated.html.png><a href=generated.html>", generated_html=b"other")
    assert files["generated.html"].read_bytes().startswith(b"<img")
