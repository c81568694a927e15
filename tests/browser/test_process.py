"""Browsers end in time, within their memory limit, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from browser_tools import GREEN, colour_at, shot

from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.process import Watchdog
from uiproof.process_tree import descendants, kill_tree, resident_mb

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child, in the place of a browser."""
    code = "import subprocess; subprocess.run(['sleep', '300'])"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert wait_for(lambda: bool(descendants(process.pid)))
        try:
            yield process
        finally:
            kill_tree(process.pid)


@linux_only
def test_a_browser_is_ended_with_its_children_when_time_is_up(
    sleeper: subprocess.Popen[bytes],
) -> None:
    children = descendants(sleeper.pid)
    watchdog = Watchdog(sleeper.pid, memory_mb=10_000)
    with watchdog.limit(0.1):
        sleeper.wait(timeout=20)
    assert watchdog.timed_out
    assert wait_for(lambda: not set(children) & set(descendants(os.getpid())))


@linux_only
def test_an_inner_limit_cannot_extend_an_outer_one(sleeper: subprocess.Popen[bytes]) -> None:
    watchdog = Watchdog(sleeper.pid, memory_mb=10_000)
    with watchdog.limit(0.1), watchdog.limit(300):
        sleeper.wait(timeout=20)
    assert watchdog.timed_out


@linux_only
def test_what_is_done_in_time_leaves_the_browser_alone(sleeper: subprocess.Popen[bytes]) -> None:
    watchdog = Watchdog(sleeper.pid, memory_mb=10_000)
    with watchdog.limit(0.2):
        pass
    time.sleep(0.8)
    assert sleeper.poll() is None
    assert not watchdog.timed_out
    watchdog.stop()


@linux_only
def test_a_process_that_holds_too_much_memory_is_ended_alone() -> None:
    greedy = "import time; held = bytearray(300 << 20); time.sleep(300)"
    code = "import subprocess, sys, time; subprocess.run(sys.argv[1:]); time.sleep(300)"
    command = [sys.executable, "-c", code, sys.executable, "-c", greedy]
    with subprocess.Popen(command) as parent:
        try:
            assert wait_for(lambda: any(resident_mb(pid) > 250 for pid in descendants(parent.pid)))
            watchdog = Watchdog(parent.pid, memory_mb=200)
            assert wait_for(lambda: not descendants(parent.pid))
            assert parent.poll() is None
            assert not watchdog.timed_out
            watchdog.stop()
        finally:
            kill_tree(parent.pid)


@linux_only
def test_a_page_that_eats_memory_is_shown_without_its_scripts() -> None:
    html = """<body style="background:green"><script>
        const held = [];
        const eat = () => { held.push(new Uint8Array(64 << 20).fill(7)); setTimeout(eat, 5); };
        eat();
    </script>"""
    with Renderer(Limits(memory_mb=600)) as renderer:
        png, flags = shot(renderer, html)
        assert colour_at(png, 5, 5) == GREEN
        assert {"crashed", "scripts_off"} <= flags
        assert shot(renderer, "<p>next")[1] == set()


@linux_only
@pytest.mark.parametrize("fails", [False, True])
def test_no_process_of_a_browser_is_left_behind(fails: bool) -> None:
    before = set(descendants(os.getpid()))

    def use() -> None:
        with Renderer() as renderer, renderer.open(PageSource.from_html("<script>1</script>")):
            assert len(set(descendants(os.getpid())) - before) > 2
            if fails:
                raise KeyError("a mistake of the caller")

    with pytest.raises(KeyError) if fails else nullcontext():
        use()
    assert wait_for(lambda: set(descendants(os.getpid())) <= before)


@linux_only
@pytest.mark.parametrize("enough", [0, 10**18])
def test_pictures_are_the_same_with_and_without_shared_memory(
    enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uiproof.browser.process._ENOUGH_BYTES", enough)
    with Renderer() as renderer:
        png, _ = shot(renderer, f'<body style="background:rgb{GREEN}"><p style="height:2000px">')
        assert renderer.pid is not None
        command = Path(f"/proc/{renderer.pid}/cmdline").read_bytes().split(b"\0")
    assert colour_at(png, 640, 1900) == GREEN
    assert (b"--disable-dev-shm-usage" in command) == (enough > 0)
