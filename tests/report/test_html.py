from __future__ import annotations

import re
import sys

import pytest
from large_runs import MAKERS
from page_checks import loaded
from PIL import Image
from playwright.sync_api import expect
from report_runs import failed, make_run, scored

from uiproof.errors import InputError
from uiproof.report import write_report


def few_cases():
    return [
        scored("a-middle", 0.6),
        scored("b-best", 0.95, flags=("generated:load_timeout",)),
        scored("c-worst", 0.2),
        failed("d-broken"),
    ]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    return write_report([make_run(folder / "run", few_cases())], folder / "report.html")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    runs = [
        make_run(folder / "one", few_cases(), method="blueprint"),
        make_run(
            folder / "two",
            [scored(case, 0.7) for case in ("a-middle", "b-best", "c-worst", "d-broken")],
            method="replay:x",
            assisted=True,
        ),
    ]
    return write_report(runs, folder / "report.html", title="Two & more")


def ids(page):
    return page.locator(".card .case-id").all_text_contents()


def test_a_report_shows_leaderboard_distributions_and_cases(look, one):
    page = look(one)
    row = page.locator("#leaderboard tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("blueprint")
    assert row.locator("td").all_text_contents()[:3] == ["4", "4", "1"]
    expect(row.locator("td.absent").first).to_have_text("not measured")
    expect(row.locator(".range")).to_have_count(0)  # four pages are too few for an interval
    expect(page.locator("#notes")).to_contain_text("No interval: fewer than 8 clusters.")
    expect(page.locator(".distribution")).to_have_count(7)
    expect(page.locator("#distributions ~ p")).to_have_text("Not measured: CLIP, Final.")
    assert ids(page) == ["d-broken", "c-worst", "a-middle", "b-best"]  # worst first
    thumbnails = page.locator(".card img")
    expect(thumbnails).to_have_count(7)
    thumbnails.last.scroll_into_view_if_needed()
    loaded(page, page.locator(".card img"))


def test_cases_can_be_sorted_and_filtered(look, two):
    page = look(two)
    assert page.title() == "Two & more"
    header = page.locator("#leaderboard th", has_text="Failed")
    header.get_by_role("button").click()
    header.get_by_role("button").press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    methods = page.locator("#leaderboard tbody th .named").all_text_contents()
    assert methods == ["replay:x", "blueprint"]
    expect(page.locator("#leaderboard .badge")).to_have_text("assisted")
    expect(page.locator("#leaderboard strong.mean").first).to_have_text("0.700")
    page.locator("#run").select_option(label="blueprint")
    page.locator("#order").select_option("down")
    assert ids(page) == ["b-best", "a-middle", "c-worst", "d-broken"]
    page.locator("#sort").select_option(label="Case")
    page.locator("#order").select_option("up")
    assert ids(page) == ["a-middle", "b-best", "c-worst", "d-broken"]
    page.locator("#show").select_option("failed")
    assert ids(page) == ["d-broken"]
    expect(page.locator("#count")).to_have_text("1 of 8 results, 1 failed")
    page.locator("#show").select_option("flag:generated:load_timeout")
    assert ids(page) == ["b-best"]
    page.locator("#show").select_option("all")
    page.locator("#search").fill("WORST")
    assert ids(page) == ["c-worst"]
    page.locator("#search").fill("page_timeout")
    assert ids(page) == ["d-broken"]


def test_a_case_opens_side_by_side_with_its_blocks(look, one):
    page = look(one)
    page.locator(".card", has_text="a-middle").click()
    expect(page.locator("#viewer-title")).to_have_text("a-middle")
    for side, blocks in (("reference", 3), ("generated", 2)):
        expect(page.locator(f".pane.{side} .block")).to_have_count(blocks)
    expect(page.locator(".block.unmatched")).to_have_count(1)
    expect(page.locator("#facts")).to_contain_text("2 matched, 1 only in the reference")
    # Lines lead from each matched block to its match and say how alike they are.
    expect(page.locator(".links line")).to_have_count(2)
    assert page.locator(".links text").all_text_contents() == ["1.00", "0.77"]
    reference, generated = (
        page.locator(".pane.reference .block.matched").first.bounding_box(),
        page.locator(".pane.generated .block.matched").last.bounding_box(),
    )
    line = page.locator(".links line").first.bounding_box()
    assert line["x"] == pytest.approx(reference["x"] + reference["width"], abs=3)
    assert line["x"] + line["width"] == pytest.approx(generated["x"], abs=3)
    # The box lies where the text is: a tenth of the page from the left, three tenths wide.
    rect = page.locator(".pane.reference .block").first.bounding_box()
    sheet = page.locator(".pane.reference .sheet").bounding_box()
    assert (rect["x"] - sheet["x"]) / sheet["width"] == pytest.approx(0.1, abs=0.01)
    assert rect["width"] / sheet["width"] == pytest.approx(0.3, abs=0.01)
    page.locator(".pane.generated .block").first.hover()
    expect(page.locator("#hover")).to_contain_text("opening hours")
    expect(page.locator("#hover")).to_contain_text("opening times")
    expect(page.locator("#hover")).to_contain_text("similarity 0.770")
    expect(page.locator(".block.active")).to_have_count(2)
    expect(page.locator(".links .active text")).to_have_text("0.77")
    page.locator(".block.unmatched").hover()
    expect(page.locator("#hover")).to_contain_text("no match")
    # Similarity decides the colour of a block.
    strokes = [
        page.locator(".pane.generated .block").nth(i).get_attribute("stroke") for i in range(2)
    ]
    assert strokes[0] != strokes[1]
    assert page.locator(".pane.reference .block").first.get_attribute("stroke") == strokes[1]
    page.get_by_label("Text blocks").uncheck()
    expect(page.locator(".overlay").first).to_be_hidden()
    table = page.locator(".scores")
    for label, paper, strict in (("text", "0.600", "0.300"), ("clip", "not measured", None)):
        cells = table.locator("tr", has=page.get_by_role("rowheader", name=label, exact=True))
        assert cells.locator("td").all_text_contents() == [paper, strict or paper]


def test_swipe_moves_with_the_mouse_and_with_the_keyboard(look, one):
    page = look(one)
    page.locator(".card", has_text="a-middle").click()
    page.get_by_role("button", name="Swipe").click()
    panes = page.locator(".panes.swipe")
    frame = panes.bounding_box()

    def clipped():
        return page.locator(".pane.generated").evaluate("e => getComputedStyle(e).clipPath")

    assert "50%" in clipped()
    page.mouse.move(frame["x"] + frame["width"] * 0.5, frame["y"] + 100)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] * 0.2, frame["y"] + 100)
    page.mouse.up()
    assert float(re.findall(r"([\d.]+)%", clipped())[0]) == pytest.approx(20, abs=1)
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    assert float(re.findall(r"([\d.]+)%", clipped())[0]) == pytest.approx(20.5, abs=1)
    expect(page.locator("#viewer-title")).to_have_text("a-middle")


