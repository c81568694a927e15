import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from uiproof.benchmarks.interaction2code.region import paper_region, region, saliency
from uiproof.geometry import PixelBox
from uiproof.vision.images import read


def sides(box):
    return [box.left, box.top, box.right, box.bottom]


def screen(width=600, height=400, seed=0, *, left=0, right=None):
    """White, with lines of something like text; no two rows of text are alike."""
    chance = np.random.default_rng(seed)
    picture = np.full((height, width, 3), 255, np.uint8)
    right = width if right is None else right
    for top in range(10, height - 20, 30):
        picture[top : top + 12, left + 20 : right - 20] = chance.integers(
            0, 256, (12, right - left - 40, 1), dtype=np.uint8
        )
    return picture


def test_equal_pictures_have_no_region():
    found = region(screen(), screen())
    assert found.box is None
    assert found.parts == ()
    assert found.reason


def test_a_change_in_place_is_found_to_the_pixel_with_its_parts():
    before = screen()
    after = before.copy()
    after[101:140, 203:260] = (10, 20, 30)
    after[300:320, 400:500] = (200, 20, 30)
    found = region(before, after)
    assert found.parts == (PixelBox(203, 101, 260, 140), PixelBox(400, 300, 500, 320))
    assert found.box == PixelBox(203, 101, 500, 320)


def test_invisible_changes_do_not_count():
    before = screen()
    before[before > 250] = 250
    assert region(before, before + 2).box is None
    assert region(before, before + 5).box is not None


@pytest.mark.parametrize("form", ["second rendering", "mask"])
def test_what_changes_by_itself_is_left_out(form):
    before = screen()
    again, after = before.copy(), before.copy()
    again[50:70, 500:540] = 10  # an advertisement
    after[50:70, 500:540] = 90
    after[200:220, 100:150] = 0
    noise = again if form == "second rendering" else (again != before).any(axis=2)
    assert region(before, after, noise=noise).box == PixelBox(100, 200, 150, 220)
    assert region(before, before, noise=noise).box is None


def test_a_page_that_grew_yields_what_was_inserted():
    before = screen(height=400)
    panel = np.full((90, 600, 3), 255, np.uint8)
    panel[10:80, 50:350] = (240, 240, 90)
    found = region(before, np.concatenate([before[:205], panel, before[205:]]))
    assert (found.box, found.aligned) == (PixelBox(50, 215, 350, 285), "rows")


def test_a_column_that_grew_beside_one_that_stays_yields_what_was_inserted():
    before = screen(left=0, right=280)
    before[:, 320:] = screen(seed=1)[:, 320:]
    tall = np.full((490, 600, 3), 255, np.uint8)
    tall[:400, 320:] = before[:, 320:]
    tall[:205, :300], tall[295:, :300] = before[:205, :300], before[205:, :300]
    tall[215:285, 50:250] = (240, 240, 90)
    assert region(before, tall).box == PixelBox(50, 215, 250, 285)


def test_a_page_that_grew_wider_yields_the_new_columns():
    before = np.ascontiguousarray(screen(400, 600).transpose(1, 0, 2))
    panel = np.full((400, 80, 3), 90, np.uint8)
    found = region(before, np.concatenate([before[:, :205], panel, before[:, 205:]], axis=1))
    assert (found.box, found.aligned) == (PixelBox(205, 0, 285, 400), "columns")


def test_content_pushed_down_in_a_window_is_not_the_region():
    before = screen()
    after = np.concatenate([before[:205], np.full((60, 600, 3), 90, np.uint8), before[205:]])
    found = region(before, after[:400])
    assert (found.box, found.aligned) == (PixelBox(0, 205, 600, 265), "rows")


def test_a_scroll_bar_that_moves_along_is_not_part_of_the_region():
    before = screen(width=1600)
    before[:, -14:] = 230
    after = before.copy()
    before[0:300, -12:-2] = 120
    after[0:200, -12:-2] = 120
    after[200:240, 300:400] = 0
    assert region(before, after).box == PixelBox(300, 200, 400, 240)


def test_where_something_went_its_place_is_the_region():
    before = screen()
    before[205:265, 100:500] = (9, 90, 9)
    after = np.concatenate([before[:205], before[265:]])
    found = region(before, after)
    assert (found.box.top, found.box.bottom) == (205, 265)
    for height in (380, 300, 150, 1):  # the end went
        assert region(before, before[:height]).box.bottom == height


def test_another_page_is_a_region_where_it_is_different():
    found = region(screen(), screen(seed=5))
    assert (found.box, found.aligned) == (PixelBox(20, 10, 580, 382), "place")


