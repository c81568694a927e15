"""The data sets and the protocol of openadapt-grounding 0.1.2.

Numbers in here were recorded from the original; `tests/parity` runs it beside us.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import replace

import pytest
from grounding_records import WHOLE_LOOK, a_case, scored
from PIL import Image

from uiproof.benchmarks.grounding.cases import OPENADAPT, Answer, AssistedFinding
from uiproof.benchmarks.grounding.data import read_dataset
from uiproof.benchmarks.grounding.grounders import Detection, Guess, _openadapt_size
from uiproof.benchmarks.grounding.judge import AREA_RULE, SHORT_SIDE_RULE
from uiproof.benchmarks.grounding.methods import (
    AssistedParsing,
    AssistedPointing,
    make_method,
    match_score,
    openadapt_pixels,
    regions,
)
from uiproof.benchmarks.grounding.omniparser import _read_as_openadapt
from uiproof.benchmarks.grounding.openadapt import generate
from uiproof.benchmarks.grounding.results import compare, metrics_of
from uiproof.benchmarks.grounding.tables import console_table
from uiproof.engine.context import Context
from uiproof.errors import InputError, ModelError, UsageError
from uiproof.geometry import Box, PixelBox
from uiproof.models.chat import connect


@pytest.fixture(scope="module")
def fifty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fifty")
    return folder, generate(folder, count=50)


def test_fifty_give_48_samples_with_the_published_types_and_sizes(fifty):
    _, dataset = fifty
    elements = [element for sample in dataset.samples for element in sample.elements]
    assert (len(dataset.samples), len(elements)) == (48, 1035)
    types = Counter(element.element_type.value for element in elements)
    assert types == {"button": 349, "icon": 219, "text": 211, "link": 158, "text_field": 98}
    areas = [element.bbox.area for element in elements]
    small, large = sum(area < 0.001 for area in areas), sum(area >= 0.01 for area in areas)
    assert (small, len(areas) - small - large, large) == (588, 441, 6)


@pytest.mark.slow
def test_a_hundred_give_1922_elements_and_begin_with_the_same_samples(fifty, tmp_path):
    dataset = generate(tmp_path, count=100)
    assert len(dataset.samples) == 100
    assert sum(len(sample.elements) for sample in dataset.samples) == 1922
    assert dataset.samples[:7] == fifty[1].samples[:7]


def test_the_pictures_and_annotations_are_on_disk(fifty):
    folder, dataset = fifty
    assert read_dataset(folder) == dataset
    for sample in dataset.samples:
        with Image.open(folder / sample.image_path) as picture:
            assert picture.size == (sample.width, sample.height) == (1920, 1080)


def test_no_element_is_nearer_than_ten_pixels_to_another(fifty):
    for sample in fifty[1].samples:
        boxes = [element.bbox.to_pixels(1920, 1080) for element in sample.elements]
        for number, a in enumerate(boxes):
            for b in boxes[:number]:
                gap = max(b.left - a.right, a.left - b.right, b.top - a.bottom, a.top - b.bottom)
                assert gap >= 10  # the original loses a pixel between fractions and back


@pytest.mark.parametrize(
    ("settings", "elements", "digest"),
    [
        (
            {"count": 20},
            373,
            "7e016f553dd79b6c4ec4ebcd63bf241c1c7f057dbb14d892cde40b9f05bece6b",
        ),
        (
            {"count": 3, "seed": 7, "mix": {"hard-light": 1.0}},
            111,
            "acaba94dd330543514494ea13ebc2dd6c5d738f26c78b57fc6d94fe8a220444f",
        ),
        (
            {"count": 8, "width": 1366, "height": 768},
            116,
            "8a9f64a33a5cbc4afd81380c50d9a56a27af981d78f36c4e91ed5038984a3e87",
        ),
        (
            {"count": 8, "width": 420, "height": 310},
            76,
            "10c55ca0f408b527bfc374b3b95d65456529ba2e8c5989001431e20550873bcb",
        ),
    ],
)
def test_ids_texts_and_metadata_are_the_recorded_ones(tmp_path, settings, elements, digest):
    generate(tmp_path, **settings)
    content = json.loads((tmp_path / "annotations.json").read_text())
    assert content.pop("made_by")["generator"] == "openadapt-v1"
    assert sum(len(sample["elements"]) for sample in content["samples"]) == elements
    text = json.dumps(content, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_made_again_it_is_the_same_and_another_one_is_not_overwritten(tmp_path):
    assert generate(tmp_path, count=4) == generate(tmp_path, count=4)
    with pytest.raises(InputError, match="another data set"):
        generate(tmp_path, count=4, seed=43)


def test_a_screen_that_is_too_small_is_wrong_use(tmp_path):
    with pytest.raises(UsageError, match="no room"):
        generate(tmp_path, count=20, width=230, height=200)


def test_instructions_have_the_published_forms(fifty):
    forms = {
        element.element_type.value: element.instruction.replace(element.text, "…")
        for sample in fifty[1].samples
        for element in sample.elements
        if element.element_type != "text_field"
    }
    assert forms == {
        "button": "Click on the '…' button",
        "link": "Click on the '…' link",
        "icon": "Click on the … icon",
        "text": "Click on the text '…'",
    }


def test_a_count_that_gives_no_sample_is_wrong_use(tmp_path):
    with pytest.raises(UsageError, match="no samples"):
        generate(tmp_path, count=3)


# --- the protocol -------------------------------------------------------------------------------

CROPS = [
    (
        (1920, 1080),
        (700, 333, 83, 27),
        "fixed",
        [(641, 246, 200, 200), (591, 196, 300, 300), (491, 96, 500, 500)],
    ),
    (
        (1366, 768),
        (1301, 20, 45, 45),
        "screenseeker",
        [(0, 0, 1366, 115), (956, 0, 409, 768), (204, 76, 956, 614), (683, 0, 683, 384)],
    ),
    (
        (420, 310),
        (133, 271, 151, 19),
        "fixed",
        [(108, 110, 200, 200), (58, 9, 300, 300), (0, 0, 420, 310)],
    ),
]


@pytest.mark.parametrize(("size", "place", "cropping", "wanted"), CROPS)
def test_crops_are_cut_off_to_whole_pixels(size, place, cropping, wanted):
    x, y, w, h = place
    target = PixelBox(x, y, x + w, y + h).normalised(*size)
    found = [
        openadapt_pixels(region, *size)
        for region in regions(cropping, target.centre, *size, protocol=OPENADAPT)
    ]
    assert found[0] == PixelBox(0, 0, *size)
    assert [(one.left, one.top, one.width, one.height) for one in found[1:]] == wanted


def test_a_square_larger_than_the_screen_keeps_its_size_in_the_mapping():
    *_, square = regions("fixed", (0.5, 0.9), 420, 310, protocol=OPENADAPT)
    assert (square.x, square.y, square.w, square.h) == (0, 0, 500 / 420, 500 / 310)
    *_, ours = regions("fixed", (0.5, 0.9), 420, 310)
    assert (ours.w, ours.h) == (1, 1)


@pytest.mark.parametrize(
    ("width", "height", "resized"),
    [
        (200, 200, (280, 280)),
        (199, 200, (280, 280)),  # smart-resize makes 308 x 280 of it
        (300, 300, (308, 308)),
        (63, 310, (644, 140)),
        (1920, 162, (168, 1932)),
        (8000, 5000, (2828, 4508)),
    ],
)
def test_points_are_divided_by_the_recorded_sizes(width, height, resized):
    assert _openadapt_size(height, width) == resized


def test_elements_are_read_as_the_original_reads_them():
    box = [0.1, 0.2, 0.3, 0.5]
    items = [
        {"bbox": box, "content": "Text Box ID 4: Save: all "},
        {"bbox": box, "content": "Icon Box ID 5"},
        {"bbox": box},
        {"bbox": [0.1, 0.2, 0.3, 1.01], "content": "outside"},
        {"bbox": [0.1, 0.2, 0.1, 0.5], "content": "empty"},
        {"bbox": [100, 200, 300, 500], "content": None},
        {"content": "nowhere"},
    ]
    seen = _read_as_openadapt(items)
    assert [one.text for one in seen] == ["Save: all", "Icon Box ID 5", ""]
    assert seen[0].box == Box(0.1, 0.2, 0.3 - 0.1, 0.5 - 0.2)
    with pytest.raises(ModelError, match="reads nothing"):
        _read_as_openadapt([*items, {"bbox": box, "content": None}])


def test_blanks_are_a_part_of_every_text():
    box = Box(0.1, 0.1, 0.1, 0.1)
    far = Box(0.5, 0.1, 0.1, 0.1)
    assert match_score(far, " ", box, "Save")[0] == 0  # 0.15 - 0.2
    near = Box(0.2, 0.1, 0.1, 0.1)
    assert match_score(near, " ", box, "Save")[0] == pytest.approx(0.15 - 0.05)
    assert match_score(near, "", box, "Save")[0] == 0


class Backend:
    """Fails with the first `failing` pictures; sees and points to nothing in the others."""

    name, settings, concurrency = "backend", {}, 1

    def __init__(self, failing):
        self.failing, self.sizes = failing, []

    async def ground(self, picture, instruction, context):
        self.look(picture)
        return Guess((0.9, 0.9))

    async def parse(self, picture, context):
        self.look(picture)
        return [Detection(Box(0.9, 0.9, 0.05, 0.05), "other")]

    def look(self, picture):
        self.sizes.append(picture.size)
        if len(self.sizes) <= self.failing:
            raise ModelError("HTTP 500")

    async def close(self):
        pass


@pytest.mark.parametrize("kind", [AssistedParsing, AssistedPointing])
@pytest.mark.parametrize("failing", [0, 2, 4])
def test_a_failed_look_is_an_attempt_and_a_miss_is_nowhere(tmp_path, kind, failing):
    Image.new("RGB", (1000, 1000), "white").save(tmp_path / "a.png")
    case = a_case("sample/element", side=51)
    question = replace(case.question, image=tmp_path / "a.png")
    backend = Backend(failing)
    method = kind("Any + fixed_crop", backend, "fixed", protocol=OPENADAPT)
    context = Context(case.id, truth=case.truth)
    answer = asyncio.run(method.answer(case.id, question, context))
    assert backend.sizes == [(1000, 1000), (200, 200), (300, 300), (500, 500)]
    record = scored("sample/element", answer, side=51)
    (result,) = metrics_of([record], method="m", dataset="d", protocol=OPENADAPT).results
    assert (result.found, result.attempts, result.iou) == (False, 4, 0.0)
    assert (result.click_point, result.distance_from_target) == (None, 0.0)
    assert len(result.region_errors) == failing


def test_nothing_is_rounded():
    third = 1 / 3
    found = Answer(
        box=Box(third / 3, third / 3, 0.05, 0.05),
        looks=(WHOLE_LOOK,),
        assisted=AssistedFinding(True, third, "OK", (), OPENADAPT),
    )
    record = scored("sample/element", found)
    (result,) = metrics_of([record], method="m", dataset="d", protocol=OPENADAPT).results
    assert result.iou == third
    assert result.click_point == found.box.centre
    assert result.bbox[0] == third / 3


def test_only_the_six_methods_have_this_protocol():
    method = make_method("omniparser-fixed", connect, OPENADAPT)
    assert method.name == "OmniParser + fixed_crop"
    assert method.settings["protocol"] == OPENADAPT
    assert make_method("uitars", connect, OPENADAPT).name == "UI-TARS + baseline"
    assert make_method("uitars", connect).settings["protocol"] == "uiproof"
    for name in ("centre-fixed", "ocr@none", "omniparser-", "omniparser@none"):
        with pytest.raises(UsageError, match=r"protocol openadapt-0\.1\.2 has no method"):
            make_method(name, connect, OPENADAPT)


def test_two_rules_for_sizes_never_share_a_column():
    records = [scored("a/1", Answer(assisted=AssistedFinding(True, 0.5)), side=31)]
    theirs = metrics_of(records, method="A", dataset="d", assisted=True, protocol=OPENADAPT)
    ours = metrics_of(records, method="B", dataset="d", assisted=True)
    assert (theirs.size_rule, ours.size_rule) == (AREA_RULE, SHORT_SIDE_RULE)
    assert (set(theirs.by_size), set(ours.by_size)) == ({"small"}, {"small"})
    titles = [line for line in console_table([theirs, ours]).splitlines() if "RESULTS" in line]
    assert titles == [
        "EVALUATION RESULTS (protocol openadapt-0.1.2)",
        "EVALUATION RESULTS (protocol uiproof)",
    ]
    compared = compare([theirs, ours])
    assert compared["size_analysis"]["small_best"] is None
    assert compared["size_analysis"]["by_rule"][AREA_RULE]["small_best"] == "A"
    assert compared["size_analysis"]["by_rule"][SHORT_SIDE_RULE]["small_best"] == "B"
    assert [one["protocol"] for one in compared["ranking_by_detection_rate"]] == [
        *(OPENADAPT, "uiproof")
    ]
