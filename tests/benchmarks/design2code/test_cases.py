from __future__ import annotations

import pytest

from uiproof.benchmarks.design2code.cases import (
    Question,
    cases,
    pages_in,
    recognises,
    references_in,
)
from uiproof.benchmarks.design2code.methods import Replay
from uiproof.errors import InputError


def folder(path, *names):
    path.mkdir(exist_ok=True)
    for name in names:
        (path / name).write_text("<p>x</p>")
    return path


def test_the_published_layout_gives_a_case_per_page_in_natural_order(tmp_path):
    names = ["10.html", "2.html", "2.png", "rick.jpg", "about.html", "1.html", "Zoo.html"]
    found = list(cases(folder(tmp_path / "set", *names)))
    assert [case.id for case in found] == ["1", "2", "10", "Zoo", "about"]
    assert found[1].truth.page == (tmp_path / "set" / "2.html").resolve()


def test_a_question_tells_nothing_of_the_page_before_it_is_posed(tmp_path):
    (case,) = cases(folder(tmp_path / "set", "1.html"))
    assert case.question == Question()


def test_one_file_is_a_data_set_of_one_page(tmp_path):
    page = folder(tmp_path / "set", "5.html", "6.html") / "5.html"
    assert recognises(page)
    assert [case.id for case in cases(page)] == ["5"]


def test_other_files_and_folders_are_not_taken_for_pages(tmp_path):
    made = folder(tmp_path / "set", "1.png", "notes.txt", "2.HTM")
    (made / "3.html").mkdir()
    assert list(pages_in(made)) == ["2"]
    assert [case.id for case in cases(made)] == ["2"]  # beside a page, a picture is a part of it
    assert not recognises(tmp_path / "absent")
    assert not recognises(folder(tmp_path / "empty"))


def test_two_pages_that_differ_in_their_suffix_are_two_pages(tmp_path):
    made = folder(tmp_path / "set", "1.htm", "1.html")
    assert pages_in(made) == {"1": made / "1.html", "1.htm": made / "1.htm"}


def test_hidden_files_are_no_pages(tmp_path):
    made = folder(tmp_path / "set", "1.html", "._1.html", ".hidden.html")
    assert list(pages_in(made)) == ["1"]


def test_names_of_any_kind_are_ids(tmp_path):
    made = folder(tmp_path / "set", "a b;c.html", "ü.html", "x.y.html", "²3.html", "007.html")
    assert list(pages_in(made)) == ["007", "a b;c", "x.y", "²3", "ü"]


def test_a_folder_without_pages_is_an_error_that_says_what_is_expected(tmp_path):
    with pytest.raises(InputError, match=r"no pages.*N\.html"):
        cases(folder(tmp_path / "set", "notes.txt", "rick.jpg"))


def test_screenshots_are_cases_where_there_is_no_page_beside_them(tmp_path):
    made = folder(tmp_path / "set", "10.png", "2.jpg", "rick.jpg")
    assert recognises(made)
    assert [(case.id, case.truth.is_picture) for case in cases(made)] == [("2", True), ("10", True)]
    assert [case.id for case in cases(made / "2.jpg")] == ["2"]
    assert not recognises(folder(made, "annotations.json"))  # data of another benchmark


def test_pages_of_subfolders_are_cases_and_parts_of_pages_are_not(tmp_path):
    made = folder(tmp_path / "set", "1.html")
    (made / "1.html").write_text('<iframe src="frames/ad.html"></iframe>')
    for place in ("a", "sub", "frames", "images", "1_files", "shots", "old", "page"):
        folder(made / place)
    for name in ("a/index", "sub/2", "sub/10", "frames/ad", "images/x", "1_files/y", "old/z"):
        (made / f"{name}.html").write_text("<p>x</p>")
    (made / "shots/3.png").write_bytes(b"")
    (made / "old/run.json").write_text("{}")
    (made / "page/action.json").write_text("{}")
    (made / "page/4.png").write_bytes(b"")
    assert [case.id for case in cases(made)] == ["1", "a/index", "shots/3", "sub/2", "sub/10"]


def test_components_are_answers_and_a_page_of_the_same_name_comes_first(tmp_path):
    made = folder(tmp_path / "set", "1.html", "1.jsx", "2.tsx", "3.vue")
    assert list(pages_in(made)) == ["1", "1.jsx", "2", "3"]
    assert pages_in(made)["1"].suffix == ".html"
    assert [case.id for case in cases(made)] == ["1"]


# what VLMEvalKit leaves


@pytest.fixture
def vlmevalkit(tmp_path):
    """`outputs/MODEL` after an evaluation: a table, and both sides of every page."""
    for side, text in (("predictions", "a"), ("reference", "b")):
        folder = tmp_path / "model" / "Design2Code" / side
        folder.mkdir(parents=True)
        for name in ("1", "12"):
            (folder / f"{name}.html").write_text(f"<p>{text}{name}")
    (tmp_path / "model" / "Design2Code" / "res_dict.json").write_text("{}")
    (tmp_path / "model" / "model_Design2Code.xlsx").write_bytes(b"PK")
    return tmp_path / "model"


def test_a_run_of_vlmevalkit_has_its_answers_and_its_references(vlmevalkit):
    for folder in (vlmevalkit, vlmevalkit / "Design2Code"):
        assert set(pages_in(folder)) == {"1", "12"} == set(references_in(folder))
        assert pages_in(folder)["1"].read_text() == "<p>a1"
        assert references_in(folder)["1"].read_text() == "<p>b1"


def test_the_table_of_vlmevalkit_names_the_folder_that_has_its_pages(vlmevalkit):
    with pytest.raises(InputError) as caught:
        Replay(vlmevalkit / "model_Design2Code.xlsx")
    assert "Design2Code/predictions" in caught.value.remedy
