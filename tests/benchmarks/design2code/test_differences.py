"""What is said about two pages that differ."""

from __future__ import annotations

from pathlib import Path

import planting
import pytest

import uiproof
from uiproof.browser import PageSource, Renderer
from uiproof.errors import UsageError

STYLE = """<!DOCTYPE html><style>
body { font: 16px sans-serif; margin: 20px; background: #fff }
.card { background: #eef; padding: 16px; margin-bottom: 12px }
button { background: #1d4ed8; color: #fff; border: 0; padding: 10px 20px }
</style>"""
PAGE = (
    STYLE
    + """<h1>Bakery</h1><p>Bread and rolls, fresh every morning.</p>
<div class="card"><h2>Rye</h2><p>Dark and dense.</p></div>
<div class="card"><h2>Wheat</h2><p>Light and soft.</p></div>
<div class="card"><h2>Spelt</h2><p>An old grain.</p></div>
<h2>Prices</h2><p>Three euros a loaf.</p><button>Buy</button><p>Closed on Sundays.</p>"""
)


@pytest.fixture(scope="module")
def differ():
    with uiproof.Differ() as differ:
        yield differ


@pytest.fixture
def found(differ):
    def found(changed, reference=PAGE):
        return differ.diff(reference, changed).differences

    return found


def test_a_page_does_not_differ_from_itself(found):
    assert found(PAGE) == ()


def test_another_way_to_write_the_same_page_is_no_difference(found):
    assert found(PAGE.replace("<p>Dark", '<p class="x" style="color: #000">Dark')) == ()


def test_a_missing_card_is_one_difference(found):
    (one,) = found(PAGE.replace('<div class="card"><h2>Wheat</h2><p>Light and soft.</p></div>', ""))
    assert one.kind == "missing"
    assert one.box is None
    assert one.reference_box is not None
    assert "Wheat" in one.says


def test_a_margin_is_one_difference_where_it_begins(found):
    (one,) = found(PAGE.replace("<h2>Prices", '<h2 style="margin-top: 70px">Prices'))
    assert one.kind == "spacing"
    assert "Prices" in one.says
    assert one.selector == "body > h2"


def test_a_colour_is_named(found):
    (one,) = found(PAGE.replace("#1d4ed8", "#2563eb"))
    assert (one.kind, one.was, one.is_) == ("background", "#1d4ed8", "#2563eb")


def test_a_restyled_class_is_one_difference_with_its_count(found):
    (one,) = found(PAGE.replace("#eef", "#fdd"))
    assert (one.kind, one.count) == ("background", 3)


def test_other_words_are_a_text(found):
    (one,) = found(PAGE.replace("Dark and dense", "Dark and heavy"))
    assert one.kind == "text"
    assert one.is_ == "Dark and heavy."


def test_texts_that_were_joined_are_neither_missing_nor_extra(found):
    apart = PAGE.replace(
        "Bread and rolls, fresh every morning.",
        "Bread and rolls, fresh every morning. <b>Cakes on Saturdays only.</b>",
    )
    joined = apart.replace("<b>", "").replace("</b>", "")
    assert not {"missing", "extra", "text"} & {one.kind for one in found(joined, apart)}


def test_what_stays_at_the_end_of_the_window_is_right(found):
    fixed = '<p style="position: fixed; bottom: 8px; right: 8px">Help</p>'
    (one,) = found(PAGE.replace("<p>Three euros a loaf.</p>", "") + fixed, PAGE + fixed)
    assert (one.kind, one.was) == ("missing", "Three euros a loaf.")


def test_the_order_of_the_document_is_no_difference_where_it_is_not_seen(found):
    one, other = ('<p style="position: absolute; top: {}px">{}</p>'.format(*it) for it in
                  ((400, "The first of two"), (500, "The second of two")))  # fmt: skip
    assert found(STYLE + one + other, STYLE + other + one) == ()


def test_json_has_the_keys_that_are_documented(differ):
    found = differ.diff(PAGE, PAGE.replace("Bakery", "Butcher"))
    (one,) = found.as_json()["differences"]
    assert set(one) == {
        *("kind", "box", "reference_box", "selector", "was", "is", "impact", "cost", "says"),
        "count",
    }
    assert found.scores["strict"]["mean_without_clip"] < 1


