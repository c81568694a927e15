"""Ask a model: never twice for the same answer, never beyond the budget.

    model = connect("openai/gpt-4o", budget=Budget(max_cost=5.0))
    reply = await model.ask(Request((Message("user", ("What is this?", Image(path))),)))
    await model.close()

An answer that is in the cache (`cache.py`) needs no key and no network. Anything else is asked
within the limits of the budget (`budget.py`), as many requests at once as the provider takes, and
again where it fails (`retries.py`), by the client of its provider (`providers.py`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uiproof.errors import StorageError, UsageError
from uiproof.models import catalogue
from uiproof.models.budget import Budget
from uiproof.models.cache import ReplyCache
from uiproof.models.catalogue import ModelFacts
from uiproof.models.images import measure_all, rule_for
from uiproof.models.names import Endpoint, is_official, key_variable, parse_name, require_key
from uiproof.models.retries import Retrier
from uiproof.models.tokens import request_tokens
from uiproof.models.types import AttemptError, Parameters, Reply, Request, Usage
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.models.providers import ModelClient

# Requests that wait for a retry hold no slot, so there must be more requests than slots.
_ASKED_PER_SLOT = 4
_OMNIPARSER_FAULTS = 3  # it fails with pictures in which it reads no text, however often


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options for asking a model."""

    concurrency: int = 16  # requests at once, at most
    timeout: float = 300.0  # seconds for one attempt
    patience: float = 900.0  # seconds that a request may spend on failures and pauses
    tall: Literal["split", "scale"] = "split"  # pages that are too tall for the provider
    parameters: Parameters | None = None  # in place of those of the requests
    chosen: tuple[str, ...] | None = None  # parameters that the user chose; None: all of them

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
        """Return options with parameters among them; None stands for the default."""
        given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        known = {name: value for name, value in given.items() if value is not None}
        others = {name: value for name, value in options.items() if value is not None}
        if not known:
            return cls(**others)
        return cls(**others, parameters=Parameters(**known), chosen=tuple(known))  # type: ignore[arg-type]

    def with_defaults(self, defaults: Parameters) -> ModelOptions:
        """Return the same options with other parameters where the user chose none."""
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
    """Return the model of this name, for example `openai/gpt-4o`; nothing is sent yet.

    Raise `UsageError` for a malformed name, and where costs are limited but unknown.
    """
    endpoint = parse_name(name)
    budget = budget or Budget()
    if budget.max_cost is not None and catalogue.facts(endpoint).price is None:
        example = f'{{"models": {{"{endpoint.name}": {{"input": 2.5, "output": 10}}}}}}'
        raise UsageError(
            f"The price of {endpoint.name} is not known, so its costs cannot be limited.",
            remedy="Write its price in US dollars per million tokens into a JSON file and name "
            f"that in UIPROOF_PRICES: {example}. Or limit the number of requests.",
        )
    return ChatModel(
        endpoint, options or ModelOptions(), budget, settings or Settings.from_environment()
    )


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
        self._storage_error: StorageError | None = None
        # These belong to an event loop.
        self._client: ModelClient | None = None
        self._retrier: Retrier | None = None
        self._asking: dict[str, asyncio.Task[Reply]] = {}

    @property
    def name(self) -> str:
        """Return its public name, without secrets: `openai/gpt-4o`."""
        return self.endpoint.name

    @property
    def concurrency(self) -> int:
        """Return how many calls of `ask` keep all slots busy."""
        return _ASKED_PER_SLOT * self._options.concurrency

    @property
    def parameters(self) -> Parameters:
        """Return the parameters for requests without any, within what the model can."""
        return self._within(self._options.parameters or Parameters())

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what determines the answers, for the manifest of a run."""
        address = {} if is_official(self.endpoint) else {"base_url": self.endpoint.base_url}
        return {
            "model": self.name,
            **address,
            "parameters": asdict(self.parameters),
            "images": self._rule.as_json(),
        }

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:
        """Return the model's answer, from the cache if possible.

        With `fresh`, the cache is not read, and the new answer replaces the old one. Raise
        `ModelError` where this request gets no answer; `ModelAccessError` where none would, and
        `BudgetReachedError`, which stop a run. The same request asked several times at once is
        one request; all its answers but one are `cached`. Cancelling does not cancel a request
        that was sent: `close` does.
        """
        key, request = await self._loaded(request)
        if not fresh and (stored := self._cache.get(key)):
            return stored
        if running := self._asking.get(key):
            return replace(await asyncio.shield(running), cached=True)
        task = self._asking[key] = asyncio.create_task(self._ask(key, request))

        def done(_: object) -> None:
            self._asking.pop(key, None)
            _ = (
                task.cancelled() or task.exception()
            )  # else asyncio warns if all calls were cancelled

        task.add_done_callback(done)
        return await asyncio.shield(task)

    async def is_cached(self, request: Request) -> bool:
        """Return whether `ask` would find the answer in the cache."""
        key, _ = await self._loaded(request)
        return self._cache.get(key) is not None

    async def estimated_tokens(self, request: Request) -> int:
        """Return about how many tokens of input a request has."""
        return await asyncio.to_thread(self._input_tokens, request)

    def usual_output_tokens(self) -> int | None:
        """Return the average length of its answers in the cache; None where there are none."""
        lengths = [
            entry.output_tokens
            for entry in self._cache.entries()
            if entry.model == self.name and entry.output_tokens is not None
        ]
        return round(sum(lengths) / len(lengths)) if lengths else None

    def facts(self, reply: Reply) -> dict[str, Any]:
        """Return what a record keeps of a call.

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
        """Cancel requests that are under way and close all connections."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        client, self._client, self._retrier = self._client, None, None
        if client is not None:
            await client.close()

    async def _loaded(self, request: Request) -> tuple[str, Request]:
        """Return a request as it is sent, and its key in the cache."""

        def load() -> tuple[str, Request]:
            parameters = self._within(self._options.parameters or request.parameters)
            if request.sample and parameters.seed is not None:  # the same seed, the same answer
                parameters = replace(parameters, seed=parameters.seed + request.sample)
            loaded = replace(request.loaded(), parameters=parameters)
            return self._cache.key(self.endpoint, loaded, self._rule), loaded

        # A thread would take longer to start than small pictures take.
        return load() if request.is_small else await asyncio.to_thread(load)

    def _within(self, parameters: Parameters) -> Parameters:
        most = self._known.max_output_tokens
        if most is not None and parameters.max_tokens > most:
            return replace(parameters, max_tokens=most)
        return parameters

    def _input_tokens(self, request: Request) -> int:
        measured = measure_all([picture.read() for picture in request.pictures], self._rule)
        return request_tokens(self.endpoint, request, measured)

    async def _ask(self, key: str, request: Request) -> Reply:
        if error := self._storage_error:
            self._storage_error = None
            raise error
        client, retrier = self._connected()
        worst_cost = 0.0
        if self._budget.max_cost is not None:
            usage = Usage(await self.estimated_tokens(request), request.parameters.max_tokens)
            worst_cost = catalogue.cost(self.endpoint, usage, self._known) or 0.0

        async def attempt() -> Reply:
            async with self._budget.reserved(worst_cost) as reservation:
                try:
                    reply = await client.send(request)
                except AttemptError as error:
                    # An answer that came too late or damaged may be charged all the same.
                    if error.kind not in ("timeout", "malformed"):
                        reservation.settle(0.0)
                    raise
                cost = catalogue.cost(self.endpoint, reply.usage, self._known)
                reservation.settle(worst_cost if cost is None else cost)
            try:
                self._cache.put(key, reply, model=self.name)
            except StorageError as error:
                self._storage_error = error  # this answer is paid for; the next request fails
            return reply

        return await retrier.call(attempt)

    def _connected(self) -> tuple[ModelClient, Retrier]:
        if self._client is None or self._retrier is None:
            from uiproof.models.providers import make_client  # imports httpx

            self._cache.prepare()  # an answer that can't be stored would be paid for again
            omniparser = self.endpoint.provider == "omniparser"
            self._client = make_client(
                self.endpoint,
                key=require_key(self.endpoint),
                rule=self._rule,
                timeout=self._options.timeout,
            )
            self._retrier = Retrier(
                self.name,
                concurrency=self._options.concurrency,
                patience=self._options.patience,
                remedy=_access_remedy(self.endpoint),
                address_hint=_omniparser_hint(self.endpoint) if omniparser else "",
                fault_tries=_OMNIPARSER_FAULTS if omniparser else None,
            )
        return self._client, self._retrier

    @property
    def _known(self) -> ModelFacts:
        """Return the facts of the model, looked up once for each value of UIPROOF_PRICES."""
        prices = os.environ.get("UIPROOF_PRICES")  # may be set while a notebook is open
        if self._looked_up is None or self._looked_up[0] != prices:
            self._looked_up = prices, catalogue.facts(self.endpoint)
        return self._looked_up[1]


def _access_remedy(endpoint: Endpoint) -> str:
    address, variable = endpoint.base_url, key_variable(endpoint)
    if endpoint.provider == "omniparser":
        return f"Check the address. {_omniparser_hint(endpoint)}"
    if endpoint.provider == "compatible":
        return (
            f"Check the address {address}, the name of the model ({address}/models lists all), "
            f"and, if the server wants a key, the one in {variable}."
        )
    version = {"anthropic": "/v1", "google": "/v1beta"}.get(endpoint.provider, "")
    return (
        f"Check the key in {variable}, the account's credit, and the name of the model: "
        f"{address}{version}/models lists all."
    )


def _omniparser_hint(endpoint: Endpoint) -> str:
    address = endpoint.base_url
    return (
        f"EVAL_OMNIPARSER_URL or --omniparser-url says where OmniParser is, {address} now; "
        f"its server answers at {address}/probe/."
    )
