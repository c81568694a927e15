"""Sets that are published as parquet files, with the pictures inside."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest
from grounding_layouts import CORNERS, H, W, as_fractions, as_size, good, loaded, pixels
from PIL import Image

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.grounding.cases import cases
from uiproof.benchmarks.grounding.published_sets import find_loader
from uiproof.errors import InputError, MissingDependencyError


def parquet(file, columns, *, rows_per_group=4):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as library

    file.parent.mkdir(parents=True, exist_ok=True)
    library.write_table(arrow.table(columns), file, row_group_size=rows_per_group)
    return file


def png(size=(W, H), format="PNG", colour="white"):
    content = BytesIO()
    Image.new("RGB", size, colour).save(content, format)
    return {"bytes": content.getvalue(), "path": None}


def screenspot_parquet(file, boxes, **more):
    count = len(boxes)
    return parquet(
        file,
        {
            "file_name": [f"shot_{number // 2}.png" for number in range(count)],
            "bbox": boxes,
            "instruction": [f"do {number}" for number in range(count)],
            "data_type": ["text"] * count,
            "data_source": ["shop"] * count,
            "image": [png()] * count,
            **more,
        },
    )


def test_the_parquet_copy_of_screenspot_has_corners_in_fractions(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "set" / "data" / "test-00000-of-00001.parquet"
    screenspot_parquet(file, [as_fractions(corners) for corners in CORNERS])
    for path in (tmp_path / "set", file):
        found = good(path)
        assert [pixels(case) for case in found] == CORNERS
        assert found[0].truth.tags["group"] == "web text"
        assert found[0].question.image == found[1].question.image  # one screenshot, two items
        assert found[0].truth.sample_id == "shot_0"
    assert not list((tmp_path / "set").rglob("*.png"))


def test_pictures_come_out_of_parquet_only_when_they_are_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    file = screenspot_parquet(tmp_path / "test.parquet", [as_fractions(c) for c in CORNERS])
    iterator = iter(cases(file))
    assert not list((tmp_path / "cache").rglob("*.png"))
    next(iterator)
    assert len(list((tmp_path / "cache").rglob("*.png"))) == 2  # one group of four rows
    assert not [path for path in (tmp_path / "cache").rglob(".*") if path.is_file()]


def test_the_parquet_copy_with_widths_and_heights_is_refused(tmp_path):
    boxes = [[c[0] / W, c[1] / H, 20 / W, 10 / H] for c in CORNERS]
    with pytest.raises(InputError, match=r"look like \[x, y, width, height\] in fractions"):
        cases(screenspot_parquet(tmp_path / "test.parquet", boxes))


def test_a_row_without_a_usable_picture_is_a_broken_case(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    images = [png()] * len(CORNERS)
    images[2] = images[3] = {"bytes": b"not an image", "path": None}
    boxes = [as_fractions(corners) for corners in CORNERS]
    found = loaded(screenspot_parquet(tmp_path / "test.parquet", boxes, image=images))
    assert [case.id for case in found if isinstance(case, BrokenCase)] == [
        "shot_1/test-2",
        "shot_1/test-3",
    ]


@pytest.mark.parametrize(
    "convert",
    [as_fractions, list, as_size, lambda c: [c[0] / W, c[1] / H, 20 / W, 10 / H]],
    ids=["fractions", "pixels", "width and height", "fractions of width and height"],
)
def test_webclick_is_read_as_its_boxes_allow(tmp_path, monkeypatch, convert):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    count = len(CORNERS)
    buckets = ["agentbrowse", "calendars", "humanbrowse"]
    for shard in range(2):
        parquet(
            tmp_path / f"test-0000{shard}-of-00002.parquet",
            {
                "image": [png(format="JPEG")] * count,
                "instruction": [f"{shard} {number}" for number in range(count)],
                "bbox": [[float(n) for n in convert(corners)] for corners in CORNERS],
                "bucket": [buckets[number % 3] for number in range(count)],
            },
        )
    found = good(tmp_path)
    assert [pixels(case) for case in found] == CORNERS * 2
    assert len({case.id for case in found}) == len({c.truth.sample_id for c in found}) == 2 * count
    assert found[1].truth.tags == {"group": "calendars", "platform": "web"}
    assert found[0].question.image.suffix == ".jpg"


def test_without_pyarrow_a_parquet_file_says_what_to_install(tmp_path, monkeypatch):
    file = screenspot_parquet(tmp_path / "test.parquet", [as_fractions(c) for c in CORNERS])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"uiproof\[parquet\]"):
        find_loader(file)
