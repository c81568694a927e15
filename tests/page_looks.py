"""What every page of a server must be: reachable for everybody, and as wide as its window."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

WIDTHS = (390, 1280, 1920)


def barriers(page) -> list[tuple[str, str]]:
    """What axe-core finds on a page."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


def overflows(page) -> list[int]:
    """The widths at which a page has to be scrolled sideways."""
    wide = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        if page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        ):
            wide.append(width)
    return wide
