from __future__ import annotations

import asyncio

import pytest

from uiproof.benchmarks.design2code.cases import Question
from uiproof.benchmarks.design2code.methods import METHODS, Blueprint, Replay, method
from uiproof.engine.context import Context
from uiproof.errors import InputError, MethodError, UsageError


def answer(method, case_id, question=None):
    return asyncio.run(method.answer(case_id, question or Question(), Context(case_id)))


@pytest.fixture
def predictions(tmp_path):
    folder = tmp_path / "predictions"
    folder.mkdir()
    for name in ("1", "two"):
        (folder / f"{name}.html").write_text(f"<p>{name}</p>")
    return folder


def test_replay_answers_with_the_page_of_the_same_name_and_its_folder(predictions):
    replay = method(f"replay:{predictions}")
    source = answer(replay, "two")
    assert source.text == "<p>two</p>"
    assert source.folder == predictions.resolve()


def test_replay_of_one_file_answers_every_case_with_it(predictions):
    assert answer(Replay(predictions / "1.html"), "anything").text == "<p>1</p>"


def test_a_prediction_that_is_not_there_is_an_error_that_names_it(predictions):
    with pytest.raises(MethodError, match=r"no prediction for 3\b.*3\.html"):
        answer(Replay(predictions), "3")


def test_replay_needs_no_question_and_records_where_the_predictions_are(predictions):
    replay = Replay(predictions)
    assert not replay.needs_question
    assert replay.name == "replay:predictions"
    assert replay.settings == {"folder": str(predictions.resolve())}


@pytest.mark.parametrize("name", ["absent", "."])
def test_replay_of_a_folder_without_pages_is_refused_at_once(tmp_path, name):
    with pytest.raises(InputError, match=r"no pages|no file"):
        method(f"replay:{tmp_path / name}")


@pytest.mark.parametrize("name", ["", "gpt", "replay", "replay:", "Blueprint"])
def test_an_unknown_method_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(UsageError, match=r"blueprint, replay:FOLDER"):
        method(name)


def test_every_listed_method_says_what_it_is():
    assert set(METHODS) == {"blueprint", "replay:FOLDER"}
    assert all(METHODS.values())


def test_blueprint_needs_a_screenshot():
    assert isinstance(method("blueprint"), Blueprint)
    with pytest.raises(MethodError, match="no screenshot"):
        answer(Blueprint(), "1")


def test_a_changed_or_added_prediction_has_another_key(tmp_path):
    (tmp_path / "1.html").write_text("<p>one")
    before = method(f"replay:{tmp_path}")
    assert before.key("1") == method(f"replay:{tmp_path}").key("1")
    assert before.key("2") == "missing"
    first = before.key("1")
    (tmp_path / "1.html").write_text("<p>two")
    (tmp_path / "2.html").write_text("<p>new")
    after = method(f"replay:{tmp_path}")
    assert after.key("1") != first
    assert after.key("2") not in (None, "missing")
