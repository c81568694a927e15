"""The verifier against failures that were made on purpose.

The sample stays small; `UIPROOF_ALL_MUTATIONS=1` judges every mutation of every page.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest
from mutations import measure as measuring
from mutations.dataset import write_source
from mutations.mutate import TYPES, WAYS, candidates, scene
from mutations.oracle import objection
from mutations.pages import load_page, load_pages
from mutations.session import Session

# A page and the labels of the mutants that are judged of it, one of each for two interactions.
SAMPLE = {
    "outfitters": ("c", "e"),
    "library": ("a", "g"),
}
RIGHT_TYPES = 0.6  # of a page's few mutants: one of them is worth a quarter
RIGHT_USABLE = 0.6


@pytest.mark.parametrize("name", SAMPLE)
def test_the_verifier_types_seeded_failures_of_a_page_right(name, tmp_path):
    page = load_page(name)
    page = replace(page, interactions=page.interactions[:2])
    outcomes = list(measuring.measure([page], tmp_path, types=SAMPLE[name], most=1))

    assert {one.mutant.type for one in outcomes} == set(SAMPLE[name])
    shown = measuring.report(outcomes, show_held=False)
    assert measuring.accuracy(outcomes) >= RIGHT_TYPES, shown
    assert measuring.usability(outcomes) >= RIGHT_USABLE, shown


@pytest.mark.skipif(
    os.environ.get("UIPROOF_ALL_MUTATIONS", "") in ("", "0"),
    reason="takes long: set UIPROOF_ALL_MUTATIONS=1",
)
def test_the_verifier_types_all_seeded_failures_right(tmp_path):
    outcomes = list(measuring.measure(load_pages(), tmp_path))

    shown = measuring.report(outcomes, show_held=True)
    assert measuring.accuracy(outcomes) >= 0.90, shown
    assert measuring.usability(outcomes) >= 0.97, shown


def test_there_are_several_ways_to_make_every_failure(tmp_path):
    page = load_page("newsroom")
    with Session() as session:
        one = scene(session, page, page.interactions[0], tmp_path)
    made = {mutant.type for mutant in candidates(one)}
    ways = Counter(type_ for type_, _, _ in WAYS)

    assert set(ways) == set(TYPES)
    assert min(ways.values()) >= 4
    assert ways["none"] >= 6
    assert made >= set(TYPES) - {"h"}  # what appears has no other element to appear on


def test_the_oracle_takes_no_working_page_for_a_broken_one(tmp_path):
    page = load_page("library")
    it = page.interactions[0]
    with Session() as session:
        one = scene(session, page, it, tmp_path)
        same = session.watch(page, write_source(page, page.html, tmp_path, "same"), it)
        silent = page.html.replace("'input', function", "'invalid', function")
        dead = session.watch(page, write_source(page, silent, tmp_path, "dead"), it)

    assert [type_ for type_ in TYPES if objection(type_, one, same) is None] == ["none"]
    assert objection("b", one, dead) is None
    assert objection("none", one, dead) is not None


def test_a_seed_always_chooses_the_same_mutants(tmp_path):
    page = load_page("quiz")
    it = page.interactions[1]
    with Session() as session:
        runs = [
            [
                mutant.html
                for mutant in measuring.choose(
                    session, page, it, tmp_path / str(run), types=("b",), most=2
                )
            ]
            for run in range(2)
        ]

    assert runs[0] == runs[1]
    assert len(runs[0]) == 2