def test_the_name_of_a_file_is_not_taken_for_a_page(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    with pytest.raises(UsageError, match="names a file"):
        uiproof.diff(PAGE, str(file))


def test_faults_that_were_planted_are_found_and_named(differ):
    accuracy, page = planting.Accuracy(), PageSource.from_html(PAGE)
    wanted = ["missing", "text", "colour", "background", "spacing", "font"]
    with Renderer() as renderer:
        for seed, kind in enumerate(wanted):
            made = planting.plant(renderer, page, [(kind, 0)], seed)
            found = differ.diff(made.reference, made.generated).differences
            accuracy.add(made.faults, found)
    assert accuracy.planted == len(wanted)
    assert accuracy.located >= 0.95 * accuracy.planted
    assert accuracy.named >= 0.9 * accuracy.planted
    assert accuracy.beyond <= accuracy.pages


ROW = (
    STYLE
    + """<h1>Bakery</h1><p><a>Bread</a> &nbsp; <a>Rolls</a> &nbsp; <a>Cakes</a></p>
<p style="margin-top: 60px">Fresh every morning.</p>"""
)


@pytest.fixture
def found_by_pixels(differ):
    pytest.importorskip("rapidocr", reason="needs the extra ocr")

    def found(reference, changed):
        picture = differ.diff(reference, reference).reference_picture
        return differ.diff(picture, changed).differences

    return found


def test_a_bundled_page_does_not_differ_from_its_screenshot(found_by_pixels):
    page = (Path(uiproof.__file__).parent / "demo/design2code/reference/booking.html").read_text()
    assert found_by_pixels(page, page) == ()


def test_a_screenshot_names_a_background(found_by_pixels):
    (one,) = found_by_pixels(PAGE, PAGE.replace("#1d4ed8", "#eb2525"))
    assert (one.kind, one.was, one.is_) == ("background", "#1d4ed8", "#eb2525")


TABLE = (
    STYLE
    + "<table>"
    + "".join(
        f"<tr><td>{name}</td><td>{price}</td><td>{state}</td></tr>"
        for name, price, state in (
            ("Rye loaf", "3.20", "in the oven"),
            ("Wheat roll", "0.60", "sold out"),
            ("Spelt bun", "0.90", "on the shelf"),
            ("Oat cake", "2.40", "tomorrow"),
        )
    )
    + "</table>"
)


def test_a_row_that_stands_elsewhere_is_no_other_text(found):
    rows = TABLE.split("<tr>")
    rows[2], rows[3] = rows[3], rows[2]
    assert {one.kind for one in found("<tr>".join(rows), TABLE)} == {"order"}


def test_separators_between_joined_texts_do_not_count(found):
    apart = PAGE + "<p><a>About the bakery</a> | <a>Contact and address</a></p>"
    joined = PAGE + "<p>About the bakery · Contact and address</p>"
    assert not {"missing", "extra"} & {one.kind for one in found(joined, apart)}


def test_a_faint_surface_is_found_where_it_is_in_a_screenshot(found_by_pixels):
    faint = PAGE.replace("#eef", "#f6f6f6")
    moved = faint.replace('<div class="card"><h2>Wheat', '<div class="card"><h2 class="x">Wheat')
    (one,) = found_by_pixels(faint, moved.replace("</style>", ".x { margin-top: 60px }</style>"))
    assert one.kind == "spacing"
    assert "Wheat" in one.says


def test_a_text_that_crosses_its_siblings_is_moved_not_in_another_order(found_by_pixels):
    moved = PAGE.replace("<h2>Rye", '<h2 style="position: relative; top: 64px">Rye')
    assert "order" not in {one.kind for one in found_by_pixels(PAGE, moved)}


def test_a_weight_is_told_by_a_screenshot(found_by_pixels):
    bold = PAGE.replace("<p>Closed", '<p style="font-weight: 700">Closed')
    assert {one.kind for one in found_by_pixels(PAGE, bold)} == {"font"}


LONG = "Our rye is left to rise for a day and a night, and then baked until the crust is black."


def test_a_paragraph_that_was_split_and_changed_is_one_text(found):
    whole = PAGE + f"<p>{LONG} It keeps for a week if nobody eats it before, which happens.</p>"
    split = PAGE + (
        f"<p>{LONG.replace('black', 'dark')}</p><p>It keeps for a week if nobody eats it before, "
        "which does happen.</p>"
    )
    assert not {"missing", "extra"} & {one.kind for one in found(split, whole)}


def test_a_text_that_was_cut_short_is_no_missing_one(found):
    page = PAGE + f"<p>{LONG}</p>"
    (one,) = found(page.replace(LONG, LONG[:30]), page)
    assert (one.kind, one.was) == ("text", LONG)


def test_a_picture_of_other_proportions_is_the_same_picture(found):
    picture = "<p><img alt='' style='{}' src='data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22/>'></p>"
    wide, narrow = (
        PAGE + picture.format(f"background: #00f; width: {width}px; height: 90px")
        for width in (600, 120)
    )
    assert {one.kind for one in found(narrow, wide)} == {"resized"}


def test_neighbours_that_are_missing_together_are_one_difference(found):
    shorter = PAGE.replace("<h2>Prices</h2><p>Three euros a loaf.</p>", "")
    assert [one.count for one in found(shorter) if one.kind == "missing"] == [2]


def test_a_column_stays_in_the_middle_of_its_row(found):
    row = (
        '<div style="display: flex; align-items: center; gap: 40px"><div><p>Above</p>{}<p>Below</p>'
        '</div><div style="background: #eef; padding: 140px 40px">Beside</div></div>'
    )
    low, high = (f'<p style="background: #dfd; height: {by}px">In between</p>' for by in (20, 60))
    assert {one.kind for one in found(row.format(high), row.format(low))} == {"resized"}


def test_a_row_that_became_a_column_is_one_difference(found):
    row = '<div style="display: flex; gap: 20px">' + "".join(
        f'<div class="card" style="flex: 1"><h2>{name}</h2><p>{more}</p></div>'
        for name, more in (("Oat", "Soft."), ("Barley", "Round and nutty."), ("Maize", "Sweet."))
    )
    page = STYLE + row + "</div><p>Baked at four in the morning.</p>"
    (one,) = found(page.replace("flex;", "flex; flex-direction: column;"), page)
    assert (one.kind, one.count, one.was, one.is_) == ("moved", 3, "1 row", "3 rows")


def test_a_mirrored_page_is_one_difference(found):
    page = '<html dir="rtl">' + PAGE
    (one,) = found(page.replace(' dir="rtl"', ""), page)
    assert one.kind == "moved"
    assert "mirrored" in one.says


def test_surfaces_of_other_sizes_that_changed_places_are_in_another_order(found):
    cards = (
        '<div class="card" style="width: 400px"><h2>Rye</h2><p>Dark and dense.</p></div>',
        '<div class="card" style="width: 600px"><h2>Wheat</h2><p>Light.</p><p>Soft.</p></div>',
    )
    pages = (
        f'{STYLE}<div style="display: flex; gap: 20px">{one}{other}</div><p>Two loaves.</p>'
        for one, other in (cards, cards[::-1])
    )
    assert [one.kind for one in found(*pages)] == ["order"]


def test_a_thing_that_makes_what_holds_it_narrower_is_resized(found):
    page = PAGE.replace(
        "<h1>",
        '<div class="card" style="display: inline-flex"><b style="background: #fff; width: 94px; '
        'text-align: center">Monthly</b><b>Yearly</b></div><h1>',
    )
    (one,) = found(page.replace("width: 94px", "width: 60px"), page)
    assert (one.kind, one.is_) == ("resized", "60 × 18")


def test_a_margin_in_a_form_that_fills_its_surface_is_told(found):
    page = STYLE + (
        '<div class="card" style="display: flex"><div style="flex: 1"><p>Name</p><p>Street</p>'
        '<p>City</p></div><div style="background: #dde; flex: 1"><p>Welcome</p></div></div>'
    )
    (one,) = found(page.replace("<p>Street", '<p style="margin-top: 40px">Street'), page)
    assert (one.kind, one.selector) == ("spacing", ".card > div:nth-of-type(1) > p:nth-of-type(2)")
