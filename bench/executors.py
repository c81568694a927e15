"""The same pairs scored inline, in processes, on a two-node Ray, and with a node lost half-way.

    python bench/executors.py REFERENCE GENERATED [--limit N] [--cpus N] [--out DIR]

Says how many pairs a second each way does, start-up included and not, and whether all of them have
the same ids, the same scores and every case once. Ends with 1 where they differ. Without folders
the bundled demo pages are used. Needs the extra `ray`; do nothing else on the machine meanwhile.
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
from uiproof.benchmarks.design2code.cases import pages_in
from uiproof.engine.machine import default_workers
from uiproof.engine.progress import Progress
from uiproof.engine.run import execute
from uiproof.registry import benchmarks, resolve_dataset

WAYS = ("inline", "processes", "ray", "ray, a node lost")


class Counting(Progress):
    """Notes when the first case is finished, and does something when half of them are."""

    def __init__(self, half: int, then: Callable[[], None]) -> None:
        self._half, self._then = half, then
        self.finished = 0
        self.first = 0.0

    def start(self, **counts: Any) -> None:
        """Nothing to do."""

    def advance(self, *, failed: bool) -> None:  # noqa: ARG002
        """One more."""
        self.finished += 1
        if self.finished == 1:
            self.first = time.perf_counter()
        if self.finished == self._half:
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
    half = (options.limit or len(pages_in(reference))) // 2

    def one_run(lose_a_node: Callable[[], None]) -> dict[str, Any]:
        progress = Counting(half, lose_a_node if "lost" in way else lambda: None)
        began = time.perf_counter()
        run = execute(
            directory=out / way.replace(", ", "-").replace(" ", "-"),
            benchmark=benchmarks()["design2code"],
            dataset=reference,
            dataset_name=reference.name,
            method=benchmarks()["design2code"].method(f"replay:{generated}"),
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
    print(f"uiproof {uiproof.__version__}, two nodes with room for {options.cpus} workers each")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for way in WAYS:
            one = scored(way, reference, generated, options.out or Path(scratch), options)
            found.append(one)
            print(
                f"{way:18} {one['pairs']} pairs, {one['failed']} failed, {one['retried']} tried "
                f"again, {one['seconds']:.1f} s: {one['pairs'] / one['seconds']:.2f} pairs/s, "
                f"{one['warm']:.2f} pairs/s after the first",
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
