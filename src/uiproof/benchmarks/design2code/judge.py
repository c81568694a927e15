"""The Design2Code judge: renders both pages, compares them, keeps the pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from uiproof.benchmark import Judge, Score
from uiproof.benchmarks.design2code.blocks import TextBlock, blocks_as_json
from uiproof.benchmarks.design2code.cases import PLACEHOLDER, Design2CodeCase, Question, Truth
from uiproof.benchmarks.design2code.cleanup import clean_generated
from uiproof.benchmarks.design2code.matching import (
    Matching,
    TextSimilarity,
    match_blocks,
    match_with_itself,
)
from uiproof.benchmarks.design2code.pages import (
    PageView,
    Photographs,
    ReferenceViews,
    measure,
    photograph,
)
from uiproof.benchmarks.design2code.scores import (
    BlockScores,
    block_scores,
    colors,
    human_score,
    positions,
)
from uiproof.benchmarks.design2code.strict import (
    StrictScores,
    above_blank,
    commonest_colour,
    strict_scores,
)
from uiproof.benchmarks.page_files import generated_page, reference_page
from uiproof.benchmarks.withholding import SCRIPTS, Withheld
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.chromium import fingerprint
from uiproof.browser.source import keep_page
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, MissingDependencyError

MOST_REFERENCE_BYTES = 500_000_000  # of pictures of reference pages, where no run keeps them


Colour = tuple[int, int, int]
_MOST_BLANKS = 200


class Design2CodeJudge(Judge[Question, Truth, PageSource]):
    """Scores generated pages. One warm browser; nothing starts before the first page.

    With a `run` directory the pictures are kept in it. Without one nothing is written, but for
    what was seen of reference pages if there is a folder for that; workers may share it, and it
    does not grow beyond a size.
    """

    def __init__(
        self,
        run: Path | None = None,
        *,
        limits: Limits | None = None,
        references: Path | None = None,
        renderer: Renderer | None = None,
    ) -> None:
        self._run = run
        self._references_folder = references
        self._renderer = renderer or Renderer(limits)  # a thread can have only one
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="measure")
        self._blanks: dict[Colour, Any] = {}  # embeddings

    def pose(self, case: Design2CodeCase) -> Question:
        """Render the page for the method: its screenshot and its texts, nothing else of it."""
        source = reference_page(PageSource.from_file(case.truth.page))
        view = self._reference(source).result()
        texts = tuple(" ".join(text.split()) for _, text, _ in view.inventory.texts)
        return Question(self._references.picture(source), texts)

    def score(self, case: Design2CodeCase, answer: PageSource) -> Score:
        """Compare a generated page with the page of a case."""
        reference = reference_page(PageSource.from_file(case.truth.page))
        score, generated = self.compare(reference, answer)
        if self._run is None:
            return score
        kept = self._keep(RunDirectory(self._run), case.id, reference, answer, generated)
        return replace(score, artifacts=kept)

    def picture(self, case: Design2CodeCase, answer: PageSource) -> bytes:
        """Return a screenshot of a generated page, the very one that its scores are taken from."""
        reference = reference_page(PageSource.from_file(case.truth.page))
        with self._renderer.open(_as_scored(generated_page(answer), reference)) as page:
            return page.screenshot()

    def compare(self, reference: PageSource, answer: PageSource) -> tuple[Score, PageView]:
        """Score one page against another, both as sources; also returns what was seen."""
        reference, answer = reference_page(reference), generated_page(answer)
        theirs_later = self._reference(reference)
        generated = _as_scored(answer, reference)
        ours = measure(photograph(self._renderer, generated))
        theirs = theirs_later.result()
        similarity = TextSimilarity()
        if ours.shows_the_same_as(theirs):
            matching = match_with_itself(ours.blocks)
            same = None if self._clip is None else 1.0
            paper = seen = paper_scores(BlockScores(1.0, 1.0, 1.0, 1.0), same)
            strict_clip = same
        else:
            matching = match_blocks(ours.blocks, theirs.blocks, similarity)
            paper = paper_scores(block_scores(matching), self._paper_clip(ours, theirs))
            seen_clip, strict_clip = self._seen_clip(ours, theirs)
            seen = paper
            if (ours.seen_blocks, theirs.seen_blocks) != (ours.blocks, theirs.blocks):
                of_seen = match_blocks(ours.seen_blocks, theirs.seen_blocks, similarity)
                seen = paper_scores(block_scores(of_seen), seen_clip)
        strict = strict_scores(ours, theirs, similarity=similarity, clip=strict_clip)
        flags = [f"reference:{flag}" for flag in (*reference.notes, *theirs.flags)]
        flags += [f"generated:{flag}" for flag in (*answer.notes, *ours.flags)]
        if generated.text != answer.text:
            flags.append("generated:cleaned")
        score = Score(
            {"paper": paper, "strict": _strict_as_json(strict), "human": _human(seen)},
            details=_details(matching, ours, theirs),
            flags=tuple(flags),
        )
        return score, ours

    def failure(self, case: Design2CodeCase | None) -> Score:  # noqa: ARG002 - all score the same
        """Return a score of 0 in everything."""
        paper = paper_scores(BlockScores(0.0, 0.0, 0.0, 0.0), None)
        strict = StrictScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
        return Score({"paper": paper, "strict": _strict_as_json(strict), "human": 0.0})

    @property
    def references_made(self) -> int:
        """Return how many reference pages had to be rendered so far; others were known already."""
        return self._references.rendered

    def close(self) -> None:
        """End the browser."""
        self._renderer.close()
        self._threads.shutdown()

    @cached_property
    def _references(self) -> ReferenceViews:
        if self._run is None:
            return ReferenceViews(self._references_folder, most_bytes=MOST_REFERENCE_BYTES)
        # Pictures of another browser or other fonts are other pictures.
        machine = json.dumps(fingerprint(), sort_keys=True).encode()
        return ReferenceViews(self._run / "references" / hashlib.sha256(machine).hexdigest()[:12])

    def _reference(self, source: PageSource) -> Future[PageView]:
        return self._references.get(source, self._photograph, self._threads)

    def _photograph(self, source: PageSource) -> Photographs:
        return photograph(self._renderer, source)

    @cached_property
    def _clip(self) -> Any:
        from uiproof.vision.clip import ClipModel, find_weights

        try:
            weights = find_weights()
            return None if weights is None else ClipModel(weights)
        except InputError as error:
            # The machine is at fault, not the page: this ends the run instead of failing its cases.
            raise MissingDependencyError(error.message, remedy=error.remedy) from error

    def _paper_clip(self, ours: PageView, theirs: PageView) -> float | None:
        """Return cosine of the two pages without their texts, as in the paper."""
        if self._clip is None:
            return None
        a, b = (self._glance(view, view.blocks) for view in (ours, theirs))
        return _alike(a.embedding, b.embedding)

    def _seen_clip(
        self, ours: PageView, theirs: PageView
    ) -> tuple[float, float] | tuple[None, None]:
        """Return the same without the texts that are seen; and so that a blank page has 0."""
        if self._clip is None:
            return None, None
        our, their = (self._glance(view, view.seen_blocks) for view in (ours, theirs))
        similarity = _alike(our.embedding, their.embedding)
        if ours.png == theirs.png:
            return similarity, 1.0
        blank = max(
            _alike(self._embed_blank(colour), their.embedding)
            for colour in {our.colour, their.colour}
        )
        return similarity, above_blank(similarity, blank)

    def _glance(self, view: PageView, blocks: tuple[TextBlock, ...]) -> _Glance:
        """Return a page's embedding, stored with the page because references are compared often."""
        from uiproof.vision.clip import inpainted_view

        boxes = tuple(sorted({(b.box.x, b.box.y, b.box.w, b.box.h) for b in blocks}))
        glances: dict[Any, _Glance] = view.memo.setdefault("glances", {})
        if boxes not in glances:
            picture = inpainted_view(view.rgb, [block.box for block in blocks])
            glances[boxes] = _Glance(self._clip.embed(picture), commonest_colour(picture))
        return glances[boxes]

    def _embed_blank(self, colour: Colour) -> Any:
        """Return the embedding of a page in one colour, which is the same for every size."""
        import numpy as np

        from uiproof.vision.clip import SIDE

        if colour not in self._blanks:
            if len(self._blanks) >= _MOST_BLANKS:
                self._blanks.clear()
            self._blanks[colour] = self._clip.embed(np.full((SIDE, SIDE, 3), colour, np.uint8))
        return self._blanks[colour]

    def _keep(
        self,
        run: RunDirectory,
        case_id: str,
        reference: PageSource,
        answer: PageSource,
        generated: PageView,
    ) -> Mapping[str, str]:
        """Write what a report shows of a case; returns where it is, inside the run."""
        folder = run.artifact_dir(case_id)
        (folder / "generated.png").write_bytes(generated.png)
        # Without withheld files, so that the report shows what was scored.
        seen = answer if answer.folder is None else _without_the_truth(answer, reference)
        keep_page(seen, folder / "generated.html")
        kept = {
            "reference": self._references.picture(reference),
            "generated": folder / "generated.png",
            "html": folder / "generated.html",
        }
        return {name: path.relative_to(run.path).as_posix() for name, path in kept.items() if path}


