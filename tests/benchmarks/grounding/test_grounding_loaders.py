"""Published sets of JSON files: what is read, and what the checks refuse."""

from __future__ import annotations

import json
import os
import zipfile

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
    pro_row,
    screenspot,
    screenspot_pro,
    write,
)

from uiproof.benchmark import BrokenCase, Case
from uiproof.benchmarks.grounding.cases import cases
from uiproof.benchmarks.grounding.data import ElementType
from uiproof.benchmarks.grounding.loaders import data_folder
from uiproof.benchmarks.grounding.published_sets import find_loader
from uiproof.errors import InputError

# ScreenSpot and ScreenSpot-v2


@pytest.mark.parametrize("v2", [False, True])
def test_screenspot_is_read_from_its_three_files(tmp_path, v2):
    found = good(screenspot(tmp_path, v2=v2))
    assert len(found) == 3 * len(CORNERS)
    assert [pixels(case) for case in found[: len(CORNERS)]] == CORNERS
    by_id = {case.id: case for case in found}
    case = by_id["mobile_1/mobile-1"]
    assert case.question.instruction == "open 1"
    assert (case.question.width, case.question.height) == (W, H)
    assert case.truth.element.element_type is ElementType.ICON
    assert case.truth.tags == {
        "group": "mobile icon",
        "platform": "mobile",
        "data_type": "icon",
        "source": "ios",
    }
    assert {case.truth.tags["group"] for case in found} == {
        f"{platform} {kind}"
        for platform in ("mobile", "desktop", "web")
        for kind in ("text", "icon")
    }


def test_one_file_of_a_set_is_that_part_alone(tmp_path):
    folder = screenspot(tmp_path)
    found = good(folder / "screenspot_web_v2.json")
    assert {case.truth.tags["platform"] for case in found} == {"web"}


def test_a_folder_with_both_versions_of_screenspot_means_the_second(tmp_path):
    screenspot(tmp_path, v2=False, count=20)
    assert len(good(screenspot(tmp_path, v2=True))) == 3 * len(CORNERS)
    assert len(good(tmp_path / "screenspot_web.json")) == 20


def test_a_damaged_file_of_a_set_is_not_left_out(tmp_path):
    folder = screenspot_pro(tmp_path)
    (folder / "annotations" / "word_macos.json").write_text("[{")
    with pytest.raises(InputError, match=r"word_macos\.json is not JSON"):
        cases(folder)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (folder / "annotations" / "word_macos.json").write_text(pointer)
    with pytest.raises(InputError, match="git lfs pull"):
        cases(folder)


