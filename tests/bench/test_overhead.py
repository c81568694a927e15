"""The bench that says whose processor seconds a case takes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def test_seconds_go_to_whoever_spent_them(monkeypatch):
    from cpu import Clocks, Meter
    from uiproof.vision import clip, ocr

    for owner, name in ((ocr, "_engine"), (clip, "inpaint"), (clip.ClipModel, "embed")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # the clocks wrap these for good
    clock = Clocks()
    code = "import time\nwhile time.process_time() < 0.4: pass"
    with Meter(clock) as alone:
        busy(0.3)
    with Meter(clock) as meter:
        busy(0.3)
        helper = threading.Thread(target=busy, args=(0.2,))
        helper.start()
        helper.join()
        # Whatever is below is taken for a browser.
        with subprocess.Popen([sys.executable, "-c", code + "\ninput()"], stdin=-1) as child:
            time.sleep(0.1)
            while child.poll() is None and meter_sees(child.pid) < 0.35:
                time.sleep(0.05)
            below = meter_sees(child.pid)
            child.communicate(b"\n")
    assert below >= 0.35
    assert 0.45 < meter.spent.own < 1.5
    assert 0.25 < alone.spent.own < 1.0
    assert alone.spent.chromium < 0.1  # other tests may have left something running
    assert meter.spent.ocr == 0
    assert sum(meter.steps.values()) == pytest.approx(meter.spent.own)


def meter_sees(pid: int) -> float:
    """Processor seconds of one living child, as the meter reads them."""
    from cpu import spent_so_far

    class Silent:
        seconds = ocr = clip = inpaint = 0.0

    assert pid
    return spent_so_far(Silent()).chromium  # type: ignore[arg-type]


def test_the_stand_in_for_clip_is_a_tower_of_its_kind_and_its_seconds_are_told_apart(
    tmp_path, monkeypatch
):
    import numpy as np

    import clip_stand_in
    from cpu import Clocks, Meter
    from uiproof.vision import clip, ocr

    for owner, name in ((ocr, "_engine"), (clip, "inpaint"), (clip.ClipModel, "embed")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(clip_stand_in, "LAYERS", 1)
    model = clip.ClipModel(clip_stand_in.write_stand_in(tmp_path / "model.onnx"))
    picture = np.random.default_rng(1).integers(0, 256, (300, 400, 3), np.uint8)
    with Meter(Clocks(), sampled=False) as meter:
        for _ in range(20):
            embedding = model.embed(picture)
    assert np.linalg.norm(embedding) == pytest.approx(1, abs=1e-4)
    assert meter.spent.clip > 0.02
    assert meter.spent.own < meter.spent.clip


def test_a_benchmark_is_measured_in_a_process_of_its_own(tmp_path):
    costs = tmp_path / "costs.json"
    command = [sys.executable, BENCH / "overhead.py", "design2code", "--limit", "3"]
    done = subprocess.run(
        [*command, "--json", costs], capture_output=True, text=True, check=True, timeout=300
    )
    (found,) = json.loads(costs.read_text())
    assert len(found["cases"]) == 2
    for case in found["cases"]:
        assert case["chromium"] > 0.02
        assert case["own"] > 0
        assert case["ocr"] == 0
    assert found["journal_bytes"] > 500
    assert found["artifact_bytes"] > 1_000
    assert "own overhead" in done.stdout
    assert "CLIP" in done.stdout
    assert "not measured" in done.stdout
