"""What tests of URLs share: a server, buckets, machines, and a benchmark that is quick."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from remote_server import Bucket, Server

PICTURES = Path(__file__).parent / "picture_benchmark"


@pytest.fixture(scope="session")
def server():
    log = logging.getLogger("werkzeug")
    server = Server()
    log.addHandler(server)
    log.setLevel(logging.INFO)
    log.propagate = False
    yield server
    server.stop()
    log.removeHandler(server)


@pytest.fixture
def bucket(server, monkeypatch):
    """An empty bucket, for which the environment says all that is needed."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server.asked.clear()
    return Bucket(server)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Become a machine of this name: each has a cache of its own."""

    def become(name: str) -> Path:
        cache = tmp_path / f"cache-of-{name}"
        monkeypatch.setenv("UIPROOF_CACHE", str(cache))
        return cache

    become("one")
    return become


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """The picture benchmark, installed; gives the file where its judge notes what it judged."""
    monkeypatch.syspath_prepend(str(PICTURES))
    monkeypatch.setenv("PYTHONPATH", str(PICTURES))
    monkeypatch.setenv("PICTURE_LOG", str(tmp_path / "judged"))
    monkeypatch.setenv("UIPROOF_PUSH_SECONDS", "0.2")
    (tmp_path / "judged").touch()
    return tmp_path / "judged"


@pytest.fixture
def command(tmp_path):
    """Start `uiproof` as a shell does."""
    started = []

    def start(*arguments) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "uiproof", *map(str, arguments)],
            cwd=tmp_path,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
