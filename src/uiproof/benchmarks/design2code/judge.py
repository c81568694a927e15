"""The Design2Code judge: renders both pages, compares them, keeps the pictures."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from uiproof.benchmark import Judge, Score
from uiproof.benchmarks.design2code.blocks import TextBlock, blocks_as_json
from uiproof.benchmarks.design2code.cases import (
    PLACEHOLDER,
    Design2CodeCase,
    Question,
    Screenshot,
    Truth,
    beside,
)
from uiproof.benchmarks.design2code.cleanup import clean_generated
from uiproof.benchmarks.design2code.differences import page_differences, picture_differences
from uiproof.benchmarks.design2code.matching import (
    Matching,
    TextSimilarity,
    as_read,
    match_blocks,
    match_with_itself,
    with_unreadable,
)
from uiproof.benchmarks.design2code.page_diff import Difference, PageDiff
from uiproof.benchmarks.design2code.pages import (
    PageView,
    Photographs,
    ReferenceViews,
    listing,
    measure,
    photograph,
    read_inventory,
)
from uiproof.benchmarks.design2code.picture import (
    PictureScores,
    PictureView,
    PictureViews,
    picture_scores,
    same_pictures,
    view_of,
)
from uiproof.benchmarks.design2code.scores import (
    MOST_TEXT,
    BlockScores,
    block_scores,
    colors,
    human_score,
    positions,
)
from uiproof.benchmarks.design2code.screens import AUTO, Design2CodeOptions, Screen
from uiproof.benchmarks.design2code.strict import (
    StrictScores,
    above_blank,
    commonest_colour,
    strict_scores,
    unreadable_blocks,
)
from uiproof.benchmarks.page_files import generated_page, reference_page
from uiproof.benchmarks.withholding import SCRIPTS, Withheld
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.chromium import fingerprint
from uiproof.browser.foreign import web_details
from uiproof.browser.source import keep_page
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, MissingDependencyError
from uiproof.vision.images import decode_screenshot
from uiproof.vision.images import size as picture_size
from uiproof.web import FrozenWeb

MOST_REFERENCE_BYTES = 500_000_000  # of pictures of reference pages, where no run keeps them
NO_LIST = "differences:failed"  # the flag of a case whose list of differences could not be made

Colour = tuple[int, int, int]
_MOST_BLANKS = 200
_ANY_SCREENSHOT = rf"(?!{PLACEHOLDER.split('.')[0]}$).*"  # all pictures of a folder of screenshots


class Design2CodeJudge(Judge[Question, Truth, PageSource]):
    """Scores generated pages. One warm browser; nothing starts before the first page.

    With a `run` directory the pictures are kept in it. Without one nothing is written, but for
    what was seen of reference pages if there is a folder for that; workers may share it, and it
    does not grow beyond a size. `options` say on which screens pages are compared.
    """

    def __init__(
        self,
        run: Path | None = None,
        *,
        options: Design2CodeOptions | None = None,
        limits: Limits | None = None,
        web: FrozenWeb | None = None,
        references: Path | None = None,
        renderer: Renderer | None = None,
    ) -> None:
        self._run = run
        self._options = options or Design2CodeOptions()
        self._references_folder = references
        self._renderer = renderer or Renderer(limits, web=web)  # a thread can have only one
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="measure")
        self._blanks: dict[Colour, Any] = {}  # embeddings

    def pose(self, case: Design2CodeCase) -> Question:
        """Show the page to the method: its screenshot and its texts, nothing else of it.

        On several screens, that of the first.
        """
        source = _loaded(case.truth)
        if isinstance(source, Screenshot):
            # The texts that can be read; a method may not see more than the picture shows.
            shown = self._picture_reference(source)
            return Question(
                self._pictures.path(source, shown), tuple(text for _, text, *_ in shown.texts)
            )
        screen = self._screens(source)[0]
        view = self._reference(source, screen).result()
        texts = tuple(" ".join(text.split()) for _, text, _ in view.inventory.texts)
        return Question(self._references.picture(source, screen), texts)

    def score(self, case: Design2CodeCase, answer: PageSource) -> Score:
        """Compare a generated page with the page or the screenshot of a case."""
        return self.score_against(_loaded(case.truth), answer, case.id)

    def score_against(
        self, reference: PageSource | Screenshot, answer: PageSource, case_id: str
    ) -> Score:
        """Compare a generated page with a reference, on every screen."""
        run = None if self._run is None else RunDirectory(self._run)
        if isinstance(reference, Screenshot):
            score, shown = self.compare_with_picture(reference, answer, listed=run is not None)
            if run is None:
                return score
            picture = self._pictures.path(reference, self._picture_reference(reference))
            page = _without_the_truth(generated_page(answer), reference)
            found = self._listed(reference, shown, score)
            return _kept(score, run, case_id, page, [("", picture, shown.png)], found)
        screens = self._screens(reference)
        compared = [self.compare(reference, answer, screen) for screen in screens]
        score = on_screens(
            {screen: one for screen, (one, _) in zip(screens, compared, strict=True)}
        )
        if run is None:
            return score
        pictures = [
            # The first screen has no suffix.
            ("" if screen is screens[0] else f"-{screen.name}", path, view.png)
            for screen, (_, view) in zip(screens, compared, strict=True)
            for path in [self._references.picture(reference_page(reference), screen)]
        ]
        answer = generated_page(answer)
        # Without withheld files, so that the report shows what was scored.
        seen = answer if answer.folder is None else _without_the_truth(answer, reference)
        first, view = compared[0]
        found = self._listed(reference, view, first)
        return _kept(score, run, case_id, seen, pictures, found)

    def picture(self, case: Design2CodeCase, answer: PageSource) -> bytes:
        """Return a screenshot of a generated page, the very one that its scores are taken from."""
        reference, answer = _loaded(case.truth), generated_page(answer)
        if isinstance(reference, Screenshot):
            screen = self._options.screen_of(_size(reference))
            page = _without_the_truth(answer, reference)
        else:
            screen, page = self._screens(reference)[0], _as_scored(answer, reference)
        with self._renderer.open(page, screen.limits(self._renderer.limits)) as shown:
            return shown.screenshot()

    def compare_with_picture(
        self, reference: Screenshot, answer: PageSource, *, listed: bool = False
    ) -> tuple[Score, PictureView]:
        """Score a page against a screenshot; also returns what was seen of the page.

        With `listed` that has an inventory of the page's elements.
        """
        theirs = self._picture_reference(reference)
        screen = self._options.screen_of(_size(reference))
        answer = generated_page(answer)
        page = _without_the_truth(answer, reference)
        with self._renderer.open(page, screen.limits(self._renderer.limits)) as shown:
            png, flags = shown.screenshot(), tuple(sorted(shown.flags))
            web = shown.web.as_json()
            inventory = read_inventory(listing(shown)) if listed else None
        ours = view_of(decode_screenshot(png), png, screen.scale, flags)
        ours = replace(ours, inventory=inventory)
        if np.array_equal(ours.picture, theirs.picture):
            scores, matching = same_pictures(ours, clip=self._clip is not None)
        else:
            _, clip = self._seen_clip(ours, theirs)
            scores, matching = picture_scores(ours, theirs, clip=clip)
        score = Score(
            {"picture": scores.as_json(), **self._measured_lpips(ours, theirs)},
            details={
                **_details(matching, ours, theirs),
                "profile": "picture",
                **web_details(generated=web),
            },
            flags=tuple(f"generated:{flag}" for flag in (*answer.notes, *ours.flags)),
        )
        return score, ours

    def compare(
        self, reference: PageSource, answer: PageSource, screen: Screen | None = None
    ) -> tuple[Score, PageView]:
        """Score one page against another on one screen; also returns what was seen."""
        reference, answer = reference_page(reference), generated_page(answer)
        screen = screen or self._screens(reference)[0]
        theirs_later = self._reference(reference, screen)
        generated = _as_scored(answer, reference)
        ours = measure(photograph(self._renderer, generated, screen))
        theirs = theirs_later.result()
        similarity = TextSimilarity()
        if ours.shows_the_same_as(theirs):
            matching = match_with_itself(ours.blocks)
            same = None if self._clip is None else 1.0
            paper = paper_scores(BlockScores(1.0, 1.0, 1.0, 1.0), same)
            human = _human(paper)
            strict_clip = same
        else:
            matching = match_blocks(ours.blocks, theirs.blocks, similarity)
            paper = paper_scores(block_scores(matching), self._paper_clip(ours, theirs))
            seen_clip, strict_clip = self._seen_clip(ours, theirs)
            of_seen = matching
            if (ours.seen_blocks, theirs.seen_blocks) != (ours.blocks, theirs.blocks):
                of_seen = match_blocks(ours.seen_blocks, theirs.seen_blocks, similarity)
            human = human_of_seen(of_seen, ours, theirs, seen_clip)
        strict = strict_scores(
            ours.with_colors_of(theirs), theirs, similarity=similarity, clip=strict_clip
        )
        flags = [f"reference:{flag}" for flag in (*reference.notes, *theirs.flags)]
        flags += [f"generated:{flag}" for flag in (*answer.notes, *ours.flags)]
        if generated.text != answer.text:
            flags.append("generated:cleaned")
        score = Score(
            {
                "paper": paper,
                "strict": _strict_as_json(strict),
                "human": human,
                **self._measured_lpips(ours, theirs),
            },
            details={
                **_details(matching, ours, theirs),
                **web_details(generated=ours.web, reference=theirs.web),
            },
            flags=tuple(flags),
        )
        return score, ours

    def diff(self, reference: PageSource | Screenshot, answer: PageSource) -> PageDiff:
        """Score a page on the first screen, and say what is different."""
        score: Score
        shown: PageView | PictureView
        if isinstance(reference, Screenshot):
            score, shown = self.compare_with_picture(reference, answer, listed=True)
        else:
            reference = reference_page(reference)
            score, shown = self.compare(reference, answer)
        wanted = self._wanted(reference)
        return PageDiff(
            self._differences(reference, shown, score),
            *(wanted.png, shown.png, wanted.size, shown.size, score.scores, score.flags),
        )

    def differences(self, case: Design2CodeCase, answer: PageSource) -> list[dict[str, Any]]:
        """Return what is different on the first screen, for methods that revise what they made."""
        return [one.as_json() for one in self.diff(_loaded(case.truth), answer).differences]

    def _wanted(self, reference: PageSource | Screenshot) -> PageView | PictureView:
        """Return what is seen of a reference on the first screen."""
        if isinstance(reference, Screenshot):
            return self._picture_reference(reference)
        return self._reference(reference, self._screens(reference)[0]).result()

    def _differences(
        self, reference: PageSource | Screenshot, shown: PageView | PictureView, score: Score
    ) -> tuple[Difference, ...]:
        """Return what is different about a page that was scored on the first screen."""
        wanted = self._wanted(reference)
        if isinstance(shown, PictureView):
            assert isinstance(wanted, PictureView)
            return picture_differences(shown, wanted, score.scores["picture"])
        assert isinstance(wanted, PageView)
        return page_differences(shown, wanted, score.scores["strict"])

    def _listed(
        self, reference: PageSource | Screenshot, shown: PageView | PictureView, score: Score
    ) -> tuple[Difference, ...] | None:
        """Return the differences for a report, or None if finding them fails."""
        try:
            return self._differences(reference, shown, score)
        except Exception:  # a bug here must not cost the case its score
            logging.getLogger("uiproof").exception("The list of differences failed.")
            return None

    def failure(self, case: Design2CodeCase | None) -> Score:
        """Return a score of 0 in everything; LPIPS, a distance, is 1."""
        lpips = {"lpips": 1.0} if self._options.lpips else {}
        truth = None if case is None else case.truth
        if isinstance(truth, Screenshot) or (isinstance(truth, Truth) and truth.is_picture):
            nothing = PictureScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
            return Score({"picture": nothing.as_json(), **lpips})
        paper = paper_scores(BlockScores(0.0, 0.0, 0.0, 0.0), None)
        strict = StrictScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
        scores = {"paper": paper, "strict": _strict_as_json(strict), "human": 0.0, **lpips}
        fixed = [one for one in self._options.viewports if one != AUTO]
        if len(self._options.viewports) > 1 and len(fixed) == len(self._options.viewports):
            screens = self._options.screens()
            return Score({**scores, "viewports": {screen.name: scores for screen in screens}})
        return Score(scores)

    @property
    def references_made(self) -> int:
        """Return how many reference pages had to be rendered so far; others were known already."""
        return self._references.rendered + self._pictures.read

    def close(self) -> None:
        """End the browser."""
        self._renderer.close()
        self._threads.shutdown()

    @cached_property
    def _references(self) -> ReferenceViews:
        if self._run is None:
            return ReferenceViews(self._references_folder, most_bytes=MOST_REFERENCE_BYTES)
        # Pictures of another browser, other fonts or another frozen web are other pictures.
        here = {**fingerprint(), "web": self._renderer.web_digest}
        machine = json.dumps(here, sort_keys=True).encode()
        return ReferenceViews(self._run / "references" / hashlib.sha256(machine).hexdigest()[:12])

    @cached_property
    def _pictures(self) -> PictureViews:
        return PictureViews(None if self._run is None else self._run / "references")

    def _picture_reference(self, reference: Screenshot) -> PictureView:
        return self._pictures.get(reference, self._options.scale)

    def _screens(self, reference: PageSource) -> tuple[Screen, ...]:
        """Return the screens for a page; a screenshot beside it tells how wide it is meant."""
        taken = None if reference.path is None else beside(reference.path)
        return self._options.screens(None if taken is None else picture_size(taken))

    def _reference(self, source: PageSource, screen: Screen) -> Future[PageView]:
        return self._references.get(source, screen, self._photograph, self._threads)

    def _photograph(self, source: PageSource, screen: Screen) -> Photographs:
        return photograph(self._renderer, source, screen)

    @cached_property
    def _clip(self) -> Any:
        from uiproof.vision.clip import ClipModel, find_weights

        try:
            weights = find_weights()
            return None if weights is None else ClipModel(weights)
        except InputError as error:
            # The machine is at fault, not the page: this ends the run instead of failing its cases.
            raise MissingDependencyError(error.message, remedy=error.remedy) from error

    @cached_property
    def _lpips(self) -> Any:
        from uiproof.vision.lpips import LpipsModel, find_weights

        if (weights := find_weights()) is None:
            raise MissingDependencyError(
                "The weights of LPIPS are not on this machine.",
                remedy="Run `uiproof data get lpips-alexnet`, or drop --lpips.",
            )
        return LpipsModel(weights)

    def _measured_lpips(
        self, ours: PageView | PictureView, theirs: PageView | PictureView
    ) -> dict[str, float]:
        if not self._options.lpips:
            return {}
        return {"lpips": self._lpips.page_distance(ours.rgb, theirs.rgb)}

    def _paper_clip(self, ours: PageView, theirs: PageView) -> float | None:
        """Return cosine of the two pages without their texts, as in the paper."""
        if self._clip is None:
            return None
        a, b = (self._glance(view, view.blocks) for view in (ours, theirs))
        return _alike(a.embedding, b.embedding)

    def _seen_clip(
        self, ours: PageView | PictureView, theirs: PageView | PictureView
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

    def _glance(self, view: PageView | PictureView, blocks: tuple[TextBlock, ...]) -> _Glance:
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


def _kept(
    score: Score,
    run: RunDirectory,
    case_id: str,
    page: PageSource,
    pictures: Sequence[tuple[str, Path | None, bytes]],
    differences: Sequence[Difference] | None,
) -> Score:
    """Write what a report shows of a case; returns the score with where it is, inside the run.

    `pictures` are those of each screen: its suffix, the file of the reference's, the page's own.
    """
    folder = run.artifact_dir(case_id)
    kept: dict[str, Path | None] = {}
    for suffix, reference, generated in pictures:
        (folder / f"generated{suffix}.png").write_bytes(generated)
        kept[f"reference{suffix}"] = reference
        kept[f"generated{suffix}"] = folder / f"generated{suffix}.png"
    keep_page(page, folder / "generated.html")
    kept["html"] = folder / "generated.html"
    flags = score.flags
    if differences is None:
        flags = (*flags, NO_LIST)
    else:
        # Not in the journal, which every table reads from beginning to end.
        found = [one.as_json() | {"members": one.members_as_json()} for one in differences]
        kept["differences"] = file = folder / "differences.json"
        file.write_text(json.dumps(found, separators=(",", ":")), "utf-8")
    paths = {name: path.relative_to(run.path).as_posix() for name, path in kept.items() if path}
    return replace(score, artifacts=paths, flags=flags)


def on_screens(compared: Mapping[Screen, Score]) -> Score:
    """Return the score of a page over its screens: the mean, and each by itself.

    On one screen, that score as it is.
    """
    first, *others = compared.values()
    if not others:
        return first
    named = {screen.name: score.scores for screen, score in compared.items()}
    flags = dict.fromkeys(flag for score in compared.values() for flag in score.flags)
    scores = {**_means([score.scores for score in compared.values()]), "viewports": named}
    return replace(first, scores=scores, flags=tuple(flags))


def _means(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean of every score, None where one is missing."""
    found: dict[str, Any] = {}
    for name, value in scores[0].items():
        values = [one[name] for one in scores]
        if isinstance(value, Mapping):
            found[name] = _means(values)
        else:
            found[name] = None if None in values else fmean(values)
    return found


