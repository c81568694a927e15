"""Grounding: from a screenshot and an instruction to the place on the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.cases import cases, recognises
from uiproof.benchmarks.grounding.comparison import compared, store
from uiproof.benchmarks.grounding.judge import GroundingJudge
from uiproof.benchmarks.grounding.methods import METHODS, make_method
from uiproof.benchmarks.grounding.summary import METRICS, summarise
from uiproof.benchmarks.grounding.tally import summed_details
from uiproof.engine.types import Method
from uiproof.models.chat import ChatModel, connect
from uiproof.registry import Benchmark


def _method(name: str) -> Method[Any, Any]:
    def plain(model: str) -> ChatModel:
        return connect(model)

    return make_method(name, plain)


def _fingerprint() -> Mapping[str, Any]:
    """Nothing on this machine changes a score here: no browser and no model of ours."""
    return {}


BENCHMARK = Benchmark(
    name="grounding",
    recognises=recognises,
    cases=cases,
    method=_method,
    methods=METHODS,
    judge=GroundingJudge,
    summarise=summarise,
    summed_details=summed_details,
    metrics=METRICS,
    composed=make_method,
    compared=compared,
    finished=store,
    fingerprint=_fingerprint,
    layout="a folder with annotations.json and samples/*.png, or a published set as it is.",
    bundled={"grounding-demo": Path(__file__).parents[2] / "demo" / "grounding"},
)

__all__ = ["BENCHMARK"]
