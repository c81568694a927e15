"""OmniParser as a grounder: it lists the elements of a screen, and a selector picks one.

parser = OmniParser(connect("omniparser:http://localhost:8000"))
grounder = OmniParserGrounder(parser)                                  # goes by words
grounder = OmniParserGrounder(parser, connect("openai/gpt-4o"))        # asks a model
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF
from uiproof.benchmarks.grounding.grounders import (
    Detection,
    Guess,
    Parser,
    ask_model,
    fill_prompt,
    prompt_digest,
)
from uiproof.benchmarks.grounding.ocr import VERSION, ScreenText, choose
from uiproof.benchmarks.grounding.parsing import parse
from uiproof.benchmarks.grounding.pictures import Picture, PictureMemo
from uiproof.errors import ModelError
from uiproof.geometry import Box
from uiproof.models.types import Image, Message, Reply, Request

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel


SKIPPED = "parser:boxes_skipped"  # some boxes were unusable; the call says how many
PART_FAILED = "parser:part_failed"  # the server failed with a part of the screenshot
_SLACK = 0.05  # by which a box may stick out of its picture; the rest is cut off
_OLD_PREFIXES = ("Text Box ID", "Icon Box ID")
_LONGEST_TEXT = 120  # characters of an element in the list for a model


@dataclass(frozen=True, slots=True)
class _Page:
    """A picture, parsed."""

    reply: Reply
    seen: tuple[Detection, ...]
    clipped: int
    skipped: int


class OmniParser:
    """An OmniParser server, asked once for each picture, however many elements it has."""

    name = "omniparser"

    def __init__(self, model: ChatModel, *, protocol: str = UIPROOF) -> None:
        self.model, self._protocol = model, protocol
        self.concurrency = model.concurrency
        self._pages: PictureMemo[_Page] = PictureMemo()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the server."""
        return self.model.settings

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:
        """Return all elements of a picture, in the server's order.

        Raises `ModelError` when the server failed, as it does with pictures without text.
        """
        fresh = context.ask_again

        async def ask() -> _Page:
            content = await asyncio.to_thread(picture.png)
            request = Request((Message("user", (Image(content),)),))
            return _read(await self.model.ask(request, fresh=fresh), self._protocol)

        page, shared = await self._pages.get(picture, ask, fresh=fresh)
        # A page that another case has asked for costs nothing more.
        facts = self.model.facts(replace(page.reply, cached=True) if shared else page.reply)
        counts = {"elements": len(page.seen), "clipped": page.clipped, "skipped": page.skipped}
        context.note_call({**facts, **counts})
        if page.skipped:
            context.flag(SKIPPED)
        return page.seen

    async def close(self) -> None:
        """Close the connection to the server."""
        await self._pages.close()
        await self.model.close()


