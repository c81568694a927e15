"""A second opinion on the verifier's verdicts: a chat model looks at the same pictures.

It does not see the verdict. Answers are cached like all others.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Record
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE, UNUSABLE
from uiproof.benchmarks.interaction2code.prompting import digest, fill
from uiproof.engine.progress import Progress, call_anywhere, make_progress
from uiproof.engine.run_sync import kept_at_url, run_place
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import AnswerError, InputError, UiproofError
from uiproof.files import write_atomic
from uiproof.models.types import Finish, Image, Message, Parameters, Request

if TYPE_CHECKING:
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ChatModel, ModelOptions

FILE = "opinions.json"  # beside the journal of a run
PARAMETERS = Parameters(max_tokens=2048)  # room for models that think first

_PICTURES = ("reference_before", "reference_after", "generated_before", "generated_after")
_ANSWER = '{"usable": true, "failure": "none", "reason": "one sentence"}'
_ANSWERS = {
    **dict.fromkeys(("true", "yes", "usable"), True),
    **dict.fromkeys(("false", "no", "unusable"), False),
}
_MOST_OBJECTS = 1_000  # that are looked at, from the end
_LETTER = re.compile(r"\W*(?:type\s+)?([a-j])(?:\W*$|[).:])")


@dataclass(frozen=True, slots=True)
class Opinion:
    """A model's opinion on an interaction, or the reason why there is none."""

    usable: bool | None = None
    failure: str | None = None  # `none` or one of `FAILURES`
    reason: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Opinions:
    """The opinions of one model on one run, and how far the verifier agrees with them."""

    model: str
    opinions: Mapping[str, Opinion]  # by the id of the case
    not_asked: int  # cases without pictures: their pages were never acted on
    usable: Mapping[str, Any]  # accuracy, kappa, n
    failure: Mapping[str, Any]

    @property
    def failed(self) -> int:
        """Return how many cases got no opinion though one was asked for."""
        return sum(one.error is not None for one in self.opinions.values())


def second_opinion(
    run: str | Path,
    model: str,
    *,
    quiet: bool = False,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
) -> Opinions:
    """Ask a chat model about every interaction of a run; writes `opinions.json` into the run.

        uiproof.second_opinion("runs/mine", "openai/gpt-4o").usable["kappa"]

    The agreement with the verifier goes into the summary of the run, too. A case that gets no
    opinion is written down with the reason; only where no case gets one is that an error.
    """
    from uiproof.models.chat import ModelOptions, connect

    directory = RunDirectory(run_place(run))
    with kept_at_url(directory.path):
        benchmark = directory.manifest.get("benchmark")
        if benchmark != "interaction2code":
            raise InputError(f"{run} is a run of {benchmark}, and opinions are on interactions.")
        options = (models or ModelOptions()).with_defaults(PARAMETERS)
        asked = connect(model, options=options, budget=budget)
        opinions, first_error = call_anywhere(
            lambda *, progress: asyncio.run(_ask_all(directory, asked, progress)),
            make_progress(quiet=quiet),
        )
        _write(directory, asked, opinions)
    if first_error is not None and opinions.failed == len(opinions.opinions):
        raise first_error
    return opinions


def opinion_in(text: str) -> Opinion:
    """Return the opinion in the last JSON object of an answer that holds one.

    Raises `AnswerError` where there is none.
    """
    decoder = json.JSONDecoder(strict=False)
    starts = deque((found.start() for found in re.finditer(r"\{", text)), maxlen=_MOST_OBJECTS)
    for start in reversed(starts):
        try:
            said, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        failure = _failure(said.get("failure"))
        usable = _ANSWERS.get(str(said.get("usable")).strip().lower())
        if failure is None and usable is None:
            continue
        if usable is None:
            usable = failure not in UNUSABLE
        return Opinion(usable, failure, str(said.get("reason") or ""))
    raise AnswerError(f"There is no opinion in the answer, which begins: {text[:120]!r}")


