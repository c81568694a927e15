"""The one extension point: a `Benchmark` and its vocabulary of cases, methods, judges and scores.

A method only ever receives the question of a case; only the judge sees its truth. A package adds a
benchmark with an entry point of the group `uiproof.benchmarks` that names an instance of its
subclass of `Benchmark`; `docs/new-benchmark.md` walks through one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from uiproof.errors import MethodError, UsageError, suggestion

if TYPE_CHECKING:
    from uiproof.annotation import Annotation
    from uiproof.browser import Renderer
    from uiproof.dataset_editor import DatasetEditor
    from uiproof.engine.context import Context
    from uiproof.engine.rundir import RunDirectory
    from uiproof.models.chat import ChatModel
    from uiproof.models.types import Parameters, Reply
    from uiproof.prompts import Slot
    from uiproof.settings import Settings
    from uiproof.tables import Table
    from uiproof.views.base import Analyses, CaseView, Leaderboard
    from uiproof.views.pictures import Pictures

    Connect = Callable[[str], ChatModel]

_FEWEST = 8  # cases that a mean needs to have an interval

Question = TypeVar("Question")
Truth = TypeVar("Truth")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Case(Generic[Question, Truth]):
    """One item of a data set."""

    id: str
    question: Question
    truth: Truth


@dataclass(frozen=True, slots=True)
class BrokenCase:
    """A case that could not be loaded.

    `known` is the part of the case that is known all the same, for `Judge.failure`.
    """

    id: str
    error: Exception
    known: Case[Any, Any] | None = None


class Method(ABC, Generic[Question, Answer]):
    """Answers questions. It runs in the main process and may wait for servers."""

    # True where a method is given the truth, in its context; every table and chart says so.
    assisted: bool = False
    needs_question: ClassVar[bool] = True  # False lets the engine skip making the question
    concurrency: int = 8  # how many questions may be in flight

    @property
    @abstractmethod
    def name(self) -> str:
        """Return its name in tables and run directories, for example `replay:predictions`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what changes the answers; written into the run and compared on resume."""
        return {}

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders or files that answers refer to by path, for judges elsewhere."""
        return ()

    @abstractmethod
    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:
        """Answer one question; raise `MethodError` when there is no answer.

        `context` takes what is worth writing down and can show what an answer looks like.
        """

    def key(self, case_id: str) -> str | None:  # noqa: ARG002 - for methods that need it
        """Return what the answer depends on besides the question, such as a digest of a file.

        When a run is continued, a finished case whose key has changed is done again; None says
        that there is nothing to compare. Called often: it must be quick.
        """
        return None

    async def close(self) -> None:
        """Close connections and models."""


class Judge(ABC, Generic[Question, Truth, Answer]):
    """Compares answers with truths. Made once per worker process, used for many cases.

    A case may be posed by one worker and scored by another.
    """

    def pose(self, case: Case[Question, Truth]) -> Question:
        """Return the question as the method gets it, with what has to be rendered for it."""
        return case.question

    def picture(
        self,
        case: Case[Question, Truth],  # noqa: ARG002 - for judges that can do it
        answer: Answer,  # noqa: ARG002
    ) -> bytes:
        """Render an answer as PNG, for methods that revise what they made."""
        raise MethodError(f"{type(self).__name__} cannot show answers.")

    def differences(
        self,
        case: Case[Question, Truth],  # noqa: ARG002 - for judges that can do it
        answer: Answer,  # noqa: ARG002
    ) -> Sequence[Mapping[str, Any]]:
        """Return how an answer differs from the truth, worst first, for methods that revise.

        Each has `says`, a sentence, and what else `uiproof.views` shows of a difference.
        """
        raise MethodError(f"{type(self).__name__} cannot list differences.")

    @property
    def references_made(self) -> int:
        """Return how many references it has prepared so far, for statistics of caches."""
        return 0

    @abstractmethod
    def score(self, case: Case[Question, Truth], answer: Answer) -> Score:
        """Compare one answer with the truth of its case."""

    @abstractmethod
    def failure(self, case: Case[Question, Truth] | None) -> Score:
        """Return what a case scores when there is no answer or it cannot be judged.

        `case` is what is known of it, None where it could not be loaded (`BrokenCase`).
        Called in the main process: it must be quick, need no browser and never raise.
        """

    def close(self) -> None:
        """Close the browser and whatever else is held."""


