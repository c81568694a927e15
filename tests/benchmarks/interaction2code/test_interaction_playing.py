"""Acting on generated pages whose elements are of another kind than what was asked for."""

from __future__ import annotations

import pytest

from uiproof.benchmarks.interaction2code.judging.finding import Wanted
from uiproof.benchmarks.interaction2code.judging.playing import act
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action

WINDOW = (800, 600)
OUT = "<p id=out>nothing</p>"


@pytest.fixture(scope="module")
def played():
    with Renderer() as renderer:

        def play(body, kind):
            page = PageSource.from_html(f"<!doctype html>{body}{OUT}")
            with renderer.stage(page, WINDOW) as stage:
                done = act(stage, Wanted("1", Action(kind), "all", None, WINDOW, None))
            texts = {one.id: one.text for one in done.after.snapshot.elements}
            return done.action and done.action.kind, texts["out"]

        yield play


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (
            "<select id=interact1 onchange='out.textContent = value'><option>a<option>b</select>",
            "click",
            ("select", "b"),
        ),
        (
            "<input id=interact1 type=number oninput='out.textContent = \"set\"'>",
            "drag",
            ("type", "set"),
        ),
        (
            "<button id=interact1 onclick='out.textContent = \"more\"'>+</button>",
            "drag",
            ("click", "more"),
        ),
        (
            "<button id=interact1 onpointermove='out.textContent = \"moved\"'>handle</button>",
            "drag",
            (None, "moved"),
        ),
        ("<button id=interact1>dead</button>", "click", (None, "nothing")),
    ],
)
def test_who_meets_another_kind_of_control_uses_it_as_it_is_used(played, body, kind, expected):
    assert played(body, kind) == expected
