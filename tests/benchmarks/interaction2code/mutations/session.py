"""A plain browser, set up unlike uiproof's own, that acts on pages and looks at them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mutations.pages import Page, Working

PAUSE = 220  # ms until a page has settled; mutations that are slow on purpose ask for more
Corners = tuple[float, float, float, float]  # left, top, right, bottom in CSS pixels of the page

LOOKING = Path(__file__).parent / "looking.js"


@dataclass(frozen=True)
class Seen:
    """A page before and after an action."""

    before: np.ndarray
    after: np.ndarray
    png: tuple[bytes, bytes]
    trigger: Corners | None  # None: it is not there or cannot be seen
    trigger_tag: str
    trigger_text: str
    reachable: bool  # whether a click on its middle meets it
    effects_before: tuple[Corners | None, ...]
    effects_after: tuple[Corners | None, ...]
    texts_before: tuple[str, ...]  # what is written on each of the effects
    texts_after: tuple[str, ...]
    words_before: tuple[str, ...]
    words_after: tuple[str, ...]
    dialogs: tuple[str, ...]
    moved_on: bool  # another document took its place
    size: tuple[int, int]  # of the window, in CSS pixels


@dataclass(frozen=True)
class Stranger:
    """An element of a page that has nothing to do with an interaction."""

    path: str
    tag: str
    text: str
    box: Corners


class Session:
    """One browser, one tab for each window size."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        from uiproof.browser.chromium import find_chromium

        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=find_chromium().path,
            args=["--no-sandbox", "--font-render-hinting=slight", "--hide-scrollbars"],
        )
        self._tabs: dict[tuple[int, int, int], Any] = {}
        self._dialogs: list[str] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._browser.close()
        self._playwright.stop()

    def strangers(self, page: Page, file: Path, it: Working) -> tuple[Stranger, ...]:
        """Elements that have nothing to do with an interaction, in document order."""
        tab = self._open(page, file)
        found = _ask(tab, "strangers", f"#{it.id}", list(it.effect))
        return tuple(Stranger(**{**one, "box": tuple(one["box"])}) for one in found)

    def watch(self, page: Page, file: Path, it: Working, *, pause: int = PAUSE) -> Seen:
        """Open a file, do what an interaction says, and tell what was seen."""
        tab = self._open(page, file)
        self._dialogs.clear()
        selector = next(
            (s for s in (f"#{it.id}", f"#interact-{it.number}", f"#interact_{it.number}")
             if tab.query_selector(s)),
            f"#{it.id}",
        )  # fmt: skip
        boxes = self._boxes(tab, it.effect)
        words = _words(tab)
        texts = tuple(_ask(tab, "nature", selector)[1] for selector in it.effect)
        png = tab.screenshot(full_page=page.full_page)
        trigger = _ask(tab, "box", selector)
        tag, text = _ask(tab, "nature", selector)
        address = tab.url
        reachable = _act(tab, selector, it)
        tab.wait_for_timeout(pause)
        after = tab.screenshot(full_page=page.full_page)
        return Seen(
            before=_pixels(png),
            after=_pixels(after),
            png=(png, after),
            trigger=tuple(trigger) if trigger else None,
            trigger_tag=tag,
            trigger_text=text,
            reachable=reachable,
            effects_before=boxes,
            effects_after=self._boxes(tab, it.effect),
            texts_before=texts,
            texts_after=tuple(_ask(tab, "nature", selector)[1] for selector in it.effect),
            words_before=words,
            words_after=_words(tab),
            dialogs=tuple(self._dialogs),
            moved_on=tab.url.split("#")[0] != address.split("#")[0],
            size=page.viewport,
        )

    def _open(self, page: Page, file: Path) -> Any:
        key = (*page.viewport, page.scale)
        if key not in self._tabs:
            width, height, scale = key
            tab = self._browser.new_page(
                viewport={"width": width, "height": height}, device_scale_factor=scale
            )
            tab.on("dialog", self._dismiss)
            tab.add_init_script(path=LOOKING)
            self._tabs[key] = tab
        tab = self._tabs[key]
        tab.mouse.move(0, 0)
        tab.goto(file.as_uri())
        return tab

    def _dismiss(self, dialog: Any) -> None:
        self._dialogs.append(dialog.message)
        dialog.dismiss()

    @staticmethod
    def _boxes(tab: Any, selectors: Sequence[str]) -> tuple[Corners | None, ...]:
        found = [_ask(tab, "box", selector) for selector in selectors]
        return tuple(tuple(box) if box else None for box in found)


def _ask(tab: Any, question: str, *arguments: Any) -> Any:
    return tab.evaluate(f"given => looking.{question}(...given)", list(arguments))


def _words(tab: Any) -> tuple[str, ...]:
    text: str = tab.evaluate("() => document.body.innerText")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _pixels(png: bytes) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(np.int16)


def _act(tab: Any, selector: str, it: Working) -> bool:
    """Do it with a mouse and keys; False where the element cannot be reached."""
    if it.kind == "scroll":
        dx, dy = _way(it.value)
        tab.mouse.move(tab.viewport_size["width"] / 2, tab.viewport_size["height"] / 2)
        tab.mouse.wheel(dx, dy)
        return True
    if it.kind == "key":
        tab.evaluate("s => document.querySelector(s)?.focus()", selector)
        tab.keyboard.press(it.value)
        return True
    box = _ask(tab, "box", selector)
    if box is None:
        return False
    x, y, reachable = _ask(tab, "place", selector)
    doings: dict[str, Callable[[], None]] = {
        "click": lambda: tab.mouse.click(x, y),
        "hover": lambda: tab.mouse.move(x, y),
        "drag": lambda: _drag(tab, x, y, it),
        "type": lambda: (tab.mouse.click(x, y), tab.keyboard.type(it.value))[0],
        "select": lambda: _select(tab, selector, it.value or ""),
    }
    doings[it.kind]()
    return bool(reachable)


def _way(value: str | None) -> tuple[int, int]:
    dx, dy = (value or "0,0").split(",")
    return int(dx), int(dy)


def _drag(tab: Any, x: float, y: float, it: Working) -> None:
    dx, dy = _way(it.value)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + dx, y + dy, steps=8)
    tab.mouse.up()


def _select(tab: Any, selector: str, label: str) -> None:
    """Choose by label, also where something else took the place of the list."""
    element = tab.query_selector(selector)
    tag = element.evaluate("e => e.localName")
    if tag == "select":
        if element.is_enabled():
            element.select_option(label=label)
    elif tag == "input":
        element.click()
        tab.keyboard.type(label)
        tab.keyboard.press("Enter")
    else:
        _ask(tab, "choose", selector, label)
