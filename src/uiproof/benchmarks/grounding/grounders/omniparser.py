"""OmniParser as a grounder: it lists what is on a screen, and a selector picks from the list.

parser = OmniParser(connect("omniparser:http://localhost:8000"))
grounder = OmniParserGrounder(parser)                                  # goes by words
grounder = OmniParserGrounder(parser, connect("openai/gpt-4o"))        # asks a model
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmarks.grounding import prompts
from uiproof.benchmarks.grounding.assisted import Detection, Parser
from uiproof.benchmarks.grounding.grounders.base import Guess, Picture
from uiproof.benchmarks.grounding.parsing import parse
from uiproof.boxes import Box, PixelBox
from uiproof.errors import ModelError
from uiproof.models.types import Image, Message, Reply, Request

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.grounders.candidates import Screen
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel

SKIPPED = "parser:boxes_skipped"  # there were boxes that are none; the call says how many
PART_FAILED = "parser:part_failed"  # the server failed with a part of the screenshot
_KEPT_PICTURES = 64  # parsed ones: cases of the same screenshot come one after the other
_SLACK = 0.05  # by which a box may stick out of its picture; the rest is cut off
_LARGEST_MARK = 72  # pixels: larger icons are not what stands beside a label
_LONGEST_TEXT = 120  # characters of an element in the list for a model


@dataclass(frozen=True, slots=True)
class _Page:
    """A picture, parsed."""

    reply: Reply
    seen: tuple[Detection, ...]
    clipped: int
    skipped: int


class OmniParser:
    """An OmniParser server, which is asked once for each picture, however many elements it has."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._parsing: dict[str, asyncio.Task[_Page]] = {}

    @property
    def name(self) -> str:
        """How tables call it."""
        return "omniparser"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Which server is asked."""
        return self.model.settings

    @property
    def concurrency(self) -> int:
        """How many pictures are worth waiting for at once."""
        return self.model.concurrency

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:
        """All elements of a picture, in the server's order.

        Raises `ModelError` where the server failed, as it does with pictures without any text.
        """
        page = await self._page(picture, context.ask_again)
        facts = self.model.facts(page.reply)
        counts = {"elements": len(page.seen), "clipped": page.clipped, "skipped": page.skipped}
        context.note_call({**facts, **counts})
        if page.skipped:
            context.flag(SKIPPED)
        return page.seen

    async def close(self) -> None:
        """End the connection to the server."""
        parsing = list(self._parsing.values())
        for task in parsing:
            task.cancel()
        await asyncio.gather(*parsing, return_exceptions=True)
        self._parsing = {}
        await self.model.close()

    async def _page(self, picture: Picture, fresh: bool) -> _Page:
        key = picture.digest
        if key in self._pages and not fresh:
            self._pages.move_to_end(key)
            return _known(self._pages[key])
        task = self._parsing.get(key)
        if task is not None:
            return _known(await asyncio.shield(task))
        task = self._parsing[key] = asyncio.create_task(self._ask(picture, fresh))
        task.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(task)

    async def _ask(self, picture: Picture, fresh: bool) -> _Page:
        content = await asyncio.to_thread(picture.png)
        request = Request((Message("user", (Image(content),)),))
        return _read(await self.model.ask(request, fresh=fresh))

    def _keep(self, key: str, done: asyncio.Task[_Page]) -> None:
        if self._parsing.get(key) is done:
            del self._parsing[key]
        if not done.cancelled() and done.exception() is None:
            self._pages[key] = done.result()
            self._pages.move_to_end(key)
            while len(self._pages) > _KEPT_PICTURES:
                self._pages.popitem(last=False)


def _known(page: _Page) -> _Page:
    """A page that somebody else has asked for: it costs nothing more."""
    return replace(page, reply=replace(page.reply, cached=True))


def _read(reply: Reply) -> _Page:
    try:
        items = json.loads(reply.text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        raise ModelError(
            "OmniParser's answer is not a list of elements.",
            remedy="Check that the server is OmniParser's own.",
        )
    seen, clipped = [], 0
    for item in items:
        box = _box(item.get("bbox")) if isinstance(item, dict) else None
        if box is None:
            continue
        clipped += any(not 0 <= number <= 1 for number in item["bbox"])
        content = item.get("content")
        text = " ".join(content.split()) if isinstance(content, str) else ""
        kind: Literal["text", "icon"] = "text" if item.get("type") == "text" else "icon"
        seen.append(Detection(box, text, kind, item.get("interactivity") is True))
    return _Page(reply, tuple(seen), clipped, len(items) - len(seen))


def _box(numbers: Any) -> Box | None:
    """A box by its corners as fractions, cut off at the picture's edges; None for nonsense."""
    if not isinstance(numbers, list) or len(numbers) != 4:
        return None
    if not all(type(number) in (int, float) for number in numbers):
        return None
    if not all(-_SLACK <= number <= 1 + _SLACK for number in numbers):  # false for NaN
        return None
    left, top, right, bottom = (min(max(float(number), 0.0), 1.0) for number in numbers)
    return Box(left, top, right - left, bottom - top) if left < right and top < bottom else None


