"""What is known about models: prices, limits, which parameters they take, how they count images.

The figures are in `catalogue.json`, with the date on which they were read and where. They age:
a file of the same form, named by `UIPROOF_PRICES`, is laid over ours field by field.

    {"models": {"openai/gpt-4o": {"input": 2.5, "cached_input": 1.25, "output": 10},
                "Qwen/Qwen2.5-VL-7B-Instruct": {"input": 0, "output": 0}}}

Prices are in US dollars per million tokens. What is in neither file is unknown, and costs then
are None, never a guess.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from uiproof.errors import UsageError
from uiproof.models.names import Endpoint
from uiproof.models.types import Usage
from uiproof.settings import Settings

_OURS = Path(__file__).with_name("catalogue.json")
_VARIABLE = "UIPROOF_PRICES"
# What providers append to the name of a model for one version of it. Anything else, as in
# gpt-4o-mini, is another model.
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
    """How a model counts the tokens of a picture; `tokens.py` says what the kinds mean."""

    kind: ImageKind
    base: int = 0
    tile: int = 0
    most: int = 0
    multiplier: float = 1.0
    side: int = 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known about a model; None is unknown."""

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
    """What is known about the model at an endpoint.

    Servers of others are unknown, even where they offer a model of a name that we know: their
    prices are their own. The user's file may name them.
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
    """What a request cost in US dollars; None where the tokens or the prices are unknown.

    `known` are the facts of the endpoint, for who has looked them up already.
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
    """A file that has been read and found to be in order."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    image_rules: Mapping[str, ImageTokenRule] = field(default_factory=dict)
    as_of: str = ""
    source: str = ""


def _matching(catalogue: _Catalogue, name: str) -> str | None:
    """The longest name in a catalogue that is this one, but for the mark of a version."""
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
        raise _malformed(path, "", f"cannot be read as JSON: {error}") from None
    check = _Check(path)
    check.fields(content, "", ("as_of", "source", "image_rules", "models"), needed=("models",))
    rules = content.get("image_rules", {})
    check.object(rules, "image_rules")
    for name, rule in rules.items():
        check.image_rule(rule, f"image_rules.{name}")
    image_rules = {name: ImageTokenRule(**rule) for name, rule in rules.items()}
    known_rules = set(image_rules)
    if path != _OURS:
        known_rules |= set(_read(_OURS, _OURS.stat().st_mtime_ns).image_rules)
    check.object(content["models"], "models")
    for name, model in content["models"].items():
        check.model(model, f"models.{name}", known_rules)
    words = {word: content.get(word, "") for word in ("as_of", "source")}
    for word, text in words.items():
        check.that(isinstance(text, str), word, "must be text")
    return _Catalogue(content["models"], image_rules, **words)


@dataclass(frozen=True, slots=True)
class _Check:
    """Checks the form of a file, and says where it is wrong."""

    path: Path

    def that(self, good: bool, where: str, why: str) -> None:
        if not good:
            raise _malformed(self.path, where, why)

    def object(self, value: Any, where: str) -> None:
        self.that(isinstance(value, dict), where, "must be an object")

    def fields(
        self, value: Any, where: str, allowed: tuple[str, ...], needed: tuple[str, ...] = ()
    ) -> None:
        self.object(value, where)
        for name in value:
            why = f"is not a field that is known here; those are {', '.join(allowed)}"
            self.that(name in allowed, f"{where}.{name}".strip("."), why)
        for name in needed:
            self.that(name in value, f"{where}.{name}".strip("."), "is missing")

    def number(self, value: Any, where: str, *, whole: bool = False) -> None:
        kinds = int if whole else (int, float)
        good = isinstance(value, kinds) and not isinstance(value, bool)
        good = good and math.isfinite(value) and value >= 0
        self.that(good, where, f"must be a {'whole ' if whole else ''}number of 0 or more")

    def prices(self, value: Mapping[str, Any], where: str) -> None:
        for name in ("input", "cached_input", "output"):
            if name in value:
                self.number(value[name], f"{where}.{name}")

    def model(self, value: Any, where: str, rules: set[str]) -> None:
        prices = ("input", "cached_input", "output")
        others = ("max_output_tokens", "temperature", "seed", "image_rule", "long")
        self.fields(value, where, (*prices, *others))
        self.prices(value, where)
        if "max_output_tokens" in value:
            self.number(value["max_output_tokens"], f"{where}.max_output_tokens", whole=True)
        for name in ("temperature", "seed"):
            good = isinstance(value.get(name, True), bool)
            self.that(good, f"{where}.{name}", "must be true or false")
        if "image_rule" in value:
            rule = value["image_rule"]
            good = isinstance(rule, str) and rule in rules
            self.that(good, f"{where}.image_rule", f"must be one of {', '.join(sorted(rules))}")
        if "long" in value:
            place = f"{where}.long"
            self.fields(value["long"], place, ("above", *prices), ("above", "input", "output"))
            self.prices(value["long"], place)
            self.number(value["long"]["above"], f"{place}.above", whole=True)

    def image_rule(self, value: Any, where: str) -> None:
        names = tuple(one.name for one in fields(ImageTokenRule))
        self.fields(value, where, names, needed=("kind",))
        kinds = cast(tuple[str, ...], ImageKind.__args__)  # type: ignore[attr-defined]
        self.that(value["kind"] in kinds, f"{where}.kind", f"must be one of {', '.join(kinds)}")
        for name in names[1:]:
            if name in value:
                self.number(value[name], f"{where}.{name}", whole=name != "multiplier")


def _malformed(path: Path, where: str, why: str) -> UsageError:
    place = f"{where} in {path}" if where else str(path)
    return UsageError(
        f"The price file has a mistake: {place} {why}.",
        remedy=f"Correct it, or unset {_VARIABLE}.",
    )
