"""A new run against its baseline: which cases and means got worse beyond noise."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count
from xml.etree import ElementTree

import pytest
from report_runs import failed, make_run, scored
from typer.testing import CliRunner

from uiproof.cli.main import app
from uiproof.errors import UsageError
from uiproof.report.regression import change_tables, regressions, write_junit
from uiproof.tables import console, markdown


@pytest.fixture
def runs(tmp_path):
    made = count()

    def make(before, after):
        folders, place = [], tmp_path / str(next(made))
        for name, values in (("main", before), ("branch", after)):
            records = [
                failed(str(n)) if value is None else scored(str(n), value)
                for n, value in enumerate(values)
            ]
            folders.append(make_run(place / name, records, method=name, pictures=False).path)
        return folders

    return make


def compare(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_equal_runs_have_no_regression(runs):
    change = regressions(*runs([0.9] * 5, [0.9] * 5))
    assert not change.regressed
    assert {case.verdict for case in change.cases} == {"same"}
    assert change.noise == 0


def test_one_broken_page_among_many_is_a_regression_although_the_mean_hardly_moves(runs):
    main, branch = runs([0.9] * 60, [0.9] * 59 + [0.4])
    change = regressions(main, branch)
    assert change.regressed
    assert not change.mean_regressed
    assert [(case.id, round(case.difference, 3)) for case in change.worse] == [("59", -0.5)]
    assert not regressions(main, branch, fail_under=0.6).regressed


def test_a_case_that_fails_now_is_worse_and_says_why(runs):
    change = regressions(*runs([0.9, 0.8, 0.7], [0.9, None, 0.7]))
    (case,) = change.worse
    assert (case.id, case.after) == ("1", 0.0)
    assert "used up its time" in case.error


def test_random_differences_of_a_model_are_noise_and_a_lower_mean_is_not(runs):
    generator = random.Random(7)
    before = [0.7 + generator.gauss(0, 0.05) for _ in range(80)]
    again = [0.7 + generator.gauss(0, 0.05) for _ in range(80)]
    change = regressions(*runs(before, again))
    assert change.noise > 0.1
    assert not change.regressed
    lower = regressions(*runs(before, [value - 0.05 for value in again]))
    assert lower.mean_regressed
    assert len(lower.worse) < 5


def test_a_shift_of_all_cases_is_worse_for_each(runs):
    change = regressions(*runs([0.9, 0.8, 0.7], [0.8, 0.7, 0.6]))
    assert change.mean_regressed  # three cases cannot be significant: the threshold decides
    assert len(change.worse) == 3


def test_the_spread_of_several_answers_is_the_noise_of_a_case(tmp_path):
    folders = []
    for name, fall in (("main", 0.0), ("branch", 0.1)):
        records = []
        for case in range(10):
            for sample, value in enumerate((0.6, 0.8)):
                ending = f"#{sample + 1}" if sample else ""
                record = scored(f"{case}{ending}", value - fall * (case == 3))
                records.append(replace(record, sample=sample))
        folders.append(make_run(tmp_path / name, records, method=name, pictures=False).path)
    change = regressions(*folders)
    assert len(change.cases) == 10
    assert change.noise > 0.2
    assert not change.worse


def test_improvements_are_listed_and_no_failure(runs):
    change = regressions(*runs([0.5, 0.8], [0.9, 0.8]))
    assert [case.id for case in change.better] == ["0"]
    assert not change.regressed


def test_the_exit_code_is_5_and_the_output_names_the_cases(runs, tmp_path):
    main, branch = runs([0.9] * 10, [0.9] * 9 + [0.4])
    done = compare(main, branch, "--fail-under", "0.02", "--junit", tmp_path / "out.xml")
    assert done.exit_code == 5, done.output
    assert "REGRESSION: 1 worse, 0 better, of 10 cases" in done.output
    assert "-0.500" in done.output
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("11", "2")
    mean, bad = (test for test in suite if test.find("failure") is not None)
    assert (mean.get("name"), bad.get("name")) == ("mean of Mean w/o CLIP", "9")
    assert "0.900 -> 0.400" in bad.find("failure").get("message")
    fine = compare(main, branch, "--fail-under", "0.6")
    assert fine.exit_code == 0
    summary = compare(main, branch, "--fail-under", "0.02", "--markdown")
    assert summary.exit_code == 5
    assert "| 9 | 0.900 | 0.400 | -0.500 |" in summary.output


def test_another_score_may_decide(runs):
    main, branch = runs([0.9] * 3, [0.8] * 3)
    change = regressions(main, branch, metric="human")
    assert change.metric.key == "human"
    with pytest.raises(UsageError) as caught:
        regressions(main, branch, metric="humn")
    assert "Did you mean human?" in caught.value.remedy
    assert compare(main, "--fail-under", "0.1").exit_code != 0


def test_a_case_that_is_missing_is_skipped_and_named(runs, tmp_path):
    main, branch = runs([0.9] * 4, [0.9] * 3)
    change = regressions(main, branch)
    assert change.missing == ("3",)
    assert "not compared: 3" in console(change_tables(change))
    suite = ElementTree.parse(write_junit(change, tmp_path / "out.xml")).getroot()
    assert suite.get("skipped") == "1"
    assert "not compared: 3" in markdown(change_tables(change))
