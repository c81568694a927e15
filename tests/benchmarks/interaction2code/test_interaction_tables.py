from __future__ import annotations

from dataclasses import replace

import pytest
from interaction_runs import many, scored, without_page, written

from uiproof.benchmarks.interaction2code.analyses.outcomes import (
    GROUPS,
    comparable,
    cumulative,
    group_of,
    mean,
    results_of,
)
from uiproof.benchmarks.interaction2code.analyses.tables import (
    all_tables,
    category_table,
    compared,
    comparison_table,
    distribution_table,
    failure_table,
    magnification_table,
    modality_table,
    model_table,
    saliency_table,
    topic_table,
)
from uiproof.errors import UsageError
from uiproof.tables import Table, console, markdown

MIXED = [
    scored("1/1", score=0.8, tags=("button", "link"), visuals=("text",), saliency=0.01),
    scored("1/2", failure="i", score=0.6, tags=("button",), visuals=("text",), saliency=0.024),
    scored("2/1", failure="b", score=0.9, tags=("widget",), visuals=("color",), saliency=0.025),
    scored("3/1", failure="g", score=0.4, tags=("input",), visuals=("switch",), saliency=1.0),
]


def rows(grid: Table):
    """The rows of a table as dictionaries."""
    return [dict(zip(grid.header, row, strict=True)) for row in grid.rows]


@pytest.fixture
def one(tmp_path):
    return results_of([written(tmp_path / "run", "openai/gpt-4o", MIXED, prompt="direct")])


def test_table_4_counts_what_is_not_implemented_as_0_and_also_leaves_it_out(one):
    (first,) = rows(model_table(one, "paper"))
    (second,) = rows(model_table(one, "paper", "implemented"))
    assert (first["Model"], first["Prompt"], first["n"]) == ("openai/gpt-4o", "direct", "4")
    # The page is there whatever its interactions do.
    assert first["Page SSIM"] == second["Page SSIM"] == "0.6750"
    assert first["SSIM"] == "0.4500"
    assert first["IR %"].split()[0] == "75.0"
    assert first["UR %"].split()[0] == "50.0"
    assert (second["Prompt"], second["n"], second["SSIM"]) == ("direct", "3", "0.6000")
    assert second["UR %"].split()[0] == "66.7"


def alike(score):
    return [scored(f"{page}/1", score=score) for page in range(1, 11)]


def test_table_4_has_averages_and_marks_the_best_of_a_model_and_among_models(tmp_path):
    asked = {
        ("a", "direct"): 0.25,
        ("a", "cot"): 0.75,
        ("a", "mark"): 0.5,
        ("b", "direct"): 0.6,
    }
    runs = [
        written(tmp_path / f"{model}{prompt}", model, alike(score), prompt=prompt)
        for (model, prompt), score in asked.items()
    ]
    runs.append(written(tmp_path / "truth", "truth", alike(1.0), assisted=True))
    table = model_table(results_of(runs), "paper")
    found = {(row["Model"], row["Prompt"]): row["SSIM"] for row in rows(table)}
    assert list(found)[:4] == [("a", "direct"), ("a", "cot"), ("a", "mark"), ("a", "Average")]
    assert (found["a", "Average"], found["b", "direct"]) == ("0.5000", "0.6000")
    column = table.header.index("SSIM")

    def marked(places):
        return [table.rows[row][:2] for row, place in places if place == column]

    assert marked(table.best) == [("a", "cot"), ("b", "direct")]
    assert marked(table.second) == [("a", "mark"), ("a", "Average")]
    assert "| **0.7500** |" in markdown([table])
    assert "| <u>0.5000</u> |" in markdown([table])
    assert "0.7500*" in console([table], width=300)


def test_runs_with_other_inputs_are_in_no_table_but_their_own(tmp_path):
    prompts = ["direct", "direct:T", "direct:V+T", "direct:2x"]
    runs = [
        written(tmp_path / prompt, "a", alike(0.1 * number), prompt=prompt)
        for number, prompt in enumerate(prompts, start=1)
    ]
    tables = all_tables(results_of(runs))
    for table in tables:
        if "Table 8" not in table.title and "Fig. 12" not in table.title:
            assert "0.2000" not in markdown([table])
            assert not any(
                name in cell for row in table.rows for cell in row for name in prompts[1:]
            )
    first = next(table for table in tables if "Table 4" in table.title)
    assert len(first.rows) == 1
    assert any("a direct:2x, a direct:T, a direct:V+T" in note for note in first.notes)
    only = results_of(runs[1:2])  # nothing to be mixed with
    assert rows(model_table(comparable(only), "paper"))[0]["Prompt"] == "direct:T"


def test_what_was_not_measured_has_no_mean(one):
    assert rows(model_table(one, "strict"))[0]["CLIP"] == "-"
    assert mean(one[0].outcomes, "strict", "part.clip") is None


def test_a_case_without_a_page_counts_0_everywhere(tmp_path):
    records = [scored("1/1", score=1.0, clip=0.8), without_page("2/1")]
    found = results_of([written(tmp_path / "run", "blueprint", records)])
    (first,) = rows(model_table(found, "paper"))
    (second,) = rows(model_table(found, "paper", "implemented"))
    assert (first["Prompt"], first["n"], first["Page SSIM"], first["Page CLIP"]) == (
        *("-", "2", "0.5000", "0.4000"),
    )
    assert first["IR %"].startswith("50.0")
    assert (second["n"], second["CLIP"]) == ("1", "0.8000")
    (missing,) = [r for r in rows(failure_table(found)) if r["Failure type"].startswith("(a)")]
    assert missing["n"] == "1"


def test_tables_5_and_6_have_categories_as_columns_and_an_average(one, tmp_path):
    table = category_table(one, "tags")
    # The paper's order, others after them.
    assert table.header == ("Model", "Prompt", "button", "input", "link", "widget")
    assert table.rows == (
        ("openai/gpt-4o", "direct", "1.0000", "0.0000", "1.0000", "0.0000"),
        ("n", "", "2", "1", "1", "1"),
    )
    (effects, _) = rows(category_table(one, "visuals"))
    assert effects["text"] == "1.0000"
    second = written(tmp_path / "b", "b", [scored("1/1", failure="b", tags=("button",))])
    found = rows(category_table([*one, *results_of([second])], "tags"))
    assert [row["Model"] for row in found] == ["openai/gpt-4o", "b", "Average", "n"]
    assert (found[1]["button"], found[1]["input"]) == ("0.0000", "-")
    assert (found[2]["button"], found[2]["input"]) == ("0.5000", "0.0000")  # rows, not cases
    assert found[3]["button"] == "1-2"


def test_table_7_says_what_failures_affect_and_figure_9_how_frequent_they_are(one):
    found = {row["Failure type"]: row for row in rows(failure_table(one))}
    assert len(found) == 10
    partial = found["(i) partial implementation"]
    assert partial["Failure object"] == "interaction effects"
    assert (partial["Content"], partial["Function"]) == ("partial", "partial")
    assert partial["Usability rate %"] == "100.0"
    missing = found["(a) interactive element missing"]
    assert missing["User experience"] == "full"
    assert missing["Usability rate %"] == "-"
    shares = {row["Failure"]: row for row in rows(distribution_table(one))}
    assert len(shares) == 11
    assert shares["no failure"]["all %"].split()[0] == "25.0"
    assert shares["(g) wrong type of effect"]["openai/gpt-4o %"] == "25.00"


def test_figure_1c_is_by_topic_and_figure_6a_against_the_first_direct_run(tmp_path):
    better = [scored("1/1", topic="Shop"), scored("1/2", failure="b", topic="shop")]
    worse = [scored("1/1", failure="b", topic="shop"), scored("1/2", failure="b", topic="shop")]
    runs = [
        written(tmp_path / "a", "a", better, prompt="mark"),
        written(tmp_path / "b", "b", worse, prompt="direct"),
    ]
    found = results_of(runs)
    (topic,) = rows(topic_table(found))
    assert (topic["Topic"], topic["interactions"]) == ("shop", "2")
    assert (topic["a"], topic["b"]) == ("50.0", "0.0")  # one page: no interval
    table = comparison_table(found)
    assert table.title == "Against b direct (Fig. 6a)"
    assert table.rows == (("a", "mark", "2", "50.0", "50.0", "0.0"),)


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
    assert found[GROUPS[0]]["SSIM"] == "0.7000"
    assert found[GROUPS[1]]["IR %"].startswith("0.0")
    assert cumulative([0.4, 0.1]) == ([0.1, 0.4], [0.5, 1.0])


def test_a_failed_case_is_in_the_saliency_group_that_another_run_knows(tmp_path):
    runs = [
        written(tmp_path / "a", "a", MIXED),
        written(tmp_path / "b", "b", [without_page("3/1"), without_page("9/1")]),
    ]
    table = saliency_table(results_of(runs), "paper")
    (row,) = [row for row in rows(table) if row["Model"] == "b"]
    assert (row["Saliency"], row["n"], row["SSIM"]) == (GROUPS[4], "1", "0.0000")
    assert any(note.endswith("in no group: 1.") for note in table.notes)


def test_magnification_and_modality_are_read_from_the_prompts(tmp_path):
    prompts = ["mark", "mark:2x", "mark:1.5x", "direct", "direct:T", "direct:V+T", "cot:all"]
    runs = [
        written(tmp_path / str(number), "openai/gpt-4o", many(number), prompt=prompt)
        for number, prompt in enumerate(prompts)
    ]
    found = results_of(runs)
    factors = rows(magnification_table(found, "strict"))
    assert [(row["Prompt"], row["Asked"]) for row in factors] == [
        *(("mark", "1x"), ("mark", "1.5x"), ("mark", "2x")),
    ]
    inputs = rows(modality_table(found, "paper"))
    assert [(row["Prompt"], row["Modality"]) for row in inputs] == [
        *(("direct", "V"), ("direct", "T"), ("direct", "V+T")),
    ]
    assert inputs[0]["openai/gpt-4o n"] == str(len(many(3)))
    ordered = [row["Prompt"] for row in rows(model_table(comparable(found), "paper"))]
    assert ordered == ["direct", "cot:all", "mark", "Average"]


def test_the_magnification_of_a_run_is_what_its_cases_reached(tmp_path):
    reached = (2.0, 2.0, 1.5, 1.0)
    records = [
        replace(scored(f"{page}/1", score=factor / 4), calls=({"magnified": factor},))
        for page, factor in enumerate(reached)
    ]
    runs = [
        written(tmp_path / "1", "a", records, prompt="direct"),
        written(tmp_path / "2", "a", records, prompt="direct:2x"),
        written(tmp_path / "3", "a", alike(0.5), prompt="direct:3x"),  # an old run
    ]
    first, second, full, old = rows(magnification_table(results_of(runs), "strict"))
    assert (first["Asked"], first["Reached"]) == ("1x", "1.00x")
    assert (second["Asked"], second["Reached"], second["In full"]) == ("2x", "1.62x", "2 of 4")
    assert (full["Cases"], full["n"], full["SSIM"]) == ("in full", "2", "0.5000")
    assert (old["Asked"], old["Reached"], old["In full"]) == ("3x", "not recorded", "-")


def test_tables_without_anything_to_show_are_not_there(one):
    titles = [table.title for table in all_tables(one)]
    assert not any("magnification" in title or "modality" in title for title in titles)
    assert len(titles) == len(set(titles)) == 11


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


def test_the_comparison_has_every_table(tmp_path):
    runs = [written(tmp_path / str(seed), f"model-{seed}", many(seed)) for seed in range(2)]
    text = compared(runs, None)
    for title in ("Table 4", "Table 5", "Table 6", "Table 7", "Fig. 1c", "Fig. 6a", "Fig. 9"):
        assert title in text


def test_no_runs_at_all_make_no_tables(tmp_path):
    assert all_tables(results_of([])) == []
    empty = written(tmp_path / "run", "blueprint", [])
    assert "blueprint" in compared([empty], tmp_path / "charts")


def test_names_of_others_cannot_break_a_table():
    grid = Table("A|B", ("Name", "n"), (("x|y\x1b[31m_z", "1"),))
    assert "x\\|y" in markdown([grid])
    assert "\x1b" not in console([grid])
