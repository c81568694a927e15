"""Interaction2Code: from screenshots before and after interactions to a page where they work."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmarks.interaction2code.analyses.comparing import compared
from uiproof.benchmarks.interaction2code.asking.prompting import (
    OPTIONS,
    PARAMETERS,
    PROMPTS,
    Prompted,
)
from uiproof.benchmarks.interaction2code.cases import cases, recognises
from uiproof.benchmarks.interaction2code.methods import METHODS, method
from uiproof.benchmarks.interaction2code.summary import METRICS, summarise, summed_details
from uiproof.engine.types import Judge
from uiproof.registry import Benchmark

_PAGES = Path(__file__).parents[2] / "demo" / "interaction2code"


def _judge(run: Path) -> Judge[Any, Any, Any]:
    # Judges need the browser and the vision libraries; listing benchmarks does not.
    from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge

    return Interaction2CodeJudge(run)


def _fingerprint() -> Mapping[str, Any]:
    from importlib.metadata import version

    from uiproof.browser.fingerprint import fingerprint
    from uiproof.vision.clip import weights_digest

    contours = os.environ.get("UIPROOF_PUBLISHED_CONTOURS", "") not in ("", "0")
    return {
        **fingerprint(),
        "clip": weights_digest(),
        "ocr": f"rapidocr {version('rapidocr')}",
        **({"positions": "published contours"} if contours else {}),
    }


BENCHMARK = Benchmark(
    name="interaction2code",
    recognises=recognises,
    cases=cases,
    method=method,
    methods=METHODS,
    judge=_judge,
    summarise=summarise,
    summed_details=summed_details,
    metrics=METRICS,
    prompts=PROMPTS,
    prompted=Prompted,
    prompt_options=OPTIONS,
    parameters=PARAMETERS,
    compared=compared,
    fingerprint=_fingerprint,
    layout="a folder for each page with action.json, N.png and N_mark.png.",
    bundled={"interaction2code-demo": _PAGES, "interaction2code-shop": _PAGES / "shop"},
)

__all__ = ["BENCHMARK"]
