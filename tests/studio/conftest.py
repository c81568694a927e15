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
