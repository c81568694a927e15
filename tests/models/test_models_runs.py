"""Runs that ask models, from the command line, against servers that fail and echo keys."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

import warm_commands
from provider_servers import Fault, ProviderServer, mixed_faults

TOY = Path(__file__).parents[1] / "toy_benchmark"
KEY = "sk-loopback-0123456789-SECRET"
PAGE = "<!doctype html><html><body><h1>Hello</h1></body></html>"
MODELS = ["--method", "openai/gpt-4o", "--method", "anthropic/claude-sonnet-4-5"]
PROMPTS = ["--prompt", "say", "--prompt", "shout"]


def word(asked):
    """Return the right answer of the toy benchmark."""
    return asked.prompt.split()[-1]


class Shell:
    """Runs commands in a folder, with the server in place of the providers."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        (folder / "words").mkdir()

    def words(self, *some):
        (self.folder / "words" / "words.txt").write_text("\n".join(some))

    def start(self, *arguments, **environment):
        own = {"PYTHONPATH": str(TOY), "UIPROOF_CACHE": str(self.folder / "cache")}
        env = os.environ | own | self.server.environment(KEY) | environment
        return warm_commands.Command(arguments, cwd=self.folder, env=env)

    def __call__(self, *arguments, **environment):
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=300)
        assert KEY not in out + err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def run(self, *arguments, **environment):
        common = ["run", "--dataset", "words", "--executor", "inline"]
        return self(*common, *arguments, **environment)

    def summary(self, name):
        return json.loads((self.folder / "runs" / name / "summary.json").read_text())


@pytest.fixture
def server():
    with ProviderServer(word) as server:
        yield server


@pytest.fixture
def shell(tmp_path, server):
    shell = Shell(tmp_path, server)
    yield shell
    for path in tmp_path.rglob("*"):
        assert KEY not in path.name
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_matrix_is_one_run_per_model_and_prompt_and_one_table(shell, server):
    shell.words("one", "two", "three")
    done = shell.run(*MODELS, *PROMPTS, "--out", "runs")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (shell.folder / "runs").iterdir())
    assert names == [
        "anthropic-claude-sonnet-4-5-say",
        "anthropic-claude-sonnet-4-5-shout",
        "openai-gpt-4o-say",
        "openai-gpt-4o-shout",
    ]
    for name in names:
        assert shell.summary(name)["scores"]["same"]["mean"] == 1.0
    assert "openai/gpt-4o shout: 3 requests, " in done.stdout
    assert "anthropic/claude-sonnet-4-5 say: 3 requests, " in done.stdout
    assert done.stdout.count("Method") == 1
    assert server.stats()["requests"] == 12

    again = shell.run(*MODELS, *PROMPTS, "--out", "runs")
    assert again.returncode == 0
    assert server.stats()["requests"] == 12
    elsewhere = shell.run(*MODELS, *PROMPTS, "--out", "copy", OPENAI_API_KEY="")
    assert elsewhere.returncode == 0  # the cache needs no key
    assert server.stats()["requests"] == 12
    assert "3 requests (3 answered from the cache)" in elsewhere.stdout


def test_a_dry_run_says_what_it_takes_and_sends_nothing(shell, server):
    shell.words("one", "two", "three")
    done = shell.run(*MODELS, *PROMPTS, "--dry-run", "--json", "plan.json")
    assert done.returncode == 0, done.stderr
    plans = json.loads((shell.folder / "plan.json").read_text())["plans"]
    assert [plan["method"] for plan in plans] == [
        "openai/gpt-4o say",
        "openai/gpt-4o shout",
        "anthropic/claude-sonnet-4-5 say",
        "anthropic/claude-sonnet-4-5 shout",
    ]
    assert all(plan["requests"] == 3 and 0 < plan["cost"] < plan["most_cost"] for plan in plans)
    assert "total" in done.stdout
    assert server.stats()["requests"] == 0
    assert not (shell.folder / "runs").exists()

    shell.run("--method", "openai/gpt-4o", "--out", "elsewhere")
    shell.run(*MODELS, "--dry-run", "--json", "plan.json")
    first, second = json.loads((shell.folder / "plan.json").read_text())["plans"]
    assert (first["cached"], first["input_tokens"], first["cost"]) == (3, 0, 0)
    assert (second["cached"], second["requests"]) == (0, 3)


