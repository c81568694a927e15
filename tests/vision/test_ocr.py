import json
import socket
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from uiproof.geometry import PixelBox
from uiproof.vision import ocr
from uiproof.vision.ocr import OVERLAP, KeptReadings, _tiles, read_lines


def draw(lines, *, width=640, height=200, size=20, ink="black", paper="white"):
    page = Image.new("RGB", (width, height), paper)
    pen = ImageDraw.Draw(page)
    font = ImageFont.load_default(size)
    for left, top, text in lines:
        pen.text((left, top), text, font=font, fill=ink)
    return np.array(page)


def test_drawn_text_is_read_where_it_was_drawn_without_network_or_noise(monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    page = draw([(40, 30, "Opening hours"), (300, 120, "Contact us")])
    lines = read_lines(page)
    assert [line.text for line in lines] == ["Opening hours", "Contact us"]
    first = lines[0].box
    assert abs(first.left - 40) < 12
    assert first.top < 40 < first.bottom < 70
    assert all(line.confidence > 0.8 for line in lines)
    assert capfd.readouterr() == ("", "")


def test_small_type_on_a_long_page_is_read_once_also_across_the_borders_of_tiles(monkeypatch):
    monkeypatch.setattr(ocr, "TILE_PIXELS", 300 * 500)
    texts = [(30, 8 + 67 * row, f"Paragraph {row:03d}") for row in range(22)]
    page = draw(texts, width=300, height=1500, size=13, ink="#444444")
    assert len(list(_tiles(1500, 300))) == 4
    assert [line.text for line in read_lines(page)] == [text for _, _, text in texts]


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (400, 2)])
def test_a_picture_without_text_has_no_lines(size):
    page = np.full((*size, 3), 255, np.uint8)
    page[0, 0] = 250
    assert read_lines(page) == []


@pytest.mark.parametrize(("height", "width"), [(1, 1), (900, 1280), (6000, 1280), (9999, 3000)])
def test_tiles_cover_the_whole_picture_and_share_rows(height, width):
    tiles = list(_tiles(height, width))
    assert tiles[0][0] == 0
    assert tiles[-1][1] == height
    for (_, bottom), (top, _) in pairwise(tiles):
        assert bottom - top >= OVERLAP - 1


def test_words_have_boxes_inside_their_line_from_left_to_right():
    (line,) = read_lines(draw([(40, 30, "Save all files now")]))
    assert [word.text for word in line.words] == ["Save", "all", "files", "now"]
    for before, after in pairwise(line.words):
        assert before.box.right <= after.box.left + 4
    for word in line.words:
        assert line.box.left - 4 <= word.box.left < word.box.right <= line.box.right + 4


def test_a_line_is_recognized_once_and_read_as_without_a_memory(monkeypatch):
    recognizer = ocr._engine().text_rec
    network = recognizer.session._network
    asked = []

    def watched(lines):
        asked.append(lines.shape)
        return network(lines)

    texts = [(20, 20, "Save"), (20, 70, "Opening hours on every Sunday of the year")]
    page = draw(texts, width=900)
    monkeypatch.setattr(recognizer, "session", network)
    plain = read_lines(page)
    monkeypatch.setattr(recognizer, "session", ocr._LineNetwork(watched))
    first, again = read_lines(page), read_lines(page)
    assert len(asked) == len(plain) >= 2
    assert first == again
    for one, other in zip(plain, first, strict=True):
        assert (one.text, one.box, one.words) == (other.text, other.box, other.words)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)


def test_lines_of_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(ocr, "_KNOWN_LINES", 2)
    asked = []

    def network(lines):
        asked.append(int(lines[0, 0, 0, 0]))
        return np.full((1, 4, 3), [0.1, 0.7, 0.2], np.float32)

    remembered = ocr._LineNetwork(network)
    for number in (1, 2, 1, 3, 1, 2):
        output = remembered(np.full((1, 3, 8, 8), number, np.float32))
        assert output.argmax(axis=2).tolist() == [[1, 1, 1, 1]]
        assert output.max(axis=2) == pytest.approx(0.7)
    assert asked == [1, 2, 3, 2]


def test_an_enlarged_reading_has_boxes_of_the_picture_as_given():
    page = draw([(40, 30, "Opening hours"), (300, 120, "Contact us")])
    plain, enlarged = read_lines(page), read_lines(page, scale=2.0, tile_pixels=2_000_000)
    assert [line.text for line in enlarged] == [line.text for line in plain]
    for a, b in zip(plain, enlarged, strict=True):
        assert abs(a.box.left - b.box.left) < 8
        assert abs(a.box.bottom - b.box.bottom) < 8
        assert abs(a.words[-1].box.right - b.words[-1].box.right) < 10


def test_characters_of_scripts_without_spaces_are_words_as_pages_have_them(tmp_path):
    """The engine reads Chinese character by character; a gap or a space ends a word."""
    text = "添加 记录删除3条"
    places = (0, 20, 60, 80, 160, 180, 200, 210)
    characters = [
        [one, [left, 0, left + 18, 20]] for one, left in zip("添加记录删除3条", places, strict=True)
    ]
    content = {"reader": "x", "lines": [[text, [0, 0, 230, 20], 0.9, characters]]}
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "abc.json").write_text(json.dumps(content))
    (line,) = KeptReadings(tmp_path, "x").lines("abc", list)
    assert [word.text for word in line.words] == ["添加", "记录", "删除3条"]
    assert line.words[0].box == PixelBox(0, 0, 38, 20)
