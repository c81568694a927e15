"""Elements that a page's style sheets have `:hover` rules for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.browser.stage import Stage

_MOST_SELECTORS = 40
_LONGEST = 200
_HOVER = re.compile(r"([^{};@/]*?):hover(?![\w-])([^{};]*)\{([^}]*)\}")
# Rules that only do these to the element itself show nothing worth a try.
_SLIGHT = re.compile(
    r"^\s*(?:text-decoration[\w-]*|cursor|outline[\w-]*|transition[\w-]*|border-color|color"
    r"|text-underline-offset)\s*:"
)


def hover_selectors(styles: str) -> list[str]:
    """The selectors of what must be hovered over for some rule to apply, the first ones first."""
    found: dict[str, None] = {}
    styles = re.sub(r"/\*.*?\*/", " ", styles, flags=re.DOTALL)
    for before, behind, rules in _HOVER.findall(styles):
        selector = before.split(",")[-1].strip()
        if not selector or len(selector) > _LONGEST or ":" in selector.replace(":not(", ""):
            continue
        is_alone = not re.match(r"[^,]*[\s>+~]", behind.strip())
        if is_alone and all(_SLIGHT.match(rule) for rule in rules.split(";") if rule.strip()):
            continue
        found.setdefault(selector)
    return list(found)[:_MOST_SELECTORS]


def hovered_elements(stage: Stage, styles: str) -> list[int]:
    """The numbers of visible elements that a `:hover` rule is about, one for each selector."""
    from uiproof.browser.devtools import BrowserError
    from uiproof.errors import RenderError

    refs = []
    for selector in hover_selectors(styles):
        try:
            element = stage.find(selector)
        except (RenderError, BrowserError):
            continue  # it was no selector after all
        if element is not None and element.box.width * element.box.height > 0:
            refs.append(element.ref)
    return refs
