"""Runs as one file that others can check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from uiproof.benchmark import Record, number_at
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.summary import summarise
from uiproof.errors import InputError, UsageError
from uiproof.export import check_writable
from uiproof.files import replacing
from uiproof.redaction import redact, redacted_manifest
from uiproof.registry import benchmarks
from uiproof.submissions.checking import differences, problems_of, schema_problems
from uiproof.submissions.model import (
    FORMAT,
    MOST_BYTES,
    SubmittedCase,
    SubmittedRun,
    digest,
    why_partial,
)

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

# The totals of model requests that summaries contain; prompts and answers are not among them.
_CALL = (
    *("cached", "answered", "attempts", "network_seconds", "queue_seconds"),
    *("input_tokens", "output_tokens", "cost"),
)
_PARTS = ("n", "failed", "scores")  # of a summary, which must fit the cases


def write_submission(
    runs: Sequence[RunDirectory | Path | str],
    out: str | Path,
    *,
    name: str,
    by: str | None = None,
    link: str | None = None,
    note: str | None = None,
    partial: bool = False,
) -> Path:
    """Write runs as one self-contained JSON file for a leaderboard.

        uiproof.write_submission(["runs/model-x"], "submission.json", name="Model X")

    It holds the scores of every case, so that `check_submission` can recompute the summary, but no
    pages, prompts, secrets or paths of this machine. Raises `InputError` for runs that do
    not cover their data set: unfinished, limited, shards, cases that could not be loaded. With
    `partial` they are written anyway, and marked.
    """
    if not runs:
        raise UsageError("There is no run to submit.", remedy="Name at least one run directory.")
    check_writable(out)
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "by": by,
        "link": link,
        "note": note,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": [_run(RunDirectory.of(run, pictures=False), partial=partial) for run in runs],
    }
    document["digest"] = digest(document)
    if problems := problems_of(document):
        raise InputError(
            f"This cannot be submitted: {problems[0]}",
            remedy="docs/exports.md describes every field.",
        )
    content = list(_lines(document))
    if sum(map(len, content)) > MOST_BYTES:  # every character is one byte
        raise InputError(
            f"This submission is larger than {MOST_BYTES // 1_000_000} MB.",
            remedy="Submit the runs one by one.",
        )
    with replacing(out) as stream:
        stream.writelines(content)
    return Path(out)


def write_hub_results(
    runs: Sequence[RunDirectory | Path | str],
    out: str | Path,
    *,
    dataset: str,
    link: str | None = None,
    note: str | None = None,
) -> Path:
    """Write the main score of runs in the form that the hub shows on a model's page.

        write_hub_results(["runs/x"], ".eval_results/x.yaml", dataset="owner/set")

    The file belongs into the folder `.eval_results` of the model's repository. The hub calls this
    form work in progress. Runs that do not cover their data set are refused.
    """
    check_writable(out)
    lines = []
    for one in runs:
        run = RunDirectory.of(one, pictures=False)
        content = _run(run, partial=False)
        metrics = benchmarks()[content["benchmark"]].metrics
        found = ((m.key, number_at(content["summary"], f"scores.{m.key}.mean")) for m in metrics)
        key, value = next(((k, v) for k, v in found if v is not None), ("", None))
        if value is None:
            raise InputError(f"{run.path} has no score to publish.", remedy="Finish the run first.")
        method = f"{content['method']}, n = {len(content['cases'])}, uiproof"
        lines += [
            "- dataset:",
            f"    id: {json.dumps(dataset)}",
            f"    task_id: {json.dumps(key)}",
            f"  value: {value:.6g}",
            f"  date: {json.dumps(str(content['created'])[:10])}",
            f"  notes: {json.dumps(note or method)}",
        ]
        if link:
            lines += ["  source:", f"    url: {json.dumps(link)}"]
    with replacing(out) as stream:
        stream.write("\n".join([*lines, ""]))
    return Path(out)


def _run(run: RunDirectory, *, partial: bool) -> dict[str, Any]:
    manifest, summary = redacted_manifest(run), run.summary
    benchmark = benchmarks().get(str(manifest["benchmark"]))
    if benchmark is None:
        raise InputError(f"The benchmark {manifest['benchmark']!r} is not installed here.")
    if {"only", "samples"} & run.manifest.keys():  # the redacted one has neither
        raise InputError(
            f"{run.path} has chosen cases only, or several answers for each.",
            remedy="Submit a run without --case and --samples.",
        )
    entry: dict[str, Any] = {
        "benchmark": benchmark.name,
        "dataset": manifest["dataset"],
        "dataset_key": str(manifest["dataset_key"]),
        "method": str(manifest["method"]),
        "assisted": bool(manifest["assisted"]),
        "settings": manifest["settings"] or {},
        "versions": {"uiproof": str(manifest["uiproof"])},
        "fingerprint": manifest["fingerprint"] or {},
        "limit": manifest["limit"],
        "shard": manifest["shard"],
        "planned": manifest["cases"],
        "created": str(manifest["created"]),
        "complete": bool(summary.get("complete", True)),
        "partial": [],
        "cases": [_case(record, benchmark) for record in run.records()],
    }
    parsed = SubmittedRun.model_construct(**entry)
    cases = _parsed(run, entry["cases"])
    entry["partial"] = why_partial(parsed.model_copy(update={"cases": cases}))
    if entry["partial"] and not partial:
        raise InputError(
            f"{run.path} does not cover its data set: {'; '.join(entry['partial'])}.",
            remedy="Finish or merge it, or submit it with --partial, which leaderboards will show.",
        )
    made = summarise((case.record() for case in cases), benchmark)
    entry["summary"] = json.loads(json.dumps(made))  # as it will be read back
    _check_summary(run, summary, entry["summary"], benchmark)
    return entry


def _parsed(run: RunDirectory, cases: Sequence[Mapping[str, Any]]) -> list[SubmittedCase]:
    try:
        return [SubmittedCase.model_validate(case) for case in cases]
    except ValidationError as error:
        raise InputError(f"{run.path} cannot be submitted: {schema_problems(error)[0]}") from None


def _case(record: Record, benchmark: Benchmark) -> dict[str, Any]:
    error = record.error
    return {
        "id": record.id,
        "status": record.status,
        "error": {"code": error.code, "stage": error.stage} if error else None,
        "flags": redact(list(record.flags)),
        "scores": redact(record.scores),
        "details": redact(benchmark.summed_details(record.details)),
        "seconds": dict(record.seconds),
        "calls": [{key: call[key] for key in _CALL if key in call} for call in record.calls],
    }


def _check_summary(
    run: RunDirectory, stored: Mapping[str, Any], made: Mapping[str, Any], benchmark: Benchmark
) -> None:
    """Refuse what the run's own summary says otherwise."""
    found = [one for part in _PARTS for one in differences(stored.get(part), made.get(part), part)]
    if not found:
        return
    whole = json.loads(json.dumps(summarise(run.records(), benchmark)))
    if all(not differences(stored.get(part), whole.get(part), part) for part in _PARTS):
        raise InputError(
            f"The summary of {benchmark.name} needs details that it does not name: {found[0]}.",
            remedy="Its `Benchmark.summed_details` must return what `summarise` reads.",
        )
    raise InputError(
        f"The summary of {run.path} does not fit its cases: {found[0]}.",
        remedy="Run `uiproof run` again with the same options to rewrite the summary.",
    )


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the document with a line for every case, so that people can read and compare it."""
    for name, value in document.items():
        start = "{\n" if name == "format" else ",\n"
        if name != "runs":
            yield f"{start}{json.dumps(name)}: {json.dumps(value, allow_nan=False)}"
            continue
        yield f'{start}"runs": ['
        for number, run in enumerate(value):
            about = {key: item for key, item in run.items() if key != "cases"}
            yield (",\n" if number else "\n") + json.dumps(about, allow_nan=False)[:-1]
            yield ', "cases": ['
            for place, case in enumerate(run["cases"]):
                yield (",\n" if place else "\n") + json.dumps(case, allow_nan=False)
            yield "\n]}"
        yield "\n]"
    yield "\n}\n"
