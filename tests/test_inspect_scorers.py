"""Interaction2Code and grounding as tasks of inspect_ai."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra: pip install 'uiproof[inspect]'")

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from uiproof.benchmarks.grounding import BENCHMARK
from uiproof.errors import UsageError
from uiproof.integrations.inspect import grounding, interaction2code, interaction2code_judge

# inspect leaves some of its own streams to the garbage collector, which anyio reports.
pytestmark = [
    pytest.mark.usefixtures("inspect_streams"),
    pytest.mark.filterwarnings(
        "ignore:.*<function MemoryObject\\w+Stream.__del__:pytest.PytestUnraisableExceptionWarning"
    ),
]
PAGE = """<!DOCTYPE html><html><body style="margin: 0">
<button id="interact{id}" style="position: absolute; left: 20px; top: 20px; width: 100px;
  height: 40px; border: 0; background: #14c" onclick="list.hidden = false"></button>
<div id="list" hidden style="position: absolute; left: 20px; top: 80px; width: 200px; height: 100px;
  background: #0a5"></div></body></html>"""


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """One page with the same interaction twice."""
    import numpy as np

    from uiproof.vision.images import encode_png

    page = tmp_path / "data" / "page"
    page.mkdir(parents=True)
    before = np.full((240, 320, 3), 255, np.uint8)
    before[20:60, 20:120] = (17, 68, 204)
    after = before.copy()
    after[80:180, 20:220] = (0, 170, 85)
    for name, rgb in (("0", before), ("1", after)):
        (page / f"{name}.png").write_bytes(encode_png(rgb))
    one = {
        "src": "0",
        "dst": "1",
        "action": "click the button",
        "description": "a green area appears",
        "tag type": ["button"],
        "visual type": ["new component"],
        "trigger": [20, 20, 120, 60],
        "effect": [20, 80, 220, 180],
    }
    (page / "action.json").write_text(json.dumps({"1": one, "2": one}))
    return tmp_path / "data"


def evaluated(task, tmp_path, *texts, limit=None):
    outputs = []
    for text in texts:
        answer = ModelOutput.from_content("mockllm/model", text)
        # The mock would count tokens with a tokenizer that it downloads.
        answer.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        outputs.append(answer)
    (log,) = inspect_eval(
        task,
        model=get_model("mockllm/model", custom_outputs=outputs),
        limit=limit,
        max_samples=1,
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    return log


def test_pages_for_one_interaction_and_for_all_are_scored_by_the_verifier(
    dataset, tmp_path, monkeypatch
):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    log = evaluated(interaction2code(str(dataset)), tmp_path, PAGE.format(id=1), "Sorry, no.")
    values = [next(iter(sample.scores.values())).value for sample in log.samples]
    assert [value["usable"] for value in values] == [1.0, 0.0]
    assert values[0]["strict.part.ssim"] > 0.9
    assert values[1]["strict.part.ssim"] == 0.0
    assert log.eval.model_generate_config.temperature is None
    assert log.plan.config.temperature == 1.0
    assert log.plan.config.max_tokens == 4096
    shown = log.samples[0].messages[0].content
    assert [part.type for part in shown].count("image") == 2

    # The second interaction has the second id on a page that is made for all.
    task = interaction2code(str(dataset), prompt="direct:all,T")
    log = evaluated(task, tmp_path, PAGE.format(id=2), PAGE.format(id=2))
    second = next(iter(log.samples[1].scores.values()))
    assert second.value["usable"] == 1.0
    assert [part.type for part in log.samples[0].messages[0].content].count("image") == 1


def test_what_there_is_not_is_said(dataset):
    with pytest.raises(UsageError, match="unknown option"):
        interaction2code(str(dataset), prompt="mark:large")
    with pytest.raises(UsageError, match="no prompt"):
        interaction2code_judge(str(dataset), prompt="both")


def test_clicks_are_scored_and_answers_without_one_stay_in_the_mean(tmp_path):
    first, *_ = BENCHMARK.cases(BENCHMARK.bundled["grounding-demo"])
    x, y = first.truth.element.click_point
    answers = [f"[{round(1000 * x)}, {round(1000 * y)}]", "I see nothing of the kind.", "[1, 1]"]
    log = evaluated(grounding(), tmp_path, *answers, limit=3)
    values = [next(iter(sample.scores.values())).value["accuracy"] for sample in log.samples]
    assert values == [1.0, 0.0, 0.0]
    asked = log.samples[0].messages[0].content
    assert first.question.instruction in " ".join(getattr(part, "text", "") for part in asked)
    assert any(part.type == "image" for part in asked)
