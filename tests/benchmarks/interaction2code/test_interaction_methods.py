"""Methods without a model: names, and which existing page belongs to which interaction."""

from __future__ import annotations

import asyncio

import pytest
from tiny_pages import question, two_interactions

from uiproof.benchmarks.interaction2code import BENCHMARK
from uiproof.benchmarks.interaction2code.methods import (
    MAX_BYTES,
    METHODS,
    Blueprint,
    Replay,
    all_variants,
    method,
)
from uiproof.engine.context import Context
from uiproof.errors import EmptyAnswerError, InputError, MethodError, UsageError
from uiproof.registry import make_method


@pytest.mark.parametrize("name", ["blueprint", "blueprint:all"])
def test_the_tracing_makes_pages_for_one_interaction_or_for_all(name):
    made = method(name)
    assert isinstance(made, Blueprint)
    assert made.name == name
    assert made.form == ("all" if name.endswith("all") else "single")
    assert "rapidocr" in made.settings["ocr"]


def test_existing_pages_are_replayed_from_a_folder(tmp_path):
    graph = two_interactions(tmp_path / "data" / "page")
    pages = tmp_path / "generated"
    (pages / "page").mkdir(parents=True)
    (pages / "page" / "2-mark.html").write_text("<p>two</p>")
    made = make_method(BENCHMARK, f"replay:{pages}")
    assert isinstance(made, Replay)
    assert made.name == "replay:generated"
    answer = asyncio.run(made.answer("page/2", question(graph, 2), Context("page/2")))
    assert (answer.page.text, answer.form) == ("<p>two</p>", "single")


@pytest.mark.parametrize("name", ["blueprints", "replay:", "blueprint:some", ""])
def test_names_that_are_none_are_refused_with_those_that_are(name):
    with pytest.raises(UsageError) as error:
        method(name)
    assert all(known in error.value.remedy for known in METHODS)


def test_a_folder_that_is_not_there_is_said():
    with pytest.raises(InputError, match="no file or folder"):
        method("replay:nowhere")


def folder(root, *names):
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<p>{name}</p>")
    return root


def answer(replay, case_id):
    return asyncio.run(replay.answer(case_id, None, Context(case_id)))


@pytest.mark.parametrize(
    "name",
    [
        *("101/3-direct_prompt-gpt.html", "101/result/3-direct_prompt-gpt.html"),
        *("101/3.html", "101/3_mark_gpt.htm", "101/003-gpt.html"),
    ],
)
def test_pages_for_one_interaction_are_found_by_its_number(tmp_path, name):
    replay = Replay(folder(tmp_path, name, "101/30-gpt.html", "102/3-other.html"))
    given = answer(replay, "101/3")
    assert given.form == "single"
    assert given.page.text == f"<p>{name}</p>"


@pytest.mark.parametrize("name", ["101.html", "101/index.html"])
def test_a_page_for_all_interactions_answers_each_of_them(tmp_path, name):
    replay = Replay(folder(tmp_path, name, "102.html"))
    for interaction in ("1", "2"):
        given = answer(replay, f"101/{interaction}")
        assert (given.form, given.page.text) == ("all", f"<p>{name}</p>")


def test_a_page_for_the_interaction_comes_before_one_for_its_page(tmp_path):
    replay = Replay(folder(tmp_path, "101.html", "101/2-gpt.html"))
    assert answer(replay, "101/2").form == "single"
    assert answer(replay, "101/1").form == "all"


def test_the_folder_of_a_single_page_may_be_given_itself(tmp_path):
    replay = Replay(folder(tmp_path, "result/2-gpt.html"))
    assert answer(replay, "101/2").form == "single"
    assert "" in replay.pages


def test_a_single_file_is_for_all_interactions(tmp_path):
    folder(tmp_path, "mine.html")
    assert answer(Replay(tmp_path / "mine.html"), "7/1").form == "all"


def test_several_variants_need_a_choice(tmp_path):
    names = [f"101/{n}-{prompt}-{m}.html" for n in (1, 2) for prompt in "ab" for m in ("x", "y")]
    folder(tmp_path, *names)
    with pytest.raises(UsageError, match=r"a-x, a-y, b-x, b-y"):
        Replay(tmp_path)
    with pytest.raises(UsageError, match="no variant 'c-x'"):
        Replay(tmp_path, variant="c-x")
    chosen = Replay(tmp_path, variant="b-x")
    assert answer(chosen, "101/2").page.text == "<p>101/2-b-x.html</p>"
    assert chosen.name.endswith(":b-x")
    assert chosen.settings["variant"] == "b-x"


@pytest.mark.parametrize(
    ("variant", "prompt", "model"),
    [
        ("direct_prompt-gpt", "direct", "gpt"),
        ("cot_prompt-qwen-vl-72B", "cot", "qwen-vl-72B"),
        ("mark_prompt_claude", "mark", "claude"),
        ("cot-gemini", "cot", "gemini"),
        ("critic_prompt-claude", "failure-aware", "claude"),
    ],
)
def test_prompt_and_model_are_in_the_names_of_published_files(tmp_path, variant, prompt, model):
    folder(tmp_path, f"101/result/1-{variant}.html")
    replay = Replay(tmp_path)  # there is nothing to choose from
    assert replay.name == f"{model} {prompt}"
    assert (replay.settings["prompt"], replay.settings["model"]) == (prompt, model)
    assert Replay(tmp_path, variant=variant, names={model: "Mine"}).name == f"Mine {prompt}"
    assert all_variants(tmp_path) == (None,)


def test_variants_are_ordered_by_model_and_prompt(tmp_path):
    names = ("mark_prompt-b", "direct_prompt-b", "cot_prompt-a", "other")
    folder(tmp_path, *(f"101/result/{n}-{name}.html" for n in (1, 2) for name in names))
    assert all_variants(tmp_path) == ("other", "cot_prompt-a", "direct_prompt-b", "mark_prompt-b")
    assert Replay(tmp_path, variant="other").name == f"replay:{tmp_path.name}:other"


def test_a_missing_page_is_a_failed_answer_that_says_what_to_add(tmp_path):
    replay = Replay(folder(tmp_path, "101/1-gpt.html"))
    with pytest.raises(MethodError, match=r"101/2.*Add 101/2\.html"):
        answer(replay, "101/2")
    assert replay.key("101/2") == "missing"


def test_changed_pages_have_another_key(tmp_path):
    replay = Replay(folder(tmp_path, "101/1-gpt.html"))
    before = replay.key("101/1")
    folder(tmp_path, "101/1-gpt.html")
    assert replay.key("101/1") == before
    (tmp_path / "101/1-gpt.html").write_text("another")
    assert replay.key("101/1") != before


def test_empty_and_huge_pages_are_failed_answers(tmp_path):
    replay = Replay(folder(tmp_path, "1/1.html", "1/2.html", "1/3.html"))
    (tmp_path / "1/1.html").write_text(" \n")
    with (tmp_path / "1/2.html").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    (tmp_path / "1/3.html").write_bytes(b"<p>caf\xe9</p>")
    with pytest.raises(EmptyAnswerError):
        answer(replay, "1/1")
    with pytest.raises(MethodError, match="bytes"):
        answer(replay, "1/2")
    assert answer(replay, "1/3").page.text == "<p>café</p>"


def test_a_folder_without_pages_is_wrong_use(tmp_path):
    with pytest.raises(InputError, match="no pages"):
        Replay(tmp_path)
    with pytest.raises(InputError, match="no file or folder"):
        Replay(tmp_path / "nowhere")
