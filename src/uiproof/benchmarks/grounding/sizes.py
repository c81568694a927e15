"""How large an element is, by two rules that are both written down with every result."""

from __future__ import annotations

from uiproof.boxes import Box

SIZES = ("small", "medium", "large")

SHORT_SIDE_RULE = "short side in pixels of the screenshot: small < 32, medium 32-100, large > 100"
# The rule of openadapt-grounding, whatever its labels say about pixels.
AREA_RULE = "part of the screenshot's area: small < 0.001, medium < 0.01, large from there on"


def by_short_side(box: Box, width: int, height: int) -> str:
    """`small`, `medium` or `large` by `SHORT_SIDE_RULE`."""
    # Rounded, because 32 px may be 31.999… after a conversion to fractions and back.
    side = round(min(box.w * width, box.h * height), 6)
    return "small" if side < 32 else "medium" if side <= 100 else "large"


def by_area(box: Box) -> str:
    """`small`, `medium` or `large` by `AREA_RULE`."""
    return "small" if box.area < 0.001 else "medium" if box.area < 0.01 else "large"
