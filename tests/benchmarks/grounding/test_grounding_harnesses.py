"""Files of other harnesses: read, scored as the harness scores them, and diagnosed.

`logs/` has what lmms-eval 0.7.3, VLMEvalKit 0.2rc1 (ms-vlmeval 0.0.20 on PyPI), screensuite 0.0.1
and inspect_ai (the oldest and the newest that the extra allows) wrote when they asked a model that
answers in 0-1000 about items of `grounding-demo`.
"""

from __future__ import annotations

import json
import os
import random
import zipfile
from itertools import product
from pathlib import Path

import pytest

import uiproof
import warm_commands
from uiproof.benchmarks.grounding.coordinates import parse_contract, sent_size, smart_resize
from uiproof.benchmarks.grounding.predictions import read_predictions
from uiproof.benchmarks.grounding.rescoring import rates
from uiproof.errors import InputError, UsageError

LOGS = Path(__file__).parent / "logs"
DEMO = "grounding-demo"


def scored(file: Path, dataset: str = DEMO, **options):
    (one,) = uiproof.score_predictions(dataset, file, quiet=True, **options)
    return one


@pytest.mark.parametrize(
    ("name", "total", "correct", "gain"),
    [
        ("lmms_eval_0.7.3_samples_screenspot_pro.jsonl", 56, 3, "53.6 % instead of 5.4 %"),
        ("screensuite_0.0.1_answers.jsonl", 56, 2, "55.4 % instead of 3.6 %"),
        ("vlmevalkit_0.2rc1_ScreenSpot_Pro_Office.xlsx", 56, 4, "62.5 % instead of 7.1 %"),
    ],
)
def test_a_log_is_scored_as_its_harness_did_and_the_wrong_coordinates_are_named(
    name, total, correct, gain
):
    one = scored(LOGS / name)
    assert (one.rates.total, one.rates.correct, one.in_set) == (total, correct, 167)
    assert one.rates.stored_correct in (None, correct)
    verdict = uiproof.diagnose_run(LOGS / name, dataset=DEMO)
    assert verdict.startswith(f"The coordinates are 0-1000: with that, {gain} (p < 0.001")
    assert scored(LOGS / name, points="thousand").rates.correct > 0.5 * total


@pytest.mark.parametrize("name", ["ScreenSpot_Pro_Office", "ScreenSpot_Web"])
def test_with_the_boxes_of_its_own_file_vlmevalkit_gets_the_number_that_it_printed(name):
    # The set has larger areas for small icons than the boxes that were exported for the harness.
    one = scored(LOGS / f"vlmevalkit_0.2rc1_{name}.xlsx", dataset="elsewhere")
    assert 100 * one.rates.correct / one.rates.total == pytest.approx(5.357142857142857)


@pytest.mark.parametrize("version", ["0.3.100", "0.3.285"])
def test_logs_of_inspect_give_the_accuracy_that_they_state(version):
    if version != "0.3.100":
        pytest.importorskip("inspect_ai", reason="Zstandard is unpacked by inspect_ai itself")
    file = LOGS / f"inspect_{version}.eval"
    one = scored(file)
    assert (one.rates.total, one.rates.correct, one.rates.stored_correct) == (40, 27, 27)
    assert one.run.summary["scores"]["accuracy"]["mean"] == 0.675
    assert "declared contract fits" in uiproof.diagnose_run(file, dataset=DEMO)


def test_cases_of_a_log_have_the_ids_of_the_data_set_so_that_runs_can_be_compared():
    own = {case.id for case in uiproof.benchmarks.grounding.BENCHMARK.cases(
        uiproof.benchmarks.grounding.BENCHMARK.bundled[DEMO]
    )}  # fmt: skip
    one = scored(LOGS / "inspect_0.3.100.eval")
    assert {record.id for record in one.run.records()} <= own


