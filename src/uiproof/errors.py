"""Every error a user can meet, each with what to do about it.

Anything raised on purpose is a `UiproofError`: it has a `code` that stays stable in journals and
JSON files, a message that says what happened, and a `remedy` that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class UiproofError(Exception):
    """Base of all errors that uiproof raises on purpose."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel between processes; keyword-only arguments need help with that.
        return _rebuild, (type(self), self.message, self.remedy)


def _rebuild(kind: type[UiproofError], message: str, remedy: str) -> UiproofError:
    return kind(message, remedy=remedy)


class UsageError(UiproofError):
    """The command or call cannot be carried out as given."""

    code = "usage"
    exit_code = 2


class InputError(UsageError):
    """A file or folder that the user named is missing, unreadable or not what it should be."""

    code = "input"


class PageTooLargeError(InputError):
    """A page has more HTML than any browser shows within its time."""

    code = "page_too_large"


class MissingDependencyError(UiproofError):
    """Something that this machine needs is not installed."""

    code = "missing"
    exit_code = 3


def needs_extra(what: str, extra: str) -> MissingDependencyError:
    """Return the error for a feature whose packages are not installed."""
    return MissingDependencyError(what, remedy=f"pip install 'uiproof[{extra}]'")


class DownloadError(MissingDependencyError):
    """A download failed, or its content was wrong."""

    code = "download"


class TrackingError(UiproofError):
    """An experiment tracker refused a run: no login, no server, no permission."""

    code = "tracking"
    exit_code = 3


class StorageError(UiproofError):
    """The disk is full or read-only: nothing more can be written down."""

    code = "storage"
    exit_code = 3


class RenderError(UiproofError):
    """A page could not be rendered at all."""

    code = "render"


class BrowserDiedError(RenderError):
    """The browser died while it rendered a page."""

    code = "browser_died"


class PageTimeoutError(RenderError):
    """A page timed out and not even a partial picture could be taken."""

    code = "page_timeout"


class ReferenceRenderError(RenderError):
    """The reference page could not be rendered properly, so there is no score."""

    code = "reference"


class InternalError(UiproofError):
    """Something failed unexpectedly; `traceback` says where."""

    code = "internal"

    def __init__(self, message: str, *, remedy: str = "", traceback: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.traceback = traceback

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.remedy), {"traceback": self.traceback}


class WorkerStartError(UiproofError):
    """No worker could be started, so no case can be judged."""

    code = "worker_start"


class WorkerDiedError(UiproofError):
    """A worker process ended while it worked on a case."""

    code = "worker_died"


class NodeLostError(WorkerDiedError):
    """A machine of a cluster went away while it worked on a case."""

    code = "node_lost"


class OutOfMemoryError(UiproofError):
    """The machine, or a limit set on it, had no memory left for a case."""

    code = "out_of_memory"


class CaseTimeoutError(UiproofError):
    """A case took longer than its limit and its worker was replaced."""

    code = "case_timeout"


class MethodError(UiproofError):
    """A method gave no answer for a case."""

    code = "method"


class ModelError(MethodError):
    """A model's provider gave no answer to a request, however often it was asked."""

    code = "model"

    def __init__(self, message: str, *, remedy: str = "", attempts: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.attempts = attempts


class AnswerError(MethodError):
    """A model answered, but there is nothing in the answer to judge."""

    code = "answer"


class EmptyAnswerError(AnswerError):
    """The answer has no text."""

    code = "answer_empty"


class RefusedAnswerError(AnswerError):
    """The model, or a filter of its provider, declined to answer."""

    code = "answer_refused"


class NotHtmlAnswerError(AnswerError):
    """There is no HTML in the answer."""

    code = "answer_not_html"


class ModelAccessError(UiproofError):
    """No request to this model can work: wrong key, no such model, nothing left to pay with."""

    code = "model_access"
    exit_code = 3


class BudgetReachedError(UiproofError):
    """The limit on costs or requests that the user has set is reached."""

    code = "budget"
    exit_code = 4


class RunLockedError(UiproofError):
    """Another process is writing to this run."""

    code = "run_locked"
    exit_code = 2


class RunMismatchError(UiproofError):
    """A run directory holds results that were made with other settings."""

    code = "run_mismatch"
    exit_code = 2


def suggestion(given: str, known: Iterable[str], *, before: str = "", after: str = "") -> str:
    """Return `Did you mean …?` with the known names closest to the given one, if any.

    Each is shown between `before` and `after`.
    """
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known}
    close = get_close_matches(given.casefold(), names, n=3, cutoff=0.6)
    shown = (f"{before}{names[one]}{after}" for one in close)
    return f"Did you mean {' or '.join(shown)}?" if close else ""
