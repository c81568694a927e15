"""A loaded page: screenshots, measuring scripts, text positions, missing glyphs."""

from __future__ import annotations

import base64
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from uiproof.browser.devtools import BrowserError
from uiproof.browser.foreign import WebLog
from uiproof.errors import PageTimeoutError, RenderError

if TYPE_CHECKING:
    from uiproof.browser.devtools import Session
    from uiproof.browser.process import Watchdog


@dataclass(frozen=True, slots=True)
class Limits:
    """The screen that a page is shown on, and limits of time, size and memory.

    - `viewport`: the window in CSS pixels; `scale`: device pixels per CSS pixel
    - `dark`: whether the page is told to prefer dark colours
    - `load_seconds`: after this, scripts are stopped and the page is used as far as it has loaded
    - `step_seconds`: timeout of a single command, for example a screenshot
    - `max_width`, `max_height`, `max_pixels`: of the picture, in device pixels; larger pages are
      cut off and flagged
    - `memory_mb`: of a browser process; a larger one is killed
    """

    viewport: tuple[int, int] = (1280, 720)
    scale: int = 1
    dark: bool = False
    load_seconds: float = 12.0
    step_seconds: float = 20.0
    max_width: int = 8_192
    max_height: int = 32_000
    max_pixels: int = 60_000_000
    memory_mb: int = 2_000


# Flags of failures that may be the machine's fault; results with them must not be cached.
FAULT_FLAGS = frozenset({"crashed", "timeout", "load_timeout"})
MISSING_GLYPHS = "missing_glyphs"
WORLD = "uiproof"  # the isolated world of our scripts, which pages cannot see
_CAPTURE_ATTEMPTS = 4
_SMALL = 0.05  # scale of a picture that is taken only to have everything drawn once
_COMMENT_LINE = re.compile(r"^ *//.*\n", re.MULTILINE)
# Scripts that use `seen`, defined in seen.js.
_LISTING = frozenset({"check", "inventory", "linger", "snapshot"})

POOL = 4096  # colours that one pair of pictures can tell apart
SHIFT = 50  # by which each channel changes between the two pictures of a pair
MAX_PAIRS = 4  # more than 4 x 4096 text elements are cut off and flagged
FIRST_SPARE = MAX_PAIRS * POOL  # the numbers of spare colours follow those of all pools
SPARE_REDS = (30, 220)  # the red of spare colours in the first and in the second picture
SPARE_START, SPARE_STEP = 2, 16  # their green and blue, the same in both: 2, 18, ... 242

GLYPH_PACKAGES = {  # Debian packages and the scripts that they cover
    "fonts-noto-cjk": "Chinese, Japanese, Korean",
    "fonts-noto-color-emoji": "emoji",
    "fonts-noto-core": "other scripts",
}
_FIRST_RARE = "\u0250"  # every Latin font has the characters before this one
_MAX_GLYPHS = 500  # characters looked up per page
_NOT_DRAWN = frozenset("ZC")  # categories: blanks, controls, private and unassigned characters
_MARKS = frozenset({"Mn", "Me"})  # drawn on the character before them, or not at all
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_known_glyphs: set[str] = set()  # characters that an installed font has


@cache
def script(name: str) -> str:
    """Return a script of `browser/js/` without comments, which must not change the fingerprint."""
    text = (files("uiproof.browser") / "js" / f"{name}.js").read_text("utf-8")
    text = _COMMENT_LINE.sub("", text)
    return f"((seen) => {text})({script('seen')})" if name in _LISTING else text


@dataclass(frozen=True, slots=True)
class Fleeting:
    """The parts of a page that soon disappear."""

    texts: frozenset[int] = frozenset()  # indices in the inventory
    boxes: tuple[tuple[float, float, float, float], ...] = ()  # of elements that disappear too
    others: int = 0  # texts that replace them


