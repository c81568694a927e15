"""`uiproof`: finds the module of a verb when it is used, and turns errors into exit codes.

Nothing but typer is imported before a verb runs, so that `uiproof --help` answers at once.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from uiproof.benchmark import Benchmark, Command, Flag
from uiproof.errors import UiproofError

EXIT_FAILED_CASES = 1
EXIT_WRONG_USE = 2
EXIT_MISSING = 3
EXIT_REGRESSION = 5
EXIT_UNEXPECTED = 70
EXIT_INTERRUPTED = 130

SCORE, RUN, DATA, PUBLISH, MACHINE = HEADINGS = (
    *("Score and look", "Run models", "Make data"),
    *("Publish", "This machine"),
)
JUDGE_OPTIONS = "uiproof.judge_options"  # in the context of a verb: what its flags have set

_VERBS = (
    Command("score", "uiproof.cli.score:score_app", "Score answers that exist already.", SCORE),
    Command("compare", "uiproof.cli.results:compare", "Show runs side by side.", SCORE),
    Command("report", "uiproof.cli.results:report", "Write one HTML page about runs.", SCORE),
    Command("export", "uiproof.cli.results:export", "Write cases as rows of a table.", SCORE),
    Command(
        "studio", "uiproof.cli.studio:studio_app", "Browse and annotate runs in a browser.", SCORE
    ),
    Command(
        "serve", "uiproof.cli.serve:serve", "Score over HTTP, as a reward for training.", SCORE
    ),
    Command("mcp", "uiproof.cli.serve:mcp", "Give agents tools to render and diff pages.", SCORE),
    Command("demo", "uiproof.cli.run:demo", "Try every benchmark on bundled data.", RUN),
    Command("run", "uiproof.cli.run:run", "Run methods or models on a data set.", RUN),
    Command("merge", "uiproof.cli.run:merge", "Join shards into one run.", RUN),
    Command("submit", "uiproof.cli.publish:submit", "Write runs as a leaderboard entry.", PUBLISH),
    Command("check", "uiproof.cli.publish:check", "Check a submission.", PUBLISH),
    Command("leaderboard", "uiproof.cli.publish:leaderboard", "Rank submissions.", PUBLISH),
    Command("track", "uiproof.cli.publish:track", "Send runs to W&B or MLflow.", PUBLISH),
    Command("doctor", "uiproof.cli.machine:doctor", "Check the installation.", MACHINE),
    Command(
        "list", "uiproof.cli.machine:list_", "List data sets, methods, prompts, models.", MACHINE
    ),
    Command("data", "uiproof.cli.machine:data_app", "List or fetch published data.", MACHINE),
    Command(
        "web", "uiproof.cli.web:web_app", "Show, get or record what pages load elsewhere.", MACHINE
    ),
    Command("cache", "uiproof.cli.machine:cache_app", "Show or prune answers of models.", MACHINE),
)
# Files or folders that a user has named can fail with these, wherever that is noticed.
_USER_ERRORS = {
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
}
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Rich help would take longer to import than everything else together.
_STYLE: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}


def main() -> NoReturn:
    """Run the command line and end the program."""
    run_cli(app)


# --- verbs --------------------------------------------------------------------------------------


class Verbs(TyperGroup):
    """A group that prints how to continue after Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; after Ctrl-C, print what its notes say."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            complain("Stopped.", "\n  ".join(getattr(stop, "__notes__", [])))
            raise typer.Exit(EXIT_INTERRUPTED) from stop

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List verbs with whole sentences, which typer would cut off at the end of the line."""
        verbs = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, verb.get_short_help_str(200)) for name, verb in verbs.items() if verb]
            )


class _LazyVerbs(Verbs):
    """All verbs, those of benchmarks included; one is imported when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [verb.name for verb in _verbs()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for verb in _verbs():
            if verb.name == cmd_name:
                return load_command(cmd_name, verb.target)
        suggested: Any = dict.fromkeys(self.list_commands(ctx))
        self.commands = suggested
        return None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        self.help = with_examples(self.help or "", "")
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        verbs = list(_verbs())
        for heading in HEADINGS:
            if rows := [(one.name, one.help) for one in verbs if one.heading == heading]:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def group(help_text: str, cls: type[TyperGroup] = Verbs) -> typer.Typer:
    """Make a group of verbs."""
    return typer.Typer(help=help_text, cls=cls, **_STYLE)


def load_command(name: str, target: str) -> TyperCommand | TyperGroup:
    """Import a verb, given as `module:function` or `module:group`."""
    module, _, attribute = target.partition(":")
    return make_command(name, getattr(import_module(module), attribute))


def make_command(name: str, found: Any) -> TyperCommand | TyperGroup:
    """Make a command of a function or a `typer.Typer`, with the examples of benchmarks."""
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_command(found)
    else:
        alone = typer.Typer(**_STYLE)
        alone.command(name)(found)
        command = typer.main.get_command(alone)
    command.name = name.split()[-1]
    command.help = with_examples(command.help or "", name)
    verb, _, of = name.partition(" ")  # `score NAME` has the options of that benchmark alone
    if verb in ("run", "serve") or (verb == "score" and of):
        command.params += [
            _option(flag, "" if of else f"{benchmark.name}: ")
            for benchmark in installed_benchmarks()
            for flag in benchmark.flags
            if verb in flag.verbs and of in ("", benchmark.name)
        ]
    return command  # type: ignore[no-any-return]


def with_examples(help_text: str, verb: str) -> str:
    """Return a help text with the examples of benchmarks for a verb in place of `{examples}`."""
    if "{examples}" not in help_text:
        return help_text
    lines = [line for one in installed_benchmarks() for line in one.examples.get(verb, ())]
    shown = "\n".join(f"  {line}" for line in lines).lstrip()
    return help_text.replace("{examples}" if shown else "  {examples}\n", shown)


def installed_benchmarks() -> list[Benchmark]:
    """Return all benchmarks; none where one of them cannot be loaded, which `list` reports."""
    from uiproof.registry import benchmarks

    try:
        return list(benchmarks().values())
    except UiproofError:
        return []


def _verbs() -> Iterator[Command]:
    yield from _VERBS
    for benchmark in installed_benchmarks():  # only where none of the others was meant
        yield from benchmark.commands


def _option(flag: Flag, prefix: str) -> Any:
    def note(ctx: typer.Context, value: Any) -> None:
        if value:
            ctx.meta.setdefault(JUDGE_OPTIONS, {})[flag.name] = value

    def holder(chosen: Any = None) -> None:
        pass

    option = typer.Option(
        flag.option,
        help=prefix + flag.help,
        metavar=flag.takes or None,
        callback=note,
        expose_value=False,
    )
    kind: Any = str if flag.takes else bool
    if not flag.takes:
        holder.__defaults__ = (False,)
    kind = list[kind] | None if flag.repeats else kind | None if flag.takes else kind
    holder.__annotations__ = {"chosen": Annotated[kind, option], "return": None}
    alone = typer.Typer(**_STYLE)
    alone.command()(holder)
    made: Any = typer.main.get_command(alone).params[0]
    made.name = f"judge_{flag.name}"  # values of one name would be taken for each other
    return made


app = group(
    """Measure how well a model sees and rebuilds user interfaces.

    \b
    First steps:
      uiproof doctor                                   check the installation
      uiproof demo                                     bundled pages, built-in methods, a report
      {examples}

    \b
    Exit codes: 0 done, 1 finished with failed cases, 2 usage error, 3 something missing,
    4 stopped at your limit, 5 regression against the baseline (`compare --fail-under`),
    70 internal error.
    """,
    _LazyVerbs,
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Print the help or the version where no verb is given."""
    if version:
        import uiproof

        typer.echo(f"uiproof {uiproof.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


# --- the end of the program ---------------------------------------------------------------------


def run_cli(command: Callable[[], object]) -> NoReturn:
    """Run a command and end the program: every error becomes a message and an exit code."""
    _handle_signals()
    try:
        command()
    except SystemExit:
        # Where Ctrl-C struck inside of `exec`, as while a dataclass is being made, `python -m` ends
        # by the signal in place of the exit code, however that was handled. This makes it forget.
        exec("")
        raise
    except UiproofError as error:
        complain(error.message, error.remedy)
        sys.exit(exit_code_of(error))
    except Exception as error:
        from uiproof.files import storage_fault

        if _debugging():
            raise
        if fault := storage_fault(error):
            complain(fault.message, fault.remedy)
            sys.exit(fault.exit_code)
        if isinstance(error, OSError) and error.errno in _USER_ERRORS:
            named = isinstance(error.filename, (str, bytes))
            where = f"{os.fsdecode(error.filename)}: " if named else ""
            complain(f"{where}{error.strerror}.", "")
            sys.exit(EXIT_WRONG_USE)
        complain(
            f"Unexpected {type(error).__name__}: {error}",
            "Set UIPROOF_DEBUG=1 to see where, and please report it.",
        )
        sys.exit(EXIT_UNEXPECTED)
    sys.exit(0)


def exit_code_of(error: UiproofError) -> int:
    """Return the exit code for an error."""
    # 1 is for runs that finished, so that scripts can tell them from those that did not.
    return EXIT_UNEXPECTED if error.exit_code == EXIT_FAILED_CASES else error.exit_code


def complain(message: str, remedy: str) -> None:
    """Print an error and its remedy on standard error."""
    sys.stderr.write(f"uiproof: {message}\n")
    if remedy:
        sys.stderr.write(f"  {remedy}\n")


def _handle_signals() -> None:
    """Let SIGTERM and SIGHUP end a command as cleanly as Ctrl-C, however it was started.

    A shell script starts what it puts into the background (`&`) with SIGINT ignored; sent all the
    same, it is meant, so it ends the command there, too. Only an ignored SIGHUP stays ignored:
    that is what `nohup` is for.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _press_ctrl_c)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _press_ctrl_c)


def _press_ctrl_c(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def _debugging() -> bool:
    from uiproof.settings import Settings

    try:
        return Settings.from_environment(
            {"UIPROOF_DEBUG": os.environ.get("UIPROOF_DEBUG", "")}
        ).debug
    except UiproofError:  # malformed; the error itself is more important
        return False
