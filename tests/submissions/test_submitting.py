"""Runs as submissions: what is in them, what is refused, and that they check."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from submission_runs import FAILURE, change, make_run, page

import uiproof
from uiproof.benchmark import CaseError, Record
from uiproof.errors import InputError, UsageError
from uiproof.submissions.model import SCHEMA, content
from uiproof.submissions.writing import write_hub_results

PAGES = [page("1", 0.5, flags=("slow",)), page("2", 0.0, error=FAILURE), page("10", 0.9)]


def submit(run, path, **options):
    return uiproof.write_submission([run], path, **{"name": "Model X", **options})


def interaction(case_id, failure):
    """A case of Interaction2Code with all that its summary reads."""
    works = failure == "none"
    verdict = {"usable": works, "failure": failure, "evidence": ["it opens"]}
    return Record(
        case_id,
        "scored",
        {"usable": float(works), "implemented": 1.0, "paper": {"full": {"text": 0.5}}},
        details={
            "page": case_id.partition("/")[0],
            "verdict": verdict,
            "sequence": {"edges": ["1"], "steps": 2, "done": 1 + works, "stopped": "/home/ann/x"},
            "seconds": {"render": 0.25},
            "generated": {"element": "<a> /home/ann"},
        },
    )


@pytest.fixture(scope="module")
def grounding(tmp_path_factory):
    """A real run of a benchmark that needs no browser."""
    out = tmp_path_factory.mktemp("grounding") / "run"
    return uiproof.run("grounding-demo", "centre", out=out, executor="inline", quiet=True)


def test_a_submission_is_fine_and_holds_what_others_need_and_nothing_private(tmp_path):
    run = make_run(tmp_path / "run", PAGES)
    path = submit(run, tmp_path / "a.json", by="Team", link="https://example.org/x", note="Hi")
    assert uiproof.check_submission(path) == []
    text = path.read_text()
    assert "/home/ann" not in text
    assert "hunter2" not in text
    document = json.loads(text)
    (entry,) = document["runs"]
    assert (document["name"], document["by"]) == ("Model X", "Team")
    assert (entry["dataset"], entry["method"]) == ("pages", "replay:predictions")
    assert entry["settings"] == {"folder": "predictions", "temperature": 0.5}
    assert [case["id"] for case in entry["cases"]] == ["1", "2", "10"]
    assert entry["cases"][1]["error"] == {"code": "render", "stage": "score"}
    assert entry["cases"][0]["flags"] == ["slow"]
    assert entry["summary"]["scores"]["paper"]["text"] == run.summary["scores"]["paper"]["text"]


def test_interactions_carry_what_their_summary_needs(tmp_path):
    cases = [interaction("a/1", "none"), interaction("a/2", "b"), interaction("b/1", "none")]
    run = make_run(tmp_path / "run", cases, benchmark="interaction2code")
    path = submit(run, tmp_path / "a.json")
    assert uiproof.check_submission(path) == []
    assert "/home/ann" not in path.read_text()
    summary = json.loads(path.read_text())["runs"][0]["summary"]
    assert summary["failures"]["b"]["n"] == 1
    assert summary["sequences"] == run.summary["sequences"]
    assert summary["seconds"] == {"judge.render": 0.75}


def test_a_real_grounding_run_checks_against_its_data_set(grounding, tmp_path):
    path = submit(grounding, tmp_path / "a.json")
    assert uiproof.check_submission(path, dataset="grounding-demo") == []
    stored = json.loads(path.read_text())["runs"][0]["summary"]
    same = ("scores", "by_size", "by_tag", "verdicts", "latency", "confidence", "refusals")
    assert {name: stored[name] for name in same} == {name: grounding.summary[name] for name in same}


def test_cases_that_the_data_set_does_not_have_or_that_are_missing_are_noticed(grounding, tmp_path):
    path = submit(grounding, tmp_path / "a.json")

    def rename(document):
        document["runs"][0]["cases"][0]["id"] = "other/1"

    change(path, rename, seal=True)
    problems = "\n".join(uiproof.check_submission(path, dataset="grounding-demo"))
    assert "runs[0]: the data set has no case 'other/1'." in problems
    assert "is missing." in problems

    other = submit(make_run(tmp_path / "run", PAGES), tmp_path / "b.json")
    (problem,) = uiproof.check_submission(other, dataset="grounding-demo")
    assert "it is design2code" in problem


def test_another_content_of_the_data_set_is_noticed(grounding, tmp_path):
    path = submit(grounding, tmp_path / "a.json")

    def other_key(document):
        document["runs"][0]["dataset_key"] = "0" * 32

    change(path, other_key, seal=True)
    assert uiproof.check_submission(path) == []
    (problem,) = uiproof.check_submission(path, dataset="grounding-demo")
    assert problem.startswith("runs[0].dataset_key: ")


LOADING = CaseError("input", "load", "It is broken.")


@pytest.mark.parametrize(
    ("records", "changed", "reason"),
    [
        (PAGES, {"complete": False}, "not finished"),
        (PAGES, {"limit": 3}, "limited to 3"),
        (PAGES, {"shard": "1/4"}, "the shard 1/4"),
        (PAGES, {"cases": 5}, "3 of 5"),
        ([*PAGES, page("x", 0.0, error=LOADING)], {}, "could not be loaded"),
    ],
)
def test_what_does_not_cover_its_data_set_is_refused_and_marked(tmp_path, records, changed, reason):
    run = make_run(tmp_path / "run", records, **changed)
    with pytest.raises(InputError, match=reason):
        submit(run, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
    path = submit(run, tmp_path / "a.json", partial=True)
    assert uiproof.check_submission(path) == []
    assert reason in json.loads(path.read_text())["runs"][0]["partial"][0]

    def conceal(document):
        document["runs"][0]["partial"] = []

    (problem,) = uiproof.check_submission(change(path, conceal, seal=True))
    assert reason in problem


@pytest.mark.parametrize("chosen", [{"only": ["1", "2", "10"]}, {"samples": 2, "pass_score": 0.9}])
def test_chosen_cases_and_several_answers_are_refused(tmp_path, chosen):
    run = make_run(tmp_path / "run", PAGES, **chosen)
    with pytest.raises(InputError, match="chosen cases only"):
        submit(run, tmp_path / "a.json", partial=True)


def test_a_limit_larger_than_the_data_set_cuts_nothing_off(tmp_path):
    run = make_run(tmp_path / "run", PAGES, limit=100)
    assert uiproof.check_submission(submit(run, tmp_path / "a.json")) == []


def test_a_summary_that_does_not_fit_its_journal_is_refused(tmp_path):
    run = make_run(tmp_path / "run", PAGES)
    summary = run.summary
    summary["scores"]["paper"]["text"]["mean"] = 0.99
    run.write_summary(summary)
    with pytest.raises(InputError, match=r"scores\.paper\.text\.mean is 0\.99"):
        submit(run, tmp_path / "a.json")


def test_ids_that_are_not_valid_text_and_runs_without_cases_can_be_submitted(tmp_path):
    odd = make_run(tmp_path / "odd", [page("caf\udce9", 0.5), page("\x1b[31m", 0.25)])
    path = submit(odd, tmp_path / "odd.json")
    assert uiproof.check_submission(path) == []
    empty = make_run(tmp_path / "empty", [])
    assert uiproof.check_submission(submit(empty, tmp_path / "empty.json")) == []


def test_wrong_words_about_it_are_refused(tmp_path):
    run = make_run(tmp_path / "run", PAGES)
    with pytest.raises(UsageError):
        uiproof.write_submission([], tmp_path / "a.json", name="x")
    for wrong in ({"name": ""}, {"link": "javascript:alert(1)"}, {"note": "x" * 20_000}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            submit(run, tmp_path / "a.json", **wrong)


def test_a_benchmark_that_hides_what_its_summary_needs_is_told(tmp_path, monkeypatch):
    from uiproof import registry
    from uiproof.submissions import writing

    cases = [interaction("a/1", "none"), interaction("b/1", "b")]
    run = make_run(tmp_path / "run", [replace(one, id=f"{i}") for i, one in enumerate(cases)])

    class Hungry(type(registry.benchmarks()["design2code"])):
        def summarise(self, records):
            return {"scores": [record.details for record in records]}

    run.write_summary({**run.summary, "scores": [one.details for one in cases]})
    monkeypatch.setattr(writing, "benchmarks", lambda: {"design2code": Hungry()})
    with pytest.raises(InputError, match="details that it does not name"):
        submit(run, tmp_path / "a.json")


def test_the_schema_file_is_up_to_date_and_accepts_submissions(tmp_path):
    assert SCHEMA.read_text() == content(), "run python -m uiproof.submissions.model"
    jsonschema = pytest.importorskip("jsonschema")
    path = submit(make_run(tmp_path / "run", PAGES), tmp_path / "a.json")
    document = json.loads(path.read_text())
    validator = jsonschema.Draft202012Validator(json.loads(content()))
    assert list(validator.iter_errors(document)) == []
    document["runs"][0]["cases"][0]["status"] = "perfect"
    assert list(validator.iter_errors(document))


def test_the_hubs_form_has_the_data_set_the_metric_and_the_value(tmp_path):
    run = make_run(tmp_path / "run", PAGES)
    out = write_hub_results([run], tmp_path / "x.yaml", dataset="owner/set", link="https://x.org/y")
    lines = out.read_text().splitlines()
    assert lines[:2] == ["- dataset:", '    id: "owner/set"']
    assert lines[2].startswith("    task_id: ")
    assert 0 < float(lines[3].removeprefix("  value: ")) < 1
    assert lines[-1] == '    url: "https://x.org/y"'
