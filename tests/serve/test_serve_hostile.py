"""A service that is asked by clients who mean no good, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from serve_process import GENERATED, REFERENCE, Service, interaction, serving

from uiproof.browser.source import MAX_HTML_BYTES
from uiproof.http_server import server_config
from uiproof.process_tree import resident_mb
from uiproof.scoring.pool import WarmPool
from uiproof.serve.app import make_app
from uiproof.serve.queue import Limits, Metrics, ScoreQueue
from uiproof.sockets import address, listen

QUEUE = 20
JSON = {"content-type": "application/json"}
ITEM = {"reference": REFERENCE, "generated": GENERATED}
LARGE = MAX_HTML_BYTES + 1
CLIENT_SECONDS = 2
HEAD = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    options = ["--workers", 1, "--queue", QUEUE, "--allow-host", "Scores.example"]
    with serving(*options, "--client-timeout", CLIENT_SECONDS, folder=folder) as service:
        yield service


def post(service, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return service.client.post("/score", content=content, headers=JSON | headers)


def refused(service, body, status=422):
    answer = post(service, body)
    assert answer.status_code == status, answer.text[:300]
    error = answer.json()["error"]
    assert error["message"]
    assert error["remedy"]
    assert len(answer.content) < 3_000
    return error["message"]


# Millions of values


@pytest.mark.parametrize(
    "body",
    [
        b'{"items":[' + b"{}," * 1_330_000 + b"{}]}",
        b'{"items":[' + b"[]," * 15_000_000 + b"1]}",
        b'{"items":[' + b'"",' * 1_300_000 + b'""]}',
        b'{"items":[{' + b",".join(b'"%d":1' % number for number in range(400_000)) + b"}]}",
        b"[" * 2_000_000,
        b'{"a":' * 500_000,
        b'"' * 8_000_000,
        b'"' + b'\\"' * 8_000_000,
    ],
    ids=["objects", "lists", "texts", "fields", "open lists", "open objects", "quotes", "escaped"],
)
def test_millions_of_values_are_refused_before_they_are_made(service, body):
    before = resident_mb(service.process.pid)
    refused(service, body)
    # Checking them one by one took 2 GB and blocked everybody for 44 s.
    assert resident_mb(service.process.pid) - before < 600


def test_others_are_answered_while_a_large_request_is_refused(service):
    body = b'{"items":[' + b"{}," * 20_000_000 + b"{}]}"
    with ThreadPoolExecutor(1) as threads:
        large = threads.submit(post, service, body)
        probes = 0
        while not large.done():
            assert service.client.get("/health", timeout=20).status_code == 200
            probes += 1
    assert large.result().status_code == 422
    assert probes > 0


def test_one_problem_is_told_for_each_item_and_only_a_few(service):
    wrong = {"reference": 1, "generated": 2, "form": 3, "deadline": "x", "more": 5}
    message = refused(service, {"items": [ITEM, *[wrong] * 18]})
    assert message.count("items.") == 5
    assert "items.0" not in message


def test_an_item_with_thousands_of_fields_or_tags_is_refused(service):
    fields = {f"f{number}": number for number in range(3_000)}
    assert "more than 200 values" in refused(service, {"items": [ITEM | fields]})
    tags = {"reference": interaction() | {"tags": [1] * 1_000}, "generated": "x"}
    assert "more than 200 values" in refused(service, tags)


# Texts and numbers


@pytest.mark.parametrize("id", ["\ud800", "a\udfffb", "\0\x1b[31m\u202e", "x" * 1_000, -(2**63)])
def test_an_id_of_any_text_comes_back_and_costs_no_batch(service, id):
    answer = post(service, {"items": [ITEM | {"id": id}, ITEM | {"id": 2}]})
    assert answer.status_code == 200
    assert [one["id"] for one in answer.json()["results"]] == [id, 2]
    assert [one["status"] for one in answer.json()["results"]] == ["scored", "scored"]


def test_lone_surrogates_in_pages_are_scored(service):
    answer = post(service, {"reference": REFERENCE + "\ud800", "generated": GENERATED + "\udfff"})
    assert answer.json()["status"] == "scored", answer.text


def test_items_may_have_the_same_id(service):
    results = post(service, {"items": [ITEM | {"id": 1}] * 3}).json()["results"]
    assert [one["id"] for one in results] == [1, 1, 1]


@pytest.mark.parametrize(
    "raw",
    [
        '"id": "' + "x" * 1_001 + '"',
        f'"id": {2**63}',
        '"id": ' + "9" * 5_000,
        '"id": 1e999',
        '"id": [1]',
        '"deadline": NaN',
        '"deadline": 1e999',
        '"deadline": -Infinity',
        '"deadline": 0',
        '"benchmark": "\\ud800"',
        '"form": "\\ud800"',
        '"\\ud800": 1',
        '"id": ' + "[" * 100_000 + "]" * 100_000,
    ],
)
def test_numbers_and_texts_out_of_bounds_are_refused(service, raw):
    body = json.dumps(ITEM)[:-1] + ", " + raw + "}"
    refused(service, body.encode())
    refused(service, b'{"items": [' + body.encode() + b"]}")


@pytest.mark.parametrize("named", [{"dataset": "\ud800", "case": "1"}, {"dataset": "x" * 5_000}])
def test_names_of_data_sets_have_bounds_and_may_be_any_text(service, named):
    refused(service, {"generated": "x", "case": "1"} | named)


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": [10**9, 800]},
        {"viewport": [1280, 2**63]},
        {"viewport": [8_193, 800]},
        {"trigger": [0, 0, 10**6, 10]},
        {"effect": [0, 0, 2**70, 10]},
        {"action": "x" * 10_001},
        {"value": "\ud800"},
        {"tags": ["x"] * 51},
        {"description": "x" * 100_000},
    ],
)
def test_an_interaction_has_bounds(service, options):
    refused(service, {"reference": interaction() | options, "generated": "x"})


# One page fails by itself


def test_a_page_that_is_too_large_fails_by_itself_for_good(service):
    items = [
        ITEM | {"id": "fine"},
        ITEM | {"id": "large", "generated": "x" * LARGE},
        {"id": "fine too", "reference": REFERENCE, "generated": REFERENCE},
    ]
    answer = post(service, {"items": items})
    assert answer.status_code == 200
    results = {one["id"]: one for one in answer.json()["results"]}
    assert [one["status"] for one in results.values()] == ["scored", "failed", "scored"]
    assert results["large"]["error"]["code"] == "page_too_large"
    assert results["large"]["scores"] is not None  # the loop of the documentation is done with it
    single = post(service, ITEM | {"generated": "<p>" + "x" * LARGE, "completion": True})
    assert single.status_code == 200
    assert single.json()["error"]["code"] == "page_too_large"


def test_a_reference_that_is_too_large_fails_by_itself_and_is_named(service):
    items = [ITEM, {"reference": "x" * LARGE, "generated": GENERATED}]
    results = post(service, {"items": items}).json()["results"]
    assert [one["status"] for one in results] == ["scored", "failed"]
    assert results[1]["error"]["code"] == "page_too_large"
    assert "reference" in results[1]["error"]["message"]


def test_a_completion_that_no_model_writes_fails_by_itself(service):
    items = [ITEM | {"generated": "<html>" * 1_000_000, "completion": True}, ITEM]
    results = post(service, {"items": items}).json()["results"]
    assert [one["status"] for one in results] == ["failed", "scored"]
    assert results[0]["error"]["code"] == "page_too_large"


# Bodies that are not what they say


def test_compressed_bodies_are_not_unpacked(service):
    bomb = gzip.compress(b" " * 100_000_000)
    answer = post(service, bomb, **{"Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert "Content-Encoding" in answer.json()["error"]["remedy"]


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "text/plain; x=json", "multipart/form-data; boundary=json"]
)
def test_other_types_of_content_are_refused(service, kind):
    answer = post(service, ITEM, **{"content-type": kind})
    assert answer.status_code == 422
    assert "application/json" in answer.json()["error"]["remedy"]


@pytest.mark.parametrize(
    "body", [b"\xff\xfe{\x00}\x00", b'{"generated": "\xed\xa0\x80"}', b"", b"1"]
)
def test_bodies_that_are_not_json_in_utf_8_are_refused(service, body):
    refused(service, body)


def test_requests_that_wait_are_bounded_in_bytes_too():
    limits = Limits(body_bytes=600_000, held_bytes=1_000_000)
    head = HEAD + b"Content-Length: 500000\r\n\r\n" + b" " * 400_000
    with app_on_a_socket(limits) as service:
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(connected(service)).sendall(head)
            service.wait_for(lambda: post(service, b" " * 300_000).status_code == 429)
            answer = post(service, b" " * 300_000)
            assert int(answer.headers["Retry-After"]) >= 1
            assert answer.json()["error"]["code"] == "queue_full"
        service.wait_for(lambda: post(service, b" " * 300_000).status_code == 422)


@contextmanager
def app_on_a_socket(limits):
    """The same service in a thread, with other limits and nobody who scores."""
    pool = WarmPool(workers=1)
    queue = ScoreQueue(pool, limits, {}, Metrics(pool))
    with listen("127.0.0.1", 0, who="The service") as listener:
        server = uvicorn.Server(server_config(make_app(queue)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        service = Service(None, address("127.0.0.1", listener))
        with service.client:
            service.wait_for(lambda: server.started)
            yield service
        server.should_exit = True
        thread.join()
    asyncio.run(pool.close())


# Names and origins


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics", "/docs", "/openapi.json"])
def test_other_names_are_refused(service, path):
    for host in (
        "evil.example",
        "evil.example:8720",
        "localhost.evil.example",
        "10.0.0.1",
        "[::2]",
    ):
        answer = service.client.get(path, headers={"Host": host})
        assert answer.status_code == 421, host
        assert "--allow-host" in answer.json()["error"]["remedy"]
    port = service.url.rpartition(":")[2]
    for host in (f"localhost:{port}", "127.0.0.1", "[::1]:80", "LOCALHOST", "scores.example:1"):
        assert service.client.get(path, headers={"Host": host}).status_code == 200, host


def test_scores_are_refused_under_other_names_and_to_pages_of_other_sites(service):
    assert post(service, ITEM, Host="evil.example").status_code == 421
    for origin in ("https://evil.example", "null", "http://localhost:1", "http://["):
        assert post(service, ITEM, Origin=origin).status_code == 403, origin
    assert post(service, ITEM, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert post(service, ITEM, Origin=service.url).status_code == 200
    preflight = service.client.options("/score", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in preflight.headers


# Connections


def connected(service):
    host, _, port = service.url.removeprefix("http://").rpartition(":")
    client = socket.create_connection((host, int(port)))
    client.settimeout(60)
    return client


HALVES = {
    "nothing": b"",
    "half a line": b"POST /score HT",
    "half a head": HEAD,
    "no body": HEAD + b"Content-Length: 1000\r\n\r\n",
    "half a body": HEAD + b'Content-Length: 1000\r\n\r\n{"items":',
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
    "expect": HEAD + b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
}


def test_half_a_request_is_ended(service):
    with ExitStack() as stack:
        clients = {name: stack.enter_context(connected(service)) for name in HALVES}
        after_a_whole_one = stack.enter_context(connected(service))
        for name, client in clients.items():
            client.sendall(HALVES[name])
        after_a_whole_one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert after_a_whole_one.recv(1_000).startswith(b"HTTP/1.1 200")
        after_a_whole_one.sendall(b"GET /hea")
        for name, client in clients.items():
            assert everything(client).endswith(b"took too long to arrive.\n"), name
        everything(after_a_whole_one)


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 1_000),
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" " * 100_000),
    ],
    ids=["head", "body"],
)
def test_a_request_that_comes_byte_by_byte_is_ended(service, begin, rest):
    with connected(service) as client:
        client.sendall(begin)
        assert trickled(client, rest)


def test_a_client_that_never_reads_is_ended(service):
    """It asks for more than all buffers hold, and reads none of it."""
    family = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with family as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        host, _, port = service.url.removeprefix("http://").rpartition(":")
        client.connect((host, int(port)))
        own = client.getsockname()[1]
        client.settimeout(1)
        with suppress(OSError):
            while True:  # until nothing more is taken
                client.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        service.wait_for(lambda: not is_open(service, own), 60)


def is_open(service, port) -> bool:
    """Whether the service still has the connection from this port."""
    own = f":{int(service.url.rpartition(':')[2]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return any(
        words[1].endswith(own) and words[2].endswith(f":{port:04X}") and words[9] != "0"
        for words in lines[1:]
    )


def test_a_flood_of_headers_is_refused(service):
    with connected(service) as client:
        with suppress(OSError):
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 100_000)
        with suppress(OSError):
            assert everything(client).startswith(b"HTTP/1.1 4")
    assert service.client.get("/health").status_code == 200


def test_a_slow_answer_is_waited_for(service):
    slow = "<script>let t = Date.now(); let x = 0; for (let i = 0; i < 2.5e9; i++) x += i</script>"
    answer = post(service, ITEM | {"generated": slow})
    assert answer.status_code == 200  # longer than clients may be silent


def test_thousands_of_idle_connections_keep_nobody_out(tmp_path):
    few = 400
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))  # what the service inherits
    try:
        options = ["--workers", 1, "--client-timeout", 300]
        with serving(*options, folder=tmp_path) as service:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            with ExitStack() as stack:
                for _ in range(2 * few):
                    stack.enter_context(connected(service))
                with httpx.Client(base_url=service.url, timeout=60) as client:
                    assert client.get("/health").status_code == 200
                    assert client.post("/score", json=ITEM).status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def everything(client) -> bytes:
    """All that comes until the other side ends the connection."""
    found = b""
    while part := client.recv(65_536):
        found += part
    return found


def trickled(client, content) -> bool:
    """Whether the other side ends the connection while bytes are sent one by one."""
    client.settimeout(0.05)
    until = time.monotonic() + 60
    for number in range(len(content)):
        assert time.monotonic() < until, "it was never ended"
        try:
            client.send(content[number : number + 1])
            if client.recv(1_000):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False
