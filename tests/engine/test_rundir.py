"""A run's files: safe names, refusals that say why, keys of data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from uiproof.engine.rundir import RunDirectory, dataset_key, locked
from uiproof.errors import InputError

ODD_IDS = [
    "1",
    "page/3",
    "page%2F3",
    "page",
    ".",
    "..",
    "../../etc/passwd",
    "/etc",
    "%2E",
    ".hidden",
    "",
    "a b",
    "ü",
    "\udcff",
    "new\nline",
    "nul\0",
    "x" * 5000,
    "x" * 5001,
    "页" * 300,
]


def test_every_id_gets_a_folder_of_its_own_inside_the_run(tmp_path):
    run = RunDirectory(tmp_path)
    folders = [run.artifact_dir(case_id) for case_id in ODD_IDS]
    assert len(set(folders)) == len(ODD_IDS)
    assert all(folder.resolve().parent == tmp_path / "artifacts" for folder in folders)
    assert all(folder.is_dir() for folder in folders)
    assert folders == [run.artifact_dir(case_id) for case_id in ODD_IDS]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "artifacts/../../x"])
def test_an_artifact_outside_of_the_run_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="outside"):
        RunDirectory(tmp_path).artifact(name)


def test_a_folder_with_something_else_in_it_does_not_become_a_run(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(InputError, match="neither empty nor a run"):
        RunDirectory(tmp_path).create()
    with pytest.raises(InputError):
        RunDirectory(tmp_path / "thesis.txt").create()


def test_a_folder_without_run_json_is_not_a_run(tmp_path):
    with pytest.raises(InputError, match="is not a run"):
        _ = RunDirectory(tmp_path).manifest


def test_the_key_of_a_data_set_follows_its_content_and_nothing_else(tmp_path):
    dataset = tmp_path / "data"
    run = dataset / "runs" / "mine"
    (dataset / "sub").mkdir(parents=True)
    (dataset / "sub" / "1.html").write_text("one")
    (dataset / "2.html").write_bytes(b"two" * 100_000)
    before = dataset_key(dataset, run=run)

    run.mkdir(parents=True)
    (run / "lock").touch()
    other = dataset / "runs" / "other"
    other.mkdir()
    (other / "run.json").touch()
    (dataset / ".hidden").touch()
    moved = tmp_path / "moved"
    dataset.rename(moved)
    assert dataset_key(moved, run=moved / "runs" / "mine") == before

    (moved / "sub" / "1.html").write_text("ONE")
    assert dataset_key(moved, run=moved / "runs" / "mine") != before


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_still_has_a_place_in_the_key(tmp_path):
    keys = []
    for name in ("a", "b"):
        dataset = tmp_path / name
        dataset.mkdir()
        (dataset / "1.html").write_text("one")
        (dataset / f"{name}.html").symlink_to("/proc/self/mem")
        keys.append(dataset_key(dataset, run=tmp_path / "run"))
    assert keys[0] != keys[1]


def test_files_of_a_run_that_the_system_refuses_are_typed_errors_with_a_remedy(tmp_path):
    for name in ("run.json", "summary.json", "summary.json.tmp", "lock"):
        (tmp_path / name).mkdir()
    run = RunDirectory(tmp_path)

    def lock():
        with locked(tmp_path / "lock"):
            pass

    uses = [lambda: run.manifest, lambda: run.summary, lambda: run.write_summary({}), lock]
    for use in uses:
        with pytest.raises(InputError, match="Is a directory") as caught:
            use()
        assert caught.value.remedy