def _read(reply: Reply, protocol: str) -> _Page:
    try:
        items = json.loads(reply.text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        raise ModelError(
            "OmniParser's answer is not a list of elements.",
            remedy="Check that the server is OmniParser's own.",
        )
    if protocol == OPENADAPT:
        seen = _read_as_openadapt(items)
        return _Page(reply, tuple(seen), 0, len(items) - len(seen))
    seen, clipped = [], 0
    bad: Any = None
    for item in items:
        box = _box(item.get("bbox")) if isinstance(item, dict) else None
        if box is None:
            bad = bad or (item.get("bbox") if isinstance(item, dict) else item)
            continue
        clipped += any(not 0 <= number <= 1 for number in item["bbox"])
        content = item.get("content")
        text = " ".join(content.split()) if isinstance(content, str) else ""
        kind: Literal["text", "icon"] = "text" if item.get("type") == "text" else "icon"
        # Older servers put the kind and a number in front: `Text Box ID 3: Save`.
        if text.startswith(_OLD_PREFIXES):
            kind = "text" if text.startswith("Text") else "icon"
            text = text.partition(":")[2].strip() if ":" in text else text
        seen.append(Detection(box, text, kind))
    if items and not seen:
        raise ModelError(
            f"None of the {len(items)} boxes in OmniParser's answer can be used: they have to be "
            f"[left, top, right, bottom] as fractions of the picture. One is {bad!r:.80}.",
            remedy="Make the server answer with fractions of 0-1, not with pixels, then run again "
            "with --retry-failed.",
        )
    return _Page(reply, tuple(seen), clipped, len(items) - len(seen))


def _read_as_openadapt(items: list[Any]) -> list[Detection]:
    """Return the elements that openadapt-grounding 0.1.2 reads, with their texts as they are.

    Boxes that are not wholly inside of 0-1 are left out. An element that makes it fail, such as one
    whose content is null, costs it the whole picture: this raises `ModelError`, a failed look.
    """
    seen = []
    try:
        for item in items:
            corners = item.get("bbox")
            if not corners or len(corners) != 4 or not all(0 <= side <= 1 for side in corners):
                continue
            left, top, right, bottom = corners
            if left >= right or top >= bottom:
                continue
            text = item.get("content", "")
            if text.startswith(_OLD_PREFIXES) and ":" in text:
                text = text.partition(":")[2].strip()
            seen.append(Detection(Box(left, top, right - left, bottom - top), text))
    except (AttributeError, TypeError) as error:
        raise ModelError(
            f"openadapt-grounding 0.1.2 reads nothing of a picture with such an element: {error}.",
            remedy="The protocol uiproof leaves out only what cannot be used.",
        ) from error
    return seen


def _box(numbers: Any) -> Box | None:
    """Return a box by its corners as fractions, cut at the picture's edges; None if unusable."""
    if not isinstance(numbers, list) or len(numbers) != 4:
        return None
    if not all(type(number) in (int, float) for number in numbers):
        return None
    if not all(-_SLACK <= number <= 1 + _SLACK for number in numbers):  # false for NaN
        return None
    left, top, right, bottom = (min(max(float(number), 0.0), 1.0) for number in numbers)
    return Box(left, top, right - left, bottom - top) if left < right and top < bottom else None


class OmniParserGrounder:
    """Picks the element that the instruction means.

    Without a selector by words, as the `ocr` grounder does; with one, a chat model sees the picture
    and the numbered list of elements.
    """

    def __init__(self, parser: Parser, selector: ChatModel | None = None) -> None:
        self.parser, self.selector = parser, selector
        self.name = parser.name + (f"+{selector.name}" if selector else "")
        self.concurrency = (selector or parser).concurrency

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the server and the selector."""
        if self.selector is None:
            return {**self.parser.settings, "selector": "words", "selector_version": VERSION}
        selector = {**self.selector.settings, "prompt_digest": prompt_digest("select")}
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
            return _chosen_by_words(picture, seen, instruction)
        asked = fill_prompt("select", instruction=instruction, elements=_listed(seen))
        content = await asyncio.to_thread(picture.png)
        reply = await ask_model(self.selector, content, asked, context)
        number = _number_in(reply.text)
        if number is not None and 1 <= number <= len(seen):
            return Guess(box=seen[number - 1].box, raw=reply.text)
        nothing = _NOTHING.search(reply.text) or parse(reply.text).kind == "refusal"
        return Guess(refused=number is None and bool(nothing), raw=reply.text)

    async def close(self) -> None:
        """Close all connections."""
        await self.parser.close()
        if self.selector is not None:
            await self.selector.close()


def _chosen_by_words(picture: Picture, seen: Sequence[Detection], instruction: str) -> Guess:
    from uiproof.vision.ocr import OcrLine

    width, height = picture.size
    lines = [OcrLine(one.text, one.box.to_pixels(width, height), 1.0) for one in seen if one.text]
    choice = choose(ScreenText(lines, width, height), instruction)
    if choice is None or choice.point is None:
        return Guess(refused=True)
    # The text of an icon describes it and is not written on it: the whole icon is meant.
    icons = [one for one in seen if one.kind == "icon" and one.box.contains(*choice.point)]
    if icons:
        icon = min(icons, key=lambda one: one.box.area)
        return Guess(box=icon.box, confidence=choice.confidence, raw=icon.text)
    return replace(choice, raw="")


def _listed(seen: Sequence[Detection]) -> str:
    lines = []
    for number, one in enumerate(seen, start=1):
        x, y = one.box.centre
        text = json.dumps(one.text[:_LONGEST_TEXT], ensure_ascii=False) if one.text else "no text"
        lines.append(f"{number}. {one.kind} {text} at {x:.1%}, {y:.1%}")
    return "\n".join(lines)


_KEYED = re.compile(
    r"[\"']?(?:element|number|id)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(\d{1,6})(?!\.?\d)", re.I
)
_NOTHING = re.compile(r"[\"']element[\"']\s{0,4}:\s{0,4}[\"']?(?:null|none)", re.I)
_ALONE = re.compile(r"\W{0,6}(\d{1,6})\W{0,6}")


def _number_in(text: str) -> int | None:
    """Return the number that an answer names: in JSON, or alone on its last line."""
    answer = re.split(r"</think(?:ing)?>", text)[-1].strip()
    if keyed := _KEYED.findall(answer):
        return int(keyed[-1])
    alone = _ALONE.fullmatch(answer.rpartition("\n")[2])
    return int(alone[1]) if alone else None
