"""Prompts: text files with places in which pictures and texts go."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from uiproof.models.types import Image

Parts: TypeAlias = tuple[str | Image, ...]

_FOLDER = Path(__file__).parent / "prompts"  # one file per prompt; what they share is in `parts`
_PLACE = re.compile(r"\{([a-z_]+)\}")


def fill(template: str, **fillings: str | int | Image | Parts) -> Parts:
    """A text file with pictures and texts in its places, as the parts of a message.

    What is filled in is never looked at again, so a page may hold braces and places of its own.
    """
    parts: list[str | Image] = []
    for number, piece in enumerate(_PLACE.split(_text(template))):
        filling = fillings[piece] if number % 2 else piece
        if isinstance(filling, tuple):
            parts += filling
        else:
            parts.append(filling if isinstance(filling, Image) else str(filling))
    return joined(parts)


def joined(parts: Sequence[str | Image]) -> Parts:
    """Texts that follow each other made one, without blank ends; empty ones left out."""
    found: list[str | Image] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    said = (part.strip() if isinstance(part, str) else part for part in found)
    return tuple(part for part in said if part)


def digest(prompt: str) -> str:
    """Changes with the words of a prompt, and of the parts that all prompts share."""
    shared = sorted(f"parts/{path.stem}" for path in (_FOLDER / "parts").glob("*.txt"))
    words = "\0".join(map(_text, (prompt, *shared)))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


@cache
def _text(template: str) -> str:
    return (_FOLDER / f"{template}.txt").read_text(encoding="utf-8").strip()
