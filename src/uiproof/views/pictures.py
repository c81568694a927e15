"""Pictures of a page: crops of screenshots and charts, each stored once, embedded or linked."""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from uiproof.geometry import PixelBox
from uiproof.markup import Markup, tag

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")  # what Pillow reads without other programs
_LARGEST_CHART = 400_000  # bytes; an SVG of thousands of points is better a picture
_QUALITY = 70
_LARGEST_SIDE = 12_000  # WebP ends at 16383 pixels
_LEAST_BYTES = 1_000  # below this a picture shows nothing
_FRAME = 90  # characters around an embedded picture
_THREADS = 4
_CHANGED = 12  # of 255: what differs less is noise
_GRAIN = 4  # pixels: what changed is shown with a little around it
_FADED = 0.8


class Limits(NamedTuple):
    """The largest size of a picture."""

    pixels: int
    bytes: int
    width: int = _LARGEST_SIDE


_CHART = Limits(pixels=2_000_000, bytes=80_000)


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of a picture. With `before`, everything unchanged since that one is faded."""

    path: Path
    region: PixelBox
    limits: Limits
    before: Path | None = None


class Charts:
    """The charts that a function draws into a folder: all at once, when the first is needed."""

    def __init__(self, draw: Callable[[Path], object]) -> None:
        self._draw = draw
        self._drawn: dict[str, bytes] | None = None
        self._lock = Lock()

    def picture(self, name: str, most: int = _LARGEST_CHART) -> bytes | None:
        """Return a chart as SVG or, if that is too large, WebP; None if it was not drawn."""
        from PIL import Image

        with self._lock:
            if self._drawn is None:
                self._drawn = self._all()
        drawing = self._drawn.get(f"{name}.svg")
        if drawing and len(drawing) <= most:
            return drawing
        if (drawing := self._drawn.get(f"{name}.png")) is None:
            return None
        with Image.open(io.BytesIO(drawing)) as opened:
            return webp(opened.convert("RGB"), _CHART, _CHART.bytes)

    def _all(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a box is drawn in its place
            # Some texts of a data set cannot be drawn. The tables have them all, and charts that
            # were drawn before are there.
            with suppress(TypeError, ValueError):
                self._draw(Path(folder))
            return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


class Pictures:
    """The pictures of a page by number; equal pictures of different files share a number.

    Numbers stay when more is added, so one object serves a page that is rendered repeatedly.
    """

    url: str | None = None  # base of the links to pictures; None: they are in the page itself

    def __init__(self) -> None:
        self._crops: list[Crop | tuple[Charts, str]] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._files: dict[tuple[Path, int, int], tuple[tuple[int, int], bytes] | None] = {}
        self._lock = Lock()

    def size(self, path: Path) -> tuple[int, int] | None:
        """Return width and height of a picture; None if it cannot be read."""
        found = self._file(path)
        return None if found is None else found[0]

    def add(self, crop: Crop | None) -> int | None:
        """Return the number of a picture for use in the page; None if it cannot be read."""
        if crop is None:
            return None
        files = [self._file(path) for path in (crop.path, crop.before) if path is not None]
        if None in files:
            return None
        key = (*(file[1] for file in files if file), crop.region, crop.limits)
        return self._number(key, crop)

    def add_chart(self, charts: Charts, name: str, state: object) -> int:
        """Return the number of a chart, which is another one when `state` changes.

        It is drawn when it is needed, and may then turn out to be empty.
        """
        return self._number(("chart", name, state), (charts, name))

    def pieces(self, room: int) -> Iterator[str]:  # noqa: ARG002 - for pages that carry pictures
        """Yield what the page carries for its pictures, in about `room` characters."""
        return iter(())

    def _number(self, key: tuple[object, ...], picture: Crop | tuple[Charts, str]) -> int:
        with self._lock:
            if key not in self._numbers:
                self._numbers[key] = len(self._crops)
                self._crops.append(picture)
            return self._numbers[key]

    def _file(self, path: Path) -> tuple[tuple[int, int], bytes] | None:
        """Return the size of a picture and the digest of its file; None if it cannot be read."""
        from PIL import Image

        try:
            state = path.stat()
            key = path, state.st_mtime_ns, state.st_size
            if key not in self._files:
                self._files[key] = None
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").digest()
                    with Image.open(file, formats=_FORMATS) as opened:
                        self._files[key] = opened.size, digest
            return self._files[key]
        except (OSError, ValueError, Image.DecompressionBombError):
            return None


class Embedded(Pictures):
    """Pictures inside the page; `most` is about how many bytes the page may have."""

    def __init__(self, most: int = 30_000_000) -> None:
        super().__init__()
        self.most = most

    def pieces(self, room: int) -> Iterator[str]:
        """Yield all pictures as data that scripts show when they are needed.

        Each file is read once. Bytes that earlier pictures saved are left for later ones.
        """
        by_file: dict[Path, list[tuple[int, Crop]]] = defaultdict(list)
        charts = sum(isinstance(crop, tuple) for crop in self._crops)
        most = min(room // (2 * max(charts, 1)), _LARGEST_CHART)
        for number, crop in enumerate(self._crops):
            if isinstance(crop, Crop):
                by_file[crop.path].append((number, crop))
            elif (chart := crop[0].picture(crop[1], most)) is not None:
                piece = _embedded(number, chart)
                room -= len(piece)
                yield piece
        files = iter(by_file.values())
        wanted = sum(_weight(crops) for crops in by_file.values())
        room -= _FRAME * sum(map(len, by_file.values()))
        with ThreadPoolExecutor(_THREADS) as pool:
            while batch := list(islice(files, 4 * _THREADS)):
                share = max(room, 0) * 3 / 4 / wanted  # base64 makes four of three bytes
                made = pool.map(lambda crops, s=share: _made([crop for _, crop in crops], s), batch)
                for crops, pictures in zip(batch, made, strict=True):
                    wanted -= _weight(crops)
                    for (number, _), picture in zip(crops, pictures, strict=True):
                        if picture is not None:
                            piece = _embedded(number, picture)
                            room -= len(piece) - _FRAME
                            yield piece


class Linked(Pictures):
    """Pictures that a server makes on request.

        pictures = Linked("/runs/7/pictures", files_url="/report-files")

    `picture(n)` is the answer for `{base_url}/{n}`. With `files_url` the page also loads its
    scripts and styles from there (`report_file`), so nothing in it is inline.
    """

    def __init__(self, base_url: str, *, files_url: str | None = None) -> None:
        super().__init__()
        self.url = base_url.rstrip("/")
        self.files_url = None if files_url is None else files_url.rstrip("/")

    def picture(self, number: int) -> bytes | None:
        """Return a picture as `media_type` says; None if its number is unknown or its file gone."""
        if not 0 <= number < len(self._crops):
            return None
        crop = self._crops[number]
        return _made([crop], 1.0)[0] if isinstance(crop, Crop) else crop[0].picture(crop[1])


def image(number: int, region: PixelBox) -> Markup:
    """Return a picture at its place in a drawing, loaded when it is about to be seen."""
    return tag(
        "image",
        data_picture=number,
        x=region.left,
        y=region.top,
        width=region.width,
        height=region.height,
        preserveAspectRatio="none",
    )


def media_type(picture: bytes) -> str:
    """Return the media type of a picture of a page: screenshots are WebP, charts mostly SVG."""
    return "image/svg+xml" if picture.lstrip()[:1] == b"<" else "image/webp"


def _weight(crops: Iterable[tuple[int, Crop]]) -> int:
    return sum(crop.limits.bytes for _, crop in crops)


def _embedded(number: int, picture: bytes) -> str:
    uri = f"data:{media_type(picture)};base64,{base64.b64encode(picture).decode('ascii')}"
    return f'<script type="text/plain" id="picture-{number}">{uri}</script>\n'


def _made(crops: Sequence[Crop], share: float) -> list[bytes | None]:
    """Return crops of one picture, each within a share of the bytes it may have."""
    whole = _read(crops[0].path)
    if whole is None:
        return [None] * len(crops)
    made = []
    for crop in crops:
        part = _part(whole, crop)
        most = max(int(min(share, 1.0) * crop.limits.bytes), _LEAST_BYTES)
        made.append(None if part is None else webp(part, crop.limits, most))
    return made


def _read(path: Path) -> Image | None:
    from PIL import Image

    try:
        with Image.open(path, formats=_FORMATS) as opened:
            return opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _part(whole: Image, crop: Crop) -> Image | None:
    from PIL import Image, ImageChops

    box = (crop.region.left, crop.region.top, crop.region.right, crop.region.bottom)
    part = whole.crop(box)
    if crop.before is None:
        return part
    before = _read(crop.before)
    if before is None:
        return None
    differences = ImageChops.difference(part, before.crop(box)).convert("L")
    changed = differences.point([0] * _CHANGED + [255] * (256 - _CHANGED))
    coarse = changed.reduce(_GRAIN).point([0] + [255] * 255)
    grown = coarse.resize((coarse.width * _GRAIN, coarse.height * _GRAIN), Image.Resampling.NEAREST)
    faded = Image.blend(part, Image.new("RGB", part.size, "white"), _FADED)
    return Image.composite(part, faded, grown.crop((0, 0, *part.size)))


def webp(picture: Image, limits: Limits, most: int) -> bytes:
    """Return the picture as WebP, as large as its limits and `most` bytes allow."""
    from PIL import Image

    width, height = picture.size
    scale = min(
        1.0,
        limits.width / width,
        _LARGEST_SIDE / max(width, height),
        (limits.pixels / (width * height)) ** 0.5,
    )
    while True:
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        if size != picture.size:
            # Twice as fast as Lanczos, and as legible at these sizes.
            picture = picture.resize(size, Image.Resampling.HAMMING, reducing_gap=2)
        out = io.BytesIO()
        picture.save(out, "WEBP", quality=_QUALITY, method=1)
        if out.tell() <= most or max(size) == 1:
            return out.getvalue()
        # Bytes grow a little slower than the area; the factor makes one more try enough mostly.
        scale = min(0.9, 0.95 * (most / out.tell()) ** 0.5)
