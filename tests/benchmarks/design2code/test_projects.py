"""Answers that are project folders, built by a command before anything is judged."""

from __future__ import annotations

import asyncio
import json

import pytest

import uiproof
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


def test_run_builds_projects_too_and_its_report_shows_every_screen(tmp_path):
    reference, generated = make(tmp_path, "1")
    (generated / "1").mkdir()
    (generated / "1/page.txt").write_text("<p>x</p>")
    options = {"build": "mkdir -p dist && cp page.txt dist/index.html", "quiet": True}
    with pytest.raises(UsageError, match="nothing to build"):
        uiproof.run(reference, "blueprint", **options)
    with pytest.raises(UsageError, match="A dry run builds nothing"):
        uiproof.plan(reference, [f"replay:{generated}"], **options)
    run = uiproof.run(
        reference,
        f"replay:{generated}",
        out=tmp_path / "run",
        executor="inline",
        viewport=["1280x720", "390x844"],
        **options,
    )
    (record,) = run.records()
    assert record.status == "scored"
    assert record.scores["human"] == 1.0
    assert record.scores["strict"]["mean_without_clip"] == 1.0  # the same, of one thin letter
    report = tmp_path / "report.html"
    uiproof.write_report([run.path], report)
    (case,) = embedded(report.read_text(), "index")["cases"]
    assert [name for name, _ in case["screens"]] == ["1280x720", "390x844"]
    wide, narrow = (images for _, images in case["screens"])
    assert wide.keys() == narrow.keys() == {"reference", "generated"}
    assert wide["generated"] != narrow["generated"]


def embedded(page, name):
    return json.loads(page.split(f'id="{name}">')[1].split("</script>")[0])
