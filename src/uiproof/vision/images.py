"""Decode and encode pictures as RGB arrays, with a limit against decompression bombs."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from zlib_ng import zlib_ng

from uiproof.errors import InputError
from uiproof.geometry import PixelBox

Rgb: TypeAlias = npt.NDArray[np.uint8]  # height x width x 3
Gray: TypeAlias = npt.NDArray[np.uint8]  # height x width

_PNG_END = b"IEND\xaeB`\x82"
FORMATS = ("PNG", "JPEG", "WEBP")
MAX_PIXELS = 89_000_000  # just below Pillow's own limit; a page 1280 wide may be 69,000 high


def decode(data: bytes, *, max_pixels: int = MAX_PIXELS, blend: bool = True) -> Rgb:
    """Decode a PNG, JPEG or WebP picture; transparency is blended with white.

    Without `blend`, transparency is dropped, as by `cv2.imread` and Pillow's `convert("RGB")`.
    A picture of more than `max_pixels` is refused before it is unpacked. Raises `InputError`.
    """
    with _opened(BytesIO(data)) as picture:
        _check_size(picture.size, max_pixels)
        if picture.mode == "RGB" and picture.format == "PNG" and data.endswith(_PNG_END):
            # The same pixels as Pillow's in about half the time.
            return _checked(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB))
        return as_rgb(picture, blend=blend)


def decode_gray(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Gray:
    """Decode a picture to the values of `cv2.imread(path, cv2.IMREAD_GRAYSCALE)`.

    These are not the luma of the decoded colours, because OpenCV leaves the conversion to the
    format's library. For a PNG with an `sRGB` or `gAMA` chunk, libpng converts in linear light (up
    to 61 levels of difference); without one, it truncates instead of rounding. Transparency is
    dropped. Raises `InputError`.
    """
    _check_size(size(BytesIO(data)), max_pixels)
    try:
        return _checked(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE))
    except (cv2.error, ValueError) as error:
        raise unreadable(error) from error


def cut_png(data: bytes, box: PixelBox) -> bytes:
    """Crop a picture file and return the part as a PNG file.

    Pillow keeps the colour mode and an ICC profile, but drops `sRGB` and `gAMA` chunks, so gray
    values of the part can differ from those of the whole. Pixels outside of the picture are black.
    Raises `InputError`.
    """
    out = BytesIO()
    with _opened(BytesIO(data)) as picture:
        part = picture.crop((box.left, box.top, box.right, box.bottom))
        part.save(out, "PNG", compress_level=1)
    return out.getvalue()


def size(source: Path | BytesIO) -> tuple[int, int]:
    """Return width and height from the header of a picture; raise `InputError` if it has none."""
    with warnings.catch_warnings():
        # Reading the header of a large picture is harmless.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with _opened(source) as picture:
            return picture.size


def has_transparency(data: bytes) -> bool:
    """Return whether a picture file can have transparent pixels, from its header."""
    with _opened(BytesIO(data)) as picture:
        return bool(picture.has_transparency_data)


@contextmanager
def _opened(source: Path | BytesIO) -> Iterator[Image.Image]:
    """Open a picture; every failure in the block except `MemoryError` becomes an `InputError`."""
    try:
        with Image.open(source, formats=FORMATS) as picture:
            yield picture
    except (InputError, MemoryError):
        raise
    except Exception as error:  # damaged pictures raise almost anything
        raise unreadable(error) from error


def _checked(decoded: npt.NDArray[np.generic] | None) -> npt.NDArray[np.uint8]:
    if decoded is None:
        raise ValueError("it is damaged")
    return np.asarray(decoded, np.uint8)


def _check_size(found: tuple[int, int], max_pixels: int) -> None:
    width, height = found
    if width * height > max_pixels:
        raise InputError(
            f"The picture has {width} x {height} pixels, more than {max_pixels:,}.",
            remedy="Give a smaller picture.",
        )


def unreadable(error: Exception) -> InputError:
    """Return the error for a picture that cannot be decoded."""
    if isinstance(error, (Image.DecompressionBombError, Image.DecompressionBombWarning)):
        return InputError(f"The picture is too large: {error}", remedy="Give a smaller picture.")
    return InputError(
        f"The picture cannot be decoded: {error}", remedy="Give a complete PNG, JPEG or WebP file."
    )


def as_rgb(picture: Image.Image, *, blend: bool = True) -> Rgb:
    """Return a Pillow picture as an RGB array; blend transparency with white, or drop it."""
    if blend and picture.has_transparency_data:
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
    """Encode an array as a PNG file."""
    out = BytesIO()
    Image.fromarray(np.ascontiguousarray(rgb)).save(out, "PNG", compress_level=4)
    return out.getvalue()


# --- screenshots --------------------------------------------------------------------------------
# Chromium writes RGB rows as differences from the row above. Decoding only this form, with
# zlib-ng, takes a third of the time of a general decoder; other files fall back to `decode`.

Rows = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD = 33  # bytes of signature and header
_PLAIN_RGB = bytes([8, 2, 0, 0, 0])  # eight bits, no transparency, no interlacing
_UP = b"\2"  # the PNG filter that stores differences from the row above
_STRIP = 64  # rows that are unpacked at a time


class _OtherFormatError(Exception):
    """A picture that is stored differently, or damaged."""


def decode_screenshot(data: bytes) -> Rgb:
    """Decode a screenshot of our browser: the same pixels as `decode`, in less time."""
    try:
        width, height = _size(data)
        rows = np.empty((height, 3 * width), np.uint8)
        above = np.zeros(3 * width, np.uint8)
        top = 0
        for strip in _strips(data, width, height):
            above = _add_up(above, strip, rows[top:])
            top += len(strip)
    except _OtherFormatError:
        return decode(data)
    return rows.reshape(height, width, 3)


def differing_rows(first: bytes, second: bytes) -> Iterator[tuple[npt.NDArray[np.int64], Rgb, Rgb]]:
    """Yield all rows in which two screenshots differ, and perhaps others, from top to bottom.

    Each item has row numbers and the pixels of these rows in both pictures. Raises `InputError` as
    `decode` does.
    """
    done = 0
    try:
        width, height = _size(first)
        above_a = above_b = np.zeros(3 * width, np.uint8)  # the same object while rows are equal
        pairs = zip(_strips(first, width, height), _strips(second, *_size(second)), strict=True)
        for strip_a, strip_b in pairs:
            if above_a is above_b and np.array_equal(strip_a, strip_b):
                above_a = above_b = above_a + strip_a[:, 1:].sum(axis=0, dtype=np.uint8)
            else:
                a, b = np.empty((2, len(strip_a), 3 * width), np.uint8)
                above_a, above_b = _add_up(above_a, strip_a, a), _add_up(above_b, strip_b, b)
                if np.array_equal(above_a, above_b):
                    above_b = above_a
                found = np.flatnonzero((a != b).any(axis=1))
                if len(found):
                    pixels = np.stack((a[found], b[found])).reshape(2, -1, width, 3)
                    yield found + done, pixels[0], pixels[1]
            done += len(strip_a)
    except _OtherFormatError:
        pass
    else:
        return
    a, b = decode(first), decode(second)
    for top in range(done, len(a), _STRIP):
        rows = slice(top, top + _STRIP)
        yield np.arange(top, top + len(a[rows]), dtype=np.int64), a[rows], b[rows]


def screenshot_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a screenshot; raise `InputError` if it is not a picture."""
    if data[:8] == _SIGNATURE and data[12:16] == b"IHDR" and len(data) >= _HEAD:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    return size(BytesIO(data))


