from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from uiproof.benchmarks.interaction2code.analyses.anchors import (
    COMPARISONS,
    FAILURE_SHARES,
    FAILURE_USABILITY,
    IMPLEMENTED,
    KNOWN,
    PAPER_COMPARISONS,
    PAPER_USABILITY,
    USABILITY,
    agree,
    anchor_tables,
    as_json,
    label_categories,
    published,
    recompute,
)
from uiproof.benchmarks.interaction2code.analyses.labels import read_label_folder
from uiproof.benchmarks.interaction2code.graph import Graph, read_dataset
from uiproof.cli import app
from uiproof.tables import console


@pytest.fixture
def labels(shared_data, tmp_path):
    """The published labels, to be changed."""
    for name in ("human_failure", "human_compare"):
        shutil.copytree(shared_data / "data" / "interaction2code" / name, tmp_path / name)
        for path in (tmp_path / name, *(tmp_path / name).iterdir()):
            path.chmod(0o755)
    return tmp_path


@pytest.fixture(scope="module")
def published_anchors(shared_data):
    return recompute(read_label_folder(shared_data / "data" / "interaction2code"))


def run(*arguments):
    return CliRunner().invoke(app, ["anchors", *map(str, arguments)])


def rates(anchors, table):
    return {one.name: one for one in anchors if one.table == table}


def test_usability_by_model_and_prompt_is_counted_over_all_labels(published_anchors):
    found = rates(published_anchors, USABILITY)
    wanted = {
        "gemini": (46.26, 52.41, 63.10),
        "gpt": (72.73, 73.53, 80.21),
        "claude": (65.51, 68.18, 76.20),
        "qwen-vl-3B": (16.31, 18.45, 17.11),
        "qwen-vl-7B": (29.41, 21.66, 31.82),
        "qwen-vl-72B": (40.11, 42.78, 53.21),
    }
    assert len(found) == 18
    for model, percents in wanted.items():
        for prompt, percent in zip(("direct", "cot", "mark"), percents, strict=True):
            one = found[model, prompt]
            assert round(100 * one.rate, 2) == percent
            assert one.n == 374
            assert (one.published, one.agrees) == (None, None)  # a count of itself proves nothing
            assert one.low < one.rate < one.high


def test_version_1_of_the_paper_comes_out_of_its_97_pages(published_anchors):
    usable = rates(published_anchors, PAPER_USABILITY)
    assert len(usable) == 9
    assert all(one.agrees and one.n == 213 for one in usable.values())
    failures = rates(published_anchors, FAILURE_USABILITY)
    paper = {"b": 6.93, "c": 91.96, "d": 88.89, "e": 97.83, "f": 93.81, "g": 55.88, "i": 75.29}
    for letter, percent in paper.items():
        assert round(100 * failures[letter,].rate, 2) == percent
        assert failures[letter,].agrees
    for letter, (usable_ones, n) in {"a": (5, 138), "h": (10, 30), "j": (20, 92)}.items():
        one = failures[letter,]
        assert (round(one.rate * one.n), one.n, one.published) == (usable_ones, n, 0)
        assert (one.agrees, one.note) == (False, KNOWN)


def test_all_33_numbers_of_figure_9_follow_from_the_97_pages(published_anchors):
    letters = ("none", *"abcdefghij")
    paper = {
        "gemini": (18.0, 3.76, 37.25, 5.95, 2.04, 2.97, 3.45, 0.0, 0.78, 15.65, 10.17),
        "gpt": (37.72, 12.99, 8.45, 5.79, 3.6, 7.98, 7.35, 4.07, 2.98, 6.73, 2.35),
        "claude": (51.17, 4.85, 17.53, 5.79, 1.41, 3.45, 6.88, 1.25, 0.94, 4.85, 1.88),
    }
    found = rates(published_anchors, FAILURE_SHARES)
    assert len(found) == 33
    for model, percents in paper.items():
        for letter, percent in zip(letters, percents, strict=True):
            one = found[model, letter]
            assert abs(100 * one.rate - percent) <= 0.01
            assert round(100 * one.published, 2) == percent
            assert (one.n, one.agrees) == (639, True)


def test_figure_6a_is_compared_with_the_paper_also_where_it_disagrees(published_anchors):
    found = rates(published_anchors, PAPER_COMPARISONS)
    assert len(found) == 24

    def shown(model, prompt):
        three = [found[model, prompt, outcome] for outcome in ("win", "tie", "lose")]
        return [(round(100 * one.rate, 1), round(100 * one.published)) for one in three]

    assert shown("gpt", "direct") == [(58.7, 40), (31.0, 57), (10.3, 3)]
    assert shown("claude", "mark") == [(52.6, 53), (43.7, 44), (3.8, 3)]
    for (model, *_), one in found.items():
        assert one.agrees is (model != "gpt")
        assert one.note == (KNOWN if model == "gpt" else "")


