"""All scripts that list the content of a page share one definition of visible text."""

from __future__ import annotations

import base64
import io
import string
from pathlib import Path

import matplotlib
import pytest
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

from uiproof.browser import PageSource, Renderer

WINDOW = (1280, 720)
BOX = "width:60px;height:30px;overflow:hidden;"
FILM = "position:absolute;left:0;top:0"

# `W` stands for a word that is looked for.
SEEN = {
    "plain": "<p>W</p>",
    "hidden from readers only": '<p aria-hidden="true">W</p>',
    "half transparent": '<p style="opacity:.4">W</p>',
    "small": '<p style="font-size:7px">W</p>',
    "out of an empty box": '<div style="height:0">W</div>',
    "in a box of contents": '<div style="display:contents">W</div>',
    "inline boxes do not cut": '<span style="overflow:hidden;width:0;height:0">W</span>',
    "scrolled into view": f'<div style="{BOX}"><p style="margin:0">W</p></div>',
    "out of a static clip": (
        '<div style="position:relative;height:30px"><div style="overflow:hidden;height:0">'
        '<b style="position:absolute;left:0;top:0">W</b></div></div>'
    ),
    "cut in one direction": (
        '<div style="overflow-x:clip;height:0;width:200px"><p style="margin:0">W</p></div>'
    ),
    "mostly within a path": '<p style="clip-path:inset(1px 0 1px 0)">W</p>',
    "mostly within a sum": '<p style="clip-path:inset(calc(1% + 1px) 0)">W</p>',
    "within a circle": '<p style="clip-path:circle(80%);width:90px">W</p>',
    "coloured by a fill": '<p style="color:transparent;-webkit-text-fill-color:#000">W</p>',
    "a shadow": '<p style="color:transparent;text-shadow:0 0 1px #000">W</p>',
    "an outline": '<p style="color:transparent;-webkit-text-stroke:1px #000">W</p>',
    "a background through letters": (
        '<p style="color:transparent;background:linear-gradient(red,blue) text">W</p>'
    ),
    "written in a field": '<input value="W">',
    "hinted at in a field": '<textarea placeholder="W"></textarea>',
    "drawn": '<svg viewBox="0 0 20 3" width=400 height=60><text y=2 font-size=1>W</text></svg>',
    "smaller where a font is installed": (
        "<style>@font-face{font-family:less;src:local(Nowhere);size-adjust:90%}</style>"
        '<p style="font-family:less,serif">W</p>'
    ),
    "opened": "<details open><summary>s</summary><p>W</p></details>",
}
UNSEEN = {
    "not displayed": '<p style="display:none">W</p>',
    "not visible": '<p style="visibility:hidden">W</p>',
    "not opaque": '<p style="opacity:.01">W</p>',
    "not opaque together": '<div style="opacity:.1"><p style="opacity:.1">W</p></div>',
    "filtered": '<p style="filter:opacity(1%)">W</p>',
    "small box": f'<div style="{BOX}"><p style="margin:0 0 0 80px">W</p></div>',
    "below a small box": f'<div style="{BOX}"><p style="margin:50px 0 0">W</p></div>',
    "below a scrolling box": (
        '<div style="width:60px;height:30px;overflow:auto"><p style="margin:50px 0 0">W</p></div>'
    ),
    "clipped": (
        '<div style="width:60px;height:30px;overflow:clip"><p style="padding-top:50px">W</p></div>'
    ),
    "a field of transparent letters": (
        '<input value="W" style="-webkit-text-fill-color:transparent"><textarea placeholder="W" '
        'style="-webkit-text-fill-color:transparent"></textarea>'
    ),
    "a field of small letters": '<input value="W" style="font-size:1px">',
    "boxes in boxes": (
        f'<div style="{BOX}"><div style="width:500px;margin-left:100px;overflow:auto">W</div></div>'
    ),
    "a fixed part in a box that moves": (
        f'<div style="{BOX}transform:translate(0)"><b style="position:fixed;left:90px">W</b></div>'
    ),
    "path": '<p style="clip-path:inset(100%)">W</p>',
    "path of half": '<p style="clip-path:inset(0 0 0 200px)">W</p>',
    "path of a sum": '<p style="clip-path:inset(calc(50% + 1px) 0)">W</p>',
    "circle": '<p style="clip-path:circle(0)">W</p>',
    "point": '<p style="clip-path:polygon(0 0, 0 0, 0 0)">W</p>',
    "path around": '<div style="clip-path:inset(50%)"><b style="position:absolute">W</b></div>',
    "for readers only": (
        '<p style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">W</p>'
    ),
    "cut": '<p style="position:absolute;clip:rect(0 1px 1px 0)">W</p>',
    "one pixel": '<p style="font-size:1px">W</p>',
    "less than a pixel": '<p style="font-size:.5px">W</p>',
    "transparent": '<p style="color:transparent">W</p>',
    "transparent fill": '<p style="-webkit-text-fill-color:transparent">W</p>',
    "indented": f'<p style="{BOX}text-indent:900px;white-space:nowrap">W</p>',
    "off the page": '<p style="position:absolute;left:-999px">W</p>',
    "above the page": '<p style="position:fixed;top:-999px">W</p>',
    "scaled away": '<p style="transform:scale(.01)">W</p>',
    "scaled to nothing": '<p style="scale:0">W</p>',
    "turned away": '<p style="transform:rotateY(90deg)">W</p>',
    "letters upon each other": '<p style="letter-spacing:-2em">W</p>',
    "not rendered": '<div style="content-visibility:hidden"><p>W</p></div>',
    "not rendered itself": '<div style="content-visibility:hidden">W</div>',
    "closed": "<details><summary>s</summary><p>W</p></details>",
    "closed itself": "<details><summary>s</summary>W</details>",
    "tiny where a font is installed": (
        "<style>@font-face{font-family:tiny;src:local(Nowhere);size-adjust:1%}</style>"
        '<p style="font-family:tiny,serif">W</p>'
    ),
}


