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
def copies(tmp_path):
    """Makes copies, each used later than the one before."""
    made = []

    def make(name, pushed=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x" * SIZE)
        if pushed:
            (folder / mirror.PUSHED).touch()
        code = USE + "copy = Path(sys.argv[1]); mirror.hold(copy); mirror._measure(copy)"
        subprocess.run([sys.executable, "-c", code, folder], check=True)
        made.append(folder)
        os.utime(f"{folder}.used", (len(made), len(made)))
        return folder

    return make


def test_what_was_not_used_for_longest_goes_first(copies, tmp_path):
    first, second, third = (copies(f"data/{name}") for name in "abc")
    mirror._evict(tmp_path, 3 * SIZE)
    assert first.exists()
    os.utime(f"{first}.used")
    mirror._evict(tmp_path, 3 * SIZE - 1)
    assert (first.exists(), second.exists(), third.exists()) == (True, False, True)


def test_what_a_living_process_uses_stays_until_that_ends_however_it_ends(copies, tmp_path):
    used, other = copies("data/used"), copies("data/other")
    code = USE + "mirror.hold(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, used], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    os.utime(f"{used}.used", (1, 1))
    mirror._evict(tmp_path, 1)
    assert (used.exists(), other.exists()) == (True, False)
    process.kill()
    process.communicate()
    mirror._evict(tmp_path, 1)
    assert not used.exists()


def test_a_run_goes_only_when_all_of_it_is_at_its_url(copies, tmp_path):
    pushed, not_pushed = copies("runs/pushed", pushed=True), copies("runs/not-pushed")
    mirror._evict(tmp_path, 1)
    assert (pushed.exists(), not_pushed.exists()) == (False, True)


def test_the_size_of_a_copy_that_nobody_measured_is_found_out(copies, tmp_path):
    whole, interrupted = copies("data/whole"), copies("data/interrupted")
    os.truncate(f"{interrupted}.used", 0)
    mirror._evict(tmp_path, 2 * SIZE - 1)
    assert (whole.exists(), interrupted.exists()) == (False, True)


def test_a_process_that_uses_very_many_copies_keeps_the_last_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "_MOST_HELD", 3)
    monkeypatch.setattr(mirror, "_held", mirror.OrderedDict())
    for number in (1, 2, 3, 1, 4):
        folder = tmp_path / "data" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        mirror.hold(folder)
    mirror._evict(tmp_path, -1)
    assert sorted(path.name for path in tmp_path.glob("data/?")) == ["1", "3", "4"]


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
