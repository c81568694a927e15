import numpy as np

from uiproof.geometry import Box
from uiproof.vision.clip import box_mask, inpaint


def test_boxes_are_cut_down_to_whole_pixels_side_by_side():
    mask = box_mask([Box(0.19, 0.15, 0.39, 0.29)], 10, 10)
    rows, columns = np.nonzero(mask)
    assert (columns.min(), columns.max() + 1) == (1, 4)  # 1.9 and 3.9 are cut to 1 and 3
    assert (rows.min(), rows.max() + 1) == (1, 3)


def test_a_box_thinner_than_a_pixel_masks_nothing_and_one_that_sticks_out_is_clipped():
    assert not box_mask([Box(0.5, 0.5, 0.05, 0.5)], 10, 10).any()
    assert box_mask([Box(0.8, 0.8, 0.9, 0.9)], 10, 10).sum() == 4 * 255


def test_text_disappears_and_the_rest_stays():
    page = np.full((40, 60, 3), 200, np.uint8)
    page[15:25, 20:40] = 0
    mask = box_mask([Box(18 / 60, 13 / 40, 24 / 60, 14 / 40)], 60, 40)
    painted = inpaint(page, mask)
    assert np.abs(painted.astype(int) - 200).max() <= 8
    assert (painted[mask == 0] == page[mask == 0]).all()


def test_a_page_without_text_is_left_alone():
    page = np.random.default_rng(0).integers(0, 256, (20, 20, 3), dtype=np.uint8)
    assert (inpaint(page, box_mask([], 20, 20)) == page).all()
