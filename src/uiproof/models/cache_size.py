"""How large the cache is, as all its processes know it together without looking at every file.

The figure stands in the file of the locks. It drifts where a process is killed between a write and
its entry here, or where somebody else adds or removes files; each pruning measures it anew.
"""

from __future__ import annotations

import os
import struct
import time

from uiproof.models.key_locks import KeyLocks

_LAYOUT = struct.Struct("<qd")  # bytes in the cache, when it may be pruned next
_LOCK = 2**62  # beyond the numbers of keys
_LONGEST_PRUNING = 300.0


class SizeLedger:
    """The size of a cache and when somebody may next look whether it is too large."""

    def __init__(self, locks: KeyLocks) -> None:
        self._locks = locks

    def add(self, change: int, *, limit: int | None) -> bool:
        """Note that the cache has grown or shrunk; whether the caller is to make room now.

        Of many callers only one is asked to, and not again before it has said `rest_for`.
        """
        with self._locks.briefly(_LOCK):
            state = self._read()
            if state is None and limit is None:
                return False
            total, not_before = state or (0, 0.0)
            total += change
            now = time.time()
            too_large = limit is not None and (state is None or total > limit)
            due = too_large and not now < not_before <= now + _LONGEST_PRUNING
            self._write(max(total, 0), now + _LONGEST_PRUNING if due else not_before)
            return due

    def total(self) -> int | None:
        """The size in bytes as noted so far."""
        with self._locks.briefly(_LOCK):
            state = self._read()
        return state and state[0]

    def measured(self, size: int, total_before: int | None) -> None:
        """Note a size that was counted; what others added since `total_before` is on top of it."""
        with self._locks.briefly(_LOCK):
            total, not_before = self._read() or (0, 0.0)
            since = 0 if total_before is None else total - total_before
            self._write(max(size + since, 0), not_before)

    def rest_for(self, seconds: float) -> None:
        """Say that making room is over, and when the next attempt may begin at the earliest."""
        with self._locks.briefly(_LOCK):
            total, _ = self._read() or (0, 0.0)
            self._write(total, time.time() + min(seconds, _LONGEST_PRUNING))

    def _read(self) -> tuple[int, float] | None:
        content = os.pread(self._locks.fd, _LAYOUT.size, 0)
        if len(content) != _LAYOUT.size:
            return None
        total, not_before = _LAYOUT.unpack(content)
        return (total, not_before) if total >= 0 else None

    def _write(self, total: int, not_before: float) -> None:
        os.pwrite(self._locks.fd, _LAYOUT.pack(total, not_before), 0)
