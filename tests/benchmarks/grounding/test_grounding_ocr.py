import asyncio
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from uiproof.benchmarks.grounding import ocr
from uiproof.benchmarks.grounding.ocr import (
    OcrGrounder,
    ScreenText,
    choose,
    named_sides,
    read_screen,
    understand,
)
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.engine.context import Context
from uiproof.geometry import Box, PixelBox
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
    return ScreenText(read_screen(form()), WIDTH, HEIGHT)


def clicked(screen, instruction):
    choice = choose(screen, instruction)
    if choice is None:
        return None
    x, y = choice.point
    return round(x * screen.width, 6), round(y * screen.height, 6)


def inside(point, box):
    left, top, right, bottom = box
    return point is not None and left <= point[0] <= right and top <= point[1] <= bottom


def test_a_button_is_found_by_its_words(screen):
    choice = choose(screen, "Click on the 'Save' button")
    assert inside((choice.point[0] * WIDTH, choice.point[1] * HEIGHT), BUTTONS["Save"])
    assert inside((choice.box.x * WIDTH, choice.box.y * HEIGHT), BUTTONS["Save"])
    assert choice.confidence > 0.9


def test_words_without_quotes_and_with_slips_are_found_too(screen):
    assert inside(clicked(screen, "click cancel"), BUTTONS["Cancel"])
    assert inside(clicked(screen, "Click on the 'Cancle' button"), BUTTONS["Cancel"])


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
    unclear = choose(screen, "Click on the 'Open' link")
    clear = choose(screen, "Click on the third 'Open' link from the top")
    assert unclear.confidence < 0.6 < clear.confidence


@pytest.mark.parametrize(
    "instruction",
    ["Click on the 'Publish' button", "Click on the printer icon", "", "Click on the button"],
)
def test_what_is_not_there_is_refused(screen, instruction):
    assert choose(screen, instruction) is None


def written(*lines):
    """A screen with these lines and nothing else."""
    return ScreenText([OcrLine(text, PixelBox(*box), 0.99) for text, box in lines], 1000, 800)


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


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("Click the “Learn more” link.", "Learn more"),
        ('Select "No. 9"', "No. 9"),
        ("Click on the text 'It's done'", "It's done"),
        ("Press the button labeled 'Go'", "Go"),
        ("Click on the Email text field", "Email"),
        ("Please open the Release notes link", "Release notes"),
        ("Sort the files according to the size", "size"),
    ],
)
def test_quotes_and_runs_of_words_may_name_the_target(instruction, name):
    assert name in dict(understand(instruction).names)


def test_more_of_the_words_weigh_more_and_words_about_controls_nothing():
    weights = dict(understand("Click on the Email address button").names)
    assert weights["Email address"] > weights["Email"]
    assert not {"Click", "the", "button"} & set(weights)
    weights = dict(understand("Click 'Edit' to change 'Name'").names)
    assert weights["Edit"] > weights["Name"]


@pytest.mark.parametrize(
    ("instruction", "rank"),
    [
        ("Click on the second 'Open' link from the top", (1, 1)),
        ("Click on the third 'Open' link from the left", (2, 0)),
        ("Click on the second 'Open' link from the bottom", (-2, 1)),
        ("Click on the left-most 'Save' button", (0, 0)),
        ("Click on the bottommost 'Save' button", (-1, 1)),
        ("Click on the last 'Delete' button", (-1, None)),
        ("Click on the 'First name' field", None),
    ],
)
def test_ordinals_and_superlatives_tell_which_one_of_several(instruction, rank):
    assert understand(instruction).rank == rank


@pytest.mark.parametrize(
    ("instruction", "sides"),
    [
        ("Click the X button in the top right corner", {"top", "right"}),
        ("Click 'Zoom' in the lower-left corner of the screen", {"bottom", "left"}),
        ("Click on the 'Next' button at the bottom of the page", {"bottom"}),
        ("Click on the icon on the left side of the screen", {"left"}),
        ("Click on the second 'Open' link from the top", set()),
        ("Click on the 'Top left' button", set()),
        ("Click the checkbox to the left of 'Subtitles'", set()),
    ],
)
def test_corners_and_sides_are_parts_of_the_screen(instruction, sides):
    assert named_sides(instruction) == sides


@pytest.mark.parametrize(
    ("instruction", "relation", "name"),
    [
        ("Click the checkbox to the left of 'Subtitles'", "left", "Subtitles"),
        ("Click the + button next to the 'Rows' field", "near", "Rows"),
        ("Click the field below 'Name'", "below", "Name"),
        ("Click the arrow on the right side of 'Format'", "right", "Format"),
        ("Click the switch above 'Volume'", "above", "Volume"),
    ],
)
def test_prepositions_say_what_the_target_stands_beside(instruction, relation, name):
    target = understand(instruction)
    assert (target.relation, target.beside[0][0]) == (relation, name)


@pytest.mark.parametrize("instruction", ["", "   ", "...", "'", "click", "the of in", "🙂", "''"])
def test_nothing_said_is_nothing_wanted_rather_than_an_error(instruction):
    assert not [name for name, weight in understand(instruction).names if weight > 0.96]


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
        return read_screen(rgb)

    monkeypatch.setattr(ocr, "read_screen", count)
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
    assert json.loads(file.read_bytes())["reader"] == ocr.reader_name()


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
