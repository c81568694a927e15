"""Estimate the requests, tokens and dollars of a run before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from uiproof.benchmark import BrokenCase
from uiproof.engine.executors import Pool, gather, make_pool
from uiproof.engine.progress import Progress, call_anywhere, make_progress
from uiproof.engine.run_sync import run_url
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.shards import AnyCase, Shard, chosen, sample_id
from uiproof.errors import (
    MissingDependencyError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerStartError,
)
from uiproof.models.catalogue import cost
from uiproof.models.types import Usage
from uiproof.registry import (
    AnyMethod,
    PlannedRun,
    judge_options_for,
    planned_runs,
    resolve_dataset,
)
from uiproof.scratch import ScratchFolder
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel, ModelOptions
    from uiproof.models.types import Request

# How long an answer is where the cache has none of this model: about a plain page of HTML.
ASSUMED_OUTPUT_TOKENS = 2_000


class AsksAModel(Protocol):
    """A method whose requests can be predicted."""

    @property
    def model(self) -> ChatModel:
        """Return the model that it asks."""

    def planned_requests(self, question: Any) -> tuple[Request, ...]:
        """Return what it will ask; stand-ins where that depends on earlier answers."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The requests, tokens and dollars that one run still takes.

    Tokens of pictures and texts are estimates by the providers' published rules. Costs are in US
    dollars, None where the price of the model is not known.
    """

    method: str
    directory: Path
    cases: int
    done: int  # cases of an earlier run in the same directory
    broken: int  # cases that will fail before a model is asked
    requests: int
    cached: int
    input_tokens: int
    output_tokens: int
    most_output_tokens: int  # if every answer used up its limit
    cost: float | None
    most_cost: float | None


def plan(
    dataset: str | Path,
    methods: Sequence[AnyMethod],
    *,
    prompts: Sequence[str] = (),
    out: str | Path | None = None,
    limit: int | None = None,
    cases: Sequence[str] = (),
    samples: int = 1,
    pass_score: float | None = None,  # noqa: ARG001 - the options are those of `run_matrix`
    shard: str | None = None,
    workers: int | None = None,
    executor: str = "processes",
    retry_failed: bool = False,
    quiet: bool = False,
    models: ModelOptions | None = None,
    ray_address: str | None = None,
    protocol: str | None = None,
    settings: Settings | None = None,
    **judge_options: Any,
) -> list[CostEstimate]:
    """Return what the same call of `run_matrix` would take, without asking any model.

        for one in uiproof.plan("my/pages", ["openai/gpt-4o"]):
            print(one.requests, one.cost)

    Pages are rendered to know how large their screenshots are; nothing is written.
    """
    benchmark, path = resolve_dataset(str(dataset))
    if judge_options.keys() & set(benchmark.replay_options):
        raise UsageError("A dry run builds nothing.", remedy="Drop --build or --dry-run.")
    runs = planned_runs(
        benchmark,
        dataset,
        methods,
        prompts=prompts,
        out=out,
        models=models,
        shard=shard,
        cases=cases,
        protocol=protocol,
        settings=settings,
    )
    planned: set[tuple[str, Request]] = set()  # what two prompts ask alike is asked once
    tallies = [_Tally(run, planned, retry_failed, samples) for run in runs]
    machine = Settings.from_environment(workers=workers)
    found = benchmark.cases(path)
    counted = list(_part(islice(chosen(found, cases) if cases else found, limit), shard))
    options = judge_options_for(benchmark, path, **judge_options)
    with ScratchFolder() as scratch:
        pool = make_pool(
            executor,
            partial(benchmark.judge, scratch, options),
            workers=machine.workers,
            case_timeout=machine.case_timeout,
            log=scratch / "workers.log",
            folders=[path],
            fingerprint=partial(benchmark.fingerprint, options),
            ray_address=ray_address,
        )

        def work(*, progress: Progress) -> None:
            asyncio.run(_tally(counted, tallies, pool, progress))

        idle = not any(tally.wants(case.id) for tally in tallies for case in counted)
        call_anywhere(work, make_progress(quiet=quiet or idle))
    return [tally.estimate(counted) for tally in tallies]


def _part(cases: Iterable[AnyCase], shard: str | None) -> Iterable[AnyCase]:
    return cases if shard is None else Shard.parse(shard).part(cases)


async def _tally(
    cases: Iterable[AnyCase],
    tallies: Sequence[_Tally],
    pool: Pool,
    progress: Progress,
) -> None:
    """Pose each case once and let every tally look at the question."""
    waiting = [
        (case, wanting)
        for case in cases
        if (wanting := [one for one in tallies if one.wants(case.id)])
    ]
    progress.start(total=len(waiting), done=0, failed=0)
    window = asyncio.Semaphore(2 * pool.workers)

    async def look(case: AnyCase, wanting: Sequence[_Tally]) -> None:
        async with window:
            try:
                if isinstance(case, BrokenCase):
                    raise case.error  # noqa: TRY301
                question = await pool.call("pose", case)
            except (MissingDependencyError, StorageError, WorkerStartError):
                raise
            except Exception:  # noqa: BLE001 - a run writes down why; here it only counts
                for one in wanting:
                    one.broken += 1
            else:
                for one in wanting:
                    await one.add(case.id, question)
            progress.advance(failed=False)

    try:
        await gather(look(case, wanting) for case, wanting in waiting)
    finally:
        await pool.close()
        progress.stop()


class _Tally:
    """Count what one run will ask."""

    def __init__(
        self, run: PlannedRun, planned: set[tuple[str, Request]], retry_failed: bool, samples: int
    ) -> None:
        self._run, self._planned, self._samples = run, planned, samples
        asks = hasattr(run.method, "planned_requests")
        self.method: AsksAModel | None = cast(AsksAModel, run.method) if asks else None
        self._done, self._ask_again = _done(run, retry_failed)
        self.broken = 0
        self._requests = self._cached = 0
        self._input = self._output = self._most_output = 0
        self._costs: list[float | None] = []
        self._most_costs: list[float | None] = []
        self._expected = ASSUMED_OUTPUT_TOKENS
        if self.method:
            self._expected = self.method.model.usual_output_tokens() or self._expected

    def wants(self, case_id: str) -> bool:
        """Return whether this case is still to be asked about."""
        return self.method is not None and any(self._undone(case_id))

    def _undone(self, case_id: str) -> Iterator[tuple[str, int]]:
        """Yield the answers to a case that are still to be asked for."""
        ids = ((sample_id(case_id, sample), sample) for sample in range(self._samples))
        return ((name, sample) for name, sample in ids if name not in self._done)

    async def add(self, case_id: str, question: Any) -> None:
        """Count the requests of one case."""
        assert self.method is not None
        requests = self.method.planned_requests(question)
        for name, sample in self._undone(case_id):
            asked = [replace(one, sample=sample) if sample else one for one in requests]
            await self._add(self.method.model, asked, fresh=name in self._ask_again)

    async def _add(self, model: ChatModel, requests: Sequence[Request], *, fresh: bool) -> None:
        for number, request in enumerate(requests):
            self._requests += 1
            if not fresh and (
                (model.name, request) in self._planned or await model.is_cached(request)
            ):
                self._cached += 1
                continue
            self._planned.add((model.name, request))
            tokens = await model.estimated_tokens(request)
            most = request.parameters.max_tokens
            output = min(self._expected, most)
            # A later request quotes the answer before it, which is not known yet.
            most_tokens = tokens + (most if number else 0)
            tokens += output if number else 0
            self._input += tokens
            self._output += output
            self._most_output += most
            # Each by itself: where long requests cost more per token, their sum would too.
            self._costs.append(cost(model.endpoint, Usage(tokens, output)))
            self._most_costs.append(cost(model.endpoint, Usage(most_tokens, most)))

    def estimate(self, cases: Sequence[AnyCase]) -> CostEstimate:
        """Return what was counted."""
        return CostEstimate(
            method=self._run.label,
            directory=self._run.directory,
            cases=len(cases) * self._samples,
            done=sum(self._samples - sum(1 for _ in self._undone(case.id)) for case in cases),
            broken=self.broken,
            requests=self._requests,
            cached=self._cached,
            input_tokens=self._input,
            output_tokens=self._output,
            most_output_tokens=self._most_output,
            cost=_sum(self._costs),
            most_cost=_sum(self._most_costs),
        )


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [one for one in costs if one is not None]
    return sum(known) if len(known) == len(costs) else None


def _done(run: PlannedRun, retry_failed: bool) -> tuple[set[str], set[str]]:
    """Return the cases that a run has done, and those to ask again despite the cache."""
    done: set[str] = set()
    ask_again: set[str] = set()
    try:
        earlier = RunDirectory.of(run_url(run.directory) or run.directory, pictures=False)
        if earlier.manifest["method"] != run.method.name:
            return set(), set()
        for record in earlier.records():
            if not (retry_failed and record.error):
                done.add(record.id)
            elif record.error.stage == "answer":
                ask_again.add(record.id)
    except UiproofError:
        return set(), set()  # not a run; running it will say what is wrong
    return done, ask_again