def test_blink_changes_the_page_and_can_be_paused(look, one):
    page = look(one)
    page.locator(".card", has_text="a-middle").click()
    page.get_by_role("button", name="Blink").click()
    name = page.locator(".blink-name")
    generated = page.locator(".pane.generated .sheet")
    expect(name).to_have_text("Generated")
    expect(generated).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    before = name.text_content()
    page.get_by_role("button", name="Switch").click()
    assert name.text_content() != before
    page = look(one, reduced_motion="reduce")  # never starts by itself then
    page.locator(".card", has_text="a-middle").click()
    page.get_by_role("button", name="Blink").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_keyboard_leads_through_the_cases(look, one):
    page = look(one)
    page.locator(".card").first.focus()
    page.keyboard.press("Enter")
    title = page.locator("#viewer-title")
    expect(title).to_have_text("d-broken")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("d-broken")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("a-middle")
    expect(page.locator("#viewer-place")).to_have_text("3 of 4")
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator(".card", has_text="a-middle")).to_be_focused()


def test_a_failed_case_shows_its_error_and_what_to_do(look, one):
    page = look(one)
    card = page.locator(".card", has_text="d-broken")
    expect(card).to_contain_text("failed: page_timeout")
    card.click()
    expect(page.locator(".error")).to_contain_text("The page used up its time.")
    expect(page.locator(".error .remedy")).to_have_text("Look for an endless loop.")
    expect(page.locator(".pane.generated")).to_contain_text("no picture of a generated page")


def test_one_case_can_be_looked_at_in_every_run(look, two):
    page = look(two)
    page.locator("#run").select_option(label="blueprint")
    page.locator(".card", has_text="d-broken").click()
    expect(page.locator(".error")).to_be_visible()
    page.locator("#viewer-choices").get_by_role("button", name="replay:x").click()
    expect(page.locator(".error")).to_be_hidden()
    expect(page.locator(".pane.generated .sheet")).to_be_visible()


