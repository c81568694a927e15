"""Reports read the metrics of a benchmark from the registry; these tests need only those."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from uiproof.benchmarks.design2code.summary import METRICS


@pytest.fixture(autouse=True)
def only_design2code(monkeypatch):
    known = {"design2code": SimpleNamespace(metrics=METRICS)}
    monkeypatch.setattr("uiproof.report.leaderboard.benchmarks", lambda: known)
