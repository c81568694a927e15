"""Pictures that came with a request, laid out on disk as judges read them."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from uiproof.benchmarks.interaction2code.layout import FILE
from uiproof.scoring.references import InteractionReference

MOST_BYTES = 250_000_000


@dataclass(slots=True)
class _Kept:
    folder: Path
    size: int
    users: int = 0


class ReferenceFolders:
    """A folder for each `InteractionReference`, by its content; workers read them.

    Those that were not used for longest are deleted when all together are too large, never one
    that is in use. May be used by several threads.
    """

    def __init__(self, root: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._root, self._most_bytes = root, most_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, reference: InteractionReference) -> Iterator[Path]:
        """The folder of a reference; it stays at least until the `with` block ends."""
        told = json.dumps(reference.as_json()).encode()
        digest = hashlib.sha256(told)
        for picture in (reference.before, reference.after):
            digest.update(hashlib.sha256(picture).digest())
        kept = self._take(digest.hexdigest()[:32], reference, told)
        try:
            yield kept.folder
        finally:
            with self._lock:
                kept.users -= 1
                self._make_room()

    def _take(self, key: str, reference: InteractionReference, told: bytes) -> _Kept:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                size = len(reference.before) + len(reference.after) + len(told)
                kept = _Kept(self._root / key, size)
                kept.folder.mkdir(parents=True, exist_ok=True)
                (kept.folder / "0.png").write_bytes(reference.before)
                (kept.folder / "1.png").write_bytes(reference.after)
                (kept.folder / FILE).write_bytes(told)
                self._kept[key] = kept
            self._kept.move_to_end(key)
            kept.users += 1
            return kept

    def _make_room(self) -> None:
        size = sum(kept.size for kept in self._kept.values())
        for key, kept in list(self._kept.items()):
            if size <= self._most_bytes:
                return
            if kept.users == 0:
                del self._kept[key]
                shutil.rmtree(kept.folder, ignore_errors=True)
                size -= kept.size
