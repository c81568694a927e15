"""Finding the page in a text that a model wrote.

Texts may be hostile and megabytes long: every pass over one takes time in proportion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

BLANK = "\ufeff\u200b" + "".join(c for c in map(chr, range(0x3001)) if c.isspace())

_MOST_PAGES = 10  # that are looked at in one text
FLAGS = re.IGNORECASE | re.ASCII | re.MULTILINE

PAGE_START = re.compile(r"<!doctype\s+html\b|<html(?=[\s>])", FLAGS)
HTML_TAG = re.compile(r"<html(?=[\s/>])", FLAGS)
_BLOCK_NAMES = (
    "head|body|title|style|link|meta|header|footer|main|nav|section|article|aside|div|form|"
    "fieldset|table|ul|ol|dl|figure|h[1-6]|p|pre|blockquote|center|svg"
)
_INLINE_NAMES = (
    "a|abbr|b|br|button|canvas|caption|code|dd|details|dt|em|font|hr|i|iframe|img|input|label|li|"
    "picture|s|script|select|small|span|strong|sub|summary|sup|tbody|td|textarea|tfoot|th|thead|"
    "tr|u|video"
)
ELEMENT = re.compile(rf"<(?:{_BLOCK_NAMES}|{_INLINE_NAMES})(?=[\s/>])", FLAGS)
_BLOCK = re.compile(rf"<(?:{_BLOCK_NAMES})(?=[\s/>])", FLAGS)
_BLOCK_ON_NEW_LINE = re.compile(rf"^[ \t]*(<(?:{_BLOCK_NAMES})(?=[\s/>]))", FLAGS)

# A line that opens or closes a fence, and the language that it names. A page may follow at once.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.#-]*)", FLAGS)
_HTML_LANGUAGES = frozenset({"", "html", "html5", "htm", "xhtml", "xml", "svg", "markup"})

# What decides where a page ends; everything else of it is passed over.
_RAW_NAMES = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_TOKEN = re.compile(
    r"(?P<comment><!--)"
    r"|(?P<end></html\s*>)"
    r"|(?P<start><!doctype\s+html\b|<html(?=[\s>]))"
    rf"|<(?P<raw>{'|'.join(_RAW_NAMES)})(?=[\s/>])"
    r"|(?P<quoted><[a-z][^<>\"']*=\s*[\"'])"
    r"|(?P<fence>^[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<language>[\w+.#-]*))",
    FLAGS,
)
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", FLAGS) for name in _RAW_NAMES}
_IN_TAG = re.compile(r">|=\s*([\"'])", FLAGS)
_END = re.compile(r"</html\s*>", FLAGS)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Found:
    """A page or a piece of one, and how it lay in the text."""

    html: str
    complete: bool  # it ends with </html>
    fenced: bool
    wrapped: bool
    several: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page lies in an answer."""

    start: int
    end: int
    complete: bool
    fence: int  # where the fence around it begins; -1 where there is none


def find_page(text: str) -> Found | None:
    """The page in a text, or a fragment of one; None where there is no HTML."""
    return _page(text) or _fragment(text)


def _page(text: str) -> Found | None:
    """What begins with a doctype or <html>: of several the longest, complete ones first."""
    places = list(_pages(text))
    if not places:
        return None
    best = max(places, key=lambda place: (place.complete, place.end - place.start))
    found = _taken(text, best, several=len(places) > 1)
    for _ in range(_MOST_PAGES):
        # A fence that was cut off may have been the second quote of a tag that is talked about.
        again = None if found.complete else next(_pages(found.html), None)
        if again is None or again.end - again.start == len(found.html):
            break
        found = replace(found, html=_taken(found.html, again).html, complete=again.complete)
    return found


def _taken(text: str, place: _Place, *, several: bool = False) -> Found:
    html = text[place.start : place.end]
    fenced = place.fence >= 0
    after = text[place.end :]
    if not place.complete:
        core = html.rstrip("`~" + BLANK)
        if "```" in html[len(core) :] or "~~~" in html[len(core) :]:
            html, fenced = core, True  # the end of a fence, whether or not one began
        html = html.rstrip(BLANK)
    before = text[: place.start]
    if place.fence >= 0:
        line = FENCE.match(text, place.fence)
        if line and not text[line.end() : place.start].strip(BLANK):
            before = text[: place.fence]
    if after.strip(BLANK).startswith(("```", "~~~")):
        after, fenced = after.strip(BLANK).lstrip("`~"), True
    wrapped = bool(before.strip(BLANK) or after.strip(BLANK))
    return Found(html, place.complete, fenced, wrapped, several)


