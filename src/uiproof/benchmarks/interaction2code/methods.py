"""Methods without a model: a tracing, and existing pages, found by their names.

    GENERATED/101/3-direct_prompt-gpt.html          for interaction 3 of page 101
    GENERATED/101/result/3-direct_prompt-gpt.html   the same, as published
    GENERATED/101/3.html                            the same
    GENERATED/101.html, GENERATED/101/index.html    for all interactions of page 101
    GENERATED/MODEL/101.html, MODEL_html/101.html   the same of several models, as WebVIA has them

The variant follows the number. Written as published, `PROMPT_prompt-MODEL`, it names both. With a
folder for each model, the variants are these folders.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmark import Method
from uiproof.benchmarks.interaction2code.cases import Answer, Form, Question
from uiproof.benchmarks.interaction2code.prompting import PROMPTS
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.errors import EmptyAnswerError, InputError, MethodError, UsageError, suggestion
from uiproof.files import path_suggestion
from uiproof.remote.mirror import local, name_of, shown
from uiproof.settings import Settings

MAX_BYTES = 50_000_000  # of one generated page; a model does not write more
_SINGLE = re.compile(r"(\d+)(?:[-_](.+))?", re.DOTALL)
_VARIANT = re.compile(r"(direct|cot|mark|critic|failure-aware)(?:[-_]prompt)?[-_](.+)", re.DOTALL)
_RECIPES = {"critic": "failure-aware"}  # the published files' name for it
_SUFFIXES = frozenset({".html", ".htm"})
_RESULTS = ("", "result", "results")  # folders of a page in which its predictions may be
_WHOLE = "index"  # the stem of a file in a page's folder that is made for all interactions
METHODS: Mapping[str, str] = {
    "blueprint": "traces the page, shows the pixels of the effect on the right action; no model",
    "blueprint:all": "the same with all interactions on one page",
    "replay:FOLDER": "existing pages: PAGE/K-*.html for interaction K, or PAGE.html for all",
}


def method(name: str) -> Method[Question, Answer]:
    """Return the method of this name, for example `blueprint` or `replay:predictions`."""
    if name in ("blueprint", "blueprint:all"):
        return Blueprint("all" if name.endswith(":all") else "single")
    if name.startswith("replay:") and len(name) > len("replay:"):
        return Replay(local(name.removeprefix("replay:")))
    raise UsageError(
        f"Interaction2Code has no method {name!r}.",
        remedy=f"{suggestion(name, METHODS)} Use one of: {', '.join(METHODS)}; a model such as "
        "openai/gpt-4o; or a function, my_module:function.".lstrip(),
    )


class Blueprint(Method[Question, Answer]):
    """Traces the page before and plays back the pixels of the effect."""

    concurrency = 2  # CPU-bound, but OCR releases the GIL

    def __init__(self, form: Form = "single") -> None:
        self.form = form

    @property
    def name(self) -> str:
        """Return `blueprint` or `blueprint:all`."""
        return "blueprint" if self.form == "single" else f"blueprint:{self.form}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what reads the text."""
        return {"ocr": f"rapidocr {version('rapidocr')}"}

    async def answer(
        self,
        case_id: str,  # noqa: ARG002
        question: Question,
        context: Context,  # noqa: ARG002
    ) -> Answer:
        """Return HTML with text, rectangles and pieces of the picture after."""
        from uiproof.benchmarks.interaction2code.blueprint import blueprint
        from uiproof.benchmarks.interaction2code.judging.text import Reader

        interactions = question.interactions if self.form == "all" else (question.interaction,)
        reader = Reader(Settings.from_environment().cache_dir / "readings")
        page = await asyncio.to_thread(blueprint, interactions, reader)
        return Answer(PageSource.from_html(page), self.form)


@dataclass(frozen=True, slots=True)
class _Prediction:
    file: Path
    form: Form
    variant: str = ""


@dataclass(frozen=True, slots=True)
class _Predictions:
    """The generated pages of a folder; none for a single file."""

    single: dict[tuple[str, str], list[_Prediction]]  # by page and interaction
    whole: dict[str, _Prediction]  # by page

    @property
    def variants(self) -> tuple[str, ...]:
        """Return the variants, ordered by model and prompt."""
        found = {one.variant for many in self.single.values() for one in many}
        return tuple(sorted(found, key=_order))


