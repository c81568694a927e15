import json

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.interaction2code.marks import (
    draw_mark,
    find_mark,
    published_contour,
    stroke_width,
)
from uiproof.geometry import PixelBox
from uiproof.vision.images import read


def screen(width=640, height=400, seed=0):
    """A page with blocks of several colours, some of them reddish."""
    chance = np.random.default_rng(seed)
    picture = np.full((height, width, 3), 250, np.uint8)
    for _ in range(12):
        x, y = chance.integers(0, width - 60), chance.integers(0, height - 40)
        picture[y : y + 30, x : x + 50] = chance.integers(0, 256, 3)
    picture[height // 2 : height // 2 + 20, 20:120] = (220, 30, 40)
    return picture


def close(found, box, pixels):
    pairs = zip(
        (found.left, found.top, found.right, found.bottom),
        (box.left, box.top, box.right, box.bottom),
        strict=True,
    )
    return max(abs(a - b) for a, b in pairs) <= pixels


sides = (st.integers(0, 500), st.integers(0, 300), st.integers(4, 300), st.integers(4, 200))


@settings(deadline=None, max_examples=60)
@given(*sides, st.integers(0, 5))
def test_a_drawn_mark_is_found_again(left, top, width, height, seed):
    plain = screen(seed=seed)
    box = PixelBox(left, top, min(left + width, 640), min(top + height, 400))
    marked = draw_mark(plain, box)
    assert close(find_mark(plain, marked), box, 1)


def test_drawing_leaves_the_picture_alone_and_its_inside_visible():
    plain = screen()
    kept = plain.copy()
    marked = draw_mark(plain, PixelBox(100, 100, 300, 200))
    assert (plain == kept).all()
    assert (marked[110:190, 110:290] == plain[110:190, 110:290]).all()
    assert tuple(marked[100, 200]) == (255, 0, 0)


def test_the_stroke_grows_with_the_picture():
    assert [stroke_width(width) for width in (1, 1680, 2561, 3360)] == [2, 3, 5, 6]


@pytest.mark.parametrize(
    "box", [PixelBox(-50, -50, 10, 10), PixelBox(630, 390, 900, 900), PixelBox(0, 0, 640, 400)]
)
def test_a_mark_that_goes_over_the_border_is_cut_there(box):
    plain = screen()
    found = find_mark(plain, draw_mark(plain, box))
    assert found == PixelBox(
        max(box.left, 0), max(box.top, 0), min(box.right, 640), min(box.bottom, 400)
    )


def test_a_mark_outside_the_picture_draws_nothing():
    plain = screen()
    assert find_mark(plain, draw_mark(plain, PixelBox(700, 10, 720, 30))) is None
    assert find_mark(plain, plain) is None


def test_several_marks_are_one_box_around_them():
    plain = screen()
    marked = draw_mark(draw_mark(plain, PixelBox(40, 50, 90, 80)), PixelBox(300, 200, 500, 350))
    assert find_mark(plain, marked) == PixelBox(40, 50, 500, 350)


BOX = PixelBox(150, 60, 420, 260)


@pytest.mark.parametrize("colour", [(255, 0, 0), (237, 28, 36), (200, 20, 30), (255, 60, 60)])
@pytest.mark.parametrize("width", [1, 2, 8])
def test_other_reds_and_strokes_are_found(colour, width):
    plain = screen()
    marked = plain.copy()
    frame = marked[BOX.top : BOX.bottom, BOX.left : BOX.right]
    frame[:width] = frame[-width:] = colour
    frame[:, :width] = frame[:, -width:] = colour
    assert close(find_mark(plain, marked), BOX, 1)


def test_softened_edges_are_found():
    plain = screen()
    marked = plain.copy()
    cv2.rectangle(marked, (150, 60), (419, 259), (255, 0, 0), 3, cv2.LINE_AA)
    marked = np.where((marked != plain).any(2)[..., None], cv2.blur(marked, (2, 2)), plain)
    assert close(find_mark(plain, marked), PixelBox(149, 59, 421, 261), 2)


def test_a_frame_drawn_by_hand_is_found():
    plain = screen()
    marked = plain.copy()
    chance = np.random.default_rng(1)
    corners = [(150, 60), (285, 56), (420, 62), (424, 160), (418, 258), (280, 262), (152, 255)]
    wobbly = np.array(corners) + chance.integers(-3, 4, (7, 2))
    cv2.polylines(marked, [wobbly.astype(np.int32)], isClosed=True, color=(255, 0, 0), thickness=3)
    assert close(find_mark(plain, marked), BOX, 10)


def test_pictures_that_were_encoded_again_still_show_their_mark():
    plain = screen()
    _, data = cv2.imencode(".jpg", draw_mark(plain, BOX)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])
    marked = cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1].copy()
    assert close(find_mark(plain, marked), BOX, 3)


def test_something_else_that_turned_red_is_not_the_mark():
    plain = screen()
    marked = draw_mark(plain, BOX)
    marked[300:340, 500:600] = (230, 0, 20)  # a banner that came in between the two pictures
    marked[350:380, 500:600] = (20, 120, 20)
    assert close(find_mark(plain, marked), BOX, 0)


def test_a_marked_picture_of_another_size_gives_the_box_in_the_plain_one():
    plain = screen()
    marked = draw_mark(plain, BOX)
    half = cv2.resize(marked, (320, 200), interpolation=cv2.INTER_AREA)
    assert close(find_mark(plain, half), BOX, 3)
    assert close(find_mark(plain, marked[:300]), BOX, 0)


def test_without_a_plain_picture_the_red_frame_is_the_mark():
    plain = screen()
    assert find_mark(None, draw_mark(plain, BOX)) == BOX
    assert find_mark(None, plain) is None
    cut = draw_mark(screen(700, 460), PixelBox(400, 200, 690, 450))[:400, :640]
    assert find_mark(None, cut) == PixelBox(400, 200, 640, 400)


def test_tiny_pictures_are_no_trouble():
    dot = np.zeros((1, 1, 3), np.uint8)
    red = np.full((1, 1, 3), (255, 0, 0), np.uint8)
    assert find_mark(dot, red) == PixelBox(0, 0, 1, 1)
    assert find_mark(None, red) is None
    assert published_contour(dot) is None


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_published_marks_are_found_with_and_without_the_plain_picture(shared_data, every):
    folder = shared_data / "data" / "interaction2code"
    oracle = json.loads((folder / "oracle.json").read_text())["interactions"]
    if not every:
        oracle = {one["page"]: one for one in reversed(oracle)}.values()  # the first of each page
    total = near = alone = contours = 0
    for one in oracle:
        for side in ("src", "dst"):
            plain = read(folder / one["page"] / f"{one[side]}.png")
            marked = read(folder / one["page"] / f"{one[side]}_mark.png")
            known = one[f"{side}_mark"]
            left, top, right, bottom = known["true_mark_bbox_by_diff"]
            box = PixelBox(left, top, right + 1, bottom + 1)
            total += 1
            near += close(find_mark(plain, marked), box, 3)
            contours += published_contour(marked) == tuple(known["position_contour0"])
            if side == "src":
                found = find_mark(None, marked)
                alone += found is not None and close(found, box, 3)
    assert near == contours == total
    assert alone >= 0.9 * len(oracle)
