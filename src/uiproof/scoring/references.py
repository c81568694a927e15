"""What generated pages are compared with, and the pages themselves, as cases and answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmarks.interaction2code.cases import Answer, Form, Question, Truth
from uiproof.benchmarks.interaction2code.graph import Graph
from uiproof.benchmarks.interaction2code.layout import FILE, check_pictures, read_graph
from uiproof.benchmarks.interaction2code.replay import MAX_BYTES
from uiproof.browser.snapshots import ActionKind
from uiproof.browser.source import PageSource
from uiproof.engine.types import Case
from uiproof.errors import EmptyAnswerError, InputError, MethodError, UsageError
from uiproof.models.answers import page_in
from uiproof.models.types import Finish, Reply

BenchmarkName = Literal["design2code", "interaction2code"]
Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels of the picture

_LONGEST_PATH = 1_000  # longer strings are no paths, and asking the system would be an error


@dataclass(frozen=True, slots=True)
class InteractionReference:
    """An interaction as pictures: the page before and after, and what is done in between.

        InteractionReference(before=png, after=png, action='click the "Menu" button')

    Pictures are PNG, JPEG or WebP files. The fields mean what they mean in `action.json`; see
    docs/interaction2code.md.
    """

    before: bytes
    after: bytes
    action: str = ""  # what is done, in English
    kind: ActionKind | None = None  # None: as the sentence says
    value: str | None = None  # the text to type, the option to select, the way to drag
    trigger: Box | None = None  # what is acted on, in the picture before
    effect: Box | None = None  # what appears or changes, in the picture after
    description: str = ""  # what the interaction does, in English
    tags: tuple[str, ...] = ()  # what is acted on, such as `button`
    visuals: tuple[str, ...] = ()  # what changes, such as `new component`
    viewport: tuple[int, int] | None = None  # the window; None: as the pictures tell

    def as_json(self) -> dict[str, Any]:
        """What `action.json` says about it."""
        entry: dict[str, Any] = {"src": "0", "dst": "1", "action": self.action}
        entry |= {"description": self.description}
        entry |= {"tag type": list(self.tags), "visual type": list(self.visuals)}
        given = {"kind": self.kind, "value": self.value}
        boxes = {"trigger": self.trigger, "effect": self.effect}
        entry |= {name: value for name, value in given.items() if value is not None}
        entry |= {name: list(box) for name, box in boxes.items() if box is not None}
        window = {} if self.viewport is None else {"viewport": list(self.viewport)}
        return {**window, "1": entry}


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote: its page is found as in a run, without fences, words and thoughts."""

    text: str


Page = str | Path | PageSource  # HTML, a file, or what the engine makes of them
Generated = Page | Completion
Reference = Page | InteractionReference | Case[Any, Any]


def as_case(reference: Reference, case_id: str = "") -> Case[Any, Any]:
    """The case behind a reference.

    A `str` is HTML. A `Path` is a page, or `FOLDER/N`: interaction N of the page folder that holds
    an `action.json`. A case of a data set is taken as it is.
    """
    if isinstance(reference, Case):
        return reference
    if isinstance(reference, InteractionReference):
        return Case(case_id, None, reference)
    if isinstance(reference, Path) and _names_interaction(reference):
        return interaction_case(read_graph(reference.parent), reference.name)
    return Case(case_id, None, as_source(reference))


def as_answer(
    case: Case[Any, Any], generated: Generated, form: Form = "single"
) -> PageSource | Answer:
    """A generated page as the judge of a case takes it; `MethodError` where it is none."""
    if isinstance(generated, Completion):
        page = PageSource.from_html(page_in(Reply(generated.text, Finish.STOP)).html)
    else:
        page = as_source(generated)
    if benchmark_of(case) == "design2code":
        return page
    if len(page.html) > MAX_BYTES:
        raise MethodError(f"The page has {len(page.html):,} bytes, more than {MAX_BYTES:,}.")
    if not page.html.strip():
        raise EmptyAnswerError("The page is empty.")
    return Answer(page, form)


def benchmark_of(reference: Reference) -> BenchmarkName:
    """Which benchmark judges a case, or what is compared with a reference."""
    truth = reference.truth if isinstance(reference, Case) else reference
    interaction = isinstance(truth, InteractionReference | Truth) or (
        isinstance(truth, Path) and _names_interaction(truth)
    )
    return "interaction2code" if interaction else "design2code"


def as_source(page: Page) -> PageSource:
    """A page from HTML or from a file."""
    if isinstance(page, PageSource):
        return page
    if isinstance(page, Path):
        return PageSource.from_file(page)
    if not isinstance(page, str):
        raise UsageError(f"A page is HTML (str) or a file (Path), not {type(page).__name__}.")
    if page and "<" not in page and len(page) < _LONGEST_PATH and _is_file(page):
        raise UsageError(
            f"{page!r} names a file, but a str is taken for HTML.",
            remedy="Give a pathlib.Path to score a file.",
        )
    return PageSource.from_html(page)


def interaction_case(graph: Graph, number: str) -> Case[Question, Truth]:
    """One interaction of a page; raises `InputError` where it cannot be used."""
    if number in graph.broken:
        raise graph.broken[number]
    for interaction in graph.interactions:
        if interaction.id == number:
            check_pictures(graph, interaction)
            truth = Truth(graph, interaction)
            return Case(f"{graph.page}/{number}", Question(graph, interaction), truth)
    numbers = ", ".join(one.id for one in graph.interactions)
    raise InputError(
        f"Page {graph.page} has no interaction {number}.", remedy=f"It has: {numbers}."
    )


def _names_interaction(path: Path) -> bool:
    return path.name.isdecimal() and (path.parent / FILE).is_file() and not path.is_file()


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
