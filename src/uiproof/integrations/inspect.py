"""Every benchmark as an inspect_ai task; needs `pip install 'uiproof[inspect]'`.

    inspect eval uiproof/NAME --model openai/gpt-4o -T dataset=FOLDER -T prompt=PROMPT --limit 5

inspect calls the model, caches and logs; prompts and judges are those of `uiproof run`. It finds
this module by its entry point. Judges run in worker processes that stay warm between samples.
inspect does not report when a task fails, so workers stop after being idle for a while, or with the
event loop.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from math import nan
from typing import TYPE_CHECKING, Any, Literal, cast

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from uiproof import benchmark as engine
from uiproof.benchmark import Benchmark, BrokenCase, Case, ChatTask, look_up
from uiproof.engine import executors
from uiproof.engine.context import Context
from uiproof.engine.executors import as_error, default_workers, make_pool
from uiproof.errors import (
    AnswerError,
    InputError,
    MissingDependencyError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerStartError,
)
from uiproof.models.types import Finish, Image, Parameters, Reply, Request, Usage
from uiproof.registry import benchmarks, resolve_dataset
from uiproof.scratch import ScratchFolder
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel

AnyCase = Case[Any, Any] | BrokenCase
Stage = Literal["load", "pose", "answer", "score"]

METRICS = {"*": [mean(), stderr()]}  # for each score
_LARGEST_SIDE = 8000  # pixels
_STORED = "uiproof"  # key of the store under which the solver leaves its answer
_NOT_ABOUT_A_SAMPLE = (MissingDependencyError, StorageError, WorkerStartError)
IDLE_SECONDS = 10.0  # after which unused judges stop
_KINDS: Mapping[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_FINISHES: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}

_open: dict[tuple[asyncio.AbstractEventLoop, str], WarmJudges] = {}


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why there is no answer or score."""

    code: str
    stage: Stage
    message: str  # without the remedy, which is about the command line


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as text with its flags, or the reason why there is none."""

    text: str
    flags: tuple[str, ...] = ()
    failure: Failure | None = None


def add_tasks() -> None:
    """Define a task, a solver and a scorer for every benchmark with a chat task."""
    for benchmark in benchmarks().values():
        if (chat := benchmark.chat_task()) is not None:
            _add_tasks(benchmark, chat)


def _add_tasks(benchmark: Benchmark, chat: ChatTask) -> None:
    name, usual = benchmark.name, next(iter(chat.prompts))
    data = next(iter(benchmark.bundled), "")

    @solver(name=f"{name}_prompt")
    def ask(dataset: str = data, prompt: str = usual) -> Solver:
        """Prompt the model as `uiproof run --prompt` does."""
        return _asking(benchmark, chat, dataset, prompt)

    @scorer(name=f"{name}_judge", metrics=METRICS)
    def judge(dataset: str = data, prompt: str = usual) -> Scorer:
        """Score the last answer, which may come from another solver.

        Args:
            dataset: As for the task.
            prompt: The prompt of the answer, if it matters.
        """
        return _judging(benchmark, chat, dataset, prompt)

    @task(name=name)
    def run(dataset: str = data, prompt: str = usual) -> Task:
        """Prompt a model, and score its answers as `uiproof run` does.

        Args:
            dataset: A folder, a bundled data set or one from `uiproof data get`.
            prompt: One of the prompts that `uiproof list` shows.
        """
        samples = [
            Sample(id=case_id, input=f"{name} {case_id}, asked with the prompt {prompt}.")
            for case_id in _cases(benchmark, dataset)
        ]
        parameters = benchmark.parameters or Parameters()
        fingerprint = dict(benchmark.fingerprint(benchmark.judge_options()))
        return Task(
            dataset=MemoryDataset(samples, name=dataset),
            solver=ask(dataset, prompt),
            scorer=judge(dataset, prompt),
            config=GenerateConfig(
                max_tokens=parameters.max_tokens,
                temperature=parameters.temperature,
                seed=parameters.seed,
            ),
            metadata={"uiproof": version("uiproof"), "fingerprint": fingerprint},
        )

    globals().update({name: run, f"{name}_prompt": ask, f"{name}_judge": judge})


def _asking(benchmark: Benchmark, chat: ChatTask, dataset: str, prompt: str) -> Solver:
    """Return a solver that prompts the model as the benchmark's method does."""
    cases = _cases(benchmark, dataset)
    _check_prompt(benchmark, chat, prompt)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case = cases[str(state.sample_id)]
        model = _InspectModel(state, generate)
        with warm_judges(benchmark) as judges:
            answered = await _answered(chat, case, prompt, model, judges)
        model.state.store.set(_STORED, asdict(answered))
        return model.state

    return solve


