import asyncio
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from uiproof.benchmarks.grounding.grounders import candidates, readings
from uiproof.benchmarks.grounding.grounders.base import Picture
from uiproof.benchmarks.grounding.grounders.candidates import Screen, look_at
from uiproof.benchmarks.grounding.grounders.choosing import choose
from uiproof.benchmarks.grounding.grounders.instructions import understand
from uiproof.benchmarks.grounding.grounders.ocr import OcrGrounder
from uiproof.benchmarks.grounding.grounders.sheets import find_cell
from uiproof.boxes import Box, PixelBox
from uiproof.engine.context import Context
from uiproof.vision import images
from uiproof.vision.ocr import OcrLine

WIDTH, HEIGHT = 640, 360
BUTTONS = {"Save": (40, 300, 130, 336), "Cancel": (160, 300, 250, 336)}
FIELD = (180, 40, 420, 72)
TICK = (40, 120, 56, 136)
OPEN_LINKS = [(500, 60), (500, 140), (500, 220)]


def form():
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(page)
    font = ImageFont.load_default(18)
    for text, box in BUTTONS.items():
        pen.rectangle(box, fill="#e4e7eb", outline="#888888")
        pen.text((box[0] + 14, box[1] + 6), text, font=font, fill="black")
    pen.text((40, 46), "Email address", font=font, fill="black")
    pen.rectangle(FIELD, outline="#888888")
    pen.rectangle(TICK, outline="#444444", width=2)
    pen.text((68, 117), "Send copies", font=font, fill="black")
    for x, y in OPEN_LINKS:
        pen.text((x, y), "Open", font=font, fill="#1558b8")
    return np.array(page)


@pytest.fixture(scope="module")
def screen():
    rgb = form()
    return look_at(rgb, candidates.read(rgb))


def clicked(screen, instruction):
    choice = choose(screen, understand(instruction))
    return None if choice is None else choice.point


def inside(point, box):
    left, top, right, bottom = box
    return point is not None and left <= point[0] <= right and top <= point[1] <= bottom


def test_a_button_is_found_by_its_words_with_its_frame(screen):
    choice = choose(screen, understand("Click on the 'Save' button"))
    assert inside(choice.point, BUTTONS["Save"])
    left, top, right, bottom = BUTTONS["Save"]
    box = choice.box
    for found, drawn in zip(
        (box.left, box.top, box.right, box.bottom), BUTTONS["Save"], strict=True
    ):
        assert abs(found - drawn) <= 4, (box, (left, top, right, bottom))
    assert choice.confidence > 0.9


def test_words_without_quotes_and_with_slips_are_found_too(screen):
    assert inside(clicked(screen, "click cancel"), BUTTONS["Cancel"])
    assert inside(clicked(screen, "Click on the 'Cancle' button"), BUTTONS["Cancel"])


def test_a_label_stands_for_the_field_after_it(screen):
    assert inside(clicked(screen, "Click on the Email address text field"), FIELD)
    assert inside(clicked(screen, "Click the field to the right of 'Email address'"), FIELD)
    # The text itself is meant when it is called a text.
    assert clicked(screen, "Click on the text 'Email address'")[0] < FIELD[0]


def test_a_label_stands_for_the_box_to_tick_before_it(screen):
    around = (TICK[0] - 2, TICK[1] - 2, TICK[2] + 2, TICK[3] + 2)
    assert inside(clicked(screen, "Click on the 'Send copies' checkbox"), around)
    assert inside(clicked(screen, "Click the checkbox to the left of 'Send copies'"), around)
    assert inside(clicked(screen, "Uncheck Send copies"), around)


@pytest.mark.parametrize(
    ("instruction", "which"),
    [
        ("Click on the first 'Open' link from the top", 0),
        ("Click on the second 'Open' link from the top", 1),
        ("Click on the bottom-most 'Open' link", 2),
        ("Click on the second 'Open' link from the bottom", 1),
        ("Click on the last 'Open' link", 2),
        ("Click on the 'Open' link at the bottom of the page", 2),
    ],
)
def test_places_and_ordinals_tell_equal_words_apart(screen, instruction, which):
    x, y = OPEN_LINKS[which]
    assert inside(clicked(screen, instruction), (x, y, x + 60, y + 28))


def test_one_of_several_equal_ones_is_a_less_sure_guess(screen):
    unclear = choose(screen, understand("Click on the 'Open' link"))
    clear = choose(screen, understand("Click on the third 'Open' link from the top"))
    assert unclear.confidence < 0.6 < clear.confidence


@pytest.mark.parametrize(
    "instruction",
    ["Click on the 'Publish' button", "Click on the printer icon", "", "Click on the button"],
)
def test_what_is_not_there_is_refused(screen, instruction):
    assert choose(screen, understand(instruction)) is None


def written(*lines):
    """A screen with these lines and nothing else."""
    return Screen(
        1000, 800, tuple(OcrLine(text, PixelBox(*box), 0.99) for text, box in lines), (), ()
    )


def test_a_whole_line_is_better_than_a_part_of_one():
    screen = written(("File Size in KB", (100, 100, 260, 120)), ("Size", (700, 100, 740, 120)))
    assert clicked(screen, "Click on 'Size'") == (720, 110)


