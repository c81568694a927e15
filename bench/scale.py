"""Machines, hours and storage for 10^4, 10^6 and 10^8 pages, from what cases cost here.

    python bench/scale.py                         measures a few cases of each benchmark first
    python bench/scale.py --costs costs.json      what `bench/overhead.py --json` has measured
    python bench/scale.py --cores 64 --memory-gb 256 --hours 1 8 24 --price-per-core-hour 0.04

See `growth.py` for what is simulated. Processor seconds are those of this machine: a core of
another one may take more or less, so measure there where it matters.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from costs import driver_seconds, measured
from growth import Cluster, Costs, Plan, driver_limit, plan, workers_per_driver

SIZES = (10**4, 10**6, 10**8)
HOURS = (1.0, 8.0, 24.0)
CASES = 8  # of each benchmark, where costs are measured first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--costs", type=Path, help="what bench/overhead.py --json wrote")
    parser.add_argument("--benchmark", action="append", help="only this one; may be repeated")
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="numbers of pages")
    parser.add_argument("--hours", type=float, nargs="+", default=HOURS, help="deadlines")
    parser.add_argument("--price-per-core-hour", type=float)
    parser.add_argument("--json", type=Path, help="write the plans here as well")
    for field in fields(Cluster):
        name = f"--{field.name.replace('_', '-')}"
        kind = int if field.name == "cores" else float
        parser.add_argument(name, type=kind, default=field.default)
    options = parser.parse_args()
    cluster = Cluster(**{field.name: getattr(options, field.name) for field in fields(Cluster)})
    if options.costs and not options.costs.is_file():
        parser.error(f"there is no file {options.costs}; bench/overhead.py --json writes one")
    found = json.loads(options.costs.read_text()) if options.costs else measure()
    known = measured(found, driver_seconds())
    everything = [
        one for one in known if not options.benchmark or one.benchmark in options.benchmark
    ]
    if not everything:
        parser.error(f"measured were only: {', '.join(one.benchmark for one in known)}")
    told: dict[str, Any] = {"assumed": asdict(cluster), "benchmarks": {}}
    print(assumptions(cluster))
    for costs in everything:
        print("\n" + about(costs, cluster))
        plans = []
        for size in options.sizes:
            rows = [
                plan(costs, cases=round(size), hours=hours, cluster=cluster)
                for hours in options.hours
            ]
            plans += rows
            print("\n" + table(rows, options.price_per_core_hour))
        told["benchmarks"][costs.benchmark] = {
            "measured": asdict(costs),
            "plans": [asdict(one) for one in plans],
        }
    if options.json:
        options.json.write_text(json.dumps(told, indent=1))


def measure() -> list[dict[str, Any]]:
    """Measure a few cases of every benchmark here and now."""
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs.json"
        command = [sys.executable, str(Path(__file__).with_name("overhead.py"))]
        command += ["--limit", str(CASES), "--json", str(costs)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        found: list[dict[str, Any]] = json.loads(costs.read_text())
        return found


def assumptions(cluster: Cluster) -> str:
    """What was not measured."""
    return (
        f"Assumed, not measured: machines of {cluster.cores} cores and {cluster.memory_gb:g} GB; "
        f"{cluster.boot_seconds:g} s until a new machine\nhas workers; "
        f"{cluster.losses_per_hour:.1%} of machines lost an hour; "
        f"{cluster.stragglers:.1%} of cases take {cluster.straggler_factor:g} times as long;\n"
        f"{cluster.driver_call_seconds * 1000:g} ms of the driver for each call over the network "
        f"(Ray: 1.2 to 3.1 ms with trivial tasks);\n{cluster.requests_per_case:g} requests a case "
        f"at the object store. A core is taken to be as fast as one of this machine.\n"
        f"Measured on this machine: all that follows in the line of each benchmark."
    )


def about(costs: Costs, cluster: Cluster) -> str:
    """What a benchmark costs."""
    ordered = sorted(costs.seconds)
    return (
        f"{costs.benchmark}: {len(ordered)} cases measured, {costs.mean:.2f} s of a core each "
        f"(median {ordered[len(ordered) // 2]:.2f}, largest {ordered[-1]:.2f});\n"
        f"a worker starts in {costs.start_seconds:.1f} s of a core and holds "
        f"{costs.worker_mb:.0f} MB, so {cluster.workers_of(costs)} fit a machine;\n"
        f"{costs.journal_bytes / 1e3:.1f} kB of journal and {costs.artifact_bytes / 1e3:.0f} kB of "
        f"pictures a case; {costs.driver_seconds * 1000:.2f} ms of the driver, which with calls "
        f"over\nthe network feeds {driver_limit(costs, cluster):.0f} cases a second: "
        f"{workers_per_driver(costs, cluster)} workers; beyond that, shards."
    )


def table(plans: list[Plan], price: float | None) -> str:
    """The plans for one number of pages."""
    heads = ["deadline", "machines", "workers", "shards", "hours", "core-hours", "busy", "redone"]
    heads += ["journal", "with pictures", "written/s", "read/s", "requests/s"]
    heads += ["cost"] if price is not None else []
    rows = []
    for one in plans:
        row = [
            f"{one.deadline_hours:g} h",
            f"{one.machines:,}",
            f"{one.workers:,}",
            f"{one.shards:,}",
            f"{one.hours:.2f}" + ("" if one.fits else " (late)"),
            f"{one.core_hours:,.0f}",
            f"{one.busy:.0%}",
            f"{one.lost_cases:,}",
            size(one.journal_bytes),
            size(one.journal_bytes + one.artifact_bytes),
            size(one.written_per_second),
            size(one.read_per_second),
            f"{one.requests_per_second:,.0f}",
        ]
        rows.append(row + ([f"{one.core_hours * price:,.0f}"] if price is not None else []))
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [f"  {plans[0].cases:,} pages"]
    for row in (heads, *rows):
        cells = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        lines.append("  " + "  ".join(cells))
    return "\n".join(lines)


def size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return (
                f"{number:.1f} {unit}" if number < 100 and unit != "B" else f"{number:.0f} {unit}"
            )
        number /= 1000
    return f"{number:.1f} PB"


if __name__ == "__main__":
    main()
