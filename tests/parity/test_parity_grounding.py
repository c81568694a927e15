"""openadapt-grounding 0.1.2 itself, side by side with `--protocol openadapt-0.1.2`.

`make test-all` runs this, `make test` does not: the original is installed from PyPI into an
environment of its own, generates its data sets and runs its six methods against loopback servers.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from parity_servers import ServerPair

import uiproof
from uiproof.benchmarks.grounding import openadapt
from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF
from uiproof.benchmarks.grounding.results import metrics_of_run, read_result

pytestmark = [pytest.mark.parity, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".tools"
PACKAGE = "openadapt-grounding[eval,uitars]==0.1.2"
SIX = [
    f"{backend}{cropping}"
    for backend in ("omniparser", "uitars")
    for cropping in ("", "-fixed", "-screenseeker")
]
SETS = {
    "synthetic": {"count": 20, "seed": 42, "width": 1920, "height": 1080},
    "hard": {"count": 3, "seed": 7, "width": 1920, "height": 1080, "mix": {"hard-light": 1.0}},
    "1366x768": {"count": 8, "seed": 42, "width": 1366, "height": 768},
    "420x310": {"count": 8, "seed": 42, "width": 420, "height": 310},
    "faults": {"count": 2, "seed": 42, "width": 420, "height": 310, "mix": {"medium-light": 1.0}},
}
EXACT = ("sample_id", "element_id", "found", "attempts", "size_category", "element_type")
DIGITS = 1e-9


@pytest.fixture(scope="session")
def original():
    """A Python that has the original: made once, and kept with the other tools."""
    folder = TOOLS / "openadapt-grounding-0.1.2"
    python = folder / "bin" / "python"
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "openadapt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may need it at once
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                install(folder)
                (folder / "ready").touch()
            except (OSError, subprocess.CalledProcessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                said = (getattr(error, "stderr", None) or str(error)).strip()
                pytest.skip(f"openadapt-grounding 0.1.2 cannot be had from PyPI: {said[-300:]}")

    def call(verb, **arguments):
        command = [python, HERE / "original.py", verb, json.dumps(arguments)]
        environment = os.environ | {"NO_PROXY": "127.0.0.1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout) if done.stdout else None

    return call


def install(folder):
    quiet = {"check": True, "capture_output": True, "text": True}
    uv = shutil.which("uv") or next((str(u) for u in TOOLS.glob("**/bin/uv")), None)
    if uv is None:
        subprocess.run([sys.executable, "-m", "venv", folder], **quiet)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", PACKAGE], **quiet)
        return
    subprocess.run([uv, "venv", "-q", "--no-project", "--python", sys.executable, folder], **quiet)
    python = str(folder / "bin" / "python")
    subprocess.run([uv, "pip", "install", "-q", "--python", python, PACKAGE], **quiet)


@pytest.fixture(scope="session")
def data(original, tmp_path_factory):
    """The original's data sets by name, each made when it is first asked for."""
    folder = tmp_path_factory.mktemp("sets")

    def find(name):
        if not (folder / name).exists():
            original("generate", out=str(folder / name), **SETS[name])
        return folder / name

    return find


def annotations(folder):
    return json.loads((folder / "annotations.json").read_text())


def servers(folder, fault=None):
    """Servers that read some of the texts and know where some of the targets are."""
    elements = [one for sample in annotations(folder)["samples"] for one in sample["elements"]]
    centres = {}
    for one in elements:
        x, y, w, h = one["bbox"]
        centres.setdefault(one["instruction"], (x + w / 2, y + h / 2))
    return ServerPair(sorted({one["text"] for one in elements})[:12], centres, fault)


class Ours:
    """Runs our methods against the same servers."""

    def __init__(self, folder, patch):
        self.folder, self.patch = folder, patch

    def __call__(self, pair, dataset, method, protocol):
        self.patch.setenv("EVAL_OMNIPARSER_URL", pair.omniparser_url)
        self.patch.setenv("EVAL_UITARS_URL", pair.uitars_url)
        self.patch.setenv("EVAL_RESULTS_DIR", str(self.folder / "results" / protocol))
        self.patch.setenv("UIPROOF_CACHE", str(self.folder / "cache"))
        return uiproof.run(
            dataset,
            method,
            protocol=protocol,
            out=self.folder / protocol / method,
            executor="inline",
            quiet=True,
        )


@pytest.fixture
def ours(tmp_path, monkeypatch):
    return Ours(tmp_path, monkeypatch)


def assert_equal(metrics, theirs):
    """All that the original says of a method, and where each of its clicks went."""
    assert metrics.method_name == theirs["method_name"]
    assert metrics.total_elements == theirs["total_elements"] == len(theirs["clicks"]) > 0
    assert metrics.detected_elements == theirs["detected_elements"]
    for one, other, click in zip(metrics.results, theirs["results"], theirs["clicks"], strict=True):
        assert {key: getattr(one, key) for key in EXACT} == {key: other[key] for key in EXACT}
        assert one.iou == pytest.approx(other["iou"], abs=DIGITS)
        distance = other["distance_from_target"]
        assert one.distance_from_target == pytest.approx(distance, abs=DIGITS)
        assert (one.click_point is None) == (click is None)
        if click is not None:
            assert one.click_point == pytest.approx(click, abs=DIGITS)
    rates = [key for key in theirs if key.startswith("detection_rate")]
    for key in (*rates, "mean_iou", "mean_attempts"):
        assert getattr(metrics, key) == pytest.approx(theirs[key], abs=DIGITS), key


