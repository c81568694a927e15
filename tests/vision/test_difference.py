from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.geometry import PixelBox
from uiproof.vision.difference import (
    aligned_difference,
    box_of,
    common_rows,
    difference,
    gaps,
    parts,
    row_hashes,
    runs,
)


def noisy(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def longest_common_length(a, b):
    lengths = [0] * (len(b) + 1)
    for value in a:
        before = lengths[:]
        for j, other in enumerate(b):
            lengths[j + 1] = before[j] + 1 if value == other else max(lengths[j], before[j + 1])
    return lengths[-1]


def test_pixels_differ_beyond_the_tolerance():
    before = np.full((4, 5, 3), 100, np.uint8)
    after = before.copy()
    after[1, 2, 0] = 103
    after[3, 4, 2] = 90
    assert np.argwhere(difference(before, after)).tolist() == [[1, 2], [3, 4]]
    assert np.argwhere(difference(before, after, tolerance=3)).tolist() == [[3, 4]]


def test_what_lies_outside_the_picture_before_differs():
    mask = difference(np.zeros((2, 3, 3), np.uint8), np.zeros((4, 3, 3), np.uint8))
    assert box_of(mask) == PixelBox(0, 2, 3, 4)


def test_equal_pictures_do_not_differ():
    picture = noisy(7, 9)
    assert box_of(difference(picture, picture)) is None
    assert parts(difference(picture, picture), gap=4) == ()


@pytest.mark.parametrize("gap", [4, 16, 40])
def test_close_pieces_are_one_part_and_distant_ones_are_not(gap):
    mask = np.zeros((300, 400), np.bool_)
    mask[50:61, 50:73] = True
    mask[50:61, 73 + gap // 2 : 120] = True
    mask[200:251, 300:377] = True
    assert parts(mask, gap=gap) == (PixelBox(50, 50, 120, 61), PixelBox(300, 200, 377, 251))


def test_boxes_of_parts_are_exact_to_the_pixel():
    mask = np.zeros((100, 100), np.bool_)
    mask[13, 17] = mask[14, 18] = mask[83, 91] = True
    assert parts(mask, gap=4) == (PixelBox(17, 13, 19, 15), PixelBox(91, 83, 92, 84))


def test_parts_whose_boxes_overlap_are_one():
    mask = np.zeros((200, 200), np.bool_)
    mask[10:190, 10:12] = mask[10:12, 10:190] = True  # an angle
    mask[100:120, 100:120] = True  # inside its box
    assert parts(mask, gap=4) == (PixelBox(10, 10, 190, 190),)


def test_specks_beside_something_large_are_noise_and_alone_they_are_not():
    mask = np.zeros((300, 300), np.bool_)
    mask[280, 290] = True
    assert parts(mask, gap=4) == (PixelBox(290, 280, 291, 281),)
    mask[:200, :200] = True
    assert parts(mask, gap=4) == (PixelBox(0, 0, 200, 200),)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_parts_cover_everything_that_is_set(data):
    height, width = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 60))
    spots = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    mask = np.zeros((height, width), np.bool_)
    for y, x in data.draw(st.lists(spots, max_size=20)):
        mask[y, x] = True
    left = mask.copy()
    for box in parts(mask, gap=data.draw(st.integers(1, 20))):
        inside = left[box.top : box.bottom, box.left : box.right]
        assert inside[0].any() or inside[:, 0].any()
        inside[:] = False
    assert not left.any()


small = st.lists(st.integers(0, 4), max_size=25)


@settings(deadline=None, max_examples=200)
@given(small, small)
def test_common_rows_are_a_longest_common_subsequence(a, b):
    pairs = common_rows(np.array(a, np.uint64), np.array(b, np.uint64))
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(pairs))
    assert len(pairs) == longest_common_length(a, b)


def test_gaps_name_what_came_went_and_was_replaced():
    assert list(gaps([(1, 0), (2, 3), (3, 5)], 4, 6)) == [
        (slice(0, 1), slice(0, 0)),
        (slice(2, 2), slice(1, 3)),
        (slice(3, 3), slice(4, 5)),
    ]


def test_equal_rows_have_equal_hashes_and_others_do_not():
    picture = noisy(500, 37)
    assert len(set(row_hashes(picture).tolist())) == 500
    flipped = picture.copy()
    flipped[3, 36, 2] ^= 1
    assert (row_hashes(flipped) != row_hashes(picture)).tolist() == [i == 3 for i in range(500)]
    assert (row_hashes(picture[::2]) == row_hashes(picture)[::2]).all()


def test_inserted_rows_are_found_and_only_where_they_stand_out():
    before = noisy(60, 50)
    before[30:34] = 255
    panel = np.full((20, 50, 3), 255, np.uint8)
    panel[5:15, 10:40] = 7
    after = np.concatenate([before[:32], panel, before[32:]])
    assert box_of(aligned_difference(before, after)) == PixelBox(10, 37, 40, 47)


def test_rows_that_went_leave_their_place():
    before = noisy(80, 50)
    after = np.concatenate([before[:20], before[50:]])
    mask = aligned_difference(before, after)
    assert box_of(mask) == PixelBox(0, 20, 50, 50)


def test_rows_pushed_out_of_the_picture_are_not_a_difference():
    before, panel = noisy(80, 50), noisy(12, 50, seed=1)
    after = np.concatenate([before[:20], panel, before[20:]])[:80]
    assert box_of(aligned_difference(before, after)) == PixelBox(0, 20, 50, 32)
    fixed = before[70:]  # a bar at the bottom of the window
    after = np.concatenate([before[:20], panel, before[20:58], fixed])
    assert box_of(aligned_difference(before, after)) == PixelBox(0, 20, 50, 32)


def test_a_change_inside_a_page_that_grew_is_found_as_well():
    before, panel = noisy(80, 50), np.full((12, 50, 3), 9, np.uint8)
    before[55:60] = 255
    after = np.concatenate([before[:60], panel, before[60:]])
    after[10:14, 20:30] = 128
    mask = aligned_difference(before, after)
    assert parts(mask, gap=4) == (PixelBox(20, 10, 30, 14), PixelBox(0, 60, 50, 72))


def test_pictures_without_rows_that_moved_are_not_aligned():
    assert aligned_difference(noisy(40, 50), noisy(40, 50, seed=1), least_moved=1) is None


def test_more_different_rows_than_memory_allows_are_matched_at_their_ends():
    chance = np.random.default_rng(0)
    a = chance.permutation(60_000).astype(np.uint64)
    b = np.concatenate([a[:100], a[100:-100][::-1], a[-100:]])
    assert len(common_rows(a, b)) >= 200


def test_runs_closer_than_the_gap_are_one():
    flags = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1], np.bool_)
    assert runs(flags, gap=1) == [(1, 3), (4, 5), (8, 9)]
    assert runs(flags, gap=2) == [(1, 5), (8, 9)]
