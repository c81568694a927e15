"""Published predictions: files that say for each item what was predicted and where the target is.

    predictions = read_predictions(Path("venus_72b_in_depth_3.json"))
    rates(predictions.methods["pred"]).rescored      # 0.7210626185958254

They carry their boxes, so neither the screenshots nor the data set are needed.
"""

from __future__ import annotations

from uiproof.benchmarks.grounding.predictions.conventions import BoxForm, PointSpace, Reading
from uiproof.benchmarks.grounding.predictions.model import Prediction, Predictions, Unreadable
from uiproof.benchmarks.grounding.predictions.published import Published, cases, published_methods
from uiproof.benchmarks.grounding.predictions.rates import Rates, rates
from uiproof.benchmarks.grounding.predictions.reading import read_predictions

__all__ = [
    "BoxForm",
    "PointSpace",
    "Prediction",
    "Predictions",
    "Published",
    "Rates",
    "Reading",
    "Unreadable",
    "cases",
    "published_methods",
    "rates",
    "read_predictions",
]
