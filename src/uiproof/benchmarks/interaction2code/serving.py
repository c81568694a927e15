"""Interaction2Code for `Scorer` and `uiproof serve`: interactions as pictures, without a run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from uiproof.benchmark import Benchmark, Case, ChatTask, Completion, Score, Served
from uiproof.benchmarks.generated import generated_page, page_and_flags
from uiproof.benchmarks.interaction2code.cases import Answer, Form, Question, Truth, case_of
from uiproof.benchmarks.interaction2code.graph import FILE, Graph, check_pictures, read_graph
from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
from uiproof.benchmarks.interaction2code.methods import MAX_BYTES
from uiproof.benchmarks.interaction2code.prompting import Prompt, Prompted
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, RATES
from uiproof.browser.snapshots import ActionKind
from uiproof.browser.source import PageSource
from uiproof.errors import EmptyAnswerError, InputError, MethodError, UsageError
from uiproof.vision.clip import find_weights

if TYPE_CHECKING:
    from uiproof.browser import Renderer

MOST_BYTES = 100_000_000  # of references that a worker keeps
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF")  # PNG, JPEG, WebP
_PIXEL = (  # the smallest PNG
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)


@dataclass(frozen=True, slots=True)
class InteractionReference:
    """An interaction as pictures: the page before and after, and what is done in between.

        InteractionReference(before=png, after=png, action='click the "Menu" button')

    Pictures are PNG, JPEG or WebP files. The fields mean what they mean in `action.json`; see
    docs/interaction2code.md.
    """

    before: bytes
    after: bytes
    action: str = ""  # what is done, in English
    kind: ActionKind | None = None  # None: as the sentence says
    value: str | None = None  # the text to type, the option to select, the way to drag
    trigger: tuple[int, int, int, int] | None = None  # left, top, right, bottom, before
    effect: tuple[int, int, int, int] | None = None  # what appears or changes, after
    description: str = ""  # what the interaction does, in English
    tags: tuple[str, ...] = ()  # what is acted on, such as `button`
    visuals: tuple[str, ...] = ()  # what changes, such as `new component`
    viewport: tuple[int, int] | None = None  # the window; None: as the pictures tell

    def as_json(self) -> dict[str, Any]:
        """Return what `action.json` says about it."""
        words = {"action": self.action, "description": self.description}
        kinds = {"tag type": list(self.tags), "visual type": list(self.visuals)}
        given = {
            "kind": self.kind,
            "value": self.value,
            "trigger": self.trigger and list(self.trigger),
            "effect": self.effect and list(self.effect),
        }
        known = {name: value for name, value in given.items() if value is not None}
        window = {} if self.viewport is None else {"viewport": list(self.viewport)}
        return {**window, "1": {"src": "0", "dst": "1", **words, **kinds, **known}}


# --- requests -----------------------------------------------------------------------------------


def _without_prefix(value: Any) -> Any:
    """Return the base64 part of a data URL; anything else as it is."""
    if isinstance(value, str) and value.startswith("data:"):
        return value.partition(",")[2]
    return value


Picture = Annotated[
    Base64Bytes,
    BeforeValidator(_without_prefix),
    Field(description="A PNG, JPEG or WebP file in base64, or as a data: URL."),
]
Side = Annotated[int, Field(ge=-100_000, le=100_000)]
Box = Annotated[
    tuple[Side, Side, Side, Side],
    Field(description="`[left, top, right, bottom]` in pixels of the picture."),
]
Words = Annotated[str, Field(max_length=10_000)]
Pixels = Annotated[int, Field(ge=1, le=8_192)]


class InteractionPictures(BaseModel):
    """An interaction to compare with: the page before and after, and what is done in between."""

    model_config = ConfigDict(extra="forbid", frozen=True)  # a misspelt field is an error

    before: Picture
    after: Picture
    action: Words = Field("", description='What is done: `click the "Menu" button`.')
    kind: ActionKind | None = Field(None, description="Default: as `action` says.")
    value: Words | None = Field(None, description="The text to type, the option to select, …")
    trigger: Box | None = Field(None, description="What is acted on, in the picture before.")
    effect: Box | None = Field(None, description="What changes, in the picture after.")
    description: Words = Field("", description="What the interaction does.")
    tags: tuple[Words, ...] = Field((), max_length=50, description="Such as `button`.")
    visuals: tuple[Words, ...] = Field((), max_length=50, description="Such as `new component`.")
    viewport: tuple[Pixels, Pixels] | None = Field(
        None, description="Width and height of the window. Default: as the pictures tell."
    )

    @field_validator("before", "after")
    @classmethod
    def _is_picture(cls, value: bytes) -> bytes:
        if not value.startswith(_SIGNATURES):
            raise ValueError("not a PNG, JPEG or WebP file; send the bytes of the file in base64")
        return value

    @field_validator("trigger", "effect")
    @classmethod
    def _is_box(cls, value: tuple[int, ...] | None, info: ValidationInfo) -> Any:
        if value is not None and not (value[0] < value[2] and value[1] < value[3]):
            raise ValueError(f"{info.field_name} must be [left, top, right, bottom]")
        return value


SERVED = Served(
    reference=InteractionPictures,
    takes="pictures of the interaction",
    fields={
        "form": (
            Form,
            Field(
                "single",
                description="interaction2code: whether the page was made for this interaction or "
                "for all interactions of its page.",
            ),
        )
    },
    examples={
        "interaction": {
            "summary": "An interaction against pictures of it (shortened here)",
            "value": {
                "benchmark": "interaction2code",
                "reference": {
                    "before": _PIXEL,
                    "after": _PIXEL,
                    "action": 'click the "Menu" button',
                    "trigger": [20, 20, 120, 50],
                },
                "generated": '<button id="interact1">Menu</button>',
            },
        },
    },
)


# --- cases and answers --------------------------------------------------------------------------


def reference_case(reference: Any, case_id: str) -> Case[Any, Any] | None:
    """Return the case of `FOLDER/N` (interaction N of a page), of pictures, or of a data set."""
    if isinstance(reference, Case):
        return reference if isinstance(reference.truth, Truth | InteractionReference) else None
    if isinstance(reference, InteractionPictures):
        fields = {name: getattr(reference, name) for name in type(reference).model_fields}
        reference = InteractionReference(**fields)
    if isinstance(reference, InteractionReference):
        return Case(case_id, None, reference)
    if not isinstance(reference, Path) or not reference.name.isdecimal() or reference.is_file():
        return None
    is_page = (reference.parent / FILE).is_file()
    return interaction_case(read_graph(reference.parent), reference.name) if is_page else None


def answer(generated: str | Path | PageSource | Completion, form: Form = "single") -> Answer:
    """Return a generated page as the judge takes it; raise `MethodError` where it is none."""
    page = generated_page(generated)
    if len(page.html) > MAX_BYTES:
        raise MethodError(f"The page has {len(page.html):,} bytes, more than {MAX_BYTES:,}.")
    if not page.html.strip():
        raise EmptyAnswerError("The page is empty.")
    return Answer(page, form)


def reward_components(scores: Mapping[str, Any], profile: str) -> dict[str, float]:
    """Return whether the interaction works, and how alike page and effect are; without CLIP."""
    if profile not in ("strict", "paper"):
        raise UsageError(f"There is no profile {profile!r}.", remedy="Use one of: strict, paper.")
    found = {"usable": scores["usable"], "implemented": scores["implemented"]}
    for part in ("full", "part"):
        named = scores[profile][part].items()
        found |= {f"{part}.{name}": value for name, value in named if name != "clip"}
    return {name: min(max(float(value or 0.0), 0.0), 1.0) for name, value in found.items()}


def interaction_case(graph: Graph, number: str) -> Case[Question, Truth]:
    """Return one interaction of a page; raise `InputError` where it cannot be used."""
    if number in graph.broken:
        raise graph.broken[number]
    for interaction in graph.interactions:
        if interaction.id == number:
            check_pictures(graph, interaction)
            return case_of(graph, interaction)
    numbers = ", ".join(one.id for one in graph.interactions)
    raise InputError(
        f"Page {graph.page} has no interaction {number}.", remedy=f"It has: {numbers}."
    )


class PictureJudge(Interaction2CodeJudge):
    """The judge for cases of a data set, and for interactions that are given as pictures."""

    def __init__(self, folder: Path, renderer: Renderer, *, contours: bool) -> None:
        super().__init__(renderer=renderer, contours=contours)
        self._folders = ReferenceFolders(folder)

    def score(self, case: Case[Any, Any], answer: Answer) -> Score:
        """Act on a generated page and compare it with its reference."""
        if isinstance(case.truth, InteractionReference):
            folder = self._folders.folder_of(case.truth)
            case = replace(interaction_case(read_graph(folder), "1"), id=case.id)
        return super().score(case, answer)

    def failure(self, case: Case[Any, Any] | None) -> Score:
        """Return the score of a page that could not be judged."""
        known = case is not None and not isinstance(case.truth, InteractionReference)
        return super().failure(case if known else None)


class ReferenceFolders:
    """A folder for each `InteractionReference`, by its content, in the published layout.

    The least recently used ones are deleted when all together are too large.
    """

    def __init__(self, root: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._root, self._most_bytes = root, most_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def folder_of(self, reference: InteractionReference) -> Path:
        """Return the folder of a reference; it is there at least until the next call."""
        content = json.dumps(reference.as_json()).encode()
        pictures = (reference.before, reference.after)
        digests = (hashlib.sha256(one).digest() for one in (content, *pictures))
        key = hashlib.sha256(b"".join(digests)).hexdigest()[:32]
        folder = self._root / key
        if key not in self._sizes:
            folder.mkdir(parents=True, exist_ok=True)
            for number, picture in enumerate(pictures):
                (folder / f"{number}.png").write_bytes(picture)
            (folder / FILE).write_bytes(content)
            self._sizes[key] = len(content) + sum(map(len, pictures))
        self._sizes.move_to_end(key)
        while len(self._sizes) > 1 and sum(self._sizes.values()) > self._most_bytes:
            oldest, _ = self._sizes.popitem(last=False)
            shutil.rmtree(self._root / oldest, ignore_errors=True)
        return folder


def make_judge(folder: Path, renderer: Callable[[], Renderer], *, contours: bool) -> PictureJudge:
    """Make the judge of one worker, with its own folder."""
    return PictureJudge(folder / f"interactions-{os.getpid()}", renderer(), contours=contours)


def chat_task(benchmark: Benchmark) -> ChatTask:
    """Return how inspect_ai runs the benchmark; scores that need CLIP only with its weights."""

    def scores() -> tuple[str, ...]:
        measured = [
            f"{profile}.{part}.{kind}"
            for part, kinds in (("full", FULL), ("part", PART))
            for profile in PROFILES
            for kind in kinds
            if kind != "clip" or find_weights() is not None
        ]
        return (*RATES, *measured)

    return ChatTask(
        prompts=benchmark.prompts,
        method=lambda model, prompt: Prompted(model, prompt),
        scores=scores,
        read=page_and_flags,
        write=lambda answer: str(answer.page.text),
        make=lambda text, prompt: Answer(PageSource.from_html(text), Prompt.named(prompt).form),
    )
