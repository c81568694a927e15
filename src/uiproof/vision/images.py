"""PNG and JPEG bytes to RGB arrays and back, bounded against pictures made to exhaust memory."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from uiproof.errors import InputError

Rgb: TypeAlias = npt.NDArray[np.uint8]  # height x width x 3

_PNG_END = b"IEND\xaeB`\x82"
FORMATS = ("PNG", "JPEG", "WEBP")
MAX_PIXELS = 89_000_000  # just below Pillow's own limit; a page 1280 wide may be 69,000 high


def decode(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Rgb:
    """Decode a PNG, JPEG or WebP picture; transparency is laid on white.

    The size is read from the header first: a picture of more than `max_pixels` is refused before
    any of it is unpacked. Raises `InputError`.
    """
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > max_pixels:
                raise InputError(  # noqa: TRY301
                    f"The picture has {width} x {height} pixels, more than {max_pixels:,}.",
                    remedy="Give a smaller picture.",
                )
            if picture.mode == "RGB" and picture.format == "PNG" and data.endswith(_PNG_END):
                return _decode_opaque_png(data)
            return as_rgb(picture)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise unreadable(error) from error


def size(source: Path | BytesIO) -> tuple[int, int]:
    """Width and height from the head of a picture; nothing is unpacked. Raises `InputError`."""
    try:
        with warnings.catch_warnings():
            # Looking at the head of a large picture is no danger; `decode` decides about the rest.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(source, formats=FORMATS) as picture:
                return picture.size
    except MemoryError:
        raise
    except Exception as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> InputError:
    """What to say of a picture that could not be read: damaged ones raise almost anything."""
    if isinstance(error, (Image.DecompressionBombError, Image.DecompressionBombWarning)):
        return InputError(f"The picture is too large: {error}", remedy="Give a smaller picture.")
    return InputError(
        f"The picture cannot be decoded: {error}", remedy="Give a whole PNG, JPEG or WebP file."
    )


def _decode_opaque_png(data: bytes) -> Rgb:
    # The same pixels as Pillow's, in about half the time; screenshots are the bulk of our pictures.
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    if decoded is None:
        raise ValueError("it is damaged")
    return np.asarray(decoded, np.uint8)


def as_rgb(picture: Image.Image) -> Rgb:
    """The pixels of a Pillow picture as an RGB array, transparency laid on white."""
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.new("RGBA", layer.size, "white")
        picture.alpha_composite(layer)
    return np.array(picture.convert("RGB"), dtype=np.uint8)


def read(path: Path, *, max_pixels: int = MAX_PIXELS) -> Rgb:
    """Decode a picture file; see `decode`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return decode(data, max_pixels=max_pixels)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", remedy=error.remedy) from error


def encode_png(rgb: Rgb) -> bytes:
    """The pixels as a PNG file, without loss."""
    out = BytesIO()
    Image.fromarray(np.ascontiguousarray(rgb)).save(out, "PNG", compress_level=4)
    return out.getvalue()
