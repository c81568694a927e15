"""Which contract the diagnosis names for models that follow a known one."""

import json
import random
from dataclasses import replace

import pytest

import uiproof
from uiproof.benchmarks.grounding.coordinates import (
    Contract,
    Order,
    Space,
    parse_contract,
    smart_resize,
)
from uiproof.benchmarks.grounding.diagnose import Replayed, diagnose, numbers_say
from uiproof.benchmarks.grounding.parsing import parse
from uiproof.errors import UsageError
from uiproof.geometry import Box

SCREENS = ((1920, 1080), (2560, 1440), (1366, 768), (3840, 2160), (1170, 2532))
WRITTEN = ("({}, {})", "[{}, {}]", "click(start_box='({},{})')", "<point>{} {}</point>")
SCALES = {"unit": 1, "percent": 100, "thousand": 1000, "thousand-999": 999}
THOUSAND, PIXELS = parse_contract("thousand"), parse_contract("pixels")


def written(contract: Contract, x: float, y: float, width: int, height: int) -> tuple:
    """What a model with this contract writes for a place; the reverse of reading it."""
    if contract.resize:
        tall, wide = smart_resize(
            height,
            width,
            contract.resize.factor,
            contract.resize.min_pixels,
            contract.resize.max_pixels,
        )
    elif contract.space is Space.PIXELS:
        tall, wide = height, width
    else:
        tall = wide = SCALES[contract.space]
    digits = {Space.UNIT: 4, Space.PERCENT: 1}.get(contract.space)
    pair = round(x * wide, digits), round(y * tall, digits)
    return pair if contract.order is Order.XY else pair[::-1]


def answers_of(contract, seed, *, n=60, skill=0.6, screens=SCREENS, form=None):
    """Answers of a model that finds a share of its targets, guesses others and mumbles at times."""
    rng = random.Random(seed)
    records = []
    for _ in range(n):
        width, height = rng.choice(screens)
        w, h = rng.uniform(0.01, 0.1), rng.uniform(0.01, 0.05)
        target = Box(rng.uniform(0, 1 - w), rng.uniform(0, 1 - h), w, h)
        x, y = rng.random(), rng.random()
        if rng.random() < skill:
            x, y = (rng.gauss(c, 0.2 * size) for c, size in zip(target.centre, (w, h), strict=True))
        pair = written(contract, min(max(x, 0), 1), min(max(y, 0), 1), width, height)
        raw = (form or rng.choice(WRITTEN)).format(*pair)
        raw = raw if rng.random() > 0.05 else "It is over there."
        records.append(Replayed(raw, width, height, target=target))
    return records


def convention(contract: Contract) -> tuple:
    space = Space.THOUSAND if contract.space is Space.THOUSAND_999 else contract.space
    return space, contract.order


CONVENTIONS = [
    parse_contract(f"{space},{order}")
    for space in (*SCALES, "pixels", "resized", "resized:28:3136:1003520", "resized:32")
    for order in Order
]
SIMULATIONS = 4  # of each convention: 64 in all


def test_names_the_convention_of_at_least_95_percent_of_simulated_models():
    named = plausible = 0
    for number, truth in enumerate(CONVENTIONS):
        for seed in range(SIMULATIONS):
            declared = (THOUSAND, PIXELS, truth)[seed % 3]
            found = diagnose(answers_of(truth, 100 * number + seed), declared=declared)
            named += convention(found.best.contract) == convention(truth)
            plausible += convention(truth) in map(convention, found.plausible)
            assert not found.certain or convention(found.best.contract) == convention(truth)
    assert named >= 0.95 * len(CONVENTIONS) * SIMULATIONS
    assert plausible >= 0.95 * len(CONVENTIONS) * SIMULATIONS


def smart(x, y, w, h, limit):
    tall, wide = smart_resize(h, w, 28, 3136, limit)
    return round(x * wide), round(y * tall)


def padded(x, y, w, h, side):
    longer = max(w, h)
    across, down = x * w + (longer - w) / 2, y * h + (longer - h) / 2
    return round(across / longer * side, 4), round(down / longer * side, 4)


