"""PNG and JPEG bytes to RGB arrays and back, bounded against pictures made to exhaust memory."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
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
    """Decode a PNG, JPEG or WebP picture; transparency is laid on white.

    Without `blend` transparency is dropped, as `cv2.imread` and Pillow's `convert("RGB")` do.
    The size is read from the header first: a picture of more than `max_pixels` is refused before
    any of it is unpacked. Raises `InputError`.
    """
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            _check_size(picture.size, max_pixels)
            if picture.mode == "RGB" and picture.format == "PNG" and data.endswith(_PNG_END):
                return _decode_opaque_png(data)
            return as_rgb(picture, blend=blend)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise unreadable(error) from error


def decode_gray(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Gray:
    """Decode a picture to the values that `cv2.imread(path, cv2.IMREAD_GRAYSCALE)` has.

    These are not the luma of the decoded colours: OpenCV leaves the conversion to the library of
    the format. For a PNG file with an `sRGB` or `gAMA` chunk, libpng converts in linear light (up
    to 61 levels away); without one it truncates instead of rounding. Transparency is dropped.
    Raises `InputError`.
    """
    _check_size(size(BytesIO(data)), max_pixels)
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    except cv2.error as error:
        raise unreadable(error) from error
    if decoded is None:
        raise unreadable(ValueError("it is damaged"))
    return np.asarray(decoded, np.uint8)


def cut_png(data: bytes, box: PixelBox) -> bytes:
    """Cut a box out of a picture file and return it as a PNG file.

    Pillow does both. It keeps the colour mode and an ICC profile and drops `sRGB` and `gAMA`
    chunks, so the gray values of the part can differ from those of the whole. What lies outside of
    the picture is black. Raises `InputError`.
    """
    out = BytesIO()
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            part = picture.crop((box.left, box.top, box.right, box.bottom))
            part.save(out, "PNG", compress_level=1)
    except MemoryError:
        raise
    except Exception as error:
        raise unreadable(error) from error
    return out.getvalue()


def size(source: Path | BytesIO) -> tuple[int, int]:
    """Return width and height from the header of a picture; raise `InputError` if it has none."""
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


def has_transparency(data: bytes) -> bool:
    """Return whether a picture file can have transparent pixels; nothing is unpacked."""
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            return bool(picture.has_transparency_data)
    except MemoryError:
        raise
    except Exception as error:
        raise unreadable(error) from error


def _check_size(found: tuple[int, int], max_pixels: int) -> None:
    width, height = found
    if width * height > max_pixels:
        raise InputError(
            f"The picture has {width} x {height} pixels, more than {max_pixels:,}.",
            remedy="Give a smaller picture.",
        )


def unreadable(error: Exception) -> InputError:
    """Return the error for a picture that cannot be read: damaged ones raise almost anything."""
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


def as_rgb(picture: Image.Image, *, blend: bool = True) -> Rgb:
    """Return a Pillow picture as an RGB array, transparency laid on white or dropped."""
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
    """Return the pixels as a PNG file, without loss."""
    out = BytesIO()
    Image.fromarray(np.ascontiguousarray(rgb)).save(out, "PNG", compress_level=4)
    return out.getvalue()


Rows = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD = 33  # bytes of signature and header
_PLAIN_RGB = bytes([8, 2, 0, 0, 0])  # eight bits, no transparency, no interlacing
_UP = b"\2"  # the number of the PNG filter that stores differences from the row above
_STRIP = 64  # rows that are unpacked at a time
_STEP = 8  # rows that are skipped at a time where two pictures are the same
_FEED = 65_536  # packed bytes at a time


class _OtherKindError(Exception):
    """A picture that is not stored this way, or is damaged: `decode` knows what to do with it."""


def decode_screenshot(data: bytes) -> Rgb:
    """Decode a screenshot that our own browser took; the same pixels as `decode`, in less time."""
    try:
        return _decode_upwards(data)
    except _OtherKindError:
        return decode(data)


def differing_rows(first: bytes, second: bytes) -> Iterator[tuple[npt.NDArray[np.int64], Rgb, Rgb]]:
    """Return the rows in which two screenshots may differ: all that do, perhaps some others.

    Gives the numbers of some rows and their pixels in both pictures, again and again, from top to
    bottom; the pixels are overwritten afterwards. Raises `InputError` as `decode` does.
    """
    done = 0
    try:
        for numbers, a, b in _walk(first, second):
            done = int(numbers[-1]) + 1
            yield numbers, a, b
    except _OtherKindError:
        pass
    else:
        return
    a, b = decode(first), decode(second)
    for top in range(done, len(a), _STRIP):
        rows = slice(top, top + _STRIP)
        yield np.arange(top, top + len(a[rows]), dtype=np.int64), a[rows], b[rows]


def _walk(first: bytes, second: bytes) -> Iterator[tuple[npt.NDArray[np.int64], Rgb, Rgb]]:
    """Yield the same for two pictures of our kind."""
    width, height = _size(first)
    if _size(second) != (width, height):
        raise _OtherKindError
    a, b = np.empty((2, min(_STRIP, height), 3 * width), np.uint8)
    last_a = last_b = np.zeros(3 * width, np.uint8)  # one and the same where the rows are equal
    done = 0
    for strips in zip(_strips(first, width, height), _strips(second, width, height), strict=True):
        numbers: list[int] = []
        for start in range(0, len(strips[0]), _STEP):
            step_a, step_b = (strip[start : start + _STEP] for strip in strips)
            if last_a is last_b and step_a.tobytes() == step_b.tobytes():
                # These rows are not wanted, but those below need their sum.
                last_a = last_b = last_a + step_a[:, 1:].sum(axis=0, dtype=np.uint8)
                continue
            at = len(numbers)
            last_a = _add_up(last_a, step_a, a[at:])
            last_b = _add_up(last_b, step_b, b[at:])
            if last_a.tobytes() == last_b.tobytes():
                last_a = last_b = last_a.copy()  # rows of `a` are overwritten before those of `b`
            numbers.extend(range(done + start, done + start + len(step_a)))
        done += len(strips[0])
        if numbers:
            seen_a, seen_b = (rows[: len(numbers)].reshape(-1, width, 3) for rows in (a, b))
            yield np.array(numbers, np.int64), seen_a, seen_b


def _add_up(above: Rows, stored: Rows, rows: Rows) -> Rows:
    """Fill in some rows, given the one above and what is stored of them; returns the last one."""
    for difference, row in zip(stored[:, 1:], rows, strict=False):
        np.add(above, difference, row)
        above = row
    return above


def _decode_upwards(data: bytes) -> Rgb:
    width, height = _size(data)
    rows = np.empty((height, 3 * width), np.uint8)
    last = np.zeros(3 * width, np.uint8)
    top = 0
    for strip in _strips(data, width, height):
        last = _add_up(last, strip, rows[top:])
        top += len(strip)
    return rows.reshape(height, width, 3)


def screenshot_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a screenshot. Raises `InputError` if it is no picture."""
    if data[:8] == _SIGNATURE and data[12:16] == b"IHDR" and len(data) >= _HEAD:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    return size(BytesIO(data))


