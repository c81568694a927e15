"""Screenshots are decoded by a fast decoder, and all other pictures by the general one."""

import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from uiproof.errors import InputError
from uiproof.vision.images import (
    decode,
    decode_screenshot,
    differing_rows,
    encode_png,
    screenshot_size,
)

UP, PLAIN = 2, 0


def as_chromium_writes(pixels, *, plain_from=None, stored=None):
    """A PNG of differences from the row above; from row `plain_from` on of the values themselves.

    `stored` changes the rows before they are packed.
    """
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    filters = np.full((height, 1), UP, np.uint8)
    differences = rows - above
    if plain_from is not None:
        filters[plain_from:], differences[plain_from:] = PLAIN, rows[plain_from:]
    data = np.hstack([filters, differences]).tobytes()
    packed = zlib.compress(data if stored is None else stored(data), 1)

    def chunk(name, content):
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    head = chunk(b"IHDR", struct.pack(">II5B", width, height, 8, 2, 0, 0, 0))
    body = b"".join(chunk(b"IDAT", packed[at : at + 4096]) for at in range(0, len(packed), 4096))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


SIZES = [
    (1, 1),
    (1, 300),
    (300, 1),
    (7, 5),
    (8, 3),
    (63, 9),
    (64, 9),
    (65, 9),
    (128, 2),
    (333, 211),
]


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_a_screenshot_of_any_size_has_its_pixels(height, width):
    pixels = noise(height, width)
    data = as_chromium_writes(pixels)
    assert (decode_screenshot(data) == pixels).all()
    assert (decode(data) == pixels).all()
    assert screenshot_size(data) == (width, height)


def test_pictures_of_every_other_kind_are_decoded_all_the_same():
    pixels = noise(70, 40)
    for mode in ("RGB", "RGBA", "L", "P", "1"):
        out = BytesIO()
        Image.fromarray(pixels).convert(mode).save(out, "PNG")
        assert (decode_screenshot(out.getvalue()) == decode(out.getvalue())).all()
    assert (decode_screenshot(as_chromium_writes(pixels, plain_from=66)) == pixels).all()
    assert (decode_screenshot(as_chromium_writes(pixels, plain_from=0)) == pixels).all()


def test_a_screenshot_that_is_cut_anywhere_is_refused_or_whole():
    pixels = noise(70, 4)
    data = as_chromium_writes(pixels)
    refused = 0
    for end in range(len(data)):
        try:
            assert (decode_screenshot(data[:end]) == pixels).all()
        except InputError:
            refused += 1
    assert refused >= len(data) - 20  # check sums and the end mark hold no pixels


def test_a_damaged_screenshot_is_refused_or_decoded_as_any_picture():
    whole = noise(9, 4)
    data = as_chromium_writes(whole)
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]
        try:
            pixels = decode_screenshot(damaged)
        except InputError:
            continue
        assert (pixels == whole).all() or (pixels == decode(damaged)).all()


@pytest.mark.parametrize(
    "stored",
    [
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"\x09" + data[1:],
    ],
    ids=["a byte less", "half", "nothing", "an unknown filter"],
)
def test_a_screenshot_without_all_of_its_rows_is_refused(stored):
    pixels = noise(100, 10)
    data = as_chromium_writes(pixels, stored=stored)
    with pytest.raises(InputError, match="cannot be decoded"):
        decode_screenshot(data)
    with pytest.raises(InputError, match="cannot be decoded"):
        list(differing_rows(as_chromium_writes(pixels), data))


def test_what_is_stored_after_the_last_row_is_not_shown():
    data = as_chromium_writes(noise(100, 10), stored=lambda data: data + bytes(31))
    assert decode_screenshot(data).shape == (100, 10, 3)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n" * 5])
def test_what_is_not_a_picture_is_refused(data):
    for function in (decode_screenshot, screenshot_size):
        with pytest.raises(InputError, match="cannot be decoded"):
            function(data)


def test_a_screenshot_that_claims_to_be_huge_is_refused():
    data = as_chromium_writes(noise(2, 2))
    head = b"IHDR" + struct.pack(">II5B", 60_000, 60_000, 8, 2, 0, 0, 0)
    huge = data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:]
    with pytest.raises(InputError, match=r"pixels|too large"):
        decode_screenshot(huge)


def page(height):
    """A page with flat and noisy stretches, and the same one with changes here and there."""
    first = np.full((height, 12, 3), 240, np.uint8)
    first[height // 3 : height // 2] = noise(height // 2 - height // 3, 12)
    second = first.copy()
    changed = np.random.default_rng(height).choice(height, -(-height // 9), replace=False)
    second[changed, 3] += 50
    second[height // 5 : height // 4, 5:] += 50
    return first, second


@pytest.mark.parametrize("height", [1, 8, 63, 64, 65, 200, 513])
@pytest.mark.parametrize("kinds", ["both quick", "one quick", "other rows below", "neither"])
def test_all_rows_that_differ_are_found_once_and_in_order(height, kinds):
    first, second = page(height)
    write, other = {
        "both quick": (as_chromium_writes, as_chromium_writes),
        "one quick": (as_chromium_writes, encode_png),
        "other rows below": (
            as_chromium_writes,
            lambda pixels: as_chromium_writes(pixels, plain_from=height * 3 // 4),
        ),
        "neither": (encode_png, encode_png),
    }[kinds]
    found = []
    for numbers, a, b in differing_rows(write(first), other(second)):
        assert (a == first[numbers]).all()
        assert (b == second[numbers]).all()
        found += numbers.tolist()
    assert found == sorted(set(found))
    different = (first != second).any(axis=(1, 2))
    assert set(np.flatnonzero(different).tolist()) <= set(found)


@pytest.mark.parametrize("row", [0, 62, 63, 64, 127, 199])
def test_a_single_row_that_differs_is_the_only_one_found(row):
    """Rows are stored as differences, so the row below it is also stored differently."""
    first = noise(200, 30)
    second = first.copy()
    second[row, 7] ^= 1
    pair = as_chromium_writes(first), as_chromium_writes(second)
    assert [numbers.tolist() for numbers, _, _ in differing_rows(*pair)] == [[row]]


def test_equal_screenshots_have_no_rows_that_differ():
    data = as_chromium_writes(noise(200, 30))
    assert list(differing_rows(data, data)) == []
