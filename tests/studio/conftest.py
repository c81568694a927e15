from __future__ import annotations

import os

import pytest
from playwright.sync_api import sync_playwright
from studio_server import running_studio

from uiproof.browser.chromium import find_chromium


@pytest.fixture
def studio(tmp_path):
    with running_studio(tmp_path / "runs") as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    # Browsers on a desktop keep frames of other origins in processes of their own.
    arguments = ["--site-per-process"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=find_chromium().path,
            args=arguments,
            chromium_sandbox=os.geteuid() != 0,
        )
        yield opened
        opened.close()


@pytest.fixture
def look(browser):
    """Opens addresses of a studio as its owner; nothing may be complained about.

    The owner labels under the first name there is.
    """
    opened, complaints = [], []

    def open_page(server, address="/runs", width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        opened.append((server, context))
        server.closing.append(context.close)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(server.owner_url)
        context.add_cookies([{"url": server.url, **cookie} for cookie in server.first_name()])
        page.goto(server.url + address)
        return page

    yield open_page
    for server, context in opened:
        if context.close in server.closing:  # else the server was there for the test alone
            server.closing.remove(context.close)
            context.close()
    assert complaints == []
