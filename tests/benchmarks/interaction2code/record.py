"""Record the features of generated pages: record.py DATASET GENERATED TRUTH OUT.features.xz.

TRUTH is a JSON file with `type` and `usable` of every case, and if there is more to say
`accepted` types and the `style` of the page. `scripts/train_verifier.py` learns from recordings in
`recorded/`, and `test_interaction_accuracy.py` replays them.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.interaction2code import judge as judging
from uiproof.benchmarks.interaction2code.cases import Answer, cases
from uiproof.benchmarks.interaction2code.verifier import verdict as verdicts
from uiproof.benchmarks.interaction2code.verifier.features import NAMES
from uiproof.browser.source import PageSource

DIGITS = 3  # of every number


class Recording:
    """Collects the features of cases. Write them with `save`."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []

    @contextmanager
    def of(self, name: str, label: dict[str, Any]) -> Iterator[None]:
        """Record what the verifier sees of the case that is judged meanwhile."""
        kinds = label.get("accepted", [label["type"]])
        row = [name, label["type"], label["usable"], kinds, label.get("style", "copy"), None]
        features = verdicts.features

        def watched(*given: Any) -> Any:
            found = features(*given)
            row[-1] = [round(one, DIGITS) for one in found.row()]
            return found

        verdicts.features = watched
        try:
            yield
        finally:
            verdicts.features = features
            self.rows.append(row)

    def save(self, path: Path) -> None:
        """Write everything into one compressed file."""
        told = json.dumps({"names": list(NAMES), "rows": self.rows}, ensure_ascii=False)
        path.write_bytes(lzma.compress(told.encode(), preset=9))


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
        page = generated / f"{case.id.rpartition('/')[0]}.html"
        with recording.of(case.id, labels[case.id]):
            judge.score(case, Answer(PageSource.from_file(page), "all"))
    judge.close()
    recording.save(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
