"""The client waits when it is told to, tries again, and keeps its deadline."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import uiproof
from uiproof.errors import UiproofError, UsageError

Answer = tuple[int, dict[str, str], Any]


class Scripted:
    """A server that answers requests with what a function returns; None breaks the connection."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, Any]]] = []
        self.answer: Callable[[int, list[dict[str, Any]]], Answer | None] = lambda _, items: ok(
            items
        )


def ok(items: list[dict[str, Any]], error: str = "") -> Answer:
    why = {"code": error, "message": "", "remedy": ""} if error else None
    one = {"reward": None if error else 0.5, "components": {"text": 0.5}, "flags": []}
    result = {**one, "seconds": 0.1, "reason": "", "error": why}
    return 200, {}, {"results": [{**result, "id": item.get("id")} for item in items]}


@pytest.fixture
def server() -> Iterator[tuple[Scripted, str]]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append(body["items"])
            answer = script.answer(len(script.asked), body["items"])
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            data = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield script, f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def test_a_full_queue_is_waited_for_as_long_as_it_says(server: tuple[Scripted, str]) -> None:
    script, url = server
    busy = (429, {"Retry-After": "0.2"}, {"error": {"message": "full"}})
    script.answer = lambda number, items: busy if number < 3 else ok(items)
    began = time.monotonic()
    assert float(uiproof.Client(url).reward("<p>x")) == 0.5  # type: ignore[arg-type]
    assert len(script.asked) == 3
    assert time.monotonic() - began >= 0.4


def test_a_deadline_ends_the_waiting(server: tuple[Scripted, str]) -> None:
    script, url = server
    script.answer = lambda *_: (503, {"Retry-After": "60"}, {})
    assert uiproof.Client(url).reward("<p>x", deadline=3) is None
    assert len(script.asked) == 1
    assert 0 < script.asked[0][0]["deadline"] <= 3


def test_broken_connections_are_tried_again(server: tuple[Scripted, str]) -> None:
    script, url = server
    script.answer = lambda number, items: None if number == 1 else ok(items)
    assert float(uiproof.Client(url).reward("<p>x")) == 0.5  # type: ignore[arg-type]
    script.answer = lambda *_: None
    with pytest.raises(UiproofError, match="cannot be reached"):
        uiproof.Client(url, tries=2).reward("<p>x")


def test_only_what_had_no_time_is_asked_for_again(server: tuple[Scripted, str]) -> None:
    script, url = server

    def answer(number: int, items: list[dict[str, Any]]) -> Answer:
        status, headers, content = ok(items)
        if number == 1:
            content["results"][1] = ok(items[:1], "deadline")[2]["results"][0]
        return status, headers, content

    script.answer = answer
    found = uiproof.Client(url).reward_many([{"generated": str(n)} for n in range(3)], deadline=60)
    assert [float(one) for one in found] == [0.5] * 3  # type: ignore[arg-type]
    assert [[item["generated"] for item in items] for items in script.asked] == [
        ["0", "1", "2"],
        ["1"],
    ]


def test_a_batch_is_sent_in_parts_and_comes_back_in_order(server: tuple[Scripted, str]) -> None:
    script, url = server
    found = uiproof.Client(url, batch=2).score([{"id": n, "generated": ""} for n in range(5)])
    assert [one["id"] for one in found if one] == [0, 1, 2, 3, 4]
    assert sorted(len(items) for items in script.asked) == [1, 2, 2]


def test_a_refusal_is_an_error_with_its_remedy(server: tuple[Scripted, str]) -> None:
    script, url = server
    wrong = {"error": {"code": "request", "message": "items.0: wrong", "remedy": "Read /docs."}}
    script.answer = lambda *_: (422, {}, wrong)
    with pytest.raises(UiproofError, match=r"items\.0: wrong.*Read /docs"):
        uiproof.Client(url).reward("<p>x")
    assert len(script.asked) == 1


def test_an_address_must_be_one() -> None:
    with pytest.raises(UsageError, match="is no address"):
        uiproof.Client("scores:8720")
