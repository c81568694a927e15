"""`uiproof score NAME`: answers that exist already, for every benchmark."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from uiproof.cli.main import (
    JUDGE_OPTIONS,
    Verbs,
    group,
    installed_benchmarks,
    load_command,
    make_command,
)
from uiproof.cli.options import (
    Cases,
    Executor,
    Json,
    Limit,
    Quiet,
    RayAddress,
    RetryFailed,
    RunOut,
    Web,
    Where,
    Workers,
)
from uiproof.cli.results import check_json, exit_for, print_result


class _Benchmarks(Verbs):
    """One verb for each benchmark, by its name."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [benchmark.name for benchmark in installed_benchmarks()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for benchmark in installed_benchmarks():
            if benchmark.name == cmd_name and benchmark.score_command:
                return load_command(cmd_name, benchmark.score_command)
            if benchmark.name == cmd_name:
                return make_command(f"score {cmd_name}", _verb(cmd_name, benchmark.layout))
        suggested: Any = dict.fromkeys(self.list_commands(ctx))
        self.commands = suggested
        return None


score_app = group("Score what a model has generated already.", _Benchmarks)
score_app.info.no_args_is_help = True
score_app.callback()(lambda: None)


def _verb(name: str, layout: str) -> Any:
    """Make the verb of a benchmark without a `score_command`."""

    def score(
        context: typer.Context,
        dataset: Annotated[
            str, typer.Argument(metavar="DATASET", help="A folder, its URL, or a name.")
        ],
        answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="A file or a folder.")],
        json: Json = None,
        out: RunOut = None,
        limit: Limit = None,
        case: Cases = None,
        workers: Workers = None,
        executor: Where = Executor.processes,
        ray_address: RayAddress = None,
        retry_failed: RetryFailed = False,
        web: Web = None,
        quiet: Quiet = False,
    ) -> None:
        from uiproof.api import score as score_answers

        check_json(json)
        finished = score_answers(
            name,
            dataset,
            answers,
            out=out,
            limit=limit,
            cases=case or [],
            workers=workers,
            executor=executor.value,
            ray_address=ray_address,
            retry_failed=retry_failed,
            quiet=quiet,
            **context.meta.get(JUDGE_OPTIONS, {}),
            **({} if web is None else {"web": web}),
        )
        print_result(finished, json)
        exit_for([finished], quiet=quiet or json == "-", kept=out is not None)

    score.__doc__ = f"""Score answers that exist already with the metrics of {name}.

    A case without an answer counts as failed; none is left out. DATASET is {layout or "a folder."}

    \b
    Examples:
      {{examples}}
      uiproof score {name} DATASET ANSWERS --out runs/mine && uiproof report runs/mine
    """
    return score
