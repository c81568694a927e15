"""An effect that does not come (b), comes somewhere else (f) or only in part (i)."""

from __future__ import annotations

import re

from mutations.editing import (
    parsed,
    quoted,
    with_first_script,
    with_script,
    with_style,
    without_css_states,
    without_scripts,
    written,
)
from mutations.mutate import Scene, room, way

# Names of events in code, and others that never come when a person acts.
_DEAF = {
    "click": "dblclick",
    "change": "reset",
    "input": "invalid",
    "mouseenter": "contextmenu",
    "mouseover": "contextmenu",
    "keydown": "copy",
    "mousedown": "cut",
    "pointerdown": "cut",
    "scroll": "offline",
    "toggle": "cut",
}


# (b) no interaction


@way("b")
def no_scripts_at_all(one: Scene) -> str | None:
    return without_css_states(without_scripts(one.page.html))


@way("b")
def listens_to_another_event(one: Scene) -> str | None:
    names = "|".join(_DEAF)
    html = re.sub(
        rf"addEventListener\('({names})'",
        lambda found: f"addEventListener('{_DEAF[found[1]]}'",
        one.page.html,
    )
    html = re.sub(rf"\.on({names}) = ", lambda found: f".on{_DEAF[found[1]]} = ", html)
    html = re.sub(rf'\son({names})="', lambda found: f' on{_DEAF[found[1]]}="', html)
    return without_css_states(html)


@way("b")
def its_handler_fails(one: Scene) -> str | None:
    main = {"hover": "mouseenter", "type": "input", "select": "change", "drag": "mousedown"}
    main |= {"key": "keydown", "scroll": "scroll", "click": "click"}
    return with_first_script(
        without_css_states(one.page.html),
        f"intercept(() => document.getElementById('{one.it.id}'), '{main[one.it.kind]}',"
        " () => { undefinedHelper(); });",
    )


@way("b")
def something_transparent_lies_over_it(one: Scene) -> str | None:
    if one.on_body or one.it.kind == "key":
        return None
    return with_script(one.page.html, f"cover('{one.it.id}');")


@way("b")
def disabled(one: Scene) -> str | None:
    tree = parsed(one.page.html)
    found = tree.xpath(f'//*[@id="{one.it.id}"]')
    if not found or found[0].tag not in {"button", "input", "select", "textarea"}:
        return None
    found[0].set("disabled", "")
    return written(tree)


@way("b")
def what_should_come_is_never_shown(one: Scene) -> str | None:
    if not one.appears or len(one.appears) < len(one.it.effect):
        return None
    return with_style(one.page.html, f"{','.join(one.appears)}{{display:none!important}}")


@way("b")
def deaf_to_the_pointer(one: Scene) -> str | None:
    if one.on_body or one.it.kind == "key":
        return None
    return with_style(
        one.page.html, f"#{one.it.id},#{one.it.id} *{{pointer-events:none!important}}"
    )


@way("b")
def its_listeners_got_lost(one: Scene) -> str | None:
    if one.on_body:
        return None
    return with_script(one.page.html, f"loseListeners('{one.it.id}');")


# (f) the effect is in another position


def _main(one: Scene) -> str | None:
    """What appears, where it is something with a place of its own."""
    if not one.appears or "new page" in one.it.visuals:
        return None
    return one.appears[0]


def _displaced(one: Scene, css: str) -> str | None:
    main = _main(one)
    return None if main is None else with_style(one.page.html, f"{main}{{{css}}}")


def _translated(one: Scene, across: float, down: float) -> str | None:
    boxes = dict(zip(one.it.effect, one.seen.effects_after, strict=True))
    box = boxes.get(_main(one) or "")
    if box is None:
        return None
    dx, dy = room(box, one.page.viewport)
    return _displaced(one, f"translate:{across * dx:.0f}px {down * dy:.0f}px;z-index:9")


