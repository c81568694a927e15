from __future__ import annotations

from itertools import pairwise

import pytest
from large_runs import MAKERS

from uiproof.report.details import comparison_details, comparison_markdown

TABLES = {
    "design2code": "Parts of the scores, both profiles",
    "grounding": "Two methods on the same elements",
    "interaction2code": "Failures (Table 7, Fig. 9)",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: [
            make(folder / f"{name}{seed}", 8, seed=seed, method=f"m{seed}", size=(64, 64))
            for seed in (1, 2)
        ]
        for name, make in MAKERS.items()
    }


@pytest.mark.parametrize("benchmark", list(MAKERS))
def test_the_tables_of_the_report_are_printed_as_markdown(runs, benchmark):
    text = comparison_markdown(runs[benchmark])
    lines = text.splitlines()
    assert lines[0].startswith("| Method | n | Failed |")
    assert f"### {TABLES[benchmark]}" in lines
    for before, line in pairwise(lines):  # rows of a table have as many cells as its header
        if before.startswith("|") and line.startswith("|"):
            assert before.count(" | ") == line.count(" | ")


@pytest.mark.parametrize("benchmark", list(MAKERS))
def test_charts_are_drawn_where_they_are_asked_for(runs, benchmark, tmp_path):
    text = comparison_details(runs[benchmark], charts_dir=tmp_path / "charts")
    drawn = sorted(file.name for file in (tmp_path / "charts").glob("*.png"))
    assert drawn
    assert all(f"Written: {tmp_path / 'charts' / name}" in text for name in drawn)


def test_pages_are_compared_by_how_much_text_they_have(runs):
    text = comparison_details(runs["design2code"])
    rows = [line.split() for line in text.splitlines() if line.startswith(("up to", "more than"))]
    assert len(rows) == 2
    counts = [int(row[3]) for row in rows]
    assert 1 <= min(counts) <= max(counts) <= 8
