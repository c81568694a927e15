"""What a report shows of single cases, which differs from benchmark to benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, Protocol

from uiproof.engine.rundir import RunDirectory
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.pictures import Pictures


class CaseView(Protocol):
    """The part of a page about the cases; made from a leaderboard, its runs and its pictures."""

    styles: ClassVar[tuple[str, ...]]  # files of this package, after those of the page itself
    scripts: ClassVar[tuple[str, ...]]

    def index(self) -> Mapping[str, Any]:
        """What the scripts know beside the leaderboard; `results` is the number of cases."""
        ...

    def places(self) -> Mapping[tuple[int, str], int]:
        """What the scripts' `openCase` wants for a case, by run and id; not all need have one."""
        ...

    def body(self) -> Iterator[str]:
        """The HTML, piece by piece."""
        ...


def case_view(board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures) -> CaseView:
    """The view for runs of one benchmark."""
    if board.benchmark == "grounding":
        from uiproof.report.gallery import Gallery

        return Gallery(board, runs, pictures)
    if board.benchmark == "interaction2code":
        from uiproof.report.interactions import Interactions

        return Interactions(board, runs, pictures)
    from uiproof.report.pages import Pages

    return Pages(board, runs, pictures)


def package_file(name: str) -> str:
    """The text of a file that lies beside this module."""
    return files("uiproof.report").joinpath(name).read_text("utf-8")


def safe_json(value: Any) -> str:
    """JSON that is safe inside a script element: no `<` means no tag and no comment can begin."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
