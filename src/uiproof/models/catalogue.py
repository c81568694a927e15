"""Facts about models: prices, limits, the parameters they take, how they count tokens of pictures.

The figures are in `catalogue.json`, with their date and source. A file of the same form, named by
`UIPROOF_PRICES`, overrides them field by field.

    {"models": {"openai/gpt-4o": {"input": 2.5, "cached_input": 1.25, "output": 10},
                "Qwen/Qwen2.5-VL-7B-Instruct": {"input": 0, "output": 0}}}

Prices are in US dollars per million tokens. Without a price, costs are None, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from uiproof.errors import UsageError
from uiproof.models.names import Endpoint
from uiproof.models.types import Usage
from uiproof.settings import Settings

_OURS = Path(__file__).with_name("catalogue.json")
_VARIABLE = "UIPROOF_PRICES"
# Suffixes for a version of a model. Anything else, as in gpt-4o-mini, is another model.
_VERSION = re.compile(
    r"-\d{4}-\d\d-\d\d|-\d{8}|-\d{3,4}|-0|-latest|-(?:preview|exp)(?:-\d[\d-]*)?|@.+"
)

ImageKind = Literal["tiles", "patches", "claude", "gemini", "fixed", "area"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None  # None: no discount for what the provider has in its cache


@dataclass(frozen=True, slots=True)
class ImageTokenRule:
    """The rule by which a model counts the tokens of a picture; `tokens.py` has the kinds."""

    kind: ImageKind
    base: int = 0
    tile: int = 0
    most: int = 0
    multiplier: float = 1.0
    side: int = 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model; None is unknown."""

    name: str = ""  # of the entry in our catalogue or the user's; empty where there is none
    price: Price | None = None
    long_price: Price | None = None  # for requests of more input tokens than …
    long_above: int | None = None
    max_output_tokens: int | None = None
    temperature: bool = True  # whether it takes the parameter, as far as is known
    seed: bool = True
    image_rule: ImageTokenRule | None = None
    as_of: str = ""  # when the figures were read
    source: str = field(default="", repr=False)


def facts(endpoint: Endpoint) -> ModelFacts:
    """Return the facts about the model at an endpoint.

    Other servers have other prices, even for models in the catalogue: only the user's file
    applies to them.
    """
    ours = _read(_OURS, _OURS.stat().st_mtime_ns)
    theirs = _users_file()
    foreign = endpoint.provider in ("compatible", "omniparser")
    known = None if foreign else _matching(ours, endpoint.name)
    named = _matching(theirs, endpoint.name) or _matching(theirs, endpoint.model)
    entry = {**ours.models.get(known or "", {}), **theirs.models.get(named or "", {})}
    rules = {**ours.image_rules, **theirs.image_rules}
    latest = theirs if named else ours
    long = entry.get("long", {})
    return ModelFacts(
        name=named or known or "",
        price=_price(entry),
        long_price=_price(long),
        long_above=long.get("above"),
        max_output_tokens=entry.get("max_output_tokens"),
        temperature=entry.get("temperature", True),
        seed=entry.get("seed", endpoint.provider != "anthropic"),
        image_rule=rules.get(entry.get("image_rule", "")),
        as_of=latest.as_of if entry else "",
        source=latest.source if entry else "",
    )


def cost(endpoint: Endpoint, usage: Usage, known: ModelFacts | None = None) -> float | None:
    """Return the cost of a request in US dollars; None where tokens or prices are unknown.

    `known` are the facts of the endpoint, if they were looked up already.
    """
    known = known or facts(endpoint)
    price = known.price
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    if known.long_price and usage.input_tokens > (known.long_above or 0):
        price = known.long_price
    cached = min(usage.cached_input_tokens, usage.input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (
        (usage.input_tokens - cached) * price.input
        + cached * cached_price
        + usage.output_tokens * price.output
    )
    return dollars / 1_000_000


def _price(entry: Mapping[str, Any]) -> Price | None:
    if "input" not in entry or "output" not in entry:
        return None
    return Price(entry["input"], entry["output"], entry.get("cached_input"))


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """A file that was read and is valid."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    image_rules: Mapping[str, ImageTokenRule] = field(default_factory=dict)
    as_of: str = ""
    source: str = ""


def _matching(catalogue: _Catalogue, name: str) -> str | None:
    """Return the longest name in a catalogue that equals this one up to a version suffix."""
    names = (
        known
        for known in catalogue.models
        if name == known or (name.startswith(known) and _VERSION.fullmatch(name, len(known)))
    )
    return max(names, key=len, default=None)


def _users_file() -> _Catalogue:
    path = Settings.from_environment().prices
    if path is None:
        return _Catalogue()
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(
            f"{_VARIABLE} names {path}, which cannot be read: {error.strerror}.",
            remedy=f"Name another file, or unset {_VARIABLE}.",
        ) from None
    return _read(path, changed)


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int) -> _Catalogue:
    """Read and check a file; again only when it has changed."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _malformed(path, f"cannot be read as JSON: {error}") from None
    known_rules: set[str] = set()
    if path != _OURS:
        known_rules = set(_read(_OURS, _OURS.stat().st_mtime_ns).image_rules)
        _validate(path, content, known_rules)
    rules = content.get("image_rules", {})
    return _Catalogue(
        content["models"],
        {name: ImageTokenRule(**rule) for name, rule in rules.items()},
        as_of=content.get("as_of", ""),
        source=content.get("source", ""),
    )


def _validate(path: Path, content: Any, known_rules: set[str]) -> None:
    """Raise `UsageError` that names the first mistake in a user's file."""
    from pydantic import BaseModel, ConfigDict, Field, ValidationError  # takes long to import

    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    Number = Annotated[float, Field(ge=0)]  # noqa: N806 - a type
    Whole = Annotated[int, Field(ge=0)]  # noqa: N806

    class Prices(Strict):
        input: Number | None = None
        cached_input: Number | None = None
        output: Number | None = None

    class LongPrices(Strict):
        above: Whole
        input: Number
        cached_input: Number | None = None
        output: Number

    class Model(Prices):
        max_output_tokens: Whole | None = None
        temperature: bool = True
        seed: bool = True
        image_rule: str | None = None
        long: LongPrices | None = None

    class Rule(Strict):
        kind: ImageKind
        base: Whole = 0
        tile: Whole = 0
        most: Whole = 0
        multiplier: Number = 1.0
        side: Whole = 0

    class File(Strict):
        as_of: str = ""
        source: str = ""
        image_rules: dict[str, Rule] = {}  # noqa: RUF012 - pydantic copies it
        models: dict[str, Model]

    if not isinstance(content, dict):
        raise _malformed(path, "it is not a JSON object")
    try:
        file = File.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _malformed(path, f"{place}: {first['msg']}".removeprefix(": ")) from None
    rules = known_rules | set(file.image_rules)
    for name, model in file.models.items():
        if model.image_rule is not None and model.image_rule not in rules:
            allowed = ", ".join(sorted(rules))
            raise _malformed(path, f"models.{name}.image_rule: must be one of {allowed}")


def _malformed(path: Path, why: str) -> UsageError:
    return UsageError(
        f"The price file {path} has a mistake: {why}.",
        remedy=f"Correct it, or unset {_VARIABLE}.",
    )
