"""Design2Code as a task of inspect_ai."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.scorer import Scorer, scorer
from inspect_ai.solver import Solver, solver

from uiproof.benchmarks.design2code import BENCHMARK
from uiproof.benchmarks.design2code.summary import KEYS
from uiproof.browser.source import PageSource
from uiproof.inspect_tasks.shape import METRICS, Answered, Wiring, asking, judging, make_task
from uiproof.models.answers import page_in
from uiproof.models.types import Reply

_NEED_CLIP = ("paper.clip", "paper.final", "strict.clip", "strict.final")


@task
def design2code(dataset: str = "design2code-demo", prompt: str = "direct") -> Task:
    """Rebuild pages from their screenshots; scored by both profiles of the Design2Code judge.

    Args:
        dataset: A folder of pages, a bundled data set or one fetched with `uiproof data get`.
        prompt: `direct`, `text-augmented` or `self-revision`.
    """
    return make_task(
        _WIRING,
        dataset,
        prompt,
        solver=design2code_prompt(dataset, prompt),
        scorer=design2code_judge(dataset),
    )


@solver
def design2code_prompt(dataset: str = "design2code-demo", prompt: str = "direct") -> Solver:
    """Ask for pages as `uiproof run --prompt` does."""
    return asking(_WIRING, dataset, prompt)


@scorer(metrics=METRICS)
def design2code_judge(dataset: str = "design2code-demo") -> Scorer:
    """Score the page in the last answer against the page of the sample, whoever asked for it."""
    return judging(_WIRING, dataset)


def _measured() -> tuple[str, ...]:
    from uiproof.vision.clip import find_weights

    has_clip = find_weights() is not None
    return tuple(key for key in KEYS if has_clip or key not in _NEED_CLIP)


def _read(reply: Reply) -> Answered:
    page = page_in(reply)
    return Answered(page.html, page.flags)


_WIRING: Wiring[PageSource] = Wiring(
    benchmark=BENCHMARK,
    measured=_measured,
    read=_read,
    write=lambda page: page.text,
    make=PageSource.from_html,
)
