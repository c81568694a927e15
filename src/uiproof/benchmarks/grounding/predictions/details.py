"""Results of ScreenSpot-Pro's script and its many copies, and OmniParser's log.

    {"metrics": {…}, "details": [{"img_path", "bbox", "pred", "correctness", "ui_type", …}, …]}

Copies of the script differ in small things: normalised points, boxes as `[x, y, width, height]`,
`image_size`, no `group`, items that ask for what is not there (`gt_type: negative`). OmniParser's
log has the same entries, one per line. Each field that holds places is a method of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from uiproof.benchmarks.grounding.predictions import values
from uiproof.benchmarks.grounding.predictions.files import REMEDY, Entries
from uiproof.benchmarks.grounding.predictions.model import TAGS, Content, Item, Said
from uiproof.errors import InputError

_PREDICTED = re.compile(
    r"pred(icted|iction|s)?(_.*)?|.*_pred(iction)?|(click_?)?(point|coordinates?|xy)|click"
)
_USUAL = ("pred", "prediction")  # methods even where every one of them is null
_IMAGE = ("img_path", "image_path", "img_filename", "image", "file_name", "filename", "img")
_BOX = ("bbox", "gt_bbox", "box", "gt_box", "target_bbox", "ground_truth_bbox")
_INSTRUCTION = ("prompt_to_evaluate", "instruction", "prompt", "query", "task")
_VERDICTS = ("correctness", "correct", "is_correct", "is_in_bbox", "hit", "success")
_TAG_KEYS: Mapping[str, tuple[str, ...]] = {
    "group": ("group",),
    "platform": ("platform", "device"),
    "application": ("application", "app", "app_name", "data_source"),
    "ui_type": ("ui_type", "data_type", "element_type", "type"),
}
# ScreenSpot and its second version have no groups: their names say which part they belong to.
_PARTS = {"mobile": "mobile", "desktop": "desktop", "pc": "desktop", "web": "web"}
_LOOKED_AT = 500  # entries that are looked at to find out what a field holds


def read_details(entries: Entries, field: str | None = None) -> Content:
    """The items of such a file; `field` names the only method wanted."""
    objects = [value for value in entries.values if isinstance(value, dict)]
    methods = (field,) if field else _methods(objects)
    if not methods or not any(any(m in value for m in methods) for value in objects):
        keys = ", ".join(sorted({str(key) for value in objects[:_LOOKED_AT] for key in value}))
        what = f"the field {field}" if field else "a prediction"
        raise InputError(f"No item of {entries.path} has {what}. It has: {keys}.", remedy=REMEDY)
    samples = sample_names([values.text(value, *_IMAGE) for value in objects])
    items, position = [], 0
    for count, value in enumerate(entries.values, start=1):
        where = entries.where(count)
        if isinstance(value, dict):
            items.append(_item(value, where, samples[position], count, methods))
            position += 1
        else:
            problem = value if entries.kind == "lines" else "an object was expected"
            items.append(Item(where, f"#{count}", "unreadable", problem=str(problem)[:200]))
    kind = "omniparser" if entries.kind == "lines" else "screenspot-pro"
    return Content(kind, tuple(items), methods, published=entries.published)


def _item(entry: values.Entry, where: str, sample: str, count: int, methods: Sequence[str]) -> Item:
    instruction = values.text(entry, *_INSTRUCTION)
    negative = values.text(entry, "gt_type").lower() == "negative"
    written = values.first(entry, *_BOX)
    box = None if negative else values.box(written)
    problem = "" if negative or box else f"the target's box is not four numbers: {written!r:.100}"
    return Item(
        where,
        sample or f"#{count}",
        values.text(entry, "id", "ui_id", "element_id") or name_of(instruction),
        instruction,
        values.text(entry, *_IMAGE),
        box,
        values.size(entry),
        negative,
        tags_of(entry),
        {method: _said(entry, method, len(methods) == 1, negative) for method in methods},
        problem,
    )


def _said(entry: values.Entry, method: str, only: bool, negative: bool) -> Said:
    own = (f"{method}_correctness", f"{method}_correct")
    general = _VERDICTS if only or method in _USUAL else ()
    stored = next(
        (one for key in (*own, *general) if (one := values.verdict(entry.get(key))) is not None),
        None,
    )
    said = values.said(entry.get(method), stored=stored, raw=entry.get("raw_response"))
    if not negative:
        return said
    # These files don't say what was answered, only whether that was right. To refuse is.
    beside = said.place is not None and max(said.place) < 0
    refused = said.refused or beside or (said.place is None and stored is True)
    return Said(None if refused else said.place, refused, stored, said.raw)


def _methods(objects: Sequence[values.Entry]) -> tuple[str, ...]:
    some = objects[:_LOOKED_AT]
    keys = dict.fromkeys(key for value in some for key in value)
    named = [key for key in keys if isinstance(key, str) and _PREDICTED.fullmatch(key)]
    found = [key for key in named if any(_is_place(value.get(key)) for value in some)]
    return tuple(found or [key for key in named if key in _USUAL])


def _is_place(value: Any) -> bool:
    return not isinstance(value, int | float | None) and values.said(value).place is not None


def tags_of(entry: values.Entry) -> dict[str, str]:
    """What rates are split up by; a question mark says that it is not known."""
    tags = {tag: values.text(entry, *_TAG_KEYS[tag]) for tag in TAGS}
    if not tags["group"]:
        file_name = re.split(r"[\\/]", values.text(entry, *_IMAGE))[-1]
        names = f"{values.text(entry, 'task_filename')} {file_name}".lower()
        words = re.findall(r"[a-z]+", names)
        tags["group"] = next((_PARTS[word] for word in words if word in _PARTS), "")
    return {tag: value for tag, value in tags.items() if value not in ("", "?", "unknown")}


def name_of(instruction: str) -> str:
    """A short name for an item from what it asks for: `mark-dimensions`."""
    return "-".join(re.findall(r"\w+", instruction.lower()))[:60].strip("-_") or "element"


def sample_names(paths: Sequence[str]) -> list[str]:
    """Names for screenshots: their paths without the folders that all have in common."""
    parts = [re.split(r"[\\/]+", path) for path in paths]
    used = [one[:-1] for one in parts if one != [""]]
    common = 0
    if used:
        low, high = min(used), max(used)
        while common < min(len(low), len(high)) and low[common] == high[common]:
            common += 1
    return ["/".join([*one[common:-1], re.sub(r"\.\w{2,5}$", "", one[-1])]) for one in parts]
