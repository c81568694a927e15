import numpy as np
import pytest
from skimage.metrics import structural_similarity

from uiproof.vision.ssim import aligned_ssim, grayscale, ssim


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
