"""Makes run directories as the engine leaves them, with results of our choice."""

from __future__ import annotations

import json

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode
from uiproof.engine.summary import summarise
from uiproof.registry import benchmarks
from uiproof.submissions.model import digest

MANIFEST = {
    "format": 1,
    "uiproof": "0.1.0",
    "dataset": "/home/ann/pages",
    "dataset_path": "/home/ann/pages",
    "dataset_key": "0123456789abcdef",
    "method": "replay:/home/ann/predictions",
    "settings": {"folder": "/home/ann/predictions", "api_key": "hunter2", "temperature": 0.5},
    "assisted": False,
    "limit": None,
    "shard": None,
    "cases": None,
    "executor": "inline",
    "workers": 1,
    "fingerprint": {"browser": "Chromium 1"},
    "created": "2026-01-02T03:04:05+00:00",
}
FAILURE = CaseError("render", "score", "No page at /home/ann/pages/2.html.")
PAPER = ("block_match", "text", "position", "color", "mean_without_clip")


def page(case_id, value, *, error=None, flags=()):
    """A case of Design2Code, without CLIP."""
    scores = {"paper": dict.fromkeys(PAPER, value), "strict": {"text": value / 2}, "human": value}
    status = "failed" if error else "scored"
    seconds = {"score": 1.25}
    return Record(case_id, status, scores, error=error, flags=flags, seconds=seconds)


def make_run(path, records, *, benchmark="design2code", complete=True, **changed):
    """A finished run."""
    path.mkdir(parents=True)
    with Journal(path / "journal.jsonl") as journal:
        for record in records:
            journal.append(encode(record))
    run = RunDirectory(path)
    about = {"benchmark": benchmark, "cases": len(records)}
    (path / "run.json").write_text(json.dumps(MANIFEST | about | changed))
    summary = summarise(run.records(), benchmarks()[benchmark])
    run.write_summary({**summary, "complete": complete})
    return run


def change(path, edit, *, seal=False):
    """Edit a submission; with `seal` its digest is made to fit again, as a cheat would."""
    document = json.loads(path.read_text())
    edit(document)
    if seal:
        document["digest"] = digest(document)
    path.write_text(json.dumps(document))
    return path
