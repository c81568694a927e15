"""The command line: verbs only. Each parses, calls one public function and prints.

Nothing but typer is imported before a verb runs, so that `uiproof --help` answers at once.
"""

from __future__ import annotations

from typing import NoReturn

from uiproof.cli import (  # noqa: F401 - they add their verbs
    cache,
    collect,
    export,
    grounding,
    interaction,
    machine,
    merge,
    opinion,
    results,
    run,
    score,
    serve,
    studio,
    submit,
    track,
)
from uiproof.cli.app import app
from uiproof.endings import ending_well


def main() -> NoReturn:
    """The entry point: turns every error into a message and an exit code."""
    ending_well(app)
