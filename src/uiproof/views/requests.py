"""The foreign addresses that pages asked for, as the details of records have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from uiproof.benchmark import Record
from uiproof.views.base import shortened

_LONGEST = 120  # characters of an address
_OUTCOMES = {
    "missing": "No copy here",
    "refused": "Refused",
    "placeholder": "Placeholders",
    "archive": "From the archive",
    "frozen": "From frozen copies",
}


def missing_addresses(records: Iterable[Record]) -> list[tuple[str, str, int]]:
    """Return kind, address and number of cases, most frequent first.

    Queries say nothing about which file it is, so they are cut off; that of a font service does.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        asked = {
            (kind, address if kind == "font" else address.partition("?")[0])
            for log in _sides(record).values()
            for kind, address, _ in _listed(log, "missing")
        }
        counts.update(asked)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [(kind, shortened(address, _LONGEST), count) for (kind, address), count in ranked]


def requests_of(record: Record) -> list[dict[str, Any]]:
    """Return what reports show of a case: by side, what was asked with its outcome, and errors."""
    shown = []
    for side, log in _sides(record).items():
        groups = [
            {"outcome": title, "files": _listed(log, outcome)}
            for outcome, title in _OUTCOMES.items()
            if _listed(log, outcome)
        ]
        errors = [str(one) for one in log.get("errors") or ()]
        shown.append({"side": side, "groups": groups, "errors": errors})
    return shown


def _sides(record: Record) -> Mapping[str, Mapping[str, Any]]:
    found = record.details.get("web")
    return found if isinstance(found, Mapping) else {}


def _listed(log: Mapping[str, Any], outcome: str) -> list[tuple[str, str, str]]:
    """Return kind, address and note of the requests with an outcome."""
    return [
        (str(one[0]), str(one[1]), str(one[2]) if len(one) > 2 else "")
        for one in log.get(outcome) or ()
    ]
