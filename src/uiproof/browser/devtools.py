"""A connection to a browser in the DevTools protocol, over a pair of pipes.

    tools = DevTools(commands, replies)           # two file descriptors
    tools.browser.send("Browser.getVersion")
    session = tools.session(id)                   # of a tab that was attached to
    session.on("Page.loadEventFired", note)
    session.send("Page.navigate", {"url": url})

One thread does everything: it reads only while it waits for an answer, and passes the events that
arrive meanwhile to their listeners. A page takes a dozen messages; with a driver process in
between, which follows every request and frame for itself, it takes a hundred.
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
# An offline browser reports every step of every request. Requests are answered where they are
# intercepted (Fetch), so of these events only beginning and end are noted, unparsed.
_NETWORK = b'{"method":"Network.'
_REQUEST = re.compile(
    rb'{"method":"Network\.(?:(requestWillBeSent)|loadingFinished|loadingFailed)"'
    rb',"params":{"requestId":"([^"]+)"'
)
_SESSION = b'"sessionId":"'
# Errors of a document that was replaced while it was asked something.
_REPLACED = re.compile(
    "destroyed|navigated|cannot find context|promise was collected|uniqueContextId", re.IGNORECASE
)


class BrowserError(Exception):
    """The browser refused a command."""


class BrowserGoneError(BrowserError):
    """The browser or the tab is gone."""


class NoAnswerError(BrowserError):
    """The browser did not answer in time; it may still be working."""


def is_replaced(error: BrowserError) -> bool:
    """Return whether a command failed because its document was replaced by another one."""
    return bool(_REPLACED.search(str(error)))


class Session:
    """The commands and events of one tab or frame, or of the browser itself."""

    def __init__(self, tools: DevTools, session_id: str | None) -> None:
        self._tools = tools
        self._id = session_id
        self.listeners: dict[str, Listener] = {}
        self.lost: str | None = None  # why the session ended
        self.in_flight: set[bytes] = set()  # requests that have begun and not ended

    def on(self, event: str, listener: Listener) -> None:
        """Call a listener for every such event that arrives while an answer is awaited."""
        self.listeners[event] = listener

    def send(
        self, command: str, parameters: Parameters | None = None, *, until: float | None = None
    ) -> dict[str, Any]:
        """Return the answer to a command, or raise `BrowserError`; `until` is on `monotonic()`."""
        return self.answer(self.ask(command, parameters), until=until)

    def send_all(self, commands: Iterable[tuple[str, Parameters]]) -> list[dict[str, Any]]:
        """Return the answers to commands that do not depend on each other."""
        return [self.answer(number) for number in [self.ask(*one) for one in commands]]

    def post(self, command: str, parameters: Parameters | None = None) -> None:
        """Send a command and ignore its answer."""
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
        """Return the answer to an earlier `ask`; nothing as soon as `unless` holds."""
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
        """Pass on events until `done` holds."""
        while not done():
            if self.lost is not None:
                raise BrowserGoneError(self.lost)
            if until is not None and time.monotonic() > until:
                raise NoAnswerError("It takes too long.")
            self._tools.receive(until)


class DevTools:
    """One connection to one browser; not thread-safe."""

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
        self._attached: dict[str, str] = {}  # new tabs with the ids of their sessions
        self.on_silence: Callable[[], None] | None = None  # called while nothing arrives for long
        self.identity: Parameters = {"userAgent": ""}  # of the browser, as pages see it
        self.browser = self.session(None)
        self.browser.on("Target.attachedToTarget", self._note_tab)

    @property
    def connected(self) -> bool:
        """Return whether the browser was there at the last command."""
        return self.browser.lost is None

    def session(self, session_id: str | None) -> Session:
        """Return the session with an id of the browser; None is the browser itself."""
        if session_id not in self._sessions:
            session = self._sessions[session_id] = Session(self, session_id)
            session.on("Inspector.targetCrashed", lambda _: self._lose(session_id, "It crashed."))
            session.on("Target.detachedFromTarget", self._note_detached)
        return self._sessions[session_id]

    def start(self, *, until: float) -> None:
        """Make every new tab wait until it is set up, and ask for the version."""
        new_tabs = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.browser.send("Target.setAutoAttach", new_tabs, until=until)
        version = self.browser.send("Browser.getVersion", until=until)
        self.identity = _identity(version["userAgent"])

    def new_tab(self, context: str, size: tuple[int, int] = (1280, 720)) -> tuple[str, Session]:
        """Open a tab that waits for `Runtime.runIfWaitingForDebugger`; return id and session."""
        # The browser believes the pointer to be at (0, 0) of the screen and sends pages its events,
        # so the window does not cover that point.
        width, height = size
        place = {"left": 32, "top": 32, "width": width, "height": height, "newWindow": True}
        blank = {"url": "about:blank", "browserContextId": context, **place}
        target = str(self.browser.send("Target.createTarget", blank)["targetId"])
        self.browser.wait(lambda: target in self._attached)
        return target, self.session(self._attached.pop(target))

    def close(self) -> None:
        """Close both pipes, upon which the browser ends."""
        self.browser.lost = self.browser.lost or "It was closed."
        for end in (self._commands, self._replies):
            with suppress(OSError):
                os.close(end)

    def write(self, command: str, parameters: Parameters | None, session_id: str | None) -> int:
        """Send a command and return its number."""
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
        """Wait for one message and pass it on."""
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
        for session_id in list(self._sessions):
            self._lose(session_id, "The browser ended.")
        return BrowserGoneError("The browser ended.")

    def _note_tab(self, event: dict[str, Any]) -> None:
        target = event["targetInfo"]["targetId"]
        if event["targetInfo"].get("openerId"):
            # A page opened it and waits for it. Its requests stay unanswered. It has to run before
            # it can be closed, or the page may wait for ever.
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
    """Return the user agent of a browser with a window, as DevTools takes it."""
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
