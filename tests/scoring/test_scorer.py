from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import uiproof
from uiproof import Scorer
from uiproof.errors import InputError, UsageError
from uiproof.process_tree import descendants
from uiproof.vision.images import encode_png

PAGE = "<h1>Hello</h1><p>Some words of a page.</p>"


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        with Scorer(workers=2) as scorer:
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
    with Scorer() as scorer:
        scorer.score(PAGE, PAGE)
        assert set(descendants(os.getpid())) - before
    deadline = time.monotonic() + 10
    while (left := set(descendants(os.getpid())) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_closing_twice_or_unused_is_no_error():
    scorer = Scorer()
    scorer.close()
    scorer.close()


def test_the_shared_scorer_ends_with_the_program_and_starts_with_the_first_page(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, uiproof\n"
        "from uiproof.process_tree import descendants\n"
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
    scorer = Scorer()
    scorer.close()
    with pytest.raises(UsageError, match="closed"):
        scorer.score("<p>a", "<p>a")


PAIRS = [
    (PAGE, PAGE),
    (PAGE, "<h1>Hello</h1>"),
    (PAGE, "<h1>Hallo</h1><p>Some words.</p><script>document.body.append('more')</script>"),
    ("<h2>Prices</h2><p>Tea 3</p>", "<h2>Prices</h2><p>Tea 4</p>"),
]


def test_many_pairs_keep_their_order_and_one_broken_pair_stops_no_other(scorer, tmp_path):
    absent = tmp_path / "absent.html"
    records = scorer.score_many([*PAIRS, (absent, PAGE), (PAGE, None), "nonsense", PAIRS[0]])
    assert [record.id for record in records] == [str(number) for number in range(8)]
    assert [record.status for record in records] == ["scored"] * 4 + ["failed"] * 3 + ["scored"]
    assert [record.error.code for record in records[4:7]] == ["input", "usage", "usage"]
    assert records[4].error.stage == "load"
    assert records[4].scores["paper"]["text"] == 0
    assert records[0].scores["paper"]["text"] == 1


def test_pages_score_the_same_alone_in_a_crowd_and_with_a_known_reference(scorer):
    alone = [scorer.score(*pair) for pair in PAIRS]
    crowd = scorer.score_many([pair for pair in PAIRS for _ in range(3)])
    assert [record.scores for record in crowd] == [one for one in alone for _ in range(3)]
    assert all(record.details["reference_cached"] for record in crowd)

    async def at_once():
        singles = [scorer.score_async(*pair) for pair in PAIRS]
        return await asyncio.gather(*singles, scorer.score_many_async(PAIRS))

    *singles, many = asyncio.run(at_once())
    assert singles == alone
    assert [record.scores for record in many] == alone


def test_a_page_is_found_in_what_a_model_wrote(scorer):
    completion = uiproof.Completion(f"<think>Hm.</think>Here:\n```html\n{PAGE}\n```\nDone.")
    assert scorer.score(PAGE, completion) == scorer.score(PAGE, PAGE)
    (record,) = scorer.score_many([(PAGE, uiproof.Completion("I cannot help with that."))])
    assert (record.status, record.error.stage) == ("failed", "answer")
    assert record.error.code == "answer_refused"
    assert record.scores["paper"]["text"] == 0


def test_an_interaction_may_be_a_case_of_a_data_set_or_pictures(scorer, tmp_path):
    before = np.full((240, 400, 3), 255, np.uint8)
    before[20:60, 20:120] = (30, 60, 200)
    after = before.copy()
    after[80:200, 20:320] = (20, 150, 60)
    page = """<body style="margin:0"><button id="interact1" aria-label="Menu" style="
        position:absolute;left:20px;top:20px;width:100px;height:40px;background:#1e3cc8;border:0"
        onclick="panel.hidden = false"></button><div id="panel" hidden style="position:absolute;
        left:20px;top:80px;width:300px;height:120px;background:#14963c"></div>"""
    pictures = uiproof.InteractionReference(
        encode_png(before),
        encode_png(after),
        action="click the menu",
        trigger=(20, 20, 120, 60),
        effect=(20, 80, 320, 200),
    )
    folder = tmp_path / "menu"
    folder.mkdir()
    (folder / "0.png").write_bytes(pictures.before)
    (folder / "1.png").write_bytes(pictures.after)
    (folder / "action.json").write_text(json.dumps(pictures.as_json()))

    scores = scorer.score(folder / "1", page)
    assert scores["usable"] == 1
    assert scorer.score(pictures, page) == scores
    records = scorer.score_many([(pictures, page), (folder / "9", page), (pictures, " ")])
    assert records[0].scores == scores
    assert [record.status for record in records] == ["scored", "failed", "failed"]
    assert [record.error.code for record in records[1:]] == ["input", "answer_empty"]
    assert all(record.scores["usable"] == 0 for record in records[1:])


def test_what_is_missing_on_this_machine_is_raised_and_no_page_scores_nothing(tmp_path):
    program = (
        "import uiproof\n"
        "with uiproof.Scorer(workers=1) as scorer:\n"
        "    try:\n"
        "        scorer.score_many([('<p>a', '<p>a')])\n"
        "    except uiproof.UiproofError as error:\n"
        "        print(type(error).__name__)\n"
    )
    environment = os.environ | {"UIPROOF_CHROMIUM": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "MissingDependencyError", done.stderr


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_is_told_that_the_scorer_is_not_its_own(scorer):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            scorer.close()  # does nothing to the one of the parent
            scorer.score(PAGE, PAGE)
        except UsageError as error:
            os.write(write, error.message.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"another process" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    assert scorer.score(PAGE, PAGE)["paper"]["text"] == 1
