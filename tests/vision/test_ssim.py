import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import structural_similarity

from uiproof.vision.ssim import aligned_ssim, content_ssim, grayscale, ssim


def noise(seed, height, width, *channels):
    return np.random.default_rng(seed).integers(0, 256, (height, width, *channels), dtype=np.uint8)


@pytest.mark.parametrize(("height", "width"), [(7, 7), (40, 90), (263, 31), (700, 12)])
def test_it_equals_scikit_image_on_grayscale(height, width):
    a = noise(1, height, width)
    b = np.clip(a.astype(int) + noise(2, height, width) // 8, 0, 255).astype(np.uint8)
    assert ssim(a, b) == pytest.approx(structural_similarity(a, b, data_range=255), abs=1e-9)


def test_it_equals_scikit_image_where_pictures_are_flat_or_opposite():
    flat, bright = np.full((50, 50), 3, np.uint8), np.full((50, 50), 250, np.uint8)
    checks = (np.indices((50, 50)).sum(axis=0) % 2 * 255).astype(np.uint8)
    for a, b in [(flat, bright), (checks, 255 - checks), (flat, checks)]:
        assert ssim(a, b) == pytest.approx(structural_similarity(a, b, data_range=255), abs=1e-9)


def test_colour_pictures_are_compared_by_their_luma():
    a, b = noise(3, 60, 60, 3), noise(4, 60, 60, 3)
    assert ssim(a, b) == ssim(grayscale(a), grayscale(b))
    assert ssim(a, a) == pytest.approx(1.0)


def test_a_picture_smaller_than_the_window_is_still_compared():
    a, b = noise(5, 5, 30), noise(6, 5, 30)
    assert ssim(a, b) == pytest.approx(
        structural_similarity(a, b, data_range=255, win_size=5), abs=1e-9
    )
    pixel = np.zeros((1, 1), np.uint8)
    assert ssim(pixel, pixel) == pytest.approx(1.0)
    assert ssim(pixel, pixel + 255) < 0.01


def test_pictures_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="differ in size"):
        ssim(noise(1, 10, 10), noise(1, 10, 11))


def test_what_only_one_picture_has_counts_as_no_similarity():
    tall = noise(7, 300, 100, 3)
    assert aligned_ssim(tall, tall) == pytest.approx(1.0)
    assert aligned_ssim(tall, tall[:150]) == pytest.approx(0.5)
    assert aligned_ssim(tall[:150], tall) == pytest.approx(0.5)
    # 100 x 150 in common; 300 x 100 and 150 x 200 make 45,000 pixels together.
    wide = np.concatenate([tall[:150], noise(8, 150, 100, 3)], axis=1)
    assert aligned_ssim(tall, wide) == pytest.approx(15_000 / 45_000)


def test_pictures_that_contradict_each_other_score_zero_not_less():
    checks = (np.indices((50, 50)).sum(axis=0) % 2 * 255).astype(np.uint8)
    assert ssim(checks, 255 - checks) < 0
    assert aligned_ssim(checks, 255 - checks) == 0


# --- content_ssim

pictures = arrays(np.uint8, st.tuples(st.integers(8, 24), st.integers(8, 24)))


def flat(value=255, height=60, width=80):
    return np.full((height, width), value, np.uint8)


def grain(height=60, width=80, seed=0):
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
    full = with_patch(grain(10, 10))
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
    a, b = with_patch(grain(14, 14, seed=1)), with_patch(grain(14, 14, seed=2))
    larger_a = with_patch(grain(14, 14, seed=1), height=400, width=600)
    larger_b = with_patch(grain(14, 14, seed=2), height=400, width=600)
    assert ssim(larger_a, larger_b) > 0.99
    assert content_ssim(larger_a, larger_b) == pytest.approx(content_ssim(a, b), abs=1e-6)
    assert content_ssim(larger_a, larger_b) < 0.5


def test_content_in_another_place_counts_twice_as_missing():
    patch = grain(12, 12)
    assert content_ssim(with_patch(patch, left=5), with_patch(patch, left=50)) == 0.0


def test_half_of_the_content_missing_halves_the_score():
    patch = grain(12, 12)
    both = np.minimum(with_patch(patch, left=5), with_patch(patch, left=50))
    assert content_ssim(with_patch(patch, left=5), both) == pytest.approx(0.5, abs=0.02)


def test_content_beyond_the_end_of_the_other_picture_counts_as_missing():
    patch = grain(12, 12)
    short = with_patch(patch, top=10)
    long = np.vstack([short, with_patch(patch, top=10)])
    assert content_ssim(short, long) == pytest.approx(0.5, abs=0.02)
    assert content_ssim(short, np.vstack([short, flat()])) == pytest.approx(1.0, abs=1e-6)


def test_a_background_of_another_brightness_lowers_the_score():
    patch = grain(12, 12)
    same = content_ssim(with_patch(patch), with_patch(patch, background=250))
    darker = content_ssim(with_patch(patch), with_patch(patch, background=40))
    assert darker < same < 1


@pytest.mark.parametrize("tint", [251, 250, 240, 200])
def test_a_tinted_background_never_raises_the_score(tint):
    # Two plain areas in almost one colour are almost alike, and there are many of them.
    honest = content_ssim(with_patch(grain(14, 14, 1)), with_patch(grain(14, 14, 2)))
    tinted = with_patch(grain(14, 14, 1), background=tint)
    assert content_ssim(tinted, with_patch(grain(14, 14, 2))) <= honest + 0.005


def test_faint_patterns_that_have_nothing_in_common_are_not_alike():
    down, across = flat(250), flat(250)
    down[::2] += 4
    across[:, ::2] += 4
    assert content_ssim(down, across) < 0.2


def test_a_little_noise_costs_little_and_more_costs_more():
    patch = with_patch(grain(30, 40))
    scores = []
    for strength in (0, 20, 60, 120):
        shaken = np.clip(patch + np.random.default_rng(1).normal(0, strength, patch.shape), 0, 255)
        scores.append(content_ssim(patch, shaken.astype(np.uint8)))
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0


def test_colour_pictures_are_compared_by_brightness():
    gray = with_patch(grain(10, 10))
    rgb = np.repeat(gray[:, :, None], 3, axis=2)
    assert content_ssim(rgb, gray) == pytest.approx(1.0, abs=1e-6)
