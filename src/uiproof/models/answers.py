"""Find the page in a model's answer, and flag what was unusual about it.

Models put pages into code fences, talk before and after them, think aloud, run into their token
limit, decline, or write something else. The page itself stays as it was written, to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from uiproof.errors import (
    AnswerError,
    EmptyAnswerError,
    NotHtmlAnswerError,
    RefusedAnswerError,
)
from uiproof.models.components import Kind, component_page, looks_like_component
from uiproof.models.types import Finish, Reply

FENCED = "answer:fenced"  # in a Markdown code fence
WRAPPED = "answer:wrapped"  # with words before or after it
JSON_WRAPPED = "answer:json"  # as a string in a JSON object
SEVERAL = "answer:several_pages"  # one of several: the longest complete one is taken
TRUNCATED = "answer:truncated"  # the model was cut off
UNTERMINATED = "answer:unterminated"  # no </html>, though the model was done
FRAGMENT = "answer:fragment"  # HTML without an <html> tag
AS_COMPONENT = "answer:component"  # a React or Vue component in a fence: a page was made of it

_SHORT = 2_000  # characters; a longer text is more than a refusal

_FLAGS = re.IGNORECASE | re.ASCII | re.MULTILINE
_THOUGHT = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|◁think▷)", _FLAGS)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>|◁/think▷", _FLAGS)

_JSON_KEYS = ("html", "page", "code", "content", "answer", "output", "response", "result")
_JSON_START = re.compile(rf'\{{\s*"(?:{"|".join(_JSON_KEYS)})"\s*:\s*(?=")', _FLAGS)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{0,3})?\Z", _FLAGS)

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
    """The page in an answer, and flags for what was unusual."""

    html: str
    flags: tuple[str, ...] = ()  # for example `answer:fenced`


def page_in(reply: Reply) -> PageAnswer:
    """Return the page that a model wrote, without the fences, words and thoughts around it.

    Raise `EmptyAnswerError`, `RefusedAnswerError` or `NotHtmlAnswerError` where there is none.
    """
    text = _without_thoughts(reply.text, reply.finish).strip(_BLANK)
    if reply.finish is Finish.REFUSAL:
        raise _refused(text)
    flags = []
    while (inner := _string_in_json(text)) is not None:
        text, flags = inner.strip(_BLANK), [JSON_WRAPPED]
    found = _find_page(text)
    if found is None and (component := _component(text)) is not None:
        cut_off = reply.finish is Finish.LENGTH
        return replace(component, flags=(*component.flags, *((TRUNCATED,) if cut_off else ())))
    if found is None:
        raise _unusable(text, reply.finish)
    fragment = not _HTML_TAG.search(found.html)
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
    """Return the text after a model's reasoning."""
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
    # Some servers leave out the opening tag of reasoning; but a page may have the closing tag too.
    if end and (
        not _PAGE_START.search(text, at, end.start()) or _PAGE_START.search(text, end.end())
    ):
        at = max(at, end.end())
    return text[at:]


def _string_in_json(text: str) -> str | None:
    """Return the HTML in a JSON object such as `{"html": "..."}`, also where it was cut off."""
    fence = _FENCE.match(text)
    if fence and fence[2].lower() == "json":
        text = text[fence.end() :].rstrip("`~" + _BLANK).lstrip(_BLANK)
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
        if isinstance(value.get(key), str) and _ELEMENT.search(value[key]):
            return str(value[key])
    return None


