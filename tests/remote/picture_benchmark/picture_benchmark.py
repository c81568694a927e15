"""A benchmark whose judge keeps a picture of each case: a word in a file.

A data set is a folder with `words.txt`, one word a line. At the word `held` the judge waits as long
as the file PICTURE_HOLD is there. It notes every case that it judges in the file PICTURE_LOG.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import ClassVar

from uiproof.benchmark import Benchmark, Case, Judge, Method, Metric, Score
from uiproof.engine.rundir import RunDirectory


class Echo(Method[str, str]):
    """Says what it is asked."""

    name = "echo"
    concurrency = 1

    async def answer(self, case_id, question, context):
        return question


class PictureJudge(Judge[str, str, str]):
    """The length of the word."""

    def __init__(self, run: Path) -> None:
        self._run = RunDirectory(run)

    def score(self, case, answer):
        while answer == "held" and Path(os.environ.get("PICTURE_HOLD", "/nowhere")).exists():
            time.sleep(0.02)
        picture = self._run.artifact_dir(case.id) / "picture.txt"
        picture.write_text(answer)
        if log := os.environ.get("PICTURE_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{case.id}\n")
        kept = picture.relative_to(self._run.path).as_posix()
        return Score({"length": float(len(answer))}, artifacts={"picture": kept})

    def failure(self, case):
        return Score({"length": 0.0})


class Picture(Benchmark):
    name = "picture"
    methods: ClassVar = {"echo": "repeats the question; needs nothing"}
    metrics = (Metric("length", "Length", bounds=(0, 100)),)

    def recognises(self, path):
        return (path / "words.txt").is_file()

    def cases(self, path):
        words = (path / "words.txt").read_text().split()
        return [Case(str(number), word, word) for number, word in enumerate(words, 1)]

    def method(self, name, **_):
        return Echo()

    def judge(self, run, options):
        return PictureJudge(run)


BENCHMARK = Picture()
