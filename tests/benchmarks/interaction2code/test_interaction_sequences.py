"""Paths through a graph of interactions, and playing them until one breaks."""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.sequences import path_to, paths, play
from uiproof.browser.snapshots import Action


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
