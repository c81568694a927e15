"""Characters without a glyph are flagged, unless the page has a font for them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from uiproof.benchmarks.design2code.pages import photograph
from uiproof.browser import PageSource, Renderer, page

# Of scripts that few machines have fonts for: at least one of them is missing nearly everywhere.
RARE = "你한कไ\U0001f680\U00012000\U00017000\U0001e900\U00016a40"


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as renderer:
        yield renderer


@pytest.fixture(scope="module")
def absent():
    """Return a character that no font of this machine has, according to fontconfig."""
    if shutil.which("fc-list") is None:
        pytest.skip("needs fontconfig to know which characters have glyphs")
    for character in RARE:
        command = ["fc-list", f":charset={ord(character):x}"]
        if not subprocess.run(command, capture_output=True, check=True).stdout.strip():
            return character
    pytest.skip("this machine has fonts for everything")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(page, "_known_glyphs", set())


def flags(renderer, html, folder=None):
    return photograph(renderer, PageSource.from_html(html, folder=folder)).flags


@pytest.mark.parametrize(
    "html",
    [
        "<p>Words {}</p>",
        "<input value='{}'>",
        "<input placeholder='{}'>",
        "<style>p::before {{ content: '{}' }}</style><p>Words</p>",
        "<p style='font-family: monospace'>{}</p><script>1</script>",
    ],
)
def test_text_without_a_font_is_flagged(renderer, absent, html):
    assert "missing_glyphs" in flags(renderer, html.format(absent))
    assert "missing_glyphs" not in flags(renderer, html.format("a"))


@pytest.mark.parametrize(
    "html",
    [
        "<p>Größe – naïve façade, Ελλάδα, Россия, → ✓ ∑ “quotes”</p>",
        "<p>a\u200b\u00ad\u200d\ufe0f\u2060\u3000b e\u0301</p>",
        "<p>\ue000 \uf8ff</p>",  # icons of a font that the page did not bring: no package has them
        "<p style='display: none'>{}</p><p>shown</p>",
    ],
)
def test_other_text_is_not(renderer, absent, html):
    assert "missing_glyphs" not in flags(renderer, html.format(absent))


def test_a_font_of_the_page_has_the_glyph_for_its_own_text_alone(renderer, absent, tmp_path):
    pytest.importorskip("fontTools")
    write_font(tmp_path / "own.ttf", absent)
    style = (
        "<style>@font-face { font-family: own; src: url(own.ttf) } p { font-family: own }</style>"
    )
    assert "missing_glyphs" not in flags(renderer, f"{style}<p>{absent}</p>", tmp_path)
    assert "missing_glyphs" in flags(renderer, f"{style}<p>{absent}</p><b>{absent}</b>", tmp_path)
    assert "missing_glyphs" in flags(renderer, f"<p>{absent}</p>")  # and on no other page


def test_a_page_that_is_acted_on_is_flagged_too(renderer, absent):
    with renderer.stage(PageSource.from_html(f"<button>{absent}</button>")) as stage:
        stage.snapshot()
        assert "missing_glyphs" in stage.flags


def test_characters_that_the_machine_has_are_asked_for_once(renderer):
    asked = []

    def run_script(name, argument):
        asked.append(argument)
        return {"machine": [], "page": []}

    for _ in range(2):
        assert page.missing_glyphs(run_script, ["Россия", "Words"]) == ""
    assert asked == ["Росия"]


def write_font(path, character):
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    def square(side):
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for corner in ((0, side), (side, side), (side, 0)):
            pen.lineTo(corner)
        pen.closePath()
        return pen.glyph()

    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", "own"])
    font.setupCharacterMap({ord(character): "own"})
    font.setupGlyf({".notdef": square(300), "own": square(700)})
    font.setupHorizontalMetrics({".notdef": (500, 0), "own": (800, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "own", "styleName": "Regular"})
    font.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    font.setupPost()
    font.save(path)
