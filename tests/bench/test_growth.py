"""Plans for many pages follow the laws that clusters follow."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from growth import SAMPLE, Cluster, Costs, driver_limit, plan, simulate, workers_per_driver

COSTS = Costs(
    benchmark="any",
    seconds=(0.5, 1.0, 1.5, 2.0),
    start_seconds=4.0,
    driver_seconds=0.001,
    journal_bytes=10_000.0,
    artifact_bytes=400_000.0,
    input_bytes=100_000.0,
    worker_mb=900.0,
)
QUIET = Cluster(losses_per_hour=0.0, stragglers=0.0, boot_seconds=0.0, driver_call_seconds=0.0)


def hours_of(workers: int, *, cases: int = 20_000, cluster: Cluster = QUIET) -> float:
    return simulate(COSTS, cluster, cases=cases, workers=workers).seconds - COSTS.start_seconds


def test_one_worker_takes_as_long_as_its_cases():
    taken = hours_of(1, cases=2_000)
    assert taken == pytest.approx(2_000 * (COSTS.mean + COSTS.driver_seconds), rel=0.03)


def test_twice_the_workers_take_half_as_long():
    assert hours_of(100) == pytest.approx(hours_of(50) / 2, rel=0.05)
    assert hours_of(200) == pytest.approx(hours_of(100) / 2, rel=0.05)


def test_beyond_what_the_driver_can_feed_more_workers_do_not_help():
    enough = int(driver_limit(COSTS, QUIET) * COSTS.mean)
    cases = 40_000
    floor = cases / driver_limit(COSTS, QUIET)
    assert hours_of(2 * enough, cases=cases) == pytest.approx(floor, rel=0.05)
    assert hours_of(4 * enough, cases=cases) == pytest.approx(floor, rel=0.05)
    assert workers_per_driver(COSTS, QUIET) < enough


def test_a_lost_machine_costs_what_it_was_at_and_the_time_until_it_is_back():
    often = replace(QUIET, losses_per_hour=20.0, boot_seconds=60.0, cores=1)
    calm = replace(often, losses_per_hour=0.0)
    with_losses = simulate(COSTS, often, cases=20_000, workers=16)
    without = simulate(COSTS, calm, cases=20_000, workers=16)

    losses = 20.0 / 3600 * without.seconds * 16  # as seen by workers
    assert without.lost_cases == 0
    assert with_losses.lost_cases == pytest.approx(losses, rel=0.35)
    slower = 1 + 20.0 / 3600 * (60 + COSTS.start_seconds + 0.75)
    assert with_losses.seconds == pytest.approx(without.seconds * slower, rel=0.08)
    assert with_losses.core_seconds > without.core_seconds


def test_the_fluid_limit_goes_on_where_the_simulation_ends():
    often = replace(QUIET, losses_per_hour=2.0, boot_seconds=30.0, cores=8)
    exact = simulate(COSTS, often, cases=SAMPLE, workers=64)
    fluid = simulate(COSTS, often, cases=SAMPLE + 1, workers=64)
    assert fluid.simulated < SAMPLE + 1
    assert fluid.seconds == pytest.approx(exact.seconds, rel=0.05)
    assert fluid.core_seconds == pytest.approx(exact.core_seconds, rel=0.05)


def test_stragglers_make_it_longer():
    some = replace(QUIET, stragglers=0.05, straggler_factor=10.0)
    assert hours_of(20, cluster=some) == pytest.approx(hours_of(20) * 1.45, rel=0.1)


def test_the_same_seed_gives_the_same_plan():
    plans = [plan(COSTS, cases=50_000, hours=1, cluster=Cluster()) for _ in range(2)]
    assert plans[0] == plans[1]


def test_a_plan_fits_its_deadline_with_no_machine_to_spare():
    found = plan(COSTS, cases=10**6, hours=8, cluster=Cluster())
    assert found.fits
    assert found.shards == 1
    fewest = 10**6 * COSTS.mean / (8 * 3600 * Cluster().workers_of(COSTS))
    assert fewest <= found.machines <= fewest + 1.5
    assert found.journal_bytes == 10**6 * COSTS.journal_bytes
    assert found.written_per_second * found.hours * 3600 == pytest.approx(10**6 * 410_000)


def test_a_hundred_million_pages_need_shards_and_are_planned_quickly():
    began = time.process_time()
    found = plan(COSTS, cases=10**8, hours=1, cluster=Cluster())
    assert time.process_time() - began < 30
    assert found.shards > 10
    assert found.workers / found.shards <= workers_per_driver(COSTS, Cluster()) + 1
    assert found.fits


def test_memory_bounds_the_workers_of_a_machine():
    small = Cluster(cores=32, memory_gb=8)
    assert small.workers_of(COSTS) == 9
    assert Cluster(cores=4, memory_gb=512).workers_of(COSTS) == 4


def test_a_deadline_shorter_than_a_start_is_said_to_be_missed():
    assert not plan(COSTS, cases=100, hours=0.001, cluster=Cluster()).fits