def test_a_dry_run_counts_what_an_unfinished_or_failed_run_still_takes(shell, server):
    shell.words("one", "two", "three")
    server.answer = lambda asked: "" if word(asked) == "two" else word(asked)
    options = ["--method", "openai/gpt-4o", "--out", "runs/a"]
    assert shell.run(*options, "--limit", 2).returncode == 1

    def plan(*arguments):
        done = shell.run(*arguments, "--dry-run", "--json", "-")
        assert done.returncode == 0, done.stderr
        (one,) = json.loads(done.stdout)["plans"]
        return one["cases"], one["done"], one["requests"], one["cached"]

    assert plan(*options) == (3, 2, 1, 0)
    assert plan(*options, "--limit", 1) == (1, 1, 0, 0)
    assert plan(*options, "--retry-failed") == (3, 1, 2, 0)  # the useless answer is not used
    assert plan(*options, "--prompt", "shout") == (3, 0, 3, 0)  # that run is another one


def test_results_of_another_run_are_not_shown_as_this_ones(shell, server):
    shell.words("one")
    shell.run("--method", "openai/gpt-4o", "--out", "runs/a")
    wrong = shell.run("--method", "openai/gpt-4o", "--prompt", "shout", "--out", "runs/a")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "results of another run" in wrong.stderr
    several = shell.run(*MODELS, "--out", "runs/a")
    assert (several.returncode, several.stdout) == (2, "")
    assert "runs/a is a run" in several.stderr
    assert server.stats()["requests"] == 1


def test_no_more_requests_go_out_than_allowed_and_the_same_command_continues(shell, server):
    shell.words(*(f"word{n}" for n in range(12)))
    options = ["--method", "openai/gpt-4o", "--out", "runs/a", "--json", "scores.json"]
    stopped = shell.run(*options, "--max-requests", 5)
    assert stopped.returncode == 4, stopped.stderr
    assert "The same command with a higher --max-requests continues" in stopped.stderr
    assert server.stats()["requests"] == 5
    assert (shell.summary("a")["n"], shell.summary("a")["complete"]) == (5, False)
    # The file has the same form whether the run came to its end or not.
    assert len(json.loads((shell.folder / "scores.json").read_text())["cases"]) == 5
    done = shell.run(*options, "--max-requests", 7)
    assert done.returncode == 0, done.stderr
    assert server.stats()["requests"] == 12
    assert shell.summary("a")["complete"] is True


def test_a_matrix_shares_its_budget(shell, server):
    shell.words("one", "two", "three", "four")
    stopped = shell.run(*MODELS, *PROMPTS, "--out", "runs", "--max-requests", 6)
    assert stopped.returncode == 4
    assert server.stats()["requests"] == 6
    assert "openai/gpt-4o shout [unfinished]" in stopped.stdout
    untouched = "anthropic/claude-sonnet-4-5 say, anthropic/claude-sonnet-4-5 shout"
    assert f"Not begun: {untouched}." in stopped.stderr


