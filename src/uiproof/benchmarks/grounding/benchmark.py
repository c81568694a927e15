"""Grounding as a `Benchmark`; its modules are only imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import (
    Benchmark,
    Command,
    Judge,
    JudgeOptions,
    Method,
    Served,
    deferred,
)

if TYPE_CHECKING:
    from uiproof.benchmark import Connect
    from uiproof.browser import Renderer
    from uiproof.engine.rundir import RunDirectory
    from uiproof.settings import Settings
    from uiproof.views.base import Analyses, Leaderboard

_ROOM = "uiproof.benchmarks.grounding"


class Grounding(Benchmark):
    """Find an element on a screenshot."""

    name = "grounding"
    layout = "a folder with annotations.json and samples/*.png, or a published set as it is."
    score_command = f"{_ROOM}.commands:score"
    commands = (
        Command(
            "generate", f"{_ROOM}.commands:generate", "Make a synthetic data set.", "Make data"
        ),
        Command(
            "audit",
            f"{_ROOM}.commands:audit",
            "Run blind baselines to detect label leakage.",
            "Make data",
        ),
        Command(
            "diagnose", f"{_ROOM}.commands:diagnose", "Find the coordinates that a model used."
        ),
    )
    examples: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "run": ("uiproof run --dataset synthetic --method omniparser",),
        "compare": (
            "uiproof compare runs/grounding-* --charts-dir charts",
            "uiproof compare --charts-dir evaluation/charts",
        ),
    }
    bundled: ClassVar[Mapping[str, Path]] = {
        "grounding-demo": Path(__file__).parents[2] / "demo" / "grounding"
    }
    labels_by_method = True  # `ocr` is `ocr@none`

    claims_references = True

    metrics = deferred(f"{_ROOM}.judge:METRICS")
    methods = deferred(f"{_ROOM}.methods:METHODS")
    prompts = deferred(f"{_ROOM}.methods:PROMPTS")
    prompt_slots = deferred(f"{_ROOM}.grounders:SLOTS")
    protocols = deferred(f"{_ROOM}.cases:PROTOCOLS")
    recognises = deferred(f"{_ROOM}.cases:recognises")
    cases = deferred(f"{_ROOM}.cases:cases")
    function_answer = deferred(f"{_ROOM}.cases:function_answer")
    summarise = deferred(f"{_ROOM}.summary:summarise")
    reference_case = deferred(f"{_ROOM}.serving:reference_case")
    answer = deferred(f"{_ROOM}.serving:answer")
    summed_details = deferred(f"{_ROOM}.summary:summed_details")
    case_view = deferred(f"{_ROOM}.view:Gallery")
    editor = deferred(f"{_ROOM}.annotation:open_screenshots")
    compared = deferred(f"{_ROOM}.results:compared")
    shown = deferred(f"{_ROOM}.results:described_table")
    chat_task = deferred(f"{_ROOM}.serving:chat_task")
    compare_files = deferred(f"{_ROOM}.results:compare_results")
    finished = deferred(f"{_ROOM}.results:store")

    def method(
        self,
        name: str,
        *,
        connect: Connect,
        prompt: str | None = None,
        protocol: str | None = None,
        settings: Settings | None = None,
    ) -> Method[Any, Any]:
        """Make a method that is put together by its name, such as `openai/gpt-4o@zoom`."""
        from uiproof.benchmarks.grounding.methods import make_method

        rules = protocol or next(iter(self.protocols))
        return make_method(name, connect, rules, settings, prompt=prompt)

    def judge(self, run: Path, options: JudgeOptions) -> Judge[Any, Any, Any]:  # noqa: ARG002
        """Make the judge, which compares places."""
        from uiproof.benchmarks.grounding.judge import GroundingJudge

        return GroundingJudge(run)

    def served(self) -> Served:
        """Return how requests describe a reference."""
        from uiproof.benchmarks.grounding.serving import SERVED

        return SERVED

    def scoring_judge(
        self,
        folder: Path,  # noqa: ARG002 - it keeps nothing
        options: JudgeOptions,  # noqa: ARG002
        renderer: Callable[[], Renderer],  # noqa: ARG002
    ) -> Judge[Any, Any, Any]:
        """Make a judge that also takes boxes as references."""
        from uiproof.benchmarks.grounding.serving import PlaceJudge

        return PlaceJudge()

    def analyses(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses:  # noqa: ARG002
        """Return the tables and charts of the paper."""
        from uiproof.benchmarks.grounding.view import analyses

        return analyses(runs)


BENCHMARK = Grounding()
