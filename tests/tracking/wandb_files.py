"""Reads the file that W&B writes while it is offline.

It is a LevelDB log: a header of 7 bytes, then blocks of 32 KiB with records of checksum, length
and kind, each a whole message or a part of one.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

_BLOCK = 32 * 1024
_FULL, _LAST = 1, 4


def messages(path: Path) -> list[bytes]:
    content = path.read_bytes()
    assert content[:4] == b":W&B"
    found, parts, place = [], b"", 7
    while place + 7 <= len(content):
        left = _BLOCK - place % _BLOCK
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        parts += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (_FULL, _LAST):
            found.append(parts)
            parts = b""
    return found


def logged(path: Path) -> dict[str, Any]:
    """What one run logged: its run record, config, history and artifacts."""
    from wandb.proto.wandb_internal_pb2 import Record

    result: dict[str, Any] = {"run": None, "config": {}, "history": {}, "artifacts": []}
    for message in messages(path):
        record = Record.FromString(message)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            result["run"] = record.run
            result["config"] |= _items(record.run.config.update)
        elif kind == "history":
            result["history"] |= _items(record.history.item)
        elif kind == "artifact":
            result["artifacts"].append(record.artifact.type)
    return result


def _items(items: Any) -> dict[str, Any]:
    return {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items}
