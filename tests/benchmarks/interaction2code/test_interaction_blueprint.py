"""The built-in method: pages that play the pixels of an effect back on the right action."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from tiny_pages import (
    BLUE,
    GREEN,
    LIST,
    MENU,
    RED,
    RESULT,
    SEARCH,
    SIZE,
    edges,
    interaction,
    picture,
    question,
    two_interactions,
    write_page,
)

from uiproof.benchmarks.interaction2code.methods import Blueprint
from uiproof.browser.renderer import Renderer
from uiproof.browser.snapshots import Action
from uiproof.engine.context import Context
from uiproof.geometry import PixelBox
from uiproof.vision.images import decode


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as renderer:
        yield renderer


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """What was read on a picture is kept for the other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def answer(graph, number=1, form="single"):
    asked = Blueprint(form).answer("page/1", question(graph, number), Context("page/1"))
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's event loop runs in this thread
        made = elsewhere.submit(asyncio.run, asked).result()
    assert made.form == form
    return made.page


def acted(renderer, page, action, *, id="interact1", size=SIZE):
    """What the page looks like before and after an action on an element, and that element."""
    with renderer.stage(page, size) as stage:
        before = decode(stage.screenshot())
        element = stage.find(f"#{id}")
        assert stage.act(element, action) is None
        stage.settle()
        return before, decode(stage.screenshot()), element


def alike(found, expected, share=0.01):
    assert found.shape == expected.shape
    off = np.abs(found.astype(int) - expected).max(axis=2) > 40
    assert off.mean() < share


ACTIONS = [
    (Action("click"), "button", "button"),
    (Action("click"), "link", "a"),
    (Action("hover"), "image", "div"),
    (Action("type", "tea"), "input", "input"),
    (Action("type", "tea"), "textarea", "textarea"),
    (Action("select", "Cups"), "select", "select"),
    (Action("drag", "30,0"), "progress", "div"),
    (Action("scroll", "0,40"), "area", "div"),
    (Action("key", "Enter"), "button", "button"),
]


@pytest.mark.parametrize(("action", "tag", "html"), ACTIONS)
def test_the_right_action_on_the_right_kind_of_element_shows_the_effect(
    renderer, tmp_path, action, tag, html
):
    graph = two_interactions(
        tmp_path / "page",
        kind=action.kind,
        value=action.value,
        **{"tag type": [tag]},
    )
    before, after, element = acted(renderer, answer(graph), action)
    alike(before, picture())
    alike(after, picture((LIST, GREEN)))
    assert element.tag == html
    assert element.box == MENU
    assert "Menu" in element.label


def test_another_action_shows_nothing(renderer, tmp_path):
    graph = two_interactions(tmp_path / "page")
    _, after, _ = acted(renderer, answer(graph), Action("hover"))
    alike(after, picture())


def test_clicking_again_takes_the_effect_back(renderer, tmp_path):
    page = answer(two_interactions(tmp_path / "page"))
    with renderer.stage(page, SIZE) as stage:
        for expected in (picture((LIST, GREEN)), picture()):
            assert stage.act(stage.find("#interact1"), Action("click")) is None
            stage.settle()
            alike(decode(stage.screenshot()), expected)


def test_one_page_can_have_all_interactions(renderer, tmp_path):
    page = answer(two_interactions(tmp_path / "page"), form="all")
    _, after, _ = acted(renderer, page, Action("click"))
    alike(after, picture((LIST, GREEN)))
    _, after, field = acted(renderer, page, Action("type", "tea"), id="interact2")
    alike(after, picture((RESULT, RED)))
    assert field.box == SEARCH


def test_a_page_that_grows_grows(renderer, tmp_path):
    grown = picture((PixelBox(0, 250, 480, 400), GREEN), size=(480, 420))
    graph = write_page(
        tmp_path / "page",
        {"0": picture(), "1": grown},
        [interaction(0, 1, "click more")],  # without a trigger: where something changes
    )
    before, after, element = acted(renderer, answer(graph), Action("click"))
    alike(before, picture(), share=0.03)  # its text is set in another typeface
    alike(after, grown, share=0.03)
    assert element.box == PixelBox(0, 250, 480, 300)


def test_dense_pictures_make_pages_of_the_size_of_the_window(renderer, tmp_path):
    def dense(rgb):
        return cv2.resize(rgb, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)

    size = (1000, 300)
    before, after = picture(size=size), picture((LIST, GREEN), size=size)
    trigger = [2 * edge for edge in edges(MENU)]
    graph = write_page(
        tmp_path / "page",
        {"0": dense(before), "1": dense(after)},
        [interaction(0, 1, "click", trigger=trigger)],
    )
    found_before, found_after, element = acted(renderer, answer(graph), Action("click"), size=size)
    alike(found_before, before)
    alike(found_after, after)
    assert element.box == MENU


def test_text_of_an_effect_is_in_the_page_and_counts_for_nothing(renderer, tmp_path):
    after = picture()
    cv2.putText(
        after, "Peppermint tea", (30, 120), cv2.FONT_HERSHEY_SIMPLEX, 1, BLUE, 2, cv2.LINE_AA
    )
    graph = write_page(
        tmp_path / "page",
        {"0": picture(), "1": after},
        [interaction(0, 1, "click", trigger=list(edges(MENU)))],
    )
    page = answer(graph)
    assert "Peppermint" in page.text
    with renderer.stage(page, SIZE) as stage:
        stage.act(stage.find("#interact1"), Action("click"))
        stage.settle()
        # The picture shows it; the letters over it are transparent.
        assert "Peppermint" not in json.dumps([one.text for one in stage.snapshot().elements])