@dataclass(frozen=True, slots=True)
class Score:
    """The judgement of one answer. Everything in it can be written as JSON."""

    scores: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)  # what reports draw: boxes, matches
    artifacts: Mapping[str, str] = field(default_factory=dict)  # name -> path inside the run
    flags: tuple[str, ...] = ()  # what was unusual, for example `generated:load_timeout`


@dataclass(frozen=True, slots=True)
class CaseError:
    """Why a case failed."""

    code: str  # the `code` of the error class
    stage: Literal["load", "pose", "answer", "score"]
    message: str
    remedy: str = ""


class Scores(dict[str, Any]):
    """The scores of one answer, as a dictionary, and what was unusual about it."""

    def __init__(self, scores: Mapping[str, Any], flags: tuple[str, ...] = ()) -> None:
        super().__init__(scores)
        self.flags = flags

    def __repr__(self) -> str:
        return f"Scores({', '.join([*_shown(self), *self.flags])})"

    def _repr_html_(self) -> str:
        return score_table(self, self.flags)


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One line of a journal: how a case ended."""

    id: str
    status: Literal["scored", "failed"]
    scores: Mapping[str, Any]
    error: CaseError | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage
    attempts: int = 1
    answer_key: str | None = None  # `Method.key` when the case was done
    calls: tuple[Mapping[str, Any], ...] = ()  # what each request to a model took
    sample: int = 0  # which of several answers to one case; the id of the second ends in `#2`

    def __repr__(self) -> str:
        ending = self.error.code if self.error else ", ".join([*_shown(self.scores), *self.flags])
        return f"Record({self.id!r}, {self.status}: {ending})"

    def _repr_html_(self) -> str:
        return score_table(self.scores, self.flags, title=f"{self.id}: {self.status}")

    @property
    def case(self) -> str:
        """Return the id of the case in its data set, which all of its answers share."""
        return self.id.removesuffix(f"#{self.sample + 1}") if self.sample else self.id


def _shown(scores: Mapping[str, Any]) -> list[str]:
    """Return the scores in short: of a group the last, which is that of the whole."""
    found = []
    for name, value in scores.items():
        group = value.values() if isinstance(value, Mapping) else [value]
        numbers = [one for one in group if isinstance(one, (int, float))]
        found += [f"{name} {numbers[-1]:.3f}"] if numbers else []
    return found


def score_table(scores: Mapping[str, Any], flags: Sequence[str] = (), *, title: str = "") -> str:
    """Return scores as a table in HTML, for notebooks: a row for each group of them."""
    from uiproof.markup import tag

    rows = []
    for name, value in scores.items():
        group = value if isinstance(value, Mapping) else {"": value}
        cells = [
            tag("td", f"{key} {one:.3f}".lstrip())
            for key, one in group.items()
            if isinstance(one, (int, float))
        ]
        rows += [tag("tr", tag("th", name), *cells)] if cells else []
    heading = [tag("caption", title)] if title else []
    about = [tag("p", f"Flags: {', '.join(flags)}")] if flags else []
    return "".join([tag("table", *heading, *rows), *about])


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a table: which score it shows, and how."""

    key: str  # a path into the scores, for example `paper.block_match`
    label: str
    digits: int = 3
    bounds: tuple[float, float] = (0.0, 1.0)  # what the score of a case can be
    ranks: bool = False  # runs are ranked by the first such metric that all have, else by any
    remedy: str = ""  # how to measure it where that takes something that may be absent

    def of(self, scores: Mapping[str, Any]) -> Any:
        """Return this metric's score, None where there is none."""
        return look_up(scores, self.key)


