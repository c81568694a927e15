"""OmniParser's server, which lists the elements of a picture."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx

from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint, redacted
from uiproof.models.types import AttemptError, Finish, Image, Piece, Reply, Request, SentImage
from uiproof.models.wires.http import answer_to, http_client


class OmniParserWire:
    """A wire to an OmniParser server: one picture in, its elements as JSON out.

    The text of a reply is the JSON of the server's `parsed_content_list`; the annotated picture
    that comes with it is not kept.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        key: str,
        rule: ImageRule,  # noqa: ARG002 - it takes pictures as they are
        timeout: float,
    ) -> None:
        self._endpoint, self._timeout = endpoint, timeout
        self._client = http_client(httpx.AsyncClient, endpoint.wire_url)
        self._headers = {} if key == "none" else {"authorization": f"Bearer {key}"}

    async def send(self, request: Request) -> Reply:
        """Have the one picture of a request parsed. Raises `AttemptError` where that failed."""
        pictures = [
            part
            for message in request.messages
            for part in message.parts
            if isinstance(part, Image)
        ]
        if len(pictures) != 1:
            raise AttemptError("rejected", "OmniParser takes exactly one picture.")
        data = pictures[0].read()
        try:
            answer, seconds = await answer_to(self._post(data), self._timeout)
        except AttemptError as error:
            message = redacted(error.message, self._endpoint)
            # The server fails, each time, with pictures in which it reads no text.
            kind = "rejected" if error.kind == "server" and "HTTP 500" in message else error.kind
            raise AttemptError(kind, message, retry_after=error.retry_after) from None
        elements = answer.get("parsed_content_list")
        if not isinstance(elements, list):
            raise AttemptError("malformed", "There is no parsed_content_list in the answer.")
        return Reply(
            text=json.dumps(elements),
            finish=Finish.STOP,
            model="omniparser",
            network_seconds=seconds,
            images=(_sent(data),),
            raw={"latency": answer.get("latency")},
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()

    async def _post(self, data: bytes) -> Any:
        body = {"base64_image": base64.b64encode(data).decode("ascii")}
        url = f"{self._endpoint.base_url}/parse/"
        return await self._client.post(url, json=body, headers=self._headers)


def _sent(data: bytes) -> SentImage:
    from io import BytesIO

    from PIL import Image as Pillow

    with Pillow.open(BytesIO(data)) as picture:
        width, height = picture.size
    return SentImage(width, height, 1.0, (Piece(width, height, "png", len(data)),))
