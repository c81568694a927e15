"""Labels that people give to results: the types that the studio and benchmarks share.

A *task* is a set of *items* to look at. Its kind decides what is said about an item: a `Judgement`
(can it be used, and what fails), a `Choice` (better or worse than another result), or a `Rating`.
A task may ask more `Question`s; every label holds the answers to them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from uiproof.errors import InputError

Kind = Literal["judge", "compare", "rate"]
KINDS: dict[Kind, str] = {
    "judge": "Usable or not, and what fails",
    "compare": "Which of two pages is better",
    "rate": "Your own questions about each page",
}
Outcome = Literal["win", "tie", "lose"]
OUTCOMES: tuple[Outcome, ...] = ("win", "tie", "lose")
NONE = "none"  # in place of a failure
LETTERS = "abcdefghij"  # each names a failure; a benchmark says which one

# The aspects of a label that are settled item by item; the keys of questions name further ones.
FACETS: dict[Kind, tuple[str, ...]] = {
    "judge": ("usable", "failure"),
    "compare": ("outcome",),
    "rate": (),
}

QuestionKind = Literal["choice", "scale", "text"]
QUESTION_KINDS: dict[QuestionKind, str] = {
    "choice": "Choice",
    "scale": "Scale 1 to 7",
    "text": "Free text",
}
SCALE = tuple(range(1, 8))
Answers = tuple[tuple[str, int | str], ...]  # the key of a question, and what was said
_MOST_QUESTIONS = 20
_MOST_OPTIONS = 12
_LONGEST_ANSWER = 4000
# Of a table of labels; what was said comes between them.
COLUMNS = ("case", "model", "prompt", "against", "by", "decision", "note", "at", "seconds")
_FIELDS = {"key", "ask", "kind", "options"}
_TAKEN = frozenset({"usable", "failure", "also", "outcome", *COLUMNS})


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a task: one of some options, a number from 1 to 7, or free text.

    The options of a scale are what its ends mean. Free text may be left empty.
    """

    key: str  # names it in files and tables
    ask: str
    kind: QuestionKind
    options: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the question as the store and exported files hold it."""
        return {"key": self.key, "ask": self.ask, "kind": self.kind, "options": list(self.options)}

    def checked(self, answer: object) -> int | str | None:
        """Return a valid answer, None for empty text; raise `InputError` for anything else."""
        if self.kind == "text":
            if not isinstance(answer, str | None) or len(answer or "") > _LONGEST_ANSWER:
                raise InputError(f"{self.ask} takes text of at most {_LONGEST_ANSWER} characters.")
            return (answer or "").strip() or None
        if self.kind == "scale" and isinstance(answer, int | float) and answer in SCALE:
            return int(answer)
        if self.kind == "choice" and isinstance(answer, str) and answer in self.options:
            return answer
        of = "a number from 1 to 7" if self.kind == "scale" else f"one of {', '.join(self.options)}"
        raise InputError(f"Not answered: {self.ask}", remedy=f"Choose {of}.")


def questions_from_json(content: object) -> tuple[Question, ...]:
    """Return the questions of a file or a form; raise `InputError` for invalid ones.

    Each is an object with `ask`, `kind` and for a choice `options`; `key` is made where it is
    missing.
    """
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise InputError("Questions are a list of objects.", remedy=_EXAMPLE)
    if len(content) > _MOST_QUESTIONS:
        raise InputError(f"A task has at most {_MOST_QUESTIONS} questions.")
    found: dict[str, Question] = {}
    for number, one in enumerate(content, start=1):
        question = _question(one, f"Question {number}", taken=found.keys() | _TAKEN)
        found[question.key] = question
    return tuple(found.values())


_EXAMPLE = (
    'For example: [{"ask": "How close is the layout?", "kind": "scale", "options": ["far off", '
    '"identical"]}, {"ask": "What is worst?", "kind": "choice", "options": ["text", "colours"]}].'
)


def _question(one: object, where: str, *, taken: Iterable[str]) -> Question:
    if not isinstance(one, Mapping) or not isinstance(one.get("ask"), str) or set(one) - _FIELDS:
        raise InputError(f"{where} is not an object with ask, kind and options.", remedy=_EXAMPLE)
    ask, kind, options = " ".join(one["ask"].split()), one.get("kind"), one.get("options") or ()
    if not 0 < len(ask) <= 300 or kind not in QUESTION_KINDS:
        raise InputError(
            f"{where} needs a text of at most 300 characters and a kind.",
            remedy=f"The kinds are {', '.join(QUESTION_KINDS)}.",
        )
    if not isinstance(options, list | tuple) or not all(isinstance(word, str) for word in options):
        raise InputError(f"The options of {ask!r} are not a list of texts.")
    options = tuple(dict.fromkeys(word for text in options if (word := " ".join(text.split()))))
    counts = {"choice": range(2, _MOST_OPTIONS + 1), "scale": (0, 2), "text": (0,)}
    if len(options) not in counts[kind] or any(len(word) > 100 for word in options):
        raise InputError(
            f"The options of {ask!r} do not fit.",
            remedy=f"A choice has 2 to {_MOST_OPTIONS} different ones, a scale none or what its "
            "two ends mean, a text none.",
        )
    given = one.get("key")
    key = given or re.sub(r"\W+", "_", ask.casefold()).strip("_")[:40].strip("_") or "question"
    if not isinstance(key, str) or not re.fullmatch(r"\w{1,60}", key):
        raise InputError(f"{given!r} cannot name a question.", remedy="Use letters, digits and _.")
    if given and key in taken:
        raise InputError(f"Two columns would be called {key!r}.", remedy="Use another key.")
    names = (key, *(f"{key}_{number}" for number in range(2, _MOST_QUESTIONS + 3)))
    return Question(next(name for name in names if name not in taken), ask, kind, options)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A label: usable or not, the main failure, and other failures."""

    usable: bool
    failure: str = NONE  # `none`, or one of `LETTERS`
    also: tuple[str, ...] = ()
    answers: Answers = ()

    def __post_init__(self) -> None:
        if not isinstance(self.usable, bool) or self.failure not in (NONE, *LETTERS):
            raise InputError(f"{self.failure!r} is not a failure.", remedy="Use none or a to j.")
        if self.also and self.failure == NONE:
            raise InputError("Other failures need a main one.", remedy="Choose the main failure.")
        if set(self.also) - set(LETTERS) or self.failure in self.also:
            raise InputError("The other failures must be letters a to j, without the main one.")
        object.__setattr__(self, "also", tuple(sorted(set(self.also))))

    def as_json(self) -> dict[str, Any]:
        """Return the label as the store and exported files hold it."""
        base = {"usable": self.usable, "failure": self.failure, "also": list(self.also)}
        return {**base, **_answers_json(self.answers)}


