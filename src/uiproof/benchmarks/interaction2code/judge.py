"""The Interaction2Code judge: acts on generated pages and compares what happens.

The page is opened in a fresh context for every interaction, the element found, the action done with
real input events; pictures before and after are compared with the published ones, and the verifier
decides whether the interaction works.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from uiproof.benchmarks.interaction2code.actions import named_in
from uiproof.benchmarks.interaction2code.cases import Answer, InteractionCase, Question, Truth
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.details import (
    Round,
    facts,
    flags_of,
    generated_as_json,
    reference_as_json,
    sequence_as_json,
    verdict_as_json,
)
from uiproof.benchmarks.interaction2code.judging.finding import Wanted
from uiproof.benchmarks.interaction2code.judging.playing import Act, Probes, act, again
from uiproof.benchmarks.interaction2code.judging.reading import Reader
from uiproof.benchmarks.interaction2code.judging.reference import Reference, References
from uiproof.benchmarks.interaction2code.judging.scoring import (
    Changed,
    changed,
    full_scores,
    part_scores,
)
from uiproof.benchmarks.interaction2code.judging.sequences import play
from uiproof.benchmarks.interaction2code.layout import TruthFiles
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES
from uiproof.benchmarks.interaction2code.verifier import verify
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.page_files import generated_page
from uiproof.boxes import PixelBox
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.keeping import keep_page
from uiproof.browser.stage import Stage
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Judge, Score
from uiproof.errors import InputError, MissingDependencyError
from uiproof.settings import Settings
from uiproof.vision.images import Rgb, encode_png

# Set to 1, positions of the `paper` profile come from the published contour rule, which in more
# than half of the published pictures does not find the mark.
PUBLISHED_CONTOURS = "UIPROOF_PUBLISHED_CONTOURS"


@dataclass(slots=True)
class _Clock:
    """Seconds by step, for people who want to know where the time goes."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - began


