"""Small drawings in the tables of results. They repeat what is written beside them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from uiproof.report.markup import joined, tag

_WIDTH, _HEIGHT = 100.0, 10.0
_HEAT_STEPS = 8


def rate_bar(rate: float, low: float | None, high: float | None) -> Markup:
    """A share of 1 as a bar, with its interval as a line across the end."""
    parts = [
        tag("rect", x=0, y=1, width=_WIDTH, height=8, class_="bar-track"),
        tag("rect", x=0, y=1, width=_WIDTH * rate, height=8, class_="bar-value"),
    ]
    return _drawing([*parts, *_interval(low, high, 0.0, 1.0)])


def outcome_bar(shares: Sequence[float]) -> Markup:
    """Wins, ties and losses as one bar."""
    parts, x = [], 0.0
    for name, share in zip(("win", "tie", "lose"), shares, strict=True):
        width = _WIDTH * share
        parts.append(tag("rect", x=x, y=0, width=width, height=_HEIGHT, class_=f"bar-{name}"))
        x += width
    return _drawing(parts)


def coefficient_bar(
    value: float | None, low: float | None, high: float | None, least: float = -0.25
) -> Markup:
    """A kappa or a correlation on a line from `least` to 1, with a mark at 0."""

    def place(number: float) -> float:
        return _WIDTH * (min(max(number, least), 1.0) - least) / (1.0 - least)

    parts = [
        tag("rect", x=0, y=4, width=_WIDTH, height=2, class_="bar-track"),
        tag("rect", x=place(0.0) - 0.3, y=0, width=0.6, height=_HEIGHT, class_="bar-zero"),
        *_interval(low, high, least, 1.0),
    ]
    if value is not None:
        x = min(max(place(value) - 0.8, 0.0), _WIDTH - 1.6)
        parts.append(tag("rect", x=x, y=0, width=1.6, height=_HEIGHT, class_="bar-dot"))
    return _drawing(parts)


def heat(share: str) -> str:
    """The class of a cell with a percentage: the larger, the stronger its colour."""
    try:
        number = float(share)
    except ValueError:
        return ""
    return f"heat-{min(round(number / 100 * 2 * _HEAT_STEPS), _HEAT_STEPS)}"


def _interval(low: float | None, high: float | None, least: float, most: float) -> list[str]:
    if low is None or high is None:
        return []

    def place(number: float) -> float:
        return _WIDTH * (min(max(number, least), most) - least) / (most - least)

    width = max(place(high) - place(low), 0.5)
    ends = [
        tag("rect", x=max(place(end) - 0.25, 0.0), y=2, width=0.5, height=6, class_="bar-range")
        for end in (low, high)
    ]
    return [
        tag("rect", x=place(low), y=4.4, width=width, height=1.2, class_="bar-range"),
        *ends,
    ]


def _drawing(parts: Sequence[str]) -> Markup:
    drawn = tag(
        "svg",
        joined(*parts),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        preserveAspectRatio="none",
        class_="result-bar",
        aria_hidden="true",
    )
    return Markup(drawn)  # nothing in it is from elsewhere
