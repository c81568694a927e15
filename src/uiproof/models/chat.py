"""A model that can be asked: never twice for the same, never more than may be spent.

    model = connect("openai/gpt-4o", budget=Budget(max_cost=5.0))
    reply = await model.ask(Request((Message("user", ("What is this?", Image(path))),)))
    await model.close()

An answer that is in the cache comes from there and needs no key, no SDK and no network. Anything
else is asked by a process of its own (`courier.py`), within the limits of the budget
(`budget.py`), as many at once as the provider takes (`limiter.py`), and again where it fails
(`retries.py`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any, Literal

from uiproof.errors import UsageError
from uiproof.models import catalogue
from uiproof.models.budget import Budget
from uiproof.models.cache import ReplyCache
from uiproof.models.cache_format import all_small, loaded, pictures
from uiproof.models.catalogue import ModelFacts
from uiproof.models.courier import Courier
from uiproof.models.images import measure_all, rule_for
from uiproof.models.names import Endpoint, is_official, key_variable, parse_name, redacted
from uiproof.models.retries import Persistence
from uiproof.models.tokens import request_tokens
from uiproof.models.types import AttemptError, Parameters, Reply, Request, Usage
from uiproof.settings import Settings

# Requests that pause hold no turn, so more have to be there than turns for none to stay unused.
_ASKED_PER_TURN = 4


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is asked."""

    concurrency: int = 16  # requests under way at once, at most
    timeout: float = 300.0  # seconds for one attempt
    patience: float = 900.0  # seconds that a request may spend on failures and pauses
    tall: Literal["split", "scale"] = "split"  # pages that are too tall for the provider
    parameters: Parameters | None = None  # in place of those of the requests
    chosen: tuple[str, ...] | None = None  # which of these somebody chose; None: all of them

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise UsageError(f"{self.concurrency} requests at once are too few.")
        if not (0 < self.timeout < float("inf") and self.patience >= 0):
            raise UsageError("A timeout is a positive number of seconds, patience 0 or more.")

    @classmethod
    def of(
        cls,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> ModelOptions:
        """Options with parameters among them; what is None is as by default."""
        given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        known = {name: value for name, value in given.items() if value is not None}
        others = {name: value for name, value in options.items() if value is not None}
        if not known:
            return cls(**others)
        return cls(**others, parameters=Parameters(**known), chosen=tuple(known))  # type: ignore[arg-type]

    def with_defaults(self, defaults: Parameters) -> ModelOptions:
        """The same options with other parameters wherever nobody chose one."""
        if self.parameters is None:
            return replace(self, parameters=defaults)
        if self.chosen is None:
            return self
        kept = {name: getattr(self.parameters, name) for name in self.chosen}
        return replace(self, parameters=replace(defaults, **kept))


def connect(
    name: str,
    *,
    options: ModelOptions | None = None,
    budget: Budget | None = None,
    settings: Settings | None = None,
) -> ChatModel:
    """The model of this name, for example `openai/gpt-4o`; nothing is sent yet.

    Raises `UsageError` for a name that is none, and where costs are limited but unknown.
    """
    endpoint = parse_name(name)
    budget = budget or Budget()
    if budget.max_cost is not None and catalogue.facts(endpoint).price is None:
        example = f'{{"models": {{"{endpoint.name}": {{"input": 2.5, "output": 10}}}}}}'
        raise UsageError(
            f"What {endpoint.name} costs is not known, so its costs cannot be limited.",
            remedy="Write its price in US dollars per million tokens into a JSON file and name "
            f"that in UIPROOF_PRICES: {example}. Or limit the number of requests.",
        )
    return ChatModel(
        endpoint, options or ModelOptions(), budget, settings or Settings.from_environment()
    )


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request, looked at: its key, and the most that an answer can cost."""

    key: str
    request: Request
    worst_cost: float


class ChatModel:
    """A model at an endpoint; make it with `connect`.

    It may be used in one event loop after the other, with `close` at the end of each.
    """

    def __init__(
        self, endpoint: Endpoint, options: ModelOptions, budget: Budget, settings: Settings
    ) -> None:
        self.endpoint = endpoint
        self._options, self._budget = options, budget
        self._rule = rule_for(endpoint, options.tall)
        self._looked_up: tuple[str | None, ModelFacts] | None = None
        self._cache = ReplyCache(settings.cache_dir / "models", settings.model_cache_bytes)
        # What belongs to an event loop is made when it is needed.
        self._courier: Courier | None = None
        self._persistence: Persistence | None = None
        self._flights: dict[str, _Flight] = {}

    @property
    def name(self) -> str:
        """Its public name, without secrets: `openai/gpt-4o`."""
        return self.endpoint.name

    @property
    def concurrency(self) -> int:
        """How many calls of `ask` are worth having at once."""
        return _ASKED_PER_TURN * self._options.concurrency

    @property
    def parameters(self) -> Parameters:
        """How it is asked where a request does not say otherwise, within what the model can."""
        return self._within(self._options.parameters or Parameters())

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides about answers, for the manifest of a run."""
        address = {} if is_official(self.endpoint) else {"base_url": self.endpoint.base_url}
        return {
            "model": self.name,
            **address,
            "parameters": asdict(self.parameters),
            "images": self._rule.as_json(),
        }

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:
        """The model's answer, from the cache where it is there.

        With `fresh`, the cache is not looked at, and the new answer takes the place of the old
        one. Raises `ModelError` where this request gets no answer; `ModelAccessError` where none
        would, and `BudgetReachedError`, which stop a run. Requests that are the same and asked at
        the same time are one request; all answers to it but one say `cached`.
        """
        if all_small(pictures(request)):  # a thread would take longer to start than this takes
            prepared, reply = self._prepare(request, fresh)
        else:
            prepared, reply = await asyncio.to_thread(self._prepare, request, fresh)
        if reply is not None:
            return reply
        flight = self._flights.get(prepared.key)
        if flight is not None and not flight.over:
            return replace(await flight.landed(), cached=True)
        flight = _Flight(asyncio.create_task(self._ask(prepared, fresh)))
        self._flights[prepared.key] = flight
        flight.task.add_done_callback(lambda _: self._forget(prepared.key, flight))
        return await flight.landed()

    async def is_cached(self, request: Request) -> bool:
        """Whether `ask` would find the answer in the cache."""
        _, reply = await asyncio.to_thread(self._prepare, request, False)
        return reply is not None

    async def estimated_tokens(self, request: Request) -> int:
        """About how many tokens of input a request has."""
        return await asyncio.to_thread(lambda: self._input_tokens(loaded(request)))

    def usual_output_tokens(self) -> int | None:
        """How long its answers in the cache are on average; None where there are none."""
        lengths = [
            entry.output_tokens
            for entry in self._cache.entries()
            if entry.model == self.name and entry.output_tokens is not None
        ]
        return round(sum(lengths) / len(lengths)) if lengths else None

    def facts(self, reply: Reply) -> dict[str, Any]:
        """What a record keeps of a call.

        `cost` is what the answer cost when it was made, in US dollars, None where that is not
        known; one that is `cached` cost nothing this time.
        """
        return {
            "model": reply.model or self.endpoint.model,
            "cached": reply.cached,
            "finish": reply.finish.value,
            **asdict(reply.usage),
            "cost": catalogue.cost(self.endpoint, reply.usage, self._known),
            "network_seconds": round(reply.network_seconds, 3),
            "queue_seconds": 0.0 if reply.cached else round(reply.queue_seconds, 3),
            "attempts": 0 if reply.cached else reply.attempts,
            "images": [asdict(image) for image in reply.images],
            "dropped": list(reply.dropped),
        }

    async def close(self) -> None:
        """Let go of the courier, which finishes on its own what is under way."""
        flights = [flight.task for flight in self._flights.values()]
        for task in flights:
            task.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        courier, self._courier, self._persistence = self._courier, None, None
        self._flights = {}
        if courier is not None:
            await courier.close()

    def _prepare(self, request: Request, fresh: bool) -> tuple[_Prepared, Reply | None]:
        """Everything that reads and hashes pictures, and looks for the answer in the cache."""
        parameters = self._within(self._options.parameters or request.parameters)
        request = replace(loaded(request), parameters=parameters)
        key = self._cache.key(self.endpoint, request, self._rule)
        reply = None if fresh else self._cache.get(key)
        priced = reply is None and self._budget.max_cost is not None
        return _Prepared(key, request, self._worst_cost(request) if priced else 0.0), reply

    def _within(self, parameters: Parameters) -> Parameters:
        most = self._known.max_output_tokens
        if most is not None and parameters.max_tokens > most:
            return replace(parameters, max_tokens=most)
        return parameters

    def _worst_cost(self, request: Request) -> float:
        usage = Usage(self._input_tokens(request), request.parameters.max_tokens)
        return catalogue.cost(self.endpoint, usage, self._known) or 0.0

    def _input_tokens(self, request: Request) -> int:
        measured = measure_all([picture.read() for picture in pictures(request)], self._rule)
        return request_tokens(self.endpoint, request, measured)

    async def _ask(self, prepared: _Prepared, fresh: bool) -> Reply:
        if self._courier is None:
            self._courier = Courier(
                self.endpoint,
                rule=self._rule,
                timeout=self._options.timeout,
                cache_folder=self._cache.folder,
                max_bytes=self._cache.max_bytes,
            )
        if self._persistence is None:
            self._persistence = Persistence(
                self.name,
                concurrency=self._options.concurrency + self._ahead,
                patience=self._options.patience,
                remedy=self._remedy(),
            )
        courier, limit = self._courier, self._persistence.limit

        async def attempt() -> Reply:
            # Turns are a few more than may be on the network, so that what is done before and
            # after that keeps no server waiting.
            most, turns = self._options.concurrency, self._options.concurrency + self._ahead
            at_once = ceil(limit.level * most / turns)
            async with self._budget.reserved(prepared.worst_cost) as reservation:
                try:
                    reply = await courier.attempt(
                        prepared.key, prepared.request, fresh=fresh, at_once=at_once
                    )
                except AttemptError as error:
                    # What came too late or in pieces may have to be paid for all the same.
                    if error.kind not in ("timeout", "malformed"):
                        reservation.settle(0.0)
                    error.message = redacted(error.message, self.endpoint)
                    raise
                if reply.cached:
                    reservation.cancel()
                else:
                    cost = catalogue.cost(self.endpoint, reply.usage, self._known)
                    reservation.settle(prepared.worst_cost if cost is None else cost)
                return reply

        return await self._persistence.call(attempt)

    @property
    def _known(self) -> ModelFacts:
        """The facts of the model; to look them up for every answer would take its time."""
        prices = os.environ.get("UIPROOF_PRICES")  # may be set while a notebook is open
        if self._looked_up is None or self._looked_up[0] != prices:
            self._looked_up = prices, catalogue.facts(self.endpoint)
        return self._looked_up[1]

    @property
    def _ahead(self) -> int:
        return max(2, self._options.concurrency // 2)

    def _forget(self, key: str, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    def _remedy(self) -> str:
        version = {"anthropic": "/v1", "google": "/v1beta"}.get(self.endpoint.provider, "")
        return (
            f"Check the key in {key_variable(self.endpoint)}, what is left to pay with, and the "
            f"name of the model: {self.endpoint.base_url}{version}/models lists what there is."
        )


class _Flight:
    """A request that is under way, and whoever waits for its answer."""

    def __init__(self, task: asyncio.Task[Reply]) -> None:
        self.task = task
        self.over = False  # given up: nobody may join any more
        self._waiting = 0
        # Where everybody stopped waiting, nobody else looks at how it ended.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def landed(self) -> Reply:
        """The answer. When the last one who waits is cancelled, so is the request."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.over = True
                self.task.cancel()  # nothing happens where it has ended
