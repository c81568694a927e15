"""Methods by their names."""

from __future__ import annotations

import asyncio

import pytest
from tiny_pages import question, two_interactions

from uiproof.benchmarks.interaction2code import BENCHMARK
from uiproof.benchmarks.interaction2code.methods import METHODS, Blueprint, method
from uiproof.benchmarks.interaction2code.replay import Replay
from uiproof.engine.context import Context
from uiproof.errors import InputError, UsageError
from uiproof.methods import make_method


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


def test_the_benchmark_knows_its_methods_and_how_models_are_to_answer():
    assert set(METHODS) == set(BENCHMARK.methods)
    assert BENCHMARK.prompt_options
    assert BENCHMARK.parameters is not None
    assert BENCHMARK.parameters.temperature == 1.0
