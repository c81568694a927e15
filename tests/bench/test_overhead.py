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


def test_seconds_go_to_whoever_spent_them():
    from cpu import Meter, OcrClock

    clock = OcrClock()
    code = "import time\nwhile time.process_time() < 0.4: pass"
    with Meter(clock) as alone:
        busy(0.3)
    with Meter(clock) as meter:
        busy(0.3)
        helper = threading.Thread(target=busy, args=(0.2,))
        helper.start()
        helper.join()
        # Whatever is below and is not Playwright's driver is taken for a browser.
        with subprocess.Popen([sys.executable, "-c", code + "\ninput()"], stdin=-1) as child:
            time.sleep(0.1)
            while child.poll() is None and meter_sees(child.pid) < 0.35:
                time.sleep(0.05)
            below = meter_sees(child.pid)
            child.communicate(b"\n")
    assert below >= 0.35
    assert 0.45 < meter.spent.own < 1.5
    assert 0.25 < alone.spent.own < 1.0
    assert alone.spent.chromium == 0
    assert meter.spent.ocr == 0
    assert sum(meter.steps.values()) == pytest.approx(meter.spent.own)


def meter_sees(pid: int) -> float:
    """Processor seconds of one living child, as the meter reads them."""
    from cpu import spent_so_far

    class Silent:
        seconds = 0.0

    assert pid
    return spent_so_far(Silent()).chromium  # type: ignore[arg-type]


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
