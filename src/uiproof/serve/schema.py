"""What requests and answers look like; `/docs` and `/openapi.json` are made of this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from uiproof.browser.snapshots import ActionKind
from uiproof.scoring.references import BenchmarkName, InteractionReference

_LONGEST_NAME = 1_000
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF")  # PNG, JPEG, WebP


def _without_prefix(value: Any) -> Any:
    """The base64 part of a data URL; anything else as it is."""
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
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]


def _short(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"it has more than {_LONGEST_NAME:,} characters")
    return text


# A `Field` with a length refuses text that is not valid Unicode, which models do write.
Name = Annotated[
    str, AfterValidator(_short), WithJsonSchema({"type": "string", "maxLength": _LONGEST_NAME})
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)  # a misspelt field is an error


class InteractionPictures(_Strict):
    """An interaction to compare with: the page before and after, and what is done in between."""

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

    def as_reference(self) -> InteractionReference:
        """The same as the pool takes it."""
        return InteractionReference(
            **{name: getattr(self, name) for name in type(self).model_fields}
        )


class Item(_Strict):
    """One generated page to score, against a `reference`, or a `case` of a `dataset`."""

    benchmark: BenchmarkName | None = Field(
        None, description="Need not be said: the reference or the data set decides."
    )
    reference: str | InteractionPictures | None = Field(
        None,
        description="design2code: the HTML of the reference page. "
        "interaction2code: pictures of the interaction.",
    )
    dataset: Name | None = Field(None, description="A data set that the service was started with.")
    case: Name | None = Field(
        None, description="The id of a case in it: `12`, or `page/interaction`."
    )
    generated: str = Field(description="The HTML of the generated page.")
    completion: bool = Field(
        False,
        description="Whether `generated` is all that a model wrote: the page is then found in it, "
        "without fences, words and thoughts.",
    )
    form: Literal["single", "all"] = Field(
        "single",
        description="interaction2code: whether the page was made for this interaction or for all "
        "interactions of its page.",
    )
    deadline: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for the score. Default and longest: what the service says.",
    )
    id: Name | Number | None = Field(
        None, description="Comes back with the result. Need not be unique."
    )

    @model_validator(mode="after")
    def _has_one_reference(self) -> Item:
        named = self.dataset is not None and self.case is not None
        if (self.dataset is None) != (self.case is None):
            raise ValueError("`dataset` and `case` go together")
        if named == (self.reference is not None):
            raise ValueError("give either `reference`, or `dataset` and `case`")
        inline = "design2code" if isinstance(self.reference, str) else "interaction2code"
        if self.reference is not None and self.benchmark not in (None, inline):
            raise ValueError(
                f"this `reference` is one of {inline}: "
                "design2code takes HTML, interaction2code takes pictures"
            )
        return self


class Batch(_Strict):
    """Several generated pages; each may have its own benchmark, reference and deadline."""

    items: list[Item] = Field(min_length=1)


def _which(body: Any) -> str:
    several = "items" in body if isinstance(body, dict) else isinstance(body, Batch)
    return "batch" if several else "item"


ScoreRequest = Annotated[
    Annotated[Item, Tag("item")] | Annotated[Batch, Tag("batch")], Discriminator(_which)
]


class Problem(BaseModel):
    """What is wrong, and what to do about it."""

    code: str = Field(description="Stays the same between versions, such as `page_timeout`.")
    message: str
    remedy: str = ""


class Refusal(BaseModel):
    """The answer to a request that was not carried out."""

    error: Problem


class Result(BaseModel):
    """How one page ended, as a run's journal has it."""

    id: str | int | None = None
    benchmark: BenchmarkName
    status: Literal["scored", "failed"]
    scores: dict[str, Any] | None = Field(
        description="Fractions in 0-1. A failed page has the scores of a failure. None only with "
        "the error `deadline`: nobody has looked at the page."
    )
    error: Problem | None = None
    flags: list[str] = Field(
        default=[], description="What was unusual, such as `generated:load_timeout`."
    )
    seconds: dict[str, float] = Field(
        default={}, description="Waiting for a turn (`queue`) and scoring (`score`)."
    )


class Results(BaseModel):
    """The results of a batch, in its order."""

    results: list[Result]


class State(BaseModel):
    """Whether the service is there."""

    status: Literal["ok", "starting", "draining"]


_PIXEL = (  # the smallest PNG
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)
EXAMPLES: dict[str, Any] = {
    "page": {
        "summary": "A page against the HTML of its reference",
        "value": {"reference": "<h1>Hello</h1>", "generated": "<h1>Hallo</h1>", "deadline": 30},
    },
    "case": {
        "summary": "A page against a case of a data set on the server",
        "value": {"dataset": "demo", "case": "landing", "generated": "<h1>Hello</h1>"},
    },
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
    "batch": {
        "summary": "Several pages at once",
        "value": {
            "items": [
                {"id": 0, "reference": "<h1>Hello</h1>", "generated": "<h1>Hello</h1>"},
                {"id": 1, "reference": "<h1>Hello</h1>", "generated": "<h2>Hi</h2>"},
            ]
        },
    },
}
