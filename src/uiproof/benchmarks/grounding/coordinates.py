"""The coordinates of models: contracts that say what the numbers of an answer mean.

`(500, 300)` is the middle of the screen for one model and its top left corner for another. The
contract of a model says which; nothing is guessed from the numbers:

    contract = contract_for("ByteDance-Seed/UI-TARS-1.5-7B")
    str(contract)                                  # resized:28:78400:12845056,xy,point
    to_unit((966, 546), contract, 1920, 1080)      # (0.5, 0.5)

Its parts are the space of the numbers, the order of the axes, whether the model is asked for a
point or a box, and the largest picture to send. Only the first is required.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, floor, isfinite, sqrt

from uiproof.errors import UsageError
from uiproof.geometry import Box

Point = tuple[float, float]  # fractions of a picture; outside of 0-1 it lies beside the picture

WHOLE = Box(0.0, 0.0, 1.0, 1.0)
MAX_RATIO = 200  # the longest side of a picture that smart-resize takes, over its shortest
EXAMPLES = (
    "thousand,xy,point",
    "unit,xy,point",
    "thousand,yx,box",
    "pixels,xy,point,sent:1568:1150000",
    "resized:28:78400:12845056,xy,point",
)


class Space(StrEnum):
    """The unit of the numbers."""

    UNIT = "unit"  # 0-1 of the picture
    PERCENT = "percent"  # 0-100 of the picture
    THOUSAND = "thousand"  # 0-1000 of the picture
    THOUSAND_999 = "thousand-999"  # 0-999 of the picture
    PIXELS = "pixels"  # pixels of the picture sent
    RESIZED = "resized"  # pixels of that picture after the model's own smart-resize


class Order(StrEnum):
    """The axis that comes first."""

    XY = "xy"
    YX = "yx"


class Shape(StrEnum):
    """The shape that the model is asked for; answers of the other shape are read as well."""

    POINT = "point"
    BOX = "box"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Resize:
    """Smart-resize of a model: sides are multiples of `factor`, the area is within limits."""

    factor: int = 28
    min_pixels: int = 3136
    max_pixels: int = 12845056

    def __str__(self) -> str:
        return f"{self.factor}:{self.min_pixels}:{self.max_pixels}"


_QWEN3 = Resize(32, 65536, 16777216)  # of its image processor


@dataclass(frozen=True, slots=True)
class Contract:
    """The meaning of the numbers in a model's answers. `str()` gives the text that users write."""

    space: Space
    order: Order = Order.XY
    shape: Shape = Shape.POINT
    resize: Resize | None = None  # only, and always, where the space is `resized`
    # The largest picture to send: the provider shrinks a larger one without saying so, and the
    # answer would be in pixels of a picture of unknown size.
    sent_side: int | None = None
    sent_pixels: int | None = None

    def __post_init__(self) -> None:
        if (self.resize is not None) != (self.space is Space.RESIZED):
            raise ValueError("a contract has a resize if its space is `resized`, and only then")
        if self.sent_pixels is not None and self.sent_side is None:
            raise ValueError("a contract that limits the pixels sent limits the side as well")

    def __str__(self) -> str:
        space = f"{self.space}:{self.resize}" if self.resize else str(self.space)
        parts = [space, str(self.order), str(self.shape)]
        if self.sent_side is not None:
            pixels = "" if self.sent_pixels is None else f":{self.sent_pixels}"
            parts.append(f"sent:{self.sent_side}{pixels}")
        return ",".join(parts)

    @property
    def words(self) -> str:
        """Return the contract for messages, for example `0-1000, y first`."""
        space = _SPACE_WORDS[self.space]
        if self.resize:
            space += f" (factor {self.resize.factor}, up to {self.resize.max_pixels:,} pixels)"
        if self.sent_side is not None:
            space += f" (shrunk to {self.sent_side} pixels at most)"
        return space if self.order is Order.XY else f"{space}, y first"


_SPACE_WORDS: Mapping[Space, str] = {
    Space.UNIT: "0-1",
    Space.PERCENT: "percent",
    Space.THOUSAND: "0-1000",
    Space.THOUSAND_999: "0-999",
    Space.PIXELS: "pixels of the picture sent",
    Space.RESIZED: "pixels after smart-resize",
}
_SCALES: Mapping[Space, float] = {
    Space.UNIT: 1,
    Space.PERCENT: 100,
    Space.THOUSAND: 1000,
    Space.THOUSAND_999: 999,
}

