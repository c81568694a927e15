"""Pages that exist already, found by the names of page and interaction.

    GENERATED/101/3-direct_prompt-gpt.html          for interaction 3 of page 101
    GENERATED/101/result/3-direct_prompt-gpt.html   the same, as published
    GENERATED/101/3.html                            the same
    GENERATED/101.html, GENERATED/101/index.html    for all interactions of page 101

What follows the number is the variant: which model, which prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmarks.interaction2code.cases import Answer, Form, Question
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.engine.types import Method
from uiproof.errors import EmptyAnswerError, InputError, MethodError, UsageError
from uiproof.remote.mirror import name_of, shown

MAX_BYTES = 50_000_000  # of one generated page; more is no page that a model wrote
_SINGLE = re.compile(r"(\d+)(?:[-_](.+))?", re.DOTALL)
_SUFFIXES = frozenset({".html", ".htm"})
_RESULTS = ("", "result", "results")  # folders of a page in which its predictions may be
_WHOLE = ("index",)  # stems of files in a page's folder that are made for all interactions


@dataclass(frozen=True, slots=True)
class _Prediction:
    file: Path
    form: Form
    variant: str = ""


class Replay(Method[Question, Answer]):
    """Answers with the pages of a folder, or with the one page that a file is.

    `variant` chooses among several predictions for one interaction. Without it there may be only
    one for each, else `UsageError` lists them.
    """

    needs_question: ClassVar[bool] = False

    def __init__(self, path: Path, *, variant: str | None = None) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
        self._path, self._variant = path, variant
        self._single: dict[tuple[str, str], list[_Prediction]] = {}
        self._whole: dict[str, _Prediction] = {}
        if path.is_dir():
            self._look_through(path)
            self._check()

    @property
    def name(self) -> str:
        """`replay:` with the folder, and the variant if there is one."""
        return f"replay:{self._path.name}" + (f":{self._variant}" if self._variant else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Where the predictions are, and which of them are taken."""
        return {"folder": name_of(self._path), "variant": self._variant}

    @property
    def folders(self) -> tuple[Path, ...]:
        """The predictions, with the files that they show."""
        return (self._path,)

    @property
    def pages(self) -> frozenset[str]:
        """The pages that there is some prediction for; empty says nothing about a single file."""
        return frozenset([page for page, _ in self._single] + list(self._whole))

    def key(self, case_id: str) -> str | None:
        """A digest of the prediction, so that a changed or added one is scored anew."""
        prediction = self._prediction(case_id)
        if prediction is None:
            return "missing"
        try:
            return hashlib.sha256(prediction.file.read_bytes()).hexdigest()[:16]
        except OSError:
            return "unreadable"

    async def answer(
        self,
        case_id: str,
        question: Question,  # noqa: ARG002 - the name decides
        context: Context,  # noqa: ARG002
    ) -> Answer:
        """The prediction for an interaction: one made for it alone before one for its page."""
        prediction = self._prediction(case_id)
        if prediction is None:
            page, _, interaction = case_id.rpartition("/")
            raise MethodError(
                f"{shown(self._path)} has no page for {case_id}.",
                remedy=f"Add {page}/{interaction}.html for it, or {page}.html for the whole page.",
            )
        return Answer(read_page(prediction.file), prediction.form)

    def _prediction(self, case_id: str) -> _Prediction | None:
        if self._path.is_file():
            return _Prediction(self._path, "all")
        page, _, interaction = case_id.rpartition("/")
        number = _number(interaction)
        for name in (page, ""):  # a folder may be that of the only page
            for one in self._single.get((name, number), ()):
                if self._variant is None or one.variant == self._variant:
                    return one
        return self._whole.get(page) or self._whole.get("")

    def _look_through(self, root: Path) -> None:
        for file in _pages(root):
            if (match := _SINGLE.fullmatch(file.stem)) and match[2]:
                self._add("", file, match)  # `3-….html`: the folder is that of one page
            elif file.stem.lower() in _WHOLE:
                self._whole[""] = _Prediction(file, "all")
            else:
                self._whole[file.stem] = _Prediction(file, "all")
        for folder in sorted(entry for entry in root.iterdir() if entry.is_dir()):
            # `result` in the folder of the only page is no page.
            page = "" if folder.name in _RESULTS else folder.name
            for below in _RESULTS:
                for file in _pages(folder / below):
                    if match := _SINGLE.fullmatch(file.stem):
                        self._add(page, file, match)
                    elif file.stem.lower() in (*_WHOLE, page.lower()):
                        self._whole.setdefault(page, _Prediction(file, "all"))
        if not self._single and not self._whole:
            raise InputError(
                f"There are no pages in {shown(root)}.",
                remedy="Predictions are PAGE/K-anything.html for interaction K, or PAGE.html.",
            )

    def _add(self, page: str, file: Path, match: re.Match[str]) -> None:
        found = self._single.setdefault((page, _number(match[1])), [])
        found.append(_Prediction(file, "single", match[2] or ""))

    def _check(self) -> None:
        variants = sorted({one.variant for many in self._single.values() for one in many})
        if self._variant is not None:
            if self._variant not in variants:
                raise UsageError(
                    f"{shown(self._path)} has no variant {self._variant!r}.",
                    remedy=_choice(variants),
                )
            return
        for (page, interaction), many in self._single.items():
            if len(many) > 1:
                raise UsageError(
                    f"{shown(self._path)} has {len(many)} pages for interaction {interaction} of "
                    f"{page or self._path.name}.",
                    remedy=_choice(variants),
                )


def read_page(file: Path) -> PageSource:
    """A generated page from a file; one that is empty or far too large is a failed answer."""
    try:
        size = file.stat().st_size
    except OSError as error:
        raise MethodError(f"{file} cannot be read: {error.strerror}.") from error
    if size > MAX_BYTES:
        raise MethodError(f"{file} has {size:,} bytes, more than {MAX_BYTES:,}.")
    source = PageSource.from_file(file)
    if not source.html.strip():
        raise EmptyAnswerError(f"{file} is empty.")
    return source


def _choice(variants: Iterable[str]) -> str:
    named = [variant for variant in variants if variant]
    if not named:
        return "Its files have no variants in their names."
    return f"Choose a variant with --variant: {', '.join(named)}."


def _pages(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(
            entry
            for entry in folder.iterdir()
            if entry.suffix.lower() in _SUFFIXES
            and entry.is_file()
            and not entry.name.startswith(".")
        )


def _number(interaction: str) -> str:
    """Interactions by number, also where one side writes leading zeros."""
    return interaction.lstrip("0") or "0" if interaction.isdecimal() else interaction
