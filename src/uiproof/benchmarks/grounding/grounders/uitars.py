"""UI-TARS behind an OpenAI-compatible server, asked in the words that it was trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding import prompts
from uiproof.benchmarks.grounding.contracts import Contract, contract_for, parse_contract
from uiproof.benchmarks.grounding.grounders.base import Picture
from uiproof.benchmarks.grounding.grounders.chat import ChatGrounder, family_name
from uiproof.errors import UsageError
from uiproof.models.types import Image, Message, Parameters, Request

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel


@dataclass(frozen=True, slots=True)
class Version:
    """How one generation of UI-TARS is asked, and what its numbers mean."""

    prompt: str
    contract: str
    image_first: bool
    max_tokens: int


VERSIONS: Mapping[str, Version] = {
    # Published for 2B, 7B and 72B (SFT and DPO), which are built on Qwen2-VL.
    "1.0": Version("uitars_10", "thousand,xy,point", True, 128),
    # Published for 1.5-7B, which is built on Qwen2.5-VL, and for the models of the same API.
    "1.5": Version("uitars_15", "resized:28:78400:12845056,xy,point", False, 512),
}


class UiTarsGrounder(ChatGrounder):
    """UI-TARS with its official prompt; the instruction is given as it is.

    The version goes by the model's name, `UI-TARS-7B-DPO` being 1.0; what does not say which
    UI-TARS it is counts as 1.5. A server that limits pictures in another way than the model's
    own settings do (`max_pixels`) needs the contract that says so. Answers are greedy and as long
    as published, unless the model was connected with parameters of its own.
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

    @property
    def name(self) -> str:
        """How tables call it; which model it is, is in the settings."""
        return "uitars"

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it is asked, and how its numbers are read."""
        return {
            **self.model.settings,
            "parameters": asdict(self._parameters),
            "contract": str(self.contract),
            "prompt": f"UI-TARS {self.version}",
            "prompt_digest": prompts.digest(self._how.prompt),
        }

    def request(self, picture: Picture, instruction: str) -> Request:
        """The official request: which of text and picture comes first matters to the model."""
        image, text = (
            Image(picture.png()),
            prompts.filled(self._how.prompt, instruction=instruction),
        )
        parts = (image, text) if self._how.image_first else (text, image)
        return Request((Message("user", parts),), self._parameters)

    @property
    def _parameters(self) -> Parameters:
        given = self.model.parameters
        if given != Parameters():
            return given  # somebody has chosen them
        return replace(given, max_tokens=self._how.max_tokens)


_TARS = r"ui[-_ ]?tars"
_FAMILY = re.compile(rf"{_TARS}|doubao|seed-?(?:1|vl)", re.IGNORECASE)
# A number before a B is a size: UI-TARS-2B is 1.0.
_FIRST = re.compile(rf"{_TARS}(?![-_ ]?v?(?:1[._-]5|[2-9](?![0-9]*b)))", re.IGNORECASE)


def version_of(model_name: str) -> str:
    """Which prompt a model of this name was trained on: `1.0` or `1.5`."""
    hosted = re.search(r"doubao|seed-?(?:1|vl)", model_name, re.IGNORECASE)
    return "1.0" if _FIRST.search(model_name) and not hosted else "1.5"
