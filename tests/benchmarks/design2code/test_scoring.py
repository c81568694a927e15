from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from uiproof.benchmarks.design2code.scoring import PageScorer
from uiproof.errors import InputError, UsageError
from uiproof.proctree import descendants

PAGE = "<h1>Hello</h1><p>Some words of a page.</p>"


@pytest.fixture(scope="module")
def scorer():
    with PageScorer() as scorer:
        yield scorer


def test_pages_may_be_strings_and_files(scorer, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(f"<html><body>{PAGE}</body></html>")
    as_strings = scorer.score(file.read_text(), PAGE)
    assert as_strings["paper"]["text"] == 1
    assert scorer.score(file, PAGE) == as_strings
    assert scorer.score(file, file)["strict"]["mean_without_clip"] == 1
    assert scorer.score(PAGE, "<p>Nothing alike</p>")["paper"]["text"] == 0


def test_a_file_that_is_not_there_is_an_error_and_the_scorer_goes_on(scorer, tmp_path):
    with pytest.raises(InputError, match="Cannot read"):
        scorer.score(tmp_path / "absent.html", PAGE)
    assert scorer.score(PAGE, PAGE)["paper"]["text"] == 1


def test_threads_may_share_a_scorer(scorer):
    words = ["Alpha", "Beta", "Gamma", "Delta"]
    with ThreadPoolExecutor(4) as threads:
        scores = threads.map(lambda word: scorer.score(PAGE, f"{PAGE}<p>{word}</p>"), words)
        assert all(score["paper"]["text"] == 1 for score in scores)


def test_scoring_works_inside_of_asyncio(scorer):
    async def score():
        return scorer.score(PAGE, PAGE), await asyncio.to_thread(scorer.score, PAGE, PAGE)

    here, there = asyncio.run(score())
    assert here == there
    assert here["paper"]["text"] == 1


def test_a_closed_scorer_leaves_no_process_behind():
    before = set(descendants(os.getpid()))
    with PageScorer() as scorer:
        scorer.score(PAGE, PAGE)
        assert set(descendants(os.getpid())) - before
    deadline = time.monotonic() + 10
    while (left := set(descendants(os.getpid())) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_closing_twice_or_unused_is_no_error():
    scorer = PageScorer()
    scorer.close()
    scorer.close()


def test_the_shared_scorer_ends_with_the_program_and_starts_with_the_first_page(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, uiproof\n"
        "from uiproof.proctree import descendants\n"
        "assert not descendants(os.getpid())\n"
        "first = uiproof.score_page('<p>Words</p>', '<p>Words</p>')\n"
        "family = descendants(os.getpid())\n"
        "assert family and first['paper']['text'] == 1\n"
        "assert uiproof.score_page('<p>Words</p>', '<p>Words</p>') == first\n"
        "print(*family)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    family = {int(pid) for pid in done.stdout.split()}
    deadline = time.monotonic() + 10
    while (left := family & set(descendants(1))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_a_string_that_names_a_file_is_refused_instead_of_scored_as_text(scorer, tmp_path):
    page = tmp_path / "1.html"
    page.write_text("<p>Hello</p>")
    with pytest.raises(UsageError, match=r"pathlib\.Path"):
        scorer.score(str(page), "<p>Hello</p>")


@pytest.mark.parametrize("page", [None, b"<p>Hello</p>", 3])
def test_what_is_neither_text_nor_a_path_is_refused(scorer, page):
    with pytest.raises(UsageError, match="HTML"):
        scorer.score(page, "<p>Hello</p>")


def test_a_closed_scorer_says_so():
    scorer = PageScorer()
    scorer.close()
    with pytest.raises(UsageError, match="closed"):
        scorer.score("<p>a", "<p>a")
