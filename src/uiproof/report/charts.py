"""Charts of a page: drawn together, once, when the first of them is wanted."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

_LONGEST = 60


def drawable(name: str) -> str:
    """A name from a run as a chart can show it: no formulas, nothing that has no shape."""
    shown = "".join(character if character.isprintable() else "?" for character in name)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    return shown.replace("$", r"\$")


class Charts:
    """What a function draws into a folder as PNG; called at most once, by any thread."""

    def __init__(self, draw: Callable[[Path], object]) -> None:
        self._draw = draw
        self._drawn: dict[str, bytes] | None = None
        self._lock = Lock()

    def png(self, name: str) -> bytes | None:
        """One of them; None where there was nothing to draw."""
        with self._lock:
            if self._drawn is None:
                self._drawn = self._all()
        return self._drawn.get(name)

    def _all(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a box is drawn in its place
            # Texts of a data set may be such that they cannot be drawn. The tables have them all,
            # and the charts that were drawn before are there.
            with suppress(TypeError, ValueError):
                self._draw(Path(folder))
            return {file.stem: file.read_bytes() for file in Path(folder).glob("*.png")}
