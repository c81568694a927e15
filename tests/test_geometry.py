from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from uiproof.geometry import Box, PixelBox

sides = st.integers(1, 40_000)
fractions = st.floats(0, 1)


@st.composite
def pixel_boxes(draw):
    width, height = draw(sides), draw(sides)
    left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    right, bottom = draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height))
    return PixelBox(left, top, right, bottom), width, height


@given(pixel_boxes())
def test_pixel_boxes_survive_the_way_to_fractions_and_back(case):
    box, width, height = case
    assert box.normalised(width, height).to_pixels(width, height) == box


@given(st.builds(Box, fractions, fractions, fractions, fractions), sides, sides)
def test_pixels_of_a_box_stay_inside_the_picture(box, width, height):
    pixels = box.to_pixels(width, height)
    assert pixels.left >= 0
    assert pixels.top >= 0
    assert pixels.right <= width
    assert pixels.bottom <= height


def test_fractions_of_pixels_are_rounded_outwards():
    assert Box(0.15, 0.15, 0.5, 0.5).to_pixels(10, 10) == PixelBox(1, 1, 7, 7)


def test_a_box_knows_its_area_and_its_middle():
    box = Box(0.25, 0.5, 0.5, 0.25)
    assert box.area == 0.125
    assert box.centre == (0.5, 0.625)


def test_the_union_is_the_smallest_box_around_both():
    assert Box(0, 0.5, 0.25, 0.25).union(Box(0.5, 0, 0.25, 0.5)) == Box(0, 0, 0.75, 0.75)
    outer, inner = Box(0, 0, 1, 1), Box(0.25, 0.25, 0.25, 0.25)
    assert outer.union(inner) == inner.union(outer) == outer


def test_pixel_boxes_know_their_sides():
    assert (PixelBox(2, 3, 10, 7).width, PixelBox(2, 3, 10, 7).height) == (8, 4)
