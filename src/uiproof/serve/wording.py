"""What clients are told about errors: enough to act on, nothing about the machine."""

from __future__ import annotations

import logging
import re

from uiproof.serve.schema import Problem

# From the root, and at least two names deep; not the rest of an address or the end of a tag.
_PATH = re.compile(r"(?<![\w:/<.])/(?:[^\s/'\"<>:]+/)+([^\s/'\"<>:]*)")
_LONGEST = 1_000


def problem(code: str, message: str, remedy: str = "") -> Problem:
    """An error for a client. What nobody foresaw goes to the log of the service instead."""
    if code == "internal":
        logging.getLogger("uiproof.serve").error("%s", message)
        return Problem(
            code=code,
            message="The judge failed in a way that nobody foresaw.",
            remedy="The log of the service says more; please report it.",
        )
    return Problem(code=code, message=_told(message), remedy=_told(remedy))


def _told(text: str) -> str:
    """A text in which files are called by their names, not by where they are."""
    return _PATH.sub(lambda path: path[1] or "a folder", text)[:_LONGEST]
