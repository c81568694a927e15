"""Talking to a browser in its own language, the DevTools protocol, over a pair of pipes.

    tools = DevTools(commands, replies)           # two file descriptors
    tools.browser.send("Browser.getVersion")
    session = tools.session(id)                   # of a tab that was attached to
    session.on("Page.loadEventFired", note)
    session.send("Page.navigate", {"url": url})

One thread does everything: it reads only while it waits for an answer, and what the browser tells
meanwhile goes to those who listen. A page costs a dozen messages this way; with a process between
us and the browser, which follows every request and frame for itself, it costs a hundred.
"""

from __future__ import annotations

import json
import os
import re
import select
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

Parameters = dict[str, Any]
Listener = Callable[[dict[str, Any]], None]

_CHUNK = 1 << 20
# The browser tells of every step of every request as long as it is to play being offline. Requests
# are answered where they are held up (Fetch), so nobody needs that.
_NOT_NEEDED = b'{"method":"Network.'


class BrowserError(Exception):
    """What the browser said instead of doing what it was asked for."""


class BrowserGoneError(BrowserError):
    """The browser, or the tab that was asked, is no more."""


class NoAnswerError(BrowserError):
    """The browser did not answer in time; it may still be at it."""


class Session:
    """The conversation with one tab or frame, or with the browser itself."""

    def __init__(self, tools: DevTools, number: str | None) -> None:
        self._tools = tools
        self._number = number
        self.listeners: dict[str, Listener] = {}
        self.lost: str | None = None  # why nothing more will come

    def on(self, event: str, listener: Listener) -> None:
        """Hear of an event, while somebody waits for an answer."""
        self.listeners[event] = listener

    def send(
        self, command: str, parameters: Parameters | None = None, *, until: float | None = None
    ) -> dict[str, Any]:
        """What the browser answers. Raises `BrowserError`; `until` is a time of `monotonic()`."""
        return self.answer(self.ask(command, parameters), until=until)

    def send_all(self, commands: Iterable[tuple[str, Parameters]]) -> list[dict[str, Any]]:
        """The answers to several commands that do not need each other's."""
        return [self.answer(number) for number in [self.ask(*one) for one in commands]]

    def post(self, command: str, parameters: Parameters | None = None) -> None:
        """Send a command whose answer nobody needs."""
        self._tools.write(command, parameters, self._number)

    def ask(self, command: str, parameters: Parameters | None = None) -> int:
        """Send a command; its number is for `answer`."""
        number = self._tools.write(command, parameters, self._number)
        self._tools.awaited.add(number)
        return number

    def answer(
        self,
        number: int,
        *,
        until: float | None = None,
        unless: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """The answer to what was asked before; nothing once `unless` is the case."""
        try:
            self.wait(lambda: number in self._tools.answers or unless(), until=until)
        finally:
            self._tools.awaited.discard(number)
            told = self._tools.answers.pop(number, {"result": {}})
        if "error" in told:
            raise BrowserError(told["error"].get("message", "unknown"))
        result: dict[str, Any] = told["result"]
        return result

    def wait(self, done: Callable[[], bool], *, until: float | None = None) -> None:
        """Hear what the browser tells until something is the case."""
        while not done():
            if self.lost is not None:
                raise BrowserGoneError(self.lost)
            if until is not None and time.monotonic() > until:
                raise NoAnswerError("It takes too long.")
            self._tools.hear(until)


class DevTools:
    """One connection to one browser. Not thread-safe."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands, self._replies = commands, replies
        self._poll = select.poll()
        self._poll.register(replies, select.POLLIN)
        self._last = 0
        self._sessions: dict[str | None, Session] = {}
        self._parts: list[bytes] = []  # of a message that is not whole yet
        self._messages: deque[bytes] = deque()
        self.awaited: set[int] = set()
        self.answers: dict[int, dict[str, Any]] = {}
        self._attached: dict[str, str] = {}  # new tabs and the numbers of their sessions
        self.identity: Parameters = {"userAgent": ""}  # what pages are told about the browser
        self.browser = self.session(None)
        self.browser.on("Target.attachedToTarget", self._note_tab)

    @property
    def connected(self) -> bool:
        """Whether the browser was there when it was last spoken to."""
        return self.browser.lost is None

    def session(self, number: str | None) -> Session:
        """The conversation with what the browser has given this number."""
        if number not in self._sessions:
            session = self._sessions[number] = Session(self, number)
            session.on("Inspector.targetCrashed", lambda _: self._lose(number, "It crashed."))
            session.on("Target.detachedFromTarget", self._note_detached)
        return self._sessions[number]

    def greet(self, *, until: float) -> None:
        """Begin the conversation: from now on every new tab waits until it has its rules."""
        new_tabs = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.browser.send("Target.setAutoAttach", new_tabs, until=until)
        told = self.browser.send("Browser.getVersion", until=until)
        self.identity = _identity(told["userAgent"])

    def new_tab(self, context: str) -> tuple[str, Session]:
        """Its number and the conversation with it; `Runtime.runIfWaitingForDebugger` starts it."""
        # The browser believes the pointer to be at (0, 0) of the screen and tells pages of it, so
        # that place is outside of the window.
        place = {"left": 32, "top": 32, "newWindow": True}
        blank = {"url": "about:blank", "browserContextId": context, **place}
        target = str(self.browser.send("Target.createTarget", blank)["targetId"])
        self.browser.wait(lambda: target in self._attached)
        return target, self.session(self._attached.pop(target))

    def close(self) -> None:
        """Hang up; browsers end when that happens."""
        self.browser.lost = self.browser.lost or "It was closed."
        for end in (self._commands, self._replies):
            with suppress(OSError):
                os.close(end)

    def write(self, command: str, parameters: Parameters | None, session: str | None) -> int:
        """Send a command and return its number."""
        if self.browser.lost is not None:
            raise BrowserGoneError(self.browser.lost)
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": command, "params": parameters or {}}
        if session is not None:
            message["sessionId"] = session
        rest = memoryview(json.dumps(message).encode() + b"\0")
        try:
            while rest:
                rest = rest[os.write(self._commands, rest) :]
        except OSError as error:
            raise self._gone() from error
        return self._last

    def hear(self, until: float | None) -> None:
        """Wait for one message and hand it to whom it concerns."""
        while not self._messages:
            self._read(until)
        message = self._messages.popleft()
        if message.startswith(_NOT_NEEDED):
            return
        told = json.loads(message)
        number = told.get("id")
        if number in self.awaited:
            self.answers[number] = told
        elif number is None:
            session = self._sessions.get(told.get("sessionId"))
            listener = session.listeners.get(told["method"]) if session else None
            if listener is not None:
                listener(told["params"])

    def _read(self, until: float | None) -> None:
        if until is not None:
            left = max(until - time.monotonic(), 0)
            if not self._poll.poll(left * 1000):
                raise NoAnswerError("It takes too long.")
        try:
            chunk = os.read(self._replies, _CHUNK)
        except OSError as error:
            raise self._gone() from error
        if not chunk:
            raise self._gone()
        *ends, rest = chunk.split(b"\0")
        for end in ends:
            self._messages.append(b"".join((*self._parts, end)))
            self._parts = []
        if rest:
            self._parts.append(rest)

    def _gone(self) -> BrowserGoneError:
        for number in list(self._sessions):
            self._lose(number, "The browser ended.")
        return BrowserGoneError("The browser ended.")

    def _note_tab(self, event: dict[str, Any]) -> None:
        target = event["targetInfo"]["targetId"]
        if event["targetInfo"].get("openerId"):
            # A page opened it, and waits for it. What it asks for nobody answers. It has to go on
            # before it can be closed: else the page may wait for ever.
            opened = self.session(event["sessionId"])
            opened.post("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
            opened.post("Runtime.runIfWaitingForDebugger")
            self.browser.post("Target.closeTarget", {"targetId": target})
        else:
            self._attached[target] = event["sessionId"]

    def _note_detached(self, event: dict[str, Any]) -> None:
        self._lose(event["sessionId"], "It was closed.")
        self._sessions.pop(event["sessionId"], None)

    def _lose(self, number: str | None, why: str) -> None:
        if number in self._sessions and self._sessions[number].lost is None:
            self._sessions[number].lost = why


def _identity(user_agent: str) -> Parameters:
    """Return what a browser with a window would say of itself, as DevTools wants it."""
    found = re.search(r"Chrome/(\d+)", user_agent)
    major = found[1] if found else "0"
    system = re.search(r"\(([^;)]+)", user_agent)
    platform = "macOS" if system and "Macintosh" in system[1] else "Linux"
    return {
        "userAgent": user_agent.replace("HeadlessChrome", "Chrome"),
        "userAgentMetadata": {
            "brands": [
                {"brand": "Chromium", "version": major},
                {"brand": "Not.A/Brand", "version": "99"},
            ],
            "platform": platform,
            "platformVersion": "",
            "architecture": "x86",
            "model": "",
            "mobile": False,
        },
    }
