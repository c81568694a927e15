"""One bounded number for an answer: with a reference, without one, alone and in batches."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import uiproof
from uiproof.benchmark import Record
from uiproof.errors import UsageError
from uiproof.rewards.completions import answer_in, reference_in
from uiproof.rewards.reward import Reward, reward_of, weighted_mean

PAGE = "<html><body style='font-family:Arial'><h1>Prices</h1><p>From 3 to 9 euros</p></body></html>"
OTHER = PAGE.replace("Prices", "Hours").replace("euros", "o'clock")


def test_a_page_is_worth_1_against_itself_and_less_against_another() -> None:
    same, other = uiproof.reward(PAGE, PAGE), uiproof.reward(OTHER, PAGE)
    assert float(same) == 1.0
    assert 0 < float(other) < 1
    assert all(0 <= value <= 1 for value in other.components.values())
    assert {"text", "position", "color"} <= other.components.keys()
    assert (same.reason, other.reason) == ("", "")


def test_weights_say_what_counts() -> None:
    only_text = {"text": 1.0} | dict.fromkeys(
        ("block_match", "position", "color", "layout", "page_height", "ssim"), 0.0
    )
    found = uiproof.reward(OTHER, PAGE, weights=only_text)
    assert float(found) == pytest.approx(found.components["text"])
    with pytest.raises(UsageError, match="no component 'beauty'"):
        uiproof.reward(OTHER, PAGE, weights={"beauty": 1})
    with pytest.raises(UsageError, match="no profile 'gentle'"):
        uiproof.reward(OTHER, PAGE, profile="gentle")


def test_what_cannot_be_judged_is_worth_0_and_says_why() -> None:
    found = uiproof.reward(uiproof.Completion("I am sorry, I cannot do that."), PAGE)
    assert float(found) == 0
    assert "declined" in found.reason
    alone = uiproof.reward("")
    assert float(alone) == 0
    assert alone.reason == "The page shows nothing."


def test_one_bad_item_costs_no_other() -> None:
    pairs = [
        (PAGE, PAGE),
        (uiproof.Completion("no page here"), PAGE),
        (Path("/no/such/file.html"), PAGE),
        (PAGE, Path("/no/such/reference.html")),
        (PAGE,),
        (12, PAGE),
        (PAGE, None),
        ((25, 25), (20, 20, 120, 50)),
    ]
    found = uiproof.reward_many(pairs)  # type: ignore[arg-type]
    assert [float(one) for one in found[:6]] == [1, 0, 0, 0, 0, 0]
    assert all(one.reason for one in found[1:6])
    assert float(found[6]) > 0.5
    assert float(found[7]) == 1


def test_rewards_do_not_depend_on_what_else_is_scored() -> None:
    pairs = [(OTHER, PAGE), (PAGE, PAGE), (PAGE, None), (OTHER, None)]
    alone = [uiproof.reward(*pair) for pair in pairs]
    together = uiproof.reward_many(pairs * 2)
    assert [one.value for one in together] == [one.value for one in alone] * 2
    assert [one.components for one in together[:4]] == [one.components for one in alone]


def test_a_deadline_gives_none_and_leaves_the_workers_alone() -> None:
    assert uiproof.reward(PAGE, PAGE, deadline=0.0001) is None
    assert uiproof.reward_many([(PAGE, PAGE)] * 2, deadline=0.0001) == [None, None]
    assert float(uiproof.reward(PAGE, PAGE)) == 1


def test_rewards_can_be_asked_for_inside_of_an_event_loop() -> None:
    async def ask() -> tuple[float, float]:
        awaited = await uiproof.reward_async(PAGE, PAGE)
        return float(awaited), float(uiproof.reward(PAGE, PAGE))

    assert asyncio.run(ask()) == (1.0, 1.0)


def test_points_are_rewarded_inside_of_a_box() -> None:
    box = (20, 20, 120, 50)
    assert float(uiproof.reward((64, 31), box)) == 1
    assert float(uiproof.reward((64, 51), box)) == 0
    assert float(uiproof.reward("Action: click(start_box='(64,31)')", box)) == 1
    assert float(uiproof.reward("It is not there.", box)) == 0
    screen = (20, 20, 120, 50, 200, 100)
    assert float(uiproof.reward("[350, 300]", screen, coordinates="thousand")) == 1
    with pytest.raises(UsageError, match="is not a box"):
        uiproof.reward((1, 1), (50, 50, 20, 20))


def test_an_interaction_counts_half_for_working() -> None:
    alike = dict.fromkeys(("ssim", "text", "position_before", "position_after"), 1.0)
    full = {"ssim": 1.0, "text": 1.0, "clip": None}
    scores = {"strict": {"full": full, "part": alike}, "usable": 0.0, "implemented": 1.0}
    dead = reward_of("interaction2code", Record("", "scored", scores))
    alive = reward_of("interaction2code", Record("", "scored", {**scores, "usable": 1.0}))
    assert (dead.value, alive.value) == (0.5, 1.0)
    assert "full.clip" not in alive.components


def test_rounding_never_leaves_0_to_1() -> None:
    scores = {"strict": {"text": 1.0000000000000002, "ssim": 1.0000000000000002}}
    found = reward_of("design2code", Record("", "scored", scores))
    assert found.value == 1.0
    assert max(found.components.values()) == 1.0


@pytest.mark.parametrize("weights", [{"text": -1}, {"text": float("inf")}, {"text": 0, "ssim": 0}])
def test_weights_must_make_sense(weights: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        weighted_mean({"text": 1.0, "ssim": 0.5}, weights)


# --- what trainers pass on

HTML = "<html><body><s>9</s> 5</body></html>"


@pytest.mark.parametrize(
    ("completion", "prompt"),
    [
        (HTML, None),
        ([{"role": "assistant", "content": HTML}], None),
        ([{"role": "user", "content": "x"}, {"role": "assistant", "content": HTML}], None),
        ({"role": "assistant", "content": [{"type": "text", "text": HTML}]}, None),
        (f"{HTML}<|im_end|>\n", None),
        (f"{HTML}</s>", None),
        (f"Make a page: {HTML}<|endoftext|>", "Make a page: "),
        (
            "<|im_start|>user\nOld: <html>1</html><|im_end|>\n"
            f"<|im_start|>assistant\n{HTML}<|im_end|>\n",
            None,
        ),
        (
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            f"<|start_header_id|>assistant<|end_header_id|>\n\n{HTML}<|eot_id|>",
            "not the same",
        ),
        (f"<s>[INST] Make it [/INST] {HTML}</s>", None),
        (f"<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n{HTML}<end_of_turn>", None),
    ],
)
def test_answers_are_cut_out_of_completions(completion: object, prompt: str | None) -> None:
    assert answer_in(completion, prompt).text == HTML


def test_labels_are_references_of_every_kind() -> None:
    assert reference_in(PAGE) == (PAGE, {})
    assert reference_in("") == (None, {})
    assert reference_in(None) == (None, {})
    assert reference_in("[1, 2, 3, 4]") == ((1, 2, 3, 4), {})
    assert reference_in([1, 2, 3, 4]) == ((1, 2, 3, 4), {})
    assert reference_in('{"reference": [1, 2, 3, 4], "coordinates": "thousand"}') == (
        (1, 2, 3, 4),
        {"coordinates": "thousand"},
    )
    assert reference_in("{not json") == ("{not json", {})


def test_a_reward_is_json() -> None:
    assert Reward(0.5, {"text": 0.5}, ("x",), 1.0).as_json() == {
        "value": 0.5,
        "components": {"text": 0.5},
        "flags": ["x"],
        "seconds": 1.0,
        "reason": "",
    }
