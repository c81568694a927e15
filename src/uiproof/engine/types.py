"""The vocabulary of every benchmark: case, question, truth, method, judge, score, record.

A method only ever receives the question of a case; only the judge sees its truth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from uiproof.errors import MethodError

if TYPE_CHECKING:
    from uiproof.engine.context import Context

Question = TypeVar("Question")
Truth = TypeVar("Truth")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Case(Generic[Question, Truth]):
    """One item of a data set."""

    id: str
    question: Question
    truth: Truth


@dataclass(frozen=True, slots=True)
class BrokenCase:
    """What a data set yields in place of a case that it could not load."""

    id: str
    error: Exception


class Method(ABC, Generic[Question, Answer]):
    """What answers questions. It runs in the main process and may wait for servers."""

    # True where a method is given the truth, in its context; every table and chart says so.
    assisted: ClassVar[bool] = False
    needs_question: ClassVar[bool] = True  # False lets the engine skip making the question
    concurrency: int = 8  # how many questions may be in flight

    @property
    @abstractmethod
    def name(self) -> str:
        """How tables and run directories call it, for example `replay:predictions`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers; written into the run and compared on resume."""
        return {}

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders or files that answers refer to by path, for judges on machines without them."""
        return ()

    @abstractmethod
    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:
        """Answer one question; raise `MethodError` when there is no answer.

        `context` takes what is worth writing down and can show what an answer looks like.
        """

    def key(self, case_id: str) -> str | None:  # noqa: ARG002 - for methods that need it
        """What the answer depends on besides the question, such as a digest of a prediction file.

        When a run is continued, a finished case whose key has changed is done again; None says
        that there is nothing to compare. Called often: it must be quick.
        """
        return None

    async def close(self) -> None:
        """Let go of connections and models."""


class Judge(ABC, Generic[Question, Truth, Answer]):
    """What compares answers with truths. Made once per worker process, used for many cases.

    A case may be posed by one worker and scored by another.
    """

    def pose(self, case: Case[Question, Truth]) -> Question:
        """The question as the method gets it, with what has to be rendered for it."""
        return case.question

    def picture(
        self,
        case: Case[Question, Truth],  # noqa: ARG002 - for judges that can do it
        answer: Answer,  # noqa: ARG002
    ) -> bytes:
        """What an answer looks like, as PNG, for methods that revise what they made."""
        raise MethodError(f"{type(self).__name__} cannot show answers.")

    @abstractmethod
    def score(self, case: Case[Question, Truth], answer: Answer) -> Score:
        """Compare one answer with the truth of its case."""

    @abstractmethod
    def failure(self, case: Case[Question, Truth] | None) -> Score:
        """What a case scores when there is no answer or it cannot be judged.

        `case` is None where not even the case could be loaded (`BrokenCase`).
        Called in the main process: it must be quick, need no browser and never raise.
        """

    def close(self) -> None:
        """Close the browser and whatever else is held."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a judge says about one answer. Everything in it can be written as JSON."""

    scores: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)  # what reports draw: boxes, matches
    artifacts: Mapping[str, str] = field(default_factory=dict)  # name -> path inside the run
    flags: tuple[str, ...] = ()  # what was unusual, for example `generated:load_timeout`


@dataclass(frozen=True, slots=True)
class CaseError:
    """Why a case failed."""

    code: str  # the `code` of the error class
    stage: Literal["load", "pose", "answer", "score"]
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal: how a case ended."""

    id: str
    status: Literal["scored", "failed"]
    scores: Mapping[str, Any]
    error: CaseError | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage
    attempts: int = 1
    answer_key: str | None = None  # `Method.key` when the case was done
    calls: tuple[Mapping[str, Any], ...] = ()  # what each request to a model took
