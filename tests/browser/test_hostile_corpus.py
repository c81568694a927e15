"""Every page of `tests/pages/hostile` is contained by the renderer.

The browser runs without its network namespace here, so that the traps see whatever gets past the
other guards.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_harness import (
    CORPUS,
    MARK_COLOUR,
    SECRET_COLOUR,
    Hostile,
    Trap,
    corpus,
    family,
    left_over,
    pixels_of,
    prepare,
    snapshot,
    wall_clock,
    write_secrets,
)

from uiproof.benchmarks.design2code.pages import photograph
from uiproof.browser import Limits, PageSource, Renderer, process
from uiproof.browser.chromium import MORE_VARIABLES, confinement, find_chromium
from uiproof.errors import RenderError
from uiproof.web import FrozenWeb

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

LIMITS = Limits(load_seconds=2.5, step_seconds=6, max_width=2_000, max_height=6_000, memory_mb=900)
# Large pages do end, but on a busy machine not soon.
PATIENT = replace(LIMITS, load_seconds=20, step_seconds=40)
LONGEST = 120  # seconds for one render, generous: loading twice, a screenshot, closing
PAGES = corpus()


class Keeper:
    """Keeps one renderer warm over many pages, and knows which processes it started."""

    def __init__(self) -> None:
        self.before = family()
        self.marker = f"UIPROOF_TEST_FAMILY={uuid.uuid4().hex}"
        name, value = self.marker.split("=")
        os.environ |= {name: value, MORE_VARIABLES: name}
        self._renderer: Renderer | None = None

    def shoot(self, path: Path) -> tuple[bytes | None, set[str], str]:
        """Return the picture, the flags and the error of one page."""
        if self._renderer is None:
            self._renderer = Renderer(LIMITS, web=FrozenWeb.installed()).__enter__()
        self._renderer.limits = PATIENT if path.name.startswith("heavy-") else LIMITS
        try:
            with wall_clock(LONGEST, path.name):
                # All that a judge takes from a page: its picture, its texts, its recoloured texts.
                taken = photograph(self._renderer, PageSource.from_file(path))
            return taken.png, set(taken.flags), ""
        except RenderError as error:
            return None, set(), f"{error.code}: {error}"
        except BaseException:
            self.close()  # the next page deserves a sound browser
            raise

    def close(self) -> None:
        renderer, self._renderer = self._renderer, None
        if renderer is not None:
            renderer.__exit__(None, None, None)


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with pytest.MonkeyPatch.context() as patch:
        # The pages are to be held without a network namespace as well.
        confined = confinement(find_chromium().path)
        at = confined.command.index("--") + 1 if confined.network_namespace else 0
        bare = replace(confined, command=confined.command[at:], network_namespace=False)
        patch.setattr(process, "confinement", lambda _: bare)
        keeper = Keeper()
        yield keeper
        keeper.close()
        left = left_over(keeper.before, keeper.marker)
    for name in ("UIPROOF_TEST_FAMILY", MORE_VARIABLES):
        os.environ.pop(name, None)
    assert left == {}


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.close()


def test_the_corpus_lists_every_page_it_holds() -> None:
    listed = {page.file for page in PAGES}
    held = {f.relative_to(CORPUS).as_posix() for f in CORPUS.glob("*.html")}
    held |= {f.relative_to(CORPUS).as_posix() for f in CORPUS.glob("*/index.html")}
    assert listed == held
    assert len({page.name for page in PAGES}) == len(PAGES) >= 36


def test_the_trap_notices_connections_and_packets(trap: Trap) -> None:
    socket.create_connection(("127.0.0.1", trap.port)).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
        packets.sendto(b"x", ("127.0.0.1", trap.port))
    seen: list[str] = []
    deadline = time.monotonic() + 5
    while len(seen) < 2 and time.monotonic() < deadline:
        seen += trap.knocks()
        time.sleep(0.01)
    assert sorted(each[:3] for each in seen) == ["TCP", "UDP"]


@pytest.mark.parametrize("secret", ["secret.svg", "secret.png", "secret.html", "secret.css"])
def test_a_secret_inside_the_folder_would_be_seen(
    keeper: Keeper, tmp_path: Path, secret: str
) -> None:
    write_secrets(tmp_path)
    page = tmp_path / "page.html"
    page.write_text(
        f'<link rel="stylesheet" href="{secret}">'
        if secret.endswith("css")
        else f'<iframe src="{secret}" width="500" height="300"></iframe>'
    )
    png, _, error = keeper.shoot(page)
    assert png is not None, error
    assert pixels_of(png, SECRET_COLOUR) > 20_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_hostile_page_is_contained(
    page: Hostile, keeper: Keeper, trap: Trap, tmp_path: Path
) -> None:
    path = prepare(page, tmp_path, trap)
    before = snapshot(tmp_path)
    trap.knocks()

    png, flags, error = keeper.shoot(path)

    assert trap.knocks() == []
    assert snapshot(tmp_path) == before
    if page.outcome == "failed":
        assert png is None
        return
    if png is None:
        assert page.outcome == "any", error
        assert not page.mark_visible, error
        return
    assert pixels_of(png, SECRET_COLOUR) == 0
    if page.mark_visible:
        assert pixels_of(png, MARK_COLOUR) > 20_000, flags
    if page.outcome == "flagged":
        assert flags & set(page.flags), flags
    if page.same_twice:
        again, _, error = keeper.shoot(path)
        assert again == png, error
        assert trap.knocks() == []


def test_no_process_outlives_the_renderer(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, trap: Trap, tmp_path: Path
) -> None:
    keeper.close()
    nasty = {"loop-workers", "popup-many", "crash-renderer", "memory-dom", "dialog-beforeunload"}
    marker = f"UIPROOF_TEST_OUTLIVES={uuid.uuid4().hex}"
    monkeypatch.setenv(*marker.split("="))
    monkeypatch.setenv(MORE_VARIABLES, marker.split("=")[0])
    before = family()
    with wall_clock(120, "rendering and closing"), Renderer(LIMITS) as renderer:
        for page in (p for p in PAGES if p.name in nasty):
            path = prepare(page, tmp_path / page.name, trap)
            try:
                with renderer.open(PageSource.from_file(path)):
                    assert family(marker) - before
            except RenderError:
                assert page.outcome == "any"
    assert left_over(before, marker) == {}
    assert trap.knocks() == []
