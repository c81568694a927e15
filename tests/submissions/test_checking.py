"""Submissions that somebody has changed, and files of strangers."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from submission_runs import FAILURE, change, make_run, page

import uiproof
from uiproof.cli import app
from uiproof.errors import InputError
from uiproof.submissions import model

SCORES = st.floats(0, 1, allow_nan=False, width=32)
CASES = st.dictionaries(
    st.text(st.characters(), min_size=1, max_size=8),
    st.tuples(SCORES, st.booleans(), st.lists(st.sampled_from(["slow", "odd"]), max_size=2)),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def fine(tmp_path_factory):
    """The text of a submission without problems."""
    folder = tmp_path_factory.mktemp("fine")
    run = make_run(folder / "run", [page("1", 0.5), page("2", 0.0, error=FAILURE), page("3", 0.75)])
    return uiproof.write_submission([run], folder / "a.json", name="Model X").read_text()


@pytest.fixture
def submission(fine, tmp_path):
    path = tmp_path / "submission.json"
    path.write_text(fine)
    return path


def records_of(cases):
    return [
        page(case_id, value, error=FAILURE if failed else None, flags=tuple(flags))
        for case_id, (value, failed, flags) in cases.items()
    ]


def _score(case, value):
    case["scores"]["paper"]["text"] = value


def _status(case):
    failed = case["status"] == "failed"
    case["status"] = "scored" if failed else "failed"
    case["error"] = None if failed else {"code": "render", "stage": "score"}


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cases=CASES, data=st.data())
def test_what_is_submitted_checks_and_any_single_change_is_noticed(tmp_path_factory, cases, data):
    folder = tmp_path_factory.mktemp("any")
    run = make_run(folder / "run", records_of(cases))
    path = uiproof.write_submission([run], folder / "a.json", name="Model X")
    assert uiproof.check_submission(path) == []
    original = path.read_text()
    which = data.draw(st.integers(0, len(cases) - 1))

    def changed(edit, *, seal):
        path.write_text(original)
        change(path, lambda document: edit(document["runs"][0]), seal=seal)
        return uiproof.check_submission(path)

    def other_score(entry):
        case = entry["cases"][which]
        value = case["scores"]["paper"]["text"]
        _score(case, value + 0.25 if value < 0.5 else value - 0.25)

    def other_count(entry):
        entry["summary"][data.draw(st.sampled_from(["n", "failed"]))] += 1

    edits = {
        "score": other_score,
        "status": lambda entry: _status(entry["cases"][which]),
        "count": other_count,
        "case dropped": lambda entry: entry["cases"].pop(which),
        "case doubled": lambda entry: entry["cases"].append(entry["cases"][which]),
    }
    what = data.draw(st.sampled_from(sorted(edits)))
    assert any(problem.startswith("digest: ") for problem in changed(edits[what], seal=False)), what
    assert changed(edits[what], seal=True), (
        what
    )  # who makes the digest fit is found out all the same
    assert changed(lambda entry: entry["cases"][which].update(id="another"), seal=False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1, 2", "not JSON"),
        (b"[]", "the document: "),
        (b"null", "the document: "),
        (b'{"format": NaN}', "NaN"),
        (b'{"format": -Infinity}', "Infinity"),
        (b'{"format": 1e999}', "too large"),
        (b'{"format": ' + b"9" * 6000 + b"}", "6000 digits"),
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"format": "uiproof-submission/2"}', "format: Input should be"),
    ],
)
def test_what_is_no_submission_is_told_in_a_sentence(tmp_path, content, problem):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    problems = uiproof.check_submission(path)
    assert problem in problems[0]
    assert all(len(one) < 600 for one in problems)


def test_a_file_that_is_too_large_is_not_read(submission, monkeypatch):
    monkeypatch.setattr(model, "MOST_BYTES", 1000)
    assert "larger than" in uiproof.check_submission(submission)[0]


def _nested(depth):
    value = 0
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (lambda run: run["cases"][1].update(id=7), "runs[0].cases[1].id"),
        (lambda run: run["cases"][1].update(extra=1), "runs[0].cases[1].extra"),
        (lambda run: run["cases"][0].pop("scores"), "runs[0].cases[0].scores"),
        (lambda run: run["cases"][0].update(error={"code": "x", "stage": "score"}), "cases[0]"),
        (lambda run: run["cases"][2].update(seconds={"score": "1"}), "cases[2].seconds"),
        (lambda run: _score(run["cases"][0], 5), "cases[0].scores.paper.text: 5"),
        (lambda run: _score(run["cases"][0], "high"), "cases[0].scores.paper.text"),
        (lambda run: run["cases"][0]["scores"]["strict"].update(text=7), "strict.text: 7"),
        (lambda run: run["cases"][0].update(scores=_nested(900)), "runs[0]"),
        (lambda run: run.update(summary=_nested(900)), "summary"),
        (lambda run: run.update(summary={}), "runs[0].summary.n is None"),
        (lambda run: run.update(benchmark="chess"), "'chess' is not installed"),
        (lambda run: run.update(planned=1), "more than the 1"),
        (lambda run: run["summary"]["scores"]["human"].update(low=0.9), "scores.human.low is 0.9"),
        (lambda run: run.update(limit=0), "runs[0].limit"),
    ],
)
def test_a_problem_names_its_place_even_if_the_digest_fits(submission, edit, place):
    change(submission, lambda document: edit(document["runs"][0]), seal=True)
    problems = uiproof.check_submission(submission)
    assert any(place in problem for problem in problems), problems


def test_details_that_make_no_sense_are_a_problem_and_no_crash(tmp_path, fine):
    path = tmp_path / "a.json"
    path.write_text(fine)

    def edit(document):
        document["runs"][0]["benchmark"] = "grounding"
        document["runs"][0]["cases"][0]["details"] = {"truth": [1], "tags": 3}

    (first, *_) = uiproof.check_submission(change(path, edit, seal=True))
    assert "cannot be summed up" in first


def test_problems_cannot_steer_a_terminal(submission):
    def edit(document):
        document["runs"][0]["benchmark"] = "\x1b]0;evil\x07\nfake line"

    (problem,) = uiproof.check_submission(change(submission, edit, seal=True))
    assert problem.isprintable()


def test_a_file_that_is_not_there_is_wrong_use(tmp_path):
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(InputError):
            uiproof.check_submission(path)


def test_the_verb_ends_with_0_or_1_and_lists_every_problem(submission, capsys):
    assert app(["check", str(submission)], standalone_mode=False) in (0, None)
    assert "nothing is wrong" in capsys.readouterr().out
    change(submission, lambda document: document["runs"][0]["cases"].pop(), seal=False)
    assert app(["check", str(submission)], standalone_mode=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("digest: ")
    assert any("summary.n is 3, but its cases give 2" in line for line in lines)
    assert json.loads(submission.read_text())
