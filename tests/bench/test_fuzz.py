"""Every reader that is fuzzed can still be imported, and takes a few inputs."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from fuzz import PIECES, Fuzzer, mutate, readers


def test_a_few_inputs_of_every_reader_are_no_findings(tmp_path: Path) -> None:
    fuzzer = Fuzzer(readers(tmp_path), None, slow=60)
    chance, known = random.Random(1), [piece.encode() for piece in PIECES]
    for number in range(fuzzer.readers):
        for _ in range(3):
            fuzzer.run(bytes([number]) + mutate(chance, known))
    assert len(fuzzer.executions) == fuzzer.readers
    assert not fuzzer.findings
