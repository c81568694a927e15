"""How often the verifier types seeded failures right.

    python tests/benchmarks/interaction2code/mutations/measure.py [--pages newsroom portal]
        [--types b i] [--limit 200] [--most 3] [--json FILE] [--record FILE] [--show-held]

Errors on held pages are counted and, unless asked for, not listed: rules that were made while
looking at the others have to hold there too.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from record import Recording

from mutations.dataset import make_dataset, write_source
from mutations.mutate import TYPES, Mutant, Scene, candidates, scene, valid
from mutations.pages import Page, Working, load_pages
from mutations.session import Session

SEED = 20310514
MOST = 3  # mutants of one type for one interaction


@dataclass(frozen=True)
class Outcome:
    """What the verifier said about a mutant."""

    mutant: Mutant
    failure: str
    usable: bool
    evidence: tuple[str, ...]

    @property
    def type_right(self) -> bool:
        """Whether it named the failure."""
        return self.failure == self.mutant.type

    @property
    def usable_right(self) -> bool:
        """Whether it decided well."""
        return self.usable == self.mutant.usable


def choose(
    session: Session,
    page: Page,
    it: Working,
    folder: Path,
    *,
    types: Iterable[str] = TYPES,
    most: int = MOST,
    seed: int = SEED,
) -> Iterator[Mutant]:
    """Up to `most` valid mutants of each type, the same ones for the same seed.

    Every second one that breaks something also has a harmless difference, as rebuilt pages do.
    """
    one = scene(session, page, it, folder)
    chance = random.Random(f"{seed} {page.name} {it.number}")
    found = list(candidates(one))
    chance.shuffle(found)
    for type_ in (type_ for type_ in TYPES if type_ in set(types)):
        kept = 0
        for mutant in (mutant for mutant in found if mutant.type == type_):
            if kept == most:
                break
            if valid(session, one, mutant, folder):
                kept += 1
                yield _roughened(one, mutant, chance) if kept % 2 else mutant


def _roughened(one: Scene, mutant: Mutant, chance: random.Random) -> Mutant:
    """A mutant that also differs from the working page in something that does not matter."""
    from mutations import ways_harmless as harmless

    differences = (
        harmless.slightly_other_spacing,
        harmless.slightly_larger_words,
        harmless.slightly_other_colours,
        harmless.everything_shifted_by_eight_pixels,
    )
    difference = chance.choice(differences)
    if mutant.type == "none":
        return mutant
    html = difference(replace(one, page=replace(one.page, html=mutant.html)))
    name = f"{mutant.name}, {difference.__name__.replace('_', ' ')}"
    return replace(mutant, html=html or mutant.html, name=name)


class Assessor:
    """Judges mutants the way that `uiproof score` judges generated pages.

    The judge has a thread of its own.
    """

    def __init__(self, folder: Path, recording: Recording | None = None) -> None:
        from record import VerdictJudge

        self._folder = folder
        self._recording = recording
        self._judge = VerdictJudge(readings=folder / "readings")
        self._cases: dict[str, Any] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="judge")
        self._number = 0

    def add(self, session: Session, page: Page, *, structured: bool = True) -> None:
        """Make the data set of a page, against which its mutants are judged."""
        from uiproof.benchmark import BrokenCase
        from uiproof.benchmarks.interaction2code.cases import cases

        make_dataset(session, page, self._folder / "data" / page.name, structured=structured)
        for case in cases(self._folder / "data" / page.name):
            if isinstance(case, BrokenCase):
                raise case.error
            self._cases[case.id] = case

    def judge(self, mutant: Mutant) -> Future[Outcome]:
        """What the verifier says about a mutant, all interactions of its page being in it."""
        return self._thread.submit(self._outcome, mutant)

    def _outcome(self, mutant: Mutant) -> Outcome:
        from uiproof.benchmarks.interaction2code.cases import Answer
        from uiproof.browser.source import PageSource

        self._number += 1
        file = write_source(
            mutant.page, mutant.html, self._folder / "generated", f"{self._number:04}"
        )
        case = self._cases[f"{mutant.page.name}/{mutant.it.number}"]
        told = nullcontext()
        if self._recording is not None:
            label = {"type": mutant.type, "usable": mutant.usable}
            told = self._recording.of(mutant.id, label)
        try:
            with told:
                score = self._judge.score(case, Answer(PageSource.from_file(file), "all"))
        except Exception as error:  # noqa: BLE001 - it counts as wrong, and the others go on
            return Outcome(
                mutant, "error", not mutant.usable, (f"{type(error).__name__}: {error}",)
            )
        verdict = score.details["verdict"]
        return Outcome(mutant, verdict["failure"], verdict["usable"], tuple(verdict["evidence"]))

    def close(self) -> None:
        """End the browser of the judge, in the thread that it was started in."""
        self._thread.submit(self._judge.close).result()
        self._thread.shutdown()


def measure(
    pages: list[Page],
    folder: Path,
    *,
    types: Iterable[str] = TYPES,
    most: int = MOST,
    limit: int | None = None,
    recording: Recording | None = None,
) -> Iterator[Outcome]:
    """Judge the mutants of pages one after the other; with a limit, a seeded sample of about it."""
    share = 1.0 if limit is None else min(limit / (sum(len(p.interactions) for p in pages) * 26), 1)
    chance = random.Random(SEED)
    types = list(types)
    assessor = Assessor(folder, recording)
    try:
        with Session() as session:
            for number, page in enumerate(pages):
                assessor.add(session, page, structured=number % 4 != 3)
                for it in page.interactions:
                    wanted = [type_ for type_ in types if chance.random() < min(1, share * most)]
                    few = most if share >= 1 else 1
                    chosen = choose(session, page, it, folder / "work", types=wanted, most=few)
                    for outcome in [assessor.judge(mutant) for mutant in chosen]:
                        yield outcome.result()
    finally:
        assessor.close()


def report(outcomes: list[Outcome], *, show_held: bool) -> str:
    """The accuracies, the recall of each type, who was taken for whom, and the errors."""
    lines = []
    groups = (
        ("all", outcomes),
        ("dev", _of(outcomes, held=False)),
        ("held", _of(outcomes, held=True)),
    )
    for name, group in groups:
        if group:
            rates = f"types {accuracy(group):6.1%}  usable {usability(group):6.1%}"
            lines.append(f"{name:5} {rates}  n = {len(group)}")
    lines += ["", "recall by type", _recalls(outcomes), "", "rows: label, columns: verdict"]
    lines += _matrix(outcomes)
    wrong = [one for one in outcomes if not (one.type_right and one.usable_right)]
    for one in wrong:
        if show_held or not one.mutant.page.held:
            grave = "" if one.usable_right else f", usable should be {one.mutant.usable}"
            lines.append(f"\n{one.mutant.id}\n  verdict {one.failure}{grave}")
            lines += [f"  - {line}" for line in one.evidence]
    return "\n".join(lines)


def accuracy(outcomes: list[Outcome]) -> float:
    """The share of right types."""
    return sum(one.type_right for one in outcomes) / max(len(outcomes), 1)


def usability(outcomes: list[Outcome]) -> float:
    """The share of right decisions about usability."""
    return sum(one.usable_right for one in outcomes) / max(len(outcomes), 1)


def _of(outcomes: list[Outcome], *, held: bool) -> list[Outcome]:
    return [one for one in outcomes if one.mutant.page.held == held]


def _recalls(outcomes: list[Outcome]) -> str:
    groups = {type_: [o for o in outcomes if o.mutant.type == type_] for type_ in TYPES}
    return "  ".join(
        f"{type_} {accuracy(group):.0%} of {len(group)}" for type_, group in groups.items() if group
    )


def _matrix(outcomes: list[Outcome]) -> list[str]:
    count = Counter((one.mutant.type, one.failure) for one in outcomes)
    said = (*TYPES, "error")
    lines = ["     " + "".join(f"{type_:>6}" for type_ in said)]
    for label in TYPES:
        lines.append(f"{label:5}" + "".join(f"{count[label, one] or '.':>6}" for one in said))
    return lines


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", nargs="*", help="names of pages; all without")
    parser.add_argument("--types", nargs="*", default=list(TYPES), help="labels; all without")
    parser.add_argument("--limit", type=int, help="about how many mutants, as a seeded sample")
    parser.add_argument("--most", type=int, default=MOST, help="mutants of a type per interaction")
    parser.add_argument("--json", type=Path, help="where to write every outcome")
    parser.add_argument("--show-held", action="store_true", help="list errors on held pages too")
    parser.add_argument("--record", type=Path, help="where to write the evidence of all mutants")
    parser.add_argument("--keep", type=Path, help="keep the pages and pictures here")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    recording = Recording() if options.record else None
    with tempfile.TemporaryDirectory(prefix="mutations-") as made:
        folder = options.keep or Path(made)
        pages = load_pages(options.pages)
        # Ctrl-C still prints the report.
        with suppress(KeyboardInterrupt):
            for one in measure(
                pages,
                folder,
                types=options.types,
                most=options.most,
                limit=options.limit,
                recording=recording,
            ):
                outcomes.append(one)
                sys.stderr.write("." if one.type_right else one.failure[0])
                sys.stderr.flush()
    sys.stderr.write("\n")
    sys.stdout.write(report(outcomes, show_held=options.show_held) + "\n")
    if recording is not None:
        recording.save(options.record)
    if options.json:
        options.json.write_text(json.dumps([_as_json(one) for one in outcomes], indent=1), "utf-8")


def _as_json(one: Outcome) -> dict[str, Any]:
    return {
        "page": one.mutant.page.name,
        "interaction": one.mutant.it.number,
        "mutation": one.mutant.name,
        "held": one.mutant.page.held,
        "label": {"failure": one.mutant.type, "usable": one.mutant.usable},
        "verdict": {"failure": one.failure, "usable": one.usable, "evidence": list(one.evidence)},
    }


if __name__ == "__main__":
    main()
