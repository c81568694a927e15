"""Prompts and methods of the user: text files with slots, and Python functions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import uiproof
from provider_servers import ProviderServer
from uiproof.errors import InputError, UsageError
from uiproof.registry import benchmarks, make_method

MODEL = "compatible:http://127.0.0.1:9/v1#gpt-4o"
GOOD = {
    "design2code": "Rebuild {screenshot} with {texts}",
    "grounding": 'Find {instruction}. {convention} Answer {"point": {form}}',
    "interaction2code": "Look: {shown}\n{task}\n{rules}",
}


@pytest.fixture
def prompt(tmp_path):
    def write(text, name="mine.md"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("benchmark", GOOD)
def test_a_file_with_the_slots_of_a_benchmark_is_a_prompt(benchmark, prompt):
    method = make_method(benchmarks()[benchmark], MODEL, prompt=prompt(GOOD[benchmark]))
    assert method.name.endswith("mine.md")
    settings = method.settings.get("grounder", method.settings)
    assert settings["prompt_text"] == GOOD[benchmark]
    assert len(settings["prompt_digest"]) == 16
    other = make_method(benchmarks()[benchmark], MODEL, prompt=prompt(GOOD[benchmark] + "!"))
    assert method.settings != other.settings


@pytest.mark.parametrize("benchmark", GOOD)
def test_unknown_and_missing_slots_are_errors_that_list_the_known_ones(benchmark, prompt):
    first, *others = benchmarks()[benchmark].prompt_slots
    for text in (GOOD[benchmark] + " {nonsense}", "no slots"):
        with pytest.raises(UsageError) as caught:
            make_method(benchmarks()[benchmark], MODEL, prompt=prompt(text))
        for slot in (first, *others):
            assert f"{{{slot}}}" in caught.value.remedy
    with pytest.raises(UsageError, match="nonsense"):
        make_method(benchmarks()[benchmark], MODEL, prompt=prompt(GOOD[benchmark] + " {nonsense}"))


def test_a_misspelt_slot_or_prompt_is_recognised(prompt):
    with pytest.raises(UsageError) as caught:
        make_method(benchmarks()["design2code"], MODEL, prompt=prompt("{screenshoot}"))
    assert "Did you mean screenshot?" in caught.value.remedy
    with pytest.raises(UsageError) as caught:
        make_method(benchmarks()["design2code"], MODEL, prompt="dirct")
    assert "Did you mean direct?" in caught.value.remedy
    with pytest.raises(InputError, match="cannot be read"):
        make_method(benchmarks()["design2code"], MODEL, prompt="absent.md")


def test_options_follow_a_prompt_file_where_a_benchmark_has_some(prompt):
    interactions = benchmarks()["interaction2code"]
    path = prompt(GOOD["interaction2code"])
    assert make_method(interactions, MODEL, prompt=f"{path}:all,T").name.endswith("mine.md:all,T")
    with pytest.raises(UsageError, match="unknown option"):
        make_method(interactions, MODEL, prompt=f"{path}:sideways")


def test_a_model_is_asked_with_the_words_of_the_file(tmp_path, prompt, monkeypatch):
    path = prompt("Where is {instruction}? {convention} Say {form}.")
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    with ProviderServer(lambda _: '{"point": [1, 1]}') as server:
        model = f"compatible:{server.base_url('compatible')}#gpt-4o"
        common = {"prompt": path, "executor": "inline", "quiet": True, "limit": 2}
        done = uiproof.run("grounding-demo", model, out=tmp_path / "run", samples=2, **common)
        asked = server.log
        assert len(asked) == 4
        assert all("Where is " in one.prompt and "Say [x, y]." in one.prompt for one in asked)
        assert sorted(one.body["seed"] for one in asked) == [2024, 2024, 2025, 2025]
        assert done.manifest["settings"]["grounder"]["prompt"] == "mine.md"
        uiproof.run("grounding-demo", model, out=tmp_path / "again", samples=2, **common)
        assert len(asked) == 4  # every sample is in the cache


def point(question):
    return (0.5, 0.5) if question.width else None


async def slow_point(question, context):
    await asyncio.sleep(0)
    context.flag("answer:own")
    return 0.5, 0.5


def wrong(question):
    return question.width / 2, question.height / 2


def buggy(question):
    raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize(
    ("function", "flags", "error"),
    [
        (point, (), None),
        (slow_point, ("answer:own",), None),
        (wrong, (), "from 0 to 1"),
        (buggy, (), "raised ZeroDivisionError: a mistake"),
    ],
)
def test_a_function_plain_or_async_is_a_method(tmp_path, function, flags, error):
    options = {"executor": "inline", "quiet": True, "limit": 2}
    done = uiproof.run("grounding-demo", function, out=tmp_path / "run", **options)
    records = list(done.records())
    assert len(records) == 2
    assert done.manifest["method"].endswith(f":{function.__name__}")
    for record in records:
        assert record.flags == flags
        assert (record.error is None) == (error is None)
        if error:
            assert error in f"{record.error.message} {record.error.remedy}"


def test_a_function_is_named_by_its_module_or_file(tmp_path, monkeypatch):
    source = "def find(question):\n    return 0.5, 0.5\n\ndef other(question):\n    return None\n"
    (tmp_path / "finders_of_mine.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    grounding = benchmarks()["grounding"]
    for name in ("finders_of_mine:find", f"{tmp_path}/finders_of_mine.py:find"):
        method = make_method(grounding, name)
        assert method.name == name
        assert method.settings["function_digest"]
    for name, message in (
        ("finders_of_mine:fnd", "Did you mean find?"),
        ("nowhere_at_all:find", "cannot be imported"),
        ("finders_of_min.py:find", "Did you mean"),
        ("blueprintt", "Use GROUNDER@SEARCH"),
        ("centrr", "Did you mean centre?"),
    ):
        with pytest.raises(UsageError) as caught:
            make_method(grounding, name)
        assert message in str(caught.value)


def test_two_prompt_files_of_one_name_are_refused(tmp_path):
    for folder, text in (("a", "{screenshot}"), ("b", "{screenshot} {texts}")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.md").write_text(text)
    prompts = [str(tmp_path / folder / "mine.md") for folder in "ab"]
    with pytest.raises(UsageError, match="Two runs would be called"):
        uiproof.run_matrix("design2code-demo", [MODEL], prompts=prompts, out=tmp_path / "runs")


def test_data_sets_and_paths_that_are_misspelt_are_recognised(tmp_path):
    with pytest.raises(InputError) as caught:
        uiproof.run("design2code-dmo", "blueprint")
    assert "Did you mean design2code-demo" in caught.value.remedy
    (tmp_path / "predictions").mkdir()
    with pytest.raises(InputError) as caught:
        uiproof.score("design2code", "design2code-demo", tmp_path / "prediction")
    assert f"Did you mean {tmp_path}/predictions?" in caught.value.remedy
    with pytest.raises(InputError) as caught:
        uiproof.dataframe([Path(tmp_path / "predictons")])
    assert "Did you mean" in caught.value.remedy


def test_run_json_has_the_prompt(tmp_path, prompt):
    text = "Rebuild {screenshot}"
    method = make_method(benchmarks()["design2code"], MODEL, prompt=prompt(text))
    assert json.loads(json.dumps(dict(method.settings)))["prompt_text"] == text
