"""Pictures and pages that are broken, tiny, huge, or made to exhaust whoever reads them."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

import numpy as np
from PIL import Image

BOMB_SIDE = 60_000  # 3.6 thousand million pixels, 10 GB once unpacked


def png(width: int, height: int, data: bytes | None = None) -> bytes:
    """A white picture in shades of grey, one bit a pixel; with `data` in place of its pixels."""
    row = b"\0" + b"\xff" * ((width + 7) // 8)
    packed = packed_often(row * 40, height // 40) if data is None else zlib.compress(data)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", packed)
        + _chunk(b"IEND", b"")
    )


def packed_often(block: bytes, times: int) -> bytes:
    """What zlib makes of a block that is repeated, without ever having all of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before
    check = 1
    for _ in range(times):
        check = zlib.adler32(block, check)
    return b"\x78\xda" + piece * times + packer.flush() + struct.pack(">I", check)


def bomb() -> bytes:
    """A real picture of 60,000 x 60,000 pixels in less than half a megabyte."""
    return png(BOMB_SIDE, BOMB_SIDE)


def text_bomb() -> bytes:
    """A picture of one pixel whose comment unpacks to a gigabyte."""
    packed = packed_often(b"x" * (1 << 20), 1 << 10)
    whole = plain(1, 1)
    head = 8 + 25  # the signature and the header
    return whole[:head] + _chunk(b"zTXt", b"Comment\0\0" + packed) + whole[head:]


def plain(width: int, height: int, colour: str = "teal") -> bytes:
    """An ordinary picture."""
    out = BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


def torn() -> bytes:
    """The first half of a picture."""
    noise = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    out = BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    return out.getvalue()[: out.tell() // 2]


def moving(kind: str) -> bytes:
    """Three frames, as GIF or as PNG."""
    frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "green", "blue")]
    out = BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:], duration=50, loop=0)
    return out.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PICTURES = {
    "empty": lambda: b"",
    "no-picture": lambda: b"<html>not found</html>",
    "head-only": lambda: b"\x89PNG\r\n\x1a\n",
    "torn": torn,
    "lying": lambda: png(5_000, 5_000, b"\0too little"),
    "one-pixel": lambda: plain(1, 1),
    "wide": lambda: plain(20_000, 40),
    "tall": lambda: plain(40, 20_000),
    "square": lambda: png(20_000, 20_000),
    "bomb": bomb,
    "text-bomb": text_bomb,
    "moving-gif": lambda: moving("GIF"),
    "moving-png": lambda: moving("PNG"),
}

_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + ']><svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><text>&l9;</text></svg>'
)
_USES = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><defs><g id="g0">'
    '<rect width="5" height="5"/></g>'
    + "".join(f'<g id="g{n}">' + f'<use href="#g{n - 1}"/>' * 10 + "</g>" for n in range(1, 9))
    + '</defs><use href="#g8"/></svg>'
)
DRAWINGS = {"laughs": _LAUGHS, "uses": _USES}

MARK = '<h1 style="background:#00c853">A heading</h1><p>And a paragraph of text below it.</p>'
SHEETS = {
    "variables": ":root{--a0:xx;"
    + "".join(f"--a{n}:{f'var(--a{n - 1})' * 10};" for n in range(1, 12))
    + "} p::after{content:var(--a11)}",
    "shadows": "h1{text-shadow:" + ",".join(["0 0 90px red"] * 3_000) + "}",
    "selectors": "".join(f"{':is(p,h1,body) ' * 40}p{{order:{n}}}" for n in range(200)),
    "images": "p{background:" + ",".join(["linear-gradient(red,blue)"] * 3_000) + "}",
}
