import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from uiproof.errors import InputError
from uiproof.geometry import Box
from uiproof.vision.clip import (
    CACHE_FILE,
    ClipModel,
    box_mask,
    clip_similarity,
    find_weights,
    inpaint,
    inpainted_view,
    preprocess,
)

MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
STD = np.array([0.26862954, 0.26130258, 0.27577711])


def write_tower(
    path, *, batch="batch", side=224, size=512, dtype=np.float32, extra_input=False, declared=None
):
    """A small real vision tower: patches of 32 pixels, averaged, projected."""
    kind = TensorProto.FLOAT16 if dtype == np.float16 else TensorProto.FLOAT
    random = np.random.default_rng(0)
    kernel = (random.normal(size=(8, 3, 32, 32)) / 50).astype(dtype)
    projection = random.normal(size=(8, size)).astype(dtype)
    inputs = [helper.make_tensor_value_info("pixel_values", kind, [batch, 3, side, side])]
    if extra_input:
        inputs.append(helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", 77]))
    hidden = helper.make_tensor_value_info("last_hidden_state", kind, [batch, 8, 7, 7])
    embedding = helper.make_tensor_value_info("image_embeds", kind, [batch, declared or size])
    nodes = [
        helper.make_node(
            "Conv", ["pixel_values", "kernel"], ["last_hidden_state"], strides=[32, 32]
        ),
        helper.make_node("GlobalAveragePool", ["last_hidden_state"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "projection"], ["image_embeds"]),
    ]
    weights = [
        numpy_helper.from_array(kernel, "kernel"),
        numpy_helper.from_array(projection, "projection"),
    ]
    graph = helper.make_graph(nodes, "tower", inputs, [hidden, embedding], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path, kernel.astype(np.float64), projection.astype(np.float64)


def expected_embedding(rgb, kernel, projection):
    pixels = (rgb / 255 - MEAN) / STD
    patches = pixels.reshape(7, 32, 7, 32, 3).transpose(0, 2, 4, 1, 3)
    vector = np.einsum("xychw,kchw->k", patches, kernel) / 49 @ projection
    return vector / np.linalg.norm(vector)


def picture(height, width, seed=0):
    small = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return np.array(Image.fromarray(small).resize((width, height), Image.Resampling.NEAREST))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_embedding_is_what_the_tower_gives_for_normalised_pixels(tmp_path, dtype):
    path, kernel, projection = write_tower(tmp_path / "model.onnx", dtype=dtype)
    rgb = picture(224, 224)
    vector = ClipModel(path).embed(rgb)
    assert vector.shape == (512,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    tolerance = 1e-5 if dtype == np.float32 else 2e-3
    np.testing.assert_allclose(vector, expected_embedding(rgb, kernel, projection), atol=tolerance)


@pytest.mark.parametrize("batch", ["batch", 1])
def test_several_pictures_get_the_embeddings_they_get_alone(tmp_path, batch):
    path, *_ = write_tower(tmp_path / "model.onnx", batch=batch)
    model = ClipModel(path)
    pictures = [picture(300, 224, seed) for seed in range(3)]
    together = model.embed_all(pictures)
    np.testing.assert_allclose(together, [model.embed(one) for one in pictures], atol=1e-5)
    assert model.embed_all([]).shape == (0, 512)


def test_similarity_is_one_for_equal_pictures_and_less_for_others(tmp_path):
    path, *_ = write_tower(tmp_path / "model.onnx")
    model = ClipModel(path)
    a, b = model.embed(picture(224, 224, 0)), model.embed(picture(224, 224, 5))
    assert clip_similarity(a, a) == pytest.approx(1, abs=1e-5)
    assert clip_similarity(a, b) == pytest.approx(clip_similarity(b, a))
    assert clip_similarity(a, b) < 0.999


def test_the_short_side_becomes_224_and_the_middle_is_kept():
    stripes = np.zeros((448, 1000, 3), np.uint8)
    stripes[:, 276:724] = 255  # exactly the middle square
    seen = preprocess(stripes)
    assert seen.shape == (3, 224, 224)
    white = (1 - MEAN) / STD
    np.testing.assert_allclose(seen[:, 100, 4:-4].T, np.tile(white, (216, 1)), atol=1e-5)


def test_resizing_is_pillows_antialiased_bicubic_with_the_long_side_cut_down():
    rgb = picture(333, 500)
    resized = Image.fromarray(rgb).resize((336, 224), Image.Resampling.BICUBIC)
    middle = np.asarray(resized)[:, 56:280].astype(np.float64)
    np.testing.assert_allclose(
        preprocess(rgb).transpose(1, 2, 0), (middle / 255 - MEAN) / STD, atol=1e-5
    )


def test_design2code_paints_over_text_and_squashes_to_the_shorter_side():
    page = np.full((600, 300, 3), 240, np.uint8)
    page[100:140, 50:250] = 0
    view = inpainted_view(page, [Box(48 / 300, 98 / 600, 204 / 300, 44 / 600)])
    assert view.shape == (300, 300, 3)
    assert np.abs(view.astype(int) - 240).max() <= 10
    assert inpainted_view(page, []).min() == 0


@pytest.mark.parametrize(
    "wrong",
    [{"size": 768}, {"side": 336}, {"extra_input": True}, {"size": 768, "declared": "features"}],
    ids=["768 numbers", "336 pixels", "text input", "768 undeclared numbers"],
)
def test_another_model_is_refused_with_what_it_is(tmp_path, wrong):
    path, *_ = write_tower(tmp_path / "model.onnx", **wrong)
    with pytest.raises(InputError, match="not a vision tower of CLIP ViT-B/32"):
        ClipModel(path).embed(picture(224, 224))


def test_a_file_that_is_not_onnx_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match="cannot be loaded as ONNX"):
        ClipModel(tmp_path / "model.onnx")


def environment(tmp_path, **more):
    return {"UIPROOF_CACHE": str(tmp_path / "cache"), "HF_HOME": str(tmp_path / "hf"), **more}


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_no_weights_on_the_machine_means_none(tmp_path):
    assert find_weights(environment=environment(tmp_path)) is None


def test_weights_are_found_in_the_hub_cache_at_its_current_revision(tmp_path):
    repository = tmp_path / "hf/hub/models--Qdrant--clip-ViT-B-32-vision"
    touch(repository / "snapshots/aaa/model.onnx")
    current = touch(repository / "snapshots/bbb/model.onnx")
    assert find_weights(environment=environment(tmp_path)).name == "model.onnx"
    touch(repository / "refs/main").write_text("bbb")
    assert find_weights(environment=environment(tmp_path)) == current


def test_uiproofs_own_cache_comes_before_the_hubs_and_a_named_file_before_both(tmp_path):
    touch(tmp_path / "hf/hub/models--Qdrant--clip-ViT-B-32-vision/snapshots/aaa/model.onnx")
    own = touch(tmp_path / "cache" / CACHE_FILE)
    assert find_weights(environment=environment(tmp_path)) == own
    named = touch(tmp_path / "mine/model.onnx")
    named_environment = environment(tmp_path, UIPROOF_CLIP=str(named.parent))
    assert find_weights(environment=named_environment) == named
    assert find_weights(own, environment=named_environment) == own


def test_a_named_file_that_is_missing_is_an_error_not_a_silent_none(tmp_path):
    with pytest.raises(InputError, match="no CLIP weights"):
        find_weights(tmp_path / "absent.onnx", environment=environment(tmp_path))


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
