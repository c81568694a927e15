"""Interaction2Code as a task of inspect_ai."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.scorer import Scorer, scorer
from inspect_ai.solver import Solver, solver

from uiproof.benchmarks.interaction2code import BENCHMARK
from uiproof.benchmarks.interaction2code.asking.prompt import Prompt
from uiproof.benchmarks.interaction2code.cases import Answer, Form
from uiproof.browser.source import PageSource
from uiproof.errors import UsageError
from uiproof.inspect_tasks.shape import METRICS, Answered, Wiring, asking, judging, make_task
from uiproof.models.answers import page_in
from uiproof.models.types import Reply

_DATASET = "interaction2code-demo"
_FORMS: tuple[Form, ...] = ("single", "all")


@task
def interaction2code(dataset: str = _DATASET, prompt: str = "direct") -> Task:
    """Rebuild pages whose interactions work; scored by both profiles and the verifier.

    Args:
        dataset: A folder, a bundled data set or one fetched with `uiproof data get`.
        prompt: `direct`, `cot`, `mark` or `failure-aware`, with options as in `mark:all,V+T`.
    """
    return make_task(
        _wiring("single"),
        dataset,
        prompt,
        solver=interaction2code_prompt(dataset, prompt),
        scorer=interaction2code_judge(dataset, Prompt.named(prompt).form),
    )


@solver
def interaction2code_prompt(dataset: str = _DATASET, prompt: str = "direct") -> Solver:
    """Ask for pages as `uiproof run --prompt` does."""
    return asking(_wiring(Prompt.named(prompt).form), dataset, prompt)


@scorer(metrics=METRICS)
def interaction2code_judge(dataset: str = _DATASET, form: str = "single") -> Scorer:
    """Score the page in the last answer, whoever asked for it.

    Args:
        dataset: As for the task.
        form: Whether pages were asked for with one interaction (`single`) or with `all`.
    """
    for known in _FORMS:
        if form == known:
            return judging(_wiring(known), dataset)
    raise UsageError(f"There is no form {form!r}.", remedy=f"Use one of: {', '.join(_FORMS)}.")


def _measured() -> tuple[str, ...]:
    from uiproof.vision.clip import find_weights

    kinds = ("clip", "ssim", "text") if find_weights() is not None else ("ssim", "text")
    part = (*kinds, "position_before", "position_after")
    return (
        *("implemented", "usable"),
        *(f"{profile}.full.{kind}" for profile in ("paper", "strict") for kind in kinds),
        *(f"{profile}.part.{kind}" for profile in ("paper", "strict") for kind in part),
    )


def _read(reply: Reply) -> Answered:
    page = page_in(reply)
    return Answered(page.html, page.flags)


def _wiring(form: Form) -> Wiring[Answer]:
    return Wiring(
        benchmark=BENCHMARK,
        measured=_measured,
        read=_read,
        write=lambda answer: answer.page.text,
        make=lambda text: Answer(PageSource.from_html(text), form),
    )
