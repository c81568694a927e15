"""Records as a grounding run has them, made by the judge itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from uiproof.benchmark import Case, CaseError, Record
from uiproof.benchmarks.grounding.cases import Answer, AssistedFinding, Look, Question, Truth
from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType
from uiproof.benchmarks.grounding.judge import GroundingJudge
from uiproof.geometry import Box

WIDTH, HEIGHT = 1000, 1000
WHOLE_LOOK = Look(Box(0, 0, 1, 1), (WIDTH, HEIGHT))


def a_case(name, *, side=50, kind="button", tags=None, refusal=False):
    """A case `sample/element` whose element begins at (100, 100) and is a square of `side` px."""
    sample, _, element_id = name.partition("/")
    box = Box(0, 0, 0, 0) if refusal else Box(0.1, 0.1, side / WIDTH, side / HEIGHT)
    element = AnnotatedElement(
        element_id, box, "OK", ElementType(kind), "Click OK", refusal=refusal
    )
    other = AnnotatedElement("other", Box(0.8, 0.8, 0.1, 0.1), "No", ElementType.BUTTON, "Click No")
    question = Question(Path("a.png"), WIDTH, HEIGHT, "Click OK")
    truth = Truth(sample, element, (element, other), WIDTH, HEIGHT, tags or {})
    return Case(name, question, truth)


def scored(name, answer, *, calls=(), seconds=None, **more):
    """A case that was answered."""
    score = GroundingJudge().score(a_case(name, **more), answer)
    return Record(
        name,
        "scored",
        score.scores,
        details=score.details,
        calls=tuple(calls),
        seconds=seconds or {"answer": 0.5},
    )


def failed(name, code, *, broken=False, **more):
    """A case that failed with an error of this code."""
    score = GroundingJudge().failure(None if broken else a_case(name, **more))
    error = CaseError(code, "load" if broken else "answer", "It did not work.")
    return Record(name, "failed", score.scores, error=error, details=score.details)


def click(x, y, **more):
    return Answer(point=(x / WIDTH, y / HEIGHT), **more)


def hit(**more):
    return click(110, 110, **more)


def assisted(found, iou=0.0, *, answer=None, errors=()):
    return replace(answer or hit(), assisted=AssistedFinding(found, iou, "OK", tuple(errors)))
