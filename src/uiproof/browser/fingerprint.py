"""What on this machine decides how pages look: recorded in every run, compared on resume."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from functools import cache
from importlib.metadata import version
from typing import Any

from uiproof.browser.chromium import SWITCHES, UNATTENDED, find_chromium, network_namespace
from uiproof.browser.page import Limits, script

_SCRIPTS = (
    *("steady", "settle", "freeze", "page_size", "recolor", "inventory"),
    *("hooks", "observe", "advance", "still", "snapshot", "reach", "field"),
)


@cache
def fingerprint() -> dict[str, Any]:
    """The browser, its settings, the fonts, and the scripts that measure pages."""
    chromium = find_chromium()
    fonts = installed_fonts()
    return {
        "browser": chromium.version,
        "browser_kind": chromium.kind,
        "switches": _digest("\n".join((*UNATTENDED, *SWITCHES))),
        "fonts": len(fonts),
        "fonts_digest": _digest("\n".join(fonts)),
        "scripts": _digest("\n".join(map(script, _SCRIPTS))),
        "viewport": list(Limits().viewport),
        "playwright": version("playwright"),
        "isolation": "network namespace" if network_namespace() else "switches",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def installed_fonts() -> list[str]:
    """The fonts that fontconfig knows, as `family:style`; empty where there is no fontconfig."""
    command = shutil.which("fc-list")
    if command is None:
        return []
    listed = subprocess.run(
        [command, "--format", "%{family}:%{style}\n"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return sorted(set(listed.stdout.split("\n")) - {""})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
