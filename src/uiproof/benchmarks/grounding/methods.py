"""Methods by name: `ocr@tiles`, `openai/gpt-4o@zoom`, `uitars-fixed`, `centre`.

grounder[:MODEL]@search[:PLANNER]     blind: sees the screenshot and the instruction
omniparser, uitars, …-fixed, …-screenseeker     as described: assisted, they see the truth
centre, corner, random, grid          controls that never look; with -assisted, -fixed or
                                      -screenseeker under the rules of the assisted methods
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import Method
from uiproof.benchmarks.grounding import grounders
from uiproof.benchmarks.grounding.cases import (
    OPENADAPT,
    UIPROOF,
    Answer,
    AssistedFinding,
    Look,
    Question,
)
from uiproof.benchmarks.grounding.coordinates import WHOLE, Point
from uiproof.benchmarks.grounding.grounders import (
    CONTROLS,
    MOST_PENALTY,
    PENALTY_PER_DISTANCE,
    ChatGrounder,
    Control,
    Detection,
    Detections,
    Grounder,
    Guess,
    OpenAdaptUiTars,
    Parser,
    UiTarsGrounder,
)
from uiproof.benchmarks.grounding.ocr import OcrGrounder
from uiproof.benchmarks.grounding.omniparser import OmniParser, OmniParserGrounder
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.benchmarks.grounding.screenseeker import ScreenSeeker
from uiproof.benchmarks.grounding.searches import BLIND_SEARCHES, Search
from uiproof.errors import ModelError, UsageError, suggestion
from uiproof.geometry import Box, PixelBox
from uiproof.models.names import is_model_name
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Truth
    from uiproof.benchmarks.grounding.data import AnnotatedElement
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


# --- the methods of the described framework, which look at the truth

# The regions to look at, the answer to take and the moment to stop all depend on the target's box,
# so that these rates say little about finding anything. They are kept for comparison and marked
# `assisted` everywhere, beside controls that never look at the screenshot.

FIXED_SIDES = (200, 300, 500)  # pixels
_MOST_REGIONS = 5  # besides the whole screenshot
EXACT_TEXT, PARTIAL_TEXT = 0.30, 0.15  # bonus for the same text, added to the overlap
GOOD_ENOUGH = 0.9  # score from which no further regions are looked at


class _Assisted(Method["Question", Answer]):
    assisted = True
    _threshold: ClassVar[str]  # the setting that decides whether an element is found

    def __init__(
        self,
        name: str,
        backend: Grounder | Parser,
        cropping: str,
        thresholds: Settings | None = None,
        *,
        protocol: str = UIPROOF,
    ) -> None:
        self._name, self._backend, self._cropping = name, backend, cropping
        self._thresholds = thresholds or Settings()
        self._protocol = protocol
        self.concurrency = getattr(backend, "concurrency", 8)

    @property
    def name(self) -> str:
        """Return the name: `uitars-fixed`, or `UI-TARS + fixed_crop` in its own protocol."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the backend, the cropping and the thresholds, for the manifest of a run."""
        backend = {"backend": self._backend.name, **self._backend.settings}
        sizes = {"crop_sizes": list(self._thresholds.crop_sizes)}
        fixed = sizes if self._cropping == "fixed" else {}
        threshold = {self._threshold: getattr(self._thresholds, self._threshold)}
        protocol = {"protocol": self._protocol}
        return {**backend, "cropping": self._cropping, **fixed, **threshold, **protocol}

    def _parts(self, question: Question, target: Box) -> Iterator[tuple[Picture, Box]]:
        """Yield each crop and the region by which its coordinates are mapped back.

        Ours are grown to whole pixels, and the region is what was cut; openadapt-grounding
        truncates to whole pixels and maps back by the region before that.
        """
        picture, size = Picture.open(question.image), (question.width, question.height)
        for region in regions(
            *(self._cropping, target.centre, *size, self._thresholds.crop_sizes),
            protocol=self._protocol,
        ):
            if self._protocol == UIPROOF:
                part = picture.crop(region)
                yield part, part.region
            else:
                area = openadapt_pixels(region, *size)
                whole = (area.width, area.height) == size
                yield picture if whole else picture.cut(area), region

    def _finding(
        self,
        found: bool,
        looks: Sequence[Look],
        errors: Sequence[ModelError],
        overlap: float = 0.0,
        text: str = "",
    ) -> AssistedFinding:
        """Return the finding; raise the first error if every look failed.

        In openadapt-grounding that is a miss; the errors are kept, and the run is `incomplete`.
        """
        if errors and not looks and self._protocol == UIPROOF:
            raise errors[0]
        messages = tuple(error.message for error in errors)
        return AssistedFinding(found, overlap, text, messages, self._protocol)

    async def close(self) -> None:
        """Close connections."""
        await self._backend.close()


