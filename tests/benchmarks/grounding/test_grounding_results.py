from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from grounding_records import WHOLE_LOOK, assisted, click, failed, hit, scored

from uiproof.benchmarks.grounding.audit import Audited
from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF, Answer
from uiproof.benchmarks.grounding.judge import AREA_RULE, SHORT_SIDE_RULE
from uiproof.benchmarks.grounding.results import (
    ElementResult,
    compare,
    compare_results,
    loss,
    metrics_of,
    metrics_of_run,
    read_result,
    read_results,
    result_file,
    store,
    write_comparison,
    write_results,
)
from uiproof.benchmarks.grounding.tables import console_table, markdown_table
from uiproof.engine.rundir import RunDirectory, encode
from uiproof.errors import InputError
from uiproof.geometry import Box
from uiproof.stats.intervals import clustered_rate


def described():
    """Five elements under the rules of the described framework."""
    calls = [{"network_seconds": 1.5}, {"network_seconds": 0.5}]
    box = Answer(box=Box(0.1, 0.1, 0.05, 0.05), looks=(WHOLE_LOOK,) * 3)
    return [
        scored("a/1", assisted(True, 0.8, answer=box), side=20, calls=calls),
        scored("a/2", assisted(True, 0.4), side=40, kind="icon"),
        scored("b/1", assisted(True, 0.0), side=120, kind="icon"),  # found with no overlap
        scored("b/2", assisted(False, 0.2, answer=Answer(), errors=("HTTP 500",)), side=20),
        failed("b/3", "model", side=20),
    ]


def metrics(name="omniparser-fixed", records=None, *, is_assisted=True, **more):
    records = described() if records is None else records
    return metrics_of(records, method=name, dataset="synthetic", assisted=is_assisted, **more)


def blind(name, *found, latency=1.0, dataset="synthetic"):
    records = [
        scored(
            f"s{number}/e",
            hit() if right else click(500, 500),
            calls=[{"network_seconds": latency}],
        )
        for number, right in enumerate(found)
    ]
    return metrics_of(records, method=name, dataset=dataset)


def test_metrics_have_all_described_fields_with_the_described_values():
    found = metrics()
    assert (found.method_name, found.dataset_name) == ("omniparser-fixed", "synthetic")
    assert (found.detection_rate, found.total_elements, found.detected_elements) == (0.6, 5, 3)
    assert found.mean_iou == pytest.approx((0.8 + 0.4) / 2)  # found and overlapping
    # Two seconds of calls, half a second three times; the failed one took no time that is known.
    assert found.mean_latency_ms == pytest.approx((2000 + 3 * 500) / 4)
    assert found.mean_attempts == pytest.approx((3 + 1 + 1 + 1 + 1) / 5)
    assert found.detection_rate_small == pytest.approx(1 / 3)
    assert (found.detection_rate_medium, found.detection_rate_large) == (1.0, 1.0)
    assert found.detection_rate_by_type == {"button": pytest.approx(1 / 3), "icon": 1.0}
    assert (found.assisted, found.incomplete, found.server_errors) == (True, True, 1)
    assert found.size_rule == SHORT_SIDE_RULE
    assert found.interval == clustered_rate([1, 1, 1, 0, 0], list("aabbb"))
    assert {size: rate.n for size, rate in found.by_size.items()} == {
        "small": 3,
        "medium": 1,
        "large": 1,
    }


def test_each_element_has_all_described_fields():
    first, _, _, missed, broken = metrics().results
    assert first == ElementResult(
        sample_id="a",
        element_id="1",
        found=True,
        iou=0.8,
        latency_ms=2000.0,
        attempts=3,
        size_category="small",
        element_type="button",
        distance_from_target=pytest.approx(0.015 * 2**0.5),  # middles at 125 and 110 px
        click_point=(0.125, 0.125),
        bbox=(0.1, 0.1, 0.05, 0.05),
        method_info={"verdict": "near_miss", "matched_text": "OK"},
    )
    assert missed.region_errors == ("HTTP 500",)
    assert missed.iou == 0  # also in runs that kept the overlap of what was rejected
    assert (missed.found, missed.click_point, missed.distance_from_target) == (False, None, None)
    assert broken.method_info == {"error": "model: It did not work."}


