"""The verifier's input, both sides of one interaction, and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

FoundBy = Literal["id", "position", "text"]
Target = Element | tuple[float, float]  # an element, or a point of the page
Mask = npt.NDArray[np.bool_]  # height x width


@dataclass(frozen=True, slots=True)
class ReferenceEvidence:
    """The data set's view of an interaction. Boxes are in CSS pixels."""

    before: Rgb
    after: Rgb
    action: Action
    trigger: PixelBox | None = None  # the mark in the picture before
    sentence: str = ""  # the action in English
    description: str = ""  # the effect in English
    name: str | None = None  # of the trigger, in the sentence
    tags: tuple[str, ...] = ()
    visuals: tuple[str, ...] = ()
    reverts: bool = False  # the graph has a way back: acting again must undo it
    read: Callable[[Rgb], Sequence[OcrLine]] | None = None  # OCR, of crops of either side
    scaled: bool = False  # its pictures are not pixel by pixel those of a browser


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one act on the generated page, from the page as it is loaded."""

    picture: Rgb  # the whole page afterwards
    snapshot: Snapshot
    changes: Changes
    events: Events
    refused: str | None = None  # why the act could not be done


@dataclass(frozen=True, slots=True)
class GeneratedEvidence:
    """The behaviour of the generated page. Boxes are in CSS pixels.

    The probes are only called where the rest does not decide; each opens the page anew, except
    `again`, which repeats the act where it has already been done. A probe that is not possible (the
    element is gone, the page does not load) returns None. `elsewhere` scrolls to an element and
    acts on other targets, one after the other.
    """

    before: Rgb
    snapshot: Snapshot  # before
    found: Element | None = None  # also if it cannot be seen: then its box may have no area
    found_by: FoundBy | None = None
    outcome: Outcome | None = None  # of the act on `found`; None where nothing was found
    noise: Mask | None = None  # true where the picture before differs between two loads
    viewport: tuple[int, int] = (1280, 720)
    approach: Rgb | None = None  # while the pointer is on it; None where that changes nothing
    pointed: Snapshot | None = None  # the elements of that moment
    others: tuple[Element, ...] = ()  # that may be meant instead, the likeliest first
    score: float = 1.0  # how much the element is like the reference's, 0-1
    action: Action | None = None  # the one done, where it is not the reference's
    attempt: Callable[[Element, Action], Outcome | None] = field(default=lambda _e, _a: None)
    again: Callable[[], Outcome | None] = field(default=lambda: None)
    elsewhere: Callable[[Element, Sequence[Target], Action], Sequence[Outcome]] = field(
        default=lambda _e, _t, _a: ()
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of an effect that is not as in the reference, with its boxes on both sides."""

    says: str
    reference_box: PixelBox | None
    box: PixelBox | None
    was: str  # in the reference
    is_now: str  # on the generated page
    importance: float  # 0-1

    def as_json(self) -> dict[str, Any]:
        """Return it as records have it, in the form of all differences (`uiproof.views`)."""
        boxes = (
            None if one is None else [one.left, one.top, one.width, one.height]
            for one in (self.reference_box, self.box)
        )
        reference_box, box = boxes
        return {
            "kind": "interaction",
            "says": self.says,
            "reference_box": reference_box,
            "box": box,
            "was": self.was or None,
            "is": self.is_now or None,
            "impact": round(min(self.importance, 1.0), 3),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verifier's answer: usable or a failure type, with the facts that show it."""

    implemented: bool  # acting on it has a visible effect
    usable: bool
    failure: Failure
    evidence: tuple[str, ...]
    confidence: float  # 0-1: the probability of `failure`
    unsure: bool = False  # a person should look
    usable_probability: float | None = None
    ranked: tuple[tuple[Failure, float], ...] = ()  # the likeliest failures, with probabilities
    differences: tuple[Difference, ...] = ()
