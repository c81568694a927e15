"""The verifier on recorded evidence, without a browser: it must be as good as documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recorded_evidence import load

from uiproof.benchmarks.interaction2code.verifier import verify

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


def test_every_recording_is_documented():
    assert {path.stem for path in RECORDED} == set(DOCUMENTED)


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
