"""What `uiproof serve` holds: throughput, latency, and no growth under hostile pages.

    python bench/serve.py [--requests 2000] [--reference FOLDER --generated FOLDER]
    python bench/serve.py --benchmark interaction2code [--reference DATASET] [--generated FOLDER]

First the same pairs are scored by the process executor (`uiproof score`) and by the service at a
concurrency of 64, in turns, and the throughput compared: start-up is left out on both sides, every
pair has a reference of its own, and the scores must be the same. Then a soak: so many requests, one
in twenty with a hostile page, while memory, processes and open files of the whole service are
watched. Without folders the bundled demo pages are used; the pages for interactions are then those
of the method that traces pictures. Do nothing else on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import httpx

from serve_pairs import Pairs, make_pairs
from uiproof.process_tree import descendants, resident_mb

ROWS = 12  # of the table of the soak
MOST_LOSS = 0.15  # of throughput against the process executor
MOST_GROWTH = 0.15  # of memory, between the first and the last third of the soak

HOSTILE = {
    "endless loop": "<p>a</p><script>while (true) {}</script>",
    "memory": "<p>a</p><script>let a = []; while (true) a.push(new Array(1e6).fill(1.5))</script>",
    "alerts": "<p>a</p><script>setInterval(() => alert(1), 1); while (true) alert(2)</script>",
    "leaving": "<p>a</p><script>setInterval(() => location.reload(), 1)</script>",
    "windows": "<p>a</p><script>setInterval(() => open('about:blank'), 1)</script>",
    "elements": "<script>while (true) document.write('<p>' + 'x'.repeat(1e5) + '</p>')</script>",
    "long page": "<div style='height:9999999px'>a</div>",
    "frames": "<p>a</p><script>for (let i = 0; i < 500; i++)"
    " document.body.append(document.createElement('iframe'))</script>",
}


@dataclass(frozen=True)
class Look:
    """What the whole service held at one moment."""

    seconds: float
    answered: int
    megabytes: int
    processes: int
    files: int
    kept_megabytes: float


class Service:
    """A running `uiproof serve`, as seen from outside."""

    def __init__(self, process: subprocess.Popen[str], url: str, scratch: Path) -> None:
        self.process, self.url, self.scratch = process, url, scratch

    def look(self, seconds: float, answered: int) -> Look:
        """What it holds now; memory that processes share is counted for each of them."""
        family = [self.process.pid, *descendants(self.process.pid)]
        files = 0
        for pid in family:
            with suppress(OSError):
                files += len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - quicker
        kept = 0
        for file in self.scratch.rglob("*"):
            with suppress(OSError):
                kept += file.stat().st_size if file.is_file() else 0
        megabytes = sum(map(resident_mb, family))
        return Look(seconds, answered, megabytes, len(family), files, kept / 1e6)


def _nothing_known(folder: Path) -> dict[str, str]:
    """An environment in which nobody has read any picture before."""
    return os.environ | {"UIPROOF_CACHE": str(folder.with_name(f"{folder.name}-cache"))}


@contextmanager
def serving(dataset: Path, options: argparse.Namespace) -> Iterator[Service]:
    """A warm service with the data set `pages`."""
    command = [sys.executable, "-m", "uiproof", "serve", "--port", "0"]
    command += ["--workers", str(options.workers), "--deadline", str(options.deadline)]
    command += ["--dataset", f"pages={dataset}"]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=_nothing_known(scratch) | {"TMPDIR": str(scratch)},
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            while httpx.get(f"{url}/ready").status_code != 200:
                time.sleep(0.1)
            yield Service(process, url, scratch)
        finally:
            process.terminate()
            process.wait()


@dataclass(frozen=True)
class Answer:
    """How one request ended."""

    name: str
    status: int
    seconds: float
    scores: dict | None


async def ask(
    url: str, pages: list[tuple[str, str]], concurrency: int, answers: list[Answer]
) -> None:
    """Send all pages, so many at a time."""
    turns = asyncio.Semaphore(concurrency)
    limits = httpx.Limits(max_connections=concurrency)
    async with httpx.AsyncClient(base_url=url, timeout=None, limits=limits) as client:

        async def one(name: str, html: str) -> None:
            async with turns:
                began = time.perf_counter()
                body = {"dataset": "pages", "case": name, "generated": html}
                answer = await client.post("/score", json=body)
                taken = time.perf_counter() - began
                answers.append(Answer(name, answer.status_code, taken, answer.json().get("scores")))

        await asyncio.gather(*(one(name, html) for name, html in pages))


def run_executor(pairs: Pairs, limit: int, workers: int, out: Path) -> float:
    """Seconds that `uiproof score` takes."""
    command = [sys.executable, "-m", "uiproof", "score", pairs.benchmark]
    command += [str(pairs.dataset), str(pairs.generated), "--quiet"]
    command += ["--workers", str(workers), "--limit", str(limit), "--out", str(out)]
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_nothing_known(out))
    return time.perf_counter() - began


def pairs_for(options: argparse.Namespace, count: int | None, target: Path) -> Pairs:
    """The pairs that were asked for."""
    return make_pairs(options.benchmark, options.reference, options.generated, count, target)


def compare(options: argparse.Namespace, work: Path) -> list[bool]:
    """The executor and the service on the same pairs, in turns."""
    pairs = pairs_for(options, options.pairs, work / "pairs")
    count = len(pairs.pages)
    ratios, latencies, same = [], [], True
    for number in range(options.rounds):
        few, out = options.workers, work / f"run{number}"
        start_up = run_executor(pairs, few, options.workers, work / f"few{number}")
        whole = run_executor(pairs, count, options.workers, out)
        executor = (count - few) / (whole - start_up)
        with serving(pairs.dataset, options) as service:
            answers: list[Answer] = []
            asyncio.run(ask(service.url, pairs.pages[:few], options.concurrency, answers))
            began = time.perf_counter()
            asyncio.run(ask(service.url, pairs.pages[few:], options.concurrency, answers))
            served = (count - few) / (time.perf_counter() - began)
        ratios.append(served / executor)
        latencies += [answer.seconds for answer in answers[few:]]
        journal = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
        expected = {record["id"]: record["scores"] for record in journal}
        same = same and expected == {answer.name: answer.scores for answer in answers}
        print(
            f"round {number + 1}: executor {executor:.2f} pages/s, service {served:.2f} pages/s, "
            f"ratio {served / executor:.2f}",
            flush=True,
        )
    ratio = statistics.median(ratios)
    print(f"latency at concurrency {options.concurrency}: {percentiles(latencies)}")
    return [
        verdict(ratio >= 1 - MOST_LOSS, f"throughput {ratio:.2f} of the process executor's"),
        verdict(same, f"the same scores for all {count} pairs"),
        verdict(quantile(latencies, 0.99) < options.deadline, "p99 below the deadline"),
    ]


def soak(options: argparse.Namespace, work: Path) -> list[bool]:
    """Many requests, some hostile, while the service is watched."""
    pairs = pairs_for(options, None, work / "soak")
    chance = random.Random(1)
    pages, hostile = [], Counter()
    for number, (name, page) in enumerate(islice(cycle(pairs.pages), options.requests)):
        html = f"{page}<!-- {number} -->"
        if chance.random() < options.hostile:
            kind = chance.choice(list(HOSTILE))
            hostile[kind] += 1
            html = HOSTILE[kind]
        pages.append((name, html))
    print(f"\nsoak: {len(pages)} requests, {hostile.total()} hostile: {dict(hostile)}")
    answers: list[Answer] = []
    with serving(pairs.dataset, options) as service:
        looks = asyncio.run(watched(service, pages, options, answers))
        metrics = httpx.get(f"{service.url}/metrics").text
    print(
        f"{'seconds':>8} {'answered':>8} {'RSS MB':>8} {'processes':>9} {'files':>6} {'kept MB':>8}"
    )
    for look in looks[:: max(len(looks) // ROWS, 1)]:
        print(
            f"{look.seconds:8.0f} {look.answered:8} {look.megabytes:8} {look.processes:9} "
            f"{look.files:6} {look.kept_megabytes:8.1f}"
        )
    print(f"latency: {percentiles([answer.seconds for answer in answers])}")
    print(f"answers by status: {dict(Counter(answer.status for answer in answers))}")
    for line in metrics.splitlines():
        if line.startswith(("uiproof_worker_deaths_total", "uiproof_reference_cache_total")):
            print(line)
    early, late = looks[len(looks) // 3 : 2 * len(looks) // 3], looks[2 * len(looks) // 3 :]
    growth = {
        name: statistics.median(getattr(look, name) for look in late)
        / max(statistics.median(getattr(look, name) for look in early), 1)
        - 1
        for name in ("megabytes", "processes", "files")
    }
    p99 = quantile([answer.seconds for answer in answers], 0.99)
    return [
        verdict(all(answer.status == 200 for answer in answers), "every request was answered"),
        verdict(p99 < options.deadline, f"p99 {p99:.1f} s below the deadline"),
        *(
            verdict(value <= MOST_GROWTH, f"{name}: {value:+.1%} from the middle third to the last")
            for name, value in growth.items()
        ),
    ]


async def watched(
    service: Service,
    pages: list[tuple[str, str]],
    options: argparse.Namespace,
    answers: list[Answer],
) -> list[Look]:
    """Send pages and look at the service all the while."""
    looks: list[Look] = []
    began = time.perf_counter()
    asking = asyncio.create_task(ask(service.url, pages, options.concurrency, answers))
    while not asking.done():
        look = await asyncio.to_thread(service.look, time.perf_counter() - began, len(answers))
        looks.append(look)
        await asyncio.wait({asking}, timeout=2)
    await asking
    return looks


def quantile(values: list[float], share: float) -> float:
    """The value that so many are below."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def percentiles(seconds: list[float]) -> str:
    """p50 and p99 for people."""
    return f"p50 {quantile(seconds, 0.5):.2f} s, p99 {quantile(seconds, 0.99):.2f} s"


def verdict(passed: bool, what: str) -> bool:
    """Print whether something holds."""
    print(f"{'pass' if passed else 'FAIL'}  {what}", flush=True)
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--benchmark", choices=("design2code", "interaction2code"), default="design2code"
    )
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--generated", type=Path)
    parser.add_argument("--requests", type=int, default=2_000, help="of the soak; 0 leaves it out")
    parser.add_argument("--pairs", type=int, default=100, help="of the comparison; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--hostile", type=float, default=0.05)
    parser.add_argument("--deadline", type=float, default=120)
    options = parser.parse_args()
    verdicts: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        if options.pairs:
            verdicts += compare(options, Path(folder))
        if options.requests:
            verdicts += soak(options, Path(folder))
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