class Interaction2CodeJudge(Judge[Question, Truth, Answer]):
    """Scores interactions. One warm browser; nothing starts before the first page.

    With a `run` directory the pictures are kept in it; without one nothing is written but what was
    read on pictures, which is kept in the cache.
    """

    def __init__(
        self,
        run: Path | None = None,
        *,
        limits: Limits | None = None,
        readings: Path | None = None,
        renderer: Renderer | None = None,
    ) -> None:
        self._run = run
        self._renderer = renderer or Renderer(limits)  # a thread can have only one
        self._readings = readings
        self._references = References()

    def score(self, case: InteractionCase, answer: Answer) -> Score:
        """Act on a generated page and compare it with what the data set shows."""
        clock = _Clock()
        graph, interaction = case.truth.graph, case.truth.interaction
        with clock("reference"):
            reference = self._references.get(graph, interaction)
        answer = replace(answer, page=generated_page(answer.page))
        page = without_the_truth(answer.page, graph)
        reading = self._reader.seconds
        played = self._play(page, answer, graph, interaction, reference, clock)
        with clock("compare"):
            ours = changed(played.act, played.noise)
            flags: list[str] = []
            scores = self._scores(reference, played, ours, flags)
        clock.seconds["ocr"] = self._reader.seconds - reading
        score = Score(
            scores,
            details={
                **facts(case.truth),
                "verdict": verdict_as_json(played.verdict),
                "saliency": reference.saliency,
                "reference": reference_as_json(reference),
                "generated": generated_as_json(played, ours),
                **sequence_as_json(graph, interaction, answer, played),
                "seconds": {step: round(taken, 3) for step, taken in clock.seconds.items()},
            },
            flags=(
                *flags_of(reference, played, ours),
                *(f"generated:{note}" for note in page.notes),
                *flags,
            ),
        )
        if self._run is None:
            return score
        kept = self._keep(RunDirectory(self._run), case, reference, answer, played)
        return replace(score, artifacts=kept)

    def picture(self, case: InteractionCase, answer: Answer) -> bytes:
        """A screenshot of a generated page, the very one that its scores are taken from."""
        graph, interaction = case.truth.graph, case.truth.interaction
        reference = self._references.get(graph, interaction)
        page = without_the_truth(generated_page(answer.page), graph)
        with self._renderer.stage(page, reference.window) as stage:
            return stage.screenshot()

    def failure(self, case: InteractionCase | None) -> Score:
        """Nothing was made, so nothing is there to act on."""
        evidence = "There is no page, or it could not be judged: nothing can be acted on."
        verdict = Verdict(False, False, "a", (evidence,), 1.0)
        return Score(
            {
                **{profile: _nothing() for profile in PROFILES},
                "implemented": 0.0,
                "usable": 0.0,
            },
            details={
                **({} if case is None else facts(case.truth)),
                "verdict": verdict_as_json(verdict),
            },
        )

    @property
    def references_made(self) -> int:
        """How many references had to be read from their pictures so far; others were known."""
        return self._references.loaded

    def close(self) -> None:
        """End the browser."""
        self._renderer.close()

    def _play(
        self,
        page: PageSource,
        answer: Answer,
        graph: Graph,
        interaction: Interaction,
        reference: Reference,
        clock: _Clock,
    ) -> Round:
        """Act on a page that is opened for this, and let the verifier look at it."""
        # A page for one interaction shows what that starts from; one for all has to be led there.
        way = graph.way_to(interaction) if answer.form == "all" else ()
        steps = [self._wanted(graph, one, answer) for one in way]
        probes = Probes(self._renderer, page, reference.window, steps)
        with self._renderer.stage(page, reference.window) as stage:
            with clock("act"):
                led = play(way, lambda one: self._step(stage, graph, one, answer)) if way else None
                done = act(stage, self._wanted(graph, interaction, answer))
                noise = probes.noise(done.before)
            with clock("verify"):
                verdict = self._verdict(stage, done, noise, reference, interaction, probes)
            flags = tuple(sorted(stage.flags))
        return Round(done, noise, verdict, led, flags)

    def _step(
        self, stage: Stage, graph: Graph, interaction: Interaction, answer: Answer
    ) -> str | None:
        """One interaction on the way to another; None if it works, else what is wrong with it."""
        reference = self._references.get(graph, interaction)
        done = act(stage, self._wanted(graph, interaction, answer))
        verdict = self._verdict(stage, done, None, reference, interaction, None)
        if verdict.usable:
            return None
        return verdict.evidence[0] if verdict.evidence else f"failure {verdict.failure}"

    def _verdict(
        self,
        stage: Stage,
        done: Act,
        noise: Mask | None,
        reference: Reference,
        interaction: Interaction,
        probes: Probes | None,
    ) -> Verdict:
        generated = GeneratedEvidence(
            before=done.before.picture,
            snapshot=done.before.snapshot,
            found=done.found.element if done.found else None,
            found_by=done.found.by if done.found else None,
            outcome=done.outcome,
            noise=noise,
            viewport=reference.window,
        )
        if probes is not None:
            # To act once more would take the page away from interactions that are yet to come.
            repeat = again(stage, done, done.action or interaction.action)
            generated = replace(
                generated, attempt=probes.attempt, again=repeat, elsewhere=probes.elsewhere
            )
        # Parts of these need not be read: they are read as a whole for the scores.
        wholes = (
            (reference.before, lambda: self._reader.lines(reference.before)),
            (reference.after, lambda: self._reader.lines_after(reference.before, reference.after)),
        )
        return verify(
            ReferenceEvidence(
                before=reference.before,
                after=reference.after,
                action=interaction.action,
                trigger=reference.trigger,
                effect=reference.effect,
                sentence=interaction.sentence,
                name=named_in(interaction.sentence),
                tags=interaction.tags,
                visuals=interaction.visuals,
                description=interaction.description,
                reverts=reference.reverts,
                read=lambda crop: self._reader.part(crop, wholes),
            ),
            generated,
        )

    def _wanted(self, graph: Graph, interaction: Interaction, answer: Answer) -> Wanted:
        reference = self._references.get(graph, interaction)
        return Wanted(
            number=interaction.id,
            action=interaction.action,
            form=answer.form,
            trigger=reference.trigger,
            size=reference.size,
            name=named_in(interaction.sentence),
            first=lambda: self._mark_of_the_first(graph, interaction),
        )

    def _mark_of_the_first(self, graph: Graph, interaction: Interaction) -> PixelBox | None:
        """The mark of interaction 1, where another one is judged."""
        for one in graph.interactions:
            if one.id == "1" and one.id != interaction.id:
                with suppress(InputError):
                    return self._references.get(graph, one).trigger
        return None

    def _scores(
        self, reference: Reference, played: Round, ours: Changed, flags: list[str]
    ) -> dict[str, Any]:
        embed = self._clip.embed if self._clip is not None else None
        contours = os.environ.get(PUBLISHED_CONTOURS, "") not in ("", "0")
        full = full_scores(reference, played.act.loaded, self._reader, embed, flags)
        if played.verdict.implemented and played.act.after is not None:
            part = part_scores(
                reference, played.act, ours, self._reader, embed, flags, contours=contours
            )
        else:
            part = {profile: dict.fromkeys(PART, 0.0) for profile in PROFILES}
        return {
            **{profile: {"full": full[profile], "part": part[profile]} for profile in PROFILES},
            "implemented": float(played.verdict.implemented),
            "usable": float(played.verdict.usable),
        }

    @cached_property
    def _reader(self) -> Reader:
        folder = self._readings or Settings.from_environment().cache_dir / "readings"
        return Reader(folder)

    @cached_property
    def _clip(self) -> Any:
        from uiproof.vision.clip import ClipModel, find_weights

        try:
            weights = find_weights()
            return None if weights is None else ClipModel(weights)
        except InputError as error:
            # The machine is at fault, not the page: this ends the run instead of failing its cases.
            raise MissingDependencyError(error.message, remedy=error.remedy) from error

    def _keep(
        self,
        run: RunDirectory,
        case: InteractionCase,
        reference: Reference,
        answer: Answer,
        played: Round,
    ) -> Mapping[str, str]:
        """Write what a report shows of a case; returns where it is, inside the run."""
        folder = run.artifact_dir(case.id)
        kept = {
            "generated_before": folder / "generated_before.png",
            "page": folder / "page.html",
        }
        kept["generated_before"].write_bytes(played.act.before.png)
        keep_page(without_the_truth(answer.page, case.truth.graph), kept["page"])
        if played.act.after is not None:
            kept["generated_after"] = folder / "generated_after.png"
            kept["generated_after"].write_bytes(played.act.after.png)
        truth = case.truth
        shared = run.path / "references" / quote(truth.graph.page, safe=" ")
        for name, node, picture in (
            ("reference_before", truth.interaction.source, reference.before),
            ("reference_after", truth.interaction.target, reference.after),
        ):
            kept[name] = shared / f"{quote(node, safe=' ')}.png"
            _write_once(kept[name], picture, truth.graph.screenshot(node))
        return {name: path.relative_to(run.path).as_posix() for name, path in kept.items()}


def without_the_truth(page: PageSource, graph: Graph) -> PageSource:
    """A generated page, kept from showing what it is compared with."""
    if page.folder is None:
        return page
    return replace(page, withheld=TruthFiles.of(graph, page.path))


def _nothing() -> dict[str, Any]:
    return {"full": dict.fromkeys(FULL, 0.0), "part": dict.fromkeys(PART, 0.0)}


def _write_once(path: Path, picture: Rgb, file: Path) -> None:
    """Interactions share screenshots, and so do worker processes.

    `file` is where the picture was read: copied where it shows just that, which is much quicker.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid4().hex}")
    partial.write_bytes(_as_published(file, picture) or encode_png(picture))
    with suppress(FileNotFoundError):
        partial.replace(path)


def _as_published(file: Path, picture: Rgb) -> bytes | None:
    """The bytes of a PNG file, if it has the size of a picture that was read from it."""
    data = file.read_bytes()
    size = struct.pack(">II", picture.shape[1], picture.shape[0])
    return data if data.startswith(b"\x89PNG\r\n\x1a\n") and data[16:24] == size else None
