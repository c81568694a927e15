"""The Interaction2Code judge: acts on generated pages and compares the effect.

The page is opened in a fresh context for every interaction, the element found, the action done with
real input events; pictures before and after are compared with the published ones, and the verifier
decides whether the interaction works.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import dist
from pathlib import Path
from typing import Any
from urllib.parse import quote

from uiproof.benchmark import Judge, Score
from uiproof.benchmarks.interaction2code.actions import named_in
from uiproof.benchmarks.interaction2code.cases import Answer, InteractionCase, Question, Truth
from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, TruthFiles
from uiproof.benchmarks.interaction2code.judging.acts import (
    Act,
    PathResult,
    Probes,
    act,
    path_to,
    play,
    repeat,
)
from uiproof.benchmarks.interaction2code.judging.reference import Reference, References
from uiproof.benchmarks.interaction2code.judging.scores import (
    ChangedRegion,
    changed,
    full_scores,
    part_scores,
    zeros,
)
from uiproof.benchmarks.interaction2code.judging.text import Reader
from uiproof.benchmarks.interaction2code.judging.triggers import TriggerQuery
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, UNSURE
from uiproof.benchmarks.interaction2code.verifier import (
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
    verify,
)
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.benchmarks.interaction2code.verifier.text_compare import plain
from uiproof.benchmarks.page_files import generated_page
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.foreign import web_details
from uiproof.browser.source import keep_page
from uiproof.browser.stage import Stage
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, MissingDependencyError
from uiproof.files import write_atomic
from uiproof.geometry import PixelBox
from uiproof.settings import Settings
from uiproof.vision.images import Rgb, encode_png
from uiproof.web import FrozenWeb


@dataclass(slots=True)
class _Clock:
    """Seconds spent by step."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - began


@dataclass(frozen=True, slots=True)
class _JudgedAct:
    """One interaction on a generated page, with its verdict."""

    act: Act
    noise: Mask | None
    verdict: Verdict
    way: PathResult | None  # of the interactions that lead to it
    flags: tuple[str, ...]
    web: Mapping[str, Any] = field(default_factory=dict)  # what the page asked of other hosts


