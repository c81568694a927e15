"""Synthetic grounding data: simple pages whose elements are known to the pixel.

    uiproof generate --type synthetic --count 500 --out DIR

The same options give the same pixels and annotations on every machine with the same Pillow. Every
sample depends on its own plan alone, so they can be made in any order.

Boxes are tight around what is drawn; `clickable` adds the padding in which texts, links, icons and
checkboxes react. An instruction names one element; where two have the same text, it adds the
position ("the left-most 'Save' button", "the second 'Open' link from the top"). Instructions for
things that are not there (`negatives`) have `refusal` set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    Dataset,
    ElementType,
    Sample,
    annotations_file,
    read_dataset,
    write_dataset,
)
from uiproof.benchmarks.grounding.drawing import PICTOGRAMS, png
from uiproof.benchmarks.grounding.synthetic_pages import (
    LEVELS,
    WORDS,
    DrawnElement,
    Page,
    compose,
    render,
    tell_apart,
)
from uiproof.errors import InputError, UsageError
from uiproof.files import access, write_atomic
from uiproof.geometry import Box, PixelBox

GENERATOR = "uiproof-synthetic"
VERSION = "2"  # grows whenever the same options would give other pages

DEFAULT_MIX: Mapping[str, float] = {
    "easy-light": 0.15,
    "easy-dark": 0.05,
    "medium-light": 0.30,
    "medium-dark": 0.15,
    "hard-light": 0.20,
    "hard-dark": 0.15,
}
_LARGEST_SIDE = 16_384
_MANIFEST = "made_by"  # the key of the settings where the metadata is given
_MOST_NEGATIVES = 0.5  # there are not enough words for more on a full page
_PADDED = {ElementType.TEXT, ElementType.LINK, ElementType.ICON, ElementType.CHECKBOX}

Resolution = tuple[int, int]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """The settings of one sample."""

    index: int
    level: str
    dark: bool
    width: int
    height: int
    scale: float

    @property
    def id(self) -> str:
        """Return the name of the sample and, with `.png`, of its picture."""
        return f"{self.index:04d}-{self.level}-{'dark' if self.dark else 'light'}"


def generate(
    out: Path,
    *,
    count: int = 500,
    seed: int = 42,
    resolutions: Sequence[Resolution] = ((1920, 1080),),
    scales: Sequence[float] = (1.0,),
    negatives: float = 0.0,
    mix: Mapping[str, float] = DEFAULT_MIX,
    progress: Progress | None = None,
) -> Dataset:
    """Make a data set of exactly `count` samples in the folder `out`.

    `scales` are device pixel ratios, as on dense screens. With several resolutions or scales,
    samples take turns. `negatives` is the share of instructions that ask for something that is not
    there, at most a half. `progress` is called with the number of finished samples and `count`.
    """
    plans = plan_samples(count, resolutions=resolutions, scales=scales, mix=mix)
    if not 0 <= negatives <= _MOST_NEGATIVES:
        raise UsageError(
            f"A share of {negatives} negatives is not possible.",
            remedy=f"Use a number from 0 to {_MOST_NEGATIVES}.",
        )
    settings = {
        "generator": GENERATOR,
        "generator_version": VERSION,
        "seed": seed,
        "count": count,
        "resolutions": [f"{width}x{height}" for width, height in resolutions],
        "scales": [float(scale) for scale in scales],
        "negatives": float(negatives),
        "mix": {name: float(weight) for name, weight in mix.items()},
    }
    made = (make_sample(seed, one, negatives=negatives) for one in plans)
    return write_samples(out, made, settings, total=count, progress=progress)


def write_samples(
    out: Path,
    made: Iterable[tuple[Sample, bytes]],
    settings: Mapping[str, Any],
    *,
    total: int,
    metadata: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Write samples and their PNG files, and at last the annotations with a manifest.

    `InputError` if the folder holds a data set of other settings. The settings and the digests of
    the pictures are the data set's metadata; if `metadata` is given, they are written beside it.
    """
    _check_free(out, settings)
    folder = out / "samples"
    with access(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    samples: list[Sample] = []
    digests: dict[str, str] = {}
    for sample, picture in made:
        file = out / sample.image_path
        with access(file, "written"):
            write_atomic(file, picture)
        samples.append(sample)
        digests[sample.image_path] = hashlib.sha256(picture).hexdigest()
        if progress:
            progress(len(samples), total)
    manifest = {**settings, "sha256": digests}
    if metadata is None:
        dataset = Dataset("synthetic", "1.0", tuple(samples), manifest)
    else:
        extra = {_MANIFEST: manifest}
        dataset = Dataset("synthetic", "1.0", tuple(samples), metadata, extra)
    write_dataset(dataset, out)
    return dataset


def _check_free(out: Path, settings: Mapping[str, Any]) -> None:
    if not annotations_file(out).is_file():
        return
    found = read_dataset(out)
    there = dict(found.extra.get(_MANIFEST) or found.metadata)
    there.pop("sha256", None)
    if there != settings:
        raise InputError(
            f"{out} already holds another data set.",
            remedy="Name another folder with --out, or delete this one.",
        )


def plan_samples(
    count: int,
    *,
    resolutions: Sequence[Resolution] = ((1920, 1080),),
    scales: Sequence[float] = (1.0,),
    mix: Mapping[str, float] = DEFAULT_MIX,
) -> list[SamplePlan]:
    """Plan each sample, so that any number of first samples has nearly the mix of the whole."""
    _check(count, resolutions, scales, mix)
    screens = list(product(resolutions, scales))
    kinds = []
    for order, (name, number) in enumerate(shares(count, mix).items()):
        for turn in range(number):
            kinds.append((Fraction(2 * turn + 1, 2 * number), order, name, turn))
    plans = []
    for index, (_, order, name, turn) in enumerate(sorted(kinds)):
        level, tone = name.split("-")
        (width, height), scale = screens[(turn + order) % len(screens)]
        plans.append(SamplePlan(index, level, tone == "dark", width, height, float(scale)))
    return plans


def shares(count: int, mix: Mapping[str, float]) -> dict[str, int]:
    """Divide `count` by the mix with largest remainders, so that the parts add up exactly."""
    weights = {name: Fraction(str(weight)) for name, weight in mix.items()}
    whole = sum(weights.values())
    exact = {name: count * weight / whole for name, weight in weights.items()}
    parts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[: count - sum(parts.values())]:
        parts[name] += 1
    return parts


def make_sample(seed: int, one: SamplePlan, *, negatives: float = 0.0) -> tuple[Sample, bytes]:
    """Make one sample and its picture; they depend on the seed and the plan alone."""
    page, random = make_page(seed, one)
    elements = _elements(page)
    elements += refusals(random, page, len(elements), negatives)
    metadata = {
        "difficulty": one.level,
        "theme": "dark" if one.dark else "light",
        "scale": one.scale,
    }
    path = f"samples/{one.id}.png"
    sample = Sample(one.id, path, one.width, one.height, tuple(elements), metadata)
    return sample, png(render(page))


def make_page(seed: int, one: SamplePlan) -> tuple[Page, Random]:
    """Return the page of a plan, and the random numbers that follow it."""

    def px(length: int) -> int:
        return max(int(length * one.scale + 0.5), 1)

    screen = f"{one.width}x{one.height}@{one.scale}"
    random = Random(f"{GENERATOR}/{VERSION}/{seed}/{one.id}/{screen}")
    level = LEVELS[one.level]
    page = compose(random, level, dark=one.dark, width=one.width, height=one.height, px=px)
    return page, random


def _elements(page: Page) -> list[AnnotatedElement]:
    ranks = tell_apart(page.items, page.arrangement, 1)
    assert ranks is not None  # pages are made so
    elements = []
    for number, (item, (x, y), rank) in enumerate(
        zip(page.items, page.arrangement.places, ranks, strict=True)
    ):
        box = PixelBox(x, y, x + item.sprite.width, y + item.sprite.height)
        pad = page.padding if item.kind in _PADDED else 0
        around = PixelBox(box.left - pad, box.top - pad, box.right + pad, box.bottom + pad)
        elements.append(
            AnnotatedElement(
                id=f"{number:02d}-{item.kind}",
                bbox=box.normalised(page.width, page.height),
                text=item.text,
                element_type=item.kind,
                instruction=f"Click on the {described(item.kind, item.text, rank)}",
                clickable=around.normalised(page.width, page.height),
            )
        )
    return elements


def parse_resolution(text: str) -> Resolution:
    """Parse width and height, such as `1280x720`."""
    found = re.fullmatch(r"\s*([0-9]{1,5})\s*[xX×]\s*([0-9]{1,5})\s*", text)
    if found is None:
        raise UsageError(f"{text!r} is not a resolution.", remedy="Write it like 1280x720.")
    return int(found[1]), int(found[2])


def _check(
    count: int, resolutions: Sequence[Resolution], scales: Sequence[float], mix: Mapping[str, float]
) -> None:
    sides = [side for size in resolutions for side in size]
    checks = (
        (count >= 1, f"{count} samples cannot be made; ask for at least one."),
        (resolutions and scales, "A data set needs at least one resolution and one scale."),
        (
            all(1 <= side <= _LARGEST_SIDE for side in sides),
            f"Sides have 1 to {_LARGEST_SIDE} pixels.",
        ),
        (all(0.5 <= scale <= 8 for scale in scales), "Scales are from 0.5 to 8."),
        (set(mix) <= set(DEFAULT_MIX), f"Kinds of pages are {', '.join(DEFAULT_MIX)}."),
        (all(0 <= share < float("inf") for share in mix.values()), "Shares are from 0 on."),
        (sum(mix.values()), "The shares of all kinds of pages are zero."),
    )
    for holds, problem in checks:
        if not holds:
            raise UsageError(problem)


# --- instructions

_ORDINALS = ("first", "second", "third", "fourth")  # pages have no more elements that look alike
_ENDS = (("left-most", "right-most", "left"), ("top-most", "bottom-most", "top"))


def described(kind: ElementType, text: str, rank: tuple[int, int, int] | None) -> str:
    """Return the name of an element in an instruction; `rank` is one of `tell_apart`."""
    noun = kind.replace("_", " ")
    if kind is ElementType.TEXT:
        name = f"text '{text}'"
    elif kind is ElementType.ICON:
        name = f"{text} icon"
    else:
        name = f"'{text}' {noun}"
    if rank is None:
        return name
    axis, place, of = rank
    first, last, side = _ENDS[axis]
    if place == 0:
        return f"{first} {name}"
    if place == of - 1:
        return f"{last} {name}"
    return f"{_ORDINALS[place]} {name} from the {side}"


def refusals(random: Random, page: Page, elements: int, negatives: float) -> list[AnnotatedElement]:
    """Return instructions for missing elements: about this share of all instructions."""
    if not negatives:
        return []
    wanted = int(elements * negatives / (1 - negatives) + random.random())
    everything = {**WORDS, ElementType.ICON: tuple(PICTOGRAMS)}
    absent = [
        (kind, text)
        for kind, texts in everything.items()
        for text in texts
        if is_absent(text, kind, page.items)
    ]
    random.shuffle(absent)
    return [
        AnnotatedElement(
            id=f"absent-{order:02d}-{kind}",
            bbox=Box(0, 0, 0, 0),
            text=text,
            element_type=kind,
            instruction=f"Click on the {described(kind, text, None)}",
            refusal=True,
        )
        for order, (kind, text) in enumerate(absent[:wanted])
    ]


def is_absent(text: str, kind: ElementType, items: Sequence[DrawnElement]) -> bool:
    """Return whether a text can mean no word and no icon on a page."""
    wanted = {text.lower(), *(PICTOGRAMS[text].meanings if kind is ElementType.ICON else ())}
    for item in items:
        there = {item.text.lower()}
        if item.kind is ElementType.ICON:
            there |= set(PICTOGRAMS[item.text].meanings)
        if any(a in b or b in a for a in wanted for b in there):
            return False
    return True
