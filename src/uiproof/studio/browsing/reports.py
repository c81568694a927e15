"""Reports about runs, as the studio serves them: made anew when a run has changed."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

from uiproof.engine.lock import is_locked
from uiproof.errors import InputError
from uiproof.report.html import Linked, report_page
from uiproof.studio.browsing.runs import FoundRun, stamp

ADDRESS = "/runs"
_KEPT = 12  # reports that are held in memory
_FILES = ("run.json", "journal.jsonl", "summary.json")


@dataclass
class _Made:
    """The report about some runs, as it was made last. Its pictures keep their numbers."""

    key: str
    pictures: Linked
    lock: Lock = field(default_factory=Lock)
    stamp: object = None
    page: str = ""


class Reports:
    """Makes and remembers reports. May be used from several threads.

    The pictures of a report have an address that nobody else's can be mistaken for: when a report
    was forgotten, those of pages that are still open are missing, never others.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Path, ...], _Made] = OrderedDict()
        self._lock = Lock()

    def page(self, runs: Sequence[FoundRun]) -> str:
        """The report about runs of one benchmark.

        Raises `InputError` where a run is damaged, or was deleted while it was read.
        """
        made = self._entry(tuple(run.directory.path for run in runs))
        with made.lock:
            now = _stamp(runs)  # before reading: what is written meanwhile is made again
            if now != made.stamp:
                made.page = _page(runs, made.pictures)
                made.stamp = now
            return made.page

    def picture(self, key: str, number: int) -> bytes | None:
        """A picture of a report as WebP; None where there is none any more."""
        with self._lock:
            made = next((made for made in self._made.values() if made.key == key), None)
        return None if made is None else made.pictures.picture(number)

    def _entry(self, paths: tuple[Path, ...]) -> _Made:
        with self._lock:
            if paths not in self._made:
                key = secrets.token_hex(12)
                pictures = Linked(f"{ADDRESS}/pictures/{key}", files_url=f"{ADDRESS}/files")
                self._made[paths] = _Made(key, pictures)
            self._made.move_to_end(paths)
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
            return self._made[paths]


def _page(runs: Sequence[FoundRun], pictures: Linked) -> str:
    chosen = urlencode([("run", run.name) for run in runs], errors="surrogateescape")
    try:
        page = "".join(
            report_page(
                [run.directory for run in runs],
                pictures=pictures,
                back_url=ADDRESS,
                live_url=f"{ADDRESS}/state?{chosen}",
            )
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(
            f"These runs cannot be shown; their files are damaged or change just now: {error!r}.",
            remedy="Load the page again. If that does not help, look at the files of the run.",
        ) from error
    return page.encode("utf-8", "replace").decode("utf-8")


def _stamp(runs: Sequence[FoundRun]) -> object:
    """Changes when a report about these runs would."""
    return [
        (is_locked(run.directory.path / "lock"), *(stamp(run.directory.path / n) for n in _FILES))
        for run in runs
    ]
