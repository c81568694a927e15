"""What a run amounts to so far, while it is still going on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uiproof.engine.lock import is_locked
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.summary import summarise
from uiproof.registry import benchmarks


def summary_of(run: RunDirectory) -> Mapping[str, Any]:
    """`summary.json`, or the same of what is in the journal by now.

    Then `running` says whether somebody is writing it, and `total` how many cases there will be.
    """
    if (run.path / "summary.json").exists():
        return run.summary
    manifest = run.manifest
    benchmark = benchmarks().get(str(manifest["benchmark"]))
    if benchmark is None:
        records = list(run.records())
        failed = sum(record.error is not None for record in records)
        summary: dict[str, Any] = {"n": len(records), "failed": failed, "scores": {}}
    else:
        summary = summarise(run.records(), benchmark)
    return {
        **summary,
        "complete": False,
        "running": is_locked(run.path / "lock"),
        "total": manifest.get("cases"),
    }
