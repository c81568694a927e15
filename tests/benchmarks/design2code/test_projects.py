"""Answers that are project folders, built by a command before anything is judged."""

from __future__ import annotations

import asyncio

import pytest

from uiproof.benchmarks.design2code.benchmark import BENCHMARK
from uiproof.errors import MethodError, UsageError


def make(tmp_path, *pages):
    (tmp_path / "reference").mkdir()
    (tmp_path / "generated").mkdir()
    for name in pages:
        (tmp_path / f"reference/{name}.html").write_text("<p>x</p>")
    return tmp_path / "reference", tmp_path / "generated"


def answer(method, case):
    return asyncio.run(method.answer(case, None, None))


def test_each_project_is_built_once_and_a_failed_build_fails_its_case(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    reference, generated = make(tmp_path, "1", "2", "3")
    for name in ("1", "2", "unasked"):
        (generated / name).mkdir()
        (generated / name / "page.txt").write_text(f"<p>{name} ")
    (generated / "2/broken").write_text("")
    command = (
        "echo built >> log; test ! -e broken || { echo bad import; exit 3; }; mkdir -p dist; "
        'cat page.txt > dist/index.html; echo "${OPENAI_API_KEY:-none}" >> dist/index.html'
    )
    method = BENCHMARK.replay(reference, generated, build=command, quiet=True)
    assert answer(method, "1").text.split() == ["<p>1", "none"]
    assert (generated / "1/log").read_text().split() == ["built"]
    assert not (generated / "unasked/log").exists()
    with pytest.raises(MethodError, match=r"failed with code 3: bad import"):
        answer(method, "2")
    with pytest.raises(MethodError, match="no prediction for 3"):
        answer(method, "3")


def test_one_project_may_have_all_pages_in_the_folder_that_is_named(tmp_path):
    reference, generated = make(tmp_path, "home", "about")
    (generated / "package.json").write_text("{}")
    command = "mkdir -p site/about && echo h > site/home.html && echo a > site/about/index.html"
    method = BENCHMARK.replay(reference, generated, build=command, build_output="site", quiet=True)
    assert [answer(method, name).text.strip() for name in ("home", "about")] == ["h", "a"]
    nothing = BENCHMARK.replay(
        reference, generated, build="true", build_output="nowhere", quiet=True
    )
    with pytest.raises(MethodError, match="left no page in nowhere"):
        answer(nothing, "home")
    with pytest.raises(UsageError, match="goes with --build"):
        BENCHMARK.replay(reference, generated, build_output="site")
