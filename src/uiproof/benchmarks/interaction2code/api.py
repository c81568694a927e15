"""Score existing pages from Python: one variant of them, or all."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.api import Execution, Matrix, Step, dataset_of, make_runs, score_answers
from uiproof.benchmarks.interaction2code.benchmark import BENCHMARK
from uiproof.benchmarks.interaction2code.graph import read_dataset
from uiproof.benchmarks.interaction2code.methods import Replay, all_variants, model_folders
from uiproof.engine.run_sync import holds_run, run_place
from uiproof.errors import InputError, UsageError
from uiproof.registry import judge_options_for, slug
from uiproof.remote.mirror import local

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

_log = logging.getLogger("uiproof")


def score_interactions(
    dataset: str | Path,
    generated: str | Path,
    *,
    variant: str | None = None,
    names: Mapping[str, str] | None = None,
    contours: bool = False,
    web: str | Path | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
    **execution: Any,
) -> RunDirectory:
    """Act on generated pages and score their interactions against a data set of Interaction2Code.

        run = uiproof.score_interactions("dataset", "generated", variant="mark_prompt-gpt")
        run.summary["scores"]["usable"]["mean"]

    `generated` holds `PAGE/K-*.html`, also under `PAGE/result/`, for interaction K alone, or
    `PAGE.html` for all of a page. Where there are several for one interaction, `variant` chooses by
    what follows the number, or by the folder in `MODEL/PAGE.html`; `score_variants` scores all of
    them. `names` are display names of models, for files that are named
    `K-PROMPT_prompt-MODEL.html`. An interaction without a page is a failed case, never left out.
    With `contours` the `paper` positions follow the published rules, to compare with published
    numbers; they mostly miss the marks. `web` is an archive of what pages load from elsewhere, by
    default that of the data set. The rest is as for `uiproof.score`: limit, workers, executor,
    ray_address, retry_failed.
    """
    path = dataset_of(dataset)
    (method,) = replayed(path, local(generated), [variant], names=names, quiet=quiet)
    how = _execution(path, contours, web, quiet, execution)
    return score_answers(BENCHMARK, path, method, how, name=str(dataset), out=out)


def score_variants(
    dataset: str | Path,
    generated: str | Path,
    *,
    names: Mapping[str, str] | None = None,
    contours: bool = False,
    web: str | Path | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
    **execution: Any,
) -> Matrix:
    """Score all variants in a folder of generated pages for Interaction2Code, one after another.

        uiproof.score_variants("dataset", "dataset", names={"gpt": "GPT-4o"}, out="runs/published")

    A variant is what follows the number in `PAGE/result/K-PROMPT_prompt-MODEL.html`, or the folder
    in `MODEL/PAGE.html`. Each is a separate run in its own folder below `out`; tables show
    them by model and prompt. Where there is only one page for each interaction, there is one run,
    in `out`. The other options are those of `score_interactions`.
    """
    path = dataset_of(dataset)
    folders = model_folders(local(generated), _page_names(path))
    found = tuple(folders) or all_variants(local(generated))
    if out is not None and len(found) > 1 and holds_run(out):
        raise UsageError(
            f"{out} is a run and cannot hold {len(found)} runs.",
            remedy="Give them another folder with --out.",
        )
    methods = replayed(path, local(generated), found, names=names, quiet=quiet)
    how = _execution(path, contours, web, quiet, execution)
    score = partial(score_answers, BENCHMARK, path, how=how, name=str(dataset))
    if len(methods) == 1:
        return Matrix((score(method=methods[0], out=out),), alone=True)
    steps = []
    for variant, method in zip(found, methods, strict=True):
        place = None if out is None else run_place(out, slug(variant or "plain"))
        steps.append(Step(variant or method.name, place, partial(score, method=method, out=place)))
    return make_runs(steps, quiet=quiet)


def replayed(
    dataset: Path,
    generated: Path,
    variants: Sequence[str | None],
    *,
    names: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> list[Replay]:
    """Return a method for each variant of existing pages.

    Raises `InputError` or `UsageError` where pages and data set do not belong together.
    """
    pages = _page_names(dataset)
    if models := model_folders(generated, pages):
        chosen = list(models) if variants == [None] and len(models) == 1 else variants
        for variant in chosen:
            if variant not in models:
                raise UsageError(
                    f"{generated} has the pages of {len(models)} models.",
                    remedy=f"Choose one with --variant: {', '.join(models)}.",
                )
        methods = [Replay(models[one or ""]) for one in chosen]
    else:
        methods = [Replay(generated, variant=variant, names=names) for variant in variants]
    for method in methods if models else methods[:1]:
        _check_pages(dataset, pages, method, quiet=quiet)
    return methods


def _page_names(dataset: Path) -> set[str]:
    if not BENCHMARK.recognises(dataset):
        raise InputError(
            f"{dataset} is no data set of Interaction2Code.", remedy=f"It is {BENCHMARK.layout}"
        )
    return {page.page for page in read_dataset(dataset)}


def _execution(
    dataset: Path,
    contours: bool,
    web: str | Path | None,
    quiet: bool,
    execution: Mapping[str, Any],
) -> Execution:
    chosen = {"contours": True} if contours else {}
    options = judge_options_for(BENCHMARK, dataset, web=web, **chosen)
    return Execution(judge=options, quiet=quiet, **execution)


def _check_pages(dataset: Path, wanted: set[str], generated: Replay, *, quiet: bool) -> None:
    given, folder = generated.pages, generated.settings["folder"]
    if "" in given:
        # The folder itself is that of a page, without saying of which.
        if len(wanted) > 1:
            raise UsageError(
                f"The pages of {folder} do not say of which page they are.",
                remedy="Put them into a folder for each page, or name one page of the data set.",
            )
        return
    if given and not wanted & given:
        raise UsageError(
            f"Nothing in {folder} has the name of a page of {dataset}.",
            remedy="Predictions are PAGE/K-anything.html for interaction K, or PAGE.html.",
        )
    if (unknown := sorted(given - wanted)) and not quiet:
        names = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        text = "Generated pages that are not in the data set and not scored (%d): %s"
        _log.warning(text, len(unknown), names)
