"""Fixtures of the tests of trackers."""

from __future__ import annotations

import pytest
from tracking_runs import make_run


@pytest.fixture
def a_run(tmp_path):
    """Makes runs: `a_run("name", mean=0.5)`."""

    def make(name="a", **changed):
        return make_run(tmp_path / "runs" / name, **changed)

    return make