class LivePage:
    """A loaded page whose own scripts have stopped.

    `flags` names anything unusual, for example `load_timeout` or `cut_height`; see
    `docs/rendering.md` for all of them. `web` logs requests to other hosts and script errors.
    """

    def __init__(
        self,
        session: Session,
        limits: Limits,
        watchdog: Watchdog,
        url: str,
        *,
        flags: set[str] | None = None,
        draw: Callable[[tuple[int, int] | None], None] = lambda _: None,
    ) -> None:
        self.flags: set[str] = set() if flags is None else flags
        self.web = WebLog()
        self._session = session
        self._limits = limits
        self._watchdog = watchdog
        self._url = url
        self._draw = draw  # sets the size of the drawing surface of a frozen page
        self._had_scripts = False

    # --- pictures

    def screenshot(self, *, scale: float = 1) -> bytes:
        """Return the whole page, within the limits, as PNG."""
        for attempt in range(_CAPTURE_ATTEMPTS):
            try:
                return self._capture(scale)
            except BrowserError as error:
                # A busy browser sometimes fails to capture; trying again works.
                if "Unable to capture" not in str(error) or attempt == _CAPTURE_ATTEMPTS - 1:
                    raise
                time.sleep(0.1 * (attempt + 1))
        raise AssertionError("unreachable")

    def _capture(self, scale: float) -> bytes:
        width, height = self.size
        view_width, view_height = self._limits.viewport
        beyond = width > view_width or height > view_height
        if beyond:
            self._draw((width, height))
        answer = self.send(
            "Page.captureScreenshot",
            format="png",
            optimizeForSpeed=True,
            captureBeyondViewport=beyond,
            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": scale},
        )
        return base64.b64decode(answer["data"])

    @cached_property
    def size(self) -> tuple[int, int]:
        """Return the width and height of the whole page in CSS pixels, within the limits."""
        return self._within_limits(self.run_script("page_size"))

    def forget_size(self) -> None:
        """Drop the cached size."""
        self.__dict__.pop("size", None)

    def _within_limits(self, found: dict[str, int]) -> tuple[int, int]:
        width = found["width"] or self._limits.viewport[0]
        height = found["height"] or self._limits.viewport[1]
        scale = self._limits.scale
        seen_width = min(width, self._limits.max_width // scale)
        most = self._limits.max_pixels // (seen_width * scale * scale)
        seen_height = min(height, self._limits.max_height // scale, most)
        if seen_width < width:
            self.flags.add("cut_width")
        if seen_height < height:
            self.flags.add("cut_height")
        return seen_width, seen_height

    # --- scripts

    def run_script(self, name: str, argument: Any = None) -> Any:
        """Run one of our scripts in an isolated world, which the page's scripts cannot touch.

        The script is a function of one argument that returns JSON, or a promise of it.
        """
        return self.evaluate(f"({script(name)})({json.dumps(argument)})", name=name)

    def run_listing(self, name: str, argument: Any = None) -> Any:
        """Run a synchronous script with a large result, which is transferred as one string."""
        listed = f"JSON.stringify(({script(name)})({json.dumps(argument)}))"
        return json.loads(self.evaluate(listed, name=name))

    def evaluate(self, expression: str, *, name: str = "") -> Any:
        """Evaluate a JavaScript expression in our isolated world."""
        answer = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            timeout=self._limits.step_seconds * 1000,
            contextId=self._world,
        )
        return self._value(answer, name)

    def call(self, function: str, handles: list[str | None]) -> Any:
        """Call a function in our isolated world with the objects of some handles."""
        answer = self.send(
            "Runtime.callFunctionOn",
            functionDeclaration=function,
            arguments=[{"objectId": one} if one else {"value": None} for one in handles],
            executionContextId=self._world,
            returnByValue=True,
        )
        return self._value(answer, "")

    def handle(self, expression: str, *, group: str, main: bool = False) -> str:
        """Return a handle to an object of our isolated world, or of the page's with `main`."""
        world = {} if main else {"contextId": self._world}
        answer = self.send("Runtime.evaluate", expression=expression, objectGroup=group, **world)
        return str(answer["result"]["objectId"])

    def resolve(self, node: int, *, group: str) -> str | None:
        """Return a handle, in our isolated world, to a node; None if it was removed."""
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
            return None
        return str(answer["object"]["objectId"])

    def _value(self, answer: dict[str, Any], name: str) -> Any:
        if failure := answer.get("exceptionDetails"):
            reason = failure.get("exception", {}).get("description") or failure.get("text", "")
            if "terminated" in reason.lower():
                raise PageTimeoutError(
                    f"Measuring the page took longer than {self._limits.step_seconds:.0f} s.",
                    remedy="The page may have too many elements; raise the time limit.",
                )
            raise RenderError(f"The script {name!r} failed in the page: {reason.splitlines()[0]}")
        return answer["result"].get("value")

    # --- the document

    @property
    def is_itself(self) -> bool:
        """Return whether the page still is the served document."""
        # history.pushState changes the URL, but not the origin, without leaving the document. The
        # guard refuses every other document of this origin.
        return bool(urlsplit(self._frame["url"]).netloc == urlsplit(self._url).netloc)

    def freeze(self, *, scripts_running: bool, pictures: int) -> None:
        """Stop the page's scripts permanently, then all movement, and fix its size.

        `pictures` is how many the page has loaded.
        """
        self._had_scripts = scripts_running
        if scripts_running:
            self.send("Emulation.setScriptExecutionDisabled", value=True)
        size = script("page_size")
        both = f"({script('freeze')})().then((decoded) => ({{ decoded, ...({size})() }}))"
        found = self.evaluate(both, name="freeze")
        self.__dict__["size"] = self._within_limits(found)
        if pictures:
            self.repaint(all_decoded=found["decoded"] >= pictures)

    def repaint(self, *, all_decoded: bool = False) -> None:
        """Repaint the backgrounds of pictures, which depend on whether those are decoded."""
        if not all_decoded:
            self.screenshot(scale=_SMALL)  # scripts can decode only what is in an <img>
        self.run_script("repaint")

    def fleeting(self) -> Fleeting:
        """Return the parts of the inventory that disappear when a reader acts, waits or scrolls.

        This runs the page's scripts again, so nothing can be measured afterwards.
        """
        try:
            found = self._later() if self._had_scripts else self._hovered()
        except (BrowserError, RenderError):
            return Fleeting()  # the page was shown properly before, which is what counts
        if found is None:
            return Fleeting()
        boxes = tuple((x, y, w, h) for x, y, w, h in found["boxes"])
        return Fleeting(frozenset(found["gone"]), boxes, found["others"])

    def _later(self) -> dict[str, Any]:
        """Return what is gone after some seconds of scripts, input and scrolling."""
        self._draw(None)
        self.send("Emulation.setScriptExecutionDisabled", value=False)
        self.run_script("linger", {"moment": "before"})
        self._touch()
        found: dict[str, Any] = self.run_script("linger", {"moment": "later"})
        return found

    def _hovered(self) -> dict[str, Any] | None:
        """Return what is gone while a pointer is on a page without scripts.

        The pointer is not moved: it would be on the next page of the tab, too.
        """
        if not self.run_script("linger", {"moment": "before"}):
            return None
        self._draw(None)
        found: dict[str, Any] | None = self.run_script("linger", {"moment": "hovered"})
        return found

    def _touch(self) -> None:
        """Send input that no reader can avoid: pointer and wheel movement, and a key."""
        width, height = self._limits.viewport
        self.send("Input.setIgnoreInputEvents", ignore=False)
        middle = {"x": width / 2, "y": height / 2}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **middle)
        self.send("Input.dispatchMouseEvent", type="mouseWheel", deltaX=0, deltaY=1, **middle)
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key="Shift", code="ShiftLeft")
        # Move the pointer away from hover effects.
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=width - 1, y=height - 1)

    def stop_scripts(self) -> None:
        """Terminate any running script, even an endless loop."""
        self.send("Emulation.setScriptExecutionDisabled", value=True)
        self.send("Runtime.terminateExecution")

    @cached_property
    def _frame(self) -> dict[str, Any]:
        tree: dict[str, Any] = self.send("Page.getFrameTree")["frameTree"]["frame"]
        return tree

    @cached_property
    def _world(self) -> int:
        # Evaluating makes the browser create the main world, in which our init scripts run.
        self.send("Runtime.evaluate", expression="0")
        made = self.send("Page.createIsolatedWorld", frameId=self._frame["id"], worldName=WORLD)
        return int(made["executionContextId"])

    def send(self, command: str, **parameters: Any) -> dict[str, Any]:
        """Send a DevTools command, with the timeout of a step."""
        with self._watchdog.limit(self._limits.step_seconds):
            return self._session.send(command, parameters)


