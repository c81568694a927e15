"""A page that stands still: take its picture, run measuring scripts in it."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from uiproof.browser.devtools import BrowserError
from uiproof.errors import PageTimeoutError, RenderError

if TYPE_CHECKING:
    from uiproof.browser.watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class Limits:
    """What a page may use.

    - `load_seconds`: until its scripts are stopped and the page is taken as far as it came
    - `step_seconds`: for every single thing asked of a page, for example a screenshot
    - `max_width`, `max_height`, `max_pixels`: what lies beyond is cut off, and flagged
    - `memory_mb`: of any process of the browser; beyond it the process is ended
    """

    viewport: tuple[int, int] = (1280, 720)
    load_seconds: float = 12.0
    step_seconds: float = 20.0
    max_width: int = 8_192
    max_height: int = 32_000
    max_pixels: int = 60_000_000
    memory_mb: int = 2_000


# Flags of pages that a browser could not show as they are. The machine may be at fault as well as
# the page, so what was seen must not be kept for another time.
FAULT_FLAGS = frozenset({"crashed", "timeout", "load_timeout"})
WORLD = "uiproof"  # where our scripts run; pages cannot see it
_CAPTURE_ATTEMPTS = 4
_LISTING = frozenset({"inventory", "snapshot"})  # scripts that use `seen`, defined in seen.js


@cache
def script(name: str) -> str:
    """The text of one of our scripts in `browser/js/`."""
    text = (files("uiproof.browser") / "js" / f"{name}.js").read_text("utf-8")
    return f"((seen) => {text})({script('seen')})" if name in _LISTING else text


class Session(Protocol):
    """A conversation with the browser about one tab."""

    def send(self, command: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """What the browser answers. Raises `BrowserError`."""


class LivePage:
    """A loaded page whose own scripts no longer run.

    `flags` says what was unusual: `load_timeout`, `cut_height`, `cut_width`, `navigation_blocked`,
    `requests_blocked`, `files_missing`, `left_document`, `crashed`, `timeout`, `scripts_off`,
    `text_cut`; see `docs/rendering.md`.
    """

    def __init__(
        self,
        session: Session,
        limits: Limits,
        watchdog: Watchdog,
        url: str,
        *,
        flags: set[str] | None = None,
    ) -> None:
        self.flags: set[str] = set() if flags is None else flags
        self._session = session
        self._limits = limits
        self._watchdog = watchdog
        self._url = url

    def run_script(self, name: str, argument: Any = None) -> Any:
        """Run one of our scripts in a world that the page's own scripts cannot touch.

        The script is a function of one argument; what it returns, or promises, must fit JSON.
        """
        return self.evaluate(f"({script(name)})({json.dumps(argument)})", name=name)

    def run_listing(self, name: str, argument: Any = None) -> Any:
        """The same for a script that returns a lot, and at once: all of it comes as one text."""
        listed = f"JSON.stringify(({script(name)})({json.dumps(argument)}))"
        return json.loads(self.evaluate(listed, name=name))

    def evaluate(self, expression: str, *, name: str = "", main: bool = False) -> Any:
        """The value of a JavaScript expression, in our own world or in the page's."""
        answer = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            timeout=self._limits.step_seconds * 1000,
            **({} if main else {"contextId": self._world}),
        )
        return self._value(answer, name)

    def handle(self, expression: str, *, group: str, main: bool = False) -> str:
        """A handle to the object that an expression gives, in our own world or in the page's."""
        world = {} if main else {"contextId": self._world}
        answer = self.send("Runtime.evaluate", expression=expression, objectGroup=group, **world)
        return str(answer["result"]["objectId"])

    def resolve(self, node: int, *, group: str) -> str | None:
        """A handle, in our own world, to a node that the browser knows by a number."""
        try:
            answer = self.send(
                "DOM.resolveNode",
                backendNodeId=node,
                executionContextId=self._world,
                objectGroup=group,
            )
        except BrowserError as error:
            if "node" not in str(error).lower():
                raise
            return None  # it just went away
        return str(answer["object"]["objectId"])

    def listeners(self, handle: str) -> list[dict[str, Any]]:
        """The listeners of an object, and of everything in it."""
        answer = self.send("DOMDebugger.getEventListeners", objectId=handle, depth=-1, pierce=True)
        found: list[dict[str, Any]] = answer["listeners"]
        return found

    def call(self, function: str, handles: list[str | None]) -> Any:
        """Call a function of our own world with objects that there are handles to."""
        answer = self.send(
            "Runtime.callFunctionOn",
            functionDeclaration=function,
            arguments=[{"objectId": one} if one else {"value": None} for one in handles],
            executionContextId=self._world,
            returnByValue=True,
        )
        return self._value(answer, "")

    def _value(self, answer: dict[str, Any], name: str) -> Any:
        if failure := answer.get("exceptionDetails"):
            told = failure.get("exception", {}).get("description") or failure.get("text", "")
            if "terminated" in told.lower():
                raise PageTimeoutError(
                    f"Measuring the page took longer than {self._limits.step_seconds:.0f} s.",
                    remedy="The page may have too many elements; raise the time limit.",
                )
            raise RenderError(f"The script {name!r} failed in the page: {told.splitlines()[0]}")
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """The whole page as PNG, from the top left to the limits."""
        for attempt in range(_CAPTURE_ATTEMPTS):
            try:
                return self._capture()
            except BrowserError as error:
                # A busy browser refuses now and then, and does it when asked again.
                if "Unable to capture" not in str(error) or attempt == _CAPTURE_ATTEMPTS - 1:
                    raise
                time.sleep(0.1 * (attempt + 1))
        raise AssertionError("unreachable")

    def _capture(self) -> bytes:
        width, height = self.size
        view_width, view_height = self._limits.viewport
        answer = self.send(
            "Page.captureScreenshot",
            format="png",
            optimizeForSpeed=True,
            captureBeyondViewport=width > view_width or height > view_height,
            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        )
        return base64.b64decode(answer["data"])

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the whole page in pixels, within the limits."""
        return self._within_limits(self.run_script("page_size"))

    def _within_limits(self, found: dict[str, int]) -> tuple[int, int]:
        width = found["width"] or self._limits.viewport[0]
        height = found["height"] or self._limits.viewport[1]
        seen_width = min(width, self._limits.max_width)
        seen_height = min(height, self._limits.max_height, self._limits.max_pixels // seen_width)
        if seen_width < width:
            self.flags.add("cut_width")
        if seen_height < height:
            self.flags.add("cut_height")
        return seen_width, seen_height

    def forget_size(self) -> None:
        """Measure the page anew when its size is next asked for."""
        self.__dict__.pop("size", None)

    @property
    def is_itself(self) -> bool:
        """Whether the page still is the document that was served."""
        # A page may rewrite the rest of its address (history.pushState) without leaving; whatever
        # else would have this origin was refused by the guard.
        return bool(urlsplit(self._frame["url"]).netloc == urlsplit(self._url).netloc)

    def freeze(self, *, scripts_running: bool) -> None:
        """Stop the page's scripts for good, then all movement; the size stays from here on."""
        if scripts_running:
            self.send("Emulation.setScriptExecutionDisabled", value=True)
        both = f"({script('freeze')})().then({script('page_size')})"
        self.__dict__["size"] = self._within_limits(self.evaluate(both, name="freeze"))

    def stop_scripts(self) -> None:
        """Break off whatever script is running, also an endless loop."""
        self.send("Emulation.setScriptExecutionDisabled", value=True)
        self.send("Runtime.terminateExecution")

    @cached_property
    def _frame(self) -> dict[str, Any]:
        tree: dict[str, Any] = self.send("Page.getFrameTree")["frameTree"]["frame"]
        return tree

    @cached_property
    def _world(self) -> int:
        # The browser makes the page's own world, and runs our first scripts, when it is needed.
        self.send("Runtime.evaluate", expression="0")
        made = self.send("Page.createIsolatedWorld", frameId=self._frame["id"], worldName=WORLD)
        return int(made["executionContextId"])

    def send(self, command: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol, within the time limit of a step."""
        with self._watchdog.limit(self._limits.step_seconds):
            return self._session.send(command, parameters)
