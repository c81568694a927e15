"""Screenshots as Chromium writes them when it is to be quick: the same pixels, in less time.

Such a PNG is plain RGB, and each row is stored as its difference from the row above. To add up
whole rows takes a quarter of the time of what general decoders do after unpacking. Everything is
done in strips that stay in the processor's cache: memory that is new costs more than unpacking.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import numpy.typing as npt
from zlib_ng import zlib_ng

from uiproof.vision.images import MAX_PIXELS, Rgb, decode, size

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
    """All rows in which two screenshots of one size differ, and perhaps some in which they do not.

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
    """The same for two pictures of our kind."""
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
                # Nobody wants to see these rows; those below need their sum.
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
    """Width and height of a screenshot. Raises `InputError` if it is no picture."""
    if data[:8] == _SIGNATURE and data[12:16] == b"IHDR" and len(data) >= _HEAD:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    return size(BytesIO(data))


def _size(data: bytes) -> tuple[int, int]:
    """Width and height, if it is of our kind."""
    width, height = screenshot_size(data)
    if data[24:29] != _PLAIN_RGB or not 0 < width * height <= MAX_PIXELS:
        raise _OtherKindError
    return width, height


def _strips(data: bytes, width: int, height: int) -> Iterator[Rows]:
    """What is stored of the rows, some at a time; each row begins with the number of its filter."""
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
    """All that is packed, `most` bytes at a time, in the end less."""
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
