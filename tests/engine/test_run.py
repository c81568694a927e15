"""Runs in this process: every case ends in the journal, and running again continues."""

from __future__ import annotations

import fcntl
import json
import os

import pytest
from engine_toy import Doubler, ToyJudge, VariedToy, run_toy, write_dataset

from uiproof.benchmark import Case
from uiproof.engine.progress import Progress
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import (
    InputError,
    MissingDependencyError,
    RunLockedError,
    RunMismatchError,
    StorageError,
    UsageError,
)

EXECUTORS = ("inline", "processes")


def without_timing(summary):
    return {key: value for key, value in summary.items() if key != "timing"}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_case_ends_scored_or_failed_with_a_typed_error(tmp_path, executor):
    dataset = write_dataset(
        tmp_path / "d.json",
        "raise",
        "fail",
        "nan",
        "unwritable",
        "unpicklable",
        "no score",
        "broken",
        "sys.exit",
        "pose:raise",
        "nothing",
    )
    run = run_toy(tmp_path / "run", dataset, executor=executor, workers=2)
    ended = {one.id: one for one in run.records()}
    codes = {key: (one.error.code, one.error.stage) for key, one in ended.items() if one.error}
    assert codes == {
        "0": ("internal", "score"),
        "1": ("render", "score"),
        "2": ("internal", "score"),
        "3": ("internal", "score"),
        "4": ("internal", "score"),
        "5": ("internal", "score"),
        "6": ("input", "load"),
        "7": ("internal", "score"),
        "8": ("internal", "pose"),
    }
    assert ended["0"].error.message == "ValueError: odd number"
    assert "misbehave" in ended["0"].details["traceback"]
    assert ended["1"].error.remedy == "Write another page."
    assert ended["9"].scores == {"value": 18.0}
    assert ended["9"].flags == ("toy",)
    assert set(ended["9"].seconds) == {"pose", "answer", "score"}
    assert all(one.scores == {"value": 0.0} for key, one in ended.items() if key in codes)
    summary = run.summary
    assert (summary["n"], summary["failed"], summary["mean"]) == (10, 9, 1.8)
    assert summary["errors"] == {"input": 1, "internal": 7, "render": 1}
    assert summary["complete"] is True
    assert summary["timing"]["cases"] == 10


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_what_a_browser_died_of_is_tried_once_more(tmp_path, executor):
    dataset = write_dataset(tmp_path / "d.json", "lose-browser-once", "lose-browser", "nothing")
    run = run_toy(tmp_path / "run", dataset, executor=executor, workers=1)
    ended = {one.id: one for one in run.records()}
    assert [ended[case_id].status for case_id in "012"] == ["scored", "failed", "scored"]
    assert ended["1"].error.code == "browser_died"


def test_both_executors_give_the_same_summary(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=20)
    summaries = [
        without_timing(run_toy(tmp_path / name, dataset, executor=name, workers=2).summary)
        for name in EXECUTORS
    ]
    assert summaries[0] == summaries[1]


def test_a_method_that_raises_or_cancels_itself_fails_only_its_case(tmp_path):
    dataset = tmp_path / "d.json"
    items = [{"id": name, "number": 1} for name in ("cancels", "refuses", "works")]
    dataset.write_text(json.dumps(items))
    method = Doubler()
    ended = {one.id: one for one in run_toy(tmp_path / "run", dataset, method=method).records()}
    assert ended["cancels"].error.code == "method"
    assert ended["refuses"].error.code == "internal"
    assert ended["refuses"].error.stage == "answer"
    assert ended["works"].status == "scored"
    assert method.closed


class Blind(Doubler):
    needs_question = False


def test_a_question_is_posed_only_for_methods_that_need_one(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "pose:raise")
    (record,) = run_toy(tmp_path / "run", dataset, method=Blind()).records()
    assert record.status == "scored"
    assert "pose" not in record.seconds


def test_running_again_does_only_what_is_missing(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "raise", count=5)
    run = run_toy(tmp_path / "run", dataset)
    journal, summary = run.journal.read_bytes(), run.summary
    run_toy(tmp_path / "run", dataset)
    assert run.journal.read_bytes() == journal
    assert run.summary == summary


def test_failed_cases_are_done_again_only_on_request(tmp_path):
    flaky = write_dataset(tmp_path / "f.json", "raise", count=2)
    run = run_toy(tmp_path / "again", flaky)
    assert run.summary["failed"] == 1
    run_toy(tmp_path / "again", flaky, retry_failed=True)
    lines = run.journal.read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines].count("0") == 2
    assert len(list(run.records())) == run.summary["n"] == 3


def test_the_limit_may_grow_but_not_shrink(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=9)
    run = run_toy(tmp_path / "run", dataset, limit=2)
    assert run.summary["n"] == 2
    run_toy(tmp_path / "run", dataset, limit=5)
    assert (run.summary["n"], run.manifest["limit"]) == (5, 5)
    with pytest.raises(RunMismatchError, match="can only grow"):
        run_toy(tmp_path / "run", dataset, limit=4)
    run_toy(tmp_path / "run", dataset)
    assert (run.summary["n"], run.manifest["limit"]) == (9, None)


