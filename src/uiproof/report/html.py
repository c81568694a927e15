"""One self-contained page about one or more runs.

Everything that comes from a run is untrusted: it is embedded as JSON that cannot end its element
or as escaped text, and a content security policy allows no script but our own and no connection.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from uiproof.engine.rundir import RunDirectory
from uiproof.export import check_writable, replacing
from uiproof.report.leaderboard import leaderboard
from uiproof.report.tables import notes
from uiproof.report.views import CaseView, case_view, package_file, safe_json

_SIZE = 30_000_000  # bytes of a report, if its text allows


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
    about = board.rows[0].name if len(board.rows) == 1 else f"{len(board.rows)} runs compared"
    heading = title or f"{board.benchmark}: {about}"
    view = case_view(board, directories)
    index = {
        "benchmark": board.benchmark,
        "metrics": [asdict(metric) for metric in board.metrics],
        "primary": board.primary,
        "rows": [asdict(row) for row in board.rows],
        "runs": [_run(run) for run in directories],
        "notes": ["Ranges are 95 % bootstrap intervals of the mean.", *notes(board)],
        **view.index(),
    }
    with replacing(destination, makes_folders=True) as file:
        _write_page(file, heading, index, view)
    return destination


def _run(run: RunDirectory) -> dict[str, Any]:
    manifest = run.manifest
    wanted = ("dataset", "method", "settings", "limit", "created", "uiproof", "fingerprint")
    return {name: manifest[name] for name in wanted if name in manifest}


def _write_page(file: IO[str], title: str, index: Mapping[str, Any], view: CaseView) -> None:
    style = "".join(map(package_file, ("report.css", *view.styles)))
    scripts = [package_file(name) for name in ("report.js", *view.scripts)]
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src {_hash(style)}; script-src {' '.join(map(_hash, scripts))}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {
        "policy": html.escape(policy, quote=True),
        "title": html.escape(title),
        "style": f"<style>{style}</style>",
        "index": f'<script type="application/json" id="index">{safe_json(index)}</script>',
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
        "made": html.escape(
            f"Made by uiproof {version('uiproof')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        ),
    }
    before, after = (
        re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], half)
        for half in package_file("template.html").split("{{cases}}")
    )
    file.write(before)
    for piece in view.body(_SIZE - len(before) - len(after)):
        file.write(piece)
    file.write(after)


def _hash(content: str) -> str:
    """A content security policy source for exactly this inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
