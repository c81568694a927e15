"""A toy benchmark whose cases and answers are files, for judges on machines that may not have them.

A data set is a folder with a file for each case: a number, and what its judge does.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
from engine_toy import Toy, ToyJudge

from uiproof.benchmark import Case, JudgeOptions, Method, Score
from uiproof.engine.run import execute


def above() -> list[psutil.Process]:
    """The guardian, who stands in front of it, and the actor."""
    return psutil.Process().parents()[:3]


class Predicted(Method[Path, Path]):
    """Answers with files of a folder."""

    needs_question = False
    concurrency = 2
    name = "predicted"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self._folder,)

    async def answer(self, case_id: str, question: Path, context: Any) -> Path:
        return self._folder / f"{case_id}.txt"


class Reading(ToyJudge):
    """Reads the case and the answer from their files, and keeps a note about that."""

    def score(self, case: Case[Path, None], answer: Path) -> Score:
        number, _, do = case.question.read_text().partition(" ")
        self.disturb(do)
        value = float(number) + float(answer.read_text())
        folder = self.run / "artifacts" / case.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "note.txt").write_text(f"{value}")
        (self.run / "references").mkdir(exist_ok=True)
        (self.run / "references" / f"{case.id}.txt").write_text(number)
        details = {
            "pids": [os.getpid(), *(one.pid for one in above())],
            "run": f"in {self.run.name}",
            "read": str(case.question),
            "setting": os.environ.get("UIPROOF_TOY"),
        }
        artifacts = {"note": f"artifacts/{case.id}/note.txt"}
        return Score({"value": value}, details=details, artifacts=artifacts)

    def disturb(self, do: str) -> None:
        what, _, argument = do.partition(" ")
        if what == "kill-actor-once" and not Path(argument).exists():
            Path(argument).touch()
            os.kill(above()[-1].pid, signal.SIGKILL)
            time.sleep(60)
        elif what == "meet":  # wait for another judge that does the same
            (Path(argument) / str(os.getpid())).touch()
            deadline = time.monotonic() + 100
            while len(list(Path(argument).iterdir())) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
        elif what == "read":
            Path(argument).read_text()
        else:
            self.misbehave(do, "")


def _cases(folder: Path) -> Iterator[Case[Path, None]]:
    for file in sorted(folder.glob("*.txt")):
        yield Case(file.stem, file, None)


class Files(Toy):
    name = "files"

    def cases(self, path: Path) -> Iterator[Case[Path, None]]:
        return _cases(path)

    def judge(self, run: Path, options: JudgeOptions) -> Reading:
        return Reading(run)

    def fingerprint(self, options: JudgeOptions) -> dict[str, Any]:
        return {"browser": os.environ.get("TOY_BROWSER", "1")}


class FilesAnywhere(Files):
    """Files whose judges may work on nodes with another environment."""

    def fingerprint(self, options: JudgeOptions) -> dict[str, Any]:
        return {}


FILES, FILES_ANYWHERE = Files(), FilesAnywhere()


def write_files(folder: Path, *behaviours: str) -> Path:
    """A data set in `folder/data`, predictions in `folder/predicted`."""
    for name in ("data", "predicted"):
        (folder / name).mkdir(parents=True)
    for number, do in enumerate(behaviours):
        (folder / "data" / f"{number:02}.txt").write_text(f"{number} {do}")
        (folder / "predicted" / f"{number:02}.txt").write_text("100")
    return folder


def run_files(folder: Path, name: str, **options: Any) -> Any:
    options = {"benchmark": FILES, "dataset": folder / "data", "executor": "ray", **options}
    return execute(
        directory=folder / name,
        dataset_name="files",
        method=Predicted(folder / "predicted"),
        **options,
    )


def facts(run: Any) -> list[tuple[Any, ...]]:
    """What must be the same wherever cases were judged."""
    return [(one.id, one.status, one.scores, one.artifacts) for one in run.records()]


def pids(runs: Iterable[Any]) -> set[int]:
    found = [one.details.get("pids", []) for run in runs for one in run.records()]
    return {pid for some in found for pid in some}


def main() -> None:
    """Run in a process of its own: python -c "import ray_toy; ray_toy.main()" FOLDER NAME."""
    run_files(Path(sys.argv[1]), sys.argv[2], workers=2)
