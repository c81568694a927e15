"""Mirrors: what is at a URL, as files on this machine."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
from remote_server import serving

from uiproof.engine.rundir import dataset_key
from uiproof.errors import DownloadError, InputError
from uiproof.remote import mirror
from uiproof.remote.mirror import fetch, local, name_of, shown, url_of


class Listing(http.server.SimpleHTTPRequestHandler):
    """Shows folders as lists of links."""

    def log_message(self, *arguments):
        pass


ODD_NAMES = ["ü %41 ?#&+.html", "sub/deeper/3.html", ".hidden", "a b/ c.html"]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_mirror_holds_what_the_bucket_holds(bucket, machine, tmp_path):
    expected = {name: os.urandom(100) for name in ["1.html", "empty", *ODD_NAMES]} | {"empty": b""}
    for name, content in expected.items():
        bucket.put(f"data/pages/{name}", content)
    bucket.put("data/pages/folder/", b"")  # how some programs make folders
    bucket.put("data/pages-2/other.html", b"not of this folder")
    folder = fetch(f"{bucket.url}/data/pages/")
    assert folder.name == "pages"
    assert contents(folder) == expected
    for name, content in expected.items():
        path = tmp_path / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert dataset_key(folder, run=tmp_path) == dataset_key(tmp_path / "local", run=tmp_path)


@pytest.mark.parametrize("name", ["lock", "url", "known.json", "content", "..."])
def test_a_folder_can_have_any_name(name, machine):
    memory = fsspec.filesystem("memory")
    memory.pipe({f"/{name}/1.html": b"one"})
    try:
        for _ in range(2):
            folder = fetch(f"memory://{name}")
            assert contents(folder) == {"1.html": b"one"}
        assert url_of(folder) == f"memory://{name}"
    finally:
        memory.rm(f"/{name}", recursive=True)


def test_a_url_can_name_one_file(bucket, machine):
    bucket.put("page.html", "one")
    file = fetch(f"{bucket.url}/page.html")
    assert (file.name, file.read_text()) == ("page.html", "one")
    assert url_of(file) == f"{bucket.url}/page.html"


def test_only_what_has_changed_is_brought_again(bucket, machine):
    for name in ("1", "2", "3"):
        bucket.put(f"pages/{name}.html", f"page {name}")
    folder = fetch(f"{bucket.url}/pages")
    assert bucket.gets() == ["pages/1.html", "pages/2.html", "pages/3.html"]
    fetch(f"{bucket.url}/pages")
    assert bucket.gets() == []
    bucket.put("pages/2.html", "PAGE 2")  # of the same size
    bucket.put("pages/4.html", "page 4")
    bucket.delete("pages/3.html")
    (folder / "1.html").write_text("damaged here")
    (folder / "lock").touch()
    fetch(f"{bucket.url}/pages")
    assert bucket.gets() == ["pages/1.html", "pages/2.html", "pages/4.html"]
    assert contents(folder) == {"1.html": b"page 1", "2.html": b"PAGE 2", "4.html": b"page 4"}


def test_files_become_folders_and_folders_files(bucket, machine):
    bucket.put("x/a", "file")
    bucket.put("x/b/c", "in a folder")
    fetch(f"{bucket.url}/x")
    for key in ("x/a", "x/b/c"):
        bucket.delete(key)
    bucket.put("x/a/d", "in a folder")
    bucket.put("x/b", "file")
    assert contents(fetch(f"{bucket.url}/x")) == {"a/d": b"in a folder", "b": b"file"}
    for key in ("x/a/d", "x/b"):
        bucket.delete(key)
    bucket.put("x", "a file itself")
    assert fetch(f"{bucket.url}/x").read_text() == "a file itself"


@pytest.mark.parametrize("name", ["../../evil", "/x", "a//b", "a\\b", "./x", "a/.."])
def test_names_that_could_lead_elsewhere_are_refused(name, bucket, machine):
    cache = machine("one")
    bucket.put(f"pages/{name}", "evil")
    bucket.put("pages/1.html", "one")
    with pytest.raises(InputError, match="cannot be a file"):
        fetch(f"{bucket.url}/pages")
    assert not [path for path in cache.rglob("*") if path.is_file() and "evil" in path.read_text()]


def test_a_name_that_is_file_and_folder_is_refused(bucket, machine):
    bucket.put("pages/a", "file")
    bucket.put("pages/a/b", "in a folder")
    with pytest.raises(InputError, match="a file cannot be a folder, too"):
        fetch(f"{bucket.url}/pages")


def test_an_interrupted_fetch_leaves_nothing_half_and_continues(bucket, machine, monkeypatch):
    monkeypatch.setattr(mirror, "CONNECTIONS", 1)
    for number in range(6):
        bucket.put(f"pages/{number}.html", "x" * 1000)
    given = []

    def get(self, name, target):
        if len(given) == 3:
            target.write_text("half")
            raise KeyboardInterrupt
        given.append(name)
        target.write_bytes(bucket.get(f"pages/{name}"))

    with monkeypatch.context() as broken:
        broken.setattr(mirror.Store, "get", get)
        with pytest.raises(KeyboardInterrupt):
            fetch(f"{bucket.url}/pages")
    bucket.gets()
    folder = fetch(f"{bucket.url}/pages")
    assert len(bucket.gets()) == 3
    assert {len(content) for content in contents(folder).values()} == {1000}
    assert not list(folder.parents[1].glob("partial-*"))


def test_two_processes_fetch_the_same_at_once(bucket, machine):
    for number in range(40):
        bucket.put(f"pages/{number}.html", f"page {number}")
    code = f"from uiproof.remote.mirror import fetch; print(fetch('{bucket.url}/pages'))"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = {process.communicate(timeout=120)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(contents(Path(folders.pop()))) == 40
    assert not folders
    assert len(bucket.gets()) == 40  # the second one waited and found everything there


def test_what_is_known_of_a_mirror_may_be_lost_or_damaged(bucket, machine):
    bucket.put("pages/1.html", "one")
    folder = fetch(f"{bucket.url}/pages")
    (folder.parents[1] / "known.json").write_text("{")
    assert contents(fetch(f"{bucket.url}/pages")) == {"1.html": b"one"}


def test_the_url_of_a_path_in_a_mirror(bucket, machine, tmp_path):
    bucket.put("pages/sub/1.html", "one")
    folder = fetch(f"{bucket.url}/pages")
    assert url_of(folder) == f"{bucket.url}/pages"
    assert url_of(folder / "sub" / "1.html") == f"{bucket.url}/pages/sub/1.html"
    assert url_of(folder.parent) is None
    assert url_of(tmp_path) is None
    assert name_of(tmp_path) == str(tmp_path.resolve())
    assert shown(Path("pages")) == "pages"


def test_file_urls_are_the_files_themselves(tmp_path, machine):
    (tmp_path / "pages").mkdir()
    assert fetch(f"file://{tmp_path}/pages/") == tmp_path / "pages"
    assert local(f"file://{tmp_path}/pages") == tmp_path / "pages"
    assert url_of(tmp_path / "pages") is None
    with pytest.raises(InputError, match=f"There is nothing at file://{tmp_path}/none"):
        fetch(f"file://{tmp_path}/none")


def test_a_folder_that_a_web_server_lists_is_mirrored(machine, tmp_path):
    site = tmp_path / "site" / "pages"
    (site / "sub").mkdir(parents=True)
    (site / "1.html").write_text("<a href='/elsewhere.html'>one</a>")
    (site / "sub" / "2 ü.html").write_text("two")
    with serving(Listing, directory=str(tmp_path / "site")) as address:
        folder = fetch(f"{address}/pages/")
        assert contents(folder) == contents(site)
        assert fetch(f"{address}/pages/1.html").read_text().endswith("one</a>")
        with pytest.raises(InputError, match="There is nothing at"):
            fetch(f"{address}/none/")
    with pytest.raises(DownloadError, match="cannot be read"):
        fetch(f"{address}/pages/")


def test_other_file_systems_work_alike(machine):
    memory = fsspec.filesystem("memory")
    memory.pipe({"/mirrored/1.html": b"one", "/mirrored/sub/2.html": b"two"})
    try:
        folder = fetch("memory://mirrored")
        assert contents(folder) == {"1.html": b"one", "sub/2.html": b"two"}
        memory.rm("/mirrored/1.html")
        assert contents(fetch("memory://mirrored")) == {"sub/2.html": b"two"}
    finally:
        memory.rm("/mirrored", recursive=True)
