"""One page about one or more runs: a file that needs nothing else, or served with links.

    write_report([run], "report.html")

    pictures = Linked("/runs/7/pictures", files_url="/report-files")    # keep it: it knows numbers
    "".join(report_page([run], pictures=pictures, back_url="/", live_url="/runs/7/live"))
    pictures.picture(12)                                    # bytes of a WebP for .../pictures/12
    report_file("report.css")                               # text and type for /report-files/...
    {"results": count of records, "running": is going on}   # what /runs/7/live answers as JSON

A run without `summary.json` is shown as it is so far. Everything that comes from a run is
untrusted: it is embedded as JSON that cannot end its element or as escaped text, and a content
security policy allows no script but our own and no connection (with `live_url`, that one server).
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.export import check_writable, replacing
from uiproof.report.analyses import analyses, section
from uiproof.report.leaderboard import leaderboard
from uiproof.report.markup import joined, tag
from uiproof.report.overview import overview
from uiproof.report.pictures import Embedded, Linked, Pictures
from uiproof.report.tables import notes
from uiproof.report.views import CaseView, case_view, package_file, safe_json

__all__ = ["Embedded", "Linked", "report_file", "report_page", "write_report"]

_LEAST_FOR_PICTURES = 4_000_000  # however long the texts are
_TYPES = {".css": "text/css", ".js": "text/javascript"}


def write_report(
    runs: Sequence[RunDirectory | Path | str], out: Path | str, title: str | None = None
) -> Path:
    """Write one HTML file about runs of one benchmark; it opens from disk and needs no network.

    Screenshots are scaled so that the page stays below 30 MB where that is possible.
    """
    destination = Path(out)
    check_writable(destination, makes_folders=True)
    page = report_page(runs, pictures=Embedded(), title=title)
    with replacing(destination, makes_folders=True) as file:
        file.writelines(page)
    return destination


def report_page(
    runs: Sequence[RunDirectory | Path | str],
    *,
    pictures: Embedded | Linked,
    title: str | None = None,
    back_url: str | None = None,
    live_url: str | None = None,
) -> Iterator[str]:
    """The page about runs of one benchmark, piece by piece.

    `back_url` is where a link in its head leads to. While a run is going on, the page asks
    `live_url` every few seconds how far it is.
    """
    directories = [RunDirectory.of(run) for run in runs]
    board = leaderboard(directories, running=True)
    view = case_view(board, directories, pictures)
    about = board.rows[0].name if len(board.rows) == 1 else f"{len(board.rows)} runs compared"
    heading = title or f"{board.benchmark}: {about}"
    index = {
        "benchmark": board.benchmark,
        "metrics": [asdict(metric) for metric in board.metrics],
        "primary": board.primary,
        "rows": [asdict(row) for row in board.rows],
        "runs": [_run(run) for run in directories],
        "notes": ["Ranges are 95 % bootstrap intervals of the mean.", *notes(board)],
        "pictures": pictures.url,
        "live": live_url if any(row.running for row in board.rows) else None,
        "overview": overview(board, directories, view.places()),
        **view.index(),
    }
    state = [(str(run.path), _stamp(run.journal)) for run in directories]
    found = analyses(board, directories)
    analysed = "".join(section(found, pictures, repr(state)))
    return _pieces(heading, index, view, analysed, pictures, back_url)


def report_file(name: str) -> tuple[str, str] | None:
    """A style or script of the page with its media type; None if it has no such file."""
    kind = _TYPES.get(Path(name).suffix)
    if kind is None or "/" in name or "\\" in name:
        return None
    try:
        return package_file(name), kind
    except OSError:
        return None


def _stamp(file: Path) -> tuple[int, int] | None:
    """Changes with the content of a file."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _run(run: RunDirectory) -> dict[str, Any]:
    manifest = run.manifest
    wanted = ("dataset", "method", "settings", "limit", "created", "uiproof", "fingerprint")
    return {name: manifest[name] for name in wanted if name in manifest}


def _pieces(
    title: str,
    index: Mapping[str, Any],
    view: CaseView,
    analysed: str,
    pictures: Embedded | Linked,
    back_url: str | None,
) -> Iterator[str]:
    styles = ("report.css", *view.styles)
    scripts = ("report.js", *view.scripts, "overview.js", "live.js")
    inline = not isinstance(pictures, Linked) or pictures.files_url is None
    parts = {
        "title": joined(title),
        "back": tag("a", "← All runs", href=back_url, class_="back") if back_url else "",
        "analyses": analysed,
        "index": f'<script type="application/json" id="index">{safe_json(index)}</script>',
        "made": html.escape(
            f"Made by uiproof {version('uiproof')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        ),
    }
    if inline:
        style, codes = "".join(map(package_file, styles)), [package_file(one) for one in scripts]
        parts["style"] = f"<style>{style}</style>"
        parts["scripts"] = "".join(f"<script>{code}</script>" for code in codes)
        allowed = _hash(style), " ".join(map(_hash, codes))
    else:
        parts["style"], parts["scripts"] = _links(pictures, styles, scripts)
        allowed = "'self'", "'self'"
    sources = "data:" if pictures.url is None else "data: 'self'"
    connect = " connect-src 'self';" if index["live"] else ""
    policy = (
        f"default-src 'none'; img-src {sources}; style-src {allowed[0]}; script-src {allowed[1]};"
        f"{connect} base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts["policy"] = html.escape(policy, quote=True)
    template = re.split(r"\{\{(\w+)\}\}", package_file("template.html"))
    written = 0
    for place, text in enumerate(template):
        if place % 2 == 0:
            pieces: Iterator[str] = iter((text,))
        elif text == "cases":
            pieces = view.body()
        elif text == "pictures":
            room = pictures.most - written if isinstance(pictures, Embedded) else 0
            pieces = pictures.pieces(max(room, _LEAST_FOR_PICTURES))
        else:
            pieces = iter((parts[text],))
        for piece in pieces:
            written += len(piece)
            yield piece


def _links(pictures: Pictures, styles: Sequence[str], scripts: Sequence[str]) -> tuple[str, str]:
    base = pictures.files_url if isinstance(pictures, Linked) else ""
    return (
        "".join(tag("link", rel="stylesheet", href=f"{base}/{name}") for name in styles),
        "".join(tag("script", src=f"{base}/{name}") for name in scripts),
    )


def _hash(content: str) -> str:
    """A content security policy source for exactly this inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
