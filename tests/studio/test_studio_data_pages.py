"""Correcting collected interactions: over HTTP, and in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from data_sets import HOSTILE, SIZE, digest, pixels, screenshot, unpack
from playwright.sync_api import expect
from studio_server import running_studio

from page_looks import barriers, overflows
from uiproof.benchmarks.interaction2code.editor import collected_page, read_page
from uiproof.benchmarks.interaction2code.graph import Graph, read_dataset
from uiproof.benchmarks.interaction2code.marks import draw_mark, find_mark
from uiproof.geometry import PixelBox
from uiproof.studio.datasets import dataset_id
from uiproof.vision.images import encode_png

TRIGGER = PixelBox(40, 60, 200, 100)
EFFECT = PixelBox(300, 200, 340, 240)
OTHER = PixelBox(400, 20, 500, 80)
SIZES = dict.fromkeys(("0", "1", "2"), SIZE)


def published(folder: Path) -> Path:
    """Two pages as they were published: boxes are only drawn, and `2` follows from `1`."""
    for page in ("101", "102"):
        where = folder / page
        for node in ("0", "1", "2"):
            screenshot(where / f"{node}.png", text=f"State {node}")
        for node, box in (("0", TRIGGER), ("1", EFFECT), ("2", OTHER)):
            marked = draw_mark(pixels(where / f"{node}.png"), box)
            (where / f"{node}_mark.png").write_bytes(encode_png(marked))
        (where / "interaction_1.png").write_bytes(b"cut out by hand")
        (where / "page.html").write_text("<p>explored")
        entry = {"description": "", "tag type": ["button"], "visual type": ["text"]}
        content = {
            "link": "https://example.com",
            "topic": "shop",
            "framework": "react",
            "1": {"src": 0, "dst": 1, "action": 'click the "Save" button', **entry, "level": 2},
            "2": {"src": 1, "dst": 2, "action": "click the square", **entry},
        }
        (where / "action.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    sets = (published(folder / "published"), published(folder / "second"))
    with running_studio(folder / "runs", sets) as server:
        server.store.add_annotator("Ann")
        yield server


def graph_of(folder: Path, page: str) -> Graph:
    (found,) = (one for one in read_dataset(folder) if one.page == page)
    assert isinstance(found, Graph)
    return found


def test_boxes_that_a_data_set_only_drew_are_there_to_correct(world):
    state = collected_page(graph_of(world.studio.datasets[0], "101"), SIZES)
    assert [(PixelBox(*one.trigger), PixelBox(*one.effect)) for one in state.interactions] == [
        (TRIGGER, EFFECT),
        (EFFECT, OTHER),
    ]


def test_a_corrected_page_is_exported_in_the_published_layout(world, tmp_path):
    folder = world.studio.datasets[0]
    before = digest(folder)
    first, second = collected_page(graph_of(folder, "101"), SIZES).model_dump(mode="json")[
        "interactions"
    ]
    moved = PixelBox(420, 30, 480, 70)
    second |= {"kind": "type", "value": "tea", "sentence": "type tea", "visuals": ["switch"]}
    second |= {"tags": ["Input", "input"], "effect": [420, 30, 480, 70]}
    content = {"topic": "tools", "interactions": [first, second], "done": True}
    change = {"name": "101", "revision": 0, "content": content}
    client, address = world.client(), f"/data/{dataset_id(folder)}"
    assert client.post(f"{address}/interactions", json=change).status_code == 200
    out = unpack(client.get(f"{address}/export"), tmp_path / "out")
    assert digest(folder) == before
    assert digest(out / "102") == digest(folder / "102")
    old, new = graph_of(folder, "101"), graph_of(out, "101")
    assert (new.topic, new.link, new.framework) == ("tools", old.link, old.framework)
    one, two = new.interactions
    assert replace(one, extra=old.interactions[0].extra) == old.interactions[0]
    assert (two.action.kind, two.action.value, two.sentence) == ("type", "tea", "type tea")
    assert (two.tags, two.visuals, two.effect) == (("input",), ("switch",), moved)
    assert find_mark(pixels(new.screenshot("2")), pixels(new.marked("2"))) == moved
    for kept in ("0.png", "0_mark.png", "1_mark.png", "interaction_1.png", "page.html"):
        assert (out / "101" / kept).read_bytes() == (folder / "101" / kept).read_bytes()
    done = unpack(client.get(f"{address}/export?done=true"), tmp_path / "done")
    assert [page.page for page in read_dataset(done)] == ["101"]


def test_a_removed_interaction_is_left_out_and_can_be_restored(world, tmp_path):
    folder = world.studio.datasets[1]
    state = collected_page(graph_of(folder, "102"), SIZES)
    client, address = world.client(), f"/data/{dataset_id(folder)}"
    revision = 0
    for removed, ids in (({"1"}, ["2"]), (set(), ["1", "2"]), ({"1", "2"}, None)):
        content = state.model_dump(mode="json")
        for one in content["interactions"]:
            one["removed"] = one["id"] in removed
        change = {"name": "102", "revision": revision, "content": content}
        revision = client.post(f"{address}/interactions", json=change).json()["revision"]
        out = unpack(client.get(f"{address}/export"), tmp_path / str(revision))
        if ids is None:
            assert not (out / "102").exists()
        else:
            assert [one.id for one in graph_of(out, "102").interactions] == ids


def test_what_cannot_be_meant_is_refused(world):
    from uiproof.errors import InputError

    graph = graph_of(world.studio.datasets[0], "102")
    good = collected_page(graph, SIZES).model_dump(mode="json")
    assert read_page(good, graph, SIZES).model_dump(mode="json") == good
    for wrong in (
        {"kind": "dance"},
        {"id": "9"},
        {"trigger": [0, 0, 641, 10]},
        {"tags": "button"},
        {"tags": [1]},
        {"sentence": None},
        {"value": 4},
    ):
        bad = json.loads(json.dumps(good))
        bad["interactions"][0] |= wrong
        with pytest.raises(InputError):
            read_page(bad, graph, SIZES)


def test_links_out_of_a_page_are_neither_shown_nor_exported(tmp_path):
    folder = published(tmp_path / "set")
    secret = screenshot(tmp_path / "secret.png")
    (folder / "101" / "more.png").symlink_to(secret)
    (folder / "101" / "2.png").unlink()
    (folder / "101" / "2.png").symlink_to(secret)
    with running_studio(tmp_path / "runs", (folder,)) as server:
        client, address = server.client(), f"/data/{dataset_id(folder)}"
        shown = client.get(f"{address}/picture", params={"name": "101", "node": "2"})
        up = client.get(f"{address}/picture", params={"name": "101", "node": "../102/0"})
        out = unpack(client.get(f"{address}/export"), tmp_path / "out")
    assert (shown.status_code, up.status_code) == (400, 400)
    assert not (out / "101" / "more.png").exists()
    assert not (out / "101" / "2.png").exists()


def test_a_page_that_cannot_be_read_does_not_hide_the_others(tmp_path):
    folder = published(tmp_path / "set")
    (folder / "101" / "action.json").write_text("{")
    shutil.rmtree(folder / "102")
    shutil.copytree(folder / "101", folder / "102")
    boxes = {"trigger": [-9, 60, 700, 90], "effect": [1, 1, 9, 9]}
    entry = {"src": 0, "dst": 7, "action": "click it", **boxes}
    (folder / "102" / "action.json").write_text(json.dumps({"1": entry, "2": {**entry, "dst": 1}}))
    with running_studio(tmp_path / "runs", (folder,)) as server:
        server.store.add_annotator("Ann")
        client, address = server.client(), f"/data/{dataset_id(folder)}"
        assert "is not JSON" in client.get(address).text
        assert client.get(f"{address}/page", params={"name": "101"}).status_code == 400
        shown = client.get(f"{address}/page", params={"name": "102"}).text
        state = json.loads(unescape(re.search('data-state="([^"]*)"', shown)[1]))
        # What was collected may lie beside the picture, or on one that is missing.
        assert state["content"]["interactions"][0]["trigger"] == [0, 60, 640, 90]
        assert state["content"]["interactions"][0]["effect"] is None
        # Its graph shows what can be read, with pictures that the studio serves.
        drawing = re.search(r'<svg[^>]*class="graph".*?</svg>', shown, re.DOTALL)[0]
        pictures = [unescape(one) for one in re.findall(r'<image [^>]*href="([^"]*)"', drawing)]
        assert len(pictures) == 2
        served = client.get(f"{address}/{pictures[0]}")
        assert served.headers["content-type"] == "image/jpeg"
        state["content"]["topic"] = "corrected"
        change = {"name": "102", "revision": 0, "content": state["content"]}
        assert client.post(f"{address}/interactions", json=change).status_code == 200
        out = unpack(client.get(f"{address}/export"), tmp_path / "out")
    (page,) = read_dataset(out)
    assert isinstance(page, Graph)
    assert page.topic == "corrected"
    assert [(one.id, one.trigger) for one in page.interactions] == [
        ("2", PixelBox(-9, 60, 700, 90))
    ]


@pytest.fixture
def page(world, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    person = world.store.add_annotator("Ann")
    address = f"{world.url}/data/{dataset_id(world.studio.datasets[1])}/page?name=101"
    opened.goto(f"{address}&token={person.token}")
    opened.wait_for_selector(".stage svg")
    yield opened
    context.close()


def test_interactions_are_corrected_in_the_browser(world, page, tmp_path):
    folder = world.studio.datasets[1]
    page.get_by_role("button", name="2 click the square").click()
    page.locator("select[name=kind]").select_option("hover")
    page.get_by_label("What is done").fill(f"hover over {HOSTILE}")
    page.get_by_label("Topic of the page").fill("<b>garden</b>")
    page.get_by_role("checkbox", name="link").check()
    page.get_by_role("checkbox", name="new component").check()
    page.locator("#before .box").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Alt+ArrowDown")
    stage = page.locator("#after svg").bounding_box()
    scale = stage["width"] / SIZE[0]
    page.mouse.move(stage["x"] + 100 * scale, stage["y"] + 200 * scale)
    page.mouse.down()
    page.mouse.move(stage["x"] + 150 * scale, stage["y"] + 230 * scale)
    page.mouse.move(stage["x"] + 200 * scale, stage["y"] + 260 * scale)
    page.mouse.up()
    page.get_by_role("button", name='1 click the "Save" button').click()
    page.get_by_role("button", name="Remove interaction").click()
    expect(page.locator("#removed")).to_contain_text("Interaction 2 starts from")
    page.get_by_role("button", name="Restore interaction").click()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    page.get_by_role("button", name="2 hover over").click()
    expect(page.get_by_label("What is done")).to_have_value(f"hover over {HOSTILE}")
    assert page.evaluate("window.hacked") is None
    out = unpack(world.client().get(f"/data/{dataset_id(folder)}/export"), tmp_path)
    graph = graph_of(out, "101")
    assert graph.topic == "<b>garden</b>"
    first, second = graph.interactions
    assert first.action.kind == "click"
    assert (second.action.kind, second.sentence) == ("hover", f"hover over {HOSTILE}")
    assert second.tags == ("button", "link")
    assert second.visuals == ("new component", "text")
    assert second.trigger == PixelBox(310, 200, 350, 241)
    drawn = second.effect
    off = [drawn.left - 100, drawn.top - 200, drawn.right - 200, drawn.bottom - 260]
    assert max(map(abs, off)) <= 1


def test_the_editor_of_interactions_fits_every_screen_and_is_accessible(page):
    address = page.url
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        page.goto(address)
        page.wait_for_selector(".stage svg")
        assert barriers(page) == []
        assert overflows(page) == []
