"""Models by prompts in one command, against servers that speak like three providers."""

from __future__ import annotations

import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tiny_pages import interaction, write_page
from typer.testing import CliRunner

import warm_commands
from uiproof.benchmarks.interaction2code import BENCHMARK
from uiproof.browser.renderer import Renderer
from uiproof.browser.snapshots import Action
from uiproof.browser.source import PageSource
from uiproof.cli import app
from uiproof.errors import UsageError
from uiproof.models.chat import ModelOptions
from uiproof.registry import benchmarks, make_method, planned_runs
from uiproof.vision.images import decode

sys.path.append(str(Path(__file__).parents[2] / "models"))
from provider_servers import ProviderServer

SIZE = (480, 300)
MODELS = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro")
STYLE = """<style>body { margin: 20px; font: 20px Arial } #list { margin-top: 20px; padding: 20px;
background: #0a5; color: white } #list[hidden] { display: none }</style>"""
BODY = (
    '<button id="interact1"{does}>Show teas</button><div id="list" hidden>Green and black tea</div>'
)
WORKING = STYLE + BODY.format(does=' onclick="list.hidden = false"')
DEAD = STYLE + BODY.format(does="")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """One page with one interaction, as the renderer sees it."""
    folder = tmp_path_factory.mktemp("data")
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's event loop stays in its thread
        before, after, box = elsewhere.submit(_played).result()
    write_page(
        folder / "teas",
        {"0": before, "1": after},
        [
            interaction(
                *("0", "1", 'click the "Show teas" button', "a list of teas appears"),
                trigger=[box.left, box.top, box.right, box.bottom],
            )
        ],
    )
    return folder


def _played():
    with Renderer() as renderer, renderer.stage(PageSource.from_html(WORKING), SIZE) as stage:
        before = decode(stage.screenshot())
        button = stage.find("#interact1")
        assert stage.act(button, Action("click")) is None
        stage.settle()
        return before, decode(stage.screenshot()), button.box


@pytest.fixture(scope="module")
def server():
    """Answers with a page that works where boxes were drawn, and with one that does nothing."""

    def answer(asked):
        page = WORKING if "red boxes" in asked.prompt else DEAD
        return f"Here it is:\n```html\n<!DOCTYPE html><html><body>{page}</body></html>\n```"

    with ProviderServer(answer) as server:
        yield server


@pytest.fixture(scope="module")
def uiproof(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("work")

    def call(*arguments):
        env = os.environ | server.environment() | {"UIPROOF_CACHE": str(folder / "cache")}
        return warm_commands.run(*arguments, cwd=folder, env=env)

    call.folder = folder
    return call


def test_a_matrix_of_models_and_prompts_gives_the_table_of_the_paper(uiproof, server, dataset):
    methods = [word for model in MODELS for word in ("--method", model)]
    prompts = ["--prompt", "direct", "--prompt", "mark"]
    command = [
        "run",
        "--dataset",
        dataset,
        *methods,
        *prompts,
        "--out",
        "runs",
        "--executor",
        "inline",
    ]
    planned = uiproof(*command, "--dry-run", "--json", "-")
    plans = json.loads(planned.stdout)["plans"]
    assert [plan["requests"] for plan in plans] == [1] * 6
    assert plans[1]["method"] == "openai/gpt-4o mark"
    assert not server.log

    done = uiproof(*command)
    assert done.returncode == 0, done.stderr
    assert {asked.format for asked in server.log} == {"openai", "anthropic", "google"}
    assert [len(asked.images) for asked in server.log] == [2] * 6
    runs = sorted(path.name for path in (uiproof.folder / "runs").iterdir())
    assert len(runs) == 6
    assert runs[0] == "anthropic-claude-sonnet-4-5-direct"
    for name in runs:
        record = json.loads((uiproof.folder / "runs" / name / "journal.jsonl").read_text())
        works = name.endswith("-mark")
        assert record["scores"]["implemented"] == float(works), record["details"]["verdict"]
        assert record["scores"]["usable"] == float(works)
        assert record["details"]["verdict"]["failure"] == ("none" if works else "b")
        settings = json.loads((uiproof.folder / "runs" / name / "run.json").read_text())["settings"]
        assert settings["prompt"] == ("mark" if works else "direct")
        assert settings["parameters"] == {"max_tokens": 4096, "temperature": 1.0, "seed": 2024}

    _, _, table = done.stdout.partition("Models and prompts (Table 4)")
    for model in MODELS:
        rows = re.findall(rf"{re.escape(model)}\s+(direct|mark)\s", table)
        assert rows[:2] == ["direct", "mark"]

    again = uiproof(*command)
    assert again.returncode == 0
    assert len(server.log) == 6


def test_prompts_with_options_are_runs_of_their_own_under_their_one_name(tmp_path, dataset):
    prompts = ["direct:T,all", "direct:all,T", "direct:2x"]
    cells = planned_runs(BENCHMARK, dataset, [MODELS[0]], prompts=prompts, out=tmp_path)
    assert [cell.label for cell in cells] == [
        "openai/gpt-4o direct:all,T",
        "openai/gpt-4o direct:2x",
    ]
    assert [cell.directory.name for cell in cells] == [
        "openai-gpt-4o-direct-all-T",
        "openai-gpt-4o-direct-2x",
    ]
    (chosen,) = planned_runs(
        BENCHMARK, dataset, [MODELS[0]], models=ModelOptions.of(temperature=0.0)
    )
    assert chosen.method.settings["parameters"]["temperature"] == 0.0
    assert chosen.method.settings["parameters"]["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("prompt", "problem"), [("direct:9x", "1x to 3x"), ("plain:T", "failure-aware")]
)
def test_a_wrong_prompt_is_noticed_before_anything_runs(dataset, prompt, problem):
    options = ["--dataset", str(dataset), "--method", MODELS[0], "--prompt", prompt]
    with pytest.raises(UsageError) as error:
        CliRunner().invoke(app, ["run", *options], catch_exceptions=False, standalone_mode=False)
    assert problem in f"{error.value.message} {error.value.remedy}"


def test_only_benchmarks_with_options_take_them():
    with pytest.raises(UsageError, match="no prompt 'direct:T'"):
        make_method(benchmarks()["design2code"], MODELS[0], prompt="direct:T")


def test_the_list_of_prompts_teaches_their_options(uiproof):
    shown = uiproof("list").stdout
    assert "V, T or V+T" in shown
    assert "rounds" in shown
