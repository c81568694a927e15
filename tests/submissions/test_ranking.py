"""Submissions side by side."""

from __future__ import annotations

import json

import pytest
from submission_runs import change, make_run, page

import uiproof
from uiproof.cli import app
from uiproof.errors import UsageError
from uiproof.submissions.ranking import ranking_markdown, ranking_table


@pytest.fixture
def submit(tmp_path):
    """`submit("good", 0.9)` makes a submission whose scores lie around a value."""

    def call(name, value, *, file=None, partial=False, cases=20, **changed):
        pages = [page(f"{i}", value + (i % 5 - 2) * 0.02) for i in range(cases)]
        label = file or f"file{len(list(tmp_path.iterdir()))}"
        run = make_run(tmp_path / f"run-{label}", pages, **changed)
        out = tmp_path / f"{label}.json"
        return uiproof.write_submission([run], out, name=name, by="Team", partial=partial)

    return call


def test_the_best_leads_and_the_others_are_tested_against_it(submit):
    board = uiproof.rank_submissions([submit("bad", 0.3), submit("good", 0.9), submit("ok", 0.6)])
    assert [(row.rank, row.name) for row in board.rows] == [(1, "good"), (2, "ok"), (3, "bad")]
    good, ok, bad = board.rows
    assert board.metric.key == "paper.mean_without_clip"
    assert good.mean == pytest.approx(0.9)
    assert good.low < good.mean < good.high
    assert (good.n, good.failed, good.p_value, good.behind) == (20, 0, None, None)
    assert ok.behind == pytest.approx(0.3)
    assert ok.p_value < 0.01
    assert not ok.tied
    # It is as far behind on every page: nothing varies.
    assert (bad.behind, bad.behind_low, bad.behind_high) == (pytest.approx(0.6), None, None)
    assert board.apart == ()


def test_submissions_of_earlier_versions_are_ranked_without_their_intervals(submit):
    def old(document):
        for cell in document["runs"][0]["summary"]["scores"]["paper"].values():
            if cell:
                cell |= {"low": 0.1, "high": 0.2}
                del cell["clusters"], cell["no_interval"]

    file = submit("old", 0.9)
    change(file, old, seal=True)
    assert uiproof.check_submission(file) == []
    board = uiproof.rank_submissions([file, submit("new", 0.6)])
    assert [(row.name, row.low is None) for row in board.rows] == [("old", True), ("new", False)]
    assert "whose intervals differ" in ranking_table(board)


def test_who_cannot_be_told_from_the_leader_is_tied(submit):
    first = submit("first", 0.5)
    same = submit("same", 0.5)
    board = uiproof.rank_submissions([first, same])
    assert [row.rank for row in board.rows] == [1, 1]
    assert board.rows[1].tied
    assert board.rows[1].p_value == 1.0
    assert "≈1" in ranking_table(board)


def test_who_is_not_comparable_is_told_with_the_reason(submit, tmp_path):
    files = [
        submit("good", 0.9, file="good"),
        submit("also", 0.8, file="also"),
        submit("other data", 0.95, dataset_key="f" * 32),
        submit("other browser", 0.95, fingerprint={"browser": "Chromium 2"}),
        submit("half", 0.95, partial=True, complete=False),
        submit("other cases", 0.95, cases=10),
    ]
    copy = tmp_path / "copy.json"
    copy.write_text(files[0].read_text())
    broken = change(submit("broken", 0.9, file="broken"), lambda document: document.pop("by"))
    board = uiproof.rank_submissions([*files, copy, broken, files[1]])
    assert [row.name for row in board.rows] == ["good", "also"]
    reasons = {one.name: one.reason for one in board.apart}
    assert "content of the data set" in reasons["other data"]
    assert reasons["other browser"] == "other environment: browser"
    assert "not finished" in reasons["half"]
    assert reasons["other cases"] == "other cases"
    assert reasons["copy.json"] == "the same as good.json"
    assert reasons["also.json"] == "the same as also.json"  # the same file twice
    assert reasons["broken.json"].startswith("by: ")
    assert [one.name for one in board.apart if not one.valid] == ["broken.json"]


def test_names_of_strangers_are_nothing_but_text(submit):
    evil = "\x1b[2J[x](http://evil.example) | **b** <img src=x> www.evil.example\u202e\n# h"
    board = uiproof.rank_submissions([submit(evil, 0.5), submit("[red]plain[/red]", 0.4)])
    table, markdown = ranking_table(board), ranking_markdown(board)
    assert all(line.isprintable() for line in (table + markdown).splitlines())
    assert "[red]plain[/red]" in table
    assert "](http://" not in markdown
    assert r"\| \*\*b\*\* \<img" in markdown
    assert r"www\.evil" in markdown
    header, _, first, _ = (line for line in markdown.splitlines() if line.startswith("|"))
    assert first.replace(r"\|", "").count("|") == header.count("|")


def test_several_runs_of_one_submission_are_told_apart_by_their_methods(tmp_path):
    runs = [
        make_run(tmp_path / method, [page("1", value), page("2", value)], method=method)
        for method, value in (("a", 0.2), ("b", 0.4))
    ]
    path = uiproof.write_submission(runs, tmp_path / "x.json", name="X")
    assert [row.name for row in uiproof.rank_submissions([path]).rows] == ["X: b", "X: a"]


def test_the_verb_writes_json_and_ends_with_1_where_a_file_is_wrong(submit, tmp_path, capsys):
    good, out = submit("good", 0.9), tmp_path / "board.json"
    assert app(["leaderboard", str(good), "--json", str(out)], standalone_mode=False) in (0, None)
    assert "good" in capsys.readouterr().out
    board = json.loads(out.read_text())
    assert board["metric"] == "paper.mean_without_clip"
    assert board["rows"][0]["name"] == "good"
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    command = ["leaderboard", str(good), str(wrong), "--markdown"]
    assert app(command, standalone_mode=False) == 1
    shown = capsys.readouterr().out
    assert "Not ranked" in shown
    assert ".." not in shown
    with pytest.raises(UsageError):
        uiproof.rank_submissions([])
