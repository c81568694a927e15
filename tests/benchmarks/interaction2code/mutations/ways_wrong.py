"""An effect of another type (g), on another element (h), or of another function (j)."""

from __future__ import annotations

from mutations.editing import quoted, with_first_script, with_script, without_css_states
from mutations.mutate import Scene, way

_MAIN = {"click": "click", "hover": "mouseenter", "type": "input", "select": "change"}
_MAIN |= {"drag": "mouseup", "key": "keydown", "scroll": "scroll"}


# (g) a wrong type of effect: what is done instead belongs to none of these visual categories


def _instead(one: Scene, js: str, *unlike: str) -> str | None:
    if set(one.it.visuals) & set(unlike):
        return None
    find = f"() => document.getElementById('{one.it.id}')"
    return with_first_script(
        without_css_states(one.page.html),
        f"intercept({find}, '{_MAIN[one.it.kind]}', t => {{ {js} }});",
    )


@way("g")
def a_dialog_of_the_browser(one: Scene) -> str | None:
    return _instead(one, "alert('You did it!');", "new window")


@way("g")
def the_element_changes_its_colour(one: Scene) -> str | None:
    if one.on_body:
        return None
    return _instead(
        one,
        "t.style.setProperty('background', '#e8590c', 'important'); t.style.color = '#fff';",
        *("color", "switch"),
    )


@way("g")
def the_element_changes_its_words(one: Scene) -> str | None:
    if one.on_body or one.seen.trigger_tag in {"input", "select", "img", "body"}:
        return None
    return _instead(one, "t.textContent = 'Thank you, done';", "text", "switch")


@way("g")
def another_page(one: Scene) -> str | None:
    return _instead(one, "openAnotherPage();", "new page")


@way("g")
def a_small_note(one: Scene) -> str | None:
    return _instead(
        one,
        "showNote();",
        *("new component", "new window", "new page"),
    )


@way("g")
def the_element_moves(one: Scene) -> str | None:
    if one.on_body:
        return None
    return _instead(
        one,
        "transform(t, 'translate(60px, 40px)');",
        *("position", "size"),
    )


@way("g")
def the_element_grows(one: Scene) -> str | None:
    if one.on_body:
        return None
    return _instead(
        one,
        "transform(t, 'scale(1.7)');",
        *("position", "size"),
    )


@way("g")
def the_page_changes_its_colours(one: Scene) -> str | None:
    return _instead(
        one,
        "darkenThePage();",
        *("color", "switch", "new page"),
    )


# (h) the effect is on another element


def _redirected(one: Scene, to: str) -> str | None:
    """The first thing that changes leaves its change to another one; the rest stays."""
    if one.appears or not one.lines or set(one.it.visuals) & {"position", "size"}:
        return None
    first = one.lines[0]
    rest = [selector for selector in one.it.effect if selector != first]
    stay = "".join(f"freeze(document.querySelector('{selector}'));" for selector in rest)
    return with_script(
        one.page.html,
        f"redirect(document.querySelector('{first}'), document.querySelector('{to}')); {stay}",
    )


@way("h")
def the_nearest_other_element_changes(one: Scene) -> str | None:
    others = one.far_strangers(60)
    return _redirected(one, others[0].path) if others else None


@way("h")
def an_element_far_away_changes(one: Scene) -> str | None:
    others = one.far_strangers(160)
    return _redirected(one, others[-1].path) if others else None


@way("h")
def the_heading_changes(one: Scene) -> str | None:
    heads = [other for other in one.strangers if other.tag in {"h1", "h2", "h3", "b"}]
    return _redirected(one, heads[0].path) if heads else None


@way("h")
def some_text_changes(one: Scene) -> str | None:
    others = [other for other in one.far_strangers(60) if other.tag in {"p", "div", "span", "li"}]
    return _redirected(one, others[len(others) // 2].path) if others else None


# (j) a wrong function

_OTHER = (
    "<p><b>Parcel service</b></p><p>Your parcel left the depot at noon.</p>"
    "<p>It comes tomorrow between nine and eleven.</p>"
)


def _other_content(one: Scene, html: str) -> str | None:
    """The same component in the same place, about something else."""
    if not one.appears or "new page" in one.it.visuals:
        return None
    main = one.appears[0]
    rest = "".join(
        f"document.querySelector('{selector}') && freeze(document.querySelector('{selector}'));"
        for selector in one.it.effect
        if selector not in one.appears
    )
    return with_script(one.page.html, f"fillWith({quoted(main)}, {quoted(html)}); {rest}")


@way("j")
def the_component_is_about_something_else(one: Scene) -> str | None:
    return _other_content(one, _OTHER)


@way("j")
def the_component_reports_an_error(one: Scene) -> str | None:
    return _other_content(
        one, "<p>Error 500</p><p>Something went wrong on our side, please call us.</p>"
    )


@way("j")
def other_words_are_written(one: Scene) -> str | None:
    return _other_words(one, "Sorry, try again")


@way("j")
def what_is_written_is_senseless(one: Scene) -> str | None:
    return _other_words(one, "undefined NaN")


def _other_words(one: Scene, words: str) -> str | None:
    if one.appears or not one.retexted:
        return None
    first = one.retexted[0]
    rest = [selector for selector in one.it.effect if selector != first]
    stay = "".join(f"freeze(document.querySelector('{selector}'));" for selector in rest)
    return with_script(one.page.html, f"sayOtherwise({quoted(first)}, {quoted(words)}); {stay}")


@way("j")
def it_does_what_another_element_is_for(one: Scene) -> str | None:
    return _swapped(one, 0)


@way("j")
def it_does_what_yet_another_element_is_for(one: Scene) -> str | None:
    return _swapped(one, 1)


def _swapped(one: Scene, which: int) -> str | None:
    others = [
        other
        for other in one.page.interactions
        if other.kind == "click"
        and other.id != one.it.id
        and set(other.visuals) & set(one.it.visuals)
        and not set(other.effect) & set(one.it.effect)
    ]
    if one.it.kind != "click" or which >= len(others):
        return None
    call = f"doWhatAnotherDoes('{one.it.id}', '{others[which].id}');"
    return with_script(one.page.html, call)
