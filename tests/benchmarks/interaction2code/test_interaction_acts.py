"""Acting on generated pages: elements of another kind, and paths of several interactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.acts import act, path_to, paths, play
from uiproof.benchmarks.interaction2code.judging.triggers import TriggerQuery
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action

WINDOW = (800, 600)
OUT = "<p id=out>nothing</p>"


@pytest.fixture(scope="module")
def played():
    with Renderer() as renderer:

        def act_on(body, kind):
            page = PageSource.from_html(f"<!doctype html>{body}{OUT}")
            with renderer.stage(page, WINDOW) as stage:
                done = act(stage, TriggerQuery("1", Action(kind), "all", None, WINDOW, None))
            texts = {one.id: one.text for one in done.after.snapshot.elements}
            return done.action and done.action.kind, texts["out"]

        yield act_on


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
def test_controls_of_another_kind_are_used_as_such(played, body, kind, expected):
    assert played(body, kind) == expected


# --- paths


def graph(*edges):
    made = tuple(
        Interaction(str(number), source, target, Action("click"), "click it")
        for number, (source, target) in enumerate(edges, 1)
    )
    return Graph("1", Path("1"), made)


def numbers(path):
    return [one.id for one in path]


def test_pairs_that_do_not_meet_have_no_paths():
    assert paths(graph(("0", "1"), ("2", "3"))) == ()
    assert paths(graph(("0", "1"), ("0", "2"))) == ()


def test_only_the_longest_paths_count():
    one = graph(("0", "1"), ("1", "2"), ("2", "3"), ("1", "4"))
    assert [numbers(path) for path in paths(one)] == [["1", "2", "3"], ["1", "4"]]
    assert numbers(path_to(one, one.interactions[3])) == ["1", "4"]
    assert path_to(one, one.interactions[0]) is None


def test_a_way_back_to_the_beginning_does_not_go_round_in_circles():
    one = graph(("0", "1"), ("1", "0"))
    assert one.way_to(one.interactions[0]) == ()
    assert numbers(one.way_to(one.interactions[1])) == ["1"]
    assert [numbers(path) for path in paths(one)] == [["1", "2"]]


def test_playing_stops_at_the_first_that_breaks():
    one = graph(("0", "1"), ("1", "2"), ("2", "3"))
    asked = []

    def act(interaction):
        asked.append(interaction.id)
        return "it is covered" if interaction.id == "2" else None

    played = play(one.interactions, act)
    assert asked == ["1", "2"]
    assert played.as_json() == {
        "edges": ["1", "2", "3"],
        "steps": 3,
        "done": 1,
        "stopped": "2: it is covered",
    }
    assert play(one.interactions, lambda _: None).done == 3
