"""Calibrated probabilities of verdicts, from the features and the guidelines' opinion.

A multinomial logistic model, written by `scripts/train_verifier.py`. Its weights are drawn towards
the guidelines: what there is little data about stays as they say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier.features import Features
from uiproof.benchmarks.interaction2code.verifier.guidelines import Opinion, opinion

# Failures that may or may not leave an interaction usable are two classes.
_OPEN = "cfgi"
CLASSES: tuple[tuple[Failure, bool], ...] = tuple(
    (failure, usable)
    for failure in Failure
    for usable in (True, False)
    if failure.value in _OPEN or usable == (failure.value in ("none", "d", "e"))
)
_EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Probabilities:
    """The probabilities of one interaction."""

    usable: float
    ranked: tuple[tuple[Failure, float], ...]  # failures, the likeliest first
    failure: Failure  # the likeliest that goes with `usable`
    unsure: bool

    @property
    def is_usable(self) -> bool:
        """Return whether it is more likely usable than not."""
        return self.usable >= _EVEN


def probabilities(f: Features) -> Probabilities:
    """Return the probabilities of an interaction."""
    model = _model()
    return decide(weighed(inputs(f, opinion(f), model["features"]), model), model["unsure"])


def inputs(f: Features, said: Opinion, names: list[str]) -> list[float]:
    """Return the numbers that the model weighs: the opinion, its presence, and some features."""
    told = [float((said.failure, said.usable) == one) for one in CLASSES]
    return [*told, said.presence, *(float(getattr(f, name)) for name in names)]


def weighed(row: list[float], model: dict[str, Any]) -> list[float]:
    """Return the probability of each class."""
    scaled = (np.array(row) - np.array(model["middle"])) / np.array(model["scale"])
    logits = np.array(model["weights"]) @ scaled + np.array(model["bias"])
    powers = np.exp(logits - logits.max())
    return [float(one) for one in powers / powers.sum()]


def decide(shares: list[float], unsure: dict[str, float]) -> Probabilities:
    """Return what follows from the probabilities of the classes: `usable` first, then the type."""
    usable = sum(share for share, (_, works) in zip(shares, CLASSES, strict=True) if works)
    works = usable >= _EVEN
    by_type: dict[Failure, float] = dict.fromkeys(Failure, 0.0)
    fitting: dict[Failure, float] = {}
    for share, (failure, is_usable) in zip(shares, CLASSES, strict=True):
        by_type[failure] += share
        if is_usable == works:
            fitting[failure] = share
    failure = max(fitting, key=lambda one: fitting[one])
    ranked = sorted(by_type.items(), key=lambda item: -item[1])
    doubtful = max(usable, 1 - usable) < unsure["usable"] or by_type[failure] < unsure["type"]
    return Probabilities(usable, tuple(ranked[:3]), failure, doubtful)


@cache
def _model() -> dict[str, Any]:
    text = files(__package__).joinpath("model.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
