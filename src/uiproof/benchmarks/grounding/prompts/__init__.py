"""What models are told, as text files with `{names}` where something is filled in."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")


@cache
def template(name: str) -> str:
    """The words of a prompt, without the line break at the end of its file."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")


def filled(name: str, **values: object) -> str:
    """A prompt with values in their places, which may hold braces themselves."""
    return _PLACEHOLDER.sub(
        lambda place: str(values[place[1]]) if place[1] in values else place[0], template(name)
    )


def digest(*names: str) -> str:
    """The same for the same words: a prompt with other words makes another method."""
    words = "\0".join(map(template, names))
    return hashlib.sha256(words.encode()).hexdigest()[:16]
