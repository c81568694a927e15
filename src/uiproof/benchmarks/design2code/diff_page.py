"""The HTML page of `uiproof diff`: both pages with numbered marks, and the list of differences."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.design2code.diff_cases import DiffCase, headline
from uiproof.files import replacing
from uiproof.views.base import asset, policy_hash, safe_json
from uiproof.views.pictures import Limits, media_type, webp

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.page_diff import PageDiff

_ROOM = "uiproof.benchmarks.design2code"
_STYLES = ("report.css", "viewer.css", "differences.css", f"{_ROOM}:diff.css")
_SCRIPTS = ("dom.js", "compare.js", "differences.js", f"{_ROOM}:diff.js")
_WHOLE = Limits(pixels=12_000_000, bytes=900_000, width=1600)
_MOST_BYTES = 30_000_000  # of all pictures of a page


def write_diff_page(cases: Sequence[DiffCase], out: Path, *, notes: Sequence[str] = ()) -> Path:
    """Write one HTML file about pairs; it opens from disk and needs no network."""
    with replacing(out, makes_folders=True) as file:
        file.write(diff_page(page_data(cases, notes=notes), _title(cases)))
    return out


def page_data(cases: Sequence[DiffCase], *, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the scripts of the page show."""
    most = min(_WHOLE.bytes, _MOST_BYTES // max(2 * len(cases), 1))
    shown = [_case(one, most) for one in cases]
    return {"cases": shown, "notes": list(notes), "live": None, "version": 0, "course": []}


def diff_page(data: dict[str, Any], title: str) -> str:
    """Return the page; everything that it needs is inside."""
    style, codes = "".join(map(asset, _STYLES)), [asset(one) for one in _SCRIPTS]
    connect = " connect-src 'self';" if data["live"] else ""
    policy = (
        f"default-src 'none'; img-src data:; style-src {policy_hash(style)}; script-src "
        f"{' '.join(map(policy_hash, codes))};{connect} base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    made = f"Made by uiproof {version('uiproof')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    parts = {
        "policy": html.escape(policy, quote=True),
        "title": html.escape(title),
        "style": style,
        "made": html.escape(made),
        "data": safe_json(data),
        "scripts": "".join(f"<script>{code}</script>" for code in codes),
    }
    template = asset(f"{_ROOM}:diff.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _title(cases: Sequence[DiffCase]) -> str:
    return (
        f"Differences: {cases[0].id}" if len(cases) == 1 else f"Differences of {len(cases)} pages"
    )


def _case(case: DiffCase, most: int) -> dict[str, Any]:
    found = case.found
    if found is None:
        error = str(case.error)
        return {"id": case.id, "error": error, "differences": [], "score": None, "profile": ""}
    profile, score = headline(found.scores)
    return {
        "id": case.id,
        "error": "",
        "profile": profile,
        "score": score,
        "differences": _differences(found),
        "sizes": {"reference": found.reference_size, "generated": found.generated_size},
        "pictures": {
            "reference": _embedded(found.reference_picture, most),
            "generated": _embedded(found.generated_picture, most),
        },
    }


def _differences(found: PageDiff) -> list[dict[str, Any]]:
    return [{**one.as_json(), "members": one.members_as_json()} for one in found.differences]


def _embedded(png: bytes, most: int) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        picture = webp(opened.convert("RGB"), _WHOLE, most)
    return f"data:{media_type(picture)};base64,{base64.b64encode(picture).decode('ascii')}"
