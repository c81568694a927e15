"""Record what the verifier sees on generated pages: record.py DATASET GENERATED TRUTH OUT.

TRUTH is a JSON file with `type` and `usable` of every case. Recordings in `recorded/` are what
`test_interaction_accuracy.py` replays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recorded_evidence import Recording

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.interaction2code import judge as judging
from uiproof.benchmarks.interaction2code.cases import Answer, cases
from uiproof.browser.source import PageSource


@contextmanager
def recorded(recording: Recording, name: str, failure: str, *, usable: bool) -> Iterator[None]:
    """Record every call of the verifier by judges, under a name and with a label."""
    verify = judging.verify
    label = {"failure": failure, "usable": usable}
    judging.verify = lambda *evidence: recording.add(verify, name, label, *evidence)
    try:
        yield
    finally:
        judging.verify = verify


class VerdictJudge(judging.Interaction2CodeJudge):
    """Verdicts only: the scores of pictures take most of the time and are not looked at."""

    def _scores(self, *_: Any) -> dict[str, Any]:
        return {}


def main(dataset: Path, generated: Path, truth: Path, out: Path) -> None:
    """Record all cases of a data set that have a label."""
    labels = json.loads(truth.read_text(encoding="utf-8"))
    recording, judge = Recording(), VerdictJudge()
    for case in cases(dataset):
        if isinstance(case, BrokenCase) or case.id not in labels:
            continue
        label = labels[case.id]
        page = generated / f"{case.id.rpartition('/')[0]}.html"
        with recorded(recording, case.id, label["type"], usable=label["usable"]):
            judge.score(case, Answer(PageSource.from_file(page), "all"))
    judge.close()
    recording.save(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
