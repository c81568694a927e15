"""A client of the DevTools protocol over a pair of pipes.

    tools = DevTools(commands, replies)           # two file descriptors
    tools.browser.send("Browser.getVersion")
    session = tools.session(id)                   # of an attached tab
    session.on("Page.loadEventFired", note)
    session.send("Page.navigate", {"url": url})

Everything runs in the calling thread: messages are read only while a reply is awaited, and events
that arrive meanwhile are passed to their listeners.
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
_SILENCE_SECONDS = 2.0
# The browser reports every step of every request. Requests are answered in the Fetch domain, so of
# the Network events only begin and end matter; they are matched without parsing.
_NETWORK = b'{"method":"Network.'
_REQUEST = re.compile(
    rb'{"method":"Network\.(?:(requestWillBeSent)|loadingFinished|loadingFailed)"'
    rb',"params":{"requestId":"([^"]+)"'
)
_SESSION = b'"sessionId":"'
# Errors of commands whose document was replaced meanwhile.
_REPLACED = re.compile(
    "destroyed|navigated|cannot find context|promise was collected|uniqueContextId", re.IGNORECASE
)


class BrowserError(Exception):
    """The browser refused a command."""


class BrowserGoneError(BrowserError):
    """The browser or the tab no longer exists."""


class NoAnswerError(BrowserError):
    """The browser did not reply in time; it may still be working."""


def is_replaced(error: BrowserError) -> bool:
    """Return whether a command failed because its document was replaced."""
    return bool(_REPLACED.search(str(error)))


class Session:
    """The commands and events of one tab or frame, or of the browser itself."""

    def __init__(self, tools: DevTools, session_id: str | None) -> None:
        self._tools = tools
        self._id = session_id
        self.listeners: dict[str, Listener] = {}
        self.lost: str | None = None  # why the session ended
        self.in_flight: set[bytes] = set()  # ids of network requests

    def on(self, event: str, listener: Listener) -> None:
        """Call a listener for each such event; it runs while a reply is awaited."""
        self.listeners[event] = listener

    def send(
        self, command: str, parameters: Parameters | None = None, *, until: float | None = None
    ) -> dict[str, Any]:
        """Send a command and return its result; `until` is a deadline on `time.monotonic()`."""
        return self.answer(self.ask(command, parameters), until=until)

    def send_all(self, commands: Iterable[tuple[str, Parameters]]) -> list[dict[str, Any]]:
        """Send independent commands at once and return their results."""
        return [self.answer(number) for number in [self.ask(*one) for one in commands]]

    def post(self, command: str, parameters: Parameters | None = None) -> None:
        """Send a command and ignore its result."""
        self._tools.write(command, parameters, self._id)

    def ask(self, command: str, parameters: Parameters | None = None) -> int:
        """Send a command and return its number, for `answer`."""
        number = self._tools.write(command, parameters, self._id)
        self._tools.awaited.add(number)
        return number

    def answer(
        self,
        number: int,
        *,
        until: float | None = None,
        unless: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """Return the result of an earlier `ask`, or nothing once `unless` is true."""
        try:
            self.wait(lambda: number in self._tools.answers or unless(), until=until)
        finally:
            self._tools.awaited.discard(number)
            reply = self._tools.answers.pop(number, {"result": {}})
        if "error" in reply:
            raise BrowserError(reply["error"].get("message", "unknown"))
        result: dict[str, Any] = reply["result"]
        return result

    def wait(self, done: Callable[[], bool], *, until: float | None = None) -> None:
        """Process messages until `done` is true."""
        while not done():
            if self.lost is not None:
                raise BrowserGoneError(self.lost)
            if until is not None and time.monotonic() > until:
                raise NoAnswerError("It took too long.")
            self._tools.receive(until)


class DevTools:
    """The connection to one browser; not thread-safe."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands, self._replies = commands, replies
        self._poll = select.poll()
        self._poll.register(replies, select.POLLIN)
        self._last = 0
        self._sessions: dict[str | None, Session] = {}
        self._parts: list[bytes] = []  # of an incomplete message
        self._messages: deque[bytes] = deque()
        self.awaited: set[int] = set()
        self.answers: dict[int, dict[str, Any]] = {}
        self._attached: dict[str, str] = {}  # session ids of new tabs
        self.on_silence: Callable[[], None] | None = None  # called if nothing arrives for a while
        self.identity: Parameters = {"userAgent": ""}  # user agent that pages see
        self.browser = self.session(None)
        self.browser.on("Target.attachedToTarget", self._note_tab)

    @property
    def connected(self) -> bool:
        """Return whether the browser was still connected at the last command."""
        return self.browser.lost is None

    def session(self, session_id: str | None) -> Session:
        """Return the session with this id; None is the browser itself."""
        if session_id not in self._sessions:
            session = self._sessions[session_id] = Session(self, session_id)
            session.on("Inspector.targetCrashed", lambda _: self._lose(session_id, "It crashed."))
            session.on("Target.detachedFromTarget", self._note_detached)
        return self._sessions[session_id]

    def start(self, *, until: float) -> None:
        """Pause every new tab until it is set up, and query the version."""
        new_tabs = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.browser.send("Target.setAutoAttach", new_tabs, until=until)
        version = self.browser.send("Browser.getVersion", until=until)
        self.identity = _identity(version["userAgent"])

    def new_tab(self, context: str, size: tuple[int, int] = (1280, 720)) -> tuple[str, Session]:
        """Open a tab, paused until `Runtime.runIfWaitingForDebugger`; return id and session."""
        # The browser assumes the pointer at (0, 0) of the screen and sends its events to pages, so
        # the window must not cover that point.
        width, height = size
        place = {"left": 32, "top": 32, "width": width, "height": height, "newWindow": True}
        blank = {"url": "about:blank", "browserContextId": context, **place}
        target = str(self.browser.send("Target.createTarget", blank)["targetId"])
        self.browser.wait(lambda: target in self._attached)
        return target, self.session(self._attached.pop(target))

    def close(self) -> None:
        """Close both pipes, which makes the browser exit."""
        self.browser.lost = self.browser.lost or "It was closed."
        for end in (self._commands, self._replies):
            with suppress(OSError):
                os.close(end)

    def write(self, command: str, parameters: Parameters | None, session_id: str | None) -> int:
        """Write a command and return its number."""
        if self.browser.lost is not None:
            raise BrowserGoneError(self.browser.lost)
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": command, "params": parameters or {}}
        if session_id is not None:
            message["sessionId"] = session_id
        rest = memoryview(json.dumps(message).encode() + b"\0")
        try:
            while rest:
                rest = rest[os.write(self._commands, rest) :]
        except OSError as error:
            raise self._gone() from error
        return self._last

    def receive(self, until: float | None) -> None:
        """Wait for one message and process it."""
        while not self._messages:
            self._read(until)
        message = self._messages.popleft()
        if message.startswith(_NETWORK):
            self._note_request(message)
            return
        content = json.loads(message)
        number = content.get("id")
        if number in self.awaited:
            self.answers[number] = content
        elif number is None:
            session = self._sessions.get(content.get("sessionId"))
            listener = session.listeners.get(content["method"]) if session else None
            if listener is not None:
                listener(content["params"])

    def _note_request(self, message: bytes) -> None:
        found = _REQUEST.match(message)
        at = message.rfind(_SESSION) + len(_SESSION)
        session = self._sessions.get(message[at : message.find(b'"', at)].decode())
        if found is None or session is None:
            return
        if found[1]:
            session.in_flight.add(found[2])
        else:
            session.in_flight.discard(found[2])

    def _read(self, until: float | None) -> None:
        left = None if until is None else max(until - time.monotonic(), 0)
        if self.on_silence is not None and (left is None or left > _SILENCE_SECONDS):
            if not self._poll.poll(_SILENCE_SECONDS * 1000):
                self.on_silence()
                return
        elif left is not None and not self._poll.poll(left * 1000):
            raise NoAnswerError("It took too long.")
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
        for session_id in list(self._sessions):
            self._lose(session_id, "The browser ended.")
        return BrowserGoneError("The browser ended.")

    def _note_tab(self, event: dict[str, Any]) -> None:
        target = event["targetInfo"]["targetId"]
        if event["targetInfo"].get("openerId"):
            # A popup, whose opener waits for it. It has to run before it can be closed, or the
            # opener may wait forever. Its requests are never answered.
            opened = self.session(event["sessionId"])
            opened.post("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
            opened.post("Runtime.runIfWaitingForDebugger")
            self.browser.post("Target.closeTarget", {"targetId": target})
        else:
            self._attached[target] = event["sessionId"]

    def _note_detached(self, event: dict[str, Any]) -> None:
        self._lose(event["sessionId"], "It was closed.")
        self._sessions.pop(event["sessionId"], None)

    def _lose(self, session_id: str | None, why: str) -> None:
        if session_id in self._sessions and self._sessions[session_id].lost is None:
            self._sessions[session_id].lost = why


def _identity(user_agent: str) -> Parameters:
    """Return the user agent of a browser with a window, as DevTools parameters."""
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