def test_costs_stay_below_their_limit(shell, server):
    shell.words(*(f"word{n}" for n in range(40)))
    prices = {"models": {"openai/gpt-4o": {"input": 0.0, "output": 1000.0}}}
    (shell.folder / "prices.json").write_text(json.dumps(prices))
    server.answer = lambda asked: {
        "model": "gpt-4o",
        "choices": [{"message": {"content": word(asked)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 10},
    }
    options = ["--method", "openai/gpt-4o", "--out", "runs/a", "--max-tokens", 20]
    stopped = shell.run(*options, "--max-cost", "0.1", UIPROOF_PRICES="prices.json")
    assert stopped.returncode == 4, stopped.stderr
    usage = shell.summary("a")["usage"]
    assert 0.05 <= usage["cost"] <= 0.1
    assert usage["paid"] == usage["cost"]
    unknown = ["--method", f"compatible:{server.base_url('openai')}#m", "--max-cost", "1"]
    refused = shell.run(*unknown)
    assert refused.returncode == 2
    assert "UIPROOF_PRICES" in refused.stderr


def test_a_model_that_denies_access_stops_its_own_run_only(shell, server):
    shell.words("one", "two")
    server.faults = lambda asked: (
        Fault(status=401, message=f"Incorrect API key provided: {KEY}")
        if asked.format == "anthropic"
        else None
    )
    done = shell.run(*reversed_methods(), "--out", "runs")
    assert done.returncode == 3
    assert "anthropic/claude-sonnet-4-5 say" in done.stderr
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "openai/gpt-4o say" in done.stdout
    assert shell.summary("openai-gpt-4o-say")["failed"] == 0
    server.faults = ()
    assert shell.run(*reversed_methods(), "--out", "runs").returncode == 0


def reversed_methods():
    return [MODELS[2], MODELS[3], MODELS[0], MODELS[1]]


def test_a_key_that_is_missing_is_named(shell, server):
    shell.words("one")
    done = shell.run("--method", "openai/gpt-4o", OPENAI_API_KEY="")
    assert done.returncode == 3
    assert "export OPENAI_API_KEY" in done.stderr
    assert server.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "openai/gpt-4o", "--prompt", "whisper"], "say, shout"),
        (["--method", "echo", "--prompt", "say"], "not a model"),
        (["--method", "compatible:http://localhost:1/v1"], "name of the model"),
        (["--method", "openai/"], "anthropic/claude"),
    ],
)
def test_wrong_names_are_told_before_anything_is_made(shell, server, arguments, words):
    shell.words("one")
    done = shell.run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (shell.folder / "runs").exists()


def test_answers_that_echo_keys_leave_no_trace_of_them(shell, server):
    shell.words("one", "two")
    server.answer = lambda asked: f"{word(asked)} {dict(asked.headers)} {asked.query}"
    address = server.base_url("openai").replace("://", f"://user:{KEY}@")
    done = shell.run(*MODELS, "--method", "google/gemini-2.5-pro", "--out", "runs")
    assert done.returncode == 0, done.stderr
    compatible = shell.run("--method", f"compatible:{address}?token={KEY}#m", "--out", "runs/c")
    assert compatible.returncode == 0, compatible.stderr
    # The fixture looks for the key in every file.
    assert any("[key]" in path.read_text() for path in (shell.folder / "cache").rglob("*.json"))


def test_only_useless_answers_are_asked_for_again(shell, server):
    shell.words("one", "two", "three")
    server.answer = lambda asked: "" if word(asked) == "two" else word(asked)
    options = ["--method", "openai/gpt-4o", "--out", "runs/a"]
    assert shell.run(*options).returncode == 1
    server.answer = word
    assert shell.run(*options).returncode == 1  # what failed stays failed …
    assert shell.run(*options, "--retry-failed").returncode == 0  # … until it is asked for
    assert server.stats()["requests"] == 4
    assert shell.summary("a")["failed"] == 0


