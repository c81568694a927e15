from __future__ import annotations

import os

import pytest
from playwright.sync_api import sync_playwright

from uiproof.browser.chromium import find_chromium


@pytest.fixture(scope="module")
def browser():
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=find_chromium().path, args=arguments, chromium_sandbox=not arguments
        )
        yield opened
        opened.close()


@pytest.fixture
def look(browser):
    """Opens a report from disk; at the end nothing may have been complained about or requested."""
    contexts, complaints = [], []

    def open_report(path, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith("data:")
                or request.url.split("#")[0] == path.as_uri()
                or complaints.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []
