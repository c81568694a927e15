from __future__ import annotations

import pytest
from interaction_runs import many, scored, without_page, written

from uiproof.benchmarks.interaction2code.analyses.comparing import compared
from uiproof.benchmarks.interaction2code.analyses.grid import Grid, console, markdown
from uiproof.benchmarks.interaction2code.analyses.outcomes import mean, results_of
from uiproof.benchmarks.interaction2code.analyses.saliency import GROUPS, cumulative, group_of
from uiproof.benchmarks.interaction2code.analyses.tables import (
    all_tables,
    category_table,
    failure_table,
    magnification_table,
    modality_table,
    model_table,
    saliency_table,
)
from uiproof.errors import UsageError

MIXED = [
    scored("1/1", score=0.8, tags=("button", "link"), visuals=("text",), saliency=0.01),
    scored("1/2", failure="i", score=0.6, tags=("button",), visuals=("text",), saliency=0.024),
    scored("2/1", failure="b", score=0.9, tags=("widget",), visuals=("color",), saliency=0.025),
    scored("3/1", failure="g", score=0.4, tags=("input",), visuals=("switch",), saliency=1.0),
]


def rows(grid: Grid):
    """The rows of a table as dictionaries."""
    return [dict(zip(grid.header, row, strict=True)) for row in grid.rows]


@pytest.fixture
def one(tmp_path):
    return results_of([written(tmp_path / "run", "openai/gpt-4o", MIXED, prompt="direct")])


def test_table_4_counts_what_is_not_implemented_as_0_and_also_leaves_it_out(one):
    first, second = rows(model_table(one, "paper"))
    assert (first["Model"], first["Prompt"], first["n"]) == ("openai/gpt-4o", "direct", "4")
    assert first["Page SSIM"] == "0.675"  # the page is there whatever its interactions do
    assert first["SSIM"] == "0.450"
    assert first["IR %"].startswith("75.0 (")
    assert first["UR %"].startswith("50.0 (")
    assert (second["Prompt"], second["n"], second["SSIM"]) == ("implemented", "3", "0.600")
    assert second["Page SSIM"] == ""
    assert second["UR %"].startswith("66.7 (")


def test_what_was_not_measured_has_no_mean(one):
    assert rows(model_table(one, "strict"))[0]["CLIP"] == "-"
    assert mean(one[0].outcomes, "strict", "part.clip") is None


def test_a_case_without_a_page_counts_0_everywhere(tmp_path):
    records = [scored("1/1", score=1.0, clip=0.8), without_page("2/1")]
    found = results_of([written(tmp_path / "run", "blueprint", records)])
    first, second = rows(model_table(found, "paper"))
    assert (first["Prompt"], first["n"], first["Page SSIM"], first["Page CLIP"]) == (
        *("-", "2", "0.500", "0.400"),
    )
    assert first["IR %"].startswith("50.0")
    assert (second["n"], second["CLIP"]) == ("1", "0.800")
    (missing,) = [row for row in rows(failure_table(found)) if row["Failure"].startswith("(a)")]
    assert missing["n"] == "1"


def test_usability_by_category_counts_an_interaction_in_each_of_its_categories(one):
    found = {row["Category"]: row for row in rows(category_table(one, "tags"))}
    assert list(found) == ["button", "input", "link", "widget"]  # the paper's order, others after
    assert found["button"]["n"] == "2"
    assert found["button"]["openai/gpt-4o direct"].startswith("100.0")
    assert found["widget"]["openai/gpt-4o direct"] == "0.0"  # one page: no interval
    effects = {row["Category"]: row for row in rows(category_table(one, "visuals"))}
    assert effects["text"]["n"] == "2"


def test_failures_have_their_share_and_usability(one):
    found = {row["Failure"]: row for row in rows(failure_table(one))}
    assert len(found) == 11
    assert found["no failure"]["all %"].startswith("25.0 (")
    assert found["(i) partial implementation"]["usable %"] == "100.0"
    assert found["(g) wrong type of effect"]["openai/gpt-4o %"] == "25.0"
    assert found["(a) interactive element missing"]["usable %"] == "-"


@pytest.mark.parametrize(
    ("saliency", "group"),
    [(0, 0), (0.0249, 0), (0.025, 1), (0.05, 2), (0.1, 3), (0.19, 3), (0.2, 4), (1, 4)],
)
def test_saliency_groups_hold_their_lower_limit_and_the_last_one_its_upper(saliency, group):
    assert group_of(saliency) == GROUPS[group]


def test_scores_by_saliency_are_those_of_the_groups(one):
    found = {row["Saliency"]: row for row in rows(saliency_table(one, "strict"))}
    assert {name: row["n"] for name, row in found.items()} == {
        GROUPS[0]: "2",
        GROUPS[1]: "1",
        GROUPS[4]: "1",
    }
    assert found[GROUPS[0]]["SSIM"] == "0.700"
    assert found[GROUPS[1]]["IR %"].startswith("0.0")
    assert cumulative([0.4, 0.1]) == ([0.1, 0.4], [0.5, 1.0])


def test_a_failed_case_is_in_the_saliency_group_that_another_run_knows(tmp_path):
    runs = [
        written(tmp_path / "a", "a", MIXED),
        written(tmp_path / "b", "b", [without_page("3/1"), without_page("9/1")]),
    ]
    table = saliency_table(results_of(runs), "paper")
    (row,) = [row for row in rows(table) if row["Model"] == "b"]
    assert (row["Saliency"], row["n"], row["SSIM"]) == (GROUPS[4], "1", "0.000")
    assert any(note.endswith("in no group: 1.") for note in table.notes)


def test_magnification_and_modality_are_read_from_the_prompts(tmp_path):
    prompts = ["mark", "mark:2x", "mark:1.5x", "direct", "direct:T", "direct:V+T", "cot:all"]
    runs = [
        written(tmp_path / str(number), "openai/gpt-4o", many(number), prompt=prompt)
        for number, prompt in enumerate(prompts)
    ]
    found = results_of(runs)
    factors = rows(magnification_table(found, "strict"))
    assert [(row["Prompt"], row["Crop"]) for row in factors] == [
        *(("mark", "1x"), ("mark", "1.5x"), ("mark", "2x")),
    ]
    inputs = rows(modality_table(found, "paper"))
    assert [(row["Prompt"], row["Input"]) for row in inputs] == [
        *(("direct", "V"), ("direct", "T"), ("direct", "V+T")),
    ]
    ordered = [row["Prompt"] for row in rows(model_table(found, "paper"))[::2]]
    assert ordered[:4] == ["direct", "direct:T", "direct:V+T", "cot:all"]


def test_tables_without_anything_to_show_are_not_there(one):
    titles = [table.title for table in all_tables(one)]
    assert not any("magnification" in title or "modality" in title for title in titles)
    assert len(titles) == len(set(titles)) == 7


def test_runs_of_other_benchmarks_are_refused(tmp_path):
    run = written(tmp_path / "run", "echo", [], benchmark="grounding")
    with pytest.raises(UsageError, match="is a run of grounding"):
        compared([run], None)


def test_runs_of_one_method_are_told_apart_by_their_folders(tmp_path):
    runs = [written(tmp_path / name, "blueprint", MIXED) for name in ("old", "new")]
    assert [one.label for one in results_of(runs)] == ["blueprint (new)", "blueprint (old)"]


def test_tables_say_that_runs_have_other_cases_or_were_given_the_truth(tmp_path):
    runs = [
        written(tmp_path / "a", "a", MIXED),
        written(tmp_path / "b", "b", MIXED[:2], assisted=True),
    ]
    notes = model_table(results_of(runs), "paper").notes
    assert any("Only 2 interactions" in note for note in notes)
    assert any("b: assisted" in note for note in notes)


def test_the_comparison_has_every_table_and_writes_them_as_markdown(tmp_path):
    runs = [written(tmp_path / str(seed), f"model-{seed}", many(seed)) for seed in range(2)]
    text = compared(runs, None)
    for title in ("Table 4", "Table 5", "Table 6", "Table 7", "Fig. 10"):
        assert title in text
    text = compared(runs, tmp_path / "charts")
    assert f"Written: {tmp_path / 'charts' / 'tables.md'}" in text
    content = (tmp_path / "charts" / "tables.md").read_text()
    assert "| Model | Prompt | n | Page CLIP |" in content


def test_no_runs_at_all_make_no_tables(tmp_path):
    assert all_tables(results_of([])) == []
    empty = written(tmp_path / "run", "blueprint", [])
    assert "blueprint" in compared([empty], tmp_path / "charts")


def test_names_of_others_cannot_break_a_table():
    grid = Grid("A|B", ("Name", "n"), (("x|y\x1b[31m_z", "1"),))
    assert "x\\|y" in markdown([grid])
    assert "\x1b" not in console([grid])
