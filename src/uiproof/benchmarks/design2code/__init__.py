"""Design2Code: from a screenshot of a page to HTML that looks the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmarks.design2code.cases import cases, recognises
from uiproof.benchmarks.design2code.methods import METHODS, method
from uiproof.benchmarks.design2code.prompting import PROMPTS, Prompted
from uiproof.benchmarks.design2code.summary import METRICS, summarise
from uiproof.engine.types import Judge
from uiproof.registry import Benchmark


def _judge(run: Path) -> Judge[Any, Any, Any]:
    # Judges need the browser and the vision libraries; listing benchmarks does not.
    from uiproof.benchmarks.design2code.judge import Design2CodeJudge

    return Design2CodeJudge(run)


def _fingerprint() -> Mapping[str, Any]:
    from uiproof.browser.fingerprint import fingerprint
    from uiproof.vision.clip import weights_digest

    return {**fingerprint(), "clip": weights_digest()}


BENCHMARK = Benchmark(
    name="design2code",
    recognises=recognises,
    cases=cases,
    method=method,
    methods=METHODS,
    judge=_judge,
    summarise=summarise,
    metrics=METRICS,
    prompts=PROMPTS,
    prompted=Prompted,
    fingerprint=_fingerprint,
    layout="a folder with N.html and the images it uses, such as rick.jpg; N.png may be there.",
    bundled={"design2code-demo": Path(__file__).parents[2] / "demo" / "design2code" / "reference"},
)

__all__ = ["BENCHMARK"]
