"""LPIPS: the network in numpy, its weights, and the published values of MRWeb."""

import json
import os
import pickle

import numpy as np
import pytest
from PIL import Image

from lpips_weights import alexnet_of_chance
from uiproof.errors import InputError
from uiproof.vision.lpips import LpipsModel, find_weights, scaled_page


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alexnet.ckpt"
    path.write_bytes(alexnet_of_chance())
    return LpipsModel(path)


def noise(seed):
    return np.random.default_rng(seed).integers(0, 256, (70, 90, 3), dtype=np.uint8)


def test_the_distance_grows_with_what_changed_and_does_not_depend_on_the_order(model):
    a = noise(1)
    little, much = a.copy(), a.copy()
    little[:10], much[:50] = 255, 255
    far = model.distance(a, much)
    assert 0 == model.distance(a, a) < model.distance(a, little) < far
    assert model.distance(much, a) == pytest.approx(far)


def test_the_shorter_page_is_continued_in_white(model):
    page = noise(1)
    longer = np.pad(page, ((0, 30), (0, 0), (0, 0)), constant_values=255)
    darker = np.pad(page, ((0, 30), (0, 0), (0, 0)), constant_values=0)
    assert model.page_distance(page, page) == 0
    assert model.page_distance(page, longer) < 0.3 * model.page_distance(page, darker)


def test_a_file_that_would_run_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    path = tmp_path / "alexnet.ckpt"
    path.write_bytes(pickle.dumps({"AlexNet_0": Evil()}))
    with pytest.raises(InputError, match="is not an array"):
        LpipsModel(path)
    assert not (tmp_path / "made").exists()


def test_alexnet_gives_the_distance_of_the_original():
    """The value is that of lpips 0.1.4 on torch 2.13, whose linear layers equal those here."""
    weights = find_weights()
    if weights is None:
        pytest.skip("needs `uiproof data get lpips-alexnet`")
    assert LpipsModel(weights).distance(noise(1), noise(2)) == pytest.approx(0.1357972, abs=1e-6)


@pytest.mark.slow
def test_the_published_values_of_mrweb_come_out(shared_data):
    """MRWeb used VGG16 and gave it twice 0 to 255 less 1; pages of one size are exact."""
    weights = find_weights("vgg16")
    if weights is None:
        pytest.skip("needs `uiproof data get lpips-alexnet`")
    folder = shared_data / "data" / "mrweb"
    vgg, compared = LpipsModel(weights), 0
    for row in json.loads((folder / "published.json").read_text()):
        names = (folder / run / f"{row['page']}.png" for run in ("reference", row["run"]))
        a, b = (scaled_page(np.asarray(Image.open(name).convert("RGB"))) for name in names)
        if a.shape == b.shape:
            found = vgg.raw_distance(*(2 * one.astype(np.float32) - 1 for one in (a, b)))
            assert found == pytest.approx(row["LPIPS"], abs=1e-6)
            compared += 1
    assert compared == 5
