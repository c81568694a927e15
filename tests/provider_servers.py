"""A real HTTP server on loopback that speaks the formats of the model providers.

    with ProviderServer(answer=lambda asked: f"<p>{asked.prompt}</p>") as server:
        server.base_url("openai")  # what OPENAI_BASE_URL or a `compatible:` name takes
        server.faults = [Fault(status=429, headers={"Retry-After": "1"}), None, Fault(cut="inside")]
        server.log, server.answered, server.most_at_once

All formats are served at once, each on its real path. By hand:
`python tests/provider_servers.py --format openai --latency 0.1`; `GET /stats` tells what has
happened.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import hashlib
import json
import random
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Format = Literal["openai", "anthropic", "google", "omniparser"]
ERROR_WORDS = {  # how Anthropic and Google call an HTTP status
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", "PERMISSION_DENIED"),
    404: ("not_found_error", "NOT_FOUND"),
    413: ("request_too_large", "INVALID_ARGUMENT"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    503: ("api_error", "UNAVAILABLE"),
    529: ("overloaded_error", "UNAVAILABLE"),
}
Answer = str | dict[str, Any]  # a text, or the whole JSON of an answer


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    number: int
    format: Format
    path: str
    query: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]
    at_once: int  # requests under way at that moment, this one included

    @property
    def model(self) -> str:
        in_path = self.path.rpartition("/")[2].partition(":")[0]
        return in_path if self.format == "google" else str(self.body.get("model"))

    @property
    def parts(self) -> list[str | bytes]:
        """All texts and pictures in their order, whatever their role."""
        return [_part(part) for part in raw_parts(self.format, self.body)]

    @property
    def images(self) -> list[bytes]:
        return [part for part in self.parts if isinstance(part, bytes)]

    @property
    def prompt(self) -> str:
        """The conversation as one text; a picture stands as `[image DIGEST]`."""
        return "\n".join(
            part if isinstance(part, str) else f"[image {hashlib.sha256(part).hexdigest()[:12]}]"
            for part in self.parts
        )


@dataclass(frozen=True)
class Fault:
    """A fault of one request; by default an HTTP error in the provider's words."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "made to fail"
    body: Any = None  # bytes, or JSON, sent as it is; None: an error with the message
    content_type: str = "application/json"
    hang: bool = False  # never answers
    cut: Literal["before", "inside"] | None = None  # the connection ends before or in the answer
    huge: int = 0  # an answer of so many bytes
    gzipped: bool = False  # a small parcel that unpacks to them
    slow_body: float = 0.0  # seconds between the headers and the body


def mixed_faults(
    *, rate_limited: float = 0.0, server: float = 0.0, cut: float = 0.0, seed: int = 0
) -> Callable[[Asked], Fault | None]:
    """Faults by chance, the same ones for the same seed, in these shares of all requests."""
    dice = random.Random(seed)

    def fault(_: Asked) -> Fault | None:
        roll = dice.random()
        if roll < rate_limited:
            return Fault(status=429, headers={"Retry-After": "0"})
        if roll < rate_limited + server:
            return Fault(status=500)
        if roll < rate_limited + server + cut:
            return Fault(cut=dice.choice(("before", "inside")))
        return None

    return fault


