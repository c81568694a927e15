"""The judge in a worker of the pool: both benchmarks, each started when it is first needed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.browser.source import PageSource
from uiproof.engine.types import Case, Judge, Score
from uiproof.proctree import known_descendants, resident_mb
from uiproof.scoring.references import BenchmarkName, benchmark_of

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.judge import Design2CodeJudge
    from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
    from uiproof.browser import Renderer

# A browser is replaced after so many pages, or when it and its worker hold more memory than this
# (pages that processes share are counted for each); looking takes milliseconds.
_MOST_PAGES = 500
_MOST_MEGABYTES = 1_500
_LOOK_EVERY = 10

CACHED = "reference_cached"  # in the details of a score: whether its reference was known already


class ScoringJudge(Judge[Any, Any, Any]):
    """Scores pages of both benchmarks; keeps nothing but references, in a folder of bounded size.

    The truth of a case says whose it is: that of a benchmark, or a page (`PageSource`) for
    Design2Code.
    """

    def __init__(self, references: Path) -> None:
        self._folder = references
        self._renderer: Renderer | None = None  # both judges use the same browser
        self._pages: Design2CodeJudge | None = None
        self._interactions: Interaction2CodeJudge | None = None
        self._scored = 0

    def score(self, case: Case[Any, Any], answer: Any) -> Score:
        """Compare one generated page with its reference."""
        if self._is_worn():
            self.close()
        self._scored += 1
        if benchmark_of(case) == "interaction2code":
            interactions = self._interaction_judge()
            before = interactions.references_made
            score = interactions.score(case, answer)
            cached = interactions.references_made == before
        else:
            pages = self._page_judge()
            before = pages.references_made
            if isinstance(case.truth, PageSource):
                score, _ = pages.compare(case.truth, answer)
            else:
                score = pages.score(case, answer)
            cached = pages.references_made == before
        return replace(score, details={**score.details, CACHED: cached})

    def failure(self, case: Case[Any, Any] | None) -> Score:
        """What the benchmark of a case says that a failure scores."""
        return self.failure_of("design2code" if case is None else benchmark_of(case))

    def failure_of(self, benchmark: BenchmarkName) -> Score:
        """What a benchmark says that a failure scores."""
        interaction = benchmark == "interaction2code"
        judge = self._interaction_judge() if interaction else self._page_judge()
        return judge.failure(None)

    def close(self) -> None:
        """End the browser and forget what was seen; the next page begins anew."""
        for judge in (self._pages, self._interactions):
            if judge is not None:
                judge.close()
        self._pages = self._interactions = self._renderer = None
        self._scored = 0

    def _page_judge(self) -> Design2CodeJudge:
        from uiproof.benchmarks.design2code.judge import Design2CodeJudge

        if self._pages is None:
            self._pages = Design2CodeJudge(references=self._folder, renderer=self._browser())
        return self._pages

    def _interaction_judge(self) -> Interaction2CodeJudge:
        from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge

        if self._interactions is None:
            self._interactions = Interaction2CodeJudge(renderer=self._browser())
        return self._interactions

    def _browser(self) -> Renderer:
        from uiproof.browser import Renderer

        self._renderer = self._renderer or Renderer()
        return self._renderer

    def _is_worn(self) -> bool:
        if self._scored >= _MOST_PAGES:
            return True
        if self._scored % _LOOK_EVERY:
            return False
        family = (os.getpid(), *known_descendants(os.getpid()))
        return self._scored > 0 and sum(map(resident_mb, family)) > _MOST_MEGABYTES
