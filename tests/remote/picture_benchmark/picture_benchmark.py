"""A benchmark whose judge keeps a picture of each case: a word in a file.

A data set is a folder with `words.txt`, one word a line. At the word `held` the judge waits as long
as the file PICTURE_HOLD is there. It notes every case that it judges in the file PICTURE_LOG.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import mean

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Case, Judge, Method, Score
from uiproof.registry import Benchmark, Metric


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


def cases(folder):
    words = (folder / "words.txt").read_text().split()
    return [Case(str(number), word, word) for number, word in enumerate(words, 1)]


def summarise(records):
    lengths = [record.scores["length"] for record in records]
    average = mean(lengths) if lengths else 0.0
    length = {"mean": average, "low": average, "high": average, "n": len(lengths)}
    return {
        "benchmark": "picture",
        "n": len(lengths),
        "failed": 0,
        "scores": {"length": length},
        "flags": {},
        "errors": {},
        "seconds": 0.0,
    }


BENCHMARK = Benchmark(
    name="picture",
    recognises=lambda path: (path / "words.txt").is_file(),
    cases=cases,
    method=lambda name: Echo(),
    methods={"echo": "repeats the question; needs nothing"},
    judge=PictureJudge,
    summarise=summarise,
    metrics=(Metric("length", "Length", bounds=(0, 100)),),
    fingerprint=dict,
)
