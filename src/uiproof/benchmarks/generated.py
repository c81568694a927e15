"""Pages that reach `Scorer` or `uiproof serve`: HTML, a file, or all that a model wrote."""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmark import Completion
from uiproof.browser.source import PageSource
from uiproof.errors import PageTooLargeError, UsageError
from uiproof.models.answers import page_in
from uiproof.models.types import Finish, Reply

_LONGEST_COMPLETION = 4_000_000  # finding a page in more takes seconds; no model writes as much

Page = str | Path | PageSource  # HTML, a file, or a source made of them


def reference_page(page: Page) -> PageSource:
    """Return a page from HTML or from a file."""
    if isinstance(page, PageSource):
        return page
    if isinstance(page, Path):
        return PageSource.from_file(page)
    if not isinstance(page, str):
        raise UsageError(f"A page is HTML (str) or a file (Path), not {type(page).__name__}.")
    return PageSource.from_html(page)


def generated_page(generated: Page | Completion) -> PageSource:
    """Return a generated page; of a completion, the page that is found in it."""
    if not isinstance(generated, Completion):
        return reference_page(generated)
    if len(generated.text) > _LONGEST_COMPLETION:
        raise PageTooLargeError(
            f"The completion has more than {_LONGEST_COMPLETION:,} characters.",
            remedy="Give the page itself.",
        )
    return PageSource.from_html(page_in(Reply(generated.text, Finish.STOP)).html)


def page_and_flags(reply: Reply) -> tuple[str, tuple[str, ...]]:
    """Return the HTML in a reply, and what was unusual about it."""
    page = page_in(reply)
    return page.html, page.flags
