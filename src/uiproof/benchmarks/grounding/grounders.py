"""Grounders: guess where an element is on a picture, from the instruction alone.

    guess = await grounder.ground(picture, "Click on the 'Save' button", context)
    if guess.click is not None:
        print(picture.to_whole(guess.click))   # as fractions of the whole screenshot

Here are chat models, UI-TARS and the controls, which never look at the picture: what a control
scores above chance is given away by the protocol. `ocr.py` and `omniparser.py` have the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from math import ceil, floor, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from uiproof.benchmarks.grounding.cases import OPENADAPT
from uiproof.benchmarks.grounding.coordinates import (
    MAX_RATIO,
    WHOLE,
    Contract,
    Order,
    Point,
    Shape,
    Space,
    contract_for,
    parse_contract,
    sent_size,
    smart_resize,
)
from uiproof.benchmarks.grounding.parsing import locate, parse
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.errors import MethodError, UsageError
from uiproof.geometry import Box
from uiproof.models.types import Finish, Image, Message, Parameters, Reply, Request
from uiproof.prompts import SLOT, Slot, prompt_file

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel


@dataclass(frozen=True, slots=True)
class Guess:
    """The place of an element, as fractions of the picture that a grounder was shown.

    `refused` says that it is not there. An answer with none of these could not be read.
    """

    point: Point | None = None
    box: Box | None = None
    refused: bool = False
    confidence: float | None = None  # 0-1, where a grounder knows one
    raw: str = ""  # the text of the answer
    sent: tuple[int, int] | None = None  # size in pixels of what a model got, if it was scaled

    @property
    def click(self) -> Point | None:
        """Return the point, else the middle of the box."""
        return self.point if self.point is not None or self.box is None else self.box.centre

    @property
    def unparseable(self) -> bool:
        """Return whether the answer could not be read."""
        return self.click is None and not self.refused


class Backend(Protocol):
    """The common part of grounders and parsers."""

    @property
    def name(self) -> str:
        """Return the name for tables, for example `ocr`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return all that changes its answers; written into the run."""

    async def close(self) -> None:
        """Close connections."""


class Grounder(Backend, Protocol):
    """Finds an element by a picture and an instruction, without the truth."""

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:
        """Find the element; raise `ModelError` when a server failed."""


MOST_PENALTY, PENALTY_PER_DISTANCE = 0.2, 0.5  # of matches, by the distance of the centres


@dataclass(frozen=True, slots=True)
class Detection:
    """An element that a parser lists, as fractions of the picture that it was shown."""

    box: Box
    text: str = ""  # its text, or the description of an icon
    kind: Literal["text", "icon"] = "text"


class Detections(tuple[Detection, ...]):
    """Thousands of detections without text, matched as arrays."""

    @cached_property
    def _corners(self) -> Any:
        import numpy as np

        boxes = [one.box for one in self]
        return np.array([(b.x, b.y, b.x + b.w, b.y + b.h) for b in boxes], float).T

    def best(self, region: Box, target: Box) -> Detection:
        """Return the one with the highest `assisted.match_score` where this region is shown."""
        import numpy as np

        left, top, right, bottom = self._corners
        left, right = region.x + left * region.w, region.x + right * region.w
        top, bottom = region.y + top * region.h, region.y + bottom * region.h
        across = np.minimum(right, target.x + target.w) - np.maximum(left, target.x)
        down = np.minimum(bottom, target.y + target.h) - np.maximum(top, target.y)
        shared = across.clip(0) * down.clip(0)
        overlap = shared / ((right - left) * (bottom - top) + target.area - shared)
        x, y = target.centre
        distance = np.hypot((left + right) / 2 - x, (top + bottom) / 2 - y)
        penalty = np.minimum(MOST_PENALTY, PENALTY_PER_DISTANCE * distance)
        return self[int(np.argmax(overlap - penalty))]


class Parser(Backend, Protocol):
    """Lists the elements of a picture without an instruction."""

    @property
    def concurrency(self) -> int:
        """Return the number of pictures to ask for at once."""

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:
        """Return all elements; raise `ModelError` when its server failed."""


PROMPTS: Mapping[str, str] = {
    "point": "asks for the point to click",
    "box": "asks for the box around the element",
}
SLOTS: Mapping[str, Slot] = {
    "instruction": Slot("what the user wants to do", required=True),
    "convention": Slot("the coordinates that the model's family uses, in words", required=True),
    "form": Slot("how to write a place, such as [x, y]"),
}
DECLINED = "answer:declined"  # by the model or a filter: neither a place nor a refusal
TRUNCATED = "answer:truncated"
SCALED = "answer:picture_scaled"  # on its way, so that the prompt named another size

_SCALES = {
    Space.UNIT: ("decimal numbers", 1),
    Space.PERCENT: ("numbers", 100),
    Space.THOUSAND: ("whole numbers", 1000),
    Space.THOUSAND_999: ("whole numbers", 999),
}


class ChatGrounder:
    """A chat model that answers in the coordinates of its contract.

    The contract is that of the model's family by default, the prompt the one for its shape.
    """

    def __init__(
        self, model: ChatModel, contract: Contract | None = None, prompt: str | None = None
    ) -> None:
        self.model = model
        self.name, self.concurrency = model.name, model.concurrency
        self.contract = contract or contract_for(family_name(model))
        self._file = prompt_file(prompt, PROMPTS, SLOTS) if prompt else None
        self.prompt = prompt or ("box" if self.contract.shape is Shape.BOX else "point")
        if self.prompt not in PROMPTS and self._file is None:
            raise UsageError(
                f"Grounding has no prompt {self.prompt!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}, or a text file.",
            )
        if self._file is not None:
            self.prompt = self._file.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the model, the prompt and the contract."""
        about = {**self.model.settings, "contract": str(self.contract), "prompt": self.prompt}
        if self._file is not None:
            return {**about, **self._file.settings}
        convention = "scale" if self.contract.space in _SCALES else "pixels"
        return {**about, "prompt_digest": prompt_digest(self.prompt, convention)}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:
        """Ask for the element; raise `ModelError` when there is no answer."""
        sent = self.fitted(picture)
        if sent.untouched:  # nothing to encode
            request = self.request(sent, instruction)
        else:
            request = await asyncio.to_thread(self.request, sent, instruction)
        reply = await context.ask(self.model, request, facts={"prompt": request.text})
        return self._read(reply, sent, context)

    async def close(self) -> None:
        """Close the connection to the model."""
        await self.model.close()

    def request(self, picture: Picture, instruction: str) -> Request:
        """Return the request about a picture, which is sent as it is; see `fitted`."""
        asked = fill_text(
            _prompt(self.prompt) if self._file is None else self._file.text.strip(),
            instruction=instruction,
            convention=self._convention(*picture.size),
            form=self._form(),
        )
        message = Message("user", (Image(picture.png()), asked))
        return Request((message,), self.model.parameters)

    def fitted(self, picture: Picture) -> Picture:
        """Return the picture, scaled down to the size that the provider leaves as it is."""
        width, height = sent_size(self.contract, *picture.size)
        longest = int(self.model.settings["images"]["max_side"])
        shrink = min(1.0, longest / max(width, height))
        if (width, height) == picture.size and shrink == 1:
            return picture
        area = picture.area
        return picture.crop(WHOLE, shrink * min(width / area.width, height / area.height))

    def _convention(self, width: int, height: int) -> str:
        if self.contract.space in _SCALES:
            numbers, most = _SCALES[self.contract.space]
            return fill_prompt("scale", numbers=numbers, most=most)
        if resize := self.contract.resize:  # the model counts the pixels of what it sees
            height, width = smart_resize(
                height, width, resize.factor, resize.min_pixels, resize.max_pixels
            )
        return fill_prompt("pixels", width=width, height=height)

    def _form(self) -> str:
        names = ["x", "y"] if self.contract.order is Order.XY else ["y", "x"]
        if self.prompt == "box" or (self._file and self.contract.shape is Shape.BOX):
            names = [f"{name}{corner}" for corner in (1, 2) for name in names]
        return f"[{', '.join(names)}]"

    def _read(self, reply: Reply, sent: Picture, context: Context) -> Guess:
        """Return the guess in a reply; coordinates in pixels are of the picture that arrived."""
        size = sent.size
        if reply.images:
            arrived = reply.images[0]
            if len(arrived.pieces) > 1:
                raise MethodError(
                    f"{self.name} got the screenshot in {len(arrived.pieces)} pieces, so that its "
                    "coordinates are ambiguous.",
                    remedy="Connect to the model with tall='scale'.",
                )
            size = (arrived.pieces[0].width, arrived.pieces[0].height)
            if size != sent.size:
                context.flag(SCALED)
        if reply.finish is Finish.LENGTH:
            context.flag(TRUNCATED)
        parsed = parse(reply.text)
        place = locate(parsed, self.contract, *size)
        declined = place is None and reply.finish is Finish.REFUSAL
        if declined:
            context.flag(DECLINED)
        refused = parsed.kind == "refusal" and not declined
        return Guess(
            point=None if isinstance(place, Box) else place,
            box=place if isinstance(place, Box) else None,
            refused=refused,
            confidence=parsed.confidence,
            raw=reply.text,
            sent=size,
        )


