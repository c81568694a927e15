"""Differences of a case as pages show them, in one form for all benchmarks.

A judge lists them, worst first, in `Record.details` or in an artifact `differences`. Each has
`kind`, `says`, `box` and `reference_box` (x, y, width and height in CSS pixels), `was`, `is`,
`selector`, `impact` (0-1) and `members`, further boxes; all but `says` may be absent.
`differences.js` draws them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.views.base import shortened

_MOST = 60  # of a case
_MOST_MEMBERS = 30  # boxes of one difference
_LONGEST = 300  # characters


def read_differences(path: Path) -> list[dict[str, Any]] | None:
    """Return the differences of a file; None if it cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return shown_differences(found)


def shown_differences(found: Any) -> list[dict[str, Any]] | None:
    """Return differences as scripts take them; None for anything else than a list."""
    if not isinstance(found, list):
        return None
    return [_shown(one) for one in found[:_MOST] if isinstance(one, Mapping)]


def _shown(one: Mapping[str, Any]) -> dict[str, Any]:
    kind, impact, members = one.get("kind"), one.get("impact"), one.get("members")
    boxes = [_box(box) for box in members[:_MOST_MEMBERS]] if isinstance(members, list) else []
    return {
        "kind": kind if isinstance(kind, str) and kind.isalpha() else "other",
        "says": _text(one.get("says")) or "",
        "box": _box(one.get("box")),
        "reference_box": _box(one.get("reference_box")),
        **{name: _text(one.get(name)) for name in ("was", "is", "selector")},
        "impact": round(impact, 4) if impact is not None and _is_number(impact) else None,
        "members": [box for box in boxes if box is not None],
    }


def _text(value: Any) -> str | None:
    return shortened(value, _LONGEST) if isinstance(value, str) else None


def _box(value: Any) -> list[float] | None:
    if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
        return None
    return [round(float(side), 1) for side in value]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
