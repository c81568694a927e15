"""Grounding as a task of inspect_ai."""

from __future__ import annotations

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra: pip install 'uiproof[inspect]'")

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from uiproof.benchmarks.grounding import BENCHMARK
from uiproof.integrations.inspect import grounding

# inspect leaves some of its own streams to the garbage collector, which anyio reports.
pytestmark = [
    pytest.mark.usefixtures("inspect_streams"),
    pytest.mark.filterwarnings(
        "ignore:.*<function MemoryObject\\w+Stream.__del__:pytest.PytestUnraisableExceptionWarning"
    ),
]


def output(text):
    answer = ModelOutput.from_content("mockllm/model", text)
    # The mock would count tokens with a tokenizer that it downloads.
    answer.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return answer


def test_clicks_are_scored_and_answers_without_one_stay_in_the_mean(tmp_path):
    first, *_ = BENCHMARK.cases(BENCHMARK.bundled["grounding-demo"])
    x, y = first.truth.element.click_point
    answers = [f"[{round(1000 * x)}, {round(1000 * y)}]", "I see nothing of the kind.", "[1, 1]"]
    model = get_model("mockllm/model", custom_outputs=[output(text) for text in answers])
    (log,) = inspect_eval(
        grounding(),
        model=model,
        limit=3,
        max_samples=1,
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    values = [next(iter(sample.scores.values())).value["accuracy"] for sample in log.samples]
    assert values == [1.0, 0.0, 0.0]
    asked = log.samples[0].messages[0].content
    assert first.question.instruction in " ".join(getattr(part, "text", "") for part in asked)
    assert any(part.type == "image" for part in asked)
