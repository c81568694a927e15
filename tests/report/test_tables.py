from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from large_runs import MAKERS, write
from report_runs import failed, make_run, scored

from uiproof.errors import UsageError
from uiproof.leaderboard import leaderboard
from uiproof.report.tables import comparison, comparison_details
from uiproof.report.tables import comparison_markdown as markdown
from uiproof.tables import Table, console


def values(seed, mean, n=40):
    generator = random.Random(seed)
    return [min(max(generator.gauss(mean, 0.05), 0), 1) for _ in range(n)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    good = [scored(str(i), v) for i, v in enumerate(values(1, 0.8))]
    close = [scored(str(i), v + (-0.05, 0.046)[i % 2]) for i, v in enumerate(values(1, 0.8))]
    poor = [scored(str(i), v) for i, v in enumerate(values(3, 0.5, n=39))] + [failed("39")]
    return [
        make_run(folder / "poor", poor, method="blueprint", pictures=False),
        make_run(folder / "good", good, method="replay:good", pictures=False, assisted=True),
        make_run(folder / "close", close, method="replay:close", pictures=False),
    ]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_best_is_bold_ties_are_marked_and_the_order_is_best_first(runs):
    lines = markdown(runs).splitlines()
    header, rows = cells(lines[0]), [cells(line) for line in lines[2:5]]
    mean = header.index("Mean w/o CLIP")
    assert [row[0] for row in rows] == ["replay:good \\[assisted\\]", "replay:close", "blueprint"]
    assert rows[0][mean].startswith("**0.8")
    assert rows[1][mean].startswith("≈0.")
    assert rows[2][mean].startswith("0.4")
    assert all(re.search(r" \[0\.\d{3}, [01]\.\d{3}\]$", row[mean]) for row in rows)
    # How many cases, clusters and failures; every page is a cluster.
    assert [row[1:4] for row in rows] == [["40", "40", "0"], ["40", "40", "0"], ["40", "40", "1"]]


def test_what_was_not_measured_is_said_and_never_a_number(runs):
    text = markdown(runs)
    header = cells(text.splitlines()[0])
    assert "CLIP" not in header
    assert "Final" not in header
    assert "Not measured: CLIP, Final. To measure it: \\`uiproof data get clip-vit-b-32\\`." in text


def test_the_notes_explain_what_occurs(runs):
    text = markdown(runs)
    assert "cannot be told apart from the best" in text
    assert "Assisted methods were given the truth." in text
    assert "Failed cases count in every mean." in text
    assert "Human is the variant without clip." in text
    alone = markdown(runs[2:])
    assert "told apart" not in alone
    assert "**" not in alone
    assert "ssisted" not in alone


def test_the_terminal_table_turns_around_where_it_would_not_fit(runs):
    wide = comparison(runs[:2], width=240).splitlines()
    assert wide[0].split()[:4] == ["Method", "n", "Clusters", "Failed"]
    narrow = comparison(runs[:2], width=80).splitlines()
    assert narrow[0].split()[0] == "Method"
    assert narrow[1].split() == ["n", "40", "40"]
    assert max(map(len, narrow)) <= 80
    assert "\x1b" not in "".join(narrow)  # not a terminal: no colours


def test_columns_are_right_aligned(runs):
    wide = comparison(runs, width=240).splitlines()
    ends = {line.index("[0") for line in wide[1:4]}
    assert len(ends) == 1


def test_few_pages_have_no_interval_and_it_is_said_why(tmp_path):
    some = [scored(str(i), 0.9 - i / 100) for i in range(7)]
    text = markdown([make_run(tmp_path / "few", some, pictures=False)])
    assert "[" not in text.splitlines()[2]
    assert "No interval: fewer than 8 clusters." in text
    equal = [scored(str(i), 0.9) for i in range(9)]
    text = markdown([make_run(tmp_path / "equal", equal, pictures=False)])
    assert "No interval: no variation between clusters." in text


def test_runs_of_earlier_versions_get_the_same_intervals(tmp_path):
    records = [scored(str(i), v) for i, v in enumerate(values(1, 0.8))]
    new = make_run(tmp_path / "new", records, pictures=False)
    old = make_run(tmp_path / "old", records, pictures=False)
    summary = old.summary
    for cell in summary["scores"]["paper"].values():
        if cell:
            cell |= {"low": cell["mean"] - 0.001, "high": cell["mean"] + 0.001}
            del cell["clusters"], cell["no_interval"]
    old.write_summary(summary)
    rows = leaderboard([new, old]).rows
    assert [replace(cell, best=False, tie=False) for cell in rows[0].cells] == [
        replace(cell, best=False, tie=False) for cell in rows[1].cells
    ]


def test_runs_with_different_cases_are_compared_on_what_they_share_and_it_is_said(tmp_path):
    a = make_run(tmp_path / "a", [scored(str(i), 0.9) for i in range(10)], pictures=False)
    b = make_run(tmp_path / "b", [scored(str(i), 0.9) for i in range(5, 12)], pictures=False)
    assert leaderboard([a, b]).shared == 5
    assert "Only 5 cases are in all runs" in markdown([a, b])
    names = [row.name for row in leaderboard([a, b]).rows]
    assert names == ["blueprint (a)", "blueprint (b)"]


def test_runs_are_ranked_by_what_most_have_where_one_lacks_the_main_score(tmp_path):
    two = [MAKERS["grounding"](tmp_path / str(seed), 8, seed=seed) for seed in (1, 2)]
    records = [replace(one, scores={"macro": 0.5}) for one in two[0].records()]
    lacking = write(tmp_path / "lacking", "grounding", "lacking", records)
    board = leaderboard([lacking, *two])
    assert board.metrics[board.primary].key == "accuracy"
    assert board.ranked()[-1].name == "lacking"


def test_two_human_scales_are_not_compared(tmp_path):
    a = make_run(tmp_path / "a", [scored(str(i), 0.9, clip=0.8) for i in range(5)], pictures=False)
    b = make_run(tmp_path / "b", [scored(str(i), 0.5) for i in range(5)], pictures=False)
    board = leaderboard([a, b])
    human = [metric.key for metric in board.metrics].index("human")
    assert not any(row.cells[human].best or row.cells[human].tie for row in board.rows)
    assert "different scales" in markdown([a, b])


def test_a_mean_that_was_withheld_comes_with_its_reason(tmp_path):
    mixed = [scored("1", 0.9, clip=0.8), scored("2", 0.9)]
    text = comparison([make_run(tmp_path / "a", mixed, pictures=False)])
    assert "CLIP, blueprint: measured for 1 of 2 cases only." in text
    assert "two scales that cannot be averaged" in text


def test_names_can_neither_break_the_table_nor_the_terminal(tmp_path):
    run = make_run(tmp_path / "a", [scored("1", 0.9)], method="x|y\x1b[31m*z*\n", pictures=False)
    row = markdown([run]).splitlines()[2]
    assert "\x1b" not in comparison([run]) + row
    assert row.startswith("| x\\|y?\\[31m\\*z\\*? | 1 |")


def test_a_benchmark_that_is_not_installed_can_still_be_shown(tmp_path):
    run = make_run(tmp_path / "a", [scored("1", 0.9)], benchmark="elsewhere", pictures=False)
    assert "paper.block_match" in comparison([run])


def test_runs_of_different_benchmarks_and_no_runs_are_refused(tmp_path):
    a = make_run(tmp_path / "a", [scored("1", 0.9)], pictures=False)
    b = make_run(tmp_path / "b", [scored("1", 0.9)], benchmark="elsewhere", pictures=False)
    with pytest.raises(UsageError, match="different benchmarks"):
        markdown([a, b])
    with pytest.raises(UsageError, match="no run"):
        comparison([])


TABLES = {
    "design2code": "Parts of the scores, both profiles",
    "grounding": "Two methods on the same elements",
    "interaction2code": "Failure types (Table 7)",
}


@pytest.fixture(scope="module")
def of_each_benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("each")
    return {
        name: [
            make(folder / f"{name}{seed}", 8, seed=seed, method=f"m{seed}", size=(64, 64))
            for seed in (1, 2)
        ]
        for name, make in MAKERS.items()
    }


@pytest.mark.parametrize("benchmark", list(MAKERS))
def test_the_tables_of_the_report_are_printed_as_markdown(of_each_benchmark, benchmark):
    text = markdown(of_each_benchmark[benchmark])
    lines = text.splitlines()
    assert lines[0].startswith("| Method | n | Clusters | Failed |")
    assert f"### {TABLES[benchmark]}" in lines
    for before, line in pairwise(lines):  # rows of a table have as many cells as its header
        if before.startswith("|") and line.startswith("|"):
            assert before.count(" | ") == line.count(" | ")


@pytest.mark.parametrize("benchmark", list(MAKERS))
def test_charts_are_drawn_where_they_are_asked_for(of_each_benchmark, benchmark, tmp_path):
    text = comparison_details(of_each_benchmark[benchmark], charts_dir=tmp_path / "charts")
    drawn = sorted(file.name for file in (tmp_path / "charts").iterdir())
    sharp = [name for name in drawn if name.endswith(".svg")]
    assert sharp
    assert {name.replace(".svg", ".png") for name in sharp} <= set(drawn)
    assert all(f"Written: {tmp_path / 'charts' / name}" in text for name in sharp)
    if benchmark == "interaction2code":
        assert f"Written: {tmp_path / 'charts' / 'tables.md'}" in text
        tables = (tmp_path / "charts" / "tables.md").read_text()
        assert "| Model | Prompt | n | Page CLIP |" in tables


def test_pages_are_compared_by_how_much_text_they_have(of_each_benchmark):
    text = comparison_details(of_each_benchmark["design2code"])
    rows = [line.split() for line in text.splitlines() if line.startswith(("up to", "more than"))]
    assert len(rows) == 2
    counts = [int(row[3]) for row in rows]
    assert 1 <= min(counts) <= max(counts) <= 8


def test_a_table_of_words_keeps_its_rows():
    words = "what is different from the reference page, and at some length"
    table = Table("", ("Kind", "Says", "Where"), (("moved", words, words),), names=3)
    assert console([table], width=80).splitlines()[0].split() == ["Kind", "Says", "Where"]
