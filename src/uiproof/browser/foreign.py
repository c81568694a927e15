"""Requests of a page to other hosts: their log, their flags, and integrity hashes."""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from uiproof.web import FrozenWeb

Kind = Literal["style", "script", "font", "picture", "other"]
# Answered from a package, by a generated placeholder or from an archive; no copy; not allowed.
Outcome = Literal["frozen", "placeholder", "archive", "missing", "refused"]

INCOMPLETE = "incomplete"  # the flag of a page that lacks a foreign style sheet or script
FONTS_MISSING = "fonts_missing"
INTEGRITY = "integrity_mismatch"
SCRIPT_ERRORS = "script_errors"

MUTED = "Script error."  # how browsers report an error in a cross-origin script
MAX_ADDRESSES = 40  # logged per outcome and page
MAX_ADDRESS = 300  # characters
MAX_ERRORS = 20  # per page
MAX_ERROR = 300  # characters

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
# SVG pictures animate on a clock that we do not control, so animation elements and properties are
# renamed to something that has no effect.
_MOVEMENT = re.compile(rb"(?<=<)(?=animate|set\b)|(?<![<-])\b(?=animation)", re.IGNORECASE)
SVG = "image/svg+xml"
_STRENGTHS = ("sha512", "sha384", "sha256")


class WebLog:
    """The foreign URLs that one page requested, with their outcome, and its script errors."""

    def __init__(self) -> None:
        self._requests: dict[tuple[Outcome, Kind, str], str] = {}  # to a note
        self._left_out: Counter[str] = Counter()
        self._flags: set[str] = set()
        self.errors: list[str] = []

    def add(self, outcome: Outcome, kind: Kind, url: str, note: str = "") -> None:
        """Log a request."""
        if outcome in ("missing", "refused"):
            self._flags.add("requests_blocked")
        if outcome == "missing" and kind in ("style", "script"):
            self._flags.add(INCOMPLETE)
        elif kind == "font" and (outcome == "missing" or (note and _names_fonts(url))):
            self._flags.add(FONTS_MISSING)  # the note of a font style sheet lists missing families
        request = (outcome, kind, url[:MAX_ADDRESS])
        if request in self._requests:
            return
        if sum(one[0] == outcome for one in self._requests) >= MAX_ADDRESSES:
            self._left_out[outcome] += 1
        else:
            self._requests[request] = note[:MAX_ADDRESS]

    def note_mismatch(self) -> None:
        """Flag a file that does not match the integrity hash in the page."""
        self._flags.add(INTEGRITY)

    def add_error(self, text: str, *, uncaught: bool) -> None:
        """Log an error that a script raised or printed."""
        if uncaught:
            self._flags.add(SCRIPT_ERRORS)
        text = text.strip()[:MAX_ERROR]
        if len(self.errors) < MAX_ERRORS and text not in self.errors:
            self.errors.append(text)

    @property
    def is_muted(self) -> bool:
        """Return whether the browser withheld the message of a cross-origin script error."""
        return MUTED in self.errors

    def unmute(self, texts: Iterable[str]) -> None:
        """Replace the muted error by the messages that the browser recorded."""
        self.errors = [one for one in self.errors if one != MUTED]
        for text in texts:
            self.add_error(text, uncaught=True)

    def flags(self) -> set[str]:
        """Return the flags for missing, refused and broken files."""
        return set(self._flags)

    def as_json(self) -> dict[str, Any]:
        """Return kind, URL and optional note of each request by outcome; empty without requests.

        `left_out` counts requests beyond the limit. The lists are sorted because concurrent
        requests arrive in any order.
        """
        listed: dict[str, Any] = {}
        for (outcome, kind, url), note in sorted(self._requests.items()):
            listed.setdefault(outcome, []).append([kind, url, note] if note else [kind, url])
        if self._left_out:
            listed["left_out"] = dict(self._left_out)
        if self.errors:
            listed["errors"] = list(self.errors)
        return listed


def web_details(**sides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `web` entry of a record's details: the logs of its pages, by side."""
    logs = {side: log for side, log in sides.items() if log}
    return {"web": logs} if logs else {}


def without_wrong_hashes(page: bytes, web: FrozenWeb) -> tuple[bytes, bool]:
    """Remove integrity hashes that fail only because another version of the file is served.

    A hash that does not match the requested version itself stays, since every browser would refuse
    that file. The second value tells whether there is such a hash.
    """
    mismatch = False

    def checked(found: re.Match[bytes]) -> bytes:
        nonlocal mismatch
        tag = found[0]
        hashes, address = _INTEGRITY.search(tag), _ADDRESS.search(tag)
        if hashes is None or address is None:
            return tag
        answer = web.answer(_absolute(_unquoted(address[1])))
        if answer is None or _matches(answer.body, _unquoted(hashes[1])):
            return tag
        if answer.note:
            return tag.replace(hashes[0], b"")
        mismatch = True
        return tag

    return _HASHED_TAG.sub(checked, page), mismatch


def still_svg(content: bytes) -> bytes:
    """Return an SVG picture without its animations."""
    return _MOVEMENT.sub(b"x-", content)


def kind_of(resource_type: str, url: str) -> Kind:
    """Return the kind of a request from its DevTools resource type.

    The style sheet of a font service counts as a font: without it, only fonts are missing.
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
    """Return a foreign URL as the page requests it; plain HTTP is upgraded."""
    if address.startswith("//"):
        return f"https:{address}"
    return re.sub(r"^http:", "https:", address, flags=re.IGNORECASE)


def _matches(body: bytes, hashes: str) -> bool:
    """Return whether content has one of the strongest hashes of an `integrity` attribute."""
    given = [one.partition("?")[0].partition("-") for one in hashes.split()]
    for strength in _STRENGTHS:
        wanted = [value for name, _, value in given if name.lower() == strength]
        if wanted:
            return b64encode(hashlib.new(strength, body).digest()).decode() in wanted
    return True  # browsers ignore unknown algorithms
