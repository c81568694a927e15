"""Whose processor seconds are these: Chromium's, the OCR engine's, or ours.

    with Meter() as meter:
        ...
    meter.spent             # Spent(chromium=0.41, ocr=0.0, own=0.12)
    meter.steps             # {"decode pictures": 0.05, ...}: where our own were spent

Processor seconds, never wall seconds: they hardly depend on what else the machine does. Linux only.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from uiproof.process_tree import known_descendants

_TICK = os.sysconf("SC_CLK_TCK")
_EVERY = 0.005  # seconds between two looks of the sampler
_PR_SET_CHILD_SUBREAPER = 36

# The innermost frame that fits says what a thread is at. The first fitting line counts.
STEPS: Sequence[tuple[str, str]] = (
    ("/rapidocr/", "ocr"),
    ("/onnxruntime/", "clip"),
    ("/uiproof/vision/clip.py", "inpaint"),
    ("/uiproof/vision/clip.py", "prepare pictures for CLIP"),
    ("/playwright/", "talking to the browser"),
    ("/uiproof/browser/watchdog.py", "watch the browser"),
    ("/uiproof/browser/changes.py", "compare snapshots"),
    ("/uiproof/browser/", "talking to the browser"),
    ("/uiproof/vision/images.py", "decode and encode pictures"),
    ("/uiproof/vision/images.py", "decode and encode pictures"),
    ("/uiproof/vision/ocr.py", "around the reader"),
    ("/uiproof/vision/ocr.py", "around the reader"),
    ("/interaction2code/judging/reading.py", "around the reader"),
    ("/uiproof/vision/ssim.py", "structural similarity"),
    ("/uiproof/vision/", "verify: look at pictures"),
    ("/design2code/blocks.py", "find text blocks"),
    ("/design2code/matching.py", "match texts"),
    ("/design2code/strict.py", "strict profile"),
    ("/design2code/cleanup.py", "clean up the page"),
    ("/interaction2code/verifier/", "verify"),
    ("/interaction2code/region.py", "find what changed"),
    ("/interaction2code/marks.py", "reference"),
    ("/interaction2code/judging/reference.py", "reference"),
    ("/interaction2code/judging/", "compare"),
    ("/grounding/grounders/", "choose by words"),
    ("/uiproof/benchmarks/", "the rest of the judge"),
    ("/uiproof/engine/", "journal"),
    ("/asyncio/", "talking to the browser"),
    ("/bench/", "pickle"),
)
_OTHER = "everything else"
_ENGINES = ("ocr", "clip", "inpaint")  # not ours, and counted by their own clocks


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor seconds by who spent them."""

    chromium: float = 0.0
    ocr: float = 0.0
    own: float = 0.0  # everything else in our own process
    clip: float = 0.0  # the network itself
    inpaint: float = 0.0  # painting texts over before CLIP sees a page

    @property
    def total(self) -> float:
        """Everybody's."""
        return sum(getattr(self, name) for name in self.__slots__)

    def __add__(self, other: Spent) -> Spent:
        return self - (Spent() - other)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))


