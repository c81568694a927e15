"""Characters of a page for which neither this machine nor the page has a font.

They are drawn as boxes that all look the same, so pictures of different texts look the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

MISSING_GLYPHS = "missing_glyphs"

_FIRST = "\u0250"  # every font with Latin letters has what comes before
_MOST = 500  # characters that are asked for on one page
_NOT_DRAWN = frozenset("ZC")  # categories: blanks, controls, private and unassigned characters
_MARKS = frozenset({"Mn", "Me"})  # drawn on the character before them, or not at all
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_known: set[str] = set()  # characters that a font of this machine has
PACKAGES = {  # of Debian, with what they have glyphs for
    "fonts-noto-cjk": "Chinese, Japanese, Korean",
    "fonts-noto-color-emoji": "emoji",
    "fonts-noto-core": "other scripts",
}


def missing_glyphs(run_script: Callable[[str, Any], Any], texts: Iterable[str]) -> str:
    """Return the characters of texts on a page that are drawn as boxes, in their order.

    `run_script` is that of the page.
    """
    found = (one for text in texts for one in text if one >= _FIRST and one not in _known)
    asked = [one for one in dict.fromkeys(found) if _is_drawn(one)][:_MOST]
    if not asked:
        return ""
    answer = run_script("glyphs", "".join(asked))
    _known.update(set(asked).difference(answer["machine"]))
    missing = set(answer["page"])
    return "".join(one for one in asked if one in missing)


def _is_drawn(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] not in _NOT_DRAWN and category not in _MARKS and character not in _BLANK
