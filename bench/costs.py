"""What a case costs on this machine: the numbers that plans are made of.

Cases of every benchmark are measured by `overhead.py`; the engine is measured with a judge that
does nothing, which shows what one driver can feed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cpu import Spent
from growth import Costs
from uiproof.benchmark import Benchmark, Case, Judge, JudgeOptions, Method, Score
from uiproof.engine.context import Context

DRIVER_CASES = 2_000


class Nothing(Judge[str, str, str]):
    """Says that everything is right, at once."""

    def score(self, case: Case[str, str], answer: str) -> Score:  # noqa: ARG002
        """All is right."""
        return Score({"right": 1.0})

    def failure(self, case: Case[str, str] | None) -> Score:  # noqa: ARG002
        """Nothing is."""
        return Score({"right": 0.0})


class Silence(Method[str, str]):
    """Says nothing, at once."""

    name = "silence"

    async def answer(self, case_id: str, question: str, context: Context) -> str:  # noqa: ARG002
        """Nothing."""
        return ""


class Free(Benchmark):
    """Costs nothing."""

    name = "nothing"

    def recognises(self, path: Path) -> bool:  # noqa: ARG002
        """Nothing is."""
        return False

    def cases(self, path: Path) -> list[Case[str, str]]:  # noqa: ARG002
        """There are none but those that are given."""
        return []

    def method(self, name: str, **_: Any) -> Silence:  # noqa: ARG002
        """Silence."""
        return Silence()

    def judge(self, run: Path, options: JudgeOptions) -> Nothing:  # noqa: ARG002
        """Make a judge without work."""
        return Nothing()


def driver_seconds() -> float:
    """Processor seconds of the main process for each case, with a worker process and a journal."""
    command = [sys.executable, __file__]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return float(told)


def measured(found: list[dict[str, Any]], driver: float) -> list[Costs]:
    """Costs from what `overhead.py --json` wrote."""
    costs = []
    for one in found:
        costs.append(
            Costs(
                benchmark=one["benchmark"],
                seconds=tuple(round(Spent(**case).total, 4) for case in one["cases"]),
                start_seconds=Spent(**one["start"]).total,
                driver_seconds=driver,
                journal_bytes=one["journal_bytes"],
                artifact_bytes=one["artifact_bytes"],
                input_bytes=one["input_bytes"],
                worker_mb=one["memory_mb"],
            )
        )
    return costs


def _drive(cases: int) -> float:
    """Run cases that cost nothing; what this process has spent until then."""
    from uiproof.engine.run import execute

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        execute(
            directory=Path(folder) / "run",
            benchmark=Free(),
            cases=[Case(str(number), "", "") for number in range(cases)],
            dataset=data,
            dataset_name="nothing",
            method=Silence(),
            workers=2,
        )
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    # Classes of a main module cannot be unpickled elsewhere: take them from the module itself.
    import costs

    few = DRIVER_CASES // 10
    first = costs._drive(few)  # whatever is done once, is done here
    print(json.dumps((costs._drive(DRIVER_CASES) - first) / DRIVER_CASES))
