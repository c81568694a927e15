"""The same pairs scored inline, in processes, on a two-node Ray, and with a node lost half-way.

    python bench/executors.py REFERENCE GENERATED [--limit N] [--cpus N] [--out DIR]

Says how many pairs a second each way does, start-up included and not, what a pair costs in
processor seconds of all processes (Ray's included) after a third of the pairs and what it takes
until then, the memory of all processes half-way, and whether all have the same ids, the same
scores and every case once. Ends with 1 where they differ. Without folders the bundled demo pages
are used. Needs the extra `ray`; pairs a second say little where something else runs meanwhile.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uiproof
from cpu import adopt_orphans, cpu_of_all, memory_mb
from uiproof.benchmarks.design2code.cases import pages_in
from uiproof.engine.executors import default_workers
from uiproof.engine.progress import Progress
from uiproof.engine.run import execute
from uiproof.registry import benchmarks, resolve_dataset

WAYS = ("inline", "processes", "ray", "ray, a node lost")


class Counting(Progress):
    """Notes times and processor seconds, and does something half-way."""

    def __init__(self, pairs: int, then: Callable[[], None]) -> None:
        self._pairs, self._then = pairs, then
        self.finished = 0
        self.first = self.third_cpu = self.last_cpu = self.memory = 0.0

    def start(self, **counts: Any) -> None:
        """Nothing to do."""

    def advance(self, *, failed: bool) -> None:  # noqa: ARG002
        """One more."""
        self.finished += 1
        if self.finished == 1:
            self.first = time.perf_counter()
        if self.finished == self._pairs // 3:
            self.third_cpu = cpu_of_all()
        if self.finished == self._pairs:
            self.last_cpu = cpu_of_all()  # before workers are ended, whose seconds are lost
        if self.finished == self._pairs // 2:
            self.memory = memory_mb()
            self._then()

    def stop(self) -> None:
        """Nothing to do."""


@contextmanager
def two_nodes(cpus: int) -> Iterator[Callable[[], None]]:
    """A Ray of two nodes on this machine that this process is connected to; removes the second."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": cpus, "object_store_memory": 200 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield lambda: cluster.remove_node(second)
    finally:
        ray.shutdown()
        cluster.shutdown()


def scored(way: str, reference: Path, generated: Path, out: Path, options: Any) -> dict[str, Any]:
    """One way through all pairs."""
    executor = way.partition(",")[0]
    pairs = options.limit or len(pages_in(reference))

    began_cpu = cpu_of_all()

    def one_run(lose_a_node: Callable[[], None]) -> dict[str, Any]:
        progress = Counting(pairs, lose_a_node if "lost" in way else lambda: None)
        began = time.perf_counter()
        run = execute(
            directory=out / way.replace(", ", "-").replace(" ", "-"),
            benchmark=benchmarks()["design2code"],
            dataset=reference,
            dataset_name=reference.name,
            method=benchmarks()["design2code"].replay(reference, generated),
            executor=executor,
            workers=None if executor == "ray" else 2 * options.cpus,
            limit=options.limit,
            progress=progress,
        )
        ended = time.perf_counter()
        records = list(run.records())
        lines = run.journal.read_bytes().splitlines()
        return {
            "way": way,
            "pairs": len(records),
            "failed": sum(one.status == "failed" for one in records),
            "seconds": ended - began,
            "warm": (progress.finished - 1) / max(ended - progress.first, 1e-9),
            "cpu": (progress.last_cpu - progress.third_cpu) / (pairs - pairs // 3),
            "start_cpu": progress.third_cpu - began_cpu,
            "memory": progress.memory,
            "retried": sum(one.attempts > 1 for one in records),
            "lines": sorted(json.loads(line)["id"] for line in lines),
            "results": {
                one.id: (one.status, one.scores, one.details, one.flags) for one in records
            },
        }

    if executor != "ray":
        return one_run(lambda: None)
    with two_nodes(options.cpus) as lose_a_node:
        return one_run(lose_a_node)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", nargs="?", type=Path)
    parser.add_argument("generated", nargs="?", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument(
        "--cpus", type=int, default=max(default_workers() // 2, 1), help="workers on each node"
    )
    parser.add_argument("--out", type=Path, help="keep the runs here")
    options = parser.parse_args()
    reference = (options.reference or resolve_dataset("design2code-demo")[1]).resolve()
    generated = (options.generated or reference.parent / "generated").resolve()
    adopt_orphans()
    print(f"uiproof {uiproof.__version__}, two nodes with room for {options.cpus} workers each")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for way in WAYS:
            one = scored(way, reference, generated, options.out or Path(scratch), options)
            found.append(one)
            print(
                f"{way:18} {one['pairs']} pairs, {one['failed']} failed, {one['retried']} tried "
                f"again, {one['seconds']:.1f} s: {one['pairs'] / one['seconds']:.2f} pairs/s, "
                f"{one['warm']:.2f} pairs/s after the first; {one['cpu']:.3f} CPU s a pair "
                f"({one['cpu'] / found[0]['cpu']:.2f} times inline), {one['start_cpu']:.1f} CPU s "
                f"for the first third, {one['memory']:.0f} MB",
                flush=True,
            )
    first = found[0]
    alike = True
    for one in found:
        once = one["lines"] == sorted(one["results"])
        same = one["results"].keys() == first["results"].keys()
        differ = [
            key for key in first["results"] if one["results"].get(key) != first["results"][key]
        ]
        alike &= once and same and not differ
        print(
            f"{one['way']:18} ids {'same' if same else 'DIFFER'}, "
            f"every case {'once' if once else 'NOT ONCE'} in the journal, scores and details "
            f"{'identical' if not differ else 'DIFFER: ' + ', '.join(differ[:10])}"
        )
    raise SystemExit(0 if alike else 1)


if __name__ == "__main__":
    main()
