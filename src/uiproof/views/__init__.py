"""Building blocks of case views: what the hooks of a benchmark get and return, cards, pictures.

`Benchmark.case_view` returns a `CaseView`, `Benchmark.analyses` returns `Analyses`. Report and
studio show both and know nothing else about a benchmark.
"""

from __future__ import annotations

from uiproof.views.base import (
    Analyses,
    CaseView,
    Leaderboard,
    MetricMean,
    RunRow,
    asset,
    safe_json,
    shortened,
)
from uiproof.views.cards import CardView, Filter, Group, ShownCase, useful
from uiproof.views.pages import Pages
from uiproof.views.pictures import Crop, Embedded, Limits, Linked, Pictures, image

__all__ = [
    "Analyses",
    "CardView",
    "CaseView",
    "Crop",
    "Embedded",
    "Filter",
    "Group",
    "Leaderboard",
    "Limits",
    "Linked",
    "MetricMean",
    "Pages",
    "Pictures",
    "RunRow",
    "ShownCase",
    "asset",
    "image",
    "safe_json",
    "shortened",
    "useful",
]
