"""A grounding case as drawings over parts of its screenshot, which stay sharp at any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uiproof.boxes import Box, PixelBox
from uiproof.report.markup import Markup, tag

Point = tuple[float, float]

_WIDE, _TALL = 1.6, 0.8  # width by height of a picture alone, and of two beside each other
_LEAST_HEIGHT = 200  # pixels: smaller parts of a screenshot show nothing around the element
_FEWEST_MARGIN, _MOST_MARGIN = 24, 120  # pixels on each side
_MOST_LOOKS = 40


@dataclass(frozen=True, slots=True)
class Scene:
    """The places of one case, as fractions of its screenshot."""

    width: int
    height: int
    target: Box | None  # None where the right answer is to refuse
    polygon: tuple[Point, ...]
    clickable: Box | None
    click: Point | None
    said: Box | None  # the box of the answer
    looks: tuple[Box, ...]  # parts of the screenshot that were looked at

    @property
    def clicked(self) -> Point | None:
        """Where the click can be drawn: at the edge if it is outside of the screenshot."""
        if self.click is None:
            return None
        return min(max(self.click[0], 0.0), 1.0), min(max(self.click[1], 0.0), 1.0)

    @property
    def outside(self) -> bool:
        """Whether the click is not on the screenshot."""
        return self.click != self.clicked


@dataclass(frozen=True, slots=True)
class Pane:
    """A part of the screenshot to show, and what there is to see."""

    label: str
    region: PixelBox


def read_scene(details: Mapping[str, Any]) -> Scene | None:
    """The places in the details of a record; None where the case could not be loaded."""
    truth, answer = details.get("truth"), details.get("answer") or {}
    if not truth or not details.get("width") or not details.get("height"):
        return None
    there = not truth["refusal"]
    same = truth["clickable"] == truth["bbox"]  # one line says it
    looks = [_box(look.get("region")) for look in details.get("looks") or ()]
    return Scene(
        width=int(details["width"]),
        height=int(details["height"]),
        target=_box(truth["bbox"]) if there else None,
        polygon=tuple((float(x), float(y)) for x, y in truth["polygon"]) if there else (),
        clickable=_box(truth["clickable"]) if there and not same else None,
        click=_point(answer.get("click")),
        said=_box(answer.get("box")),
        looks=tuple(look for look in looks if look is not None and look.area < 1)[:_MOST_LOOKS],
    )


def panes(scene: Scene) -> list[Pane]:
    """What to show of a case: target and click in one picture, or in two if they are far apart."""
    click = None if scene.outside or scene.clicked is None else Box(*scene.clicked, 0.0, 0.0)
    target = scene.target
    if target is not None and scene.clickable is not None:
        target = target.union(scene.clickable)
    if target is None or click is None:
        only = target or click
        if only is None:
            return [whole(scene)]
        return [Pane("", _around(only, scene, _WIDE))]
    both = _around(target.union(click), scene, _WIDE)
    if both.width <= 2 * _around(target, scene, _WIDE).width:
        return [Pane("", both)]
    wanted = _around(target, scene, _TALL)
    return [Pane("Target", wanted), Pane("Click", _moved(wanted, click, scene))]


def whole(scene: Scene) -> Pane:
    """All of the screenshot."""
    return Pane("", PixelBox(0, 0, scene.width, scene.height))


def drawing(
    scene: Scene, region: PixelBox, picture: Markup | None, *, looks: bool, label: str
) -> Markup:
    """A part of the screenshot with everything that lies on it; without a picture on a canvas."""
    # A cross is as large on every picture: it says where, not how much.
    arm = 0.028 * max(region.width, region.height)
    shapes: list[Markup] = [] if picture is None else [picture]
    if picture is None:
        shapes.append(tag("rect", **_place(Box(0, 0, 1, 1), scene), class_="canvas"))
    if looks:
        shapes += [tag("rect", **_place(look, scene), class_="look") for look in scene.looks]
    for layer in ("halo", "line"):
        shapes += _marks(scene, arm, layer)
    box = f"{region.left} {region.top} {region.width} {region.height}"
    return tag("svg", *shapes, viewBox=box, role="img", aria_label=label)


def _marks(scene: Scene, arm: float, layer: str) -> list[Markup]:
    """Target, clickable area, box and click; once as light halos and once as lines upon them."""
    found = []
    if scene.clickable is not None:
        found.append(tag("rect", **_place(scene.clickable, scene), class_=f"{layer} clickable"))
    if scene.polygon:
        corners = " ".join(
            f"{x * scene.width:.1f},{y * scene.height:.1f}" for x, y in scene.polygon
        )
        found.append(tag("polygon", points=corners, class_=f"{layer} truth"))
    elif scene.target is not None:
        found.append(tag("rect", **_place(scene.target, scene), class_=f"{layer} truth"))
    if scene.said is not None:
        found.append(tag("rect", **_place(scene.said, scene), class_=f"{layer} said"))
    if scene.clicked is not None:
        x, y = scene.clicked[0] * scene.width, scene.clicked[1] * scene.height
        slopes = ((-arm, -arm, 2 * arm, 2 * arm), (-arm, arm, 2 * arm, -2 * arm))
        cross = "".join(f"M{x + a:.1f} {y + b:.1f}l{c:.1f} {d:.1f}" for a, b, c, d in slopes)
        found.append(tag("path", d=cross, class_=f"{layer} click"))
    return found


def _place(box: Box, scene: Scene) -> dict[str, float]:
    return {
        "x": box.x * scene.width,
        "y": box.y * scene.height,
        "width": max(box.w, 0.0) * scene.width,
        "height": max(box.h, 0.0) * scene.height,
    }


def _around(box: Box, scene: Scene, aspect: float) -> PixelBox:
    """A part of the screenshot with some room around a box, of this shape where it fits."""
    width, height = (
        side + 2 * min(max(0.3 * side, _FEWEST_MARGIN), _MOST_MARGIN)
        for side in (box.w * scene.width, box.h * scene.height)
    )
    height = max(height, width / aspect, _LEAST_HEIGHT)
    return _centred(round(height * aspect), round(height), box, scene)


def _moved(region: PixelBox, box: Box, scene: Scene) -> PixelBox:
    return _centred(region.width, region.height, box, scene)


def _centred(width: int, height: int, box: Box, scene: Scene) -> PixelBox:
    width, height = min(width, scene.width), min(height, scene.height)
    x, y = box.center
    left = min(max(round(x * scene.width - width / 2), 0), scene.width - width)
    top = min(max(round(y * scene.height - height / 2), 0), scene.height - height)
    return PixelBox(left, top, left + width, top + height)


def _box(values: Sequence[float | None] | None) -> Box | None:
    numbers = _numbers(values, 4)
    return None if numbers is None else Box(*numbers)


def _point(values: Sequence[float | None] | None) -> Point | None:
    numbers = _numbers(values, 2)
    return None if numbers is None else (numbers[0], numbers[1])


def _numbers(values: Sequence[float | None] | None, count: int) -> list[float] | None:
    """All of them, or nothing: what was not finite is stored as null."""
    known = [float(value) for value in values or () if value is not None]
    return known if len(known) == count else None