@pytest.mark.parametrize("rule", [region, paper_region])
@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1), (3, 2)])
@pytest.mark.parametrize("other", [(1, 1), (2, 50), (60, 1), (3, 2)])
def test_pictures_of_a_few_pixels_are_no_trouble(rule, size, other):
    before = np.zeros((*size, 3), np.uint8)
    after = np.full((*other, 3), 255, np.uint8)
    found = rule(before, after)
    assert found.box is not None or found.reason
    assert rule(before, before).box is None


def test_very_tall_pictures_are_no_trouble():
    before = screen(width=200, height=20_000)
    panel = np.full((300, 200, 3), 90, np.uint8)
    grown = np.concatenate([before[:9995], panel, before[9995:]])
    assert region(before, grown).box == PixelBox(0, 9995, 200, 10_295)
    assert sides(paper_region(before, grown).box) == [0, 9993, 200, 10_298]


def test_the_published_rule_loses_the_last_row_and_column():
    before = screen()
    after = before.copy()
    after[101:140, 203:260] = (10, 20, 30)
    after[390, 590] = 0
    assert sides(paper_region(before, after).box) == [203, 101, 590, 390]


def test_where_the_published_rule_fails_there_is_a_reason():
    before = screen()
    after = before.copy()
    after[30, 100:200] = 7
    assert paper_region(before, after).reason
    assert paper_region(before, before).reason


def test_the_published_rule_counts_lines_from_one_with_context():
    before = screen(height=400)
    panel = np.full((10, 600, 3), 90, np.uint8)
    grown = np.concatenate([before[:40], panel, before[40:]])
    assert sides(paper_region(before, grown).box) == [0, 38, 600, 53]
    turned = (np.ascontiguousarray(one.transpose(1, 0, 2)) for one in (before, grown))
    assert sides(paper_region(*turned).box) == [38, 0, 53, 600]
    assert sides(paper_region(before, grown[:, :500]).box) == [0, 0, 500, 410]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to compare with")
def test_lines_are_those_that_git_shows(tmp_path):
    chance = np.random.default_rng(3)
    for _ in range(25):
        # Rows of few colours repeat, as empty ones on pages do.
        old = chance.integers(0, chance.choice([9, 250]), int(chance.integers(5, 60)))
        start = int(chance.integers(0, len(old)))
        new = np.concatenate([old[:start], chance.integers(0, 9, 4), old[start + 2 :]])
        new = new if chance.random() < 0.7 else np.delete(old, slice(start, start + 3))
        if len(new) in (0, len(old)):
            continue
        pictures = [np.repeat(rows.astype(np.uint8), 6).reshape(-1, 2, 3) for rows in (old, new)]
        box = paper_region(*pictures).box
        assert (box.top, box.bottom) == lines_of_git(tmp_path, old, new)


def lines_of_git(folder, old, new):
    for name, rows in (("old", old), ("new", new)):
        (folder / name).write_text("".join(f"{row}\n" for row in rows))
    shown = subprocess.run(
        ["git", "diff", "--no-index", "old", "new"], cwd=folder, capture_output=True, text=True
    ).stdout
    numbers, line = [], None
    for text in shown.splitlines():
        if begin := re.match(r"@@ -\S+ \+(\d+)", text):
            line = int(begin[1])
        elif line is not None and text[0] in " +-":
            numbers.append(line)
            line += text[0] != "-"
    return min(numbers), max(numbers)


def test_saliency_is_the_share_of_the_screenshot():
    assert saliency(PixelBox(0, 0, 50, 20), (100, 100)) == 0.1
    assert saliency(None, (100, 100)) == 0


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_published_regions_are_reproduced(shared_data, every):
    folder = shared_data / "data" / "interaction2code"
    oracle = json.loads((folder / "oracle.json").read_text())["interactions"]
    if not every:
        oracle = {one["page"]: one for one in reversed(oracle)}.values()  # the first of each page
    smaller = 0
    for one in oracle:
        before = read(folder / one["page"] / f"{one['src']}.png")
        after = read(folder / one["page"] / f"{one['dst']}.png")
        size = after.shape[1], after.shape[0]
        published = paper_region(before, after)
        assert sides(published.box) == one["region_x0y0x1y1"]
        assert saliency(published.box, size) == pytest.approx(one["saliency"], abs=1e-12)
        found = region(before, after)
        # Ours includes the last row and column and never more than that.
        assert found.box.left >= published.box.left
        assert found.box.right <= published.box.right + 1
        assert found.box.bottom <= published.box.bottom + 1
        smaller += saliency(found.box, size) < 0.9 * one["saliency"]
    assert smaller >= (5 if every else 1)
