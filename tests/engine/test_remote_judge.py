"""Paths mean the same on two machines, and files that judges wrote come back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from uiproof.engine.remote_judge import (
    Outgoing,
    SharedFolder,
    pack,
    unpack,
    write_files,
)
from uiproof.errors import InputError, UsageError


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


def test_a_single_file_stands_for_its_folder(tmp_path):
    (tmp_path / "page.html").write_text("<img src=cat.png>")
    (tmp_path / "cat.png").write_bytes(b"cat")
    place = SharedFolder.of("data", tmp_path / "page.html", run=tmp_path / "run")
    assert place.folder == tmp_path
    (tmp_path / "other").touch()  # of no concern
    assert place.is_same(tmp_path, run=tmp_path / "run")
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
