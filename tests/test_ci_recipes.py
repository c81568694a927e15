"""docs/ci.md and action.yml, run as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = "<!doctype html><body style='margin:40px;font:24px sans-serif'><h1>{}</h1><p>Open daily</p>"
# Without a new installation, an environment does not know the entry point yet.
INSTALLED = any(entry.name == "uiproof" for entry in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "uiproof.integrations.pytest_plugin"]


@pytest.fixture(scope="module")
def design():
    """A page and a screenshot of it."""
    from uiproof.browser import Renderer
    from uiproof.browser.source import PageSource

    html = PAGE.format("Bakery")
    with Renderer() as renderer, renderer.open(PageSource.from_html(html)) as page:
        return html, page.screenshot()


def shell(command, cwd, **environment):
    # `uiproof` and `pytest` are those of this environment.
    plugins = "" if INSTALLED else "uiproof.integrations.pytest_plugin"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PYTEST_PLUGINS": plugins} | environment
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command], cwd=cwd, env=env, text=True, capture_output=True
    )


@pytest.fixture
def project(tmp_path, design):
    html, png = design
    for folder in ("reference", "generated", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "reference" / "1.html").write_text(html)
    (tmp_path / "generated" / "1.html").write_text(html)
    (tmp_path / "tests" / "page.html").write_text(html)
    (tmp_path / "tests" / "design.png").write_bytes(png)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def blocks(language):
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
def test_the_commands_of_the_page_work_as_written(project):
    python, test = blocks("python")
    (project / "tests" / "test_page.py").write_text(test)
    for block in blocks("bash"):
        done = shell(block, project)
        assert done.returncode == 0, block + done.stdout + done.stderr
    assert (project / "junit.xml").exists()
    assert "No regression" in (project / "summary.md").read_text()
    (project / "example.py").write_text(python)
    done = shell("python example.py", project)
    assert "No regression" in done.stdout, done.stderr


@pytest.mark.slow
def test_the_steps_of_the_action_notice_a_page_that_broke(project):
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = {step["name"]: step["run"] for step in action["runs"]["steps"] if "run" in step}
    assert set(steps) == {"Install", "Score", "Compare", "Test"}
    inputs = {"BENCHMARK": "design2code", "REFERENCE": "reference", "GENERATED": "generated"}
    assert shell(steps["Score"], project, **inputs, RUN="runs/main").returncode == 0
    (project / "generated" / "1.html").write_text("<p>Nothing of that")
    assert shell(steps["Score"], project, **inputs, RUN="runs/new").returncode == 0
    summary = project / "step-summary.md"
    done = shell(
        steps["Compare"],
        project,
        BASELINE="runs/main",
        RUN="runs/new",
        FAIL_UNDER="0.02",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 5, done.stderr
    assert "REGRESSION: 1 worse" in summary.read_text()
    assert {path.name for path in (project / "uiproof-reports").iterdir()} == {
        "report.html",
        "compared.html",
        "compare.xml",
    }


def test_every_input_of_the_action_is_used_and_described():
    text = (ROOT / "action.yml").read_text("utf-8")
    action = yaml.safe_load(text)
    for name, about in action["inputs"].items():
        assert about["description"]
        assert f"inputs.{name}" in text.partition("runs:\n")[2]
    # Inputs reach commands as variables: what is in them is never run.
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_pages_are_compared_in_tests_and_failures_keep_a_report(project):
    (project / "tests" / "other.html").write_text(PAGE.format("A shop of shoes and much else"))
    (project / "tests" / "test_page.py").write_text(
        """
def test_the_same_page(uiproof):
    scores = uiproof.assert_similar("page.html", reference="design.png", strict=0.99)
    assert scores["picture"]["mean_without_clip"] == 1
    assert uiproof.assert_similar("page.html", reference="page.html", paper=1)["human"] > 0.9

def test_another_page(uiproof):
    uiproof.assert_similar("other.html", reference="design.png", strict=0.99)

def test_a_profile_that_the_reference_does_not_have(uiproof):
    uiproof.assert_similar("page.html", reference="design.png", paper=0.9)

def test_a_file_that_is_not_there(uiproof):
    uiproof.assert_similar("pge.html", reference="design.png")
"""
    )
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, "tests", "--uiproof-reports", "kept"]
    done = subprocess.run(command, cwd=project, text=True, capture_output=True)
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "other.html is not similar to design.png: picture 0." in done.stdout
    assert "is less than 0.99" in done.stdout
    assert "it needs a page as the reference" in done.stdout
    assert f"Did you mean {project}/tests/page.html" in done.stdout
    (kept,) = (project / "kept").iterdir()
    assert kept.name == "test_another_page"
    assert f"report: {kept / 'report.html'}" in done.stdout
    assert "<html" in (kept / "report.html").read_text("utf-8")
    shutil.rmtree(project / "kept")


def test_the_plugin_imports_nothing_heavy():
    code = (
        "import sys, uiproof.integrations.pytest_plugin\n"
        "heavy = {'numpy', 'cv2', 'uiproof.benchmark', 'uiproof.api', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