def test_a_log_of_inspect_as_json_is_read_with_its_own_targets(tmp_path):
    sample = {
        "id": 1,
        "epoch": 1,
        "input": [{"role": "user", "content": [{"type": "text", "text": "Open the file"}]}],
        "target": "[100, 100, 200, 200]",
        "metadata": {"img_size": [1000, 500], "image": "a.png"},
        "output": {"choices": [{"message": {"role": "assistant", "content": "(150, 150)"}}]},
        "scores": {"hit": {"value": "C"}},
    }
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"eval": {"task": "x", "model": "m"}, "samples": [sample]}))
    found = read_predictions(file)
    (one,) = found.methods["pred"]
    assert (one.case.id, one.rescored, one.stored) == ("a/1", True, True)
    assert one.case.truth.width == 1000


def test_older_samples_of_lmms_eval_carry_their_annotations(tmp_path):
    doc = {"img_filename": "x/a.png", "bbox": [10, 10, 20, 20], "img_size": [100, 50]}
    refusal = {"image_path": "b.png", "box_type": "refusal", "box_coordinates": [0, 0, 0, 0]}
    polygon = {
        "image_path": "c.png",
        "box_type": "polygon",
        "box_coordinates": [0, 0, 40, 0, 0, 40],
        "image_size": [100, 100],
    }
    lines = [
        {"doc_id": 0, "doc": {**doc, "instruction": "a"}, "resps": [["[15, 15]"]]},
        {"doc_id": 1, "doc": {**refusal, "instruction": "b"}, "filtered_resps": ["[-1, -1]"]},
        {"doc_id": 2, "doc": {**polygon, "instruction": "c"}, "filtered_resps": ["[10, 10]"]},
        {"doc_id": 3, "doc": {**polygon, "instruction": "d"}, "filtered_resps": ["[39, 39]"]},
    ]
    file = tmp_path / "1_samples_x.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    found = read_predictions(file).methods["pred"]
    assert [one.rescored for one in found] == [True, True, True, False]


def test_a_sheet_as_tsv_says_the_same_as_the_sheet(tmp_path):
    header = "index\timage_path\tbbox\tquestion\tprediction"
    row = "1\ta/b.png\t[10, 10, 30, 30]\tSave\tpyautogui.click(x=20, y=20)"
    file = tmp_path / "m_set.tsv"
    file.write_text(f"{header}\n{row}\n")
    found = read_predictions(file)
    assert (found.format, rates(found.methods["pred"]).correct) == ("vlmevalkit", 1)


def test_a_file_of_no_known_format_names_its_fields_and_is_read_with_map(tmp_path):
    rows = [{"said": "(15, 15)", "gold": {"rect": [10, 10, 20, 20]}, "what": "Save", "n": 1}]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"It has: gold, n, said, what\. Wanted: a prediction"):
        read_predictions(file)
    columns = {"said": "prediction", "gold.rect": "bbox", "what": "instruction"}
    (one,) = read_predictions(file, columns=columns).methods["prediction"]
    assert (one.rescored, one.case.question.instruction) == (True, "Save")
    with pytest.raises(UsageError, match="no field 'target'"):
        read_predictions(file, columns={"gold": "target"})
    with pytest.raises(UsageError, match="no column 'answer'"):
        read_predictions(file, columns={"answer": "prediction"})


def test_map_on_the_command_line(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"said": "(15, 15)", "gold": [10, 10, 20, 20]}) + "\n")
    options = ["--map", "said=prediction", "--map", "gold=bbox", "--quiet"]
    done = warm_commands.run(
        "score", "grounding", "mine", str(file), *options, cwd=tmp_path, env=dict(os.environ)
    )
    assert "100.00 %" in done.stdout


@pytest.mark.parametrize("content", [b"PK\x03\x04 nothing", b"PK\x03\x04" + b"\0" * 100])
def test_a_damaged_archive_is_refused(tmp_path, content):
    file = tmp_path / "x.xlsx"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.xlsx"):
        read_predictions(file)


