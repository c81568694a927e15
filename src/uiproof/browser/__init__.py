"""Render, measure and act on pages with Chromium, over the DevTools protocol."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.browser.chromium import fingerprint
    from uiproof.browser.page import Limits, LivePage
    from uiproof.browser.renderer import Renderer
    from uiproof.browser.source import PageSource
    from uiproof.browser.stage import Stage

__all__ = ["Limits", "LivePage", "PageSource", "Renderer", "Stage", "fingerprint"]

# Imported on first use: code that only refers to pages needs no browser.
_MODULES = {
    "Limits": "page",
    "LivePage": "page",
    "PageSource": "source",
    "Renderer": "renderer",
    "Stage": "stage",
    "fingerprint": "chromium",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'uiproof.browser' has no attribute {name!r}")
    return getattr(import_module(f"uiproof.browser.{_MODULES[name]}"), name)
