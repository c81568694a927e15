from __future__ import annotations

import pytest

from uiproof.benchmarks.design2code.cases import Question, cases, pages_in, recognises
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
    assert not recognises(made / "1.png")
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
        cases(folder(tmp_path / "set", "1.png"))
