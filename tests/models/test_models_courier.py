"""The courier's process: nothing is asked twice, nothing paid is lost, whoever is killed when."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import suppress

import psutil
import pytest
from cache_tools import RULE, ask, end, start
from courier_tools import BOOTSTRAP, Client
from provider_servers import Fault, ProviderServer

from uiproof.errors import InputError, InternalError, MissingDependencyError, StorageError
from uiproof.models import courier
from uiproof.models.courier import Courier
from uiproof.models.images import rule_for
from uiproof.models.names import parse_name
from uiproof.models.types import AttemptError, Image

SECRET = "sk-loopback-5f3a9c71d2"
START = courier._start_process


@pytest.fixture(scope="module", autouse=True)
def couriers_from_nothing():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(courier, "_start_process", START)
        yield


@pytest.fixture
def server():
    with ProviderServer(answer=lambda asked: f"<p>{asked.prompt}</p>") as server:
        yield server


@pytest.fixture
def light(monkeypatch):
    """Couriers that start in a moment; tests without this use the SDK."""
    monkeypatch.setattr("uiproof.models.courier._BOOTSTRAP", BOOTSTRAP)


@pytest.fixture(autouse=True)
def key_in_the_environment(monkeypatch):
    monkeypatch.setenv("UIPROOF_API_KEY", SECRET)


def url_of(server: ProviderServer) -> str:
    return server.base_url("compatible")


def couriers(of: int | None = None) -> list[psutil.Process]:
    """The courier processes that a process has started."""
    found = []
    for child in psutil.Process(of or os.getpid()).children(recursive=True):
        with suppress(psutil.Error):
            if child.status() != psutil.STATUS_ZOMBIE and "courier" in " ".join(child.cmdline()):
                found.append(child)
    return found


def wait_until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


async def until(condition, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def test_many_attempts_at_once_through_the_sdk_leave_answers_and_no_process(
    server, tmp_path, capfd
):
    picture = tmp_path / "picture.png"
    picture.write_bytes(_png())
    gaps = []

    async def watch_the_loop():
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - began)

    async def main():
        watch = asyncio.create_task(watch_the_loop())
        rule = rule_for(parse_name("compatible:http://any/v1#tiny"))
        async with Client(url_of(server), tmp_path / "cache", rule=rule) as client:
            server.latency = lambda asked: random.random() / 10
            names = [f"question {number}" for number in range(40)]
            replies = await asyncio.gather(*(client.ask(name) for name in names * 2))
            assert [reply.text for reply in replies] == [f"<p>{name}</p>" for name in names * 2]
            seen = await client.ask("see", Image(picture))
            assert seen.images[0].width == 3
            assert client.cache.get(client.key("see", Image(picture))).text == seen.text
            (process,) = couriers()
            assert SECRET in process.environ().values()
            assert SECRET not in " ".join(process.cmdline() + psutil.Process().cmdline())
            assert process.pid == os.getsid(process.pid)
        assert not process.is_running()
        watch.cancel()

    asyncio.run(main())
    assert server.stats()["answered"] == 41
    assert server.stats()["answered_twice"] == 0
    assert {asked.headers["authorization"] for asked in server.log} == {f"Bearer {SECRET}"}
    assert max(gaps) < 1.0  # the SDK takes longer than that to import
    assert capfd.readouterr() == ("", "")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 40
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def _png() -> bytes:
    import io

    from PIL import Image as Picture

    file = io.BytesIO()
    Picture.new("RGB", (3, 2)).save(file, "PNG")
    return file.getvalue()


def test_eight_couriers_that_want_the_same_answers_ask_for_each_once(server, tmp_path, light):
    server.latency = lambda asked: random.random() / 20
    names = [f"question {number}" for number in range(30)]

    async def all_of_them(client: Client) -> set[str]:
        async with client:
            wanted = random.sample(names, len(names))
            return {reply.text for reply in await asyncio.gather(*map(client.ask, wanted))}

    async def main():
        clients = [Client(url_of(server), tmp_path) for _ in range(8)]
        return await asyncio.gather(*map(all_of_them, clients))

    assert asyncio.run(main()) == [{f"<p>{name}</p>" for name in names}] * 8
    assert sorted(asked.prompt for asked in server.log) == sorted(names)
    assert not couriers()


PARENT = """
import courier_tools, uiproof.models.courier
url, folder, bootstrap = args
uiproof.models.courier._BOOTSTRAP = bootstrap