def _unusable(text: str, finish: Finish) -> AnswerError:
    """Return the error for a text without a page."""
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
    """Return the first words of a text on one printable line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:300]).split())
    return f'"{line if len(line) <= 120 else line[:119] + "…"}"'


# Finding the page in a text. Texts may be hostile and megabytes long: every pass over one takes
# time in proportion.

_BLANK = "\ufeff\u200b" + "".join(c for c in map(chr, range(0x3001)) if c.isspace())

_MAX_PAGES = 10  # in one text; later ones are ignored

_PAGE_START = re.compile(r"<!doctype\s+html\b|<html(?=[\s>])", _FLAGS)
_HTML_TAG = re.compile(r"<html(?=[\s/>])", _FLAGS)
_BLOCK_NAMES = (
    "head|body|title|style|link|meta|header|footer|main|nav|section|article|aside|div|form|"
    "fieldset|table|ul|ol|dl|figure|h[1-6]|p|pre|blockquote|center|svg"
)
_INLINE_NAMES = (
    "a|abbr|b|br|button|canvas|caption|code|dd|details|dt|em|font|hr|i|iframe|img|input|label|li|"
    "picture|s|script|select|small|span|strong|sub|summary|sup|tbody|td|textarea|tfoot|th|thead|"
    "tr|u|video"
)
_ELEMENT = re.compile(rf"<(?:{_BLOCK_NAMES}|{_INLINE_NAMES})(?=[\s/>])", _FLAGS)
_BLOCK = re.compile(rf"<(?:{_BLOCK_NAMES})(?=[\s/>])", _FLAGS)
_BLOCK_ON_NEW_LINE = re.compile(rf"^[ \t]*(<(?:{_BLOCK_NAMES})(?=[\s/>]))", _FLAGS)

# A line that opens or closes a fence, and the language that it names. A page may follow at once.
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.#-]*)", _FLAGS)
_COMPONENT_LANGUAGES: Mapping[str, Kind] = {
    **dict.fromkeys(("jsx", "tsx", "react", "javascriptreact", "typescriptreact"), "react"),
    **dict.fromkeys(("javascript", "js", "typescript", "ts"), "react"),
    "vue": "vue",
}
_HTML_LANGUAGES = frozenset({"", "html", "html5", "htm", "xhtml", "xml", "svg", "markup"})

# Tokens that decide where a page ends; everything else of it is skipped.
_RAW_NAMES = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_TOKEN = re.compile(
    r"(?P<comment><!--)"
    r"|(?P<end></html\s*>)"
    r"|(?P<start><!doctype\s+html\b|<html(?=[\s>]))"
    rf"|<(?P<raw>{'|'.join(_RAW_NAMES)})(?=[\s/>])"
    r"|(?P<quoted><[a-z][^<>\"']*=\s*[\"'])"
    r"|(?P<fence>^[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<language>[\w+.#-]*))",
    _FLAGS,
)
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", _FLAGS) for name in _RAW_NAMES}
_IN_TAG = re.compile(r">|=\s*([\"'])", _FLAGS)
_END = re.compile(r"</html\s*>", _FLAGS)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page or a fragment of one, and what was around it."""

    html: str
    complete: bool  # it ends with </html>
    fenced: bool
    wrapped: bool
    several: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    """The position of a page in an answer."""

    start: int
    end: int
    complete: bool
    fence: int  # where the fence around it begins; -1 where there is none


def _find_page(text: str) -> _Page | None:
    """Return the page in a text, or a fragment of one; None where there is no HTML."""
    return _page(text) or _fragment(text)


def _page(text: str) -> _Page | None:
    """Return what begins with a doctype or <html>: the longest, complete ones first."""
    places = list(_pages(text))
    if not places:
        return None
    best = max(places, key=lambda place: (place.complete, place.end - place.start))
    found = _taken(text, best, several=len(places) > 1)
    for _ in range(_MAX_PAGES):
        # A fence that was cut off may have been the second quote of a tag that is mentioned.
        again = None if found.complete else next(_pages(found.html), None)
        if again is None or again.end - again.start == len(found.html):
            break
        found = replace(found, html=_taken(found.html, again).html, complete=again.complete)
    return found


def _taken(text: str, place: _Span, *, several: bool = False) -> _Page:
    html = text[place.start : place.end]
    fenced = place.fence >= 0
    after = text[place.end :]
    if not place.complete:
        core = html.rstrip("`~" + _BLANK)
        if "```" in html[len(core) :] or "~~~" in html[len(core) :]:
            html, fenced = core, True  # the end of a fence, whether or not one began
        html = html.rstrip(_BLANK)
    before = text[: place.start]
    if place.fence >= 0:
        line = _FENCE.match(text, place.fence)
        if line and not text[line.end() : place.start].strip(_BLANK):
            before = text[: place.fence]
    if after.strip(_BLANK).startswith(("```", "~~~")):
        after, fenced = after.strip(_BLANK).lstrip("`~"), True
    wrapped = bool(before.strip(_BLANK) or after.strip(_BLANK))
    return _Page(html, place.complete, fenced, wrapped, several)


