"""What a grounder is, what it is shown, and what it says.

whole = Picture.open(path)                     # nothing is read yet
part = whole.crop(Box(0.5, 0, 0.5, 0.5), scale=2)
guess = await grounder.ground(part, "Click on the 'Save' button", context)
if guess.click is not None:
    print(part.to_whole(guess.click))          # as fractions of the whole screenshot
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from uiproof.benchmarks.grounding.answers import WHOLE, Point
from uiproof.boxes import Box, PixelBox
from uiproof.engine.storage import access
from uiproof.errors import InputError

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.vision.images import Rgb

# Cases of the same screenshot come one after the other. A decoded 4K screenshot has 25 MB.
_KEPT_SCREENSHOTS = 6


class _Screenshot:
    """A file, read and decoded at most once. Threads may share it."""

    def __init__(self, path: Path | None, content: bytes | None = None) -> None:
        self._path, self._content = path, content
        self._rgb: Rgb | None = None
        self._size: tuple[int, int] | None = None
        self._digest: str | None = None
        self._lock = RLock()

    def content(self) -> bytes:
        with self._lock:
            if self._content is None:
                assert self._path is not None
                with access(self._path, "read"):
                    self._content = self._path.read_bytes()
            return self._content

    def digest(self) -> str:
        with self._lock:
            if self._digest is None:
                self._digest = hashlib.sha256(self.content()).hexdigest()
            return self._digest

    def size(self) -> tuple[int, int]:
        from uiproof.vision import images

        with self._lock:
            if self._size is None:
                try:
                    self._size = images.size(BytesIO(self.content()))
                except InputError as error:
                    raise self._undecodable(error.message) from error
            return self._size

    def rgb(self) -> Rgb:
        from uiproof.vision import images

        with self._lock:
            if self._rgb is None:
                try:
                    self._rgb = images.decode(self.content())
                except InputError as error:
                    raise self._undecodable(error.message) from error
                self._rgb.flags.writeable = False
            return self._rgb

    def _undecodable(self, why: str) -> InputError:
        where = self._path or "The picture"
        return InputError(f"{where}: {why}", remedy="Give a whole PNG, JPEG or WebP file.")


@lru_cache(maxsize=_KEPT_SCREENSHOTS)
def _screenshot(path: Path, _modified: int, _bytes: int) -> _Screenshot:
    return _Screenshot(path)


class Picture:
    """A screenshot, or a part of one, perhaps scaled. Cheap to make: pixels come when asked for."""

    def __init__(self, screenshot: _Screenshot, area: PixelBox | None, scale: float = 1.0) -> None:
        self._screenshot, self._area, self.scale = screenshot, area, scale

    @classmethod
    def open(cls, path: Path) -> Picture:
        """The whole screenshot in a file. A few are kept decoded for the pictures to come."""
        with access(path, "read"):
            facts = path.stat()
        return cls(_screenshot(path, facts.st_mtime_ns, facts.st_size), None)

    @classmethod
    def of(cls, content: bytes) -> Picture:
        """The whole screenshot in the bytes of a PNG, JPEG or WebP file."""
        return cls(_Screenshot(None, content), None)

    @property
    def untouched(self) -> bool:
        """Whether this is the whole screenshot at its own scale."""
        return self._area is None and self.scale == 1

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, as it would be sent."""
        area = self.area
        return max(round(area.width * self.scale), 1), max(round(area.height * self.scale), 1)

    @property
    def area(self) -> PixelBox:
        """Which pixels of the screenshot it shows."""
        return self._area or PixelBox(0, 0, *self._screenshot.size())

    @property
    def region(self) -> Box:
        """Which part of the whole screenshot it shows: exactly, to the pixel that was cut."""
        if self._area is None:
            return WHOLE
        return self._area.normalised(*self._screenshot.size())

    @property
    def digest(self) -> str:
        """The same for the same content: what a cache may go by."""
        if self.untouched:
            return self._screenshot.digest()
        area = self.area
        place = f"{area.left},{area.top},{area.right},{area.bottom}@{self.scale!r}"
        return hashlib.sha256(f"{self._screenshot.digest()} {place}".encode()).hexdigest()

    def png(self) -> bytes:
        """The file of the whole screenshot as it is, whatever its format; else a PNG of the part.

        A part is encoded anew with every call.
        """
        if self.untouched:
            return self._screenshot.content()
        from uiproof.vision import images

        return images.encode_png(self.rgb())

    def rgb(self) -> Rgb:
        """The pixels, height x width x 3; not to be written to."""
        area = self.area
        pixels = self._screenshot.rgb()[area.top : area.bottom, area.left : area.right]
        if self.scale == 1:
            return pixels
        import cv2
        import numpy as np

        how = cv2.INTER_CUBIC if self.scale > 1 else cv2.INTER_AREA
        return np.asarray(cv2.resize(pixels, self.size, interpolation=how), np.uint8)

    def crop(self, box: Box, scale: float | None = None) -> Picture:
        """A part of it, given as fractions of this picture, grown outwards to whole pixels.

        Parts are always cut from the screenshot itself, so a part of an enlarged part is as sharp
        as can be. `scale` is that of the result against the screenshot: 1 unless given.
        What lies outside is cut off; raises `InputError` when nothing is left.
        """
        width, height = self._screenshot.size()
        outer = self.area
        inner = self.box_to_whole(box).to_pixels(width, height)
        area = PixelBox(
            max(inner.left, outer.left),
            max(inner.top, outer.top),
            min(inner.right, outer.right),
            min(inner.bottom, outer.bottom),
        )
        if area.width < 1 or area.height < 1:
            raise InputError(f"There is nothing of the picture in {box}.")
        if scale is not None and not 0 < scale < float("inf"):
            raise InputError(f"A picture cannot be scaled by {scale}.")
        whole = area == PixelBox(0, 0, width, height)
        return Picture(self._screenshot, None if whole else area, scale or 1.0)

    def to_whole(self, point: Point) -> Point:
        """A point of this picture as a point of the whole screenshot, both as fractions."""
        region = self.region
        return region.x + point[0] * region.w, region.y + point[1] * region.h

    def box_to_whole(self, box: Box) -> Box:
        """A box of this picture as a box of the whole screenshot, both as fractions."""
        region = self.region
        x, y = self.to_whole((box.x, box.y))
        return Box(x, y, box.w * region.w, box.h * region.h)

    def from_whole(self, point: Point) -> Point:
        """A point of the whole screenshot as a point of this picture, which may be outside 0-1."""
        region = self.region
        return (point[0] - region.x) / region.w, (point[1] - region.y) / region.h


@dataclass(frozen=True, slots=True)
class Guess:
    """Where a grounder thinks the element is, as fractions of the picture that it was shown.

    `refused` says that it is not there. With neither a point, a box nor a refusal, the grounder
    said nothing that could be understood, and `unparseable` says so.
    """

    point: Point | None = None
    box: Box | None = None
    refused: bool = False
    confidence: float | None = None  # 0-1, where a grounder knows one
    raw: str = ""  # what was said, word by word
    unparseable: bool = False
    # Size in pixels of what a model was really sent, where that was not the picture as it is: what
    # its answer in pixels is about.
    sent: tuple[int, int] | None = None

    @property
    def click(self) -> Point | None:
        """Where to click: the point, else the middle of the box."""
        return self.point if self.point is not None or self.box is None else self.box.center


class Grounder(Protocol):
    """What finds an element. It sees a picture and an instruction, never the truth."""

    @property
    def name(self) -> str:
        """How tables call it, for example `ocr`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its guesses; written into the run."""

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:
        """Find what the instruction asks for.

        Raises `ModelError` when a server failed, which is never the same as finding nothing.
        """

    async def close(self) -> None:
        """Let go of connections."""