@pytest.fixture(scope="module")
def listed():
    """Return the words of one page that inventories and snapshots list."""
    bodies = {**SEEN, **UNSEEN}
    places = {name: f"word{number}x" for number, name in enumerate(bodies)}
    cells = "".join(
        f'<div style="position:relative;height:60px">{body.replace("W", places[name])}</div>'
        for name, body in bodies.items()
    )
    page = PageSource.from_html(f"<!doctype html><style>p{{margin:0}}</style>{cells}")
    with Renderer() as renderer:
        with renderer.open(page) as still:
            width, height = still.size
            asked = {"width": width, "height": height, "most": 1000}
            found = still.run_listing("inventory", asked)["texts"]
            inventory = " ".join(text for _, text, _ in found)
        with renderer.stage(page, WINDOW) as stage:
            elements = stage.snapshot().elements
            snapshot = " ".join(one.text for one in elements)
            labels = next(one.label for one in elements if one.tag == "html")
    return places, (inventory, snapshot), labels


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen_is_listed_by_all(listed, name):
    places, texts, _ = listed
    assert [places[name] in text for text in texts] == [True, True]


@pytest.mark.parametrize("name", UNSEEN)
def test_what_is_not_seen_is_listed_by_none(listed, name):
    places, texts, labels = listed
    assert [places[name] in text for text in (*texts, labels)] == [False] * 3


def test_of_a_text_that_is_cut_off_the_words_that_are_left_are_listed():
    body = (
        '<div id=x style="width:150px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;'
        'font:16px monospace">One two three four five six</div>'
    )
    page = PageSource.from_html(f"<!doctype html>{body}")
    with Renderer() as renderer:
        with renderer.open(page) as still:
            asked = {"width": 1280, "height": 720, "most": 100}
            ((_, inventory, _),) = still.run_listing("inventory", asked)["texts"]
        with renderer.stage(page, WINDOW) as stage:
            found = stage.find("#x")
    assert inventory.split() == found.text.split() == ["One", "two", "three"]
    assert found.ink.box.right <= found.box.right


