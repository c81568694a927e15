"""Pairs for `bench/serve.py`: a data set, generated pages in a folder, and the same as requests."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.design2code.cases import PLACEHOLDER, pages_in
from uiproof.benchmarks.interaction2code.cases import cases
from uiproof.benchmarks.interaction2code.methods import method
from uiproof.engine.context import Context
from uiproof.registry import resolve_dataset

_PAGES = frozenset({".html", ".htm", ".png"})


@dataclass(frozen=True)
class Pairs:
    """What the executor reads from folders, and the service gets as requests."""

    benchmark: str
    dataset: Path
    generated: Path
    pages: list[tuple[str, str]]  # the id of each case, and the HTML made for it


def make_pairs(
    benchmark: str, dataset: Path | None, generated: Path | None, count: int | None, target: Path
) -> Pairs:
    """`count` pairs under `target`, else as many as there are; no two of them alike."""
    dataset = dataset or resolve_dataset(f"{benchmark}-demo")[1]
    target.mkdir(parents=True)
    if benchmark == "design2code":
        return _whole_pages(dataset, generated or dataset.parent / "generated", count, target)
    return _interactions(dataset, generated, count, target)


def _whole_pages(dataset: Path, generated: Path, count: int | None, target: Path) -> Pairs:
    """A page that comes as a string has no files but the placeholder, so here it has no others."""
    theirs, ours = pages_in(dataset), pages_in(generated)
    names = sorted(ours.keys() & theirs.keys())
    if not names:
        raise SystemExit("The two folders have no names in common.")
    made = Pairs("design2code", target / "reference", target / "generated", [])
    made.dataset.mkdir()
    made.generated.mkdir()
    for file in dataset.iterdir():
        if file.is_file() and file.suffix.lower() not in _PAGES:
            shutil.copy(file, made.dataset)
            if file.name == PLACEHOLDER:
                shutil.copy(file, made.generated)
    for number, name in enumerate(islice(cycle(names), count or len(names))):
        mark = f"<!-- {number} -->"
        reference = theirs[name].read_bytes() + mark.encode()
        html = ours[name].read_text(errors="replace") + mark
        (made.dataset / f"{number}.html").write_bytes(reference)
        (made.generated / f"{number}.html").write_text(html)
        made.pages.append((str(number), html))
    return made


def _interactions(dataset: Path, generated: Path | None, count: int | None, target: Path) -> Pairs:
    """Pages of a folder, else those of the method that traces pictures."""
    maker = method("blueprint" if generated is None else f"replay:{generated}")
    found = [case for case in cases(dataset) if not isinstance(case, BrokenCase)]
    answers = [
        (case.id, asyncio.run(maker.answer(case.id, case.question, Context(case.id))).page.text)
        for case in found[:count]
    ]
    made = Pairs("interaction2code", target / "dataset", target / "generated", [])
    for number, (case_id, page) in enumerate(islice(cycle(answers), count or len(answers))):
        name, _, interaction = case_id.rpartition("/")
        copy = f"{name}-{number // len(answers)}"
        if not (made.dataset / copy).exists():
            shutil.copytree(dataset / name, made.dataset / copy)
            (made.generated / copy).mkdir(parents=True)
        html = f"{page}<!-- {number} -->"
        (made.generated / copy / f"{interaction}.html").write_text(html)
        made.pages.append((f"{copy}/{interaction}", html))
    return made
