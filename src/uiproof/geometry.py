"""Boxes as fractions of an image and in pixels, and the only conversions between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class Box:
    """A box as fractions of its image: left, top, width, height, all in 0-1."""

    x: float
    y: float
    w: float
    h: float

    @classmethod
    def around(cls, points: Iterable[tuple[float, float]]) -> Box:
        """Return the smallest box around some points."""
        xs, ys = zip(*points, strict=True)
        return cls(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))

    @property
    def area(self) -> float:
        """Return the share of the image that the box covers."""
        return self.w * self.h

    @property
    def centre(self) -> tuple[float, float]:
        """Return the centre of the box."""
        return self.x + self.w / 2, self.y + self.h / 2

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point is inside the box or on its edge."""
        return self.x <= x <= self.x + self.w and self.y <= y <= self.y + self.h

    def union(self, other: Box) -> Box:
        """Return the smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        right = max(self.x + self.w, other.x + other.w)
        bottom = max(self.y + self.h, other.y + other.h)
        return Box(x, y, right - x, bottom - y)

    def overlap(self, other: Box) -> float:
        """Return the area that both boxes cover."""
        w = min(self.x + self.w, other.x + other.w) - max(self.x, other.x)
        h = min(self.y + self.h, other.y + other.h) - max(self.y, other.y)
        return max(w, 0.0) * max(h, 0.0)

    def iou(self, other: Box) -> float:
        """Return intersection over union."""
        shared = self.overlap(other)
        return min(shared / (self.area + other.area - shared), 1.0) if shared else 0.0

    def to_pixels(self, width: int, height: int) -> PixelBox:
        """Return the box on an image of this size, rounded outwards to whole pixels."""
        # The small allowance undoes floating point noise, so that pixel boxes survive a round trip.
        return PixelBox(
            max(floor(self.x * width + _NOISE), 0),
            max(floor(self.y * height + _NOISE), 0),
            min(ceil((self.x + self.w) * width - _NOISE), width),
            min(ceil((self.y + self.h) * height - _NOISE), height),
        )


@dataclass(frozen=True, slots=True)
class PixelBox:
    """A box in whole pixels; `right` and `bottom` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Return the number of pixels across."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Return the number of pixels down."""
        return self.bottom - self.top

    @property
    def area(self) -> int:
        """Return the number of pixels in the box; 0 where it is inside out."""
        return max(self.width, 0) * max(self.height, 0)

    @property
    def centre(self) -> tuple[float, float]:
        """Return the centre of the box."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point is inside the box."""
        return self.left <= x < self.right and self.top <= y < self.bottom

    def encloses(self, other: PixelBox) -> bool:
        """Return whether another box is completely inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )

    def intersection(self, other: PixelBox) -> PixelBox | None:
        """Return what both boxes cover; None where that is nothing."""
        shared = PixelBox(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )
        return shared if shared.width > 0 and shared.height > 0 else None

    def union(self, other: PixelBox) -> PixelBox:
        """Return the smallest box around both."""
        return PixelBox(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def overlap(self, other: PixelBox) -> int:
        """Return the number of pixels in both boxes."""
        shared = self.intersection(other)
        return 0 if shared is None else shared.area

    def iou(self, other: PixelBox) -> float:
        """Return intersection over union."""
        shared = self.overlap(other)
        return shared / (self.area + other.area - shared) if shared else 0.0

    def normalised(self, width: int, height: int) -> Box:
        """Return the box as fractions of an image of this size."""
        return Box(self.left / width, self.top / height, self.width / width, self.height / height)
