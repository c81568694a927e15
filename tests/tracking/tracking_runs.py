"""Runs to track, without running anything."""

from __future__ import annotations

import json

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode

MANIFEST = {
    "format": 1,
    "uiproof": "0.1.0",
    "benchmark": "design2code",
    "dataset": "/home/ann/data/pages",
    "dataset_path": "/home/ann/data/pages",
    "dataset_key": "0123456789abcdef",
    "method": "replay:/home/ann/my predictions",
    "settings": {
        "folder": "/home/ann/my predictions",
        "api_key": "sk-abcdefghijklmnopqrstuvwxyz",
        "base_url": "https://ann:hunter2@models.example/v1?token=hunter2",
        "parameters": {"temperature": 0.5, "seed": None, "max_tokens": 100},
    },
    "assisted": False,
    "limit": 2,
    "shard": None,
    "cases": 2,
    "executor": "inline",
    "workers": 1,
    "fingerprint": {"browser": "Chromium 1", "viewport": [1280, 720]},
    "created": "2026-01-02T03:04:05+00:00",
}
SUMMARY = {
    "benchmark": "design2code",
    "n": 2,
    "failed": 1,
    "scores": {
        "paper": {
            "text": {"mean": 0.25, "low": 0.0, "high": 0.5, "n": 2},
            "clip": None,
            "color": {"mean": None, "low": None, "high": None, "n": 1, "reason": "some only"},
        },
        "human": {"mean": 0.5, "low": None, "high": None, "n": 1},
    },
    "by_tag": {"größe/x": {"mean": 0.75, "low": 0.5, "high": 1.0, "n": 2}},
    "seconds": {"score": 2.5},
    "usage": {"requests": 3, "cost": 0.25, "paid": None},
    "complete": False,
}
SECRETS = ("hunter2", "sk-abc", "/home/ann", "ann:")


def make_run(path, *, mean=0.25, **changed):
    """A run with one scored and one failed case; made again at the same place it is continued."""
    path.mkdir(parents=True, exist_ok=True)
    scored = Record("1", "scored", {"paper": {"text": mean * 2, "clip": None}})
    error = CaseError("render", "score", "No page at /home/ann/data/pages/2.html.")
    scores = {"paper": {"text": 0.0, "clip": None}}
    failed = Record("caf\udce9", "failed", scores, error=error, flags=("slow",))
    with Journal(path / "journal.jsonl") as journal:
        for record in (scored, failed):
            journal.append(encode(record))
    (path / "run.json").write_text(json.dumps(MANIFEST | changed))
    summary = json.loads(json.dumps(SUMMARY))
    summary["scores"]["paper"]["text"]["mean"] = mean
    (path / "summary.json").write_text(json.dumps(summary))
    return RunDirectory(path)
