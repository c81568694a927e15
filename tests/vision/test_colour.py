from __future__ import annotations

import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

from uiproof.vision.colour import ciede2000, srgb_to_lab

# Sharma, Wu, Dalal (2005), table 1: the published test data, with their differences.
PUBLISHED = [
    ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
    ((50, 3.1571, -77.2803), (50, 0, -82.7485), 2.8615),
    ((50, 2.8361, -74.0200), (50, 0, -82.7485), 3.4412),
    ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0000),
    ((50, -1.1848, -84.8006), (50, 0, -82.7485), 1.0000),
    ((50, -0.9009, -85.5211), (50, 0, -82.7485), 1.0000),
    ((50, 0, 0), (50, -1, 2), 2.3669),
    ((50, -1, 2), (50, 0, 0), 2.3669),
    ((50, 2.4900, -0.0010), (50, -2.4900, 0.0009), 7.1792),
    ((50, 2.4900, -0.0010), (50, -2.4900, 0.0010), 7.1792),
    ((50, 2.4900, -0.0010), (50, -2.4900, 0.0011), 7.2195),
    ((50, 2.4900, -0.0010), (50, -2.4900, 0.0012), 7.2195),
    ((50, -0.0010, 2.4900), (50, 0.0009, -2.4900), 4.8045),
    ((50, -0.0010, 2.4900), (50, 0.0010, -2.4900), 4.8045),
    ((50, -0.0010, 2.4900), (50, 0.0011, -2.4900), 4.7461),
    ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
    ((50, 2.5, 0), (73, 25, -18), 27.1492),
    ((50, 2.5, 0), (61, -5, 29), 22.8977),
    ((50, 2.5, 0), (56, -27, -3), 31.9030),
    ((50, 2.5, 0), (58, 24, 15), 19.4535),
    ((50, 2.5, 0), (50, 3.1736, 0.5854), 1.0000),
    ((50, 2.5, 0), (50, 3.2972, 0), 1.0000),
    ((50, 2.5, 0), (50, 1.8634, 0.5757), 1.0000),
    ((50, 2.5, 0), (50, 3.2592, 0.3350), 1.0000),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((63.0109, -31.0961, -5.8663), (62.8187, -29.7946, -4.0864), 1.2630),
    ((61.2901, 3.7196, -5.3901), (61.4292, 2.2480, -4.9620), 1.8731),
    ((35.0831, -44.1164, 3.7933), (35.0232, -40.0716, 1.5901), 1.8645),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((36.4612, 47.8580, 18.3852), (36.2715, 50.5065, 21.2231), 1.4146),
    ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ((90.9257, -0.5406, -0.9208), (88.6381, -0.8985, -0.7239), 1.5381),
    ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


@pytest.mark.parametrize(("first", "second", "difference"), PUBLISHED)
def test_the_published_test_pairs_come_out_to_their_four_decimals(first, second, difference):
    assert ciede2000(first, second) == pytest.approx(difference, abs=5e-5)
    assert ciede2000(second, first) == pytest.approx(difference, abs=5e-5)


def test_all_pairs_at_once_give_what_they_give_one_by_one():
    first, second = np.array([p[0] for p in PUBLISHED]), np.array([p[1] for p in PUBLISHED])
    together = ciede2000(first, second)
    assert together.shape == (len(PUBLISHED),)
    assert together == pytest.approx([ciede2000(a, b) for a, b, _ in PUBLISHED], abs=1e-12)


def test_random_colours_agree_with_another_implementation():
    rgb = np.random.default_rng(5).integers(0, 256, (2, 4000, 3))
    first, second = srgb_to_lab(rgb)
    # The mean of hues beyond 360 degrees is taken otherwise, which shows in the fourth decimal.
    assert ciede2000(first, second) == pytest.approx(deltaE_ciede2000(first, second), abs=2e-4)
    # Matrices of sRGB differ in how far they are rounded.
    assert first == pytest.approx(rgb2lab(rgb[0] / 255), abs=0.02)


def test_white_and_black_have_the_lightness_that_the_rounded_matrix_gives_them():
    white, black = srgb_to_lab([[255, 255, 255], [0, 0, 0]])
    assert white[0] == pytest.approx(99.99998, abs=5e-6)
    assert black == pytest.approx([0, 0, 0], abs=1e-12)


def test_equal_colours_differ_by_exactly_nothing():
    colours = srgb_to_lab(np.random.default_rng(6).uniform(0, 255, (500, 3)))
    assert not ciede2000(colours, colours.copy()).any()
