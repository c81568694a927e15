"""Which element of a generated page an interaction is about, on real pages."""

from __future__ import annotations

import pytest

from uiproof.benchmarks.interaction2code.judging.triggers import (
    TriggerQuery,
    find_trigger,
    same_element,
)
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord

WINDOW = (800, 600)


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as one:
        yield one


@pytest.fixture
def find(renderer):
    def found(body, number="1", kind="click", form="all", trigger=None, name=None, first=None):
        page = PageSource.from_html(f"<!doctype html><body style='margin:0'>{body}")
        with renderer.stage(page, WINDOW) as stage:
            wanted = TriggerQuery(number, Action(kind), form, trigger, WINDOW, name, lambda: first)
            return find_trigger(stage, stage.snapshot(), wanted)

    return found


@pytest.mark.parametrize(
    "spelled",
    [
        *("interact3", "interact-3", "interact_3", "Interact3", "interact 3", "interaction-3"),
        *("interact-03", "INTERACT_003"),
    ],
)
def test_ids_are_found_however_they_are_spelled(find, spelled):
    found = find(f'<button id=interact31>no</button><button id="{spelled}">yes</button>', "3")
    assert (found.by, found.element.label) == ("id", "yes")


def test_a_page_for_all_interactions_must_number_them(find):
    page = "<button id=interact1>one</button><button id=interact2>two</button>"
    assert find(page, "2").element.label == "two"
    assert find(page, "3") is None


def test_a_page_for_one_interaction_calls_it_one(find):
    assert find("<button id=interact1>it</button>", "7", form="single").element.label == "it"
    both = "<button id=interact1>a</button><button id=interact7>b</button>"
    assert find(both, "7", form="single").element.label == "b"


def test_of_several_numbers_on_a_page_for_one_interaction_the_nearest_counts(find):
    page = (
        "<button id=interact1 style='position:absolute;left:0;top:0'>far</button>"
        "<button id=interact2 style='position:absolute;left:500px;top:300px'>near</button>"
    )
    found = find(page, "4", form="single", trigger=PixelBox(500, 290, 560, 330))
    assert found.element.label == "near"


def test_the_element_of_another_interaction_is_not_taken_for_a_missing_one(find):
    other = "<button id=interact{} style='position:absolute;left:0;top:0'>other</button>"
    mark = PixelBox(500, 290, 560, 330)
    assert find(other.format(2), "1", form="single", trigger=mark) is None
    several = other.format(1) + "<button id=interact3>third</button>"
    assert find(several, "2", form="single", trigger=mark) is None
    place = PixelBox(0, 0, 50, 22)
    assert find(other.format(1), "2", form="single", trigger=mark, first=place) is None
    assert find(other.format(1), "2", form="single", trigger=mark).by == "id"


def test_the_same_words_far_away_are_another_element(find):
    page = "<a style='position:absolute;left:10px;top:2000px'>Log in</a>"
    assert find(page, name="Log in", trigger=PixelBox(700, 10, 760, 40)) is None
    assert find(page, name="Log in", trigger=PixelBox(10, 1990, 70, 2020)).by == "text"


def test_an_element_that_cannot_be_seen_is_found_without_area(find):
    found = find("<button id=interact1 style='display:none'>gone</button>")
    assert found.by == "id"
    assert found.element.box.width == found.element.box.height == 0


def test_without_an_id_the_name_in_the_sentence_finds_it(find):
    page = "<nav><a href=#>Home</a> <a href=#>Log in</a></nav><p>Log in to see more</p>"
    found = find(page, name="log in")
    assert (found.by, found.element.tag, found.element.label) == ("text", "a", "Log in")


def test_of_several_with_one_name_the_nearest_to_the_mark_is_taken(find):
    page = "".join(
        f"<button style='position:absolute;left:10px;top:{top}px'>More</button>"
        for top in (10, 200, 400)
    )
    found = find(page, name="More", trigger=PixelBox(5, 395, 80, 430))
    assert found.element.box.top == 400


