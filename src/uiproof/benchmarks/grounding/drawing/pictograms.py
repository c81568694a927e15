"""The icons of the synthetic screenshots: pictograms made of discs, lines and polygons.

They are drawn on a square of 96 units in whole numbers and then scaled, so that they look the
same in every size and on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.grounding.drawing.masks import Mask, resampled, trimmed

_UNITS = 96
_SAMPLES = 6  # per unit and axis

_Area = npt.NDArray[np.bool_]
_Points = tuple[tuple[int, int], ...]


class _Sheet:
    """The square to draw on; every shape is the area that it covers."""

    def __init__(self) -> None:
        steps = np.arange(_UNITS * _SAMPLES, dtype=np.int64) * 2 + 1
        self._x, self._y = steps[None, :], steps[:, None]
        self._unit = 2 * _SAMPLES

    def disc(self, x: int, y: int, radius: int) -> _Area:
        across, down = self._x - x * self._unit, self._y - y * self._unit
        return across**2 + down**2 <= (radius * self._unit) ** 2

    def ring(self, x: int, y: int, radius: int, thickness: int) -> _Area:
        return self.disc(x, y, radius) & ~self.disc(x, y, radius - thickness)

    def box(self, left: int, top: int, right: int, bottom: int) -> _Area:
        unit = self._unit
        columns = (self._x >= left * unit) & (self._x < right * unit)
        return columns & (self._y >= top * unit) & (self._y < bottom * unit)

    def frame(self, left: int, top: int, right: int, bottom: int, thickness: int) -> _Area:
        inner = self.box(left + thickness, top + thickness, right - thickness, bottom - thickness)
        return self.box(left, top, right, bottom) & ~inner

    def line(self, thickness: int, *points: tuple[int, int]) -> _Area:
        """A line through all points, with round ends and joints; `thickness` must be even."""
        area = self.disc(*points[0], thickness // 2)
        for start, end in pairwise(points):
            area |= self._stroke(start, end, thickness // 2) | self.disc(*end, thickness // 2)
        return area

    def _stroke(self, start: tuple[int, int], end: tuple[int, int], reach: int) -> _Area:
        unit = self._unit
        dx, dy = (end[0] - start[0]) * unit, (end[1] - start[1]) * unit
        across, down = self._x - start[0] * unit, self._y - start[1] * unit
        length = dx * dx + dy * dy
        along = across * dx + down * dy
        aside = across * dy - down * dx
        near = aside**2 <= (reach * unit) ** 2 * length
        return (along >= 0) & (along <= length) & near

    def polygon(self, *points: tuple[int, int]) -> _Area:
        unit = self._unit
        area = np.zeros((_UNITS * _SAMPLES, _UNITS * _SAMPLES), np.bool_)
        for (x1, y1), (x2, y2) in zip(points, (*points[1:], points[0]), strict=True):
            if y1 == y2:
                continue
            (xa, ya), (xb, yb) = sorted(((x1, y1), (x2, y2)), key=lambda point: point[1])
            rows = (self._y >= ya * unit) & (self._y < yb * unit)
            left_of = (self._x - xa * unit) * (yb - ya) < (self._y - ya * unit) * (xb - xa)
            area ^= rows & left_of
        return area


@dataclass(frozen=True, slots=True)
class Pictogram:
    """An icon: how it is drawn, and what it stands for."""

    draw: Callable[[_Sheet], _Area]
    meanings: tuple[str, ...] = ()  # words that could ask for it without naming the shape


_STAR: _Points = ((48, 4), (61, 34), (94, 37), (69, 58), (77, 91), (48, 74), (19, 91), (27, 58))
_STAR = (*_STAR, (2, 37), (35, 34))
_ARROW: _Points = ((48, 8), (86, 48), (64, 48), (64, 88), (32, 88), (32, 48), (10, 48))
_TEETH = (((48, 6), (48, 90)), ((6, 48), (90, 48)), ((18, 18), (78, 78)), ((78, 18), (18, 78)))
_RAYS = (*_TEETH[:2], ((19, 19), (77, 77)), ((77, 19), (19, 77)))


def _arrow(turn: int) -> Callable[[_Sheet], _Area]:
    return lambda sheet: np.rot90(sheet.polygon(*_ARROW), turn)


def _gear(sheet: _Sheet) -> _Area:
    teeth: _Area = np.logical_or.reduce([sheet.line(18, *tooth) for tooth in _TEETH])
    return (teeth | sheet.disc(48, 48, 33)) & ~sheet.disc(48, 48, 14)


def _sun(sheet: _Sheet) -> _Area:
    rays: _Area = np.logical_or.reduce([sheet.line(8, *ray) for ray in _RAYS])
    return (rays & ~sheet.disc(48, 48, 28)) | sheet.disc(48, 48, 20)


def _bell(sheet: _Sheet) -> _Area:
    body = sheet.disc(48, 36, 24) | sheet.box(24, 36, 72, 62)
    brim = sheet.polygon((24, 60), (72, 60), (86, 76), (10, 76))
    return body | brim | sheet.disc(48, 82, 9) | sheet.disc(48, 11, 6)


def _envelope(sheet: _Sheet) -> _Area:
    return sheet.frame(6, 18, 90, 78, 7) | sheet.line(8, (10, 23), (48, 54), (86, 23))


def _trash_can(sheet: _Sheet) -> _Area:
    can = sheet.polygon((20, 30), (76, 30), (70, 92), (26, 92))
    slots = sheet.box(35, 40, 41, 82) | sheet.box(45, 40, 51, 82) | sheet.box(55, 40, 61, 82)
    return (can & ~slots) | sheet.box(12, 16, 84, 25) | sheet.frame(36, 6, 60, 20, 6)


def _padlock(sheet: _Sheet) -> _Area:
    shackle = (sheet.ring(48, 32, 25, 9) & sheet.box(0, 0, 96, 32)) | (
        sheet.box(23, 32, 32, 44) | sheet.box(64, 32, 73, 44)
    )
    keyhole = sheet.disc(48, 62, 7) | sheet.box(45, 62, 51, 78)
    return shackle | (sheet.box(14, 42, 82, 92) & ~keyhole)


def _camera(sheet: _Sheet) -> _Area:
    body = sheet.box(6, 26, 90, 82) | sheet.polygon((32, 26), (38, 14), (58, 14), (64, 26))
    return (body & ~sheet.disc(48, 54, 21)) | sheet.disc(48, 54, 13)


def _calendar(sheet: _Sheet) -> _Area:
    days = sheet.box(0, 0, 0, 0)
    for x in (24, 42, 60):
        for y in (48, 65):
            days = days | sheet.box(x, y, x + 11, y + 10)
    page = sheet.frame(8, 16, 88, 88, 7) | sheet.box(8, 16, 88, 38)
    return page | days | sheet.box(24, 6, 33, 20) | sheet.box(63, 6, 72, 20)


def _document(sheet: _Sheet) -> _Area:
    page = sheet.polygon((18, 6), (56, 6), (80, 30), (80, 90), (18, 90))
    lines = sheet.box(30, 44, 68, 50) | sheet.box(30, 58, 68, 64) | sheet.box(30, 72, 68, 78)
    return page & ~lines & ~sheet.line(4, (55, 8), (55, 31), (78, 31))


def _pencil(sheet: _Sheet) -> _Area:
    shaft = sheet.polygon((66, 10), (86, 30), (34, 82), (14, 62))
    tip = sheet.polygon((12, 66), (30, 84), (6, 90))
    return (shaft & ~sheet.line(4, (57, 19), (77, 39))) | tip


def _cart(sheet: _Sheet) -> _Area:
    basket = sheet.polygon((22, 26), (90, 26), (80, 60), (30, 60))
    wheels = sheet.disc(38, 82, 9) | sheet.disc(72, 82, 9)
    return basket | sheet.line(8, (6, 12), (18, 12), (32, 68), (78, 68)) | wheels


def _speaker(sheet: _Sheet) -> _Area:
    cone = sheet.polygon((6, 34), (24, 34), (48, 12), (48, 84), (24, 62), (6, 62))
    waves = sheet.ring(44, 48, 24, 7) | sheet.ring(44, 48, 42, 7)
    return cone | (waves & sheet.polygon((48, 44), (96, 8), (96, 88), (48, 52)))


def _moon(sheet: _Sheet) -> _Area:
    return sheet.disc(46, 48, 40) & ~sheet.disc(66, 36, 36)


def _cloud(sheet: _Sheet) -> _Area:
    puffs = sheet.disc(26, 58, 20) | sheet.disc(50, 42, 26) | sheet.disc(74, 60, 18)
    return puffs | sheet.box(26, 56, 74, 78)


def _globe(sheet: _Sheet) -> _Area:
    meridian = sheet.ring(8, 48, 56, 6) | sheet.ring(88, 48, 56, 6)
    lines = meridian | sheet.box(45, 6, 51, 90) | sheet.box(6, 45, 90, 51)
    return sheet.ring(48, 48, 42, 7) | (lines & sheet.disc(48, 48, 42))


PICTOGRAMS = {
    "magnifier": Pictogram(
        lambda sheet: sheet.ring(40, 40, 32, 10) | sheet.line(14, (64, 64), (86, 86)),
        ("search", "find", "look", "zoom"),
    ),
    "gear": Pictogram(_gear, ("setting", "option", "preference", "configur", "setup")),
    "house": Pictogram(
        lambda sheet: (
            sheet.polygon((48, 6), (92, 48), (80, 48), (80, 90), (16, 90), (16, 48), (4, 48))
            & ~sheet.box(40, 58, 56, 90)
        ),
        ("home", "start page", "address"),
    ),
    "heart": Pictogram(
        lambda sheet: (
            sheet.disc(27, 32, 23)
            | sheet.disc(69, 32, 23)
            | sheet.polygon((9, 46), (48, 26), (87, 46), (48, 90))
        ),
        ("favo", "like", "wish", "love"),
    ),
    "star": Pictogram(lambda sheet: sheet.polygon(*_STAR), ("favo", "rat", "review")),
    "bell": Pictogram(_bell, ("notif", "alert", "remind", "alarm")),
    "envelope": Pictogram(_envelope, ("mail", "message", "inbox", "contact", "letter")),
    "trash can": Pictogram(_trash_can, ("delete", "remove", "clear", "discard", "bin")),
    "plus": Pictogram(
        lambda sheet: sheet.box(40, 8, 56, 88) | sheet.box(8, 40, 88, 56),
        ("add", "new", "create", "zoom", "insert"),
    ),
    "cross": Pictogram(
        lambda sheet: sheet.line(16, (16, 16), (80, 80)) | sheet.line(16, (80, 16), (16, 80)),
        ("close", "cancel", "dismiss", "clear", "stop"),
    ),
    "check mark": Pictogram(
        lambda sheet: sheet.line(16, (12, 50), (38, 76), (84, 22)),
        ("ok", "done", "confirm", "apply", "accept", "agree", "finish"),
    ),
    "left arrow": Pictogram(_arrow(1), ("back", "previous", "undo", "return")),
    "right arrow": Pictogram(_arrow(3), ("next", "forward", "continue", "redo", "proceed")),
    "up arrow": Pictogram(_arrow(0), ("upload", "top", "up")),
    "down arrow": Pictogram(_arrow(2), ("download", "down", "more", "export")),
    "padlock": Pictogram(_padlock, ("lock", "password", "secur", "privacy", "private")),
    "person": Pictogram(
        lambda sheet: (
            sheet.disc(48, 28, 21) | (sheet.disc(48, 94, 40) & sheet.box(0, 54, 96, 90))
        ),
        ("profile", "account", "user", "person", "customer", "team", "sign in", "log in"),
    ),
    "camera": Pictogram(_camera, ("photo", "picture", "capture", "image")),
    "clock": Pictogram(
        lambda sheet: sheet.ring(48, 48, 42, 9) | sheet.line(8, (48, 24), (48, 50), (66, 58)),
        ("time", "history", "recent", "later", "hour"),
    ),
    "calendar": Pictogram(_calendar, ("date", "event", "schedule", "day", "month", "week")),
    "folder": Pictogram(
        lambda sheet: sheet.polygon(
            (6, 18), (38, 18), (48, 30), (90, 30), (90, 82), (6, 82)
        ),
        ("file", "open", "browse", "director"),
    ),
    "document": Pictogram(_document, ("file", "paper", "page", "report", "note", "terms")),
    "play": Pictogram(
        lambda sheet: sheet.polygon((20, 6), (88, 48), (20, 90)), ("play", "run", "start", "video")
    ),
    "pause": Pictogram(
        lambda sheet: sheet.box(20, 10, 40, 86) | sheet.box(56, 10, 76, 86), ("pause", "hold")
    ),
    "speaker": Pictogram(_speaker, ("sound", "volume", "audio", "mute", "music")),
    "cloud": Pictogram(_cloud, ("sync", "weather", "upload", "backup")),
    "flag": Pictogram(
        lambda sheet: (
            sheet.box(16, 6, 25, 92)
            | sheet.polygon((25, 10), (84, 10), (70, 31), (84, 52), (25, 52))
        ),
        ("report", "language", "country", "mark"),
    ),
    "bookmark": Pictogram(
        lambda sheet: sheet.polygon((22, 6), (74, 6), (74, 92), (48, 68), (22, 92)),
        ("save", "read later", "mark"),
    ),
    "pencil": Pictogram(_pencil, ("edit", "rename", "write", "draft", "change")),
    "menu": Pictogram(
        lambda sheet: (
            sheet.box(8, 16, 88, 28) | sheet.box(8, 42, 88, 54) | sheet.box(8, 68, 88, 80)
        ),
        ("menu", "more", "navigation"),
    ),
    "sun": Pictogram(_sun, ("bright", "light", "theme", "weather", "day")),
    "moon": Pictogram(_moon, ("dark", "night", "theme", "sleep")),
    "shopping cart": Pictogram(_cart, ("cart", "basket", "buy", "shop", "checkout", "order")),
    "bar chart": Pictogram(
        lambda sheet: (
            sheet.box(12, 52, 30, 88) | sheet.box(39, 10, 57, 88) | sheet.box(66, 32, 84, 88)
        ),
        ("chart", "statistic", "analy", "report", "dashboard"),
    ),
    "map pin": Pictogram(
        lambda sheet: (
            (sheet.disc(48, 36, 30) | sheet.polygon((20, 46), (76, 46), (48, 92)))
            & ~sheet.disc(48, 36, 12)
        ),
        ("location", "map", "place", "store", "direction", "city"),
    ),
    "globe": Pictogram(_globe, ("language", "web", "world", "region", "internet", "country")),
}  # fmt: skip


@lru_cache(maxsize=2048)
def pictogram(name: str, size: int) -> Mask:
    """An icon whose longer side is this many pixels; the mask holds just the ink."""
    drawing = _drawing(name)
    return trimmed(resampled(drawing, size, max(drawing.shape)))[2]


@cache
def _drawing(name: str) -> Mask:
    area = PICTOGRAMS[name].draw(_Sheet())
    return trimmed(area.astype(np.uint8) * 255)[2]
