import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.interaction2code.graph import (
    TAG_CATEGORIES,
    VISUAL_CATEGORIES,
    BrokenPage,
    Graph,
    Interaction,
    check_pictures,
    read_dataset,
    read_graph,
    recognises,
    write_graph,
)
from uiproof.benchmarks.interaction2code.marks import find_mark
from uiproof.browser.snapshots import Action
from uiproof.errors import InputError
from uiproof.geometry import PixelBox
from uiproof.vision.images import encode_png, read

ENTRY = {
    "src": "0",
    "dst": "1",
    "action": 'click the "login" button',
    "description": "goes to the login page",
    "tag type": ["button"],
    "visual type": ["new page"],
}


def page(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "action.json").write_text(text, encoding="utf-8")
    return folder


def only(graph):
    (interaction,) = graph.interactions
    return interaction


def test_a_published_page_is_read(tmp_path):
    about = {"link": "https://example.org/", "topic": "blog", "framework": "react"}
    graph = read_graph(page(tmp_path / "101", {**about, "1": ENTRY}))
    assert (graph.page, graph.topic, graph.link) == ("101", "blog", "https://example.org/")
    assert only(graph) == Interaction(
        "1",
        "0",
        "1",
        Action("click"),
        'click the "login" button',
        "goes to the login page",
        ("button",),
        ("new page",),
    )


@pytest.mark.parametrize(
    ("field", "written", "name", "read_as"),
    [
        ("tag type", ["", "button", " Image "], "tags", ("button", "image")),
        ("tag type", "button, text", "tags", ("button", "text")),
        ("tag type", None, "tags", ()),
        ("visual type", ["text", "text", 3], "visuals", ("text",)),
        ("src", 0, "source", "0"),
        ("src", 0.0, "source", "0"),
        ("dst", " 12 ", "target", "12"),
        ("dst", "12.png", "target", "12"),
        ("action", "hover on the logo \n", "sentence", "hover on the logo"),
        ("action", None, "sentence", ""),
        ("description", ["opens", "a menu"], "description", "opens a menu"),
        ("trigger", [1, 2.0, 3, 4], "trigger", PixelBox(1, 2, 3, 4)),
        ("effect", None, "effect", None),
    ],
)
def test_irregular_fields_are_read_as_they_were_meant(tmp_path, field, written, name, read_as):
    graph = read_graph(page(tmp_path, {"1": {**ENTRY, field: written}}))
    assert getattr(only(graph), name) == read_as


def test_our_own_fields_are_read(tmp_path):
    entry = {**ENTRY, "kind": "drag", "value": [40, 0], "seen by": "both", "Visual_Type": "x"}
    graph = read_graph(page(tmp_path, {"viewport": [1280, 720], "1": entry, "licence": "CC0"}))
    assert graph.viewport == (1280, 720)
    assert graph.extra == {"licence": "CC0"}
    assert only(graph).action == Action("drag", "40,0")
    assert only(graph).extra == {"seen by": "both", "Visual_Type": "x"}


def test_interactions_come_in_the_order_of_their_numbers(tmp_path):
    graph = read_graph(page(tmp_path, dict.fromkeys(("10", "2", "1 "), ENTRY)))
    assert [one.id for one in graph.interactions] == ["1", "2", "10"]


@pytest.mark.parametrize(
    "entry",
    [
        "click",
        {**ENTRY, "src": None},
        {**ENTRY, "dst": "../../secret"},
        {**ENTRY, "src": True},
        {**ENTRY, "trigger": [5, 5, 1, 1]},
        {**ENTRY, "effect": [1, 2, 3]},
    ],
)
def test_a_broken_interaction_does_not_stop_the_others(tmp_path, entry):
    graph = read_graph(page(tmp_path, {"1": entry, "2": ENTRY}))
    assert [one.id for one in graph.interactions] == ["2"]
    assert "Interaction 1" in graph.broken["1"].message


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_no_trouble(tmp_path, mark):
    (tmp_path / "action.json").write_text(json.dumps({"1": ENTRY}), encoding=mark)
    assert only(read_graph(tmp_path)).source == "0"


@pytest.mark.parametrize("content", ["", "[", "7", "{}", '{"topic": "blog"}', "[" * 100_000])
def test_a_broken_page_does_not_stop_the_others(tmp_path, content):
    page(tmp_path / "9", content)
    page(tmp_path / "10", {"1": ENTRY})
    broken, whole = read_dataset(tmp_path)
    assert isinstance(broken, BrokenPage)
    assert broken.page == "9"
    assert "action.json" in broken.error.message
    assert whole.page == "10"


def test_pages_are_found_where_they_lie_in_natural_order(tmp_path):
    for name in ("10", "9", "set/3"):
        page(tmp_path / name, {"1": ENTRY})
    (tmp_path / "9" / "result").mkdir()
    (tmp_path / "__MACOSX" / "9").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    assert [graph.page for graph in read_dataset(tmp_path)] == ["9", "10", "3"]
    assert [graph.page for graph in read_dataset(tmp_path / "set" / "3")] == ["3"]
    assert recognises(tmp_path)
    assert recognises(tmp_path / "10")
    assert recognises(tmp_path / "10" / "action.json")
    assert not recognises(tmp_path / "notes")
    assert not recognises(tmp_path / "absent")


