"""Mistakes about the element: missing (a), another (c), of another type (d), elsewhere (e)."""

from __future__ import annotations

from mutations.editing import parsed, quoted, remove, with_markup, with_script, with_style, written
from mutations.mutate import Scene, room, way
from mutations.session import Stranger

FORWARDED = {"click", "hover", "type", "select"}


# (a) the interactive element is missing


@way("a")
def taken_out(one: Scene) -> str | None:
    if one.on_body:
        return None
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    if not found:
        return None
    remove(found[0])
    return written(tree)


@way("a")
def not_displayed(one: Scene) -> str | None:
    return (
        None
        if one.on_body
        else with_style(one.page.html, f"#{one.it.id}{{display:none!important}}")
    )


@way("a")
def invisible_but_keeps_its_room(one: Scene) -> str | None:
    if one.on_body:
        return None
    return with_style(one.page.html, f"#{one.it.id}{{visibility:hidden!important}}")


@way("a")
def never_made_by_the_script(one: Scene) -> str | None:
    if one.on_body:
        return None
    return with_script(one.page.html, f"document.getElementById('{one.it.id}')?.remove();")


@way("a")
def left_out_with_what_is_around_it(one: Scene) -> str | None:
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    if not found or one.on_body or found[0].getparent().tag == "body":
        return None
    remove(found[0].getparent())
    return written(tree)


@way("a")
def an_empty_place_instead(one: Scene) -> str | None:
    if one.on_body:
        return None
    left, top, right, bottom = one.trigger
    size = f"width:{right - left:.0f}px;height:{bottom - top:.0f}px"
    return with_script(one.page.html, f"leaveGap('{one.it.id}', '{size}');")


# (c) another element does it


def _carried_by(one: Scene, stranger: Stranger | None) -> str | None:
    if stranger is None or one.on_body or one.it.kind not in {"click", "hover"}:
        return None
    call = f"carryBy('{one.it.id}', {quoted(stranger.path)}, '{one.it.kind}');"
    return with_script(one.page.html, call)


@way("c")
def the_nearest_other_element(one: Scene) -> str | None:
    return _carried_by(one, next(iter(one.far_strangers()), None))


@way("c")
def an_element_far_away(one: Scene) -> str | None:
    return _carried_by(one, next(reversed(one.far_strangers()), None))


