"""Design2Code data: folders of pages or of screenshots, or two files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from uiproof.annotation import Annotation
from uiproof.benchmark import Case
from uiproof.errors import InputError

PLACEHOLDER = "rick.jpg"  # the image that stands for every image of a published page
PAGES = (".html", ".htm")
COMPONENTS = (".jsx", ".tsx", ".vue")  # answers that `models.components` makes pages of
PICTURES = (".png", ".jpg", ".jpeg")
_MOST_PICTURE_BYTES = 64 * 2**20
_INTERACTIONS = ("action.json", "graph.json")  # beside screenshots of a page's states
_DEEPEST = 6  # folders below that of a data set
# Folders that hold parts of pages, and what tools leave behind.
_ASSET_FOLDERS = frozenset(
    (
        *("assets", "css", "fonts", "images", "img", "js", "media", "static", "styles"),
        *("node_modules", "vendor", "__pycache__", "__MACOSX"),
    )
)
_FRAME = re.compile(
    rb"<(?:i?frame|object|embed)\b[^>]*?\b(?:src|data)\s*=\s*[\"']?([^\"'\s>?#]+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Question:
    """The part of a page that a method sees."""

    screenshot: Path | None = None  # a PNG of the whole page; made by the judge
    texts: tuple[str, ...] = ()  # all texts of the page, for the text-augmented prompt


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture of a page whose source is not known."""

    data: bytes
    path: Path | None = None  # the file that it was read from

    @classmethod
    def from_file(cls, path: Path) -> Screenshot:
        """Read a picture from a file."""
        try:
            if path.stat().st_size > _MOST_PICTURE_BYTES:
                raise InputError(
                    f"{path} has more than {_MOST_PICTURE_BYTES >> 20} MB.",
                    remedy="Save the screenshot as PNG.",
                )
            return cls(path.read_bytes(), path.resolve())
        except OSError as error:
            raise InputError(
                f"Cannot read the screenshot {path}: {error.strerror or error}.",
                remedy="Check the path and its permissions.",
            ) from error

    @property
    def key(self) -> str:
        """Return a digest of the picture."""
        return hashlib.sha256(self.data).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Truth:
    """The page itself, or a screenshot where there is no page."""

    page: Path

    @property
    def is_picture(self) -> bool:
        """Return whether only a screenshot is known."""
        return self.page.suffix.lower() in PICTURES


Design2CodeCase = Case[Question, Truth]


def recognises(path: Path) -> bool:
    """Return whether a path is a page or a screenshot, or a folder that holds some."""
    # With one of these it is a page of interactions that has its source or states beside it.
    if any((path / name).is_file() for name in _INTERACTIONS):
        return False
    # Data of other benchmarks has annotations beside its pictures.
    annotated = not path.is_file() and _files(path, (".json", ".jsonl", ".csv", ".parquet"))
    found = references_in(path).values()
    return any(file.suffix.lower() in PAGES or not annotated for file in found)


def references_in(path: Path) -> dict[str, Path]:
    """Return the pages of a data set by id, and the screenshots of folders without pages."""
    return _found(_side(path, "reference"), PAGES, PICTURES)


def pages_in(path: Path) -> dict[str, Path]:
    """Return the generated pages and components of a folder by id; of a file, that one alone."""
    return _found(_side(path, "predictions"), (*PAGES, *COMPONENTS), ())


def _side(path: Path, side: str) -> Path:
    """Return the folder of one side of a run of VLMEvalKit, else the path itself.

    It leaves `Design2Code/predictions/N.html` and `Design2Code/reference/N.html` beside its table.
    """
    for folder in (path, path / "Design2Code"):
        if all((folder / one).is_dir() for one in ("predictions", "reference")):
            return folder / side
    return path


def same_page(name: str, wanted: Container[str]) -> str:
    """Return the id among those wanted that an answer's name means: `a` and `a/index` are one."""
    for one in (name, name.removesuffix("/index"), f"{name}/index"):
        if one in wanted:
            return one
    return name


