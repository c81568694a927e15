"""The verifier on recorded evidence, without a browser: it must be as good as documented.

The rules replay whole evidence (`*.xz`), the guidelines recorded features (`*.features.xz`).
"""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pytest
from recorded_evidence import load

from uiproof.benchmarks.interaction2code.verifier import guidelines
from uiproof.benchmarks.interaction2code.verifier.comparison import NAMES, Features
from uiproof.benchmarks.interaction2code.verifier.rules import verify

ROOT = Path(__file__).parents[3]
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.xz"))
DOCUMENTED = {
    name: (int(cases), int(types), int(usable))
    for name, cases, types, usable in re.findall(
        r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|$",
        (ROOT / "docs" / "interaction2code-verifier.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


FEATURES = [path for path in RECORDED if path.stem.endswith(".features")]
RECORDED = [path for path in RECORDED if path not in FEATURES]


def name_of(path):
    return path.stem.replace(".", "_")


def test_every_recording_is_documented():
    assert {name_of(path) for path in (*RECORDED, *FEATURES)} == set(DOCUMENTED)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_verifier_is_as_accurate_as_documented(path):
    cases, types, usable = DOCUMENTED[path.stem]
    wrong, found = [], []
    for case in load(path):
        verdict = verify(case.reference, case.generated)
        found.append((case, verdict))
        if verdict.failure != case.label["failure"] or verdict.usable != case.label["usable"]:
            wrong.append(f"{case.name}: {case.label}, not {verdict}")

    assert len(found) == cases
    assert sum(one.failure == case.label["failure"] for case, one in found) >= types, wrong
    assert sum(one.usable == case.label["usable"] for case, one in found) >= usable, wrong


@pytest.mark.parametrize("path", FEATURES, ids=name_of)
def test_the_guidelines_are_as_accurate_as_documented(path):
    cases, types, usable = DOCUMENTED[name_of(path)]
    told = json.loads(lzma.decompress(path.read_bytes()))
    assert told["names"] == list(NAMES), "record the features again"

    right = [0, 0]
    for _, failure, works, row in told["rows"]:
        # Without a row there is no element to act on.
        said = None if row is None else guidelines.opinion(Features(*row))
        right[0] += ("a" if said is None else said.failure) == failure
        right[1] += (said is not None and said.usable) == works

    assert len(told["rows"]) == cases
    assert right[0] >= types
    assert right[1] >= usable
