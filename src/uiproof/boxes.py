"""Boxes: normalised ones, pixel ones, and the only conversions between them."""

from __future__ import annotations

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

    @property
    def area(self) -> float:
        """The share of the image that the box covers."""
        return self.w * self.h

    @property
    def center(self) -> tuple[float, float]:
        """The middle of the box, as fractions of the image."""
        return self.x + self.w / 2, self.y + self.h / 2

    def union(self, other: Box) -> Box:
        """The smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        right = max(self.x + self.w, other.x + other.w)
        bottom = max(self.y + self.h, other.y + other.h)
        return Box(x, y, right - x, bottom - y)

    def iou(self, other: Box) -> float:
        """What both boxes cover together, as a share of what they cover at all."""
        w = min(self.x + self.w, other.x + other.w) - max(self.x, other.x)
        h = min(self.y + self.h, other.y + other.h) - max(self.y, other.y)
        shared = max(w, 0.0) * max(h, 0.0)
        return min(shared / (self.area + other.area - shared), 1.0) if shared else 0.0

    def to_pixels(self, width: int, height: int) -> PixelBox:
        """The same box on an image of this size, rounded outwards to whole pixels."""
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
        """Pixels across."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Pixels down."""
        return self.bottom - self.top

    def normalised(self, width: int, height: int) -> Box:
        """The same box as fractions of an image of this size."""
        return Box(self.left / width, self.top / height, self.width / width, self.height / height)
