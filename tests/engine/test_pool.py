"""Who gets which worker: nobody waits for a start while one is free, and nobody waits forever."""

from __future__ import annotations

import asyncio

import pytest

from uiproof.engine.executors import Pool, Trace
from uiproof.errors import NodeLostError, WorkerDiedError, WorkerStartError


class Room:
    """A cluster with so many places; workers that find none wait for one."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.started = 0
        self.dying: list[WorkerDiedError] = []

    def worker(self) -> Worker:
        return Worker(self)


class Worker:
    def __init__(self, room: Room) -> None:
        self.room, self.placed = room, False

    async def start(self) -> None:
        await self.room.places.acquire()
        self.placed = True
        self.room.started += 1

    async def call(self, stage, *args):
        await asyncio.sleep(0.01)
        if self.room.dying:
            raise self.room.dying.pop()
        return args

    async def end(self) -> None:
        if self.placed:
            self.placed = False
            self.room.places.release()


def pool_of(room: Room, **options) -> Pool:
    return Pool(room.worker, **{"workers": 4, "case_timeout": 10, **options})


def test_who_waits_for_a_place_takes_a_worker_that_gets_free(tmp_path):
    async def run() -> int:
        room = Room(1)
        pool = pool_of(room, start_seconds=0.05)
        await asyncio.gather(*(pool.call("score", number) for number in range(30)))
        await pool.close()
        return room.started

    assert asyncio.run(run()) == 1


def test_places_that_come_later_are_used():
    async def run() -> int:
        room = Room(1)
        pool = pool_of(room)
        first = asyncio.gather(*(pool.call("score", number) for number in range(10)))
        await asyncio.sleep(0.02)
        room.places.release()
        await first
        await pool.close()
        return room.started

    assert asyncio.run(run()) == 2


def test_without_any_place_the_start_fails_for_all_and_says_why():
    async def run() -> list[object]:
        pool = pool_of(Room(0), start_seconds=0.05, why_not=lambda: "There is no room.")
        calls = (pool.call("score", number) for number in range(8))
        ended = await asyncio.gather(*calls, return_exceptions=True)
        await pool.close()
        return ended

    ended = asyncio.run(run())
    assert all(isinstance(one, WorkerStartError) for one in ended)
    assert "There is no room." in str(ended[0])


@pytest.mark.parametrize(("kind", "most"), [(WorkerDiedError, 2), (NodeLostError, 5)])
def test_lost_nodes_are_forgiven_more_often_than_deaths_but_not_forever(kind, most):
    async def tried(deaths: int) -> int:
        room = Room(2)
        room.dying = [kind("gone") for _ in range(deaths)]
        pool, trace = pool_of(room), Trace()
        try:
            await pool.call("score", 1, trace=trace)
        finally:
            await pool.close()
        return trace.attempts

    assert asyncio.run(tried(most - 1)) == most
    with pytest.raises(kind):
        asyncio.run(tried(most))


def test_a_call_that_is_cancelled_loses_no_worker():
    async def run() -> int:
        room = Room(1)
        pool = pool_of(room, workers=2)
        for _ in range(20):
            calls = [asyncio.create_task(pool.call("score", number)) for number in range(3)]
            await asyncio.sleep(0)
            calls[1].cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        await pool.close()
        return room.started

    assert asyncio.run(run()) < 40


def test_what_a_pool_was_made_on_is_let_go_of_once():
    released = []
    pool = pool_of(Room(1), release=lambda: released.append(1))
    asyncio.run(pool.close())
    pool.release()
    assert released == [1]
