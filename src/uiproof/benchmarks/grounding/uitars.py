"""UI-TARS behind an OpenAI-compatible server, with the prompts that it was trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.cases import OPENADAPT
from uiproof.benchmarks.grounding.coordinates import (
    MAX_RATIO,
    Contract,
    contract_for,
    parse_contract,
)
from uiproof.benchmarks.grounding.grounders import (
    ChatGrounder,
    Guess,
    family_name,
    fill_prompt,
    prompt_digest,
)
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.errors import UsageError
from uiproof.models.types import Image, Message, Parameters, Reply, Request

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel


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
