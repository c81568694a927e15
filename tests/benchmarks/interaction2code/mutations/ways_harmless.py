"""Harmless differences, which every rebuilt page has."""

from __future__ import annotations

import re

from mutations.editing import parsed, with_first_script, with_markup, with_style, written
from mutations.mutate import Scene, way


@way("none")
def slightly_other_spacing(one: Scene) -> str | None:
    return with_style(
        one.page.html, "button,a,p,h1,h2,h3,label{letter-spacing:.25px}p{margin-top:14px}"
    )


@way("none")
def slightly_larger_words(one: Scene) -> str | None:
    return with_style(one.page.html, "body{font-size:103%}p,li,td{font-size:102%}")


@way("none")
def another_font(one: Scene) -> str | None:
    return re.sub(
        r"Georgia|Verdana|\"DejaVu Sans\"|\"Liberation Sans\"|\bArial\b", "Helvetica", one.page.html
    )


@way("none")
def slow_with_a_transition(one: Scene) -> str | None:
    return with_style(
        one.page.html, "*{transition:background-color .3s,color .3s,opacity .3s,transform .3s}"
    )


@way("none")
def its_effect_comes_late(one: Scene) -> str | None:
    """Its handlers run 300 ms later."""
    if re.search(r":(hover|checked)", one.page.html) or one.it.kind in {"drag", "key", "scroll"}:
        return None
    return with_first_script(
        one.page.html,
        """const add = EventTarget.prototype.addEventListener;
        EventTarget.prototype.addEventListener = function (type, f, more) {
          const types = ['click', 'input', 'change', 'mouseenter'];
          const late = types.includes(type) && typeof f === 'function';
          return add.call(this, type, late ? function (e) {
            const copy = {target: e.target, type: e.type, key: e.key, preventDefault() {}};
            if (e.target.closest?.('a')) e.preventDefault();
            setTimeout(() => f.call(this, copy), 300);
          } : f, more);
        };""",
    )


@way("none")
def a_wrapper_around_everything(one: Scene) -> str | None:
    tree = parsed(one.page.html)
    body = tree.find("body")
    css = "".join(tree.xpath("//style/text()"))
    if "body" in one.it.effect or re.search(r"body\{[^}]*(flex|grid|relative)", css):
        return None
    wrapper = body.makeelement("div", {"class": "wrapper-of-all"})
    wrapper.text, body.text = body.text, None
    for child in list(body):
        wrapper.append(child)
    body.append(wrapper)
    return written(tree)


@way("none")
def an_id_with_a_hyphen(one: Scene) -> str | None:
    return re.sub(r'id="interact(\d)"', r'id="interact-\1"', one.page.html)


@way("none")
def an_id_with_an_underscore(one: Scene) -> str | None:
    return re.sub(r'id="interact(\d)"', r'id="interact_\1"', one.page.html)


@way("none")
def a_banner_that_has_nothing_to_do_with_it(one: Scene) -> str | None:
    height = 24
    return with_markup(
        one.page.html,
        f'<div style="font:12px/{height}px Arial;background:#ececec;color:#555;text-align:center">'
        "Made with care</div>",
        first=True,
    )


@way("none")
def everything_shifted_by_eight_pixels(one: Scene) -> str | None:
    return with_style(one.page.html, "html{padding:8px 0 0 8px}")


@way("none")
def slightly_other_colours(one: Scene) -> str | None:
    """Every colour is a little off, as if it had been read from a picture."""

    def off(found: re.Match[str]) -> str:
        parts = (int(found[1][at : at + 2], 16) for at in (0, 2, 4))
        return "#" + "".join(
            f"{min(max(part + 9 - 18 * (part > 127), 0), 255):02x}" for part in parts
        )

    return re.sub(r"#([0-9a-fA-F]{6})\b", off, one.page.html)


@way("none")
def other_class_names(one: Scene) -> str | None:
    """In CSS, markup and scripts alike."""
    names = set(re.findall(r'class="([^"]+)"', one.page.html))
    for name in {part for group in names for part in group.split()}:
        if len(name) > 3 and re.fullmatch(r"[a-z]+", name):
            html = one.page.html
            uses = len(re.findall(rf"\b{name}\b", html))
            known = len(re.findall(rf"(\.{name}\b|class=\"[^\"]*\b{name}\b)", html))
            if uses == known:
                return re.sub(rf"\b{name}\b", f"x-{name}-1", html)
    return None


@way("none")
def rounder_corners_and_a_shadow(one: Scene) -> str | None:
    return with_style(
        one.page.html,
        "button,input,select,.card,.tile,.plan{border-radius:9px;box-shadow:0 1px 2px #0003}",
    )
