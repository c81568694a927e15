"""Screenshots, and the parts of them that grounders look at.

whole = Picture.open(path)                     # nothing is read yet
part = whole.crop(Box(0.5, 0, 0.5, 0.5), scale=2)
part.to_whole((0.5, 0.5))                      # (0.75, 0.25) of the whole screenshot
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from uiproof.benchmarks.grounding.coordinates import WHOLE, Point
from uiproof.errors import InputError
from uiproof.files import access
from uiproof.geometry import Box, PixelBox

if TYPE_CHECKING:
    from uiproof.vision.images import Rgb

T = TypeVar("T")

# Cases of the same screenshot come one after the other. A decoded 4K screenshot has 25 MB.
_KEPT_SCREENSHOTS = 6


class Picture:
    """A screenshot or a part of one, perhaps scaled. Pixels are read when they are needed."""

    def __init__(self, screenshot: _Screenshot, area: PixelBox | None, scale: float = 1.0) -> None:
        self._screenshot, self._area, self.scale = screenshot, area, scale

    @classmethod
    def open(cls, path: Path) -> Picture:
        """Return the whole screenshot in a file; the last few are kept decoded."""
        with access(path, "read"):
            facts = path.stat()
        return cls(_screenshot(path, facts.st_mtime_ns, facts.st_size), None)

    @classmethod
    def of(cls, content: bytes) -> Picture:
        """Return the whole screenshot in the bytes of a PNG, JPEG or WebP file."""
        return cls(_Screenshot(None, content), None)

    @property
    def untouched(self) -> bool:
        """Return whether this is the whole screenshot at its own scale."""
        return self._area is None and self.scale == 1

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in pixels, as it would be sent."""
        area = self.area
        return max(round(area.width * self.scale), 1), max(round(area.height * self.scale), 1)

    @property
    def area(self) -> PixelBox:
        """Return the pixels of the screenshot that it shows."""
        return self._area or PixelBox(0, 0, *self._screenshot.size)

    @property
    def region(self) -> Box:
        """Return the part of the screenshot that it shows, to the pixel that was cut."""
        return WHOLE if self._area is None else self._area.normalised(*self._screenshot.size)

    @property
    def whole_size(self) -> tuple[int, int]:
        """Return width and height in pixels of the whole screenshot."""
        return self._screenshot.size

    @property
    def digest(self) -> str:
        """Return a digest that is the same for the same content, for caches."""
        if self.untouched:
            return self._screenshot.digest
        area = self.area
        place = f"{area.left},{area.top},{area.right},{area.bottom}@{self.scale!r}"
        return hashlib.sha256(f"{self._screenshot.digest} {place}".encode()).hexdigest()

    def png(self) -> bytes:
        """Return the whole screenshot's file as it is, whatever its format; else a PNG."""
        if self.untouched:
            return self._screenshot.content
        from uiproof.vision import images

        return images.encode_png(self.rgb())

    def rgb(self) -> Rgb:
        """Return the pixels, height x width x 3; not to be written to."""
        area = self.area
        pixels = self._screenshot.rgb()[area.top : area.bottom, area.left : area.right]
        if self.scale == 1:
            return pixels
        import cv2
        import numpy as np

        how = cv2.INTER_CUBIC if self.scale > 1 else cv2.INTER_AREA
        return np.asarray(cv2.resize(pixels, self.size, interpolation=how), np.uint8)

    def crop(self, box: Box, scale: float | None = None) -> Picture:
        """Return a part, given as fractions of this picture, grown outwards to whole pixels.

        Parts are cut from the screenshot, so that a part of an enlarged part is sharp. `scale` is
        that of the result against the screenshot, 1 by default. What lies outside is cut off;
        raises `InputError` when nothing is left.
        """
        area = self.box_to_whole(box).to_pixels(*self.whole_size).intersection(self.area)
        if area is None:
            raise InputError(f"There is nothing of the picture in {box}.")
        if scale is not None and not 0 < scale < float("inf"):
            raise InputError(f"A picture cannot be scaled by {scale}.")
        whole = area == PixelBox(0, 0, *self.whole_size)
        return Picture(self._screenshot, None if whole else area, scale or 1.0)

    def cut(self, area: PixelBox) -> Picture:
        """Return exactly these pixels, which Pillow encodes in their own colours and transparency.

        So does openadapt-grounding.
        """
        return _Cutout(self._screenshot, area)

    def to_whole(self, point: Point) -> Point:
        """Return a point of this picture as a point of the whole screenshot."""
        region = self.region
        return region.x + point[0] * region.w, region.y + point[1] * region.h

    def box_to_whole(self, box: Box) -> Box:
        """Return a box of this picture as a box of the whole screenshot."""
        region = self.region
        x, y = self.to_whole((box.x, box.y))
        return Box(x, y, box.w * region.w, box.h * region.h)


