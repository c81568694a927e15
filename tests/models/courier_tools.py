"""Couriers for tests, with the SDK or with a wire that needs none and starts in a moment.

All the rest of a light courier is the real one: the process, its messages, locks and cache.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

from cache_tools import RULE, ask

from uiproof.models.cache import ReplyCache
from uiproof.models.courier import Courier
from uiproof.models.names import Endpoint, parse_name
from uiproof.models.types import AttemptError, Finish, Image, Reply, Request, Usage

BOOTSTRAP = "import sys; sys.path[:] = sys.argv[1:]; from courier_tools import main; main()"


class LightWire:
    """Speaks just enough HTTP and chat completions for `ProviderServer`."""

    def __init__(self, endpoint: Endpoint, *, key: str, rule: object, timeout: float) -> None:
        self._endpoint, self._key, self._timeout = endpoint, key, timeout
        self._address = urlsplit(endpoint.base_url)

    async def send(self, request: Request) -> Reply:
        text = request.messages[-1].parts[0]
        if text == "something unforeseen":
            raise ZeroDivisionError(f"with {self._key}")
        message = {"role": "user", "content": text}
        body = json.dumps({"model": self._endpoint.model, "messages": [message]}).encode()
        try:
            async with asyncio.timeout(self._timeout):
                status, answer = await self._post(body)
        except TimeoutError:
            raise AttemptError("timeout", "No answer in time.") from None
        except (OSError, asyncio.IncompleteReadError) as error:
            raise AttemptError("connection", str(error)) from None
        if status == 429:
            raise AttemptError("rate_limited", "Too many requests.", retry_after=7.5)
        content = answer["choices"][0]["message"]["content"]
        return Reply(content, Finish.STOP, Usage(1, 2), model=answer["model"], raw=answer)

    async def _post(self, body: bytes) -> tuple[int, dict]:
        reader, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        head = f"POST {self._address.path}/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}"
        writer.write(f"{head}\r\nAuthorization: Bearer {self._key}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length:")[2].split()[0])
        content = await reader.readexactly(length)
        writer.close()
        return int(answer.split()[1]), json.loads(content)

    async def close(self) -> None:
        pass


def main() -> None:
    from uiproof.models import courier_main

    courier_main.make_wire = LightWire
    courier_main.main()


class Client:
    """A courier, and the keys of its requests."""

    def __init__(self, url: str, folder: Path, *, timeout: float = 20.0, rule=RULE) -> None:
        self.endpoint, self.rule = parse_name(f"compatible:{url}#tiny"), rule
        self.cache = ReplyCache(folder)
        self.courier = Courier(
            self.endpoint, rule=rule, timeout=timeout, cache_folder=folder, max_bytes=10**9
        )

    def key(self, *parts: str | Image) -> str:
        return self.cache.key(self.endpoint, ask(*parts), self.rule)

    async def ask(self, *parts: str | Image, fresh: bool = False):
        return await self.courier.attempt(self.key(*parts), ask(*parts), fresh=fresh)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.courier.close()