async def main():
    async with courier_tools.Client(url, Path(folder)) as client:
        names = [f"question {number}" for number in range(6)]
        for reply in await asyncio.gather(*map(client.ask, names)):
            print(reply.text)

asyncio.run(main())
"""


def test_a_killed_parent_loses_no_answer_that_is_under_way(server, tmp_path):
    server.latency = 1.5
    first = start(PARENT, url_of(server), tmp_path, courier._BOOTSTRAP)
    wait_until(lambda: len(server.log) == 6)
    (left_alone,) = couriers(first.pid)
    first.kill()
    first.communicate()
    second = start(PARENT, url_of(server), tmp_path, BOOTSTRAP)
    assert end(second).decode().split("\n")[:-1] == [
        f"<p>question {number}</p>" for number in range(6)
    ]
    assert len(server.log) == server.stats()["answered"] == 6
    wait_until(lambda: not left_alone.is_running())
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_courier_that_is_left_alone_with_a_silent_server_ends_soon(server, tmp_path, light):
    server.faults = lambda asked: Fault(hang=True)

    async def main():
        client = Client(url_of(server), tmp_path, timeout=1.0)
        asking = asyncio.create_task(client.ask("question"))
        await until(lambda: server.log)
        (process,) = couriers()
        began = time.monotonic()
        await client.courier.close()
        assert time.monotonic() - began < 15
        with pytest.raises(AttemptError):
            await asking
        return process

    process = asyncio.run(main())
    wait_until(lambda: not process.is_running(), 15)


def test_a_courier_does_not_wait_for_others_when_nobody_waits_for_it(server, tmp_path, light):
    async def main():
        client = Client(url_of(server), tmp_path)
        async with client.cache.locked(client.key("question")):
            asking = asyncio.create_task(client.ask("question"))
            await client.ask("another question")
            (process,) = couriers()
            await client.courier.close()
            with pytest.raises(AttemptError):
                await asking
            await until(lambda: not process.is_running(), 10)

    asyncio.run(main())
    assert len(server.log) == 1


def test_a_courier_ends_even_where_another_process_inherited_its_socket(server, tmp_path):
    code = """
import courier_tools, uiproof.models.courier
uiproof.models.courier._BOOTSTRAP = courier_tools.BOOTSTRAP

async def main():
    await courier_tools.Client(args[0], Path(args[1])).ask("question")
    if heir := os.fork():
        print(heir, flush=True)
    time.sleep(60)

