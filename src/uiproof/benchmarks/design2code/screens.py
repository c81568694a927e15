"""The options of the judge: screens (window sizes, dark colours, device pixels) and LPIPS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from uiproof.benchmark import JudgeOptions
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.browser.page import Limits

AUTO: Literal["auto"] = "auto"  # as wide as the reference screenshot
DEFAULT_VIEWPORT = (1280, 720)
TALLEST_WINDOW = 1_200  # CSS pixels; a higher screenshot shows a whole page, not a window
_SMALLEST, _LARGEST = 100, 8_192  # CSS pixels of a side
_SCALES = (1, 2, 3)
_MOST_VIEWPORTS = 8
_SIZE = re.compile(r"(\d{1,5})\s*[x×*]\s*(\d{1,5})", re.IGNORECASE)

Viewport: TypeAlias = tuple[int, int] | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Screen:
    """A window of so many CSS pixels, and how it is drawn."""

    width: int = DEFAULT_VIEWPORT[0]
    height: int = DEFAULT_VIEWPORT[1]
    scale: int = 1  # device pixels for each CSS pixel
    dark: bool = False

    @property
    def name(self) -> str:
        """Return the size of the window, such as `1280x720`."""
        return f"{self.width}x{self.height}"

    @property
    def suffix(self) -> str:
        """Return what tells it from the default screen, for names of files."""
        if self == Screen():
            return ""
        dark = "-dark" if self.dark else ""
        return f"-{self.name}" + dark + (f"-{self.scale}x" if self.scale > 1 else "")

    def limits(self, others: Limits) -> Limits:
        """Return the limits of a renderer with this screen."""
        viewport = self.width, self.height
        return replace(others, viewport=viewport, scale=self.scale, dark=self.dark)


@dataclass(frozen=True)
class Design2CodeOptions(JudgeOptions):
    """The screens that pages are compared on, and whether LPIPS is measured."""

    viewports: tuple[Viewport, ...] = (DEFAULT_VIEWPORT,)
    dark: bool = False
    scale: int = 1
    lpips: bool = False

    @classmethod
    def of(
        cls,
        viewport: Any = None,
        *,
        dark: bool = False,
        scale: int | str = 1,
        lpips: bool = False,
    ) -> Design2CodeOptions:
        """Read the options as users give them: one viewport or several, as text or as pairs."""
        given: Iterable[Any]
        if viewport is None or viewport == () or viewport == []:
            given = (DEFAULT_VIEWPORT,)
        elif isinstance(viewport, str):
            given = re.split(r"[\s,]+", viewport.strip())
        elif len(viewport) == 2 and all(isinstance(side, int) for side in viewport):
            given = (viewport,)
        else:
            given = viewport
        viewports = tuple(dict.fromkeys(map(_viewport, given)))
        if len(viewports) > _MOST_VIEWPORTS:
            raise UsageError(f"There are more than {_MOST_VIEWPORTS} viewports.")
        if str(scale) not in map(str, _SCALES):
            raise UsageError(f"The scale {scale!r} is not one of: 1, 2, 3.")
        return cls(viewports, bool(dark), int(scale), bool(lpips))

    def screens(self, screenshot: tuple[int, int] | None = None) -> tuple[Screen, ...]:
        """Return the screens; `screenshot` is the size of the reference's, where there is one."""
        sizes = (_auto(screenshot, self.scale) if one == AUTO else one for one in self.viewports)
        return tuple(
            dict.fromkeys(Screen(*size, scale=self.scale, dark=self.dark) for size in sizes)
        )

    def screen_of(self, screenshot: tuple[int, int]) -> Screen:
        """Return the screen that a screenshot without a page was taken on."""
        return Screen(*_auto(screenshot, self.scale), scale=self.scale, dark=self.dark)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what a run says about them; nothing that the default does not say."""
        sizes = [one if one == AUTO else list(one) for one in self.viewports]
        return {
            "viewport": sizes[0] if len(sizes) == 1 else sizes,
            **({"dark": True} if self.dark else {}),
            **({"scale": self.scale} if self.scale != 1 else {}),
            **({"lpips": True} if self.lpips else {}),
        }


def _viewport(given: Any) -> Viewport:
    if given == AUTO:
        return AUTO
    found = _SIZE.fullmatch(given.strip()) if isinstance(given, str) else None
    try:
        width, height = map(int, found.groups() if found else given)
    except (TypeError, ValueError):
        raise UsageError(
            f"{given!r} is not a viewport.", remedy="Write WIDTHxHEIGHT, such as 390x844, or auto."
        ) from None
    if not (_SMALLEST <= width <= _LARGEST and _SMALLEST <= height <= _LARGEST):
        raise UsageError(
            f"The viewport {width}x{height} is out of range.",
            remedy=f"Each side has {_SMALLEST} to {_LARGEST:,} pixels.",
        )
    return width, height


def _auto(screenshot: tuple[int, int] | None, scale: int) -> tuple[int, int]:
    """Return the window of a screenshot: as wide as it, and as high unless it shows a whole page.

    Without a screenshot, the default.
    """
    if screenshot is None:
        return DEFAULT_VIEWPORT
    width, height = (max(round(side / scale), 1) for side in screenshot)
    height = height if height <= TALLEST_WINDOW else DEFAULT_VIEWPORT[1]
    return min(max(width, _SMALLEST), _LARGEST), max(height, _SMALLEST)