def test_blind_results_are_found_when_they_are_right():
    records = [
        scored("a/1", hit(confidence=0.8)),
        scored("a/2", click(850, 850)),
        scored("a/3", Answer(refused=True), refusal=True),
    ]
    found = metrics("ocr@none", records, is_assisted=False)
    assert [one.found for one in found.results] == [True, False, True]
    assert found.results[0].method_info == {
        "verdict": "hit",
        "hit_element": "1",
        "confidence": 0.8,
    }
    assert found.results[1].method_info["hit_element"] == "other"
    assert found.results[2].size_category == "none"
    assert (found.marks, found.label) == ((), "ocr@none")


def test_the_area_rule_of_the_described_framework_is_there_too():
    found = metrics(protocol="openadapt-0.1.2")
    # Squares of 20, 40 and 120 px on 1000 x 1000.
    assert [one.size_category for one in found.results] == [
        *("small", "medium", "large", "small", "small")
    ]
    assert found.size_rule == AREA_RULE


def test_no_records_give_zeros():
    found = metrics(records=[])
    assert (found.detection_rate, found.mean_iou, found.mean_latency_ms) == (0, 0, 0)
    assert (found.total_elements, found.interval, found.by_size) == (0, None, {})


def test_result_files_are_read_back_as_they_were_written(tmp_path):
    first, second = metrics(), blind("openai/gpt-4o@zoom", 1, 0, 1)
    file = write_results(first, tmp_path / "results")
    assert file.name == "omniparser-fixed_synthetic.json"
    other = write_results(second, tmp_path / "results")
    assert other.parent == file.parent  # a slash in a name makes no folder
    assert read_results(tmp_path / "results") == ([first, second], [])
    content = json.loads(file.read_text())
    assert {"detection_rate", "detection_rate_by_type", "results", "assisted"} <= set(content)
    assert content["intervals"]["by_size"]["small"]["n"] == 3


def test_files_of_the_described_framework_are_read(tmp_path):
    result = {
        "sample_id": "s0",
        "element_id": "e0",
        "found": True,
        "iou": 0.5,
        "latency_ms": 660.0,
        "attempts": 1,
        "size_category": "medium",
        "element_type": "text",
        "distance_from_target": 0.002,
        "method_info": {"matched_text": "Title", "score": 0.5},
    }
    content = {
        "method_name": "OmniParser + baseline",
        "dataset_name": "synthetic_hard",
        "detection_rate": 0.5,
        "mean_iou": 0.5,
        "mean_latency_ms": 660.0,
        "mean_attempts": 1.0,
        "detection_rate_small": 0.0,
        "detection_rate_medium": 0.5,
        "detection_rate_large": 0.0,
        "detection_rate_by_type": {"text": 0.5},
        "total_elements": 2,
        "detected_elements": 1,
        "results": [result, {**result, "sample_id": "s1", "found": False}],
    }
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps(content))
    found = read_result(file)
    assert (found.detection_rate, found.by_size["medium"].n) == (0.5, 2)
    assert (found.protocol, found.assisted) == ("openadapt-0.1.2", True)
    assert found.size_rule == AREA_RULE
    assert found.label == "OmniParser + baseline [assisted, openadapt-0.1.2]"
    assert "50.0%" in console_table([found])
    assert compare([found])["summary"]["best_blind"] is None
    file.write_text(json.dumps({**content, "results": []}))
    assert read_result(file).interval.n == 2