def test_a_sheet_with_entities_is_never_expanded(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY e "boom">]><sst><si><t>&e;</t></si></sst>'
    rows = '<row><c r="A1" t="s"><v>0</v></c></row><row><c r="A2"><v>1</v></c></row>'
    sheet = f"<worksheet>{rows}</worksheet>"
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
        archive.writestr("xl/sharedStrings.xml", bomb)
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    with pytest.raises(InputError) as raised:
        read_predictions(tmp_path / "x.xlsx")
    assert "boom" not in raised.value.message


# --- twenty runs with coordinates of another convention than the harness reads ------------------

CONVENTIONS = {
    "thousand": "0-1000",
    "thousand,yx": "0-1000, y first",
    "percent": "percent",
    "resized": "pixels after smart-resize",
    "resized:28:3136:1003520": "pixels after smart-resize",
    "pixels,yx": "pixels of the picture sent, y first",
    "unit,yx": "0-1, y first",
    "pixels,sent:1568:1150000": "pixels of the picture sent (shrunk to 1568 pixels at most)",
    "pixels,sent:1280": "pixels of the picture sent (shrunk to 1280 pixels at most)",
    "thousand-999": "0-1000",
}
SCREENS = ((1920, 1080), (2560, 1440), (3840, 2160), (1366, 768))
SCALES = {"unit": 1, "percent": 100, "thousand": 1000, "thousand-999": 999}


def said(contract, x, y, width, height):
    """Return the numbers of a model with this contract."""
    across, down = sent_size(contract, width, height)
    if contract.resize:
        size = contract.resize
        down, across = smart_resize(height, width, size.factor, size.min_pixels, size.max_pixels)
    elif contract.space in SCALES:
        across = down = SCALES[contract.space]
    digits = {"unit": 4, "percent": 1}.get(contract.space)
    pair = round(x * across, digits), round(y * down, digits)
    return pair if contract.order == "xy" else pair[::-1]


def lmms_line(number, box, size, words, pair):
    doc = {"img_filename": f"{number}.png", "instruction": words, "bbox": box, "img_size": size}
    return {"doc_id": number, "doc": doc, "filtered_resps": [f"[{pair[0]}, {pair[1]}]"]}


def screensuite_line(number, box, size, words, pair):
    (x1, y1, x2, y2), (w, h) = box, size
    text = f"x={x1 / w} y={y1 / h} width={(x2 - x1) / w} height={(y2 - y1) / h}"
    prompt = [{"role": "user", "content": [{"type": "text", "text": f"Instruction: {words}\n"}]}]
    answer = f"Action: click({pair[0]}, {pair[1]})"
    return {"input": prompt, "answer": answer, "ground_truth": [text, size]}


def run_of(text, line, seed):
    contract, rng, lines = parse_contract(text), random.Random(seed), []
    for number in range(60):
        width, height = rng.choice(SCREENS)
        w, h = rng.uniform(0.01, 0.08), rng.uniform(0.01, 0.05)
        x, y = rng.uniform(0, 1 - w), rng.uniform(0, 1 - h)
        spot = rng.random(), rng.random()
        if rng.random() < 0.6:
            spot = rng.gauss(x + w / 2, 0.2 * w), rng.gauss(y + h / 2, 0.2 * h)
        pair = said(contract, *(min(max(part, 0), 1) for part in spot), width, height)
        box = [x * width, y * height, (x + w) * width, (y + h) * height]
        lines.append(line(number, box, [width, height], f"press {number}", pair))
    return "\n".join(map(json.dumps, lines))


def test_diagnose_names_what_is_wrong_with_at_least_19_of_20_runs(tmp_path):
    named = []
    for seed, ((text, words), line) in enumerate(
        product(CONVENTIONS.items(), (lmms_line, screensuite_line))
    ):
        file = tmp_path / f"{seed}.jsonl"
        file.write_text(run_of(text, line, seed))
        verdict = uiproof.diagnose_run(file)
        named.append((verdict.startswith(f"The coordinates are {words}"), text, verdict))
    assert len(named) == 20
    assert sum(right for right, *_ in named) >= 19, [one for one in named if not one[0]]
