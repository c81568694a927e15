"""Text blocks in the real browser, as the paper's detection finds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uiproof.benchmarks.design2code.blocks import find_blocks
from uiproof.benchmarks.design2code.pages import measure, photograph
from uiproof.browser import PageSource, Renderer
from uiproof.browser.page import POOL, TextCapture, TextNode
from uiproof.vision.images import decode, encode_png


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as renderer:
        yield renderer


@pytest.fixture(scope="module")
def look(renderer):
    """A page, measured."""

    def look(body, style=""):
        html = f"<html><head><style>body {{ font: 20px sans-serif }} {style}</style></head>"
        source = PageSource.from_html(f"<!DOCTYPE html>{html}<body>{body}</body></html>")
        return measure(photograph(renderer, source))

    return look


@pytest.fixture(scope="module")
def texts(look):
    """The texts of the blocks of a page."""
    return lambda body, style="": [block.text for block in look(body, style).blocks]


def test_every_text_node_is_a_block_in_the_order_of_the_document(texts):
    body = "<h1> Big  Words </h1><div>One<p>Two</p>Three<span>Four</span></div>"
    assert texts(body) == ["big  words", "one", "two", "three", "four"]


def test_text_nodes_of_one_element_share_the_box_around_all_of_them(look):
    start, middle, end = look("<p>Start <span>middle</span> end</p>").blocks
    assert [block.text for block in (start, middle, end)] == ["start", "middle", "end"]
    assert start.box == end.box
    assert start.box.x < middle.box.x
    assert start.box.x + start.box.w > middle.box.x + middle.box.w


def test_text_of_elements_without_a_colour_of_their_own_belongs_to_the_next_one_outside(look):
    blocks = look("<p>Plain <strong>strong <em>and more</em></strong></p>").blocks
    assert [block.text for block in blocks] == ["plain", "strong", "and more"]
    assert len({block.box for block in blocks}) == 1


def test_a_box_is_where_the_text_is_and_its_colour_is_that_of_its_pixels(look):
    style = "#x { position: absolute; left: 320px; top: 144px; font: 60px sans-serif; color: #c00 }"
    (block,) = look('<div id="x">HHHH</div>', style).blocks
    assert block.box.x == pytest.approx(320 / 1280, abs=0.01)
    assert 144 / 720 <= block.box.y < 180 / 720
    assert 30 / 720 < block.box.h < 60 / 720
    red, green, blue = block.color
    assert red > 190
    assert green == blue < 60
    assert all(channel == int(channel) for channel in block.color)


@pytest.mark.parametrize(
    ("color", "seen"),
    [
        ("#fff", False),
        ("#cc0000", False),
        ("red", False),
        ("rgb(200, 0, 0)", False),
        ("rgba(200, 0, 0, 1)", True),
        ("rgb(200 0 0)", True),
        ("var(--x)", True),
        ("inherit", True),
    ],
)
def test_an_inline_colour_on_other_elements_loses_their_text_if_it_can_be_read(texts, color, seen):
    found = texts(f'<p>Before <em style="color: {color}">inside</em></p>')
    assert found == (["before", "inside"] if seen else ["before"])


def test_an_inline_colour_on_listed_elements_loses_nothing(texts):
    assert texts('<p style="color: #fff; background-color: black">White</p>') == ["white"]


@pytest.mark.parametrize("tag", ["section", "strong", "label", "pre", "main", "code", "li"])
def test_text_outside_of_listed_elements_is_lost(texts, tag):
    assert texts(f"Bare <{tag}>word</{tag}>") == (["word"] if tag == "li" else [])


def test_text_without_opacity_is_revealed_in_the_colour_of_what_is_behind(look):
    (block,) = look('<p style="opacity: 0">Ghost</p>', "html { background: #204060 }").blocks
    assert block.text == "ghost"
    assert block.color == (0x20, 0x40, 0x60)


@pytest.mark.parametrize(
    "style", ["display: none", "visibility: hidden", "height: 0; overflow: hidden"]
)
def test_text_that_is_not_painted_is_no_block(texts, style):
    assert texts(f'<p>Seen</p><p style="{style}">Unseen</p>') == ["seen"]


def test_covered_text_is_no_block_but_a_background_does_not_cover(texts):
    over = "position: absolute; left: 0; top: 0; width: 900px; height: 300px;"
    covered = f'<p>Under</p><img style="{over}" src="{_PIXEL}">'
    assert texts(covered) == []
    assert texts(f'<p>Under</p><div style="{over} background: red"></div>') == ["under"]


_PIXEL = "data:image/gif;base64,R0lGODdhAQABAIAAAP8AAP8AACwAAAAAAQABAAACAkQBADs="  # one red pixel


def test_source_text_of_scripts_counts_with_the_box_of_the_element_around(texts):
    assert texts("<div>Shown<script>var x = 1</script></div>") == ["shown", "var x = 1"]


def test_text_that_a_script_writes_counts(texts):
    assert texts('<p id="p"></p><script>p.textContent = "Written"</script>') == ["written"]


def test_page_scripts_cannot_undo_the_colours(texts):
    script = """<script>
    const undo = () => document.querySelectorAll("*").forEach((e) => e.removeAttribute("style"));
    new MutationObserver(undo).observe(document, {attributes: true, subtree: true});
    setInterval(undo, 1);
    requestAnimationFrame(function again() { undo(); requestAnimationFrame(again); });
    Element.prototype.setAttribute = CSSStyleDeclaration.prototype.setProperty = () => {};
    document.querySelectorAll = () => [];
    </script>"""
    assert texts(f"<p>One</p><p>Two</p>{script}")[:2] == ["one", "two"]


def test_style_sheets_cannot_undo_the_colours(texts):
    style = "* { color: #123 !important; transition: color 9s; background: #eee !important }"
    assert texts("<p>One</p><div>Two</div>", style) == ["one", "two"]


def test_more_elements_than_colours_are_still_told_apart_where_few_have_text(look):
    empty = "<span></span>" * (POOL + 500)
    one, two = look(f"<p>First</p>{empty}<p>Last</p>").blocks
    assert (one.text, two.text) == ("first", "last")
    assert one.box.y + one.box.h < two.box.y


def test_owners_of_text_stay_the_same_when_the_browser_rewrites_their_styles(texts):
    # The browser writes rgb(200 0 0) back as rgb(200, 0, 0), which is another thing to the paper.
    rewritten = '<p><em style="color: rgb(200 0 0)">Red</em></p>'
    assert texts(rewritten + "<i><b></b></i>" * POOL + "<p>Last</p>") == ["last"]


def test_more_texts_than_colours_are_told_apart_in_several_pictures(look):
    count = POOL + 40
    spans = " ".join(f"<b>{n % 10}</b>" for n in range(count))
    view = look(spans, "body { font: 12px monospace; line-height: 14px }")
    assert [block.text for block in view.blocks] == [str(n % 10) for n in range(count)]
    tops = [round(block.box.y * view.size[1]) // 14 for block in view.blocks]
    assert tops == sorted(tops)
    lefts = [block.box.x for block in view.blocks[POOL - 3 : POOL + 3]]
    assert len(set(lefts)) == len(lefts)


def test_a_page_without_text_has_no_blocks(look):
    assert look("").blocks == ()
    assert look('<img src="absent.png" width="50" height="50">').blocks == ()


def test_screenshots_are_of_the_kind_that_is_decoded_quickly(look, monkeypatch):
    def slowly(_):
        raise AssertionError("Chromium writes its pictures in another way now")

    monkeypatch.setattr("uiproof.vision.images.decode", slowly)
    (block,) = look(
        "<p>Seen</p>", "body { height: 3000px; background: linear-gradient(red, blue) }"
    ).blocks
    assert block.text == "seen"


def test_the_blocks_are_the_same_however_the_pictures_are_stored(renderer):
    words = "".join(f"<p>Line {n} <a href='#'>and link</a></p>" for n in range(40))
    html = f"<html><body>{words}<div style='background: #369'>On blue</div></body></html>"
    photographs = photograph(renderer, PageSource.from_html(html))
    taken = photographs.capture
    again = tuple((stored_anew(first), stored_anew(second)) for first, second in taken.pairs)
    screenshot = decode(photographs.png)
    blocks = find_blocks(taken, screenshot)
    assert len(blocks) == 81
    assert find_blocks(replace(taken, pairs=again), screenshot) == blocks


def stored_anew(png):
    return encode_png(decode(png))


# What is found in given pictures


def capture(first, second, *numbers):
    nodes = tuple(TextNode(f" Text {n} ", n) for n in numbers)
    return TextCapture(nodes, ((encode_png(first), encode_png(second)),))


def test_a_pixel_counts_only_if_both_pictures_show_its_colour():
    screenshot = np.full((20, 30, 3), 77, np.uint8)
    first, second = np.full((2, 20, 30, 3), 255, np.uint8)
    first[5:9, 10:20] = 250  # colour number 0
    second[5:9, 10:20] = (250 + 50) % 256
    first[15, 5] = 250  # shown in one of them only
    (block,) = find_blocks(capture(first, second, 0, 1), screenshot)
    assert block.text == "text 0"
    assert (block.box.x, block.box.y) == (10 / 30, 5 / 20)
    assert (block.box.w, block.box.h) == pytest.approx((10 / 30, 4 / 20))
    assert block.color == (77, 77, 77)


@pytest.mark.parametrize(("off_first", "off_second", "found"), [(4, 4, 1), (5, 5, 0), (0, 9, 0)])
def test_colours_may_be_off_by_as_much_as_in_the_reference_implementation(
    off_first, off_second, found
):
    screenshot = np.zeros((10, 10, 3), np.uint8)
    first, second = np.full((2, 10, 10, 3), 255, np.uint8)
    first[2:4, 2:4] = 250 - off_first
    second[2:4, 2:4] = 44 - off_second
    assert len(find_blocks(capture(first, second, 0), screenshot)) == found


def test_pictures_of_different_sizes_give_no_blocks():
    first, second = np.full((10, 10, 3), 250, np.uint8), np.full((11, 10, 3), 44, np.uint8)
    assert find_blocks(capture(first, second, 0), first) == []
