"""Compare the time of requests to a failing provider with the ideal.

    python bench/models.py

A server in a process of its own answers 429 to a third of all requests (with and without
Retry-After), 500 to a tenth, and cuts one in twenty connections. The ideal is the time that the
server spent on all requests, divided by the concurrency. Every prompt must be answered, and none
twice. The column without faults shows what this machine adds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from uiproof.models.chat import ModelOptions, connect
from uiproof.models.types import Message, Request
from uiproof.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from provider_servers import Asked, Fault


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to get all answers, as a ratio.")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3, help="with other faults each time")
    given = parser.parse_args()
    print("concurrency  latency  ideal s   ratio: without faults  median  worst   attempts  twice")
    for concurrency in (8, 16):
        for latency in (0.1, 0.5):
            calm = measure(given.requests, concurrency, latency, seed=None)
            rounds = [
                measure(given.requests, concurrency, latency, seed) for seed in range(given.rounds)
            ]
            ratios = [one["ratio"] for one in rounds]
            print(
                f"{concurrency:11} {latency:8.1f} {median(one['ideal'] for one in rounds):8.1f} "
                f"{calm['ratio']:22.2f} {median(ratios):7.2f} {max(ratios):6.2f} "
                f"{median(one['requests'] for one in rounds):10.0f} "
                f"{sum(one['twice'] for one in rounds):6.0f}",
                flush=True,
            )


def measure(requests: int, concurrency: int, latency: float, seed: int | None) -> dict[str, float]:
    with server(latency, seed) as (address, stats):
        seconds = asyncio.run(ask_all(address, requests, concurrency))
        counts = stats()
    if counts["answered"] != requests:
        raise SystemExit(f"{counts['answered']} answers to {requests} requests")
    ideal = counts["handling_seconds"] / concurrency
    return {**counts, "ideal": ideal, "ratio": seconds / ideal}


async def ask_all(address: str, requests: int, concurrency: int) -> float:
    """Ask that many different questions; return the seconds from the first to the last answer."""
    with tempfile.TemporaryDirectory() as cache:
        model = connect(
            f"compatible:{address}#bench",
            options=ModelOptions(concurrency=concurrency),
            settings=Settings(cache_dir=Path(cache)),
        )
        try:
            # Imports and the first connection are no part of it.
            await model.ask(_request("warm up"))
            questions = iter(range(requests))
            began = time.perf_counter()

            async def asker() -> None:
                for number in questions:
                    await model.ask(_request(f"question {number}"))

            async with asyncio.TaskGroup() as tasks:
                for _ in range(model.concurrency):
                    tasks.create_task(asker())
            return time.perf_counter() - began
        finally:
            await model.close()


def _request(text: str) -> Request:
    return Request((Message("user", (text,)),))


@contextmanager
def server(latency: float, seed: int | None) -> Iterator[tuple[str, Any]]:
    """Start a server in another process; yield its address, and a function for its counts."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, latency, seed))
    process.start()
    try:

        def stats() -> dict[str, float]:
            ours.send("stats")
            return json.loads(ours.recv())

        yield ours.recv(), stats
    finally:
        ours.close()
        process.join()


def _serve(pipe: Connection, latency: float, seed: int | None) -> None:
    from provider_servers import Fault, ProviderServer

    chance = random.Random(seed)
    handling: list[float] = []

    def fault(asked: Asked) -> Fault | None:
        roll = chance.random()
        if seed is None or asked.prompt == "warm up" or roll > 1 / 3 + 1 / 10 + 1 / 20:
            return None
        if roll < 1 / 3:
            # Answers take half a minute and pauses a few seconds; here both are shorter.
            pause = {"Retry-After": str(latency)} if chance.random() < 0.5 else {}
            return Fault(status=429, headers=pause)
        if roll < 1 / 3 + 1 / 10:
            return Fault(status=500)
        return Fault(cut=chance.choice(("before", "inside")))

    def seconds(asked: Asked) -> float:
        if asked.prompt == "warm up":
            return 0.0
        handling.append(latency * chance.uniform(0.7, 1.3))
        return handling[-1]

    with ProviderServer(latency=seconds, faults=fault) as running:
        pipe.send(running.base_url("compatible"))
        try:
            while pipe.recv():
                counts = running.stats()
                pipe.send(
                    json.dumps(
                        {
                            "handling_seconds": sum(handling),
                            "requests": counts["requests"] - 1,
                            "answered": counts["answered"] - 1,
                            "twice": counts["answered_twice"],
                        }
                    )
                )
        except EOFError:
            return


if __name__ == "__main__":
    main()
