"""Screenshots small enough to travel inside a report."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

_WIDTH = 900
_TALLEST = 12_000  # WebP ends at 16383 pixels
_QUALITY = 70
_LEAST_BYTES = 4_000  # below this a screenshot shows nothing
_THREADS = 4


def digest(path: Path) -> str | None:
    """A key for the content of a file, so that equal images are stored once; None if absent."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def data_uris(paths: Mapping[str, Path], budget: int) -> Iterator[tuple[str, str]]:
    """Each image as a data URI, all of them together within `budget` characters.

    Images that cannot be read are left out. Works ahead a little, so memory stays bounded.
    """
    remaining, left = iter(paths.items()), len(paths)
    with ThreadPoolExecutor(_THREADS) as pool:
        while batch := list(islice(remaining, 4 * _THREADS)):
            # What earlier images did not use is there for later ones; base64 makes 4 of 3 bytes.
            limit = max(budget // left * 3 // 4 - 64, _LEAST_BYTES)
            encoded = pool.map(partial(_read, limit=limit), [path for _, path in batch])
            for (key, _), image in zip(batch, encoded, strict=True):
                left -= 1
                if image is not None:
                    uri = data_uri(image)
                    budget -= len(uri)
                    yield key, uri


def webp(image: Image, scale: float, limit: int) -> bytes:
    """An image as WebP, scaled by `scale` and further until it fits into `limit` bytes."""
    from PIL import Image

    while True:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2)
        out = io.BytesIO()
        image.save(out, "WEBP", quality=_QUALITY, method=2)
        if out.tell() <= limit or max(size) == 1:
            return out.getvalue()
        # Bytes grow a little slower than the area; the factor makes one more try enough mostly.
        scale = min(0.9, 0.95 * (limit / out.tell()) ** 0.5)


def data_uri(webp_bytes: bytes) -> str:
    """What `webp` made, as an address that carries its content."""
    return "data:image/webp;base64," + base64.b64encode(webp_bytes).decode("ascii")


def _read(path: Path, limit: int) -> bytes | None:
    from PIL import Image

    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    return webp(image, min(1.0, _WIDTH / image.width, _TALLEST / image.height), limit)
