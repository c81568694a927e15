"""Record the features of an exam: record.py exams/p.tar.xz recorded/p.features.xz.

Labels have the `type` and `usable` of every case, and if there is more to say `accepted` types and
the `style` of the page. `scripts/train_verifier.py` learns from recordings in `recorded/`, and
`test_interaction_accuracy.py` replays them.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exam_dataset import make_dataset

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


def main(archive: Path, out: Path) -> None:
    """Record all cases of an exam."""
    recording, judge = Recording(), VerdictJudge()
    with tempfile.TemporaryDirectory() as folder:
        labels = make_dataset(archive, Path(folder))
        for case in cases(Path(folder) / "dataset"):
            assert not isinstance(case, BrokenCase), case
            page = Path(folder) / "generated" / f"{case.id.rpartition('/')[0]}.html"
            with recording.of(case.id, labels[case.id]):
                judge.score(case, Answer(PageSource.from_file(page), "all"))
    judge.close()
    recording.save(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