class AssistedParsing(_Assisted):
    """`omniparser…`: takes the detection that overlaps most with the target.

    The score is the overlap with a bonus for the same text and a penalty for distance; from
    `iou_threshold` on the element is found.
    """

    _backend: Parser
    _threshold = "iou_threshold"

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Return the best match over all regions, up to the first that is good enough."""
        truth: Truth = context.truth
        best: tuple[float, float, Box | None, str] = (0.0, 0.0, None, "")
        looks: list[Look] = []
        errors: list[ModelError] = []
        for part, region in self._parts(question, truth.element.bbox):
            try:
                seen = await self._backend.parse(part, context)
            except ModelError as error:
                errors.append(error)
                continue
            looks.append(Look(part.region, part.size))
            best = max(best, _best_match(seen, region, truth.element), key=lambda match: match[0])
            if best[0] >= GOOD_ENOUGH:
                break
        score, overlap, box, text = best
        if box is None or score < self._thresholds.iou_threshold:
            # A rejected match is not reported: a miss has IoU 0 and no text.
            missed = self._finding(False, looks, errors)
            return Answer(undetected=True, looks=tuple(looks), assisted=missed)
        finding = self._finding(True, looks, errors, overlap, text)
        return Answer(box=box, looks=tuple(looks), assisted=finding)


class AssistedPointing(_Assisted):
    """`uitars…`: looks at one region after the other until a point hits the target."""

    _backend: Grounder
    _threshold = "bbox_tolerance"

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Return the first point in the target's box, grown by `bbox_tolerance` of the sides."""
        truth: Truth = context.truth
        instruction = described_instruction(truth.element)
        looks: list[Look] = []
        guesses: list[Guess] = []
        errors: list[ModelError] = []
        target = truth.element.bbox
        for part, region in self._parts(question, target):
            try:
                guess = await self._backend.ground(part, instruction, context)
            except ModelError as error:
                errors.append(error)
                continue
            point = _on_whole(guess.click, region) if guess.click is not None else None
            looks.append(Look(part.region, guess.sent or part.size, guess.raw, point))
            guesses.append(guess)
            if point is not None and _near(point, target, self._thresholds.bbox_tolerance):
                found = self._finding(True, looks, errors)
                return Answer(
                    point, confidence=guess.confidence, looks=tuple(looks), assisted=found
                )
        missed = self._finding(False, looks, errors)
        point = looks[0].point if looks else None
        refused = bool(guesses) and point is None and guesses[0].refused
        return Answer(point, refused=refused, looks=tuple(looks), assisted=missed)


def described_instruction(element: AnnotatedElement) -> str:
    """Return the element's instruction, or one made from its text and type."""
    kind = element.element_type.value
    if element.instruction:
        return element.instruction
    if element.text:
        suffix = "" if kind == "unknown" else f" {kind}"
        return f"Click on the '{element.text}'{suffix}" if suffix else f"Click on '{element.text}'"
    return f"Click on the {kind}"


