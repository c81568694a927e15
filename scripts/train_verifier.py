"""Train the model of the interaction verifier: train_verifier.py [--report] [RECORDING...].

Reads recorded features (`tests/benchmarks/interaction2code/recorded/*.features.xz`; one file is
one author), reports accuracies with each author and each page left out, and writes `model.json`
beside the verifier unless `--report` is given.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads wait for each other on a busy machine

import numpy as np
from scipy.optimize import minimize

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier import model as models
from uiproof.benchmarks.interaction2code.verifier.features import NAMES, Features
from uiproof.benchmarks.interaction2code.verifier.guidelines import opinion

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests" / "benchmarks" / "interaction2code" / "recorded"
MODEL = Path(models.__file__).with_name("model.json")
# Features that the guidelines' opinion is weighed with.
WEIGHED = [
    *("present", "misplaced", "peer", "absent", "came_recall", "came_precision"),
    *("score", "close", "shared"),
]
TRUST = 3.2  # logit that the guidelines' opinion begins with
PENALTY = 25.0  # of weights that leave what they begin with
UNSURE = {"usable": 0.8, "type": 0.6}


@dataclass(frozen=True)
class Case:
    """A labelled interaction."""

    author: str
    page: str
    failure: str
    usable: bool
    accepted: frozenset[str]
    style: str
    row: list[float] | None


def load(paths: list[Path]) -> list[Case]:
    """Return the cases of some recordings."""
    cases = []
    for path in paths:
        told = json.loads(lzma.decompress(path.read_bytes()))
        if told["names"] != list(NAMES):
            raise SystemExit(f"{path.name} has other features: record it again (record.py)")
        for name, failure, usable, accepted, style, row in told["rows"]:
            page = f"{path.name} {name.split('__')[0]}"
            kinds = frozenset([failure, *accepted])
            cases.append(Case(path.name, page, failure, usable, kinds, style, row))
    return cases


def train(cases: list[Case]) -> dict[str, Any]:
    """Return the model that fits some cases."""
    cases = [one for one in cases if one.row is not None]
    found = [Features(*one.row) for one in cases if one.row is not None]
    rows = np.array([models.inputs(f, opinion(f), WEIGHED) for f in found])
    classes = [(one.value, usable) for one, usable in models.CLASSES]
    labels = np.array([classes.index(_class(one)) for one in cases])
    count = len(classes)
    middle, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 0.05)
    middle[:count], scale[:count] = 0, 1
    inputs = (rows - middle) / scale
    start = np.zeros((count, rows.shape[1] + 1))
    start[:, :count] = TRUST * np.eye(count)
    inputs = np.hstack([inputs, np.ones((len(inputs), 1))])
    penalty = np.full(start.shape, PENALTY)
    penalty[:, :count] = PENALTY / 3

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(start.shape)
        logits = inputs @ weights.T
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        away = weights - start
        value = -np.log(shares[np.arange(len(labels)), labels] + 1e-12).sum()
        value += 0.5 * (penalty * away**2).sum()
        shares[np.arange(len(labels)), labels] -= 1
        return float(value), (shares.T @ inputs + penalty * away).ravel()

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    weights = best.reshape(start.shape)
    return {
        "features": WEIGHED,
        "middle": np.round(middle, 3).tolist(),
        "scale": np.round(scale, 3).tolist(),
        "weights": np.round(weights[:, :-1], 3).tolist(),
        "bias": np.round(weights[:, -1], 3).tolist(),
        "unsure": UNSURE,
    }


def _class(case: Case) -> tuple[str, bool]:
    usable = case.usable
    if case.failure in ("none", "d", "e"):
        usable = True
    elif case.failure in "abhj":
        usable = False
    return case.failure, usable


def judge(case: Case, model: dict[str, Any] | None) -> tuple[str, bool, bool]:
    """Return type, usable and unsure of a case; by the guidelines alone without a model."""
    if case.row is None:
        return Failure.MISSING.value, False, False
    found = Features(*case.row)
    said = opinion(found)
    if model is None:
        return said.failure.value, said.usable, False
    shares = models.weighed(models.inputs(found, said, model["features"]), model)
    likely = models.decide(shares, model["unsure"])
    return likely.failure.value, likely.is_usable, likely.unsure


def left_out(cases: list[Case], key: str) -> list[tuple[str, bool, bool]]:
    """Judge each case by a model that was trained without its author or page."""
    told: dict[int, tuple[str, bool, bool]] = {}
    for group in sorted({getattr(one, key) for one in cases}):
        model = train([one for one in cases if getattr(one, key) != group])
        for number, one in enumerate(cases):
            if getattr(one, key) == group:
                told[number] = judge(one, model)
    return [told[number] for number in range(len(cases))]


def summary(name: str, cases: list[Case], told: list[tuple[str, bool, bool]]) -> str:
    """Return the accuracies of some verdicts, in one line."""
    pairs = list(zip(cases, told, strict=True))
    sure = [(one, said) for one, said in pairs if not said[2]]
    working = [said for one, said in pairs if one.failure == "none"]
    parts = [f"{name:42} {len(pairs):4}"]
    for some in (pairs, sure):
        types = sum(said[0] in one.accepted for one, said in some) / max(len(some), 1)
        usable = sum(said[1] == one.usable for one, said in some) / max(len(some), 1)
        parts.append(f"types {types:6.1%} usable {usable:6.1%}")
    lost = sum(not said[1] for said in working)
    parts.insert(2, f"working called unusable {lost} of {len(working)}")
    return " | ".join([*parts, f"sure {len(sure) / max(len(pairs), 1):.0%}"])


def main() -> None:
    """Train, report, and write the model."""
    given = [Path(one) for one in sys.argv[1:] if not one.startswith("--")]
    cases = load(given or sorted(RECORDED.glob("*.features.xz")))
    model = train(cases)
    for name, told in (
        ("guidelines", [judge(one, None) for one in cases]),
        ("author left out", left_out(cases, "author")),
        ("page left out", left_out(cases, "page")),
        ("fit", [judge(one, model) for one in cases]),
    ):
        print(summary(name, cases, told))
        for key in ("author", "style"):
            for group in sorted({getattr(one, key) for one in cases}):
                chosen = [n for n, one in enumerate(cases) if getattr(one, key) == group]
                some = [cases[n] for n in chosen]
                print(summary(f"    {group}", some, [told[n] for n in chosen]))
    if "--report" not in sys.argv:
        MODEL.write_text(json.dumps(model, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
