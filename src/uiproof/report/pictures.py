"""The pictures of a page: parts of screenshots, each stored once, in the page or behind links."""

from __future__ import annotations

import base64
import hashlib
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from uiproof.boxes import PixelBox
from uiproof.report.charts import Charts
from uiproof.report.markup import Markup, tag

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")  # what Pillow reads without other programs
_QUALITY = 70
_LARGEST_SIDE = 12_000  # WebP ends at 16383 pixels
_LEAST_BYTES = 1_000  # below this a picture shows nothing
_FRAME = 90  # characters around an embedded picture
_THREADS = 4
_CHANGED = 12  # of 255: what differs less is noise
_GRAIN = 4  # pixels: what changed is shown with a little around it
_FADED = 0.8


class Limits(NamedTuple):
    """How large a picture may become."""

    pixels: int
    bytes: int
    width: int = _LARGEST_SIDE


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a picture. With `before`, what has not changed since that one is faded."""

    path: Path
    region: PixelBox
    limits: Limits
    before: Path | None = None


@dataclass(frozen=True, slots=True)
class _Chart:
    charts: Charts
    name: str

    limits = Limits(pixels=2_000_000, bytes=80_000)

    def webp(self) -> bytes | None:
        """The chart as WebP; None where there was nothing to draw."""
        from PIL import Image

        png = self.charts.png(self.name)
        if png is None:
            return None
        with Image.open(io.BytesIO(png)) as opened:
            return _webp(opened.convert("RGB"), self.limits, self.limits.bytes)


class Pictures:
    """Numbers pictures; what looks the same has the same number, whatever file it came from.

    Numbers stay when more is added, so one object can serve a page that is made again and again.
    """

    url: str | None = None  # where pictures are found by their numbers; None: in the page itself

    def __init__(self) -> None:
        self._cuts: list[Cut | _Chart] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._files: dict[tuple[Path, int, int], _File | None] = {}
        self._lock = Lock()

    def size(self, path: Path) -> tuple[int, int] | None:
        """Width and height of a picture; None where there is none that can be read."""
        found = self._file(path)
        return None if found is None else found.size

    def add(self, cut: Cut | None) -> int | None:
        """The number of a picture, to be used in the page; None where there is no such file."""
        if cut is None:
            return None
        files = [self._file(path) for path in (cut.path, cut.before) if path is not None]
        if None in files:
            return None
        key = (*(file.digest for file in files if file), cut.region, cut.limits)
        return self._number(key, cut)

    def add_chart(self, charts: Charts, name: str, state: object) -> int:
        """The number of a chart; another one where `state` is another, because it looks otherwise.

        It is drawn when it is wanted, and may then turn out to be empty.
        """
        return self._number(("chart", name, state), _Chart(charts, name))

    def pieces(self, room: int) -> Iterator[str]:  # noqa: ARG002 - for pages that carry pictures
        """What a page has to carry for its pictures, in about `room` characters."""
        return iter(())

    def _number(self, key: tuple[object, ...], picture: Cut | _Chart) -> int:
        with self._lock:
            if key not in self._numbers:
                self._numbers[key] = len(self._cuts)
                self._cuts.append(picture)
            return self._numbers[key]

    def _file(self, path: Path) -> _File | None:
        try:
            state = path.stat()
        except (OSError, ValueError):
            return None
        key = path, state.st_mtime_ns, state.st_size
        if key not in self._files:
            self._files[key] = _File.read(path)
        return self._files[key]


class Embedded(Pictures):
    """Pictures that travel in the page; `most` is about how many bytes that page may have."""

    def __init__(self, most: int = 30_000_000) -> None:
        super().__init__()
        self.most = most

    def pieces(self, room: int) -> Iterator[str]:
        """All pictures as data that scripts show when they are needed.

        Each file is read once. What earlier pictures did not use is there for later ones.
        """
        by_file: dict[Path, list[tuple[int, Cut]]] = defaultdict(list)
        for number, cut in enumerate(self._cuts):
            if isinstance(cut, Cut):
                by_file[cut.path].append((number, cut))
            elif (chart := cut.webp()) is not None:
                piece = _embedded(number, chart)
                room -= len(piece)
                yield piece
        files = iter(by_file.values())
        wanted = sum(_weight(cuts) for cuts in by_file.values())
        room -= _FRAME * sum(map(len, by_file.values()))
        with ThreadPoolExecutor(_THREADS) as pool:
            while batch := list(islice(files, 4 * _THREADS)):
                share = max(room, 0) * 3 / 4 / wanted  # base64 makes four of three bytes
                made = pool.map(lambda cuts, s=share: _made([cut for _, cut in cuts], s), batch)
                for cuts, pictures in zip(batch, made, strict=True):
                    wanted -= _weight(cuts)
                    for (number, _), picture in zip(cuts, pictures, strict=True):
                        if picture is not None:
                            piece = _embedded(number, picture)
                            room -= len(piece) - _FRAME
                            yield piece


class Linked(Pictures):
    """Pictures that a server makes when they are looked at.

        pictures = Linked("/runs/7/pictures", files_url="/report-files")

    `picture(n)` is what the server answers for `{base_url}/{n}`. With `files_url` the page also
    takes its scripts and styles from there (`report_file`), so nothing in it is inline.
    """

    def __init__(self, base_url: str, *, files_url: str | None = None) -> None:
        super().__init__()
        self.url = base_url.rstrip("/")
        self.files_url = None if files_url is None else files_url.rstrip("/")

    def picture(self, number: int) -> bytes | None:
        """A picture as WebP; None where the number is unknown or the file is gone."""
        if not 0 <= number < len(self._cuts):
            return None
        cut = self._cuts[number]
        return _made([cut], 1.0)[0] if isinstance(cut, Cut) else cut.webp()


def image(number: int, region: PixelBox) -> Markup:
    """A picture at its place in a drawing; it is loaded when it is about to be seen."""
    return tag(
        "image",
        data_picture=number,
        x=region.left,
        y=region.top,
        width=region.width,
        height=region.height,
        preserveAspectRatio="none",
    )


def _weight(cuts: Iterable[tuple[int, Cut]]) -> int:
    return sum(cut.limits.bytes for _, cut in cuts)


def _embedded(number: int, picture: bytes) -> str:
    uri = f"data:image/webp;base64,{base64.b64encode(picture).decode('ascii')}"
    return f'<script type="text/plain" id="picture-{number}">{uri}</script>\n'


@dataclass(frozen=True, slots=True)
class _File:
    size: tuple[int, int]
    digest: bytes

    @classmethod
    def read(cls, path: Path) -> _File | None:
        from PIL import Image

        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
                with Image.open(file, formats=_FORMATS) as opened:
                    return cls(opened.size, digest)
        except (OSError, ValueError, Image.DecompressionBombError):
            return None


def _made(cuts: Sequence[Cut], share: float) -> list[bytes | None]:
    """Parts of one picture, which is read once; each in its share of the bytes it may have."""
    whole = _read(cuts[0].path)
    if whole is None:
        return [None] * len(cuts)
    made = []
    for cut in cuts:
        part = _part(whole, cut)
        most = max(int(min(share, 1.0) * cut.limits.bytes), _LEAST_BYTES)
        made.append(None if part is None else _webp(part, cut.limits, most))
    return made


def _read(path: Path) -> Image | None:
    from PIL import Image

    try:
        with Image.open(path, formats=_FORMATS) as opened:
            return opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _part(whole: Image, cut: Cut) -> Image | None:
    from PIL import Image, ImageChops

    box = (cut.region.left, cut.region.top, cut.region.right, cut.region.bottom)
    part = whole.crop(box)
    if cut.before is None:
        return part
    before = _read(cut.before)
    if before is None:
        return None
    differences = ImageChops.difference(part, before.crop(box)).convert("L")
    changed = differences.point([0] * _CHANGED + [255] * (256 - _CHANGED))
    coarse = changed.reduce(_GRAIN).point([0] + [255] * 255)
    grown = coarse.resize((coarse.width * _GRAIN, coarse.height * _GRAIN), Image.Resampling.NEAREST)
    faded = Image.blend(part, Image.new("RGB", part.size, "white"), _FADED)
    return Image.composite(part, faded, grown.crop((0, 0, *part.size)))


def _webp(picture: Image, limits: Limits, most: int) -> bytes:
    """The picture as WebP, as large as its limits and `most` bytes allow."""
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