@pytest.mark.parametrize("name", [*SETS, "500 samples"])
def test_the_generator_gives_the_same_annotations(original, data, tmp_path, name):
    if name == "500 samples":
        settings = {"count": 500, "seed": 42, "width": 1920, "height": 1080}
        original("generate", out=str(tmp_path / "theirs"), **settings)
        theirs = annotations(tmp_path / "theirs")
    else:
        settings, theirs = SETS[name], annotations(data(name))
    openadapt.generate(tmp_path / "ours", **settings)
    made = annotations(tmp_path / "ours")
    assert made.pop("made_by")["seed"] == settings["seed"]
    assert made == theirs


@pytest.mark.parametrize("method", SIX)
@pytest.mark.parametrize("name", [name for name in SETS if name != "faults"])
def test_the_protocol_gives_the_numbers_of_the_original(original, data, ours, name, method):
    folder = data(name)
    with servers(folder) as pair:
        urls = {"omniparser": pair.omniparser_url, "uitars": pair.uitars_url}
        theirs = original("evaluate", dataset=str(folder), methods=[method], **urls)[method]
        run = ours(pair, folder, method, OPENADAPT)
    metrics = metrics_of_run(run)
    assert_equal(metrics, theirs)
    # There is something to compare: neither everything nor nothing was found.
    assert 0 < theirs["detected_elements"] < theirs["total_elements"]
    (stored,) = (ours.folder / "results" / OPENADAPT).glob("*.json")
    assert_equal(read_result(stored), theirs)
    assert run.manifest["settings"]["protocol"] == OPENADAPT


@pytest.mark.parametrize(
    ("fault", "method"),
    [
        (None, "omniparser-fixed"),
        (None, "uitars-fixed"),
        ("500", "omniparser-fixed"),
        ("500", "uitars-fixed"),
        ("null", "omniparser-fixed"),
        ("null", "uitars-fixed"),
        ("floats", "uitars-fixed"),
        ("tokens", "uitars-fixed"),
        ("pixels", "omniparser-fixed"),
    ],
)
def test_servers_that_misbehave(original, data, ours, fault, method):
    """The protocol keeps to the original's numbers; what it lost shows, and ours loses less."""
    folder = data("faults")
    with servers(folder, fault) as pair:
        urls = {"omniparser": pair.omniparser_url, "uitars": pair.uitars_url}
        theirs = original("evaluate", dataset=str(folder), methods=[method], **urls)[method]
        strict, own = (
            metrics_of_run(ours(pair, folder, method, protocol))
            for protocol in (OPENADAPT, UIPROOF)
        )
    assert_equal(strict, theirs)
    assert own.total_elements == strict.total_elements
    print(fault, method, theirs["detection_rate"], own.detection_rate)  # of docs/grounding.md
    if fault in ("floats", "tokens"):
        assert strict.detection_rate == 0 < own.detection_rate
    if fault == "null" and method == "omniparser-fixed":
        assert strict.detection_rate < own.detection_rate
        assert strict.incomplete
    if fault == "500":
        assert strict.incomplete
        assert own.incomplete
    if fault is None:
        assert not strict.incomplete
        assert strict.detection_rate > 0


def test_a_damaged_screenshot_costs_the_original_the_whole_run(original, data, ours, tmp_path):
    folder = shutil.copytree(data("faults"), tmp_path / "damaged")
    first, second = annotations(folder)["samples"]
    picture = folder / second["image_path"]
    picture.write_bytes(picture.read_bytes()[:600])
    with servers(folder) as pair:
        urls = {"omniparser": pair.omniparser_url, "uitars": pair.uitars_url}
        theirs = original("evaluate", dataset=str(folder), methods=["omniparser-fixed"], **urls)
        metrics = metrics_of_run(ours(pair, folder, "omniparser-fixed", OPENADAPT))
    assert "crash" in theirs["omniparser-fixed"]
    assert metrics.total_elements == len(first["elements"]) + len(second["elements"])
    assert metrics.detected_elements > 0
    assert metrics.incomplete


def test_result_files_of_the_original_are_known_as_such(original, data, tmp_path):
    folder = data("420x310")
    with servers(folder) as pair:
        urls = {"omniparser": pair.omniparser_url, "uitars": pair.uitars_url}
        theirs = original("evaluate", dataset=str(folder), methods=["omniparser"], **urls)
    content = theirs["omniparser"]
    clicks = content.pop("clicks")
    (tmp_path / "omniparser_synthetic.json").write_text(json.dumps(content))
    found = read_result(tmp_path / "omniparser_synthetic.json")
    assert (found.protocol, found.assisted) == (OPENADAPT, True)
    assert found.detection_rate == content["detection_rate"]
    assert len(found.results) == len(clicks)
