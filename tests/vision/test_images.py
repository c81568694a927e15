import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from uiproof.errors import InputError
from uiproof.vision.images import decode, encode_png, read


def test_pixels_survive_a_round_trip_through_png():
    pixels = np.random.default_rng(0).integers(0, 256, (13, 17, 3), dtype=np.uint8)
    assert (decode(encode_png(pixels)) == pixels).all()


def test_transparency_is_laid_on_white():
    out = BytesIO()
    Image.fromarray(np.array([[[255, 0, 0, 0], [255, 0, 0, 255]]], np.uint8)).save(out, "PNG")
    assert decode(out.getvalue()).tolist() == [[[255, 255, 255], [255, 0, 0]]]


def test_grayscale_and_palette_pictures_become_rgb():
    for mode in ("L", "P", "1"):
        out = BytesIO()
        Image.new(mode, (4, 3)).save(out, "PNG")
        assert decode(out.getvalue()).shape == (3, 4, 3)


def png_that_claims(width, height):
    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(20_000, 10_000), (60_000, 60_000)])
def test_a_picture_that_claims_to_be_huge_is_refused_from_its_header(size):
    with pytest.raises(InputError, match=r"pixels|too large"):
        decode(png_that_claims(*size))


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_what_is_not_a_picture_is_refused(data):
    with pytest.raises(InputError, match="cannot be decoded"):
        decode(data)


def test_a_torn_picture_is_refused():
    whole = encode_png(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    with pytest.raises(InputError, match="cannot be decoded"):
        decode(whole[: len(whole) // 2])


def test_a_picture_that_cannot_be_read_is_named_in_the_error(tmp_path):
    with pytest.raises(InputError, match="absent"):
        read(tmp_path / "absent.png")
    (tmp_path / "broken.png").write_bytes(b"no")
    with pytest.raises(InputError, match=r"broken\.png"):
        read(tmp_path / "broken.png")
