"""What a page on a stage did that cannot be seen on it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from uiproof.browser.devtools import BrowserError
from uiproof.browser.snapshots import Events

if TYPE_CHECKING:
    from uiproof.browser.devtools import Session
    from uiproof.browser.guard import StageGuard

MOST_NOTED = 50  # of each kind of event
LONGEST_NOTE = 300  # characters
_BLOCKED_WINDOW = re.compile(r"Blocked opening '(.*)' in a new window")


class Notes:
    """Collects dialogs, windows, navigations, errors and downloads until they are asked for."""

    def __init__(self, guard: StageGuard) -> None:
        self._guard = guard
        self._dialogs: list[str] = []
        self._windows: list[str] = []
        self._errors: list[str] = []
        self._downloads: list[str] = []

    def listen_to(self, session: Session) -> None:
        """Hear what the browser tells about a tab."""
        session.on("Page.downloadWillBegin", self._note_download)
        session.on("Page.fileChooserOpened", lambda _: self._note(self._dialogs, "file: "))
        session.on("Log.entryAdded", self._note_refusal)
        try:
            session.send_all(
                [
                    ("Log.enable", {}),
                    ("Page.setInterceptFileChooserDialog", {"enabled": True}),
                ]
            )
        except BrowserError:  # an older browser: then there is only no record
            return

    def note_record(self, text: str) -> None:
        """Take what our script in the page says of dialogs, windows and errors."""
        try:
            kind, said = json.loads(text)
        except ValueError:
            return
        if kind == "window":
            self._note(self._windows, self._guard.short(said))
        elif kind == "error":
            self._note(self._errors, said.removeprefix("Uncaught ").removeprefix("Error: "))
        else:
            self._note(self._dialogs, f"{kind}: {said}")

    def take(self, mutations: dict[str, int]) -> Events:
        """Everything since the last time."""
        events = Events(
            mutations=mutations,
            dialogs=tuple(self._dialogs),
            windows=tuple(self._windows),
            navigations=tuple(self._guard.navigations[:MOST_NOTED]),
            errors=tuple(self._errors),
            downloads=tuple(self._downloads),
        )
        for notes in (self._dialogs, self._windows, self._errors, self._downloads):
            notes.clear()
        self._guard.navigations.clear()
        return events

    def _note_download(self, event: dict[str, Any]) -> None:
        self._note(self._downloads, self._guard.short(event["url"]))

    def _note_refusal(self, event: dict[str, Any]) -> None:
        """The browser refused something that the sandbox of the page does not allow."""
        if found := _BLOCKED_WINDOW.match(event["entry"].get("text", "")):
            self._note(self._windows, self._guard.short(found[1]))

    @staticmethod
    def _note(notes: list[str], text: str) -> None:
        if len(notes) < MOST_NOTED:
            notes.append(text[:LONGEST_NOTE])
