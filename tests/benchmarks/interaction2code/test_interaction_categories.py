"""Tag and visual categories by rule, on elements as a snapshot has them."""

import pytest

from uiproof.benchmarks.interaction2code.categories import (
    is_window,
    tag_categories,
    visual_categories,
    window_box,
)
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Element, Events, Snapshot
from uiproof.geometry import PixelBox

BODY = Element(
    1, None, "body", "", PixelBox(0, 0, 1280, 720), "", "", background=(255, 255, 255, 1)
)


def one(tag, ref=2, *, parent=1, box=(100, 100, 300, 140), text="", **more):
    more.setdefault("label", text)
    return Element(ref, parent, tag, "", PixelBox(*box), text, **more)


def page(*elements, **more):
    return Snapshot((BODY, *elements), (1280, 720), "http://page.invalid/", **more)


def visuals(before, after, events=None, trigger=None):
    return visual_categories(
        changes(before, after), events or Events(), before=before, after=after, trigger=trigger
    )


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (one("button"), ("button",)),
        (one("input", type="submit"), ("button",)),
        (one("input", type="text"), ("input",)),
        (one("div", role="tab"), ("button",)),
        (one("div", role="slider"), ("progress",)),
        (one("a", text="Read"), ("link",)),
        (one("a", text="Buy", background=(200, 0, 0, 1.0)), ("button", "link")),
        (one("summary"), ("detail", "summary")),
        (one("label"), ("input", "label")),
        (one("div"), ("area",)),
        (one("td"), ("table",)),
        (one("svg"), ("image",)),
    ],
)
def test_an_element_has_the_categories_of_its_tag_role_and_looks(element, expected):
    assert tag_categories([element, BODY]) == expected


def test_what_is_in_a_control_belongs_to_it_and_what_a_box_holds_counts():
    button = one("button", box=(0, 0, 60, 40))
    icon = one("svg", ref=3, parent=2, box=(10, 10, 30, 30))
    assert tag_categories([icon, button, BODY]) == ("button", "image")
    assert tag_categories([one("div"), BODY], [icon]) == ("image", "area")
    assert tag_categories([]) == ()


def test_something_that_appears_is_a_component_and_what_is_only_read_is_text_too():
    before = page()
    assert visuals(before, page(one("p", text="Saved."))) == ("new component", "text")
    menu = (one("div", label="A B"), one("a", ref=3, parent=2, text="A"))
    assert visuals(before, page(*menu)) == ("new component",)


def test_a_dialog_or_a_box_before_a_veil_is_a_window():
    veil = one("div", box=(0, 0, 1280, 720), style={"position": "fixed"}, label="Hello")
    sheet = one("div", ref=3, parent=2, box=(440, 200, 840, 500), text="Hello")
    after = page(veil, sheet)
    assert is_window(veil, after)
    assert window_box(veil, after) == sheet.box
    assert visuals(page(), after) == ("new component", "new window")
    assert is_window(one("dialog"), page(one("dialog")))
    toast = one("div", box=(1000, 600, 1250, 700), style={"position": "fixed"}, text="Saved")
    assert not is_window(toast, page(toast))


def test_changed_texts_colours_places_and_sizes_are_told_apart():
    plain = one("div", text="Off", background=(220, 220, 220, 1.0))
    before = page(plain)

    def after(**more):
        return page(one("div", **{"text": "Off", "background": (220, 220, 220, 1.0), **more}))

    assert visuals(before, after(text="On", label="On")) == ("text",)
    assert visuals(before, after(background=(20, 20, 20, 1.0))) == ("color",)
    assert visuals(before, after(background=(214, 214, 214, 1.0))) == ()
    assert visuals(before, after(box=(400, 300, 600, 340))) == ("position",)
    assert visuals(before, after(box=(100, 100, 300, 400))) == ("size",)
    assert visuals(before, before) == ()


def test_a_shade_is_judged_on_the_ground_that_is_behind_it():
    dark = Element(1, None, "body", "", BODY.box, "", "", background=(10, 10, 10, 1))
    size, url = (1280, 720), "http://page.invalid/"
    before = Snapshot((dark, one("div", text="x")), size, url)
    after = Snapshot((dark, one("div", text="x", background=(18, 18, 18, 1.0))), size, url)
    assert visuals(before, after) == ()


def test_a_control_that_changes_its_state_and_what_takes_anothers_place_are_a_switch():
    off = one("button", text="Night", state={"aria-pressed": "false"})
    on = one("button", text="Night", state={"aria-pressed": "true"})
    assert visuals(page(off), page(on)) == ("switch",)
    first = one("blockquote", text="One voice", box=(100, 200, 500, 300))
    second = one("ul", ref=9, text="Another", box=(100, 200, 500, 320))
    assert visuals(page(first), page(second)) == ("switch",)


def test_a_field_that_shows_what_was_typed_is_no_change():
    empty = one("input", type="text", state={"value": ""})
    typed = one("input", type="text", text="tea", state={"value": "tea"})
    assert visuals(page(empty), page(typed), trigger=empty) == ()
    assert visuals(page(empty), page(typed)) == ("text",)


def test_another_document_is_a_new_page_and_a_refused_window_a_new_window():
    assert visuals(page(), page(document=1)) == ("new page",)
    assert visuals(page(), page(), Events(dialogs=("alert: hello",))) == ("new window",)
