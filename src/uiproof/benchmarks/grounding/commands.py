"""Verbs of grounding: make data, run blind baselines, diagnose coordinates, score predictions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uiproof.cli.main import EXIT_FAILED_CASES
from uiproof.cli.options import Json, Limit, Quiet, on_this_machine
from uiproof.cli.results import check_json
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN=FIELD",
        help="Read a file of no known format: answer=prediction, target=bbox, … May be repeated.",
    ),
]


def generate(
    kind: Annotated[str, typer.Option("--type", help="What to make: synthetic.")] = "synthetic",
    count: Annotated[int, typer.Option(min=1, help="Screenshots.")] = 500,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The data set's folder. [default: named after --type, in --output-dir]",
            callback=on_this_machine,
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            help="The folder of data sets. [default: EVAL_DATASETS_DIR or evaluation/datasets]",
            callback=on_this_machine,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same pixels.")] = 42,
    compat: Annotated[
        str | None, typer.Option(help="openadapt-v1: what openadapt-grounding 0.1.2 generates.")
    ] = None,
    resolution: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated. [default: 1920x1080]"),
    ] = None,
    scale: Annotated[
        list[float] | None, typer.Option(help="Such as 2 for sharp screens; may be repeated.")
    ] = None,
    negatives: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of targets that are not there.")
    ] = 0.0,
    quiet: Quiet = False,
) -> None:
    """Make a grounding data set: screenshots of controls with instructions and boxes.

    \b
    Examples:
      uiproof generate --type synthetic --count 500
      uiproof generate --count 100 --compat openadapt-v1 --out published
      uiproof generate --count 50 --resolution 1280x720 --scale 2 --negatives 0.1 --out small
    """
    import uiproof

    made = uiproof.generate(
        kind=kind,
        count=count,
        out=out,
        output_dir=output_dir,
        seed=seed,
        compat=compat,
        resolutions=resolution or (),
        scales=scale or (),
        negatives=negatives,
        quiet=quiet,
    )
    typer.echo(str(made))


def audit(
    dataset: Annotated[str, typer.Option(help="A folder, or a name that `uiproof list` shows.")],
    limit: Limit = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run blind baselines under every protocol to detect label leakage.

    Exit code 1 when one of them beats chance under a protocol that claims to be blind.

    \b
    Example:
      uiproof audit --dataset grounding-demo
    """
    import uiproof
    from uiproof.benchmarks.grounding.tables import audit_table
    from uiproof.export import write_document

    check_json(json)
    rows = uiproof.audit(dataset, limit=limit, quiet=quiet)
    if json is not None:
        write_document(_audit_json(rows), sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(audit_table(rows))
    if any(row.leaks and row.claims_blind for row in rows):
        raise typer.Exit(EXIT_FAILED_CASES)


def diagnose(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A grounding run, its URL, or a prediction file.")
    ],
    contract: Annotated[
        str | None,
        typer.Option(
            help="What the model was to use, such as thousand,xy,point. [default: the run's]"
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="For a file: the data set with its targets and screenshots.")
    ] = None,
    field: Annotated[
        str | None, typer.Option(help="For a file: one of several predictions.")
    ] = None,
    columns: Columns = None,
) -> None:
    """Say in one line which coordinates a model really used, from its raw answers.

    \b
    Examples:
      uiproof diagnose runs/grounding-demo-uitars-none
      uiproof diagnose 20260801_samples_screenspot_pro.jsonl
    """
    import uiproof

    typer.echo(
        uiproof.diagnose_run(
            run, contract=contract, dataset=dataset, field=field, columns=_columns(columns)
        )
    )


def score(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="The name of the set, such as screenspot-pro. One on this machine adds targets "
            "and sizes that the file lacks.",
        ),
    ],
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A file of lmms-eval, VLMEvalKit, inspect_ai, screensuite or a paper; or its URL.",
        ),
    ],
    field: Annotated[
        str | None, typer.Option(help="Which of several predictions per item. [default: all]")
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(help="Such as pixels, unit, thousand, resized:28. [default: the format's]"),
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Boxes as corners or size. [default: the format's]")
    ] = None,
    annotations: Annotated[
        str | None, typer.Option(help="Showdown's data.csv, where its predictions have no boxes.")
    ] = None,
    columns: Columns = None,
    json: Json = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Keep the runs there; may be a URL.")
    ] = None,
    limit: Limit = None,
    quiet: Quiet = False,
) -> None:
    """Score predictions of another harness or a paper again.

    \b
    Examples:
      uiproof score grounding screenspot-pro 20260801_samples_screenspot_pro.jsonl
      uiproof score grounding OSWorld-G/ Qwen3-VL_OSWorld_G.xlsx --points thousand
      uiproof score grounding screenspot-pro venus_72b_in_depth_3.json
      uiproof score grounding screenspot-pro logs_sspro_omniv2.json --json scores.json
    """
    import uiproof
    from uiproof.benchmarks.grounding.rescoring import rescored_json, rescored_table

    check_json(json)
    results = uiproof.score_predictions(
        dataset,
        predictions,
        field=field,
        points=points,
        boxes=boxes,
        annotations=annotations,
        columns=_columns(columns),
        out=out,
        limit=limit,
        quiet=quiet,
    )
    if json is not None:
        main = next((one for one in results if one.method == "final"), results[0])
        target = sys.stdout if json == "-" else json
        uiproof.write_json(main.run, target, methods=rescored_json(results))
    if json != "-":
        typer.echo(rescored_table(results))
    if any(one.run.summary["failed"] for one in results):
        raise typer.Exit(EXIT_FAILED_CASES)


def _columns(given: Sequence[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or ()]
    for column, sign, field in pairs:
        if not (column and sign and field):
            raise UsageError(f"--map {column}{sign}{field} is not COLUMN=FIELD.")
    return {column: field for column, _, field in pairs}


def _audit_json(rows: Sequence[Audited]) -> dict[str, Any]:
    return {
        "audit": [
            {
                "protocol": row.protocol,
                "control": row.control,
                "claims_blind": row.claims_blind,
                "rate": row.rate.mean,
                "low": row.rate.low,
                "high": row.rate.high,
                "n": row.rate.n,
                "clusters": row.rate.clusters,
                "chance": row.chance,
                "leaks": row.leaks,
            }
            for row in rows
        ]
    }
