"""The default case view: a list of pages with both screenshots, and a viewer to compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmark import Record, look_up
from uiproof.engine.rundir import RunDirectory
from uiproof.geometry import PixelBox
from uiproof.views.base import Leaderboard, asset, safe_json, shortened
from uiproof.views.details import longest_source, read_differences, requests_of, source_texts
from uiproof.views.pictures import Crop, Limits, Pictures

_LONGEST_TEXT = 160  # of a block; the whole text of a page is not the point of a report
_SIDES = ("reference", "generated")
_WHOLE = Limits(pixels=6_000_000, bytes=300_000, width=900)
_THUMBNAIL = Limits(pixels=90_000, bytes=8_000)  # the top of a page, as wide as high


class Pages:
    """Show `reference` and `generated` of each case; the default for benchmarks without a view."""

    styles: ClassVar[tuple[str, ...]] = ("viewer.css", "differences.css", "pages.css")
    scripts: ClassVar[tuple[str, ...]] = (
        *("compare.js", "differences.js", "dialog.js", "pages.js", "viewer.js"),
    )

    def __init__(
        self, board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures
    ) -> None:
        self._pictures = pictures
        self._details: list[str] = []
        self._longest = longest_source(sum(row.n for row in board.rows))
        self._cases = [
            self._case(number, run, record, board)
            for number, run in enumerate(runs)
            for record in run.records()
        ]

    def index(self) -> Mapping[str, Any]:
        """Return what the list of cases shows."""
        return {"results": len(self._cases), "cases": self._cases}

    def places(self) -> Mapping[tuple[int, str], int]:
        """Return the position of each case in the list, by run and id."""
        return {(one["run"], one["id"]): place for place, one in enumerate(self._cases)}

    def body(self) -> Iterator[str]:
        """Yield sections and viewer, then the data of the cases."""
        yield asset("pages.html")
        yield asset("viewer.html")
        for number, detail in enumerate(self._details):
            yield f'<script type="application/json" id="case-{number}">{detail}</script>\n'

    def _case(
        self, number: int, run: RunDirectory, record: Record, board: Leaderboard
    ) -> dict[str, Any]:
        """Return what the list shows; the rest is stored apart and parsed when a case is opened."""
        shown = self._images(run, record)
        # Of pages that were compared on several screens, those of the others have a suffix.
        first, *others = record.scores.get("viewports") or [""]
        more = [(name, self._images(run, record, f"-{name}")) for name in others]
        detail = _detail(record) | {
            "texts": source_texts(run, record, {"html": "HTML"}, self._longest),
            "differences": _differences(run, record),
        }
        self._details.append(safe_json(detail))
        return {
            "run": number,
            "id": record.id,
            "status": record.status,
            "scores": [look_up(record.scores, metric.key) for metric in board.metrics],
            "flags": list(record.flags),
            "error": record.error.code if record.error else None,
            "images": shown,
            "screens": [(first, shown), *more] if more else [],
        }

    def _images(
        self, run: RunDirectory, record: Record, suffix: str = ""
    ) -> dict[str, list[int | None]]:
        """Return the numbers of the pictures of each side, where there are some."""
        return {
            side: numbers
            for side in _SIDES
            if (place := record.artifacts.get(f"{side}{suffix}"))
            and (numbers := self._numbers(run.artifact(place)))
        }

    def _numbers(self, path: Path) -> list[int | None] | None:
        """Return the numbers of the picture and of its top for the list; None if unreadable."""
        size = self._pictures.size(path)
        if size is None:
            return None
        width, height = size
        whole = Crop(path, PixelBox(0, 0, width, height), _WHOLE)
        top = Crop(path, PixelBox(0, 0, width, min(width, height)), _THUMBNAIL)
        return [self._pictures.add(whole), self._pictures.add(top)]


def _differences(run: RunDirectory, record: Record) -> list[dict[str, Any]] | None:
    """Return what is different about a page; None where the judge has no list of it."""
    if "differences" not in record.artifacts:
        return None
    return read_differences(run.artifact(record.artifacts["differences"]))


def _detail(record: Record) -> dict[str, Any]:
    return {
        "scores": record.scores,
        "error": asdict(record.error) if record.error else None,
        "profile": record.details.get("profile"),
        "widths": {side: _width(record.details.get(side)) for side in _SIDES},
        "blocks": {side: _blocks(record.details.get(side)) for side in _SIDES},
        "matches": [
            [*match[:2], *(round(float(value), 4) for value in match[2:])]
            for match in record.details.get("matches") or ()
        ],
        "requests": requests_of(record),
        "seconds": {stage: round(taken, 3) for stage, taken in record.seconds.items()},
        "attempts": record.attempts,
    }


def _width(page: Any) -> float | None:
    """Return how wide a page is, in CSS pixels, which boxes of differences are in."""
    width = page.get("width") if isinstance(page, Mapping) else None
    return float(width) if isinstance(width, (int, float)) else None


def _blocks(page: Any) -> list[dict[str, Any]]:
    if not isinstance(page, Mapping):
        return []
    return [
        {
            "text": shortened(str(block["text"]), _LONGEST_TEXT),
            "box": [round(float(value), 4) for value in block["box"]],
            "color": [round(float(value)) for value in block["color"]],
        }
        for block in page.get("blocks", ())
    ]
