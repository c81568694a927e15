import struct
import zlib
from io import BytesIO

import cv2
import numpy as np
import pytest
from PIL import Image, ImageCms

from uiproof.errors import InputError
from uiproof.geometry import PixelBox
from uiproof.vision.images import cut_png, decode, decode_gray, encode_png, has_transparency, read


def test_pixels_survive_a_round_trip_through_png():
    pixels = np.random.default_rng(0).integers(0, 256, (13, 17, 3), dtype=np.uint8)
    assert (decode(encode_png(pixels)) == pixels).all()


def test_transparency_is_laid_on_white():
    out = BytesIO()
    Image.fromarray(np.array([[[255, 0, 0, 0], [255, 0, 0, 255]]], np.uint8)).save(out, "PNG")
    assert decode(out.getvalue()).tolist() == [[[255, 255, 255], [255, 0, 0]]]


def test_transparency_can_be_dropped_as_opencv_does(tmp_path):
    pixels = np.array([[[255, 0, 0, 0], [9, 99, 0, 40]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    assert has_transparency(data)
    assert not has_transparency(encode_png(pixels[..., :3]))
    dropped = decode(data, blend=False)
    assert dropped.tolist() == [[[255, 0, 0], [9, 99, 0]]]
    assert np.array_equal(dropped, cv2.imread(str(tmp_path / "a.png"))[..., ::-1])


def test_grayscale_and_palette_pictures_become_rgb():
    for mode in ("L", "P", "1"):
        out = BytesIO()
        Image.new(mode, (4, 3)).save(out, "PNG")
        assert decode(out.getvalue()).shape == (3, 4, 3)


def chunk(kind, data):
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


# The seven passes of an interlaced PNG file: first column and row, then every how many.
ADAM7 = (
    *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4)),
    *((0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)),
)


def png_of(pixels, *chunks, interlaced=False):
    """A PNG file of RGB or RGBA pixels, of 8 or 16 bits, with more chunks after its header."""
    height, width, channels = pixels.shape
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    ordered = pixels.astype(pixels.dtype.newbyteorder(">"))
    rows = [row for x, y, across, down in passes for row in ordered[y::down, x::across]]
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    depth, colour = 8 * pixels.dtype.itemsize, {3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    body = (chunk(b"IHDR", header), *chunks, chunk(b"IDAT", data), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def with_pillow(picture, **options):
    out = BytesIO()
    picture.save(out, **options)
    return out.getvalue()


SRGB = chunk(b"sRGB", b"\0")
GAMMA = chunk(b"gAMA", struct.pack(">I", 45_455))
PIXELS = np.random.default_rng(1).integers(0, 256, (19, 23, 3), dtype=np.uint8)
ALPHA = np.dstack([PIXELS, PIXELS[..., 0]])
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
FILES = {
    "plain": png_of(PIXELS),
    "sRGB": png_of(PIXELS, SRGB),
    "gAMA": png_of(PIXELS, GAMMA),
    "linear gAMA": png_of(PIXELS, chunk(b"gAMA", struct.pack(">I", 100_000))),
    "cHRM": png_of(
        PIXELS, GAMMA, chunk(b"cHRM", struct.pack(">8I", *(31_270, 32_900) * 2, *(30_000,) * 4))
    ),
    "iCCP": with_pillow(Image.fromarray(PIXELS), format="PNG", icc_profile=PROFILE),
    "alpha": png_of(ALPHA),
    "alpha, sRGB": png_of(ALPHA, SRGB),
    "16 bits": png_of(PIXELS.astype(np.uint16) * 257),
    "16 bits, sRGB": png_of(PIXELS.astype(np.uint16) * 257, SRGB),
    "interlaced": png_of(PIXELS, interlaced=True),
    "interlaced, sRGB": png_of(PIXELS, SRGB, interlaced=True),
    "palette": with_pillow(Image.fromarray(PIXELS).quantize(16), format="PNG"),
    "gray": with_pillow(Image.fromarray(PIXELS[..., 0]), format="PNG"),
    "JPEG": with_pillow(Image.fromarray(PIXELS), format="JPEG"),
}


@pytest.mark.parametrize("name", FILES)
def test_gray_is_what_opencv_reads_from_a_file(tmp_path, name):
    (tmp_path / "file").write_bytes(FILES[name])
    read_by_opencv = cv2.imread(str(tmp_path / "file"), cv2.IMREAD_GRAYSCALE)
    assert np.array_equal(decode_gray(FILES[name]), read_by_opencv)


def test_gray_does_not_depend_on_interlacing():
    for name in ("plain", "sRGB"):
        other = {"plain": "interlaced", "sRGB": "interlaced, sRGB"}[name]
        assert np.array_equal(decode_gray(FILES[other]), decode_gray(FILES[name]))


@pytest.mark.parametrize("name", ["sRGB", "gAMA"])
def test_gray_follows_the_gamma_that_a_file_states(name):
    far = np.abs(decode_gray(FILES[name]).astype(int) - decode_gray(FILES["plain"]))
    assert far.max() > 30


@pytest.mark.parametrize("name", FILES)
def test_a_part_is_read_as_pillow_saves_it(tmp_path, name):
    box = PixelBox(3, 2, 20, 17)
    whole = Image.open(BytesIO(FILES[name]))
    whole.crop((3, 2, 20, 17)).save(tmp_path / "part.png")
    read_by_opencv = cv2.imread(str(tmp_path / "part.png"), cv2.IMREAD_GRAYSCALE)
    assert np.array_equal(decode_gray(cut_png(FILES[name], box)), read_by_opencv)


def test_a_part_that_reaches_beyond_the_picture_is_black_there():
    part = decode_gray(cut_png(FILES["plain"], PixelBox(0, 10, 23, 20)))
    assert part.shape == (10, 23)
    assert not part[-1].any()


def png_that_claims(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(20_000, 10_000), (60_000, 60_000)])
def test_a_picture_that_claims_to_be_huge_is_refused_from_its_header(size):
    for reads in (decode, decode_gray):
        with pytest.raises(InputError, match=r"pixels|too large"):
            reads(png_that_claims(*size))


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_what_is_not_a_picture_is_refused(data):
    for reads in (decode, decode_gray, lambda one: cut_png(one, PixelBox(0, 0, 1, 1))):
        with pytest.raises(InputError, match="cannot be decoded"):
            reads(data)


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