def spoiled(**changes):
    return json.dumps({**json.loads(json.dumps(asdict(metrics()))), **changes})


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "null", '{"a": 1}', '{"results": [{"found": true}]}'),
        *('{"method_name": "m", "dataset_name": "d"}', "[" * 100_000),
        spoiled(detection_rate="high"),
        spoiled(mean_iou=float("nan")),
        spoiled(dataset_name=None),
        spoiled(results=[{"found": True, "iou": None}]),
    ],
)
def test_what_is_no_result_file_is_named(tmp_path, text):
    file = tmp_path / "notes.json"
    file.write_text(text)
    written = write_results(metrics(), tmp_path)
    found, left_out = read_results(tmp_path)
    assert found == [read_result(written)]
    assert [type(error) for error in left_out] == [InputError]
    assert "notes.json is not a result file" in left_out[0].message


def test_a_trial_run_never_takes_the_place_of_a_whole_one(tmp_path):
    whole, part = metrics(), metrics(records=described()[:3])
    file = result_file(whole, tmp_path)
    assert loss(file, part) == ""  # nothing is there yet
    write_results(part, tmp_path)
    assert loss(file, whole) == ""
    write_results(whole, tmp_path)
    assert "5 elements, which are not all among the 3 of this run" in loss(file, part)
    assert loss(file, metrics()) == ""
    theirs = replace(metrics(), protocol="openadapt-0.1.2", method_name="OmniParser + fixed_crop")
    assert "results by the protocol uiproof" in loss(file, theirs)
    assert write_results(theirs, tmp_path / "theirs").name == "omniparser-fixed_synthetic.json"
    others = [scored(f"z/{number}", assisted(True, 0.5)) for number in range(9)]
    assert "not all among the 9" in loss(file, metrics(records=others))  # another data set
    file.write_text("{}")
    assert "not a result file" in loss(file, whole)


def run_of(folder, records, **manifest):
    folder.mkdir()
    usual = {"method": "omniparser", "dataset": "/data/synthetic", "assisted": True}
    (folder / "run.json").write_text(json.dumps({**usual, **manifest}))
    (folder / "journal.jsonl").write_bytes(b"".join(map(encode, records)))
    return RunDirectory(folder)


def test_what_is_not_replaced_is_told(tmp_path, caplog):
    results = tmp_path / "results"
    store(run_of(tmp_path / "a", described()), results)
    (file,) = results.iterdir()
    before = file.read_bytes()
    assert not caplog.records
    store(run_of(tmp_path / "b", described()[:3]), results)
    assert file.read_bytes() == before
    (told,) = caplog.messages
    assert "5 elements" in told
    assert str(tmp_path / "b") in told
    assert "--output-dir" in told
    store(run_of(tmp_path / "c", described(), shard="1/2", method="uitars"), results)
    store(run_of(tmp_path / "d", described(), method="uitars"), None)
    assert list(results.iterdir()) == [file]


def test_result_files_are_compared_whatever_else_lies_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = Path("evaluation/results")
    with pytest.raises(InputError, match="no results in evaluation/results") as caught:
        compare_results()
    assert "uiproof run" in caught.value.remedy
    write_results(metrics(), results)
    write_results(blind("ocr@none", 1, 0), results)
    (results / "notes.json").write_text('{"mine": true}')
    told = compare_results()
    assert "OmniParser + fixed_crop" in told
    assert "Left out: evaluation/results/notes.json is not a result file" in told
    content = json.loads((results / "comparison.json").read_text())
    assert content["summary"]["total_methods"] == 2
    assert list(Path("evaluation/charts").iterdir())
    (results / "comparison.json").unlink()
    compare_results(results, json="f.json", output="new/g.json", charts_dir="charts")
    assert json.loads(Path("f.json").read_text()) == content
    assert json.loads(Path("new/g.json").read_text()) == content
    assert not (results / "comparison.json").exists()
    assert "Detection Rate" in compare_results(results, markdown=True)
    (results / "comparison.json").unlink()
    (results / "comparison.json").mkdir()  # cannot be replaced by a file
    shutil.rmtree("evaluation/charts")
    Path("evaluation/charts").write_text("no folder")
    told = compare_results()
    assert "OmniParser + fixed_crop" in told
    assert told.count("Not written: ") == 2
    with pytest.raises(InputError, match="cannot be made"):
        compare_results(charts_dir="evaluation/charts")
    for file in results.glob("*_*.json"):
        file.unlink()
    with pytest.raises(InputError, match=r"notes\.json is not a result file"):
        compare_results()


