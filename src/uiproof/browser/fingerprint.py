"""What on this machine decides how pages look: recorded in every run, compared on resume."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from uiproof.browser.chromium import SWITCHES, UNATTENDED, Confinement, confinement, find_chromium
from uiproof.browser.page import Limits, script

_SCRIPTS = (
    *("steady", "clock", "freeze", "page_size", "recolor", "inventory", "glyphs"),
    *("observe", "still", "snapshot", "reach", "field"),
)


@cache
def fingerprint() -> dict[str, Any]:
    """The browser, its settings, the fonts, and the scripts that measure pages."""
    chromium = find_chromium()
    confined = confinement(chromium.path)
    fonts = installed_fonts(confined)
    return {
        "browser": chromium.version,
        "browser_kind": chromium.kind,
        "switches": _digest("\n".join((*UNATTENDED, *SWITCHES))),
        "fonts": len(fonts),
        "fonts_digest": _digest("\n".join(fonts)),
        "scripts": _digest("\n".join(map(script, _SCRIPTS))),
        "viewport": list(Limits().viewport),
        "isolation": "network namespace" if confined.network_namespace else "switches",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def installed_fonts(confined: Confinement | None = None) -> list[str]:
    """List the fonts that fontconfig knows, as `family:style`; none where there is no fontconfig.

    `confined` lists them as a browser sees them that is confined so.
    """
    command = shutil.which("fc-list")
    if command is None:
        return []
    confined = confined or Confinement()
    listed = subprocess.run(
        [command, "--format", "%{family}:%{style}\n"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=confined.environment(Path("/nonexistent")),
    )
    return sorted(set(listed.stdout.split("\n")) - {""})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
