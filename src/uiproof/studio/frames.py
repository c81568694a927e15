"""Generated pages in a sandbox: they are hostile and must not reach anything.

A page is served from `/frame/KEY/` without cookies. The key is a capability: it opens one page of
one run and the files beside it, reveals neither, and cannot be forged. The content security policy
gives the page an opaque origin and lets it load only what lies under its own key. What no policy
stops is removed from the HTML (`disarmed`) or disabled by a script that runs before all others
(`static/guard.js`). docs/studio.md lists the remaining risks.
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
from uiproof.studio.security import AccessControl

Part = Literal["item", "page", "reference", "generated"]

MOST_PAGE_BYTES = 20 * 1024 * 1024
MOST_FILE_BYTES = 32 * 1024 * 1024
INDEX = "index.html"
_SEALED = 40  # characters; keys of equal length reveal nothing

# Links that make a browser resolve names or connect, which no policy stops, and pages that refresh
# themselves. Their attributes are renamed, so that nothing else about the page changes.
_LINK = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_HINT = re.compile(r"\b(?:dns-prefetch|preconnect|prefetch|prerender)\b", re.IGNORECASE)
_REL = re.compile(r"\brel(?=\s*=)", re.IGNORECASE)
_REFRESH = re.compile(
    r"(<meta\b[^>]*?)\bhttp-equiv(?=\s*=\s*[\"']?\s*refresh\b)", re.IGNORECASE | re.DOTALL
)
# Shadow roots that are closed to scripts could hide frames from the guard.
_SHADOW = re.compile(r"\bshadowrootmode(?=\s*=)", re.IGNORECASE)
_BEFORE_ALL = re.compile(r"\s*(?:<!--.*?-->\s*)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class FrameKey:
    """The part of an item that a key opens, for one person."""

    part: Part
    item: int
    annotator: int
    of_baseline: bool = False  # of an item: whether the baseline was on the left
    number: int = 0  # of a picture


def seal(access: AccessControl, key: FrameKey) -> str:
    """Return the sealed key; it stays the same while the studio runs."""
    fields = (key.part, key.item, key.annotator, int(key.of_baseline), key.number)
    text = " ".join(map(str, fields)).ljust(_SEALED)
    mark = access.sign(f"mark {text}")
    return mark + _padded(access, mark, text.encode()).hex()


def unseal(access: AccessControl, key: str) -> FrameKey | None:
    """Return what a key opens; None for keys that this studio did not make."""
    mark, sealed = key[:40], key[40:]
    try:
        text = _padded(access, mark, bytes.fromhex(sealed)).decode()
    except ValueError:
        return None
    if not hmac.compare_digest(access.sign(f"mark {text}").encode(), mark.encode()):
        return None
    part, item, annotator, of_baseline, number = text.split()
    # Only `seal` can have written this, so the part is one of ours.
    return FrameKey(cast(Part, part), int(item), int(annotator), of_baseline == "1", int(number))


def _padded(access: AccessControl, mark: str, content: bytes) -> bytes:
    """Encrypt or decrypt with a pad from the studio's secret."""
    pad = bytes.fromhex(access.sign(f"pad {mark}") + access.sign(f"more {mark}"))
    if len(content) != len(pad):
        raise ValueError("wrong length")
    return bytes(one ^ other for one, other in zip(content, pad, strict=True))


def page_policy(own: str) -> str:
    """Return the policy of a generated page; `own` is the address that its files begin with.

    Forms are allowed, since pages handle `submit`, but cannot be sent.
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


# For files other than HTML: opened as a document they run no scripts.
FILE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


def headers(policy: str) -> dict[str, str]:
    """Return the headers of every response below `/frame/`.

    The page has an opaque origin, so even its own files are cross-origin.
    """
    return {
        "Content-Security-Policy": policy,
        # In browsers that support it this also stops WebRTC and name look-ups.
        "Connection-Allowlist": "(response-origin)",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Access-Control-Allow-Origin": "*",
        "Referrer-Policy": "no-referrer",
        "X-DNS-Prefetch-Control": "off",
    }


def document(path: Path) -> str:
    """Return a generated page as it is served, or a notice if it is too large."""
    size = path.stat().st_size
    if size > MOST_PAGE_BYTES:
        return notice(
            f"This page has {size / 2**20:.0f} MB; the limit is {MOST_PAGE_BYTES // 2**20} MB."
        )
    return disarmed(PageSource.from_file(path).text)


def notice(text: str) -> str:
    """Return a small page in place of one that cannot be shown; the text is not escaped."""
    return (
        '<!doctype html><meta charset="utf-8"><title>Not shown</title>'
        '<body style="font:20px/1.5 system-ui,sans-serif;color:#565b63;padding:48px">'
        f"<p>{text}</p>"
    )


def disarmed(html: str) -> str:
    """Return the page with the guard script first, and without what no policy stops."""
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
    """Return a file in the folder of a page that it may load, and its media type.

    None for files elsewhere, links, large files, and files that are not page assets: the folder
    also holds what a model wrote besides its page.
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