def test_without_id_and_name_the_place_finds_it(find):
    page = (
        "<div style='position:absolute;left:0;top:0;width:800px;height:600px'>page</div>"
        "<button style='position:absolute;left:300px;top:200px;width:90px;height:40px'>X</button>"
    )
    found = find(page, trigger=PixelBox(295, 195, 395, 245))
    assert (found.by, found.element.tag) == ("position", "button")


def test_nothing_like_it_is_not_found(find):
    page = "<div style='width:800px;height:600px'>a large surface</div>"
    assert find(page, trigger=PixelBox(300, 200, 340, 220), name="Settings") is None


def test_typing_into_a_wrapper_goes_to_its_field(find):
    page = "<div id=interact1><button>Clear</button><input type=checkbox><input></div>"
    found = find(page, kind="type")
    assert (found.element.tag, found.element.type) == ("input", "text")


def test_selecting_in_a_wrapper_goes_to_its_list(find):
    page = "<label id=interact1>Size <select><option>S<option>M</select></label>"
    assert find(page, kind="select").element.tag == "select"


def test_an_option_stands_for_its_list(find):
    page = "<select><option>S<option id=interact1>M</select>"
    assert find(page, kind="select").element.tag == "select"


def test_clicking_a_wrapper_that_does_nothing_goes_to_the_one_control_in_it(find):
    assert find("<div id=interact1><p>Buy it</p><button>Buy</button></div>").element.tag == "button"
    two = "<div id=interact1><button>Buy</button><button>Sell</button></div>"
    assert find(two).element.tag == "div"
    own = "<div id=interact1 onclick='1'><p>Buy it</p><button>Buy</button></div>"
    assert find(own).element.tag == "div"


def test_a_hidden_check_box_stands_for_its_label(find):
    page = (
        "<label style='display:block;width:60px;height:30px;background:#ccc'>"
        "<input type=checkbox id=interact1 style='opacity:0;width:0;height:0'></label>"
    )
    assert find(page).element.tag == "label"
    apart = (
        "<input type=checkbox id=interact1 style='display:none'><label for=interact1>Dark</label>"
    )
    assert find(apart).element.label == "Dark"


def test_an_element_is_found_again_when_its_page_is_loaded_again(renderer):
    page = PageSource.from_html("<p>one</p><button>two</button><p>three</p><button>four</button>")
    with renderer.stage(page, WINDOW) as first, renderer.stage(page, WINDOW) as second:
        four = next(one for one in first.snapshot().elements if one.text == "four")
        assert same_element(second.snapshot(), four).text == "four"


def line(text, left, top, width):
    box = PixelBox(left, top, left + width, top + 20)
    return OcrLine(text, box, 1.0, (OcrWord(text, box),))


def test_on_a_page_built_anew_the_texts_around_it_tell_which_heart_is_meant(renderer):
    """The sentence names the card, the heart itself has no name, and cards are laid out anew."""
    cards = "".join(
        f"<section style='height:90px;direction:rtl'><h2>{name}</h2><button>♡</button></section>"
        for name in ("Quay", "Barn", "Mill")
    )
    wanted = TriggerQuery(
        "1",
        Action("click"),
        "all",
        PixelBox(560, 40, 590, 70),
        WINDOW,
        "Barn",
        sentence='click the heart of the "Barn" card',
        tags=("button",),
        lines=lambda: [
            line("Quay", 40, 40, 60),
            line("Barn", 340, 40, 60),
            line("Mill", 640, 40, 60),
        ],
    )
    with renderer.stage(PageSource.from_html(f"<!doctype html>{cards}"), WINDOW) as stage:
        state = stage.snapshot()
        found = find_trigger(stage, state, wanted)
        hearts = [one for one in state.elements if one.tag == "button"]
    assert found.element.ref == hearts[1].ref