def _size(data: bytes) -> tuple[int, int]:
    """Return width and height, if it is of our kind."""
    width, height = screenshot_size(data)
    if data[24:29] != _PLAIN_RGB or not 0 < width * height <= MAX_PIXELS:
        raise _OtherKindError
    return width, height


def _strips(data: bytes, width: int, height: int) -> Iterator[Rows]:
    """Yield the stored rows, some at a time; each begins with the number of its filter."""
    length = 3 * width + 1
    unpacked = 0
    for piece in _unpacked(_packed(data), _STRIP * length):
        unpacked += len(piece)
        if len(piece) % length or unpacked > height * length or piece[::length].strip(_UP):
            raise _OtherKindError
        yield np.frombuffer(piece, np.uint8).reshape(-1, length)
    if unpacked < height * length:
        raise _OtherKindError


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
        raise _OtherKindError from error
    return b"".join(found)


def _unpacked(packed: bytes, most: int) -> Iterator[bytes]:
    """Yield all that is packed, `most` bytes at a time, in the end less."""
    unpacker = zlib_ng.decompressobj()
    parts: list[bytes] = []
    missing = most
    for start in range(0, len(packed), _FEED):
        fed = packed[start : start + _FEED]
        while not unpacker.eof:
            try:
                part = unpacker.decompress(fed, missing)
            except zlib_ng.error as error:  # type: ignore[misc]  # its stub is wrong
                raise _OtherKindError from error
            parts.append(part)
            missing -= len(part)
            if missing == 0:
                yield b"".join(parts)
                parts, missing = [], most
            elif not unpacker.unconsumed_tail:
                break  # it needs more
            fed = unpacker.unconsumed_tail
    if not unpacker.eof:
        raise _OtherKindError
    if rest := b"".join(parts):
        yield rest
