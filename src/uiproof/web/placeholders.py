"""Generated pictures for URLs of placeholder services and photo hosts.

    draw(picture_of(parse("https://picsum.photos/seed/sea/600/400")))    # a PNG of 600 x 400

Photos become a gradient with colours derived from the URL; placeholders become a flat colour with
centred text, as on their services. Text is drawn from a bundled glyph sheet, so pixels are the same
on every machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from uiproof.web.addresses import Address, query_pairs

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 8_000_000
MAX_SIDE = 6000
_FONTS = Path(__file__).parents[1] / "fonts"
_MAX_TEXT, _MAX_LINES = 120, 5
_PHOTO = (1200, 800)  # size of a photo whose URL names none

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Picture:
    """A generated picture."""

    width: int
    height: int
    seed: str = ""  # of the colours of a photo
    text: str | None = None  # of a placeholder; None for a photo
    background: Colour = (204, 204, 204)
    ink: Colour = (150, 150, 150)
    grey: bool = False


def picture_of(address: Address) -> Picture | None:
    """Return the picture for a URL; None if its host serves no pictures."""
    route = _HOSTS.get(address.host)
    picture = route(address) if route else None
    if picture is None or picture.width < 1 or picture.height < 1:
        return None
    return picture


def draw(picture: Picture) -> tuple[bytes, str]:
    """Return a picture as PNG, and a note if it is smaller than requested."""
    width, height = picture.width, picture.height
    most = max(width, height) / MAX_SIDE, (width * height / MAX_PIXELS) ** 0.5
    if max(most) > 1:
        width, height = (max(int(side / max(most)), 1) for side in (width, height))
    is_photo = picture.text is None
    image = _gradient(picture, width, height) if is_photo else _labelled(picture, width, height)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    smaller = (width, height) != (picture.width, picture.height)
    asked = f"{picture.width} x {picture.height}"
    return out.getvalue(), f"{width} x {height} instead of {asked}" if smaller else ""


def _gradient(picture: Picture, width: int, height: int) -> Image.Image:
    """Draw a diagonal gradient between two colours derived from the seed."""
    import numpy as np
    from PIL import Image

    digest = hashlib.sha256(picture.seed.encode()).digest()
    start = tuple(70 + byte % 120 for byte in digest[:3])
    end = tuple(110 + byte % 120 for byte in digest[3:6])
    if picture.grey:
        start, end = (sum(start) // 3,) * 3, (sum(end) // 3,) * 3
    share = 64 + digest[6] % 128  # of the change that is horizontal, of 256
    across = np.arange(width, dtype=np.int64) * (255 * share) // max(width - 1, 1)
    down = np.arange(height, dtype=np.int64) * (255 * (256 - share)) // max(height - 1, 1)
    if digest[7] % 2:
        across = across[::-1]
    steps = ((across[None, :] + down[:, None]) >> 8).astype(np.uint8)
    image = Image.fromarray(steps, "L")
    image.putpalette(
        [
            (a * (255 - step) + b * step) // 255
            for step in range(256)
            for a, b in zip(start, end, strict=True)
        ]
    )
    return image


def _labelled(picture: Picture, width: int, height: int) -> Image.Image:
    """Draw centred lines of text on a flat colour."""
    from PIL import Image

    image = Image.new("RGB", (width, height), picture.background)
    lines = [
        one for one in (picture.text or "")[:_MAX_TEXT].split("\n")[:_MAX_LINES] if one.strip()
    ]
    if not lines:
        return image
    sheets = [_line(one) for one in lines]
    em = sheets[0].height
    widest = max(sheet.width for sheet in sheets)
    size = min(height / (len(lines) + 1), height / 4, em * width * 0.8 / widest)
    scale = size / em
    if size < 5:
        return image  # text would be illegible
    top = round((height - size * len(lines)) / 2)
    for number, sheet in enumerate(sheets):
        small = sheet.resize(
            (max(round(sheet.width * scale), 1), max(round(em * scale), 1)), Image.Resampling.BOX
        )
        place = (round((width - small.width) / 2), top + round(number * size))
        image.paste(picture.ink, place, small)
    return image


@cache
def _sheet() -> tuple[Image.Image, dict[str, list[int]]]:
    from PIL import Image

    measures = json.loads((_FONTS / "lettering.json").read_text("utf-8"))
    with Image.open(_FONTS / "lettering.png") as sheet:
        return sheet.convert("L"), measures["letters"]


def _line(text: str) -> Image.Image:
    """Draw a line of text as a mask, at the size of the glyph sheet."""
    from PIL import Image

    sheet, letters = _sheet()
    glyphs = [letters.get("x" if one == "×" else one, letters["?"]) for one in text]
    line = Image.new("L", (max(sum(glyph[3] for glyph in glyphs), 1), sheet.height))
    pen = 0
    for left, width, bearing, advance in glyphs:
        line.paste(sheet.crop((left, 0, left + width, sheet.height)), (pen + bearing, 0))
        pen += advance
    return line


# --- URLs ---------------------------------------------------------------------------------------

_SIZE = r"(\d{1,5})(?:\s*[xX×/]\s*(\d{1,5}))?"


def _query(address: Address) -> dict[str, str]:
    return dict(query_pairs(address.query))


def _number(text: str | None) -> int:
    found = re.match(r"\d{1,5}", text or "")
    return int(found[0]) if found else 0


def _colour(text: str, default: Colour) -> Colour:
    from PIL import ImageColor

    text = text.strip().lower().lstrip("#")
    if re.fullmatch(r"[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8}", text):
        text = f"#{text[:6]}"
    elif not text.isalpha():
        return default
    try:
        return ImageColor.getrgb(text)[:3]
    except ValueError:
        return default


def _picsum(address: Address) -> Picture | None:
    path = re.sub(r"\.(jpe?g|webp|png)$", "", address.path)
    found = re.fullmatch(rf"(/(?:id|seed)/[^/]+|/g)?/{_SIZE}/?", path)
    if found is None:
        return None
    width = int(found[2])
    options = _query(address)
    seed = found[1] or f"{path}?{options.get('random', options.get('image', ''))}"
    grey = "grayscale" in options or found[1] == "/g"
    return Picture(width, int(found[3] or width), f"picsum{seed}", grey=grey)


def _sized_photo(address: Address) -> Picture | None:
    """Parse `/WIDTH/HEIGHT/words` and `/WIDTHxHEIGHT`, the forms of most photo services."""
    found = re.search(rf"/{_SIZE}(?=[/.?]|$)", address.path)
    if found is None:
        return None
    width = int(found[1])
    seed = f"{address.host}{address.path}?{address.query}"
    return Picture(width, int(found[2] or width), seed, grey="/g/" in address.path)


def _photo(address: Address) -> Picture | None:
    """Parse `?w=…&h=…`, the form of photo hosts; a missing side follows from a ratio of 3:2."""
    if len(address.path) < 3:
        return None
    options = _query(address)
    width = _number(options.get("w") or options.get("width"))
    height = _number(options.get("h") or options.get("height"))
    if found := re.search(r"_(\d{3,4})(?:_(\d{3,4}))?\.\w+$", address.path):  # pixabay
        width, height = width or int(found[1]), height or int(found[2] or 0)
    if not width and not height:
        width, height = _PHOTO
    ratio = min(max(float(_number(options.get("dpr")) or 1), 1.0), 3.0)
    width = round((width or height * 3 / 2) * ratio)
    height = round(height * ratio) or round(width * 2 / 3)
    # A photo has the same colours in every size.
    return Picture(width, height, f"{address.host}{address.path}")


def _source_unsplash(address: Address) -> Picture | None:
    found = re.search(r"/(\d{1,5})x(\d{1,5})(?=/|$)", address.path)
    width, height = (int(found[1]), int(found[2])) if found else _PHOTO
    return Picture(width, height, f"{address.path}?{address.query}")


def _placeholder(background: Colour, ink: Colour) -> Callable[[Address], Picture | None]:
    """Return a route for `/600x400/BACKGROUND/INK.png?text=…` with default colours."""

    def route(address: Address) -> Picture | None:
        path, _, tail = address.path.partition("&")  # dummyimage.com puts its text there
        options = _query(address) | dict(query_pairs(tail))
        path = re.sub(r"\.(png|jpe?g|gif|webp|svg|avif)\b", "", path)
        steps = [
            re.sub(r"@[23]x$", "", one)
            for one in path.split("/")
            if one and one not in ("png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "api")
        ]
        sizes = [at for at, one in enumerate(steps) if re.fullmatch(_SIZE, one)]
        if not sizes:
            return None
        at = next((one for one in sizes if "x" in steps[one].lower()), sizes[0])
        size = re.fullmatch(_SIZE, steps.pop(at))
        assert size is not None
        width, height = int(size[1]), int(size[2] or size[1])
        colours = steps[:2]
        words = next((options[key] for key in ("text", "Text", "txt") if key in options), None)
        if words is None:
            text = f"{width} x {height}"
        else:
            text = unquote_plus(words).replace("\\n", "\n") or " "
        return Picture(
            width,
            height,
            text=text,
            background=_colour(colours[0], background) if colours else background,
            ink=_colour(colours[1], ink) if len(colours) > 1 else ink,
        )

    return route


def _initials(address: Address) -> Picture | None:
    """Parse a URL of ui-avatars.com."""
    options = _query(address)
    steps = [one for one in address.path.removeprefix("/api").split("/") if one]
    keys = ("name", "size", "background", "color", "length")
    options = dict(zip(keys, steps, strict=False)) | options
    size = min(_number(options.get("size")) or 64, 512)
    words = re.split(r"[\s+]+", options.get("name", "John Doe").strip())
    length = _number(options.get("length")) or 2
    letters = words[0][:length] if len(words) == 1 else words[0][:1] + words[-1][:1]
    seed = hashlib.sha256(" ".join(words).encode()).digest()
    chosen: Colour = (80 + seed[0] % 120, 80 + seed[1] % 120, 80 + seed[2] % 120)
    is_random = options.get("background") == "random"
    background = chosen if is_random else _colour(options.get("background", ""), (240, 233, 233))
    ink = _colour(options.get("color", ""), (255, 255, 255) if is_random else (139, 93, 93))
    return Picture(size, size, text=letters.upper() or " ", background=background, ink=ink)


def _face(default: int) -> Callable[[Address], Picture | None]:
    """Return a route for avatars: a size in path or query, and the rest as seed."""

    def route(address: Address) -> Picture | None:
        options = _query(address)
        size = _number(options.get("size") or options.get("s") or options.get("width"))
        if found := re.match(r"/(?:beam/|marble/)?(\d{1,4})(?:/|$)", address.path):
            size = size or int(found[1])
        size = min(size or default, 2048)
        words = {key: value for key, value in options.items() if key not in ("s", "size")}
        return Picture(size, size, f"{address.host}{address.path}{sorted(words.items())}")

    return route


def _portrait(address: Address) -> Picture | None:
    found = re.fullmatch(
        r"/api/portraits/(?:(med|thumb)/)?(?:men|women|lego)/\d+\.jpg", address.path
    )
    if found is None:
        return None
    size = {"med": 72, "thumb": 48}.get(found[1], 128)
    return Picture(size, size, re.sub(r"/(med|thumb)/", "/", address.path))


def _measured(pattern: str, ratio: float = 1.0) -> Callable[[Address], Picture | None]:
    """Return a route for URLs with width and optional height as groups of a pattern."""

    def route(address: Address) -> Picture | None:
        found = re.search(pattern, f"{address.path}?{address.query}")
        if found is None:
            return None
        width = int(found[1])
        sizes = [int(one) for one in found.groups()[1:] if one]
        height = sizes[0] if sizes else round(width * ratio)
        return Picture(min(width, MAX_SIDE), min(height, MAX_SIDE), f"{address.host}{address.path}")

    return route


def _video_still(address: Address) -> Picture | None:
    found = re.fullmatch(r"/vi(?:_webp)?/([\w-]+)/(\w+)\.(?:jpg|webp)", address.path)
    sizes = {"maxresdefault": (1280, 720), "hq720": (1280, 720), "sddefault": (640, 480)}
    sizes |= {"mqdefault": (320, 180), "default": (120, 90)}
    return Picture(*sizes.get(found[2], (480, 360)), found[1]) if found else None


_GREY = _placeholder((204, 204, 204), (150, 150, 150))
_HOSTS: dict[str, Callable[[Address], Picture | None]] = {
    **dict.fromkeys(("picsum.photos", "www.picsum.photos", "unsplash.it"), _picsum),
    "fastly.picsum.photos": _picsum,
    "placehold.co": _placeholder((221, 221, 221), (153, 153, 153)),
    **dict.fromkeys(
        (
            *("via.placeholder.com", "placeholder.com", "placehold.it", "www.placehold.it"),
            *("place-hold.it", "fakeimg.pl", "fpoimg.com", "placehold.jp", "placeholder.pics"),
            *("placehold.net", "placeholdit.imgix.net"),
        ),
        _GREY,
    ),
    **dict.fromkeys(
        ("dummyimage.com", "www.dummyimage.com"), _placeholder((204, 204, 204), (0, 0, 0))
    ),
    **dict.fromkeys(
        (
            *("placekitten.com", "placebear.com", "placedog.net", "place.dog", "placebeard.it"),
            *("placeimg.com", "loremflickr.com", "lorempixel.com", "baconmockup.com"),
            *("www.fillmurray.com", "fillmurray.com", "www.placecage.com", "placecage.com"),
        ),
        _sized_photo,
    ),
    **dict.fromkeys(
        (
            *("images.unsplash.com", "plus.unsplash.com", "images.pexels.com"),
            *("cdn.pixabay.com", "api.lorem.space"),
        ),
        _photo,
    ),
    "source.unsplash.com": _source_unsplash,
    "ui-avatars.com": _initials,
    "randomuser.me": _portrait,
    "i.pravatar.cc": _face(150),
    "pravatar.cc": _face(150),
    "robohash.org": _face(300),
    "api.dicebear.com": _face(256),
    "avatars.dicebear.com": _face(256),
    "api.multiavatar.com": _face(256),
    "api.adorable.io": _face(256),
    "source.boringavatars.com": _face(80),
    "avatars.githubusercontent.com": _face(460),
    **dict.fromkeys(("www.gravatar.com", "gravatar.com", "secure.gravatar.com"), _face(80)),
    # Hosts of icons, flags, posters and codes whose URLs name the size.
    "img.icons8.com": _measured(r"^/(?:[\w-]+/)?(\d{2,4})(?:x(\d{2,4}))?/"),
    "cdn-icons-png.flaticon.com": _measured(r"^/(\d{2,4})/"),
    "flagcdn.com": _measured(r"^/w?(\d{2,4})(?:x(\d{2,4}))?/", 2 / 3),
    "flagsapi.com": _measured(r"/(\d{2,4})\.png"),
    "image.tmdb.org": _measured(r"^/t/p/w(\d{2,4})/", 3 / 2),
    "api.qrserver.com": _measured(r"[?&]size=(\d{2,4})x(\d{2,4})"),
    "images.placeholders.dev": _measured(r"[?&]width=(\d{1,4})(?:.*[?&]height=(\d{1,4}))?"),
    **dict.fromkeys(("i.ytimg.com", "img.youtube.com"), _video_still),
}