class Clocks:
    """Count what OCR, CLIP's network and its inpainting cost: each is wrapped where it is called.

    Nothing else of this process may work while the OCR engine reads, else that is counted too.
    """

    def __init__(self) -> None:
        from uiproof.vision import clip, ocr

        self.ocr = self.clip = self.inpaint = 0.0
        self.idle = threading.Event()  # nobody may look while the engine reads: that would count
        self.idle.set()
        self._make = ocr._engine
        ocr._engine = self._engine  # type: ignore[assignment]
        clip.ClipModel.embed = self._timed("clip", clip.ClipModel.embed)  # type: ignore[method-assign]
        clip.inpaint = self._timed("inpaint", clip.inpaint)

    @property
    def seconds(self) -> float:
        """All that is not our own."""
        return self.ocr + self.clip + self.inpaint

    def _engine(self) -> Callable[..., Any]:
        engine = self._make()

        def timed(*args: Any) -> Any:
            self.idle.clear()
            began = time.process_time()
            try:
                return engine(*args)
            finally:
                self.ocr += time.process_time() - began
                self.idle.set()

        return timed

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Both work in the thread that calls them."""

        def timed(*args: Any, **options: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                setattr(self, name, getattr(self, name) + time.thread_time() - began)

        return timed


class Meter:
    """Measures everything between `with` and its end, and says where our own seconds went."""

    def __init__(self, clocks: Clocks, *, sampled: bool = True) -> None:
        self.spent = Spent()
        self.steps: dict[str, float] = {}
        self._clocks = clocks
        self._sampler = _Sampler(clocks.idle) if sampled else None

    def __enter__(self) -> Meter:
        self._before = spent_so_far(self._clocks)
        if self._sampler:
            self._sampler.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        own = time.process_time()  # at once: to look around costs something too
        looking = self._sampler.stop() if self._sampler else 0.0
        spent = spent_so_far(self._clocks, own) - self._before
        self.spent = replace(spent, own=spent.own - looking)
        if self._sampler:
            seen = {k: v for k, v in self._sampler.seconds.items() if k not in _ENGINES}
            # The samples say the shares, the clock of the process says of how much.
            scale = self.spent.own / max(sum(seen.values()), 1e-9)
            self.steps = {step: seconds * scale for step, seconds in seen.items()}


def adopt_orphans() -> None:
    """Processes that lose their parent become ours, so that their seconds are found."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def spent_so_far(clocks: Clocks, own: float | None = None) -> Spent:
    """What this process and all below it have used until now, those that ended included.

    `own` is the clock of this process, read now unless it is given.
    """
    chromium = 0.0
    for used, ended in _below(os.getpid()):
        chromium += used + ended
    clock = time.process_time() if own is None else own
    own = clock - clocks.seconds
    return Spent(chromium, clocks.ocr, own, clocks.clip, clocks.inpaint)


def cpu_of_all() -> float:
    """Processor seconds of this process and all below it, those that ended included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    below = sum(used + before for used, before in _below(os.getpid()))
    return time.process_time() + ended.ru_utime + ended.ru_stime + below


def memory_mb() -> float:
    """Memory of this process and all below it; what they share is counted once."""
    total = 0
    for pid in (os.getpid(), *known_descendants(os.getpid())):
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _below(root: int) -> Iterator[tuple[float, float]]:
    """Yield for each process below: its own seconds, those of its children that have ended."""
    children: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                used, ended = (sum(map(int, words[at : at + 2])) / _TICK for at in (11, 13))
                children[int(words[1])].append((int(entry.name), used, ended))
    todo = [root]
    while todo:
        for pid, used, ended in children[todo.pop()]:
            todo.append(pid)
            yield used, ended


class _Sampler:
    """Looks at the stacks of all threads now and then; what each has used since goes to its step.

    Threads without a Python stack (of OpenCV, for example) work for the main thread.
    """

    def __init__(self, may_look: threading.Event) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._may_look = may_look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._used = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> float:
        """Stop looking; says what looking cost."""
        self._stop.set()
        self._thread.join()
        return self._used

    def _look(self) -> None:
        me = threading.get_native_id()
        before = _threads(me)
        while not self._stop.wait(_EVERY):
            if not self._may_look.is_set():
                self._may_look.wait()
                before = _threads(me)
                continue
            now = _threads(me)
            frames = sys._current_frames()
            known = {one.native_id: one.ident for one in threading.enumerate()}
            main = frames.get(threading.main_thread().ident or 0)
            for thread, used in now.items():
                if (spent := used - before.get(thread, 0)) > 0:
                    frame = frames.get(known.get(thread) or 0, main)
                    self.seconds[_step(frame)] += spent / 1e9
            before = now
        self._used = time.thread_time()


def _threads(but: int) -> dict[int, int]:
    """Nanoseconds that each thread of this process has used."""
    used = {}
    for name in os.listdir("/proc/self/task"):  # noqa: PTH208 - quicker
        if int(name) != but:
            with suppress(OSError):
                stat = Path("/proc/self/task", name, "schedstat").read_bytes()
                used[int(name)] = int(stat.partition(b" ")[0])
    return used


def _step(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        for part, step in STEPS:
            if part in file:
                return step
        frame = frame.f_back
    return _OTHER