async def _ask_all(
    run: RunDirectory, model: ChatModel, progress: Progress
) -> tuple[Opinions, UiproofError | None]:
    records = [record for record in run.records() if record.details.get("verdict")]
    pictured = [record for record in records if all(map(record.artifacts.get, _PICTURES))]
    errors: list[UiproofError] = []
    turns = asyncio.Semaphore(model.concurrency)

    async def one(record: Record) -> Opinion:
        async with turns:
            try:
                reply = await model.ask(await asyncio.to_thread(_request, run, record))
                refused = reply.finish is Finish.REFUSAL
                opinion = (
                    Opinion(error="The model declined.") if refused else opinion_in(reply.text)
                )
            except UiproofError as error:
                errors.append(error)
                opinion = Opinion(error=error.message)
            except OSError as error:  # a picture is gone
                opinion = Opinion(error=str(error))
            progress.advance(failed=opinion.error is not None)
            return opinion

    progress.start(total=len(pictured), done=0, failed=0)
    try:
        given = await asyncio.gather(*map(one, pictured))
    finally:
        progress.stop()
        await model.close()
    opinions = {record.id: said for record, said in zip(pictured, given, strict=True)}
    verdicts = [record.details["verdict"] for record in pictured]
    found = Opinions(
        model=model.name,
        opinions=opinions,
        not_asked=len(records) - len(pictured),
        usable=_agreement([one["usable"] for one in verdicts], [one.usable for one in given]),
        failure=_agreement([one["failure"] for one in verdicts], [one.failure for one in given]),
    )
    return found, errors[0] if errors else None


def _request(run: RunDirectory, record: Record) -> Request:
    action = record.details.get("action") or {}
    value = f" {json.dumps(action['value'])}" if action.get("value") else ""
    shown = {name: Image(run.artifact(record.artifacts[name]).read_bytes()) for name in _PICTURES}
    said = fill(
        "opinion",
        action=f"{action.get('kind', 'click')}{value}",
        failures="\n".join(f"({letter}) {name}" for letter, name in FAILURES.items()),
        answer=_ANSWER,
        **shown,
    )
    return Request((Message("user", said),), PARAMETERS)


def _agreement(verdicts: Sequence[Any], opinions: Sequence[Any]) -> dict[str, Any]:
    from uiproof.stats.agreement import cohen_kappa

    pairs = [(a, b) for a, b in zip(verdicts, opinions, strict=True) if b is not None]
    if not pairs:
        return {"n": 0, "accuracy": None, "kappa": None, "low": None, "high": None}
    kappa = cohen_kappa([a for a, _ in pairs], [b for _, b in pairs])
    accuracy = sum(a == b for a, b in pairs) / len(pairs)
    bounds = {"kappa": kappa.value, "low": kappa.low, "high": kappa.high}
    return {"n": len(pairs), "accuracy": accuracy, **bounds}


def _write(run: RunDirectory, model: ChatModel, found: Opinions) -> None:
    agreement = {"model": found.model, "usable": found.usable, "failure": found.failure}
    content = {
        **agreement,
        "settings": model.settings,
        "prompt_digest": digest("opinion"),
        "failed": found.failed,
        "not_asked": found.not_asked,
        "opinions": {case: asdict(one) for case, one in found.opinions.items()},
    }
    write_atomic(run.path / FILE, json.dumps(content, indent=2) + "\n")
    run.write_summary({**run.summary, "opinion": agreement})


def _failure(said: Any) -> str | None:
    """Return the verifier's letter of a failure, from a letter, `(b)`, or its name."""
    if said is None or isinstance(said, (bool, int, float, list, dict)):
        return None
    text = str(said).strip().lower()
    if text in ("", "-") or text.startswith(("none", "no failure", "null")):
        return NONE
    if letter := _LETTER.match(text):
        return letter[1]
    return next((letter for letter, name in FAILURES.items() if name in text), None)
