"""HTML and SVG from Python; text is always escaped."""

from __future__ import annotations

import html

_VOID = frozenset({"input", "br", "img", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; text other than `Markup` is escaped, attributes that are None are dropped.

        tag("p", "a < b", class_="note", data_run=1)    # <p class="note" data-run="1">a &lt; b</p>

    Attribute names are ours, never from data: underscores become hyphens, a last one is dropped.
    """
    opened = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{opened}>")
    return Markup(f"<{opened}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Concatenate elements and texts."""
    return Markup(
        "".join(child if isinstance(child, Markup) else _escaped(child) for child in children)
    )


def _text(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    # Half a character (a lone surrogate) is possible in JSON, but not in a file.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)
