"""Published prediction files: every format, what its numbers mean, and the published figures."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.grounding import BENCHMARK
from uiproof.benchmarks.grounding.coordinates import Space
from uiproof.benchmarks.grounding.predictions import (
    Prediction,
    Predictions,
    read_predictions,
)
from uiproof.benchmarks.grounding.rescoring import Published, Rates, published_methods, rates
from uiproof.engine.run import execute
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UsageError


def percent(rate: float | None) -> float:
    assert rate is not None
    return round(100 * rate, 2)


def detail(**changes):
    """An entry of a ScreenSpot-Pro result file: a hit in the middle of the box."""
    entry = {
        "img_path": "/data/images/word_mac/one.png",
        "group": "Office",
        "platform": "macos",
        "application": "word",
        "prompt_to_evaluate": "Open the file",
        "gt_type": "positive",
        "ui_type": "text",
        "pred": [1050.0, 520.0],
        "raw_response": "click",
        "bbox": [1000, 500, 1100, 540],
        "correctness": "correct",
    }
    return {**entry, **changes}


def written(folder: Path, content, name: str = "results.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def with_details(folder: Path, *entries) -> Predictions:
    return read_predictions(written(folder, {"details": list(entries), "metrics": {}}))


def only(predictions: Predictions) -> Prediction:
    ((one,),) = predictions.methods.values()
    return one


def sizes(one: Prediction) -> tuple[int, int]:
    return one.case.truth.width, one.case.truth.height


def run_of(method: Published, dataset: Path, folder: Path) -> RunDirectory:
    return execute(
        directory=folder,
        benchmark=BENCHMARK,
        cases=method.cases(dataset),
        dataset=dataset,
        dataset_name=dataset.name,
        method=method,
        executor="inline",
    )


# --- the published figures ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    folder = shared_data / "data" / "screenspot_pro_predictions"
    if not folder.is_dir():
        pytest.skip(f"needs the published predictions in {folder}")
    return folder


@pytest.mark.parametrize(
    ("file", "method", "correct", "rate"),
    [
        ("venus_72b_in_depth_1.json", "pred", 970, 61.35),
        ("venus_72b_in_depth_3.json", "pred", 1140, 72.11),
        ("kv_capture.json", "step1", 1158, 73.24),
        ("kv_capture.json", "final", 1266, 80.08),
    ],
)
def test_published_figures_come_out_to_the_digit(published, file, method, correct, rate):
    counted = rates(read_predictions(published / file, field=method).methods[method])
    assert (counted.total, counted.correct) == (1581, correct)
    assert percent(counted.rescored) == rate
    assert counted.differing == ()


def test_the_stored_verdicts_of_omniparser_stand_beside_what_its_cut_points_give(published):
    file = read_predictions(published / "logs_sspro_omniv2.json")
    counted = rates(file.methods["pred"])
    assert file.format == "omniparser"
    assert (counted.stored_correct, percent(counted.stored)) == (625, 39.53)
    assert (counted.correct, percent(counted.rescored)) == (630, 39.85)
    assert len(counted.differing) == 5
    assert "whole pixels" in counted.why
    assert counted.differing[0] in counted.why


def test_every_macro_average_of_venus_is_the_published_one(published):
    file = read_predictions(published / "venus_72b_in_depth_3.json")
    counted = rates(file.methods["pred"])
    assert percent(counted.macro["application"]) == 70.95
    assert percent(counted.macro["group"]) == 72.46
    assert percent(counted.macro["cell"]) == 68.5
    assert len(counted.cells["cell"]) == 12
    assert counted.cells["ui_type"] == {"icon": (305, 604), "text": (835, 977)}


def test_files_about_the_same_items_have_the_same_ids_whatever_their_order(published):
    names = ("venus_72b_in_depth_1.json", "logs_sspro_omniv2.json")
    ids = [[one.case.id for one in read_predictions(published / n).methods["pred"]] for n in names]
    assert ids[0] != ids[1]
    assert len(set(ids[0])) == 1581
    assert set(ids[0]) == set(ids[1])


def test_a_run_of_the_engine_gives_the_same_figures_as_counting(published, tmp_path):
    path = published / "kv_capture.json"
    (method,) = published_methods(read_predictions(path, field="final"))
    run = run_of(method, path, tmp_path / "run")
    assert percent(run.summary["scores"]["accuracy"]["mean"]) == 80.08
    assert run.summary["failed"] == 0
    assert run.manifest["method"] == "published:kv_capture:final"
    assert run.manifest["settings"]["points"] == "unit"
    record = next(run.records())
    assert record.status == "scored"
    assert record.details["tags"].keys() == {"group", "platform", "application", "ui_type"}


# --- ScreenSpot-Pro's script and its copies -----------------------------------------------------


def test_pixel_points_without_any_image_size_are_compared_with_pixel_boxes(tmp_path):
    file = with_details(tmp_path, detail(), detail(pred=[10, 10], correctness="wrong"))
    right, wrong = file.methods["pred"]
    assert (right.rescored, wrong.rescored) == (True, False)
    assert file.points["pred"].space is Space.PIXELS
    assert not file.sizes_known


@pytest.mark.parametrize(
    ("pred", "space"),
    [
        ([0.42, 0.52], Space.UNIT),
        ([1050, 520], Space.PIXELS),
    ],
)
def test_points_are_fractions_where_they_can_be_and_else_pixels(tmp_path, pred, space):
    box = [1000, 500, 1100, 540]
    file = with_details(tmp_path, detail(pred=pred, bbox=box, image_size=[2500, 1000]))
    assert file.points["pred"].space is space
    assert only(file).rescored
    assert only(file).answer.point == pytest.approx((0.42, 0.52))
    assert sizes(only(file)) == (2500, 1000)


def test_many_verdicts_that_the_numbers_contradict_ask_for_another_reading(tmp_path):
    sized = detail(bbox=[1000, 500, 100, 40], img_size=[2500, 1000])
    path = written(tmp_path, [sized] * 3)
    assert "say what points and boxes are" in rates(read_predictions(path).methods["pred"]).why
    assert all(one.rescored for one in read_predictions(path, boxes="size").methods["pred"])


def test_corners_that_were_drawn_backwards_are_turned(tmp_path):
    usual = [detail() for _ in range(9)]
    file = with_details(tmp_path, *usual, detail(bbox=[1100, 540, 1000, 500]))
    assert file.boxes == "corners"
    assert all(one.rescored for one in file.methods["pred"])


def test_the_user_can_say_what_the_numbers_mean(tmp_path):
    path = written(tmp_path, [detail(pred=[420, 520], img_size=[2500, 1000], correctness="wrong")])
    assert not only(read_predictions(path, points="pixels")).rescored
    assert only(read_predictions(path, points="thousand")).rescored
    bottom = written(tmp_path, [detail(pred=[1900, 900], correctness="wrong")])
    assert only(read_predictions(bottom, boxes="size")).rescored
    with pytest.raises(UsageError, match="'inches' is not a coordinate contract"):
        read_predictions(path, points="inches")


def test_an_edge_belongs_to_the_box(tmp_path):
    corners = [[1000, 500], [1100, 540], [1100.001, 540]]
    file = with_details(tmp_path, *(detail(pred=corner, correctness=None) for corner in corners))
    assert [one.rescored for one in file.methods["pred"]] == [True, True, False]


@pytest.mark.parametrize("pred", [None, "", [], [1], ["a", "b"], [float("nan"), 3], {}, "no idea"])
def test_a_prediction_that_cannot_be_read_is_wrong_and_never_dropped(tmp_path, pred):
    path = written(tmp_path, [detail(), detail(pred=pred, correctness="wrong_format")])
    (method,) = published_methods(read_predictions(path))
    run = run_of(method, path, tmp_path / "run")
    assert run.summary["n"] == 2
    assert run.summary["verdicts"]["unparseable"] == 1
    assert run.summary["scores"]["accuracy"]["mean"] == 0.5


@pytest.mark.parametrize(
    "pred",
    [
        [[1050, 520]],
        ["1050", "520.0"],
        {"x": 1050, "y": 520},
        {"point": [1050, 520]},
        "(1050, 520)",
        ["click(start_box='(1050,520)')"],
        [1040, 510, 1060, 530],
        [[1040, 510], [1060, 530]],
    ],
)
def test_points_are_read_in_all_their_spellings(tmp_path, pred):
    one = only(with_details(tmp_path, detail(pred=pred)))
    click = one.answer.click
    assert click is not None
    assert tuple(
        part * side for part, side in zip(click, sizes(one), strict=True)
    ) == pytest.approx((1050, 520))
    assert one.rescored


def test_to_refuse_what_is_not_there_is_right(tmp_path):
    negative = {"gt_type": "negative", "bbox": None}
    path = written(
        tmp_path,
        [
            detail(**negative, pred=None, correctness="correct"),
            detail(**negative, pred=[5, 5], correctness="wrong"),
            detail(**negative, pred=None, correctness="wrong_format"),
            detail(),
        ],
    )
    file = read_predictions(path)
    assert [one.rescored for one in file.methods["pred"]] == [True, False, False, True]
    run = run_of(published_methods(file)[0], path, tmp_path / "run")
    verdicts = {"correct_refusal": 1, "false_point": 1, "unparseable": 1, "hit": 1}
    assert {name: n for name, n in run.summary["verdicts"].items() if n} == verdicts


def test_several_predictions_of_one_item_are_several_methods(tmp_path):
    entry = detail(pred_zoomed=[5, 5], pred_zoomed_correct=False)
    file = with_details(tmp_path, entry)
    assert list(file.methods) == ["pred", "pred_zoomed"]
    assert [method.name for method in published_methods(file)] == [
        "published:results:pred",
        "published:results:pred_zoomed",
    ]
    assert rates(file.methods["pred"]).stored_correct == 1
    assert rates(file.methods["pred_zoomed"]).stored_correct == 0
    path = written(tmp_path, [entry])
    assert list(read_predictions(path, field="pred_zoomed").methods) == ["pred_zoomed"]
    with pytest.raises(InputError, match=r"has the field other\. It has: application, bbox"):
        read_predictions(path, field="other")


def test_results_of_ui_vision_lie_one_level_deeper(tmp_path):
    entry = {
        "image_path": "/images/a.png",
        "platform": "Blender",
        "prompt_to_evaluate": "save",
        "ui_type": "button",
        "pred": [5.0, 6.0],
        "bbox": [10, 8, 0, 0],
        "correctness": "correct",
    }
    path = written(tmp_path, {"model_type": "x", "results": {"details": [entry] * 3}})
    file = read_predictions(path, boxes="corners")
    counted = rates(file.methods["pred"])
    assert (counted.correct, counted.total) == (3, 3)


def test_screenspot_without_groups_is_split_into_mobile_desktop_and_web(tmp_path):
    parts = {"mobile_1.png": "mobile", "pc_2.png": "desktop", "web_3.png": "web"}
    entries = [
        detail(group=None, img_path=f"/x/screenspotv2_image/{name}", ui_type=kind)
        for name in parts
        for kind in ("text", "icon")
    ]
    counted = rates(with_details(tmp_path, *entries).methods["pred"])
    assert set(counted.cells["group"]) == set(parts.values())
    assert len(counted.cells["cell"]) == 6


def test_micro_and_macro_differ_when_cells_differ_in_size(tmp_path):
    wrong = detail(pred=[1, 1], correctness="wrong", ui_type="icon")
    counted = rates(with_details(tmp_path, *[detail()] * 3, wrong).methods["pred"])
    assert counted.rescored == 0.75
    assert counted.macro["ui_type"] == 0.5


def test_equal_items_get_ids_of_their_own_in_the_order_of_the_file(tmp_path):
    file = with_details(tmp_path, detail(), detail(pred=[1, 1]), detail(), detail(group="Dev"))
    ids = [one.case.id for one in file.methods["pred"]]
    names = ["one/open-the-file", "one/open-the-file#2", "one/open-the-file#3"]
    assert ids == [*names, "one/open-the-file#4"]


def test_verdicts_of_the_file_that_its_numbers_contradict_are_named(tmp_path):
    path = written(tmp_path, [detail(), detail(pred=[1.5, 1.5])])
    (method,) = published_methods(read_predictions(path))
    counted: Rates = method.rates
    assert (counted.stored_correct, counted.correct) == (2, 1)
    assert "another one for 1 items: one/open-the-file#2" in counted.why
    run = run_of(method, path, tmp_path / "run")
    flags = {record.id: record.flags for record in run.records()}
    assert flags["one/open-the-file"] == ()
    assert flags["one/open-the-file#2"] == ("published:differs",)


# --- JSON lines ---------------------------------------------------------------------------------


def test_a_broken_line_is_a_failed_case_and_the_others_count(tmp_path):
    lines = [json.dumps(detail()), '{"torn": ', json.dumps(detail())]
    path = written(tmp_path, "\n".join(lines), "log.json")
    file = read_predictions(path)
    assert file.format == "omniparser"
    first, torn, last = file.methods["pred"]
    assert isinstance(torn.case, BrokenCase)
    assert "log.json, line 2: not JSON" in torn.case.error.message
    assert first.rescored
    assert last.rescored
    run = run_of(published_methods(file)[0], path, tmp_path / "run")
    assert (run.summary["n"], run.summary["failed"]) == (3, 1)
    assert round(run.summary["scores"]["accuracy"]["mean"], 4) == 0.6667


def test_one_line_is_a_file_too(tmp_path):
    assert only(read_predictions(written(tmp_path, json.dumps(detail()), "log.jsonl"))).rescored


# --- zoom consistency ---------------------------------------------------------------------------


def capture(index: int, **changes):
    entry = {
        "idx": index,
        "instruction": f"click {index}",
        "application": "?",
        "ui_type": "icon",
        "group": "Dev",
        "img_width": 4000,
        "img_height": 2000,
        "bbox": [0.5, 0.5, 0.1, 0.1],
        "kv_s1": [300.0, 300.0],
        "kv_crop_box": [200, 100, 2200, 1100],
        "kv_s2": [510.0, 500.0],
        "kv_final": [0.3, 0.3],
        "kv_correct": False,
        "qw_s1": [530.0, 530.0],
        "qw_crop_box": [1000, 500, 3000, 1500],
        "qw_s2_qwcrop": [700.0, 500.0],
        "qw_final": [0.55, 0.55],
        "qw_correct": True,
        "qw_s2_kvcrop": None,
        "qw_stage_split_final": None,
        "qw_stage_split_correct": False,
    }
    return {**entry, **changes}


def test_two_models_of_a_capture_give_their_steps_a_router_and_an_oracle(tmp_path):
    near = {"kv_s2": [500.0, 500.0], "kv_final": [0.6, 0.6], "kv_correct": True}
    path = written(
        tmp_path,
        [
            capture(0),  # the router believes the wrong model
            capture(1, kv_s2=None),  # only one says how sure it is
            capture(2, **near, qw_s2_qwcrop=[500.0, 500.0], qw_final=None, qw_correct=False),
            capture(3, qw_final=[0.1, 0.1], qw_correct=False),
        ],
    )
    file = read_predictions(path)
    hits = {name: [one.rescored for one in found] for name, found in file.methods.items()}
    assert file.format == "zoom-consistency"
    assert hits == {
        "kv_s1": [False] * 4,
        "kv_final": [False, False, True, False],
        "qw_s1": [True] * 4,
        "qw_final": [True, True, False, False],
        "qw_stage_split_final": [False] * 4,
        "router": [False, True, True, False],
        "oracle": [True, True, True, False],
    }
    assert all(not rates(found).differing for found in file.methods.values())
    assert file.points["kv_s1"].space is Space.THOUSAND
    assisted = {method.name: method.assisted for method in published_methods(file)}
    assert [name for name, marked in assisted.items() if marked] == ["published:results:oracle"]


def test_the_last_look_of_a_capture_is_at_its_crop(tmp_path):
    file = read_predictions(written(tmp_path, [capture(0)]), field="kv_final")
    whole, crop = only(file).answer.looks
    assert (whole.region.w, crop.region.x, crop.region.w) == (1, 0.05, 0.5)


def test_a_field_that_a_capture_does_not_have_is_refused_with_those_it_has(tmp_path):
    with pytest.raises(UsageError, match="It has: kv_s1, kv_final"):
        read_predictions(written(tmp_path, [capture(0)]), field="step9")


# --- Showdown -----------------------------------------------------------------------------------

TARGET = {"gt_x1": 10, "gt_y1": 20, "gt_x2": 30, "gt_y2": 40}


def table(folder: Path, rows: list[dict], name: str = "model.csv") -> Path:
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_clicks_of_showdown_are_scored_and_missing_ones_are_wrong(tmp_path):
    row = {"id": "a", "instruction": 'say, "hi"', "image_path": "/frames/1.png", **TARGET}
    rows = [
        {**row, "pred_x": "30.0", "pred_y": 40, "is_in_bbox": True, "raw_response": "x" * 200_000},
        {**row, "id": "b", "pred_x": 31, "pred_y": 40, "is_in_bbox": "False", "raw_response": ""},
        {**row, "id": "c", "pred_x": "", "pred_y": "", "is_in_bbox": False, "raw_response": ""},
    ]
    file = read_predictions(table(tmp_path, rows))
    assert file.format == "showdown"
    counted = rates(file.methods["pred"])
    assert (counted.total, counted.correct, counted.stored_correct) == (3, 1, 1)
    assert [one.case.id for one in file.methods["pred"]] == ["1/a", "1/b", "1/c"]


def test_clicks_without_targets_need_the_annotations(tmp_path):
    box = {"x1": 10, "y1": 20, "x2": 30, "y2": 40, "width": 1280, "height": 800}
    table(
        tmp_path,
        [{"id": name, "image": f"{name}.png", "instruction": "go", **box} for name in "abc"],
        "data.csv",
    )
    clicks = table(
        tmp_path,
        [{"id": "b", "pred_x": 11, "pred_y": 21}, {"id": "a", "pred_x": 900, "pred_y": 21}],
    )
    with pytest.raises(InputError, match=r"box is not four numbers: None\. Give the data"):
        read_predictions(clicks)
    found = read_predictions(clicks, annotations=tmp_path).methods["pred"]
    assert [one.rescored for one in found] == [False, True, False]
    assert isinstance(found[2].case, BrokenCase)
    assert "there is no prediction" in found[2].case.error.message
    with pytest.raises(InputError, match="no predicted clicks"):
        read_predictions(tmp_path / "data.csv")


# --- what is wrong with files -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"details": [', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "holds an empty list"),
        ('{"details": []}', "holds an empty list"),
        ("hello", "neither JSON nor CSV"),
        ('{"results": {"overall": {"avg": 0.8}}}', "no list of predictions"),
        ('{"a": 1}', "no list of predictions"),
        ("[1, 2]", "format is not known"),
        ('[{"a": 1}]', r"format is not known\. It has: a\. Wanted: a prediction"),
        ('[{"pred": [1, 2]}]', "Nothing in .*item 1: the target's box is not four numbers: None"),
        ("a,b\n", "a header and no rows"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as raised:
        read_predictions(written(tmp_path, content))
    assert "results.json" in raised.value.message


def test_a_file_that_is_missing_binary_or_a_folder_is_said(tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00{")
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / "binary.json"):
        with pytest.raises(InputError, match=path.name):
            read_predictions(path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("text", "item 2: an object was expected"),
        (detail(bbox=None), "item 2: the target's box is not four numbers: None"),
        (detail(bbox=[1, 2, float("nan"), 4]), "item 2: the target's box is not four numbers"),
        (detail(bbox="somewhere"), "item 2: the target's box is not four numbers: 'somewhere'"),
        (detail(bbox=[0.1, 0.1, 0.2, 0.2]), "item 2: points in pixels cannot be compared"),
    ],
)
def test_an_item_that_cannot_be_used_is_a_failed_case(tmp_path, entry, message):
    path = written(tmp_path, [detail(), entry, *[detail()] * 8])
    file = read_predictions(path)
    broken = file.methods["pred"][1]
    assert isinstance(broken.case, BrokenCase)
    assert f"results.json, {message}" in broken.case.error.message
    counted = rates(file.methods["pred"])
    assert (counted.total, counted.correct, counted.unreadable) == (10, 9, 1)
    run = run_of(published_methods(file)[0], path, tmp_path / "run")
    assert (run.summary["n"], run.summary["failed"]) == (10, 1)
    assert run.summary["scores"]["accuracy"]["mean"] == 0.9


def test_a_changed_prediction_is_scored_anew_when_a_run_is_continued(tmp_path):
    path = written(tmp_path, [detail(), detail(prompt_to_evaluate="close")])
    before = Published(read_predictions(path))
    changed = written(tmp_path, [detail(), detail(prompt_to_evaluate="close", pred=[1, 1])])
    after = Published(read_predictions(changed))
    assert before.key("one/open-the-file") == after.key("one/open-the-file")
    assert before.key("one/close") != after.key("one/close")


def test_a_method_that_the_file_does_not_have_is_refused(tmp_path):
    file = with_details(tmp_path, detail())
    with pytest.raises(UsageError, match="has no method final"):
        Published(file, "final")
    assert Published(replace(file, path=Path("x/other.json"))).name == "published:other"