def test_killed_and_resumed_no_answer_that_has_arrived_is_requested_again(shell, server):
    """`kill -9` at random moments, with failing requests in between."""
    shell.words(*(f"word{n}" for n in range(60)))
    server.latency = 0.4
    server.faults = mixed_faults(rate_limited=0.2, server=0.05, seed=5)
    chance = random.Random(3)
    options = ["--dataset", "words", "--method", "openai/gpt-4o", "--out", "runs/a"]
    command = ["run", *options, "--executor", "inline", "--concurrency", 8, "--quiet"]
    for _ in range(4):
        with shell.start(*command) as process:
            # Each time a few more answers; the moment of the kill is between any two of them.
            goal, deadline = server.answered.total() + chance.randrange(5, 12), time.time() + 60
            while server.answered.total() < goal and process.poll() is None:
                assert time.time() < deadline
                time.sleep(0.02)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
    stored = {
        json.loads(path.read_text())["reply"]["text"]
        for path in (shell.folder / "cache" / "models").rglob("*.json")
    }
    before = len(server.log)
    done = shell(*command)
    assert done.returncode == 0, done.stderr
    assert shell.summary("a")["n"] == 60
    assert stored
    assert not stored & {word(asked) for asked in server.log[before:]}
    assert len(list((shell.folder / "cache" / "models").rglob("*.json"))) == 60
    # Only what was in flight when the command was killed is asked for twice: 8 at a time.
    assert server.stats()["answered_twice"] <= 4 * 8


def test_kinds_of_answers_are_told_apart_in_the_table(shell, server):
    pages = shell.folder / "pages"
    pages.mkdir()
    for number in range(4):
        (pages / f"{number}.html").write_text(f"<html><body><h1>{number}</h1></body></html>")
    answers = [f"```html\n{PAGE}\n```", "", "I'm sorry, I can't help with that.", "Nice page."]
    server.answer = lambda asked: answers[asked.number]
    command = ["run", "--dataset", "pages", "--method", "openai/gpt-4o", "--executor", "inline"]
    done = shell(*command)
    assert done.returncode == 1, done.stderr
    line = "openai/gpt-4o direct: answers fenced 1, empty 1, not html 1, refused 1."
    assert line in done.stdout


def test_the_cache_is_shown_and_pruned(shell, server):
    shell.words("one", "two")
    shell.run("--method", "openai/gpt-4o")
    assert "2 answers" in shell("cache").stdout
    unclear = shell("cache", "prune")
    assert unclear.returncode == 2
    assert "--older-than, --max-size or --model" in unclear.stderr
    assert "2 answers deleted" in shell("cache", "prune", "--all").stdout
    assert "No answers are stored" in shell("cache").stdout


def test_design2code_with_three_prompts_against_two_providers(shell, server):
    server.answer = lambda asked: f"Here you are:\n```html\n{PAGE}\n```"
    prompts = ["direct", "text-augmented", "self-revision"]
    options = [part for prompt in prompts for part in ("--prompt", prompt)]
    (shell.folder / "pages").mkdir()
    (shell.folder / "pages" / "1.html").write_text(PAGE.replace("Hello", "Hello, everybody"))
    command = ["run", "--dataset", "pages", "--executor", "inline"]
    (shell.folder / "prices.json").write_text(
        json.dumps({"models": {"openai/gpt-4o": {"input": 1.0, "output": 0.0}}})
    )
    revision = [*MODELS[:2], "--prompt", "self-revision", "--dry-run", "--json", "-"]
    planned = shell(*command, *revision, UIPROOF_PRICES="prices.json")
    (plan,) = json.loads(planned.stdout)["plans"]
    assert plan["requests"] == 2
    assert plan["most_cost"] > 16_384 / 1_000_000 > plan["cost"]  # an answer is quoted to the model

    done = shell(*command, *MODELS, *options, "--out", "runs")
    assert done.returncode == 0, done.stderr
    # The first attempt of a revision is the text-augmented answer, which is there already.
    assert server.stats()["requests"] == 6
    summary = shell.summary("openai-gpt-4o-self-revision")
    assert summary["flags"]["answer:fenced"] == 1
    assert (summary["usage"]["requests"], summary["usage"]["cached"]) == (2, 1)
    manifest = json.loads((shell.folder / "runs/openai-gpt-4o-direct/run.json").read_text())
    assert manifest["settings"]["images"]["tall"] == "split"
    report = shell("report", *sorted((shell.folder / "runs").iterdir()))
    assert report.returncode == 0, report.stderr
