"""Data sets as cases: ids, order, what is broken, and what travels to the judges."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from grounding_layouts import CORNERS, picture, screenspot_pro

from uiproof.benchmark import BrokenCase, Case
from uiproof.benchmarks.design2code.cases import recognises as recognises_pages
from uiproof.benchmarks.grounding.cases import Question, cases, recognises
from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    Dataset,
    ElementType,
    Sample,
    write_dataset,
)
from uiproof.errors import InputError
from uiproof.geometry import Box


def element(number, **more):
    return AnnotatedElement(
        id=f"e{number}",
        bbox=Box(0.01 * (number % 50), 0.1, 0.05, 0.05),
        text=f"Button {number}",
        element_type=ElementType.BUTTON,
        instruction=f"Click on the 'Button {number}' button",
        **more,
    )


def dataset(folder, samples=2, elements=3, images=True, **metadata):
    made = []
    for number in range(samples):
        name = f"s{number}"
        if images:
            picture(folder / "samples" / f"{name}.png")
        found = tuple(element(n) for n in range(elements))
        made.append(Sample(name, f"samples/{name}.png", 400, 200, found, metadata))
    write_dataset(Dataset("small", "1.0", tuple(made)), folder)
    return folder


def edited(folder, change):
    file = folder / "annotations.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return folder


def test_every_element_is_a_case_in_the_order_of_the_file(tmp_path):
    folder = dataset(tmp_path, difficulty="easy", theme="dark", seed=7, notes=["x"])
    for path in (folder, folder / "annotations.json"):
        found = cases(path)
        assert [case.id for case in found] == ["s0/e0", "s0/e1", "s0/e2", "s1/e0", "s1/e1", "s1/e2"]
        assert len(found) == 6
        assert [case.id for case in found] == [case.id for case in found]
    case = list(found)[4]
    assert case.question == Question(
        folder / "samples" / "s1.png", 400, 200, "Click on the 'Button 1' button"
    )
    assert case.truth.element == element(1)
    assert case.truth.tags == {"difficulty": "easy", "theme": "dark"}


def test_a_question_tells_nothing_about_where_the_element_is(tmp_path):
    (case, *_) = cases(dataset(tmp_path))
    assert set(Question.__dataclass_fields__) == {"image", "width", "height", "instruction"}
    assert b"Box" not in pickle.dumps(case.question)


def test_the_tags_of_an_element_win_over_those_of_its_sample(tmp_path):
    sample = Sample(
        "s", "samples/s.png", 400, 200, (element(1, metadata={"group": "b"}), element(2)),
        {"group": "a", "platform": "web"},
    )  # fmt: skip
    picture(tmp_path / "samples" / "s.png")
    write_dataset(Dataset("d", "1", (sample,)), tmp_path)
    assert [case.truth.tags for case in cases(tmp_path)] == [
        {"group": "b", "platform": "web"},
        {"group": "a", "platform": "web"},
    ]


def test_the_cases_of_a_sample_share_what_else_is_on_it(tmp_path):
    first, second, *_ = cases(dataset(tmp_path))
    assert first.truth.others is second.truth.others
    assert [other.id for other in first.truth.others] == ["e0", "e1", "e2"]
    assert [other.text for other in first.truth.others] == ["Button 0", "Button 1", "Button 2"]
    assert first.truth.others[1].bbox == second.truth.element.bbox


def test_a_refusal_is_asked_for_but_is_nothing_that_can_be_hit(tmp_path):
    picture(tmp_path / "samples" / "s.png")
    absent = AnnotatedElement(
        "no", Box(0, 0, 0, 0), "", ElementType.UNKNOWN, "Click 'Help'", refusal=True
    )
    sample = Sample("s", "samples/s.png", 400, 200, (element(1), absent))
    write_dataset(Dataset("d", "1", (sample,)), tmp_path)
    asked, refused = cases(tmp_path)
    assert refused.truth.element.refusal
    assert [other.id for other in asked.truth.others] == ["e1"]


def test_what_cannot_be_loaded_is_a_broken_case_and_never_dropped(tmp_path):
    folder = dataset(tmp_path, samples=4)
    (folder / "samples" / "s0.png").unlink()
    picture(folder / "samples" / "s1.png", (401, 200))
    (folder / "samples" / "s2.png").write_bytes(b"\x89PNG but not really")

    def spoil(content):
        content["samples"][3]["elements"][1]["bbox"] = [0.9, 0.9, 0.2, 0.2]

    found = list(cases(edited(folder, spoil)))
    assert len(found) == 12 == len(cases(folder))
    broken = {case.id: str(case.error) for case in found if isinstance(case, BrokenCase)}
    assert set(broken) == {f"s{s}/e{e}" for s in range(3) for e in range(3)} | {"s3/e1"}
    assert "s0.png is missing" in broken["s0/e2"]
    assert "401x200 pixels, but is annotated with 400x200" in broken["s1/e0"]
    assert "not a readable image" in broken["s2/e0"]
    assert "not inside the image" in broken["s3/e1"]
    assert all(isinstance(error, str) and "  " not in error for error in broken.values())


def broken_in_all_ways(folder):
    """Four samples of three elements, and something wrong with each of them."""
    dataset(folder, samples=7, difficulty="easy")
    (folder / "samples" / "s5.png").unlink()
    picture(folder / "samples" / "s6.png", (401, 200))

    def spoil(content):
        samples = content["samples"]
        del samples[0]["width"]
        samples[1]["id"] = "s0"
        samples[2]["image_path"] = "../../secret.png"
        samples[3]["elements"][0] = {**samples[3]["elements"][0], "id": "e1"}
        samples[3]["elements"][2]["element_type"] = "icon"
        samples[3]["elements"][2]["bbox"] = [0.1, 0.1, 30, 20]
        samples[4]["metadata"] = "easy"

    return edited(folder, spoil)


def test_every_element_of_a_broken_sample_stays_a_case(tmp_path):
    folder = broken_in_all_ways(tmp_path)
    found = list(cases(folder))
    assert len(found) == 21 == len(cases(folder))
    assert len({case.id for case in found}) == 21
    broken = [case for case in found if isinstance(case, BrokenCase)]
    assert len(broken) == 20  # all but one of the fourth sample
    assert {case.id for case in broken} >= {"s0/e0", "s0#2/e2", "s2/e1", "s3/e1#2", "s5/e0"}
    known = {case.id: case.known.truth for case in broken}
    # The size that is not annotated is that of the image, where there is one.
    assert (known["s0/e0"].width, known["s0/e0"].height) == (400, 200)
    assert known["s2/e1"].element.bbox == element(1).bbox
    assert known["s2/e1"].tags == {"difficulty": "easy"}
    assert known["s3/e2"].element.bbox.area == 0  # it cannot be read
    assert known["s3/e2"].element.element_type == ElementType.ICON
    assert all(pickle.loads(pickle.dumps(case)).known == case.known for case in broken)


def test_broken_elements_count_as_wrong_in_the_cells_they_belong_to(tmp_path, monkeypatch):
    import uiproof

    folder = broken_in_all_ways(tmp_path / "set")
    monkeypatch.chdir(tmp_path)
    run = uiproof.run(folder, "centre", out=tmp_path / "run", executor="inline", quiet=True)
    summary = run.summary
    assert (summary["n"], summary["failed"]) == (21, 20)
    assert summary["scores"]["accuracy"]["n"] == 21
    assert {name: cell["n"] for name, cell in summary["by_type"].items()} == {
        "button": 20,
        "icon": 1,
    }
    # Elements are 20 x 10 px. One box cannot be read, so that it has no size.
    assert {name: cell["n"] for name, cell in summary["by_size"].items()} == {"small": 20}
    assert summary["by_tag"]["difficulty"]["cells"]["easy"]["n"] == 18
    uiproof.write_report([run], tmp_path / "report.html")


def test_images_are_looked_at_only_when_their_case_comes(tmp_path):
    folder = dataset(tmp_path)
    iterator = iter(cases(folder))
    next(iterator)
    (folder / "samples" / "s1.png").unlink()
    assert [type(case) for case in iterator] == [Case, Case, BrokenCase, BrokenCase, BrokenCase]


def test_cases_and_their_errors_travel_between_processes(tmp_path):
    folder = dataset(tmp_path)
    (folder / "samples" / "s1.png").unlink()
    for case in cases(folder):
        copy = pickle.loads(pickle.dumps(case))
        assert copy.id == case.id
        if isinstance(case, Case):
            assert copy == case
        else:
            assert str(copy.error) == str(case.error)


def test_a_case_stays_small_on_a_crowded_screenshot(tmp_path):
    folder = dataset(tmp_path, samples=1, elements=50)
    assert max(len(pickle.dumps(case)) for case in cases(folder)) < 10_000


def test_ten_thousand_elements_need_little_memory_while_they_are_used(tmp_path):
    folder = dataset(tmp_path, samples=200, elements=50, images=False)
    picture(folder / "samples" / "one.png")

    def same_image(content):
        for sample in content["samples"]:
            sample["image_path"] = "samples/one.png"

    found = cases(edited(folder, same_image))
    assert len(found) == 10_000
    tracemalloc.start()
    try:
        count = sum(isinstance(case, Case) for case in found)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 10_000
    assert peak < 2_000_000


def test_pages_are_no_grounding_data_and_grounding_data_no_pages(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("1.html", "1.png", "rick.jpg"):
        (pages / name).write_text("x")
    (pages / "notes.json").write_text('[{"a": 1}]')
    for path in (pages, pages / "1.html"):
        assert recognises_pages(path)
        assert not recognises(path)
    for path in (dataset(tmp_path / "own"), screenspot_pro(tmp_path / "pro")):
        assert recognises(path)
        assert not recognises_pages(path)


def test_real_data_of_other_kinds_is_not_claimed(shared_data):
    data = shared_data / "data"
    others = ["design2code/ours/reference", "interaction2code", "screenspot_pro_predictions", ""]
    assert not any(recognises(data / name) for name in others)
    assert not any(recognises(file) for file in (data / "screenspot_pro_predictions").glob("*"))
    assert not recognises_pages(data / "osworld_g")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "[1, 2]", "{}", '{"samples": 3}', '{"images": [], "annotations": []}', "\x00\xff"],
)
def test_other_json_files_are_not_claimed(tmp_path, content):
    (tmp_path / "some.json").write_text(content)
    (tmp_path / "annotations.json").write_text(content)
    assert not recognises(tmp_path / "some.json")
    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "absent")


def test_a_damaged_annotations_file_is_recognised_and_says_what_is_wrong(tmp_path):
    folder = dataset(tmp_path)
    file = folder / "annotations.json"
    file.write_text(file.read_text()[:-20])
    assert recognises(folder)
    with pytest.raises(InputError, match="is not JSON"):
        cases(folder)


def test_a_folder_that_is_no_data_set_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match=r"not a known grounding data set.*grounding-data\.md"):
        cases(tmp_path)


def test_a_set_without_elements_is_an_error(tmp_path):
    with pytest.raises(InputError, match="nothing to find"):
        cases(dataset(tmp_path, samples=0))


def test_images_are_given_as_absolute_paths(tmp_path, monkeypatch):
    screenspot_pro(tmp_path / "pro")
    monkeypatch.chdir(tmp_path)
    found = list(cases(Path("pro")))
    assert len(found) == len(CORNERS)
    assert all(case.question.image.is_absolute() for case in found)


def test_importing_the_cases_loads_no_heavy_library():
    code = (
        "import sys, uiproof.benchmarks.grounding.cases\n"
        "print([name for name in ('PIL', 'pyarrow', 'numpy', 'cv2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
