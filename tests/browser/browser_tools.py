"""Helpers for pictures of pages."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from uiproof.browser import PageSource, Renderer

GREEN = (0, 128, 0)
RED = (255, 0, 0)
BLUE = (0, 0, 255)
WHITE = (255, 255, 255)


def pixels(png: bytes) -> npt.NDArray[np.uint8]:
    """Return a PNG as an array of rows of RGB pixels."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def colour_at(png: bytes, x: int, y: int) -> tuple[int, ...]:
    """Return the colour of one pixel."""
    return tuple(int(channel) for channel in pixels(png)[y, x])


def shot(renderer: Renderer, source: PageSource | str | Path) -> tuple[bytes, set[str]]:
    """Return the picture and the flags of a page."""
    if isinstance(source, str):
        source = PageSource.from_html(source)
    elif isinstance(source, Path):
        source = PageSource.from_file(source)
    with renderer.open(source) as page:
        png = page.screenshot()
        return png, set(page.flags)


def save_square(path: Path, colour: tuple[int, int, int] = GREEN) -> None:
    """Write a small picture of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), colour).save(path)