def match_score(seen: Box, text: str, target: Box, wanted: str) -> tuple[float, float]:
    """Return the described score of a detection against the target, and their overlap (IoU)."""
    overlap = seen.iou(target)
    said, asked = text.strip().lower(), wanted.strip().lower()
    bonus = 0.0
    if text and wanted:  # as described: a blank text is part of every other
        bonus = EXACT_TEXT if said == asked else 0.0
        if not bonus and (said in asked or asked in said):
            bonus = PARTIAL_TEXT
    (x, y), (tx, ty) = seen.centre, target.centre
    # Not `hypot`, whose last digit may differ: scores are compared with a threshold.
    distance = ((x - tx) ** 2 + (y - ty) ** 2) ** 0.5
    penalty = min(MOST_PENALTY, PENALTY_PER_DISTANCE * distance)
    return min(max(overlap + bonus - penalty, 0.0), 1.0), overlap


def _best_match(
    seen: Sequence[Detection], region: Box, element: AnnotatedElement
) -> tuple[float, float, Box | None, str]:
    best: tuple[float, float, Box | None, str] = (0.0, 0.0, None, "")
    target = element.bbox
    if isinstance(seen, Detections):
        seen = (seen.best(region, target),)
    for one in seen:
        corner = _on_whole((one.box.x, one.box.y), region)
        box = Box(*corner, one.box.w * region.w, one.box.h * region.h)
        score, overlap = match_score(box, one.text, target, element.text)
        if score > best[0]:
            best = (score, overlap, box, one.text)
    return best


def _on_whole(point: Point, region: Box) -> Point:
    return region.x + point[0] * region.w, region.y + point[1] * region.h


def _near(point: Point, target: Box, tolerance: float) -> bool:
    # Not `Box.contains` of a grown box, whose last digit may differ.
    return (
        target.x - tolerance <= point[0] <= target.x + target.w + tolerance
        and target.y - tolerance <= point[1] <= target.y + target.h + tolerance
    )


def regions(
    cropping: str,
    target: Point,
    width: int,
    height: int,
    sides: Sequence[int] = FIXED_SIDES,
    *,
    protocol: str = UIPROOF,
) -> list[Box]:
    """Return the regions to crop, in order: the whole screenshot first.

    In openadapt-grounding a square may be wider or higher than the screenshot.
    """
    if cropping == "fixed":
        most = 1.0 if protocol == UIPROOF else float("inf")
        return [WHOLE, *(_square(target, side, width, height, most) for side in sides)]
    if cropping == "screenseeker":
        return [WHOLE, *_places(target)[:_MOST_REGIONS]]
    return [WHOLE]


def openadapt_pixels(region: Box, width: int, height: int) -> PixelBox:
    """Return the pixels that openadapt-grounding cuts out for a region.

    Place and size are both truncated to whole pixels, so that a crop may be a pixel smaller than
    its region and lie up to a pixel beside it.
    """
    left = min(max(int(region.x * width), 0), width - 1)
    top = min(max(int(region.y * height), 0), height - 1)
    wide = min(max(int(region.w * width), 1), width - left)
    high = min(max(int(region.h * height), 1), height - top)
    return PixelBox(left, top, left + wide, top + high)


def _square(centre: Point, side: int, width: int, height: int, most: float) -> Box:
    """Return a square around a point, moved where it would leave the screenshot."""
    w, h = min(side / width, most), min(side / height, most)
    x = max(min(centre[0] - w / 2, 1.0 - w), 0.0)
    y = max(min(centre[1] - h / 2, 1.0 - h), 0.0)
    return Box(x, y, w, h)


def _places(target: Point) -> list[Box]:
    """Return typical parts of a user interface that hold the target."""
    x, y = target
    found = []
    if y < 0.15:
        found.append(Box(0.0, 0.0, 1.0, 0.15))  # top bar
    if x < 0.25:
        found.append(Box(0.0, 0.0, 0.3, 1.0))  # left side
    if x > 0.75:
        found.append(Box(0.7, 0.0, 0.3, 1.0))  # right side
    if y > 0.9:
        found.append(Box(0.0, 0.85, 1.0, 0.15))  # bottom bar
    found.append(Box(0.15, 0.1, 0.7, 0.8))  # middle
    found.append(Box(0.5 if x >= 0.5 else 0.0, 0.5 if y >= 0.5 else 0.0, 0.5, 0.5))  # quarter
    return found
