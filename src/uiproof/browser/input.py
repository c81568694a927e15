"""Input to a live page: mouse, keyboard, and the actions made of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from uiproof.browser.snapshots import Action, ActionKind, Element

if TYPE_CHECKING:
    from uiproof.browser.devtools import Parameters, Session

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
LONGEST_TYPED = 500  # characters; the rest is inserted at once

_DRAG_SECONDS = 2.0  # to wait until the browser reports what is dragged
_FAR = 1_000_000  # pixels, beyond the end of any page
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_DIRECTIONS = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}

_MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
_KEY_CODES = {  # of named keys; of these, only Enter writes a character
    **{"Backspace": 8, "Tab": 9, "Enter": 13, "Shift": 16, "Control": 17, "Alt": 18, "Meta": 91},
    **{"Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36},
    **{"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40},
    **{"Insert": 45, "Delete": 46},
    **{f"F{number}": 111 + number for number in range(1, 13)},
}
# Keys of a US keyboard with the characters that they write, plain and with Shift.
_SIGNS = {
    "Backquote": (192, "`~"),
    "Minus": (189, "-_"),
    "Equal": (187, "=+"),
    "BracketLeft": (219, "[{"),
    "BracketRight": (221, "]}"),
    "Backslash": (220, "\\|"),
    "Semicolon": (186, ";:"),
    "Quote": (222, "'\""),
    "Comma": (188, ",<"),
    "Period": (190, ".>"),
    "Slash": (191, "/?"),
    "Space": (32, " "),
    **{f"Digit{digit}": (48 + digit, f"{digit}{sign}") for digit, sign in enumerate(")!@#$%^&*(")},
}
# Other names of keys, in lower case.
_KEY_NAMES = {
    **{name.lower(): name for name in (*_KEY_CODES, "Space")},
    **{way: f"Arrow{way.title()}" for way in _DIRECTIONS},
    **{"return": "Enter", "esc": "Escape", "spacebar": "Space", "del": "Delete"},
    **{"ctrl": "Control", "cmd": "Meta", "command": "Meta", "option": "Alt"},
}


class Mouse:
    """A pointer with a left button and a wheel; it sends no events until it is first moved."""

    def __init__(self, session: Session, drags: Callable[[], bool]) -> None:
        self._session = session
        self._drags = drags  # whether the page started a drag operation
        self._at = (0.0, 0.0)
        self._pressed = False
        self._dragged: dict[str, Any] | None = None  # as the browser reported it
        session.on("Input.dragIntercepted", self._note_drag)

    def move(self, x: float, y: float, *, steps: int = 1) -> None:
        """Move the pointer in a straight line."""
        (from_x, from_y), self._at = self._at, (x, y)
        for step in range(1, steps + 1):
            at_x = from_x + (x - from_x) * step / steps
            at_y = from_y + (y - from_y) * step / steps
            if self._dragged is not None:
                self._drag("dragOver", at_x, at_y)
                continue
            self._send("mouseMoved", at_x, at_y, button="left" if self._pressed else "none")
            if self._pressed and self._drags():
                until = time.monotonic() + _DRAG_SECONDS
                self._session.wait(lambda: self._dragged is not None, until=until)
                self._drag("dragEnter", at_x, at_y)
                self._drag("dragOver", at_x, at_y)

    def down(self) -> None:
        """Press the left button."""
        self._session.send("Input.setInterceptDrags", {"enabled": True})
        self._pressed = True
        self._send("mousePressed", *self._at, button="left", clickCount=1)

    def up(self) -> None:
        """Release the left button."""
        self._pressed = False
        if self._dragged is not None:
            self._drag("drop", *self._at)
            self._dragged = None
        else:
            self._send("mouseReleased", *self._at, button="left", clickCount=1)
        self._session.send("Input.setInterceptDrags", {"enabled": False})

    def wheel(self, dx: float, dy: float) -> None:
        """Turn the wheel at the pointer's position."""
        self._send("mouseWheel", *self._at, deltaX=dx, deltaY=dy)

    def _send(self, kind: str, x: float, y: float, **more: Any) -> None:
        buttons = 1 if self._pressed else 0
        event = {"type": kind, "x": x, "y": y, "buttons": buttons, "pointerType": "mouse", **more}
        self._session.send("Input.dispatchMouseEvent", event)

    def _drag(self, kind: str, x: float, y: float) -> None:
        event = {"type": kind, "x": x, "y": y, "data": self._dragged}
        self._session.send("Input.dispatchDragEvent", event)

    def _note_drag(self, event: dict[str, Any]) -> None:
        self._dragged = event["data"]