def test_a_run_becomes_metrics(tmp_path):
    manifest = {"method": "omniparser", "dataset": "/data/synthetic", "assisted": True}
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    (tmp_path / "journal.jsonl").write_bytes(b"".join(map(encode, described())))
    found = metrics_of_run(tmp_path)
    assert found == metrics("omniparser")


def test_a_comparison_ranks_and_never_reads_itself_back(tmp_path):
    runs = [
        blind("slow", 1, 1, 1, 0, latency=3.0),
        blind("quick", 1, 0, 0, 0, latency=0.1),
        metrics_of(described()[:3], method="shown", dataset="other", assisted=True),
    ]
    for run in runs:
        write_results(run, tmp_path)
    file = tmp_path / "comparison.json"
    write_comparison(read_results(tmp_path)[0], file)
    assert [len(part) for part in read_results(tmp_path)] == [3, 0]
    content = json.loads(file.read_text())
    assert content["summary"] == {
        "total_methods": 3,
        "total_datasets": 2,
        "best_overall": "shown",
        "best_overall_rate": 1.0,
        "best_overall_assisted": True,
        "best_blind": "slow",
        "best_blind_rate": 0.75,
        "fastest_method": "quick",
        "fastest_latency_ms": 100.0,
    }
    best = content["best_per_dataset"]["synthetic"]
    assert (best["method"], best["detection_rate"], best["latency_ms"]) == ("slow", 0.75, 3000.0)
    assert content["best_per_dataset"]["other"]["assisted"] is True
    assert content["best_per_dataset"]["other"]["best_blind"] is None
    ranking = content["ranking_by_detection_rate"]
    assert [(one["method"], one["rate"]) for one in ranking] == [
        ("shown", 1.0),
        ("slow", 0.75),
        ("quick", 0.25),
    ]
    assert [one["method"] for one in content["ranking_by_latency"]] == ["quick", "shown", "slow"]
    sizes = content["size_analysis"]
    assert sizes["small_best"] == "shown"
    assert sizes["by_dataset"]["synthetic"] == {
        "small_best": None,
        "medium_best": "slow",
        "large_best": None,
    }


def test_pairs_are_compared_on_the_elements_that_both_have():
    a = blind("a", *[1] * 12, 0, 1)
    b = blind("b", *[1] * 4, *[0] * 8, 1)
    (pair,) = compare([b, a])["pairs"]
    assert (pair["a"], pair["b"], pair["n"]) == ("a", "b", 13)
    assert (pair["both"], pair["only_a"], pair["only_b"], pair["neither"]) == (4, 8, 1, 0)
    assert pair["p"] == pytest.approx(2 * (1 + 9) / 2**9)
    assert pair["difference"]["mean"] == pytest.approx(7 / 13)
    assert compare([blind("a", 1), blind("b", 1, dataset="other")])["pairs"] == []
    theirs = [replace(one, protocol=OPENADAPT) for one in (a, b)]
    pairs = compare([a, b, *theirs])["pairs"]
    assert [pair["protocol"] for pair in pairs] == [UIPROOF, OPENADAPT]
    assert compare([])["summary"]["best_overall"] is None


def test_lines_of_pairs_say_of_which_protocol_they_are(tmp_path):
    for protocol in (UIPROOF, OPENADAPT):
        for name, found in (("a", (1, 1)), ("b", (1, 0))):
            one = replace(blind(name, *found), method_name=name, protocol=protocol)
            (tmp_path / protocol).mkdir(exist_ok=True)
            write_results(one, tmp_path / protocol).rename(tmp_path / f"{name}{protocol}.json")
    shown = compare_results(tmp_path, charts_dir=tmp_path / "charts", output=tmp_path / "c" / "c")
    lines = [line.partition(":")[0].strip() for line in shown.splitlines() if "found alone" in line]
    assert sorted(lines) == ["a - b [openadapt-0.1.2]", "a - b [uiproof]"]


