"""What is found on a page for the strict profile, in the real browser."""

from __future__ import annotations

import pytest

from uiproof.benchmarks.design2code.pages import measure, photograph
from uiproof.benchmarks.design2code.strict import seen_contents
from uiproof.browser import PageSource, Renderer
from uiproof.web import FrozenWeb

PIXEL = "data:image/gif;base64,R0lGODdhAQABAIAAAP8AAP8AACwAAAAAAQABAAACAkQBADs="


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as renderer:
        yield renderer


@pytest.fixture(scope="module")
def contents(renderer):
    """What is seen on a page."""

    def contents(body, style=""):
        html = f"<!DOCTYPE html><style>body {{ font: 20px sans-serif }} {style}</style>{body}"
        return seen_contents(measure(photograph(renderer, PageSource.from_html(html))))

    return contents


@pytest.fixture(scope="module")
def texts(contents):
    """The texts that are seen on a page."""
    return lambda body, style="": [
        " ".join(text.split()) for _, text, *_ in contents(body, style).texts
    ]


@pytest.mark.parametrize(
    "body",
    [
        "Word",
        "<strong>Word</strong>",
        "<section>Word</section>",
        "<label>Word</label>",
        "<button>Word</button>",
        '<em style="color: #c00">Word</em>',
        '<input value="Word">',
        '<input type="submit" value="Word">',
        '<input placeholder="Word">',
        "<textarea>Word</textarea>",
        '<textarea placeholder="Word"></textarea>',
        "<select><option>Other<option selected>Word</select>",
        '<img src="absent.png" alt="Word" width="200" height="60">',
        "<details><summary>Word</summary>Unseen</details>",
        "<svg width=200 height=60><text y=30>Word</text></svg>",
        '<p id="a"></p><script>a.attachShadow({mode: "open"}).textContent = "Word"</script>',
        "<marquee>Word</marquee>",
        '<p style="display: contents">Word</p>',
        '<div style="overflow: auto; height: 60px">Word</div>',
    ],
)
def test_text_of_every_kind_counts(texts, body):
    assert texts(body) == ["Word"]


@pytest.mark.parametrize("which", ["before", "after"])
def test_text_of_style_sheets_counts(texts, which):
    assert sorted(texts("<p>Own</p>", f'p::{which} {{ content: "Made "; }}')) == ["Made", "Own"]


def test_quotation_marks_and_backslashes_in_style_sheets_do_no_harm(texts):
    style = r"""p::before { content: "say \"hi\" \\ \26 " }"""
    assert texts("<p></p>", style) == ['say "hi" \\ &']


def test_a_password_counts_as_dots(texts):
    assert texts('<input type="password" value="abc">') == ["•••"]


@pytest.mark.parametrize(
    "body",
    [
        '<p style="display: none">Word</p>',
        '<p style="visibility: hidden">Word</p>',
        '<p style="opacity: 0">Word</p>',
        '<div style="opacity: 0"><p>Word</p></div>',
        '<p style="color: transparent">Word</p>',
        '<p style="color: white">Word</p>',
        '<p style="font-size: 0">Word</p>',
        '<p style="position: absolute; left: -900px">Word</p>',
        '<div style="height: 0; overflow: hidden">Word</div>',
        '<p>Word</p><div style="position: absolute; inset: 0; background: #fff"></div>',
        "<details><summary></summary><p>Word</p></details>",
        f'<img src="{PIXEL}" alt="Word" width="200" height="60">',
        '<input type="hidden" value="Word">',
        '<input type="checkbox" value="Word">',
        "<script>Word</script>",
        "<template>Word</template>",
        "<noscript>Word</noscript>",
        "<!-- Word -->",
        "<title>Word</title>",
        "<select><option selected><option>Word</select>",
    ],
)
def test_text_that_nobody_sees_does_not_count(texts, body):
    assert texts(body) == []


