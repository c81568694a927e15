"""Runs in Weights & Biases, offline, and without a login."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest
from tracking_runs import SECRETS
from wandb_files import logged

import uiproof
from uiproof.cli import app
from uiproof.errors import UsageError


@pytest.fixture
def track(tmp_path):
    """`uiproof track` in a process of its own: W&B has a service, and settings of the machine."""

    def call(*arguments, **environment):
        kept = {name: value for name, value in os.environ.items() if "WANDB" not in name}
        home = {"HOME": str(tmp_path / "home"), "NETRC": str(tmp_path / "none")}
        # A terminal, so that a prompt for a login would be possible.
        mine, theirs = pty.openpty()
        try:
            return subprocess.run(
                [sys.executable, "-m", "uiproof", "track", *map(str, arguments)],
                cwd=tmp_path,
                env=kept | home | environment,
                stdin=theirs,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        finally:
            os.close(mine)
            os.close(theirs)

    return call


def test_offline_a_run_is_written_down_and_again_under_the_same_id(a_run, track, tmp_path):
    runs = [a_run().path, a_run("moved").path]
    done = track(*runs, "--wandb", "pages", "--entity", "team", WANDB_MODE="offline")
    assert done.returncode == 0, done.stderr
    first, again = (line.rpartition(": ")[2] for line in done.stdout.splitlines())
    assert first == again
    path = next(tmp_path.glob(f"wandb/offline-run-*-{first}/run-{first}.wandb"))
    found = logged(path)
    assert found["run"].run_id == first
    assert (found["run"].project, found["run"].entity) == ("pages", "team")
    assert found["run"].host == ""
    assert found["config"]["settings.parameters.temperature"] == 0.5
    assert found["config"]["dataset"] == "pages"
    assert found["config"]["not_measured"] == ["paper.clip", "paper.color"]
    assert found["history"]["paper.text"] == 0.25
    assert found["history"]["paper.text.low"] == 0.0
    assert found["history"]["n"] == 2
    assert "paper.clip" not in found["history"]
    table = json.loads((path.parent / "files" / found["history"]["cases.path"]).read_text())
    cases = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(case["id"], case["paper.text"]) for case in cases] == [("1", 0.5), ("caf\\udce9", 0.0)]
    everything = json.dumps([found["config"], found["history"], cases])
    assert not [secret for secret in SECRETS if secret in everything]


def test_without_a_login_it_says_so_and_does_not_ask(a_run, track):
    done = track(a_run().path, "--wandb", "pages")
    assert done.returncode == 3
    assert "Not logged in" in done.stderr
    assert "WANDB_MODE=offline" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "wrong", [[], ["--wandb", "p", "--mlflow", "e"], ["--wandb", "p", "--tracking-uri", "x"]]
)
def test_a_place_to_track_in_must_be_named_and_only_one(a_run, wrong):
    with pytest.raises(UsageError):
        app(["track", str(a_run().path), *wrong], standalone_mode=False)


def test_nothing_is_pretended_where_wandb_is_switched_off(a_run, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with pytest.raises(UsageError, match="disabled"):
        uiproof.track_wandb([a_run()], project="pages")
