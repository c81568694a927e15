"""The editor of boxes, driven by mouse and keyboard in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_sets import HOSTILE, annotated, digest, screenshot, unpack
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from studio_server import RunningStudio, running_studio

from page_looks import barriers, overflows
from uiproof.benchmarks.grounding.data import read_dataset
from uiproof.studio.datasets import dataset_id
from uiproof.studio.store import edits

NAMES = (
    "mouse",
    "keys",
    "undo",
    "zoom",
    "two",
    "form",
    "hostile",
    "looks",
    "touch",
    "far",
    "leave",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    shots = folder / "shots"
    for name in NAMES:
        screenshot(shots / f"{name}.png")
    Image.new("L", (1280, 20_000), 230).save(shots / "tall.png")
    with running_studio(folder / "runs", (shots, annotated(folder / "own"))) as server:
        for name in ("Ann", "Ben"):
            server.store.add_annotator(name)
        yield server


@pytest.fixture
def open_editor(world: RunningStudio, browser: Browser):
    contexts = []

    def opened(name: str, who: str = "Ann", path: Path | None = None, **how) -> Page:
        person = world.store.add_annotator(who)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
        contexts.append(context)
        page = context.new_page()
        folder = path or world.studio.datasets[0]
        page.goto(f"{world.url}/data/{dataset_id(folder)}/shot?name={name}&token={person.token}")
        page.wait_for_selector(".stage svg")
        return page

    yield opened
    for context in contexts:
        context.close()


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_text("Saved")


def drag(page: Page, start, end, width=640) -> None:
    """Drag between two points of the picture, in its own pixels."""
    box = page.locator(".stage svg").bounding_box()
    scale = box["width"] / width
    page.mouse.move(box["x"] + start[0] * scale, box["y"] + start[1] * scale)
    page.mouse.down()
    page.mouse.move(box["x"] + (start[0] + 5) * scale, box["y"] + start[1] * scale)
    page.mouse.move(box["x"] + end[0] * scale, box["y"] + end[1] * scale)
    page.mouse.up()


def kept(world: RunningStudio, name: str) -> list:
    """The boxes of a screenshot as the studio keeps them."""
    content = edits(world.store, dataset_id(world.studio.datasets[0]))[f"{name}.png"].content
    return [box["box"] for box in content["boxes"]]


def shown(page: Page) -> list:
    """The boxes of a screenshot as they are on the screen, in its pixels."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".stage .line")].map((line) => {
          const [x, y] = ["x", "y"].map((key) => Number(line.getAttribute(key)));
          const [w, h] = ["width", "height"].map((key) => Number(line.getAttribute(key)));
          return [x, y, x + w, y + h];
        })"""
    )


def test_a_box_drawn_with_the_mouse_is_in_the_export_to_the_pixel(world, open_editor, tmp_path):
    shots = world.studio.datasets[0]
    before = digest(shots)
    page = open_editor("mouse.png")
    drag(page, (40, 60), (200, 100))
    page.get_by_label("Instruction").fill("Click the Save button")
    page.get_by_label("Type").select_option("button")
    page.get_by_label("Text on it").fill("Save")
    saved(page)
    exported = unpack(world.client().get(f"/data/{dataset_id(shots)}/export"), tmp_path)
    (sample,) = (one for one in read_dataset(exported).samples if one.id == "mouse")
    (element,) = sample.elements
    assert (element.instruction, element.element_type, element.text) == (
        "Click the Save button",
        "button",
        "Save",
    )
    box = element.bbox.to_pixels(640, 400)
    assert (box.left, box.top, box.right, box.bottom) == (40, 60, 200, 100)
    assert digest(shots) == before


def test_a_box_is_made_placed_and_described_without_a_mouse(world, open_editor, tmp_path):
    page = open_editor("keys.png")
    page.locator(".stage-view").focus()
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Alt+ArrowLeft")
    page.keyboard.press("Alt+Shift+ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("Click the red square")
    page.keyboard.press("Escape")
    saved(page)
    left, top = 320 - 60 + 1, 200 - 20 + 10
    assert kept(world, "keys") == [[left, top, left + 119, top + 50]]
    page.keyboard.press("n")
    page.keyboard.press("Shift+Tab")  # back to the first box, which lies below
    page.keyboard.press("Delete")
    saved(page)
    assert kept(world, "keys") == [[260, 180, 380, 220]]
    shots = world.studio.datasets[0]
    exported = unpack(world.client().get(f"/data/{dataset_id(shots)}/export"), tmp_path)
    (sample,) = (one for one in read_dataset(exported).samples if one.id == "keys")
    assert len(sample.elements) == 1


def test_boxes_are_moved_resized_and_every_step_can_be_undone(world, open_editor):
    page = open_editor("undo.png")
    steps = [[100, 100, 200, 160]]
    drag(page, (100, 100), (200, 160))
    drag(page, (150, 130), (180, 150))  # inside of the chosen box: it moves
    steps.append([130, 120, 230, 180])
    for edge, target, result in (
        ((230, 180), (250, 200), [130, 120, 250, 200]),
        ((130, 120), (120, 110), [120, 110, 250, 200]),
        ((185, 110), (185, 90), [120, 90, 250, 200]),
        ((250, 145), (90, 145), [90, 90, 120, 200]),  # across the other side
    ):
        drag(page, edge, target)
        steps.append(result)
        assert shown(page) == [result]
    saved(page)
    assert kept(world, "undo") == [steps[-1]]
    for result in reversed(steps[:-1]):
        page.keyboard.press("Control+z")
        assert shown(page) == [result]
    page.get_by_role("button", name="Undo").click()
    saved(page)
    assert kept(world, "undo") == []
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    for _ in steps:
        page.keyboard.press("Shift+Control+z")
    saved(page)
    assert kept(world, "undo") == [steps[-1]]


def test_a_box_inside_of_another_one_can_be_drawn_and_chosen(world, open_editor):
    page = open_editor("zoom.png")
    drag(page, (20, 20), (600, 380))
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("+")
    page.keyboard.press("+")
    drag(page, (100, 100), (141, 131))
    saved(page)
    assert kept(world, "zoom") == [[20, 20, 600, 380], [100, 100, 141, 131]]
    page.mouse.move(640, 400)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 2000)
    page.keyboard.up("Control")
    expect(page.locator(".zoom")).not_to_have_text("156 %")
    page.keyboard.press("0")
    expect(page.locator(".zoom")).to_have_text("100 %")
    expect(page.locator(".box.chosen")).to_have_attribute("data-id", "box-2")
    picture = page.locator(".stage svg")
    picture.click(position={"x": 500, "y": 300})
    expect(page.locator(".box.chosen")).to_have_attribute("data-id", "box-1")
    picture.click(position={"x": 120, "y": 115})
    expect(page.locator(".box.chosen")).to_have_attribute("data-id", "box-2")
    picture.click(position={"x": 630, "y": 395})
    expect(page.locator(".box.chosen")).to_have_count(0)


def test_fields_types_and_numbers_are_kept_and_the_next_box_takes_the_type(world, open_editor):
    page = open_editor("form.png")
    drag(page, (300, 200), (340, 240))
    page.get_by_label("Type").select_option("other …")
    page.get_by_label("Which").fill("colour swatch")
    page.get_by_label("Width").fill("50")
    page.get_by_label("Width").press("Enter")
    page.get_by_label("Done", exact=True).check()
    drag(page, (10, 10), (30, 30))
    saved(page)
    page.reload()
    expect(page.get_by_label("Done", exact=True)).to_be_checked()
    page.locator("#list button").first.click()
    expect(page.get_by_label("Which")).to_have_value("colour swatch")
    expect(page.get_by_label("Width")).to_have_value("50")
    expect(page.locator("#list .kind").nth(1)).to_have_text("colour swatch · 20 × 20")
    page.get_by_label("Not on the screen").check()
    expect(page.locator(".stage .box")).to_have_count(1)
    page.get_by_label("Not on the screen").uncheck()
    saved(page)
    assert kept(world, "form") == [[300, 200, 350, 240], [10, 10, 30, 30]]
    page.keyboard.press("Shift+PageDown")
    page.wait_for_url("**name=hostile.png")


def test_a_screenshot_of_20000_pixels_is_shown_scaled_and_drawn_on_to_the_pixel(world, open_editor):
    page = open_editor("tall.png")
    assert page.locator(".stage svg").bounding_box()["width"] < 1000
    page.locator(".stage-view").focus()
    page.keyboard.press("1")
    page.locator(".stage-view").evaluate("view => { view.scrollTop = view.scrollHeight; }")
    drag(page, (400, 19_800), (481, 19_843), width=1280)
    saved(page)
    assert kept(world, "tall") == [[400, 19_800, 481, 19_843]]


def test_text_inside_of_a_box_is_read_on_demand(world, open_editor):
    page = open_editor("s1", path=world.studio.datasets[1])
    page.locator("#list button").first.click()
    page.get_by_label("Text on it").fill("")
    page.get_by_role("button", name="Read text").click()
    expect(page.get_by_label("Text on it")).to_have_value("Save", timeout=60_000)


def test_two_people_at_one_screenshot_choose_and_nothing_is_lost(world, open_editor):
    ann, ben = open_editor("two.png", "Ann"), open_editor("two.png", "Ben")
    drag(ann, (10, 10), (60, 60))
    saved(ann)
    drag(ben, (300, 200), (340, 240))
    dialog = ben.get_by_role("dialog")
    expect(dialog).to_contain_text("Ann saved this")
    ben.get_by_role("button", name="Keep both").click()
    saved(ben)
    assert sorted(kept(world, "two")) == [[10, 10, 60, 60], [300, 200, 340, 240]]
    # Ann still has the old version; whatever she takes, undo brings the other one back.
    ann.keyboard.press("ArrowRight")
    expect(ann.get_by_role("dialog")).to_contain_text("Ben saved this")
    ann.get_by_role("button", name="Take theirs").click()
    expect(ann.locator("#list li")).to_have_count(2)
    ann.keyboard.press("Control+z")
    saved(ann)
    assert kept(world, "two") == [[11, 10, 61, 60]]


def test_whoever_leaves_right_after_a_change_loses_nothing(world, open_editor):
    page = open_editor("leave.png")
    drag(page, (10, 10), (60, 60))
    page.get_by_role("link", name="Data sets").first.click()
    page.wait_for_url("**/data")
    assert kept(world, "leave") == [[10, 10, 60, 60]]


def test_hostile_texts_stay_texts(world, open_editor):
    page = open_editor("hostile.png")
    drag(page, (10, 10), (60, 60))
    page.get_by_label("Instruction").fill(HOSTILE)
    page.get_by_label("Text on it").fill(HOSTILE)
    page.get_by_label("Type").select_option("other …")
    page.get_by_label("Which").fill(HOSTILE)
    saved(page)
    page.reload()
    page.locator("#list button").first.click()
    expect(page.get_by_label("Instruction")).to_have_value(HOSTILE)
    assert page.locator("#list img, .stage script").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_finger_draws_and_two_fingers_zoom(world, open_editor):
    page = open_editor("touch.png", viewport={"width": 390, "height": 844}, has_touch=True)
    box = page.locator(".stage svg").bounding_box()
    scale, session = box["width"] / 640, page.context.new_cdp_session(page)

    def touch(kind, *points):
        where = [{"x": box["x"] + x * scale, "y": box["y"] + y * scale, "id": n}
                 for n, (x, y) in enumerate(points)]  # fmt: skip
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    touch("touchStart", (100, 100))
    touch("touchMove", (150, 150))
    touch("touchMove", (300, 200))
    touch("touchEnd")
    saved(page)
    ((left, top, right, bottom),) = kept(world, "touch")
    pixel = 1 / scale  # what a finger can point at
    assert abs(left - 100) <= pixel
    assert abs(top - 100) <= pixel
    assert abs(right - 300) <= pixel
    assert abs(bottom - 200) <= pixel
    zoom = page.locator(".zoom").text_content()
    touch("touchStart", (300, 300), (340, 300))
    touch("touchMove", (250, 300), (390, 300))
    touch("touchMove", (200, 300), (440, 300))
    touch("touchEnd")
    expect(page.locator(".zoom")).not_to_have_text(zoom)
    assert len(kept(world, "touch")) == 1


def test_when_the_studio_is_away_the_page_says_so_and_saves_later(world, open_editor):
    page = open_editor("far.png")
    page.context.set_offline(True)
    drag(page, (10, 10), (60, 60))
    expect(page.locator("#saved")).to_contain_text("Not saved")
    page.context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("Saved", timeout=15_000)
    assert kept(world, "far") == [[10, 10, 60, 60]]


def test_lists_and_editor_fit_every_screen_and_are_accessible(world, open_editor):
    page = open_editor("looks.png")
    drag(page, (40, 60), (200, 100))
    saved(page)
    editor = page.url
    folder = editor.partition("/shot")[0]
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        for address in (f"{world.url}/data", folder, editor):
            page.goto(address)
            if address == editor:
                page.locator("#list button").first.click()
            assert barriers(page) == []
            assert overflows(page) == [], address