def test_our_counts_are_those_of_an_independent_count(shared_data):
    folder = shared_data / "data" / "interaction2code"
    theirs = json.loads((folder / "human.json").read_text())
    labels = read_label_folder(folder)
    for file in labels.failures:
        counted = theirs["failure"][f"{file.model}|{file.prompt}"]["failure_counts"]
        for code, letter in enumerate(("none", *"abdcefghij")):
            chosen = [one for one in file.labels if one.failure == letter]
            wanted = counted.get(str(code), {"n": 0, "usable": 0})
            ours = {"n": len(chosen), "usable": sum(one.usable for one in chosen)}
            assert ours == wanted
    anchors = rates(recompute(labels), COMPARISONS)
    assert len(anchors) == 51
    for (model, prompt, outcome), one in anchors.items():
        assert round(one.rate * one.n) == theirs["compare"][f"{model}|{prompt}"][outcome]
        assert one.published is None


def test_the_implement_rate_is_shown_but_not_held_against_the_labels(published_anchors):
    found = rates(published_anchors, IMPLEMENTED)
    assert found["gpt", "direct"].published == 0.7754
    assert found["gpt", "direct"].rate == pytest.approx(1 - (35 + 46) / 374)
    assert all(one.agrees is None for one in found.values())


def test_the_verb_prints_both_and_ends_well_on_the_published_labels(labels):
    done = run(labels, "--json", labels / "anchors.json", "--charts-dir", labels / "charts")
    assert done.exit_code == 0, done.output
    assert "46.26" in done.output
    assert "differs, as known" in done.output
    assert "DIFFERS" not in done.output
    assert "64 of 76 published numbers follow from these labels; 12 differ" in done.output
    content = json.loads((labels / "anchors.json").read_text())
    assert content["agrees"] is True
    assert content["problems"] == []
    assert content["failures"]["gpt"]["none"] == {"n": 405, "usable": 405}
    assert {"table", "name", "n", "rate", "low", "high", "published", "agrees", "note"} == set(
        content["anchors"][0]
    )
    assert (labels / "charts" / "failures.svg").is_file()


def test_a_changed_label_is_noticed_and_a_broken_one_reported(labels):
    file = labels / "human_failure" / "failure_direct_prompt_gemini.json"
    content = json.loads(file.read_text())
    page_1 = next(key for key in content if "1/1-" in key)
    content[page_1] = "1/1" if content[page_1].endswith("/0") else "0/0"
    file.write_text(json.dumps(content))
    done = run(labels)
    assert done.exit_code == 1
    assert "DIFFERS" in done.output
    assert "DOES NOT AGREE" in done.output
    content[page_1] = "what?"
    file.write_text(json.dumps(content))
    done = run(labels, "--json", "-")
    assert done.exit_code == 1
    assert "what?" in done.output


def test_labels_of_models_that_were_never_published_are_counted_without_a_verdict(tmp_path):
    values = {
        f"{page}/1-direct_prompt-mine.html": f"{page % 3}/{page % 2}" for page in range(1, 31)
    }
    (tmp_path / "failure_direct_prompt_mine.json").write_text(json.dumps(values))
    labels = read_label_folder(tmp_path)
    anchors = recompute(labels)
    assert agree(anchors)
    (one,) = rates(anchors, USABILITY).values()
    assert (one.n, one.rate, one.published, one.agrees) == (30, 0.5, None, None)
    text = console(anchor_tables(anchors, labels))
    assert "Nothing was published" in text
    assert as_json(anchors, labels)["failures"]["mine"]["b"]["n"] == 10
    assert run(tmp_path).exit_code == 0


def test_the_papers_rates_by_failure_need_all_of_its_models(labels):
    for path in (labels / "human_failure").glob("*_claude.json"):
        path.unlink()
    anchors = recompute(read_label_folder(labels))
    assert {one.agrees for one in rates(anchors, FAILURE_USABILITY).values()} == {None}
    assert {name[0] for name in rates(anchors, FAILURE_SHARES)} == {"gemini", "gpt"}
    assert agree(anchors)


def test_labels_are_grouped_by_the_categories_of_a_data_set(shared_data):
    folder = shared_data / "data" / "interaction2code"
    done = run(folder, "--dataset", folder)
    assert done.exit_code == 0, done.output
    assert "322 labelled interactions are not in this data set" in done.output  # 374 - 52
    labels = read_label_folder(folder)
    graphs = [page for page in read_dataset(folder) if isinstance(page, Graph)]
    visuals = {(page.page, one.id): one.visuals for page in graphs for one in page.interactions}
    table = label_categories(labels.failures, visuals, "visuals")
    found = {row[:2]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert list(found)[:2] == [("gemini", "direct"), ("gemini", "cot")]
    assert list(found)[-2:] == [("Average", ""), ("n", "")]
    assert found["n", ""]["new window"] == "2"
    shown = [float(row["text"]) for name, row in found.items() if name[1]]
    assert float(found["Average", ""]["text"]) == pytest.approx(sum(shown) / 18, abs=1e-4)


def test_every_published_table_says_where_it_comes_from():
    assert all(table["source"] for table in published().values())


def test_wrong_use_of_the_verb_ends_with_a_remedy(tmp_path):
    from uiproof.errors import InputError

    done = run(tmp_path)
    assert isinstance(done.exception, InputError)
    assert "failure_PROMPT_prompt_MODEL.json" in done.exception.remedy