@dataclass(frozen=True, slots=True)
class TextNode:
    """A text node and the number of the colour that it was given."""

    text: str
    color_number: int | None  # None if it could not be recoloured, and so cannot be found
    listed_as: int | None = None  # its index among the inventory's texts


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The position and the given colour of a text of the inventory.

    The browser reports lines only for text nodes.
    """

    color_number: int  # a spare colour from `FIRST_SPARE` on
    kind: Literal["node", "pseudo", "element"]
    font_size: float
    lines: tuple[tuple[float, float, float, float], ...]  # x, y, width, height in page pixels


@dataclass(frozen=True, slots=True)
class TextCapture:
    """Pairs of PNG pictures with known text colours; pair k has colour numbers from k * POOL on.

    Spare colours are in the first pair.
    """

    nodes: tuple[TextNode, ...]
    pairs: tuple[tuple[bytes, bytes], ...]
    places: tuple[TextPlace, ...] = ()  # one for each text of the inventory


def capture_text(page: LivePage) -> TextCapture:
    """Recolour the text of a page twice and photograph it each time, to find text without OCR.

    The page keeps the colours: take its ordinary screenshot and its inventory first.
    """
    found = page.run_listing("recolor", {"offset": 0, "group": 0, "list": True})
    nodes = tuple(
        TextNode(text, number if number >= 0 else None, listed_as if listed_as >= 0 else None)
        for text, number, listed_as in found["nodes"]
    )
    places = tuple(
        TextPlace(number, kind, size, tuple((x, y, w, h) for x, y, w, h in lines))
        for number, kind, size, lines in found["texts"]
    )
    if not places and not any(node.color_number is not None for node in nodes):
        return TextCapture(nodes, ())
    wanted = max(-(-found["coloured"] // POOL), 1)
    if wanted > MAX_PAIRS:
        page.flags.add("text_cut")
    pairs = []
    for group in range(min(wanted, MAX_PAIRS)):
        if group > 0:
            page.run_script("recolor", {"offset": 0, "group": group, "list": False})
        first = page.screenshot()
        page.run_script("recolor", {"offset": SHIFT, "group": group, "list": False})
        pairs.append((first, page.screenshot()))
    return TextCapture(nodes, tuple(pairs), places)


def missing_glyphs(run_script: Callable[[str, Any], Any], texts: Iterable[str]) -> str:
    """Return the characters of texts that no font of this machine or of the page has.

    All of them are drawn as the same box, so different texts look the same. `run_script` is that
    of the page.
    """
    found = (one for text in texts for one in text if one >= _FIRST_RARE)
    asked = [one for one in dict.fromkeys(found) if one not in _known_glyphs and _is_drawn(one)]
    if not asked:
        return ""
    asked = asked[:_MAX_GLYPHS]
    answer = run_script("glyphs", "".join(asked))
    _known_glyphs.update(set(asked).difference(answer["machine"]))
    missing = set(answer["page"])
    return "".join(one for one in asked if one in missing)


def _is_drawn(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] not in _NOT_DRAWN and category not in _MARKS and character not in _BLANK
