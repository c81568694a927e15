"""Cases that are pages: a list with both screenshots, and a viewer that compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.report.images import data_uris, digest
from uiproof.report.leaderboard import Leaderboard, look_up
from uiproof.report.views import package_file, safe_json

_LEAST_FOR_IMAGES = 6_000_000
_LONGEST_TEXT = 160  # of a block; the whole text of a page is not the point of a report
_SIDES = ("reference", "generated")


class Pages:
    """The view for Design2Code, and for benchmarks that have none of their own."""

    styles: ClassVar[tuple[str, ...]] = ("pages.css",)
    scripts: ClassVar[tuple[str, ...]] = ("pages.js", "viewer.js")

    def __init__(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> None:
        self._images = _Images()
        self._details: list[str] = []
        self._cases = [
            self._case(number, run, record, board)
            for number, run in enumerate(runs)
            for record in run.records()
        ]

    def index(self) -> Mapping[str, Any]:
        """What the list of cases shows."""
        return {"results": len(self._cases), "cases": self._cases}

    def body(self, room: int) -> Iterator[str]:
        """Sections and viewer, then the data of the cases, then their pictures."""
        pieces = [package_file("pages.html")]
        pieces += [
            f'<script type="application/json" id="case-{number}">{detail}</script>\n'
            for number, detail in enumerate(self._details)
        ]
        yield from pieces
        paths = self._images.paths
        budget = max(room - sum(map(len, pieces)) - 100 * len(paths), _LEAST_FOR_IMAGES)
        for number, uri in data_uris(paths, budget):
            yield f'<script type="text/plain" id="image-{number}">{uri}</script>\n'

    def _case(
        self, number: int, run: RunDirectory, record: Record, board: Leaderboard
    ) -> dict[str, Any]:
        """What is known at once; the rest goes to the details and is parsed when it is opened."""
        shown = {
            side: self._images.add(run.artifact(record.artifacts[side]))
            for side in _SIDES
            if side in record.artifacts
        }
        self._details.append(safe_json(_detail(record)))
        return {
            "run": number,
            "id": record.id,
            "status": record.status,
            "scores": [look_up(record.scores, metric.key) for metric in board.metrics],
            "flags": list(record.flags),
            "error": record.error.code if record.error else None,
            "images": shown,
        }


class _Images:
    """Numbers screenshots; equal ones share a number, so a reference is stored once."""

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self._numbers: dict[str, str] = {}

    def add(self, path: Path) -> str | None:
        key = digest(path)
        if key is None:
            return None
        number = self._numbers.setdefault(key, str(len(self._numbers)))
        self.paths.setdefault(number, path)
        return number


def _detail(record: Record) -> dict[str, Any]:
    return {
        "scores": record.scores,
        "error": asdict(record.error) if record.error else None,
        "profile": record.details.get("profile"),
        "blocks": {side: _blocks(record.details.get(side)) for side in _SIDES},
        "matches": [
            [*match[:2], *(round(float(value), 4) for value in match[2:])]
            for match in record.details.get("matches") or ()
        ],
        "seconds": {stage: round(taken, 3) for stage, taken in record.seconds.items()},
        "attempts": record.attempts,
    }


def _blocks(page: Any) -> list[dict[str, Any]]:
    if not isinstance(page, Mapping):
        return []
    return [
        {
            "text": _shortened(str(block["text"])),
            "box": [round(float(value), 4) for value in block["box"]],
            "color": [round(float(value)) for value in block["color"]],
        }
        for block in page.get("blocks", ())
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
