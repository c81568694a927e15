"""What stages, which are Playwright's, have in common with tabs, which are ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uiproof.browser.devtools import BrowserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, CDPSession, Route

    from uiproof.browser.page import Limits


def new_context(browser: Browser, limits: Limits) -> BrowserContext:
    """A context that remembers nothing, reaches nothing and is the same everywhere."""
    context = browser.new_context(
        viewport={"width": limits.viewport[0], "height": limits.viewport[1]},
        device_scale_factor=1,
        locale="en-US",
        timezone_id="UTC",
        color_scheme="light",
        reduced_motion="reduce",
        service_workers="block",
        accept_downloads=False,
        offline=True,
    )
    context.set_default_timeout(limits.step_seconds * 1000)
    return context


class BridgedSession:
    """Commands of the DevTools protocol that go through Playwright."""

    def __init__(self, cdp: CDPSession) -> None:
        self._cdp = cdp

    def send(self, command: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the browser answers. Raises `BrowserError`."""
        from playwright.sync_api import Error

        try:
            answer: dict[str, Any] = self._cdp.send(command, parameters or {})
        except Error as error:
            raise BrowserError(str(error)) from error
        return answer


class BridgedRequest:
    """A request that Playwright holds back until it is answered."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._request = route.request

    @property
    def url(self) -> str:
        """The whole address."""
        return self._request.url

    @property
    def method(self) -> str:
        """`GET`, `POST`, …"""
        return self._request.method

    @property
    def is_for_the_page(self) -> bool:
        """Whether the page itself is to become what it asks for."""
        request = self._request
        return request.is_navigation_request() and request.frame.parent_frame is None

    def fulfill(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Answer with content."""
        self._route.fulfill(body=body, headers=dict(headers))

    def refuse(self, *, keep_page: bool = False) -> None:
        """Answer with nothing."""
        self._route.abort("aborted" if keep_page else "failed")
