"""Data sets that are opened and runs that are started, watched and stopped in the page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from data_sets import screenshot
from going_runs import TOY
from studio_server import running_studio

from uiproof.engine.rundir import is_locked, lock_holder
from uiproof.process_tree import descendants
from uiproof.studio.launch import RunLauncher
from uiproof.studio.runs import open_run


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A function that makes a data set of the toy benchmark, whose word `slow` takes a minute."""
    monkeypatch.setenv("PYTHONPATH", str(TOY))  # also of the runs, which are other processes

    def make(text, name="words"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.txt").write_text(text.replace(" ", "\n"))
        return str(tmp_path / name)

    return make


def until(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found
    return found


def state_of(studio, name):
    runs = studio.studio.monitor.states(studio.studio.runs)
    return next((one for one in runs if one.run.name == name), None)


def test_a_run_is_started_and_watched_in_the_page(studio, words):
    owner = studio.client()
    form = {"dataset": words("one two three"), "method": "echo", "limit": "2"}
    assert owner.post("/runs/new", data=form).headers["hx-redirect"] == "/runs"
    ended = until(lambda: (s := state_of(studio, "words-echo")) and s.state == "finished" and s)
    assert (ended.n, ended.total) == (2, 2)
    until(lambda: not studio.studio.launcher.started())
    assert "words-echo" in owner.get("/runs").text
    owner.post("/runs/new", data={**form, "limit": "1"})  # never into the run that is there
    again = until(lambda: (s := state_of(studio, "words-echo-2")) and s.state == "finished" and s)
    assert again.n == 1
    logs = studio.studio.runs / ".studio"
    until(lambda: not studio.studio.launcher.started() and not list(logs.iterdir()))


def test_a_run_survives_the_studio_and_a_later_one_stops_it_cleanly(tmp_path, words):
    dataset = words("one slow two")
    with running_studio(tmp_path / "runs") as first:
        name = first.studio.launcher.start(dataset, "echo")
        until(lambda: ((s := state_of(first, name)) and s.n == 1) or (s and s.state == "running"))
    lock = tmp_path / "runs" / name / "lock"
    pid, _ = lock_holder(lock)
    with running_studio(tmp_path / "runs") as second:
        assert state_of(second, name).state == "running"
        workers = until(lambda: descendants(pid))
        owner = second.client()
        assert f"Stop echo, {name}" in owner.get("/runs").text
        answer = owner.post("/runs/stop", data={"run": name})
        assert answer.status_code == 200
        until(lambda: not is_locked(lock))
        assert state_of(second, name).state in ("interrupted", "failed")
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))
        assert owner.post("/runs/stop", data={"run": name}).status_code == 400
    assert open_run(tmp_path / "runs", name).directory.summary["complete"] is False


def test_what_a_run_said_at_its_early_end_is_shown_until_it_is_dismissed(studio, words):
    owner = studio.client()
    started = owner.post("/runs/new", data={"dataset": words("one"), "method": "unknown"})
    assert started.status_code == 200
    problem = until(lambda: next(one.problem for one in studio.studio.launcher.started()))
    assert "unknown" in problem
    assert "ended with an error" in owner.get("/runs").text
    (one,) = studio.studio.launcher.started()
    assert "ended with an error" not in owner.post("/runs/dismiss", data={"run": one.name}).text


def test_what_cannot_be_run_is_refused_before_anything_starts(studio, words, tmp_path):
    owner, dataset = studio.client(), words("one")
    for form in (
        {"dataset": "", "method": "echo"},
        {"dataset": str(tmp_path / "gone"), "method": "echo"},
        {"dataset": "s3://bucket/pages", "method": "echo"},
        {"dataset": dataset, "method": ""},
        {"dataset": dataset, "method": "os:system"},
        {"dataset": dataset, "method": "echo", "limit": "many"},
        {"dataset": dataset, "method": "echo", "prompt": "short"},
        {"dataset": dataset, "method": "echo", "max_cost": "-1"},
    ):
        assert owner.post("/runs/new", data=form).status_code == 400, form
    for name in ("", "../x", "none", "/etc"):
        assert owner.post("/runs/stop", data={"run": name}).status_code == 400
    assert not (studio.studio.runs / ".studio").exists()


def test_only_so_many_runs_at_once(tmp_path, words, monkeypatch):
    monkeypatch.setattr("uiproof.studio.launch._MOST_AT_ONCE", 1)
    launcher = RunLauncher(tmp_path / "runs")
    name = launcher.start(words("slow"), "echo")
    with pytest.raises(Exception, match="going on already"):
        launcher.start(words("one", "others"), "echo")
    launcher.stop(name)
    until(lambda: not launcher.started())


def test_runs_and_data_sets_are_opened_from_a_page_only(studio, words):
    annotator = studio.client(studio.store.add_annotator("Ann").token)
    posts = ("/runs/new", "/runs/stop", "/runs/dismiss", "/data/open", "/data/x/close")
    assert "Open a data set" not in annotator.get("/data").text
    owner = studio.client()
    owner.headers["X-CSRF-Token"] = "another"
    form = {"dataset": words("one"), "method": "echo"}
    assert [owner.post(one, data=form).status_code for one in posts] == [403] * len(posts)
    assert studio.studio.launcher.started() == []


def test_a_data_set_is_opened_in_the_page_and_stays_open(tmp_path):
    screenshot(tmp_path / "shots" / "one.png")
    (tmp_path / "empty").mkdir()
    with running_studio(tmp_path / "runs") as first:
        owner = first.client()
        page = owner.get("/data").text
        assert "grounding-demo" in page
        assert "uiproof data get" in page
        opened = owner.post("/data/open", data={"path": str(tmp_path / "shots")})
        assert opened.headers["hx-refresh"] == "true"
        assert owner.post("/data/open", data={"path": "grounding-demo"}).status_code == 200
        for wrong in ("", str(tmp_path / "gone"), str(tmp_path / "empty"), "https://x.example/d"):
            assert owner.post("/data/open", data={"path": wrong}).status_code == 400, wrong
    with running_studio(tmp_path / "runs") as second:
        owner = second.client()
        names = [one.name for one in second.studio.library.datasets()]
        assert names == ["shots", "grounding-demo"]
        shots = second.studio.library.datasets()[0].id
        assert owner.get(f"/data/{shots}").status_code == 200
        assert owner.post(f"/data/{shots}/close").status_code == 200
        assert [one.name for one in second.studio.library.datasets()] == ["grounding-demo"]
        assert owner.post(f"/data/{shots}/close").status_code == 400
