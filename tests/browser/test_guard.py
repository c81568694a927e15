"""A page reaches the files of its folder and nothing else."""

from __future__ import annotations

import html
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser_tools import GREEN, WHITE, colour_at, save_square, shot

from uiproof.browser import PageSource, Renderer
from uiproof.browser.guard import MAX_ASSET_BYTES, Guard, Request


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def swatches(urls: list[str]) -> str:
    """Return a page with one square of 20 pixels for each picture."""
    squares = [
        f'<div style="position:absolute;top:0;left:{20 * i}px;width:20px;height:20px;'
        f"background:url('{html.escape(url)}')\"></div>"
        for i, url in enumerate(urls)
    ]
    return "<!DOCTYPE html><meta charset=utf-8>" + "".join(squares)


def seen(renderer: Renderer, source: PageSource, urls: list[str]) -> dict[str, bool]:
    """Which of the pictures the page got."""
    png, _ = shot(renderer, source)
    colours = {url: colour_at(png, 20 * i + 10, 10) for i, url in enumerate(urls)}
    assert set(colours.values()) <= {GREEN, WHITE}
    return {url: colour == GREEN for url, colour in colours.items()}


def test_a_page_gets_the_files_of_its_folder_however_they_are_named(
    renderer: Renderer, tmp_path: Path
) -> None:
    for name in (
        "a.png",
        "sub/deep/b.png",
        "with space.png",
        "größe 图.png",
        "100%.png",
        "q?x.png",
    ):
        save_square(tmp_path / name)
    (tmp_path / "inside.png").symlink_to(tmp_path / "a.png")
    urls = [
        "a.png",
        "./a.png",
        "/a.png",
        "sub/../a.png",
        "sub/deep/b.png",
        "with space.png",
        "with%20space.png",
        "größe 图.png",
        "gr%C3%B6%C3%9Fe%20%E5%9B%BE.png",
        "100%25.png",
        "q%3Fx.png",
        "a.png?v=3#part",
        "inside.png",
    ]
    (tmp_path / "page.html").write_text(swatches(urls), encoding="utf-8")
    source = PageSource.from_file(tmp_path / "page.html")
    assert seen(renderer, source, urls) == dict.fromkeys(urls, True)


