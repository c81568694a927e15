"""The command line as a person meets it: run in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import warm_commands

ROOT = Path(__file__).resolve().parents[1]
VERBS = [
    "demo",
    "doctor",
    "list",
    "data",
    "run",
    "score",
    "compare",
    "report",
    "cache",
    "generate",
    "audit",
    "diagnose",
    "studio",
    "serve",
    "merge",
    "export",
    "collect",
    "graph",
    "anchors",
    "stats",
    "opinion",
    "track",
    "submit",
    "check",
    "leaderboard",
    "web",
    "diff",
    "mcp",
]


def surroundings(folder, environment):
    own = {"PYTHONPATH": str(ROOT / "tests" / "toy_benchmark")}
    return os.environ | own | {"UIPROOF_CACHE": str(folder / "cache")} | environment


def start(*arguments, cwd, **environment):
    """A process from nothing, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "uiproof", *map(str, arguments)],
        cwd=cwd,
        env=surroundings(cwd, environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def uiproof(tmp_path):
    """Run the command in an empty folder, with the toy benchmark installed."""

    def call(*arguments, **environment):
        env = surroundings(tmp_path, environment)
        return warm_commands.run(*arguments, cwd=tmp_path, env=env)

    return call


ECHO = ["--method", "echo", "--executor", "inline"]  # no worker processes: quicker


@pytest.fixture
def words(tmp_path):
    def write(*some):
        folder = tmp_path / "words"
        folder.mkdir(exist_ok=True)
        (folder / "words.txt").write_text("\n".join(some))
        return folder

    return write


def test_help_names_every_verb_and_teaches_with_examples(uiproof):
    done = uiproof("--help")
    assert done.returncode == 0
    listed = re.findall(r"^  (\w+)  ", done.stdout.split("Score and look:")[1], re.MULTILINE)
    assert sorted(listed) == sorted(VERBS)
    assert "uiproof score design2code reference/ generated/" in done.stdout
    assert "Exit codes" in done.stdout
    for heading in ("Run models:", "Make data:", "Publish:", "This machine:"):
        assert f"\n{heading}\n" in done.stdout
    assert uiproof().stdout == done.stdout


@pytest.mark.parametrize("verb", [["run"], ["score", "design2code"], ["compare"], ["report"]])
def test_the_help_of_a_verb_shows_how_to_call_it(uiproof, verb):
    done = uiproof(*verb, "--help")
    assert done.returncode == 0
    usage, text = done.stdout.split("Usage:")[1].split("\n", 1)
    assert f"uiproof {' '.join(verb)} " in text
    assert "...}" not in usage
    assert ("--retry-failed" in text) == (verb[0] in ("run", "score"))


def test_help_imports_nothing_heavy():
    code = (
        "import sys, uiproof.cli\n"
        "heavy = {'numpy', 'PIL', 'playwright', 'onnxruntime', 'rich.console', 'scipy', 'httpx',"
        " 'huggingface_hub', 'cv2', 'asyncio', 'uiproof.registry'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_that_of_the_package(uiproof):
    from importlib.metadata import version

    assert uiproof("--version").stdout.strip() == f"uiproof {version('uiproof')}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["run"],
        ["run", "--dataset", "x", "--method", "y", "--workers", "0"],
        ["run", "--dataset", "no-such-data", "--method", "echo"],
        ["data", "get", "no-such-data"],
        ["score", "design2code", "missing.html", "other.html"],
        ["compare", "no-such-run"],
    ],
)
def test_wrong_use_ends_with_2_and_a_message_without_traceback(uiproof, arguments):
    done = uiproof(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scor"], "'score'"),
        (["diagnos"], "'diagnose'"),  # a verb of a benchmark
        (["score", "designcode"], "'design2code'"),
        (["run", "--dataset", "design2code-dem", "--method", "x"], "design2code-demo"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(uiproof, arguments, said):
    assert f"Did you mean {said}" in uiproof(*arguments).stderr


def test_a_run_that_does_not_exist_is_not_called_a_folder_without_run_json(uiproof):
    done = uiproof("report", "no-such-run")
    assert done.stderr.startswith("uiproof: There is no file or folder no-such-run.")


def test_the_list_of_a_group_has_whole_sentences(uiproof):
    assert "..." not in uiproof("score", "--help").stdout.split("Commands:")[1]


def test_an_error_is_a_message_and_a_remedy(uiproof, words):
    done = uiproof("run", "--dataset", words("one"), "--method", "sing")
    assert done.returncode == 2
    assert done.stderr == "uiproof: There is no method 'sing'.\n  There is only echo.\n"


def test_a_malformed_variable_is_named(uiproof, words):
    done = uiproof("run", "--dataset", words("one"), *ECHO, UIPROOF_WORKERS="lots")
    assert done.returncode == 2
    assert "UIPROOF_WORKERS" in done.stderr


def test_an_unexpected_error_is_one_line_and_says_how_to_get_the_traceback(uiproof, words):
    folder = words("one")
    (folder / "words.txt").write_bytes(b"\xff\xfe")  # the toy benchmark does not expect this
    for off in ("off", "perhaps"):
        done = uiproof("run", "--dataset", folder, *ECHO, UIPROOF_DEBUG=off)
        assert "Traceback" not in done.stderr
    done = uiproof("run", "--dataset", folder, *ECHO)
    assert done.returncode == 70
    assert "Unexpected UnicodeDecodeError" in done.stderr
    assert "UIPROOF_DEBUG=1" in done.stderr
    assert "Traceback" not in done.stderr
    debug = uiproof("run", "--dataset", folder, *ECHO, UIPROOF_DEBUG="1")
    assert "Traceback" in debug.stderr


def test_a_run_prints_its_table_on_stdout_and_progress_on_stderr(uiproof, words, tmp_path):
    done = uiproof("run", "--dataset", words("one", "two"), "--method", "echo")
    assert done.returncode == 0, done.stderr
    assert "Same" in done.stdout
    assert "1.000" in done.stdout
    assert "2/2" in done.stderr
    assert (tmp_path / "runs" / "words-echo" / "summary.json").is_file()


def test_quiet_leaves_only_results(uiproof, words):
    done = uiproof("run", "--dataset", words("one"), *ECHO, "--quiet")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "1.000" in done.stdout


def test_quiet_does_not_hide_why_cases_failed(uiproof, words):
    done = uiproof("run", "--dataset", words("one", "mute"), *ECHO, "--quiet")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == "failed: 2: It said nothing."


def test_failed_cases_end_with_1_and_are_in_the_json_file(uiproof, words, tmp_path):
    file = tmp_path / "scores.json"
    folder = words("one", "mute", "bug")
    done = uiproof("run", "--dataset", folder, *ECHO, "--json", file)
    assert done.returncode == 1, done.stderr
    content = json.loads(file.read_text())
    assert content["benchmark"] == "toy"
    assert content["summary"]["n"] == 3
    assert content["summary"]["failed"] == 2
    cases = {case["id"]: case for case in content["cases"]}
    assert "failed: 2: It said nothing." in done.stderr
    assert cases["1"]["status"] == "scored"
    assert cases["1"]["error"] is None
    assert cases["1"]["scores"] == {"same": 1.0}
    assert cases["2"]["status"] == "failed"
    assert cases["2"]["error"]["code"] == "method"
    assert cases["2"]["error"]["message"] == "It said nothing."
    assert cases["2"]["scores"] == {"same": 0.0}
    assert [path.name for path in tmp_path.glob("*scores*")] == ["scores.json"]


def test_json_to_stdout_is_nothing_but_json(uiproof, words):
    done = uiproof("run", "--dataset", words("one", "two"), *ECHO, "--json", "-")
    assert done.returncode == 0
    assert [case["id"] for case in json.loads(done.stdout)["cases"]] == ["1", "2"]


@pytest.mark.parametrize("target", ["no/such/f.json", "words"])
def test_a_json_file_that_cannot_be_written_is_noticed_before_the_run(
    uiproof, words, tmp_path, target
):
    done = uiproof("run", "--dataset", words("one"), *ECHO, "--json", target)
    assert done.returncode == 2
    assert target in done.stderr
    assert done.stderr.count("\n") == 2  # what is wrong, and what to do
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("out", ["x" * 300, "words/words.txt/run"])
def test_folders_that_the_system_refuses_are_wrong_use(uiproof, words, out):
    for arguments in (
        ["run", "--dataset", words("one"), *ECHO, "--out", out],
        ["compare", out],
        ["run", "--dataset", out, *ECHO],
        ["score", "design2code", out, "words"],
        ["report", out, "--out", out],
    ):
        done = uiproof(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert "Unexpected" not in done.stderr
        assert "Traceback" not in done.stderr


def test_the_limit_is_kept_and_running_again_continues(uiproof, words):
    folder = words("one", "two", "three")
    arguments = ["run", "--dataset", folder, *ECHO, "--json", "-", "--quiet"]
    assert len(json.loads(uiproof(*arguments, "--limit", "1").stdout)["cases"]) == 1
    assert len(json.loads(uiproof(*arguments).stdout)["cases"]) == 3


def test_failed_cases_are_tried_again_only_on_request(uiproof, words, tmp_path):
    arguments = ["run", "--dataset", words("mute"), *ECHO, "--quiet"]
    journal = tmp_path / "runs" / "words-echo" / "journal.jsonl"
    uiproof(*arguments)
    uiproof(*arguments)
    assert len(journal.read_text().splitlines()) == 1
    assert uiproof(*arguments, "--retry-failed").returncode == 1
    assert len(journal.read_text().splitlines()) == 2


def test_ctrl_c_ends_with_130_keeps_the_run_and_says_how_to_continue(words, tmp_path):
    arguments = ["run", "--dataset", words("one", "slow"), "--method", "echo", "--out", "mine"]
    with start(*arguments, cwd=tmp_path) as process:
        journal = tmp_path / "mine" / "journal.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.is_file() and journal.read_text().endswith("\n")):
            assert time.monotonic() < deadline, "the first case was never finished"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "kept in mine" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "mine" / "summary.json").read_text())["n"] == 1


def test_runs_are_compared_side_by_side(uiproof, words):
    for number, some in enumerate((["one", "two"], ["one", "mute"])):
        uiproof("run", "--dataset", words(*some), *ECHO, "--out", f"run{number}")
    done = uiproof("compare", "run0", "run1")
    assert done.returncode == 0, done.stderr
    assert "1.000" in done.stdout
    assert "0.500" in done.stdout
    written = json.loads(uiproof("compare", "run0", "run1", "--json", "-").stdout)
    assert [run["metrics"]["same"]["mean"] for run in written["runs"]] == [1.0, 0.5]
    assert [run["failed"] for run in written["runs"]] == [0, 1]
    markdown = uiproof("compare", "run0", "run1", "--markdown").stdout.splitlines()
    assert markdown[0].startswith("| Method | n | Clusters | Failed |")
    assert [line.split(" | ")[1:4] for line in markdown[2:4]] == [["2", "2", "0"], ["2", "2", "1"]]


def test_list_shows_data_sets_methods_and_what_is_not_here(uiproof):
    done = uiproof("list")
    assert done.returncode == 0, done.stderr
    for expected in ("design2code", "design2code-demo", "blueprint", "replay", "toy", "echo"):
        assert expected in done.stdout
    assert "uiproof data get design2code" in done.stdout


def test_data_shows_source_size_licence_and_presence(uiproof):
    done = uiproof("data")
    assert done.returncode == 0
    for expected in ("design2code-hard", "clip-vit-b-32", "ODC-By", "352 MB", "unknown"):
        assert expected in done.stdout
    assert done.stdout.count("get it: uiproof data get ") >= 2


def test_weights_that_are_not_where_they_should_be_do_not_end_the_list(uiproof):
    done = uiproof("data", UIPROOF_CLIP="nowhere.onnx")
    assert done.returncode == 0, done.stderr
    assert "no; There are no CLIP weights at nowhere.onnx." in done.stdout


PAGE = "<!doctype html><h1>A heading</h1><p>And a paragraph of text below it.</p>"


def test_two_pages_are_scored_without_leaving_anything_behind(uiproof, tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_text(PAGE)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = uiproof(
        *["score", "design2code", "a.html", "b.html", "--json", "-", "--executor", "inline"],
        TMPDIR=str(scratch),
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["benchmark"] == "design2code"
    assert [case["id"] for case in content["cases"]] == ["a"]
    assert content["cases"][0]["scores"]["strict"]["text"] == 1.0
    assert list(scratch.glob("uiproof-*")) == []
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["a.html", "b.html"]


def test_a_page_that_was_not_generated_is_a_failed_case_and_one_too_many_is_told(uiproof, tmp_path):
    for name in ("reference/1.html", "reference/2.html", "generated/1.html", "generated/3.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PAGE)
    done = uiproof("score", "design2code", "reference", "generated", "--json", "s.json")
    assert done.returncode == 1, done.stderr
    content = json.loads((tmp_path / "s.json").read_text())
    assert {case["id"]: case["status"] for case in content["cases"]} == {
        "1": "scored",
        "2": "failed",
    }
    assert content["summary"]["n"] == 2
    assert "without a reference, which are not scored (1): 3" in done.stderr


def test_ctrl_c_while_scoring_keeps_the_temporary_run_and_names_it(tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_text("<p>Never done</p><script>for (;;) {}</script>")
    (tmp_path / "scratch").mkdir()
    scratch = {"TMPDIR": str(tmp_path / "scratch")}
    with start("score", "design2code", "a.html", "b.html", cwd=tmp_path, **scratch) as process:
        deadline = time.monotonic() + 60
        while not (begun := list(tmp_path.glob("scratch/uiproof-*/run.json"))):
            assert time.monotonic() < deadline, "the run never began"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert f"--out {begun[0].parent}" in err
    assert begun[0].is_file()


def test_folders_without_a_common_name_are_wrong_use(uiproof, tmp_path):
    for name in ("reference/1.html", "generated/one.html"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(PAGE)
    done = uiproof("score", "design2code", "reference", "generated")
    assert done.returncode == 2
    assert "No page of generated" in done.stderr


def test_a_file_and_a_folder_cannot_be_compared(uiproof, tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "folder").mkdir()
    done = uiproof("score", "design2code", "a.html", "folder")
    assert done.returncode == 2
    assert "a file and a folder" in done.stderr


def test_the_demo_prints_a_table_and_writes_a_report_that_stands_alone(tmp_path):
    options = ["--out", "demo", "--limit", "1", "--workers", "1", "--quiet"]
    with start("demo", *options, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "blueprint" in out
    assert "replay" in out
    report = (tmp_path / "demo" / "report.html").read_text()
    assert report.lstrip().lower().startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']https?://""", report)
    for other in ("report-grounding.html", "report-interactions.html", "report-today.html"):
        assert (tmp_path / "demo" / other).is_file()
