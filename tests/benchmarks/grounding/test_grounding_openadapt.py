"""The published layouts of openadapt-grounding, element by element."""

from __future__ import annotations

from collections import Counter

import pytest
from PIL import Image

from uiproof.benchmarks.grounding.data import read_dataset
from uiproof.benchmarks.grounding.openadapt import generate
from uiproof.errors import UsageError


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
                assert gap > 10


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