def test_a_damaged_first_item_does_not_hide_the_set(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    del rows[0]["bbox"]
    found = loaded(screenspot_pro(tmp_path, rows))
    assert [type(case) for case in found] == [BrokenCase] + [Case] * (len(CORNERS) - 1)


def test_screenspot_with_corners_is_another_copy_and_refused(tmp_path):
    with pytest.raises(
        InputError,
        match=r"not \[x, y, width, height\] in pixels as documented.*"
        r"look like \[x1, y1, x2, y2\] in pixels",
    ):
        cases(screenspot(tmp_path, convert=list))


def test_corners_are_noticed_even_where_they_would_fit_as_width_and_height(tmp_path):
    near = [(x, y, x + 20, y + 10) for x in range(5, 150, 30) for y in range(5, 80, 30)]
    assert all(x1 + x2 < W and y1 + y2 < H for x1, y1, x2, y2 in near)
    folder = screenspot(tmp_path, convert=list)
    rows = json.loads((folder / "screenspot_web_v2.json").read_text())
    rows = [row | {"bbox": list(box)} for row, box in zip(rows, near, strict=False)]
    with pytest.raises(InputError, match=r"look like \[x1, y1, x2, y2\] in pixels"):
        cases(write(folder / "screenspot_web_v2.json", rows))


def test_screenspot_in_fractions_is_another_copy_and_refused(tmp_path):
    with pytest.raises(InputError, match=r"look like \[x1, y1, x2, y2\] in fractions"):
        cases(screenspot(tmp_path, convert=as_fractions))


def test_images_are_unpacked_from_the_published_archive_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    folder = screenspot(tmp_path / "set")
    with zipfile.ZipFile(folder / "screenspotv2_image.zip", "w") as archive:
        for image in sorted((folder / "screenspotv2_image").iterdir()):
            archive.write(image, f"screenspotv2_image/{image.name}")
            image.unlink()
    found = good(folder)
    assert len(found) == 3 * len(CORNERS)
    images = {case.question.image for case in found}
    assert len(images) == 3
    assert all(image.is_relative_to(tmp_path / "cache" / "grounding") for image in images)
    assert not any((folder / "screenspotv2_image").iterdir())


# ScreenSpot-Pro and the variants of ScreenSpot-v2


def test_screenspot_pro_uses_its_own_ids(tmp_path):
    found = good(screenspot_pro(tmp_path))
    assert [pixels(case) for case in found] == CORNERS
    assert found[3].id == "blender_windows__shot/blender_windows_3"
    assert found[3].truth.tags == {
        "group": "Creative",
        "platform": "windows",
        "application": "blender",
        "data_type": "icon",
    }
    assert good(tmp_path / "annotations" / "blender_windows.json") == found
    assert good(tmp_path / "annotations") == found


def test_the_variants_of_screenspot_v2_have_the_cells_of_screenspot(tmp_path):
    rows = [
        pro_row(number, corners, platform="web", application="shop", group="Web")
        for number, corners in enumerate(CORNERS)
    ]
    picture(tmp_path / "images" / "blender_windows" / "shot.png")
    write(tmp_path / "annotations" / "web.json", rows)
    assert {case.truth.tags["group"] for case in good(tmp_path)} == {"web icon"}


def test_screenspot_pro_with_widths_and_heights_is_refused(tmp_path):
    rows = [pro_row(number, as_size(corners)) for number, corners in enumerate(CORNERS)]
    with pytest.raises(InputError, match=r"look like \[x, y, width, height\] in pixels"):
        cases(screenspot_pro(tmp_path, rows))


def test_items_that_are_wrong_are_broken_cases_while_they_are_few(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    rows[4]["bbox"] = [W - 10, 5, W + 30, 20]
    found = loaded(screenspot_pro(tmp_path, rows))
    assert len(found) == len(CORNERS)
    (broken,) = [case for case in found if isinstance(case, BrokenCase)]
    assert broken.id == "blender_windows__shot/blender_windows_4"
    assert "does not fit into its image" in str(broken.error)


def test_more_than_one_in_twenty_wrong_items_fails_the_set(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    for number in (4, 9):
        rows[number]["bbox"] = [W - 10, 5, W + 30, 20]
    with pytest.raises(InputError, match=f"2 of {len(CORNERS)} boxes"):
        cases(screenspot_pro(tmp_path, rows))
    for number in (4, 9):
        rows[number]["bbox"] = "left"
    with pytest.raises(InputError, match=f"2 of {len(CORNERS)} items are wrong"):
        cases(screenspot_pro(tmp_path, rows))


def test_a_box_may_leave_the_image_by_a_pixel_and_is_cut(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    rows[0]["bbox"] = [-1, -0.5, W + 1, H + 1.5]
    assert pixels(good(screenspot_pro(tmp_path, rows))[0]) == (0, 0, W, H)


def test_an_item_without_instruction_or_with_a_repeated_id_is_still_counted(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    del rows[2]["instruction"]
    rows[5]["id"] = rows[6]["id"]
    found = loaded(screenspot_pro(tmp_path, rows))
    assert len(found) == len({case.id for case in found}) == len(CORNERS)
    (broken,) = [case for case in found if isinstance(case, BrokenCase)]
    assert "item 2" in str(broken.error)
    assert "instruction" in str(broken.error)


def test_missing_images_are_broken_cases_and_never_dropped(tmp_path):
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    rows[7]["img_filename"] = "blender_windows/gone.png"
    found = loaded(screenspot_pro(tmp_path, rows))
    assert len(found) == len(CORNERS)
    (broken,) = [case for case in found if isinstance(case, BrokenCase)]
    assert broken.id == "blender_windows__gone/blender_windows_7"
    assert "is missing" in str(broken.error)
    (tmp_path / "images" / "blender_windows" / "shot.png").unlink()
    assert all(isinstance(case, BrokenCase) for case in loaded(tmp_path))


def test_an_image_of_another_size_than_annotated_is_a_broken_case(tmp_path):
    folder = screenspot_pro(tmp_path, image=False)
    picture(folder / "images" / "blender_windows" / "shot.png", (W // 2, H // 2))
    found = loaded(folder)
    assert len(found) == len(CORNERS)
    assert all("200x100 pixels, but is annotated with 400x200" in str(c.error) for c in found)


def test_a_path_that_leaves_the_set_is_not_followed(tmp_path):
    picture(tmp_path / "secret.png")
    rows = [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    rows[0]["img_filename"] = "../../secret.png"
    found = loaded(screenspot_pro(tmp_path / "set", rows))
    (broken,) = [case for case in found if isinstance(case, BrokenCase)]
    assert "outside of the data set" in str(broken.error)


def test_the_hugging_face_cache_with_its_symbolic_links_is_read(tmp_path):
    repository = tmp_path / "datasets--likaixin--ScreenSpot-Pro"
    snapshot = screenspot_pro(repository / "snapshots" / "0abc")
    (repository / "blobs").mkdir()
    for number, file in enumerate(path for path in snapshot.rglob("*") if path.is_file()):
        blob = repository / "blobs" / f"{number:064d}"
        file.rename(blob)
        file.symlink_to(os.path.relpath(blob, file.parent))
    write(repository / "refs" / "main", None).write_text("0abc")
    (repository / "snapshots" / "zzz").mkdir()
    assert data_folder(repository) == snapshot
    assert len(list(cases(repository))) == len(CORNERS)
    assert all(isinstance(case, Case) for case in cases(snapshot))
    assert good(snapshot / "annotations" / "blender_windows.json")


def test_a_file_that_git_lfs_has_not_fetched_is_not_taken_for_a_set(tmp_path):
    folder = screenspot_pro(tmp_path)
    (folder / "annotations" / "blender_windows.json").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    assert find_loader(folder) is None
