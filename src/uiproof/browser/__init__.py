"""The only room that talks to Chromium."""

from uiproof.browser.page import Limits, LivePage
from uiproof.browser.renderer import Renderer
from uiproof.browser.source import PageSource

__all__ = ["Limits", "LivePage", "PageSource", "Renderer"]