def test_a_page_gets_nothing_from_outside_of_its_folder(renderer: Renderer, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    save_square(tmp_path / "secret.png")
    save_square(tmp_path / "page-sibling" / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "linked").symlink_to(tmp_path / "page-sibling")
    save_square(folder / "huge.png")
    with (folder / "huge.png").open("r+b") as huge:
        huge.truncate(MAX_ASSET_BYTES + 1)
    save_square(folder / "mine.png")
    urls = [
        "../secret.png",
        "..%2fsecret.png",
        "%2e%2e/secret.png",
        "..%5csecret.png",
        "x/..%2f..%2fsecret.png",
        str(tmp_path / "secret.png"),
        f"/{tmp_path / 'secret.png'}",
        (tmp_path / "secret.png").as_uri(),
        "../page-sibling/secret.png",
        "..%2fpage-sibling%2fsecret.png",
        "link.png",
        "linked/secret.png",
        "huge.png",
        "mine.png%00.txt",
        "http://page.invalid:81/mine.png",
        "https://page.invalid/mine.png",
        "http://other.invalid/mine.png",
    ]
    (folder / "page.html").write_text(swatches(urls), encoding="utf-8")
    source = PageSource.from_file(folder / "page.html")
    assert seen(renderer, source, urls) == dict.fromkeys(urls, False)


def test_requests_to_elsewhere_and_missing_files_are_flagged_apart(renderer: Renderer) -> None:
    assert shot(renderer, swatches(["missing.png"]))[1] == {"files_missing"}
    for url in ("http://example.org/a.png", "http://page.invalid:81/a.png", "//example.org/a.png"):
        assert shot(renderer, swatches([url]))[1] == {"requests_blocked"}


def test_a_string_has_no_files_unless_it_is_given_a_folder(
    renderer: Renderer, tmp_path: Path
) -> None:
    save_square(tmp_path / "a.png")
    page = swatches(["a.png"])
    assert seen(renderer, PageSource.from_html(page), ["a.png"]) == {"a.png": False}
    assert seen(renderer, PageSource.from_html(page, folder=tmp_path), ["a.png"]) == {"a.png": True}


def test_only_names_the_files_that_a_page_may_use(renderer: Renderer, tmp_path: Path) -> None:
    urls = ["a.png", "b.png", "sub/a.png", "./a.png"]
    for url in urls:
        save_square(tmp_path / url)
    source = replace(
        PageSource.from_html(swatches(urls), folder=tmp_path), only=frozenset({"a.png"})
    )
    assert seen(renderer, source, urls) == {
        "a.png": True,
        "b.png": False,
        "sub/a.png": False,
        "./a.png": True,
    }


def test_withheld_files_are_not_seen_under_any_name(renderer: Renderer, tmp_path: Path) -> None:
    for name in ("truth.png", "a.png"):
        save_square(tmp_path / name)
    (tmp_path / "alias.png").symlink_to(tmp_path / "truth.png")
    urls = ["truth.png", "alias.png", "./truth.png", "%74ruth.png", "a.png"]
    source = PageSource.from_html(swatches(urls), folder=tmp_path)
    source = replace(source, withheld=frozenset({(tmp_path / "truth.png").resolve()}))
    assert seen(renderer, source, urls) == {url: url == "a.png" for url in urls}


def test_style_sheets_fonts_scripts_and_frames_of_the_folder_work(
    renderer: Renderer, tmp_path: Path
) -> None:
    (tmp_path / "css").mkdir()
    (tmp_path / "css" / "main.css").write_text('@import "more.css"; body { margin: 0 }')
    (tmp_path / "css" / "more.css").write_text("#a { background: url(../img/a.png) }")
    save_square(tmp_path / "img" / "a.png")
    (tmp_path / "code.js").write_text('document.getElementById("b").style.background = "green"')
    (tmp_path / "frame.html").write_text('<body style="background:green">')
    (tmp_path / "page.html").write_text(
        """<!DOCTYPE html><link rel="stylesheet" href="css/main.css">
        <style>div, iframe { position:absolute; top:0; width:20px; height:20px; border:0 }</style>
        <div id="a" style="left:0"></div><div id="b" style="left:20px"></div>
        <iframe src="frame.html" style="left:40px"></iframe><script src="code.js"></script>"""
    )
    png, flags = shot(renderer, tmp_path / "page.html")
    assert [colour_at(png, x, 10) for x in (10, 30, 50)] == [GREEN] * 3
    assert flags == set()


def test_a_listening_socket_on_this_machine_is_never_reached(renderer: Renderer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        page = f"""<img src="http://{address}/a"><link rel="stylesheet" href="http://{address}/b">
            <iframe src="http://{address}/c"></iframe><link rel="preconnect" href="http://{address}">
            <script>
              fetch("http://{address}/d").catch(() => {{}});
              new WebSocket("ws://{address}/e");
              navigator.sendBeacon("http://{address}/f", "x");
            </script>"""
        _, flags = shot(renderer, page)
        assert "requests_blocked" in flags
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_late_request_of_the_page_before_leaves_no_trace() -> None:
    class Posts:
        def __init__(self) -> None:
            self.sent: list[str] = []

        def post(self, command: str, _: object) -> None:
            self.sent.append(command)

    session: Any = Posts()
    pages = [PageSource.from_html("<p>the same</p>") for _ in range(2)]
    before, now = (Guard(page, number=number) for number, page in enumerate(pages))

    def request(url: str, kind: str, referrer: str) -> Request:
        asked = {"url": url, "method": "GET", "headers": {"Referer": referrer}}
        event = {"requestId": "1", "frameId": "main", "resourceType": kind, "request": asked}
        return Request(session, event, main_frame="main")

    now.handle(request(now.page_url, "Document", ""))
    now.handle(request("https://example.com/late.png", "Image", before.page_url))
    now.handle(request(f"{before.page_url}/../late.png", "Image", before.page_url))
    assert session.sent == ["Fetch.fulfillRequest", *["Fetch.failRequest"] * 2]
    assert now.flags() == set()
    now.handle(request("https://example.com/own.png", "Image", now.page_url))
    assert now.flags() == {"requests_blocked"}
