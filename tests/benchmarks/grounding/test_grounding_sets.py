"""What is special about UI-Vision, MMBench-GUI, Showdown-clicks, CAGUI and OSWorld-G."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from grounding_layouts import (
    CORNERS,
    H,
    W,
    as_fractions,
    as_size,
    good,
    loaded,
    picture,
    pixels,
    write,
)

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.grounding.cases import cases
from uiproof.benchmarks.grounding.data import ElementType
from uiproof.errors import InputError

# UI-Vision


def ui_vision(folder, boxes):
    picture(folder / "images" / "element_grounding" / "a.png")
    for split in ("basic", "functional", "spatial"):
        rows = [
            {
                "image_path": "element_grounding/a.png",
                "image_size": [W, H],
                "prompt_to_evaluate": f"{split} {number}",
                "bbox": box,
                "element_type": "Button",
                "platform": "gimp",
                "category": "Creativity",
            }
            for number, box in enumerate(boxes)
        ]
        name = f"element_grounding_{split}.json"
        write(folder / "annotations" / "element_grounding" / name, rows)
    return folder


def test_ui_vision_may_swap_corners(tmp_path):
    boxes = [[x2, y2, x1, y1] if x1 % 4 else [x1, y1, x2, y2] for x1, y1, x2, y2 in CORNERS]
    assert any(box[0] > box[2] for box in boxes)
    found = good(ui_vision(tmp_path, boxes))
    assert [pixels(case) for case in found] == CORNERS * 3
    assert Counter(case.truth.tags["split"] for case in found) == dict.fromkeys(
        ("basic", "functional", "spatial"), len(CORNERS)
    )
    assert found[0].id == "element_grounding__a/basic-0"
    assert found[0].truth.tags["application"] == "gimp"
    assert found[0].truth.element.element_type is ElementType.BUTTON
    assert found[0].truth.others is found[-1].truth.others


def test_ui_vision_with_widths_and_heights_is_refused_although_corners_may_be_swapped(tmp_path):
    with pytest.raises(InputError, match=r"look like \[x, y, width, height\] in pixels"):
        cases(ui_vision(tmp_path, [as_size(corners) for corners in CORNERS]))


# MMBench-GUI L2


def test_mmbench_gui_mixes_pixels_and_fractions(tmp_path):
    picture(tmp_path / "offline_images" / "os_windows" / "a.png")
    rows = [
        {
            "index": number,
            "image_path": "a.png",
            "image_size": [W, H],
            "platform": "os_windows",
            "instruction": f"do {number}",
            "bbox": list(corners) if number % 2 else as_fractions(corners),
            "data_type": "icon",
            "app_name": "paint",
            "grounding_type": "basic" if number % 3 else "advanced",
        }
        for number, corners in enumerate(CORNERS)
    ]
    write(tmp_path / "L2_annotations.json", rows)
    found = good(tmp_path)
    assert [pixels(case) for case in found] == CORNERS
    assert found[0].id == "os_windows__a/0"
    assert found[0].truth.tags == {
        "group": "windows advanced",
        "platform": "windows",
        "difficulty": "advanced",
        "application": "paint",
        "data_type": "icon",
    }


# Showdown-clicks


def showdown(folder, boxes):
    inner = folder / "showdown-clicks-dev"
    picture(inner / "frames" / "396394CF" / "16.webp")
    with (inner / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "image", "instruction", "x1", "y1", "x2", "y2", "width", "height"])
        for number, box in enumerate(boxes):
            row = [f"abc{number}", "frames/396394CF/16.webp", f'say "{number}", then', *box, W, H]
            writer.writerow(row)
    return folder


def test_showdown_clicks_come_from_a_csv_file(tmp_path):
    found = good(showdown(tmp_path, CORNERS))
    assert [pixels(case) for case in found] == CORNERS
    assert found[2].id == "396394CF__16/abc2"
    assert found[2].question.instruction == 'say "2", then'
    assert found[2].truth.tags == {"platform": "macos", "split": "dev"}
    assert good(tmp_path / "showdown-clicks-dev" / "data.csv") == found


def test_showdown_clicks_with_a_number_that_is_none_are_broken_cases(tmp_path):
    found = loaded(showdown(tmp_path, [*CORNERS[:-1], ("", 1, 2, 3)]))
    assert len(found) == len(CORNERS)
    assert "`x1` is not a number" in str(found[-1].error)


# CAGUI


def cagui(folder, convert=lambda c: "<{}, {}, {}, {}>".format(*c)):
    for split, task in (("cap", "bbox2function"), ("ocr", "bbox2text")):
        picture(folder / "images" / split / "0.jpeg")
        lines = [
            {
                "task": task,
                "image": "grounding_eval/dataset/images/0.jpeg",
                "id": number,
                "abs_position": convert(corners),
                "rel_position": "<0, 0, 1, 1>",
                "text": f"菜单 {number}",
            }
            for number, corners in enumerate(CORNERS)
        ]
        (folder / "code").mkdir(exist_ok=True)
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        (folder / "code" / f"{split}.jsonl").write_text(text + "\n", "utf-8")
    return folder


def test_cagui_has_boxes_in_texts_and_a_folder_of_images_for_each_part(tmp_path):
    found = good(cagui(tmp_path / "CAGUI_grounding"))
    assert [pixels(case) for case in found] == CORNERS * 2
    assert [case.id for case in (found[0], found[-1])] == [
        "cap__0/cap-0",
        f"ocr__0/ocr-{len(CORNERS) - 1}",
    ]
    assert found[0].question.image.parent.name == "cap"
    assert found[-1].question.image.parent.name == "ocr"
    assert found[-1].question.instruction == found[-1].truth.element.text == "菜单 24"
    assert found[0].truth.element.text == ""
    assert good(tmp_path) == found  # a clone of the whole repository


def test_cagui_with_too_few_numbers_is_refused(tmp_path):
    with pytest.raises(InputError, match="items are wrong"):
        cases(cagui(tmp_path, convert=lambda c: "<1, 2>"))


# OSWorld-G


def osworld_row(number, corners, **more):
    return {
        "id": f"A-{number}",
        "image_path": "A.png",
        "image_size": [W, H],
        "instruction": f"click {number}",
        "box_type": "bbox",
        "box_coordinates": as_size(corners),
        "GUI_types": ["Label"],
        **more,
    }


def osworld(folder, rows):
    picture(folder / "images" / "A.png")
    write(folder / "OSWorld-G.json", rows)
    return folder


def osworld_rows():
    return [osworld_row(number, corners) for number, corners in enumerate(CORNERS)]


def test_osworld_g_has_polygons_and_refusals(tmp_path):
    rows = osworld_rows()
    flat = [10, 10, 50, 12, 30, 60]
    rows[1] |= {"box_type": "polygon", "box_coordinates": flat, "GUI_types": ["Icon", "List"]}
    rows[2] |= {"box_type": "refusal", "box_coordinates": [0, 0, 0, 0]}
    rows[3]["GUI_types"] = ["Checkbox"]
    found = good(osworld(tmp_path / "benchmark", rows))
    polygon, refusal = found[1].truth.element, found[2].truth.element
    assert [(x * W, y * H) for x, y in polygon.polygon] == [(10, 10), (50, 12), (30, 60)]
    assert pixels(found[1]) == (10, 10, 50, 60)
    assert refusal.refusal
    assert refusal.bbox.area == 0
    assert refusal not in found[0].truth.others
    assert len(found[0].truth.others) == len(CORNERS) - 1
    assert [found[n].truth.tags["kind"] for n in range(3)] == ["box", "polygon", "refusal"]
    assert [found[n].truth.element.element_type.value for n in (0, 1, 3)] == [
        "text",
        "unknown",
        "checkbox",
    ]
    # A clone of the repository: the set is in `benchmark`, the categories may be above it.
    buckets = {"text_matching": ["Label"], "layout_understanding": ["List"]}
    write(tmp_path / "buckets.json", buckets)
    tagged = good(tmp_path)
    assert tagged[0].truth.tags == {"split": "original", "kind": "box", "text_matching": "yes"}
    assert "layout_understanding" in tagged[1].truth.tags
    assert "refusal" in tagged[2].truth.tags


def test_a_polygon_of_four_numbers_or_outside_of_the_image_is_a_broken_case(tmp_path):
    for number, wrong in enumerate(([1, 2, 3, 4], [10, 10, W + 9, 12, 30, 60])):
        rows = osworld_rows()
        rows[5] |= {"box_type": "polygon", "box_coordinates": wrong}
        found = loaded(osworld(tmp_path / str(number), rows))
        (broken,) = [case for case in found if isinstance(case, BrokenCase)]
        assert broken.id == "A/A-5"


def test_osworld_g_with_corners_is_refused(tmp_path):
    rows = [osworld_row(n, c, box_coordinates=list(c)) for n, c in enumerate(CORNERS)]
    with pytest.raises(InputError, match=r"look like \[x1, y1, x2, y2\] in pixels"):
        cases(osworld(tmp_path, rows))


@pytest.fixture
def real(shared_data):
    folder = shared_data / "data" / "osworld_g"
    if not folder.is_dir():
        pytest.skip(f"needs OSWorld-G data in {folder}")
    return folder


@pytest.mark.parametrize("name", ["", "OSWorld-G.json", "OSWorld-G_refined.json"])
def test_real_osworld_g_data_is_read_completely(real, name):
    found = good(real / name)
    tags = Counter(tag for case in found for tag in case.truth.tags)
    assert Counter(case.truth.tags["kind"] for case in found) == {
        "box": 106,
        "polygon": 14,
        "refusal": 18,
    }
    published = json.loads((real / "classification_result.json").read_text())
    ids = {case.truth.element.id for case in found}
    for category, items in published["classified"].items():
        assert tags[category] == len(ids & {item["id"] for item in items}) > 0
    assert len({case.truth.sample_id for case in found}) == 55
    assert {case.truth.tags["split"] for case in found} == {
        "refined" if "refined" in name else "original"
    }


def test_real_osworld_g_data_has_its_published_boxes(real):
    published = {row["id"]: row for row in json.loads((real / "OSWorld-G.json").read_text())}
    for case in cases(real):
        row = published[case.truth.element.id]
        width, height = row["image_size"]
        assert (case.question.width, case.question.height) == (width, height)
        assert case.question.instruction == row["instruction"]
        if row["box_type"] == "bbox":
            box = case.truth.element.bbox
            numbers = [box.x * width, box.y * height, box.w * width, box.h * height]
            assert numbers == pytest.approx(row["box_coordinates"], abs=1e-6)


def test_real_osworld_g_data_read_as_corners_would_be_noticed(real, tmp_path):
    rows = json.loads((real / "OSWorld-G.json").read_text())
    for row in rows:
        if row["box_type"] == "bbox":
            x, y, w, h = row["box_coordinates"]
            row["box_coordinates"] = [x, y, x + w, y + h]
    write(tmp_path / "OSWorld-G.json", rows)
    with pytest.raises(InputError, match="as documented"):
        cases(tmp_path)


# VenusBench-GD


def test_venusbench_gd_is_split_by_subtask_and_refusals_have_no_box(tmp_path):
    picture(tmp_path / "images" / "web" / "shop" / "a.png")
    item = {"img_filename": "web/shop/a.png", "instruction": "open it", "category": "element"}
    rows = [{**item, "bbox": box} for box in CORNERS]
    write(tmp_path / "instruction" / "element_grounding.json", rows)
    refusal = {**item, "instruction": "打开它", "bbox": None}
    write(tmp_path / "instruction" / "refusal_grounding.json", [refusal])
    found = good(tmp_path)
    assert [pixels(case) for case in found[:-1]] == CORNERS
    tags = found[0].truth.tags
    assert tags["split"] == "element_grounding"
    assert (tags["platform"], tags["application"], tags["language"]) == ("web", "shop", "en")
    assert found[-1].truth.element.refusal
    assert found[-1].truth.tags["group"] == "refusal_grounding"
    assert found[-1].truth.tags["language"] == "zh"