class ProviderServer:
    """Answers like OpenAI, Anthropic, Google and OmniParser, with faults by script.

    `answer` makes the text (or the whole JSON) of an answer; `latency` is in seconds; `faults` is
    a script, one entry per request in the order of arrival (None answers well), or a function.
    """

    def __init__(
        self,
        answer: Answer | Callable[[Asked], Answer] = "<html><body>hello</body></html>",
        *,
        latency: float | Callable[[Asked], float] = 0.0,
        faults: Sequence[Fault | None] | Callable[[Asked], Fault | None] = (),
        port: int = 0,
    ) -> None:
        self.answer = answer
        self.latency = latency
        self.faults = faults
        self.port = port
        self.log: list[Asked] = []
        self.answered: Counter[str] = Counter()  # by prompt: answers that were delivered
        self.abandoned: Counter[str] = Counter()  # by prompt: the client was gone
        self.failed = 0
        self.at_once = 0
        self.most_at_once = 0
        self.bytes_sent = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def base_url(self, format: Format | Literal["compatible"]) -> str:
        """The address as the SDK of that provider takes it."""
        root = f"http://127.0.0.1:{self.port}"
        return f"{root}/v1" if format in ("openai", "compatible") else root

    def environment(self, key: str = "sk-loopback-0123456789") -> dict[str, str]:
        """Environment variables that send all three SDKs here."""
        return {
            "OPENAI_BASE_URL": self.base_url("openai"),
            "ANTHROPIC_BASE_URL": self.base_url("anthropic"),
            "GOOGLE_GEMINI_BASE_URL": self.base_url("google"),
            **dict.fromkeys(
                ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "UIPROOF_API_KEY"), key
            ),
        }

    def stats(self) -> dict[str, int]:
        """Return all counts so far."""
        return {
            "requests": len(self.log),
            "answered": self.answered.total(),
            "answered_twice": sum(count - 1 for count in self.answered.values() if count),
            "abandoned": self.abandoned.total(),
            "failed": self.failed,
            "most_at_once": self.most_at_once,
        }

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._run())
        finally:
            self._loop.close()

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, backlog=1024, limit=2**20
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            while await self._one_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client is gone
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False where the connection is to be closed."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        headers = {
            name.lower(): value.strip()
            for name, colon, value in (line.partition(":") for line in lines)
            if colon
        }
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        spoken = format_of(path)
        if method == "GET" and path == "/stats":
            return await self._send(writer, 200, json.dumps(self.stats()).encode())
        if method != "POST" or spoken is None:
            return await self._send(writer, 404, b'{"error": {"message": "no such path"}}')
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        number, body = len(self.log), json.loads(content)
        asked = Asked(number, spoken, path, query, headers, body, self.at_once)
        self.log.append(asked)
        try:
            fault = self._fault(asked)
            latency = self.latency(asked) if callable(self.latency) else self.latency
            if latency:
                await asyncio.sleep(latency)
            if fault:
                self.failed += 1
                return await self._fail(asked, fault, reader, writer)
            return await self._succeed(asked, reader, writer)
        finally:
            self.at_once -= 1

    def _fault(self, asked: Asked) -> Fault | None:
        if callable(self.faults):
            return self.faults(asked)
        return self.faults[asked.number] if asked.number < len(self.faults) else None

    async def _succeed(
        self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        answer = self.answer(asked) if callable(self.answer) else self.answer
        body = answer if isinstance(answer, dict) else success(asked, answer)
        self.answered[asked.prompt] += 1  # before: who has the answer may look at the count at once
        try:
            if reader.at_eof():
                raise ConnectionResetError
            return await self._send(writer, 200, json.dumps(body).encode())
        except ConnectionError:
            self.answered[asked.prompt] -= 1
            self.abandoned[asked.prompt] += 1
            raise

    async def _fail(
        self,
        asked: Asked,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        if fault.hang:
            while not reader.at_eof():  # till the client loses patience
                await asyncio.sleep(0.02)
        if fault.hang or fault.cut == "before":
            writer.transport.abort()
            return False
        if fault.huge:
            return await self._flood(fault, writer)
        if fault.body is not None:
            body = fault.body if isinstance(fault.body, bytes) else json.dumps(fault.body).encode()
        elif fault.status >= 400:
            body = json.dumps(error(asked.format, fault.status, fault.message)).encode()
        else:
            body = json.dumps(success(asked, "half of this is lost")).encode()
        if fault.gzipped:
            body = gzip.compress(body)
        await self._send(writer, fault.status, b"", fault=fault, length=len(body))
        await asyncio.sleep(fault.slow_body)
        writer.write(body[: len(body) // 2] if fault.cut else body)
        await writer.drain()
        return fault.cut is None

    async def _flood(self, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """A body that is JSON to its end, if anybody reads that far."""
        packer = zlib.compressobj(1, wbits=31) if fault.gzipped else None
        await self._send(writer, fault.status, b"", fault=fault, length=None)
        for block in _blocks(b'{"choices": "', fault.huge, b'"}'):
            packed = packer.compress(block) if packer else block
            writer.write(packed)
            self.bytes_sent += len(packed)
            await writer.drain()
        writer.write(packer.flush() if packer else b"")
        await writer.drain()
        return False

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: bytes,
        *,
        fault: Fault | None = None,
        length: int | None = -1,
    ) -> bool:
        length = len(body) if length == -1 else length
        headers = {"Content-Type": fault.content_type if fault else "application/json"}
        headers |= {"Connection": "close"} if length is None else {"Content-Length": str(length)}
        headers |= {"Content-Encoding": "gzip"} if fault and fault.gzipped else {}
        headers |= dict(fault.headers) if fault else {}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body)
        await writer.drain()
        return True


def _blocks(start: bytes, size: int, end: bytes) -> Iterator[bytes]:
    yield start
    block = b"a" * 2**20
    for sent in range(0, size, len(block)):
        yield block[: size - sent]
    yield end


def format_of(path: str) -> Format | None:
    if path.endswith("/chat/completions"):
        return "openai"
    if path == "/v1/messages":
        return "anthropic"
    if path == "/parse/":
        return "omniparser"
    if path.startswith(("/v1beta/models/", "/v1/models/")) and path.endswith(":generateContent"):
        return "google"
    return None


def raw_parts(format: Format, body: dict[str, Any]) -> Iterator[Any]:
    """The parts of all messages as they stand in the body, the system's first."""
    if format == "omniparser":
        yield {"source": {"data": body["base64_image"]}}
        return
    if format == "google":
        contents = [body.get("systemInstruction", {}), *body["contents"]]
    else:
        contents = [{"parts": body.get("system", [])}]
        contents += [{"parts": message["content"]} for message in body["messages"]]
    for content in contents:
        parts = content.get("parts", [])
        yield from [parts] if isinstance(parts, str) else parts


def _part(part: Any) -> str | bytes:
    if isinstance(part, str):
        return part
    if "text" in part:
        return str(part["text"])
    if "inlineData" in part:
        return base64.b64decode(part["inlineData"]["data"])
    if "source" in part:
        return base64.b64decode(part["source"]["data"])
    return base64.b64decode(part["image_url"]["url"].partition(";base64,")[2])


def success(asked: Asked, text: str) -> dict[str, Any]:
    if asked.format == "omniparser":
        return {"parsed_content_list": [{"content": text}], "som_image_base64": "…", "latency": 0.1}
    words_in, words_out = len(asked.prompt.split()), len(text.split())
    if asked.format == "openai":
        return {
            "id": f"chatcmpl-{asked.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{asked.model}-2026-01-01",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": words_in, "completion_tokens": words_out},
        }
    if asked.format == "anthropic":
        return {
            "id": f"msg_{asked.number}",
            "type": "message",
            "role": "assistant",
            "model": f"{asked.model}-20260101",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": words_in, "output_tokens": words_out},
        }
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": words_in, "candidatesTokenCount": words_out},
        "modelVersion": f"{asked.model}-001",
    }


def error(format: Format, status: int, message: str) -> dict[str, Any]:
    anthropic, google = ERROR_WORDS.get(status, ("api_error", "INTERNAL"))
    if format == "anthropic":
        return {"type": "error", "error": {"type": anthropic, "message": message}}
    if format == "google":
        return {"error": {"code": status, "message": message, "status": google}}
    return {"error": {"message": message, "type": "error", "param": None, "code": None}}


def main() -> None:
    """Serve till Ctrl-C."""
    parser = argparse.ArgumentParser(description="Answers like a model provider, on loopback.")
    parser.add_argument("--format", choices=["openai", "anthropic", "google"], default="openai")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--answer", default="<html><body>hello</body></html>", help="the text")
    parser.add_argument("--rate-limited", type=float, default=0.0, help="share of 429 answers")
    parser.add_argument("--server-errors", type=float, default=0.0, help="share of 500 answers")
    parser.add_argument("--cut", type=float, default=0.0, help="share of cut connections")
    given = parser.parse_args()
    faults = mixed_faults(
        rate_limited=given.rate_limited, server=given.server_errors, cut=given.cut
    )
    with ProviderServer(
        given.answer, latency=given.latency, faults=faults, port=given.port
    ) as server:
        print(server.base_url(given.format), flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        print(json.dumps(server.stats()), flush=True)


if __name__ == "__main__":
    main()
