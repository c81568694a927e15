"""Plant faults of known kinds into pages, and see which of them a list of differences names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uiproof.browser import PageSource, Renderer
from uiproof.browser.page import LivePage

KINDS = (
    *("missing", "extra", "text", "colour", "background", "moved", "resized", "font"),
    *("spacing", "picture", "order"),
)
_SCRIPT = Path(__file__).with_name("planting.js").read_text("utf-8")
_SCRIPT = "\n".join(line for line in _SCRIPT.splitlines() if not line.lstrip().startswith("//"))
_BOXES = """[...document.querySelectorAll("[data-planted]")].map((one) => {
  const { left, top, width, height } = one.getBoundingClientRect();
  return [+one.dataset.planted, left + scrollX, top + scrollY, width, height];
})"""

Rect = tuple[float, float, float, float]


@dataclass(frozen=True)
class Fault:
    """A fault that was planted: its boxes on the page before and after."""

    kind: str
    size: int  # 0 to 2
    before: tuple[Rect, ...]
    after: Rect | None


@dataclass(frozen=True)
class Planted:
    """A page with faults, and the same page without them."""

    reference: str
    generated: str
    faults: tuple[Fault, ...]


def plant(
    renderer: Renderer,
    page: PageSource,
    wanted: Sequence[tuple[str, int]],
    seed: int,
    places: Sequence[int] | None = None,
) -> Planted:
    """Plant faults, each a kind and a size, at places that the seed chooses.

    `places` are numbers that choose them with the seed; equal ones mean the same place, if it is
    still free. Kinds that a page has no place for are left out. Faults that change no pixel by
    themselves are planted, but not listed.
    """
    places = range(1, len(wanted) + 1) if places is None else places
    with renderer.open(page) as shown:
        asked = {
            "source": page.text,
            "seed": seed,
            "faults": [
                {"kind": kind, "size": size, "place": place}
                for (kind, size), place in zip(wanted, places, strict=True)
            ],
        }
        found = run_script(shown, asked)
        clean = run_script(shown, {**asked, "faults": []})
        alone = [
            run_script(shown, {**asked, "only": [index]}) for index in range(len(found["faults"]))
        ]
    with renderer.open(page.with_text(clean["html"])) as shown:
        before = shown.screenshot()
    with renderer.open(page.with_text(found["html"])) as shown:
        after: dict[int, Rect] = {
            int(number): (x, y, w, h) for number, x, y, w, h in shown.evaluate(_BOXES)
        }
    faults = []
    for index, one in enumerate(found["faults"]):
        fault = Fault(one["kind"], one["size"], tuple(map(tuple, one["before"])), after.get(index))
        with renderer.open(page.with_text(alone[index]["html"])) as shown:
            is_seen = shown.screenshot() != before
        # Margins that collapse, and sizes that a layout overrules, change nothing.
        moves = fault.kind in ("spacing", "moved", "resized")
        if is_seen and not (moves and _is_same(fault.before[0], fault.after)):
            faults.append(fault)
    return Planted(clean["html"], found["html"], tuple(faults))


def run_script(shown: LivePage, asked: dict[str, Any]) -> dict[str, Any]:
    """Plant faults in the browser, as `planting.js` says."""
    found: dict[str, Any] = shown.evaluate(f"({_SCRIPT})({json.dumps(asked)})")
    return found


def _is_same(before: Rect, after: Rect | None) -> bool:
    return after is not None and all(abs(a - b) < 1 for a, b in zip(before, after, strict=True))


def locates(difference: Any, fault: Fault) -> bool:
    """Return whether a mark at a difference's place points a reader to the fault."""
    places = [(difference.reference_box, one) for one in fault.before]
    places += [(difference.box, fault.after)]
    if difference.kind != "missing":
        places += [(box, fault.after) for box in difference.members]
    return any(_points_at(mark, true) for mark, true in places if mark and true)


def _points_at(mark: Rect, true: Rect) -> bool:
    shared = _shared(mark, true)
    areas = mark[2] * mark[3], true[2] * true[3]
    if shared >= 0.25 * (sum(areas) - shared):
        return True
    if shared >= 0.8 * areas[0]:  # a part of it
        return areas[0] >= 0.05 * areas[1] or abs(mark[1] - true[1]) <= 40
    return shared >= 0.8 * areas[1] and areas[1] >= 0.1 * areas[0]


def _shared(a: Rect, b: Rect) -> float:
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(w, 0.0) * max(h, 0.0)


@dataclass
class Accuracy:
    """How many planted faults were found and named, and what else was said."""

    planted: int = 0
    located: int = 0
    named: int = 0
    pages: int = 0
    beyond: int = 0  # differences beyond the planted ones

    def add(self, faults: Sequence[Fault], differences: Sequence[Any]) -> list[Fault]:
        """Count a page; returns the faults that were not found or not named."""
        first = list(differences[: len(faults) + 2])
        self.pages += 1
        self.planted += len(faults)
        self.beyond += max(len(differences) - len(faults), 0)
        wrong = []
        for fault in faults:
            here = [one for one in first if locates(one, fault)]
            named = any(one.kind == fault.kind for one in here)
            self.located += bool(here)
            self.named += named
            if not named:
                wrong.append(fault)
        return wrong
