"""What a method says about one instruction."""

from __future__ import annotations

from dataclasses import dataclass, field

from uiproof.boxes import Box

Point = tuple[float, float]

WHOLE = Box(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a part of the screenshot: which part, what was said, and where it pointed to.

    `sent` is the size in pixels of the picture that was looked at, which may have been scaled.
    """

    region: Box  # of the whole screenshot
    sent: tuple[int, int]
    raw: str = ""  # the answer as it came
    point: Point | None = None  # as fractions of the whole screenshot


@dataclass(frozen=True, slots=True)
class Answer:
    """Where an element is, as fractions of the whole screenshot.

    A method that gives a box and no point means the middle of the box. `refused` says that there
    is no such element. With neither a point nor a refusal, the answer could not be understood.
    """

    point: Point | None = None
    box: Box | None = None
    refused: bool = False
    confidence: float | None = None
    looks: tuple[Look, ...] = ()  # in their order; their number is the number of attempts
    # What an assisted method found by looking at the truth; None for all others.
    assisted: AssistedFinding | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)  # for people, such as what a planner said

    @property
    def click(self) -> Point | None:
        """Where it clicks."""
        return self.point if self.point is not None or self.box is None else self.box.center


@dataclass(frozen=True, slots=True)
class AssistedFinding:
    """What counts under the rules of the described framework, which show the truth to methods."""

    found: bool
    iou: float
    matched_text: str = ""
    region_errors: tuple[str, ...] = ()  # looks that failed because of the server
