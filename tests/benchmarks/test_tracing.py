import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from PIL import Image, ImageDraw, ImageFont

from uiproof.benchmarks.tracing import trace as trace_with
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine, read_lines


def trace(page, lines):
    return trace_with(page, lines, lambda _: "rick.jpg")


def styles(tag):
    return dict(part.split(": ", 1) for part in tag["style"].split("; "))


def place(tag):
    style = styles(tag)
    return tuple(int(style[name][:-2]) for name in ("left", "top", "width", "height"))


def write(page, left, top, text, size, ink):
    """Draw a line of text and say what OCR would say about it."""
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(size)
    pen.text((left, top), text, font=font, fill=ink)
    x0, y0, x1, y1 = (round(value) for value in pen.textbbox((left, top), text, font=font))
    return OcrLine(text, PixelBox(x0 - 4, y0 - 4, x1 + 4, y1 + 4), 0.99)


def test_a_drawn_page_comes_back_with_its_text_its_colours_and_its_size():
    page = Image.new("RGB", (800, 500), "#f5f5f5")
    pen = ImageDraw.Draw(page)
    pen.rectangle((0, 0, 799, 59), fill="#123456")
    pen.rectangle((60, 120, 359, 299), fill="#ffffff", outline="#999999")
    write(page, 30, 18, "Weather today", 24, "#ffffff")
    write(page, 90, 180, "Sunny and warm", 20, "#b00020")
    lines = read_lines(np.array(page))
    html = trace(np.array(page), lines)
    soup = BeautifulSoup(html, "html.parser")
    texts = {tag.text: styles(tag) for tag in soup.find_all("p")}
    assert set(texts) == {"Weather today", "Sunny and warm"}
    assert texts["Weather today"]["color"] == "#ffffff"
    assert texts["Sunny and warm"]["color"] == "#b00020"
    assert abs(int(texts["Sunny and warm"]["left"][:-2]) - 90) <= 6
    shapes = {place(tag): styles(tag) for tag in soup.find_all("div")}
    assert shapes[(0, 0, 800, 60)]["background"] == "#123456"
    assert shapes[(60, 120, 300, 180)]["background"] == "#999999"  # the border, painted over …
    assert shapes[(61, 121, 298, 178)]["background"] == "#ffffff"  # … by what is inside it
    assert "width: 800px; height: 500px" in html
    assert "background: #f5f5f5" in html
    assert trace(np.array(page), lines) == html


def test_type_sizes_are_close_to_those_drawn():
    page = Image.new("RGB", (700, 300), "white")
    lines = [
        write(page, 20, 20, "A heading of some length", 36, "black"),
        write(page, 20, 120, "Body text that is a good deal smaller than that", 16, "black"),
    ]
    html = trace(np.array(page), lines)
    sizes = [float(size) for size in re.findall(r"font: (?:bold )?([\d.]+)px", html)]
    assert sizes == pytest.approx([36, 16], rel=0.3)


def test_hostile_text_stays_text():
    page = Image.new("RGB", (600, 80), "white")
    line = write(page, 10, 20, '<script>alert(1)</script> & "quotes"', 20, "black")
    html = trace(np.array(page), [line])
    soup = BeautifulSoup(html, "html.parser")
    assert soup.find("script") is None
    assert "&lt;script&gt;" in html
    assert soup.find("p").text.startswith("<script>")


def test_a_textured_area_becomes_the_placeholder_picture():
    page = np.full((300, 400, 3), 255, np.uint8)
    page[50:200, 100:300] = np.random.default_rng(0).integers(0, 256, (150, 200, 3))
    soup = BeautifulSoup(trace(page, []), "html.parser")
    (image,) = soup.find_all("img")
    assert image["src"] == "rick.jpg"
    assert np.abs(np.subtract(place(image), (100, 50, 200, 150))).max() <= 2


@pytest.mark.parametrize("size", [(1, 1), (720, 1280), (9000, 64), (2, 2000)])
def test_a_blank_picture_gives_an_empty_page_of_its_size_and_colour(size):
    html = trace(np.full((*size, 3), (10, 20, 30), np.uint8), [])
    body = BeautifulSoup(html, "html.parser").body
    assert body.find_all() == []
    assert f"width: {size[1]}px; height: {size[0]}px" in html
    assert "#0a141e" in html


def test_a_reading_where_there_is_no_ink_is_left_out():
    page = np.full((100, 200, 3), 255, np.uint8)
    assert "<p" not in trace(page, [OcrLine("ghost", PixelBox(10, 10, 90, 40), 0.6)])


@pytest.mark.parametrize("seed", range(40))
def test_any_picture_with_any_readings_gives_a_page(seed):
    random = np.random.default_rng(seed)
    height, width, colours = (int(random.integers(1, limit)) for limit in (90, 160, 5))
    palette = random.integers(0, 256, (colours, 3), dtype=np.uint8)
    page = palette[random.integers(0, colours, (height, width))]
    texts = ["a", "$1 b c", "漢字 text", "....", "A B C D E F", "|||||| ll", "٣ عربى", "word " * 9]
    lines = []
    for text in random.permutation(texts)[: random.integers(0, 6)]:
        left, top = int(random.integers(0, width)), int(random.integers(0, height))
        right = int(random.integers(left + 1, width + 1))
        bottom = int(random.integers(top + 1, height + 1))
        lines.append(OcrLine(str(text).strip(), PixelBox(left, top, right, bottom), 0.9))
    assert trace(page, lines).endswith("</html>\n")
