"""The studio, and its labels without a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uiproof.cli.main import EXIT_FAILED_CASES, group
from uiproof.cli.options import Json, Port

if TYPE_CHECKING:
    from uiproof.studio.store import Store

studio_app = group(
    """Browse runs and annotate them in a web browser; labels in and out as files.

    Listens on this machine only and prints an address with a token. Labels go to one file,
    studio.sqlite3 in the folder of runs.

    \b
    Examples:
      uiproof studio                                      the runs in runs/
      uiproof studio --runs results --dataset screenshots/
      uiproof studio --runs s3://bucket/runs --store studio.sqlite3
      uiproof studio --host 0.0.0.0 --annotator Ann --annotator Ben --annotator Cleo
      uiproof studio task demo/blueprint --questions questions.json
      uiproof studio import human_evaluation/             published labels, or an export
      uiproof studio results                              rates and agreement in the terminal
      uiproof studio export labels/                       all tasks as files
    """
)


class TaskKind(StrEnum):
    """The kinds of tasks."""

    JUDGE = "judge"
    COMPARE = "compare"
    RATE = "rate"


class Pairs(StrEnum):
    """Which pairs of runs are compared."""

    ALL = "all"
    SPARSE = "sparse"


RunsFolder = Annotated[
    str, typer.Option("--runs", metavar="DIR|URL", help="Folder with run directories.")
]
StoreFile = Annotated[
    Path | None,
    typer.Option("--store", help="File with tasks and labels. [default: studio.sqlite3 in --runs]"),
]


@studio_app.callback(invoke_without_command=True)
def studio(
    context: typer.Context,
    runs: RunsFolder = "runs",
    store: StoreFile = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH|URL",
            help="A data set or a folder of screenshots to annotate; repeatable.",
        ),
    ] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="A name that gets a separate address; repeatable."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = 8710,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name that this machine is called by; repeatable."),
    ] = None,
) -> None:
    """Start the studio."""
    if context.invoked_subcommand is not None:
        return
    from uiproof.studio import serve_studio

    def say(line: str) -> None:
        typer.echo(line)
        sys.stdout.flush()  # a reader of the pipe waits for the address

    serve_studio(
        runs,
        store=store,
        datasets=dataset or (),
        annotators=annotator or (),
        host=host,
        port=port,
        allowed_hosts=allow_host or (),
        say=say,
    )


RunsAgain = Annotated[
    str | None,
    typer.Option("--runs", metavar="DIR|URL", help="Folder with run directories. [default: runs]"),
]
Tasks = Annotated[
    list[int] | None,
    typer.Option("--task", metavar="N", help="Only this task; repeatable. [default: all]"),
]


@studio_app.command("import")
def import_(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER|FILE", help="Label files, folders or zip files with them."),
    ],
    annotator: Annotated[
        str, typer.Option(help="Whose labels published files hold; an export says it itself.")
    ] = "published labels",
    task: Annotated[
        int | None,
        typer.Option(metavar="N", help="Add to this task. [default: the one they belong to]"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What a new task is called.")] = None,
    runs: RunsAgain = None,
    store: StoreFile = None,
) -> None:
    """Import published label files or an export of a studio.

    All of it is imported or nothing; importing the same thing again adds nothing. Exit code 1
    when something in the files could not be read.

    \b
    Examples:
      uiproof studio task demo/blueprint --questions questions.json
      uiproof studio import human_evaluation/
      uiproof studio import ann/ --annotator Ann
      uiproof studio import labels.zip --store other.sqlite3
    """
    from uiproof.studio.label_bundle import import_labels

    with _opened(context, runs, store) as (folder, opened):
        done = import_labels(
            opened, files, runs=folder, annotator=annotator, into=task, title=title
        )
    for one in done.tasks:
        known = f", {one.known:,} known already" if one.known else ""
        typer.echo(f"Task {one.task}, {one.title}: {one.labels:,} labels added{known}")
    for problem in done.problems:
        typer.echo(f"not read: {problem}", err=True)
    if done.problems:
        raise typer.Exit(EXIT_FAILED_CASES)


@studio_app.command("task")
def add_task(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Runs, as they are called below --runs.")
    ],
    kind: Annotated[
        TaskKind,
        typer.Option(help="What people say: usable and what fails, the better one, or ratings."),
    ] = TaskKind.RATE,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own questions: a JSON list; see docs/studio.md."),
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="RUN", help="The run that others are compared with.")
    ] = "",
    pairs: Annotated[
        Pairs | None,
        typer.Option(help="Compare the runs with each other: all pairs, or a balanced part."),
    ] = None,
    title: Annotated[str, typer.Option(help="What annotators see; do not name models.")] = "",
    per_item: Annotated[int, typer.Option(min=1, help="How many people label each item.")] = 3,
    size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most this many items. [default: all]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same items.")] = 0,
    runs: RunsAgain = None,
    store: StoreFile = None,
) -> None:
    """Make a task for annotators from runs, as the page New task does.

    \b
    Examples:
      uiproof studio task demo/blueprint --questions questions.json
      uiproof studio task gpt claude gemini qwen --kind compare --pairs sparse
      uiproof studio task gpt claude --kind compare --baseline gemini --size 100
    """
    from uiproof.errors import InputError, MissingDependencyError
    from uiproof.labels import KINDS

    try:
        from uiproof.studio.tasks import make_items, read_questions
    except ImportError as error:
        raise MissingDependencyError(
            f"The studio needs {error.name}.", remedy="pip install 'uiproof[studio]'"
        ) from error
    asked = () if questions is None else read_questions(questions)
    if kind is not TaskKind.COMPARE and (baseline or pairs):
        raise InputError("Only comparisons have a baseline or pairs.", remedy="--kind compare")
    with _opened(context, runs, store) as (folder, opened):
        items, benchmark = make_items(
            folder,
            kind.value,
            names,
            baseline=baseline,
            pairs=pairs.value if pairs else "",
            size=size,
            seed=seed,
        )
        task = opened.add_task(
            kind.value,
            title.strip() or KINDS[kind.value],
            items,
            per_item=per_item,
            benchmark=benchmark,
            questions=asked,
        )
    typer.echo(f"Task {task.id}, {task.title}: {task.items:,} items, {per_item} people each")


@studio_app.command()
def export(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write; new or empty.")],
    task: Tasks = None,
    runs: RunsAgain = None,
    store: StoreFile = None,
) -> None:
    """Write labels as files: a table (labels.csv), published formats, and everything.

    Each task gets a folder task-N in DIR; a single --task goes into DIR itself.

    \b
    Examples:
      uiproof studio export labels/
      uiproof studio export labels/ --task 3
    """
    from uiproof.studio.label_bundle import export_task

    with _opened(context, runs, store) as (_, opened):
        for number in _chosen(opened, task):
            place = folder if task and len(task) == 1 else folder / f"task-{number}"
            files = export_task(opened, number, place)
            typer.echo(f"Task {number}: {len(files)} files in {place}")


@studio_app.command("export-data")
def export_data(
    context: typer.Context,
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="As it was named with --dataset.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .zip file, or an empty folder.")],
    only_done: Annotated[
        bool, typer.Option("--only-done", help="Only what is marked as done.")
    ] = False,
    runs: RunsAgain = None,
    store: StoreFile = None,
) -> None:
    """Write a data set with the boxes and corrections that were made in the studio.

    The data set itself stays as it is.

    \b
    Examples:
      uiproof studio export-data screenshots/ boxes.zip
      uiproof studio export-data my/pages corrected/
    """
    from uiproof.remote.mirror import local
    from uiproof.studio.datasets import export_dataset

    with _opened(context, runs, store) as (_, opened):
        count = export_dataset(opened, local(dataset), out, only_done=only_done)
    typer.echo(f"Data set: {out}, {count:,} files")


@studio_app.command()
def results(
    context: typer.Context,
    task: Tasks = None,
    json: Json = None,
    runs: RunsAgain = None,
    store: StoreFile = None,
) -> None:
    """Print what people say: rates, comparisons, failures, agreement, the program beside them.

    \b
    Examples:
      uiproof studio results
      uiproof studio results --task 2 --json results.json
    """
    from uiproof.cli.results import check_json
    from uiproof.export import write_document
    from uiproof.studio.cases import read_facts
    from uiproof.studio.results import gather, machine_agreement, result_tables, results_json
    from uiproof.tables import console

    check_json(json)
    with _opened(context, runs, store) as (folder, opened):
        said = [gather(opened, number) for number in _chosen(opened, task)]
    content = []
    for one in said:
        facts = read_facts(folder, one.items)
        machine = machine_agreement(one, facts)
        if json is not None:
            content.append({**results_json(one, facts), "program": machine.as_json()})
        if json != "-":
            typer.echo(console(result_tables(one, facts, machine)) + "\n")
    if json is not None:
        write_document({"tasks": content}, sys.stdout if json == "-" else json, indent=2)


@contextmanager
def _opened(
    context: typer.Context, runs: str | None, store: Path | None
) -> Iterator[tuple[Path, Store]]:
    """Open the studio's file; it and the runs may be named before or after the verb."""
    from uiproof.errors import InputError
    from uiproof.studio.server import STORE_NAME, open_store, runs_folder

    given = context.parent.params if context.parent else {}
    file = store or given.get("store")
    folder = runs_folder(runs or given.get("runs") or "runs", file)
    if (
        context.command.name not in ("import", "task")
        and not (file or folder / STORE_NAME).is_file()
    ):
        raise InputError(
            f"There is no studio file {file or folder / STORE_NAME}.",
            remedy="Name the folder of runs with --runs, or the file with --store.",
        )
    with closing(open_store(folder, file)) as opened:
        yield folder, opened


def _chosen(store: Store, tasks: list[int] | None) -> list[int]:
    from uiproof.errors import InputError

    chosen = tasks or sorted(task.id for task in store.tasks())
    if not chosen:
        raise InputError("This studio has no tasks.", remedy="Make one, or import labels.")
    return chosen
