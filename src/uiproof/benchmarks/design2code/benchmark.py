"""Design2Code as a `Benchmark`; its modules are only imported when they are needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import (
    Benchmark,
    Case,
    ChatTask,
    Command,
    Flag,
    Judge,
    JudgeOptions,
    Method,
    Metric,
    Recomputed,
    Served,
    deferred,
)
from uiproof.benchmarks.design2code.screens import Design2CodeOptions
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.annotation import Annotation
    from uiproof.benchmark import Connect
    from uiproof.browser import Renderer
    from uiproof.engine.rundir import RunDirectory
    from uiproof.settings import Settings

_ROOM = "uiproof.benchmarks.design2code"
_VERBS = ("run", "score", "serve")
_DEMO = Path(__file__).parents[2] / "demo"


class Design2Code(Benchmark):
    """Rebuild a page from its screenshot."""

    name = "design2code"
    layout = (
        "a folder with N.html and the images it uses, such as rick.jpg, or with screenshots N.png; "
        "or folders of such."
    )
    claims_references = True
    commands = (Command("diff", f"{_ROOM}.commands:diff", "Say what is different between pages."),)
    flags = (
        Flag(
            "--viewport",
            "viewport",
            "The window that pages are compared in, such as 390x844; may be repeated; auto takes "
            "the width of the reference screenshot. [default: 1280x720]",
            takes="WxH",
            repeats=True,
            verbs=_VERBS,
        ),
        Flag("--dark", "dark", "Pages are told to prefer dark colours.", verbs=_VERBS),
        Flag(
            "--scale",
            "scale",
            "Device pixels for each CSS pixel: 1, 2 or 3. [default: 1]",
            takes="N",
            verbs=_VERBS,
        ),
        Flag(
            "--lpips",
            "lpips",
            "Also measure LPIPS, a distance of pictures; needs `uiproof data get lpips-alexnet`.",
            verbs=_VERBS,
        ),
        Flag(
            "--build",
            "build",
            'A command that builds each project folder of the answers, such as "npm run build"; it '
            "runs on this machine, with your rights.",
            takes="COMMAND",
            verbs=("run", "score"),
        ),
        Flag(
            "--build-output",
            "build_output",
            "The folder that it builds into. [default: dist, build or out]",
            takes="DIR",
            verbs=("run", "score"),
        ),
    )
    replay_options = ("build", "build_output")
    shows_pages = True
    examples: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "": (
            "uiproof score design2code reference/ generated/  your own pages",
            "uiproof run --dataset design2code-demo --method blueprint",
        ),
        "score design2code": (
            "uiproof score design2code reference.html generated.html",
            "uiproof score design2code reference/ generated/ --json scores.json",
            "uiproof score design2code reference/ generated/ --out runs/mine",
            "uiproof score design2code screenshot.png generated.html",
            "uiproof score design2code reference/ generated/ --viewport auto --viewport 390x844",
            'uiproof score design2code reference/ projects/ --build "npm ci && npm run build"',
        ),
        "run": (
            "uiproof run --dataset design2code-demo --method blueprint",
            "uiproof run --dataset design2code --method replay:predictions/ --out runs/mine "
            "--limit 50",
            "uiproof run --dataset design2code --method openai/gpt-4o --prompt direct --dry-run",
            "uiproof run --dataset design2code --method openai/gpt-4o --prompt direct "
            "--prompt self-revision --max-cost 20",
            "uiproof run --dataset design2code --method blueprint --shard 3/16 --out shards/3",
            "uiproof run --dataset s3://bucket/pages --method replay:s3://bucket/predictions",
            'uiproof run --dataset pages/ --method replay:projects/ --build "npm run build"',
        ),
    }
    bundled: ClassVar[Mapping[str, Path]] = {
        "design2code-demo": _DEMO / "design2code" / "reference",
        # Pages that load Tailwind, React, Bootstrap, fonts and pictures from elsewhere.
        "design2code-today": _DEMO / "design2code-today" / "reference",
    }

    metrics = deferred(f"{_ROOM}.summary:METRICS")
    methods = deferred(f"{_ROOM}.methods:METHODS")
    prompts = deferred(f"{_ROOM}.methods:PROMPTS")
    prompt_slots = deferred(f"{_ROOM}.methods:SLOTS")
    recognises = deferred(f"{_ROOM}.cases:recognises")
    cases = deferred(f"{_ROOM}.cases:cases")
    summarise = deferred(f"{_ROOM}.summary:summarise")
    reference_case = deferred(f"{_ROOM}.serving:reference_case")
    analyses = deferred(f"{_ROOM}.view:analyses")
    answer = deferred(f"{_ROOM}.serving:answer")
    reward_components = deferred(f"{_ROOM}.serving:reward_components")

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
        from uiproof.benchmarks.design2code.methods import Prompted, method

        return method(name) if prompt is None else Prompted(connect(name), prompt)

    def columns(self, scores: Sequence[Mapping[str, Any]]) -> tuple[Metric, ...]:
        """Return the columns of the profiles that the runs have: of pages, of screenshots."""
        from uiproof.benchmarks.design2code.summary import columns

        return columns(scores)

    def shown(self, run: RunDirectory) -> str:
        """Return a row for each screen, where pages were compared on several."""
        from uiproof.benchmarks.design2code.view import shown

        return shown(run)

    def anchors(self, folder: Path, runs: Sequence[RunDirectory]) -> Recomputed | None:  # noqa: ARG002
        """Return the picture scores of MRWeb, from its pictures."""
        from uiproof.benchmarks.design2code.mrweb import recompute

        return recompute(folder)

    def judge_options(self, **chosen: Any) -> Design2CodeOptions:
        """Return the screens (`viewport`, one or several; `dark`; `scale`) and `lpips`."""
        known = ("viewport", "dark", "scale", "lpips")
        taken = {name: chosen.pop(name) for name in known if name in chosen}
        super().judge_options(**chosen)  # has no others
        return Design2CodeOptions.of(**taken)

    def replay(
        self,
        dataset: Path,
        answers: Path,
        *,
        quiet: bool = False,
        build: str | None = None,
        build_output: str | None = None,
    ) -> Method[Any, Any]:
        """Make a method that answers with the pages of the same names.

        `build` is a command that is run in each project folder before; what it leaves in
        `build_output`, by default `dist`, `build` or `out`, are the answers.
        """
        from uiproof.benchmarks.design2code.cases import pages_in, references_in, same_page
        from uiproof.benchmarks.design2code.methods import Replay
        from uiproof.remote.mirror import shown

        if build is not None:
            from uiproof.benchmarks.design2code.projects import built

            return Replay(answers, built(dataset, answers, build, build_output, quiet=quiet))
        if build_output is not None:
            raise UsageError("--build-output goes with --build.", remedy="Give the command, too.")
        if dataset.is_dir() != answers.is_dir() and answers.suffix.lower() not in (".xlsx", ".tsv"):
            raise UsageError(
                f"{shown(dataset)} and {shown(answers)} are a file and a folder.",
                remedy="Give two files, or two folders that hold pages of the same names.",
            )
        wanted, given = set(references_in(dataset)), set(pages_in(answers))
        given = {same_page(name, wanted) for name in given}
        if dataset.is_dir() and wanted and given and not wanted & given:
            raise UsageError(
                f"No page of {shown(answers)} has the name of one of {shown(dataset)}.",
                remedy="Pages belong together by their names: 1.html is compared with 1.html.",
            )
        if dataset.is_dir() and (strangers := sorted(given - wanted)) and not quiet:
            logging.getLogger("uiproof").warning(
                "Generated pages without a reference, which are not scored (%d): %s",
                len(strangers),
                ", ".join(strangers[:5]) + (", …" if len(strangers) > 5 else ""),
            )
        return Replay(answers)

    def judge(self, run: Path, options: JudgeOptions) -> Judge[Any, Any, Any]:
        """Make the judge of all profiles."""
        from uiproof.benchmarks.design2code.judge import Design2CodeJudge
        from uiproof.web import FrozenWeb

        assert isinstance(options, Design2CodeOptions)
        return Design2CodeJudge(run, options=options, web=FrozenWeb.installed(options.web))

    def served(self) -> Served:
        """Return how requests describe a reference."""
        from uiproof.benchmarks.design2code.serving import SERVED

        return SERVED

    def scoring_judge(
        self,
        folder: Path,
        options: JudgeOptions,
        renderer: Callable[[], Renderer],
    ) -> Judge[Any, Any, Any]:
        """Make a judge that also takes pages and pictures as references."""
        from uiproof.benchmarks.design2code.serving import PageJudge

        assert isinstance(options, Design2CodeOptions)
        return PageJudge(references=folder, renderer=renderer(), options=options)

    def warm_up(self) -> tuple[Case[Any, Any], Any]:
        """Return a page that is compared with itself."""
        from uiproof.benchmarks.design2code.serving import WARM_UP

        return Case("warm-up", None, WARM_UP), WARM_UP

    def chat_task(self) -> ChatTask:
        """Return how inspect_ai runs it: answers are HTML."""
        from uiproof.benchmarks.design2code.serving import chat_task

        return chat_task(self)

    def annotation(self) -> Annotation:
        """Return the comparison of whole pages."""
        from uiproof.benchmarks.design2code.cases import PageAnnotation

        return PageAnnotation()

    def fingerprint(self, options: JudgeOptions) -> Mapping[str, Any]:
        """Return the browser, the fonts, the frozen web, the screens and the weights of CLIP.

        Also the versions of profiles whose definition has changed.
        """
        from uiproof.benchmarks.design2code.strict import VERSION
        from uiproof.browser.chromium import fingerprint
        from uiproof.vision.clip import weights_digest
        from uiproof.web import FrozenWeb

        assert isinstance(options, Design2CodeOptions)
        web = FrozenWeb.installed(options.web).digest
        return {
            **fingerprint(),
            **options.facts,
            "web": web,
            "clip": weights_digest(),
            "profiles": {"strict": VERSION},
        }


BENCHMARK = Design2Code()
