"""How many requests are on the network at once."""

from __future__ import annotations

import asyncio

import pytest

from uiproof.models.chat import ModelOptions, connect
from uiproof.models.types import Message, Request
from uiproof.models.wires.gate import Gate


async def crowd(gate, count, cancel=()):
    inside = most = 0

    async def one():
        nonlocal inside, most
        async with gate:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    tasks = [asyncio.create_task(one()) for _ in range(count)]
    await asyncio.sleep(0)
    for number in cancel:
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return most


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_no_more_than_the_limit_are_inside(limit):
    gate = Gate()
    gate.set_limit(limit)
    assert asyncio.run(crowd(gate, 30)) == limit


def test_without_a_limit_everybody_goes_through():
    assert asyncio.run(crowd(Gate(), 30)) == 30


def test_whoever_is_cancelled_leaves_no_place_taken():
    async def main():
        gate = Gate()
        gate.set_limit(2)
        await crowd(gate, 20, cancel=range(0, 20, 2))
        return await crowd(gate, 10)

    assert asyncio.run(main()) == 2


def test_a_higher_limit_lets_in_who_waits():
    async def main():
        gate = Gate()
        gate.set_limit(1)
        running = asyncio.create_task(crowd(gate, 12))
        await asyncio.sleep(0.002)
        gate.set_limit(6)
        return await running

    assert asyncio.run(main()) == 6


def test_a_server_never_gets_more_at_once_than_was_asked_for(tmp_path, monkeypatch):
    from provider_servers import ProviderServer

    with ProviderServer("yes", latency=0.05) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))

        async def main():
            model = connect("openai/gpt-4o", options=ModelOptions(concurrency=4))
            requests = [Request((Message("user", (f"question {n}",)),)) for n in range(40)]
            await asyncio.gather(*map(model.ask, requests))
            await model.close()

        asyncio.run(main())
        assert server.most_at_once == 4
