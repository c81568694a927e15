"""Files that were made to take long to check: every step is linear in the size of the file."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uiproof.submissions import check_submission, rank_submissions
from uiproof.submissions.model import digest

SIZE = 400_000  # bytes

CASE = {"id": "0", "status": "scored", "error": None, "flags": [], "scores": {}}
CASE |= {"details": {}, "seconds": {}, "calls": []}
RUN = {"benchmark": "design2code", "dataset": "d", "dataset_key": "k", "method": "m"}
RUN |= {"assisted": False, "settings": {}, "versions": {}, "fingerprint": {}, "limit": None}
RUN |= {"shard": None, "planned": None, "created": "", "complete": True, "partial": []}
RUN |= {"summary": {}, "cases": []}
DOCUMENT = {"format": "uiproof-submission/1", "name": "x", "by": None, "link": None, "note": None}
DOCUMENT |= {"created": ""}


def submission(**run):
    document = {**DOCUMENT, "runs": [RUN | run]}
    return json.dumps({**document, "digest": digest(document)})


def many(make):
    """As many cases as fit."""
    size = len(json.dumps(make(10_000)))
    return [CASE | {"id": str(number)} | make(number) for number in range(SIZE // (size + 100))]


def names(count):
    return {f"n{number}": 1 for number in range(count)}


FILES = {
    "a name twice": lambda: json.dumps(names(40_000))[:-1] + ', "n39999": 2}',
    "empty cases": lambda: submission(cases=[{}] * (SIZE // 4)),
    "empty runs": lambda: json.dumps({**DOCUMENT, "runs": [{}] * (SIZE // 4)}),
    "fields of a file": lambda: json.dumps(DOCUMENT | names(SIZE // 12)),
    "fields of a case": lambda: submission(cases=[CASE | names(SIZE // 12)]),
    "stages": lambda: submission(cases=[CASE | {"seconds": dict.fromkeys(names(60_000), "x")}]),
    "calls": lambda: submission(
        cases=[CASE | {"calls": [dict.fromkeys(names(100), "x")] * (SIZE // 1_400)}]
    ),
    "flags": lambda: submission(cases=[CASE | {"flags": [1] * 1_000}] * (SIZE // 3_100)),
    "names of scores": lambda: submission(
        cases=many(lambda _: {})[:2_500],
        summary={"scores": {name: {"mean": 1} for name in names(SIZE // 36)}},
    ),
    "scores of a case": lambda: submission(cases=[CASE | {"scores": names(SIZE // 12)}]),
    "tags": lambda: submission(
        benchmark="grounding", cases=many(lambda number: {"details": {"tags": {f"t{number}": "v"}}})
    ),
    "many tags": lambda: submission(
        benchmark="grounding",
        cases=many(
            lambda number: {"details": {"tags": {f"t{number}_{n}": "v" for n in range(50)}}}
        ),
    ),
    "steps": lambda: submission(
        benchmark="interaction2code",
        cases=many(lambda number: {"details": {"seconds": {f"s{number}": 1}}}),
    ),
    "the same case": lambda: submission(cases=[CASE] * (SIZE // 130)),
    "lists": lambda: "[" + "[]," * (SIZE // 3) + "[]]",
    "depth": lambda: "[" * SIZE,
}


@pytest.mark.timeout(90)  # each takes a second or two; those that were not linear took minutes
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_told_about_at_once(tmp_path, name):
    path = tmp_path / "hostile.json"
    path.write_text(FILES[name]())
    problems = check_submission(path)
    assert 0 < len(problems) <= 60
    assert max(map(len, problems)) <= 501
    (apart,) = rank_submissions([path]).apart
    assert not apart.valid


def test_a_file_with_more_values_than_results_have_is_not_parsed(tmp_path):
    path = tmp_path / "values.json"
    path.write_bytes(b"[" + b"[]," * 21_000_000 + b"[]]")
    assert check_submission(path) == ["It has more than 20,000,000 values."]


TEXTS = st.text(st.characters(), max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
SCORES = st.dictionaries(st.sampled_from(["paper", "strict", "human", "usable", "a.b"]), ANYTHING)
DETAILS = st.dictionaries(
    st.sampled_from(["tags", "truth", "verdict", "sequence", "page", "seconds", "answer"]), ANYTHING
)
PLACES = st.sampled_from(["file", "run", "case"])


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    benchmark=st.sampled_from(["design2code", "interaction2code", "grounding", "none"]),
    cases=st.lists(st.tuples(TEXTS, SCORES, DETAILS), max_size=4),
    summary=st.dictionaries(TEXTS, ANYTHING, max_size=3),
    place=PLACES,
    name=st.sampled_from([*DOCUMENT, *RUN, *CASE]),
    value=ANYTHING,
)
def test_whatever_a_file_holds_is_a_problem_and_no_crash(
    tmp_path_factory, benchmark, cases, summary, place, name, value
):
    made = [
        CASE | {"id": id, "scores": scores, "details": details} for id, scores, details in cases
    ]
    run = RUN | {"benchmark": benchmark, "cases": made, "summary": summary}
    document = {**DOCUMENT, "runs": [run]}
    changed = {"file": document, "run": run, "case": made[0] if made else run}[place]
    if name in changed:
        changed[name] = value
    try:
        document["digest"] = digest(document)
    except ValueError:  # NaN
        document["digest"] = f"sha256:{'0' * 64}"
    path = tmp_path_factory.mktemp("fuzz") / "submission.json"
    path.write_text(json.dumps(document))
    problems = check_submission(path)
    assert all(isinstance(problem, str) and problem.isprintable() for problem in problems)
    board = rank_submissions([path, path])
    assert len(board.rows) + len(board.apart) >= 1
