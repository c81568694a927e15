"""The documentation: its commands run, its options exist, its site builds."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

import warm_commands

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENVIRONMENT = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def fences(page, *languages):
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for language, text in found if language in languages]


def commands():
    for page in PAGES:
        for fence in fences(page, "", "bash", "console", "sh"):
            for line in fence.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||\|(?= )", line):
                    words = re.sub(r"\s#.*", "", part).strip()
                    if re.match(r"(\$ )?uiproof ", words):
                        yield page.name, words.removeprefix("$ ")


@cache
def helped(*verbs):
    return warm_commands.run(*verbs, "--help", cwd=ROOT, env=ENVIRONMENT).stdout


def test_every_option_in_a_documented_command_exists():
    unknown = []
    for page, command in sorted(set(commands())):
        words = command.replace("'", " ").replace('"', " ").split()[1:]
        options = {word.split("=")[0] for word in words if re.match(r"--[a-z]", word)}
        if not options or not re.match(r"[a-z]", words[0]):
            continue
        known = helped(words[0])
        if len(words) > 1 and re.fullmatch(r"[a-z0-9]+", words[1]):
            known += helped(words[0], words[1])
        unknown += [
            f"{page}: {command}: {one}"
            for one in sorted(options)
            if not re.search(rf"{one}\b", known)
        ]
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize(
    "name", ["score-my-pages", pytest.param("evaluate-my-model", marks=pytest.mark.slow)]
)
def test_the_commands_of_a_tutorial_run_as_they_are_written(name, tmp_path):
    page = ROOT / "docs" / "tutorials" / f"{name}.md"
    script = "\n".join(fences(page, "bash"))
    assert script.count("uiproof ") >= 2
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=ENVIRONMENT | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written = shlex.split(script)
    for option in ("--out", "--json"):
        for at, word in enumerate(written):
            if word == option:
                assert (tmp_path / written[at + 1]).exists(), written[at + 1]


def test_the_tutorial_on_training_runs_as_it_is_written(tmp_path):
    page = ROOT / "docs" / "tutorials" / "train.md"
    (python,) = fences(page, "python")
    (curl,) = (fence for fence in fences(page, "") if "curl" in fence)
    done = subprocess.run(
        [sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout.split()[0]) < 1
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "1.html").write_text("<h1>Hello</h1>")
    (command,) = (words for name, words in commands() if name == "train.md" and " serve " in words)
    with started(command.replace("8000", "0"), tmp_path) as lines:
        address = re.search(r"http://\S+", next(lines))
        assert address
        curl = curl.replace("localhost:8000", address[0].removeprefix("http://").rstrip("/"))
        answered = subprocess.run(
            ["bash", "-c", f"for i in {{1..60}}; do {curl.strip()} --fail && break; sleep 1; done"],
            capture_output=True,
            text=True,
        )
    assert json.loads(answered.stdout)["status"] == "scored", answered


def test_the_tutorial_on_annotating_begins_as_it_is_written(tmp_path):
    (tmp_path / "runs").mkdir()
    (command,) = (words for name, words in commands() if name == "annotate.md")
    with started(f"{command} --port 0", tmp_path) as lines:
        said = "".join(next(lines) for _ in range(3))
    assert said.count("http://") == 3
    assert "Ann" in said
    assert "Ben" in said


@contextmanager
def started(command, folder):
    """The lines that a command prints while it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorials" / "score-my-pages" / "index.html").is_file()
