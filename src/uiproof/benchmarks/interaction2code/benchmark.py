"""Interaction2Code as a `Benchmark`; its modules are only imported when they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import (
    Benchmark,
    ChatTask,
    Command,
    Flag,
    Judge,
    JudgeOptions,
    Method,
    Recomputed,
    Served,
    deferred,
)

if TYPE_CHECKING:
    from uiproof.benchmark import Connect
    from uiproof.browser import Renderer
    from uiproof.dataset_editor import DatasetEditor
    from uiproof.engine.rundir import RunDirectory
    from uiproof.settings import Settings
    from uiproof.views.base import Analyses, Leaderboard

_ROOM = "uiproof.benchmarks.interaction2code"
_PAGES = Path(__file__).parents[2] / "demo" / "interaction2code"


@dataclass(frozen=True)
class Interaction2CodeOptions(JudgeOptions):
    """By which rules the `paper` profile finds positions."""

    contours: bool = False  # the published ones, which miss most marks


class Interaction2Code(Benchmark):
    """Rebuild a page and its interactions from screenshots."""

    name = "interaction2code"
    layout = "a folder for each page with action.json, N.png and N_mark.png."
    claims_references = True
    shows_pages = True
    score_command = f"{_ROOM}.commands:score"
    commands = tuple(
        Command(name, f"{_ROOM}.commands:{name}", *about)
        for name, *about in (
            ("collect", "Keep a page's meaningful interactions.", "Make data"),
            ("graph", "Draw the interaction graph of a page.", "Make data"),
            ("stats", "Describe a data set of interactions.", "Make data"),
            ("anchors", "Recompute published numbers from their data."),
            ("opinion", "Get a second opinion from a chat model.", "Run models"),
        )
    )
    flags = (
        Flag(
            "--published-contours",
            "contours",
            "positions of the paper profile by the published rules, which miss most marks.",
        ),
    )
    examples: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "run": (
            "uiproof run --dataset interaction2code-demo --method openai/gpt-4o --prompt mark "
            "--prompt mark:all --prompt direct:T",
        ),
    }
    bundled: ClassVar[Mapping[str, Path]] = {
        "interaction2code-demo": _PAGES,
        "interaction2code-shop": _PAGES / "shop",
    }

    metrics = deferred(f"{_ROOM}.summary:METRICS")
    methods = deferred(f"{_ROOM}.methods:METHODS")
    prompts = deferred(f"{_ROOM}.prompting:PROMPTS")
    prompt_slots = deferred(f"{_ROOM}.prompting:SLOTS")
    prompt_options = deferred(f"{_ROOM}.prompting:OPTIONS")
    parameters = deferred(f"{_ROOM}.prompting:PARAMETERS")
    recognises = deferred(f"{_ROOM}.graph:recognises")
    cases = deferred(f"{_ROOM}.cases:cases")
    summarise = deferred(f"{_ROOM}.summary:summarise")
    summed_details = deferred(f"{_ROOM}.summary:summed_details")
    reference_case = deferred(f"{_ROOM}.serving:reference_case")
    answer = deferred(f"{_ROOM}.serving:answer")
    reward_components = deferred(f"{_ROOM}.serving:reward_components")
    # As much as all others: a page on which the interaction does not work is worth a half at most.
    reward_weights: ClassVar[Mapping[str, float]] = {"usable": 7.0}
    case_view = deferred(f"{_ROOM}.view:Interactions")
    annotation = deferred(f"{_ROOM}.annotation:InteractionAnnotation")
    compared = deferred(f"{_ROOM}.analyses.tables:compared")

    def method(
        self,
        name: str,
        *,
        connect: Connect,
        prompt: str | None = None,
        protocol: str | None = None,  # noqa: ARG002 - it has none
        settings: Settings | None = None,  # noqa: ARG002
    ) -> Method[Any, Any]:
        """Make a built-in method, or a model that is asked with a prompt."""
        from uiproof.benchmarks.interaction2code.methods import method
        from uiproof.benchmarks.interaction2code.prompting import Prompted

        return method(name) if prompt is None else Prompted(connect(name), prompt)

    def check_prompt(self, prompt: str) -> None:
        """Raise `UsageError` for an unknown prompt or option."""
        from uiproof.benchmarks.interaction2code.prompting import Prompt

        super().check_prompt(prompt)
        Prompt.named(prompt)

    def judge_options(self, **chosen: Any) -> Interaction2CodeOptions:
        """Return `contours` as chosen, else as UIPROOF_PUBLISHED_CONTOURS sets it."""
        default = os.environ.get("UIPROOF_PUBLISHED_CONTOURS", "") not in ("", "0")
        contours = bool(chosen.pop("contours", default))
        super().judge_options(**chosen)  # has no others
        return Interaction2CodeOptions(contours=contours)

    def replay(self, dataset: Path, answers: Path, *, quiet: bool = False) -> Method[Any, Any]:
        """Make a method that answers with existing pages; see `api.score_interactions`."""
        from uiproof.benchmarks.interaction2code.api import replayed

        return replayed(dataset, answers, [None], quiet=quiet)[0]

    def judge(self, run: Path, options: JudgeOptions) -> Judge[Any, Any, Any]:
        """Make the judge, which acts on pages."""
        from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
        from uiproof.web import FrozenWeb

        assert isinstance(options, Interaction2CodeOptions)
        return Interaction2CodeJudge(
            run, web=FrozenWeb.installed(options.web), contours=options.contours
        )

    def served(self) -> Served:
        """Return how requests describe a reference."""
        from uiproof.benchmarks.interaction2code.serving import SERVED

        return SERVED

    def scoring_judge(
        self, folder: Path, options: JudgeOptions, renderer: Callable[[], Renderer]
    ) -> Judge[Any, Any, Any]:
        """Make a judge that also takes pictures as references."""
        from uiproof.benchmarks.interaction2code.serving import make_judge

        assert isinstance(options, Interaction2CodeOptions)
        return make_judge(folder, renderer, contours=options.contours)

    def chat_task(self) -> ChatTask:
        """Return how inspect_ai runs it: answers are HTML."""
        from uiproof.benchmarks.interaction2code.serving import chat_task

        return chat_task(self)

    def analyses(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses:  # noqa: ARG002
        """Return the tables and charts of the paper."""
        from uiproof.benchmarks.interaction2code.view import analyses

        return analyses(runs)

    def anchors(self, folder: Path, runs: Sequence[RunDirectory]) -> Recomputed | None:
        """Return the published verdicts of WebVIA, and how far runs agree with them."""
        from uiproof.benchmarks.interaction2code.webvia import recompute

        return recompute(folder, runs)

    def editor(self, path: Path) -> DatasetEditor | None:
        """Open the interactions of collected pages."""
        from uiproof.benchmarks.interaction2code.editor import InteractionEditor

        return InteractionEditor(path) if self.recognises(path) else None

    def fingerprint(self, options: JudgeOptions) -> Mapping[str, Any]:
        """Return the browser, fonts, frozen web, weights of CLIP, OCR, and rules for positions."""
        from importlib.metadata import version

        from uiproof.browser.chromium import fingerprint
        from uiproof.vision.clip import weights_digest
        from uiproof.web import FrozenWeb

        assert isinstance(options, Interaction2CodeOptions)
        return {
            **fingerprint(),
            "web": FrozenWeb.installed(options.web).digest,
            "clip": weights_digest(),
            "ocr": f"rapidocr {version('rapidocr')}",
            "opencv": version("opencv-python-headless"),  # reads pictures as gray
            **({"positions": "published contours"} if options.contours else {}),
        }


BENCHMARK = Interaction2Code()
