"""Addresses of other hosts that a page asks for: answered from frozen copies, and accounted for."""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from uiproof.web import Answer, FrozenWeb

Kind = Literal["style", "script", "font", "picture", "other"]
# From a package, a placeholder of ours, from an archive; no copy here; never answered.
Outcome = Literal["frozen", "placeholder", "archive", "missing", "refused"]

OUTCOMES: tuple[Outcome, ...] = ("frozen", "placeholder", "archive", "missing", "refused")
INCOMPLETE = "incomplete"  # the flag of a page that lacks a foreign style sheet or script
FONTS_MISSING = "fonts_missing"
INTEGRITY = "integrity_mismatch"
SCRIPT_ERRORS = "script_errors"

MUTED = "Script error."  # all that a page may know of an error in a script of another host
MAX_ADDRESSES = 40  # of each outcome that are written down for one page
MAX_ADDRESS = 300  # characters
MAX_ERRORS = 20  # of one page
MAX_ERROR = 300  # characters
MAX_URL = 8_192  # characters of an address that is looked up
_CACHED_BYTES = 64 * 1024 * 1024  # of encoded bodies

_KINDS: Mapping[str, Kind] = {
    "Stylesheet": "style",
    "Script": "script",
    "Font": "font",
    "Image": "picture",
}
_FONT_HOSTS = ("fonts.googleapis.com", "fonts.bunny.net", "fonts.loli.net", "fonts.font.im")
_HASHED_TAG = re.compile(rb"<(?:script|link)\b[^>]*?\sintegrity\s*=[^>]*>", re.IGNORECASE)
_INTEGRITY = re.compile(rb"""\sintegrity\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_ADDRESS = re.compile(rb"""\s(?:src|href)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
# SVG pictures have clocks of their own: elements and properties that move them lose their names.
_MOVEMENT = re.compile(rb"(?<=<)(?=animate|set\b)|(?<![<-])\b(?=animation)", re.IGNORECASE)
SVG = "image/svg+xml"
_STRENGTHS = ("sha512", "sha384", "sha256")


@dataclass(frozen=True, slots=True)
class Copy:
    """An answer of the frozen web, encoded as the browser takes it."""

    answer: Answer
    body: str  # base64


class WebCopies:
    """The frozen web for one browser: each address is looked up and encoded once."""

    def __init__(self, web: FrozenWeb) -> None:
        self._web, self.digest = web, web.digest
        self._copies: OrderedDict[str, Copy] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> Copy | None:
        """Return the copy of a foreign address, if there is one."""
        if len(url) > MAX_URL:
            return None
        if url in self._copies:
            self._copies.move_to_end(url)
            return self._copies[url]
        answer = self._web.answer(url)
        if answer is None:
            return None
        if answer.content_type.startswith(SVG):
            answer = replace(answer, body=still_svg(answer.body))
        copy = self._copies[url] = Copy(answer, b64encode(answer.body).decode())
        self._bytes += len(copy.body)
        while self._bytes > _CACHED_BYTES and len(self._copies) > 1:
            self._bytes -= len(self._copies.popitem(last=False)[1].body)
        return copy

    def loadable(self, page: bytes) -> tuple[bytes, bool]:
        """Return a page without integrity hashes that only a stand-in does not fit.

        A copy of another version than the page names cannot have its hash, although the file that
        the page means would have. Hashes that do not fit the very file stay: every browser refuses
        such a file. The second value says whether there is one.
        """
        mismatch = False

        def changed(found: re.Match[bytes]) -> bytes:
            nonlocal mismatch
            tag = found[0]
            hashes, address = _INTEGRITY.search(tag), _ADDRESS.search(tag)
            if hashes is None or address is None:
                return tag
            copy = self.get(_absolute(_unquoted(address[1])))
            if copy is None or _fits(copy.answer.body, _unquoted(hashes[1])):
                return tag
            if copy.answer.note:
                return tag.replace(hashes[0], b"")
            mismatch = True
            return tag

        return _HASHED_TAG.sub(changed, page), mismatch


class WebLog:
    """The foreign addresses of one page with their outcome, and the errors of its scripts."""

    def __init__(self) -> None:
        self._asked: dict[tuple[Outcome, Kind, str], str] = {}  # with a note
        self._left_out: Counter[str] = Counter()
        self._lacks: set[str] = set()  # flags
        self.errors: list[str] = []

    def add(self, outcome: Outcome, kind: Kind, url: str, note: str = "") -> None:
        """Write down a request."""
        if outcome in ("missing", "refused"):
            self._lacks.add("requests_blocked")
        if outcome == "missing" and kind in ("style", "script"):
            self._lacks.add(INCOMPLETE)
        elif kind == "font" and (outcome == "missing" or (note and _names_fonts(url))):
            self._lacks.add(FONTS_MISSING)  # the note of such a style sheet names them
        asked = (outcome, kind, url[:MAX_ADDRESS])
        if asked in self._asked:
            return
        if sum(one[0] == outcome for one in self._asked) >= MAX_ADDRESSES:
            self._left_out[outcome] += 1
        else:
            self._asked[asked] = note[:MAX_ADDRESS]

    def note_mismatch(self) -> None:
        """Write down that a file does not fit the hash that the page demands."""
        self._lacks.add(INTEGRITY)

    def add_error(self, text: str, *, uncaught: bool) -> None:
        """Write down an error of a script, or one that a script printed."""
        if uncaught:
            self._lacks.add(SCRIPT_ERRORS)
        text = text.strip()[:MAX_ERROR]
        if len(self.errors) < MAX_ERRORS and text not in self.errors:
            self.errors.append(text)

    @property
    def is_muted(self) -> bool:
        """Return whether a page was not told what went wrong in a script of another host."""
        return MUTED in self.errors

    def unmute(self, texts: Iterable[str]) -> None:
        """Replace the error that says nothing by all that the browser knows."""
        self.errors = [one for one in self.errors if one != MUTED]
        for text in texts:
            self.add_error(text, uncaught=True)

    def flags(self) -> set[str]:
        """Return the flags for what is missing, refused or broken."""
        return set(self._lacks)

    def as_json(self) -> dict[str, Any]:
        """Return lists of kind, address and maybe a note by outcome; empty where nothing was asked.

        `left_out` counts addresses that are too many to be listed. Requests that a browser makes at
        once come in any order, so they are sorted.
        """
        listed: dict[str, Any] = {}
        for (outcome, kind, url), note in sorted(self._asked.items()):
            listed.setdefault(outcome, []).append([kind, url, note] if note else [kind, url])
        if self._left_out:
            listed["left_out"] = dict(self._left_out)
        if self.errors:
            listed["errors"] = list(self.errors)
        return listed


def web_details(**sides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a record's details about what its pages asked of other hosts, by side."""
    asked = {side: log for side, log in sides.items() if log}
    return {"web": asked} if asked else {}


def still_svg(content: bytes) -> bytes:
    """Return an SVG picture that does not move."""
    return _MOVEMENT.sub(b"x-", content)


def kind_of(resource_type: str, url: str) -> Kind:
    """Return the kind of a request, from its type in the DevTools protocol.

    The style sheet of a font service only names fonts: without it, fonts are missing.
    """
    kind = _KINDS.get(resource_type, "other")
    return "font" if kind == "style" and _names_fonts(url) else kind


def _names_fonts(url: str) -> bool:
    try:
        return urlsplit(url).hostname in _FONT_HOSTS
    except ValueError:
        return False


def _unquoted(value: bytes) -> str:
    return html.unescape(value.strip(b"\"'").decode("utf-8", "replace")).strip()


def _absolute(address: str) -> str:
    """Return a foreign address as the page asks for it: without encryption nothing is asked."""
    if address.startswith("//"):
        return f"https:{address}"
    return re.sub(r"^http:", "https:", address, flags=re.IGNORECASE)


def _fits(body: bytes, hashes: str) -> bool:
    """Return whether content has one of the strongest hashes of an `integrity` attribute."""
    given = [one.partition("?")[0].partition("-") for one in hashes.split()]
    for strength in _STRENGTHS:
        wanted = [value for name, _, value in given if name.lower() == strength]
        if wanted:
            return b64encode(hashlib.new(strength, body).digest()).decode() in wanted
    return True  # browsers ignore what they do not know
