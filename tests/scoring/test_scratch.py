"""What scoring keeps on disk and in memory has an end."""

from __future__ import annotations

import os
import threading

import pytest

from uiproof import InteractionReference, pruning
from uiproof.boxes import PixelBox
from uiproof.browser.source import PageSource
from uiproof.engine.types import Case
from uiproof.proctree import descendants
from uiproof.scoring import judge as judging
from uiproof.scoring.folders import ReferenceFolders
from uiproof.scoring.judge import ScoringJudge
from uiproof.scoring.references import benchmark_of
from uiproof.vision import readings
from uiproof.vision.ocr import OcrLine


def reference(name: str, size: int = 1000) -> InteractionReference:
    return InteractionReference(name.encode() * size, b"after", action=name)


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_references_of_one_content_share_a_folder_in_the_published_layout(tmp_path):
    folders = ReferenceFolders(tmp_path)
    with folders.holding(reference("a")) as one, folders.holding(reference("a")) as same:
        assert one == same
        assert {file.name for file in one.iterdir()} == {"0.png", "1.png", "action.json"}
        with folders.holding(reference("b")) as other:
            assert other != one


def test_the_reference_that_was_not_used_for_longest_goes_and_never_one_in_use(tmp_path):
    folders = ReferenceFolders(tmp_path, most_bytes=2500)
    with folders.holding(reference("a")) as held:
        for name in "bcdefg":
            with folders.holding(reference(name)):
                pass
        assert (held / "0.png").is_file()
        assert len(list(tmp_path.iterdir())) == 2
    with folders.holding(reference("h")) as last:
        assert last.is_dir()
    assert not held.exists()


def test_threads_may_hold_references_at_the_same_time(tmp_path):
    folders = ReferenceFolders(tmp_path, most_bytes=5000)
    wrong = []

    def hold(name):
        for _ in range(50):
            with folders.holding(reference(name)) as folder:
                if (folder / "0.png").read_bytes() != name.encode() * 1000:
                    wrong.append(name)

    threads = [threading.Thread(target=hold, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert size_of(tmp_path) <= 5000


def test_files_that_were_not_used_for_longest_make_room(tmp_path):
    for number in range(10):
        file = tmp_path / str(number % 2) / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"x" * 10_000)
        os.utime(file, (number, number))
    pruning.make_room(tmp_path, 100_000)
    assert size_of(tmp_path) == 100_000
    pruning.make_room(tmp_path, 50_000)
    left = sorted(file.stem for file in tmp_path.rglob("*.json"))
    assert left == ["6", "7", "8", "9"]


def test_a_folder_that_is_written_to_for_ever_stays_below_its_size(tmp_path):
    for number in range(2_000):
        (tmp_path / str(number)).write_bytes(b"x" * 5_000)
        pruning.written(tmp_path, 5_000, 1_000_000)
    assert size_of(tmp_path) < 2_000_000


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
    assert size_of(tmp_path) < 800_000


def test_a_worn_browser_is_replaced_and_scores_stay_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "_MOST_PAGES", 2)
    page = PageSource.from_html("<h1>Hello</h1><p>Some words.</p>")
    case = Case("1", None, page)
    assert benchmark_of(case) == "design2code"
    judge = ScoringJudge(tmp_path)
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
