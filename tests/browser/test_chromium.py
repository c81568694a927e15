"""Which browser is used, and what is said when there is none."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from browser_tools import shot

from uiproof.browser import PageSource, Renderer
from uiproof.browser.chromium import Chromium, find_chromium
from uiproof.errors import MissingDependencyError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes shell scripts")


def make_program(path: Path, text: str = "#!/bin/sh\nexit 7\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any browser; programs can be put into its `bin`."""
    monkeypatch.delenv("UIPROOF_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.setattr("uiproof.browser.chromium.MAC_APPS", ())
    return tmp_path


def test_a_machine_without_a_browser_is_told_how_to_get_one(bare_machine: Path) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        find_chromium()
    assert "playwright install" in caught.value.remedy
    assert "UIPROOF_CHROMIUM" in caught.value.remedy
    assert caught.value.exit_code == 3


def test_browsers_are_looked_for_in_the_documented_order(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    playwright = bare_machine / "playwright"
    worst_first = [
        "bin/google-chrome",
        "bin/chromium",
        "bin/chromium-headless-shell",
        "playwright/chromium-1200/chrome-linux/chrome",
        "playwright/chromium_headless_shell-999/chrome-linux/headless_shell",
        "playwright/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell",
    ]
    for name in worst_first:
        make_program(bare_machine / name)
        assert find_chromium().path == bare_machine / name
    assert find_chromium().kind == "headless-shell"
    chosen = make_program(bare_machine / "my-browser")
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(chosen))
    assert find_chromium() == Chromium(chosen, "chromium")
    assert playwright.is_dir()


@pytest.mark.parametrize("what", ["nothing", "a folder", "not executable"])
def test_a_wrong_choice_is_an_error_and_never_silently_another_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    chosen = tmp_path / "browser"
    if what == "a folder":
        chosen.mkdir()
    elif what == "not executable":
        chosen.write_text("#!/bin/sh\n")
        chosen.chmod(0o644)
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(chosen))
    with pytest.raises(MissingDependencyError, match="UIPROOF_CHROMIUM") as caught:
        find_chromium()
    assert caught.value.remedy
    with Renderer() as renderer, pytest.raises(MissingDependencyError):
        shot(renderer, "<p>Hello")


def test_the_chosen_browser_is_the_one_that_renders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "it's used"
    real = shlex.quote(str(find_chromium().path))
    text = f'#!/bin/sh\ntouch {shlex.quote(str(note))}\nexec {real} "$@"\n'
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(make_program(tmp_path / "my browser", text)))
    with Renderer() as renderer:
        png, flags = shot(renderer, "<p>Hello")
    assert note.exists()
    assert png.startswith(b"\x89PNG")
    assert flags == set()


def test_a_browser_that_does_not_start_is_named_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_program(
        tmp_path / "broken", "#!/bin/sh\necho libnss3.so is missing >&2\nexit 127\n"
    )
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(broken))
    with Renderer() as renderer, pytest.raises(MissingDependencyError) as caught:
        shot(renderer, "<p>Hello")
    assert str(broken) in caught.value.message
    assert "libnss3.so is missing" in caught.value.message
    assert "UIPROOF_CHROMIUM" in caught.value.remedy


def test_two_renderers_in_one_thread_show_pages_and_act_on_them() -> None:
    page = PageSource.from_html("<p>Hello")
    with Renderer() as first, Renderer() as second:
        assert shot(first, "<p>Hello") == shot(second, "<p>Hello")
        with first.stage(page) as one, second.stage(page) as other:
            assert one.screenshot() == other.screenshot()


def test_the_version_is_what_the_browser_says_of_itself() -> None:
    assert any(character.isdigit() for character in find_chromium().version)
