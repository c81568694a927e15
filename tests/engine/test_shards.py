"""Runs in parts, and the parts joined."""

from __future__ import annotations

import json

import pytest
from engine_toy import TOY, Doubler, run_toy, write_dataset
from hypothesis import given
from hypothesis import strategies as st

from uiproof.benchmark import Case
from uiproof.engine.shards import Shard, merge_runs
from uiproof.errors import InputError, RunMismatchError, UsageError


def shards_of(folder, dataset, count, **options):
    return [
        run_toy(folder / f"{n}of{count}", dataset, shard=Shard(n, count), **options)
        for n in range(1, count + 1)
    ]


def results(run):
    return {one.id: (one.status, one.scores, one.flags) for one in run.records()}


def without_timing(summary):
    return {key: value for key, value in summary.items() if key != "timing"}


@given(pages=st.lists(st.integers(1, 4), max_size=12), count=st.integers(1, 6))
def test_every_case_is_in_exactly_one_part_and_a_page_stays_together(pages, count):
    cases = [Case(f"{p}/{n}", 0, "") for p, size in enumerate(pages) for n in range(size)]
    parts = [list(Shard(k, count).part(cases)) for k in range(1, count + 1)]
    assert sorted(case.id for part in parts for case in part) == sorted(c.id for c in cases)
    homes = [{case.id.split("/")[0] for case in part} for part in parts]
    assert sum(map(len, homes)) == len(set().union(*homes))
    assert max(map(len, homes)) - min(map(len, homes)) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3", "١/٢"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(UsageError, match="3/16"):
        Shard.parse(text)


def test_merged_shards_are_the_run_that_was_not_cut(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", "fail", "broken", count=9)
    whole = run_toy(tmp_path / "whole", dataset)
    merged = merge_runs(shards_of(tmp_path, dataset, 3), tmp_path / "merged", TOY)
    assert results(merged) == results(whole)
    assert without_timing(merged.summary) == without_timing(whole.summary)
    assert merged.summary["timing"]["cases"] == 11


def test_a_merged_run_can_be_continued(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=7)
    first, second, _ = shards_of(tmp_path, dataset, 3)
    merged = merge_runs([first, second], tmp_path / "merged", TOY, partial=True)
    assert merged.summary["complete"] is False
    continued = run_toy(tmp_path / "merged", dataset)
    assert continued.summary["complete"] is True
    assert continued.summary["timing"]["cases"] == 2
    assert len(results(continued)) == 7


def test_a_shard_does_not_continue_another(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=4)
    run_toy(tmp_path / "run", dataset, shard=Shard(1, 2))
    with pytest.raises(RunMismatchError, match="shard is '1/2' there and '2/2' now"):
        run_toy(tmp_path / "run", dataset, shard=Shard(2, 2))
    with pytest.raises(RunMismatchError, match="shard is '1/2' there and None now"):
        run_toy(tmp_path / "run", dataset)


def test_missing_and_unfinished_shards_are_named(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=8)
    first, second, third = shards_of(tmp_path, dataset, 3)
    with pytest.raises(RunMismatchError, match="no run of shard 3/3"):
        merge_runs([first, second], tmp_path / "merged", TOY)
    assert not (tmp_path / "merged").exists()
    third.write_summary({**third.summary, "complete": False})
    with pytest.raises(RunMismatchError, match="3of3 is not finished"):
        merge_runs([first, second, third], tmp_path / "merged", TOY)


def test_runs_that_differ_are_refused_with_the_difference(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=4)
    one = run_toy(tmp_path / "1", dataset, shard=Shard(1, 2), method=Doubler(temperature=0))
    other = run_toy(tmp_path / "2", dataset, shard=Shard(2, 2), method=Doubler(temperature=1))
    with pytest.raises(RunMismatchError, match=r"settings\.temperature is 0 there and 1 now"):
        merge_runs([one, other], tmp_path / "merged", TOY)
    cut_otherwise = run_toy(
        tmp_path / "3", dataset, shard=Shard(2, 3), method=Doubler(temperature=0)
    )
    with pytest.raises(RunMismatchError, match="cut differently"):
        merge_runs([one, cut_otherwise], tmp_path / "merged", TOY)
    whole = run_toy(tmp_path / "4", dataset, method=Doubler(temperature=0))
    with pytest.raises(RunMismatchError, match="one is a shard"):
        merge_runs([one, whole], tmp_path / "merged", TOY)


def test_the_same_case_must_have_the_same_result(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=5)
    one = run_toy(tmp_path / "1", dataset, limit=3)
    two = run_toy(tmp_path / "2", dataset)
    assert len(results(merge_runs([one, two], tmp_path / "merged", TOY))) == 5
    line, *rest = one.journal.read_text().splitlines()
    changed = {**json.loads(line), "scores": {"value": 77.0}}
    one.journal.write_text("\n".join([json.dumps(changed), *rest]) + "\n")
    with pytest.raises(RunMismatchError, match="different results for '0'"):
        merge_runs([one, two], tmp_path / "again", TOY)


def test_continuing_what_was_merged_leaves_the_shards_alone(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=4)
    shards = shards_of(tmp_path, dataset, 2)
    picture = shards[0].artifact_dir("0") / "page.png"
    picture.write_bytes(b"of the shard")
    merged = merge_runs(shards, tmp_path / "merged", TOY)
    copy = merged.artifact_dir("0") / "page.png"
    assert copy.read_bytes() == b"of the shard"
    copy.write_bytes(b"of the merged run")
    assert picture.read_bytes() == b"of the shard"


def test_merging_into_something_else_is_refused(tmp_path):
    dataset = write_dataset(tmp_path / "d.json", count=4)
    shards = shards_of(tmp_path, dataset, 2)
    with pytest.raises(UsageError, match="twice"):
        merge_runs([shards[0], shards[0]], tmp_path / "merged", TOY)
    with pytest.raises(UsageError, match="at least two"):
        merge_runs(shards[:1], tmp_path / "merged", TOY)
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        merge_runs(shards, tmp_path / "merged", TOY)
    assert (tmp_path / "merged" / "thesis.txt").read_text() == "mine"
