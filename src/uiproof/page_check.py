"""Check a page without a reference: does it work, can it be read, does it fit.

`docs/rewards.md` defines each component. All are in 0-1, 1 is without fault, and the score is

    renders x (weighted mean of the others + the lowest of them) / 2

so that one grave fault costs more than its share of a mean. A blank page scores 0.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from uiproof.benchmark import Case, Judge, Score
from uiproof.browser.changes import changes
from uiproof.browser.foreign import SCRIPT_ERRORS
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.errors import UsageError
from uiproof.geometry import PixelBox
from uiproof.repetition import readable_repetition
from uiproof.vision.images import Rgb, decode

if TYPE_CHECKING:
    from uiproof.browser import PageSource, Renderer, Stage

WIDE, NARROW = (1280, 720), (390, 844)  # windows in CSS pixels
MOST_TRIED = 8  # controls
MOST_FINDINGS = 10  # of each kind
_MOST_LOADS = 2  # that clear away what acting on other controls has left, in each check

RENDERS = "renders"
WEIGHTS: Mapping[str, float] = {
    "scripts": 2.0,
    "controls": 2.0,
    "fits": 2.0,
    "legible": 2.0,
    "finished": 1.0,
    "varied": 1.0,
    "named": 1.0,
    "styled": 1.0,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a page."""

    kind: str  # blank, script_error, dead_control, overflow, contrast, placeholder, …
    says: str  # one plain sentence
    selector: str = ""  # of the element; empty for the whole page
    box: tuple[int, int, int, int] | None = None  # left, top, right, bottom in CSS pixels
    window: int = WIDE[0]  # the width of the window in which the box was measured


@dataclass(frozen=True, slots=True)
class PageCheck:
    """The quality of a page without a reference."""

    score: float  # in 0-1
    components: Mapping[str, float]  # `renders` and those of `WEIGHTS`, each in 0-1
    findings: tuple[Finding, ...] = ()
    flags: tuple[str, ...] = ()  # as of rendered pages; see docs/rendering.md
    seconds: float = 0.0

    def __float__(self) -> float:
        return self.score

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return asdict(self)


def combined(components: Mapping[str, float], weights: Mapping[str, float] | None = None) -> float:
    """Return the score of components; a weight of 0 leaves one out, others stay as they are."""
    used = {name: weight for name, weight in checked_weights(weights).items() if weight}
    if not used:
        return components[RENDERS]
    mean = sum(components[name] * weight for name, weight in used.items()) / sum(used.values())
    lowest = min(components[name] for name in used)
    return min(max(components[RENDERS] * (mean + lowest) / 2, 0.0), 1.0)


