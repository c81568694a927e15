"""Parts of screenshots, small enough to travel inside a report; each is stored once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uiproof.boxes import PixelBox
from uiproof.report.images import data_uri, webp
from uiproof.report.markup import Markup, tag

if TYPE_CHECKING:
    from PIL.Image import Image

_THREADS = 2
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")  # what Pillow reads without other programs
_LEAST_BYTES = 1_000


class Limits(NamedTuple):
    """How large a picture may become."""

    pixels: int
    bytes: int


THUMBNAIL = Limits(60_000, 15_000)
ALONE = Limits(220_000, 40_000)  # a picture of target and click
HALF = Limits(120_000, 20_000)  # a picture of one of them


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a screenshot that is annotated as `width` x `height` pixels."""

    image: str
    width: int
    height: int
    region: PixelBox
    limits: Limits


class Stock:
    """The pictures of a page: `add` what is needed, write `pieces` once, then `use` them."""

    def __init__(self) -> None:
        self._numbers: dict[Cut, int] = {}
        self._made: set[Cut] = set()

    def add(self, cut: Cut) -> None:
        """Ask for a picture; asking again for the same costs nothing."""
        self._numbers.setdefault(cut, len(self._numbers))

    def pieces(self, room: int) -> Iterator[Markup]:
        """The pictures as SVG images with ids, all of them in about `room` characters."""
        by_image = defaultdict(list)
        for cut in self._numbers:
            by_image[cut.image].append(cut)
        worst = sum(4 * cut.limits.bytes // 3 + 200 for cut in self._numbers)
        scale = min(1.0, room / worst) if worst else 1.0
        with ThreadPoolExecutor(_THREADS) as pool:
            for made in pool.map(partial(_make, scale=scale), by_image.values()):
                for cut, picture in made:
                    self._made.add(cut)
                    yield self._image(cut, picture)

    def use(self, cut: Cut) -> Markup | None:
        """A reference to a picture; None if there is no such screenshot on this machine."""
        return tag("use", href=f"#picture-{self._numbers[cut]}") if cut in self._made else None

    def _image(self, cut: Cut, picture: bytes) -> Markup:
        return tag(
            "image",
            id=f"picture-{self._numbers[cut]}",
            x=cut.region.left,
            y=cut.region.top,
            width=cut.region.width,
            height=cut.region.height,
            preserveAspectRatio="none",
            href=data_uri(picture),
        )


def _make(cuts: Sequence[Cut], *, scale: float) -> list[tuple[Cut, bytes]]:
    """The parts of one screenshot, which is read once; nothing if it is not what was annotated."""
    image = _read(cuts[0])
    if image is None:
        return []
    made = []
    for cut in cuts:
        box = cut.region
        part = image.crop((box.left, box.top, box.right, box.bottom))
        smaller = min(1.0, (cut.limits.pixels / (box.width * box.height)) ** 0.5)
        made.append((cut, webp(part, smaller, max(int(scale * cut.limits.bytes), _LEAST_BYTES))))
    return made


def _read(cut: Cut) -> Image | None:
    from PIL import Image

    path = Path(cut.image)
    try:
        # Published files name images relative to folders that are not known here.
        if not path.is_absolute() or not path.is_file():
            return None
        with Image.open(path, formats=_FORMATS) as opened:
            same = opened.size == (cut.width, cut.height)
            return opened.convert("RGB") if same else None
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