@dataclass(frozen=True, slots=True)
class Choice:
    """A label: better, equal or worse than the other result, independent of the side shown."""

    outcome: Outcome
    answers: Answers = ()

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise InputError(f"{self.outcome!r} is not an outcome.", remedy="Use win, tie or lose.")

    def as_json(self) -> dict[str, Any]:
        """Return the label as the store and exported files hold it."""
        return {"outcome": self.outcome, **_answers_json(self.answers)}


@dataclass(frozen=True, slots=True)
class Rating:
    """A label that holds nothing but the answers to a task's own questions."""

    answers: Answers = ()

    def as_json(self) -> dict[str, Any]:
        """Return the label as the store and exported files hold it."""
        return _answers_json(self.answers)


LabelValue = Judgement | Choice | Rating


def _answers_json(answers: Answers) -> dict[str, Any]:
    return {"answers": dict(answers)} if answers else {}


def value_from_json(
    kind: Kind, content: Mapping[str, Any], questions: Sequence[Question] = ()
) -> LabelValue:
    """Return the label that `as_json` wrote; raise `InputError` for anything else.

    Answers to questions that the task does not ask are refused; missing ones stay missing.
    """
    if not isinstance(content, Mapping):
        raise InputError("A label must be an object.")
    given = content.get("answers") or {}
    known = {question.key: question for question in questions}
    if not isinstance(given, Mapping) or not given.keys() <= known.keys():
        raise InputError("This label has answers to other questions than its task.")
    said = ((key, known[key].checked(given[key])) for key in known if key in given)
    answers = tuple((key, answer) for key, answer in said if answer is not None)
    try:
        if kind == "rate":
            return Rating(answers)
        if kind == "compare":
            return Choice(content["outcome"], answers)
        also = tuple(content.get("also") or ())
        return Judgement(content["usable"], content.get("failure", NONE), also, answers)
    except (KeyError, TypeError) as error:
        raise InputError(f"Not a label for a {kind} task: {dict(content)!r}.") from error


def facet_of(value: LabelValue, facet: str) -> Hashable:
    """Return one aspect of a label: one of `FACETS`, or the answer to a question."""
    if facet in ("usable", "failure", "outcome"):
        return getattr(value, facet, None)
    return dict(value.answers).get(facet)


@dataclass(frozen=True, slots=True)
class Item:
    """One result of one model to look at; in a comparison beside another one.

    `run` and `baseline` name run directories below the studio's folder of runs. Both are None for
    labels that were imported without their runs. Where any two methods are compared, `against` is
    the method of the other result; it is empty where all are compared with one baseline.
    """

    case: str  # the id in the run: `page/interaction` or a page
    model: str
    prompt: str = ""
    run: str | None = None
    baseline: str | None = None
    against: str = ""
    id: int = 0  # given by the store

    @property
    def method(self) -> str:
        """Return what answered: the model with its prompt."""
        return f"{self.model} {self.prompt}".strip()

    @property
    def page(self) -> str:
        """Return the page of the case; cases of one page are not independent."""
        return self.case.rpartition("/")[0] or self.case

    @property
    def interaction(self) -> str:
        """Return the number of the interaction on its page; empty for whole pages."""
        return self.case.rpartition("/")[2] if "/" in self.case else ""


@dataclass(frozen=True, slots=True)
class Task:
    """A set of items, and how many people look at each."""

    id: int
    kind: Kind
    title: str
    per_item: int
    created: str
    items: int  # how many
    benchmark: str | None = None  # None: not known, as in files of earlier versions
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotator:
    """A person who labels; the token opens the studio under this name."""

    id: int
    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Label:
    """The current label of one annotator for one item."""

    item: int
    annotator: int
    value: LabelValue
    note: str
    at: str
    seconds: float | None = None  # from seeing the item to saving


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A label with the page and the interaction that it is about."""

    page: str
    interaction: str  # `0` for whole pages
    value: LabelValue


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """All labels of one kind for one model with one prompt, as published files hold them."""

    kind: Kind
    model: str
    prompt: str
    labels: tuple[PlacedLabel, ...]
    problems: tuple[str, ...] = ()  # what could not be read
