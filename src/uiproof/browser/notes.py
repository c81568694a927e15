"""What a page on a stage did that cannot be seen on it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from uiproof.browser.snapshots import Events

if TYPE_CHECKING:
    from playwright.sync_api import Page

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

    def listen_to(self, tab: Page) -> None:
        """Hear what Playwright tells about a tab."""
        tab.on("pageerror", lambda error: self._note(self._errors, str(error)))
        tab.on("download", lambda one: self._note(self._downloads, self._guard.short(one.url)))
        tab.on("filechooser", lambda _: self._note(self._dialogs, "file: "))
        tab.on("dialog", lambda dialog: dialog.dismiss())

    def note_call(self, event: dict[str, Any]) -> None:
        """One of our hooks in the page was called."""
        if event["name"] != "uiproofTell":
            return
        try:
            kind, text = map(str, json.loads(event["payload"]))
        except (ValueError, TypeError, RecursionError):
            return  # not from our hook
        if kind == "window":
            self._note(self._windows, self._guard.short(text))
        else:
            self._note(self._dialogs, f"{kind}: {text}")

    def note_refusal(self, event: dict[str, Any]) -> None:
        """The browser refused something that the sandbox of the page does not allow."""
        if found := _BLOCKED_WINDOW.match(event["entry"].get("text", "")):
            self._note(self._windows, self._guard.short(found[1]))

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

    @staticmethod
    def _note(notes: list[str], text: str) -> None:
        if len(notes) < MOST_NOTED:
            notes.append(text[:LONGEST_NOTE])
