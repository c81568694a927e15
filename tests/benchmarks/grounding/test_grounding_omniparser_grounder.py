"""OmniParser and its selectors, against real servers on loopback."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from omniparser_server import OmniParserServer
from PIL import Image

from provider_servers import ProviderServer
from uiproof.benchmarks.grounding.grounders import Detection
from uiproof.benchmarks.grounding.methods import make_search
from uiproof.benchmarks.grounding.omniparser import SKIPPED, OmniParser, OmniParserGrounder
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.engine.context import Context
from uiproof.errors import ModelError
from uiproof.geometry import Box
from uiproof.models.chat import connect


def element(kind, box, content, source="box_ocr_content_ocr"):
    """An element as the server lists it."""
    return {
        "type": kind,
        "bbox": box,
        "interactivity": kind == "icon",
        "content": content,
        "source": source,
    }


PAGE = [
    element("text", [0.05, 0.02, 0.10, 0.05], "File"),
    element("text", [0.11, 0.02, 0.16, 0.05], "Edit"),
    element("text", [0.40, 0.50, 0.60, 0.54], "Save your changes"),
    element("icon", [0.42, 0.60, 0.50, 0.66], "Save", "box_yolo_content_ocr"),
    element("icon", [0.52, 0.60, 0.60, 0.66], "Cancel", "box_yolo_content_ocr"),
    element("icon", [0.90, 0.02, 0.94, 0.06], "A magnifying glass", "box_yolo_content_yolo"),
    element("icon", [0.95, 0.02, 0.99, 0.06], None, "box_yolo_content_yolo"),
    element("text", [0.10, 0.80, 0.16, 0.83], "Open"),
    element("text", [0.80, 0.80, 0.86, 0.83], "Open"),
]


class ListingServer(OmniParserServer):
    """Answers with `elements`, or fails if they are None."""

    def __init__(self):
        super().__init__()
        self.elements, self.sizes = PAGE, []

    def parse(self, content):
        self.sizes.append(Image.open(io.BytesIO(content)).size)
        if self.elements is None:
            return 500, {"detail": "Internal Server Error"}
        return 200, {"parsed_content_list": self.elements, "latency": 0.1}


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """All tests share the servers and their models, because these take a second to start."""
    with (
        ListingServer() as parsing,
        ProviderServer() as choosing,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        parser = connect(f"omniparser:{parsing.url}")
        selector = connect(f"compatible:{choosing.base_url('openai')}#mini")
        yield parsing, choosing, parser, selector, loop
        loop.run(parser.close())
        loop.run(selector.close())


@pytest.fixture
def parsing(connected):
    server = connected[0]
    server.elements = PAGE
    server.sizes.clear()
    return server


numbers = iter(range(1000))


def screenshot(size=(1000, 600)):
    """Never the same one twice: answers about known pictures come from the cache."""
    content, number = io.BytesIO(), next(numbers)
    Image.new("RGB", size, (number % 256, number // 256, 7)).save(content, "PNG")
    return Picture.of(content.getvalue())


@pytest.fixture
def parse(connected, parsing):
    """What the parser makes of elements."""
    model, loop = connected[2], connected[4]

    def parsed(elements):
        parsing.elements, context = elements, Context("case")
        return loop.run(OmniParser(model).parse(screenshot(), context)), context

    return parsed


@pytest.fixture
def ground(connected, parsing):
    _, choosing, model, selector, loop = connected

    def guess(instruction, *, answer=None, elements=PAGE):
        parsing.elements = elements
        choosing.log.clear()
        choosing.answer = answer or ""
        grounder = OmniParserGrounder(OmniParser(model), None if answer is None else selector)
        context = Context("case")
        return loop.run(grounder.ground(screenshot(), instruction, context)), context

    return guess


def inside(guess, item):
    left, top, right, bottom = item["bbox"]
    x, y = guess.click
    return left <= x <= right and top <= y <= bottom


def test_elements_come_with_their_boxes_texts_and_kinds(parse):
    seen, context = parse(PAGE)
    assert len(seen) == len(PAGE)
    assert seen[3].box == Box(0.42, 0.60, pytest.approx(0.08), pytest.approx(0.06))
    assert (seen[3].text, seen[3].kind) == ("Save", "icon")
    assert (seen[0].text, seen[0].kind) == ("File", "text")
    assert seen[6].text == ""
    assert not context.flags
    assert context.calls[0]["elements"] == 9


def test_boxes_that_stick_out_a_little_are_cut_off_and_counted(parse):
    seen, context = parse([element("text", [-0.01, 0.5, 0.2, 1.004], "edge")])
    assert seen == (Detection(Box(0.0, 0.5, 0.2, 0.5), "edge"),)
    assert (context.calls[0]["clipped"], context.calls[0]["skipped"]) == (1, 0)
    assert not context.flags


@pytest.mark.parametrize(
    "nonsense",
    [
        element("text", [100, 200, 300, 400], "pixels"),
        element("text", [0.5, 0.5, 0.4, 0.6], "swapped"),
        element("text", [0.5, 0.5, 0.5, 0.6], "empty"),
        element("text", [1.01, 0.5, 1.04, 0.6], "outside"),
        element("text", [0.1, 0.2, 0.3], "short"),
        element("text", ["0.1", 0.2, 0.3, 0.4], "text"),
        element("text", [True, False, True, True], "flags"),
        element("text", None, "nothing"),
        {"content": "no box"},
        "not even an element",
        None,
    ],
)
def test_boxes_that_are_none_are_skipped_and_said_so(parse, nonsense):
    seen, context = parse([PAGE[0], nonsense, PAGE[1]])
    assert [one.text for one in seen] == ["File", "Edit"]
    assert context.calls[0]["skipped"] == 1
    assert context.flags == [SKIPPED]


def test_a_picture_is_parsed_once_for_all_its_elements(connected, parsing):
    loop = connected[4]
    parser, picture = OmniParser(connected[2]), screenshot()

    async def all_at_once():
        contexts = [Context(str(number)) for number in range(20)]
        await asyncio.gather(*(parser.parse(picture, context) for context in contexts))
        await parser.parse(picture, contexts[0])
        return [call["cached"] for context in contexts for call in context.calls]

    cached = loop.run(all_at_once())
    assert len(parsing.sizes) == 1
    assert len(cached) == 21
    assert cached.count(False) == 1  # who asked; the others have cost nothing

    loop.run(parser.parse(picture.crop(Box(0, 0, 0.5, 0.5), scale=2), Context("part")))
    assert parsing.sizes[1:] == [(1000, 600)]
    loop.run(parser.parse(picture, Context("again", ask_again=True)))
    assert len(parsing.sizes) == 3


def test_a_server_error_is_an_error_and_is_not_kept(connected, parsing):
    loop, parser, picture = connected[4], OmniParser(connected[2]), screenshot()
    parsing.elements = None  # as with pictures without text
    with pytest.raises(ModelError):
        loop.run(parser.parse(picture, Context("case")))
    parsing.elements = PAGE
    assert len(loop.run(parser.parse(picture, Context("case")))) == 9


def test_who_stops_waiting_does_not_stop_the_others(connected, parsing):
    loop, parser, picture = connected[4], OmniParser(connected[2]), screenshot()

    async def first_gives_up():
        impatient = asyncio.create_task(parser.parse(picture, Context("a")))
        patient = asyncio.create_task(parser.parse(picture, Context("b")))
        await asyncio.sleep(0)
        impatient.cancel()
        return len(await patient)

    assert loop.run(first_gives_up()) == 9


@pytest.mark.parametrize(
    ("instruction", "index"),
    [
        ("Click on the 'Save' button", 3),
        ("Click on 'Edit'", 1),
        ("Click on the Cancel button", 4),
        ("Click on the magnifying glass icon", 5),
        ("Click on the text 'Save your changes'", 2),
        ("Click on 'Open' on the right", 8),
        ("Click on 'Open' on the left", 7),
    ],
)
def test_without_a_model_the_element_is_picked_by_the_instruction(ground, instruction, index):
    guess, _ = ground(instruction)
    assert inside(guess, PAGE[index])
    assert 0 < guess.confidence <= 1


def test_an_icon_is_clicked_in_its_middle_wherever_its_description_matches(ground):
    guess, _ = ground("Click on the magnifying icon")
    assert guess.click == pytest.approx((0.92, 0.04))


def test_what_is_not_in_the_list_is_refused(ground):
    guess, _ = ground("Click on the 'Unsubscribe' link")
    assert guess.refused
    guess, _ = ground("Click on 'File'", elements=[])
    assert guess.refused


def test_a_model_sees_the_picture_and_the_numbered_list(ground, connected):
    guess, context = ground("Store it {elements}", answer='{"element": 4}')
    assert inside(guess, PAGE[3])
    asked = connected[1].log[0]
    assert len(asked.images) == 1
    assert "Store it {elements}" in asked.prompt
    assert '4. icon "Save" at 46.0%, 63.0%' in asked.prompt
    assert "7. icon no text at 97.0%, 4.0%" in asked.prompt
    assert len(context.calls) == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("4", "picked"),
        ("It says Save.\n**4**", "picked"),
        ('<think>3 or 4?</think> {"element": 4}', "picked"),
        ('{"element": "4"}', "picked"),
        ('{"element": null}', "refused"),
        ("None of them is it: not found", "refused"),
        ('{"element": 10}', "unparseable"),  # there are nine
        ('{"element": 0}', "unparseable"),
        ('{"element": -4}', "unparseable"),
        ('{"element": 4.5}', "unparseable"),
        ("The one that says Save", "unparseable"),
        ("I see 4 elements there", "unparseable"),
        (" ", "unparseable"),
    ],
)
def test_a_model_s_answer_is_a_number_of_the_list_or_none(ground, answer, kind):
    guess, _ = ground("Click on Save", answer=answer)
    assert guess.refused == (kind == "refused")
    assert guess.unparseable == (kind == "unparseable")
    assert (guess.click is not None and inside(guess, PAGE[3])) == (kind == "picked")
    assert guess.raw == answer


def test_it_composes_with_a_search(connected, parsing):
    model, loop = connected[2], connected[4]
    parsing.elements = [element("text", [0.45, 0.45, 0.55, 0.55], "Save")]
    grounder, context = OmniParserGrounder(OmniParser(model)), Context("case")
    search = make_search("reground", connect)
    answer = loop.run(search.find(screenshot((2000, 1600)), "Click 'Save'", grounder, context))
    assert answer.click == pytest.approx((0.5, 0.5))
    assert parsing.sizes == [(2000, 1600), (1024, 1024)]
    assert answer.box.w == pytest.approx(0.1 * 1024 / 2000, abs=0.002)


def test_names_and_settings_say_who_selects(connected):
    _, _, model, selector, _ = connected
    plain = OmniParserGrounder(OmniParser(model))
    asking = OmniParserGrounder(OmniParser(model), selector)
    assert plain.name == "omniparser"
    assert asking.name == f"omniparser+{selector.name}"
    assert plain.settings["selector"] == "words"
    assert asking.settings["selector"]["prompt_digest"]
    assert json.dumps(dict(asking.settings))
