"""A toy benchmark: a case is a number, the method doubles it, the judge checks and may misbehave.

Its data set is a JSON file: [{"id": "1", "number": 1, "do": "nothing"}, ...].
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmark import (
    Benchmark,
    BrokenCase,
    Case,
    Judge,
    JudgeOptions,
    Method,
    Record,
    Score,
)
from uiproof.engine.run import execute
from uiproof.errors import BrowserDiedError, InputError, MissingDependencyError, RenderError


class Doubler(Method[int, int]):
    concurrency = 3

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.answering = self.most_answering = 0
        self.closed = False

    @property
    def name(self) -> str:
        return "doubler"

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    async def answer(self, case_id: str, question: int, context) -> int:
        self.answering += 1
        self.most_answering = max(self.most_answering, self.answering)
        try:
            await asyncio.sleep(0)
            if case_id.startswith("cancels"):
                raise asyncio.CancelledError
            if case_id.startswith("refuses"):
                raise RuntimeError("no answer")
            return question * 2
        finally:
            self.answering -= 1

    async def close(self) -> None:
        self.closed = True


class ToyJudge(Judge[int, str, int]):
    def __init__(self, run: Path) -> None:
        self.run = run
        self.sleeper: subprocess.Popen[bytes] | None = None
        self.lost_browsers = 0

    def pose(self, case: Case[int, str]) -> int:
        self.misbehave(case.truth, "pose:")
        return case.question

    def score(self, case: Case[int, str], answer: int) -> Score:
        self.misbehave(case.truth, "")
        value: Any = float(answer)
        if case.truth == "nan":
            value = float("nan")
        elif case.truth == "unwritable":
            value = {1, 2}
        elif case.truth == "unpicklable":
            value = lambda: None  # noqa: E731
        elif case.truth == "no score":
            return 3  # type: ignore[return-value]
        return Score({"value": value}, details={"pid": os.getpid()}, flags=("toy",))

    def failure(self, case: Case[int, str] | None) -> Score:
        return Score({"value": 0.0})

    def close(self) -> None:
        if self.sleeper:
            self.sleeper.kill()
            self.sleeper.wait()

    def browse(self) -> None:
        """Have a process in a session of its own, as browsers are."""
        if self.sleeper is None:
            self.sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            (self.run / "artifacts").mkdir(exist_ok=True)
            with (self.run / "artifacts" / "pids").open("a") as file:
                file.write(f"{self.sleeper.pid}\n{os.getpid()}\n{os.getppid()}\n")

    def misbehave(self, do: str, prefix: str) -> None:
        if not do.startswith(prefix):
            return
        what, _, argument = do.removeprefix(prefix).partition(" ")
        if what == "sleep":
            time.sleep(float(argument))
        elif what.startswith("browse"):
            self.browse()
            if what == "browse-and-die":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(float(argument))
        elif what == "print":
            print("out", flush=True)
            print("err", file=sys.stderr, flush=True)
        elif what == "exit":
            os._exit(7)
        elif what == "exit-once":
            if not Path(argument).exists():
                Path(argument).touch()
                os._exit(7)
        elif what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "sys.exit":
            sys.exit(3)
        elif what == "raise":
            raise ValueError("odd number")
        elif what.startswith("lose-browser"):
            self.lost_browsers += 1
            if what != "lose-browser-once" or self.lost_browsers == 1:
                raise BrowserDiedError("The browser ended.")
        elif what == "fail":
            raise RenderError("It cannot be rendered.", remedy="Write another page.")
        elif what == "missing":
            raise MissingDependencyError("There is no browser.", remedy="Install one.")
        elif what == "os-error":
            number = getattr(errno, argument)
            raise OSError(number, os.strerror(number), "picture.png")
        elif what == "wrapped-full-disk":
            try:
                self.misbehave("os-error ENOSPC", "")
            except OSError as error:
                raise RenderError("It cannot be rendered.") from error


class OnlyMainJudge(ToyJudge):
    def __init__(self, run: Path) -> None:
        super().__init__(run)
        if "PYTEST_CURRENT_TEST" in os.environ and "pytest" not in sys.modules:
            raise RuntimeError("it cannot be made here")


def _cases(dataset: Path) -> Iterator[Case[int, str] | BrokenCase]:
    for item in json.loads(dataset.read_text()):
        if item.get("do") == "broken":
            yield BrokenCase(item["id"], InputError("The file is not readable."))
        else:
            yield Case(item["id"], item["number"], item.get("do", "nothing"))


def _summarise(records: Iterable[Record]) -> dict[str, Any]:
    values = [record.scores["value"] for record in records]
    # Not associative on purpose: shows whether the order of records is stable.
    folded = 0.0
    for value in values:
        folded = (folded + value) * 0.37
    return {"mean": sum(values) / max(len(values), 1), "folded": folded}


class Toy(Benchmark):
    name = "toy"
    methods: ClassVar = {"doubler": "doubles numbers"}

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".json"

    def cases(self, path: Path) -> Iterable[Any]:
        return _cases(path)

    def method(self, name: str, **_: Any) -> Doubler:
        return Doubler()

    def judge(self, run: Path, options: JudgeOptions) -> ToyJudge:
        return ToyJudge(run)

    def summarise(self, records: Iterable[Record]) -> dict[str, Any]:
        return _summarise(records)

    def fingerprint(self, options: JudgeOptions) -> dict[str, Any]:
        return {"browser": {"version": "1"}}


class VariedToy(Toy):
    """The toy with some of its parts replaced: `name`, `judge`, `cases`, `fingerprint`."""

    def __init__(self, **parts: Any) -> None:
        self._parts = parts
        self.name = parts.get("name", self.name)

    def judge(self, run: Path, options: JudgeOptions) -> Any:
        make = self._parts.get("judge")
        return super().judge(run, options) if make is None else make(run)

    def cases(self, path: Path) -> Iterable[Any]:
        make = self._parts.get("cases")
        return super().cases(path) if make is None else make(path)

    def fingerprint(self, options: JudgeOptions) -> dict[str, Any]:
        return self._parts.get("fingerprint", super().fingerprint(options))


TOY = Toy()


def write_dataset(path: Path, *behaviours: str, count: int = 0, do: str = "nothing") -> Path:
    """One case per behaviour, then `count` more that all `do` the same."""
    wanted = [*behaviours, *[do] * count]
    items = [{"id": str(n), "number": n, "do": what} for n, what in enumerate(wanted)]
    path.write_text(json.dumps(items))
    return path


def run_toy(directory: Path, dataset: Path, **options: Any) -> Any:
    options = {"benchmark": TOY, "method": Doubler(), "executor": "inline", **options}
    return execute(directory=directory, dataset=dataset, dataset_name="toys", **options)


def main() -> None:
    """Run in a process of its own: python -c "import engine_toy; engine_toy.main()" RUN DATASET."""
    run_toy(Path(sys.argv[1]), Path(sys.argv[2]), executor="processes", workers=2)