@way("f")
def comes_further_on_and_lower_or_higher(one: Scene) -> str | None:
    return _translated(one, 0.7, 0.7)


@way("f")
def comes_further_on(one: Scene) -> str | None:
    return _translated(one, 0.8, 0)


@way("f")
def comes_lower_or_higher(one: Scene) -> str | None:
    return _translated(one, 0, 0.85)


@way("f")
def comes_in_the_upper_left_corner(one: Scene) -> str | None:
    return _displaced(one, _fixed("left:10px!important;top:10px!important"))


@way("f")
def comes_in_the_lower_right_corner(one: Scene) -> str | None:
    return _displaced(one, _fixed("right:10px!important;bottom:10px!important"))


@way("f")
def comes_at_the_end_of_the_page(one: Scene) -> str | None:
    main = _main(one)
    if main is None:
        return None
    return with_script(one.page.html, f"putAtTheEnd({quoted(main)});")


@way("f")
def jumps_away_when_it_changes(one: Scene) -> str | None:
    if one.appears or "new page" in one.it.visuals or set(one.it.visuals) & {"position", "size"}:
        return None
    return with_script(one.page.html, f"jumpWhenChanged({quoted(one.it.effect[0])});")


def _fixed(corner: str) -> str:
    free = "".join(f"{side}:auto;" for side in ("left", "right", "top", "bottom"))
    still = "margin:0!important;transform:none!important;z-index:9"
    return f"position:fixed!important;{free}{corner};{still}"


# (i) only a part is there


@way("i")
def a_part_is_left_out(one: Scene) -> str | None:
    return _hidden(one, one.it.parts[:1])


@way("i")
def another_part_is_left_out(one: Scene) -> str | None:
    return _hidden(one, one.it.parts[1:2])


def _hidden(one: Scene, parts: tuple[str, ...]) -> str | None:
    if not parts or not one.appears or parts[0] in one.it.effect:
        return None
    return with_style(one.page.html, f"{parts[0]}{{display:none!important}}")


@way("i")
def the_lower_half_is_not_there(one: Scene) -> str | None:
    main = _main(one)
    if main is None:
        return None
    return with_style(
        one.page.html, f"{main} > :nth-last-child(-n+1):not(:only-child){{display:none!important}}"
    )


@way("i")
def only_the_frame_and_the_first_line(one: Scene) -> str | None:
    main = _main(one)
    if main is None:
        return None
    return with_style(one.page.html, f"{main} > :nth-child(n+2){{visibility:hidden!important}}")


@way("i")
def no_fields_and_no_buttons_in_it(one: Scene) -> str | None:
    main = _main(one)
    if main is None:
        return None
    return with_style(
        one.page.html, f"{main} :is(button,input,textarea,img,select,ul){{display:none!important}}"
    )


@way("i")
def one_of_several_things_stays(one: Scene) -> str | None:
    return _frozen(one, one.it.effect[-1:]) if len(one.it.effect) > 1 else None


@way("i")
def the_main_thing_stays(one: Scene) -> str | None:
    return _frozen(one, one.it.effect[:1]) if len(one.it.effect) > 1 else None


def _frozen(one: Scene, selectors: tuple[str, ...]) -> str | None:
    if selectors[0] in one.appears:
        return with_style(one.page.html, f"{selectors[0]}{{display:none!important}}")
    return with_script(one.page.html, f"freeze(document.querySelector('{selectors[0]}'));")


@way("i")
def the_colours_of_a_part_stay(one: Scene) -> str | None:
    if "color" not in one.it.visuals or not one.it.parts or one.it.effect[0] != "body":
        return None
    return with_script(one.page.html, f"pinColours({quoted(','.join(one.it.parts))});")


@way("i")
def only_the_ground_changes_colour(one: Scene) -> str | None:
    if "color" not in one.it.visuals or one.it.effect[0] != "body":
        return None
    return with_script(one.page.html, "pinColours('body *');")