def family_name(model: ChatModel) -> str:
    """Return the part of a model's name that names its family, without a server's address."""
    endpoint = model.endpoint
    return endpoint.model if endpoint.provider == "compatible" else endpoint.name


async def ask_model(model: ChatModel, png: bytes, text: str, context: Context) -> Reply:
    """Show a picture to a model and ask about it."""
    message = Message("user", (Image(png), text))
    return await context.ask(model, Request((message,), model.parameters), facts={"prompt": text})


@cache
def _prompt(name: str) -> str:
    file = Path(__file__).parent / "prompts" / f"{name}.txt"
    return file.read_text(encoding="utf-8").removesuffix("\n")


def fill_prompt(name: str, **values: object) -> str:
    """Return a prompt with its `{names}` replaced by values, which may contain braces."""
    return fill_text(_prompt(name), **values)


def fill_text(text: str, **values: object) -> str:
    """Fill a text as `fill_prompt` does."""
    return SLOT.sub(lambda place: str(values.get(place[1], place[0])), text)


def prompt_digest(*names: str) -> str:
    """Return a digest of prompts for the settings of a run: other words are another method."""
    return hashlib.sha256("\0".join(map(_prompt, names)).encode()).hexdigest()[:16]


CONTROLS: Mapping[str, str] = {
    "centre": "always clicks the middle, without looking",
    "corner": "always clicks the top left corner, without looking",
    "random": "clicks anywhere, without looking",
    "grid": "names boxes of a fixed grid, without looking",
}
# Sides of the grid's boxes as fractions of the picture: wide and flat, as elements are.
_WIDTHS = (0.02, 0.04, 0.08)
_ASPECTS = (0.7, 1.5)  # height by width, both as fractions of their side
_STEP = 0.5  # of a box, from one to the next