def checked_weights(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Return all weights, those given in the place of the default ones."""
    for name, weight in (weights or {}).items():
        if name not in WEIGHTS:
            raise UsageError(
                f"There is no component {name!r}.", remedy=f"Use some of: {', '.join(WEIGHTS)}."
            )
        if not isinstance(weight, (int, float)) or not isfinite(weight) or weight < 0:
            raise UsageError(f"The weight of {name!r} is {weight!r}; it must be at least 0.")
    return {**WEIGHTS, **(weights or {})}


class PageCheckJudge(Judge[None, None, "PageSource"]):
    """Checks pages in a worker; its scores are the components."""

    def __init__(self, renderer: Callable[[], Renderer]) -> None:
        self._renderer = renderer

    def score(self, case: Case[None, None], answer: PageSource) -> Score:  # noqa: ARG002
        """Check a page."""
        checked = check_source(self._renderer(), answer)
        findings = [asdict(one) for one in checked.findings]
        return Score(checked.components, {"findings": findings}, flags=checked.flags)

    def failure(self, case: Case[None, None] | None) -> Score:  # noqa: ARG002
        """Return the components of a page that cannot be shown."""
        return Score(dict.fromkeys((RENDERS, *WEIGHTS), 0.0))


def check_source(renderer: Renderer, source: PageSource) -> PageCheck:
    """Check a page with a browser of the caller's."""
    began = time.perf_counter()
    with _Visit(renderer, source) as visit:
        components = visit.components()
        flags = tuple(sorted(visit.flags))
        findings = tuple(visit.findings)
    components = {name: round(value, 6) for name, value in components.items()}
    seconds = time.perf_counter() - began
    return PageCheck(combined(components), components, findings, flags, round(seconds, 4))


@dataclass(frozen=True, slots=True)
class _Told:
    """Facts about an element that a snapshot lacks."""

    selector: str
    name: str
    plain: bool  # in the browser's own font


class _Visit:
    """One page, looked at in both windows and acted on in the wide one."""

    def __init__(self, renderer: Renderer, source: PageSource) -> None:
        self._renderer, self._source = renderer, source
        self._open = ExitStack()
        self.findings: list[Finding] = []
        self.flags: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._loads = 0
        self._errors: list[str] = []  # of scripts, on earlier loads of the page

    def __enter__(self) -> _Visit:
        self._enter_stage()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _enter_stage(self) -> None:
        self._open.close()
        self._stage = self._open.enter_context(self._renderer.stage(self._source, WIDE))

    def components(self) -> dict[str, float]:
        """Return all components; the findings are added on the way."""
        snapshot = self._stage.snapshot()
        picture = decode(self._stage.screenshot())
        self._told, page_width, cover = _told(self._stage, snapshot)
        if cover:  # nothing else can ever be seen
            front = [one for one in snapshot.elements if one.ref == cover]
            inside = [one for at in front for one in snapshot.inside(at)]
            snapshot = replace(snapshot, elements=(*front, *inside))
        if not _shows_something(snapshot, picture):
            self._find("blank", "The page shows nothing.")
            return dict.fromkeys((RENDERS, *WEIGHTS), 0.0)
        found = {
            RENDERS: 1.0,
            "legible": self._legible(snapshot, picture),
            "finished": self._finished(snapshot),
            "varied": self._varied(snapshot),
            "named": self._named(snapshot),
            "styled": self._styled(snapshot),
        }
        wide = self._fits(snapshot, self._told, page_width, WIDE[0])
        found["controls"] = self._controls(snapshot)
        found["scripts"] = self._scripts()
        self._open.close()  # one page at a time
        with self._renderer.stage(self._source, NARROW) as narrow:
            seen = narrow.snapshot()
            told, page_width, _ = _told(narrow, seen)
            found["fits"] = (wide + self._fits(seen, told, page_width, NARROW[0])) / 2
        return {name: found[name] for name in (RENDERS, *WEIGHTS)}

    def _find(self, kind: str, says: str, element: Element | None = None, **more: Any) -> None:
        self._counts[kind] += 1
        if self._counts[kind] > MOST_FINDINGS:
            return
        if element is not None:
            told = more.pop("told", self._told)
            box = element.box
            more["box"] = (box.left, box.top, box.right, box.bottom)
            more["selector"] = told[element.ref].selector if element.ref in told else ""
        self.findings.append(Finding(kind, says, **more))

    # --- scripts

    def _scripts(self) -> float:
        noted = dict.fromkeys(self._errors + self._stage.web.errors)
        errors = [one for one in noted if not one.startswith("Warning: ")]  # advice of React
        self.flags |= self._stage.flags
        uncaught = SCRIPT_ERRORS in self.flags
        for text in errors:
            self._find("script_error", f"A script fails or prints an error: {_short(text, 120)}")
        many = len(errors) or int(uncaught)
        return 1 / (1 + many) if uncaught else 1 / (1 + many / 2)

    # --- width

    def _fits(
        self, snapshot: Snapshot, told: Mapping[int, _Told], page_width: int, window: int
    ) -> float:
        """Return 1 where the page is as wide as its window, else at most a half."""
        if page_width > window + 1:
            out = {one.ref for one in snapshot.elements if one.box.right > window + 1}
            outermost = [
                one
                for one in snapshot.elements
                if one.ref in out and (one.parent not in out) and one.tag not in ("html", "body")
            ]
            for one in sorted(outermost, key=lambda one: -one.box.right)[:MOST_FINDINGS]:
                beyond = f"{one.box.right - window} px beyond a window of {window} px"
                says = f"{_label(one)} ends {beyond}."
                self._find("overflow", says, one, told=told, window=window)
            if not outermost:
                says = f"The page is {page_width} px wide in a window of {window} px."
                self._find("overflow", says, window=window)
            return 0.5 * window / page_width
        # The page cannot scroll sideways, so text across the edge is cut off. Elements that start
        # beyond the edge are off-screen on purpose, such as drawers.
        cut = [
            one
            for one in snapshot.elements
            if one.ink is not None and one.ink.box.left < window and one.ink.box.right > window + 4
        ]
        for one in cut:
            says = f"{_label(one)} is cut off at the right of a window of {window} px."
            self._find("overflow", says, one, told=told, window=window)
        return 1.0 if not cut else 0.5

    # --- text

    def _legible(self, snapshot: Snapshot, picture: Rgb) -> float:
        """Return the share of characters that stand out from what is behind them."""
        total = clear = 0.0
        for one in _texts(snapshot):
            if one.ink is None or one.ink.covered or not one.enabled:
                continue
            contrast = contrast_in(picture, one.ink.box, one.ink.color, one.ink.opacity)
            if contrast is None:
                continue
            wanted = 3.0 if _is_large(one) else 4.5  # WCAG 2.2, 1.4.3
            total += len(one.text)
            clear += len(one.text) * min((contrast - 1) / (wanted - 1), 1.0)
            if contrast < wanted - 0.05:
                ratio = f"{contrast:.1f}:1 where {wanted:g}:1 is needed"
                self._find("contrast", f"{_label(one)} has a contrast of {ratio}.", one)
        return clear / total if total else 1.0

    def _finished(self, snapshot: Snapshot) -> float:
        found = 0
        for one in _texts(snapshot):
            if one.tag in _FIELDS or one.tag in _CODE:
                continue
            if (left := placeholder_in(one.text)) is not None:
                found += 1
                self._find("placeholder", f"{_label(one)} has placeholder text: {left!r}.", one)
        return 1 / (1 + found)

    def _varied(self, snapshot: Snapshot) -> float:
        """Return the share of the text that does not repeat what was there before."""
        texts = [one.text for one in _texts(snapshot)]
        total = sum(map(len, texts))
        if not total:
            return 1.0
        counts: Counter[str] = Counter()
        again = 0
        for one in _texts(snapshot):
            if len(one.text.encode()) < _SENTENCE:
                continue
            counts[one.text] += 1
            if counts[one.text] > _ALLOWED:
                again += len(one.text)
            if counts[one.text] == _ALLOWED + 1:
                times = texts.count(one.text)
                self._find("repetition", f"{_label(one)} stands there {times} times.", one)
        chunks = readable_repetition(self._source.text)
        if chunks and not again:
            first = min(chunks)
            again = sum(len(chunk) for members in chunks.values() for chunk in members[1:])
            times, sample = len(chunks[first]), _short(" ".join(chunks[first][0].split()), 60)
            self._find("repetition", f"The page repeats itself {times} times: {sample!r}.")
        return max(1 - again / max(total, again), 0.0)

    def _styled(self, snapshot: Snapshot) -> float:
        """Return the share of characters in a font that the page has chosen."""
        texts = [one for one in _texts(snapshot) if one.tag not in _FIELDS | {"button"} | _CODE]
        total = sum(len(one.text) for one in texts)
        plain = sum(len(one.text) for one in texts if self._told[one.ref].plain)
        if plain > total / 2:
            self._find("unstyled", "Most text is in the browser's own font: the page has no style.")
        return 1 - plain / total if total else 1.0

    # --- controls

    def _named(self, snapshot: Snapshot) -> float:
        controls = [one for one in snapshot.elements if _is_control(one) or _is_link(one)]
        nameless = [one for one in controls if not self._told[one.ref].name]
        for one in nameless:
            self._find("unnamed_control", f"<{one.tag}> has no name for screen readers.", one)
        return 1 - len(nameless) / len(controls) if controls else 1.0

    def _controls(self, snapshot: Snapshot) -> float:
        """Return the share of controls that respond; there is always one more that does."""
        chosen = _chosen(snapshot)
        if not chosen:
            return 1.0
        self._stage.events()
        self._stage.settle()
        # The elements that the page changes without any input.
        by_itself = set(self._stage.events().mutations)
        tried = alive = 0
        now, fresh, first = self._stage.snapshot(), True, True
        restless = _changed(snapshot, now)
        for one in chosen:
            at = one if first else self._stage.find(self._told[one.ref].selector)
            gone = now.document != snapshot.document or not _is_there(at, now)
            if gone and not fresh and self._loads < _MOST_LOADS:
                at, now = self._begin_again(one)
                fresh, first = True, False
            before = now
            why_not = self._act(at)
            if (
                why_not and not fresh and self._loads < _MOST_LOADS
            ):  # what was done before may be in the way
                at, before = self._begin_again(one)
                first = False
                why_not = self._act(at)
            if why_not:
                now, fresh = before, False
                continue
            events, now = self._stage.events(), self._stage.snapshot()
            done = events.dialogs or events.windows or events.navigations or events.downloads
            written = events.mutations.keys() - by_itself
            responds = bool(done or written or _changed(before, now) - restless)
            tried += 1
            alive += responds
            fresh = False
            if not responds:
                self._find("dead_control", f"{_label(one)} does not respond.", one)
        return (alive + 1) / (tried + 1)

    def _begin_again(self, control: Element) -> tuple[Element | None, Snapshot]:
        """Load the page anew; return the same control, if it is there, and what is seen."""
        self._loads += 1
        self.flags |= self._stage.flags
        self._errors += self._stage.web.errors
        self._enter_stage()
        return self._stage.find(self._told[control.ref].selector), self._stage.snapshot()

    def _act(self, control: Element | None) -> str | None:
        """Act on a control and wait; return why that was not possible."""
        if control is None or control.box.area == 0:
            return "it is not there"
        self._stage.events()
        why_not = self._stage.act(control, _action(control))
        self._stage.settle()
        return why_not


def _is_there(control: Element | None, now: Snapshot) -> bool:
    return control is not None and any(one.ref == control.ref for one in now.elements)


def _changed(before: Snapshot, after: Snapshot) -> set[int]:
    """Return the elements that came, went or say something else; colours change by hovering."""
    found = changes(before, after)
    pairs = (*found.retexted, *found.restated)
    came = {one.ref for one in (*found.appeared, *found.vanished)} | {new.ref for _, new in pairs}
    return came | ({0} if found.new_page else set())


# --- elements

_FIELDS = frozenset({"input", "select", "textarea"})
_CODE = frozenset({"code", "pre", "kbd", "samp"})
_TYPED = frozenset({"text", "search", "email", "url", "tel", "password", "number"})
_ROLES = frozenset(
    {"button", "checkbox", "combobox", "menuitem", "radio", "slider", "switch", "tab", "textbox"}
)
_SENTENCE = 16  # bytes from which a text is no mere word; few signs of Chinese say as much
_ALLOWED = 3  # times that such a text may stand on a page


def _is_control(element: Element) -> bool:
    if element.tag == "input":
        return element.type != "hidden"
    return element.tag in ("button", "select", "textarea", "summary") or element.role in _ROLES


def _is_link(element: Element) -> bool:
    return element.tag == "a" and "href" in element.attributes


def _may_be_tried(element: Element) -> bool:
    if not element.enabled or element.attributes.get("readonly") is not None:
        return False
    if element.type in ("file", "color"):
        return False  # they open windows of the system
    handles = bool(
        {"click", "mousedown", "mouseup", "pointerdown", "change"} & {*element.listeners}
    )
    return _is_control(element) or (handles and element.tag not in ("html", "body"))


def _chosen(snapshot: Snapshot) -> list[Element]:
    """Return the controls to try: spread over the page and its kinds of controls."""
    found = [one for one in snapshot.elements if _may_be_tried(one)]
    # A handler around other controls is tried with them.
    parents = {one.ref: one.parent for one in snapshot.elements}
    around: set[int] = set()
    for one in found:
        at = one.parent
        while at is not None and at not in around:
            around.add(at)
            at = parents.get(at)
    found = [one for one in found if one.ref not in around or _is_control(one)]
    kinds: dict[tuple[str, ...], list[Element]] = {}
    for one in found:
        looks = one.tag, one.role, one.type, str(one.background), *one.listeners
        kinds.setdefault(looks, []).append(one)
    taken: list[Element] = []
    while kinds and len(taken) < MOST_TRIED:  # in turns: rare kinds matter as much as frequent ones
        for kind in list(kinds):
            taken.append(kinds[kind].pop(0))
            if not kinds[kind]:
                del kinds[kind]
    order = {one.ref: at for at, one in enumerate(found)}
    # Fields first: typing seldom takes a page elsewhere.
    return sorted(taken[:MOST_TRIED], key=lambda one: (one.tag not in _FIELDS, order[one.ref]))


def _action(element: Element) -> Action:
    if element.tag == "select":
        return Action("select")
    if element.tag == "textarea" or (element.tag == "input" and element.type in _TYPED):
        return Action("type", "7" if element.type == "number" else "uiproof")
    if element.type == "range":
        return Action("drag")
    if element.type in ("date", "time", "datetime-local", "month", "week"):
        return Action("type")
    return Action("click")


def _texts(snapshot: Snapshot) -> Iterator[Element]:
    return (one for one in snapshot.elements if one.text.strip())


def _is_large(element: Element) -> bool:
    size = float(element.style.get("font-size", "16px").removesuffix("px") or 16)
    weight = element.style.get("font-weight", "400")
    is_bold = weight.isdecimal() and int(weight) >= 700
    return size >= 24 or (is_bold and size >= 18.66)


def _label(element: Element) -> str:
    said = _short(element.text or element.label, 40)
    return f"<{element.tag}> {said!r}" if said else f"<{element.tag}>"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _told(stage: Stage, snapshot: Snapshot) -> tuple[dict[int, _Told], int, int]:
    """Return what a snapshot does not say, by element; the page's width; what covers it, or 0."""
    refs = [one.ref for one in snapshot.elements]
    found = stage.run_script("check", {"refs": refs, "standard": "Times New Roman"})
    missing = {"selector": "", "name": "?", "plain": False}
    told = {ref: _Told(**(one or missing)) for ref, one in zip(refs, found["told"], strict=True)}
    return told, int(found["width"]), int(found["cover"])


# --- placeholders

_PLACEHOLDERS = re.compile(
    r"""
    lorem\s+ipsum | dolor\s+sit\s+amet | consectetur\s+adipisc\w*
    | \{\{[^{}]{0,80}\}\} | \$\{[^{}]{0,80}\} | <%[^%]{0,80}%> | \{%[^%]{0,80}%\}
    | (?-i:\b(?:TODO|FIXME|TBD)\b)(?=\s*[:(\-–—]|\s*$)
    | \b(?:your|insert|enter|add|put)\s+(?:\w+\s+){0,3}?(?:text|title|content|heading|headline
      |description|name|tagline|copy|caption|subtitle|paragraph|image)\s+here\b
    | \b(?:text|content|description|title|caption)\s+goes\s+here\b
    | \bplaceholder\s+(?:text|title|content|heading|paragraph|copy)\b
    | \[object\s+Object\] | \[(?:insert|your|add)\s[^\]]{1,60}\]
    | ^\s*(?:undefined|null|NaN)\s*$
    """,
    re.IGNORECASE | re.VERBOSE,
)


def placeholder_in(text: str) -> str | None:
    """Return the placeholder in a text that was meant to be replaced; None where there is none."""
    found = _PLACEHOLDERS.search(text)
    return None if found is None else _short(found[0].strip(), 60)


# --- pixels

_NEAR = 40  # of 255 in the channel that differs most: such pixels are a letter's own
_FEWEST = 0.25  # of the pixels of a box: fewer are its edge, and letters are on their own colour


def contrast_in(picture: Rgb, box: PixelBox, color: Sequence[int], opacity: float) -> float | None:
    """Return the WCAG contrast of the letters in a box with what is behind them, by pixels.

    With an opacity of 0 their colour is not known and is that of the pixels which differ most.
    None where the box is outside of the picture.
    """
    height, width = picture.shape[:2]
    part = picture[
        max(box.top, 0) : min(box.bottom, height), max(box.left, 0) : min(box.right, width)
    ]
    if part.size == 0:
        return None
    pixels = part.reshape(-1, 3).astype(np.float64)
    letters = np.asarray(color, np.float64)
    if opacity <= 0:
        behind = np.median(pixels, axis=0)
        apart = np.abs(pixels - behind).max(axis=1)
        letters = np.median(pixels[apart >= 0.7 * np.quantile(apart, 0.98)], axis=0)
    else:
        others = pixels[np.abs(pixels - letters).max(axis=1) > _NEAR]
        behind = np.median(others if len(others) >= _FEWEST * len(pixels) else pixels, axis=0)
        letters = letters * opacity + behind * (1 - opacity)
    light, dark = sorted((_luminance(letters), _luminance(behind)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: npt.NDArray[np.float64]) -> float:
    """Return the relative luminance of an sRGB colour, as WCAG defines it."""
    value = color / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


_PICTURES = frozenset({"img", "svg", "canvas", "video", "picture", "object", "embed"})


def _shows_something(snapshot: Snapshot, picture: Rgb) -> bool:
    """Return whether there is anything to see: in the pixels, and of the page's own content."""
    flat = picture.reshape(-1, 3)
    if bool((flat == flat[0]).all()):
        return False
    return any(
        one.text.strip()
        or one.tag in _PICTURES
        or _is_control(one)
        or "background-image" in one.style
        for one in snapshot.elements
    )
