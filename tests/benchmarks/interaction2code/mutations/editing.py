"""Small edits of a page's source that the mutations are made of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TRICKS = (Path(__file__).parent / "tricks.js").read_text(encoding="utf-8")


def with_style(html: str, css: str) -> str:
    """The page with more CSS, after its own."""
    return html.replace("</head>", f"<style>{css}</style></head>", 1)


def with_script(html: str, js: str, *, tricks: bool = True) -> str:
    """The page with a script that runs when everything else has run."""
    code = f"{TRICKS}\nwindow.addEventListener('load', () => {{ {js} }});"
    body = code if tricks else js
    return _before_end(html, f"<script>{body}</script>")


def with_first_script(html: str, js: str) -> str:
    """The page with a script that runs before everything else."""
    return re.sub(
        r"<head[^>]*>", lambda found: f"{found[0]}<script>{TRICKS}\n{js}</script>", html, count=1
    )


def with_markup(html: str, markup: str, *, first: bool = False) -> str:
    """The page with something at the end, or the beginning, of its body."""
    if first:
        return re.sub(r"<body[^>]*>", lambda found: found[0] + markup, html, count=1)
    return _before_end(html, markup)


def _before_end(html: str, markup: str) -> str:
    head, found, tail = html.rpartition("</body>")
    return f"{head}{markup}{found}{tail}" if found else html + markup


def without_css_states(html: str) -> str:
    """The page with CSS that reacts to nothing."""
    return re.sub(r":(hover|checked)\b", ":target", html)


def without_scripts(html: str) -> str:
    """The page without any script of its own."""
    html = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    return re.sub(r"""\son\w+=("[^"]*"|'[^']*')""", "", html)


def parsed(html: str) -> Any:
    """The page as a tree, to be edited and given to `written`."""
    import lxml.html

    return lxml.html.document_fromstring(html)


def written(tree: Any) -> str:
    """A tree as HTML."""
    import lxml.html

    text: str = lxml.html.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")
    return text


def remove(element: Any) -> None:
    """Take an element out of its tree; the text behind it stays."""
    element.drop_tree()


def quoted(text: str) -> str:
    """A Python string as a JavaScript one that is safe inside a script."""
    import json

    return json.dumps(text).replace("</", "<\\/")
