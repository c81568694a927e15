"""The page at `/docs`: the OpenAPI document for people, without scripts and without other hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from uiproof.markup import Markup, joined, tag

# Nothing may be loaded; machines of a cluster often have no internet.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
html { background: Canvas; color: CanvasText; }
body { max-width: 960px; margin: 32px auto; padding: 0 16px; }
h2 { margin: 40px 0 4px; } h3 { margin: 20px 0 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 5px 12px 5px 0; }
td { overflow-wrap: anywhere; }
th, td { border-top: 1px solid #8886; }
pre { background: #8882; padding: 10px 12px; white-space: pre-wrap; overflow-wrap: anywhere; }
"""

Schema = Mapping[str, Any]


def description_page(document: Schema) -> str:
    """Return an OpenAPI document as one HTML page."""
    about = document["info"]
    title = f"{about['title']} {about['version']}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width"),
        tag("title", title),
        tag("style", Markup(_STYLE)),
    )
    main = tag(
        "main",
        tag("h1", title),
        *_paragraphs(about.get("description", "")),
        tag("p", "For programs: ", tag("a", "/openapi.json", href="/openapi.json"), "."),
        *(
            _operation(f"{method.upper()} {path}", operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ),
        tag("h2", "What requests and answers hold"),
        *(_object(name, one) for name, one in document["components"]["schemas"].items()),
    )
    return f"<!doctype html>{tag('html', head, tag('body', main), lang='en')}"


def _operation(name: str, operation: Schema) -> Markup:
    request = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    parts = [tag("h2", tag("code", name)), tag("p", operation["summary"] + ".")]
    parts += _paragraphs(operation.get("description", ""))
    if request:
        parts.append(tag("p", "Takes ", _kind(request["schema"]), "."))
    for example in request.get("examples", {}).values():
        text = json.dumps(example["value"], indent=2, ensure_ascii=False)
        parts += [tag("h3", example["summary"]), tag("pre", text)]
    rows = [
        (tag("code", status), _text(answer["description"]), *map(_kind, _schemas(answer)))
        for status, answer in operation["responses"].items()
    ]
    return joined(*parts, _table(("Status", "Means", "Answer"), rows))


def _object(name: str, schema: Schema) -> Markup:
    needed = schema.get("required", ())
    rows = [
        (
            tag("code", field),
            joined(_kind(one), ", needed" if field in needed else ""),
            _text(one.get("description", "")),
        )
        for field, one in schema["properties"].items()
    ]
    head = tag("h3", name, id=name)
    return joined(
        head, *_paragraphs(schema["description"]), _table(("Field", "Type", "Means"), rows)
    )


def _schemas(answer: Schema) -> Iterator[Schema]:
    return (content["schema"] for content in answer.get("content", {}).values())


def _kind(schema: Schema) -> Markup:
    """Return in words what a value may be."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return tag("a", name, href=f"#{name}")
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        kinds = [_kind(one) for one in choices]
        return joined(kinds[0], *(part for kind in kinds[1:] for part in (" or ", kind)))
    if "enum" in schema:
        return joined(", ".join(map(str, schema["enum"])))
    if "const" in schema:
        return joined(str(schema["const"]))
    if schema.get("type") == "array" and "items" in schema:
        return joined("list of ", _kind(schema["items"]))
    return joined(str(schema.get("type", "anything")))


def _paragraphs(text: str) -> list[Markup]:
    return [tag("p", _text(one)) for one in text.split("\n\n") if one.strip()]


def _text(text: str) -> Markup:
    """Return text with code between backticks."""
    parts = re.split("`([^`]*)`", text)
    return joined(*(tag("code", part) if i % 2 else part for i, part in enumerate(parts)))


def _table(header: Sequence[str], rows: Sequence[Sequence[Markup]]) -> Markup:
    lines = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("table", tag("tr", *(tag("th", label) for label in header)), *lines)
