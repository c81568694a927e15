"""How the command line ends: exit codes, and errors told in plain words."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from uiproof.errors import UiproofError

EXIT_FAILED_CASES = 1
EXIT_WRONG_USE = 2
EXIT_MISSING = 3
EXIT_UNEXPECTED = 70
EXIT_INTERRUPTED = 130

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# What a named file or folder can have wrong with it, wherever it is noticed.
_USER_ERRORS = {
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
}


def ending_well(command: Callable[[], object]) -> NoReturn:
    """Run a command and end the program: every error becomes a message and an exit code."""
    _end_by_signals()
    try:
        command()
    except SystemExit:
        # Where Ctrl-C struck inside of `exec`, as while a dataclass is being made, `python -m` ends
        # by the signal in place of the exit code, however that was handled. This makes it forget.
        exec("")
        raise
    except UiproofError as error:
        complain(error.message, error.remedy)
        sys.exit(exit_code_of(error))
    except Exception as error:
        from uiproof.engine.storage import storage_fault

        if _debugging():
            raise
        if fault := storage_fault(error):
            complain(fault.message, fault.remedy)
            sys.exit(fault.exit_code)
        if isinstance(error, OSError) and error.errno in _USER_ERRORS:
            complain(_in_words(error), "")
            sys.exit(EXIT_WRONG_USE)
        complain(
            f"Unexpected {type(error).__name__}: {error}",
            "Set UIPROOF_DEBUG=1 to see where, and please report it.",
        )
        sys.exit(EXIT_UNEXPECTED)
    sys.exit(0)


def _end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end a command as cleanly as Ctrl-C, however it was started.

    A shell script starts what it puts into the background (`&`) with SIGINT ignored. Somebody who
    sends that signal all the same means it, so it ends the command there, too. Only an ignored
    SIGHUP stays ignored: that is what `nohup` is for.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _press_ctrl_c)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _press_ctrl_c)


def _press_ctrl_c(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def exit_code_of(error: UiproofError) -> int:
    """How the program ends with an error."""
    # 1 is for runs that finished, so that scripts can tell them from those that did not.
    return EXIT_UNEXPECTED if error.exit_code == EXIT_FAILED_CASES else error.exit_code


def _debugging() -> bool:
    from uiproof.settings import Settings

    try:
        return Settings.from_environment(
            {"UIPROOF_DEBUG": os.environ.get("UIPROOF_DEBUG", "")}
        ).debug
    except UiproofError:  # malformed; there is something more important to tell
        return False


def _in_words(error: OSError) -> str:
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{where}{error.strerror}."


def complain(message: str, remedy: str) -> None:
    """Tell a person on standard error what is wrong, and what to do about it."""
    sys.stderr.write(f"uiproof: {message}\n")
    if remedy:
        sys.stderr.write(f"  {remedy}\n")
