"""Design2Code as a task of inspect_ai: the same prompts, the same judge, nothing left behind."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra: pip install 'uiproof[inspect]'")

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ChatMessage, Content, ModelOutput, ModelUsage, StopReason, get_model
from inspect_ai.scorer import Score
from inspect_ai.solver import generate
from PIL import Image

from uiproof.benchmarks.design2code import BENCHMARK
from uiproof.benchmarks.design2code.cases import cases
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.methods import PROMPTS
from uiproof.errors import InputError, UsageError
from uiproof.integrations import inspect as integration
from uiproof.integrations.inspect import design2code, reply_of
from uiproof.models.types import Finish, Parameters
from uiproof.process_tree import descendants
from uiproof.vision.clip import find_weights
from uiproof.web import FrozenWeb

# inspect leaves some of its own streams to the garbage collector, which anyio reports.
pytestmark = [
    pytest.mark.usefixtures("inspect_streams"),
    pytest.mark.filterwarnings(
        "ignore:.*<function MemoryObject\\w+Stream.__del__:pytest.PytestUnraisableExceptionWarning"
    ),
]

PAGES = BENCHMARK.bundled["design2code-demo"]
REFUSAL = "I'm sorry, but I can't help with recreating this page."
GREEN_PAGE = "<html><body style='margin: 0; background: #008000'></body></html>"


@dataclass
class Evaluation:
    """What came of an evaluation, and what the model was asked."""

    log: EvalLog
    asked: list[list[Content]]
    left: list[int]  # processes that are still there
    left_files: list[Path]

    def score(self, sample_id: str) -> Score:
        (score,) = self.sample(sample_id).scores.values()
        return score

    def sample(self, sample_id: str) -> EvalSample:
        return next(sample for sample in self.log.samples if sample.id == sample_id)

    def mean(self, name: str) -> float:
        (found,) = [score for score in self.log.results.scores if score.name == name]
        # Older versions of inspect_ai do not count them.
        assert getattr(found, "scored_samples", len(self.log.samples)) == len(self.log.samples)
        return found.metrics["mean"].value


def output(text: str, stop_reason: StopReason = "stop") -> ModelOutput:
    answer = ModelOutput.from_content("mockllm/model", text, stop_reason)
    # The mock would count tokens with a tokenizer that it downloads.
    answer.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return answer


def evaluate(
    folder: Path,
    answer: Callable[[str, int], str],
    *,
    status="success",
    solver=None,
    sample_id=None,
    **task,
) -> Evaluation:
    """Evaluate; `answer` is given the texts of the prompt and how often the model was asked."""
    asked: list[list[Content]] = []

    async def respond(input: list[ChatMessage], **_: object) -> ModelOutput:
        content = input[-1].content
        asked.append(content)
        words = content if isinstance(content, str) else " ".join(texts_in(content))
        return output(answer(words, len(asked)))

    model = get_model("mockllm/model")
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    before = set(descendants(os.getpid()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.setenv("TMPDIR", str(scratch))
        patch.setenv("UIPROOF_WORKERS", "1")  # the second would take longer to start
        # Not `custom_outputs`: older versions of inspect_ai take no function there.
        patch.setattr(model.api, "generate", respond)
        (log,) = inspect_eval(
            design2code(**task),
            model=model,
            sample_id=sample_id,
            solver=solver,
            display="none",
            log_dir=str(folder / "logs"),
        )
    assert log.status == status, log.error
    deadline = time.monotonic() + 20  # a judge that was told to end takes a moment
    while True:
        left = sorted(set(descendants(os.getpid())) - before)
        left_files = list(scratch.glob("uiproof-*"))
        if not (left or left_files) or time.monotonic() > deadline:
            return Evaluation(log, asked, left, left_files)
        time.sleep(0.05)


def texts_in(content: list[Content]) -> list[str]:
    return [part.text for part in content if part.type == "text"]


def pictures_in(content: list[Content]) -> list[bytes]:
    urls = [part.image for part in content if part.type == "image"]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


@pytest.fixture
def one_page(tmp_path: Path) -> str:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "hello.html").write_text("<!DOCTYPE html><html><body><h1>Hello</h1></body></html>")
    return str(folder)


@pytest.fixture(scope="module")
def three_pages(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """One page answered with itself, one refused, one answered with nothing."""

    def answer(words: str, number: int) -> str:
        if "The lighthouse that moved" in words:
            return f"Here it is:\n```html\n{(PAGES / 'article.html').read_text()}\n```"
        return REFUSAL if "Book a pottery evening" in words else ""

    return evaluate(
        tmp_path_factory.mktemp("three"),
        answer,
        prompt="text-augmented",
        sample_id=["article", "booking", "landing"],
    )


def test_the_page_itself_is_a_perfect_answer(three_pages: Evaluation) -> None:
    score = three_pages.score("article")
    assert score.value["paper.block_match"] == pytest.approx(1)
    assert score.value["strict.mean_without_clip"] == pytest.approx(1)
    assert score.answer == (PAGES / "article.html").read_text().strip()
    assert score.metadata["status"] == "scored"
    assert set(score.metadata["flags"]) == {"answer:fenced", "answer:wrapped"}


@pytest.mark.parametrize(
    ("page", "code", "answer"),
    [("booking", "answer_refused", REFUSAL), ("landing", "answer_empty", "")],
)
def test_an_unusable_answer_scores_0_and_says_why(
    three_pages: Evaluation, page: str, code: str, answer: str
) -> None:
    score = three_pages.score(page)
    assert set(score.value.values()) == {0}
    assert score.answer == answer
    assert score.metadata["error"]["code"] == code
    assert score.metadata["error"]["stage"] == "answer"
    assert score.metadata["error"]["message"] == score.explanation


def test_every_sample_counts_in_every_mean(three_pages: Evaluation) -> None:
    assert three_pages.mean("paper.block_match") == pytest.approx(1 / 3)
    assert three_pages.mean("strict.mean_without_clip") == pytest.approx(1 / 3)
    assert three_pages.mean("human") == pytest.approx(1 / 3)


def test_a_score_that_was_not_measured_is_nowhere(three_pages: Evaluation) -> None:
    names = {score.name for score in three_pages.log.results.scores}
    has_clip = find_weights() is not None
    for name in ("paper.clip", "paper.final", "strict.clip", "strict.final"):
        assert (name in names) == has_clip
    for page in ("article", "booking", "landing"):
        assert set(three_pages.score(page).value) == names


def test_no_process_and_no_file_is_left_behind(three_pages: Evaluation) -> None:
    assert three_pages.left == []
    assert three_pages.left_files == []


def test_an_evaluation_that_breaks_off_leaves_nothing_behind_either(
    tmp_path: Path, one_page: str
) -> None:
    def fail(words: str, number: int) -> str:
        raise ConnectionError("the provider is gone")

    evaluation = evaluate(tmp_path, fail, dataset=one_page, status="error")
    assert "the provider is gone" in evaluation.log.error.message
    assert evaluation.left == []
    assert evaluation.left_files == []


def test_the_log_says_what_the_scores_depend_on(three_pages: Evaluation) -> None:
    assert three_pages.log.eval.task_args["prompt"] == "text-augmented"
    assert three_pages.log.eval.metadata["fingerprint"]["browser"]
    assert three_pages.log.plan.config.max_tokens == Parameters().max_tokens
    assert three_pages.log.plan.config.temperature == Parameters().temperature


def test_the_model_is_asked_what_our_own_method_asks(
    three_pages: Evaluation, tmp_path: Path
) -> None:
    stand_in = SimpleNamespace(name="any", concurrency=1, parameters=Parameters())
    method = BENCHMARK.method("a/b", connect=lambda _: stand_in, prompt="text-augmented")
    case = next(case for case in cases(PAGES) if case.id == "article")
    judge = Design2CodeJudge(tmp_path, web=FrozenWeb.installed())  # as in a run: it brings fonts
    try:
        (request,) = method.planned_requests(judge.pose(case))
    finally:
        judge.close()
    (message,) = request.messages
    ours = [part if isinstance(part, str) else part.read() for part in message.parts]
    asked = next(one for one in three_pages.asked if "lighthouse" in " ".join(texts_in(one)))
    pictures = iter(pictures_in(asked))
    theirs = [part.text if part.type == "text" else next(pictures) for part in asked]
    assert theirs == ours


def test_a_revision_is_asked_for_with_the_picture_of_the_first_attempt(
    tmp_path: Path, one_page: str
) -> None:
    reference = (Path(one_page) / "hello.html").read_text()
    evaluation = evaluate(
        tmp_path,
        lambda words, number: GREEN_PAGE if number == 1 else reference,
        dataset=one_page,
        prompt="self-revision",
    )
    first, second = evaluation.asked
    (screenshot,) = pictures_in(first)
    original, attempt = pictures_in(second)
    assert original == screenshot
    with Image.open(io.BytesIO(attempt)) as picture:
        assert picture.convert("RGB").getcolors() == [(picture.width * picture.height, (0, 128, 0))]
    assert GREEN_PAGE in " ".join(texts_in(second))
    assert evaluation.score("hello").answer == reference
    assert evaluation.mean("paper.block_match") == pytest.approx(1)


def test_where_clip_is_measured_a_failure_counts_as_0_there_too(
    tmp_path: Path, one_page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "weights.onnx"
    weights.touch()  # enough to promise the score; nothing here gets as far as to use it
    monkeypatch.setenv("UIPROOF_CLIP", str(weights))
    evaluation = evaluate(tmp_path, lambda words, number: "", dataset=one_page, solver=generate())
    assert evaluation.mean("paper.clip") == evaluation.mean("paper.final") == 0


def test_an_answer_that_another_solver_got_is_judged_too(tmp_path: Path, one_page: str) -> None:
    reference = (Path(one_page) / "hello.html").read_text()
    evaluation = evaluate(
        tmp_path, lambda words, number: reference, dataset=one_page, solver=generate()
    )
    assert evaluation.mean("paper.block_match") == pytest.approx(1)


def test_judges_that_nobody_needs_end_while_the_event_loop_goes_on(
    tmp_path: Path, one_page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration, "IDLE_SECONDS", 0.2)
    (case,) = cases(Path(one_page))
    before = set(descendants(os.getpid()))

    async def as_in_a_notebook() -> None:
        with integration.warm_judges(BENCHMARK) as first:
            with integration.warm_judges(BENCHMARK) as second:
                assert first is second
            question = await first.call("pose", case)
            assert set(descendants(os.getpid())) - before
        deadline = time.monotonic() + 20
        while set(descendants(os.getpid())) - before or question.screenshot.exists():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        with integration.warm_judges(BENCHMARK) as third:
            assert third is not first

    asyncio.run(as_in_a_notebook())
    assert set(descendants(os.getpid())) <= before


def test_wrong_options_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no prompt 'shout'.*direct"):
        design2code(prompt="shout")
    with pytest.raises(InputError, match="no data set of that name"):
        design2code(dataset=str(tmp_path / "nowhere"))
    assert all(design2code(prompt=prompt) for prompt in PROMPTS)


@pytest.mark.parametrize(
    ("stop_reason", "finish"),
    [
        ("stop", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_length", Finish.LENGTH),
        ("content_filter", Finish.REFUSAL),
        ("unknown", Finish.OTHER),
    ],
)
def test_why_a_model_stopped_is_kept(stop_reason: StopReason, finish: Finish) -> None:
    reply = reply_of(output("words", stop_reason))
    assert (reply.finish, reply.text, reply.usage.output_tokens) == (finish, "words", 5)


def test_an_output_without_choices_is_an_empty_reply() -> None:
    assert reply_of(ModelOutput()).text == ""


@pytest.fixture
def completions_url() -> Iterator[str]:
    """A server that speaks chat completions and has nothing to say but a few words."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": "No page today."}
            answer = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "small",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
            }
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_command_line_finds_the_task(
    tmp_path: Path, one_page: str, completions_url: str
) -> None:
    command = [sys.executable, "-m", "inspect_ai", "eval", "uiproof/design2code"]
    command += ["--model", "openai-api/local/small", "--limit", "1", "-T", f"dataset={one_page}"]
    command += ["--display", "none", "--log-dir", str(tmp_path / "logs")]
    environment = {**os.environ, "LOCAL_BASE_URL": completions_url, "LOCAL_API_KEY": "none"}
    environment["UIPROOF_WORKERS"] = "1"
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(file))
    assert log.status == "success"
    assert log.eval.task == "uiproof/design2code"
    (score,) = log.samples[0].scores.values()
    assert score.value["paper.block_match"] == 0
    assert score.metadata["error"]["code"] == "answer_not_html"


def test_inspect_is_imported_by_its_tasks_only() -> None:
    code = "import sys, uiproof, uiproof.cli; sys.exit('inspect_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
