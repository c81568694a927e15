"""Several answers to a case, and chosen cases."""

from __future__ import annotations

from itertools import combinations

import pytest
from engine_toy import Doubler, Toy, run_toy, write_dataset

from uiproof.benchmark import Benchmark, Metric
from uiproof.errors import InputError, RunMismatchError
from uiproof.leaderboard import leaderboard
from uiproof.report.tables import samples_table
from uiproof.stats.intervals import pass_at_k


class Measured(Toy):
    """Scores 1 for an answer of 1, else 0."""

    name = "measured"  # no other test registers a benchmark of this name
    metrics = (Metric("value", "Value"),)
    summarise = Benchmark.summarise


class Guesser(Doubler):
    """Is right with its second answer, and never about the last case."""

    asked: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.asked = []

    async def answer(self, case_id, question, context) -> int:
        self.asked.append(case_id)
        return int(context.sample == 1 and question != 9)


@pytest.fixture
def data(tmp_path):
    return write_dataset(tmp_path / "toys.json", count=10)


def run(folder, data, **options):
    method = Guesser()
    options = {"benchmark": Measured(), "method": method, **options}
    return run_toy(folder, data, **options), method


def test_each_case_is_answered_as_often_as_asked_and_counts_as_one_cluster(tmp_path, data):
    done, method = run(tmp_path / "run", data, samples=3)
    assert len(method.asked) == 30
    records = list(done.records())
    assert [record.id for record in records[:4]] == ["0", "0#2", "0#3", "1"]
    assert [record.case for record in records[:4]] == ["0", "0", "0", "1"]
    value = done.summary["scores"]["value"]
    assert value["mean"] == pytest.approx(0.3)  # nine of thirty
    assert (value["n"], value["clusters"]) == (30, 10)
    samples = done.summary["samples"]
    assert (samples["cases"], samples["each"], samples["pass_score"]) == (10, 3, 0.9)
    scores = samples["scores"]["value"]
    assert scores["best"]["mean"] == pytest.approx(0.9)
    assert scores["best"]["clusters"] == 10
    rates = {k: rate["mean"] for k, rate in scores["pass"].items()}
    assert rates == {
        "1": pytest.approx(0.3),
        "2": pytest.approx(0.9 * 2 / 3),
        "3": pytest.approx(0.9),
    }


def test_the_table_of_samples_has_means_the_best_and_pass_at_k(tmp_path, data):
    done, _ = run(tmp_path / "run", data, samples=3)
    table = samples_table(done)
    assert table.header == ("Score", "Mean", "Best of 3", "pass@1", "pass@2", "pass@3")
    assert table.rows[0][0] == "value"  # the toy is not installed
    assert table.rows[0][2].startswith("0.900 [0.6")
    alone, _ = run(tmp_path / "alone", data)
    assert samples_table(alone) is None


def test_more_samples_continue_a_run_and_fewer_are_refused(tmp_path, data):
    _, first = run(tmp_path / "run", data)
    more, second = run(tmp_path / "run", data, samples=2)
    assert len(first.asked) == len(second.asked) == 10
    assert all(case.endswith("#2") for case in second.asked)
    assert more.summary["n"] == 20
    with pytest.raises(RunMismatchError, match="2 answers for each case; 1 is less"):
        run(tmp_path / "run", data, samples=1)


def test_runs_with_samples_are_compared_by_the_means_of_their_cases(tmp_path, data):
    sampled, _ = run(tmp_path / "sampled", data, samples=2)
    alone, _ = run(tmp_path / "alone", data)
    board = leaderboard([sampled, alone])
    assert board.shared is None  # both have the same ten cases
    assert [row.cells[0].mean for row in board.rows] == [pytest.approx(0.45), 0.0]
    assert not board.rows[1].cells[0].tie


def test_a_pass_score_decides_what_passes(tmp_path, data):
    done, _ = run(tmp_path / "run", data, samples=2, pass_score=0.0)
    assert done.summary["samples"]["scores"]["value"]["pass"]["1"]["mean"] == 1.0


@pytest.mark.parametrize(("n", "passed", "k"), [(5, 2, 1), (5, 2, 3), (6, 0, 2), (4, 4, 4)])
def test_pass_at_k_is_the_share_of_draws_with_a_pass(n, passed, k):
    draws = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at_k(n, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_chosen_cases_are_run_alone_and_more_of_them_continue_the_run(tmp_path, data):
    done, method = run(tmp_path / "run", data, only=["3", "7"])
    assert method.asked == ["3", "7"]
    assert done.manifest["only"] == ["3", "7"]
    assert done.manifest["cases"] == 2
    _, more = run(tmp_path / "run", data, only=["3", "7", "8"])
    assert more.asked == ["8"]
    _, everything = run(tmp_path / "run", data)
    assert len(everything.asked) == 7
    with pytest.raises(RunMismatchError, match="all cases; 3 is less"):
        run(tmp_path / "run", data, only=["3"])


def test_an_unknown_case_is_an_error_before_anything_is_written(tmp_path, data):
    with pytest.raises(InputError, match="no case '33'") as caught:
        run(tmp_path / "run", data, only=["33"])
    assert "Did you mean" in caught.value.remedy
    assert not (tmp_path / "run").exists()