asyncio.run(main())
"""
    parent = start(code, url_of(server), tmp_path)
    heir = psutil.Process(int(parent.stdout.readline()))
    try:
        (process,) = (one for one in couriers(parent.pid) if one != heir)
        parent.kill()
        wait_until(lambda: not process.is_running(), 10)
        assert heir.is_running()
    finally:
        heir.kill()
        parent.kill()
        parent.communicate()


def test_a_killed_courier_fails_what_is_under_way_and_is_replaced(server, tmp_path, light):
    server.latency = lambda asked: 30.0 if asked.prompt == "slow" else 0.0

    async def main():
        async with Client(url_of(server), tmp_path) as client:
            slow = [asyncio.create_task(client.ask("slow")) for _ in range(2)]
            await client.ask("quick")
            await until(lambda: len(server.log) == 2)
            (process,) = couriers()
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGHUP)
            assert (await client.ask("still there")).text == "<p>still there</p>"
            process.kill()
            for asking in slow:
                with pytest.raises(AttemptError, match="SIGKILL") as caught:
                    await asking
                assert caught.value.kind == "connection"
            assert (await client.ask("again")).text == "<p>again</p>"
            assert (await client.ask("quick")).cached
            (second,) = couriers()
            assert second.pid != process.pid

    asyncio.run(main())
    assert not couriers()


def test_what_is_cancelled_or_closed_is_stored_all_the_same(server, tmp_path, light):
    server.latency = 1.5

    async def main():
        client = Client(url_of(server), tmp_path)
        cancelled = asyncio.create_task(client.ask("cancelled"))
        closed = asyncio.create_task(client.ask("closed"))
        await until(lambda: len(server.log) == 2)
        cancelled.cancel()
        (process,) = couriers()
        await client.courier.close()
        await client.courier.close()
        with pytest.raises(AttemptError):
            await closed
        server.latency = 0.0
        assert (await client.ask("closed")).cached  # waits for the one that was left alone
        assert (await client.ask("cancelled")).cached
        await client.courier.close()
        await until(lambda: not process.is_running())

    asyncio.run(main())
    assert len(server.log) == 2
    assert not couriers()


def test_errors_travel_as_what_they_are_and_without_secrets(server, tmp_path, light):
    server.faults = [Fault(status=429), Fault(cut="before")]

    async def main():
        async with Client(url_of(server), tmp_path) as client:
            with pytest.raises(AttemptError) as caught:
                await client.ask("question")
            assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 7.5)
            with pytest.raises(AttemptError) as caught:
                await client.ask("question")
            assert caught.value.kind == "connection"
            assert not (await client.ask("question")).cached
            with pytest.raises(InternalError, match=r"ZeroDivisionError: with \[key\]") as caught:
                await client.ask("something unforeseen")
            assert "in send" in caught.value.traceback
            assert SECRET not in caught.value.traceback
            with pytest.raises(InputError, match=r"gone\.png"):
                await client.courier.attempt("0" * 64, ask(Image(tmp_path / "gone.png")))

    asyncio.run(main())


def test_a_missing_key_is_told_before_anything_is_sent(tmp_path, monkeypatch, light):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def main():
        without_key = Courier(
            parse_name("openai/gpt-4o"), rule=RULE, timeout=5, cache_folder=tmp_path, max_bytes=None
        )
        for _ in range(2):
            with pytest.raises(MissingDependencyError, match="OPENAI_API_KEY"):
                await without_key.attempt("0" * 64, ask("question"))
        await without_key.close()

    asyncio.run(main())
    assert not couriers()


def test_an_answer_that_cannot_be_stored_is_delivered_before_the_complaint(server, tmp_path, light):
    async def main():
        async with Client(url_of(server), tmp_path) as client:
            in_the_way = tmp_path / client.key("question")[:2]
            in_the_way.write_text("")
            assert (await client.ask("question")).text == "<p>question</p>"
            with pytest.raises(StorageError, match="cannot be written"):
                await client.ask("question")
            in_the_way.unlink()
            assert not (await client.ask("question")).cached
            assert (await client.ask("question")).cached
        (tmp_path / "file").write_text("")
        async with Client(url_of(server), tmp_path / "file" / "cache") as client:
            with pytest.raises(StorageError, match="cannot be written"):
                await client.ask("another")

    asyncio.run(main())
    assert [asked.prompt for asked in server.log] == ["question"] * 2


def test_a_fresh_answer_replaces_the_stored_one_and_is_asked_for_once(server, tmp_path, light):
    server.answer = lambda asked: f"answer {asked.number}"

    async def main():
        async with (
            Client(url_of(server), tmp_path) as client,
            Client(url_of(server), tmp_path) as other,
        ):
            assert (await client.ask("question")).text == "answer 0"
            assert (await client.ask("question")).text == "answer 0"
            server.latency = 0.3
            both = (one.ask("question", fresh=True) for one in (client, other, client))
            assert {reply.text for reply in await asyncio.gather(*both)} == {"answer 1"}
            # An attempt that nobody waited for to its end is fresh enough for the next one.
            impatient = asyncio.create_task(client.ask("question", fresh=True))
            await until(lambda: len(server.log) == 3)
            impatient.cancel()
            assert (await client.ask("question", fresh=True)).text == "answer 2"
            assert (await client.ask("question", fresh=True)).text == "answer 3"
            assert (await other.ask("question")).text == "answer 3"

    asyncio.run(main())


def test_a_courier_that_was_never_needed_costs_nothing(server, tmp_path):
    asyncio.run(Client(url_of(server), tmp_path / "cache").courier.close())
    assert not (tmp_path / "cache").exists()
    assert not couriers()
