"""The ten failures of generated interactions that the paper names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Failure(StrEnum):
    """The ways in which a generated interaction fails, by the paper's letters."""

    NONE = "none"
    MISSING = "a"
    NO_INTERACTION = "b"
    WRONG_ELEMENT = "c"
    WRONG_TYPE = "d"
    WRONG_POSITION = "e"
    EFFECT_POSITION = "f"
    EFFECT_TYPE = "g"
    EFFECT_TARGET = "h"
    PARTIAL = "i"
    WRONG_FUNCTION = "j"

    @property
    def usable(self) -> bool:
        """Return what most of the published human labels say of interactions that fail so."""
        return self.value not in UNUSABLE


NONE = "none"

FAILURES: Mapping[str, str] = {
    "a": "interactive element missing",
    "b": "no interaction",
    "c": "wrong interactive element",
    "d": "wrong type of element",
    "e": "wrong position of element",
    "f": "wrong position after interaction",
    "g": "wrong type of effect",
    "h": "effect on wrong element",
    "i": "partial implementation",
    "j": "wrong function",
}

UNUSABLE = frozenset("abghj")

# The object of a failure, and its impact on content, function and user experience (Table 7 of the
# paper). The paper's symbols are not in its text, so these are ours: function follows the
# usability that its Table 7 prints (full below 10 %, partial below 80 %), the others the
# definitions of the types.
FULL, PARTIAL, NO = "full", "partial", "-"
OBJECTS: Mapping[str, str] = {
    **dict.fromkeys("abcde", "interactive element"),
    **dict.fromkeys("fghij", "interaction effects"),
}
IMPACTS: Mapping[str, tuple[str, str, str]] = {
    "a": (FULL, FULL, FULL),
    "b": (FULL, FULL, FULL),
    "c": (NO, NO, PARTIAL),
    "d": (PARTIAL, NO, PARTIAL),
    "e": (NO, NO, PARTIAL),
    "f": (NO, NO, PARTIAL),
    "g": (PARTIAL, PARTIAL, PARTIAL),
    "h": (PARTIAL, FULL, FULL),
    "i": (PARTIAL, PARTIAL, PARTIAL),
    "j": (FULL, FULL, FULL),
}