def test_a_run_with_other_settings_is_refused_with_what_differs(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=1)
    other = write_dataset(tmp_path / "other.json", count=2)
    elsewhere = tmp_path / "elsewhere" / "d.json"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(dataset.read_bytes())
    run_toy(tmp_path / "run", dataset)

    class Tripler(Doubler):
        name = "tripler"

    renamed = VariedToy(name="game")
    updated = VariedToy(fingerprint={"browser": {"version": "2"}})
    for options, difference in [
        ({"method": Tripler()}, "method is 'doubler' there and 'tripler' now"),
        ({"method": Doubler(temperature=1)}, "method settings.temperature is None there and 1 now"),
        ({"benchmark": renamed}, "benchmark is 'toy' there and 'game' now"),
        ({"benchmark": updated}, "environment.browser.version is '1' there and '2' now"),
        ({"dataset": other}, "content of the data set is"),
    ]:
        options = {"dataset": dataset, **options}
        with pytest.raises(RunMismatchError, match=difference) as caught:
            run_toy(tmp_path / "run", **options)
        assert "another directory" in caught.value.remedy
    run_toy(tmp_path / "run", elsewhere)  # a copy of the data is the same data


def test_two_writers_cannot_share_a_run(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=1)
    run_toy(tmp_path / "run", dataset)
    with (tmp_path / "run" / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RunLockedError, match=f"process {os.getpid()} on ") as caught:
            run_toy(tmp_path / "run", dataset)
        assert "another directory" in caught.value.remedy
    run_toy(tmp_path / "run", dataset)


def test_two_cases_with_one_id_are_an_error_of_the_data_set(tmp_path):
    dataset = tmp_path / "d.json"
    dataset.write_text(json.dumps([{"id": "a", "number": 1}, {"id": "a", "number": 2}]))
    with pytest.raises(InputError, match="two cases with the id 'a'"):
        run_toy(tmp_path / "run", dataset)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_something_missing_on_the_machine_stops_the_run_and_fails_no_case(tmp_path, executor):
    dataset = write_dataset(tmp_path / "d.json", "missing", count=30)
    with pytest.raises(MissingDependencyError, match="no browser"):
        run_toy(tmp_path / "run", dataset, executor=executor, workers=2)
    journal = (tmp_path / "run" / "journal.jsonl").read_text()
    assert '"failed"' not in journal


FULL_DISKS = ["os-error ENOSPC", "pose:os-error EDQUOT", "os-error EROFS", "wrapped-full-disk"]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("do", FULL_DISKS)
def test_a_disk_that_takes_nothing_stops_the_run_and_fails_no_case(tmp_path, executor, do):
    dataset = write_dataset(tmp_path / "d.json", "nothing", do, count=10)
    with pytest.raises(StorageError) as caught:
        run_toy(tmp_path / "run", dataset, executor=executor, workers=1)
    assert (caught.value.code, caught.value.exit_code) == ("storage", 3)
    assert "continues" in caught.value.remedy
    assert '"failed"' not in (tmp_path / "run" / "journal.jsonl").read_text()


def test_other_troubles_with_files_fail_only_their_case(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "os-error EACCES", count=1)
    ended = [one.status for one in run_toy(tmp_path / "run", dataset).records()]
    assert ended == ["failed", "scored"]


class FullDiskJudge(ToyJudge):
    made = 0

    def __init__(self, run):
        super().__init__(run)
        FullDiskJudge.made += 1
        if FullDiskJudge.made > 1:  # the first one is the main process's
            self.misbehave("os-error ENOSPC", "")


def test_a_full_disk_while_a_judge_is_made_stops_the_run_as_what_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(FullDiskJudge, "made", 0)
    benchmark = VariedToy(judge=FullDiskJudge)
    with pytest.raises(StorageError, match=r"picture\.png"):
        run_toy(tmp_path / "run", write_dataset(tmp_path / "d.json", count=1), benchmark=benchmark)


def test_a_summary_that_cannot_be_written_does_not_hide_why_the_run_ended(tmp_path):
    run = tmp_path / "run"
    dataset = write_dataset(tmp_path / "d.json", "nothing", "missing")
    with pytest.raises(MissingDependencyError):
        run_toy(run, dataset)
    (run / "summary.json.tmp").mkdir()
    with pytest.raises(MissingDependencyError, match="no browser"):
        run_toy(run, dataset)


def test_a_data_set_without_cases_leaves_nothing_behind(tmp_path):
    def no_cases(path):
        raise InputError(f"There is nothing in {path}.")

    dataset = write_dataset(tmp_path / "d.json")
    with pytest.raises(InputError, match="There is nothing"):
        run_toy(tmp_path / "run", dataset, benchmark=VariedToy(cases=no_cases))
    assert not (tmp_path / "run").exists()


