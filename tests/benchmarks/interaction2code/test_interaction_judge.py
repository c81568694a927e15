"""The judge on real pages: what works, what does not, and what is written down about it."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace

import cv2
import pytest
from interaction_pages import SHOP, WINDOW, make_shop
from skimage.metrics import structural_similarity

from uiproof.benchmarks.interaction2code.cases import Answer, Truth, cases
from uiproof.benchmarks.interaction2code.judge import (
    Interaction2CodeJudge,
    without_the_truth,
)
from uiproof.browser import PageSource
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.vision.clip import find_weights
from uiproof.vision.images import read

CLIP_OF_NOTHING = None if find_weights() is None else 0.0
PART = ("ssim", "text", "position_before", "position_after")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return tmp_path_factory.mktemp("readings")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = RunDirectory(tmp_path_factory.mktemp("runs") / "run")
    made.create()
    return made


@pytest.fixture(scope="module")
def judge(run, readings):
    one = Interaction2CodeJudge(run.path, readings=readings)
    yield one
    one.close()


@pytest.fixture(scope="module")
def shop(dataset):
    return {case.id: case for case in cases(dataset)}


def page(html=SHOP, form="all"):
    return Answer(PageSource.from_html(html), form)


def test_the_page_itself_scores_one_in_everything(judge, shop):
    score = judge.score(shop["shop/1"], page())
    assert (score.scores["implemented"], score.scores["usable"]) == (1, 1)
    assert score.details["verdict"]["failure"] == "none"
    for profile in ("paper", "strict"):
        for name in PART:
            # The published region of a page that grew reaches beyond what changed.
            slack = 0.05 if profile == "paper" else 1e-6
            assert score.scores[profile]["part"][name] == pytest.approx(1, abs=slack), name
        for name in ("ssim", "text"):
            assert score.scores[profile]["full"][name] == pytest.approx(1)
        assert score.scores[profile]["full"]["clip"] in (None, pytest.approx(1))
    assert score.details["generated"]["found"] == "id"
    assert score.details["reference"]["size"] == list(WINDOW)
    json.dumps([score.scores, score.details], allow_nan=False)


def test_a_button_that_does_nothing_scores_nothing_in_the_interaction_part(judge, shop):
    dead = SHOP.replace("getElementById('menu').hidden = false", "title = 'Coffee shop'")
    score = judge.score(shop["shop/1"], page(dead))
    assert (score.scores["implemented"], score.scores["usable"]) == (0, 0)
    assert score.details["verdict"]["failure"] == "b"
    for profile in ("paper", "strict"):
        assert {score.scores[profile]["part"][name] for name in PART} == {0.0}
        assert score.scores[profile]["part"]["clip"] == CLIP_OF_NOTHING
    full = score.scores["paper"]["full"]
    assert (full["ssim"], full["text"]) == (0, 0)  # as published
    assert score.scores["strict"]["full"]["ssim"] == pytest.approx(1)
    left, top, right, bottom = score.details["generated"]["region"]
    assert (right - left) * (bottom - top) < 5000  # the shade of a button under the pointer


def test_the_page_is_compared_after_the_act_in_paper_and_before_it_in_strict(judge, shop, run):
    wrong = SHOP.replace(
        "getElementById('menu').hidden = false", "body.style.background = '#224'", 1
    )
    score = judge.score(shop["shop/1"], page(wrong))
    assert score.scores["implemented"] == 1
    assert score.scores["strict"]["full"]["ssim"] == pytest.approx(1)
    folder = shop["shop/1"].truth.graph.folder
    paths = (folder / "1.png", run.path / score.artifacts["generated_after"])
    reference, ours = (cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in paths)
    published = structural_similarity(reference, ours)
    assert published < 0.9
    assert score.scores["paper"]["full"]["ssim"] == pytest.approx(published, abs=1e-9)


def test_without_the_element_it_is_missing(judge, shop):
    room = "<i style='display:inline-block;width:130px;height:36px'></i>"
    gone = SHOP[: SHOP.index("<button")] + room + SHOP[SHOP.index("<input") :]
    score = judge.score(shop["shop/1"], page(gone))
    assert score.details["verdict"]["failure"] == "a"
    assert score.details["generated"]["found"] is None
    assert score.scores["implemented"] == 0
    assert score.scores["paper"]["full"] == {"clip": CLIP_OF_NOTHING, "ssim": 0.0, "text": 0.0}


def test_an_element_that_cannot_be_seen_is_missing_too(judge, shop):
    hidden = SHOP.replace('id="interact1" style="', 'id="interact1" style="visibility:hidden;')
    score = judge.score(shop["shop/1"], page(hidden))
    assert score.details["verdict"]["failure"] == "a"
    assert "generated:trigger_invisible" in score.flags


def test_an_element_without_its_id_is_found_and_flagged(judge, shop):
    score = judge.score(shop["shop/1"], page(SHOP.replace('id="interact1"', "")))
    assert score.scores["usable"] == 1
    assert score.details["generated"]["found"] == "text"
    assert "generated:found_by_text" in score.flags


def test_what_is_typed_arrives_in_the_field(judge, shop):
    score = judge.score(shop["shop/3"], page())
    assert score.scores["usable"] == 1
    assert score.details["action"] == {"kind": "type", "value": "Ann"}
    assert score.scores["strict"]["part"]["text"] == pytest.approx(1)


def test_an_interaction_behind_another_is_led_to_and_its_path_played(judge, shop):
    score = judge.score(shop["shop/2"], page())
    assert score.scores["usable"] == 1
    assert score.scores["strict"]["full"]["ssim"] == pytest.approx(1)
    sequence = score.details["sequence"]
    assert (sequence["edges"], sequence["done"], sequence["steps"]) == (["1", "2"], 2, 2)
    assert "sequence" not in judge.score(shop["shop/3"], page()).details


def test_a_path_stops_at_the_first_interaction_that_breaks(judge, shop):
    dead = SHOP.replace("getElementById('menu').hidden = false", "title = 'Coffee shop'")
    score = judge.score(shop["shop/2"], page(dead))
    assert score.scores["usable"] == 0
    assert score.details["sequence"]["done"] == 0
    assert score.details["sequence"]["stopped"].startswith("1: ")
    assert "generated:way_broken" in score.flags


def test_a_page_for_one_interaction_starts_where_that_starts(judge, shop):
    opened = SHOP.replace('id="menu" hidden', 'id="menu"').replace("interact2", "interact1", 1)
    opened = opened.replace('<button id="interact1" style', "<button style", 1)
    score = judge.score(shop["shop/2"], page(opened, "single"))
    assert score.scores["usable"] == 1
    assert "sequence" not in score.details


def test_movement_without_an_act_is_no_effect(judge, shop):
    restless = SHOP.replace("getElementById('menu').hidden = false", "title = 'Coffee shop'")
    restless = restless.replace(
        "</body>",
        "<p id=clock style='margin:16px'>0</p><script>setInterval(() => {"
        "document.getElementById('clock').textContent = 'tick ' + Math.round(performance.now())"
        "}, 200)</script></body>",
    )
    score = judge.score(shop["shop/1"], page(restless))
    assert score.scores["implemented"] == 0
    assert score.details["verdict"]["failure"] == "b"


def test_a_page_beside_the_data_cannot_show_the_answer(judge, shop, dataset):
    case = shop["shop/1"]
    cheat = dataset / "shop" / "1-cheat.html"
    cheat.write_text(
        "<body style='margin:0'><img src=0.png><button id=interact1 style='position:absolute;"
        "left:16px;top:70px' onclick='document.images[0].src = \"1.png\"'>Show menu</button>"
    )
    score = judge.score(case, Answer(PageSource.from_file(cheat), "single"))
    cheat.unlink()
    assert score.scores["strict"]["full"]["ssim"] < 0.99
    assert score.scores["usable"] == 0


@pytest.mark.parametrize(
    ("place", "html"),
    [
        ("shop/1-cheat.html", "<script>location.replace('PAGE.HTML')</script>"),
        ("shop/1-cheat.html", "<script>location.replace('link.html')</script>"),
        ("shop/result/1-cheat.html", "<script>location.replace('1-good.html')</script>"),
        ("shop.html", "<iframe src=shop/page.html style='border:0;width:640px;height:400px'>"),
        (
            "shop.html",
            "<script>fetch('shop/page.html').then((one) => one.text()).then((text) => {"
            "document.open(); document.write(text); document.close() })</script>",
        ),
        ("shop/1-cheat.html", "<div id=root></div><script src=app.js></script>"),
        ("shop/1-cheat.html", "<div id=root></div><script type=module src=lib.js></script>"),
    ],
)
def test_a_page_among_the_data_cannot_become_the_reference(judge, shop, dataset, place, html):
    folder = dataset / "shop"
    makes = f"document.getElementById('root').innerHTML = {json.dumps(SHOP)}"
    truth = {
        "page.html": SHOP + "<script src=app.js></script>",
        "app.js": f"import('./lib.js'); {makes}",
        "lib.js": makes,
        "result/1-good.html": SHOP,
    }
    (folder / "result").mkdir()
    for name, content in truth.items():
        (folder / name).write_text(content)
    (folder / "link.html").symlink_to("page.html")
    cheat = dataset / place
    cheat.write_text(f"<!doctype html><body style='margin:0'>{html}")
    try:
        score = judge.score(shop["shop/1"], Answer(PageSource.from_file(cheat), "single"))
    finally:
        cheat.unlink()
        (folder / "link.html").unlink()
        for name in truth:
            (folder / name).unlink()
        (folder / "result").rmdir()
    assert score.scores["usable"] == 0
    assert score.scores["strict"]["full"]["ssim"] < 0.99


def test_a_page_among_the_data_may_use_its_own_files_and_plain_assets(shop, dataset):
    folder = dataset / "shop"
    allowed = ("logo.png", "face.woff2", "own.css", "img/1.png", "result/own.js", "result/1.png")
    truth = (
        *("0.png", "1_mark.png", "interaction_1.png", "0.webp", "1.JPG", "page.png"),
        *("page.html", "action.json", "style.css", "more.css", "2-other.html", "page.mhtml"),
    )
    written = [name for name in (*allowed, *truth) if not (folder / name).exists()]
    for name in ("img", "result"):
        (folder / name).mkdir()
    for name in written:
        (folder / name).write_text("x")
    (folder / "page.html").write_text("<link rel=stylesheet href=style.css>")
    (folder / "style.css").write_text("@import 'more.css';")
    page = folder / "1-own.html"
    page.write_text("<link rel=stylesheet href=own.css>")
    above = dataset / "shop.html"
    above.write_text("<p>")
    try:
        graph = shop["shop/1"].truth.graph
        sources = [without_the_truth(PageSource.from_file(one), graph) for one in (page, above)]
        seen = [
            {name for name in (*allowed, *truth) if source.own_file(prefix + name)}
            for source, prefix in zip(sources, ("", "shop/"), strict=True)
        ]
    finally:
        for name in (*written, "1-own.html", "../shop.html"):
            (folder / name).unlink()
        for name in ("img", "result"):
            (folder / name).rmdir()
    assert seen == [set(allowed)] * 2


def test_without_marks_the_rest_is_judged(judge, shop, tmp_path):
    case = shop["shop/1"]
    bare = replace(case.truth.interaction, trigger=None, effect=None)
    graph = replace(case.truth.graph, folder=tmp_path, interactions=(bare,))
    for node in ("0", "1"):
        shutil.copy(case.truth.graph.screenshot(node), tmp_path)
    score = judge.score(replace(case, truth=Truth(graph, bare)), page())
    assert {"reference:mark_missing", "reference:no_mark_before"} <= set(score.flags)
    assert score.scores["strict"]["part"]["position_before"] is None
    assert score.scores["strict"]["part"]["position_after"] == pytest.approx(1)


def test_a_broken_screenshot_is_an_error_of_its_case(judge, shop, tmp_path):
    case = shop["shop/1"]
    graph = replace(case.truth.graph, folder=tmp_path)
    for name in ("0.png", "1.png"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    with pytest.raises(InputError, match=r"0\.png"):
        judge.score(replace(case, truth=Truth(graph, case.truth.interaction)), page())


def test_a_failure_scores_nothing_and_says_what_it_was_about(judge, shop):
    score = judge.failure(shop["shop/3"])
    assert score.scores["implemented"] == score.scores["usable"] == 0
    assert score.scores["paper"]["full"] == {"clip": CLIP_OF_NOTHING, "ssim": 0.0, "text": 0.0}
    assert score.scores["strict"]["part"]["clip"] == CLIP_OF_NOTHING
    assert score.details["verdict"]["failure"] == "a"
    assert (score.details["page"], score.details["tags"]) == ("shop", ["input"])
    assert judge.failure(None).details["verdict"]["usable"] is False


def test_pictures_and_pages_are_kept_with_the_run(judge, shop, run):
    score = judge.score(shop["shop/1"], page())
    assert set(score.artifacts) == {
        *("generated_before", "generated_after", "reference_before", "reference_after", "page"),
    }
    for name, path in score.artifacts.items():
        kept = run.artifact(path)
        assert kept.stat().st_size > 0
        if name != "page":
            assert read(kept).shape[:2] == WINDOW[::-1]


def test_the_published_contour_rule_is_a_switch(judge, shop, run, readings):
    def positions(judge):
        scores = [judge.score(shop[name], page()).scores for name in ("shop/1", "shop/3")]
        return [
            [one[profile]["part"]["position_before"] for one in scores]
            for profile in ("paper", "strict")
        ]

    assert positions(judge) == [[pytest.approx(1)] * 2] * 2
    with closing(Interaction2CodeJudge(run.path, readings=readings, contours=True)) as published:
        paper, strict = positions(published)
    # Both triggers are marked in one picture: the first red contour is not that of both.
    assert min(paper) < 0.9
    assert strict == [pytest.approx(1)] * 2
