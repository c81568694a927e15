"""One self-contained page about one or more runs.

Everything that comes from a run is untrusted: it is embedded as JSON that cannot end its element,
shown only as text, and a content security policy allows no script but our own and no connection.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.export import check_writable, replacing
from uiproof.report.images import data_uris, digest
from uiproof.report.leaderboard import Leaderboard, leaderboard, look_up
from uiproof.report.tables import notes

_SIZE = 30_000_000  # bytes of a report, if its text allows
_LEAST_FOR_IMAGES = 6_000_000
_LONGEST_TEXT = 160  # of a block; the whole text of a page is not the point of a report
_SIDES = ("reference", "generated")


def write_report(
    runs: Sequence[RunDirectory | Path | str], out: Path | str, title: str | None = None
) -> Path:
    """Write one HTML file about runs of one benchmark; it opens from disk and needs no network.

    Screenshots are scaled so that the page stays below 30 MB where that is possible.
    """
    destination = Path(out)
    check_writable(destination, makes_folders=True)
    directories = [run if isinstance(run, RunDirectory) else RunDirectory(run) for run in runs]
    board = leaderboard(directories)
    images = _Images()
    details: list[str] = []
    cases = [
        _case(number, run, record, board, images, details)
        for number, run in enumerate(directories)
        for record in run.records()
    ]
    about = board.rows[0].name if len(board.rows) == 1 else f"{len(board.rows)} runs compared"
    heading = title or f"{board.benchmark}: {about}"
    index = {
        "benchmark": board.benchmark,
        "metrics": [asdict(metric) for metric in board.metrics],
        "primary": board.primary,
        "rows": [asdict(row) for row in board.rows],
        "runs": [_run(run) for run in directories],
        "notes": ["Ranges are 95 % bootstrap intervals of the mean.", *notes(board)],
        "cases": cases,
    }
    with replacing(destination, makes_folders=True) as file:
        _write_page(file, heading, index, details, images)
    return destination


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


def _case(
    number: int,
    run: RunDirectory,
    record: Record,
    board: Leaderboard,
    images: _Images,
    details: list[str],
) -> dict[str, Any]:
    """What the list of cases shows; the rest goes to `details` and is parsed when it is opened."""
    shown = {
        side: images.add(run.artifact(record.artifacts[side]))
        for side in _SIDES
        if side in record.artifacts
    }
    details.append(_json(_detail(record)))
    return {
        "run": number,
        "id": record.id,
        "status": record.status,
        "scores": [look_up(record.scores, metric.key) for metric in board.metrics],
        "flags": list(record.flags),
        "error": record.error.code if record.error else None,
        "images": shown,
    }


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


def _run(run: RunDirectory) -> dict[str, Any]:
    manifest = run.manifest
    wanted = ("dataset", "method", "settings", "limit", "created", "uiproof", "fingerprint")
    return {name: manifest[name] for name in wanted if name in manifest}


def _write_page(
    file: IO[str], title: str, index: Mapping[str, Any], details: Sequence[str], images: _Images
) -> None:
    style = _package_file("report.css")
    scripts = [_package_file("report.js"), _package_file("viewer.js")]
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src {_hash(style)}; script-src {' '.join(map(_hash, scripts))}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {
        "policy": html.escape(policy, quote=True),
        "title": html.escape(title),
        "style": f"<style>{style}</style>",
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
        "made": html.escape(
            f"Made by uiproof {version('uiproof')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        ),
    }
    template = re.sub(
        r"\{\{(\w+)\}\}", lambda m: parts.get(m[1], m[0]), _package_file("template.html")
    )
    before, after = template.split("{{data}}")
    file.write(before)
    written = len(before) + len(after)
    for name, content in _data(index, details):
        written += file.write(f'<script type="application/json" id="{name}">{content}</script>\n')
    budget = max(_SIZE - written - 100 * len(images.paths), _LEAST_FOR_IMAGES)
    for number, uri in data_uris(images.paths, budget):
        file.write(f'<script type="text/plain" id="image-{number}">{uri}</script>\n')
    file.write(after)


def _data(index: Mapping[str, Any], details: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "index", _json(index)
    for number, detail in enumerate(details):
        yield f"case-{number}", detail


def _json(value: Any) -> str:
    """JSON that is safe inside a script element: no `<` means no tag and no comment can begin."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _package_file(name: str) -> str:
    return files("uiproof.report").joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """A content security policy source for exactly this inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
