"""Grounding data sets on disk: read strictly, written exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    BrokenItem,
    Dataset,
    ElementType,
    Sample,
    read_dataset,
    read_samples,
    write_dataset,
)
from uiproof.errors import InputError
from uiproof.geometry import Box

ELEMENT = {
    "id": "e1",
    "bbox": [0.25, 0.5, 0.125, 0.0625],
    "text": "Save",
    "element_type": "button",
    "instruction": "Click on the 'Save' button",
}
SAMPLE = {
    "id": "s1",
    "image_path": "samples/s1.png",
    "width": 1920,
    "height": 1080,
    "elements": [ELEMENT],
    "metadata": {"theme": "dark"},
}
CONTENT = {"name": "ours", "version": "1.0", "metadata": {"seed": 42}, "samples": [SAMPLE]}


def written(folder: Path, content: object) -> Path:
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def with_element(**changes: object) -> dict[str, object]:
    return {**CONTENT, "samples": [{**SAMPLE, "elements": [{**ELEMENT, **changes}]}]}


def with_sample(**changes: object) -> dict[str, object]:
    return {**CONTENT, "samples": [{**SAMPLE, **changes}]}


def test_a_data_set_is_read_as_it_is_described(tmp_path):
    dataset = read_dataset(written(tmp_path, CONTENT))
    assert (dataset.name, dataset.version, dataset.metadata) == ("ours", "1.0", {"seed": 42})
    (sample,) = dataset.samples
    assert (sample.id, sample.image_path) == ("s1", "samples/s1.png")
    assert (sample.width, sample.height, sample.metadata) == (1920, 1080, {"theme": "dark"})
    (element,) = sample.elements
    assert element.bbox == Box(0.25, 0.5, 0.125, 0.0625)
    assert element.element_type is ElementType.BUTTON
    assert element.click_point == (0.3125, 0.53125)
    assert read_dataset(tmp_path / "annotations.json") == dataset


def test_what_was_read_is_written_back_the_same_with_keys_nobody_knows(tmp_path):
    content = {
        **CONTENT,
        "licence": "ours",
        "samples": [
            {
                **SAMPLE,
                "source": {"b": 1, "a": [None, "ä"]},
                "elements": [
                    {**ELEMENT, "note": "seen", "polygon": [[0, 0], [1, 0], [0.5, 1]]},
                    {**ELEMENT, "id": "e2", "text": None, "metadata": {"group": "cad"}},
                    {**ELEMENT, "id": "e3", "clickable": [0.2, 0.4, 0.3, 0.2]},
                    {**ELEMENT, "id": "e4", "bbox": [0, 0, 0, 0], "refusal": True},
                ],
            }
        ],
    }
    dataset = read_dataset(written(tmp_path, content))
    again = tmp_path / "again"
    assert json.loads(write_dataset(dataset, again).read_text()) == content
    assert read_dataset(again) == dataset
    assert [path.name for path in again.iterdir()] == ["annotations.json"]


def test_the_order_of_metadata_does_not_change_the_bytes(tmp_path):
    one = Dataset("d", "1", (), {"a": 1, "b": {"c": 2, "d": 3}})
    two = Dataset("d", "1", (), {"b": {"d": 3, "c": 2}, "a": 1})
    files = [write_dataset(one, tmp_path / "1"), write_dataset(two, tmp_path / "2")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([], "object"),
        ({"name": "x"}, "`samples`"),
        (with_sample(id=7), "`id`"),
        (with_sample(width=0), "`width`"),
        (with_sample(height=10.5), "`height`"),
        (with_sample(image_path="../secret.png"), "leaves the data set"),
        (with_sample(image_path="/etc/secret.png"), "leaves the data set"),
        (with_sample(image_path=None), "`image_path`"),
        (with_sample(elements={}), "`elements`"),
        (with_sample(metadata=[]), "`metadata`"),
        (with_element(bbox=[0.9, 0.1, 0.2, 0.1]), "inside the image"),
        (with_element(bbox=[10, 20, 30, 40]), "inside the image"),
        (with_element(bbox=[0.1, 0.1, 0, 0.1]), "no area"),
        (with_element(bbox=[0.1, 0.1, 0.1]), "[x, y, width, height]"),
        (with_element(bbox=[0.1, 0.1, float("nan"), 0.1]), "[x, y, width, height]"),
        (with_element(bbox=[0.1, 0.1, True, 0.1]), "[x, y, width, height]"),
        (with_element(element_type="slider"), "'slider'"),
        (with_element(element_type=[]), "`element_type`"),
        (with_element(text=3), "`text`"),
        (with_element(polygon=[[0, 0], [1, 1]]), "`polygon`"),
        (with_element(polygon=[[0, 0], [1, 1], [9, 1]]), "`polygon`"),
        (with_element(refusal="yes"), "`refusal`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, content, complaint):
    with pytest.raises(InputError) as caught:
        read_dataset(written(tmp_path, content))
    assert complaint in str(caught.value)
    assert "annotations.json" in str(caught.value)


def test_a_missing_or_torn_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_dataset(tmp_path / "nowhere")
    (tmp_path / "annotations.json").write_text('{"samples": [')
    with pytest.raises(InputError, match="not JSON"):
        read_dataset(tmp_path)


def test_one_bad_entry_spoils_nothing_but_itself(tmp_path):
    bad_box = {**ELEMENT, "id": "e2", "bbox": [0.9, 0.9, 0.9, 0.9]}
    content = {
        **CONTENT,
        "samples": [
            {**SAMPLE, "elements": [ELEMENT, bad_box, ELEMENT]},
            {**SAMPLE, "id": "s2", "width": -1},
            {**SAMPLE, "id": "s1"},
            "nonsense",
            {**SAMPLE, "id": "s3"},
        ],
    }
    items = list(read_samples(written(tmp_path, content)))
    broken = {item.id: str(item.error) for item in items if isinstance(item, BrokenItem)}
    good = [item for item in items if isinstance(item, Sample)]
    assert [(sample.id, len(sample.elements)) for sample in good] == [("s1", 1), ("s3", 1)]
    assert list(broken) == ["s1/e2", "s1/e1#2", "s2/e1", "s1#2/e1", "#4"]
    assert "sample s1, element e2" in broken["s1/e2"]
    assert "more than once" in broken["s1#2/e1"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), json_values, max_size=3)
unknown_keys = st.dictionaries(st.text(min_size=1).map("x-{}".format), json_values, max_size=2)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    left, right = sorted(draw(st.tuples(st.integers(0, 999), st.integers(0, 999))))
    top, bottom = sorted(draw(st.tuples(st.integers(0, 999), st.integers(0, 999))))
    width, height = (right + 1 - left) / 1000, (bottom + 1 - top) / 1000
    return Box(left / 1000, top / 1000, width, height)


points = st.tuples(st.floats(0, 1), st.floats(0, 1))
elements = st.builds(
    AnnotatedElement,
    id=st.text(min_size=1),
    bbox=boxes(),
    text=st.text(),
    element_type=st.sampled_from(ElementType),
    instruction=st.text(),
    clickable=st.none() | boxes(),
    polygon=st.just(()) | st.lists(points, min_size=3, max_size=5).map(tuple),
    metadata=objects,
    extra=unknown_keys,
)
samples = st.builds(
    Sample,
    id=st.text(min_size=1),
    image_path=st.from_regex(r"samples/[a-z0-9]{1,8}\.png", fullmatch=True),
    width=st.integers(1, 10**5),
    height=st.integers(1, 10**5),
    elements=st.lists(elements, max_size=3, unique_by=lambda one: one.id).map(tuple),
    metadata=objects,
    extra=unknown_keys,
)
datasets = st.builds(
    Dataset,
    name=st.text(),
    version=st.text(),
    samples=st.lists(samples, max_size=3, unique_by=lambda one: one.id).map(tuple),
    metadata=objects,
    extra=unknown_keys,
)


@settings(deadline=None)
@given(datasets)
def test_every_data_set_survives_being_written_and_read(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("set")
    file = write_dataset(dataset, folder)
    assert read_dataset(folder) == dataset
    before = file.read_bytes()
    assert write_dataset(read_dataset(folder), folder).read_bytes() == before
