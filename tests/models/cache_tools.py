"""Requests, answers and their files, for tests and for the processes that tests start.

Nothing heavy is imported here: tests start many processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from uiproof.models.cache import ReplyCache
from uiproof.models.names import parse_name
from uiproof.models.types import Finish, Image, Message, Reply, Request, Usage

HERE = Path(__file__).parent
MODEL = "compatible:http://localhost:1/v1#tiny"
ENDPOINT = parse_name(MODEL)


@dataclass(frozen=True)
class Rule:
    tall: str = "split"

    def as_json(self):
        return {"tall": self.tall}


RULE = Rule()


def ask(*parts: str | Image, **options) -> Request:
    return Request((Message("user", parts),), **options)


def key_of(*parts: str | Image, rule: Rule = RULE, endpoint=ENDPOINT, **options) -> str:
    return ReplyCache.key(endpoint, ask(*parts, **options), rule)


def key_number(number: int) -> str:
    return key_of(f"question {number}")


def answer(text: str = "<p>hello</p>", **more) -> Reply:
    return Reply(text, Finish.STOP, Usage(11, 5), model="tiny-1", raw={"choices": [text]}, **more)


def path_of(cache: ReplyCache, key: str) -> Path:
    return cache.folder / key[:2] / f"{key}.json"


def age(cache: ReplyCache, key: str, seconds: float) -> None:
    """As if an answer had last been used so long ago."""
    then = time.time() - seconds
    os.utime(path_of(cache, key), (then, then))


def start(code: str, *args: object) -> subprocess.Popen[bytes]:
    """Another process, which knows what this file defines."""
    prelude = (
        "import asyncio, random, signal, sys, time\n"
        "from cache_tools import *\n"
        "args = sys.argv[1:]\n"
    )
    path = os.pathsep.join([str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    command = [sys.executable, "-c", prelude + code, *map(str, args)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE)


def end(process: subprocess.Popen[bytes]) -> bytes:
    """Wait for a process, check its exit code, and return its output."""
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return said
