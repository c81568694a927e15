"""What scoring keeps on disk and in memory has an end."""

from __future__ import annotations

import os

import pytest

from uiproof import InteractionReference
from uiproof.benchmark import Case
from uiproof.benchmarks.interaction2code.serving import ReferenceFolders
from uiproof.browser.source import PageSource
from uiproof.files import BoundedCache
from uiproof.geometry import PixelBox
from uiproof.process_tree import descendants
from uiproof.scoring import pool
from uiproof.scoring.pool import ScoringJudge, find_case
from uiproof.vision import ocr as readings
from uiproof.vision.ocr import OcrLine


def reference(name: str, size: int = 1000) -> InteractionReference:
    return InteractionReference(name.encode() * size, b"after", action=name)


def folder_size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_references_of_one_content_share_a_folder_in_the_published_layout(tmp_path):
    folders = ReferenceFolders(tmp_path)
    one = folders.folder_of(reference("a"))
    assert folders.folder_of(reference("a")) == one
    assert {file.name for file in one.iterdir()} == {"0.png", "1.png", "action.json"}
    assert folders.folder_of(reference("b")) != one


def test_the_least_recently_used_reference_is_deleted(tmp_path):
    folders = ReferenceFolders(tmp_path, most_bytes=2500)
    first = folders.folder_of(reference("a"))
    for name in "bcdefg":
        last = folders.folder_of(reference(name))
        assert (last / "0.png").is_file()
    assert len(list(tmp_path.iterdir())) == 2
    assert not first.exists()


def test_files_that_were_not_used_for_longest_make_room(tmp_path):
    for number in range(10):
        file = tmp_path / str(number % 2) / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"x" * 10_000)
        os.utime(file, (number, number))
    BoundedCache(tmp_path, 100_000).evict()
    assert folder_size(tmp_path) == 100_000
    BoundedCache(tmp_path, 50_000).evict()
    left = sorted(file.stem for file in tmp_path.rglob("*.json"))
    assert left == ["6", "7", "8", "9"]


def test_a_folder_that_is_written_to_for_ever_stays_below_its_size(tmp_path):
    for number in range(2_000):
        (tmp_path / str(number)).write_bytes(b"x" * 5_000)
        BoundedCache(tmp_path, 1_000_000).after_write(5_000)
    assert folder_size(tmp_path) < 2_000_000


def test_readings_that_are_used_stay_and_others_go(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "MOST_BYTES", 400_000)
    kept = readings.KeptReadings(tmp_path, "me")
    line = OcrLine("word " * 1000, PixelBox(0, 0, 9, 9), 1.0)
    read = []

    def reading(digest):
        kept.lines(digest, lambda: read.append(digest) or [line])
        os.utime(tmp_path / digest[:2] / f"{digest}.json", (len(read), len(read)))

    for number in range(500):
        reading(f"{number:04}")
        if number % 5 == 0:
            kept.lines("0000", lambda: pytest.fail("it was used all the time"))
            os.utime(tmp_path / "00" / "0000.json", (number + 1, number + 1))
    assert len(read) == 500
    assert folder_size(tmp_path) < 800_000


def test_a_worn_browser_is_replaced_and_scores_stay_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_MOST_ANSWERS", 2)
    page = PageSource.from_html("<h1>Hello</h1><p>Some words.</p>")
    benchmark, given = find_case(page, "1")
    case = Case("1", benchmark.name, given)
    judge = ScoringJudge(tmp_path, {benchmark.name: benchmark.judge_options()})
    others = set(descendants(os.getpid()))
    scores, families = [], []
    for _ in range(3):
        scores.append(judge.score(case, PageSource.from_html("<h1>Hello</h1>")))
        families.append(set(descendants(os.getpid())) - others)
    judge.close()
    assert [score.scores for score in scores] == [scores[0].scores] * 3
    assert [score.details["reference_cached"] for score in scores] == [False, True, True]
    assert families[0] == families[1]
    assert not families[1] & families[2]
