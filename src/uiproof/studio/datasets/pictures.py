"""Pictures of data sets for the browser: only pictures, and only from where the data set is."""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.engine.storage import access
from uiproof.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

    from uiproof.vision.images import Rgb

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
THUMBNAIL = (400, 250)  # pixels; twice what is shown, for sharp screens
_MOST_PIXELS = 40_000_000  # what a browser is asked to show as it is
_LONGEST_SIDE = 30_000
_QUALITY = 80


def kept_inside(picture: Path, *folders: Path) -> Path:
    """Return the picture itself; `InputError` where it is in none of these folders, or hidden."""
    with access(picture, "read"):
        real = picture.resolve(strict=True)
        homes = [one.resolve() for one in folders]
        within = [real.relative_to(home) for home in homes if real.is_relative_to(home)]
    if not real.is_file() or not any(not _is_hidden(path) for path in within):
        raise InputError(f"{picture.name} is not in the folder of its data set.")
    return real


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def media_type(picture: Path) -> str:
    """The kind of a picture by its first bytes; raises `InputError` for anything else."""
    with access(picture, "read"), picture.open("rb") as file:
        head = file.read(12)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith(b"RIFF") and head[8:] == b"WEBP":
        return "image/webp"
    raise InputError(f"{picture.name} is not a PNG, JPEG or WebP picture.")


def version(picture: Path) -> str:
    """Another text whenever the file changes."""
    with access(picture, "read"):
        state = picture.stat()
    identity = f"{picture}\0{state.st_mtime_ns}\0{state.st_size}"
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:20]


def is_huge(size: tuple[int, int]) -> bool:
    """Whether a browser gets a picture of this size scaled down."""
    return size[0] * size[1] > _MOST_PIXELS or max(size) > _LONGEST_SIDE


def scaled_down(picture: Path) -> bytes:
    """A huge picture as a JPEG that a browser can show."""
    from PIL.Image import fromarray

    rgb = _read(picture)
    height, width = rgb.shape[:2]
    share = min(1.0, (_MOST_PIXELS / (width * height)) ** 0.5, _LONGEST_SIDE / max(width, height))
    small = fromarray(rgb).resize((max(int(width * share), 1), max(int(height * share), 1)))
    return _jpeg(small)


def thumbnail(picture: Path) -> bytes:
    """The upper part of a picture as a small JPEG."""
    from PIL.Image import fromarray

    rgb = _read(picture)
    wide, high = THUMBNAIL
    upper = rgb[: max(rgb.shape[1] * high // wide, 1)]
    image = fromarray(upper)
    image.thumbnail((wide, high), reducing_gap=2.0)
    return _jpeg(image)


def _read(picture: Path) -> Rgb:
    from uiproof.vision.images import read

    return read(picture)


def _jpeg(image: Image) -> bytes:
    out = BytesIO()
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
