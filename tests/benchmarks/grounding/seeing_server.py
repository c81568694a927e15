"""What a model server that can see does: it looks for the red square in the picture that it got."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw

from uiproof.benchmarks.grounding.pictures import Picture

SQUARE = 12  # pixels


def screenshot(size, target):
    """A grey picture with a red square whose middle is at `target`, in pixels."""
    picture = Image.new("RGB", size, (90, 90, 90))
    x, y = target
    corners = (x - SQUARE // 2, y - SQUARE // 2, x + SQUARE // 2 - 1, y + SQUARE // 2 - 1)
    ImageDraw.Draw(picture).rectangle(corners, (255, 0, 0))
    content = io.BytesIO()
    picture.save(content, "PNG")
    return Picture.of(content.getvalue())


def seen(content):
    """Where the red square is, as fractions, or None; and the size of the picture."""
    with Image.open(io.BytesIO(content)) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    height, width = pixels.shape[:2]
    down, across = np.nonzero((pixels[..., 0] > 170) & (pixels[..., 1] < 70))
    if not len(across):
        return None, (width, height)
    return ((across.mean() + 0.5) / width, (down.mean() + 0.5) / height), (width, height)


def pixel_error(guess, picture, target):
    """How far a guess is from the target, in pixels of the screenshot."""
    (x, y), area = guess.click, picture.area
    return max(
        abs(area.left + x * area.width - target[0]), abs(area.top + y * area.height - target[1])
    )