@dataclass(frozen=True, slots=True)
class _Glance:
    """The embedding of a page without its texts, and its commonest colour."""

    embedding: Any
    colour: Colour


def _alike(a: Any, b: Any) -> float:
    """Return the cosine of two embeddings as a score: exactly 1 for equal ones, never below 0."""
    import numpy as np

    from uiproof.vision.clip import clip_similarity

    return 1.0 if np.array_equal(a, b) else max(clip_similarity(a, b), 0.0)


def paper_scores(blocks: BlockScores, clip: float | None) -> dict[str, float | None]:
    """Return the five scores of the paper and their means; `final` is None without CLIP."""
    four = (blocks.block_match, blocks.text, blocks.position, blocks.color)
    return {
        **asdict(blocks),
        "clip": clip,
        "final": None if clip is None else fmean((*four, clip)),
        "mean_without_clip": fmean(four),
    }


def _strict_as_json(strict: StrictScores) -> dict[str, float | None]:
    return {
        **asdict(strict),
        "final": strict.final,
        "mean_without_clip": strict.mean_without_clip,
    }


def _human(paper: Mapping[str, Any]) -> float:
    names = ("block_match", "text", "position", "color", "clip")
    return human_score(**{name: paper[name] for name in names})


def _details(matching: Matching, ours: PageView, theirs: PageView) -> dict[str, Any]:
    """Return what a report draws: the merged blocks and which of them were matched."""
    kept = matching.kept()
    matches = [
        [
            match.generated,
            match.reference,
            round(match.similarity, 4),
            round(position, 4),
            round(float(color), 4),
        ]
        for match, position, color in zip(
            kept, positions(matching, kept), colors(matching, kept), strict=True
        )
    ]
    return {
        "profile": "paper",
        "generated": _side(ours, matching.generated),
        "reference": _side(theirs, matching.reference),
        "matches": matches,
    }


def _side(view: PageView, blocks: Any) -> dict[str, Any]:
    width, height = view.size
    return {"width": width, "height": height, "blocks": blocks_as_json(blocks)}


def _as_scored(answer: PageSource, reference: PageSource) -> PageSource:
    """Return the generated page, cleaned up and without access to the reference page."""
    cleaned = clean_generated(answer.text, reference.text)
    return _without_the_truth(answer.with_text(cleaned), reference)


def _without_the_truth(answer: PageSource, reference: PageSource) -> PageSource:
    """Return the generated page, kept from showing reference pages.

    A page from a model has no folder: it may use the placeholder image of the reference's. A page
    in, above or below the folder of the reference may use the assets there, but no page, no
    screenshot of one, and no script of the reference.
    """
    if answer.folder is None:
        return replace(answer, folder=reference.folder, only=frozenset({PLACEHOLDER}))
    if reference.path is None or reference.path == answer.path:
        return answer
    withheld = Withheld(reference.path.parent, (reference.path,), parts=SCRIPTS)
    return replace(answer, withheld=withheld)