def test_texts_have_their_place_and_their_colour(contents):
    style = "p { position: absolute; left: 100px; top: 50px; margin: 0; width: 90px; color: #c00 }"
    (((x, y, w, h), text, color, _),) = contents("<p>Two words here</p>", style).texts
    assert (x, y) == (100, 50)
    assert 30 < w <= 90
    assert h > 40  # more than one line
    assert (text, color) == ("Two words here", (0xCC, 0, 0))


@pytest.mark.parametrize(
    "body",
    [
        f'<img src="{PIXEL}" width="80" height="40">',
        '<img src="absent.png" width="80" height="40">',
        "<svg width=80 height=40><rect width=80 height=40 /></svg>",
        '<canvas width=80 height=40 style="background: #246"></canvas>',
        f"""<div style="width: 80px; height: 40px; background: url('{PIXEL}')"></div>""",
    ],
)
def test_pictures_of_every_kind_count(contents, body):
    (box,) = contents(body, "body { margin: 0 }").images
    assert box == (0, 0, 80, 40)


@pytest.mark.parametrize(
    "body",
    ["<input>", "<select></select>", "<textarea></textarea>", "<button></button>"]
    + [f'<input type="{kind}">' for kind in ("checkbox", "radio", "range", "submit", "image")],
)
def test_controls_of_every_kind_count(contents, body):
    found = contents(body)
    assert len(found.controls) == 1
    assert found.surfaces == ()


def test_surfaces_count_where_their_outline_is_seen(contents):
    style = "div { width: 80px; height: 40px }"
    assert len(contents('<div style="background: #eee"></div>', style).surfaces) == 1
    assert len(contents('<div style="border: 1px solid #999"></div>', style).surfaces) == 1
    gradient = "background: linear-gradient(red, blue)"
    assert len(contents(f'<div style="{gradient}"></div>', style).surfaces) == 1
    for unseen in ("background: #fff", "border: 1px solid #fff", "background: transparent", ""):
        assert contents(f'<div style="{unseen}"></div>', style).surfaces == ()


def test_things_end_where_their_container_cuts_them_off(contents):
    body = f'<div><img src="{PIXEL}" width="500" height="500"></div>'
    style = "body { margin: 0 } div { width: 70px; height: 30px; overflow: hidden }"
    assert contents(body, style).images == ((0, 0, 70, 30),)


def test_the_bottom_is_where_the_lowest_thing_ends(contents):
    body = f'<img src="{PIXEL}" width="10" height="40"><div style="height: 3000px"></div>'
    assert contents(body, "body { margin: 0 } img { display: block }").bottom == 40
    assert contents("").bottom == 0


def test_no_more_is_listed_of_a_page_than_asked_for(renderer):
    with renderer.open(PageSource.from_html("<p>x</p><hr><input>" * 90)) as page:
        found = page.run_script("inventory", {"width": 1280, "height": 9000, "most": 100})
    assert sum(len(found[kind]) for kind in ("texts", "images", "controls", "surfaces")) == 100


def test_a_page_is_listed_the_same_at_every_visit(renderer, tmp_path):
    (tmp_path / "page.html").write_text(
        "<!DOCTYPE html><style>p { background: url(sky.png); height: 50px }</style><p>Word"
    )
    listed = []
    for _ in range(2):
        listed.append(photograph(renderer, PageSource.from_file(tmp_path / "page.html")).inventory)
        photograph(renderer, PageSource.from_html("<p>Another page comes between."))
    assert listed[0] == listed[1]
    assert 'url("sky.png")' in repr(listed[0])


def test_digits_of_a_web_font_are_read():
    web = FrozenWeb.installed()
    address = "https://fonts.googleapis.com/css2?family=Roboto&display=swap"
    if web.answer(address) is None:
        pytest.skip("needs the frozen web: uiproof web get")
    html = f"""<!DOCTYPE html><link rel="stylesheet" href="{address}">
<style>body {{ font: 20px Roboto }}</style><p>1</p><p>471.14</p>"""
    with Renderer(web=web) as renderer:
        seen = seen_contents(measure(photograph(renderer, PageSource.from_html(html))))
    assert [text for _, text, *_ in seen.texts] == ["1", "471.14"]
