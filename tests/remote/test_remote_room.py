"""Local copies of URLs do not grow without end, and nobody loses one that is in use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from uiproof.remote import mirror
from uiproof.remote.mirror import fetch

SIZE = 10_000
USE = "import sys; from pathlib import Path; from uiproof.remote import mirror; "


@pytest.fixture
def evict(tmp_path, monkeypatch):
    """Makes room for so many bytes."""
    monkeypatch.setattr(mirror, "_root", lambda: tmp_path)

    def make_room(size):
        monkeypatch.setenv("UIPROOF_MIRROR_SIZE", str(size))
        mirror.evict()

    return make_room


@pytest.fixture
def copies(tmp_path):
    """Makes copies, each used later than the one before."""
    made = []

    def make(name, pushed=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x" * SIZE)
        if pushed:
            (folder / mirror.PUSHED).touch()
        code = USE + "mirror.hold(Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", code, folder], check=True)
        made.append(folder)
        os.utime(f"{folder}.used", (len(made), len(made)))
        return folder

    return make


def test_what_was_not_used_for_longest_goes_first(copies, evict):
    first, second, third = (copies(f"data/{name}") for name in "abc")
    evict(3 * SIZE)
    assert first.exists()
    os.utime(f"{first}.used")
    evict(3 * SIZE - 1)
    assert (first.exists(), second.exists(), third.exists()) == (True, False, True)


def test_what_a_living_process_uses_stays_until_that_ends_however_it_ends(copies, evict):
    used, other = copies("data/used"), copies("data/other")
    code = USE + "mirror.hold(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, used], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    os.utime(f"{used}.used", (1, 1))
    evict(1)
    assert (used.exists(), other.exists()) == (True, False)
    process.kill()
    process.communicate()
    evict(1)
    assert not used.exists()


def test_a_run_goes_only_when_all_of_it_is_at_its_url(copies, evict):
    pushed, not_pushed = copies("runs/pushed", pushed=True), copies("runs/not-pushed")
    evict(1)
    assert (pushed.exists(), not_pushed.exists()) == (False, True)


def test_a_fetch_makes_room_among_the_mirrors_that_nobody_uses(bucket, machine, monkeypatch):
    cache = machine("one")
    for name in ("old", "new"):
        bucket.put(f"{name}/page.html", "x" * SIZE)
    code = f"from uiproof.remote.mirror import fetch; fetch('{bucket.url}/old')"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setenv("UIPROOF_MIRROR_SIZE", "1kB")
    fetch(f"{bucket.url}/new")
    assert [path.name for path in cache.glob("remote/data/*/content/*")] == ["new"]
    fetch(f"{bucket.url}/old")  # comes back, and both are used by this process
    assert len(list(cache.glob("remote/data/*/content/*/page.html"))) == 2
