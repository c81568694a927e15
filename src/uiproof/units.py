"""Sizes and ages as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from uiproof.errors import UsageError

_SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZES |= {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_AGES = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def parse_size(text: str) -> int:
    """Return the bytes of `2GB`, `500 MB`, `1.5 GiB` or a plain number."""
    return int(_quantity(text, _SIZES, "a size", "2GB or 500MB"))


def parse_age(text: str) -> float:
    """Return the seconds of `30d`, `12h`, `90 min`, `2w` or `45s`."""
    return _quantity(text, _AGES, "an age", "30d or 12h")


def size_text(size: int) -> str:
    """Return bytes for people: `1.2 GB`."""
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"


def _quantity(text: str, units: Mapping[str, int], what: str, examples: str) -> float:
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)", text.strip())
    if found is None or found[2].lower() not in units:
        raise UsageError(f"{text!r} is not {what}.", remedy=f"Write it like {examples}.")
    return float(found[1]) * units[found[2].lower()]
