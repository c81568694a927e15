"""What is in an answer: the page that a model wrote, and what was unusual about how it came.

Models put pages into code fences, talk before and after them, think aloud, run into their token
limit, decline, or write something else. The page itself stays as it was written, to the byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from uiproof.errors import (
    AnswerError,
    EmptyAnswerError,
    NotHtmlAnswerError,
    RefusedAnswerError,
)
from uiproof.models.answer_pages import (
    BLANK,
    ELEMENT,
    FENCE,
    FLAGS,
    HTML_TAG,
    PAGE_START,
    find_page,
)
from uiproof.models.types import Finish, Reply

FENCED = "answer:fenced"  # in a Markdown code fence
WRAPPED = "answer:wrapped"  # with words before or after it
JSON_WRAPPED = "answer:json"  # as a string in a JSON object
SEVERAL = "answer:several_pages"  # one of several: the longest complete one is taken
TRUNCATED = "answer:truncated"  # the model was cut off
UNTERMINATED = "answer:unterminated"  # no </html>, though the model was done
FRAGMENT = "answer:fragment"  # HTML without an <html> tag

_SHORT = 2_000  # characters; a longer text is more than a refusal

_THOUGHT = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|◁think▷)", FLAGS)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>|◁/think▷", FLAGS)

_JSON_KEYS = ("html", "page", "code", "content", "answer", "output", "response", "result")
_JSON_START = re.compile(rf'\{{\s*"(?:{"|".join(_JSON_KEYS)})"\s*:\s*(?=")', FLAGS)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{0,3})?\Z", FLAGS)

_SORRY = re.compile(
    r"(?:i'm|i am|we're|we are) (?:\w+ )?(?:sorry|afraid|unable|not able|not allowed)\b"
    r"|i (?:can't|cannot|can not|won't|will not|could not|couldn't|must|have to|need to|do not|"
    r"don't|apologi[sz]e|regret|decline|refuse)\b"
    r"|(?:sorry|(?:my )?apologies|unfortunately|regrettably|as an? (?:ai|large|language))\b"
    r"|(?:the|this|your) (?:request|content|image|screenshot|prompt)\b"
)
_DECLINES = re.compile(
    r"\b(?:can't|cannot|can not|unable|not able|not allowed|not permitted|not possible|won't|"
    r"will not|could not|couldn't|declin\w+|refus\w+|violat\w+|polic(?:y|ies)|guidelines|blocked|"
    r"don't have|do not have|not comfortable|don't feel comfortable)\b"
)
_SORRY_ELSEWHERE = (
    *("抱歉", "很抱歉", "非常抱歉", "对不起", "對不起", "我无法", "我不能", "无法"),
    *("申し訳", "すみません", "죄송", "к сожалению", "извините", "я не могу", "es tut mir leid"),
    *("tut mir leid", "je suis désolé", "désolé", "je ne peux pas", "lo siento", "no puedo"),
    *("desculpe", "lamento", "sinto muito", "mi dispiace", "non posso"),
)


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The page in an answer, and what was unusual about how it came."""

    html: str
    flags: tuple[str, ...] = ()  # for example `answer:fenced`


def page_in(reply: Reply) -> PageAnswer:
    """The page that a model wrote, without the fences, words and thoughts around it.

    Raises `EmptyAnswerError`, `RefusedAnswerError` or `NotHtmlAnswerError` where there is none.
    """
    text = _without_thoughts(reply.text, reply.finish).strip(BLANK)
    if reply.finish is Finish.REFUSAL:
        raise _refused(text)
    flags = []
    while (inner := _string_in_json(text)) is not None:
        text, flags = inner.strip(BLANK), [JSON_WRAPPED]
    found = find_page(text)
    if found is None:
        raise _unusable(text, reply.finish)
    fragment = not HTML_TAG.search(found.html)
    unfinished = not found.complete and not fragment
    cut_off = reply.finish is Finish.LENGTH or (
        not found.complete and reply.finish is not Finish.STOP
    )
    states = (
        (FENCED, found.fenced),
        (WRAPPED, found.wrapped),
        (SEVERAL, found.several),
        (FRAGMENT, fragment),
        (TRUNCATED, cut_off),
        (UNTERMINATED, unfinished and not cut_off),
    )
    return PageAnswer(found.html, (*flags, *(flag for flag, holds in states if holds)))


def _without_thoughts(text: str, finish: Finish) -> str:
    """The text after what a model thought aloud."""
    at, closes = 0, True
    while opening := _THOUGHT.match(text, at):
        at = opening.end()
        end = _THOUGHT_END.search(text, at) if closes else None
        if end:
            at = end.end()
        elif finish is Finish.LENGTH:
            return ""  # it was cut off before it came to an answer
        closes = end is not None
    end = None if text[at:].lstrip().startswith(("<", "`", "~", "{")) else _THOUGHT_END.search(text)
    # Some servers leave out where the thoughts begin; but a page may use the word, too.
    if end and (not PAGE_START.search(text, at, end.start()) or PAGE_START.search(text, end.end())):
        at = max(at, end.end())
    return text[at:]


def _string_in_json(text: str) -> str | None:
    """The HTML in a JSON object such as `{"html": "..."}`, also where it was cut off."""
    fence = FENCE.match(text)
    if fence and fence[2].lower() == "json":
        text = text[fence.end() :].rstrip("`~" + BLANK).lstrip(BLANK)
    if not text.startswith("{"):
        return None
    decoder = json.JSONDecoder(strict=False)
    try:
        try:
            value = decoder.decode(text)
        except ValueError:
            start = _JSON_START.match(text)
            cut = _CUT_ESCAPE.sub("", text) + '"'
            value = {"html": decoder.raw_decode(cut, start.end())[0]} if start else {}
    except (ValueError, RecursionError):
        return None
    for key in _JSON_KEYS:
        if isinstance(value.get(key), str) and ELEMENT.search(value[key]):
            return str(value[key])
    return None


def _unusable(text: str, finish: Finish) -> AnswerError:
    """Why there is no page in a text."""
    if not text:
        if finish is Finish.LENGTH:
            return EmptyAnswerError(
                "The answer is empty: the token limit went into reasoning.",
                remedy="Raise --max-tokens.",
            )
        return EmptyAnswerError(
            "The model answered with nothing.", remedy="Ask again with --retry-failed."
        )
    opening = text[:400].lower().replace("’", "'").lstrip("*_>#\"' \n")
    sorry = _SORRY.match(opening) and _DECLINES.search(opening)
    if len(text) < _SHORT and (sorry or opening.startswith(_SORRY_ELSEWHERE)):
        return _refused(text)
    cut_off = "It ran into the token limit: raise --max-tokens."
    other = "Read the whole answer among the files of the case; try another prompt or model."
    return NotHtmlAnswerError(
        f"There is no HTML in the answer, which begins: {_excerpt(text)}",
        remedy=cut_off if finish is Finish.LENGTH else other,
    )


def _refused(text: str) -> RefusedAnswerError:
    words = f": {_excerpt(text)}" if text else ", or a filter of its provider did."
    return RefusedAnswerError(
        f"The model declined{words}", remedy="Try another prompt or model for this case."
    )


def _excerpt(text: str) -> str:
    """The first words of a text, on one line and fit for a terminal."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:300]).split())
    return f'"{line if len(line) <= 120 else line[:119] + "…"}"'