DEFAULT_CONTRACT = Contract(Space.THOUSAND)
"""For models of unknown families: 0-1000, x first, a point, as most recent models answer."""

# Name patterns, the most specific first. Where model cards give no limits, these are the defaults
# of the model's image processor; a server with other limits needs another contract, which
# `uiproof diagnose` finds.
_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"doubao|seed-?1|seed-?vl|ui-?tars-?2", "thousand,xy,point"),
    (r"ui-?tars-?v?1[.-]5", "resized:28:78400:12845056,xy,point"),
    (r"ui-?tars", "thousand,xy,point"),
    (r"ui-?venus-?(v?1[.-]5|[2-9])", "thousand,xy,point"),
    (r"ui-?venus", "resized:28:2000000:4800000,xy,box"),
    (r"gta-?1|infigui|opencua", "resized:28:3136:12845056,xy,point"),
    (r"jedi", "resized:28:3136:2116800,xy,point"),
    (r"holo-?[2-9]", "thousand,xy,point"),
    (r"holo-?1", "resized:28:3136:12845056,xy,point"),
    (r"gui-?owl-?(v?1[.-]5|[2-9])", "thousand,xy,point"),
    (r"gui-?owl", "resized:28:3136:12845056,xy,point"),
    (r"kv-?ground|u-?ground|os-?genesis|agentcpm|gelab|step-?gui", "thousand,xy,point"),
    (r"mai-?ui", "thousand-999,xy,point"),
    (r"os-?atlas", "thousand,xy,box"),
    (r"cogagent|deepseek-?vl|florence", "thousand-999,xy,box"),
    (r"showui|aguvis|seeclick|kimi|moondream", "unit,xy,point"),
    (r"molmo-?2", "thousand,xy,point"),
    (r"molmo", "percent,xy,point"),
    (r"qwen-?2[.-]5-?(vl|omni)", "resized:28:3136:12845056,xy,either"),
    (r"qwen", "thousand,xy,either"),
    (r"intern-?(vl|s1|lm)|(?<!chat)glm|cogvlm|amazon[./]nova", "thousand,xy,either"),
    (r"gemini|gemma", "thousand,yx,either"),
    (r"claude|anthropic", "pixels,xy,point,sent:1568:1150000"),
    (r"(?<![a-z])gpt|chatgpt|computer-use-preview|operator|(?<![a-z0-9])o[134](?![a-z0-9])|openai",
     "pixels,xy,point"),
)  # fmt: skip


def contract_for(model_name: str) -> Contract:
    """Return the contract of a model's family by its name; `DEFAULT_CONTRACT` if it is unknown.

    Provider prefixes, case and underscores don't matter:
    `Qwen/Qwen2.5-VL-7B-Instruct` and `qwen2_5-vl-72b` are the same family.
    """
    name = re.sub(r"[_\s]+", "-", model_name.lower())
    for pattern, text in _FAMILIES:
        if re.search(pattern, name):
            return parse_contract(text)
    return DEFAULT_CONTRACT


def parse_contract(text: str) -> Contract:
    """Parse a contract as users write it, for example `thousand,yx,box`.

    The space comes first; order (`xy`), shape (`point`) and `sent:SIDE[:PIXELS]` are optional.
    `resized` alone means the defaults of Qwen2.5-VL, `resized:28:3136:12845056`, and `resized:32`
    those of Qwen3-VL, `resized:32:65536:16777216`.
    """
    first, *rest = (part.strip().lower() for part in text.split(","))
    contract = _read_space(first, text)
    for part in rest:
        if part in tuple(Order):
            contract = replace(contract, order=Order(part))
        elif part in tuple(Shape):
            contract = replace(contract, shape=Shape(part))
        elif part.startswith("sent:"):
            side, *pixels = _whole_numbers(part.split(":")[1:], text, at_most=2)
            contract = replace(contract, sent_side=side, sent_pixels=pixels[0] if pixels else None)
        else:
            raise _not_a_contract(text, f"{part!r} is no order, shape or size")
    return contract