class OmniParserGrounder:
    """Picks the element that the instruction means, by nothing but the instruction.

    Without a selector by rules of thumb, the same as those of the `ocr` grounder: words, kinds of
    control, places. With one, a chat model sees the picture and the numbered list of elements.
    """

    def __init__(self, parser: Parser, selector: ChatModel | None = None) -> None:
        self.parser, self.selector = parser, selector
        self._screens: OrderedDict[str, Screen] = OrderedDict()

    @property
    def name(self) -> str:
        """`omniparser`, with the selector's name if it has one."""
        return self.parser.name + (f"+{self.selector.name}" if self.selector else "")

    @property
    def concurrency(self) -> int:
        """How many elements are worth asking for at once."""
        return self.selector.concurrency if self.selector else self.parser.concurrency

    @property
    def settings(self) -> Mapping[str, Any]:
        """Who parses, and who selects."""
        if self.selector is None:
            return {**self.parser.settings, "selector": "words"}
        selector = {**self.selector.settings, "prompt_digest": prompts.digest("select")}
        return {**self.parser.settings, "selector": selector}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:
        """Have the picture parsed, and one of its elements picked."""
        try:
            seen = await self.parser.parse(picture, context)
        except ModelError:
            if picture.untouched:
                raise
            # The server fails with parts in which it reads no text: nothing was seen there.
            context.flag(PART_FAILED)
            seen = ()
        if not seen:
            return Guess(refused=True)
        if self.selector is None:
            return self._by_words(picture, seen, instruction)
        return await self._by_model(self.selector, picture, seen, instruction, context)

    async def close(self) -> None:
        """End all connections."""
        await self.parser.close()
        if self.selector is not None:
            await self.selector.close()

    def _by_words(self, picture: Picture, seen: Sequence[Detection], instruction: str) -> Guess:
        from uiproof.benchmarks.grounding.grounders.choosing import choose
        from uiproof.benchmarks.grounding.grounders.instructions import understand

        width, height = picture.size
        choice = choose(self._screen(picture, seen), understand(instruction))
        if choice is None:
            return Guess(refused=True)
        x, y = choice.point[0] / width, choice.point[1] / height
        # What is said about an icon is not written on it: the point is that of the whole icon.
        icons = [one for one in seen if one.kind == "icon" and _holds(one.box, x, y)]
        if icons:
            icon = min(icons, key=lambda one: one.box.area)
            return Guess(box=icon.box, confidence=choice.confidence, raw=icon.text)
        box = choice.box.normalised(width, height)
        return Guess((x, y), box, confidence=choice.confidence)

    def _screen(self, picture: Picture, seen: Sequence[Detection]) -> Screen:
        key = picture.digest
        screen = self._screens.get(key)
        if screen is None:
            screen = self._screens[key] = screen_of(seen, *picture.size)
            while len(self._screens) > _KEPT_PICTURES:
                self._screens.popitem(last=False)
        return screen

    async def _by_model(
        self,
        selector: ChatModel,
        picture: Picture,
        seen: Sequence[Detection],
        instruction: str,
        context: Context,
    ) -> Guess:
        asked = prompts.filled("select", instruction=instruction, elements=_listed(seen))
        content = await asyncio.to_thread(picture.png)
        message = Message("user", (Image(content), asked))
        request = Request((message,), selector.parameters)
        reply = await selector.ask(request, fresh=context.ask_again)
        context.note_call(selector.facts(reply))
        number = _number_in(reply.text)
        if number is not None and 1 <= number <= len(seen):
            return Guess(box=seen[number - 1].box, raw=reply.text)
        refused = number is None and _refuses(reply.text)
        return Guess(refused=refused, raw=reply.text, unparseable=not refused)


def screen_of(seen: Sequence[Detection], width: int, height: int) -> Screen:
    """Detections as what the `ocr` grounder finds on a screen: texts, frames and marks."""
    from uiproof.benchmarks.grounding.grounders.candidates import Screen
    from uiproof.vision.ocr import OcrLine

    lines: list[OcrLine] = []
    icons: list[PixelBox] = []
    for one in seen:
        place = one.box.to_pixels(width, height)
        if one.text:
            lines.append(OcrLine(one.text, place, 1.0))
        if one.kind == "icon":
            icons.append(place)
    icons.sort(key=lambda place: (place.width * place.height, place.top, place.left))
    marks = [place for place in icons if max(place.width, place.height) <= _LARGEST_MARK]
    return Screen(width, height, tuple(lines), tuple(icons), tuple(marks))


def _holds(box: Box, x: float, y: float) -> bool:
    return box.x <= x <= box.x + box.w and box.y <= y <= box.y + box.h


def _listed(seen: Sequence[Detection]) -> str:
    lines = []
    for number, one in enumerate(seen, start=1):
        x, y = one.box.center
        text = json.dumps(one.text[:_LONGEST_TEXT], ensure_ascii=False) if one.text else "no text"
        lines.append(f"{number}. {one.kind} {text} at {x:.1%}, {y:.1%}")
    return "\n".join(lines)


_KEYED = re.compile(
    r"[\"']?(?:element|number|id)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(\d{1,6})(?!\.?\d)", re.I
)
_NOTHING = re.compile(r"[\"']element[\"']\s{0,4}:\s{0,4}[\"']?(?:null|none)", re.I)
_ALONE = re.compile(r"\W{0,6}(\d{1,6})\W{0,6}")


def _number_in(text: str) -> int | None:
    """The number that an answer names: in JSON, or alone on its last line."""
    answer = re.split(r"</think(?:ing)?>", text)[-1].strip()
    if keyed := _KEYED.findall(answer):
        return int(keyed[-1])
    alone = _ALONE.fullmatch(answer.rpartition("\n")[2])
    return int(alone[1]) if alone else None


def _refuses(text: str) -> bool:
    return _NOTHING.search(text) is not None or parse(text).kind == "refusal"