def test_the_sign_beside_a_name_is_meant_where_the_sentence_says_of(renderer):
    """The name is close to the sign, and the page has the sign in its coloured form."""
    rows = "".join(
        f"<tr style='height:40px'><td><span>▶\ufe0f</span></td><td>{name}</td></tr>"
        for name in ("Quay", "Barn", "Mill")
    )
    wanted = TriggerQuery(
        "1",
        Action("click"),
        "all",
        PixelBox(40, 78, 70, 102),
        WINDOW,
        "Barn",
        sentence='click the play button of "Barn"',
        tags=("button",),
        lines=lambda: [
            line(name, 90, 40 + 40 * row, 60) for row, name in enumerate(("Quay", "Barn", "Mill"))
        ],
    )
    page = PageSource.from_html(f"<!doctype html><table>{rows}</table>")
    with renderer.stage(page, WINDOW) as stage:
        state = stage.snapshot()
        found = find_trigger(stage, state, wanted)
        signs = [one for one in state.elements if one.tag == "span"]
    assert found.element.ref == signs[1].ref


def test_elements_in_a_shadow_root_are_found_without_an_id(find):
    page = (
        "<x-menu></x-menu><script>customElements.define('x-menu', class extends HTMLElement {"
        "connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML ="
        "'<p>Menu</p><button>Show replies</button>' } })</script>"
    )
    found = find(page, name="Show replies", trigger=PixelBox(600, 400, 700, 430))
    assert (found.by, found.element.tag) == ("text", "button")


@pytest.mark.parametrize(
    "drawn",
    [
        "<i class='fas fa-trash' style='display:block;width:9px;height:9px;background:red'></i>",
        "<svg class='lucide lucide-trash' width=16 height=16></svg>",
        "<svg width=16 height=16><use href='#icon-bin'></use></svg>",
        "🗑",
    ],
)
@pytest.mark.parametrize("sentence", ["click the bin icon", "click the 删除 icon", "delete icon"])
def test_an_icon_is_found_by_its_sign(renderer, drawn, sentence):
    style = "display:inline-block;width:20px;height:20px;background:#eee"
    page = PageSource.from_html(
        f"<!doctype html><button style='{style}'><i class='fas fa-edit'></i></button>"
        f"<button id=bin style='{style}'>{drawn}</button><button>Delete all orders</button>"
    )
    with renderer.stage(page, WINDOW) as stage:
        query = TriggerQuery(
            "1", Action("click"), "all", None, WINDOW, None, sentence=sentence, tags=("button",)
        )
        assert find_trigger(stage, stage.snapshot(), query).element.id == "bin"


def test_a_row_that_the_sentence_names_tells_which_icon_is_meant(renderer):
    rows = "".join(
        f"<tr><td>{name}<td>{name.lower()}@post.example<td><button id={name[0]}>☆</button>"
        for name in ("Adams", "Baker", "Clark")
    )
    page = PageSource.from_html(f"<!doctype html><table width=700>{rows}</table>")
    sentence = "click the star icon of the mail from Baker"
    with renderer.stage(page, WINDOW) as stage:
        query = TriggerQuery("1", Action("click"), "all", None, WINDOW, None, sentence=sentence)
        assert find_trigger(stage, stage.snapshot(), query).element.id == "B"


def test_an_id_on_a_list_means_the_item_that_is_named(find):
    subjects = [
        *("Delivery of order 5512", "Wrong amount on invoice 88", "Cannot reset my password"),
        *("Partnership idea", "Copy of invoice 71", "Feedback on the new app"),
    ]
    rows = "".join(f"<li style='height:60px;cursor:pointer'>{one}</li>" for one in subjects)
    page = f"<ul id=interact1 onclick='1' style='margin:0;padding:0'>{rows}</ul>"
    found = find(page, name=subjects[1], trigger=PixelBox(0, 60, 800, 120))
    assert (found.by, found.element.tag, found.element.label) == ("id", "li", subjects[1])
    assert find(page).element.tag == "ul"


def test_a_native_list_stands_for_the_tabs_that_are_its_options(find):
    page = "<button>Run</button><select><option>Node</option><option>Python</option></select>"
    found = find(page, name="Python")
    assert (found.by, found.element.tag) == ("text", "select")


def test_a_shape_in_a_drawing_is_found_at_its_place(find):
    bars = "".join(f"<rect x={x} y=100 width=60 height=200 />" for x in (0, 100, 200))
    page = f"<svg width=400 height=300 style='display:block'>{bars}</svg>"
    found = find(page, kind="hover", trigger=PixelBox(100, 100, 160, 300))
    assert (found.element.tag, found.element.box.left) == ("rect", 100)