def test_words_inside_a_line_have_their_own_place():
    screen = written(("File Edit View Help", (100, 100, 290, 120)))
    x, y = clicked(screen, "Click on 'Help'")
    assert 245 <= x <= 290
    assert y == 110


def test_words_that_were_read_as_one_are_still_found():
    screen = written(("SelectAll", (100, 100, 190, 120)), ("All", (400, 100, 430, 120)))
    assert clicked(screen, "Choose 'Select All'") == (145, 110)


def test_letters_inside_of_words_are_not_what_is_meant():
    screen = written(("Information", (100, 100, 220, 120)))
    assert clicked(screen, "Click on 'for'") is None
    assert clicked(screen, "Click on 'o'") is None


def test_a_neighbour_decides_between_equal_words():
    screen = written(
        ("Width", (100, 100, 150, 120)),
        ("px", (300, 100, 320, 120)),
        ("Height", (100, 500, 160, 520)),
        ("px", (300, 500, 320, 520)),
    )
    assert clicked(screen, "Click on 'px' next to 'Height'") == (310, 510)
    assert clicked(screen, "Click on 'px' to the right of 'Width'") == (310, 110)


def test_a_menu_item_is_found_by_its_words_in_another_order():
    screen = written(
        ("Restore From Trash", (100, 100, 260, 120)), ("Restore", (700, 100, 760, 120))
    )
    assert clicked(screen, "Restore this image from the trash") == (180, 110)


def test_a_close_icon_is_a_cross():
    screen = written(("×", (900, 10, 916, 26)), ("Report", (100, 10, 160, 26)))
    assert clicked(screen, "Close the window") == (908, 18)


def test_a_cell_is_where_its_column_and_row_meet():
    columns = [
        OcrLine(letter, PixelBox(100 + 80 * i, 50, 110 + 80 * i, 66), 0.99)
        for i, letter in enumerate("ABDE")
    ]
    # One row was not read, and a number of the content stands elsewhere.
    rows = [OcrLine(str(n), PixelBox(20, 60 + 20 * n, 30, 74 + 20 * n), 0.99) for n in (1, 2, 4, 5)]
    content = [OcrLine("7", PixelBox(190, 82, 200, 94), 0.99)]
    box = find_cell([*columns, *rows, *content], "B", 3)
    assert box.left < 185 < box.right
    assert box.top < 127 < box.bottom
    assert find_cell([*columns, *rows], "B", 500) is None
    assert find_cell(content, "B", 3) is None


def ground(grounder, picture, *instructions):
    async def ask():
        context = Context("case")
        return await asyncio.gather(
            *(grounder.ground(picture, text, context) for text in instructions)
        )

    return asyncio.run(ask())


@pytest.fixture
def reads(monkeypatch):
    """How often pictures were really read."""
    sizes = []

    def count(rgb):
        sizes.append(rgb.shape)
        return candidates.read(rgb)

    monkeypatch.setattr(readings, "read", count)
    return sizes


def test_a_picture_is_read_once_for_all_instructions_and_later_runs(tmp_path, reads):
    path = tmp_path / "form.png"
    path.write_bytes(images.encode_png(form()))
    texts = ("Click on the 'Save' button", "Click on the 'Cancel' button", "Click on 'Nowhere'")
    first = ground(OcrGrounder(cache_dir=tmp_path / "cache"), Picture.open(path), *texts)
    save, cancel, nowhere = first
    assert inside((save.point[0] * WIDTH, save.point[1] * HEIGHT), BUTTONS["Save"])
    assert inside((cancel.point[0] * WIDTH, cancel.point[1] * HEIGHT), BUTTONS["Cancel"])
    assert nowhere.refused
    assert nowhere.click is None
    assert save.raw == "Save"
    copy = tmp_path / "copy.png"
    copy.write_bytes(path.read_bytes())
    again = ground(OcrGrounder(cache_dir=tmp_path / "cache"), Picture.open(copy), *texts)
    assert again == first
    assert len(reads) == 1


def test_a_damaged_or_foreign_reading_is_made_anew(tmp_path, reads):
    rgb = np.full((64, 120, 3), 255, np.uint8)
    rgb[0, 0] = 0
    picture = Picture.of(images.encode_png(rgb))
    ground(OcrGrounder(cache_dir=tmp_path), picture, "Click")
    (file,) = (tmp_path / "ocr").rglob("*.json")
    for content in (b"{", b"[]", json.dumps({"reader": "another", "lines": []}).encode()):
        file.write_bytes(content)
        ground(OcrGrounder(cache_dir=tmp_path), picture, "Click")
    assert len(reads) == 4
    assert json.loads(file.read_bytes())["reader"] == readings.reader_name()


def test_a_guess_on_a_part_is_in_fractions_of_the_part(tmp_path):
    part = Picture.of(images.encode_png(form())).crop(Box(0, 0.75, 0.5, 0.25), scale=2)
    (guess,) = ground(OcrGrounder(cache_dir=tmp_path), part, "Click on the 'Cancel' button")
    x, y = part.to_whole(guess.click)
    assert inside((x * WIDTH, y * HEIGHT), BUTTONS["Cancel"])


def test_a_picture_that_cannot_be_read_fails_every_time(tmp_path):
    grounder = OcrGrounder(cache_dir=tmp_path)
    picture = Picture.of(b"no picture")
    for _ in range(2):
        with pytest.raises(Exception, match="cannot"):
            ground(grounder, picture, "Click")