def test_pages_of_one_name_are_told_apart(tmp_path):
    for name in ("a/1", "b/1"):
        page(tmp_path / name, {"1": ENTRY})
    assert [graph.page for graph in read_dataset(tmp_path)] == ["a-1", "b-1"]


def test_a_page_that_lost_its_list_is_reported(tmp_path):
    page(tmp_path / "1", {"1": ENTRY})
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "0_mark.png").write_bytes(b"")
    assert isinstance(read_dataset(tmp_path)[1], BrokenPage)


def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(InputError, match="no pages"):
        read_dataset(tmp_path)


def test_a_missing_picture_is_an_error_of_its_interactions_only(tmp_path):
    graph = read_graph(page(tmp_path, {"1": ENTRY, "2": {**ENTRY, "dst": "2"}}))
    for node in ("0", "1"):
        (tmp_path / f"{node}.png").write_bytes(b"picture")
    check_pictures(graph, graph.interaction("1"))
    with pytest.raises(InputError, match=r"2\.png of interaction 2 is missing"):
        check_pictures(graph, graph.interaction("2"))
    (tmp_path / "2.png").touch()
    with pytest.raises(InputError, match="is empty"):
        check_pictures(graph, graph.interaction("2"))


def small_graph(folder):
    return Graph(
        "demo",
        folder,
        (
            Interaction(
                *("1", "0", "1", Action("type", "tea"), 'type "tea" in "Search"'),
                trigger=PixelBox(10, 10, 60, 30),
                effect=PixelBox(5, 40, 90, 70),
            ),
            Interaction("2", "0", "2", Action("hover"), 'hover on "Search"'),
        ),
        viewport=(100, 80),
    )


def pictures():
    chance = np.random.default_rng(0)
    return {n: chance.integers(200, 256, (80, 100, 3), dtype=np.uint8) for n in ("0", "1", "2")}


def test_a_written_page_has_screenshots_marks_and_crops(tmp_path):
    graph, shots = small_graph(tmp_path / "demo"), pictures()
    write_graph(graph, {**shots, "1": encode_png(shots["1"])})
    assert read_graph(tmp_path / "demo") == graph
    assert sorted(path.name for path in graph.folder.iterdir()) == [
        *("0.png", "0_mark.png", "1.png", "1_mark.png", "2.png", "action.json"),
        "interaction_1.png",
    ]
    assert (read(graph.screenshot("1")) == shots["1"]).all()
    assert find_mark(shots["0"], read(graph.marked("0"))) == PixelBox(10, 10, 60, 30)
    assert (read(graph.crop("1")) == shots["1"][40:70, 5:90]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]  # no drafts left


def test_writing_again_replaces_what_was_written_and_keeps_other_files(tmp_path):
    graph, shots = small_graph(tmp_path / "demo"), pictures()
    write_graph(graph, shots)
    (graph.folder / "index.html").write_text("<p>")
    write_graph(replace(graph, interactions=graph.interactions[1:]), shots)
    assert sorted(path.name for path in graph.folder.iterdir()) == [
        *("0.png", "2.png", "action.json", "index.html")
    ]


def test_nothing_half_written_is_kept(tmp_path):
    shots = {**pictures(), "2": b"not a picture"}
    with pytest.raises(InputError):
        write_graph(small_graph(tmp_path / "demo"), shots)
    with pytest.raises(InputError, match=r"no picture of 1\.png"):
        write_graph(small_graph(tmp_path / "demo"), {"0": shots["0"]})
    assert list(tmp_path.iterdir()) == []


text = st.text(max_size=20).map(str.strip)
sides = st.integers(0, 40), st.integers(0, 40), st.integers(41, 99), st.integers(41, 79)
boxes = st.none() | st.builds(PixelBox, *sides)
extras = st.dictionaries(st.sampled_from(["note", "seen"]), st.integers() | text | st.none())
interactions = st.builds(
    Interaction,
    st.just("0"),
    st.sampled_from("012"),
    st.sampled_from("012"),
    st.builds(Action, st.sampled_from(["click", "type", "drag"]), st.none() | text),
    text,
    text,
    st.lists(st.sampled_from(TAG_CATEGORIES), unique=True).map(tuple),
    st.lists(st.sampled_from(VISUAL_CATEGORIES), unique=True).map(tuple),
    boxes,
    boxes,
    extras,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(interactions, min_size=1, max_size=3), text, text, text, extras)
def test_every_field_survives_being_written_and_read(found, topic, link, framework, extra):
    # A value that is left out is taken from the sentence, which ours always agree with.
    numbered = [
        replace(one, id=str(number), sentence="" if one.action.value is None else one.sentence)
        for number, one in enumerate(found, 1)
    ]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "page"
        graph = Graph("page", folder, tuple(numbered), topic, link, framework, (9, 9), extra)
        write_graph(graph, pictures())
        assert read_graph(folder) == graph


def test_every_published_interaction_loads(shared_data):
    graphs = read_dataset(shared_data / "data" / "interaction2code")
    oracle = json.loads((shared_data / "data/interaction2code/oracle.json").read_text())
    assert all(isinstance(graph, Graph) and not graph.broken for graph in graphs)
    loaded = [(g.page, one.id, one.source, one.target) for g in graphs for one in g.interactions]
    known = [(o["page"], o["interaction"], o["src"], o["dst"]) for o in oracle["interactions"]]
    assert sorted(loaded) == sorted(known)
    for graph in graphs:
        for one in graph.interactions:
            check_pictures(graph, one)
            assert "" not in one.tags + one.visuals
