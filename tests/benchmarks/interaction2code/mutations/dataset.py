"""A data set in the published layout, made from the working pages with a browser of its own."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from mutations.pages import Page, Working
from mutations.session import Corners, Seen, Session

RED = (255, 0, 0)
LINE = 4  # px of a mark, times the scale of the picture
MARGIN = 6  # px between an element and the mark around it


def write_source(page: Page, html: str, folder: Path, name: str) -> Path:
    """A version of a page as a file beside the files that it leads to."""
    folder.mkdir(parents=True, exist_ok=True)
    for sibling in page.siblings:
        if not (folder / sibling.name).exists():
            shutil.copy(sibling, folder / sibling.name)
    file = folder / f"{name}.html"
    file.write_text(html, encoding="utf-8")
    return file


def make_dataset(
    session: Session, page: Page, folder: Path, *, structured: bool = True
) -> dict[int, Seen]:
    """Write the folder of a page: screenshots, marks and `action.json`; returns what was seen.

    Each interaction has its own pair of screenshots, as published. With `structured` the file also
    has our fields `kind` and `value`; without, the English sentence has to do.
    """
    original = write_source(page, page.html, folder.parent / f".{page.name}", "original")
    folder.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {"link": "", "topic": page.topic, "framework": "traditional"}
    seen: dict[int, Seen] = {}
    for it in page.interactions:
        one = seen[it.number] = session.watch(page, original, it)
        source, target = str(2 * it.number - 2), str(2 * it.number - 1)
        about[str(it.number)] = _entry(it, source, target, structured=structured)
        for name, png, box in (
            (source, one.png[0], one.trigger),
            (target, one.png[1], effect_box(one)),
        ):
            (folder / f"{name}.png").write_bytes(png)
            (folder / f"{name}_mark.png").write_bytes(marked(png, box, page.scale))
    (folder / "action.json").write_text(json.dumps(about, indent=1, ensure_ascii=False), "utf-8")
    return seen


def _entry(it: Working, source: str, target: str, *, structured: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "src": source,
        "dst": target,
        "action": it.sentence,
        "description": it.description,
        "tag type": list(it.tags),
        "visual type": list(it.visuals),
    }
    if structured:
        entry["kind"] = it.kind
        entry["value"] = it.value
    return entry


def effect_box(seen: Seen) -> Corners | None:
    """Around the effect: the elements that show it, else whatever pixels changed."""
    boxes = [box for box in seen.effects_after if box is not None]
    whole = any((r - l) * (b - t) > 0.8 * seen.size[0] * seen.size[1] for l, t, r, b in boxes)  # noqa: E741
    if not boxes or whole or seen.moved_on:
        return changed_box(seen)
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def changed_box(seen: Seen) -> Corners | None:
    """Around all pixels that an action changed, in CSS pixels."""
    rows, columns = np.nonzero(changed(seen.before, seen.after))
    if not len(rows):
        return None
    scale = round(seen.before.shape[1] / seen.size[0])
    return (
        columns.min() / scale,
        rows.min() / scale,
        (columns.max() + 1) / scale,
        (rows.max() + 1) / scale,
    )


def changed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which pixels differ visibly; where one picture is larger, all of what is beyond."""
    height, width = max(one.shape[0], other.shape[0]), max(one.shape[1], other.shape[1])
    mask = np.ones((height, width), bool)
    h, w = min(one.shape[0], other.shape[0]), min(one.shape[1], other.shape[1])
    mask[:h, :w] = np.abs(one[:h, :w] - other[:h, :w]).max(axis=2) > 12
    return mask


def marked(png: bytes, box: Corners | None, scale: int) -> bytes:
    """The picture with a red frame around a box, as people draw it: a little larger."""
    from PIL import Image, ImageDraw

    image = Image.open(io.BytesIO(png)).convert("RGB")
    if box is not None:
        left, top, right, bottom = (round(edge * scale) for edge in box)
        margin = MARGIN * scale
        frame = (
            max(left - margin, 0),
            max(top - margin, 0),
            min(right + margin, image.width) - 1,
            min(bottom + margin, image.height) - 1,
        )
        ImageDraw.Draw(image).rectangle(frame, outline=RED, width=LINE * scale)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