class Replay(Method[Question, Answer]):
    """Answers with the pages of a folder, or with the one page that a file is.

    `variant` chooses among several predictions for one interaction. Without it there may be only
    one for each, else `UsageError` lists them. `names` are display names of models.
    """

    needs_question: ClassVar[bool] = False

    def __init__(
        self,
        path: Path,
        *,
        variant: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.", remedy=path_suggestion(path))
        self._path, self._variant, self._names = path, variant, names or {}
        self._found = _find(path)
        self._check()

    @property
    def name(self) -> str:
        """Return model and prompt where file names say them, else `replay:FOLDER[:VARIANT]`."""
        if known := self._prompt_and_model:
            prompt, model = known
            return f"{self._names.get(model, model)} {prompt}"
        return f"replay:{self._path.name}" + (f":{self._variant}" if self._variant else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the folder, the variant, and prompt and model as far as their names say."""
        taken: dict[str, Any] = {"folder": name_of(self._path), "variant": self._variant}
        if known := self._prompt_and_model:
            taken["prompt"], taken["model"] = known
        return taken

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folder of the predictions and of the files that they show."""
        return (self._path,)

    @property
    def pages(self) -> frozenset[str]:
        """Return the pages that have some prediction; none for a single file."""
        return frozenset({page for page, _ in self._found.single} | self._found.whole.keys())

    @property
    def _prompt_and_model(self) -> tuple[str, str] | None:
        taken = self._found.variants if self._variant is None else (self._variant,)
        return _prompt_and_model(taken[0]) if len(taken) == 1 else None

    def key(self, case_id: str) -> str | None:
        """Return a digest of the prediction, so that a changed or added one is scored again."""
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
        """Return the prediction for an interaction: one for it alone before one for its page."""
        prediction = self._prediction(case_id)
        if prediction is None:
            page, _, interaction = case_id.rpartition("/")
            raise MethodError(
                f"{shown(self._path)} has no page for {case_id}.",
                remedy=f"Add {page}/{interaction}.html for it, or {page}.html for the whole page.",
            )
        return Answer(_read_page(prediction.file), prediction.form)

    def _prediction(self, case_id: str) -> _Prediction | None:
        if self._path.is_file():
            return _Prediction(self._path, "all")
        page, _, interaction = case_id.rpartition("/")
        for name in (page, ""):  # a folder may be that of the only page
            for one in self._found.single.get((name, _number(interaction)), ()):
                if self._variant is None or one.variant == self._variant:
                    return one
        return self._found.whole.get(page) or self._found.whole.get("")

    def _check(self) -> None:
        variants, folder = self._found.variants, shown(self._path)
        named = ", ".join(filter(None, variants))
        choice = "Its files have no variants in their names."
        if named:
            choice = (
                "Choose one with --variant, or score all with `uiproof score interaction2code`: "
                f"{named}."
            )
        if self._variant is not None and self._path.is_dir() and self._variant not in variants:
            raise UsageError(f"{folder} has no variant {self._variant!r}.", remedy=choice)
        for (page, interaction), many in self._found.single.items():
            if self._variant is None and len(many) > 1:
                where = f"interaction {interaction} of {page or self._path.name}"
                raise UsageError(f"{folder} has {len(many)} pages for {where}.", remedy=choice)


def model_folders(path: Path, pages: Collection[str]) -> dict[str, Path]:
    """Return the folders of models in a folder, by name: they hold `PAGE.html` for some pages.

    Empty where the folder holds pages itself, or folders of pages.
    """
    if not path.is_dir() or _pages(path):
        return {}
    below = sorted(entry for entry in path.iterdir() if entry.is_dir())
    if any(entry.name in pages or entry.name in _RESULTS for entry in below):
        return {}
    return {
        entry.name.removesuffix("_html"): entry
        for entry in below
        if any(file.stem in pages for file in _pages(entry))
    }


def all_variants(path: Path) -> tuple[str | None, ...]:
    """Return the variants of a folder that have to be scored on their own.

    `(None,)` where there is at most one prediction for each interaction.
    """
    found = _find(path)
    several = any(len(many) > 1 for many in found.single.values())
    return found.variants if several else (None,)


def _prompt_and_model(variant: str) -> tuple[str, str] | None:
    """Return `("mark", "gpt")` for a variant such as `mark_prompt-gpt`; else None."""
    match = _VARIANT.fullmatch(variant)
    return None if match is None else (_RECIPES.get(match[1], match[1]), match[2])


def _order(variant: str) -> tuple[str, int, str]:
    prompt, model = _prompt_and_model(variant) or ("", "")
    return model, list(PROMPTS).index(prompt) if prompt else len(PROMPTS), variant


def _find(root: Path) -> _Predictions:
    """Return the predictions below a folder; raise `InputError` where there are none."""
    found = _Predictions({}, {})
    if not root.is_dir():
        return found  # one page for everything

    def add(page: str, file: Path, match: re.Match[str]) -> None:
        many = found.single.setdefault((page, _number(match[1])), [])
        many.append(_Prediction(file, "single", match[2] or ""))

    for file in _pages(root):
        if (match := _SINGLE.fullmatch(file.stem)) and match[2]:
            add("", file, match)  # `3-….html`: the folder is that of one page
        else:
            page = "" if file.stem.lower() == _WHOLE else file.stem
            found.whole[page] = _Prediction(file, "all")
    for folder in sorted(entry for entry in root.iterdir() if entry.is_dir()):
        # `result` in the folder of the only page is not a page.
        page = "" if folder.name in _RESULTS else folder.name
        for below in _RESULTS:
            for file in _pages(folder / below):
                if match := _SINGLE.fullmatch(file.stem):
                    add(page, file, match)
                elif file.stem.lower() in (_WHOLE, page.lower()):
                    found.whole.setdefault(page, _Prediction(file, "all"))
    if not found.single and not found.whole:
        raise InputError(
            f"There are no pages in {shown(root)}.",
            remedy="Predictions are PAGE/K-anything.html for interaction K, or PAGE.html.",
        )
    return found


def _read_page(file: Path) -> PageSource:
    """Read a generated page; an empty or far too large one is a failed answer."""
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


def _pages(folder: Path) -> list[Path]:
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        entry
        for entry in entries
        if entry.suffix.lower() in _SUFFIXES and entry.is_file() and entry.name[0] != "."
    )


def _number(interaction: str) -> str:
    """Drop leading zeros, which one side may write and the other may not."""
    return interaction.lstrip("0") or "0" if interaction.isdecimal() else interaction
