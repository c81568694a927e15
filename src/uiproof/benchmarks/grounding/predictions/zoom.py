"""Captures of zoom consistency: a first answer, a crop around it, and a second one inside of that.

One model:   idx, bbox, step1, crop_box, step2, final, correct
Several:     kv_s1, kv_crop_box, kv_s2, kv_final, kv_correct, qw_s1, …, qw_final, qw_correct, …

Each first answer and each final one is a method. With several models there are two more:
`router` takes the model whose second answer lies closer to the middle of its crop, `oracle` a model
that is right if there is one. The oracle needs the truth for that: it is a bound, not a method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot
from typing import Any

from uiproof.benchmarks.grounding.predictions import values
from uiproof.benchmarks.grounding.predictions.details import name_of, tags_of
from uiproof.benchmarks.grounding.predictions.files import Entries
from uiproof.benchmarks.grounding.predictions.model import Content, Item, Said
from uiproof.errors import UsageError

ROUTER, ORACLE = "router", "oracle"
_STEP = re.compile(r"(?:\w+_)?(?:s1|step1|final)")
_FIRST = re.compile(r"(?:\w+_)?(?:s1|step1)")
_SECOND = ("{}_s2", "{}_step2", "{}_s2_{}crop")


def is_capture(entries: Entries) -> bool:
    """Whether the entries have first and final answers."""
    some = [value for value in entries.values[:20] if isinstance(value, Mapping)]
    return any(
        any(key == "final" or str(key).endswith("_final") for key in value) for value in some
    )


def read_capture(entries: Entries, field: str | None = None) -> Content:
    """The items of a capture; `field` names the only method wanted."""
    some = [value for value in entries.values[:500] if isinstance(value, Mapping)]
    fields = [str(key) for key in dict.fromkeys(key for value in some for key in value)]
    steps = [key for key in fields if _STEP.fullmatch(key)]
    models = [key.removesuffix("_final") for key in steps if key.endswith("_final")]
    models = [model for model in models if _second(model, fields) is not None]
    routed = len(models) > 1
    methods = (*steps, *((ROUTER, ORACLE) if routed else ()))
    if field and field not in methods:
        raise UsageError(
            f"{entries.path} has no method {field}.", remedy=f"It has: {', '.join(methods)}."
        )
    items = []
    for count, value in enumerate(entries.values, start=1):
        where = entries.where(count)
        if not isinstance(value, Mapping):
            problem = "an object was expected"
            items.append(Item(where, f"#{count}", "unreadable", problem=problem))
            continue
        item = _item(value, where, count, steps)
        if routed:
            chosen = _routed(value, item.said, models, fields)
            item = replace(item, said={**item.said, ROUTER: chosen})
        items.append(item)
    best_of = {ORACLE: tuple(f"{model}_final" for model in models)} if routed else {}
    wanted = (field,) if field else methods
    first = frozenset(step for step in steps if _FIRST.fullmatch(step))
    return Content("zoom-consistency", tuple(items), wanted, best_of, first)


def _item(entry: values.Entry, where: str, count: int, steps: Sequence[str]) -> Item:
    instruction = values.text(entry, "instruction", "prompt_to_evaluate")
    box = values.box(entry.get("bbox"))
    return Item(
        where,
        values.text(entry, "idx", "id") or f"#{count}",
        name_of(instruction),
        instruction,
        values.text(entry, "img_path", "image_path", "image"),
        box,
        values.size(entry),
        tags=tags_of(entry),
        said={step: _said(entry, step) for step in steps},
        problem="" if box else f"the target's box is not four numbers: {entry.get('bbox')!r:.100}",
    )


def _said(entry: values.Entry, step: str) -> Said:
    verdict = (
        step.removesuffix("final") + "correct" if step.endswith("final") else f"{step}_correct"
    )
    said = values.said(entry.get(step), stored=values.verdict(entry.get(verdict)))
    if _FIRST.fullmatch(step):
        return said
    crop = values.box(entry.get(step.removesuffix("final") + "crop_box"))
    return replace(said, crop=crop)


def _second(model: str, fields: Sequence[str]) -> str | None:
    """The field with a model's answer inside of its own crop."""
    return next(
        (key for form in _SECOND if (key := form.format(model, model)) in fields),
        None,
    )


def _routed(
    entry: values.Entry, said: Mapping[str, Said], models: Sequence[str], fields: Sequence[str]
) -> Said:
    def distance(model: str) -> float | None:
        return _from_the_middle(entry.get(_second(model, fields) or ""))

    # Without any distance the first model answers; of equal ones too.
    known = [(far, order) for order, one in enumerate(models) if (far := distance(one)) is not None]
    return said[f"{models[min(known)[1] if known else 0]}_final"]


def _from_the_middle(value: Any) -> float | None:
    place = values.said(value).place
    if place is None or len(place) != 2:
        return None
    middle = 0.5 if max(place) <= 1 else 500.0
    return hypot(place[0] - middle, place[1] - middle)
