from __future__ import annotations

import json

import pytest

from uiproof.benchmarks.interaction2code.analyses.labels import (
    Label,
    LabelFile,
    Vote,
    read_comparisons,
    read_failures,
    read_label_folder,
    write_comparisons,
    write_failures,
)
from uiproof.errors import InputError


def store(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_keys_with_paths_other_suffixes_and_other_prompts_name_page_and_interaction(tmp_path):
    file = store(
        tmp_path,
        "failure_direct_prompt_gpt.json",
        {
            "C:/Users/someone/LLM4web/example/1/1-direct_prompt-gpt.html": "0/0",
            "C:\\Users\\someone\\example\\12\\3-direct_prompt-gpt.html": "2/1",
            "101/10-direct_prompt_gpt.html": "1/1",
            "85/2-cot-gemini.html": "9/0",
            "page-7/4-direct_prompt-gpt.html": "10/1",
        },
    )
    read = read_failures(file)
    assert (read.model, read.prompt, read.problems) == ("gpt", "direct", ())
    assert [(one.page, one.interaction, one.failure, one.usable) for one in read.labels] == [
        ("1", "1", "none", True),
        ("12", "3", "b", False),
        ("101", "10", "a", False),
        ("85", "2", "i", True),
        ("page-7", "4", "j", False),
    ]


def test_the_codes_3_and_4_are_the_wrong_type_and_the_wrong_element(tmp_path):
    codes = {f"1/{code}-x.html": f"{code}/0" for code in range(11)}
    read = read_failures(store(tmp_path, "failure_cot_prompt_claude.json", codes))
    assert "".join(one.failure for one in read.labels) == "none" + "abdcefghij"


@pytest.mark.parametrize(
    ("name", "model", "prompt"),
    [
        ("failure_cot_prompt_qwen-vl-72B.json", "qwen-vl-72B", "cot"),
        ("failure_failure-aware_prompt_gpt-4o.json", "gpt-4o", "failure-aware"),
        ("failure_mark_gemini.json", "gemini", "mark"),
        ("failure_direct_prompt_my_model_v2.json", "my_model_v2", "direct"),
    ],
)
def test_the_name_of_a_file_says_model_and_prompt(tmp_path, name, model, prompt):
    read = read_failures(store(tmp_path, name, {}))
    assert (read.model, read.prompt) == (model, prompt)


def test_what_is_no_label_is_reported_and_the_rest_is_read(tmp_path):
    failures = read_failures(
        store(
            tmp_path,
            "failure_direct_prompt_gpt.json",
            '{"1/1-a.html": "0/0", "1/2-a.html": "11/0", "1/3-a.html": "2/2", "1/4-a.html": 5,'
            f' "1/5-a.html": "{"9" * 9999}/0",'
            ' "nowhere": "0/0", "x/1/1-b.html": "2/1", "1/6-a.html": ""}',
        )
    )
    assert failures.labels == (Label("1", "1", "none", True),)
    assert len(failures.problems) == 7
    assert all("failure_direct_prompt_gpt.json" in problem for problem in failures.problems)
    assert any("1/1 is there twice" in problem for problem in failures.problems)
    votes = read_comparisons(
        store(
            tmp_path,
            "compare_direct_prompt_gpt.json",
            {"1/1-a": 0, "1/2-a": "2", "1/3-a": 3, "1/4-a": True, "1/5-a": None, "1/6-a": 1.5},
        )
    )
    assert votes.labels == (Vote("1", "1", "win"), Vote("1", "2", "lose"))
    assert len(votes.problems) == 4


def test_labels_written_are_the_labels_read(tmp_path):
    letters = ("none", *"abcdefghij")
    labels = tuple(
        Label(str(page), str(number), letter, usable)
        for page, usable in ((1, True), (2, False))
        for number, letter in enumerate(letters, start=1)
    )
    failures = LabelFile("my-model", "mark", labels)
    votes = LabelFile(
        "my-model",
        "mark",
        (Vote("1", "1", "win"), Vote("shop", "2", "tie"), Vote("1", "3", "lose")),
    )
    assert read_failures(write_failures(failures, tmp_path / "new")) == failures
    assert read_comparisons(write_comparisons(votes, tmp_path / "new")) == votes
    found = read_label_folder(tmp_path)
    assert (found.failures, found.comparisons) == ((failures,), (votes,))
    content = json.loads((tmp_path / "new" / "failure_mark_prompt_my-model.json").read_text())
    assert content["1/4-mark_prompt-my-model.html"] == "4/0"  # (c)
    assert content["2/11-mark_prompt-my-model.html"] == "10/1"


def test_names_of_models_and_prompts_that_are_no_file_names_are_written_plainly(tmp_path):
    file = write_failures(
        LabelFile("openai/gpt-4o", "mark:2x", (Label("7", "1", "c", True),)), tmp_path
    )
    assert file == tmp_path / "failure_mark-2x_prompt_openai-gpt-4o.json"
    read = read_failures(file)
    assert (read.model, read.prompt) == ("openai-gpt-4o", "mark-2x")
    assert read.labels == (Label("7", "1", "c", True),)


def test_files_are_found_below_a_folder_in_the_order_of_the_paper(tmp_path):
    for model in ("qwen-vl-72B", "claude", "gpt", "qwen-vl-3B", "gemini"):
        for prompt in ("mark", "cot", "direct"):
            store(tmp_path / "failure", f"failure_{prompt}_prompt_{model}.json", {})
    store(tmp_path, "notes.json", [1])
    found = read_label_folder(tmp_path)
    assert [one.model for one in found.failures[::3]] == [
        *("gemini", "gpt", "claude", "qwen-vl-3B", "qwen-vl-72B"),
    ]
    assert [one.prompt for one in found.failures[:3]] == ["direct", "cot", "mark"]


def test_one_file_alone_can_be_named(tmp_path):
    file = store(tmp_path, "compare_cot_prompt_gpt.json", {"1/1-x.html": 1})
    store(tmp_path, "compare_cot_prompt_claude.json", {"1/1-x.html": 1})
    assert [one.model for one in read_label_folder(file).comparisons] == ["gpt"]


@pytest.mark.parametrize("content", ["{", "[1, 2]", '"text"', "", "{} {}"])
def test_a_file_that_holds_no_labels_at_all_is_refused(tmp_path, content):
    with pytest.raises(InputError, match="failure_cot_prompt_gpt"):
        read_failures(store(tmp_path, "failure_cot_prompt_gpt.json", content))


def test_folders_without_labels_or_with_two_of_one_kind_are_refused(tmp_path):
    with pytest.raises(InputError, match="no file or folder"):
        read_label_folder(tmp_path / "missing")
    with pytest.raises(InputError, match="no label files"):
        read_label_folder(tmp_path)
    for name in ("a", "b"):
        store(tmp_path / name, "failure_cot_prompt_gpt.json", {})
    with pytest.raises(InputError, match="same model and prompt"):
        read_label_folder(tmp_path)


def test_every_published_label_is_read(shared_data):
    folder = shared_data / "data" / "interaction2code"
    found = read_label_folder(folder)
    assert (len(found.failures), len(found.comparisons), found.problems) == (18, 17, ())
    assert {len(file.labels) for file in found.failures} == {374}
    assert {len(file.labels) for file in found.comparisons} == {374}
    places = {(one.page, one.interaction) for one in found.failures[0].labels}
    for file in (*found.failures, *found.comparisons):
        assert {(one.page, one.interaction) for one in file.labels} == places
