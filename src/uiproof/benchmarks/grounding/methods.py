"""Methods by name: `ocr@tiles`, `openai/gpt-4o@zoom`, `uitars-fixed`, `centre`.

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

from uiproof.benchmark import Method
from uiproof.benchmarks.grounding import grounders
from uiproof.benchmarks.grounding.assisted import AssistedParsing, AssistedPointing
from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF, Answer, Question
from uiproof.benchmarks.grounding.grounders import CONTROLS, ChatGrounder, Control, Grounder
from uiproof.benchmarks.grounding.ocr import OcrGrounder
from uiproof.benchmarks.grounding.omniparser import OmniParser, OmniParserGrounder
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.benchmarks.grounding.screenseeker import ScreenSeeker
from uiproof.benchmarks.grounding.searches import BLIND_SEARCHES, Search
from uiproof.benchmarks.grounding.uitars import OpenAdaptUiTars, UiTarsGrounder
from uiproof.errors import UsageError, suggestion
from uiproof.models.names import is_model_name
from uiproof.settings import Settings

if TYPE_CHECKING:
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
SEARCHES: Mapping[str, str] = {
    "none": "one look at the whole screenshot (1 call)",
    "fixed": "then squares of 200, 300 and 500 px around the first guess, and a vote (4 calls)",
    "tiles": "the whole and overlapping tiles at once, and a vote (5 to 17 calls)",
    "reground": "once more in 1024 x 1024 px around the first guess (2 calls)",
    "narrow": "three rounds, each in half the sides around the last guess (3 calls)",
    "zoom": "the whole and its quarters, then twice closer; says how sure it is (7 calls)",
    "screenseeker": "a planner, candidate areas, votes and checks (2 to 40 calls, and the "
    "planner's); `screenseeker:MODEL` names the planner",
}
_USUAL_LOOKS = {"fixed": 4, "tiles": 7, "reground": 2, "narrow": 3, "zoom": 7, "screenseeker": 2}
_CROPPINGS = {"": "baseline", "-fixed": "fixed", "-screenseeker": "screenseeker"}
_BACKENDS = ("omniparser", "uitars")
METHODS: Mapping[str, str] = {
    **{f"{name}@SEARCH": line for name, line in GROUNDERS.items()},
    **{f"…@{name}": line for name, line in SEARCHES.items()},
    **{
        f"{backend}{suffix}": f"as described, {cropping}; assisted: sees the truth"
        for backend in _BACKENDS
        for suffix, cropping in _CROPPINGS.items()
    },
    **{name: f"control: {line}" for name, line in CONTROLS.items()},
    "CONTROL-assisted": "a control under the rules of the assisted methods",
    "CONTROL-fixed": "the same with fixed crops; also CONTROL-screenseeker",
}


_AUTO = "auto"
PROMPTS: Mapping[str, str] = {
    _AUTO: "point or box, as the model's family was trained",
    **grounders.PROMPTS,
}


class Blind(Method[Question, Answer]):
    """A grounder with a search: sees the screenshot and the instruction, nothing else."""

    def __init__(self, grounder: Grounder, search: Search) -> None:
        self._grounder, self._search = grounder, search
        self.concurrency = getattr(grounder, "concurrency", 8)

    @property
    def name(self) -> str:
        """Return for example `ocr@tiles`; a control without a search has its own name."""
        if self._search.name == "none" and self._grounder.name in CONTROLS:
            return self._grounder.name
        return f"{self._grounder.name}@{self._search.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the grounder, the search and their settings."""
        return {
            "grounder": {"name": self._grounder.name, **self._grounder.settings},
            "search": {"name": self._search.name, **self._search.settings},
        }

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Return the place of the element, with every look on the way."""
        picture = Picture.open(question.image)
        return await self._search.find(picture, question.instruction, self._grounder, context)

    async def close(self) -> None:
        """Close connections."""
        await self._grounder.close()
        await self._search.close()


class BlindModel(Blind):
    """A blind method whose grounder is a chat model, so that its requests can be planned."""

    _grounder: ChatGrounder

    def __init__(self, grounder: ChatGrounder, search: Search, prompt: str | None = None) -> None:
        super().__init__(grounder, search)
        self._label = grounder.prompt if prompt else ""

    @property
    def name(self) -> str:
        """Return for example `openai/gpt-4o@zoom`, and the prompt if one was chosen."""
        return f"{super().name} {self._label}".rstrip()

    @property
    def model(self) -> ChatModel:
        """Return the model that is asked."""
        return self._grounder.model

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """Return the requests about an element; the first stands in for those that follow it."""
        picture = self._grounder.fitted(Picture.open(question.image))
        first = self._grounder.request(picture, question.instruction)
        looks = _USUAL_LOOKS.get(self._search.name.partition(":")[0], 1)
        return tuple(replace(first, sample=number) for number in range(looks))


def make_method(
    name: str,
    connect: Connect,
    protocol: str = UIPROOF,
    settings: Settings | None = None,
    *,
    prompt: str | None = None,
) -> Method[Any, Any]:
    """Return the method of this name; `connect` makes models by their names.

    `prompt` is for chat models, one of `PROMPTS` or the user's own. `protocol` is one of
    `PROTOCOLS`: the rules for the six described methods. `settings` has the addresses of servers
    and the thresholds; by default they come from the environment.
    """
    settings = settings or Settings.from_environment()
    if protocol == OPENADAPT:
        return _openadapt(name, connect, settings)
    assisted = _assisted(name, connect, settings)
    if assisted is not None:
        return assisted
    # The first @ before the name of a search: there may be others in addresses.
    known = "|".join(map(re.escape, SEARCHES))
    split = re.fullmatch(rf"(.+?)@((?:{known})(?::.+)?)", name)
    text, search = split.groups() if split else (name, "none")
    prompt = None if prompt == _AUTO else prompt
    grounder = _grounder(text, connect, settings, prompt)
    if isinstance(grounder, ChatGrounder):
        return BlindModel(grounder, make_search(search, connect), prompt)
    return Blind(grounder, make_search(search, connect))


def make_search(name: str, connect: Connect) -> Search:
    """Return the search of this name, for example `zoom` or `screenseeker:openai/gpt-4o`."""
    first, colon, planner = name.partition(":")
    if first == "screenseeker" and bool(colon) == bool(planner):
        return ScreenSeeker(connect(planner) if planner else None)
    if name in BLIND_SEARCHES:
        return BLIND_SEARCHES[name]
    raise UsageError(
        f"There is no search {name!r}.",
        remedy=f"Use one of: {', '.join(SEARCHES)}. Only screenseeker takes a planner: "
        "screenseeker:openai/gpt-4o.",
    )


def _assisted(name: str, connect: Connect, settings: Settings) -> Method[Any, Any] | None:
    for suffix, cropping in _CROPPINGS.items():
        if name == f"omniparser{suffix}":
            return AssistedParsing(name, _omniparser(connect, settings), cropping, settings)
        if name == f"uitars{suffix}":
            uitars = UiTarsGrounder(_uitars_model(connect, settings))
            return AssistedPointing(name, uitars, cropping, settings)
        control = name.removesuffix(suffix or "-assisted")
        if control in CONTROLS and control != name:
            # The grid names boxes, as a parser does; the others point.
            kind = AssistedParsing if control == "grid" else AssistedPointing
            return kind(name, Control(control), cropping, settings)
    return None


def _openadapt(name: str, connect: Connect, settings: Settings) -> Method[Any, Any]:
    """Return a described method with the rules, thresholds and name of openadapt-grounding."""
    backend, dash, suffix = name.partition("-")
    cropping = _CROPPINGS.get(dash + suffix)
    if backend not in _BACKENDS or cropping is None:
        known = ", ".join(f"{backend}{suffix}" for backend in _BACKENDS for suffix in _CROPPINGS)
        raise UsageError(
            f"The protocol {OPENADAPT} has no method {name!r}.",
            remedy=f"Use one of {known}, or drop --protocol.",
        )
    kind = "fixed_crop" if cropping == "fixed" else cropping
    if backend == "omniparser":
        parser = _omniparser(connect, settings, OPENADAPT)
        return AssistedParsing(f"OmniParser + {kind}", parser, cropping, protocol=OPENADAPT)
    grounder = OpenAdaptUiTars(_uitars_model(connect, settings))
    return AssistedPointing(f"UI-TARS + {kind}", grounder, cropping, protocol=OPENADAPT)


def _grounder(name: str, connect: Connect, settings: Settings, prompt: str | None) -> Grounder:
    if name in CONTROLS:
        return Control(name)
    if name == "ocr":
        return OcrGrounder(cache_dir=settings.cache_dir)
    if name == "uitars":
        return UiTarsGrounder(_uitars_model(connect, settings))
    backend, _, selector = name.partition(":")
    if backend == "omniparser":
        parser = _omniparser(connect, settings)
        return OmniParserGrounder(parser, connect(selector) if selector else None)
    if is_model_name(name):
        return ChatGrounder(connect(name), prompt=prompt)
    names = [one.removesuffix("@SEARCH") for one in METHODS if "MODEL" not in one]
    raise UsageError(
        f"Grounding has no method {name!r}.",
        remedy=f"{suggestion(name, names)} Use GROUNDER@SEARCH, one of the other names that "
        "`uiproof list` shows, or a function, my_module:function.".lstrip(),
    )


def _uitars_model(connect: Connect, settings: Settings) -> ChatModel:
    return connect(f"compatible:{settings.uitars_url}#{settings.uitars_model}")


def _omniparser(connect: Connect, settings: Settings, protocol: str = UIPROOF) -> OmniParser:
    return OmniParser(connect(f"omniparser:{settings.omniparser_url}"), protocol=protocol)
