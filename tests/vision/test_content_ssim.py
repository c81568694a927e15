from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from uiproof.vision.ssim import content_ssim, ssim

pictures = arrays(np.uint8, st.tuples(st.integers(8, 24), st.integers(8, 24)))


def flat(value=255, height=60, width=80):
    return np.full((height, width), value, np.uint8)


def noise(height=60, width=80, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width), np.uint8)


def with_patch(patch, *, top=20, left=20, background=255, height=60, width=80):
    picture = flat(background, height, width)
    picture[top : top + patch.shape[0], left : left + patch.shape[1]] = patch
    return picture


@given(pictures)
def test_a_picture_is_exactly_like_itself(picture):
    assert content_ssim(picture, picture.copy()) == 1.0


@settings(max_examples=60)
@given(pictures, pictures)
def test_the_score_is_a_fraction_and_has_no_direction(a, b):
    score = content_ssim(a, b)
    assert 0 <= score <= 1
    assert content_ssim(b, a) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("value", [0, 128, 255])
def test_an_empty_picture_has_nothing_in_common_with_one_that_shows_something(value):
    full = with_patch(noise(10, 10))
    for empty in (flat(value), flat(value, 30, 200)):
        assert content_ssim(empty, full) == 0.0
        assert content_ssim(full, empty) == 0.0


def test_two_empty_pictures_are_alike_whatever_their_sizes():
    assert content_ssim(flat(255), flat(255, 90, 200)) == 1.0
    assert content_ssim(flat(255), flat(254)) == 1.0  # nobody sees that


def test_two_empty_pictures_of_different_brightness_are_not_alike():
    assert content_ssim(flat(255), flat(0)) < 0.01
    assert content_ssim(flat(255), flat(60)) < content_ssim(flat(255), flat(200)) < 1


def test_empty_space_around_does_not_raise_the_score():
    # On a page that is mostly background, ordinary similarity says that all is well.
    a, b = with_patch(noise(14, 14, seed=1)), with_patch(noise(14, 14, seed=2))
    larger_a = with_patch(noise(14, 14, seed=1), height=400, width=600)
    larger_b = with_patch(noise(14, 14, seed=2), height=400, width=600)
    assert ssim(larger_a, larger_b) > 0.99
    assert content_ssim(larger_a, larger_b) == pytest.approx(content_ssim(a, b), abs=1e-6)
    assert content_ssim(larger_a, larger_b) < 0.5


def test_content_in_another_place_counts_twice_as_missing():
    patch = noise(12, 12)
    assert content_ssim(with_patch(patch, left=5), with_patch(patch, left=50)) == 0.0


def test_half_of_the_content_missing_halves_the_score():
    patch = noise(12, 12)
    both = np.minimum(with_patch(patch, left=5), with_patch(patch, left=50))
    assert content_ssim(with_patch(patch, left=5), both) == pytest.approx(0.5, abs=0.02)


def test_content_beyond_the_end_of_the_other_picture_counts_as_missing():
    patch = noise(12, 12)
    short = with_patch(patch, top=10)
    long = np.vstack([short, with_patch(patch, top=10)])
    assert content_ssim(short, long) == pytest.approx(0.5, abs=0.02)
    assert content_ssim(short, np.vstack([short, flat()])) == pytest.approx(1.0, abs=1e-6)


def test_a_background_of_another_brightness_lowers_the_score():
    patch = noise(12, 12)
    same = content_ssim(with_patch(patch), with_patch(patch, background=250))
    darker = content_ssim(with_patch(patch), with_patch(patch, background=40))
    assert darker < same < 1


@pytest.mark.parametrize("tint", [251, 250, 240, 200])
def test_a_tinted_background_never_raises_the_score(tint):
    # Two plain areas in almost one colour are almost alike, and there are many of them.
    honest = content_ssim(with_patch(noise(14, 14, 1)), with_patch(noise(14, 14, 2)))
    tinted = with_patch(noise(14, 14, 1), background=tint)
    assert content_ssim(tinted, with_patch(noise(14, 14, 2))) <= honest + 0.005


def test_faint_patterns_that_have_nothing_in_common_are_not_alike():
    down, across = flat(250), flat(250)
    down[::2] += 4
    across[:, ::2] += 4
    assert content_ssim(down, across) < 0.2


def test_a_little_noise_costs_little_and_more_costs_more():
    patch = with_patch(noise(30, 40))
    scores = []
    for strength in (0, 20, 60, 120):
        shaken = np.clip(patch + np.random.default_rng(1).normal(0, strength, patch.shape), 0, 255)
        scores.append(content_ssim(patch, shaken.astype(np.uint8)))
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0


def test_colour_pictures_are_compared_by_brightness():
    gray = with_patch(noise(10, 10))
    rgb = np.repeat(gray[:, :, None], 3, axis=2)
    assert content_ssim(rgb, gray) == pytest.approx(1.0, abs=1e-6)