def look_up(scores: Any, key: str) -> Any:
    """Return the score at a dotted path, such as `paper.block_match`; None where there is none."""
    for name in key.split("."):
        scores = scores.get(name) if isinstance(scores, Mapping) else None
    return scores


def number_at(scores: Any, key: str) -> float | None:
    """Return the same as a number; None where there is none."""
    value = look_up(scores, key)
    return float(value) if isinstance(value, (int, float)) else None


def means_in(scores: Any, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Yield the means of a summary's scores by their dotted paths; None for what has none."""
    for name, value in scores.items() if isinstance(scores, Mapping) else ():
        if value is None or (isinstance(value, Mapping) and "mean" in value):
            yield prefix + name, value
        else:
            yield from means_in(value, f"{prefix}{name}.")


@dataclass(frozen=True)
class JudgeOptions:
    """Options of a judge; a benchmark that has some subclasses it."""

    # An archive of what pages load from elsewhere, for judges that show pages.
    web: Path | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Completion:
    """All that a model wrote; the answer is found in it as in a run."""

    text: str


@dataclass(frozen=True, slots=True)
class Served:
    """The schema of a benchmark's cases in requests to `uiproof serve`."""

    reference: Any  # the type of the field `reference`, for pydantic
    takes: str  # what that is, in a word or two
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # for `Benchmark.answer`
    examples: Mapping[str, Any] = field(default_factory=dict)  # for `/docs`


@dataclass(frozen=True, slots=True)
class ChatTask:
    """A benchmark for programs that ask chat models themselves, such as inspect_ai.

    `read` and `make` are given the prompt's name, because it may decide what an answer is.
    """

    prompts: Mapping[str, str]  # each with one line; the first is the default
    method: Callable[[ChatModel, str], Method[Any, Any]]  # asks a model with a prompt
    scores: Callable[[], tuple[str, ...]]  # the paths of the scores that this machine can measure
    # The answer in a reply, as text, and what was unusual; `AnswerError` where there is none.
    read: Callable[[Reply], tuple[str, tuple[str, ...]]]
    write: Callable[[Any], str] = str  # an answer as text, for the log
    make: Callable[[str, str], Any] = lambda text, _prompt: text  # and back, for the judge


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line; its function is imported when the verb is used."""

    name: str
    target: str  # "module:function", made with typer
    help: str  # one line
    heading: str = "Score and look"  # one of `uiproof.cli.main.HEADINGS`


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Published numbers beside those that were recomputed, as `uiproof anchors` prints them."""

    tables: tuple[Table, ...]
    agrees: bool
    content: Mapping[str, Any]  # for --json
    verdict: str  # one sentence


@dataclass(frozen=True, slots=True)
class Flag:
    """An option of verbs for one of the options of a judge, or of `Benchmark.replay`."""

    option: str  # such as `--published-contours`
    name: str  # as `Benchmark.judge_options` takes it
    help: str
    takes: str = ""  # what it is given, such as `WxH`; nothing for a switch
    repeats: bool = False  # whether it may be given several times
    verbs: tuple[str, ...] = ("run",)  # of `run`, `score` and `serve`


def deferred(target: str) -> Any:
    """Return an attribute of a class that is imported from `module:name` when it is used.

    For tables and functions that `uiproof --help` must not import; a function is a hook that is
    called without `self`.
    """
    module, _, name = target.partition(":")
    return property(lambda _: getattr(import_module(module), name))


class Benchmark(ABC):
    """Everything that the engine, tables, reports and commands know about one benchmark.

    Four methods have to be written: `recognises`, `cases`, `method` and `judge`. All others have
    defaults. Instances hold no state that cannot be pickled: worker processes receive a copy.
    What is slow to import is a property, or `deferred`.
    """

    name: str
    layout: str = ""  # how its data lies on disk, in one sentence

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Return the columns of its tables; runs are ranked by the first."""
        return ()

    @property
    def methods(self) -> Mapping[str, str]:
        """Return the names of its methods, each with one line: what it is and needs."""
        return {}

    @property
    def prompts(self) -> Mapping[str, str]:
        """Return the prompts for chat models, each with one line; the first is the default."""
        return {}

    @property
    def prompt_options(self) -> Mapping[str, str]:
        """Return the options after a prompt's colon, as in `mark:all,T`, each with one line."""
        return {}

    @property
    def prompt_slots(self) -> Mapping[str, Slot]:
        """Return the slots of prompts from files (`--prompt my_prompt.md`); none for no files.

        `uiproof.prompts.prompt_file` reads such a prompt, for `method`.
        """
        return {}

    @property
    def protocols(self) -> Mapping[str, str]:
        """Return the rules for methods, each with one line; the first is the default."""
        return {}

    @property
    def parameters(self) -> Parameters | None:
        """Return the parameters of chat models that the user does not choose."""
        return None

    @property
    def bundled(self) -> Mapping[str, Path]:
        """Return the data sets that ship with it, by name."""
        return {}

    @property
    def commands(self) -> tuple[Command, ...]:
        """Return its own verbs of the command line."""
        return ()

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Return its own options of `uiproof run`, `score` and `serve`."""
        return ()

    @property
    def examples(self) -> Mapping[str, tuple[str, ...]]:
        """Return command lines for the help of a verb, such as `run`; of `uiproof` itself as ""."""
        return {}

    # The verb `uiproof score NAME` if it has its own options: "module:function", made with typer.
    score_command: str = ""
    # Options of `score` that `replay` takes, not the judge.
    replay_options: ClassVar[tuple[str, ...]] = ()
    # True where judges show pages, which may load files from elsewhere: their options have `web`.
    shows_pages: ClassVar[bool] = False
    # True where `Method.name` says more than the name that a user has typed.
    labels_by_method: ClassVar[bool] = False

    # --- what has to be written ----------------------------------------------------------------

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Return whether this folder or file holds a data set of this benchmark."""

    @abstractmethod
    def cases(self, path: Path) -> Iterable[Case[Any, Any] | BrokenCase]:
        """Yield the cases of a data set, lazily and in a stable order.

        A case that cannot be loaded is yielded as a `BrokenCase`. Progress shows the time left
        where the result has a length.
        """

    @abstractmethod
    def method(
        self,
        name: str,
        *,
        connect: Connect,
        prompt: str | None = None,
        protocol: str | None = None,
        settings: Settings | None = None,
    ) -> Method[Any, Any]:
        """Make the method of this name; raise `UsageError` for a name that it does not know.

        `connect` makes a chat model from its name, such as `openai/gpt-4o`. `prompt` is one of
        `prompts` (with its options) where the name is that of a model, `protocol` one of
        `protocols` or None for the default. `settings` default to those of the environment.
        """

    @abstractmethod
    def judge(self, run: Path, options: JudgeOptions) -> Judge[Any, Any, Any]:
        """Make a judge that writes its artifacts into the directory of a run.

        It is called in every worker, and in the main process only to ask what a failure scores:
        browsers and models should start with the first case.
        """

    # --- what has a default --------------------------------------------------------------------

    def judge_options(self, **chosen: Any) -> JudgeOptions:
        """Return the options for judges: as chosen, else as the environment sets them."""
        if chosen:
            raise UsageError(f"{self.name} has no option {next(iter(chosen))!r} for its judge.")
        return JudgeOptions()

    def columns(self, scores: Sequence[Mapping[str, Any]]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the columns of a table of runs whose summaries have these scores."""
        return self.metrics

    def replay(self, dataset: Path, answers: Path, *, quiet: bool = False) -> Method[Any, Any]:  # noqa: ARG002
        """Make a method that answers with what is in a folder or file, for `uiproof score`.

        Raise `UsageError` where the answers do not belong to the data set; unless `quiet`, warn
        about answers that no case asks for. It may take further options: see `replay_options`.
        """
        raise UsageError(f"{self.name} cannot score answers from files.")

    def summarise(self, records: Iterable[Record]) -> dict[str, Any]:
        """Return the summary of a run: for each metric its mean with a 95 % interval.

        Failed cases count with what the judge gives to a failure, a missing score as 0.
        """
        columns: dict[str, dict[str, list[float]]] = {metric.key: {} for metric in self.metrics}
        flags: Counter[str] = Counter()
        seconds: defaultdict[str, float] = defaultdict(float)
        for record in records:
            for key, column in columns.items():
                value = float(look_up(record.scores, key) or 0.0)
                column.setdefault(record.case, []).append(value)
            flags.update(record.flags)
            for stage, taken in record.seconds.items():
                seconds[stage] += taken
        scores: dict[str, Any] = {}
        for metric in self.metrics:
            *folders, last = metric.key.split(".")
            place = scores
            for folder in folders:
                place = place.setdefault(folder, {})
            place[last] = _mean(columns[metric.key], metric.bounds)
        return {
            "scores": scores,
            "flags": dict(sorted(flags.items())),
            "seconds": {stage: round(taken, 3) for stage, taken in sorted(seconds.items())},
        }

    def summed_details(self, details: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the part of a record's details that `summarise` reads; submissions carry it."""
        return {}

    def fingerprint(self, options: JudgeOptions) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what on this machine changes the scores; compared when a run is continued."""
        return {}

    def compared(self, runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:  # noqa: ARG002
        """Return what `uiproof compare` prints below the common table; may draw charts."""
        return ""

    def anchors(self, folder: Path, runs: Sequence[RunDirectory]) -> Recomputed | None:  # noqa: ARG002
        """Return published numbers recomputed from the files of a folder, and from runs.

        None where the folder is none that this benchmark knows numbers of.
        """
        return None

    def shown(self, run: RunDirectory) -> str:  # noqa: ARG002
        """Return what `uiproof run` prints below the common table."""
        return ""

    def compare_files(self, folder: Path | None, **options: Any) -> str | None:  # noqa: ARG002
        """Return a comparison of the result files in a folder, by default its own.

        None where the benchmark writes no result files. The options are those of
        `uiproof compare`: charts_dir, markdown, output, json.
        """
        return None

    def finished(self, run: RunDirectory, results_dir: Path | None) -> None:  # noqa: B027
        """Take note of a finished run, for example write result files into `results_dir`."""

    def case_view(
        self,
        board: Leaderboard,  # noqa: ARG002
        runs: Sequence[RunDirectory],  # noqa: ARG002
        pictures: Pictures,  # noqa: ARG002
    ) -> CaseView | None:
        """Return the view of single cases in report and studio; None for the list of pages."""
        return None

    def analyses(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses | None:  # noqa: ARG002
        """Return the tables and charts of a report; None for none."""
        return None

    # --- single answers, for `Scorer`, `uiproof serve` and inspect ------------------------------

    # True where `reference_case` knows its references without being told the benchmark's name.
    claims_references: ClassVar[bool] = False

    def reference_case(self, reference: Any, case_id: str) -> Case[Any, Any] | None:  # noqa: ARG002
        """Return the case that a reference stands for; None for a reference of another kind.

        `reference` is what a caller of `Scorer` gives, or what `served` describes.
        """
        return reference if isinstance(reference, Case) else None

    def answer(self, generated: Any, **options: Any) -> Any:  # noqa: ARG002
        """Return what was generated as the judge takes it; raise `MethodError` where it is none."""
        return generated.text if isinstance(generated, Completion) else generated

    def function_answer(self, returned: Any) -> Any:
        """Return what a function that is a method returned, as the judge of a run takes it."""
        return self.answer(returned)

    # Weights of the components of a reward; 1 for those that are not listed.
    reward_weights: ClassVar[Mapping[str, float]] = {}

    def reward_components(self, scores: Mapping[str, Any], profile: str) -> Mapping[str, float]:  # noqa: ARG002
        """Return what a reward consists of, each in 0-1, from the scores of an answer.

        The default is the metric that runs are ranked by. Raise `UsageError` for a profile that
        the benchmark does not have.
        """
        ranking = [metric for metric in self.metrics if metric.ranks] or list(self.metrics)
        if not ranking:
            return {}
        low, high = ranking[0].bounds
        value = number_at(scores, ranking[0].key)
        share = 0.0 if value is None else (value - low) / (high - low)
        return {ranking[0].key: min(max(share, 0.0), 1.0)}

    def served(self) -> Served | None:
        """Return how requests describe a case; None where they can only name one of a data set."""
        return None

    def scoring_judge(
        self,
        folder: Path,
        options: JudgeOptions,
        renderer: Callable[[], Renderer],  # noqa: ARG002
    ) -> Judge[Any, Any, Any]:
        """Make a judge that keeps nothing but references, in a folder that workers share.

        `renderer` returns the browser that all judges of a worker share.
        """
        return self.judge(folder, options)

    def warm_up(self) -> tuple[Case[Any, Any], Any] | None:
        """Return a case and its answer that make a judge start its browser."""
        return None

    def chat_task(self) -> ChatTask | None:
        """Return how inspect_ai runs it; None where chat models cannot be asked."""
        if not self.prompts:
            return None
        return ChatTask(
            prompts=self.prompts,
            method=lambda model, prompt: self.method(
                model.name, connect=lambda _: model, prompt=prompt
            ),
            scores=lambda: tuple(metric.key for metric in self.metrics),
            read=lambda reply: (reply.text, ()),
        )

    # --- people -----------------------------------------------------------------------------------

    def annotation(self) -> Annotation | None:
        """Return how people annotate its results in the studio; None if they cannot."""
        return None

    def editor(self, path: Path) -> DatasetEditor | None:  # noqa: ARG002
        """Open a data set whose annotations people can correct in the studio; None for others."""
        return None

    # --- checks ---------------------------------------------------------------------------------

    def check_prompt(self, prompt: str) -> None:
        """Raise `UsageError` for an unknown prompt; its options are checked by `method`."""
        from uiproof.prompts import prompt_file

        name, colon, _ = prompt.partition(":")
        known = (
            prompt in self.prompts
            or (name in self.prompts and self.prompt_options)
            or (self.prompt_slots and prompt_file(prompt, self.prompts, self.prompt_slots))
        )
        if known and (self.prompt_options or not colon or prompt in self.prompts):
            return
        if not self.prompts:
            raise UsageError(f"The methods of {self.name} have no prompts to choose from.")
        likely = suggestion(name, self.prompts)
        remedy = f"{likely} Use one of: {', '.join(self.prompts)}".lstrip()
        if self.prompt_slots:
            remedy += ", or a text file"
        if self.prompt_options:
            remedy += f"; with options after a colon: {', '.join(self.prompt_options)}"
        raise UsageError(f"{self.name} has no prompt {prompt!r}.", remedy=f"{remedy}.")

    def check_protocol(self, protocol: str | None) -> None:
        """Raise `UsageError` for an unknown protocol."""
        if protocol is None or protocol in self.protocols:
            return
        if not self.protocols:
            raise UsageError(
                f"{self.name} has no protocols to choose from.", remedy="Drop --protocol."
            )
        raise UsageError(
            f"{self.name} has no protocol {protocol!r}.",
            remedy=f"Use one of: {', '.join(self.protocols)}.",
        )


def _mean(
    cases: Mapping[str, Sequence[float]], bounds: tuple[float, float]
) -> dict[str, Any] | None:
    if not cases:
        return None
    values = [sum(answers) / len(answers) for answers in cases.values()]
    answers, n, mean = sum(map(len, cases.values())), len(values), sum(values) / len(values)
    found: dict[str, Any] = {"mean": mean, "low": None, "high": None, "n": answers, "clusters": n}
    if n < _FEWEST:
        return {**found, "no_interval": f"fewer than {_FEWEST} cases"}
    half = 1.96 * sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return {**found, "low": max(mean - half, bounds[0]), "high": min(mean + half, bounds[1])}
