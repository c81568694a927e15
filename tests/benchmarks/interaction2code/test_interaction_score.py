"""`uiproof score interaction2code`, from the command line to the files it writes."""

from __future__ import annotations

import json

import pytest
from interaction_pages import SHOP, make_shop
from interaction_runs import scored, written
from typer.testing import CliRunner

import uiproof
from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
from uiproof.cli import app
from uiproof.errors import InputError, UsageError


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def generated(tmp_path):
    dead = SHOP.replace("getElementById('menu').hidden = false", "title = 'Coffee shop'")
    folder = tmp_path / "generated" / "shop" / "result"
    folder.mkdir(parents=True)
    for number, prompt, html in ((1, "direct", SHOP), (1, "mark", dead), (3, "direct", SHOP)):
        (folder / f"{number}-{prompt}-gpt.html").write_text(html)
    return tmp_path / "generated"


def call(*arguments):
    return CliRunner().invoke(app, ["score", "interaction2code", *map(str, arguments), "--quiet"])


def test_scores_and_verdicts_of_every_interaction_are_in_the_json(dataset, generated, tmp_path):
    target = tmp_path / "scores.json"
    done = call(
        *(dataset, generated, "--variant", "direct-gpt", "--json", target),
        *("--executor", "inline", "--out", tmp_path / "run"),
    )
    assert done.exit_code == 1, done.output  # there is no page for interaction 2
    found = json.loads(target.read_text())
    assert found["benchmark"] == "interaction2code"
    by_id = {case["id"]: case for case in found["cases"]}
    assert list(by_id) == ["shop/1", "shop/2", "shop/3"]
    for name in ("shop/1", "shop/3"):
        verdict = by_id[name]["verdict"]
        assert by_id[name]["status"] == "scored"
        assert (verdict["implemented"], verdict["usable"], verdict["failure"]) == (
            *(True, True),
            "none",
        )
        assert isinstance(verdict["evidence"], list)
        assert {"paper", "strict", "implemented", "usable"} == set(by_id[name]["scores"])
    assert by_id["shop/2"]["status"] == "failed"
    assert by_id["shop/2"]["verdict"]["failure"] == "a"
    assert "no page for shop/2" in by_id["shop/2"]["error"]["message"]
    assert found["summary"]["scores"]["usable"]["mean"] == pytest.approx(2 / 3)
    assert "Full page, paper" in done.output
    assert "(a) interactive element missing" in done.output
    again = uiproof.RunDirectory(tmp_path / "run")
    assert again.summary["n"] == 3
    assert "Usable" in uiproof.comparison([again])


def test_a_page_that_was_saved_in_a_fence_is_acted_on(dataset, tmp_path):
    pages = tmp_path / "fenced" / "shop"
    pages.mkdir(parents=True)
    (pages / "1.html").write_text(f"Here it is:\n```html\n{SHOP}\n```\n")
    run = uiproof.score_interactions(dataset, tmp_path / "fenced")
    first = next(record for record in run.records() if record.id == "shop/1")
    assert first.scores["usable"] == 1
    assert "generated:unfenced" in first.flags


def test_a_result_folder_is_scored_by_one_command_with_models_and_prompts(dataset, tmp_path):
    result = tmp_path / "generated" / "shop" / "result"
    result.mkdir(parents=True)
    variants = [
        f"{prompt}_prompt-{model}"
        for model in ("claude", "qwen-vl-72B")
        for prompt in ("direct", "mark")
    ]
    for variant in variants:
        (result / f"1-{variant}.html").write_text(SHOP)
    target = tmp_path / "scores.json"
    done = call(
        *(dataset, tmp_path / "generated", "--out", tmp_path / "runs", "--json", target),
        *("--name", "claude=Claude 3.5 Sonnet", "--executor", "inline", "--limit", 1),
        "--published-contours",
    )
    assert done.exit_code == 0, done.output
    runs = [uiproof.RunDirectory(tmp_path / "runs" / variant) for variant in variants]
    assert len(json.loads(target.read_text())["runs"]) == 4
    found = {(one.model, one.prompt.name) for one in results_of(runs)}
    models = ("Claude 3.5 Sonnet", "qwen-vl-72B")
    assert found == {(model, prompt) for model in models for prompt in ("direct", "mark")}
    for run, variant in zip(runs, variants, strict=True):
        settings = run.manifest["settings"]
        assert f"{settings['prompt']}_prompt-{settings['model']}" == variant
        assert run.manifest["fingerprint"]["positions"] == "published contours"
        assert run.summary["scores"]["usable"]["mean"] == 1
    assert "Claude 3.5 Sonnet" in done.output


def test_a_display_name_without_a_model_is_wrong_use(dataset, generated):
    done = call(dataset, generated, "--name", "GPT-4o")
    assert isinstance(done.exception, UsageError)
    assert "MODEL=SHOWN" in str(done.exception)


def test_models_have_display_names_where_runs_are_compared_and_reported(tmp_path):
    models = ("openai/gpt-4o", "openai/gpt-4o-mini")
    runs = [
        written(tmp_path / model.replace("/", "-"), model, [scored("1/1")], prompt="mark").path
        for model in models
    ]
    named = ("--name", "openai/gpt-4o=GPT-4o")
    done = CliRunner().invoke(app, ["compare", *map(str, runs), *named])
    assert done.exit_code == 0, done.output
    assert "GPT-4o mark" in done.output
    assert "openai/gpt-4o-mini" in done.output
    assert "openai/gpt-4o " not in done.output
    page = tmp_path / "report.html"
    told = CliRunner().invoke(app, ["report", *map(str, runs), *named, "--out", str(page)])
    assert told.exit_code == 0, told.output
    assert "GPT-4o mark" in page.read_text()


def test_runs_of_several_variants_do_not_go_into_one(dataset, generated, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot hold 2 runs"):
        uiproof.score_variants(dataset, generated, out=tmp_path / "run")


def test_published_contours_can_be_asked_for_where_methods_are_run(dataset, tmp_path):
    arguments = ["run", "--dataset", str(dataset), "--method", "blueprint", "--quiet"]
    arguments += ["--limit", "1", "--executor", "inline", "--published-contours"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    manifest = uiproof.RunDirectory(tmp_path / "run").manifest
    assert manifest["fingerprint"]["positions"] == "published contours"
    with pytest.raises(UsageError, match="no option 'contours'"):
        uiproof.run_matrix("design2code-demo", ["blueprint"], contours=True, out=tmp_path / "no")


def test_several_variants_are_named_in_the_error(dataset, generated):
    with pytest.raises(UsageError, match="direct-gpt, mark-gpt"):
        uiproof.score_interactions(dataset, generated)
    with pytest.raises(UsageError, match="no variant"):
        uiproof.score_interactions(dataset, generated, variant="cot-gpt")


def test_folders_that_do_not_belong_together_are_wrong_use(dataset, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "other.html").write_text(SHOP)
    with pytest.raises(UsageError, match="has the name of a page"):
        uiproof.score_interactions(dataset, tmp_path / "pages")
    with pytest.raises(InputError, match="no file or folder"):
        uiproof.score_interactions(dataset, tmp_path / "nowhere")


def test_data_of_another_benchmark_is_refused(tmp_path):
    (tmp_path / "1.html").write_text(SHOP)
    with pytest.raises(InputError, match="no data set of Interaction2Code"):
        uiproof.score_interactions(tmp_path, tmp_path)