# What is written for a place (x, y) on a screen of w by h, and what the diagnosis says of it.
MISTAKES = {
    "0-1000": lambda x, y, w, h: (round(1000 * x), round(1000 * y)),
    "0-1": lambda x, y, w, h: (round(x, 3), round(y, 3)),
    "percent": lambda x, y, w, h: (round(100 * x, 1), round(100 * y, 1)),
    "0-1000, y first": lambda x, y, w, h: (round(1000 * y), round(1000 * x)),
    "pixels of the picture sent, y first": lambda x, y, w, h: (round(y * h), round(x * w)),
    "pixels after smart-resize": lambda x, y, w, h: smart(x, y, w, h, 1003520),
    "0-1000 of the longer side": lambda x, y, w, h: (
        round(1000 * x * w / max(w, h)),
        round(1000 * y * h / max(w, h)),
    ),
    "0-1 of the longer side": lambda x, y, w, h: (
        round(x * w / max(w, h), 4),
        round(y * h / max(w, h), 4),
    ),
    "0-1000 of the picture padded to a square": lambda x, y, w, h: padded(x, y, w, h, 1000),
    "pixels of the picture padded to a square of 6": lambda x, y, w, h: padded(x, y, w, h, 640),
    "pixels of a picture 2 times as large": lambda x, y, w, h: (round(2 * x * w), round(2 * y * h)),
    "pixels of a picture 0.5 times as large": lambda x, y, w, h: (
        round(x * w / 2),
        round(y * h / 2),
    ),
    "pixels of a picture whose longer side has 9": lambda x, y, w, h: (
        round(940 * x * w / max(w, h)),
        round(940 * y * h / max(w, h)),
    ),
    "pixels of the picture stretched to 4": lambda x, y, w, h: (round(448 * x), round(448 * y)),
    "pixels of a picture shrunk to an area of 7": lambda x, y, w, h: smart(x, y, w, h, 768 * 768),
    "pixels of the picture sent with y from below": lambda x, y, w, h: (
        round(x * w),
        round((1 - y) * h),
    ),
    "0-1000 with y from below": lambda x, y, w, h: (round(1000 * x), round(1000 - 1000 * y)),
    "0-1 with y from below": lambda x, y, w, h: (round(x, 3), round(1 - y, 3)),
}
BOX_MISTAKES = {
    "a corner and a size in 0-1000": lambda x, y, w, h: (x - w / 2, y - h / 2, w, h),
    "a centre and a size in 0-1000": lambda x, y, w, h: (x, y, w, h),
}


def test_names_19_of_20_mistakes_also_those_that_no_contract_covers():
    said, named = {}, 0
    for seed, (words, write) in enumerate(MISTAKES.items()):
        records = []
        for record in answers_of(THOUSAND, seed):
            numbers = parse(record.raw).numbers
            raw = record.raw
            if numbers:
                x, y = (part / 1000 for part in numbers)
                raw = "({}, {})".format(*write(x, y, record.sent_width, record.sent_height))
            records.append(replace(record, raw=raw))
        said[words] = diagnose(records, declared=PIXELS).verdict
        named += said[words].startswith(f"The coordinates are {words}")
    for seed, (words, write) in enumerate(BOX_MISTAKES.items()):
        records = []
        for record in answers_of(THOUSAND, 50 + seed, form="({}, {})"):
            numbers = parse(record.raw).numbers
            size = record.target.w * 1000, record.target.h * 1000
            raw = str(list(map(round, write(*numbers, *size)))) if numbers else record.raw
            records.append(replace(record, raw=raw))
        said[words] = diagnose(records, declared=PIXELS).verdict
        named += said[words].startswith(f"Boxes are {words}")
    assert len(said) == 20
    assert named >= 19, said


def test_answers_that_belong_to_another_item_are_noticed():
    records = answers_of(PIXELS, 3)
    moved = [
        replace(record, raw=other.raw)
        for record, other in zip(records, [*records[-1:], *records[:-1]], strict=True)
    ]
    verdict = diagnose(moved, declared=PIXELS).verdict
    assert verdict.startswith(
        "Each answer, in pixels of the picture sent, belongs to the previous item"
    )


def test_target_boxes_of_another_form_are_noticed(tmp_path):
    rng = random.Random(4)
    rows = []
    for number in range(60):
        w, h = rng.randint(20, 90), rng.randint(20, 60)
        x, y = rng.randint(0, 1800), rng.randint(0, 1000)
        point = [x + w // 2, y + h // 2] if rng.random() < 0.6 else [5, 5]
        row = {"img_path": f"{number}.png", "bbox": [x, y, w, h], "img_size": [1920, 1080]}
        rows.append({**row, "prompt_to_evaluate": f"press {number}", "pred": point})
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows))
    verdict = uiproof.diagnose_run(file)
    assert verdict.startswith("The target boxes have the form `size` (--boxes)"), verdict
    (one,) = uiproof.score_predictions("mine", file, boxes="size", quiet=True)
    assert f"{100 * one.rates.rescored:.1f} % instead of" in verdict


@pytest.mark.parametrize("text", ["unit", "percent,yx", "thousand", "thousand,yx"])
def test_says_what_the_accuracy_would_be_under_the_right_contract(text):
    truth = parse_contract(text)
    found = diagnose(answers_of(truth, seed=5, n=100), declared=PIXELS)
    assert found.certain
    assert found.should_change
    assert found.declared.rate < 0.1 < 0.4 < found.best.rate
    assert found.best.p_value < 0.001
    wanted = f"with that, {100 * found.best.rate:.1f} % instead of"
    assert found.verdict.startswith("The coordinates are ")
    assert wanted in found.verdict
    assert str(found.best.contract) in found.verdict
    assert "p < 0.001" in found.verdict


