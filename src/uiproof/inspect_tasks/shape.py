"""What every benchmark looks like as a task of inspect_ai."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import nan
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, mean, stderr
from inspect_ai.solver import Generate, Solver, TaskState

from uiproof.engine import types as engine
from uiproof.engine.context import Context
from uiproof.engine.executors import as_error
from uiproof.engine.types import BrokenCase, Case
from uiproof.errors import (
    AnswerError,
    InputError,
    MissingDependencyError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerStartError,
)
from uiproof.inspect_tasks.messages import chat_messages, reply_of
from uiproof.inspect_tasks.warm_judges import WarmJudges, warm_judges
from uiproof.models.types import Parameters, Reply, Request
from uiproof.registry import Benchmark, resolve_dataset

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel

Answer = TypeVar("Answer")
AnyCase = Case[Any, Any] | BrokenCase
Stage = Literal["load", "pose", "answer", "score"]

METRICS = {"*": [mean(), stderr()]}  # for each score by itself
_LARGEST_SIDE = 8000  # pixels
_STORED = "uiproof"  # where the solver leaves its answer for the scorer
_NOT_ABOUT_A_SAMPLE = (MissingDependencyError, StorageError, WorkerStartError)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is nothing to score."""

    code: str
    stage: Stage
    message: str  # without the remedy, which speaks of uiproof's own command line


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as text, or why there is none, and what was unusual about it."""

    text: str
    flags: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Wiring(Generic[Answer]):
    """What inspect has to know of a benchmark beyond what the engine knows."""

    benchmark: Benchmark
    measured: Callable[[], tuple[str, ...]]  # the scores that this machine can measure, as paths
    read: Callable[[Reply], Answered]  # the answer in a reply; raises `AnswerError`
    write: Callable[[Answer], str]  # an answer as text, for the log
    make: Callable[[str], Answer]  # and back, for the judge


def make_task(
    wiring: Wiring[Any], dataset: str, prompt: str, *, solver: Solver, scorer: Scorer
) -> Task:
    """A task with one sample per case; what a sample asks is rendered when its turn comes."""
    benchmark = wiring.benchmark
    samples = [
        Sample(id=case_id, input=f"{benchmark.name} {case_id}, asked with the prompt {prompt}.")
        for case_id in _cases(benchmark, dataset)
    ]
    parameters = benchmark.parameters or Parameters()
    return Task(
        dataset=MemoryDataset(samples, name=dataset),
        solver=solver,
        scorer=scorer,
        config=GenerateConfig(
            max_tokens=parameters.max_tokens,
            temperature=parameters.temperature,
            seed=parameters.seed,
        ),
        metadata={"uiproof": version("uiproof"), "fingerprint": dict(benchmark.fingerprint())},
    )


def asking(wiring: Wiring[Any], dataset: str, prompt: str) -> Solver:
    """A solver that asks as the benchmark's own method for models does."""
    benchmark = wiring.benchmark
    cases = _cases(benchmark, dataset)
    benchmark.check_prompt(prompt)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case = cases[str(state.sample_id)]
        model = _InspectModel(state, generate)
        with warm_judges(benchmark) as judges:
            answered = await _answered(wiring, case, prompt, model, judges)
        model.state.store.set(_STORED, asdict(answered))
        return model.state

    return solve


def judging(wiring: Wiring[Any], dataset: str) -> Scorer:
    """A scorer that asks the benchmark's judge; what cannot be judged scores as a failure."""
    cases = _cases(wiring.benchmark, dataset)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the case has it
        answered = _left_by_solver(state) or _in_output(wiring, state)
        with warm_judges(wiring.benchmark) as judges:
            judged, failure = await _judged(wiring, cases[str(state.sample_id)], answered, judges)
        return Score(
            value=_value(judged.scores, wiring.measured(), failed=failure is not None),
            answer=answered.text,
            explanation=failure.message if failure else None,
            metadata={
                "status": "failed" if failure else "scored",
                "error": asdict(failure) if failure else None,
                "flags": [*answered.flags, *judged.flags],
            },
        )

    return score


class _InspectModel:
    """Asks inspect's model; for methods it is what `ChatModel` is elsewhere."""

    concurrency = 1  # inspect decides how many samples are under way

    def __init__(self, state: TaskState, generate: Generate) -> None:
        self.state = state
        self.name = str(state.model)
        self.parameters = Parameters()  # the task's `GenerateConfig` has them too
        # What inspect's providers take is their business; larger pictures are scaled before.
        self.settings: Mapping[str, Any] = {"images": {"max_side": _LARGEST_SIDE}}
        self._generate = generate

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:  # noqa: ARG002
        """Let inspect send a request; caching and trying again are its business."""
        self.state.messages = chat_messages(request)
        self.state = await self._generate(self.state)
        return reply_of(self.state.output)

    def facts(self, reply: Reply) -> Mapping[str, Any]:  # noqa: ARG002
        """Nothing: inspect writes down what calls took."""
        return {}

    async def close(self) -> None:
        """Nothing is held."""


async def _answered(
    wiring: Wiring[Any], case: AnyCase, prompt: str, model: _InspectModel, judges: WarmJudges
) -> Answered:
    if isinstance(case, BrokenCase):
        return Answered("", failure=_failure(as_error(case.error), "load"))

    async def render(answer: Any) -> bytes:
        picture: bytes = await judges.call("picture", case, answer)
        return picture

    assert wiring.benchmark.prompted is not None
    method = wiring.benchmark.prompted(cast("ChatModel", model), prompt)
    context = Context(case.id, render=render)
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
    return Answered(wiring.write(answer), tuple(context.flags))


async def _judged(
    wiring: Wiring[Any], case: AnyCase, answered: Answered, judges: WarmJudges
) -> tuple[engine.Score, Failure | None]:
    """What the judge says, or what it says to a failure and why it is one."""
    failure = answered.failure
    if isinstance(case, BrokenCase):
        return judges.failure(None), failure or _failure(as_error(case.error), "load")
    if failure is None:
        try:
            return await judges.call("score", case, wiring.make(answered.text)), None
        except _NOT_ABOUT_A_SAMPLE:
            raise
        except UiproofError as error:
            failure = _failure(error, "score")
    return judges.failure(case), failure


def _value(
    scores: Mapping[str, Any], measured: tuple[str, ...], *, failed: bool
) -> dict[str, float]:
    """The scores by their paths; inspect wants the same ones in all samples.

    What this machine does not measure is in none of them. A failure without some score has 0
    there, as it has in the summary of a run; anything else without it (NaN) inspect counts apart.
    """
    missing = 0.0 if failed else nan
    found = {path: _look_up(scores, path) for path in measured}
    return {path: missing if value is None else float(value) for path, value in found.items()}


def _left_by_solver(state: TaskState) -> Answered | None:
    stored = state.store.get(_STORED)
    if stored is None:
        return None
    failure = stored["failure"] and Failure(**stored["failure"])
    return Answered(stored["text"], tuple(stored["flags"]), failure)


def _in_output(wiring: Wiring[Any], state: TaskState) -> Answered:
    """The answer that somebody else's solver got."""
    reply = reply_of(state.output)
    try:
        return wiring.read(reply)
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


def _look_up(scores: Mapping[str, Any], path: str) -> Any:
    value: Any = scores
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
