"""A benchmark of another package is annotated and edited like the built-in ones."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from dataclasses import replace

import pytest
from annotate_runs import PAGE, webpage
from data_sets import screenshot
from studio_server import running_studio

from uiproof.engine.rundir import RunDirectory, encode
from uiproof.studio.datasets import dataset_id

MODULE = """
from uiproof.annotation import Annotation, FailureType
from uiproof.benchmark import Benchmark, Metric
from uiproof.dataset_editor import (
    DatasetEditor, EntrySummary, ExportFile, is_done, picture_inside
)
from uiproof.vision.images import size


class OutsideAnnotation(Annotation):
    kinds = ("judge", "compare")
    failures = {"a": FailureType("button missing", "nothing to press"), "b": FailureType("dead")}
    unimplemented = frozenset("a")

    def verdict(self, record):
        return record.details.get("failure")


class Captions(DatasetEditor):
    form = "shot"
    format = "captions"

    def __init__(self, path):
        self.path, self.name = path, path.name

    def names(self):
        return ["one"]

    def summary(self, name, state):
        return EntrySummary(name, 0, done=is_done(state), changed=state is not None)

    def picture(self, name, node=None):
        path = picture_inside(self.path / f"{name}.png", self.path)
        return path, size(path)

    def view(self, name, state):
        content = state or {"boxes": [], "done": False}
        shown = {"name": name, "size": self.picture(name)[1], "content": content}
        return {"state": shown, "size": shown["size"], "types": ["button"], "broken": []}

    def checked(self, name, content):
        return {"boxes": content["boxes"], "done": content["done"]}

    def export(self, states, *, only_done):
        for name in states:
            yield ExportFile(f"{name}.png", self.picture(name)[0])


class Outside(Benchmark):
    name = "outside"
    metrics = (Metric("usable", "Usable"), Metric("close", "Close"))

    def recognises(self, path):
        return (path / "outside.txt").is_file()

    def cases(self, path):
        return []

    def method(self, name, *, connect, prompt=None, protocol=None):
        raise NotImplementedError

    def judge(self, run, options):
        raise NotImplementedError

    def annotation(self):
        return OutsideAnnotation()

    def editor(self, path):
        return Captions(path) if self.recognises(path) else None


BENCHMARK = Outside()
"""


@pytest.fixture
def served(tmp_path, monkeypatch):
    package, data = tmp_path / "package", tmp_path / "data"
    about = package / "outside_benchmark-1.dist-info"
    about.mkdir(parents=True)
    (package / "outside_benchmark.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-benchmark\nVersion: 1\n")
    entry = "[uiproof.benchmarks]\noutside = outside_benchmark:BENCHMARK\n"
    (about / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(str(package))
    screenshot(data / "one.png")
    (data / "outside.txt").touch()
    with running_studio(tmp_path / "runs", (data,)) as server:
        server.store.add_annotator("Ann")
        for name in ("ours", "base"):
            written(server.studio.runs / name)
        yield server, server.client(), data


def written(folder):
    folder.mkdir()
    run = RunDirectory(folder)
    manifest = {"format": 1, "benchmark": "outside", "dataset": "d", "method": folder.name}
    (folder / "run.json").write_text(json.dumps(manifest))
    with run.journal.open("wb") as journal:
        for case in ("x", "y"):
            record = webpage(run, case, PAGE)
            details = {**record.details, "failure": "none"}
            scores = {"usable": 1.0, "close": 0.5}
            journal.write(encode(replace(record, scores=scores, details=details)))


def key_of(text):
    return html.unescape(re.search('data-key="([^"]*)"', text)[1])


def test_its_results_are_judged_with_its_own_failures(served):
    server, client, _ = served
    form = {"kind": "judge", "runs": "ours", "per_item": "1"}
    assert client.post("/tasks/new", data=form).status_code == 200
    assert server.store.task(1).benchmark == "outside"
    page = client.get("/tasks/1").text
    assert "button missing" in page
    assert "wrong function" not in page  # a failure of another benchmark
    assert all(
        client.get(one).status_code == 200
        for one in re.findall(r'(?:src|href)="(/(?:frame|picture)/[^"]+)"', page)
    )
    answer = {"item": key_of(page), "usable": False}
    refused = client.post("/tasks/1/answer", json={**answer, "failure": "c"})
    assert (refused.status_code, "'c' is not a failure" in refused.text) == (400, True)
    following = client.post("/tasks/1/answer", json={**answer, "failure": "a"}).json()["html"]
    good = {"item": key_of(following), "usable": True, "failure": "none"}
    assert client.post("/tasks/1/answer", json=good).status_code == 200
    results = client.get("/tasks/1/results").text
    assert "(a) button missing" in results
    numbers = client.get("/tasks/1/results.json").json()
    assert [one["rate"] for one in numbers["usability"]] == [0.5]
    assert [one["rate"] for one in numbers["implemented"]] == [0.5]
    assert numbers["program"]["verifier"]["usable"]["mean"] == 0.5
    assert [one["metric"] for one in numbers["program"]["metrics"]] == ["close"]
    with zipfile.ZipFile(io.BytesIO(client.get("/tasks/1/export").content)) as archive:
        labels = json.loads(archive.read("majority/failure_no_prompt_ours.json"))
        assert sorted(labels.values()) == ["0/0", "1/1"]
        bundle = archive.read("labels.jsonl")
    assert json.loads(bundle.splitlines()[0])["task"]["benchmark"] == "outside"
    again = client.post("/import", files=[("files", ("labels.jsonl", bundle))])
    assert "nothing new" in again.text


def test_its_results_are_compared_with_a_baseline(served):
    _, client, _ = served
    form = {"kind": "compare", "runs": "ours", "baseline": "base", "per_item": "1"}
    assert client.post("/tasks/new", data=form).status_code == 200
    page = client.get("/tasks/1").text
    answer = {"item": key_of(page), "side": "equal"}
    assert client.post("/tasks/1/answer", json=answer).status_code == 200
    numbers = client.get("/tasks/1/results.json").json()
    assert [one["rate"] for one in numbers["comparisons"]] == [0.0, 1.0, 0.0]


def test_its_data_sets_are_edited_and_exported(served):
    _, client, data = served
    address = f"/data/{dataset_id(data)}"
    assert "captions" in client.get("/data").text
    assert client.get(f"{address}/shot", params={"name": "one"}).status_code == 200
    change = {"name": "one", "revision": 0, "content": {"boxes": [], "done": True}}
    assert client.post(f"{address}/boxes", json=change).status_code == 200
    exported = client.get(f"{address}/export?done=true")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        assert archive.namelist() == ["one.png"]


def test_labels_of_a_benchmark_that_is_not_installed_can_be_seen_and_decided(tmp_path):
    lines = [
        {"format": 1, "task": {"key": "k", "kind": "judge", "title": "t", "per_item": 2,
                               "created": "2026-01-01T00:00:00Z", "benchmark": "gone"}},
        {"item": 1, "case": "x", "model": "m", "prompt": "p"},
        *(
            {"label": 1, "by": name, "value": {"usable": name == "A", "failure": "j"},
             "at": "2026-01-01T00:00:00Z"}
            for name in "AB"
        ),
    ]  # fmt: skip
    with running_studio(tmp_path / "runs") as server:
        client = server.client()
        content = "\n".join(map(json.dumps, lines))
        answer = client.post("/import", files=[("files", ("labels.jsonl", content))])
        assert answer.status_code == 200
        for address in ("decide", "results", "results/runs", "results.json", "export"):
            assert client.get(f"/tasks/1/{address}").status_code == 200, address
