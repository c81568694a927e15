"""Generated pages are hostile: how they are shown without reaching anything.

A page is served from `/frame/KEY/` without cookies. The key is a capability: it opens one page of
one run and the files beside it, says nothing about either, and cannot be made up. The answer's
policy puts the page into an origin of its own and lets it load only what lies under its own key.
What no policy reaches is taken out of the HTML (`disarmed`) or switched off by a script that runs
before all others (`static/guard.js`). docs/studio.md says what remains.
"""

from __future__ import annotations

import hmac
import mimetypes
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote

from uiproof.browser.source import PageSource, is_page_asset
from uiproof.studio.security import Gate

Part = Literal["item", "page", "reference", "generated"]

MOST_PAGE_BYTES = 20 * 1024 * 1024
MOST_FILE_BYTES = 32 * 1024 * 1024
INDEX = "index.html"
_SEALED = 40  # characters; all keys are equally long, so that they say nothing

# Links that make a browser look up names or connect, which no policy stops, and pages that go away
# by themselves. Their attributes are renamed, so that nothing else about the page changes.
_LINK = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_HINT = re.compile(r"\b(?:dns-prefetch|preconnect|prefetch|prerender)\b", re.IGNORECASE)
_REL = re.compile(r"\brel(?=\s*=)", re.IGNORECASE)
_REFRESH = re.compile(
    r"(<meta\b[^>]*?)\bhttp-equiv(?=\s*=\s*[\"']?\s*refresh\b)", re.IGNORECASE | re.DOTALL
)
# Roots that scripts cannot look into could hide frames from the guard.
_SHADOW = re.compile(r"\bshadowrootmode(?=\s*=)", re.IGNORECASE)
_BEFORE_ALL = re.compile(r"\s*(?:<!--.*?-->\s*)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a key opens: a part of an item, for one person."""

    part: Part
    item: int
    annotator: int
    of_baseline: bool = False  # of an item: whether the baseline was on the left
    number: int = 0  # of a picture


def seal(gate: Gate, seen: Seen) -> str:
    """A key for this; always the same one while the studio runs."""
    fields = (seen.part, seen.item, seen.annotator, int(seen.of_baseline), seen.number)
    text = " ".join(map(str, fields)).ljust(_SEALED)
    mark = gate.sign(f"mark {text}")
    return mark + _mixed(gate, mark, text.encode()).hex()


def unseal(gate: Gate, key: str) -> Seen | None:
    """What a key opens; None for keys that this studio did not make."""
    mark, sealed = key[:40], key[40:]
    try:
        text = _mixed(gate, mark, bytes.fromhex(sealed)).decode()
    except ValueError:
        return None
    if not hmac.compare_digest(gate.sign(f"mark {text}").encode(), mark.encode()):
        return None
    part, item, annotator, of_baseline, number = text.split()
    # Only `seal` can have written this, so the part is one of ours.
    return Seen(cast(Part, part), int(item), int(annotator), of_baseline == "1", int(number))


def _mixed(gate: Gate, mark: str, content: bytes) -> bytes:
    """Content that cannot be read without the studio's secret; twice gives the content again."""
    pad = bytes.fromhex(gate.sign(f"pad {mark}") + gate.sign(f"more {mark}"))
    if len(content) != len(pad):
        raise ValueError("wrong length")
    return bytes(one ^ other for one, other in zip(content, pad, strict=True))


def page_policy(own: str) -> str:
    """What a generated page may do; `own` is the address that everything it loads begins with.

    It may take forms, since pages answer to `submit`, but not send them.
    """
    return "; ".join(
        (
            "sandbox allow-scripts allow-forms",
            "default-src 'none'",
            f"script-src 'unsafe-inline' 'unsafe-eval' data: blob: {own}",
            f"style-src 'unsafe-inline' data: blob: {own}",
            f"img-src data: blob: {own}",
            f"font-src data: {own}",
            f"media-src data: blob: {own}",
            "connect-src 'none'",
            "form-action 'none'",
            "frame-src 'none'",
            "child-src 'none'",
            "worker-src 'none'",
            "object-src 'none'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        )
    )


# For all that is no HTML: whoever opens it as a document gets one without scripts.
FILE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


def headers(policy: str) -> dict[str, str]:
    """What goes with every answer below `/frame/`.

    The page has no origin, so even its own files come from another one, as far as it can tell.
    """
    return {
        "Content-Security-Policy": policy,
        # Where browsers know this, it also stops calls (WebRTC) and looking up names.
        "Connection-Allowlist": "(response-origin)",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Access-Control-Allow-Origin": "*",
        "Referrer-Policy": "no-referrer",
        "X-DNS-Prefetch-Control": "off",
    }


def document(path: Path) -> str:
    """A generated page as it is served, or a page that says why it is not."""
    size = path.stat().st_size
    if size > MOST_PAGE_BYTES:
        return notice(
            f"This page has {size / 2**20:.0f} MB. At most {MOST_PAGE_BYTES // 2**20} are shown."
        )
    return disarmed(PageSource.from_file(path).text)


def notice(text: str) -> str:
    """A small page in place of one that cannot be shown; the text must be our own."""
    return (
        '<!doctype html><meta charset="utf-8"><title>Not shown</title>'
        '<body style="font:20px/1.5 system-ui,sans-serif;color:#565b63;padding:48px">'
        f"<p>{text}</p>"
    )


def disarmed(html: str) -> str:
    """The page with our script before all of its own and without what no policy stops."""
    html = html.removeprefix("\ufeff")
    html = _LINK.sub(lambda link: _without_hint(link[0]), html)
    html = _REFRESH.sub(r"\1data-refresh", html)
    html = _SHADOW.sub("data-shadow", html)
    begin = _BEFORE_ALL.match(html)
    place = begin.end() if begin else 0  # a script before the doctype would change the layout
    return f"{html[:place]}<script>{_guard()}</script>{html[place:]}"


def _without_hint(link: str) -> str:
    return _REL.sub("data-rel", link) if _HINT.search(link) else link


@cache
def _guard() -> str:
    return files("uiproof.studio").joinpath("static/guard.js").read_text("utf-8")


def file_beside(page: Path, name: str) -> tuple[Path, str] | None:
    """A file in the folder of a page that the page may load, and its type.

    None for what lies elsewhere, is reached through a link, is too large, or is not an asset of a
    page by the rule that holds for all pages (what a model wrote besides its page is in that folder
    too).
    """
    relative = Path(unquote(name))
    if relative.is_absolute() or ".." in relative.parts or not is_page_asset(str(relative)):
        return None
    kind = mimetypes.guess_type(relative.name)[0] or "application/octet-stream"
    path = page.parent / relative
    try:
        if path.resolve(strict=True) != path or not path.is_file():
            return None
        if path.stat().st_size > MOST_FILE_BYTES:
            return None
    except (OSError, ValueError):
        return None
    return path, kind