def _judging(benchmark: Benchmark, chat: ChatTask, dataset: str, prompt: str) -> Scorer:
    """Return a scorer that calls the judge; an answer that cannot be judged is a failure."""
    cases = _cases(benchmark, dataset)
    _check_prompt(benchmark, chat, prompt)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the case has it
        answered = _left_by_solver(state) or _in_output(chat, state)
        with warm_judges(benchmark) as judges:
            case = cases[str(state.sample_id)]
            judged, failure = await _judged(chat, case, answered, prompt, judges)
        return Score(
            value=_value(judged.scores, chat.scores(), failed=failure is not None),
            answer=answered.text,
            explanation=failure.message if failure else None,
            metadata={
                "status": "failed" if failure else "scored",
                "error": asdict(failure) if failure else None,
                "flags": [*answered.flags, *judged.flags],
            },
        )

    return score


def _check_prompt(benchmark: Benchmark, chat: ChatTask, prompt: str) -> None:
    if prompt in chat.prompts:
        return
    if not benchmark.prompts:
        known = ", ".join(chat.prompts)
        raise UsageError(f"{benchmark.name} has no prompt {prompt!r}.", remedy=f"Use: {known}.")
    benchmark.check_prompt(prompt)


class _InspectModel:
    """inspect's model with the interface of `ChatModel`."""

    concurrency = 1  # inspect runs samples concurrently

    def __init__(self, state: TaskState, generate: Generate) -> None:
        self.state = state
        self.name = str(state.model)
        self.parameters = Parameters()  # the task's `GenerateConfig` has them too
        # inspect's providers have further limits; only very large pictures are scaled here.
        self.settings: Mapping[str, Any] = {"images": {"max_side": _LARGEST_SIDE}}
        self._generate = generate

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:  # noqa: ARG002
        """Send a request through inspect, which caches and retries."""
        self.state.messages = chat_messages(request)
        self.state = await self._generate(self.state)
        return reply_of(self.state.output)

    def facts(self, reply: Reply) -> Mapping[str, Any]:  # noqa: ARG002
        """Return nothing, because inspect logs usage and time."""
        return {}

    async def close(self) -> None:
        """Do nothing."""


async def _answered(
    chat: ChatTask, case: AnyCase, prompt: str, model: _InspectModel, judges: WarmJudges
) -> Answered:
    if isinstance(case, BrokenCase):
        return Answered("", failure=_failure(as_error(case.error), "load"))

    async def render(answer: Any) -> bytes:
        picture: bytes = await judges.call("picture", case, answer)
        return picture

    async def compare(answer: Any) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = await judges.call("differences", case, answer)
        return found

    method = chat.method(cast("ChatModel", model), prompt)
    context = Context(case.id, render=render, compare=compare if method.assisted else None)
    stage: Stage = "pose"
    try:
        question = await judges.call("pose", case)
        stage = "answer"
        answer = await method.answer(case.id, question, context)
    except _NOT_ABOUT_A_SAMPLE:
        raise
    except UiproofError as error:
        said = reply_of(model.state.output).text
        return Answered(said, tuple(context.flags), _failure(error, stage))
    return Answered(chat.write(answer), tuple(context.flags))


async def _judged(
    chat: ChatTask, case: AnyCase, answered: Answered, prompt: str, judges: WarmJudges
) -> tuple[engine.Score, Failure | None]:
    """Return the judge's score, or that of a failure with its reason."""
    failure = answered.failure
    if isinstance(case, BrokenCase):
        return judges.failure(None), failure or _failure(as_error(case.error), "load")
    if failure is None:
        try:
            return await judges.call("score", case, chat.make(answered.text, prompt)), None
        except _NOT_ABOUT_A_SAMPLE:
            raise
        except UiproofError as error:
            failure = _failure(error, "score")
    return judges.failure(case), failure


def _value(
    scores: Mapping[str, Any], measured: tuple[str, ...], *, failed: bool
) -> dict[str, float]:
    """Return scores by path; inspect needs the same paths in all samples.

    A score that is missing is 0 for a failure, as in the summary of a run, and otherwise NaN, which
    inspect counts separately.
    """
    missing = 0.0 if failed else nan
    found = {path: look_up(scores, path) for path in measured}
    return {path: missing if value is None else float(value) for path, value in found.items()}


def _left_by_solver(state: TaskState) -> Answered | None:
    stored = state.store.get(_STORED)
    if stored is None:
        return None
    failure = stored["failure"] and Failure(**stored["failure"])
    return Answered(stored["text"], tuple(stored["flags"]), failure)


