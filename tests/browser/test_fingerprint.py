"""The fingerprint says what decides how pages look here, and changes only with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from uiproof.browser import fingerprint as module
from uiproof.browser.chromium import find_chromium
from uiproof.browser.fingerprint import fingerprint


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    fingerprint.cache_clear()
    yield
    fingerprint.cache_clear()


def with_fonts(folder: Path, monkeypatch: pytest.MonkeyPatch, *fonts: str) -> dict[str, Any]:
    """The fingerprint of a machine whose fontconfig knows these fonts."""
    folder.mkdir(exist_ok=True)
    program = folder / "fc-list"
    lines = "\n".join(f"echo '{font}'" for font in fonts)
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        fingerprint.cache_clear()
        return fingerprint()


def test_the_fingerprint_is_plain_json_and_names_the_browser() -> None:
    found = fingerprint()
    assert json.loads(json.dumps(found)) == found
    assert found["browser"] == find_chromium().version
    assert found["browser_kind"] == find_chromium().kind
    assert found["viewport"] == [1280, 720]


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "import json; from uiproof.browser.fingerprint import fingerprint; "
        "print(json.dumps(fingerprint()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(told.stdout) == fingerprint()


@pytest.mark.skipif(sys.platform == "win32", reason="makes a shell script")
def test_fonts_change_the_fingerprint_and_their_order_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = with_fonts(tmp_path, monkeypatch, "Alpha:Regular", "Beta:Bold")
    turned = with_fonts(tmp_path, monkeypatch, "Beta:Bold", "Alpha:Regular", "Alpha:Regular")
    more = with_fonts(tmp_path, monkeypatch, "Alpha:Regular", "Beta:Bold", "Gamma:Regular")
    assert one == turned
    assert one["fonts"] == 2
    assert {key for key in one if one[key] != more[key]} == {"fonts", "fonts_digest"}


def test_switches_change_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    monkeypatch.setattr(module, "SWITCHES", (*module.SWITCHES, "--another"))
    fingerprint.cache_clear()
    after = fingerprint()
    assert {key for key in before if before[key] != after[key]} == {"switches"}


@pytest.mark.skipif(sys.platform == "win32", reason="clears PATH")
def test_a_machine_without_fontconfig_has_a_fingerprint_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(find_chromium().path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.installed_fonts() == []