def test_rates_of_different_elements_are_called_so():
    assert "Totals differ" in console_table([blind("a", 1, 0), blind("b", 1)])
    assert "Totals differ" not in console_table([blind("a", 1, 0), blind("b", 1, 0)])
    assert "Totals differ" not in console_table([blind("a", 1, 0), blind("b", 1, dataset="other")])


def test_a_sample_without_elements_is_a_screenshot_of_its_own():
    found = metrics_of([failed("s1", "input"), failed("s2", "input")], method="a", dataset="d")
    assert [(one.sample_id, one.element_id) for one in found.results] == [("s1", ""), ("s2", "")]
    assert found.interval.clusters == 2


def test_the_console_table_has_the_described_layout():
    lines = console_table([metrics(), blind("ocr@none", 1, 0)]).splitlines()
    assert lines[:3] == ["=" * 90, "EVALUATION RESULTS (protocol uiproof)", "=" * 90]
    starts = [0, 28, 40, 50, 58, 68]
    header = lines[3]
    names = ["Method", "Dataset", "Det.Rate", "IoU", "Latency", "Attempts"]
    assert [header.index(name) for name in names] == starts
    assert header.split() == [*names, "Total"]
    assert lines[4] == "-" * 90
    row = lines[5]
    assert [row[a:b].strip() for a, b in zip(starts, [*starts[1:], 76], strict=True)] == [
        *("OmniParser + fixed_crop", "synthetic", "60.0%", "0.600", "875ms", "1.4")
    ]
    assert row[76:82].strip() == "5"
    assert row.endswith("assisted incomplete")
    assert "assisted" not in lines[6]
    block = lines.index("Detection rate by size of the element")
    assert lines[block + 1] == "-" * 70
    assert lines[block + 4].split() == [
        *("OmniParser", "+", "fixed_crop", "33.3%", "100.0%", "100.0%", "assisted", "incomplete")
    ]
    # Where there are no elements of a size there is no rate, and certainly not 0.
    assert lines[block + 5].split() == ["ocr@none", "-", "50.0%", "-"]
    assert any("was given the truth" in line for line in lines)
    assert console_table([]) == "There are no results to show."


def test_an_assisted_row_fits_into_ninety_columns_however_long_its_name_is():
    found = metrics("omniparser-screenseeker-with-more", described()[:3])
    row = console_table([found]).splitlines()[5]
    assert row.startswith("omniparser-screenseeker-wi… synthetic")
    assert len(row) == 90
    assert row.endswith(" assisted")


def test_the_markdown_table_shows_intervals_and_marks():
    table = markdown_table([metrics(records=described()[:3]), blind("a|b", *[1] * 9, 0)])
    lines = table.splitlines()
    assert lines[0].startswith("### Protocol uiproof; sizes by the short side")
    assert lines[2].startswith("| Method | Dataset | Detection Rate |")
    assert "OmniParser + fixed\\_crop \\[assisted\\]" in lines[4]
    assert lines[5].startswith("| a\\|b | synthetic | 90.0% | ")
    assert "| [55.5, 99.7] |" in lines[5]
    assert lines[5].endswith("| - | 90.0% | - | 10 | 10 |")
    assert "was given the truth" in table


def test_a_leak_is_seen_on_few_screenshots_though_its_rate_is_not_known_well():
    hits, screens = [1] * 12 + [0] * 48, [number % 4 for number in range(60)]
    rate, alone = clustered_rate(hits, screens), clustered_rate(hits)
    assert rate.low < 0.03 < alone.low
    assert Audited("blind none", "centre", rate, chance=0.002, least=alone.low).leaks
    few = clustered_rate([1] + [0] * 59)
    assert not Audited("blind none", "centre", few, chance=0.002, least=few.low).leaks
