"""The only room that talks to Chromium."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.browser.page import Limits, LivePage
    from uiproof.browser.renderer import Renderer
    from uiproof.browser.source import PageSource
    from uiproof.browser.stage import Stage

__all__ = ["Limits", "LivePage", "PageSource", "Renderer", "Stage"]

# Loaded on first use: most of what only names a page needs no browser.
_HOME = {
    "Limits": "page",
    "LivePage": "page",
    "PageSource": "source",
    "Renderer": "renderer",
    "Stage": "stage",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uiproof.browser' has no attribute {name!r}")
    return getattr(import_module(f"uiproof.browser.{_HOME[name]}"), name)
