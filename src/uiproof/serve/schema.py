"""Requests and responses of the service; `/docs` and `/openapi.json` are generated from them.

The work of reading a request grows with the items that are taken, not with the body: a few
megabytes of JSON can hold millions of objects, which take minutes and gigabytes to make and to
check. So their number is counted in the bytes first, and items are checked one by one until a few
are wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from uiproof.benchmark import Benchmark, Served
from uiproof.errors import UiproofError
from uiproof.files import has_more_values
from uiproof.rewards.completions import answer_in, reference_in
from uiproof.rewards.reward import Reward

_LONGEST_NAME = 1_000
_VALUES_PER_ITEM = 200  # an item with all of its fields, tags and boxes has fewer
_SHOWN_PROBLEMS = 5
_LONGEST_PLACE = 100
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


class Item(_Strict):
    """One answer to score, against a `reference`, or a `case` of a `dataset`."""

    benchmark: Name | None = Field(
        None, description="Optional where the reference or the data set implies it."
    )
    reference: Any = Field(None, description="What the answer is compared with.")
    dataset: Name | None = Field(None, description="A data set that the service was started with.")
    case: Name | None = Field(
        None, description="The id of a case in it: `12`, or `page/interaction`."
    )
    generated: str = Field(description="The answer, such as the HTML of the generated page.")
    completion: bool = Field(
        False,
        description="Whether `generated` is all that a model wrote: the page is then found in it, "
        "without fences, words and thoughts.",
    )
    deadline: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for the score. Default and maximum: those of the service.",
    )
    id: Name | Number | None = Field(
        None, description="Comes back with the result. Need not be unique."
    )

    needs_reference: ClassVar[bool] = True

    @model_validator(mode="after")
    def _has_one_reference(self) -> Item:
        if (self.dataset is None) != (self.case is None):
            raise ValueError("`dataset` and `case` go together")
        given = (self.dataset is not None) + (self.reference is not None)
        if given > 1 or given < self.needs_reference:
            neither = "" if self.needs_reference else ", or neither"
            raise ValueError(f"give either `reference`, or `dataset` and `case`{neither}")
        return self


class RewardItem(Item):
    """One answer to reward; without a reference its page is checked by itself."""

    needs_reference: ClassVar[bool] = False
    profile: Name = Field("strict", description="How scores are computed: `strict`, `paper`, …")
    weights: dict[Name, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = Field(
        None, max_length=50, description="Weights of the components; default 1."
    )


class Requests:
    """The schema of requests: common fields, and those that benchmarks add."""

    def __init__(self, benchmarks: Iterable[Benchmark], base: type[Item] = Item) -> None:
        self._served: dict[str, Served] = {
            one.name: served for one in benchmarks if (served := one.served()) is not None
        }
        fields: dict[str, Any] = {}
        for served in self._served.values():
            fields |= served.fields
        kinds = tuple(served.reference for served in self._served.values())
        takes = "; ".join(f"{name}: {one.takes}" for name, one in self._served.items())
        reference = Field(None, description=f"What the answer is compared with. {takes}.")
        kind: Any = Union[(*kinds, None)]  # made of what is installed
        self._item: Any = create_model(
            base.__name__,
            __base__=base,
            __doc__=base.__doc__,
            reference=(kind, reference),
            **fields,
        )
        self.examples = {
            name: example for one in self._served.values() for name, example in one.examples.items()
        }

    def options(self, item: Item, benchmark: str) -> dict[str, Any]:
        """Return the fields of an item that its benchmark has added."""
        served = self._served.get(benchmark)
        return {name: getattr(item, name) for name in (served.fields if served else ())}

    def json_schema(self, ref_template: str) -> dict[str, Any]:
        """Return the schema of the body of `/score`."""
        item: Any = self._item
        batch: Any = create_model(
            "Batch" if item.__name__ == "Item" else f"{item.__name__}Batch",
            __base__=_Strict,
            __doc__="Several answers; each may have its own benchmark, reference and deadline.",
            items=(list[item], Field(min_length=1)),
        )
        either = Annotated[
            Annotated[item, Tag("item")] | Annotated[batch, Tag("batch")],
            Discriminator(lambda body: "batch" if "items" in body else "item"),
        ]
        return TypeAdapter[Any](either).json_schema(ref_template=ref_template)

    def read(self, body: bytes, most_items: int) -> tuple[list[Item], bool]:
        """Return the items of a request, and whether it was a batch.

        Raises `RefusedError` that names what is wrong: at most one problem for each item.
        """
        document = _document(body, most_items)
        if "items" not in document:
            item, problem = self._checked(document, "")
            if item is None:
                raise _wrong(problem)
            return [item], False
        items = document["items"]
        if others := [name for name in document if name != "items"]:
            raise _wrong(f"{others[0][:_LONGEST_PLACE]}: a batch has nothing but `items`")
        if not isinstance(items, list) or not items:
            raise _wrong("items: it must be a list with at least one item")
        return self._all_checked(items, most_items), True

    def read_openrlhf(self, body: bytes, most_items: int) -> list[Item]:
        """Return the items of a request of OpenRLHF: lists `query`, `prompts` and `labels`."""
        document = _document(body, most_items)
        queries, prompts, labels = (document.get(name) for name in ("query", "prompts", "labels"))
        if not isinstance(queries, list) or not queries:
            raise _wrong("query: it must be a list with at least one text")
        prompts, labels = (one or [None] * len(queries) for one in (prompts, labels))
        if not isinstance(prompts, list) or not isinstance(labels, list):
            raise _wrong("prompts, labels: they must be lists")
        if not len(queries) == len(prompts) == len(labels):
            raise _wrong("query, prompts, labels: they must be equally long")
        return self._all_checked(list(map(_item, queries, prompts, labels)), most_items)

    def read_slime(self, body: bytes, most_items: int) -> list[Item]:
        """Return the item of a request of slime: `{"prompt", "response", "label"}`."""
        document = _document(body, 1)
        if "response" not in document:
            raise _wrong("response: it is missing")
        item = _item(document["response"], document.get("prompt"), document.get("label"))
        return self._all_checked([item], most_items)

    def _all_checked(self, items: list[Any], most_items: int) -> list[Item]:
        if len(items) > most_items:
            raise _too_many(f"The batch has {len(items)} items; the queue takes {most_items}.")
        found, problems = [], []
        for number, one in enumerate(items):
            item, problem = self._checked(one, f"items.{number}")
            if item is not None:
                found.append(item)
                continue
            problems.append(problem)
            if len(problems) == _SHOWN_PROBLEMS:
                break
        if problems:
            raise _wrong("; ".join(problems))
        return found

    def _checked(self, item: Any, place: str) -> tuple[Item | None, str]:
        if _has_too_many_values(item):
            return None, f"{place or 'body'}: it has more than {_VALUES_PER_ITEM} values"
        try:
            return self._item.model_validate(item), ""
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False, include_context=False)
            # Of the ways in which a field can be written, the one that came furthest is meant.
            worst = max(found, key=lambda one: len(one["loc"]))
            where = ".".join([*([place] if place else []), *map(str, worst["loc"])]) or "body"
            return None, f"{where[:_LONGEST_PLACE]}: {worst['msg']}"


class Problem(BaseModel):
    """An error and its remedy."""

    code: str = Field(description="Stays the same between versions, such as `page_timeout`.")
    message: str
    remedy: str = ""


class Refusal(BaseModel):
    """The response to a refused request."""

    error: Problem


class Result(BaseModel):
    """The result of one page, as in a run's journal."""

    id: str | int | None = None
    benchmark: str
    status: Literal["scored", "failed"]
    scores: dict[str, Any] | None = Field(
        description="Fractions in 0-1. A failed page has the scores of a failure. None only with "
        "the error `deadline`: the page was not judged."
    )
    error: Problem | None = None
    flags: list[str] = Field(
        default=[], description="What was unusual, such as `generated:load_timeout`."
    )
    seconds: dict[str, float] = Field(
        default={}, description="Waiting for a turn (`queue`) and scoring (`score`)."
    )


