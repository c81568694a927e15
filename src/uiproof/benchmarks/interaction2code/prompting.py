"""Ask a chat model for a page whose interactions work, in the ways of the paper.

`Prompt` reads how to ask from one word of the command line, `Prompted` asks, and the functions
below choose the pictures and fill the text files in `prompts/`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from uiproof.benchmark import Method
from uiproof.benchmarks.interaction2code.cases import Answer, Demonstration, Form, Question
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.errors import AnswerError, InputError, UsageError
from uiproof.geometry import PixelBox
from uiproof.models.types import (
    Exchange,
    Image,
    Message,
    Parameters,
    Request,
    exchanges_as_json,
)
from uiproof.prompts import SLOT, PromptFile, Slot, prompt_file

if TYPE_CHECKING:
    from uiproof.models.answers import PageAnswer
    from uiproof.models.chat import ChatModel
    from uiproof.vision.images import Rgb

Inputs = Literal["V", "T", "V+T"]
Parts: TypeAlias = tuple[str | Image, ...]  # of a message

PARAMETERS = Parameters(max_tokens=4096, temperature=1.0)  # as in the paper
ROUND_FAILED = "answer:round_failed"  # a page without the interactions of these rounds is judged
MOST_MAGNIFIED = 3.0  # as in Fig. 12 of the paper
PROMPTS: Mapping[str, str] = {
    "direct": "pictures before and after the interaction",
    "cot": "direct, thinking step by step (chain of thought)",
    "mark": "direct, with red boxes around the element and the effect",
    "failure-aware": "direct, with a warning of the ten ways in which others failed",
}
OPTIONS: Mapping[str, str] = {
    "all": "all interactions of a page at once; else one at a time",
    "rounds": "all of them, one per request, added to the page so far",
    "V, T or V+T": "pictures (default), words with the picture before, or both",
    "1x … 3x": "pictures cropped so that the interaction fills more of them",
}

SLOTS: Mapping[str, Slot] = {
    "shown": Slot("the pictures or words that show the interactions", required=True),
    "task": Slot("what to build, with the ids of the elements", required=True),
    "rules": Slot("the rules for the HTML file"),
}
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)x")
_INPUTS: Mapping[str, Inputs] = {"v": "V", "t": "T", "v+t": "V+T", "t+v": "V+T"}
_WIDEST_WINDOW = 1920  # CSS pixels; a picture that is wider was taken on a denser screen
# Pictures that differ in less than this share (a caret, a clock) show a page in the same state;
# they are compared in cells of some pixels, of which the mean colours differ by some levels.
_SAME, _CELL, _NOTICEABLE = 0.002, 4, 8
_TEMPLATES = Path(__file__).parent / "prompts"  # one file per prompt; what they share is in `parts`


@dataclass(frozen=True, slots=True)
class Prompt:
    """One of the `PROMPTS` with its options, as in `mark`, `cot:all,T` or `direct:2x`."""

    recipe: str
    rounds: bool = False  # one interaction per request, on top of the page so far
    form: Form = "single"
    inputs: Inputs = "V"
    magnification: float = 1.0
    file: PromptFile | None = None  # in place of one of the `PROMPTS`

    @classmethod
    def named(cls, text: str) -> Prompt:
        """Read `recipe`, or `recipe:option,option` with the options in any order.

        Raises `UsageError` for options that are unknown, given twice or in conflict.
        """
        recipe, colon, rest = text.partition(":")
        file = prompt_file(recipe, PROMPTS, SLOTS)
        if recipe not in PROMPTS and file is None:
            raise UsageError(
                f"Interaction2Code has no prompt {recipe!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}, or a text file.",
            )
        prompt, seen = cls(file.name if file else recipe, file=file), set[str]()
        options = [option.strip() for option in rest.split(",")] if colon else []
        for option in options:
            name, prompt = prompt._with(option, text)
            if name in seen:
                raise UsageError(f"The prompt {text!r} gives {name} twice.", remedy="Drop one.")
            seen.add(name)
        if prompt.rounds and "single" in options:
            raise UsageError(
                f"The prompt {text!r} goes by rounds, which takes several interactions."
            )
        if prompt.rounds:
            prompt = replace(prompt, form="all")
        if prompt.form == "all" and prompt.magnification > 1:
            raise UsageError(
                f"The prompt {text!r} magnifies, which works for one interaction at a time.",
                remedy="Drop the magnification, or `all` and `rounds`.",
            )
        return prompt

    @property
    def name(self) -> str:
        """Return its canonical spelling: options in a fixed order, defaults left out."""
        options = (
            "rounds" if self.rounds else "all" if self.form == "all" else "",
            "" if self.inputs == "V" else self.inputs,
            f"{self.magnification:g}x" if self.magnification > 1 else "",
        )
        given = ",".join(filter(None, options))
        return f"{self.recipe}:{given}" if given else self.recipe

    def _with(self, option: str, text: str) -> tuple[str, Prompt]:
        """Return what an option sets, and the prompt with it."""
        if option in ("single", "all"):
            return "the number of interactions", replace(self, form=cast("Form", option))
        if option == "rounds":
            return "`rounds`", replace(self, rounds=True)
        if option.lower() in _INPUTS:
            return "the inputs", replace(self, inputs=_INPUTS[option.lower()])
        if factor := _FACTOR.fullmatch(option):
            times = float(factor[1])
            if not 1 <= times <= MOST_MAGNIFIED:
                raise UsageError(
                    f"The prompt {text!r} magnifies {option}; it can be 1x to {MOST_MAGNIFIED:g}x."
                )
            return "the magnification", replace(self, magnification=times)
        raise UsageError(
            f"The prompt {text!r} has an unknown option {option!r}.",
            remedy="Options follow a colon, with commas between them, as in `mark:all,V+T`: "
            f"{'; '.join(f'{name} ({what})' for name, what in OPTIONS.items())}.",
        )


class Prompted(Method[Question, Answer]):
    """A chat model that is shown interactions with one of the `PROMPTS` and answers with HTML."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self.model = model
        self.prompt = Prompt.named(prompt)
        self.concurrency = model.concurrency
        # A page that all of its interactions share is asked for again only once.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._renewed: set[tuple[str, int, int]] = set()

    @property
    def name(self) -> str:
        """Return the model and the prompt, for example `openai/gpt-4o mark:all`."""
        return f"{self.model.name} {self.prompt.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return how the model is asked; a prompt with other words is another method."""
        own = self.prompt.file.settings if self.prompt.file else {}
        words = digest(self.prompt.recipe, own.get("prompt_text"))
        return {
            **self.model.settings,
            **own,
            "prompt": self.prompt.name,
            "prompt_digest": words,
        }

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Return the page that the model wrote; all its replies are kept in `answer.json`."""
        replies: list[Exchange] = []
        try:
            if self.prompt.rounds:
                page = await self._by_rounds(question, context, replies)
            else:
                facts: dict[str, float] = {}
                request = await asyncio.to_thread(self._request, question, facts)
                page = await self._ask(request, question.page, 1, context, replies, facts)
        finally:
            if replies:
                context.keep("answer.json", exchanges_as_json(replies))
        for flag in page.flags:
            context.flag(flag)
        return Answer(PageSource.from_html(page.html), self.prompt.form)

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """Return the requests to come; later rounds lack the page so far."""
        if not self.prompt.rounds:
            return (self._request(question),)
        numbers = range(1, len(question.interactions) + 1)
        return tuple(self._round(question, number, "") for number in numbers)

    async def close(self) -> None:
        """Close the connection to the model."""
        self._locks.clear()
        self._renewed.clear()
        await self.model.close()

    async def _by_rounds(
        self, question: Question, context: Context, replies: list[Exchange]
    ) -> PageAnswer:
        page: PageAnswer | None = None
        failure: AnswerError | None = None
        for number in range(1, len(question.interactions) + 1):
            html = page.html if page else ""
            request = await asyncio.to_thread(self._round, question, number, html)
            try:
                page = await self._ask(request, question.page, number, context, replies)
            except AnswerError as error:
                failure = error
                context.flag(ROUND_FAILED)
        if page is None:
            raise failure or InputError(f"The page {question.page} has no interactions.")
        return page

    async def _ask(
        self,
        request: Request,
        page: str,
        number: int,
        context: Context,
        replies: list[Exchange],
        facts: Mapping[str, float] | None = None,
    ) -> PageAnswer:
        from uiproof.models.answers import page_in

        if context.ask_again and self.prompt.form == "all":
            asked = page, number, context.sample
            async with self._locks[page]:
                fresh = asked not in self._renewed
                reply = await context.ask(self.model, request, fresh=fresh)
                self._renewed.add(asked)
        else:
            reply = await context.ask(self.model, request, facts=facts)
        replies.append((request, reply))
        return page_in(reply)

    def _request(self, question: Question, facts: dict[str, float] | None = None) -> Request:
        """Return the request for one or all interactions; `facts` gets facts of the pictures."""
        if self.prompt.form == "all":
            ids, every = _ids(len(question.interactions)), question.interactions
            task = fill("parts/task-all", count=len(every), ids=ids)
            return self._filled(self._all_shown(question), task, every[0].before)
        task = fill("parts/task-single", ids=_id(1))
        one = question.interaction
        return self._filled(self._shown(one, facts), task, one.before)

    def _round(self, question: Question, number: int, html: str) -> Request:
        """Return the request that adds one interaction to the page so far."""
        one = question.interactions[number - 1]
        task = fill("parts/task-single", ids=_id(number))
        if html:
            task = fill("parts/task-round", ids=_id(number), html=html)
        return self._filled(self._shown(one), task, one.before)

    def _filled(self, shown: Parts, task: Parts, window: Path) -> Request:
        from uiproof.vision.images import size as image_size

        width = image_size(window)[0]
        rules = fill("parts/rules", window=width // density(width))
        words = self.prompt.file.text if self.prompt.file else _text(self.prompt.recipe)
        content = _filled(words, shown=shown, task=task, rules=rules)
        return Request((Message("user", content),), self.model.parameters)

    def _shown(self, one: Demonstration, facts: dict[str, float] | None = None) -> Parts:
        """Return the page before an interaction, and after it or its effect in words."""
        marked, times = self.prompt.recipe == "mark", self.prompt.magnification
        after: Image | Parts = ()
        note: Parts = ()
        if times > 1:
            before, after, note, magnified = _cropped(one, times, marked=marked)
            if facts is not None:
                facts["magnified"] = magnified
        else:
            before = _picture_before(one, marked=marked)
            if self.prompt.inputs != "T":
                after = _picture_after(one, marked=marked)
        template = f"parts/shown-{self.prompt.inputs}"
        return _joined(
            (*fill(template, before=before, after=after, words=_words(one)), "\n\n", *note)
        )

    def _all_shown(self, question: Question) -> Parts:
        """Return the page as it is first, then the effect of each of its interactions."""
        marked, every = self.prompt.recipe == "mark", question.interactions
        here = [one for one in every if _same_state(every[0].before, one.before)]
        steps: list[str | Image] = []
        for number, one in enumerate(every, start=1):
            start: Parts = ()
            after: Image | Parts = ()
            # The picture after an earlier interaction does not mark this element.
            if one not in here and (marked or one.follows is None):
                picture = _picture_before(one, marked=marked)
                start = fill("parts/start", id=_id(number), before=picture)
            if self.prompt.inputs != "T":
                after = _picture_after(one, marked=marked)
            steps += fill(
                f"parts/step-{self.prompt.inputs}",
                start=start,
                id=_id(number),
                state="" if one.follows is None else f", once {_id(one.follows + 1)} has been used",
                after=after,
                words=_words(one),
            )
            steps.append("\n\n")
        if marked and len(here) > 1:
            first = _marked(
                here[0].before, here[0].marked_before, [trigger_of(one) for one in here]
            )
        else:
            first = _picture_before(here[0], marked=marked)
        count = len(every)
        return fill(
            "parts/shown-all", before=first, steps=tuple(steps), count=count, ids=_ids(count)
        )


# --- pictures


def density(width: int) -> int:
    """Return the pixels per CSS pixel of a screenshot of this width."""
    return ceil(width / _WIDEST_WINDOW)


def trigger_of(one: Demonstration) -> PixelBox | None:
    """Return the box of the element as the data set says, or as its picture is marked."""
    return one.trigger or _box_on(one.before, one.marked_before)


def effect_of(one: Demonstration) -> PixelBox | None:
    """Return the box of the effect as the data set says, or as its picture is marked."""
    return one.effect or _box_on(one.after, one.marked_after)


def _picture_before(one: Demonstration, *, marked: bool) -> Image:
    if marked:
        return _marked(one.before, one.marked_before, [one.trigger])
    return Image(_existing(one.before))


def _picture_after(one: Demonstration, *, marked: bool) -> Image:
    if marked:
        return _marked(one.after, one.marked_after, [one.effect])
    return Image(_existing(one.after))


def _marked(plain: Path, published: Path, boxes: Sequence[PixelBox | None]) -> Image:
    """Return a screenshot with boxes drawn on it, or as published where no box is known."""
    from uiproof.benchmarks.interaction2code.marks import draw_mark
    from uiproof.vision.images import encode_png, read

    known = [box for box in boxes if box]
    if not known:
        return Image(published if published.is_file() else _existing(plain))
    rgb = read(plain)
    for box in known:
        rgb = draw_mark(rgb, box)
    return Image(encode_png(rgb))


def _existing(picture: Path) -> Path:
    if not picture.is_file():
        raise InputError(f"There is no picture {picture}.")
    return picture


def _box_on(plain: Path, published: Path) -> PixelBox | None:
    from uiproof.benchmarks.interaction2code.marks import find_mark
    from uiproof.vision.images import read

    return find_mark(read(plain), read(published)) if published.is_file() else None


def _cropped(
    one: Demonstration, times: float, *, marked: bool
) -> tuple[Image, Image, Parts, float]:
    """Crop both pictures so that the interaction takes `times` as much of them, or all it can.

    Return them with a note about the crop, and how many times as much it takes. "Cropped to one
    half, the interaction takes twice as much": the paper counts areas.
    """
    from uiproof.benchmarks.interaction2code.region import region
    from uiproof.vision.images import decode, encode_png, read

    plain = [read(one.before), read(one.after)]
    high, wide = (max(picture.shape[side] for picture in plain) for side in (0, 1))
    boxes = [box for box in (trigger_of(one), region(*plain).box) if box]
    boxes = boxes or [PixelBox(0, 0, wide, high)]
    left, right = _span([(box.left, box.right) for box in boxes], wide, times)
    top, bottom = _span([(box.top, box.bottom) for box in boxes], high, times)
    shown = plain
    if marked:
        made = (_picture_before(one, marked=True), _picture_after(one, marked=True))
        shown = [decode(picture.read()) for picture in made]
    pieces = []
    for picture in shown:
        piece = picture[top:bottom, left:right]
        # A page may have become smaller.
        pieces.append(Image(encode_png(piece if piece.size else picture)))
    height, width = plain[0].shape[:2]
    scale = density(width)
    note = fill(
        "parts/crop",
        page_width=width // scale,
        page_height=height // scale,
        left=left // scale,
        top=top // scale,
        width=right // scale - left // scale,
        height=bottom // scale - top // scale,
    )
    magnified = wide * high / max((right - left) * (bottom - top), 1)
    return pieces[0], pieces[1], note, round(magnified, 4)


def _span(spans: Sequence[tuple[int, int]], length: int, times: float) -> tuple[int, int]:
    first, last = max(min(a for a, _ in spans), 0), min(max(b for _, b in spans), length)
    size = max(round(length / sqrt(times)), last - first)
    start = min(max((first + last - size) // 2, 0), length - size)
    return start, start + size


def _same_state(one: Path, other: Path) -> bool:
    """Return whether two screenshots show a page in the same state."""
    import numpy as np

    if one == other:
        return True
    a, b = (_thumbnail(_existing(file), file.stat().st_mtime_ns) for file in (one, other))
    if a.shape != b.shape:
        return False
    off = np.abs(a.astype(np.int16) - b).max(axis=2) > _NOTICEABLE
    return float(off.mean()) < _SAME


@lru_cache(maxsize=64)
def _thumbnail(file: Path, changed: int) -> Rgb:  # noqa: ARG001 - a changed file is another one
    import cv2
    import numpy as np

    from uiproof.vision.images import read

    rgb = read(file)
    size = max(rgb.shape[1] // _CELL, 1), max(rgb.shape[0] // _CELL, 1)
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


# --- text


def fill(template: str, /, **fillings: str | int | Image | Parts) -> Parts:
    """Return a text file with pictures and texts in its slots, as parts of a message."""
    return _filled(_text(template), **fillings)


def _filled(words: str, /, **fillings: str | int | Image | Parts) -> Parts:
    """Fill the slots of a text; fillings have no slots, so a page may contain braces."""
    parts: list[str | Image] = []
    for number, piece in enumerate(SLOT.split(words)):
        filling = fillings[piece] if number % 2 else piece
        if isinstance(filling, tuple):
            parts += filling
        else:
            parts.append(filling if isinstance(filling, Image) else str(filling))
    return _joined(parts)


def digest(prompt: str, text: str | None = None) -> str:
    """Return a digest of the words of a prompt, and of the parts that all prompts share."""
    shared = sorted(f"parts/{path.stem}" for path in (_TEMPLATES / "parts").glob("*.txt"))
    words = "\0".join((_text(prompt) if text is None else text, *map(_text, shared)))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _joined(parts: Sequence[str | Image]) -> Parts:
    """Join texts that follow each other, and strip them; empty ones are left out."""
    joined: list[str | Image] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    stripped = (part.strip() if isinstance(part, str) else part for part in joined)
    return tuple(part for part in stripped if part)


@cache
def _text(template: str) -> str:
    return (_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8").strip()


def _words(one: Demonstration) -> str:
    lines = (("Action", one.sentence), ("Effect", one.description))
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in lines if text.strip())


def _id(number: int) -> str:
    return f"interact{number}"


def _ids(count: int) -> str:
    names = [_id(number) for number in range(1, count + 1)]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