class Control:
    """One of the `CONTROLS`, as a grounder and as a parser."""

    concurrency = 1  # it never waits

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self._seed = name, seed
        self.settings: Mapping[str, Any] = {"seed": seed} if name in ("random", "grid") else {}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:  # noqa: ARG002
        """Return a point, or a box of the grid, whatever is in the picture."""
        if self.name in ("centre", "corner"):
            return Guess(point=(0.5, 0.5) if self.name == "centre" else (0.0, 0.0))
        # Pseudo-random numbers in 0-1, the same for the same question.
        text = f"{self._seed} {instruction} {picture.region}"
        digest = hashlib.sha256(text.encode()).digest()
        first, second = (int.from_bytes(part) / 2**56 for part in (digest[:7], digest[7:14]))
        if self.name == "random":
            return Guess(point=(first, second))
        boxes = _grid()
        return Guess(box=boxes[int(first * len(boxes))].box)

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:  # noqa: ARG002
        """Return the boxes of the grid, whatever is in the picture."""
        return _grid()

    async def close(self) -> None:
        """Do nothing."""


@cache
def _grid() -> Detections:
    """Return boxes that cover a picture in several sizes."""
    boxes = []
    for width in _WIDTHS:
        for aspect in _ASPECTS:
            height = width * aspect
            columns, rows = int((1 - width) / (width * _STEP)), int((1 - height) / (height * _STEP))
            boxes += [
                Detection(Box(column * width * _STEP, row * height * _STEP, width, height))
                for row in range(rows + 1)
                for column in range(columns + 1)
            ]
    return Detections(boxes)


# --- UI-TARS


@dataclass(frozen=True, slots=True)
class UiTarsVersion:
    """The prompt and the coordinates of one generation of UI-TARS."""

    prompt: str
    contract: str
    image_first: bool
    max_tokens: int


VERSIONS: Mapping[str, UiTarsVersion] = {
    # Published for 2B, 7B and 72B (SFT and DPO), which are built on Qwen2-VL.
    "1.0": UiTarsVersion("uitars_10", "thousand,xy,point", True, 128),
    # Published for 1.5-7B, which is built on Qwen2.5-VL, and for the models of the same API.
    "1.5": UiTarsVersion("uitars_15", "resized:28:78400:12845056,xy,point", False, 512),
    # The prompt of openadapt-grounding, which is nearly the one of 1.5.
    OPENADAPT: UiTarsVersion("uitars_openadapt", "resized:28:78400:12845056,xy,point", False, 512),
}


