"""Fit the human-calibrated composite of Design2Code and write its weights.

    python scripts/fit_human_composite.py VOTES SCORES [--out FILE]

VOTES is a JSON list of pairwise votes (`tested`, `baseline`, `file`, `human_prefers_tested`),
SCORES a JSON object `method -> file -> [final, block, text, position, color, clip]`.
It takes some minutes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

METRICS = ("block_match", "text", "position", "color", "clip")
PENALTIES = tuple(float(p) for p in np.logspace(-1, 3, 9))
FOLDS, SEEDS, RESAMPLES = 5, 20, 2000
DEFAULT_OUT = Path("src/uiproof/benchmarks/design2code/human_weights.json")

Floats = NDArray[np.float64]


def load(votes_file: Path, scores_file: Path) -> tuple[Floats, Floats, NDArray[Any]]:
    """Score differences (tested minus baseline), votes as +1 or -1, and the page of each vote."""
    votes = json.loads(votes_file.read_text("utf-8"))
    scores = json.loads(scores_file.read_text("utf-8"))
    deltas = [
        np.subtract(scores[v["tested"]][v["file"]], scores[v["baseline"]][v["file"]])[1:]
        for v in votes
    ]
    signs = [1.0 if v["human_prefers_tested"] else -1.0 for v in votes]
    return np.array(deltas), np.array(signs), np.array([v["file"] for v in votes])


def fit(deltas: Floats, votes: Floats, penalty: float, *, signed: bool) -> Floats:
    """Logistic regression without intercept; the penalty acts on coefficients of scaled deltas.

    No intercept, because preference must turn around when the two pages are swapped.
    """
    scale = np.sqrt(np.mean(deltas**2, axis=0))
    x = deltas / scale * votes[:, None]

    def loss(w: Floats) -> tuple[float, Floats]:
        margin = x @ w
        value = np.logaddexp(0, -margin).sum() + penalty * w @ w / 2
        return float(value), -x.T @ np.exp(-np.logaddexp(0, margin)) + penalty * w

    bounds = [(None if signed else 0.0, None)] * deltas.shape[1]
    found = minimize(loss, np.zeros(deltas.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x / scale)


def folds(pages: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """A fold for each vote; all votes on one page share it."""
    names, page = np.unique(pages, return_inverse=True)
    return np.random.default_rng(seed).permutation(np.arange(len(names)) % FOLDS)[page]


def held_out(
    deltas: Floats, votes: Floats, pages: NDArray[Any], seed: int, penalty: float, *, signed: bool
) -> Floats:
    """Linear predictor of each vote from a fit that has not seen its page."""
    fold, predictor = folds(pages, seed), np.empty(len(votes))
    for k in range(FOLDS):
        weights = fit(deltas[fold != k], votes[fold != k], penalty, signed=signed)
        predictor[fold == k] = deltas[fold == k] @ weights
    return predictor


def choose_penalty(
    deltas: Floats, votes: Floats, pages: NDArray[Any], seeds: range, *, signed: bool
) -> float:
    """The penalty with the least held-out log loss."""
    losses = [
        np.mean(
            [
                np.logaddexp(0, -votes * held_out(deltas, votes, pages, s, p, signed=signed)).mean()
                for s in seeds
            ]
        )
        for p in PENALTIES
    ]
    return PENALTIES[int(np.argmin(losses))]


def nested(
    deltas: Floats, votes: Floats, pages: NDArray[Any], seed: int, *, signed: bool
) -> Floats:
    """Held-out predictors where each fold's penalty, too, was chosen without its pages."""
    fold, predictor = folds(pages, seed), np.empty(len(votes))
    for k in range(FOLDS):
        train = fold != k
        inner = range(seed, seed + 1)
        penalty = choose_penalty(deltas[train], votes[train], pages[train], inner, signed=signed)
        weights = fit(deltas[train], votes[train], penalty, signed=signed)
        predictor[~train] = deltas[~train] @ weights
    return predictor


def auc(predictor: Floats, votes: Floats) -> float:
    """Probability that a preferred page gets the larger predictor; ties count half."""
    ranks, won = rankdata(predictor), votes > 0
    wins = ranks[won].sum() - won.sum() * (won.sum() + 1) / 2
    return float(wins / (won.sum() * (~won).sum()))


def accuracy(predictor: Floats, votes: Floats) -> float:
    """Share of votes whose side the sign of the predictor names; 0 counts half."""
    return float(np.mean((np.sign(predictor) * votes + 1) / 2))


