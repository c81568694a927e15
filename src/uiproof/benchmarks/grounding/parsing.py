"""Reading the place out of what a model wrote.

Models write places in dozens of ways. `parse` knows them, and only says what is written: what the
numbers mean is the business of the model's contract (`contracts.py`).

    parse("Action: click(start_box='(197,525)')")     # Parsed("point", (197.0, 525.0), "action")

Which of several places is the answer: one in a well-marked form (an action, a tag, JSON) before one
in bare brackets, one outside of `<think>` before one inside, and then the last one written; of a
JSON list of findings the first, where models put their best one.

Every repetition in the patterns is bounded, so the time is linear however hostile the text; of a
text of megabytes both ends are read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from uiproof.benchmarks.grounding.forms import (
    ALONE,
    BARE,
    CALL,
    KEY,
    MARKED,
    NUMBER,
    PLAIN_SIGNS,
    QUOTE,
    Form,
    compile_pattern,
    number_value,
)

Kind = Literal["point", "box", "refusal", "nothing"]

REFUSAL_NUMBERS: tuple[tuple[float, ...], ...] = ((-1, -1), (-1, -1, -1, -1), (0, 0, 0, 0))
"""Numbers that mean "it is not there" where a protocol says so; pass them to `parse`."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an answer says: a point, a box, that nothing is there, or nothing that can be read.

    A box is its two opposite corners, the smaller numbers first. `form` names the way in which it
    was written. `named` is true if the answer names its axes (`x=3, y=5`): the numbers are then x
    first whatever the contract says. `percent` is true if they carry a percent sign.
    `contracts.locate` takes care of both.
    """

    kind: Kind
    numbers: tuple[float, ...] = ()
    form: str = ""
    confidence: float | None = None
    named: bool = False
    percent: bool = False


def parse(text: str, *, refusal_numbers: Collection[tuple[float, ...]] = ()) -> Parsed:
    """Read the place out of an answer. Never raises; what cannot be read is `nothing`.

    `refusal_numbers` are numbers that mean a refusal, where the protocol says so, for example
    `REFUSAL_NUMBERS`; elsewhere `(-1, -1)` is a point beside the picture.
    """
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]}\n…\n{text[-_READ:]}"
    # Deeply indented JSON has long gaps, which the bounded patterns would not cross.
    plain = _SPACES.sub(" ", text.translate(PLAIN_SIGNS))
    answer, thought = _answer_and_thought(plain)
    confidence = _confidence(answer)
    found = _answered(answer)
    if found is None:
        if _refuses(answer):
            return Parsed("refusal", form="words", confidence=confidence)
        # Some models act where they should think; bare numbers among thoughts are only thoughts.
        found = _latest(thought, MARKED)
    if found is None:
        return Parsed("nothing")
    if any(found.numbers == tuple(numbers) for numbers in refusal_numbers):
        return Parsed("refusal", form=found.form, confidence=confidence)
    kind: Kind = "point" if len(found.numbers) == 2 else "box"
    return Parsed(kind, found.numbers, found.form, confidence, found.named, found.percent)


_SPACES = re.compile(r"[^\S\n]+")
_READ = 100_000  # characters at each end; nothing longer is an answer
_LOOKED_AT = 1000  # matches of one form that are looked at, from the end


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    numbers: tuple[float, ...]
    form: str
    named: bool
    percent: bool


_THOUGHT_END = r"</think(?:ing)?>|◁/think▷"
_THOUGHT_START = r"<think(?:ing)?>|◁think▷"
_ANSWER_START = r"<answer>|<\|begin_of_box\|>"
_ANSWER_END = r"</answer>|<\|end_of_box\|>"
_NEXT_IN_LIST = re.compile(r"\}\s{0,20},\s{0,20}\{")
_FARTHEST_IN_LIST = 600


def _answer_and_thought(text: str) -> tuple[str, str]:
    """The part that answers, and what was thought before it."""
    start, end = 0, len(text)
    if thought := _last_matches(_THOUGHT_END, text):
        start = thought[-1].end()
    if marks := _last_matches(_ANSWER_START, text):
        start = max(start, marks[-1].end())
    closing = compile_pattern(rf"{_ANSWER_END}|{_THOUGHT_START}").search(text, start)
    if closing:
        end = closing.start()
    return text[start:end], text[:start] + text[end:]


def _answered(answer: str) -> _Found | None:
    if marked := _latest(answer, MARKED):
        return marked
    bare = _latest(answer, BARE) or _latest(answer, ALONE)
    if bare is None:
        return None
    # An action without a place, or a refusal, after the numbers: they were only part of the way.
    calls = _last_matches(CALL.pattern, answer)
    if (calls and calls[-1].start() > bare.start) or _refuses(answer[bare.end :]):
        return None
    return bare


def _latest(text: str, forms: tuple[Form, ...]) -> _Found | None:
    """The place that ends last; of several that end there, the outermost."""
    found = [f for form in forms if form.may_be_in(text) and (f := _last_of(form, text))]
    return max(found, key=lambda place: (place.end, -place.start), default=None)


def _last_of(form: Form, text: str) -> _Found | None:
    last: _Found | None = None
    for match in reversed(_last_matches(form.pattern, text)):
        found = _read(form, match)
        if found is None:
            continue
        if last is None:
            last = found
        elif _same_list(text, found.end, last.start):
            last = replace(found, end=last.end)
        if form.name != "json" or last.start != found.start:
            break
    return last


def _same_list(text: str, start: int, end: int) -> bool:
    between = text[start : min(end, start + _FARTHEST_IN_LIST)]
    near = end - start < _FARTHEST_IN_LIST and "[" not in between
    return near and _NEXT_IN_LIST.search(between) is not None


def _read(form: Form, match: re.Match[str]) -> _Found | None:
    values = form.read(match["place"])
    if values is None or len(values.texts) not in (2, 4):
        return None
    numbers = tuple(number_value(text) for text in values.texts)
    if not all(map(isfinite, numbers)):
        return None
    if len(numbers) == 4:
        a, b, c, d = numbers
        numbers = (min(a, c), min(b, d), max(a, c), max(b, d))
    percent = all(text.endswith("%") for text in values.texts)
    return _Found(match.start(), match.end(), numbers, form.name, values.named, percent)


def _last_matches(pattern: str, text: str) -> deque[re.Match[str]]:
    return deque(compile_pattern(pattern).finditer(text), maxlen=_LOOKED_AT)


# --- confidence and refusals --------------------------------------------------------------------

_CONFIDENCE = (
    rf"(?:(?:confidence|certainty|置信度)(?:[_ ](?:score|level))?|{QUOTE}score)(?:{QUOTE})?"
    rf"\s{{0,4}}[:=]\s{{0,4}}(?:{QUOTE})?(?P<value>{NUMBER})"
)
_SEEN = r"(?:find|found|locate|located|identify|identified|see|seen|detect|detected|determine)"
_REFUSAL = (
    rf"(?:can(?:not|'t| not)|could(?:n't| not)|unable to|not able to|failed to|did(?:n't| not))"
    rf"\s{{1,4}}(?:be\s{{1,4}})?(?:[a-z]{{1,20}}\s{{1,4}})?{_SEEN}\b"
    r"|\bnot[ _]found\b|\bnot (?:present|visible|shown|available|displayed)\b"
    r"|\bnot (?:on|in) (?:the|this) (?:screen|image|screenshot|picture)\b"
    r"|\b(?:does|do)(?:n't| not)\s{1,4}(?:seem to )?(?:exist|appear|contain)\b"
    r"|\bno (?:such|matching|corresponding|visible)\b|\bno target\b|\binfeasible\b"
    r"|\bcall_user\(|[\"'](?:found|exists|visible)[\"']\s{0,4}:\s{0,4}false"
    rf"|[\"']{KEY}[\"']\s{{0,4}}:\s{{0,4}}(?:null|none|\[\s{{0,4}}\])"
    r"|[\"']status[\"']\s{0,4}:\s{0,4}[\"'](?:failure|fail|infeasible)[\"']"
    r"|找不到|无法找到|未找到|没有找到|没找到|无法定位|未发现|没有发现|不存在|无法识别"
)
_REFUSING_WORD = r"\W{0,10}(?:none|null|n/a|no|refused?|无|没有)\W{0,10}"


def _refuses(text: str) -> bool:
    if compile_pattern(_REFUSING_WORD).fullmatch(text):
        return True
    return compile_pattern(_REFUSAL).search(text) is not None


def _confidence(text: str) -> float | None:
    matches = _last_matches(_CONFIDENCE, text)
    if not matches:
        return None
    written = matches[-1]["value"]
    value = number_value(written)
    if written.endswith("%") or 1 < value <= 100:
        value /= 100
    return value if 0 <= value <= 1 else None
