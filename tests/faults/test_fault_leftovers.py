"""Nothing is left behind: every process of a tree is killed in turn, and all of them at once."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from fault_tools import UIPROOF, lines_in, living, processes, wait_until

from uiproof import scratch
from uiproof.process_tree import descendants
from uiproof.scratch import ScratchFolder, sweep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

PAIR = {"reference": "<h1>Hello</h1>", "generated": "<h1>Hallo</h1>"}
WORKER = "uiproof.engine.worker_process"


def family(main, folder):
    """The processes of a warm service with one worker, by what they do."""
    guardian, judge = processes(main.marker, WORKER)
    return {
        "main": main.pid,
        "guardian": guardian,
        "judge": judge,
        "browser": browsers_in(folder)[0],
    }


def browsers_in(folder) -> list[int]:
    """The browsers with a profile in a folder, the oldest first; their environment is their own."""
    profile = f"--user-data-dir={folder}/".encode()
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if profile in command.read_bytes():
                found.append(int(command.parent.name))
    return sorted(found)


@pytest.fixture
def service(start):
    main = start(*UIPROOF, "serve", "--port", "0", "--workers", "1")
    main.url = main.line().split()[1]
    main.post = lambda: post(main.url)
    assert main.post()["status"] == "scored"
    return main


def post(url):
    headers = {"content-type": "application/json"}
    request = Request(f"{url}/score", json.dumps(PAIR).encode(), headers)
    with urlopen(request, timeout=100) as answer:
        return json.load(answer)


@pytest.mark.parametrize("role", ["guardian", "judge", "browser"])
def test_a_service_of_which_one_process_is_killed_goes_on_and_leaves_nothing(
    tmp_path, service, role
):
    here = tmp_path / "scratch"
    before = family(service, here)
    os.kill(before[role], signal.SIGKILL)
    if role != "browser":
        wait_until(lambda: not {before["guardian"], before["judge"], before["browser"]} & alive())
    assert service.post()["status"] == "scored"
    # That of the service, and that of its one worker; no third one of the worker that was killed.
    wait_until(lambda: len(list(here.glob("uiproof-scratch-*"))) == 2)
    service.signal(signal.SIGTERM)
    assert service.finished(60)[0] == 0
    assert living(service.marker) == []
    assert list(here.iterdir()) == []


def test_a_killed_service_leaves_neither_a_process_nor_a_folder(tmp_path, service):
    service.signal(signal.SIGKILL)
    service.finished()
    assert living(service.marker) == []
    wait_until(lambda: not list((tmp_path / "scratch").iterdir()))
    assert browsers_in(tmp_path / "scratch") == []


def test_what_was_left_when_everything_was_killed_at_once_is_removed_at_the_next_start(
    tmp_path, service, start
):
    here = tmp_path / "scratch"
    everything = family(service, here)
    stopped = [service.pid, *descendants(service.pid)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)  # so that nobody sees the others end
    for pid in stopped:
        os.kill(pid, signal.SIGKILL)
    service.finished()
    assert living(service.marker) == []
    assert not set(everything.values()) & alive()
    assert list(here.glob("uiproof-scratch-*"))
    (tmp_path / "a.html").write_text("<h1>Hello</h1>")
    code, _, err = start(*UIPROOF, "score", "design2code", "a.html", "a.html").finished()
    assert code == 0, err
    assert list(here.iterdir()) == []


def test_a_run_whose_guardian_is_killed_scores_everything_and_leaves_nothing(tmp_path, start):
    for n in range(6):
        (tmp_path / "pages").mkdir(exist_ok=True)
        (tmp_path / "pages" / f"{n}.html").write_text(f"<h1>Page {n}</h1>" * (n + 1))
    command = ("score", "design2code", "pages", "pages", "--out", "run", "--workers", "1")
    main = start(*UIPROOF, *command, "--quiet")
    wait_until(lambda: lines_in(tmp_path / "run") >= 1)
    os.kill(processes(main.marker, WORKER)[0], signal.SIGKILL)
    code, _, err = main.finished()
    assert code == 0, err
    assert lines_in(tmp_path / "run") == 6
    assert living(main.marker) == []
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_guardian_that_gets_a_signal_cleans_up(tmp_path, service, number):
    before = family(service, tmp_path / "scratch")
    os.kill(before["guardian"], number)
    wait_until(lambda: not {before["guardian"], before["judge"], before["browser"]} & alive())
    wait_until(lambda: len(list((tmp_path / "scratch").glob("uiproof-scratch-*"))) == 1)
    assert service.post()["status"] == "scored"
    service.signal(signal.SIGTERM)
    assert service.finished(60)[0] == 0


def alive() -> set[int]:
    return {1, *descendants(1)}


def test_only_folders_without_an_owner_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ScratchFolder() as owned:
        (owned / "file").write_text("x")
        abandoned = Path(tempfile.mkdtemp(prefix=scratch._PREFIX))
        (abandoned / "file").write_text("x")
        named_alike = tmp_path / "uiproof-scratch-results-of-mine"
        named_alike.mkdir()
        (tmp_path / "uiproof-scratch-abcdefgh").symlink_to(named_alike)
        assert sweep(tmp_path), "one is in use"  # so a worker whose main process dies tries again
        assert (owned / "file").exists()
        assert not abandoned.exists()
        assert named_alike.exists()
    assert not owned.exists()
    assert not sweep(tmp_path)
    assert named_alike.exists()


def test_a_fork_that_ends_leaves_the_folder_to_who_made_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = ScratchFolder()
    if (child := os.fork()) == 0:
        try:
            scratch.weakref.finalize._exitfunc()  # what Python calls as it ends
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.exists()
    folder.remove()
    assert not folder.path.exists()
