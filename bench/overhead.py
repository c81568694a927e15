"""What a case costs, and how much of that is neither Chromium nor OCR nor CLIP.

    python bench/overhead.py                                   the bundled pages
    python bench/overhead.py design2code --reference REAL --generated OURS
    python bench/overhead.py interaction2code --reference DATASET [--generated PAGES] [--limit 20]
    python bench/overhead.py design2code --clip                CLIP, too: its size, random weights
    python bench/overhead.py --json costs.json

Each benchmark is judged by one warm judge in a process of its own, case by case, as a worker does
it: the case comes pickled, is judged, its pictures are written, the score goes back pickled and
into a journal. Answers are made before; for grounding, where judging is next to nothing, the
built-in `ocr` method answers as part of the case. Nothing is known before: no reading is cached.
The first case (the first screenshot of grounding) starts browser and models and is told apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from clip_stand_in import write_stand_in
from cpu import Clocks, Meter, Spent, adopt_orphans, memory_mb
from uiproof.benchmark import BrokenCase, Judge, Record, Score
from uiproof.engine.context import Context
from uiproof.engine.executors import perform
from uiproof.engine.rundir import Journal, RunDirectory, encode
from uiproof.registry import benchmarks, resolve_dataset

BENCHMARKS = ("design2code", "interaction2code", "grounding")
LIMIT = 20
PROMISE = 0.2

Work = Iterator[tuple[bool, Callable[[], Score]]]  # whether all is warm by then, and the case


@dataclass(frozen=True, slots=True)
class Place:
    """What is measured, and where its files go."""

    benchmark: str
    reference: Path | None
    generated: Path | None
    limit: int
    folder: Path
    clip: bool = False  # with a network of CLIP's size

    @property
    def dataset(self) -> Path:
        """The data set that was given, else the bundled one."""
        return self.reference or resolve_dataset(f"{self.benchmark}-demo")[1]

    @property
    def run(self) -> RunDirectory:
        """Where journal and pictures go."""
        return RunDirectory(self.folder / "run")


def measure(place: Place) -> dict[str, Any]:
    """Judge the cases of one benchmark; what each of them cost, and what the first one did."""
    adopt_orphans()
    os.environ["UIPROOF_CACHE"] = str(place.folder / "cache")
    if place.clip:
        os.environ["UIPROOF_CLIP"] = str(write_stand_in(place.folder / "clip.onnx"))
    clocks = Clocks()
    place.run.create()
    benchmark = benchmarks()[place.benchmark]
    judge = benchmark.judge(place.run.path, benchmark.judge_options())
    spent: list[Spent] = []
    start = Spent()
    steps: Counter[str] = Counter()
    with Journal(place.run.journal) as journal:
        before = _size(place.run.path), _size(place.run.journal)
        for number, (warm, case) in enumerate(_work(place, judge)):
            with Meter(clocks) as meter:
                _finish(str(number), case, journal)
            if warm:
                spent.append(meter.spent)
                steps.update(meter.steps)
            else:
                start = start + meter.spent
                before = _size(place.run.path), _size(place.run.journal)
    memory = memory_mb()
    judge.close()
    if not spent:
        raise SystemExit(f"{place.benchmark}: there are too few cases.")
    journal_bytes = _size(place.run.journal) - before[1]
    kept = _size(place.run.path) - before[0] - journal_bytes
    return {
        "benchmark": place.benchmark,
        "cases": [asdict(one) for one in spent],
        "start": asdict(start),
        "steps": {step: seconds / len(spent) for step, seconds in steps.items()},
        "journal_bytes": journal_bytes / len(spent),
        "artifact_bytes": kept / len(spent),
        "input_bytes": _size(place.dataset) / max(len(list(_cases(place))), 1),
        "memory_mb": memory,
    }


def _finish(name: str, case: Callable[[], Score], journal: Journal) -> None:
    """One case from request to journal."""
    score: Score = pickle.loads(pickle.dumps(case()))
    journal.append(
        encode(
            Record(
                id=name,
                status="scored",
                scores=score.scores,
                details=score.details,
                artifacts=score.artifacts,
                flags=score.flags,
            )
        )
    )


def _work(place: Place, judge: Judge[Any, Any, Any]) -> Work:
    if place.benchmark == "grounding":
        return _grounding(place, judge)
    return _judged(judge, _answers(place))


def _judged(judge: Judge[Any, Any, Any], answers: Iterable[tuple[Any, Any]]) -> Work:
    for number, (case, answer) in enumerate(list(answers)):
        request = pickle.dumps((case, answer))
        yield number > 0, lambda request=request: perform(judge, "score", *pickle.loads(request))


def _answers(place: Place) -> Iterator[tuple[Any, Any]]:
    """Cases with pages that were made for them, as far as there are such."""
    if place.benchmark == "design2code":
        from uiproof.benchmarks.design2code.cases import cases, pages_in
        from uiproof.browser import PageSource

        generated = pages_in(place.generated or place.dataset.parent / "generated")
        found = [case for case in cases(place.dataset) if case.id in generated]
        for case in islice(found, place.limit):
            yield case, PageSource.from_file(generated[case.id])
        return
    yield from _pages_for_interactions(place)


def _pages_for_interactions(place: Place) -> Iterator[tuple[Any, Any]]:
    """The pages of a folder, else those of the method that traces pictures."""
    from uiproof.benchmarks.interaction2code.cases import cases
    from uiproof.benchmarks.interaction2code.methods import method

    name = "blueprint" if place.generated is None else f"replay:{place.generated}"
    found = [case for case in cases(place.dataset) if not isinstance(case, BrokenCase)]
    step = max(len(found) // place.limit, 1)  # from all pages, not only the first ones
    # What the tracing reads, the judge must not find.
    with tempfile.TemporaryDirectory() as other:
        before, os.environ["UIPROOF_CACHE"] = os.environ["UIPROOF_CACHE"], other
        maker = method(name)
        for case in islice(found, 0, place.limit * step, step):
            yield case, asyncio.run(maker.answer(case.id, case.question, Context(case.id)))
        os.environ["UIPROOF_CACHE"] = before


def _grounding(place: Place, judge: Judge[Any, Any, Any]) -> Work:
    from uiproof.benchmarks.grounding.methods import make_method

    maker = make_method("ocr@none", connect=_no_model)
    loop = asyncio.new_event_loop()

    def answer_and_judge(case: Any) -> Score:
        answer = loop.run_until_complete(maker.answer(case.id, case.question, Context(case.id)))
        request = pickle.dumps((case, answer))
        score: Score = perform(judge, "score", *pickle.loads(request))
        return score

    # All elements of a screenshot, or none: it is read once for all of them.
    screens = groupby(_cases(place), lambda case: case.id.rpartition("/")[0])
    for number, (_, elements) in enumerate(islice(screens, max(place.limit // 4, 2))):
        for case in elements:
            yield number > 0, lambda case=case: answer_and_judge(case)
    loop.run_until_complete(maker.close())
    loop.close()


def _no_model(name: str) -> Any:
    raise SystemExit(f"{name} is not needed here.")


def _cases(place: Place) -> Iterable[Any]:
    return benchmarks()[place.benchmark].cases(place.dataset)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def shown(found: dict[str, Any]) -> str:
    """The table of one benchmark."""
    cases = [Spent(**one) for one in found["cases"]]
    n = len(cases)
    total = sum(one.total for one in cases) / n
    parts = {
        name: sum(getattr(one, name) for one in cases) / n
        for name in ("chromium", "ocr", "clip", "inpaint", "own")
    }
    lines = [f"{found['benchmark']}: {n} cases, processor seconds per case", ""]

    def line(name: str, seconds: float) -> None:
        lines.append(f"  {name:<34}{seconds:>8.3f} s {seconds / total:>7.1%}")

    line("Chromium", parts["chromium"])
    line("OCR engine", parts["ocr"])
    if parts["clip"]:
        line("CLIP (its size, random weights)", parts["clip"])
        line("inpainting for CLIP", parts["inpaint"])
    else:
        lines.append(f"  {'CLIP':<34}not measured; --clip does it with random weights")
    line("own Python", parts["own"])
    for step, seconds in sorted(found["steps"].items(), key=lambda item: -item[1]):
        if seconds >= 0.001 * total:
            line(f"    {step}", seconds)
    line("all", total)
    spread = statistics.quantiles([one.total for one in cases], n=20) if n > 1 else [total] * 19
    lines.append(
        f"  median {spread[9]:.2f} s, 95 % below {spread[18]:.2f} s; the first case, with starting "
        f"the browser and models, {Spent(**found['start']).total:.2f} s"
    )
    lines.append(
        f"  per case {found['journal_bytes'] / 1e3:.1f} kB of journal and "
        f"{found['artifact_bytes'] / 1e3:.0f} kB of pictures; at the end "
        f"{found['memory_mb']:.0f} MB in memory, browser included"
    )
    ours = overhead(found)
    verdict = "kept" if ours < PROMISE else "NOT kept"
    lines.append(f"  own overhead {ours:.1%}; under {PROMISE:.0%}: {verdict}")
    return "\n".join(lines)


def overhead(found: dict[str, Any]) -> float:
    """Return the share of a case's processor seconds that is ours."""
    cases = [Spent(**one) for one in found["cases"]]
    return sum(one.own for one in cases) / sum(one.total for one in cases)


