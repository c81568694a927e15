"""Design2Code for `Scorer`, `uiproof serve` and inspect: pages as references, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from uiproof.benchmark import Benchmark, Case, ChatTask, Completion, Score, Served
from uiproof.benchmarks.design2code.cases import Truth
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.methods import Prompted
from uiproof.benchmarks.design2code.summary import KEYS
from uiproof.benchmarks.generated import generated_page, page_and_flags, reference_page
from uiproof.browser.source import PageSource
from uiproof.vision.clip import find_weights

SERVED = Served(
    reference=str,
    takes="the HTML of the reference page",
    examples={
        "page": {
            "summary": "A page against the HTML of its reference",
            "value": {"reference": "<h1>Hello</h1>", "generated": "<h1>Hallo</h1>", "deadline": 30},
        },
        "case": {
            "summary": "A page against a case of a data set on the server",
            "value": {"dataset": "demo", "case": "landing", "generated": "<h1>Hello</h1>"},
        },
        "batch": {
            "summary": "Several pages at once",
            "value": {
                "items": [
                    {"id": 0, "reference": "<h1>Hello</h1>", "generated": "<h1>Hello</h1>"},
                    {"id": 1, "reference": "<h1>Hello</h1>", "generated": "<h2>Hi</h2>"},
                ]
            },
        },
    },
)
WARM_UP = PageSource.from_html("<p>Warm</p>")


class PageJudge(Design2CodeJudge):
    """The judge for cases of a data set, and for pages that are given as they are."""

    def score(self, case: Case[Any, Any], answer: PageSource) -> Score:
        """Compare a generated page with its reference."""
        if isinstance(case.truth, PageSource):
            return self.compare(case.truth, answer)[0]
        return super().score(case, answer)


def reference_case(reference: Any, case_id: str) -> Case[Any, Any] | None:
    """Return the case of a page: HTML, a file, or a case of a data set."""
    if isinstance(reference, Case):
        return reference if isinstance(reference.truth, Truth | PageSource) else None
    if not isinstance(reference, str | Path | PageSource):
        return None
    return Case(case_id, None, reference_page(reference))


def answer(
    generated: str | Path | PageSource | Completion,
    form: str = "single",  # noqa: ARG001 - for pairs that are scored together with interactions
) -> PageSource:
    """Return a generated page as the judge takes it."""
    return generated_page(generated)


def chat_task(benchmark: Benchmark) -> ChatTask:
    """Return how inspect_ai runs the benchmark; scores that need CLIP only with its weights."""

    def scores() -> tuple[str, ...]:
        need_clip = ("paper.clip", "paper.final", "strict.clip", "strict.final")
        has_clip = find_weights() is not None
        return tuple(key for key in KEYS if has_clip or key not in need_clip)

    return ChatTask(
        prompts=benchmark.prompts,
        method=lambda model, prompt: Prompted(model, prompt),
        scores=scores,
        read=page_and_flags,
        write=lambda page: str(page.text),
        make=lambda text, _: PageSource.from_html(text),
    )