def _in_output(chat: ChatTask, state: TaskState) -> Answered:
    """Return the answer of another solver."""
    reply = reply_of(state.output)
    try:
        return Answered(*chat.read(reply))
    except AnswerError as error:
        return Answered(reply.text, failure=_failure(error, "answer"))


def _failure(error: UiproofError, stage: Stage) -> Failure:
    return Failure(error.code, stage, error.message)


def _cases(benchmark: Benchmark, dataset: str) -> dict[str, AnyCase]:
    found, path = resolve_dataset(dataset)
    if found.name != benchmark.name:
        raise UsageError(f"{dataset} is a data set of {found.name}, not of {benchmark.name}.")
    cases: dict[str, AnyCase] = {}
    for case in benchmark.cases(path):
        if case.id in cases:
            raise InputError(f"{dataset} has two cases with the id {case.id!r}.")
        cases[case.id] = case
    return cases


# --- judges -------------------------------------------------------------------------------------


@contextmanager
def warm_judges(benchmark: Benchmark) -> Iterator[WarmJudges]:
    """Hold the judges of a benchmark, which all samples share."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "uiproof's tasks need inspect's asyncio backend.",
            remedy="Unset INSPECT_ASYNC_BACKEND.",
        ) from None
    key = loop, benchmark.name
    judges = _open.get(key)
    if judges is None:
        judges = _open[key] = WarmJudges(benchmark, partial(_open.pop, key, None))
    judges.hold()
    try:
        yield judges
    finally:
        judges.let_go()


class WarmJudges:
    """Worker processes with judges, and a folder for their files. See `warm_judges`."""

    def __init__(self, benchmark: Benchmark, forget: partial[Any]) -> None:
        self._forget = forget
        self._scratch = ScratchFolder()
        folder = self._scratch.path
        settings, options = Settings.from_environment(), benchmark.judge_options()
        self._pool = make_pool(
            "processes",
            partial(benchmark.judge, folder, options),
            workers=settings.workers or default_workers(),
            case_timeout=settings.case_timeout,
            log=folder / "workers.log",
        )
        self._here = benchmark.judge(folder, options)  # only scores failures
        self._holders = 0
        self._ending: asyncio.TimerHandle | None = None
        self._keeper = asyncio.create_task(self._keep())

    async def call(self, stage: executors.Stage, case: Case[Any, Any], *args: Any) -> Any:
        """Call a judge; see `Pool.call`."""
        return await self._pool.call(stage, case, *args)

    def failure(self, case: Case[Any, Any] | None) -> engine.Score:
        """Return the score of a case without an answer."""
        return self._here.failure(case)

    def hold(self) -> None:
        """Keep the judges running for a sample."""
        self._holders += 1
        if self._ending:
            self._ending.cancel()
            self._ending = None

    def let_go(self) -> None:
        """Release the judges; they stop when they have been idle for a while."""
        self._holders -= 1
        if self._holders == 0:
            self._ending = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end)

    def _end(self) -> None:
        self._forget()  # so that the next sample starts new ones
        self._keeper.cancel()

    async def _keep(self) -> None:
        """Wait for cancellation, by `_end` or at the end of the event loop, and clean up."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._forget()
            try:
                await self._pool.close()
            finally:
                self._here.close()
                self._scratch.remove()


# --- messages -----------------------------------------------------------------------------------


def chat_messages(request: Request) -> list[ChatMessage]:
    """Return a request as inspect messages."""
    return [
        _KINDS[message.role](content=[_content(part) for part in message.parts])
        for message in request.messages
    ]


def reply_of(output: ModelOutput) -> Reply:
    """Return inspect's model output as a reply, which is empty without choices."""
    if not output.choices:
        return Reply("", Finish.OTHER)
    return Reply(
        text=output.completion,
        finish=_FINISHES.get(output.stop_reason, Finish.OTHER),
        usage=_usage(output.usage),
        model=output.model,
    )


def _content(part: str | Image) -> Content:
    if isinstance(part, str):
        return ContentText(text=part)
    data = part.read()
    return ContentImage(image=f"data:{_mime(data)};base64,{base64.b64encode(data).decode()}")


def _mime(data: bytes) -> str:
    if data.startswith(b"\xff\xd8"):
        return "image/jpeg"
    return "image/webp" if data.startswith(b"RIFF") else "image/png"


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.input_tokens_cache_read or 0,
        reasoning_tokens=usage.reasoning_tokens or 0,
    )


add_tasks()
