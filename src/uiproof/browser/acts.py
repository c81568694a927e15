"""Acting on a live page with real input events, as a person would."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from uiproof.browser.snapshots import Action, ActionKind, Element

if TYPE_CHECKING:
    from uiproof.browser.input import Keyboard, Mouse

DEFAULT_TEXTS = {
    "email": "name@example.com",
    "number": "42",
    "tel": "5550100",
    "url": "https://example.com",
    "date": "2025-06-15",
    "time": "12:30",
    "datetime-local": "2025-06-15T12:30",
    "month": "2025-06",
    "week": "2025-W24",
    "color": "#3366cc",
    "range": "75",
}
DEFAULT_TEXT = "Hello"
LONGEST_TYPED = 500  # characters; what is longer is inserted in one go

_KEYS = {
    "enter": "Enter",
    "return": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "space": "Space",
    "spacebar": "Space",
    "backspace": "Backspace",
    "del": "Delete",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    **{way: f"Arrow{way.title()}" for way in ("up", "down", "left", "right")},
    **{f"arrow{way}": f"Arrow{way.title()}" for way in ("up", "down", "left", "right")},
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
    "ctrl": "Control",
    "control": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "meta": "Meta",
    "option": "Alt",
    "alt": "Alt",
    "shift": "Shift",
}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_FAR = 1_000_000  # pixels: beyond the end of any page
_WAYS = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}

Run = Callable[[str, Any], Any]


class Actor:
    """The hand that moves the pointer and presses the keys of one page."""

    def __init__(
        self,
        mouse: Mouse,
        keyboard: Keyboard,
        run: Run,
        settle: Callable[[], None],
        viewport: tuple[int, int],
    ) -> None:
        self._mouse, self._keyboard = mouse, keyboard
        self._run = run
        self._settle = settle
        self._viewport = viewport

    def act(self, element: Element | tuple[float, float], action: Action) -> str | None:
        """Do one thing; None when it was done, else why it could not be."""
        acts: dict[ActionKind, Callable[[dict[str, Any], str | None], str | None]] = {
            "click": self._click,
            "hover": self._hover,
            "type": self._type,
            "select": self._select,
            "drag": self._drag,
            "scroll": self._scroll,
            "key": self._key,
        }
        place = self._place(element, action.kind)
        if problem := place.get("problem"):
            return str(problem)
        return acts[action.kind](place, action.value)

    def reach(self, element: Element | tuple[float, float], kind: ActionKind) -> dict[str, Any]:
        """Scroll to an element; where a pointer reaches it, or the `problem`."""
        if isinstance(element, Element):
            return self._reach(element.ref, kind)
        found: dict[str, Any] = self._run("reach", {"ref": 0, "point": element, "kind": kind})
        return found

    def _place(self, element: Element | tuple[float, float], kind: ActionKind) -> dict[str, Any]:
        """Where to act. Keys need no pointer, so nothing can be in its way."""
        if isinstance(element, Element):
            if kind == "key":
                return {"ref": element.ref}
            if kind == "select":
                found = self._field(element.ref, "list")
                if found.get("ref"):
                    # The choice is made without the pointer, but a person would need it.
                    covered = str(self._reach(found["ref"], kind).get("problem", ""))
                    if covered.startswith("it is covered"):
                        return {"problem": covered}
                if found.get("ref") or found.get("problem"):
                    return {"ref": element.ref, **found, "list": found.get("ref")}
        return self.reach(element, kind)

    def _reach(self, ref: int, kind: ActionKind) -> dict[str, Any]:
        found: dict[str, Any] = self._run("reach", {"ref": ref, "point": None, "kind": kind})
        return {**found, "is_element": True}

    def _field(self, ref: int, work: str, value: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._run("field", {"ref": ref, "work": work, "value": value})
        return found

    # --- one method for each kind of action

    def _approach(self, place: dict[str, Any], kind: ActionKind) -> str | None:
        """Move the pointer to an element, and after it if it gets out of the way."""
        for _ in range(3):
            self._mouse.move(place["x"], place["y"])
            if not place.get("is_element"):
                return None
            # What opened under the pointer before may have closed, and moved everything.
            found = self._reach(place["ref"], kind)
            if problem := found.get("problem"):
                return str(problem)
            moved = abs(found["x"] - place["x"]) + abs(found["y"] - place["y"])
            place.update(found)
            if moved < 1:
                return None
        return None

    def _click(self, place: dict[str, Any], _: str | None = None) -> str | None:
        if problem := self._approach(place, "click"):
            return problem
        self._mouse.down()
        self._mouse.up()
        return None

    def _hover(self, place: dict[str, Any], _: str | None) -> str | None:
        left, top, right, bottom = place["rect"]
        width, height = self._viewport
        # From just outside, so that entering it is an event also if the pointer was on it.
        beside = (
            (left - 3, place["y"]),
            (right + 3, place["y"]),
            (place["x"], top - 3),
            (place["x"], bottom + 3),
        )
        for x, y in beside:
            if 0 <= x < width and 0 <= y < height:
                self._mouse.move(x, y)
                break
        self._mouse.move(place["x"], place["y"], steps=2)
        return None

    def _type(self, place: dict[str, Any], value: str | None) -> str | None:
        field = self._field(place["ref"], "field")
        if problem := field.get("problem"):
            return str(problem)
        options = field.get("options") or []
        default = options[0] if options else DEFAULT_TEXTS.get(field.get("type", ""), DEFAULT_TEXT)
        text = default if value is None else value
        if field["ref"] and not field["typed"]:
            return self._field(field["ref"], "put", text).get("problem")
        if problem := self._click(place):
            return problem
        marked = self._field(field["ref"] or 0, "mark")
        if problem := marked.get("problem"):
            return str(problem)
        if marked["filled"] and not text:
            self._keyboard.press("Backspace")
        head, rest = text[:LONGEST_TYPED], text[LONGEST_TYPED:]
        self._keyboard.type(head)
        if rest:
            self._keyboard.insert(rest)
        self._field(0, "changed")
        return None

    def _select(self, place: dict[str, Any], value: str | None) -> str | None:
        if "list" not in place:
            found = self._field(place["ref"], "list", value)
            if found.get("ref"):
                place = {**place, **found, "list": found["ref"]}
        if place.get("list"):
            wanted = value if value is not None else place.get("wanted")
            return self._field(place["list"], "choose", wanted).get("problem")
        field = self._field(place["ref"], "field")
        if field.get("options"):
            return self._type(place, value)
        return self._select_of_page(place, value)

    def _select_of_page(self, place: dict[str, Any], value: str | None) -> str | None:
        """Open a list that the page made itself, and click the option."""
        before = self._field(place["ref"], "options", value)["refs"]
        self._click(place)
        self._settle()
        after = self._field(place["ref"], "options", value)
        if "problem" in after:  # clicking already was the choice
            return None
        for ref in [one for one in after["refs"] if one not in before] or after["refs"]:
            reached = self._reach(ref, "click")
            if "problem" not in reached:
                return self._click(reached)
        return None if value is None else f"it has no option '{value}'"

    def _drag(self, place: dict[str, Any], value: str | None) -> str | None:
        left, top, right, bottom = place["rect"]
        width, height = right - left, bottom - top
        x, y = place["x"], place["y"]
        slider = self._field(place["ref"], "slider")["range"]
        margin = min(8.0, width / 4, height / 2)  # half of a slider's handle
        # Who says how far takes an element by its middle; else a slider is taken by its handle.
        if slider and value is None:
            if slider["upright"]:
                y = bottom - margin - slider["share"] * (height - 2 * margin)
            else:
                x = left + margin + slider["share"] * (width - 2 * margin)
        if value is None:
            if slider and slider["upright"]:
                dx, dy = 0.0, bottom - margin - 0.75 * (height - 2 * margin) - y
            elif slider:
                dx, dy = left + margin + 0.75 * (width - 2 * margin) - x, 0.0
            else:
                dx, dy = width / 2, 0.0
        else:
            way = parse_way(value, (width, height))
            if way is None:
                return f"it is not clear how far to drag: '{value}'"
            dx, dy = way
        self._mouse.move(x, y)
        self._mouse.down()
        self._mouse.move(x + dx, y + dy, steps=10)
        self._mouse.up()
        return None

    def _scroll(self, place: dict[str, Any], value: str | None) -> str | None:
        moved = self._field(place["ref"], "scroller")
        way = parse_way(value or "down", (moved["width"], moved["height"]))
        if way is None:
            return f"it is not clear how far to scroll: '{value}'"
        if (
            value
            and len(_NUMBER.findall(value)) == 1
            and not re.search("left|right", value.lower())
        ):
            way = (0.0, way[0] or way[1])  # a number alone is a way down
        self._mouse.move(moved.get("x", place["x"]), moved.get("y", place["y"]))
        self._mouse.wheel(*way)
        return None

    def _key(self, place: dict[str, Any], value: str | None) -> str | None:
        if "x" in place:  # a point: keys go to whatever a click there leaves with the focus
            self._click(place)
        elif problem := self._field(place["ref"], "focus").get("problem"):
            return str(problem)
        for key in parse_keys(value or "Enter"):
            if not self._keyboard.press(key):
                return f"there is no key '{key}'"
        return None


def parse_keys(value: str) -> list[str]:
    """Keys as the keyboard knows them: `ctrl+k` is `Control+k`, `down down` two presses.

    ```python
    parse_keys("esc")          # ["Escape"]
    parse_keys("Tab, Enter")   # ["Tab", "Enter"]
    ```
    """
    if value in {" ", ",", "+"}:
        return [value]
    presses = []
    for press in re.split(r"[\s,]+", re.sub(r"\s*\+\s*", "+", value.strip())):
        parts = [part for part in press.split("+") if part] or [press]
        names = [_KEYS.get(part.lower().replace("_", "").replace("-", ""), part) for part in parts]
        presses.append("+".join(names))
    return [press for press in presses if press]


def parse_way(value: str, size: tuple[float, float]) -> tuple[float, float] | None:
    """How far to drag or scroll, in pixels; None where the words say nothing about it.

    Understood are `dx,dy`, a single number (to the right; `scroll` takes it as down), `left`,
    `right`, `up`, `down` with or without a number, percentages of `size`, and `top` and `bottom`.

    ```python
    parse_way("30, -5", (200, 100))    # (30.0, -5.0)
    parse_way("down 40", (200, 100))   # (0.0, 40.0)
    parse_way("left 50%", (200, 100))  # (-100.0, 0.0)
    ```
    """
    words = value.lower()
    if re.search(r"\b(?:bottom|end)\b", words):
        return 0.0, float(_FAR)
    if re.search(r"\b(?:top|start|beginning)\b", words):
        return 0.0, float(-_FAR)
    numbers = [max(-_FAR, min(_FAR, float(found))) for found in _NUMBER.findall(words)]
    way = next((step for word, step in _WAYS.items() if re.search(rf"\b{word}", words)), None)
    if "%" in words:
        across = way is None or way[0] != 0
        numbers = [
            number / 100 * size[index if len(numbers) > 1 else (0 if across else 1)]
            for index, number in enumerate(numbers[:2])
        ]
    if way is not None:
        far = abs(numbers[0]) if numbers else (size[0] if way[0] else size[1])
        return way[0] * far, way[1] * far
    if not numbers:
        return None
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0], 0.0)
