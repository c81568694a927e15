"""From names to methods: `ocr@tiles`, `openai/gpt-4o@zoom`, `uitars-fixed`, `centre`.

grounder[:MODEL]@search[:PLANNER]     blind: sees the screenshot and the instruction
omniparser, uitars, …-fixed, …-screenseeker     as described: assisted, they see the truth
centre, corner, random, grid          controls that never look; with -assisted, -fixed or
                                      -screenseeker under the rules of the assisted methods
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.controls import CONTROLS, Control
from uiproof.benchmarks.grounding.searches import SEARCHES, make_search
from uiproof.engine.types import Method
from uiproof.errors import UsageError
from uiproof.models.names import is_model_name
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question
    from uiproof.benchmarks.grounding.grounders.base import Grounder
    from uiproof.benchmarks.grounding.grounders.chat import ChatGrounder
    from uiproof.benchmarks.grounding.grounders.omniparser import OmniParser
    from uiproof.benchmarks.grounding.grounders.uitars import UiTarsGrounder
    from uiproof.benchmarks.grounding.searches.base import Search
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel
    from uiproof.models.types import Request

Connect = Callable[[str], "ChatModel"]

GROUNDERS: Mapping[str, str] = {
    "ocr": "reads the screenshot and matches words; needs no model",
    "omniparser": "elements of an OmniParser server (EVAL_OMNIPARSER_URL), matched by their words",
    "omniparser:MODEL": "the same, and a chat model chooses",
    "uitars": "UI-TARS at an OpenAI-compatible server (EVAL_UITARS_URL)",
    "MODEL": "any chat model, such as openai/gpt-4o",
}
_USUAL_LOOKS = {"fixed": 4, "tiles": 7, "reground": 2, "narrow": 3, "zoom": 7, "screenseeker": 2}
_ASSISTED = {"": "baseline", "-fixed": "fixed", "-screenseeker": "screenseeker"}
_BACKENDS = ("omniparser", "uitars")
METHODS: Mapping[str, str] = {
    **{f"{name}@SEARCH": line for name, line in GROUNDERS.items()},
    **{f"…@{name}": line for name, line in SEARCHES.items()},
    **{
        f"{backend}{suffix}": f"as described, {cropping}; assisted: sees the truth"
        for backend in _BACKENDS
        for suffix, cropping in _ASSISTED.items()
    },
    **{name: f"control: {line}" for name, line in CONTROLS.items()},
    "CONTROL-assisted": "a control under the rules of the assisted methods",
    "CONTROL-fixed": "the same with fixed crops; also CONTROL-screenseeker",
}


class Blind(Method["Question", Answer]):
    """A grounder that searches: sees the screenshot and the instruction, nothing else."""

    def __init__(self, grounder: Grounder, search: Search) -> None:
        self._grounder, self._search = grounder, search
        self.concurrency = getattr(grounder, "concurrency", 8)

    @property
    def name(self) -> str:
        """For example `ocr@tiles`; a control that does not search is called by its own name."""
        if self._search.name == "none" and self._grounder.name in CONTROLS:
            return self._grounder.name
        return f"{self._grounder.name}@{self._search.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it looks and what it looks at."""
        return {
            "grounder": {"name": self._grounder.name, **self._grounder.settings},
            "search": {"name": self._search.name, **self._search.settings},
        }

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Where the element is, and everything that was looked at on the way."""
        from uiproof.benchmarks.grounding.grounders.base import Picture

        picture = Picture.open(question.image)
        return await self._search.find(picture, question.instruction, self._grounder, context)

    async def close(self) -> None:
        """Let go of connections."""
        await self._grounder.close()
        await self._search.close()


class Asking(Blind):
    """A blind method whose grounder is a chat model, so that its requests can be foreseen."""

    _grounder: ChatGrounder

    @property
    def model(self) -> ChatModel:
        """Who is asked."""
        return self._grounder.model

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """What will be asked about an element.

        Later looks of a search depend on the first: that one stands in for each of them.
        """
        from uiproof.benchmarks.grounding.grounders.base import Picture

        picture = self._grounder.fitted(Picture.open(question.image))
        first = self._grounder.request(picture, question.instruction)
        looks = _USUAL_LOOKS.get(self._search.name.partition(":")[0], 1)
        return tuple(replace(first, sample=number) for number in range(looks))


def make_method(name: str, connect: Connect) -> Method[Any, Any]:
    """The method of this name; models are reached through `connect`."""
    assisted = _assisted(name, connect)
    if assisted is not None:
        return assisted
    # The first @ before the name of a search: there may be others in addresses.
    known = "|".join(map(re.escape, SEARCHES))
    found = re.fullmatch(rf"(.+?)@((?:{known})(?::.+)?)", name)
    grounder, search = found.groups() if found else (name, "none")
    found_grounder = _grounder(grounder, connect)
    kind = Asking if hasattr(found_grounder, "request") else Blind
    return kind(found_grounder, make_search(search, connect))


def _assisted(name: str, connect: Connect) -> Method[Any, Any] | None:
    from uiproof.benchmarks.grounding.assisted import AssistedParsing, AssistedPointing

    for suffix, cropping in _ASSISTED.items():
        if name == f"omniparser{suffix}":
            return AssistedParsing(name, _omniparser(connect), cropping)
        if name == f"uitars{suffix}":
            return AssistedPointing(name, _uitars(connect), cropping)
        control = name.removesuffix(suffix or "-assisted")
        if control in CONTROLS and control != name:
            # The grid names boxes, as a parser does; the others point.
            kind = AssistedParsing if control == "grid" else AssistedPointing
            return kind(name, Control(control), cropping)
    return None


def _grounder(text: str, connect: Connect) -> Grounder:
    if text in CONTROLS:
        return Control(text)
    if text == "ocr":
        from uiproof.benchmarks.grounding.grounders.ocr import OcrGrounder

        return OcrGrounder()
    if text == "uitars":
        return _uitars(connect)
    backend, _, selector = text.partition(":")
    if backend == "omniparser":
        from uiproof.benchmarks.grounding.grounders.omniparser import OmniParserGrounder

        return OmniParserGrounder(_omniparser(connect), connect(selector) if selector else None)
    if is_model_name(text):
        from uiproof.benchmarks.grounding.grounders.chat import ChatGrounder

        return ChatGrounder(connect(text))
    raise UsageError(
        f"Grounding has no method {text!r}.",
        remedy="Use GROUNDER@SEARCH or one of the other names that `uiproof list` shows.",
    )


def _uitars(connect: Connect) -> UiTarsGrounder:
    from uiproof.benchmarks.grounding.grounders.uitars import UiTarsGrounder

    settings = Settings.from_environment()
    return UiTarsGrounder(connect(f"compatible:{settings.uitars_url}#{settings.uitars_model}"))


def _omniparser(connect: Connect) -> OmniParser:
    from uiproof.benchmarks.grounding.grounders.omniparser import OmniParser

    return OmniParser(connect(f"omniparser:{Settings.from_environment().omniparser_url}"))
