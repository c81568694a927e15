"""Paths mean the same on two machines, and what only one has is sent to the other."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from uiproof.engine import places
from uiproof.engine.outpost import Outpost
from uiproof.engine.places import (
    Outgoing,
    Place,
    pack,
    parts_of,
    unpack,
    write_files,
    write_part,
)
from uiproof.errors import InputError, UsageError
from uiproof.remote.mirror import url_of


@dataclass(frozen=True)
class Page:
    path: Path
    withheld: frozenset[Path]
    text: str


def test_paths_below_known_folders_are_found_on_the_other_side(tmp_path):
    data, run = tmp_path / "data", tmp_path / "data" / "run"
    page = Page(data / "1.html", frozenset({run / "x.png", Path("/etc/hosts")}), f"{data}/1.html")
    sent = pack((page, data), {"data": data, "run": run})
    there = unpack(sent, {"data": Path("/there"), "run": Path("/scratch")})
    expected = frozenset({Path("/scratch/x.png"), Path("/etc/hosts")})
    assert there == (Page(Path("/there/1.html"), expected, f"{data}/1.html"), Path("/there"))


def test_on_the_way_back_texts_name_the_folders_of_this_side():
    sent = pack(
        InputError("Cannot read /there/1.html."), {"data": Path("/there")}, in_texts={"data"}
    )
    assert unpack(sent, {"data": Path("/here")}).message == "Cannot read /here/1.html."


def test_folders_that_are_named_by_links_and_relative_paths_are_recognised(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "real")
    for path in (tmp_path / "link" / "a", tmp_path / "real" / "a", Path("a")):
        sent = pack(path, {"data": tmp_path / "link"})
        assert unpack(sent, {"data": Path("/there")}) == Path("/there/a")


def test_a_folder_travels_in_parts_whatever_the_sizes_of_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "PART_BYTES", 10)
    monkeypatch.setattr(places, "MOST_BYTES", 100)
    folder = tmp_path / "data"
    contents = {"a/large": b"x" * 37, "empty": b"", "exact": b"y" * 10, "small": b"z"}
    for name, content in {**contents, ".hidden": b"", "run/run.json": b"{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    place = Place.of("data", folder, run=tmp_path / "run")
    parts = list(parts_of(place, run=tmp_path / "run"))
    assert max(sum(len(data) for _, data in part) for part in parts) <= 10
    for part in parts:
        write_part(tmp_path / "there", part)
    found = [path for path in (tmp_path / "there").rglob("*") if path.is_file()]
    there = {path.relative_to(tmp_path / "there").as_posix(): path.read_bytes() for path in found}
    assert there == contents
    assert place.is_same(tmp_path / "there", run=tmp_path / "run")
    monkeypatch.setattr(places, "MOST_BYTES", 30)
    with pytest.raises(UsageError, match="larger than") as caught:
        list(parts_of(place, run=tmp_path / "run"))
    assert "URL" in caught.value.remedy


def test_a_single_file_stands_for_its_folder(tmp_path):
    (tmp_path / "page.html").write_text("<img src=cat.png>")
    (tmp_path / "cat.png").write_bytes(b"cat")
    place = Place.of("data", tmp_path / "page.html", run=tmp_path / "run")
    assert place.folder == tmp_path
    (tmp_path / "other").touch()  # of no concern
    assert place.is_same(tmp_path, run=tmp_path / "run")
    (part,) = parts_of(place, run=tmp_path / "run")
    assert dict(part)["cat.png"] == b"cat"
    (tmp_path / "page.html").write_text("<img src=dog.png>")
    assert not place.is_same(tmp_path, run=tmp_path / "run")


def test_what_a_judge_wrote_is_taken_once_and_only_when_complete(tmp_path):
    outgoing = Outgoing(tmp_path, most_kept=10)
    for name in ("artifacts/1/a.png", "references/r.png", "references/.half"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode()[-5:])
    assert outgoing.take() == {"artifacts/1/a.png": b"a.png", "references/r.png": b"r.png"}
    assert outgoing.take() == {}
    assert not (tmp_path / "artifacts/1/a.png").exists()
    assert (tmp_path / "references/r.png").exists()
    (tmp_path / "references/s.png").write_bytes(b"12345678")
    assert outgoing.take() == {"references/s.png": b"12345678"}
    assert not (tmp_path / "references/r.png").exists()  # there is not room for all


def test_no_worker_can_write_outside_of_the_run(tmp_path):
    run = tmp_path / "run"
    write_files(run, {"artifacts/a/b.png": b"1"})
    assert [path.name for path in (run / "artifacts" / "a").iterdir()] == ["b.png"]
    for name in ("../b.png", "/tmp/b.png", "a/../../b.png"):
        with pytest.raises(UsageError, match="outside"):
            write_files(run, {name: b"1"})


def test_a_folder_that_was_sent_is_there_for_later_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    outpost, another = Outpost(), Outpost()
    assert outpost.stored("key") is None
    for one in (outpost, another):
        one.receive([("a", b"1"), ("url", b"s3://bucket/elsewhere")])
        one.receive([("a", b"2")])
    home = outpost.complete("key")
    assert another.complete("key") == another.stored("key") == home
    assert (home / "a").read_bytes() == b"12"
    assert [path for path in home.parent.iterdir() if path.is_dir()] == [home]
    assert url_of(home / "a" / "b") is None  # a file of it is no note of ours


def test_folders_that_were_sent_do_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UIPROOF_MIRROR_SIZE", "1kB")
    for number in range(3):
        code = f"""
from uiproof.engine.outpost import Outpost
outpost = Outpost()
outpost.receive([("a", b"{number}" * 600)])
outpost.complete("{number}")
"""
        subprocess.run([sys.executable, "-c", code], check=True)
    kept = [number for number in range(3) if Outpost().stored(str(number))]
    assert kept == [2]


def test_a_worker_keeps_the_folders_that_another_one_received(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UIPROOF_MIRROR_SIZE", "1kB")
    code = """
import pickle, sys
from pathlib import Path
from uiproof.engine.outpost import Outpost
outpost = Outpost()
if sys.argv[1] == "use":
    home = Path(sys.argv[2])
    outpost.begin(pickle.dumps(dict), home, "", {"folder0": (Path("/theirs"), home)})
    print("begun", flush=True)
    sys.stdin.read()
else:
    outpost.receive([("a", b"1" * 600)])
    print(outpost.complete(sys.argv[2]))
"""

    def receive(key):
        command = [sys.executable, "-c", code, "receive", key]
        return Path(subprocess.check_output(command, text=True).strip())

    home = receive("used")
    with subprocess.Popen(
        [sys.executable, "-c", code, "use", home], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout.readline() == b"begun\n"
        receive("another")
        assert home.is_dir()
    receive("one more")
    assert not home.is_dir()
