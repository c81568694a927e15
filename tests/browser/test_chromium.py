"""Which browser is used, the error without one, and the fingerprint."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_tools import shot

from uiproof.browser import PageSource, Renderer
from uiproof.browser import chromium as module
from uiproof.browser.chromium import Chromium, find_chromium, fingerprint
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


def test_the_error_without_a_browser_names_ways_to_get_one(bare_machine: Path) -> None:
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


@pytest.fixture
def uncached() -> Iterator[None]:
    fingerprint.cache_clear()
    yield
    fingerprint.cache_clear()


def with_fonts(folder: Path, monkeypatch: pytest.MonkeyPatch, *fonts: str) -> dict[str, Any]:
    """Return the fingerprint of a machine whose fontconfig knows these fonts."""
    folder.mkdir(exist_ok=True)
    program = folder / "fc-list"
    lines = "\n".join(f"echo '{font}'" for font in fonts)
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        fingerprint.cache_clear()
        return fingerprint()


def test_the_fingerprint_is_plain_json_and_names_the_browser(uncached: None) -> None:
    found = fingerprint()
    assert json.loads(json.dumps(found)) == found
    assert found["browser"] == find_chromium().version
    assert found["browser_kind"] == find_chromium().kind
    assert found["viewport"] == [1280, 720]


def test_the_fingerprint_is_the_same_in_another_process(uncached: None) -> None:
    code = (
        "import json; from uiproof.browser.chromium import fingerprint; "
        "print(json.dumps(fingerprint()))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(printed.stdout) == fingerprint()


def test_fonts_change_the_fingerprint_and_their_order_does_not(
    uncached: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = with_fonts(tmp_path, monkeypatch, "Alpha:Regular", "Beta:Bold")
    turned = with_fonts(tmp_path, monkeypatch, "Beta:Bold", "Alpha:Regular", "Alpha:Regular")
    more = with_fonts(tmp_path, monkeypatch, "Alpha:Regular", "Beta:Bold", "Gamma:Regular")
    assert one == turned
    assert one["fonts"] == 2
    assert {key for key in one if one[key] != more[key]} == {"fonts", "fonts_digest"}


def test_switches_change_the_fingerprint(uncached: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    monkeypatch.setattr(module, "SWITCHES", (*module.SWITCHES, "--another"))
    fingerprint.cache_clear()
    after = fingerprint()
    assert {key for key in before if before[key] != after[key]} == {"switches"}


def test_a_machine_without_fontconfig_has_a_fingerprint_too(
    uncached: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(find_chromium().path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.installed_fonts() == []