def beside(page: Path) -> Path | None:
    """Return the screenshot that lies beside a page under its name."""
    found = (page.with_suffix(suffix) for suffix in PICTURES)
    return next((picture for picture in found if picture.is_file()), None)


class PageAnnotation(Annotation):
    """Whole pages, compared or rated."""

    def reference_files(self, case: Design2CodeCase) -> Mapping[str, Path]:
        """Return the screenshot beside a page, or the page."""
        return {"Screenshot": beside(case.truth.page) or case.truth.page}


def cases(path: Path) -> Iterable[Design2CodeCase]:
    """Yield the cases of a folder in the published layout, or of one page or screenshot."""
    found = references_in(path)
    if not found:
        raise InputError(
            f"There are no pages in {path}.",
            remedy="A Design2Code data set is a folder of N.html files with their images, or of "
            "N.png screenshots.",
        )
    return [Case(name, Question(), Truth(file.resolve())) for name, file in found.items()]


def _found(path: Path, kinds: tuple[str, ...], pictures: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of a folder and of those below it by id, in natural order.

    The id is the path without its suffix. Pictures count in folders without a page only: beside
    pages they are parts of them.
    """
    if path.is_file():
        return {path.stem: path} if path.suffix.lower() in (*kinds, *pictures) else {}
    if not path.is_dir():
        return {}
    found: dict[str, Path] = {}
    frames: set[Path] = set()  # that the pages so far show
    for folder in _folders(path):
        files = _files(folder, kinds)
        if not files and pictures:
            files = [file for file in _files(folder, pictures) if file.name != PLACEHOLDER]
        if folder != path and files:
            frames |= _frames(page for page in found.values() if page.parent in folder.parents)
        for file in files:
            if file.resolve() in frames:
                continue
            stem = file.relative_to(path).with_suffix("").as_posix()
            # Two pages that differ only in their suffix are two pages.
            name = f"{stem}{file.suffix}" if stem in found else stem
            found[name] = file
    return found


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and those below it that may hold pages, in natural order."""
    yield path
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        if len(folder.relative_to(path).parts) >= _DEEPEST:
            continue
        try:
            below = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        named = sorted(below, key=lambda entry: _natural(entry.name))
        chosen = [Path(entry.path) for entry in named if _may_hold_pages(Path(entry.path))]
        yield from chosen
        waiting += reversed(chosen)


def _may_hold_pages(folder: Path) -> bool:
    """Return whether a folder is neither a part of a page nor a run nor data of another kind."""
    name = folder.name
    if _is_hidden(name) or name.lower() in _ASSET_FOLDERS or name.endswith(("_files", ".files")):
        return False
    return not any((folder / other).exists() for other in ("run.json", *_INTERACTIONS))


def _files(folder: Path, kinds: tuple[str, ...]) -> list[Path]:
    """Return the files of some kinds in a folder; where stems are equal, in the order of kinds."""
    try:
        found = [
            entry
            for entry in folder.iterdir()
            if entry.suffix.lower() in kinds
            and entry.is_file()
            and not _is_hidden(entry.name)  # what some systems leave beside the real files
        ]
    except OSError:
        return []
    order = {kind: place for place, kind in enumerate(kinds)}
    # `1.html` comes before `1.HTML`.
    return sorted(
        found,
        key=lambda file: (_natural(file.stem), order.get(file.suffix, len(order)), file.suffix),
    )


def _frames(pages: Iterable[Path]) -> set[Path]:
    """Return the files that pages show in frames, which are no pages of their own."""
    found: set[Path] = set()
    for page in pages:
        try:
            data = page.read_bytes()
        except OSError:
            continue
        for name in _FRAME.findall(data):
            relative = PurePosixPath(unquote(name.decode("utf-8", "replace")).lstrip("/"))
            try:
                found.add((page.parent / relative).resolve())
            except (OSError, ValueError):
                continue
    return found


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _natural(stem: str) -> tuple[int, int, str]:
    """Return numbers in their order before names in theirs."""
    return (0, int(stem), "") if stem.isdecimal() else (1, 0, stem)
