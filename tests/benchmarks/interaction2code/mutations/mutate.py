"""Every way to break a working interaction, with the label that a person would give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mutations.dataset import write_source
from mutations.pages import Page, Working
from mutations.session import PAUSE, Corners, Seen, Session, Stranger

TYPES = ("none", *"abcdefghij")
USABLE = frozenset(
    {"none", "d", "e", "f", "i"}
)  # (c): most stand-ins here are far away or controls
SLOW = 900  # ms, for mutations that delay something


@dataclass(frozen=True)
class Scene:
    """A working interaction with all that a mutation may want to know of it."""

    page: Page
    it: Working
    seen: Seen
    strangers: tuple[Stranger, ...]

    @property
    def trigger(self) -> Corners:
        """Where its element is."""
        assert self.seen.trigger is not None
        return self.seen.trigger

    @property
    def on_body(self) -> bool:
        """Whether the whole page is what is acted on."""
        return self.seen.trigger_tag == "body"

    @property
    def appears(self) -> tuple[str, ...]:
        """Selectors of the parts of the effect that can only be seen afterwards."""
        pairs = zip(self.it.effect, self.seen.effects_before, self.seen.effects_after, strict=True)
        return tuple(selector for selector, before, after in pairs if not before and after)

    @property
    def lines(self) -> tuple[str, ...]:
        """Selectors of the parts of the effect that are one line of text before and after."""
        texts = zip(self.it.effect, self.seen.texts_before, self.seen.texts_after, strict=True)
        return tuple(
            selector
            for selector, before, after in texts
            if before and after and "\n" not in before + after and selector not in self.appears
        )

    @property
    def retexted(self) -> tuple[str, ...]:
        """Those lines that say something else afterwards."""
        texts = dict(zip(self.it.effect, self.seen.texts_before, strict=True))
        later = dict(zip(self.it.effect, self.seen.texts_after, strict=True))
        return tuple(selector for selector in self.lines if texts[selector] != later[selector])

    def far_strangers(self, distance: float = 110) -> list[Stranger]:
        """Unrelated elements at some distance from the trigger, the nearest first."""
        x, y = centre(self.trigger)
        apart = [(_distance(centre(one.box), (x, y)), one) for one in self.strangers]
        return [one for far, one in sorted(apart, key=lambda pair: pair[0]) if far >= distance]


Way = Callable[[Scene], str | None]
WAYS: list[tuple[str, str, Way]] = []


def way(type: str) -> Callable[[Way], Way]:
    """Register a function that makes a failure of this type, or None where it does not apply."""

    def register(function: Way) -> Way:
        WAYS.append((type, function.__name__.replace("_", " "), function))
        return function

    return register


@dataclass(frozen=True)
class Mutant:
    """A version of a page and the label that it deserves."""

    page: Page
    it: Working
    type: str
    name: str
    html: str

    @property
    def id(self) -> str:
        """How reports call it."""
        return f"{self.page.name}/{self.it.number} {self.type}: {self.name}"

    @property
    def usable(self) -> bool:
        """Whether people would still call it usable."""
        return self.type in USABLE

    @property
    def pause(self) -> int:
        """How long its effect may take, in ms."""
        return SLOW if "late" in self.name or "slow" in self.name else PAUSE


def scene(session: Session, page: Page, it: Working, folder: Path) -> Scene:
    """Look at a working interaction."""
    file = write_source(page, page.html, folder, "original")
    return Scene(page, it, session.watch(page, file, it), session.strangers(page, file, it))


def candidates(one: Scene) -> Iterator[Mutant]:
    """All mutants that can be written down for an interaction, whether they are valid or not."""
    from mutations import ways_effect, ways_harmless, ways_trigger, ways_wrong  # noqa: F401

    page, it = one.page, one.it
    for type_, name, function in WAYS:
        html = function(one)
        if html is not None and html != page.html:
            yield Mutant(page, it, type_, name, html)
    for edit in it.edits:
        yield Mutant(page, it, edit.type, edit.name, page.html.replace(edit.find, edit.replace))


def valid(session: Session, one: Scene, mutant: Mutant, folder: Path) -> bool:
    """Whether an oracle that looks at a mutant in a browser agrees with its label."""
    from mutations.oracle import objection

    file = write_source(one.page, mutant.html, folder, "candidate")
    seen = session.watch(one.page, file, one.it, pause=mutant.pause)
    return objection(mutant.type, one, seen) is None


def centre(box: Corners) -> tuple[float, float]:
    """The middle of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def room(box: Corners, window: tuple[int, int]) -> tuple[float, float]:
    """How far a box can go inside a window, sideways and up or down, where there is more room."""
    sideways = (window[0] - box[2], -box[0])
    upright = (window[1] - box[3], -box[1])
    return max(sideways, key=abs), max(upright, key=abs)


def _distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))
