"""The built-in grounder: no model, only OCR, edges and the words of the instruction.

    grounder = OcrGrounder()
    guess = await grounder.ground(Picture.open(path), "Click on the 'Save' button", context)

It reads every picture once (some seconds of CPU for a full screen) and keeps what it read, in
memory for the next instructions and on disk for the next runs. After that an instruction takes
about a millisecond. It refuses when nothing on the screen fits better than `choosing.MIN_SCORE`.
The same picture and instruction always give the same guess.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.grounders.base import Guess, Picture
from uiproof.benchmarks.grounding.grounders.choosing import MIN_SCORE, choose
from uiproof.benchmarks.grounding.grounders.instructions import understand
from uiproof.benchmarks.grounding.grounders.readings import Readings, reader_name
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.grounders.candidates import Screen
    from uiproof.engine.context import Context

VERSION = 1  # grows whenever the same picture and instruction may give another guess
_KEPT_SCREENS = 64  # of which each takes well below a megabyte


class OcrGrounder:
    """Finds an element by the words that are written on it or near it."""

    name = "ocr"

    def __init__(self, *, cache_dir: Path | None = None) -> None:
        """Readings are kept below `cache_dir`, that of the settings unless given."""
        folder = cache_dir or Settings.from_environment().cache_dir
        self._readings = Readings(folder / "ocr")
        self._screens: OrderedDict[str, Screen] = OrderedDict()
        self._looking: dict[str, asyncio.Task[Screen]] = {}
        self._threads: ThreadPoolExecutor | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its guesses."""
        return {"version": VERSION, "min_score": MIN_SCORE, "reader": reader_name()}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:  # noqa: ARG002 - there is nothing to write down
        """Find what the instruction asks for, or refuse."""
        screen = await self._screen(picture)
        choice = choose(screen, understand(instruction))
        if choice is None:
            return Guess(refused=True, confidence=0.0)
        x, y = choice.point
        point = (x / screen.width, y / screen.height)
        box = choice.box.normalised(screen.width, screen.height)
        return Guess(point, box, confidence=choice.confidence, raw=choice.text)

    async def close(self) -> None:
        """Stop reading."""
        for task in self._looking.values():
            task.cancel()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    async def _screen(self, picture: Picture) -> Screen:
        key = picture.digest
        if key in self._screens:
            self._screens.move_to_end(key)
            return self._screens[key]
        if key not in self._looking:
            self._looking[key] = asyncio.create_task(self._look(key, picture))
        # Others may wait for the same screen: one that gives up must not stop it.
        return await asyncio.shield(self._looking[key])

    async def _look(self, key: str, picture: Picture) -> Screen:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="ocr")
        loop = asyncio.get_running_loop()
        try:
            screen = await loop.run_in_executor(self._threads, self._readings.screen, picture)
        finally:
            del self._looking[key]
        self._screens[key] = screen
        if len(self._screens) > _KEPT_SCREENS:
            self._screens.popitem(last=False)
        return screen
