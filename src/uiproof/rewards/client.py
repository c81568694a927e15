"""A client of `uiproof serve` that honours `Retry-After` and deadlines."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uiproof.errors import UiproofError, UsageError
from uiproof.rewards.reward import PROFILE, Reward, blocking

if TYPE_CHECKING:
    import httpx

_BUSY = frozenset({429, 503})  # nothing was scored: ask again
_MOST_AT_ONCE = 8  # requests
_LONGEST_PAUSE = 60.0  # seconds between two tries
_CONNECT_SECONDS = 10.0


class ServiceError(UiproofError):
    """The service cannot be reached, or refuses a request."""

    code = "service"
    exit_code = 3


class Client:
    """Scores and rewards of a `uiproof serve`.

        client = uiproof.Client("http://scores:8720", token="secret")
        client.score([{"reference": page, "generated": html}])       # results as of POST /score
        client.reward(html, reference=page)                          # a Reward, None: no time left
        await client.reward_many_async(items, deadline=60)

    A batch is sent in parts. If the queue is full (429) or the service starts or ends (503), wait
    for `Retry-After`; retry broken connections `tries` times, and items that ran out of time until
    `deadline` seconds have passed.
    """

    def __init__(
        self, url: str, *, token: str | None = None, tries: int = 5, batch: int = 16
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no address.", remedy="Give one such as http://host:8720.")
        if batch < 1 or tries < 1:
            raise UsageError("batch and tries must be at least 1.")
        self._url, self._tries, self._batch = url.rstrip("/"), tries, batch
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def score_async(
        self, items: Iterable[Mapping[str, Any]], *, deadline: float | None = None
    ) -> list[dict[str, Any] | None]:
        """Return the results of items as of `POST /score`; None for those without a score."""
        return await self._ask_all("/score", list(items), deadline)

    score = blocking(score_async)

    async def reward_async(
        self,
        generated: str,
        reference: Any = None,
        *,
        profile: str = PROFILE,
        weights: Mapping[str, float] | None = None,
        deadline: float | None = None,
        **fields: Any,
    ) -> Reward | None:
        """Return the reward of one answer; further fields are those of items."""
        item = {"generated": generated, "reference": reference, **fields}
        (found,) = await self.reward_many_async(
            [item], profile=profile, weights=weights, deadline=deadline
        )
        return found

    reward = blocking(reward_async)

    async def reward_many_async(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        profile: str = PROFILE,
        weights: Mapping[str, float] | None = None,
        deadline: float | None = None,
    ) -> list[Reward | None]:
        """Return the rewards of items, as of `POST /reward`, in their order."""
        shared = {"profile": profile, **({} if weights is None else {"weights": dict(weights)})}
        asked = [{**shared, **item} for item in items]
        found = await self._ask_all("/reward", asked, deadline)
        return [None if one is None else _as_reward(one) for one in found]

    reward_many = blocking(reward_many_async)

    # --- asking

    async def _ask_all(
        self,
        path: str,
        items: list[dict[str, Any]] | list[Mapping[str, Any]],
        deadline: float | None,
    ) -> list[dict[str, Any] | None]:
        import httpx

        until = None if deadline is None else time.monotonic() + deadline
        limits = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        turns = asyncio.Semaphore(_MOST_AT_ONCE)
        async with httpx.AsyncClient(headers=self._headers, timeout=limits) as http:

            async def part(some: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
                async with turns:
                    return await self._ask(http, path, some, until)

            size = self._batch
            parts = [items[at : at + size] for at in range(0, len(items), size)]
            found = await asyncio.gather(*(part(one) for one in parts))
        return [one for some in found for one in some]

    async def _ask(
        self,
        http: httpx.AsyncClient,
        path: str,
        items: Sequence[Mapping[str, Any]],
        until: float | None,
    ) -> list[dict[str, Any] | None]:
        """Return the results of a part; None for items that had no result in time."""
        import httpx

        results: list[dict[str, Any] | None] = [None] * len(items)
        open_ones = list(range(len(items)))
        failures = 0
        while open_ones:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                break
            limit = {} if left is None else {"deadline": max(left, 0.001)}
            body = {"items": [{**items[number], **limit} for number in open_ones]}
            try:
                async with asyncio.timeout(left):
                    answer = await http.post(f"{self._url}{path}", json=body)
            except TimeoutError:
                break
            except httpx.TransportError as error:
                failures += 1
                if failures >= self._tries:
                    raise ServiceError(
                        f"{self._url} cannot be reached: {error or type(error).__name__}.",
                        remedy="Start it with `uiproof serve`, and check the address.",
                    ) from error
                await _pause(_backoff(failures), until)
                continue
            if answer.status_code in _BUSY:
                await _pause(_retry_after(answer.headers.get("Retry-After")), until)
                continue
            failures = 0
            for number, one in zip(open_ones, _results(answer), strict=True):
                if (one.get("error") or {}).get("code") != "deadline":
                    results[number] = one
            open_ones = [number for number in open_ones if results[number] is None]
            if open_ones and until is None:  # the service's own deadline was too short for them
                failures += 1
                if failures >= self._tries:
                    break
        return results


def _as_reward(result: Mapping[str, Any]) -> Reward:
    return Reward(
        value=float(result["reward"]),
        components=result["components"],
        flags=tuple(result["flags"]),
        seconds=float(result["seconds"]),
        reason=result["reason"],
    )


def _results(answer: httpx.Response) -> list[dict[str, Any]]:
    try:
        content = answer.json()
    except ValueError:
        content = {}
    if answer.status_code == 200 and isinstance(content.get("results"), list):
        found: list[dict[str, Any]] = content["results"]
        return found
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        error = {"message": f"It answered with the status {answer.status_code}."}
    raise ServiceError(
        f"{answer.url} refused the request: {error.get('message', '')}",
        remedy=str(error.get("remedy", "")),
    )


def _retry_after(header: str | None) -> float:
    try:
        return min(max(float(header or 1), 0.05), _LONGEST_PAUSE)
    except ValueError:  # a date
        return 1.0


def _backoff(failures: int) -> float:
    return min(0.25 * float(2**failures), 10.0) * random.uniform(0.5, 1.0)


async def _pause(seconds: float, until: float | None) -> None:
    left = seconds if until is None else min(seconds, max(until - time.monotonic(), 0.0))
    await asyncio.sleep(left)
