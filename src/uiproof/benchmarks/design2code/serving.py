"""Design2Code for `Scorer`, `uiproof serve` and inspect: pages as references, without a run."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmark import Benchmark, Case, ChatTask, Completion, Score, Served
from uiproof.benchmarks.design2code.cases import PICTURES, Screenshot, Truth
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.methods import Prompted
from uiproof.benchmarks.design2code.scores import clamped
from uiproof.benchmarks.design2code.summary import KEYS
from uiproof.benchmarks.generated import generated_page, page_and_flags, reference_page
from uiproof.browser.source import PageSource
from uiproof.errors import InputError, UsageError
from uiproof.vision.clip import find_weights

SERVED = Served(
    reference=str,
    takes="the HTML of the reference page, or a screenshot (PNG or JPEG) in base64",
    examples={
        "page": {
            "summary": "A page against the HTML of its reference",
            "value": {"reference": "<h1>Hello</h1>", "generated": "<h1>Hallo</h1>", "deadline": 30},
        },
        "case": {
            "summary": "A page against a case of a data set on the server",
            "value": {"dataset": "demo", "case": "landing", "generated": "<h1>Hello</h1>"},
        },
        "screenshot": {
            "summary": "A page against a screenshot, in base64 or as a data URL",
            "value": {"reference": "iVBORw0KGgo…", "generated": "<h1>Hello</h1>"},
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
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # of PNG and JPEG files
# The first bytes of PNG and JPEG files in base64, as such or in a data URL.
_BASE64 = re.compile(
    r"\s*(?:data:image/(?:png|jpe?g);base64,)?\s*(?=iVBORw0KGgo|/9j/)", re.IGNORECASE
)
WARM_UP = PageSource.from_html("<p>Warm</p>")


class PageJudge(Design2CodeJudge):
    """The judge for cases of a data set, and for references that are given as they are."""

    def score(self, case: Case[Any, Any], answer: PageSource) -> Score:
        """Compare a generated page with its reference."""
        if isinstance(case.truth, PageSource | Screenshot):
            return self.score_against(case.truth, answer, case.id)
        return super().score(case, answer)


def reference_case(reference: Any, case_id: str) -> Case[Any, Any] | None:
    """Return the case of a reference: HTML, a picture, a file, or a case of a data set.

    A picture is a PNG or JPEG as bytes, its file, or base64, which HTML never looks like.
    """
    if isinstance(reference, Case):
        known = Truth | PageSource | Screenshot
        return reference if isinstance(reference.truth, known) else None
    if isinstance(reference, Path) and reference.suffix.lower() in PICTURES:
        return Case(case_id, None, Screenshot.from_file(reference))
    if isinstance(reference, str) and (encoded := _BASE64.match(reference)):
        reference = _decoded(reference[encoded.end() :])
    if isinstance(reference, bytes) and reference.startswith(_SIGNATURES):
        return Case(case_id, None, Screenshot(reference))
    if not isinstance(reference, str | Path | PageSource):
        return None
    return Case(case_id, None, reference_page(reference))


def _decoded(text: str) -> bytes:
    try:
        return b64decode("".join(text.split()), validate=True)
    except ValueError as error:
        raise InputError(
            f"The screenshot is not valid base64: {error}.", remedy="Encode the whole file."
        ) from None


def answer(
    generated: str | Path | PageSource | Completion,
    form: str = "single",  # noqa: ARG001 - for pairs that are scored together with interactions
) -> PageSource:
    """Return a generated page as the judge takes it."""
    return generated_page(generated)


_NOT_REWARDED = frozenset({"clip", "final", "mean_without_clip"})  # not measured everywhere; means


def reward_components(scores: Mapping[str, Any], profile: str) -> dict[str, float]:
    """Return the scores of a profile; those against screenshots have a profile of their own."""
    if profile == "human" and "human" in scores:
        return {"human": clamped(scores["human"])}
    if profile not in ("paper", "strict", "human"):
        raise UsageError(
            f"There is no profile {profile!r}.", remedy="Use one of: strict, paper, human."
        )
    found = scores.get(profile, scores.get("picture"))
    assert isinstance(found, Mapping)
    parts = {name: value for name, value in found.items() if name not in _NOT_REWARDED}
    return {name: clamped(value or 0.0) for name, value in parts.items()}


def chat_task(benchmark: Benchmark) -> ChatTask:
    """Return how inspect_ai runs the benchmark; scores that need CLIP only with its weights."""

    def scores() -> tuple[str, ...]:
        absent = {"lpips"}  # the task has no options for its judge
        if find_weights() is None:
            absent |= {"paper.clip", "paper.final", "strict.clip", "strict.final"}
        return tuple(key for key in KEYS if key not in absent)

    return ChatTask(
        prompts=benchmark.prompts,
        method=lambda model, prompt: Prompted(model, prompt),
        scores=scores,
        read=page_and_flags,
        write=lambda page: str(page.text),
        make=lambda text, _: PageSource.from_html(text),
    )
