"""Data sets whose annotations people correct in the studio.

    class MyBenchmark(Benchmark):
        def editor(self, path): return MyEditor(path) if is_mine(path) else None

A data set is only read. The studio keeps the corrected state of each entry (a screenshot or a
page), and hands all of them to `DatasetEditor.export`, which writes a new data set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from uiproof.errors import InputError
from uiproof.files import access
from uiproof.geometry import PixelBox

Size = tuple[int, int]
Form = Literal["shot", "page"]
Edges = tuple[StrictInt, StrictInt, StrictInt, StrictInt]  # left, top, right, bottom in pixels
Text = Annotated[str, Field(max_length=20_000)]
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_PICTURE_HEADS = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/webp": (b"RIFF", b"WEBP"),
}


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """One entry in the list of a data set."""

    name: str
    count: int  # of boxes or interactions
    done: bool
    changed: bool
    node: str | None = None  # which picture of the entry to show
    note: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file to write; its source may be gone when the next one is asked for."""

    name: str  # with slashes
    source: Path


class DatasetEditor(ABC):
    """The annotations of one data set: read, checked and exported.

    The state of an entry is what JSON can hold, with `done` at its top.
    """

    # The page that edits an entry: boxes on a screenshot, or the interactions of a page.
    form: ClassVar[Form]
    path: Path
    name: str  # as the user names it
    format: str

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of all entries, in order."""

    @abstractmethod
    def summary(self, name: str, state: Mapping[str, Any] | None) -> EntrySummary:
        """Return an entry as lists show it; `state` is its correction, if there is one."""

    @abstractmethod
    def picture(self, name: str, node: str | None = None) -> tuple[Path, Size]:
        """Return a picture of an entry and its size; raise `InputError` for any other file."""

    @abstractmethod
    def view(self, name: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what the editing page shows: `state` for its script, and values of its template.

        Raises `InputError` for an entry that cannot be edited.
        """

    @abstractmethod
    def checked(self, name: str, content: Any) -> dict[str, Any]:
        """Return a state that a browser sent as it is kept; raise `InputError` if it is invalid."""

    @abstractmethod
    def export(
        self, states: Mapping[str, Mapping[str, Any]], *, only_done: bool
    ) -> Iterator[ExportFile]:
        """Yield the files of the data set with these corrections."""

    def stamp(self) -> object:
        """Return what changes with the annotations, if reading them again is slow; else None."""
        return None


class State(BaseModel):
    """The base of states: unknown keys are dropped."""

    model_config = ConfigDict(extra="ignore", frozen=True)


S = TypeVar("S", bound=State)


def parse_state(model: type[S], content: Any) -> S:
    """Return a state that a browser sent; raise `InputError` that names the first mistake."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "The content"
        raise InputError(f"{where[:80]}: {first['msg']}.") from error


def check_inside(edges: Edges | None, size: Size) -> None:
    """Raise `InputError` unless a box lies on a picture of this size."""
    if edges is None:
        return
    left, top, right, bottom = edges
    if not (0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]):
        raise InputError(f"The box {list(edges)} is not inside a picture of {size[0]} x {size[1]}.")


def edges_of(box: PixelBox | None) -> Edges | None:
    """Return a box as states hold it."""
    return None if box is None else (box.left, box.top, box.right, box.bottom)


def is_done(state: Mapping[str, Any] | None) -> bool:
    """Return whether an entry was marked as done."""
    return state is not None and state.get("done") is True


def picture_type(path: Path) -> str:
    """Return the media type of a picture by its first bytes; raise `InputError` for others."""
    with access(path, "read"), path.open("rb") as file:
        head = file.read(12)
    for kind, (begin, end) in _PICTURE_HEADS.items():
        if head.startswith(begin) and head.endswith(end):
            return kind
    raise InputError(f"{path.name} is not a PNG, JPEG or WebP picture.")


def picture_inside(path: Path, *folders: Path) -> Path:
    """Return the file behind a path; raise `InputError` if it is in none of the folders, or hidden.

    Links are followed, so a link out of a data set is refused.
    """
    with access(path, "read"):
        real = path.resolve(strict=True)
        homes = [folder.resolve() for folder in folders]
    within = [real.relative_to(home).parts for home in homes if real.is_relative_to(home)]
    shown = [parts for parts in within if not any(part.startswith(".") for part in parts)]
    if not real.is_file() or not shown:
        raise InputError(f"{path.name} is not in the folder of its data set.")
    return real