def _pages(text: str) -> Iterator[_Place]:
    at = fence_at = 0
    fence: re.Match[str] | None = None
    for _ in range(_MOST_PAGES):
        start = PAGE_START.search(text, at)
        while start and _is_mention(text, start):
            start = PAGE_START.search(text, start.end())
        if not start:
            return
        for line in FENCE.finditer(text, fence_at, start.start()):
            if not fence:
                fence = line
            elif line[1].startswith(fence[1]) and not line[2]:
                fence = None
        end, complete = _page_end(text, start, fenced=fence is not None)
        at = fence_at = max(end, start.end())
        line_before = text[text.rfind("\n", 0, start.start()) + 1 : start.start()]
        on_new_line = not FENCE.sub("", line_before).strip(BLANK)
        if complete or on_new_line or ELEMENT.search(text, start.end(), end):
            yield _Place(start.start(), end, complete, fence.start() if fence else -1)


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    """Whether a tag is only talked about, as in: the `<html>` element."""
    quote = text[tag.start() - 1] if tag.start() else ""
    return quote in ("`", '"', "'") and text.startswith((quote, f">{quote}"), tag.end())


def _page_end(text: str, start: re.Match[str], *, fenced: bool) -> tuple[int, bool]:
    """Where a page ends, and whether it does so with </html>.

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
            if PAGE_START.match(text, _SPACE.match(text, at).end()):  # type: ignore[union-attr]
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
    closing = (line.start() for line in FENCE.finditer(text, left_open) if not line[2])
    return (next(closing, len(text)) if fenced else len(text)), False


def _past(text: str, end: str, at: int) -> int:
    """Past the next `end`; beyond the text where there is none."""
    found = text.find(end, at)
    return len(text) + 1 if found < 0 else found + len(end)


def _past_tag(text: str, at: int) -> int:
    """Past the `>` of a tag, minding that quoted values may hold one."""
    while part := _IN_TAG.search(text, at):
        if not part[1]:
            return part.end()
        at = _past(text, part[1], part.end())
    return len(text) + 1


def _follows_markup(text: str, at: int) -> bool:
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1 : at] == ">"


def _fragment(text: str) -> Found | None:
    """HTML that does not begin as a page does: the longest fenced piece, or the text itself."""
    if ELEMENT.match(text):
        return _taken(text, _Place(0, len(text), complete=False, fence=-1))
    pieces = [place for place in _fenced(text) if place]
    if pieces:
        best = max(pieces, key=lambda place: place.end - place.start)
        return _taken(text, best)
    start = _BLOCK_ON_NEW_LINE.search(text)
    at = start.start(1) if start else -1
    if at < 0 and text.endswith(">") and (inside := _BLOCK.search(text)):
        at = -1 if _is_mention(text, inside) else inside.start()
    if at < 0 or FENCE.search(text, 0, at) or text[:at].rstrip().endswith(tuple("({[=,;&|?")):
        return None  # prose, or code of another language with markup in it
    return _taken(text, _Place(at, len(text), complete=False, fence=-1))


def _fenced(text: str) -> Iterator[_Place | None]:
    """The HTML in fences that say they hold HTML or begin with it."""
    opening: re.Match[str] | None = None
    depth = 0
    for line in FENCE.finditer(text):
        if opening is None:
            opening, depth = line, 1
            continue
        depth += 1 if line[2] else -1
        if depth == 0:
            yield _piece(text, opening, line.start())
            opening = None
    if opening:
        yield _piece(text, opening, len(text))


def _piece(text: str, opening: re.Match[str], end: int) -> _Place | None:
    language = opening[2].lower()
    if language not in _HTML_LANGUAGES:
        return None
    at = _SPACE.match(text, opening.end()).end()  # type: ignore[union-attr]
    if not ELEMENT.match(text, at):
        block = _BLOCK_ON_NEW_LINE.search(text, at, end) if language else None
        if not block:
            return None
        at = block.start(1)
    return _Place(at, end, complete=False, fence=opening.start())
