"""Plain stand-ins for pictures and films: same size, no content."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp"})
FILMS = frozenset({".mp4", ".webm", ".ogv", ".mov", ".m4v", ".mp3", ".ogg", ".wav"})
NAME = "placeholder.png"  # stands in for pictures that cannot be had

_SIZE = (320, 200)
_GROUND, _LINE = (214, 218, 224), (176, 182, 192)
_MOST_PIXELS = 40_000_000
# Pictures written into the page; those of fewer characters are signs and not photos.
_WRITTEN = re.compile(
    r"""(<(?:img|source|input)\b[^>]*?\ssrc\s*=\s*["'])(data:image/(?!svg)[^"']{3000,})""",
    re.IGNORECASE,
)


def placeholder(width: int, height: int) -> bytes:
    """A grey PNG of this size with its two diagonals, as designers draw a picture to come."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (max(width, 1), max(height, 1)), _GROUND)
    if width >= 24 and height >= 24:
        pen = ImageDraw.Draw(picture)
        pen.line((0, 0, width - 1, height - 1), fill=_LINE)
        pen.line((0, height - 1, width - 1, 0), fill=_LINE)
        pen.rectangle((0, 0, width - 1, height - 1), outline=_LINE)
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def stand_in(path: Path) -> bytes:
    """The placeholder for a picture file, as large as the picture is.

    Browsers look at what a file holds and not at its name, so that a PNG may be called `.jpg`.
    """
    from PIL import Image

    try:
        with Image.open(path) as picture:
            width, height = picture.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        width, height = _SIZE
    if width * height > _MOST_PIXELS:
        width, height = _SIZE
    return placeholder(width, height)


def default_placeholder() -> bytes:
    """The placeholder for a picture of which nothing is known."""
    return placeholder(*_SIZE)


def without_written_pictures(html: str) -> str:
    """The page with a placeholder for every photo that is written into it."""
    return _WRITTEN.sub(rf"\g<1>{NAME}", html)