def auc_by_page(
    predictors: Floats, baseline: Floats, votes: Floats, pages: NDArray[Any]
) -> dict[str, list[float]]:
    """95 % intervals of both AUCs and of their difference when pages are drawn again.

    Each resample takes the held-out predictors of one random shuffle of the folds, so the interval
    also holds the spread between shuffles. The weights are not fitted again.
    """
    names, page = np.unique(pages, return_inverse=True)
    rows = [np.flatnonzero(page == k) for k in range(len(names))]
    generator = np.random.default_rng(0)
    draws = np.empty((RESAMPLES, 2))
    for i in range(RESAMPLES):
        drawn = np.concatenate([rows[k] for k in generator.integers(len(names), size=len(names))])
        predictor = predictors[generator.integers(len(predictors))]
        draws[i] = auc(predictor[drawn], votes[drawn]), auc(baseline[drawn], votes[drawn])
    columns = {
        "auc_interval": draws[:, 0],
        "equal_weights_auc_interval": draws[:, 1],
        "auc_gain_interval": draws[:, 0] - draws[:, 1],
    }
    return {k: np.quantile(v, [0.025, 0.975]).round(4).tolist() for k, v in columns.items()}


def variant(
    deltas: Floats, votes: Floats, pages: NDArray[Any], names: tuple[str, ...]
) -> dict[str, Any]:
    """Fit one composite and say how well it agrees with people it has not been fitted on."""
    baseline = deltas.mean(axis=1)
    report: dict[str, Any] = {}
    for key, signed in (("non_negative", False), ("unconstrained", True)):
        runs = np.array([nested(deltas, votes, pages, s, signed=signed) for s in range(SEEDS)])
        aucs = [auc(run, votes) for run in runs]
        accuracies = [accuracy(run, votes) for run in runs]
        losses = [np.logaddexp(0, -votes * run).mean() for run in runs]
        penalty = choose_penalty(deltas, votes, pages, range(SEEDS), signed=signed)
        weights = fit(deltas, votes, penalty, signed=signed)
        report[key] = {
            "coefficients": dict(zip(names, (round(float(w), 4) for w in weights), strict=True)),
            "penalty": round(penalty, 4),
            "auc": round(float(np.mean(aucs)), 4),
            "auc_sd_over_shuffles": round(float(np.std(aucs, ddof=1)), 4),
            "accuracy": round(float(np.mean(accuracies)), 4),
            "accuracy_sd_over_shuffles": round(float(np.std(accuracies, ddof=1)), 4),
            "log_loss": round(float(np.mean(losses)), 4),
            **auc_by_page(runs, baseline, votes, pages),
        }
    chosen = report["non_negative"]
    return {
        "coefficients": chosen.pop("coefficients"),
        "agreement": chosen,
        "equal_weights": {
            "auc": round(auc(baseline, votes), 4),
            "accuracy": round(accuracy(baseline, votes), 4),
        },
        "unconstrained": report["unconstrained"],
    }


def main() -> None:
    """Read the votes, fit both composites, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("votes", type=Path)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    arguments = parser.parse_args()
    deltas, votes, pages = load(arguments.votes, arguments.scores)
    result = {
        "what": "Weights of the human-calibrated composite of the five Design2Code scores.",
        "data": {
            "votes": len(votes),
            "pages": len(np.unique(pages)),
            "share_preferring_tested": round(float(np.mean(votes > 0)), 4),
            "source": "Decisive pairwise votes published with Design2Code: seven methods, each "
            "against Gemini Pro Vision with direct prompting, and the published scores of both.",
        },
        "how": {
            "model": "Logistic regression of the vote on the differences of the scores (tested "
            "minus baseline), no intercept, L2 penalty on differences scaled to unit root mean "
            "square, coefficients not below 0.",
            "cross_validation": f"{FOLDS} folds grouped by page, {SEEDS} shuffles; the penalty is "
            f"chosen by held-out log loss among {PENALTIES[0]:g} to {PENALTIES[-1]:g}, inside each "
            "training part for the agreement figures, on all votes for the shipped coefficients.",
            "intervals": f"95 %, {RESAMPLES} resamples of pages; the weights are not fitted again.",
            "why_not_below_zero": "Unbounded, Text gets a negative coefficient beside CLIP: better "
            "text would lower the score. The bound costs no agreement (compare `unconstrained`).",
            "script": "scripts/fit_human_composite.py",
        },
        "with_clip": variant(deltas, votes, pages, METRICS),
        "without_clip": variant(deltas[:, :4], votes, pages, METRICS[:4]),
    }
    arguments.out.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
