"""The isolation of a browser from this machine, observed from outside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from uiproof.browser import PageSource, Renderer, process
from uiproof.browser.chromium import Confinement, confinement, find_chromium
from uiproof.process_tree import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

SCRIPTED = PageSource.from_html("<p>Hello</p><script>document.title = 'on'</script>")


def as_an_ordinary_user() -> Confinement:
    """Confine as for a user other than root: own namespaces around Chromium's."""
    confined = confinement(find_chromium().path)
    if confined.user is None:
        return confined
    drop = confined.command[confined.command.index("--") + 1 :]
    without_network = (shutil.which("unshare") or "", "--user", "--map-current-user", "--net", "--")
    return replace(confined, command=(*drop, *without_network))


@pytest.fixture(params=["as we are", "as an ordinary user"])
def confined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Confinement:
    found = confinement(find_chromium().path)
    if request.param == "as an ordinary user":
        found = as_an_ordinary_user()
        monkeypatch.setattr(process, "confinement", lambda _: found)
    if not found.sandbox or not found.network_namespace:
        assert not allows_namespaces(), "what the system allows is not used"
        pytest.skip("this system allows no namespaces")
    return found


def allows_namespaces() -> bool:
    """Ask the system itself, not the code under test."""
    user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    command = ("unshare", *user, "--net", "--", "unshare", "--user", "true")
    return (
        shutil.which("unshare") is not None and not subprocess.run(command, check=False).returncode
    )


def pages_of(renderer: Renderer) -> Iterator[Path]:
    """Yield the processes in which pages run, as folders of /proc."""
    assert renderer.pid is not None
    for pid in descendants(renderer.pid):
        process = Path("/proc", str(pid))
        with suppress(OSError):
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                yield process


def fact(process: Path, name: str) -> str:
    lines = (process / "status").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(f"{name}:"))


def test_pages_that_are_looked_at_run_in_chromiums_sandbox(confined: Confinement) -> None:
    with Renderer() as renderer, renderer.open(SCRIPTED):
        check_sandbox(renderer)


def test_pages_that_are_acted_on_run_in_chromiums_sandbox(confined: Confinement) -> None:
    with Renderer() as renderer, renderer.stage(SCRIPTED) as stage:
        assert stage.snapshot().title == "on"
        check_sandbox(renderer)


def check_sandbox(renderer: Renderer) -> None:
    found = list(pages_of(renderer))
    assert found
    for shown in found:
        assert fact(shown, "Seccomp") == "2"
        assert fact(shown, "NoNewPrivs") == "1"
        assert fact(shown, "CapEff").strip("0") == ""
        assert "0" not in fact(shown, "Uid").split()


def test_browsers_have_no_network_device(confined: Confinement) -> None:
    with Renderer() as renderer, renderer.open(SCRIPTED):
        assert renderer.pid is not None
        seen = [_network(pid) for pid in descendants(renderer.pid)]
    assert {devices for devices in seen if devices} == {("lo",)}


def _network(pid: int) -> tuple[str, ...]:
    try:
        lines = Path("/proc", str(pid), "net", "dev").read_text().splitlines()[2:]
    except OSError:
        return ()
    return tuple(line.split(":")[0].strip() for line in lines)


def test_browsers_get_no_key_and_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "UIPROOF_ANYTHING"):
        monkeypatch.setenv(name, "s3cr3t")
    with Renderer() as renderer, renderer.open(SCRIPTED):
        assert renderer.pid is not None
        for pid in (renderer.pid, *descendants(renderer.pid)):
            with suppress(OSError):
                assert b"s3cr3t" not in Path("/proc", str(pid), "environ").read_bytes()


def test_a_variable_that_is_named_reaches_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_HINT", "here")
    monkeypatch.setenv("UIPROOF_BROWSER_ENV", "LD_HINT, OTHER")
    environment = Confinement().environment(Path("/nowhere"))
    assert environment["LD_HINT"] == "here"
    assert "OTHER" not in environment


def test_nothing_of_a_browser_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Renderer() as renderer, renderer.open(SCRIPTED):
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_there_is_no_webrtc() -> None:
    page = """<iframe id="f" srcdoc="x"></iframe><p id="p"></p><script>
      const made = document.body.appendChild(document.createElement("iframe")).contentWindow;
      p.textContent = [window, made].map((one) => typeof one.RTCPeerConnection).join();
    </script>"""
    with Renderer() as renderer, renderer.open(PageSource.from_html(page)) as live:
        assert live.evaluate("p.textContent") == "undefined,undefined"
