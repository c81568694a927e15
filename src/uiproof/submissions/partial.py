"""Whether a run covers its data set, and why not."""

from __future__ import annotations

from uiproof.submissions.model import SubmittedRun

_SHOWN = 3


def why_partial(run: SubmittedRun) -> list[str]:
    """Reasons why the cases of a run are not all of its data set; none where they are."""
    reasons = []
    if run.shard is not None:
        reasons.append(f"it is the shard {run.shard}")
    # A limit that is larger than the data set has cut nothing off.
    if run.limit is not None and (run.planned is None or run.planned >= run.limit):
        reasons.append(f"it was limited to {run.limit} cases")
    if not run.complete:
        reasons.append("it is not finished")
    elif run.planned is not None and len(run.cases) < run.planned:
        reasons.append(f"it has {len(run.cases)} of {run.planned} cases")
    unloaded = [case.id for case in run.cases if case.error and case.error.stage == "load"]
    if unloaded:
        more = ", …" if len(unloaded) > _SHOWN else ""
        named = ", ".join(map(repr, unloaded[:_SHOWN]))
        reasons.append(f"{len(unloaded)} cases could not be loaded ({named}{more})")
    return reasons