def test_a_run_that_failed_before_its_first_case_may_be_started_otherwise(tmp_path):
    run = tmp_path / "run"
    with pytest.raises(MissingDependencyError):
        run_toy(run, write_dataset(tmp_path / "bad.json", "missing"))
    (run / "artifacts").mkdir(exist_ok=True)
    (run / "artifacts" / "left over").touch()
    good = write_dataset(tmp_path / "good.json", count=2)
    assert run_toy(run, good, method=Doubler(temperature=1)).summary["n"] == 2
    assert RunDirectory(run).manifest["settings"] == {"temperature": 1}
    assert not (run / "artifacts" / "left over").exists()


class Replaying(Doubler):
    """Answers with what is in files named after cases."""

    needs_question = False

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def key(self, case_id):
        path = self.folder / case_id
        return path.read_text() if path.exists() else "missing"

    async def answer(self, case_id, question, context):
        return int((self.folder / case_id).read_text())


def test_a_case_whose_answer_has_changed_is_done_again_and_no_other(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "nothing", "nothing", "nothing", "broken")
    for case_id, text in [("0", "10"), ("1", "11")]:
        (tmp_path / case_id).write_text(text)
    run = run_toy(tmp_path / "run", dataset, method=Replaying(tmp_path))
    assert [one.scores["value"] for one in run.records()] == [10, 11, 0, 0]
    journal = run.journal.read_bytes()
    run_toy(tmp_path / "run", dataset, method=Replaying(tmp_path))
    assert run.journal.read_bytes() == journal

    (tmp_path / "1").write_text("21")
    (tmp_path / "2").write_text("22")  # was missing
    started = {}

    class Watching(Progress):
        def start(self, **counts):
            started.update(counts)

    run_toy(tmp_path / "run", dataset, method=Replaying(tmp_path), progress=Watching())
    assert (started["done"], started["failed"]) == (2, 1)  # of the two failed, one is done again
    assert [one.scores["value"] for one in run.records()] == [10, 21, 22, 0]
    assert [one.answer_key for one in run.records()] == ["10", "21", "22", "missing"]
    added = run.journal.read_bytes().removeprefix(journal).splitlines()
    assert {json.loads(line)["id"] for line in added} == {"1", "2"}


def test_a_key_that_cannot_be_had_fails_its_case_and_not_the_run(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=2)
    (tmp_path / "0").write_text("10")
    (tmp_path / "1").mkdir()
    for _ in range(2):
        run = run_toy(tmp_path / "run", dataset, method=Replaying(tmp_path))
        assert [one.status for one in run.records()] == ["scored", "failed"]


@pytest.mark.parametrize("limit", [-1, 0])
def test_senseless_numbers_are_refused(tmp_path, limit):
    with pytest.raises(UsageError, match="at least 1"):
        run_toy(tmp_path / "run", write_dataset(tmp_path / "d.json"), limit=limit)


def test_an_unknown_executor_is_refused_and_leaves_nothing_behind(tmp_path):
    with pytest.raises(UsageError, match="no executor called 'cloud'"):
        run_toy(tmp_path / "run", write_dataset(tmp_path / "d.json"), executor="cloud")
    assert not (tmp_path / "run").exists()


def test_ten_thousand_cases_are_pulled_only_as_far_as_the_window_reaches(tmp_path):
    pulled = finished = furthest = 0

    class Counting:
        def __len__(self):
            return 10_000

        def __iter__(self):
            nonlocal pulled, furthest
            for number in range(10_000):
                pulled += 1
                furthest = max(furthest, pulled - finished)
                yield Case(str(number), number, "nothing")

    class Watching:
        def start(self, *, total, done, failed):
            assert (total, done, failed) == (10_000, 0, 0)

        def advance(self, *, failed):
            nonlocal finished
            finished += 1

        def stop(self):
            pass

    method = Blind()
    benchmark = VariedToy(cases=lambda _path: Counting())
    run = run_toy(
        tmp_path / "run",
        write_dataset(tmp_path / "d.json"),
        benchmark=benchmark,
        method=method,
        progress=Watching(),
    )
    assert run.summary["n"] == finished == 10_000
    # One more than the window: the next case is pulled before there is room for it.
    assert furthest <= 2 * 1 + method.concurrency + 1
    assert 1 <= method.most_answering <= method.concurrency


def test_answers_are_scored_before_new_questions_are_posed(tmp_path):
    posed = scored = furthest = 0

    class Counting(ToyJudge):
        def pose(self, case):
            nonlocal posed, furthest
            posed += 1
            furthest = max(furthest, posed - scored)
            return super().pose(case)

        def score(self, case, answer):
            nonlocal scored
            scored += 1
            return super().score(case, answer)

    method = Doubler()
    method.concurrency = 50
    benchmark = VariedToy(judge=Counting)
    dataset = write_dataset(tmp_path / "d.json", count=50)
    run_toy(tmp_path / "run", dataset, benchmark=benchmark, method=method)
    assert posed == scored == 50
    assert furthest <= 10  # and not as far as the window of cases would allow
