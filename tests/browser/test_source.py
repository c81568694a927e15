"""Pages as sources: encodings, the files that they may use, and copies of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser_tools import pixels, shot

from uiproof.browser import PageSource, Renderer
from uiproof.browser.source import keep_page
from uiproof.errors import InputError

WORDS = "<p style='font:40px sans-serif'>Größe – naïve façade</p>"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


ENCODINGS = {
    "utf-8 undeclared": WORDS.encode(),
    "utf-8 declared": b"<meta charset=utf-8>" + WORDS.encode(),
    "utf-8 with a byte order mark": b"\xef\xbb\xbf" + WORDS.encode(),
    "utf-8 that claims to be latin-1": b"<meta charset=iso-8859-1>" + WORDS.encode(),
    "windows-1252 undeclared": WORDS.encode("cp1252"),
    "windows-1252 declared as latin-1": b"<meta charset=iso-8859-1>" + WORDS.encode("cp1252"),
    "windows-1252 declared by http-equiv": b"<meta http-equiv=Content-Type"
    b' content="text/html; charset=windows-1252">' + WORDS.encode("cp1252"),
    "macintosh declared": b"<meta charset='macintosh'>" + WORDS.encode("mac_roman"),
    "utf-16 little endian": ("\ufeff" + WORDS).encode("utf-16-le"),
    "utf-16 big endian": ("\ufeff" + WORDS).encode("utf-16-be"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_file_looks_the_same_in_whatever_encoding_it_is_written(
    renderer: Renderer, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(ENCODINGS[name])
    source = PageSource.from_file(path)
    expected = pixels(shot(renderer, WORDS)[0])
    assert (pixels(shot(renderer, source)[0]) == expected).all()
    assert WORDS in source.text
    cleaned = source.with_text(source.text)  # what clean-up does
    assert (pixels(shot(renderer, cleaned)[0]) == expected).all()


def test_a_declared_encoding_that_the_bytes_break_still_gives_a_page(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<meta charset=utf-8><p>caf\xe9</p>")
    assert PageSource.from_file(path).text.endswith("<p>caf\ufffd</p>")
    path.write_bytes(b"<meta charset=no-such-thing><p>caf\xe9</p>")
    assert PageSource.from_file(path).text.endswith("<p>café</p>")


def test_lone_surrogates_in_a_string_do_no_harm() -> None:
    assert PageSource.from_html("<p>a\ud800b</p>").text == "<p>a?b</p>"


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_page_that_cannot_be_read_is_an_input_error_that_names_it(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "page.html"
    if kind == "folder":
        path.mkdir()
    with pytest.raises(InputError, match=r"page\.html") as caught:
        PageSource.from_file(path)
    assert caught.value.remedy


def test_the_key_changes_with_everything_that_changes_the_picture(tmp_path: Path) -> None:
    page = PageSource.from_html("<p>one", folder=tmp_path)
    others = [
        page,
        page.with_text("<p>two"),
        replace(page, folder=tmp_path / "sub"),
        replace(page, charset="windows-1252"),
        replace(page, only=frozenset()),
        replace(page, only=frozenset({"a.png"})),
        replace(page, withheld=frozenset({tmp_path / "a.png"})),
    ]
    assert len({other.key for other in others}) == len(others)
    assert page.key == PageSource.from_html("<p>one", folder=tmp_path).key


SECRETS = [
    *(".env", ".ssh/id_rsa", ".git/config", "sub/.netrc", "id_rsa", "key.pem", "secrets.yaml"),
    *("credentials.json", "notes.txt", "data.csv", "page.html.bak", "picture", ".hidden.png"),
    *(".private/picture.png", "store.sqlite"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_page_reads_only_what_pages_consist_of(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("secret")
    (tmp_path / "page.html").write_text("<p>")
    page = PageSource.from_file(tmp_path / "page.html")
    assert page.own_file(name) is None
    assert page.own_file(name.upper()) is None
    assert page.own_file(f"sub/../{name}") is None


def test_a_link_to_a_hidden_file_is_hidden(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "picture.png").symlink_to(tmp_path / ".env")
    (tmp_path / "page.html").write_text("<p>")
    assert PageSource.from_file(tmp_path / "page.html").own_file("picture.png") is None


@pytest.mark.parametrize(
    "name", ["a.png", "B.JPG", "sub/c.css", "d.mjs", "e.woff2", "f.mp4", "g h.svg", "next.html"]
)
def test_a_page_reads_what_pages_consist_of(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
    (tmp_path / "page.html").write_text("<p>")
    page = PageSource.from_file(tmp_path / "page.html")
    assert page.own_file(name) == (tmp_path / name).resolve()


def test_a_trusted_page_reads_data_but_nothing_hidden(tmp_path: Path) -> None:
    for name in ("words.json", "list", ".env"):
        (tmp_path / name).write_text("x")
    (tmp_path / "page.html").write_text("<p>")
    page = replace(PageSource.from_file(tmp_path / "page.html"), trusted=True)
    assert page.own_file("words.json")
    assert page.own_file("list")
    assert page.own_file(".env") is None


@pytest.fixture
def kept(tmp_path: Path) -> Callable[..., dict[str, Path]]:
    def keep(html: str, **files: bytes) -> dict[str, Path]:
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


def test_a_copy_has_the_files_that_the_page_shows(kept: Callable[..., dict[str, Path]]) -> None:
    files = kept(
        '<link href=look.css rel=stylesheet><img src="img/a%20b.png?1">'
        "<p style=\"background: url('paper.webp')\"><img src=missing.png>",
        look_css=b"p{}",
        **{"img__a b_png": b"1", "paper_webp": b"2", "unused_png": b"3", "notes_txt": b"4"},
    )
    assert set(files) == {"generated.html", "look.css", "img/a b.png", "paper.webp"}
    assert files["img/a b.png"].read_bytes() == b"1"


def test_a_copy_has_nothing_from_elsewhere(
    kept: Callable[..., dict[str, Path]], tmp_path: Path
) -> None:
    files = kept(
        "<img src=../secret.png><img src=/../secret.png><img src=link.png>"
        f"<img src=file://{tmp_path}/secret.png><img src=http://x.example/a.png><img src=//[/a.png>"
    )
    assert set(files) == {"generated.html"}


def test_a_file_does_not_replace_a_copied_page_of_the_same_name(
    kept: Callable[..., dict[str, Path]],
) -> None:
    files = kept("<img src=generated.html.png><a href=generated.html>", generated_html=b"other")
    assert files["generated.html"].read_bytes().startswith(b"<img")
