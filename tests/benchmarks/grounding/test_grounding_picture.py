from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from uiproof.benchmarks.grounding.grounders import Guess
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.errors import InputError
from uiproof.geometry import Box, PixelBox
from uiproof.vision import images


def pixels(width=100, height=60):
    """Every pixel tells where it is."""
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[..., 0] = np.arange(width)
    rgb[..., 1] = np.arange(height)[:, None]
    return rgb


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "screen.png"
    path.write_bytes(images.encode_png(pixels()))
    return Picture.open(path)


def test_the_whole_screenshot_is_sent_as_the_file_it_is(tmp_path):
    path = tmp_path / "screen.jpg"
    Image.fromarray(pixels()).save(path, "JPEG", quality=70)
    picture = Picture.open(path)
    assert picture.png() == path.read_bytes()
    assert picture.size == (100, 60)
    assert picture.region == Box(0, 0, 1, 1)
    assert picture.to_whole((0.25, 0.5)) == (0.25, 0.5)


def test_a_part_has_the_pixels_of_its_region(picture):
    part = picture.crop(Box(0.2, 0.5, 0.3, 0.25))
    assert part.area == PixelBox(20, 30, 50, 45)
    assert part.size == (30, 15)
    assert (part.rgb() == pixels()[30:45, 20:50]).all()
    assert (images.decode(part.png()) == part.rgb()).all()


def test_a_part_between_pixels_grows_and_says_where_it_really_is(picture):
    part = picture.crop(Box(0.203, 0.503, 0.3, 0.25))
    assert part.area == PixelBox(20, 30, 51, 46)
    assert part.region == Box(0.2, 0.5, 0.31, 16 / 60)
    assert part.to_whole((0, 0)) == (0.2, 0.5)
    x, y = part.to_whole((1, 1))
    assert (x, y) == pytest.approx((0.51, 46 / 60))


def test_a_scaled_part_points_to_the_same_places(picture):
    part = picture.crop(Box(0.2, 0.5, 0.3, 0.25), scale=2)
    assert part.size == (60, 30)
    assert part.rgb().shape == (30, 60, 3)
    # The middle of the part is pixel (35, 37.5) of the screenshot.
    assert part.to_whole((0.5, 0.5)) == pytest.approx((0.35, 0.625))
    assert abs(int(part.rgb()[15, 30, 0]) - 35) <= 1


def test_a_part_of_a_part_is_cut_from_the_screenshot_itself(picture):
    small = picture.crop(Box(0, 0, 0.5, 0.5), scale=0.1)
    part = small.crop(Box(0.5, 0.5, 0.5, 0.5))
    assert part.area == PixelBox(25, 15, 50, 30)
    assert (part.rgb() == pixels()[15:30, 25:50]).all()
    assert small.box_to_whole(Box(0.5, 0.5, 0.5, 0.5)) == Box(0.25, 0.25, 0.25, 0.25)


def test_a_part_never_leaves_the_picture_that_it_is_cut_from(picture):
    left = picture.crop(Box(0, 0, 0.5, 1))
    assert left.crop(Box(0.5, -1, 5, 5)).area == PixelBox(25, 0, 50, 60)
    with pytest.raises(InputError, match="nothing"):
        left.crop(Box(1.2, 0, 0.5, 1))
    with pytest.raises(InputError, match="scaled"):
        left.crop(Box(0, 0, 1, 1), scale=0)


def test_everything_of_it_at_its_own_scale_is_the_screenshot(picture):
    assert picture.crop(Box(0, 0, 1, 1)).untouched
    assert not picture.crop(Box(0, 0, 1, 1), scale=2).untouched
    assert picture.crop(Box(0, 0, 1, 1), scale=2).size == (200, 120)


def test_the_digest_tells_contents_and_parts_apart(tmp_path):
    first, copy, other = (tmp_path / name for name in ("1.png", "2.png", "3.png"))
    first.write_bytes(images.encode_png(pixels()))
    copy.write_bytes(first.read_bytes())
    other.write_bytes(images.encode_png(pixels()[:, ::-1]))
    whole = Picture.open(first)
    assert whole.digest == Picture.open(copy).digest == Picture.of(first.read_bytes()).digest
    half = Box(0, 0, 0.5, 1)
    different = {
        whole.digest,
        Picture.open(other).digest,
        whole.crop(half).digest,
        whole.crop(half, scale=2).digest,
        whole.crop(Box(0.5, 0, 0.5, 1)).digest,
    }
    assert len(different) == 5
    assert whole.crop(half).digest == Picture.open(copy).crop(half).digest


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "screen.png"
    path.write_bytes(images.encode_png(pixels()))
    before = Picture.open(path)
    assert before.size == (100, 60)
    path.write_bytes(images.encode_png(pixels(40, 30)))
    assert Picture.open(path).size == (40, 30)
    assert before.rgb().shape == (60, 100, 3)


def test_pixels_that_pictures_share_cannot_be_changed_by_mistake(picture):
    with pytest.raises(ValueError, match="read-only"):
        picture.crop(Box(0, 0, 0.5, 0.5)).rgb()[0, 0] = 1


def test_what_is_no_picture_is_refused_by_name(tmp_path):
    path = tmp_path / "screen.png"
    path.write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"screen\.png"):
        _ = Picture.open(path).size
    with pytest.raises(InputError, match=r"screen\.png"):
        Picture.open(path).rgb()
    with pytest.raises(InputError, match=r"absent\.png"):
        Picture.open(tmp_path / "absent.png")


def test_transparency_is_laid_on_white():
    out = BytesIO()
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(out, "PNG")
    assert (Picture.of(out.getvalue()).rgb() == 255).all()


def test_a_guess_clicks_its_point_or_the_middle_of_its_box():
    assert Guess(point=(0.1, 0.2), box=Box(0, 0, 1, 1)).click == (0.1, 0.2)
    assert Guess(box=Box(0.2, 0.4, 0.2, 0.2)).click == pytest.approx((0.3, 0.5))
    assert Guess(refused=True).click is None


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P"])
def test_what_is_cut_keeps_its_pixels_and_its_colours(tmp_path, mode):
    pixels = np.random.default_rng(1).integers(0, 256, (40, 60, 4), np.uint8)
    whole = Image.fromarray(pixels).convert(mode)
    whole.save(tmp_path / "a.png")
    part = Picture.open(tmp_path / "a.png").cut(PixelBox(7, 5, 31, 22))
    assert (part.size, part.region) == ((24, 17), PixelBox(7, 5, 31, 22).normalised(60, 40))
    with Image.open(BytesIO(part.png())) as cut:
        assert cut.mode == mode
        assert cut.convert("RGBA").tobytes() == whole.crop((7, 5, 31, 22)).convert("RGBA").tobytes()


def test_nothing_is_cut_from_a_damaged_file(tmp_path):
    Image.new("RGB", (300, 300)).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(content[:200])
    with pytest.raises(InputError, match=r"a\.png"):
        Picture.open(tmp_path / "a.png").cut(PixelBox(0, 0, 10, 10)).png()