class Keyboard:
    """The keys of a US keyboard."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._modifiers = 0

    def press(self, combination: str) -> bool:
        """Press keys such as `Enter`, `a` or `Control+k`; return False for an unknown key."""
        names = [combination]
        if len(combination) > 1:
            names = [part or "+" for part in combination.split("+")]
        keys = [key for key in map(describe_key, names) if key is not None]
        if len(keys) < len(names) or any(name not in _MODIFIERS for name in names[:-1]):
            return False
        for key in keys:
            self._down(key)
        for key in reversed(keys):
            self._up(key)
        return True

    def type(self, text: str) -> None:
        """Type text key by key; insert characters that have no key."""
        for character in text:
            if describe_key(character) is None:
                self.insert(character)
            else:
                self.press(character)

    def insert(self, text: str) -> None:
        """Insert text without key events."""
        self._session.send("Input.insertText", {"text": text})

    def _down(self, key: Parameters) -> None:
        self._modifiers |= _MODIFIERS.get(key["key"], 0)
        # With a modifier other than Shift, a key is a shortcut and writes nothing.
        text = "" if self._modifiers & ~_MODIFIERS["Shift"] else key["text"]
        written = {"text": text, "unmodifiedText": text} if text else {"text": ""}
        self._send("keyDown" if text else "rawKeyDown", {**key, **written})

    def _up(self, key: Parameters) -> None:
        self._modifiers &= ~_MODIFIERS.get(key["key"], 0)
        self._send("keyUp", {**key, "text": ""})

    def _send(self, kind: str, key: Parameters) -> None:
        event = {"type": kind, "modifiers": self._modifiers, **key}
        self._session.send("Input.dispatchKeyEvent", event)


def describe_key(key: str) -> Parameters | None:
    """Return the key event fields of a named key, such as `Enter`, or of a character.

    Return None if a US keyboard has no such key.
    """
    key = {"Space": " ", "\n": "Enter", "\r": "Enter"}.get(key, key)
    text = key
    if key in _KEY_CODES:
        code, number = f"{key}Left" if key in _MODIFIERS else key, _KEY_CODES[key]
        text = "\r" if key == "Enter" else ""
    elif len(key) == 1 and key.isascii() and key.isalpha():
        code, number = f"Key{key.upper()}", ord(key.upper())
    else:
        found = [(code, number) for code, (number, signs) in _SIGNS.items() if key in tuple(signs)]
        if not found:
            return None
        code, number = found[0]
    return {"key": key, "code": code, "windowsVirtualKeyCode": number, "text": text}


class Actor:
    """Perform actions on the elements of one page."""

    def __init__(
        self,
        mouse: Mouse,
        keyboard: Keyboard,
        run: Callable[[str, Any], Any],
        settle: Callable[[], None],
        hold: Callable[[], None],
        viewport: tuple[int, int],
    ) -> None:
        self._mouse, self._keyboard = mouse, keyboard
        self._run = run
        self._settle = settle
        self._hold = hold  # waits for the time between pressing and releasing a button
        self._viewport = viewport

    def act(self, element: Element | tuple[float, float], action: Action) -> str | None:
        """Perform an action; return None if it was performed, or the reason why not."""
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
        """Scroll to an element; return where the pointer can reach it, or the `problem`."""
        if isinstance(element, Element):
            return self._reach(element.ref, kind)
        found: dict[str, Any] = self._run("reach", {"ref": 0, "point": element, "kind": kind})
        return found

    def _place(self, element: Element | tuple[float, float], kind: ActionKind) -> dict[str, Any]:
        """Return where to act; keys need no pointer, so their element may be covered."""
        if isinstance(element, Element):
            if kind == "key":
                return {"ref": element.ref}
            if kind == "select":
                found = self._field(element.ref, "list")
                if found.get("ref"):
                    problem = str(self._reach(found["ref"], kind).get("problem", ""))
                    if problem.startswith(("it is covered", "it is out of reach")):
                        return {"problem": problem}
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

    def _click(self, place: dict[str, Any], _: str | None = None) -> str | None:
        if problem := self._approach(place, "click"):
            return problem
        self._mouse.down()
        self._hold()
        self._mouse.up()
        self._hold()
        self._mouse.move(place["x"] + 1, place["y"])  # as a hand would
        return None

    def _approach(self, place: dict[str, Any], kind: ActionKind) -> str | None:
        """Move the pointer to an element, and follow it if it moves."""
        for _ in range(3):
            self._move_to(place)
            if not place.get("is_element"):
                return None
            # A menu under the pointer may have closed and shifted the layout.
            found = self._reach(place["ref"], kind)
            if problem := found.get("problem"):
                return str(problem)
            moved = abs(found["x"] - place["x"]) + abs(found["y"] - place["y"])
            place.update(found)
            if moved < 1:
                return None
        return None

    def _move_to(self, place: dict[str, Any]) -> None:
        """Move the pointer across the element before it stops, as a hand does."""
        x, y = place["x"], place["y"]
        left, top, *_ = place.get("rect") or (x, y)
        for share in (0.5, 0.25, 0.1):
            self._mouse.move(x - min(x - left, 12.0) * share, y - min(y - top, 8.0) * share)
        self._mouse.move(x, y)

    def _hover(self, place: dict[str, Any], _: str | None) -> str | None:
        left, top, right, bottom = place["rect"]
        width, height = self._viewport
        # Start just outside, so that the pointer enters even if it was on the element before.
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
        for character in text[:LONGEST_TYPED]:
            self._keyboard.type(character)
            self._hold()
        if rest := text[LONGEST_TYPED:]:
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
        """Open a custom list and click the option."""
        before = self._field(place["ref"], "options", value)["refs"]
        self._click(place)
        self._settle()
        after = self._field(place["ref"], "options", value)
        if "problem" in after:  # the click itself made the choice
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
        if value is not None:
            offset = parse_offset(value, (width, height))
            if offset is None:
                return f"it is not clear how far to drag: '{value}'"
            to_x, to_y = x + offset[0], y + offset[1]
        elif not slider:
            to_x, to_y = x + width / 2, y
        else:  # drag the handle
            margin = min(8.0, width / 4, height / 2)  # half of the handle
            if slider["upright"]:
                low, room = bottom - margin, height - 2 * margin
                y, to_x, to_y = low - slider["share"] * room, x, low - 0.75 * room
            else:
                low, room = left + margin, width - 2 * margin
                x, to_x, to_y = low + slider["share"] * room, low + 0.75 * room, y
        self._mouse.move(x, y)
        self._mouse.down()
        self._hold()
        self._mouse.move(to_x, to_y, steps=10)
        self._mouse.up()
        return None

    def _scroll(self, place: dict[str, Any], value: str | None) -> str | None:
        moved = self._field(place["ref"], "scroller")
        offset = parse_offset(value or "down", (moved["width"], moved["height"]))
        if offset is None:
            return f"it is not clear how far to scroll: '{value}'"
        if (
            value
            and len(_NUMBER.findall(value)) == 1
            and not re.search("left|right", value.lower())
        ):
            offset = (0.0, offset[0] or offset[1])  # a single number scrolls down
        self._mouse.move(moved.get("x", place["x"]), moved.get("y", place["y"]))
        self._mouse.wheel(*offset)
        return None

    def _key(self, place: dict[str, Any], value: str | None) -> str | None:
        if "x" in place:  # a point: keys go to the element that a click there focuses
            self._click(place)
        elif problem := self._field(place["ref"], "focus").get("problem"):
            return str(problem)
        for key in parse_keys(value or "Enter"):
            if not self._keyboard.press(key):
                return f"there is no key '{key}'"
        return None


def parse_keys(value: str) -> list[str]:
    """Return the keys to press: `ctrl+k` becomes `Control+k`, `down down` two presses.

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
        names = (part.lower().replace("_", "").replace("-", "") for part in parts)
        keys = (_KEY_NAMES.get(name, part) for name, part in zip(names, parts, strict=True))
        presses.append("+".join(keys))
    return [press for press in presses if press]