def _pages(text: str) -> Iterator[_Span]:
    at = fence_at = 0
    fence: re.Match[str] | None = None
    for _ in range(_MAX_PAGES):
        start = _PAGE_START.search(text, at)
        while start and _is_mention(text, start):
            start = _PAGE_START.search(text, start.end())
        if not start:
            return
        for line in _FENCE.finditer(text, fence_at, start.start()):
            if not fence:
                fence = line
            elif line[1].startswith(fence[1]) and not line[2]:
                fence = None
        end, complete = _page_end(text, start, fenced=fence is not None)
        at = fence_at = max(end, start.end())
        line_before = text[text.rfind("\n", 0, start.start()) + 1 : start.start()]
        on_new_line = not _FENCE.sub("", line_before).strip(_BLANK)
        if complete or on_new_line or _ELEMENT.search(text, start.end(), end):
            yield _Span(start.start(), end, complete, fence.start() if fence else -1)


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag is only mentioned, as in: the `<html>` element."""
    quote = text[tag.start() - 1] if tag.start() else ""
    return quote in ("`", '"', "'") and text.startswith((quote, f">{quote}"), tag.end())


def _page_end(text: str, start: re.Match[str], *, fenced: bool) -> tuple[int, bool]:
    """Return the end of a page, and whether it is </html>.

    Comments, scripts, other raw text and attributes may hold anything, also fences and </html>.
    Nor does a fence in its own text end a page, where </html> comes later.
    """
    at, depth, fence_end = start.end(), 1, -1
    left_open = len(text)  # where something begins that swallows the rest of the page
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token["comment"]:
            at = _past(text, "-->", at)
        elif token["raw"]:
            end = _RAW_ENDS[token["raw"].lower()].search(text, _past_tag(text, at))
            at = end.end() if end else len(text) + 1
        elif token["quoted"]:
            at = _past_tag(text, _past(text, text[at - 1], at))
        elif token["end"]:
            if fence_end < 0 or _follows_markup(text, token.start()):
                return token.end(), True
            break  # words after the fence: they speak of </html>
        elif token["fence"]:
            if _PAGE_START.match(text, _SPACE.match(text, at).end()):  # type: ignore[union-attr]
                return (token.start() if fence_end < 0 else fence_end), False  # the next page
            depth += 1 if token["language"] else -1
            if fenced and depth == 0 and fence_end < 0:
                fence_end = token.start()
        elif (fence_end >= 0 or token["start"][1] == "!") and not _is_mention(text, token):
            return (token.start() if fence_end < 0 else fence_end), False  # the next page
        if at > len(text):
            left_open = token.start()
    if fence_end >= 0:
        return fence_end, False
    # Where a quote or a script is left open, what it swallowed still has an end.
    if swallowed := _END.search(text, left_open):
        return swallowed.end(), True
    closing = (line.start() for line in _FENCE.finditer(text, left_open) if not line[2])
    return (next(closing, len(text)) if fenced else len(text)), False


def _past(text: str, end: str, at: int) -> int:
    """Return the position after the next `end`; beyond the text where there is none."""
    found = text.find(end, at)
    return len(text) + 1 if found < 0 else found + len(end)


def _past_tag(text: str, at: int) -> int:
    """Return the position after the `>` of a tag; quoted values may hold one."""
    while part := _IN_TAG.search(text, at):
        if not part[1]:
            return part.end()
        at = _past(text, part[1], part.end())
    return len(text) + 1


def _follows_markup(text: str, at: int) -> bool:
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1 : at] == ">"


def _fragment(text: str) -> _Page | None:
    """Return HTML that does not begin as a page: the longest fenced piece, or the text itself."""
    if _ELEMENT.match(text):
        return _taken(text, _Span(0, len(text), complete=False, fence=-1))
    pieces = [place for place in _fenced(text) if place]
    if pieces:
        best = max(pieces, key=lambda place: place.end - place.start)
        return _taken(text, best)
    start = _BLOCK_ON_NEW_LINE.search(text)
    at = start.start(1) if start else -1
    if at < 0 and text.endswith(">") and (inside := _BLOCK.search(text)):
        at = -1 if _is_mention(text, inside) else inside.start()
    if at < 0 or _FENCE.search(text, 0, at) or text[:at].rstrip().endswith(tuple("({[=,;&|?")):
        return None  # prose, or code of another language with markup in it
    return _taken(text, _Span(at, len(text), complete=False, fence=-1))


def _fenced(text: str) -> Iterator[_Span | None]:
    """Yield the HTML in fences whose language is HTML or that begin with it."""
    opening: re.Match[str] | None = None
    depth = 0
    for line in _FENCE.finditer(text):
        if opening is None:
            opening, depth = line, 1
            continue
        depth += 1 if line[2] else -1
        if depth == 0:
            yield _piece(text, opening, line.start())
            opening = None
    if opening:
        yield _piece(text, opening, len(text))


def _component(text: str) -> PageAnswer | None:
    """Return the page of the longest React or Vue component in fences, with the CSS beside it."""
    found: list[tuple[str, Kind]] = []
    styles = []
    for language, code in _code_fences(text):
        kind = _COMPONENT_LANGUAGES.get(language)
        if kind is not None and looks_like_component(code, kind):
            found.append((code, kind))
        elif language == "css":
            styles.append(code)
    if not found:
        return None
    code, kind = max(found, key=lambda one: len(one[0]))
    html, _ = component_page(code, kind, styles="\n".join(styles))
    several = (SEVERAL,) if len(found) > 1 else ()
    return PageAnswer(html, (AS_COMPONENT, *several))


def _code_fences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the content of every fence; the last may be cut off."""
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening is None:
            opening = line
        elif line[1].startswith(opening[1]) and not line[2]:
            yield opening[2].lower(), text[_line_end(text, opening) : line.start()]
            opening = None
    if opening is not None:
        yield opening[2].lower(), text[_line_end(text, opening) :]


def _line_end(text: str, opening: re.Match[str]) -> int:
    end = text.find("\n", opening.end())
    return len(text) if end < 0 else end + 1


def _piece(text: str, opening: re.Match[str], end: int) -> _Span | None:
    language = opening[2].lower()
    if language not in _HTML_LANGUAGES:
        return None
    at = _SPACE.match(text, opening.end()).end()  # type: ignore[union-attr]
    if not _ELEMENT.match(text, at):
        block = _BLOCK_ON_NEW_LINE.search(text, at, end) if language else None
        if not block:
            return None
        at = block.start(1)
    return _Span(at, end, complete=False, fence=opening.start())
