"""Interaction2Code data as cases, and how it is told from other data."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.interaction2code.cases import cases
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, recognises
from uiproof.errors import InputError
from uiproof.registry import resolve_dataset
from uiproof.vision.images import encode_png

PNG = encode_png(np.zeros((4, 6, 3), np.uint8))


def page(folder, *edges, **more):
    folder.mkdir(parents=True)
    entries = {}
    for number, (source, target) in enumerate(edges, 1):
        entries[str(number)] = {"src": source, "dst": target, "action": 'click the "x" button'}
        for node in (source, target):
            (folder / f"{node}.png").write_bytes(PNG)
    (folder / "action.json").write_text(json.dumps({"topic": "shop", **entries, **more}))
    return folder


def test_every_interaction_of_every_page_is_a_case_in_natural_order(tmp_path):
    page(tmp_path / "10", ("0", "1"))
    page(tmp_path / "9", ("0", "1"), ("2", "3"))
    found = list(cases(tmp_path))
    assert [case.id for case in found] == ["9/1", "9/2", "10/1"]
    assert found[0].truth.interaction.action.kind == "click"
    assert found[0].truth.graph.topic == "shop"


def test_a_question_holds_pictures_marks_and_words_and_no_graph(tmp_path):
    page(tmp_path / "9", ("0", "1"), ("1", "2"))
    (tmp_path / "9" / "page.html").write_text("<p>source</p>")
    _, second = cases(tmp_path)
    question = second.question
    assert (question.page, len(question.interactions), question.index) == ("9", 2, 1)
    assert question.interaction.before == tmp_path / "9" / "1.png"
    assert question.interaction.sentence == 'click the "x" button'
    assert question.interaction.follows == 0
    assert type(question) is not type(second.truth)
    assert not any(isinstance(value, Graph | Interaction) for value in asdict(question).values())


def test_one_page_alone_is_a_data_set(tmp_path):
    folder = page(tmp_path / "7", ("0", "1"))
    assert [case.id for case in cases(folder)] == ["7/1"]


def test_what_is_broken_is_a_broken_case_and_stops_nothing_else(tmp_path):
    page(tmp_path / "1", ("0", "1"), ("2", "3"), **{"9": {"src": "../x", "dst": "1"}})
    (tmp_path / "1" / "3.png").unlink()
    page(tmp_path / "2", ("0", "1"))
    (tmp_path / "2" / "action.json").write_text("{not json")
    page(tmp_path / "3", ("0", "1"))
    found = {case.id: case for case in cases(tmp_path)}
    assert list(found) == ["1/1", "1/2", "1/9", "2", "3/1"]
    broken = [name for name, case in found.items() if isinstance(case, BrokenCase)]
    assert broken == ["1/2", "1/9", "2"]
    assert "3.png" in str(found["1/2"].error)
    assert "not JSON" in str(found["2"].error)


def test_a_folder_without_pages_is_no_data_set(tmp_path):
    assert not recognises(tmp_path)
    with pytest.raises(InputError):
        cases(tmp_path)


def test_the_source_of_a_page_beside_it_does_not_make_it_another_benchmark(tmp_path):
    folder = page(tmp_path / "shop", ("0", "1"))
    (folder / "page.html").write_text("<p>source</p>")
    for path in (tmp_path, folder):
        benchmark, _ = resolve_dataset(str(path))
        assert benchmark.name == "interaction2code"


def test_folders_of_pages_stay_design2code(tmp_path):
    (tmp_path / "1.html").write_text("<p>page</p>")
    assert resolve_dataset(str(tmp_path))[0].name == "design2code"


def test_the_published_sample_is_recognised(shared_data):
    folder = shared_data / "data" / "interaction2code"
    assert resolve_dataset(str(folder))[0].name == "interaction2code"
    found = list(cases(folder))
    assert len(found) == 52
    assert not any(isinstance(case, BrokenCase) for case in found)