def _read_space(part: str, text: str) -> Contract:
    name, *numbers = part.split(":")
    if name not in tuple(Space):
        raise _not_a_contract(text, f"{name!r} is no space; there are {', '.join(Space)}")
    if name != Space.RESIZED:
        if numbers:
            raise _not_a_contract(text, f"{name!r} takes no numbers")
        return Contract(Space(name))
    given = _whole_numbers(numbers, text, at_most=3) if numbers else []
    resize = _QWEN3 if given == [_QWEN3.factor] else Resize(*given)
    if resize.min_pixels > resize.max_pixels:
        raise _not_a_contract(text, "the smallest area is above the largest")
    return Contract(Space.RESIZED, resize=resize)


def _whole_numbers(parts: Sequence[str], text: str, *, at_most: int) -> list[int]:
    short = [part for part in parts if re.fullmatch(r"[0-9]{1,12}", part)]
    numbers = [int(part) for part in short]
    if len(numbers) != len(parts) or not 1 <= len(numbers) <= at_most or 0 in numbers:
        raise _not_a_contract(text, f"expected up to {at_most} whole numbers above 0, with ':'")
    return numbers


def _not_a_contract(text: str, reason: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a coordinate contract: {reason}.",
        remedy=f"Write for example {' or '.join(f'`{example}`' for example in EXAMPLES)}.",
    )


def smart_resize(
    height: int, width: int, factor: int = 28, min_pixels: int = 3136, max_pixels: int = 12845056
) -> tuple[int, int]:
    """Return the (height, width) to which Qwen-like models resize a picture.

    Both sides become multiples of `factor`, and the area is brought within the limits with about
    the same proportions: 1080x1920 becomes 1092x1932 with factor 28.
    """
    if min(height, width) < 1:
        raise UsageError(f"A picture of {width}x{height} pixels has no size.")
    if max(height, width) > MAX_RATIO * min(height, width):
        raise UsageError(
            f"A picture of {width}x{height} is too long and thin for smart-resize.",
            remedy=f"Crop it: one side may be at most {MAX_RATIO} times the other.",
        )
    # Ties round to even, as in the models' own processors: one step changes every coordinate.
    tall = max(factor, round(height / factor) * factor)
    wide = max(factor, round(width / factor) * factor)
    if tall * wide > max_pixels:
        shrink = sqrt(height * width / max_pixels)
        tall = max(factor, floor(height / shrink / factor) * factor)
        wide = max(factor, floor(width / shrink / factor) * factor)
    elif tall * wide < min_pixels:
        grow = sqrt(min_pixels / (height * width))
        tall = ceil(height * grow / factor) * factor
        wide = ceil(width * grow / factor) * factor
    return tall, wide


def sent_size(contract: Contract, width: int, height: int) -> tuple[int, int]:
    """Return the (width, height) in which to send a picture: smaller or the same."""
    scale = 1.0
    if contract.sent_side is not None:
        scale = min(scale, contract.sent_side / max(width, height))
    if contract.sent_pixels is not None:
        scale = min(scale, sqrt(contract.sent_pixels / (width * height)))
    if scale >= 1:
        return width, height
    return max(1, floor(width * scale)), max(1, floor(height * scale))


def to_unit(
    numbers: Sequence[float], contract: Contract, sent_width: int, sent_height: int
) -> Point | Box:
    """Return the point or box that two or four numbers mean, in 0-1 of the picture sent.

    Four numbers are a box by two opposite corners, in any order. Nothing is clamped: places beside
    the picture stay there.
    """
    if len(numbers) not in (2, 4) or not all(map(isfinite, numbers)):
        raise ValueError(f"a place is two or four finite numbers, got {tuple(numbers)}")
    across, down = _extent(contract, sent_width, sent_height)
    first = 0 if contract.order is Order.XY else 1
    xs = [numbers[i] / across for i in range(first, len(numbers), 2)]
    ys = [numbers[i] / down for i in range(1 - first, len(numbers), 2)]
    if len(numbers) == 2:
        return xs[0], ys[0]
    return Box(min(xs), min(ys), abs(xs[1] - xs[0]), abs(ys[1] - ys[0]))


def _extent(contract: Contract, sent_width: int, sent_height: int) -> tuple[float, float]:
    if contract.space is Space.PIXELS:
        return sent_width, sent_height
    if resize := contract.resize:
        height, width = smart_resize(
            sent_height, sent_width, resize.factor, resize.min_pixels, resize.max_pixels
        )
        return width, height
    scale = _SCALES[contract.space]
    return scale, scale
