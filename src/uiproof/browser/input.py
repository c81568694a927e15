"""A mouse and a keyboard for one tab: real input events, through the DevTools protocol."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.browser.devtools import Parameters, Session

_DRAG_SECONDS = 2.0  # until the browser has told what is dragged
_MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

# Keys that are not a letter, a digit or a sign: their number, and what they write.
_NAMED = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Backspace": (8, ""),
    "Delete": (46, ""),
    "Insert": (45, ""),
    "Escape": (27, ""),
    "Home": (36, ""),
    "End": (35, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "Shift": (16, ""),
    "Control": (17, ""),
    "Alt": (18, ""),
    "Meta": (91, ""),
    **{f"F{number}": (111 + number, "") for number in range(1, 13)},
}
_CODES = {"Shift": "ShiftLeft", "Control": "ControlLeft", "Alt": "AltLeft", "Meta": "MetaLeft"}
# Signs of a US keyboard: the key that writes them, plain and with Shift.
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
}
_SHIFTED_DIGITS = ")!@#$%^&*("


def describe_key(key: str) -> Parameters | None:
    """Return what a key event says of a key: a name such as `Enter`, or a character.

    None for a name or character that no key of a US keyboard has.
    """
    if key == "Space":
        key = " "
    if key in {"\n", "\r"}:
        key = "Enter"
    if key in _NAMED:
        number, text = _NAMED[key]
        return _key(key, _CODES.get(key, key), number, text)
    if len(key) != 1 or not key.isascii():
        return None
    if key.isalpha():
        return _key(key, f"Key{key.upper()}", ord(key.upper()), key)
    if key.isdigit():
        return _key(key, f"Digit{key}", ord(key), key)
    if key in _SHIFTED_DIGITS:
        digit = _SHIFTED_DIGITS.index(key)
        return _key(key, f"Digit{digit}", ord(str(digit)), key)
    for code, (number, signs) in _SIGNS.items():
        if key in signs:
            return _key(key, code, number, key)
    return None


def _key(key: str, code: str, number: int, text: str) -> Parameters:
    return {"key": key, "code": code, "windowsVirtualKeyCode": number, "text": text}


class Mouse:
    """A pointer with a left button and a wheel. It is nowhere until it is first moved."""

    def __init__(self, session: Session, drags: Callable[[], bool]) -> None:
        self._session = session
        self._drags = drags  # whether the page began to drag something itself
        self._at = (0.0, 0.0)
        self._pressed = False
        self._dragged: dict[str, Any] | None = None  # what is dragged, as the browser told it
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
            button = "left" if self._pressed else "none"
            self._send("mouseMoved", at_x, at_y, button=button)
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
        """Turn the wheel where the pointer is."""
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
        """Press keys such as `Enter`, `a` or `Control+k`; False where there is no such key."""
        *held, last = (
            [part or "+" for part in combination.split("+")]
            if len(combination) > 1
            else [combination]
        )
        keys = [describe_key(name) for name in (*held, last)]
        if any(key is None for key in keys) or any(name not in _MODIFIERS for name in held):
            return False
        known = [key for key in keys if key is not None]
        for key in known:
            self._down(key)
        for key in reversed(known):
            self._up(key)
        return True

    def type(self, text: str) -> None:
        """Write a text one key after the other; what no key has is inserted."""
        for character in text:
            if describe_key(character) is None:
                self.insert(character)
            else:
                self.press(character)

    def insert(self, text: str) -> None:
        """Put a text in without keys."""
        self._session.send("Input.insertText", {"text": text})

    def _down(self, key: Parameters) -> None:
        self._modifiers |= _MODIFIERS.get(key["key"], 0)
        # With a modifier other than Shift, a key is a command and writes nothing.
        text = "" if self._modifiers & ~_MODIFIERS["Shift"] else key["text"]
        written = {"text": text, "unmodifiedText": text} if text else {}
        kind = "keyDown" if text else "rawKeyDown"
        self._send(kind, {**key, **written, "text": text})

    def _up(self, key: Parameters) -> None:
        self._modifiers &= ~_MODIFIERS.get(key["key"], 0)
        self._send("keyUp", {**key, "text": ""})

    def _send(self, kind: str, key: Parameters) -> None:
        event = {"type": kind, "modifiers": self._modifiers, **key}
        self._session.send("Input.dispatchKeyEvent", event)
