"""A simulation of many machines that judge many cases, and the plans that follow from it.

    plan(costs, cases=10**6, hours=8, cluster=Cluster(cores=32, memory_gb=128))

One shard is one driver with its workers, and shards know nothing of each other, so one shard is
simulated, event by event: workers start, the driver hands out cases one after the other, cases take
what cases were measured to take, some take much longer, machines are lost with what they were at
and replaced. Of a shard with more than `SAMPLE` cases only the first ones are simulated (`SAMPLE`,
or `ROUNDS` for each worker), without losses, which are too rare to be seen in so short a time. The
rest goes on at the pace that was reached by then, slowed by what losses cost on average: the fluid
limit. The same seed gives the same plan.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, replace

SAMPLE = 30_000
ROUNDS = 8
_SHARDS_LOOKED_AT = 3  # with different luck; the slowest counts
_MOST_TRIES = 12
_BUSY = 0.7  # of what a driver can feed: beyond that, workers begin to wait for it


@dataclass(frozen=True, slots=True)
class Costs:
    """What a benchmark costs, as measured."""

    benchmark: str
    seconds: tuple[float, ...]  # processor seconds of cases
    start_seconds: float  # of a worker until its first case is done
    driver_seconds: float  # of the main process for each case
    journal_bytes: float  # for each case, as the next two
    artifact_bytes: float
    input_bytes: float
    worker_mb: float  # of a worker with its browser and models

    @property
    def mean(self) -> float:
        """Processor seconds of a case on average."""
        return sum(self.seconds) / len(self.seconds)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines, and what is assumed about them."""

    cores: int = 32
    memory_gb: float = 128
    boot_seconds: float = 90.0  # until a new machine has workers
    losses_per_hour: float = 0.01  # of one machine
    stragglers: float = 0.001  # share of cases that take much longer
    straggler_factor: float = 20.0
    driver_call_seconds: float = 0.002  # what the transport adds to each case, such as Ray's calls
    requests_per_case: float = 6.0  # at the object store: pages in, pictures out

    def workers_of(self, costs: Costs) -> int:
        """Workers on one machine: one a core, as long as there is memory for each."""
        by_memory = int(self.memory_gb * 1024 // max(costs.worker_mb, 1.0))
        return max(min(self.cores, by_memory), 1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a simulated shard ended."""

    seconds: float
    core_seconds: float  # of cases and starts, lost work included
    lost_cases: int  # that had to be done again
    simulated: int
    pace: float  # seconds from case to case, in the second half


@dataclass(frozen=True, slots=True)
class Plan:
    """What it takes to judge so many cases in so many hours."""

    cases: int
    deadline_hours: float
    machines: int
    workers: int
    shards: int
    hours: float
    core_hours: float  # of machines as they are paid, from boot to end
    busy: float  # share of those that was spent on cases
    lost_cases: int
    journal_bytes: float
    artifact_bytes: float
    written_per_second: float
    read_per_second: float
    requests_per_second: float

    @property
    def fits(self) -> bool:
        """Whether it is done in time."""
        return self.hours <= self.deadline_hours


def driver_limit(costs: Costs, cluster: Cluster) -> float:
    """Cases a second that one driver can hand out and write down."""
    return 1 / max(costs.driver_seconds + cluster.driver_call_seconds, 1e-9)


def workers_per_driver(costs: Costs, cluster: Cluster) -> int:
    """How many workers one driver keeps busy."""
    return max(int(_BUSY * driver_limit(costs, cluster) * costs.mean), 1)


class _Machine:
    """When a machine goes away: again and again, each time replaced by a new one."""

    def __init__(self, cluster: Cluster, start_seconds: float, luck: random.Random) -> None:
        self._rate = cluster.losses_per_hour / 3600
        self._luck = luck
        self._away = cluster.boot_seconds + start_seconds
        self._losses: list[float] = []

    def loss(self, number: int) -> float:
        """The moment of a loss, counted from 0."""
        while len(self._losses) <= number:
            if self._rate <= 0:
                return math.inf
            since = self._losses[-1] if self._losses else 0.0
            self._losses.append(since + self._away + self._luck.expovariate(self._rate))
        return self._losses[number]

    def back(self, number: int) -> float:
        """When workers are there again after a loss."""
        return self.loss(number) + self._away


def simulate(costs: Costs, cluster: Cluster, *, cases: int, workers: int, seed: int = 0) -> Outcome:
    """One shard: a driver, `workers` on as many machines as they need, `cases` to be judged."""
    sample = min(cases, max(SAMPLE, ROUNDS * workers))
    if cases > sample:
        return _fluid(costs, cluster, cases=cases, workers=workers, sample=sample, seed=seed)
    luck = random.Random(seed)
    each = costs.driver_seconds + cluster.driver_call_seconds
    there = cluster.workers_of(costs)
    machines = [
        _Machine(cluster, costs.start_seconds, luck) for _ in range(math.ceil(workers / there))
    ]
    survived = [0] * workers  # how many losses of its machine a worker has been through
    begin = cluster.boot_seconds + costs.start_seconds
    free = [(begin, worker) for worker in range(workers)]  # from when, and who: a heap
    left, lost = cases, 0
    driver = end = given = half_way = 0.0
    core_seconds = workers * costs.start_seconds
    while left:
        now, worker = heapq.heappop(free)
        machine, number = machines[worker // there], survived[worker]
        if now >= machine.loss(number):
            survived[worker] += 1
            core_seconds += costs.start_seconds
            heapq.heappush(free, (machine.back(number), worker))
            continue
        given = driver = max(driver, now) + each
        taken = luck.choice(costs.seconds)
        if luck.random() < cluster.stragglers:
            taken *= cluster.straggler_factor
        ready = given + taken
        if ready > machine.loss(number):
            lost += 1  # whoever is free next does it again
            core_seconds += max(machine.loss(number) - given, 0.0)
            heapq.heappush(free, (max(machine.loss(number), now), worker))
            continue
        left -= 1
        core_seconds += taken
        end = max(end, ready)
        if left == cases // 2:
            half_way = given
        heapq.heappush(free, (ready, worker))
    pace = (given - half_way) / max(cases // 2, 1)
    return Outcome(end, core_seconds, lost, cases, pace)


def _fluid(
    costs: Costs, cluster: Cluster, *, cases: int, workers: int, sample: int, seed: int
) -> Outcome:
    """A long shard from its beginning: what comes after goes on at the same pace."""
    without = replace(cluster, losses_per_hour=0.0)
    begun = simulate(costs, without, cases=sample, workers=workers, seed=seed)
    rate = cluster.losses_per_hour / 3600
    # Whatever a worker is at is half done on average, and long cases are hit more often.
    wasted = sum(one * one for one in costs.seconds) / (2 * sum(costs.seconds))
    away = cluster.boot_seconds + costs.start_seconds + wasted
    seconds = begun.seconds + begun.pace * (cases - sample + cases * rate * away)
    lost = rate * seconds * workers
    starts = workers * costs.start_seconds
    work = (begun.core_seconds - starts) * cases / sample
    core_seconds = starts + work + lost * (costs.start_seconds + wasted)
    return Outcome(seconds, core_seconds, round(lost), sample, begun.pace)


def run(costs: Costs, cluster: Cluster, *, cases: int, machines: int, hours: float) -> Plan:
    """What becomes of so many cases on so many machines."""
    workers = machines * cluster.workers_of(costs)
    shards = max(math.ceil(workers / workers_per_driver(costs, cluster)), 1)
    shards = min(shards, cases)
    seeds = range(min(shards, _SHARDS_LOOKED_AT))
    outcomes = [
        simulate(
            costs,
            cluster,
            cases=math.ceil(cases / shards),
            workers=max(math.ceil(workers / shards), 1),
            seed=seed,
        )
        for seed in seeds
    ]
    seconds = max(one.seconds for one in outcomes)
    spent = sum(one.core_seconds for one in outcomes) / len(outcomes) * shards
    paid = machines * cluster.cores * seconds
    return Plan(
        cases=cases,
        deadline_hours=hours,
        machines=machines,
        workers=workers,
        shards=shards,
        hours=seconds / 3600,
        core_hours=paid / 3600,
        busy=spent / paid,
        lost_cases=round(sum(one.lost_cases for one in outcomes) / len(outcomes) * shards),
        journal_bytes=cases * costs.journal_bytes,
        artifact_bytes=cases * costs.artifact_bytes,
        written_per_second=cases * (costs.journal_bytes + costs.artifact_bytes) / seconds,
        read_per_second=cases * costs.input_bytes / seconds,
        requests_per_second=cases * cluster.requests_per_case / seconds,
    )


def plan(costs: Costs, *, cases: int, hours: float, cluster: Cluster) -> Plan:
    """The fewest machines that judge so many cases in so many hours, and what comes with them.

    Where even the starts take longer than that, the plan does not fit and says how long it takes.
    """
    seconds = hours * 3600 - cluster.boot_seconds - costs.start_seconds
    work = cases * costs.mean * (1 + cluster.stragglers * (cluster.straggler_factor - 1))
    rate = cluster.workers_of(costs) * max(seconds, 1.0)
    machines = min(max(math.ceil(work / rate), 1), cases)
    found = run(costs, cluster, cases=cases, machines=machines, hours=hours)
    for _ in range(_MOST_TRIES):
        if found.fits or found.workers >= cases:
            break
        # As many more as it was late, one at least.
        late = found.hours / hours
        machines = max(math.ceil(machines * min(late, 2.0)), machines + 1)
        found = run(costs, cluster, cases=cases, machines=machines, hours=hours)
    return found
