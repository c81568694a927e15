"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Executor(StrEnum):
    """The executors of judges."""

    processes = "processes"
    ray = "ray"
    inline = "inline"


Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Judge processes. [default: one per core, of the cluster with ray]"
    ),
]
Port = Annotated[
    int,
    typer.Option(min=0, max=65_535, metavar="N", help="Port to listen on; 0 takes a free one."),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N cases.")]
Cases = Annotated[
    list[str] | None,
    typer.Option(
        "--case",
        metavar="ID",
        help="Only this case, or all below it, such as 101 for 101/1 and 101/2. May be repeated.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
Where = Annotated[
    Executor,
    typer.Option(help="Where judges work: here, on a Ray cluster, or inline for debugging."),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="For --executor ray: auto or HOST:PORT. [default: RAY_ADDRESS, else a Ray started "
        "here for this command]",
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try cases again that failed before.")
]
RunOut = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Keep the run there; may be a URL."),
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Also write JSON; - for stdout.")
]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="MODEL=SHOWN",
        help="How to call a model in what is shown, such as openai/gpt-4o=GPT-4o. May be repeated.",
    ),
]
Web = Annotated[
    str | None,
    typer.Option(
        metavar="ARCHIVE",
        help="What pages load from elsewhere, kept by `uiproof web record`. [default: web.zip or "
        "web/ of the data set]",
    ),
]
Runs = Annotated[list[str], typer.Argument(metavar="RUN", help="Directories or URLs of runs.")]


def model_names(given: list[str] | None) -> dict[str, str]:
    """Return the display names that `--name` gives."""
    from uiproof.errors import UsageError

    names = {}
    for one in given or []:
        model, _, shown = (part.strip() for part in one.partition("="))
        if not model or not shown:
            raise UsageError(f"--name {one} is not MODEL=SHOWN.", remedy="Write gpt=GPT-4o.")
        names[model] = shown
    return names


def on_this_machine(path: Path | None) -> Path | None:
    """Refuse a URL where a local path is needed."""
    from uiproof.remote.store import refuse_url

    if path is not None:
        refuse_url(path, "written")
    return path


class TallPictures(StrEnum):
    """The treatment of screenshots that are taller than a provider accepts."""

    SPLIT = "split"
    SCALE = "scale"


MaxCost = Annotated[
    float | None,
    typer.Option(min=0, metavar="DOLLARS", help="Stop before this command spends more."),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Stop before this command sends more requests."),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Requests in flight, lowered where a provider wants. [default: 16]",
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="T",
        help="For models that take one. [default: 0, or as in the benchmark's paper]",
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Longest answer. [default: 16384 or what the model can, or as in the benchmark's "
        "paper]",
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="For models that take one. [default: 2024]")
]
Timeout = Annotated[
    float | None,
    typer.Option(min=1, metavar="SECONDS", help="How long to wait for an answer. [default: 300]"),
]
Tall = Annotated[
    TallPictures,
    typer.Option(help="Screenshots taller than a provider takes are split into bands or scaled."),
]
