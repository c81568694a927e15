"""All methods by their names, end to end against servers on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from omniparser_server import OmniParserServer

import warm_commands
from uiproof.benchmarks.grounding import openadapt
from uiproof.benchmarks.grounding.contracts import smart_resize

sys.path.append(str(Path(__file__).parents[2] / "models"))
from provider_servers import ProviderServer

SIX = [
    f"{backend}{cropping}"
    for backend in ("omniparser", "uitars")
    for cropping in ("", "-fixed", "-screenseeker")
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "published"
    openadapt.generate(folder, count=20)
    return folder


def uitars(dataset):
    """Sees the middle of the target in crops around it, and is wrong on whole screenshots."""

    def answer(asked):
        from io import BytesIO

        from PIL import Image

        with Image.open(BytesIO(asked.images[0])) as picture:
            width, height = picture.size
        high, wide = smart_resize(height, width, 28, 78400, 12845056)
        if width > 600:
            return "Action: click(point='<point>3 3</point>')"
        return f"Action: click(point='<point>{wide // 2} {high // 2}</point>')"

    return answer


class Shell:
    def __init__(self, folder, dataset):
        self.folder, self.dataset, self.environment = folder, dataset, {}

    def start(self, *arguments, **environment):
        own = {"UIPROOF_CACHE": str(self.folder / "cache")} | self.environment
        env = os.environ | own | environment
        return warm_commands.Command(arguments, cwd=self.folder, env=env)

    def __call__(self, *arguments, **environment):
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def command(self, *methods, limit=24):
        chosen = [part for method in methods for part in ("--method", method)]
        out = ["--out", "runs", "--executor", "inline", "--limit", limit]
        return ["run", "--dataset", self.dataset, *chosen, *out]

    def summary(self, name):
        return json.loads((self.folder / "runs" / name / "summary.json").read_text())


@pytest.fixture
def shell(tmp_path, dataset):
    return Shell(tmp_path, dataset)


def test_all_six_described_methods_and_their_controls(shell, dataset):
    methods = [*SIX, "centre-fixed", "grid-assisted", "centre"]
    with OmniParserServer() as parser, ProviderServer(uitars(dataset)) as server:
        shell.environment = {
            "EVAL_OMNIPARSER_URL": parser.url,
            "EVAL_UITARS_URL": server.base_url("compatible"),
            "EVAL_RESULTS_DIR": str(shell.folder / "results"),
        }
        done = shell(*shell.command(*methods))
    assert done.returncode == 0, done.stderr
    # A screenshot is parsed once for all of its elements and all three methods.
    assert set(parser.parsed.values()) == {1}
    assert set(server.answered.values()) == {1}
    rates = {name: shell.summary(name)["scores"]["detected"]["mean"] for name in SIX}
    assert rates["omniparser"] > 0.6
    assert rates["omniparser-fixed"] >= rates["omniparser"]
    assert rates["uitars"] < 0.05 < 0.8 < rates["uitars-fixed"]
    assert shell.summary("centre-fixed")["scores"]["detected"]["mean"] > 0.8
    assert shell.summary("grid-assisted")["scores"]["detected"]["mean"] > 0.8
    assert shell.summary("centre")["scores"]["accuracy"]["mean"] < 0.05
    for name in SIX:
        manifest = json.loads((shell.folder / "runs" / name / "run.json").read_text())
        assert manifest["assisted"] is True
    compared = shell("compare", "--results-dir", "results", "--charts-dir", "charts")
    assert compared.returncode == 0, compared.stderr
    assert "assisted" in compared.stdout
    charts = {path.name for path in (shell.folder / "charts").glob("*.png")}
    assert charts == {
        "detection_rate_overall.png",
        "detection_rate_by_size.png",
        "accuracy_vs_latency.png",
    }


def test_blind_methods_compose_grounders_and_searches(shell, dataset):
    with OmniParserServer() as parser, ProviderServer(uitars(dataset)) as server:
        address = server.base_url("compatible")
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url, "EVAL_UITARS_URL": address}
        methods = ["uitars@reground", "omniparser@none", f"compatible:{address}#some-model@narrow"]
        done = shell(*shell.command(*methods, limit=12))
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (shell.folder / "runs").iterdir())
    assert len(names) == 3
    for name in names:
        manifest = json.loads((shell.folder / "runs" / name / "run.json").read_text())
        assert manifest["assisted"] is False
    told = shell("diagnose", shell.folder / "runs" / "uitars-reground")
    assert told.returncode == 0, told.stderr


def test_a_server_that_fails_is_never_a_miss(shell):
    with OmniParserServer(broken=True) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser@none", limit=8), "--json", "scores.json")
    assert done.returncode == 1, done.stderr
    content = json.loads((shell.folder / "scores.json").read_text())
    assert content["summary"]["incomplete"] is True
    assert {case["error"]["code"] for case in content["cases"]} == {"model"}
    assert content["summary"]["n"] == 8


@pytest.mark.parametrize("method", ["uitars-fixed", "omniparser-fixed"])
def test_killed_and_resumed_no_call_is_repeated(shell, dataset, method):
    server = ProviderServer(uitars(dataset), latency=0.05)
    with OmniParserServer(latency=0.02) as parser, server:
        shell.environment = {
            "EVAL_OMNIPARSER_URL": parser.url,
            "EVAL_UITARS_URL": server.base_url("compatible"),
        }
        command = shell.command(method, limit=40)
        for kills in range(3):
            with shell.start(*command, "-q") as process:
                deadline = time.time() + 60
                goal = 12 * (kills + 1)
                while server.answered.total() + parser.parsed.total() < goal:
                    assert time.time() < deadline
                    if process.poll() is not None:
                        break
                    time.sleep(0.02)
                process.send_signal(signal.SIGKILL)
                process.communicate()
        done = shell(*command)
        assert done.returncode == 0, done.stderr
    asked = server.answered + server.abandoned + parser.parsed
    assert asked.total() > 40
    assert set(asked.values()) == {1}
    assert shell.summary("")["n"] == 40


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("telepathy", "uiproof list"),
        ("ocr@telepathy", "ocr@telepathy"),
        ("uitars@screenseeker:", "screenseeker"),
    ],
)
def test_wrong_names_are_told(shell, method, words):
    done = shell(*shell.command(method))
    assert done.returncode == 2
    assert words in done.stderr
