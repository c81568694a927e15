"""Judges of the engine's toy benchmark that use up disk, memory and time."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from engine_toy import Toy, ToyJudge, run_toy

from uiproof.benchmark import Case, JudgeOptions, Score
from uiproof.engine.rundir import RunDirectory

_SAFE = 700 << 20  # a limit that does not work must not exhaust the machine


class Greedy(ToyJudge):
    """Does what the truth of a case says, with what it needs after the word."""

    def score(self, case: Case[int, str], answer: int) -> Score:
        what, _, argument = case.truth.partition(" ")
        if what == "keep":
            kept = RunDirectory(self.run).artifact_dir(case.id) / "kept.bin"
            kept.write_bytes(os.urandom(int(argument)))
        elif what == "limited":
            _eat_with_limit(int(argument) << 20)
        elif what == "group":
            Path(argument, "cgroup.procs").write_text(str(os.getpid()))
            _eat()
        elif what == "clock":
            time.time = lambda: float(argument)
        return super().score(case, answer)


class GreedyToy(Toy):
    def judge(self, run: Path, options: JudgeOptions) -> Greedy:
        return Greedy(run)


GREEDY = GreedyToy()


def _eat_with_limit(more: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + more, before[1]))
    try:
        _eat()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _eat() -> None:
    held = []
    while 10_000_000 * len(held) < _SAFE:
        held.append(b"\1" * 10_000_000)
    raise AssertionError("nothing stopped it")


def main() -> None:
    """python -c "import fault_toy; fault_toy.main()" RUN DATASET, in processes."""
    run = run_toy(
        Path(sys.argv[1]), Path(sys.argv[2]), benchmark=GREEDY, executor="processes", workers=2
    )
    print(run.summary["n"], run.summary["failed"])
