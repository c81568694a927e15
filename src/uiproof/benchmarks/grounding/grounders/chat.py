"""Any chat model as a grounder: it is told what its numbers are to mean, and asked for a place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding import prompts
from uiproof.benchmarks.grounding.answers import WHOLE
from uiproof.benchmarks.grounding.contracts import (
    Contract,
    Order,
    Point,
    Shape,
    Space,
    contract_for,
    locate,
    sent_size,
    smart_resize,
)
from uiproof.benchmarks.grounding.grounders.base import Guess, Picture
from uiproof.benchmarks.grounding.parsing import parse
from uiproof.boxes import Box
from uiproof.errors import MethodError, UsageError
from uiproof.models.types import Finish, Image, Message, Reply, Request

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel

PROMPTS: Mapping[str, str] = {
    "point": "asks for the point to click",
    "box": "asks for the box around the element",
}
DECLINED = "answer:declined"  # the model or a filter would not answer, which finds nothing out
TRUNCATED = "answer:truncated"
SCALED = "answer:picture_scaled"  # on its way, to another size than the model was told

_SCALES = {
    Space.UNIT: ("decimal numbers", 1),
    Space.PERCENT: ("numbers", 100),
    Space.THOUSAND: ("whole numbers", 1000),
    Space.THOUSAND_999: ("whole numbers", 999),
}


class ChatGrounder:
    """A chat model that is shown a picture and answers in the coordinates of its contract.

    Without a contract it is the one of the model's family (`contracts.contract_for`); without a
    prompt, the model is asked for what the contract says, a point or a box.
    """

    def __init__(
        self, model: ChatModel, contract: Contract | None = None, prompt: str | None = None
    ) -> None:
        self.model = model
        self.contract = contract or contract_for(family_name(model))
        self.prompt = prompt or ("box" if self.contract.shape is Shape.BOX else "point")
        if self.prompt not in PROMPTS:
            raise UsageError(
                f"Grounding has no prompt {self.prompt!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}.",
            )

    @property
    def name(self) -> str:
        """The model's name, for example `openai/gpt-4o`."""
        return self.model.name

    @property
    def concurrency(self) -> int:
        """How many elements are worth asking for at once."""
        return self.model.concurrency

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the model is asked, and how its numbers are read."""
        convention = "pixels" if self._in_pixels else "scale"
        return {
            **self.model.settings,
            "contract": str(self.contract),
            "prompt": self.prompt,
            "prompt_digest": prompts.digest(self.prompt, convention),
        }

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:
        """Ask for the element. Raises `ModelError` where there was no answer."""
        sent = self.fitted(picture)
        if sent.untouched:  # nothing to encode
            request = self.request(sent, instruction)
        else:
            request = await asyncio.to_thread(self.request, sent, instruction)
        reply = await self.model.ask(request, fresh=context.ask_again)
        context.note_call(self.model.facts(reply))
        return self._read(reply, sent, context)

    async def close(self) -> None:
        """End the connection to the model."""
        await self.model.close()

    def request(self, picture: Picture, instruction: str) -> Request:
        """What is asked about a picture, which is sent as it is: `fitted` makes it fit."""
        asked = prompts.filled(
            self.prompt,
            instruction=instruction,
            convention=self._convention(*picture.size),
            form=self._form(),
        )
        message = Message("user", (Image(picture.png()), asked))
        return Request((message,), self.model.parameters)

    def fitted(self, picture: Picture) -> Picture:
        """The picture, scaled down to what the model's provider takes without changing it."""
        width, height = sent_size(self.contract, *picture.size)
        longest = int(self.model.settings["images"]["max_side"])
        shrink = min(1.0, longest / max(width, height))
        if (width, height) == picture.size and shrink == 1:
            return picture
        area = picture.area
        return picture.crop(WHOLE, shrink * min(width / area.width, height / area.height))

    @property
    def _in_pixels(self) -> bool:
        return self.contract.space in (Space.PIXELS, Space.RESIZED)

    def _convention(self, width: int, height: int) -> str:
        if not self._in_pixels:
            numbers, most = _SCALES[self.contract.space]
            return prompts.filled("scale", numbers=numbers, most=most)
        if resize := self.contract.resize:  # what the model will see, and counts the pixels of
            height, width = smart_resize(
                height, width, resize.factor, resize.min_pixels, resize.max_pixels
            )
        return prompts.filled("pixels", width=width, height=height)

    def _form(self) -> str:
        names = ["x", "y"] if self.contract.order is Order.XY else ["y", "x"]
        if self.prompt == "box":
            names = [f"{name}{corner}" for corner in (1, 2) for name in names]
        return f"[{', '.join(names)}]"

    def _read(self, reply: Reply, sent: Picture, context: Context) -> Guess:
        """What an answer says; coordinates in pixels are those of the picture that arrived."""
        size = sent.size
        if reply.images:
            arrived = reply.images[0]
            if len(arrived.pieces) > 1:
                raise MethodError(
                    f"{self.name} got the screenshot in {len(arrived.pieces)} pieces, so nobody "
                    "knows which of them its coordinates are about.",
                    remedy="Connect to the model with tall='scale'.",
                )
            size = (arrived.pieces[0].width, arrived.pieces[0].height)
            if size != sent.size:
                context.flag(SCALED)
        if reply.finish is Finish.LENGTH:
            context.flag(TRUNCATED)
        parsed = parse(reply.text)
        place = locate(parsed, self.contract, *size)
        declined = place is None and reply.finish is Finish.REFUSAL
        if declined:
            context.flag(DECLINED)
        refused = parsed.kind == "refusal" and not declined
        return Guess(
            point=(place.x, place.y) if isinstance(place, Point) else None,
            box=place if isinstance(place, Box) else None,
            refused=refused,
            confidence=parsed.confidence,
            raw=reply.text,
            unparseable=place is None and not refused,
            sent=size,
        )


def family_name(model: ChatModel) -> str:
    """The part of a model's name that says what model it is: never the address of a server."""
    endpoint = model.endpoint
    return endpoint.model if endpoint.provider == "compatible" else endpoint.name