def _add_up(above: Rows, stored: Rows, rows: Rows) -> Rows:
    """Fill `rows` from the row above and the stored differences; return the last row."""
    for difference, row in zip(stored[:, 1:], rows, strict=False):
        np.add(above, difference, row)
        above = row
    return above


def _size(data: bytes) -> tuple[int, int]:
    width, height = screenshot_size(data)
    if data[24:29] != _PLAIN_RGB or not 0 < width * height <= MAX_PIXELS:
        raise _OtherFormatError
    return width, height


def _strips(data: bytes, width: int, height: int) -> Iterator[Rows]:
    """Yield the stored rows, `_STRIP` at a time; each row begins with the number of its filter."""
    length = 3 * width + 1
    unpacker = zlib_ng.decompressobj()
    packed = _packed(data)
    try:
        for top in range(0, height, _STRIP):
            rows = min(_STRIP, height - top)
            piece = unpacker.decompress(packed, rows * length)
            packed = unpacker.unconsumed_tail
            if len(piece) < rows * length or piece[::length].strip(_UP):
                raise _OtherFormatError
            yield np.frombuffer(piece, np.uint8).reshape(-1, length)
        if unpacker.decompress(packed, 1) or not unpacker.eof:
            raise _OtherFormatError
    except zlib_ng.error as error:  # type: ignore[misc]  # its stub is wrong
        raise _OtherFormatError from error


def _packed(data: bytes) -> bytes:
    found = []
    place = 8
    try:
        while (name := data[place + 4 : place + 8]) != b"IEND":
            (length,) = struct.unpack_from(">I", data, place)
            if name == b"IDAT":
                found.append(data[place + 8 : place + 8 + length])
            place += 12 + length
    except struct.error as error:
        raise _OtherFormatError from error
    return b"".join(found)