@way("c")
def a_heading(one: Scene) -> str | None:
    headings = [s for s in one.far_strangers() if s.tag in {"h1", "h2", "h3", "b", "p", "div"}]
    return _carried_by(one, headings[len(headings) // 2] if headings else None)


@way("c")
def another_button_or_link(one: Scene) -> str | None:
    alike = [s for s in one.far_strangers(70) if s.tag in {"button", "a", "summary", "label"}]
    return _carried_by(one, alike[0] if alike else None)


@way("c")
def an_element_of_its_own_making(one: Scene) -> str | None:
    if one.on_body or one.it.kind not in FORWARDED:
        return None
    like = {"type": '<input placeholder="Type here">', "select": "<select></select>"}
    made = like.get(one.it.kind, "<button>Open panel</button>")
    place = "position:absolute;left:40%;top:300px;z-index:9"
    made = made.replace(">", f' style="{place}" class="own">', 1)
    call = f"carryBy('{one.it.id}', '.own', '{one.it.kind}');"
    return with_script(with_markup(one.page.html, made), call)


# (d) an element of another type

_STAND_INS = {
    "link": '<a href="#" style="all:revert">{}</a>',
    "button": '<button type="button" style="all:revert">{}</button>',
    "checkbox": '<label style="all:revert"><input type="checkbox" style="all:revert"> {}</label>',
    "field": '<input style="all:revert;width:110px" value="{}">',
    "list": '<select style="all:revert"><option>{}</option><option>Other</option></select>',
    "picture": '<img alt="" style="all:revert;width:64px;height:40px;background:#999" '
    'src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">',
}
_SAME = {
    "link": {"a", "text", "span"},
    "button": {"button"},
    "checkbox": {"input", "label"},
    "field": {"input"},
    "list": {"select"},
    "picture": {"img"},
}


def _stand_in(one: Scene, kind: str) -> str | None:
    """Something else in its place, with its words, that does what it did."""
    if one.on_body or one.it.kind not in {"click", "hover"}:
        return None
    if one.seen.trigger_tag in _SAME[kind] or set(one.it.tags) & _SAME[kind] or kind in one.it.tags:
        return None
    words = one.seen.trigger_text.splitlines()[0] if one.seen.trigger_text else "Open"
    html = quoted(_STAND_INS[kind].format(words))
    return with_script(one.page.html, f"standIn('{one.it.id}', {html}, '{one.it.kind}');")


@way("d")
def a_link(one: Scene) -> str | None:
    return _stand_in(one, "link")


@way("d")
def a_plain_button(one: Scene) -> str | None:
    return _stand_in(one, "button")


@way("d")
def a_checkbox(one: Scene) -> str | None:
    return _stand_in(one, "checkbox")


@way("d")
def a_text_field(one: Scene) -> str | None:
    return _stand_in(one, "field")


@way("d")
def a_list(one: Scene) -> str | None:
    return _stand_in(one, "list")


@way("d")
def a_picture(one: Scene) -> str | None:
    return _stand_in(one, "picture")


@way("d")
def another_tag_in_the_source(one: Scene) -> str | None:
    to = {"button": "a", "a": "button", "div": "button", "span": "button", "input": "textarea"}
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    new = to.get(one.seen.trigger_tag)
    if not found or new is None or one.it.kind == "drag" or found[0].get("type") == "checkbox":
        return None
    element = found[0]
    element.tag = new
    element.set("style", "all:revert" + ("" if one.it.kind != "hover" else ";position:relative"))
    if new == "a":
        element.set("href", "javascript:void 0")
    element.attrib.pop("type", None)
    return written(tree)


@way("d")
def choices_side_by_side(one: Scene) -> str | None:
    if one.it.kind != "select":
        return None
    return with_script(one.page.html, f"spreadChoices('{one.it.id}');")


# (e) in another position


@way("e")
def shifted_within_the_window(one: Scene) -> str | None:
    dx, dy = room(one.trigger, one.page.viewport)
    return _shifted(one, 0.8 * dx, 0.6 * dy)


@way("e")
def shifted_sideways_only(one: Scene) -> str | None:
    return _shifted(one, 0.65 * room(one.trigger, one.page.viewport)[0], 0)


@way("e")
def shifted_up_or_down_only(one: Scene) -> str | None:
    return _shifted(one, 0, 0.7 * room(one.trigger, one.page.viewport)[1])


def _shifted(one: Scene, dx: float, dy: float) -> str | None:
    if one.on_body or one.it.kind == "drag":
        return None
    place = "" if _positioned(one) else "position:relative;"
    css = f"translate:{dx:.0f}px {dy:.0f}px;{place}z-index:9"
    return with_style(one.page.html, f"#{one.it.id}{{{css}}}")


def _positioned(one: Scene) -> bool:
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    names = (found[0].get("class") or "").split() if found else []
    style = "".join(tree.xpath("//style/text()"))
    return any(f".{name}{{position:absolute" in style for name in names)


@way("e")
def at_the_end_of_the_page(one: Scene) -> str | None:
    return _moved_in_source(one, first=False)


@way("e")
def at_the_beginning_of_the_page(one: Scene) -> str | None:
    return _moved_in_source(one, first=True)


def _moved_in_source(one: Scene, *, first: bool) -> str | None:
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    if not found or one.on_body or one.it.kind == "drag":
        return None
    element, body = found[0], tree.find("body")
    copy = parsed(written(element)).xpath(f'//*[@id="{one.it.id}"]')[0]
    remove(element)
    if first:
        body.insert(0, copy)
    else:
        scripts = body.findall("script")
        body.insert(body.index(scripts[0]) if scripts else len(body), copy)
    return written(tree)


@way("e")
def fixed_in_a_corner(one: Scene) -> str | None:
    if one.on_body or one.it.kind == "drag":
        return None
    corner = (
        "left:16px;right:auto"
        if one.trigger[0] > one.page.viewport[0] / 2
        else "right:16px;left:auto"
    )
    return with_style(
        one.page.html,
        f"#{one.it.id}{{position:fixed!important;{corner};bottom:16px;top:auto;z-index:9;background-color:#dde}}",
    )