class RewardResult(BaseModel):
    """The reward of one answer."""

    id: str | int | None = None
    reward: float | None = Field(
        description="In 0-1; 0 where the answer cannot be judged. None only with the error "
        "`deadline`: the answer was not judged."
    )
    components: dict[str, float] = Field(default={}, description="What it consists of, in 0-1.")
    flags: list[str] = []
    seconds: float = 0.0
    reason: str = Field(default="", description="Why it is 0.")
    error: Problem | None = None

    def as_reward(self) -> Reward | None:
        """Return it as trainers get it; None where time ran out."""
        if self.reward is None:
            return None
        return Reward(self.reward, self.components, tuple(self.flags), self.seconds, self.reason)


class RewardResults(BaseModel):
    """The rewards of a batch, in its order."""

    results: list[RewardResult]


class OpenRlhfRewards(BaseModel):
    """Rewards as OpenRLHF reads them."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class Results(BaseModel):
    """The results of a batch, in its order."""

    results: list[Result]


class State(BaseModel):
    """The state of the service."""

    status: Literal["ok", "starting", "draining"]


class RefusedError(UiproofError):
    """A refused request."""

    def __init__(self, status: int, code: str, message: str, remedy: str, after: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.status, self.code, self.after = status, code, after


def _document(body: bytes, most_items: int) -> dict[str, Any]:
    if has_more_values(body, _VALUES_PER_ITEM * (most_items + 1)):
        raise _too_many(f"The request has more values than {most_items} items can have.")
    document = _parsed(body)
    if not isinstance(document, dict):
        raise _wrong("body: it must be an object")
    return document


def _item(completion: Any, prompt: Any, label: Any) -> dict[str, Any]:
    reference, fields = reference_in(label)
    answer = answer_in(completion, prompt).text
    return {"reference": reference, **fields, "generated": answer, "completion": True}


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise _wrong(f"body: it is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _wrong(f"body: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _wrong("body: it is nested too deeply") from None
    except ValueError as error:  # a number that is none, or has thousands of digits
        raise _wrong(f"body: {error}") from None


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:30]} is too large")
    return value


def _has_too_many_values(item: Any) -> bool:
    count, left = 0, [item]
    while left and count <= _VALUES_PER_ITEM:
        value = left.pop()
        if isinstance(value, dict | list):
            count += len(value)
            if count <= _VALUES_PER_ITEM:
                left += value.values() if isinstance(value, dict) else value
    return count > _VALUES_PER_ITEM


def _wrong(message: str) -> RefusedError:
    return RefusedError(422, "request", message, "/docs shows what a request looks like.")


def _too_many(message: str) -> RefusedError:
    remedy = "Send smaller batches, or start the service with a longer --queue."
    return RefusedError(422, "request", message, remedy)