class Interaction2CodeJudge(Judge[Question, Truth, Answer]):
    """Scores interactions. One warm browser; nothing starts before the first page.

    With a `run` directory the pictures are kept in it; without one only OCR readings are written,
    into the cache. With `contours`, positions of the `paper` profile follow the published rule,
    which does not find the mark in more than half of the published pictures.
    """

    def __init__(
        self,
        run: Path | None = None,
        *,
        limits: Limits | None = None,
        web: FrozenWeb | None = None,
        readings: Path | None = None,
        renderer: Renderer | None = None,
        contours: bool = False,
    ) -> None:
        self._run, self._contours = run, contours
        self._renderer = renderer or Renderer(limits, web=web)  # a thread can have only one
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
                **_facts(case.truth),
                "verdict": _verdict_as_json(played.verdict),
                "saliency": reference.saliency,
                "reference": _reference_as_json(reference),
                "generated": _generated_as_json(played, ours),
                **_sequence_as_json(graph, interaction, answer, played),
                **web_details(generated=played.web),
                "seconds": {step: round(taken, 3) for step, taken in clock.seconds.items()},
            },
            flags=(
                *_flags_of(reference, played, ours),
                *(f"generated:{note}" for note in page.notes),
                *flags,
            ),
        )
        if self._run is None:
            return score
        kept = self._keep(RunDirectory(self._run), case, reference, answer, played)
        return replace(score, artifacts=kept)

    def picture(self, case: InteractionCase, answer: Answer) -> bytes:
        """Return the screenshot of a generated page that its scores are taken from."""
        graph, interaction = case.truth.graph, case.truth.interaction
        reference = self._references.get(graph, interaction)
        page = without_the_truth(generated_page(answer.page), graph)
        with self._renderer.stage(page, reference.window) as stage:
            return stage.screenshot()

    def failure(self, case: InteractionCase | None) -> Score:
        """Return the score of a page that is missing or could not be judged."""
        evidence = "There is no page, or it could not be judged: nothing can be acted on."
        verdict = Verdict(False, False, Failure.MISSING, (evidence,), 1.0)
        clip = _measures_clip()
        return Score(
            {
                **{
                    profile: {"full": zeros(FULL, clip=clip), "part": zeros(PART, clip=clip)}
                    for profile in PROFILES
                },
                "implemented": 0.0,
                "usable": 0.0,
            },
            details={
                **({} if case is None else _facts(case.truth)),
                "verdict": _verdict_as_json(verdict),
            },
        )

    @property
    def references_made(self) -> int:
        """Return how many references had to be read from their pictures so far."""
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
    ) -> _JudgedAct:
        """Open a page, act on it, and let the verifier judge it."""
        # A page for one interaction shows what that starts from; one for all has to be led there.
        way = graph.way_to(interaction) if answer.form == "all" else ()
        led_by = [query for one in way for query in self._queries(graph, one, answer)]
        *steps, last = self._queries(graph, interaction, answer)
        probes = Probes(self._renderer, page, reference.window, led_by, steps)
        with self._renderer.stage(page, reference.window) as stage, closing(probes):
            with clock("act"):
                led = play(way, lambda one: self._step(stage, graph, one, answer)) if way else None
                done = act(stage, last, steps)
                noise = probes.noise(done.before)
                probes.start_on(stage, done)
            with clock("verify"):
                located = self._reference(graph, interaction)  # scores need a mark, verdicts do not
                verdict = self._verdict(stage, done, noise, located, interaction, probes)
            flags, web = tuple(sorted(stage.flags)), stage.web.as_json()
        return _JudgedAct(done, noise, verdict, led, flags, web)

    def _step(
        self, stage: Stage, graph: Graph, interaction: Interaction, answer: Answer
    ) -> str | None:
        """Perform one interaction on the way to another; return what is wrong with it, or None."""
        reference = self._reference(graph, interaction)
        *steps, last = self._queries(graph, interaction, answer)
        done = act(stage, last, steps)
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
            approach=done.approach.picture if done.approach else None,
            pointed=done.approach.snapshot if done.approach else None,
            others=done.found.others if done.found else (),
            score=done.found.score if done.found else 0.0,
            action=done.action,
        )
        if probes is not None:
            # On the way to another interaction, acting again would spoil the page for it.
            once_more = repeat(stage, done, done.action or interaction.action)
            generated = replace(
                generated, attempt=probes.attempt, again=once_more, elsewhere=probes.elsewhere
            )
        # The scores need the lines of these, so the verifier needs no OCR of its own.
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
                sentence=interaction.sentence,
                description=interaction.description,
                name=named_in(interaction.sentence),
                tags=interaction.tags,
                visuals=interaction.visuals,
                reverts=reference.reverts,
                scaled="enlarged" in reference.flags,
                read=lambda crop: self._reader.part(crop, wholes),
            ),
            generated,
        )

    def _reference(self, graph: Graph, interaction: Interaction) -> Reference:
        """Return the reference; a trigger without a mark is where its name is read first."""
        reference = self._references.get(graph, interaction)
        if reference.trigger is not None:
            return reference
        return replace(reference, trigger=self._read_at(reference, interaction.sentence))

    def _read_at(
        self, reference: Reference, sentence: str, beside: PixelBox | None = None
    ) -> PixelBox | None:
        """Return where the name in a sentence is read: first, or nearest to a place."""
        # A name that is not quoted is one that the element need not show.
        name = plain(named_in(sentence) or "") if '"' in sentence else ""
        lines = self._reader.lines(reference.before) if name else ()
        read = [(one.text, one.box) for line in lines for one in line.words]
        read = [*((line.text, line.box) for line in lines), *read]
        found = [box for text, box in read if plain(text) == name]
        if beside is None:
            return min(found, key=lambda box: (box.top, box.left), default=None)
        return min(found, key=lambda box: dist(box.centre, beside.centre), default=None)

    def _queries(
        self, graph: Graph, interaction: Interaction, answer: Answer
    ) -> list[TriggerQuery]:
        """Return what is looked for: for each step of an interaction, then for its action."""
        last = self._query(graph, interaction, answer)
        reference = self._references.get(graph, interaction)
        return [
            *(
                replace(
                    last,
                    number="",  # ids are those of interactions
                    action=step.action,
                    trigger=self._read_at(reference, step.sentence, last.trigger),
                    name=named_in(step.sentence),
                    sentence=step.sentence,
                    tags=(),
                )
                for step in interaction.steps
            ),
            last,
        ]

    def _query(self, graph: Graph, interaction: Interaction, answer: Answer) -> TriggerQuery:
        reference = self._reference(graph, interaction)
        return TriggerQuery(
            number=interaction.id,
            action=interaction.action,
            form=answer.form,
            trigger=reference.trigger,
            size=reference.size,
            name=named_in(interaction.sentence),
            first=lambda: self._mark_of_the_first(graph, interaction),
            sentence=interaction.sentence,
            tags=interaction.tags,
            picture=reference.before,
            lines=lambda: self._reader.lines(reference.before),
        )

    def _mark_of_the_first(self, graph: Graph, interaction: Interaction) -> PixelBox | None:
        """Return the mark of interaction 1, where another one is judged."""
        for one in graph.interactions:
            if one.id == "1" and one.id != interaction.id:
                with suppress(InputError):
                    return self._references.get(graph, one).trigger
        return None

    def _scores(
        self, reference: Reference, played: _JudgedAct, ours: ChangedRegion, flags: list[str]
    ) -> dict[str, Any]:
        embed = self._clip.embed if self._clip is not None else None
        implemented = played.verdict.implemented
        full = full_scores(
            reference, played.act, self._reader, embed, flags, implemented=implemented
        )
        if implemented and played.act.after is not None:
            part = part_scores(
                reference, played.act, ours, self._reader, embed, flags, contours=self._contours
            )
        else:
            part = {profile: zeros(PART, clip=embed is not None) for profile in PROFILES}
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
            # Not the page's fault: this ends the run instead of failing its cases.
            raise MissingDependencyError(error.message, remedy=error.remedy) from error

    def _keep(
        self,
        run: RunDirectory,
        case: InteractionCase,
        reference: Reference,
        answer: Answer,
        played: _JudgedAct,
    ) -> Mapping[str, str]:
        """Write the files that reports show of a case; return their paths inside the run."""
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
    """Return a generated page that cannot load the pictures it is compared with."""
    if page.folder is None:
        return page
    return replace(page, withheld=TruthFiles.of(graph, page.path))