def _loaded(truth: Truth) -> PageSource | Screenshot:
    if truth.is_picture:
        return Screenshot.from_file(truth.page)
    return reference_page(PageSource.from_file(truth.page))


def _size(reference: Screenshot) -> tuple[int, int]:
    return picture_size(BytesIO(reference.data))


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


def human_of_seen(
    matching: Matching, ours: PageView, theirs: PageView, clip: float | None
) -> float:
    """Return the composite for the matching of all texts that are seen."""
    width, height = ours.size
    unreadable = unreadable_blocks(ours.heaped, width, height)
    read = with_unreadable(as_read(matching), unreadable, len(theirs.heaped))
    written, wanted = (
        sum(len(text) for _, text, _, _ in view.seen_texts)
        + sum(len(text) for _, text in view.heaped)
        for view in (ours, theirs)
    )
    excess = written / max(MOST_TEXT * wanted, 1)
    return _human(paper_scores(block_scores(read), clip)) / max(excess, 1.0)


def _details(
    matching: Matching, ours: PageView | PictureView, theirs: PageView | PictureView
) -> dict[str, Any]:
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


def _side(view: PageView | PictureView, blocks: Any) -> dict[str, Any]:
    width, height = view.size
    return {"width": width, "height": height, "blocks": blocks_as_json(blocks)}


def _as_scored(answer: PageSource, reference: PageSource) -> PageSource:
    """Return the generated page, cleaned up and without access to the reference page."""
    cleaned = clean_generated(answer.text, reference.text)
    return _without_the_truth(answer.with_text(cleaned), reference)


def _without_the_truth(answer: PageSource, reference: PageSource | Screenshot) -> PageSource:
    """Return the generated page, kept from showing reference pages, with the same random numbers.

    A page from a model has no folder: it may use the placeholder image of the reference's. A page
    in, above or below the folder of the reference may use the assets there, but no page, no
    screenshot of one, and no script of the reference.
    """
    path = reference.path
    seed = reference.html if isinstance(reference, PageSource) else reference.data
    answer = replace(answer, seed=seed)
    if answer.folder is None:
        folder = reference.folder if isinstance(reference, PageSource) else path and path.parent
        return replace(answer, folder=folder, only=frozenset({PLACEHOLDER}))
    if path is None or path == answer.path:
        return answer
    if isinstance(reference, Screenshot):
        withheld = Withheld(path.parent, (), parts=SCRIPTS, pictures=_ANY_SCREENSHOT)
    else:
        withheld = Withheld(path.parent, (path,), parts=SCRIPTS)
    return replace(answer, withheld=withheld)
