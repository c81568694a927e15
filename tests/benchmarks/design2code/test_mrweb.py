"""MRWeb: its published picture scores are recomputed from its pictures."""

from __future__ import annotations

import csv
import json
from math import log10

import numpy as np
import pytest
from typer.testing import CliRunner

from uiproof.benchmarks.design2code.cases import cases, recognises
from uiproof.benchmarks.design2code.mrweb import recompute
from uiproof.cli import app
from uiproof.errors import InputError
from uiproof.vision.images import encode_png

# A page of one grey level, and one that is ten levels lighter: everything follows by hand.
EXPECTED = {
    "MAE": 10.0,
    "PSNR": 10 * log10(32767**2 / 100),
    "SSIM": (2 * 100 * 110 + 6.5025) / (100**2 + 110**2 + 6.5025),
    "NEMD": 1 - 10 / 155,
}


def picture(path, level, height=48):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_png(np.full((height, 64, 3), level, np.uint8)))


@pytest.fixture
def folder(tmp_path):
    picture(tmp_path / "reference" / "7.png", 100)
    picture(tmp_path / "gpt" / "7.png", 110)
    write(tmp_path, EXPECTED)
    return tmp_path


def write(folder, values):
    rows = [{"page": "7", "run": "gpt", **values}]
    (folder / "published.json").write_text(json.dumps(rows))


def values(found):
    return {row["metric"]: (row["ours"], row["agrees"]) for row in found.content["values"]}


def test_all_scores_of_a_pair_of_one_size_come_out(folder):
    found = recompute(folder)
    assert found.agrees
    for metric, value in EXPECTED.items():
        assert values(found)[metric] == (pytest.approx(value), True)


def test_a_value_that_does_not_follow_from_the_pictures_is_said(folder):
    write(folder, {**EXPECTED, "PSNR": 20.0})  # with the usual peak of 255
    result = CliRunner().invoke(app, ["anchors", str(folder)])
    assert result.exit_code == 1
    assert "3 of 4 published values" in result.stdout


def test_the_authors_repository_is_read_as_it_is(tmp_path):
    picture(tmp_path / "dataset_collection" / "all_data" / "7.png", 100)
    picture(tmp_path / "experiment" / "results" / "gpt_cot" / "7.png", 110)
    file = tmp_path / "experiment" / "RQ2" / "performance_visual_intersection.csv"
    file.parent.mkdir(parents=True)
    with file.open("w", newline="") as out:
        table = csv.DictWriter(out, ["file_name", *EXPECTED, "CLIP"])
        table.writeheader()
        table.writerow({"file_name": "../results/gpt_cot/7.png", **EXPECTED, "CLIP": ""})
        table.writerow({"file_name": "../results/gpt_cot/8.png", **EXPECTED})
    found = recompute(tmp_path)
    assert found.agrees
    assert len(found.content["values"]) == 4
    assert "1 pairs without both pictures" in found.verdict


def test_pictures_of_other_heights_agree_within_what_noise_is_worth(folder):
    picture(folder / "gpt" / "7.png", 110, height=40)
    first = values(recompute(folder))
    # A sixth of the page is noise against one grey level.
    assert first["MAE"][0] == pytest.approx(10 * 5 / 6 + 66 / 6, rel=0.1)
    write(folder, {metric: value for metric, (value, _) in first.items()})
    assert recompute(folder).agrees


def test_a_file_that_points_elsewhere_is_refused(folder):
    (folder / "published.json").write_text(json.dumps([{"page": "../7", "run": "gpt"}]))
    with pytest.raises(InputError, match="not the name of a page"):
        recompute(folder)


def test_pages_with_their_resource_lists_and_pictures_are_a_data_set(tmp_path):
    for name in ("1013.html", "1013.json", "1013.png", "1013_bounding_box.png"):
        (tmp_path / name).write_bytes(b"<p>x")
    assert recognises(tmp_path)
    assert [case.id for case in cases(tmp_path)] == ["1013"]


def test_the_published_values_come_out(shared_data, monkeypatch, tmp_path):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))  # LPIPS takes long; test_lpips has it
    found = recompute(shared_data / "data" / "mrweb")
    assert found.agrees
    assert len(found.content["values"]) == 4 * 54
    same = [row for row in found.content["values"] if row["one_size"]]
    assert len(same) == 4 * 5
    assert all(abs(row["ours"] - row["published"]) < 1e-6 for row in same)
