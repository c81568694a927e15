"""What the verifier looks at: both sides of one interaction, and the verdict that it comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

Failure = Literal["none", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
FoundBy = Literal["id", "position", "text"]
Target = Element | tuple[float, float]  # what to act on: an element, or a point of the page
Mask = npt.NDArray[np.bool_]  # height x width, true where pixels differ without any interaction


@dataclass(frozen=True, slots=True)
class ReferenceEvidence:
    """What the data set shows and says about an interaction. Boxes are in CSS pixels."""

    before: Rgb
    after: Rgb
    action: Action
    trigger: PixelBox | None = None  # the mark in the picture before
    effect: PixelBox | None = None  # the mark in the picture after
    sentence: str = ""  # what is done, in English
    name: str | None = None  # of the trigger, as the sentence says it
    tags: tuple[str, ...] = ()
    visuals: tuple[str, ...] = ()
    description: str = ""
    reverts: bool = False  # the graph has a way back: acting again must undo it
    read: Callable[[Rgb], Sequence[OcrLine]] | None = None  # of any crop, also of generated ones


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one act on the generated page led to, from the page as it is loaded."""

    picture: Rgb  # the whole page afterwards
    snapshot: Snapshot
    changes: Changes
    events: Events
    refused: str | None = None  # why the act could not be done


@dataclass(frozen=True, slots=True)
class GeneratedEvidence:
    """What the generated page showed and did. Boxes are in CSS pixels.

    The probes are only called where the rest does not decide; each opens the page anew, except
    `again`, which repeats the act where it has already been done. A probe that cannot be made (the
    element is not there any more, the page does not load) returns None. `elsewhere` shows an
    element and acts on other targets, one after the other.
    """

    before: Rgb
    snapshot: Snapshot  # before
    found: Element | None = None  # also if it cannot be seen: then its box may have no area
    found_by: FoundBy | None = None
    outcome: Outcome | None = None  # of the act on `found`; None where nothing was found
    noise: Mask | None = None  # of the picture before
    viewport: tuple[int, int] = (1280, 720)
    attempt: Callable[[Element, Action], Outcome | None] = field(default=lambda _e, _a: None)
    again: Callable[[], Outcome | None] = field(default=lambda: None)
    elsewhere: Callable[[Element, Sequence[Target], Action], Sequence[Outcome]] = field(
        default=lambda _e, _t, _a: ()
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an interaction works, what is wrong with it, and how one can tell."""

    implemented: bool  # acting on it does something that a person can see
    usable: bool
    failure: Failure
    evidence: tuple[str, ...]
    confidence: float  # 0-1