def _measures_clip() -> bool:
    """Return whether this machine measures CLIP, without loading the model."""
    from uiproof.vision.clip import find_weights

    try:
        return find_weights() is not None
    except InputError:
        return False  # judging says what is wrong


def _write_once(path: Path, picture: Rgb, file: Path) -> None:
    """Write a picture that interactions and worker processes share, unless it exists.

    `file` is its source: copied where that has the same pixels, which is much quicker.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        write_atomic(path, _as_published(file, picture) or encode_png(picture))


def _as_published(file: Path, picture: Rgb) -> bytes | None:
    """Return the bytes of a PNG file, if it has the size of a picture that was read from it."""
    data = file.read_bytes()
    size = struct.pack(">II", picture.shape[1], picture.shape[0])
    return data if data.startswith(b"\x89PNG\r\n\x1a\n") and data[16:24] == size else None


# --- details in the journal


def _verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as journals and `--json` have it."""
    return {
        "implemented": verdict.implemented,
        "usable": verdict.usable,
        "failure": verdict.failure.value,
        "evidence": list(verdict.evidence),
        "confidence": verdict.confidence,
        "unsure": verdict.unsure,
        "usable_probability": verdict.usable_probability,
        "ranked": [[failure.value, share] for failure, share in verdict.ranked],
        "differences": [one.as_json() for one in verdict.differences],
    }


def _facts(truth: Truth) -> dict[str, Any]:
    """Return what tables group interactions by."""
    interaction = truth.interaction
    return {
        "page": truth.graph.page,
        "interaction": interaction.id,
        "topic": truth.graph.topic,
        "action": {"kind": interaction.action.kind, "value": interaction.action.value},
        "sentence": interaction.sentence,
        **({"steps": [one.sentence for one in interaction.steps]} if interaction.steps else {}),
        "tags": list(interaction.tags),
        "visuals": list(interaction.visuals),
    }


def _reference_as_json(reference: Reference) -> dict[str, Any]:
    """Return the reference side, in CSS pixels."""
    return {
        "size": list(reference.size),
        "scale": reference.scale,
        "trigger": _edges(reference.trigger),
        "effect": _edges(reference.effect),
        "region": _edges(reference.box),
        "parts": [_edges(part) for part in reference.parts],
    }


def _generated_as_json(played: _JudgedAct, ours: ChangedRegion) -> dict[str, Any]:
    """Return the generated side, in CSS pixels."""
    found = played.act.found
    picture = played.act.before.picture
    return {
        "size": [picture.shape[1], picture.shape[0]],
        "trigger": _edges(found.element.box) if found else None,
        "region": _edges(ours.box),
        "parts": [_edges(part) for part in ours.parts],
        "found": found.by if found else None,
        "element": f"<{found.element.tag}> {found.element.label[:80]}".strip() if found else None,
    }


def _sequence_as_json(
    graph: Graph, interaction: Interaction, answer: Answer, played: _JudgedAct
) -> dict[str, Any]:
    """Return the result of a path, on the case of its last interaction."""
    path = path_to(graph, interaction) if answer.form == "all" else None
    if path is None or played.way is None:
        return {}
    edges = tuple(one.id for one in path)
    if played.way.done < played.way.steps:
        whole = PathResult(edges, played.way.done, played.way.stopped)
    elif played.verdict.usable:
        whole = PathResult(edges, len(edges))
    else:
        reason = (*played.verdict.evidence, f"failure {played.verdict.failure}")[0]
        whole = PathResult(edges, len(edges) - 1, f"{interaction.id}: {reason}")
    return {"sequence": whole.as_json()}


def _flags_of(reference: Reference, played: _JudgedAct, ours: ChangedRegion) -> tuple[str, ...]:
    """Return what was unusual on either side."""
    flags = [f"reference:{flag}" for flag in reference.flags]
    flags += [f"generated:{flag}" for flag in played.flags]
    done = played.act
    if done.found is not None and done.found.by != "id":
        flags.append(f"generated:found_by_{done.found.by}")
    if done.found is not None and done.after is None:
        flags.append("generated:trigger_invisible")
    if done.outcome is not None and done.outcome.refused:
        flags.append("generated:act_refused")
    if done.action is not None:
        flags.append(f"generated:acted_by_{done.action.kind}")
    if played.noise is not None:
        flags.append("generated:restless")
    if played.way is not None and played.way.done < played.way.steps:
        flags.append("generated:way_broken")
    if played.verdict.implemented and ours.box is None:
        flags.append("generated:no_visible_change")
    if played.verdict.unsure:
        flags.append(UNSURE)
    return tuple(flags)


def _edges(box: PixelBox | None) -> list[int] | None:
    return None if box is None else [box.left, box.top, box.right, box.bottom]
