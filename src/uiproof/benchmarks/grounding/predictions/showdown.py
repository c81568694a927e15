"""Showdown's clicks: a CSV with the predicted click, and the target beside it or in `data.csv`.

    id, recording_id, instruction, image_path, gt_x1, gt_y1, gt_x2, gt_y2, pred_x, pred_y,
    is_in_bbox, latency_seconds, …

A file that has only ids and clicks needs the data set's `data.csv` (id, image, instruction, x1, y1,
x2, y2, width, height). An item of `data.csv` without a prediction is a failed case.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.predictions import values
from uiproof.benchmarks.grounding.predictions.details import name_of, sample_names, tags_of
from uiproof.benchmarks.grounding.predictions.files import Entries, read_entries
from uiproof.benchmarks.grounding.predictions.model import Content, Item, Said
from uiproof.errors import InputError

METHOD = "pred"
_CLICKS = (("pred_x", "pred_y"), ("predicted_x", "predicted_y"), ("click_x", "click_y"), ("x", "y"))
_TEXTS = ("pred", "prediction", "predicted", "point", "click")
_TARGETS = (("gt_x1", "gt_y1", "gt_x2", "gt_y2"), ("x1", "y1", "x2", "y2"))
_IMAGE = ("image_path", "image", "img_path", "file_name")


def read_showdown(entries: Entries, annotations: Path | None = None) -> Content:
    """The items of such a file, with the targets of `annotations` where they are given."""
    columns = {str(key) for key in entries.values[0]}
    if not _has_clicks(columns):
        raise InputError(
            f"{entries.path} has no predicted clicks, only: {', '.join(sorted(columns))}.",
            remedy="The columns are called pred_x and pred_y.",
        )
    rows: list[tuple[str, Any]]
    if annotations is None:
        if not any(set(four) <= columns for four in _TARGETS) and not columns & {"bbox"}:
            raise InputError(
                f"{entries.path} has clicks and no targets.",
                remedy="Give the data set's data.csv with it.",
            )
        rows = [(entries.where(count), row) for count, row in enumerate(entries.values, start=1)]
    else:
        rows = _joined(entries, annotations)
    names = sample_names([values.text(row, *_IMAGE) for _, row in rows])
    items = [
        _item(row, where, name or f"#{count}", count)
        for count, ((where, row), name) in enumerate(zip(rows, names, strict=True), start=1)
    ]
    return Content("showdown", tuple(items), (METHOD,))


def _has_clicks(columns: set[str]) -> bool:
    return any(set(pair) <= columns for pair in _CLICKS) or bool(columns & set(_TEXTS))


def _joined(entries: Entries, annotations: Path) -> list[tuple[str, Any]]:
    file = annotations / "data.csv" if annotations.is_dir() else annotations
    answers = {str(row.get("id")): row for row in entries.values}
    targets = read_entries(file)
    if not answers.keys() & {str(row.get("id")) for row in targets.values}:
        raise InputError(
            f"No id of {entries.path} is in {file}.",
            remedy="Predictions and targets belong together by the column id.",
        )
    rows: list[tuple[str, Any]] = []
    for count, target in enumerate(targets.values, start=1):
        answer = answers.get(str(target.get("id")))
        if answer is None:
            rows.append((f"{entries.path} for {target.get('id')}", {**target, "missing": "yes"}))
            continue
        clicks = {key: answer[key] for pair in _CLICKS for key in pair if key in answer}
        others = {key: answer[key] for key in (*_TEXTS, "is_in_bbox") if key in answer}
        rows.append((targets.where(count), {**target, **clicks, **others}))
    return rows


def _item(row: Any, where: str, sample: str, count: int) -> Item:
    if not isinstance(row, Mapping) or None in row or None in row.values():
        problem = "the row has more or fewer values than the header has columns"
        return Item(where, f"#{count}", "unreadable", problem=problem)
    instruction = values.text(row, "instruction")
    box = next(
        (four for keys in _TARGETS if (four := values.box([row.get(key) for key in keys]))),
        values.box(row.get("bbox")),
    )
    problem = "" if box else "the target's box is not four numbers"
    return Item(
        where,
        sample,
        values.text(row, "id") or name_of(instruction),
        instruction,
        values.text(row, *_IMAGE),
        box,
        values.size(row),
        tags=tags_of(row),
        said={METHOD: _said(row)},
        problem="there is no prediction" if row.get("missing") else problem,
    )


def _said(row: Mapping[str, Any]) -> Said:
    stored = values.verdict(row.get("is_in_bbox"))
    for pair in _CLICKS:
        if all(key in row for key in pair):
            return values.said(
                [row[key] for key in pair], stored=stored, raw=row.get("raw_response")
            )
    return values.said(values.first(row, *_TEXTS), stored=stored, raw=row.get("raw_response"))
