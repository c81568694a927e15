"""PNG files whose bytes are the same on every machine.

Compression libraries differ between systems, and so do the files they make. This small encoder
writes run lengths of the difference to the row above, in the fixed code of the deflate format:
all that flat drawings need.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_LONGEST_MATCH = 258
_SHORTEST_MATCH = 3
_MATCH = 256  # tokens from here on repeat the last byte `token - 256` times
_END_OF_BLOCK = _MATCH  # a match of length 0 does not exist

Indices = npt.NDArray[np.uint8]


def encode(indices: Indices, palette: list[tuple[int, int, int]]) -> bytes:
    """A picture of palette indices, rows by columns, as a PNG file."""
    height, width = indices.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours = bytes(part for colour in palette for part in colour)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", colours),
            _chunk(b"IDAT", _compressed(_filtered(indices))),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def _filtered(indices: Indices) -> Indices:
    """Every row as its difference to the one above, after the byte that says so."""
    height, width = indices.shape
    rows = np.empty((height, width + 1), np.uint8)
    rows[:, 0] = 2
    rows[0, 1:] = indices[0]
    np.subtract(indices[1:], indices[:-1], out=rows[1:, 1:])
    return rows.reshape(-1)


def _compressed(data: Indices) -> bytes:
    codes, lengths = _fixed_code()
    tokens = np.append(_tokens(data), _END_OF_BLOCK)
    bits = _bits(codes[tokens], lengths[tokens], offset=3)
    bits[:3] = 1, 1, 0  # the last block, in the fixed code
    stream = np.packbits(bits, bitorder="little").tobytes()
    return b"\x78\x01" + stream + struct.pack(">I", zlib.adler32(data.tobytes()))


def _tokens(data: Indices) -> npt.NDArray[np.int64]:
    """Each run as its first byte and repeats of it; what is too short to repeat is spelt out."""
    starts = np.concatenate(([0], np.flatnonzero(data[1:] != data[:-1]) + 1))
    values = data[starts].astype(np.int64)
    rest = np.diff(starts, append=data.size) - 1
    full, last = np.divmod(rest, _LONGEST_MATCH)
    spelt = np.where(last < _SHORTEST_MATCH, last, 0)
    short_match = last >= _SHORTEST_MATCH
    # Per run: the byte, full matches, one shorter match or up to two more bytes.
    counts = np.stack((1 + spelt, full, short_match.astype(np.int64)), axis=1)
    kinds = np.stack((values, np.full_like(values, _MATCH + _LONGEST_MATCH), _MATCH + last), axis=1)
    return np.repeat(kinds.reshape(-1), counts.reshape(-1))


def _bits(codes: npt.NDArray[Any], lengths: npt.NDArray[Any], offset: int) -> Indices:
    """The codes one after the other, lowest bit first, from bit `offset` on."""
    ends = np.cumsum(lengths) + offset
    bits = np.zeros(int(ends[-1]), np.uint8)
    place = np.arange(offset, ends[-1]) - np.repeat(ends - lengths, lengths)
    bits[offset:] = np.repeat(codes, lengths) >> place & 1
    return bits


@cache
def _fixed_code() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The bits of every token and their number, as section 3.2.6 of RFC 1951 fixes them."""
    size = _MATCH + _LONGEST_MATCH + 1
    codes, lengths = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for byte in range(256):
        codes[byte], lengths[byte] = _symbol(byte)
    codes[_END_OF_BLOCK], lengths[_END_OF_BLOCK] = _symbol(256)
    for match in range(_SHORTEST_MATCH, _LONGEST_MATCH + 1):
        symbol, extra_bits, extra = _length_symbol(match)
        code, length = _symbol(symbol)
        codes[_MATCH + match] = code | extra << length
        # The distance follows: always one byte back, five bits of zero.
        lengths[_MATCH + match] = length + extra_bits + 5
    return codes, lengths


def _symbol(symbol: int) -> tuple[int, int]:
    if symbol < 144:
        code, length = 0x30 + symbol, 8
    elif symbol < 256:
        code, length = 0x190 + symbol - 144, 9
    elif symbol < 280:
        code, length = symbol - 256, 7
    else:
        code, length = 0xC0 + symbol - 280, 8
    return int(f"{code:0{length}b}"[::-1], 2), length  # Huffman codes start with their highest bit


def _length_symbol(match: int) -> tuple[int, int, int]:
    """The symbol of a match, how many extra bits it has, and their value."""
    if match == _LONGEST_MATCH:
        return 285, 0, 0
    if match < 11:
        return 254 + match, 0, 0
    extra_bits = (match - 3).bit_length() - 3
    step = (match - 3) >> extra_bits
    return 257 + 4 * extra_bits + step, extra_bits, (match - 3) & ((1 << extra_bits) - 1)
