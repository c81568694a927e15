"""Broken, tiny, huge and explosive pictures: on pages, and as screenshots of data sets."""

from __future__ import annotations

import json
import sys
from io import BytesIO

import pytest
from fault_tools import UIPROOF
from hostile_files import DRAWINGS, MARK, PICTURES
from hostile_sets import grounding_set, interaction_set

from uiproof.browser import Limits, PageSource, Renderer
from uiproof.errors import InputError, RenderError
from uiproof.vision.images import decode, size

REFUSED = set(PICTURES) - {"one-pixel", "wide", "tall", "moving-png"}
SIZES = {
    "torn": (300, 200),
    "lying": (5_000, 5_000),
    "one-pixel": (1, 1),
    "wide": (20_000, 40),
    "tall": (40, 20_000),
    "square": (20_000, 20_000),
}
LIMITS = Limits(load_seconds=3, step_seconds=6, max_width=2_000, max_height=4_000, memory_mb=900)


@pytest.fixture(scope="module")
def pictures():
    return {name: make() for name, make in PICTURES.items()}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_decoded_or_refused_before_it_takes_memory(pictures, name):
    import tracemalloc

    tracemalloc.start()
    try:
        if name in REFUSED:
            with pytest.raises(InputError) as caught:
                decode(pictures[name])
            assert caught.value.remedy
        else:
            height, width, _ = decode(pictures[name]).shape
            assert size(BytesIO(pictures[name])) == (width, height)
        # The comment of the text bomb alone would have a thousand megabytes.
        assert tracemalloc.get_traced_memory()[1] < 90_000_000
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def renderer():
    with Renderer(LIMITS) as renderer:
        yield renderer


def show(renderer, html, folder):
    """The picture of a page and what was unusual, or the code of its error."""
    try:
        with renderer.open(PageSource.from_html(html, folder=folder)) as page:
            return decode(page.screenshot()), page.flags
    except RenderError as error:
        return None, {error.code}


GREEN = (0, 200, 83)


@pytest.mark.parametrize("name", sorted(set(PICTURES) - {"square"}))
def test_a_page_with_any_picture_is_shown(renderer, pictures, tmp_path, name):
    (tmp_path / "picture.png").write_bytes(pictures[name])
    shown, flags = show(renderer, f'<!doctype html>{MARK}<img src="picture.png">', tmp_path)
    assert shown is not None, flags
    assert tuple(shown[30, 30]) == GREEN
    assert shown.shape[1] * shown.shape[0] <= 2_000 * 4_000
    if name in ("wide", "tall"):
        assert flags & {"cut_width", "cut_height"}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_that_multiplies_itself_ends_its_own_page_only(renderer, tmp_path, name):
    (tmp_path / "drawing.svg").write_text(DRAWINGS[name])
    shown, flags = show(renderer, f'<!doctype html>{MARK}<img src="drawing.svg">', tmp_path)
    assert shown is not None or flags <= {"page_timeout", "browser_died"}
    shown, flags = show(renderer, f"<!doctype html>{MARK}", tmp_path)
    assert tuple(shown[30, 30]) == GREEN
    assert not flags


def run(start, *arguments):
    main = start(*UIPROOF, "run", *arguments, "--workers", "1", "--quiet", "--json", "-")
    code, out, err = main.finished(300)
    assert code in (0, 1), err
    return {case["id"]: case for case in json.loads(out)["cases"]}


def check(cases, names, harmless):
    """Every picture has its case; what is no screenshot is a failed one that says what to do."""
    assert {case_id.split("/")[0] for case_id in cases} == {"good", *names}
    for case_id, case in cases.items():
        name = case_id.split("/")[0]
        if name in harmless or name == "good":
            assert case["status"] == "scored", (name, case["error"])
        else:
            assert case["status"] == "failed", name
            assert case["error"]["code"] == "input", (name, case["error"])
            assert case["error"]["remedy"]
            assert name in case["error"]["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_hostile_screenshots_of_a_grounding_set_fail_as_single_cases(tmp_path, start, pictures):
    names = {name: data for name, data in pictures.items() if name not in ("wide", "tall")}
    sizes = {**SIZES, "text-bomb": (1, 1), "moving-png": (60, 40)}
    dataset = grounding_set(tmp_path / "set", names, sizes)
    cases = run(start, "--dataset", dataset, "--method", "ocr", "--out", "run")
    check(cases, names, {"one-pixel", "moving-png"})


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_hostile_screenshots_of_interactions_fail_as_single_cases(tmp_path, start, pictures):
    names = {name: data for name, data in pictures.items() if name not in ("wide", "tall")}
    dataset = interaction_set(tmp_path / "set", names)
    answers = tmp_path / "answers"
    for name in ("good", *names):
        (answers / name).mkdir(parents=True)
        (answers / name / "1-answer.html").write_text(f"<button id=interact1>{MARK}</button>")
    cases = run(start, "--dataset", dataset, "--method", f"replay:{answers}", "--out", "run")
    check(cases, names, {"one-pixel", "moving-png"})
