"""The verifier on recorded features, without a browser: it must be as good as documented."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pytest

from uiproof.benchmarks.interaction2code.verifier.features import NAMES, Features
from uiproof.benchmarks.interaction2code.verifier.model import probabilities

ROOT = Path(__file__).parents[3]
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.features.xz"))
DOCUMENTED = {
    name: tuple(map(int, numbers))
    for name, *numbers in re.findall(
        r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$",
        (ROOT / "docs" / "interaction2code-verifier.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


def name_of(path):
    return path.name.removesuffix(".features.xz")


def test_every_recording_is_documented():
    assert {name_of(path) for path in RECORDED} == set(DOCUMENTED)


@pytest.mark.parametrize("path", RECORDED, ids=name_of)
def test_the_verifier_is_as_accurate_as_documented(path):
    told = json.loads(lzma.decompress(path.read_bytes()))
    assert told["names"] == list(NAMES), "record the features again"

    types = usable = sure = 0
    for _, failure, works, accepted, _, row in told["rows"]:
        # Without a row there is no element to act on.
        said = None if row is None else probabilities(Features(*row))
        types += ("a" if said is None else said.failure) in {failure, *accepted}
        usable += (said is not None and said.is_usable) == works
        sure += said is None or not said.unsure

    cases, right_types, right_usable, sure_ones = DOCUMENTED[name_of(path)]
    assert len(told["rows"]) == cases
    assert types >= right_types
    assert usable >= right_usable
    assert sure >= sure_ones