class _Cutout(Picture):
    def png(self) -> bytes:
        return self._screenshot.cut(self.area)


class PictureMemo(Generic[T]):
    """Results by picture, each computed once; the least recently used are dropped."""

    def __init__(self, kept: int = 64) -> None:
        self._kept = kept
        self._tasks: OrderedDict[str, asyncio.Task[T]] = OrderedDict()

    async def get(
        self,
        picture: Picture,
        compute: Callable[[], Coroutine[Any, Any, T]],
        *,
        fresh: bool = False,
    ) -> tuple[T, bool]:
        """Return the result, and whether it was known or under way already."""
        key = picture.digest
        task = self._tasks.get(key)
        if task is not None and task.done() and (fresh or task.cancelled() or task.exception()):
            task = None
        known = task is not None
        if task is None:
            task = self._tasks[key] = asyncio.create_task(compute())
            while len(self._tasks) > self._kept and next(iter(self._tasks.values())).done():
                self._tasks.popitem(last=False)
        self._tasks.move_to_end(key)
        # Several cases may wait for the same picture: one that is cancelled must not stop it.
        return await asyncio.shield(task), known

    async def close(self) -> None:
        """Cancel what is under way."""
        tasks, self._tasks = list(self._tasks.values()), OrderedDict()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Screenshot:
    """A file, read and decoded at most once. Threads may share it."""

    def __init__(self, path: Path | None, content: bytes = b"") -> None:
        self._path, self._given = path, content
        self._rgb: Rgb | None = None
        self._lock = Lock()

    @cached_property
    def content(self) -> bytes:
        if self._path is None:
            return self._given
        with access(self._path, "read"):
            return self._path.read_bytes()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def size(self) -> tuple[int, int]:
        from uiproof.vision import images

        with self._naming():
            return images.size(BytesIO(self.content))

    def rgb(self) -> Rgb:
        from uiproof.vision import images

        with self._lock, self._naming():
            if self._rgb is None:
                self._rgb = images.decode(self.content)
                self._rgb.flags.writeable = False
            return self._rgb

    def cut(self, area: PixelBox) -> bytes:
        from PIL import Image

        from uiproof.vision import images

        encoded = BytesIO()
        with self._naming():
            try:
                with Image.open(BytesIO(self.content), formats=images.FORMATS) as whole:
                    part = whole.crop((area.left, area.top, area.right, area.bottom))
                part.save(encoded, format="PNG")
            except (OSError, SyntaxError, ValueError) as error:
                raise images.unreadable(error) from error
        return encoded.getvalue()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the file in errors about its content."""
        try:
            yield
        except InputError as error:
            raise InputError(
                f"{self._path or 'The picture'}: {error.message}",
                remedy="Give a whole PNG, JPEG or WebP file.",
            ) from error


@lru_cache(maxsize=_KEPT_SCREENSHOTS)
def _screenshot(path: Path, _modified: int, _bytes: int) -> _Screenshot:
    return _Screenshot(path)
