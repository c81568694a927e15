"""Which elements changed between two snapshots, and which only moved out of the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from uiproof.browser import PageSource, Renderer
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Changes, Element, Snapshot
from uiproof.geometry import PixelBox

Play = Callable[[str, str], Changes]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Return what a click on #x, with this handler, changes on a page."""
    with Renderer() as renderer:

        def do(body: str, handler: str) -> Changes:
            html = (
                "<!DOCTYPE html><style>body { margin: 0; font: 16px sans-serif } "
                f"button {{ width: 99px }}</style><button id=x>x</button>{body}"
                "<script>x.onmousedown = (e) => e.preventDefault(); "
                f"x.onclick = () => {{{handler}}}</script>"
            )
            with renderer.stage(PageSource.from_html(html)) as stage:
                button = stage.find("#x")
                assert button is not None
                stage.act(button, Action("hover"))
                before = stage.snapshot()
                assert stage.act(button, Action("click")) is None
                stage.settle()
                return changes(before, stage.snapshot())

        yield do


def kinds(found: Changes) -> dict[str, list[str]]:
    """Return the ids or tags of the changed elements by kind of change."""
    named = {}
    for kind in ("appeared", "vanished"):
        named[kind] = [one.id or one.tag for one in getattr(found, kind)]
    for kind in ("moved", "resized", "recoloured", "retexted", "restated", "restyled"):
        named[kind] = [new.id or new.tag for _, new in getattr(found, kind)]
    return {kind: names for kind, names in named.items() if names}


LIST = '<ul id="l"><li>one</li><li>two</li><li>three</li></ul><p id="after">after</p>'


@pytest.mark.parametrize(
    ("body", "handler", "expected"),
    [
        (
            '<div id="m" hidden><b>a</b><i>b</i></div><p id="below">p</p>',
            "m.hidden = false",
            {"appeared": ["m"]},
        ),
        ('<div id="m"><b>a</b></div><p id="below">p</p>', "m.remove()", {"vanished": ["m"]}),
        ('<p id="p">old</p><p id="q">q</p>', "p.textContent = 'new'", {"retexted": ["p"]}),
        ('<p id="p">old</p>', "p.style.background = 'red'", {"recoloured": ["p"]}),
        ('<p id="p">old</p>', "p.style.boxShadow = '0 0 3px red'", {"restyled": ["p"]}),
        ('<input id="c" type="checkbox">', "c.checked = true", {"restated": ["c"]}),
        ('<input id="i">', "i.value = 'v'", {"retexted": ["i"]}),
        (
            '<div id="d" style="width:50px;height:50px">d</div><p id="q">q</p>',
            "d.style.width = '200px'; d.style.height = '90px'",
            {"resized": ["d"]},
        ),
        (
            '<div id="d" style="position:relative;width:50px;height:50px"><b>d</b></div><p>q</p>',
            "d.style.left = '40px'",
            {"moved": ["d"]},
        ),
        (
            '<div id="d" style="width:50px;height:50px">d</div>',
            "d.style.transform = 'translateX(30px)'",
            {"moved": ["d"]},
        ),
        # made anew and the same, as libraries do
        (LIST, "l.innerHTML = l.innerHTML", {}),
        (LIST, "l.innerHTML = l.innerHTML.replace('two', 'TWO')", {"retexted": ["li"]}),
        (LIST, "l.outerHTML = l.outerHTML + '<hr>'", {"appeared": ["hr"]}),
        (LIST, "l.children[1].remove()", {"vanished": ["li"]}),
        (LIST, "l.innerHTML = '<li>zero</li>' + l.innerHTML", {"appeared": ["li"]}),
        (
            "<details id=d><summary id=s>s</summary><p>text</p></details><p id=q>q</p>",
            "d.open = true",
            {"appeared": ["p"], "restated": ["d"]},
        ),
        ("<p id=p>p</p>", "", {}),
    ],
)
def test_changes_name_the_cause_and_not_what_gave_way(
    play: Play, body: str, handler: str, expected: dict[str, list[str]]
) -> None:
    assert kinds(play(body, handler)) == expected


def test_what_was_pushed_is_counted(play: Play) -> None:
    found = play('<div id="m" hidden>m</div><p>a</p><p>b</p><p><b>c</b></p>', "m.hidden = false")
    assert kinds(found) == {"appeared": ["m"]}
    assert found.pushed == 4


def test_another_theme_recolours_what_shows_a_colour(play: Play) -> None:
    found = play(
        '<div id="a"><p id="p">text</p><div id="box" style="height:9px"></div></div>',
        "document.body.style.cssText = 'background: black; color: white'",
    )
    assert kinds(found) == {"recoloured": ["body", "p"]}


def element(ref: int, parent: int | None = None, **more: object) -> Element:
    values: dict[str, object] = {
        "tag": "div",
        "id": "",
        "box": PixelBox(0, ref * 10, 100, ref * 10 + 10),
        "text": "",
        "label": "",
    }
    return Element(ref=ref, parent=parent, **{**values, **more})  # type: ignore[arg-type]


def snapshot(*elements: Element, document: int = 0, scroll: tuple[int, int] = (0, 0)) -> Snapshot:
    return Snapshot(elements, (100, 100), "u", scroll=scroll, document=document)


def test_the_same_snapshot_has_no_changes() -> None:
    one = snapshot(element(1), element(2, 1, text="a"))
    assert changes(one, one) == Changes()


def test_only_the_outermost_elements_appear_and_vanish() -> None:
    few = snapshot(element(1))
    many = snapshot(element(1), element(2, 1, tag="ul"), element(3, 2, tag="li"))
    assert [one.ref for one in changes(few, many).appeared] == [2]
    assert [one.ref for one in changes(many, few).vanished] == [2]


def test_another_document_is_a_new_page_and_the_same_on_it_is_the_same() -> None:
    before = snapshot(element(1, tag="html"), element(2, 1, tag="h1", text="a", label="a"))
    after = snapshot(
        element(3, tag="html", box=before.elements[0].box),
        element(4, 3, tag="h1", text="a", label="a", box=before.elements[1].box),
        document=1,
    )
    found = changes(before, after)
    assert found.new_page
    assert (found.appeared, found.vanished) == ((), ())


def test_what_is_fixed_does_not_move_when_the_page_is_scrolled() -> None:
    style = {"position": "fixed"}
    before = snapshot(element(1), element(2, 1, style=style))
    after = snapshot(
        element(1), element(2, 1, style=style, box=PixelBox(0, 520, 100, 530)), scroll=(0, 500)
    )
    assert changes(before, after).moved == ()


def test_two_that_change_places_have_moved() -> None:
    first, second = PixelBox(0, 0, 100, 10), PixelBox(0, 50, 100, 60)
    before = snapshot(element(1), element(2, 1, box=first), element(3, 1, box=second))
    after = snapshot(element(1), element(3, 1, box=first), element(2, 1, box=second))
    assert [new.ref for _, new in changes(before, after).moved] == [3, 2]
