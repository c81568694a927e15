"""What methods leave with a case, what they are shown, and how a budget ends a run."""

from __future__ import annotations

import json

import pytest
from engine_toy import Doubler, ToyJudge, VariedToy, run_toy, write_dataset

from uiproof.errors import BudgetReachedError, EmptyAnswerError, MethodError, ModelAccessError

CALL = {"model": "m", "cached": False, "attempts": 2, "input_tokens": 10, "output_tokens": 5}


class Noting(Doubler):
    """Leaves something of everything; some cases fail in their answer."""

    def __init__(self):
        super().__init__()
        self.asked_again = []

    async def answer(self, case_id, question, context):
        context.flag("answer:fenced")
        context.flag("answer:fenced")
        context.note_call({**CALL, "cost": 0.5, "cached": case_id == "1"})
        context.note_call({**CALL, "cost": None})
        context.keep("answer.json", json.dumps(case_id).encode())
        if context.ask_again:
            self.asked_again.append(case_id)
        elif question % 2:
            raise EmptyAnswerError("Nothing there.")
        return question


def test_what_a_method_leaves_is_in_the_record_also_when_the_case_fails(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=2)
    run = run_toy(tmp_path / "run", dataset, method=Noting())
    scored, failed = run.records()
    assert scored.flags == ("answer:fenced", "toy")
    assert failed.flags == ("answer:fenced",)
    for record in (scored, failed):
        assert [call["cost"] for call in record.calls] == [0.5, None]
        assert json.loads(run.artifact(record.artifacts["answer"]).read_text()) == record.id
    assert failed.error.code == "answer_empty"


def test_the_summary_adds_up_what_models_took(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=2)
    usage = run_toy(tmp_path / "run", dataset, method=Noting()).summary["usage"]
    assert usage == {
        "requests": 4,
        "cached": 1,
        "attempts": 6,
        "input_tokens": 40,
        "output_tokens": 20,
        "network_seconds": 0,
        "queue_seconds": 0,
        "cost": 1.0,
        "paid": 0.5,
        "unpriced": 2,
    }
    assert run_toy(tmp_path / "plain", dataset).summary["usage"] is None


def test_only_answers_that_failed_are_asked_for_again(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "raise", "nothing", "nothing")
    first = Noting()
    run = run_toy(tmp_path / "run", dataset, method=first)
    assert [one.error.stage for one in run.records() if one.error] == ["score", "answer"]
    again = Noting()
    run_toy(tmp_path / "run", dataset, method=again, retry_failed=True)
    assert (first.asked_again, again.asked_again) == ([], ["1"])


class Spending(Doubler):
    """Can pay for a few answers; then there is no money left."""

    concurrency = 1

    def __init__(self, money, error=BudgetReachedError):
        super().__init__()
        self.money, self.error = money, error

    async def answer(self, case_id, question, context):
        if not self.money:
            raise self.error("Nothing left.")
        self.money -= 1
        return question


def test_a_budget_that_is_reached_ends_the_run_with_what_was_paid_for_scored(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=40)
    with pytest.raises(BudgetReachedError):
        run_toy(tmp_path / "run", dataset, method=Spending(7))
    run = run_toy(tmp_path / "run", dataset, method=Spending(33))
    assert (run.summary["n"], run.summary["failed"], run.summary["complete"]) == (40, 0, True)


def test_after_a_reached_budget_the_summary_says_that_it_is_not_complete(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=5)
    with pytest.raises(BudgetReachedError):
        run = run_toy(tmp_path / "run", dataset, method=Spending(2))
    from uiproof.engine.rundir import RunDirectory

    run = RunDirectory(tmp_path / "run")
    assert (run.summary["n"], run.summary["complete"]) == (2, False)


def test_a_model_that_lets_nobody_in_stops_the_run_and_fails_no_case(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=5)
    with pytest.raises(ModelAccessError):
        run_toy(tmp_path / "run", dataset, method=Spending(0, ModelAccessError))
    run = run_toy(tmp_path / "run", dataset, method=Spending(5))
    assert (run.summary["n"], run.summary["failed"]) == (5, 0)


class Looking(Doubler):
    """Answers with how many bytes the picture of its first answer has."""

    async def answer(self, case_id, question, context):
        return len(await context.render(question))


class Drawing(ToyJudge):
    def picture(self, case, answer):
        return bytes(100 * case.question + answer)


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_method_is_shown_what_its_answer_looks_like(tmp_path, executor):
    dataset = write_dataset(tmp_path / "d.json", count=3)
    toy = VariedToy(judge=Drawing)
    options = {"method": Looking(), "executor": executor, "workers": 1}
    run = run_toy(tmp_path / "run", dataset, benchmark=toy, **options)
    assert [one.scores["value"] for one in run.records()] == [0, 101, 202]


def test_a_judge_that_cannot_draw_says_so(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=1)
    (record,) = run_toy(tmp_path / "run", dataset, method=Looking()).records()
    assert (record.error.code, record.error.stage) == (MethodError.code, "answer")
    assert "ToyJudge cannot show answers" in record.error.message
