"""Pictures: untouched where a provider takes them, else split, scaled or encoded by rule."""

import base64
import io
import json
import pickle
import threading
import zlib
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from uiproof.errors import InputError
from uiproof.models.images import ImageRule, measure_all, prepare_all, rule_for
from uiproof.models.names import parse_name

ANTHROPIC = rule_for(parse_name("anthropic/claude-sonnet-4-5"))
SMALL = ImageRule("test", 100, 3, 40, 50_000, 100_000, 6)


def prepare(data, rule):
    return prepare_all([data], rule)[0]


def measure(data, rule):
    return measure_all([data], rule)[0]


def encoded(image, form="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def page(width, height, mode="RGB"):
    """A picture in which every row is different."""
    rows = np.arange(height, dtype=np.uint32)[:, None] + np.zeros((1, width), np.uint32)
    pixels = np.stack([rows % 256, rows // 256, np.full_like(rows, 9)], axis=2).astype(np.uint8)
    return Image.fromarray(pixels).convert(mode)


def noise(width, height, channels=3):
    generator = np.random.default_rng(7)
    return Image.fromarray(generator.integers(0, 256, (height, width, channels), dtype=np.uint8))


def opened(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def in_base64(data):
    return len(base64.b64encode(data))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_picture_within_the_limits_goes_out_byte_for_byte(form):
    data = encoded(page(60, 100), form)
    files, sent = prepare(data, SMALL)
    assert files == [(f"image/{form.lower()}", data)]
    assert (sent.width, sent.height, sent.scale) == (60, 100, 1.0)
    assert [(p.width, p.height, p.format, p.bytes) for p in sent.pieces] == [
        (60, 100, form.lower(), len(data))
    ]
    assert measure(data, SMALL) == sent


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1"])
def test_transparency_and_palettes_are_left_alone(mode):
    image = page(20, 20, "RGBA")
    image.putalpha(100)
    data = encoded(image.convert(mode))
    assert prepare(data, SMALL)[0] == [("image/png", data)]


def test_a_tall_page_is_split_into_the_fewest_equal_bands_without_loss_or_overlap():
    original = page(50, 301)
    files, sent = prepare(encoded(original), replace(SMALL, many=9))
    assert [piece.height for piece in sent.pieces] == [76, 75, 75, 75]
    assert {mime for mime, _ in files} == {"image/png"}
    assert sent.scale == 1.0
    joined = np.concatenate([np.asarray(opened(data)) for _, data in files])
    assert np.array_equal(joined, np.asarray(original))


def test_splitting_keeps_transparency():
    image = page(50, 150, "RGBA")
    image.putalpha(77)
    files, _ = prepare(encoded(image), SMALL)
    assert len(files) == 2
    assert all(np.all(np.asarray(opened(data))[..., 3] == 77) for _, data in files)


def test_a_tall_page_is_scaled_where_the_rule_says_so():
    files, sent = prepare(encoded(page(60, 300)), replace(SMALL, tall="scale"))
    assert len(files) == 1
    assert opened(files[0][1]).size == (20, 100)
    assert sent.scale == pytest.approx(1 / 3)
    assert (sent.width, sent.height) == (60, 300)


@pytest.mark.parametrize("tall", ["split", "scale"])
def test_a_wide_picture_is_always_scaled(tall):
    files, sent = prepare(encoded(page(400, 80)), replace(SMALL, tall=tall))
    assert [opened(data).size for _, data in files] == [(100, 20)]
    assert sent.scale == 0.25


def test_a_wide_and_tall_picture_is_scaled_to_the_width_and_then_split():
    _, sent = prepare(encoded(page(200, 500)), SMALL)
    assert [(p.width, p.height) for p in sent.pieces] == [(100, 84), (100, 83), (100, 83)]
    assert sent.scale == 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 900), st.integers(1, 900), st.sampled_from(["split", "scale"]))
def test_no_piece_is_ever_beyond_the_limits_and_no_row_is_lost(width, height, tall):
    rule = replace(SMALL, tall=tall, max_images=100, many=100)
    data = encoded(Image.new("L", (width, height)))
    files, sent = prepare(data, rule)
    assert all(p.width <= 100 and p.height <= 100 and p.width and p.height for p in sent.pieces)
    assert all(in_base64(data) <= rule.max_bytes for _, data in files)
    assert [opened(data).size for _, data in files] == [(p.width, p.height) for p in sent.pieces]
    heights = [p.height for p in sent.pieces]
    assert max(heights) - min(heights) <= 1
    assert sum(heights) == pytest.approx(height * sent.scale, abs=1)
    assert [(p.width, p.height) for p in measure(data, rule).pieces] == [
        (p.width, p.height) for p in sent.pieces
    ]


def test_too_many_bytes_make_a_jpeg_of_the_best_quality_that_fits():
    data = encoded(noise(100, 100))
    sizes = {q: len(encoded(noise(100, 100), "JPEG", quality=q, subsampling=0)) for q in (90, 80)}
    files, sent = prepare(data, replace(SMALL, max_bytes=sizes[90] * 4 // 3 + 4))
    assert files[0][0] == "image/jpeg"
    assert len(files[0][1]) == sizes[90]
    assert sent.scale == 1.0
    files, _ = prepare(data, replace(SMALL, max_bytes=sizes[80] * 4 // 3 + 4))
    assert len(files[0][1]) == sizes[80]


def test_still_too_many_bytes_make_it_smaller_and_say_so():
    files, sent = prepare(encoded(noise(100, 100)), replace(SMALL, max_bytes=3000))
    assert in_base64(files[0][1]) <= 3000
    assert sent.scale < 1
    assert opened(files[0][1]).size == (sent.pieces[0].width, sent.pieces[0].height)


def test_transparent_pictures_are_laid_on_white_for_jpeg():
    pixels = np.asarray(noise(80, 80, 4)).copy()
    pixels[..., 3] = 0
    files, _ = prepare(encoded(Image.fromarray(pixels)), replace(SMALL, max_bytes=4000))
    assert files[0][0] == "image/jpeg"
    assert np.asarray(opened(files[0][1])).min() >= 250


def test_a_limit_that_nothing_fits_into_is_an_error():
    with pytest.raises(InputError, match="cannot be brought down to 40 bytes"):
        prepare(encoded(noise(50, 50)), replace(SMALL, max_bytes=40))


def test_with_many_pictures_the_stricter_side_limit_holds():
    data = encoded(page(40, 90))
    assert [s.pieces[0].height for _, s in prepare_all([data] * 2, SMALL)] == [90, 90]
    many = replace(SMALL, max_images=100)
    assert [len(s.pieces) for _, s in prepare_all([data] * 4, many)] == [3] * 4
    # Pieces count too: two pages of two bands are four pictures.
    tall = encoded(page(40, 150))
    assert [len(s.pieces) for _, s in prepare_all([tall] * 2, many)] == [4, 4]


def test_anthropic_takes_2000_pixels_with_more_than_20_pictures():
    data = encoded(Image.new("1", (3000, 1000)))
    assert {s.pieces[0].width for s in measure_all([data] * 20, ANTHROPIC)} == {3000}
    assert {s.pieces[0].width for s in measure_all([data] * 21, ANTHROPIC)} == {2000}


def test_more_pictures_than_the_provider_takes_are_an_error():
    data = encoded(page(10, 10))
    assert len(prepare_all([data] * 6, SMALL)) == 6
    with pytest.raises(InputError, match=r"7 pictures is more than test takes, which is 6"):
        prepare_all([data] * 7, SMALL)
    with pytest.raises(InputError, match="scaled instead of split"):
        measure_all([encoded(page(10, 1000))], SMALL)


def test_all_pictures_together_keep_to_the_limit_of_a_request():
    large, little = encoded(noise(90, 90)), encoded(page(10, 10))
    rule = replace(SMALL, max_request_bytes=40_000)
    prepared = prepare_all([large, little, large], rule)
    assert sum(in_base64(data) for files, _ in prepared for _, data in files) <= 40_000
    assert prepared[1][0] == [("image/png", little)]
    assert prepared[0] == prepared[2]
    assert prepare_all([large], rule)[0][0] == [("image/png", large)]


def test_nothing_is_prepared_for_no_pictures():
    assert prepare_all([], SMALL) == []


def test_the_same_bytes_give_the_same_bytes_in_every_thread():
    data = encoded(noise(120, 250))
    results = []
    rules = [replace(SMALL, max_bytes=9_000 + extra) for extra in (0, 0, 1, 2)]
    threads = [
        threading.Thread(target=lambda rule=rule: results.append(prepare(data, rule)[0]))
        for rule in rules
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result == results[0] for result in results)


def test_sixteen_bits_become_eight():
    deep = Image.fromarray(np.linspace(0, 65535, 50 * 50).reshape(50, 50).astype(np.uint16))
    files, sent = prepare(encoded(deep), SMALL)
    pixels = np.asarray(opened(files[0][1]).convert("L"))
    assert (sent.pieces[0].format, files[0][1][24]) == ("png", 8)
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert abs(int(pixels[25, 0]) - 127) <= 2


def test_cmyk_becomes_rgb():
    files, _ = prepare(encoded(Image.new("CMYK", (30, 30), (0, 255, 255, 0)), "JPEG"), SMALL)
    red = opened(files[0][1]).convert("RGB").getpixel((15, 15))
    assert red[0] > 200
    assert max(red[1:]) < 60


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_sent(form):
    frames = [Image.new("RGB", (30, 30), colour) for colour in ("red", "lime")]
    data = encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=100)
    files, sent = prepare(data, SMALL)
    assert len(files) == 1
    assert sent.pieces[0].format == "png"
    sent_image = opened(files[0][1])
    assert not getattr(sent_image, "is_animated", False)
    assert sent_image.convert("RGB").getpixel((5, 5))[0] > 200


def test_a_photo_that_lies_on_its_side_is_set_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(page(60, 30), "JPEG", exif=exif)
    files, sent = prepare(data, SMALL)
    assert (sent.width, sent.height) == (30, 60)
    assert opened(files[0][1]).size == (30, 60)
    assert measure(data, SMALL).pieces[0].width == 30


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1)])
def test_extreme_shapes_are_sent(size):
    files, sent = prepare(encoded(Image.new("RGB", size)), replace(SMALL, max_images=99, many=99))
    assert [opened(data).size for _, data in files] == [(p.width, p.height) for p in sent.pieces]


def test_a_page_of_20000_pixels_is_split_in_three_for_every_provider():
    data = encoded(Image.new("1", (1280, 20_000)))
    for name in ("openai/gpt-4o", "anthropic/claude-3-opus", "google/gemini-2.5-pro"):
        pieces = measure(data, rule_for(parse_name(name))).pieces
        assert [p.height for p in pieces] == [6667, 6667, 6666]


PNG = encoded(page(64, 64))
JPEG = encoded(noise(64, 64), "JPEG")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        PNG[:8],
        PNG[:20],
        PNG[: len(PNG) // 2],
        PNG[:-12],
        PNG[:60] + bytes([PNG[60] ^ 255]) + PNG[61:],
        JPEG[: len(JPEG) // 2],
        encoded(page(64, 64), "WEBP")[:100],
        encoded(page(8, 8), "BMP"),
        encoded(page(8, 8), "TIFF"),
    ],
)
def test_what_is_damaged_or_no_picture_is_a_clear_error(data):
    with pytest.raises(InputError, match="picture"):
        prepare(data, SMALL)


@pytest.mark.parametrize("side", [9_500, 20_000, 60_000])
def test_a_picture_made_to_fill_the_memory_is_refused_before_it_is_unpacked(side):
    header = b"IHDR" + side.to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    data = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"
        + header
        + zlib.crc32(header).to_bytes(4, "big")
        + b"\x00\x00\x00\x00IDAT\x35\xaf\x06\x1e\x00\x00\x00\x00IEND\xaeB`\x82"
    )
    for work in (prepare, measure):
        with pytest.raises(InputError, match=r"pixels|too large"):
            work(data, ANTHROPIC)


def test_a_rule_explains_itself_in_json_and_travels():
    plain = json.loads(json.dumps(ANTHROPIC.as_json()))
    assert plain["provider"] == "anthropic"
    assert plain["max_side"] == 8000
    assert plain["tall"] == "split"
    assert "bands" in plain["too_tall"]
    scaled = rule_for(parse_name("anthropic/x"), tall="scale")
    assert "Lanczos" in scaled.as_json()["too_tall"]
    assert pickle.loads(pickle.dumps(ANTHROPIC)) == ANTHROPIC
    assert len({ANTHROPIC, scaled, pickle.loads(pickle.dumps(scaled))}) == 2
    with pytest.raises(AttributeError):
        ANTHROPIC.max_side = 1


def test_the_published_limits_are_kept():
    rules = {
        name: rule_for(parse_name(model))
        for name, model in {
            "openai": "openai/gpt-4o",
            "anthropic": "anthropic/claude-opus-4-5",
            "google": "google/gemini-2.5-pro",
            "compatible": "compatible:http://localhost/v1#m",
        }.items()
    }
    assert (rules["anthropic"].max_bytes, rules["anthropic"].max_images) == (5_242_880, 100)
    assert rules["anthropic"].max_request_bytes < 32_000_000
    assert rules["openai"].max_request_bytes < 50_000_000
    assert rules["google"].max_request_bytes < 20_000_000
    assert {name: rule.provider for name, rule in rules.items()} == {name: name for name in rules}


FILES = [PNG, JPEG, *(encoded(noise(40, 130, 3), form) for form in ("PNG", "WEBP", "GIF"))]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FILES), st.data())
def test_whatever_is_wrong_with_a_file_it_is_sent_or_refused(original, data):
    damaged = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(1, len(damaged)))
    for work in (prepare, measure):
        with suppress(InputError):
            work(bytes(damaged[:end]), SMALL)
