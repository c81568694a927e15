"""Which of several points to believe."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

from uiproof.benchmarks.grounding.answers import Point
from uiproof.benchmarks.grounding.searches.base import Sight, in_pixels, whole_size

AGREEING_SHARE, AGREEING_PIXELS = 0.0125, 16.0  # of the longer side; at least so many pixels


def most_agreed(sights: Sequence[Sight]) -> Sight | None:
    """The sight that most others agree with; None where none points into its own picture.

    Two agree whose points are within 1.25 % of the screenshot's longer side, at least 16 px. Of
    those with as many others the surest is taken, where a grounder says how sure it is; then the
    one that looked closest; and where nobody agrees with anybody, the first.
    """
    pointing = [(sight, point) for sight in sights if (point := sight.point) is not None]
    if not pointing:
        return None
    points = [in_pixels(sight.picture, point) for sight, point in pointing]
    reach = max(AGREEING_SHARE * max(whole_size(pointing[0][0].picture)), AGREEING_PIXELS)
    agreeing = [sum(dist(one, other) <= reach for other in points) for one in points]

    def rank(index: int) -> tuple[float, ...]:
        sight = pointing[index][0]
        closeness = -sight.picture.region.area if agreeing[index] > 1 else 0.0
        return agreeing[index], sight.guess.confidence or 0.0, closeness, -index

    return pointing[max(range(len(pointing)), key=rank)][0]


def nearest(sights: Sequence[Sight], point: Point) -> tuple[Sight | None, float]:
    """The sight whose point is nearest to a point of the whole screenshot, and how near in pixels.

    None, and infinitely far, where none points into its own picture.
    """
    best: Sight | None = None
    least = float("inf")
    for sight in sights:
        if sight.point is not None:
            far = dist(in_pixels(sight.picture, sight.point), in_pixels(sight.picture, point))
            if far < least:
                best, least = sight, far
    return best, least