def test_letters_have_a_colour_and_a_cover():
    body = """<!doctype html><style>body { margin: 0 } p, div { position: absolute; margin: 0 }
      div { width: 300px; height: 40px }</style>
      <p id=free style="top:0; color:rgb(200, 0, 0); opacity:.5">free</p>
      <p id=under style="top:100px">under</p><div style="top:90px; background:#eee"></div>
      <p id=veiled style="top:200px">veiled</p><div style="top:190px; background:#0008"></div>
      <p id=behind style="top:300px; z-index:-1">behind</p>
      <div style="top:290px; background:#fff">in front</div>
      <p id=dyed style="top:400px; filter:invert(1)">dyed</p>"""
    with Renderer() as renderer, renderer.stage(PageSource.from_html(body), WINDOW) as stage:
        ink = {one.id: one.ink for one in stage.snapshot().elements if one.id}
    assert (ink["free"].color, ink["free"].opacity) == ((200, 0, 0), 0.5)
    assert {name: one.covered for name, one in ink.items()} == {
        **{"free": False, "under": True, "veiled": False, "behind": True, "dyed": False},
    }
    assert ink["dyed"].opacity == 0  # its colour is not known


def test_what_is_only_read_aloud_names_an_element_that_says_nothing_else():
    hidden = "position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)"
    body = f'<button id=a><svg width=9 height=9></svg><span style="{hidden}">Close</span></button>'
    body += f'<button id=b>Save<span style="{hidden}">all</span></button>'
    page = PageSource.from_html(f"<!doctype html>{body}")
    with Renderer() as renderer, renderer.stage(page, WINDOW) as stage:
        assert [stage.find(f"#{name}").label for name in "ab"] == ["Close", "Save"]


def web_font(turned_by: int | None) -> str:
    """Return a font, as a data URL, that draws each letter as a later one of the alphabet.

    With None it draws all of them as bars.
    """
    font = TTFont(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    tables = {id(table.cmap): table.cmap for table in font["cmap"].tables if hasattr(table, "cmap")}
    for table in tables.values():
        glyphs = dict(table)
        if turned_by is None:
            for letter in string.ascii_letters:
                pen = TTGlyphPen(None)
                pen.moveTo((100, 0))
                for corner in ((100, 1100), (1000, 1100), (1000, 0)):
                    pen.lineTo(corner)
                pen.closePath()
                font["glyf"][glyphs[ord(letter)]] = pen.glyph()
            continue
        for letters in (string.ascii_lowercase, string.ascii_uppercase):
            for place, letter in enumerate(letters):
                table[ord(letter)] = glyphs[ord(letters[(place + turned_by) % 26])]
    file = io.BytesIO()
    font.save(file)
    return f"data:font/ttf;base64,{base64.b64encode(file.getvalue()).decode()}"


@pytest.mark.parametrize(
    ("turned_by", "is_read"), [(0, True), (1, False), (13, False), (None, False)]
)
def test_text_in_a_font_that_draws_other_letters_or_bars_is_not_seen(turned_by, is_read):
    body = f"""<!doctype html><style>
      @font-face {{ font-family: own; src: url({web_font(turned_by)}) }}
      p {{ font-family: own, sans-serif }}</style>
      <p>A page about gardens</p><h1>Opening hours</h1>"""
    page = PageSource.from_html(body)
    with Renderer() as renderer:
        with renderer.open(page) as still:
            asked = {"width": 1280, "height": 720, "most": 100}
            found = [text for _, text, _ in still.run_listing("inventory", asked)["texts"]]
        with renderer.stage(page, WINDOW) as stage:
            acted_on = [one.text for one in stage.snapshot().elements if one.text]
    for texts in (found, acted_on):
        assert any("gardens" in text for text in texts) == is_read
        assert any("Opening hours" in text for text in texts)