class UiTarsGrounder(ChatGrounder):
    """UI-TARS with its official prompt and the instruction as it is.

    The version follows from the model's name: `UI-TARS-7B-DPO` is 1.0, unknown names are 1.5. A
    server with another `max_pixels` than the model's own needs another contract. Answers are
    greedy and as long as published, unless the model was connected with parameters.
    """

    def __init__(
        self, model: ChatModel, version: str | None = None, contract: Contract | None = None
    ) -> None:
        named = family_name(model)
        self.version = version or version_of(named)
        if self.version not in VERSIONS:
            raise UsageError(
                f"There is no UI-TARS {self.version!r}.",
                remedy=f"Use one of: {', '.join(VERSIONS)}.",
            )
        self._how = VERSIONS[self.version]
        says_so = version is None and _FAMILY.search(named) is not None
        usual = contract_for(named) if says_so else parse_contract(self._how.contract)
        super().__init__(model, contract or usual, "point")
        self.name = "uitars"  # the model is in the settings

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the model, the prompt and the contract."""
        return {
            **self.model.settings,
            "parameters": asdict(self._parameters),
            "contract": str(self.contract),
            "prompt": f"UI-TARS {self.version}",
            "prompt_digest": prompt_digest(self._how.prompt),
        }

    def request(self, picture: Picture, instruction: str) -> Request:
        """Return the official request: the order of text and picture matters to the model."""
        image, text = (
            Image(picture.png()),
            fill_prompt(self._how.prompt, instruction=instruction),
        )
        parts = (image, text) if self._how.image_first else (text, image)
        return Request((Message("user", parts),), self._parameters)

    @property
    def _parameters(self) -> Parameters:
        given = self.model.parameters
        if given != Parameters():
            return given
        return replace(given, max_tokens=self._how.max_tokens)


class OpenAdaptUiTars(UiTarsGrounder):
    """UI-TARS with the prompt and the arithmetic of openadapt-grounding 0.1.2, to the digit.

    It reads the first place of two forms in whole numbers, and clamps it to the picture.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model, OPENADAPT)

    def _read(self, reply: Reply, sent: Picture, context: Context) -> Guess:  # noqa: ARG002
        width, height = sent.size
        place = next(filter(None, (form.search(reply.text) for form in _OPENADAPT_FORMS)), None)
        if place is None or max(width, height) > MAX_RATIO * min(width, height):
            return Guess(raw=reply.text, sent=sent.size)
        high, wide = _openadapt_size(height, width)
        try:
            x, y = int(place[1]) / wide, int(place[2]) / high
        except (ValueError, OverflowError):  # thousands of digits
            return Guess(raw=reply.text, sent=sent.size)
        point = (min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0))
        return Guess(point, confidence=0.9, raw=reply.text, sent=sent.size)


_OPENADAPT_FORMS = (
    re.compile(r"<point>(\d+)\s+(\d+)</point>"),
    re.compile(r"start_box=['\"]?\((\d+),\s*(\d+)\)['\"]?"),
)
_FACTOR, _FEWEST, _MOST = 28, 78_400, 12_845_056


def _openadapt_size(height: int, width: int) -> tuple[int, int]:
    """Return the (height, width) that openadapt-grounding divides by.

    Unlike smart-resize it truncates to whole pixels before it rounds to a multiple of 28.
    """
    tall = max(_FACTOR, round(height / _FACTOR) * _FACTOR)
    wide = max(_FACTOR, round(width / _FACTOR) * _FACTOR)
    if tall * wide > _MOST:
        shrink = sqrt(height * width / _MOST)
        tall, wide = (floor(int(side / shrink) / _FACTOR) * _FACTOR for side in (height, width))
    elif tall * wide < _FEWEST:
        grow = sqrt(_FEWEST / (height * width))
        tall, wide = (ceil(int(side * grow) / _FACTOR) * _FACTOR for side in (height, width))
    return tall, wide


_TARS = r"ui[-_ ]?tars"
_FAMILY = re.compile(rf"{_TARS}|doubao|seed-?(?:1|vl)", re.IGNORECASE)
# A number before a B is a size: UI-TARS-2B is 1.0.
_FIRST = re.compile(rf"{_TARS}(?![-_ ]?v?(?:1[._-]5|[2-9](?![0-9]*b)))", re.IGNORECASE)


def version_of(model_name: str) -> str:
    """Return the version of UI-TARS by a model's name: `1.0` or `1.5`."""
    hosted = re.search(r"doubao|seed-?(?:1|vl)", model_name, re.IGNORECASE)
    return "1.0" if _FIRST.search(model_name) and not hosted else "1.5"