@pytest.mark.parametrize("truth", CONVENTIONS, ids=str)
def test_never_asks_to_change_a_contract_that_is_right(truth):
    for seed in range(3):
        found = diagnose(answers_of(truth, seed), declared=truth)
        assert found.declared.plausible
        assert not found.should_change


def test_cannot_tell_pixels_from_0_to_1000_on_pictures_of_1000_by_1000():
    for seed in range(5):
        records = answers_of(THOUSAND, seed, n=100, screens=[(1000, 1000)])
        found = diagnose(records, declared=PIXELS)
        assert not found.certain
        assert not found.should_change
        assert {Space.THOUSAND, Space.PIXELS} <= {contract.space for contract in found.plausible}
        assert found.verdict.startswith("Cannot tell")
        assert "0-1000" in found.verdict or "0-999" in found.verdict


def test_cannot_tell_anything_from_answers_that_hit_by_chance():
    for seed in range(5):
        found = diagnose(answers_of(THOUSAND, seed, skill=0, n=100), declared=PIXELS)
        assert not found.certain
        assert not found.should_change
        assert "chance" in found.verdict


def test_cannot_tell_anything_from_three_answers():
    found = diagnose(answers_of(THOUSAND, seed=1, n=3, skill=1), declared=PIXELS)
    assert not found.certain
    assert not found.should_change


def test_axes_that_the_answers_name_leave_the_order_open():
    found = diagnose(answers_of(THOUSAND, 1, form='{{"x": {}, "y": {}}}'), declared=THOUSAND)
    assert found.certain
    assert {fit.contract.order for fit in found.fits} == {Order.XY}
    assert found.verdict.startswith("The declared contract fits")


def test_a_crop_and_a_polygon_are_replayed_where_they_lie():
    triangle = ((0.5, 0.5), (0.6, 0.5), (0.5, 0.6))
    crop = Box(0.5, 0.5, 0.5, 0.5)
    inside = Replayed("(40, 40)", 800, 600, region=crop, target=triangle)  # at 0.52, 0.52
    beyond = Replayed("(180, 180)", 800, 600, region=crop, target=triangle)  # at 0.59, 0.59
    found = diagnose([inside, beyond], declared=THOUSAND)
    assert (found.declared.hits, found.declared.n) == (1, 2)


def test_unreadable_answers_are_counted_and_are_misses():
    target = Box(0.4, 0.4, 0.2, 0.2)
    records = [
        Replayed("(500, 500)", 800, 600, target=target),
        Replayed("", 800, 600, target=target),
    ]
    found = diagnose(records, declared=THOUSAND)
    assert (found.unreadable, found.declared.hits, found.declared.rate) == (1, 1, 0.5)


@pytest.mark.parametrize(
    ("raw", "size", "words"),
    [
        ("(0.31, 0.97)", (1920, 1080), "0-1."),
        ("(1500, 300)", (1920, 1080), "pixels, not 0-1000"),
        ("(2500, 300)", (1920, 1080), "more than the picture sent"),
        ("(990, 300)", (400, 300), "suggests 0-1000"),
        ("(45.5, 99)", (1920, 1080), "percent"),
        ("(900, 300)", (1920, 1080), "as well as pixels"),
        ("no idea", (1920, 1080), "no numbers"),
    ],
)
def test_the_size_of_the_numbers_is_evidence_without_any_truth(raw, size, words):
    record = Replayed(raw, *size)
    assert words in numbers_say([record])
    assert words in diagnose([record], declared=THOUSAND).verdict


def test_a_slip_of_the_model_is_no_evidence_against_0_to_1000():
    answers = [Replayed("(900, 300)", 1920, 1080)] * 99 + [Replayed("(1016, 300)", 1920, 1080)]
    assert "as well as pixels" in numbers_say(answers)


def test_a_picture_too_thin_to_resize_is_no_reason_to_fail():
    records = [Replayed("(5, 5)", 5000, 10, target=Box(0, 0, 1, 1))]
    assert diagnose(records, declared=parse_contract("resized")).declared.hits == 0


def test_nothing_stored_is_a_usage_error():
    with pytest.raises(UsageError, match="no stored answers"):
        diagnose([], declared=THOUSAND)


def test_published_answers_read_as_pixels_are_found_to_be_0_to_1000(shared_data):
    rows = json.loads((shared_data / "data/screenspot_pro_predictions/kv_capture.json").read_text())
    records = [
        Replayed(str(row["step1"]), row["img_width"], row["img_height"], target=Box(*row["bbox"]))
        for row in rows
    ]
    found = diagnose(records, declared=PIXELS)
    assert (found.best.hits, found.n) == (1158, 1581)  # the published 73.24 %
    assert found.should_change
    gain = (
        "The coordinates are 0-1000: with that, 73.2 % instead of 0.7 % (p < 0.001, 1581 answers)"
    )
    assert found.verdict.startswith(gain)
