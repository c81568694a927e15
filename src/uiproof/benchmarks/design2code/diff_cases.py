"""Pairs of `uiproof diff`: pages, screenshots, folders of them, or a page of a server."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.design2code.cases import (
    PICTURES,
    Screenshot,
    pages_in,
    references_in,
    same_page,
)
from uiproof.browser.source import PageSource
from uiproof.errors import InputError, MissingDependencyError, UiproofError, UsageError
from uiproof.files import path_suggestion

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.api import Differ
    from uiproof.benchmarks.design2code.page_diff import PageDiff
    from uiproof.web import FrozenWeb

NOT_REPEATABLE = "fetched from a server: another run may show another page"


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference and what was generated for it; None where there is nothing."""

    id: str
    reference: Path
    generated: Path | PageSource | None


@dataclass(frozen=True, slots=True)
class DiffCase:
    """A pair that was compared, or why it could not be."""

    id: str
    found: PageDiff | None = None
    error: UiproofError | None = None

    @property
    def worst(self) -> float:
        """Return the impact of its worst difference; 1 where there is no page to compare."""
        if self.found is None:
            return 1.0
        return max((one.impact for one in self.found.differences), default=0.0)

    def as_json(self) -> dict[str, Any]:
        """Return the case as `--json` has it."""
        if self.found is None:
            return {"id": self.id, "differences": [], "error": str(self.error)}
        return {"id": self.id, **self.found.as_json()}


def headline(scores: Mapping[str, Any]) -> tuple[str, float | None]:
    """Return the profile that differences are charged in, and its score."""
    for profile in ("strict", "picture"):
        if isinstance(own := scores.get(profile), dict):
            final = own.get("final")
            return profile, own.get("mean_without_clip") if final is None else final
    return "", None


def is_url(generated: str) -> bool:
    """Tell whether a page of a server is meant."""
    return generated.startswith(("http://", "https://"))


@contextmanager
def opened(
    generated: str, *, allow_network: bool
) -> Iterator[tuple[Path | PageSource, Path | None]]:
    """Yield what was generated and, for a page of a server, an archive of what it loads.

    The page is fetched here, outside of the browser, and then shown without a network as all are.
    """
    if not is_url(generated):
        yield Path(generated), None
        return
    if not allow_network:
        raise UsageError(
            f"{generated} is on a server, and nothing is fetched unless you allow it.",
            remedy="Add --allow-network; only that server is asked.",
        )
    from uiproof.web.archive import record_site

    with tempfile.TemporaryDirectory(prefix="uiproof-diff-") as folder:
        archive = Path(folder) / "site"
        page, _ = record_site(generated, archive)
        yield PageSource.from_bytes(page), archive


def pairs(reference: Path, generated: Path | PageSource) -> list[Pair]:
    """Return what belongs together: two files, or all names of a folder of references."""
    given = [reference] if isinstance(generated, PageSource) else [reference, generated]
    for path in given:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.", remedy=path_suggestion(path))
    if isinstance(generated, PageSource):
        if reference.is_dir():
            raise UsageError(
                f"{reference} is a folder, but a URL is one page.",
                remedy="Give the page or screenshot that it should look like.",
            )
        return [Pair(reference.stem, reference, generated)]
    if reference.is_dir() != generated.is_dir():
        raise UsageError(
            f"{reference} and {generated} are a file and a folder.",
            remedy="Give two files, or two folders that hold pages of the same names.",
        )
    if reference.is_file():
        return [Pair(reference.stem, reference, generated)]
    wanted = references_in(reference)
    answers = pages_in(generated) or references_in(generated)
    if not wanted:
        raise InputError(
            f"There are no pages and no screenshots in {reference}.",
            remedy="References are files named N.html or N.png.",
        )
    found = [
        Pair(name, file, answers.get(same_page(name, answers))) for name, file in wanted.items()
    ]
    if not any(one.generated for one in found):
        raise UsageError(
            f"No page of {generated} has the name of one of {reference}.",
            remedy="Pages belong together by their names: 1.html is compared with 1.html.",
        )
    return found


def compare(differ: Differ, pair: Pair) -> DiffCase:
    """Compare a pair; what is wrong with it is in the case, what this machine lacks is raised."""
    try:
        if pair.generated is None:
            raise InputError(
                f"There is no generated page for {pair.id}.", remedy=f"Add {pair.id}.html."
            )
        reference: Any = pair.reference
        generated: Any = pair.generated
        if isinstance(generated, Path) and _is_picture(generated):
            # A screenshot has no elements, so both sides are compared as pictures.
            if not _is_picture(reference):
                reference = differ.diff(reference, reference).reference_picture
            generated = _shown(Screenshot.from_file(generated))
        return DiffCase(pair.id, differ.diff(reference, generated))
    except MissingDependencyError:
        raise
    except UiproofError as error:
        return DiffCase(pair.id, error=error)


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in PICTURES


def _shown(picture: Screenshot) -> PageSource:
    """Return a page that shows a screenshot and nothing else."""
    from uiproof.vision.images import size

    width, height = size(BytesIO(picture.data))
    kind = "png" if picture.data.startswith(b"\x89PNG") else "jpeg"
    source = f"data:image/{kind};base64,{b64encode(picture.data).decode()}"
    return PageSource.from_html(
        f'<!doctype html><body style="margin:0"><img src="{source}" width="{width}" '
        f'height="{height}" style="display:block">'
    )


def frozen_web(archive: Path | None) -> FrozenWeb | None:
    """Return the frozen web with an archive before it; None for the usual one."""
    from uiproof.web import FrozenWeb

    return None if archive is None else FrozenWeb.installed(archive)
