"""The body of a request as items. The work grows with the items that are taken, not with the body.

A few megabytes of JSON can hold millions of objects, which take minutes and gigabytes to make and
to check. So their number is counted in the bytes first, and items are checked one by one until a
few are wrong.
"""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic import TypeAdapter, ValidationError

from uiproof.json_size import has_more_values
from uiproof.serve.desk import RefusedError
from uiproof.serve.schema import Item

_VALUES_PER_ITEM = 200  # an item with all of its fields, tags and boxes has fewer
_SHOWN_PROBLEMS = 5
_LONGEST_PLACE = 100
_ITEM = TypeAdapter(Item)


def read_items(body: bytes, most_items: int) -> tuple[list[Item], bool]:
    """Return the items of a request, and whether it was a batch.

    Raises `RefusedError` that names what is wrong: at most one problem for each item.
    """
    if has_more_values(body, _VALUES_PER_ITEM * (most_items + 1)):
        raise _too_many(f"The request has more values than {most_items} items can have.")
    document = _parsed(body)
    if not isinstance(document, dict):
        raise _wrong("body: it must be an object")
    if "items" not in document:
        item, problem = _checked(document, "")
        if item is None:
            raise _wrong(problem)
        return [item], False
    items = document["items"]
    if others := [name for name in document if name != "items"]:
        raise _wrong(f"{others[0][:_LONGEST_PLACE]}: a batch has nothing but `items`")
    if not isinstance(items, list) or not items:
        raise _wrong("items: it must be a list with at least one item")
    if len(items) > most_items:
        raise _too_many(f"The batch has {len(items)} items; the queue takes {most_items}.")
    found, problems = [], []
    for number, one in enumerate(items):
        item, problem = _checked(one, f"items.{number}")
        if item is not None:
            found.append(item)
            continue
        problems.append(problem)
        if len(problems) == _SHOWN_PROBLEMS:
            break
    if problems:
        raise _wrong("; ".join(problems))
    return found, True


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise _wrong(f"body: it is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _wrong(f"body: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _wrong("body: it is nested too deeply") from None
    except ValueError as error:  # a number that is none, or has thousands of digits
        raise _wrong(f"body: {error}") from None


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:30]} is too large")
    return value


def _checked(item: Any, place: str) -> tuple[Item | None, str]:
    if _has_too_many_values(item):
        return None, f"{place or 'body'}: it has more than {_VALUES_PER_ITEM} values"
    try:
        return _ITEM.validate_python(item), ""
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        # Of the ways in which a field can be written, the one that came furthest is meant.
        worst = max(found, key=lambda one: len(one["loc"]))
        where = ".".join([*([place] if place else []), *map(str, worst["loc"])]) or "body"
        return None, f"{where[:_LONGEST_PLACE]}: {worst['msg']}"


def _has_too_many_values(item: Any) -> bool:
    count, left = 0, [item]
    while left and count <= _VALUES_PER_ITEM:
        value = left.pop()
        if isinstance(value, dict | list):
            count += len(value)
            if count <= _VALUES_PER_ITEM:
                left += value.values() if isinstance(value, dict) else value
    return count > _VALUES_PER_ITEM


def _wrong(message: str) -> RefusedError:
    return RefusedError(422, "request", message, "/docs shows what a request looks like.")


def _too_many(message: str) -> RefusedError:
    remedy = "Send smaller batches, or start the service with a longer --queue."
    return RefusedError(422, "request", message, remedy)