def parse_offset(value: str, size: tuple[float, float]) -> tuple[float, float] | None:
    """Return how far to drag or scroll, in pixels, or None if the text does not say.

    Accepts `dx,dy`, a single number (to the right; `scroll` takes it as down), `left`, `right`,
    `up`, `down` with or without a number, percentages of `size`, and `top` and `bottom`.

    ```python
    parse_offset("30, -5", (200, 100))    # (30.0, -5.0)
    parse_offset("down 40", (200, 100))   # (0.0, 40.0)
    parse_offset("left 50%", (200, 100))  # (-100.0, 0.0)
    ```
    """
    words = value.lower()
    if re.search(r"\b(?:bottom|end)\b", words):
        return 0.0, float(_FAR)
    if re.search(r"\b(?:top|start|beginning)\b", words):
        return 0.0, float(-_FAR)
    numbers = [max(-_FAR, min(_FAR, float(found))) for found in _NUMBER.findall(words)]
    found = (step for word, step in _DIRECTIONS.items() if re.search(rf"\b{word}", words))
    direction = next(found, None)
    if "%" in words:
        across = direction is None or direction[0] != 0
        numbers = [
            number / 100 * size[index if len(numbers) > 1 else (0 if across else 1)]
            for index, number in enumerate(numbers[:2])
        ]
    if direction is not None:
        distance = abs(numbers[0]) if numbers else size[0 if direction[0] else 1]
        return direction[0] * distance, direction[1] * distance
    if not numbers:
        return None
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0], 0.0)
