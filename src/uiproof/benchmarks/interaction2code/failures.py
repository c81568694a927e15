"""The ten ways in which the paper says that a generated interaction fails."""

from __future__ import annotations

from collections.abc import Mapping

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

# What most of the published human labels say of interactions with such a failure.
UNUSABLE = frozenset("abghj")
