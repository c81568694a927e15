"""Grounding: how close a run comes to what its server allows, and what its own work costs.

    python bench/grounding.py

A server in a process of its own answers each request after 50 ms. Eight requests at once could
then get 160 answers a second; the first column is the share of that which a run reaches, start-up
apart. The second is the processor time of everything but the server for each element, the third
that of a method that asks nobody: engine, judge and journal alone.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVER = ROOT / "tests" / "provider_servers.py"
LATENCY, CONCURRENCY = 0.05, 8


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="uiproof-bench-") as folder:
        place = Path(folder)
        data = place / "data"
        uiproof(place, "generate", "--count", "60", "--out", data, "--quiet")
        elements = sum(
            len(sample["elements"])
            for sample in json.loads((data / "annotations.json").read_text())["samples"]
        )
        answer = "Action: click(point='<point>100 100</point>')"
        server = subprocess.Popen(
            [sys.executable, SERVER, "--latency", str(LATENCY), "--answer", answer],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip().rpartition(" ")[2]
            method = f"compatible:{address}#uitars-1.5@none"
            small = asked(place, data, method, 40)
            large = asked(place, data, method, elements)
        finally:
            server.kill()
        seconds = large["seconds"] - small["seconds"]
        count = large["n"] - small["n"]
        ideal = count * LATENCY / CONCURRENCY
        quiet = asked(place, data, "centre", elements)
        quiet_small = asked(place, data, "centre", 40)
        own = 1000 * (quiet["cpu"] - quiet_small["cpu"]) / (quiet["n"] - quiet_small["n"])
        print(f"{count} elements, {LATENCY * 1000:.0f} ms, {CONCURRENCY} at once")
        print(f"share of the ideal throughput   {ideal / seconds:.2f}")
        print(
            f"processor time per element      {1000 * (large['cpu'] - small['cpu']) / count:.1f} ms"
        )
        print(f"the same without any model      {own:.2f} ms")


def asked(place: Path, data: Path, method: str, limit: int) -> dict[str, float]:
    """One run from scratch: its wall and processor seconds and how many cases it had."""
    out = Path(tempfile.mkdtemp(dir=place))
    began, before = time.perf_counter(), _cpu()
    uiproof(
        place,
        *("run", "--dataset", data, "--method", method, "--out", out, "--limit", limit),
        *("--concurrency", CONCURRENCY, "--executor", "inline", "--quiet"),
        cache=out / "cache",
    )
    summary = json.loads((out / "summary.json").read_text())
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "cpu": _cpu() - before, "n": summary["n"]}


def uiproof(place: Path, *arguments: object, cache: Path | None = None) -> None:
    environment = os.environ | {"UIPROOF_CACHE": str(cache or place / "cache")}
    command = [sys.executable, "-m", "uiproof", *map(str, arguments)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