def test_the_policy_stops_scripts_that_are_not_ours(browser, one, tmp_path):
    text = one.read_text("utf-8").replace("<main>", "<main><script>window.hacked=1</script>")
    (tmp_path / "changed.html").write_text(text, "utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "changed.html").as_uri())
    assert page.evaluate("window.hacked") is None
    expect(page.locator("#leaderboard tbody tr")).to_have_count(1)
    page.close()


LINES = """
(name) => {
  const lines = new Map();
  const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (let place = 0; place < text.length; place++) {
      const range = document.createRange();
      range.setStart(text, place);
      range.setEnd(text, place + 1);
      const top = Math.round(range.getBoundingClientRect().top);
      lines.set(top, (lines.get(top) ?? "") + text.data[place]);
    }
  return [...lines.values()];
}
"""


def test_a_long_name_of_a_method_is_broken_where_it_can_be_read(look, tmp_path):
    names = ["replay:generated", "ocr@none", "router:qwen/qwen2.5-vl-72b-instruct@self-revision"]
    names += ["word" * count + "s" for count in range(4, 12)]
    runs = [
        make_run(tmp_path / str(number), few_cases(), method=name, pictures=False)
        for number, name in enumerate(names)
    ]
    page = look(write_report(runs, tmp_path / "report.html"))
    for width in (1280, 800, 400):
        page.set_viewport_size({"width": width, "height": 900})
        broken = [name.evaluate(LINES) for name in page.locator("#leaderboard .name").all()]
        assert {"".join(lines) for lines in broken} == set(names)
        for lines in broken:
            assert all(line[-1] in ":@/-_" for line in lines[:-1]) or lines[0].startswith("word")
            assert min(map(len, lines)) > 3


def test_the_theme_can_be_chosen(look, one):
    page = look(one, color_scheme="light")
    button = page.locator("#theme")
    grounds = []
    for _ in range(3):
        grounds.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        button.click()
    assert grounds[0] == grounds[1] != grounds[2]


def test_it_prints_without_controls_and_with_all_pictures(look, one):
    page = look(one, height=300)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    loaded(page, page.locator(".card img"))
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator("#leaderboard")).to_be_visible()


def test_equal_pictures_are_stored_once(two):
    # Both runs: one reference and one generated picture, whole and as a thumbnail.
    text = two.read_text("utf-8")
    assert (text.count("data:image/webp"), text.count("data:image/svg+xml")) == (4, 0)


def test_damaged_missing_and_outlying_pictures_do_not_stop_a_report(look, tmp_path):
    run = make_run(tmp_path / "run", [scored("1", 0.5), scored("2", 0.6)])
    run.artifact("artifacts/1/reference.png").write_bytes(b"not a picture")
    run.artifact("artifacts/2/generated.png").unlink()
    page = look(write_report([run.path], tmp_path / "new folder" / "report.html"))
    expect(page.locator("#cases .thumbnail.none")).to_have_text(["no picture", "no page"])
    Image.new("RGB", (50_000, 300)).save(run.artifact("artifacts/2/generated.png"))
    assert write_report([run], tmp_path / "wide.html").stat().st_size < 1_000_000


def test_a_report_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    run = make_run(tmp_path / "run", [scored("1", 0.5)])
    (tmp_path / "site").mkdir()
    link = tmp_path / "report.html"
    link.symlink_to(tmp_path / "site" / "index.html")
    write_report([run], link)
    assert link.is_symlink()
    assert (tmp_path / "site" / "index.html").read_text().lower().startswith("<!doctype html>")


def test_a_report_that_cannot_be_written_says_so(tmp_path):
    run = make_run(tmp_path / "run", [scored("1", 0.5)])
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_report([run], tmp_path / "taken")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "taken"]


def test_a_report_without_matplotlib_says_which_charts_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("uiproof.report.sections.find_spec", lambda _: None)
    runs = {name: make(tmp_path / name, 3, size=(96, 64)) for name, make in MAKERS.items()}
    pages = {
        name: write_report([run], tmp_path / f"{name}.html").read_text("utf-8")
        for name, run in runs.items()
    }
    said = "they need matplotlib (pip install"
    assert {name: said in page for name, page in pages.items()} == {
        **{"design2code": False, "grounding": True, "interaction2code": True}
    }
