"""The DevTools connection, over real pipes, to a scripted browser."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uiproof.browser.devtools import BrowserError, BrowserGoneError, DevTools, NoAnswerError
from uiproof.browser.process import RunningBrowser


class Browser:
    """The other end of the pipes; its answers are written before the questions."""

    def __init__(self) -> None:
        self._hears, commands = os.pipe()
        replies, self._says = os.pipe()
        self.tools = DevTools(commands, replies)

    def say(self, *messages: dict[str, Any]) -> None:
        self.say_bytes(b"".join(json.dumps(message).encode() + b"\0" for message in messages))

    def say_bytes(self, data: bytes) -> None:
        os.write(self._says, data)

    def heard(self) -> list[dict[str, Any]]:
        return [json.loads(one) for one in os.read(self._hears, 1 << 16).split(b"\0")[:-1]]

    def leave(self) -> None:
        for end in (self._hears, self._says):
            with suppress(OSError):
                os.close(end)


@pytest.fixture
def browser() -> Iterator[Browser]:
    made = Browser()
    yield made
    made.tools.close()
    made.leave()


def soon(seconds: float = 0.05) -> float:
    return time.monotonic() + seconds


def test_answers_are_found_by_their_numbers_whatever_their_order(browser: Browser) -> None:
    session = browser.tools.session("tab")
    first, second = session.ask("One.do", {"a": 1}), session.ask("Two.do")
    browser.say({"id": second, "result": {"is": 2}}, {"id": first, "result": {"is": 1}})
    assert (session.answer(first), session.answer(second)) == ({"is": 1}, {"is": 2})
    assert browser.heard() == [
        {"id": first, "method": "One.do", "params": {"a": 1}, "sessionId": "tab"},
        {"id": second, "method": "Two.do", "params": {}, "sessionId": "tab"},
    ]


def test_events_go_to_the_session_that_they_are_about(browser: Browser) -> None:
    one, other = browser.tools.session("one"), browser.tools.session("other")
    heard: list[tuple[str, Any]] = []
    one.on("Page.loadEventFired", lambda event: heard.append(("one", event["at"])))
    other.on("Page.loadEventFired", lambda event: heard.append(("other", event["at"])))
    browser.say(
        *(
            {"method": "Page.loadEventFired", "params": {"at": at}, "sessionId": name}
            for at, name in enumerate(("other", "one", "unknown"))
        ),
        {"method": "Page.unheardOf", "params": {}, "sessionId": "one"},
        {"id": 1, "result": {}},
    )
    one.send("Any.thing")
    assert heard == [("other", 0), ("one", 1)]


def test_a_refusal_is_an_error_in_the_browsers_words(browser: Browser) -> None:
    browser.say({"id": 1, "error": {"code": -32000, "message": "No such frame"}})
    with pytest.raises(BrowserError, match="No such frame"):
        browser.tools.browser.send("Page.navigate")


def test_an_answer_that_comes_too_late_does_no_harm(browser: Browser) -> None:
    session = browser.tools.browser
    with pytest.raises(NoAnswerError):
        session.send("Slow.one", until=soon())
    browser.say({"id": 1, "result": {"late": True}}, {"id": 2, "result": {"late": False}})
    assert session.send("Quick.one") == {"late": False}
    assert browser.tools.answers == {}


def test_an_answer_that_is_no_longer_needed_is_not_kept(browser: Browser) -> None:
    session = browser.tools.browser
    asked = session.ask("Slow.one")
    assert session.answer(asked, unless=lambda: True) == {}
    browser.say({"id": asked, "result": {"late": True}}, {"id": asked + 1, "result": {}})
    session.send("Quick.one")
    assert browser.tools.answers == {}
    assert browser.tools.awaited == set()


def test_a_browser_that_never_stops_talking_does_not_outlast_the_time_limit(
    browser: Browser,
) -> None:
    word = {"method": "Page.navigatedWithinDocument", "params": {}}

    def keep_talking(_: Any) -> None:
        browser.say(word)

    browser.tools.browser.on("Page.navigatedWithinDocument", keep_talking)
    browser.say(word)
    with pytest.raises(NoAnswerError):
        browser.tools.browser.send("Any.thing", until=soon())


def test_a_browser_that_ends_is_said_to_be_gone_at_once_and_from_then_on(browser: Browser) -> None:
    session = browser.tools.session("tab")
    browser.leave()
    with pytest.raises(BrowserGoneError):
        session.send("Any.thing")
    assert not browser.tools.connected
    with pytest.raises(BrowserGoneError):
        browser.tools.browser.send("Any.thing")


@pytest.mark.parametrize(
    "event",
    [
        {"method": "Inspector.targetCrashed", "params": {}, "sessionId": "tab"},
        {"method": "Target.detachedFromTarget", "params": {"sessionId": "tab"}},
    ],
    ids=["crashed", "closed"],
)
def test_waiting_for_a_lost_tab_is_an_error(browser: Browser, event: dict[str, Any]) -> None:
    session = browser.tools.session("tab")
    browser.say(event)
    with pytest.raises(BrowserGoneError):
        session.send("Page.captureScreenshot")
    browser.say({"id": 2, "result": {}})
    assert browser.tools.browser.send("Browser.getVersion") == {}  # the others live on


@given(
    texts=st.lists(st.text(max_size=300), min_size=1, max_size=5),
    cuts=st.lists(st.integers(1, 400), max_size=8),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_messages_are_whole_wherever_they_are_cut_on_the_way(
    browser: Browser, texts: list[str], cuts: list[int]
) -> None:
    session = browser.tools.browser
    asked = [session.ask("Any.thing") for _ in texts]
    said = b"".join(
        json.dumps({"id": number, "result": {"text": text}}, ensure_ascii=False).encode() + b"\0"
        for number, text in zip(asked, texts, strict=True)
    )
    for cut in cuts:
        part, said = said[:cut], said[cut:]
        if part:
            browser.say_bytes(part)
            with suppress(NoAnswerError):
                session.wait(lambda: False, until=time.monotonic())
    if said:
        browser.say_bytes(said)
    assert [session.answer(number)["text"] for number in asked] == texts
    browser.heard()


def test_a_real_browser_opens_tabs_for_us_and_none_for_its_pages() -> None:
    chromium = RunningBrowser(memory_mb=2_000)
    try:
        browser = chromium.tools.browser
        context = browser.send("Target.createBrowserContext")["browserContextId"]
        target, session = chromium.tools.new_tab(context)
        session.send("Runtime.runIfWaitingForDebugger")
        opened = {"expression": "String(window.open('about:blank'))", "userGesture": True}
        session.send("Runtime.evaluate", opened, until=soon(20))
        tabs = {target, "more"}
        until = soon(20)
        while tabs != {target} and time.monotonic() < until:
            found = browser.send("Target.getTargets")["targetInfos"]
            tabs = {one["targetId"] for one in found if one["type"] == "page"}
        assert tabs == {target}
    finally:
        chromium.close()
    assert not chromium.alive
