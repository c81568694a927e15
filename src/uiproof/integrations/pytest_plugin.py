"""The pytest fixture `uiproof`, which asserts that pages look like their designs.

    def test_the_page(uiproof):
        uiproof.assert_similar("page.html", reference="design.png", strict=0.9)

Only pytest is imported until the fixture is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from uiproof.benchmark import Scores

REPORTS = "uiproof-reports"
STRICT = 0.9


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the folder of reports."""
    text = "folder for the reports of failed pages"
    parser.getgroup("uiproof").addoption("--uiproof-reports", metavar="DIR", help=text)
    parser.addini("uiproof_reports", f"{text} (default: {REPORTS})", default=REPORTS)


@pytest.fixture(scope="session")
def _uiproof_scorers() -> Iterator[dict[str, Any]]:
    scorers: dict[str, Any] = {}
    yield scorers
    for scorer in scorers.values():
        scorer.close()


@pytest.fixture
def uiproof(request: pytest.FixtureRequest, _uiproof_scorers: dict[str, Any]) -> PageAssertions:
    """Compare pages with designs; see `PageAssertions.assert_similar`."""
    chosen = request.config.getoption("--uiproof-reports")
    folder = Path(chosen or request.config.getini("uiproof_reports"))
    return PageAssertions(
        beside=request.path.parent,
        root=request.config.rootpath,
        reports=request.config.rootpath / folder,
        test=request.node.name,
        scorers=_uiproof_scorers,
    )


class PageAssertions:
    """The methods of the fixture `uiproof`."""

    def __init__(
        self, *, beside: Path, root: Path, reports: Path, test: str, scorers: dict[str, Any]
    ) -> None:
        self._beside, self._root, self._reports = beside, root, reports
        self._test, self._scorers = test, scorers

    def score(self, page: Any, *, reference: Any, **judge_options: Any) -> Scores:
        """Return the scores of a page against its reference, as `uiproof.score_page` does.

        Both are HTML, or files relative to the test or to the root of the tests.
        """
        from uiproof.scoring.scorer import Scorer

        key = repr(sorted(judge_options.items()))
        if key not in self._scorers:
            self._scorers[key] = Scorer(workers=1, **judge_options)
        scored: Scores = self._scorers[key].score(self._found(reference), self._found(page))
        return scored

    def assert_similar(
        self,
        page: Any,
        *,
        reference: Any,
        strict: float | None = None,
        paper: float | None = None,
        picture: float | None = None,
        **judge_options: Any,
    ) -> Scores:
        """Fail unless a page reaches the given scores against its reference; return its scores.

        `strict` and `paper` are minimum means without CLIP of these profiles, by default
        `strict=0.9`. A screenshot as the reference has only the profile `picture`, the scores of
        `strict` measured on pixels, so there `strict` means `picture`. Options such as
        `viewport="390x844"` are those of `uiproof.score_page`.
        """
        __tracebackhide__ = True
        from uiproof.errors import UsageError

        scores = self.score(page, reference=reference, **judge_options)
        demanded = {"strict": strict, "paper": paper, "picture": picture}
        wanted = {name: least for name, least in demanded.items() if least is not None}
        short = []
        for name, least in (wanted or {"strict": STRICT}).items():
            profile = "picture" if name == "strict" and "picture" in scores else name
            if not isinstance(scores.get(profile), dict):
                other = "a page" if profile == "paper" else "a screenshot"
                raise UsageError(
                    f"There is no score {profile!r}: it needs {other} as the reference.",
                    remedy="Use strict=, which every reference has.",
                )
            value = scores[profile]["mean_without_clip"]
            if value < least:
                short.append(f"{profile} {value:.3f} is less than {least:g}")
        if short:
            lines = [f"{page!s:.80} is not similar to {reference!s:.80}: {'; '.join(short)}"]
            lines += [f"  {name}: {value}" for name, value in _parts(scores)]
            lines += [f"  flags: {', '.join(scores.flags)}"] if scores.flags else []
            lines.append(f"  report: {self._report(page, reference, judge_options)}")
            raise AssertionError("\n".join(lines))
        return scores

    def _found(self, given: Any) -> Any:
        """Return the file with a given name; anything else, such as HTML, is returned unchanged."""
        if isinstance(given, str) and "<" not in given:
            for folder in (self._beside, self._root):
                if (folder / given).is_file():
                    return folder / given
            from uiproof.errors import InputError
            from uiproof.files import path_suggestion

            raise InputError(
                f"There is no file {given} in {self._beside} or {self._root}.",
                remedy=path_suggestion(self._beside / given),
            )
        return given

    def _report(self, page: Any, reference: Any, judge_options: dict[str, Any]) -> Path | str:
        """Score again into a run directory; return the path of its report, or the error."""
        import uiproof
        from uiproof.errors import UiproofError
        from uiproof.scoring.pool import find_case

        name = re.sub(r"[^\w.-]+", "-", self._test).strip("-.")[:100] or "test"
        folder = self._reports / name
        try:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)  # of an earlier failure
            folder.mkdir(parents=True)
            files = [
                _as_file(self._found(given), folder / f"{kind}.html")
                for kind, given in (("reference", reference), ("generated", page))
            ]
            benchmark, _ = find_case(files[0])
            run = uiproof.score(
                benchmark.name,
                *files,
                out=folder / "run",
                workers=1,
                quiet=True,
                **judge_options,
            )
            return uiproof.write_report([run], folder / "report.html")
        except (OSError, UiproofError) as error:
            return f"could not be written: {error}"


def _as_file(given: Any, path: Path) -> Path:
    if isinstance(given, Path):
        return given
    if isinstance(given, bytes):  # a screenshot
        path = path.with_suffix(".png")
        path.write_bytes(given)
        return path
    path.write_text(str(given), encoding="utf-8")
    return path


def _parts(scores: Scores) -> Iterator[tuple[str, str]]:
    for profile, values in scores.items():
        if isinstance(values, dict):
            known = (f"{name} {value:.3f}" for name, value in values.items() if _is_number(value))
            yield profile, ", ".join(known)
        elif _is_number(values):
            yield profile, f"{values:.3f}"


def _is_number(value: Any) -> bool:
    with suppress(TypeError):
        return value is not None and abs(value) >= 0
    return False
