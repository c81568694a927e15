"""Reward functions have the signatures that trainers call, and answer as they expect."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

import uiproof
from uiproof.errors import UsageError
from uiproof.rewards import frameworks
from uiproof.rewards.frameworks import FrameworkReward

PAGE = "<html><body style='font-family:Arial'><h1>Prices</h1><p>From 3 to 9 euros</p></body></html>"
OTHER = PAGE.replace("Prices", "Hours")
FENCED = f"Here it is:\n```html\n{OTHER}\n```"


@pytest.fixture(scope="module")
def expected() -> float:
    return float(uiproof.reward(OTHER, PAGE))


def parameters(function: Any) -> list[str]:
    return [
        f"**{name}" if one.kind is one.VAR_KEYWORD else name
        for name, one in inspect.signature(function).parameters.items()
    ]


def test_signatures_are_those_that_trainers_call() -> None:
    wanted = {
        frameworks.trl_reward: "prompts completions completion_ids trainer_state log_extra "
        "log_metric **columns",
        frameworks.compute_score: "data_source solution_str ground_truth extra_info **options",
        frameworks.reward_func: "queries prompts labels **options",
        frameworks.custom_rm: "args sample **options",
        frameworks.batched_custom_rm: "args samples **options",
        frameworks.areal_reward: "prompt completions prompt_ids completion_ids answer **columns",
        frameworks.verify: "body",
        frameworks.SwiftReward.__call__: "self completions **columns",
        frameworks.AsyncSwiftReward.__call__: "self completions **columns",
    }
    for function, names in wanted.items():
        assert parameters(function) == names.split()
    awaited = (
        *(frameworks.trl_reward, frameworks.compute_score, frameworks.custom_rm),
        *(frameworks.batched_custom_rm, frameworks.verify, frameworks.AsyncSwiftReward.__call__),
        *(FrameworkReward().trl, FrameworkReward().verl),
    )
    assert all(map(inspect.iscoroutinefunction, awaited))
    assert not inspect.iscoroutinefunction(frameworks.reward_func)
    assert not inspect.iscoroutinefunction(frameworks.areal_reward)


def test_trl_gets_a_list_and_its_logs(expected: float) -> None:
    metrics: dict[str, float] = {}
    extra: dict[str, list[Any]] = {}
    found = asyncio.run(
        frameworks.trl_reward(
            prompts=["a", "b"],
            completions=[[{"role": "assistant", "content": FENCED}], "no page"],
            completion_ids=[[1], [2]],
            trainer_state=None,
            log_extra=lambda name, values: extra.update({name: values}),
            log_metric=lambda name, value: metrics.update({name: value}),
            reference=[PAGE, PAGE],
            other=["x", "y"],
        )
    )
    assert found == [expected, 0.0]
    assert metrics["uiproof/timed_out"] == 0
    assert 0 < metrics["uiproof/text"] < 1
    assert extra["uiproof_reason"][0] == ""
    assert "no HTML" in extra["uiproof_reason"][1]


def test_what_has_no_score_in_time_is_none_for_trl_and_0_elsewhere() -> None:
    late = FrameworkReward(deadline=0.0001)
    assert asyncio.run(late.trl(completions=[FENCED], reference=[PAGE])) == [None]
    verl = asyncio.run(late.verl("x", FENCED, PAGE, {}))
    assert verl == {"score": 0.0, "timed_out": 1.0}
    assert late.openrlhf([FENCED], ["x"], [PAGE])["extra_logs"]["timed_out"] == [1.0]


def test_verl_loads_the_file_and_gets_a_dictionary(expected: float) -> None:
    spec = importlib.util.spec_from_file_location("custom_module", frameworks.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["custom_module"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["custom_module"]
    found = asyncio.run(module.compute_score("web", FENCED, PAGE, {"index": 0}, profile="strict"))
    assert found["score"] == expected
    assert 0 < found["text"] < 1


def test_openrlhf_gets_rewards_scores_and_logs(expected: float) -> None:
    found = frameworks.reward_func([f"Make it: {FENCED}</s>", "x"], ["Make it: ", ""], [PAGE, PAGE])
    assert list(found) == ["rewards", "scores", "extra_logs"]
    assert [float(one) for one in found["rewards"]] == pytest.approx([expected, 0.0])


def test_slime_gets_numbers(expected: float) -> None:
    sample = SimpleNamespace(prompt="x", response=FENCED, label=PAGE)
    assert asyncio.run(frameworks.custom_rm(None, sample)) == expected
    assert asyncio.run(frameworks.batched_custom_rm(None, [sample, sample])) == [expected] * 2


def test_swift_gets_lists(expected: float) -> None:
    completions, solution = [FENCED, ""], [PAGE, PAGE]
    assert frameworks.SwiftReward()(completions, solution=solution) == [expected, 0.0]
    found = asyncio.run(frameworks.AsyncSwiftReward(args=None)(completions, solution=solution))
    assert found == [expected, 0.0]


def test_areal_gets_a_number(expected: float) -> None:
    assert frameworks.areal_reward("x", FENCED, [1], [2], answer=PAGE, task="web") == expected


def test_nemo_gym_gets_reward_and_components(expected: float) -> None:
    part = {"type": "output_text", "text": FENCED, "annotations": []}
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": [part]}]
    body = {
        "responses_create_params": {"input": "Make it"},
        "response": {"output": output},
        "verifier_metadata": {"reference": PAGE},
    }
    found = asyncio.run(frameworks.verify(SimpleNamespace(model_dump=lambda: body)))
    assert found["reward"] == expected
    assert 0 < found["reward_components"]["text"] < 1


def test_columns_and_labels_decide_what_is_compared(expected: float) -> None:
    named = FrameworkReward(column="page")
    assert asyncio.run(named.trl(completions=[FENCED], page=[PAGE])) == [expected]
    with pytest.raises(UsageError, match="no column 'page'"):
        asyncio.run(named.trl(completions=[FENCED], reference=[PAGE]))
    alone = asyncio.run(FrameworkReward().trl(completions=[FENCED]))
    assert alone == [uiproof.check_page(OTHER).score]
    box = {"reference": [20, 20, 120, 50, 200, 100], "coordinates": "thousand"}
    found = asyncio.run(FrameworkReward().trl(completions=["[350, 300]"], label=[box]))
    assert found == [1.0]


def test_the_environment_sets_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UIPROOF_REWARD_PROFILE", "paper")
    monkeypatch.setenv("UIPROOF_REWARD_DEADLINE", "30")
    monkeypatch.setenv("UIPROOF_REWARD_URL", "http://scores:8720")
    found = FrameworkReward.from_environment()
    assert (found.profile, found.deadline, found.url) == ("paper", 30.0, "http://scores:8720")
    monkeypatch.setenv("UIPROOF_REWARD_DEADLINE", "soon")
    with pytest.raises(UsageError, match="UIPROOF_REWARD_DEADLINE"):
        FrameworkReward.from_environment()
