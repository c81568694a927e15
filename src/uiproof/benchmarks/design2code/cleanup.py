"""Clean-up of generated pages before they are scored, in memory: the user's file is never touched.

Three steps of the reference implementation, in its order: repetitive generations are cut, a
fragment is wrapped into a page, and elements that are repeated more than fifty times are dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from uiproof.repetition import cut_repetition

MAX_SAME_ELEMENTS = 50

_HTML_TAG = re.compile(r"<html", re.IGNORECASE)
_VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr", "basefont", "bgsound", "command", "frame", "image"),
        *("isindex", "keygen", "nextid", "spacer"),
    }
)


def clean_generated(html: str, reference: str = "") -> str:
    """Return the page as it is scored. What the reference page repeats too is left alone, and so
    is a fragment where the reference is one: a page scores 1 against itself.
    """
    cut = cut_repetition(html, reference)
    whole = cut if reference and not _has_html_tag(reference) else wrap_fragment(cut)
    return drop_repeated_elements(whole, reference)


def wrap_fragment(html: str) -> str:
    """Make a page of a text that has no `<html>` tag."""
    return html if _has_html_tag(html) else f"<html><body><p>{html}</p></body></html>"


def _has_html_tag(html: str) -> bool:
    tag = _HTML_TAG.search(html)
    # If the first one has no end, none has: looking for the end of each takes quadratic time.
    return tag is not None and ">" in html[tag.end() :]


def _value(name: str, value: str | None) -> str:
    return " ".join((value or "").split()) if name == "class" else value or ""


@dataclass
class _Open:
    """An element whose end has not been seen yet."""

    tag: str
    number: int
    digest: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))


class _Elements(HTMLParser):
    """The elements of a page with their places in its text, nested as Python's parser sees them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self._html = html
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", html))]
        self._stack: list[_Open] = []
        self._open: Counter[str] = Counter()  # how many of each tag are on the stack
        self.spans: list[tuple[int, int]] = []  # in document order
        self.digests: list[bytes] = []
        # After the last ">" there is no whole tag, and looking for one takes Python's parser a time
        # that grows with the square of what is there.
        last = html.rfind(">") + 1
        self.feed(html[:last])
        self.close()
        self._feed_digest(html[last:])
        while self._stack:
            self._end(len(html))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take `<![foo]>` for a comment, as browsers do; Python's parser gives up at it."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i, report)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _feed_digest(self, data: str) -> None:
        if self._stack:
            self._stack[-1].digest.update(data.encode("utf-8", "surrogatepass"))

    def _end(self, place: int) -> None:
        element = self._stack.pop()
        self._open[element.tag] -= 1
        digest = element.digest.digest()
        self.spans[element.number] = (self.spans[element.number][0], place)
        self.digests[element.number] = digest
        if self._stack:
            self._stack[-1].digest.update(digest)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        place = self._place()
        element = _Open(tag, len(self.spans))
        # Written in another way, they are the same: no value is an empty one, classes are a list.
        same = [(name, _value(name, value)) for name, value in attrs]
        element.digest.update(repr((tag, same)).encode("utf-8", "surrogatepass"))
        self.spans.append((place, place))
        self.digests.append(b"")
        self._stack.append(element)
        self._open[tag] += 1
        if tag in _VOID:
            self._end(place + len(self.get_starttag_text() or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._end(self._place() + len(self.get_starttag_text() or ""))

    def handle_endtag(self, tag: str) -> None:
        if not self._open[tag]:
            return
        place = self._place()
        while self._stack[-1].tag != tag:
            self._end(place)
        self._end(self._html.find(">", place) + 1)

    def handle_data(self, data: str) -> None:
        self._feed_digest(data)

    def handle_entityref(self, name: str) -> None:
        self._feed_digest(unescape(f"&{name};"))

    def handle_charref(self, name: str) -> None:
        self._feed_digest(unescape(f"&#{name};"))

    def handle_comment(self, data: str) -> None:
        self._feed_digest(f"<!--{data}-->")


def drop_repeated_elements(html: str, reference: str = "") -> str:
    """Drop the fifty-first and later of elements that are the same to the letter.

    The rest of the page stays as it is, character by character. Where the reference page has more
    than fifty of an element, so many are allowed.
    """
    if html.count("<") <= MAX_SAME_ELEMENTS:
        return html
    elements = _Elements(html)
    counts = Counter(elements.digests)
    if max(counts.values(), default=0) <= MAX_SAME_ELEMENTS:
        return html
    allowed = Counter(_Elements(reference).digests)
    seen: Counter[bytes] = Counter()
    dropped: list[tuple[int, int]] = []
    for span, digest in zip(elements.spans, elements.digests, strict=True):
        if dropped and span[0] < dropped[-1][1]:
            continue  # inside one that is gone already
        seen[digest] += 1
        if seen[digest] > max(MAX_SAME_ELEMENTS, allowed[digest]):
            dropped.append(span)
    if not dropped:
        return html
    kept = []
    position = 0
    for begin, end in dropped:
        kept.append(html[position:begin])
        position = max(position, end)
    kept.append(html[position:])
    return "".join(kept)
