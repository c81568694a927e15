"""The report: one page about runs of a benchmark, as a single file or served with links.

    write_report([run], "report.html")

    pictures = Linked("/runs/7/pictures", files_url="/report-files")  # keep it: it holds numbers
    "".join(report_page([run], pictures=pictures, back_url="/", live_url="/runs/7/live"))
    pictures.picture(12)                                    # bytes for .../pictures/12
    media_type(...)                                         # of these bytes
    report_file("report.css")                               # text and type for /report-files/...
    {"results": number of records, "running": true}         # the answer of /runs/7/live

A run without `summary.json` is shown as it is so far. Everything that comes from a run is
untrusted: it is embedded as JSON that cannot end its element or as escaped text, and a content
security policy allows no script but our own and no connection (with `live_url`, that one server).
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.export import check_writable
from uiproof.files import replacing
from uiproof.leaderboard import leaderboard
from uiproof.markup import joined, tag
from uiproof.report.sections import analyses, case_view, charts_section, overview, tables_section
from uiproof.report.tables import notes
from uiproof.views.base import CaseView, RunRow, asset, policy_hash, safe_json
from uiproof.views.pictures import Embedded, Linked, media_type

__all__ = ["Embedded", "Linked", "media_type", "report_file", "report_page", "write_report"]

_LEAST_FOR_PICTURES = 4_000_000  # characters, however long the texts are
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
    navigation: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the page about runs of one benchmark, piece by piece.

    Links in its head lead to `back_url` and to the pages of `navigation`, addresses by their names.
    During a run, the page polls `live_url`.
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
        "rows": [_row(row) for row in board.rows],
        "runs": [_run(run) for run in directories],
        "notes": notes(board),
        "pictures": pictures.url,
        "live": live_url if any(row.running for row in board.rows) else None,
        "overview": overview(board, directories, view.places()),
        **view.index(),
    }
    state = [(str(run.path), _stamp(run.journal)) for run in directories]
    found = analyses(board, directories)
    analysed = {
        "charts": "".join(charts_section(found, pictures, repr(state))),
        "analyses": "".join(tables_section(found)),
    }
    links = [tag("a", name, href=url) for name, url in (navigation or {}).items()]
    head = {
        "title": joined(heading),
        "back": tag("a", "← All runs", href=back_url, class_="back") if back_url else "",
        "navigation": tag("nav", *links, class_="site", aria_label="Studio") if links else "",
    }
    return _pieces(head | analysed, index, view, pictures)


def report_file(name: str) -> tuple[str, str] | None:
    """Return a style or script of the page with its media type; None if there is no such file.

    Packages other than ours are only read if a view of theirs is in use.
    """
    kind = _TYPES.get(Path(name).suffix)
    package = name.rpartition(":")[0]
    if kind is None or "/" in name or "\\" in name or (package and package not in sys.modules):
        return None
    try:
        return asset(name), kind
    except (OSError, TypeError):
        return None


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return a value that changes with the content of a file."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _row(row: RunRow) -> dict[str, Any]:
    shown = asdict(replace(row, scores={}))
    del shown["scores"]
    return {**shown, "clusters": row.clusters}


def _run(run: RunDirectory) -> dict[str, Any]:
    manifest = run.manifest
    wanted = ("dataset", "method", "settings", "limit", "created", "uiproof", "fingerprint")
    return {name: manifest[name] for name in wanted if name in manifest}


def _pieces(
    filled: Mapping[str, str], index: Mapping[str, Any], view: CaseView, pictures: Embedded | Linked
) -> Iterator[str]:
    styles = ("report.css", *view.styles)
    scripts = ("dom.js", "report.js", *view.scripts, "overview.js", "live.js")
    base = pictures.files_url if isinstance(pictures, Linked) else None
    parts = {
        **filled,
        "index": f'<script type="application/json" id="index">{safe_json(index)}</script>',
        "made": html.escape(
            f"Made by uiproof {version('uiproof')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        ),
    }
    if base is None:
        style, codes = "".join(map(asset, styles)), [asset(one) for one in scripts]
        parts["style"] = f"<style>{style}</style>"
        parts["scripts"] = "".join(f"<script>{code}</script>" for code in codes)
        allowed = policy_hash(style), " ".join(map(policy_hash, codes))
    else:
        links = (tag("link", rel="stylesheet", href=f"{base}/{name}") for name in styles)
        parts["style"] = "".join(links)
        parts["scripts"] = "".join(tag("script", src=f"{base}/{name}") for name in scripts)
        allowed = "'self'", "'self'"
    sources = "data:" if pictures.url is None else "data: 'self'"
    connect = " connect-src 'self';" if index["live"] else ""
    policy = (
        f"default-src 'none'; img-src {sources}; style-src {allowed[0]}; script-src {allowed[1]};"
        f"{connect} base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts["policy"] = html.escape(policy, quote=True)
    template = re.split(r"\{\{(\w+)\}\}", asset("uiproof.report:template.html"))
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
