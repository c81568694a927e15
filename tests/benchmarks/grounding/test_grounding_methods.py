"""All methods by their names, end to end against servers on loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time

import pytest
from omniparser_server import OmniParserServer

import warm_commands
from provider_servers import Fault, ProviderServer
from uiproof.benchmarks.grounding import openadapt
from uiproof.benchmarks.grounding.coordinates import smart_resize
from uiproof.engine.rundir import RunDirectory

SIX = [
    f"{backend}{cropping}"
    for backend in ("omniparser", "uitars")
    for cropping in ("", "-fixed", "-screenseeker")
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "published"
    openadapt.generate(folder, count=12)
    return folder


def uitars(dataset):
    """Sees the middle of the target in crops around it, and is wrong on whole screenshots."""

    def answer(asked):
        from io import BytesIO

        from PIL import Image

        with Image.open(BytesIO(asked.images[0])) as picture:
            width, height = picture.size
        high, wide = smart_resize(height, width, 28, 78400, 12845056)
        if width > 600:
            return "Action: click(point='<point>3 3</point>')"
        return f"Action: click(point='<point>{wide // 2} {high // 2}</point>')"

    return answer


class Shell:
    def __init__(self, folder, dataset):
        self.folder, self.dataset, self.environment = folder, dataset, {}

    def start(self, *arguments, **environment):
        own = {"UIPROOF_CACHE": str(self.folder / "cache")} | self.environment
        env = os.environ | own | environment
        return warm_commands.Command(arguments, cwd=self.folder, env=env)

    def __call__(self, *arguments, **environment):
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def command(self, *methods, limit=12):
        chosen = [part for method in methods for part in ("--method", method)]
        out = ["--out", "runs", "--executor", "inline", "--limit", limit]
        return ["run", "--dataset", self.dataset, *chosen, *out]

    def summary(self, name):
        return json.loads((self.folder / "runs" / name / "summary.json").read_text())


@pytest.fixture
def shell(tmp_path, dataset):
    return Shell(tmp_path, dataset)


def test_all_six_described_methods_and_their_controls(shell, dataset):
    methods = [*SIX, "centre-fixed", "grid-assisted", "centre"]
    with OmniParserServer() as parser, ProviderServer(uitars(dataset)) as server:
        shell.environment = {
            "EVAL_OMNIPARSER_URL": parser.url,
            "EVAL_UITARS_URL": server.base_url("compatible"),
            "EVAL_RESULTS_DIR": str(shell.folder / "results"),
        }
        done = shell(*shell.command(*methods))
    assert done.returncode == 0, done.stderr
    # A screenshot is parsed once for all of its elements and all three methods.
    assert set(parser.parsed.values()) == {1}
    assert set(server.answered.values()) == {1}
    rates = {name: shell.summary(name)["scores"]["detected"]["mean"] for name in SIX}
    assert rates["omniparser"] > 0.3
    assert rates["omniparser-fixed"] >= rates["omniparser"]
    assert rates["uitars"] < 0.05 < 0.8 < rates["uitars-fixed"]
    assert shell.summary("centre-fixed")["scores"]["detected"]["mean"] > 0.8
    assert shell.summary("grid-assisted")["scores"]["detected"]["mean"] > 0.8
    assert shell.summary("centre")["scores"]["accuracy"]["mean"] < 0.05
    for name in SIX:
        manifest = json.loads((shell.folder / "runs" / name / "run.json").read_text())
        assert manifest["assisted"] is True
    compared = shell("compare", "--results-dir", "results", "--charts-dir", "charts")
    assert compared.returncode == 0, compared.stderr
    assert "assisted" in compared.stdout
    charts = {path.name for path in (shell.folder / "charts").glob("*.png")}
    assert charts == {
        "detection_rate_overall.png",
        "detection_rate_by_size.png",
        "accuracy_vs_latency.png",
    }


def test_a_protocol_is_written_into_the_run_and_said_in_the_title(shell):
    with OmniParserServer() as parser:
        shell.environment = {
            "EVAL_OMNIPARSER_URL": parser.url,
            "EVAL_RESULTS_DIR": str(shell.folder / "results"),
        }
        command = shell.command("omniparser-fixed", limit=6)
        ours = shell(*command)
        protocol = ("--protocol", "openadapt-0.1.2", "--out", "theirs")
        theirs = shell(*command, *protocol, "--output-dir", "results-of-theirs")
        wrong = shell(*command, "--protocol", "openadapt")
        blind = shell(*shell.command("ocr@none"), "--protocol", "openadapt-0.1.2", "--out", "x")
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr + theirs.stderr
    assert (wrong.returncode, blind.returncode) == (2, 2)
    assert "openadapt-0.1.2" in wrong.stderr
    assert "uitars-screenseeker" in blind.stderr
    manifest = json.loads((shell.folder / "theirs" / "run.json").read_text())
    assert manifest["method"] == "OmniParser + fixed_crop"
    assert manifest["settings"]["protocol"] == "openadapt-0.1.2"
    (file,) = (shell.folder / "results-of-theirs").iterdir()
    assert file.name.startswith("omniparser-fixed_")
    file.rename(shell.folder / "results" / "theirs.json")
    compared = shell("compare", "--results-dir", "results", "--charts-dir", "charts")
    assert compared.returncode == 0, compared.stderr
    titles = [line for line in compared.stdout.splitlines() if "RESULTS" in line]
    assert sorted(title.partition("(")[2] for title in titles) == [
        *("protocol openadapt-0.1.2)", "protocol uiproof)")
    ]
    assert shell("compare", "theirs", "runs").returncode == 0


def test_blind_methods_compose_grounders_and_searches(shell, dataset):
    with OmniParserServer() as parser, ProviderServer(uitars(dataset)) as server:
        address = server.base_url("compatible")
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url, "EVAL_UITARS_URL": address}
        methods = ["uitars@reground", "omniparser@none", f"compatible:{address}#some-model@narrow"]
        done = shell(*shell.command(*methods, limit=4))
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (shell.folder / "runs").iterdir())
    assert len(names) == 3
    for name in names:
        manifest = json.loads((shell.folder / "runs" / name / "run.json").read_text())
        assert manifest["assisted"] is False
    told = shell("diagnose", shell.folder / "runs" / "uitars-reground")
    assert told.returncode == 0, told.stderr


def test_a_server_that_fails_is_never_a_miss(shell):
    with OmniParserServer(broken=True) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser@none", limit=8), "--json", "scores.json")
    assert done.returncode == 1, done.stderr
    content = json.loads((shell.folder / "scores.json").read_text())
    assert content["summary"]["incomplete"] is True
    assert {case["error"]["code"] for case in content["cases"]} == {"model"}
    assert content["summary"]["n"] == 8


def empty_folder(shell):
    folder = shell.folder / "empty"
    folder.mkdir()

    def command(*arguments):
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        env["UIPROOF_CACHE"] = str(shell.folder / "cache")
        return warm_commands.run(*arguments, cwd=folder, env=env)

    return folder, command


def test_the_four_described_commands_work_as_they_are_written(shell):
    folder, command = empty_folder(shell)
    with OmniParserServer() as parser:
        # The server is on a port of its own in place of the default one.
        (folder / ".env").write_text(f"EVAL_OMNIPARSER_URL={parser.url}\n")
        made = command("generate", "--type", "synthetic", "--count", "4")
        assert made.returncode == 0, made.stderr
        assert made.stdout == "evaluation/datasets/synthetic\n"
        ran = command("run", "--method", "omniparser", "--dataset", "synthetic")
        assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    title = lines.index("EVALUATION RESULTS (protocol uiproof)")
    assert lines[title + 2].split() == [
        *("Method", "Dataset", "Det.Rate", "IoU", "Latency", "Attempts", "Total")
    ]
    assert lines[title + 4].startswith("OmniParser + baseline       synthetic   ")
    assert (folder / "evaluation/results/omniparser_synthetic.json").is_file()
    assert (folder / "runs/synthetic-omniparser/summary.json").is_file()
    compared = command("compare", "--charts-dir", "evaluation/charts")
    assert compared.returncode == 0, compared.stderr
    assert "OmniParser + baseline" in compared.stdout
    charts = {path.stem for path in (folder / "evaluation/charts").iterdir()}
    assert {"detection_rate_overall", "detection_rate_by_size", "accuracy_vs_latency"} <= charts
    assert (folder / "evaluation/results/comparison.json").is_file()
    listed = command("list")
    assert listed.returncode == 0, listed.stderr
    assert "evaluation/datasets/synthetic" in listed.stdout


def test_the_options_of_the_described_commands_exist(shell):
    folder, command = empty_folder(shell)
    both = command("generate", "--out", "a", "--output-dir", "b", "--count", "4")
    assert both.returncode == 2
    assert "--output-dir" in both.stderr
    made = command("generate", "--count", "4", "--output-dir", "sets")
    assert made.stdout == "sets/synthetic\n"
    run = ["run", "--method", "omniparser", "--dataset", "synthetic", "--dataset-dir", "sets"]
    with OmniParserServer() as parser:
        run += ["--omniparser-url", parser.url]
        ran = command(*run, "--output-dir", "mine")
        assert ran.returncode == 0, ran.stderr
        whole = (folder / "mine/omniparser_synthetic.json").read_bytes()
        trial = command(*run, "--output-dir", "mine", "--limit", "3", "--out", "trial", "-q")
        assert trial.returncode == 0, trial.stderr
    assert "mine/omniparser_synthetic.json has the results of" in trial.stderr
    assert "3 of this run. It was not replaced" in trial.stderr
    assert (folder / "mine/omniparser_synthetic.json").read_bytes() == whole
    (folder / "mine/package.json").write_text('{"name": "not a result"}')
    done = command("compare", "--results-dir", "mine", "--json", "f.json", "--output", "g.json")
    assert done.returncode == 0, done.stderr
    assert "Left out: mine/package.json" in done.stdout
    written = json.loads((folder / "f.json").read_text())
    assert written["summary"]["total_methods"] == 1
    assert json.loads((folder / "g.json").read_text()) == written
    told = command("compare", "--results-dir", "mine", "--json", "-")
    assert json.loads(told.stdout) == written
    absent = command("run", "--method", "omniparser", "--dataset", "synthetic")
    assert absent.returncode == 2
    assert "uiproof generate" in absent.stderr


def records(folder):
    return {record.id: record for record in RunDirectory(folder).records()}


def test_what_omniparser_does_not_list_is_not_detected_and_has_no_overlap(shell):
    def in_the_corner(_, items):
        # It overlaps with nothing, or too little to be taken for the element.
        return [{**items[0], "bbox": [0.0, 0.0, 0.01, 0.01]}]

    with OmniParserServer(mischief=in_the_corner) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser", limit=8))
    assert done.returncode == 0, done.stderr
    found = records(shell.folder / "runs").values()
    assert {record.details["verdict"] for record in found} == {"not_detected"}
    assert {record.scores["iou"] for record in found} == {0.0}
    assert shell.summary("")["verdicts"] == {"not_detected": 8}
    assert shell.summary("")["wrong_format"]["hits"] == 0


def test_an_assisted_model_that_says_it_is_not_there_has_refused(shell):
    with ProviderServer("The element is not visible on the screen.") as server:
        shell.environment = {"EVAL_UITARS_URL": server.base_url("compatible")}
        done = shell(*shell.command("uitars", limit=4))
    assert done.returncode == 0, done.stderr
    assert shell.summary("")["verdicts"] == {"refused": 4}


def test_one_passing_500_of_omniparser_costs_nothing(shell):
    with OmniParserServer(mischief=lambda n, items: 500 if n == 0 else items) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser", limit=8))
    assert done.returncode == 0, done.stderr
    assert shell.summary("")["failed"] == 0
    assert parser.failed.total() == 1


def test_a_request_that_always_gets_500_fails_and_the_others_do_not(shell, dataset):
    annotations = json.loads((dataset / "annotations.json").read_text())
    unlucky = annotations["samples"][0]["elements"][0]["instruction"]

    def faults(asked):
        return Fault(status=500) if unlucky in asked.prompt else None

    with ProviderServer("Action: click(point='<point>3 3</point>')", faults=faults) as server:
        shell.environment = {"EVAL_UITARS_URL": server.base_url("compatible")}
        done = shell(*shell.command("uitars", limit=30), "-q")
        assert done.returncode == 1, done.stderr
        again = shell(*shell.command("uitars", limit=30), "-q")
    failed = [record for record in records(shell.folder / "runs").values() if record.error]
    summary = shell.summary("")
    assert 0 < len(failed) == summary["failed"] < summary["n"] == 30
    assert {record.error.code for record in failed} == {"model"}
    assert summary["incomplete"] is True
    assert "incomplete" in done.stdout
    assert f"failed: {failed[0].id}: " in done.stderr  # also where nothing else is told
    assert again.returncode == 1
    assert again.stdout == done.stdout


@pytest.mark.parametrize("bbox", [[10, 20, 300, 60], [float("nan")] * 4, None])
def test_an_answer_without_a_valid_box_is_an_error_that_shows_one(shell, bbox):
    spoil = lambda _, items: [{**item, "bbox": bbox} for item in items]  # noqa: E731
    with OmniParserServer(mischief=spoil) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser", limit=6))
    assert done.returncode == 1, done.stderr
    assert "boxes in OmniParser's answer can be used" in done.stderr
    assert repr(bbox) in done.stderr
    assert shell.summary("")["incomplete"] is True


def test_invalid_boxes_among_valid_ones_are_reported(shell):
    def spoil(_, items):
        return [*items, {**items[0], "bbox": [10, 20, 300, 60]}]

    with OmniParserServer(mischief=spoil) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser", limit=6))
    assert done.returncode == 0, done.stderr
    assert "boxes_skipped: 6 cases: has boxes that are not valid" in done.stderr


def test_a_wrong_address_of_omniparser_gets_advice_about_the_address(shell):
    with ProviderServer("hello") as other, OmniParserServer() as parser:
        for address in (other.base_url("compatible"), f"{parser.url}/wrong"):
            shell.environment = {"EVAL_OMNIPARSER_URL": address}
            done = shell(*shell.command("omniparser", limit=4))
            assert done.returncode == 3, done.stderr
            assert "EVAL_OMNIPARSER_URL or --omniparser-url" in done.stderr
            assert "key" not in done.stderr


def test_prefixes_of_older_servers_lose_no_match(shell):
    def prefixed(_, items):
        return [{**item, "content": f"Text Box ID {n}: {n}"} for n, item in enumerate(items)]

    with OmniParserServer(mischief=prefixed) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        done = shell(*shell.command("omniparser", limit=8))
    assert done.returncode == 0, done.stderr
    found = [record.details["assisted"] for record in records(shell.folder / "runs").values()]
    matched = [one["matched_text"] for one in found if one["found"]]
    assert matched
    assert all(text.isdigit() for text in matched)


def test_thresholds_decide_and_are_written_into_the_run(shell, dataset):
    with OmniParserServer() as parser, ProviderServer(uitars(dataset)) as server:
        shell.environment = {
            "EVAL_OMNIPARSER_URL": parser.url,
            "EVAL_UITARS_URL": server.base_url("compatible"),
        }
        methods = ["omniparser", "uitars-fixed"]
        assert shell(*shell.command(*methods, limit=12)).returncode == 0
        usual = [shell.summary(name)["scores"]["detected"]["mean"] for name in methods]
        shell.environment |= {
            "EVAL_DEFAULT_IOU_THRESHOLD": "1",
            "EVAL_BBOX_TOLERANCE": "0.001",
            "EVAL_CROP_SIZES": "700",
        }
        other = [*shell.command(*methods, limit=12), "--out", "strict"]
        assert shell(*other).returncode == 0
    settings = {
        (place, name): json.loads((shell.folder / place / name / "run.json").read_text())[
            "settings"
        ]
        for place in ("runs", "strict")
        for name in methods
    }
    assert settings["runs", "omniparser"]["iou_threshold"] == 0.3
    assert settings["strict", "omniparser"]["iou_threshold"] == 1.0
    assert settings["runs", "uitars-fixed"]["bbox_tolerance"] == 0.02
    assert settings["runs", "uitars-fixed"]["crop_sizes"] == [200, 300, 500]
    assert settings["strict", "uitars-fixed"]["crop_sizes"] == [700]
    strict = [
        json.loads((shell.folder / "strict" / name / "summary.json").read_text())["scores"]
        for name in methods
    ]
    assert strict[0]["detected"]["mean"] < usual[0]
    # Crops of 700 px are wider than what this server sees anything in.
    assert strict[1]["detected"]["mean"] < 0.1 < usual[1]


def test_killed_and_resumed_no_answer_is_asked_for_again(shell, dataset):
    with OmniParserServer(latency=0.02) as parser:
        shell.environment = {"EVAL_OMNIPARSER_URL": parser.url}
        command = shell.command("omniparser-fixed", limit=24)
        with shell.start(*command, "-q") as process:
            deadline = time.time() + 60
            while parser.parsed.total() < 12:
                assert time.time() < deadline
                if process.poll() is not None:
                    break
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        done = shell(*command)
        assert done.returncode == 0, done.stderr
        asked = parser.parsed.copy()
        assert asked.total() > 24
        # Only what was in flight when the run was killed may have been asked for again.
        assert asked.total() - len(asked) <= 32
        shutil.rmtree(shell.folder / "runs", ignore_errors=True)
        assert shell(*command).returncode == 0
    assert parser.parsed == asked
    assert shell.summary("")["n"] == 24


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("telepathy", "uiproof list"),
        ("ocr@telepathy", "ocr@telepathy"),
        ("uitars@screenseeker:", "screenseeker"),
    ],
)
def test_wrong_names_are_told(shell, method, words):
    done = shell(*shell.command(method))
    assert done.returncode == 2
    assert words in done.stderr
