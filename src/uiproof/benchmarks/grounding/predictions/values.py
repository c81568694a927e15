"""Single values of prediction files: numbers, places, verdicts and sizes in all their spellings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from uiproof.benchmarks.grounding.predictions.model import Numbers, Said, Size

Entry = Mapping[str, Any]

_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_BOX_KEYS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("x", "y", "w", "h"))
_PLACE_KEYS = ("point", "coordinate", "coordinates", "click", "center", "position", "bbox", "box")
_RIGHT = {"correct", "true", "right", "hit", "yes", "1", "1.0"}
_WRONG = {"wrong", "incorrect", "wrong_format", "false", "miss", "no", "0", "0.0"}
_NOTHING = {"", "none", "null", "nan", "wrong_format", "[]", "()", "{}"}
_RAW_LENGTH = 4000  # of an answer's text; some files repeat whole transcripts


def first(entry: Entry, *keys: str) -> Any:
    """The first of these keys that has a value."""
    for key in keys:
        value = entry.get(key)
        if value is not None and value != "":
            return value
    return None


def number(value: Any) -> float | None:
    """A finite number, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if _is_finite(result) else None


def _is_finite(value: float) -> bool:
    return abs(value) < 1e15  # false for what is not a number, and no screenshot is so large


def numbers(value: Any) -> Numbers | None:
    """All numbers of a list, also of one inside of another; None where something else is in it."""
    if not isinstance(value, list | tuple) or len(value) > 4:
        return None
    if all(type(part) is float or type(part) is int for part in value):  # nearly always
        plain = tuple(value)
        return plain if all(map(_is_finite, plain)) else None
    if all(isinstance(part, list | tuple) for part in value):
        inner = [numbers(part) for part in value]
        if len(inner) == 1:
            return inner[0]
        if len(inner) == 2 and all(part is not None and len(part) == 2 for part in inner):
            return tuple(one for part in inner if part for one in part)
        return None
    found = tuple(number(part) for part in value)
    return tuple(one for one in found if one is not None) if None not in found else None


def box(value: Any) -> Numbers | None:
    """Four numbers: a list, two corners, a mapping, or a text such as `<1, 2, 3, 4>`."""
    if isinstance(value, dict):
        for keys in _BOX_KEYS:
            if all(key in value for key in keys):
                corners = [value[key] for key in keys]
                if keys[-1] == "h" and (four := numbers(corners)) and len(four) == 4:
                    return (four[0], four[1], four[0] + four[2], four[1] + four[3])
                return box(corners)
        return None
    found = (
        tuple(map(float, _NUMBER.findall(value)))
        if isinstance(value, str) and len(value) < 200
        else numbers(value)
    )
    return found if found is not None and len(found) == 4 else None


def said(value: Any, *, stored: bool | None = None, raw: Any = None) -> Said:
    """What a method said: a list, a mapping, or a text with a place in it."""
    text = raw_text(raw)
    if isinstance(value, dict):
        value = [value["x"], value["y"]] if {"x", "y"} <= set(value) else first(value, *_PLACE_KEYS)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, str):
        if value.strip().lower() in _NOTHING:
            return Said(stored=stored, raw=text)
        from uiproof.benchmarks.grounding.parsing import parse

        parsed = parse(value[:_RAW_LENGTH])
        place = parsed.numbers or None
        return Said(place, parsed.kind == "refusal", stored, text or value[:_RAW_LENGTH])
    found = numbers(value)
    return Said(found if found is not None and len(found) in (2, 4) else None, False, stored, text)


def raw_text(value: Any) -> str:
    """An answer as it came, as text and not without end."""
    if value is None or isinstance(value, str):
        return (value or "")[:_RAW_LENGTH]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0][:_RAW_LENGTH]
    return json.dumps(value, ensure_ascii=False)[:_RAW_LENGTH]


def verdict(value: Any) -> bool | None:
    """Whether a file calls an answer correct; None where it does not say."""
    word = str(value).strip().lower()
    return True if word in _RIGHT else False if word in _WRONG else None


def size(entry: Entry) -> Size | None:
    """The size of the screenshot in pixels."""
    value = first(entry, "img_size", "image_size", "size", "resolution", "screen_size")
    if isinstance(value, dict):
        entry, value = value, None
    if value is None:
        value = [
            first(entry, "img_width", "image_width", "width", "w"),
            first(entry, "img_height", "image_height", "height", "h"),
        ]
    found = tuple(map(float, _NUMBER.findall(value))) if isinstance(value, str) else numbers(value)
    if found is None or len(found) != 2 or not all(1 <= side < 1e6 for side in found):
        return None
    return round(found[0]), round(found[1])


def text(entry: Entry, *keys: str) -> str:
    """The first of these keys that holds a text or a number, as text."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return ""