def in_own_process(benchmark: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one benchmark where no other has left anything."""
    command = [sys.executable, __file__, benchmark, "--limit", str(options.limit), "--inside"]
    command += ["--clip"] * options.clip
    for name in ("reference", "generated"):
        if (value := getattr(options, name)) is not None:
            command += [f"--{name}", str(value)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=-1).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", nargs="?", choices=BENCHMARKS)
    parser.add_argument("--reference", type=Path, help="a data set; bundled pages unless given")
    parser.add_argument("--generated", type=Path, help="pages that were made for it")
    parser.add_argument("--limit", type=int, default=LIMIT, help="cases of each benchmark")
    parser.add_argument(
        "--clip", action="store_true", help="with a network of CLIP's size and random weights"
    )
    parser.add_argument("--json", type=Path, help="write the costs here, for bench/scale.py")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference and not options.benchmark:
        parser.error("say which benchmark the data set belongs to")
    if options.inside:
        with tempfile.TemporaryDirectory(prefix="uiproof-bench-") as folder:
            place = Place(
                options.benchmark,
                options.reference,
                options.generated,
                options.limit,
                Path(folder),
                options.clip,
            )
            print(json.dumps(measure(place)))
        return
    names = [options.benchmark] if options.benchmark else BENCHMARKS
    measured = []
    for name in names:
        measured.append(in_own_process(name, options))
        print(shown(measured[-1]), end="\n\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
