"""A run on disk: `run.json`, `journal.jsonl`, `artifacts/`, `summary.json`.

run = RunDirectory("runs/blueprint")
run.manifest["method"], run.summary["n"]
for record in run.records():
    print(record.id, record.status)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from uiproof.engine.journal import is_empty, last_records
from uiproof.engine.storage import access, access_error
from uiproof.engine.types import Record
from uiproof.errors import InputError, RunMismatchError

FORMAT = 1
_OWN_NAMES = {"lock", "workers.log", "run.json.tmp"}  # may be there before run.json is
_MAX_NAME = 150
# What must be the same for results to belong together, and how to call it in a message.
_IDENTITY = {
    "format": "format",
    "uiproof": "version of uiproof",
    "benchmark": "benchmark",
    "dataset_key": "content of the data set",
    "method": "method",
    "settings": "method settings",
    "fingerprint": "environment",
    "shard": "shard",
}


class RunDirectory:
    """The files of one run. Making this object reads and writes nothing."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.journal = self.path / "journal.jsonl"

    @classmethod
    def of(cls, run: RunDirectory | Path | str, *, pictures: bool = True) -> RunDirectory:
        """A run that may be named by its path, or by its URL: then it is fetched as it is now.

        Without `pictures` only what tables need is fetched.
        """
        if isinstance(run, RunDirectory):
            return run
        if isinstance(run, str) and "://" in run:
            from uiproof.remote.mirror import fetch
            from uiproof.remote.urls import is_url

            if is_url(run):
                return cls(fetch(run, deep=pictures))
        return cls(run)

    @property
    def place(self) -> str:
        """What to call it in messages: its path, or its URL where it is a copy of one."""
        from uiproof.remote.mirror import shown

        return shown(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """`run.json`: what was run, with which settings, where."""
        return self._read("run.json", "is not a run: it has no run.json")

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`, which exists once a run has ended or was interrupted."""
        return self._read("summary.json", "has no summary.json yet")

    def records(self) -> Iterator[Record]:
        """How each case ended, ordered by id. Also works while the run is being written."""
        return last_records(self.journal)

    def artifact(self, name: str) -> Path:
        """The file behind an entry of `Record.artifacts`."""
        path = (self.path / name).resolve()
        if not path.is_relative_to(self.path.resolve()):
            raise InputError(f"The artifact {name!r} lies outside of the run {self.place}.")
        return path

    def artifact_dir(self, case_id: str) -> Path:
        """The folder for what is rendered for one case; made if needed.

        Every id gets a folder of its own directly under `artifacts/`, whatever is in the id.
        """
        name = quote(case_id, safe=" ", errors="surrogatepass")
        if name.startswith("."):
            name = "%2E" + name[1:]
        if len(name) > _MAX_NAME or not name:
            # "=" never comes out of quote(), so this cannot meet the name of another id.
            digest = hashlib.sha256(name.encode("ascii")).hexdigest()[:24]
            name = f"{name[:_MAX_NAME]}={digest}"
        folder = self.path / "artifacts" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def create(self) -> None:
        """Make the directory; refuses one that holds something else than a run."""
        with access(self.path, "made"):
            self.path.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise InputError(
                f"{self.place} may not be written by this user.",
                remedy="Choose another directory for the run.",
            )
        with access(self.path, "read"):
            names = {entry.name for entry in self.path.iterdir()}
        if names - _OWN_NAMES and "run.json" not in names:
            raise InputError(
                f"{self.place} is neither empty nor a run.",
                remedy="Choose another directory for the run.",
            )

    def describe(self, manifest: Mapping[str, Any]) -> None:
        """Write `run.json`, or continue the run that is there if it is the same one.

        Raises `RunMismatchError` that says what differs. The limit may grow. While no case is
        written down there is nothing to continue: what failed to start may be started otherwise.
        """
        new: dict[str, Any] = json.loads(json.dumps(manifest))  # as it will be read back
        if (self.path / "run.json").exists():
            try:
                old = self.manifest
                self._check_same(old, new)
                new["created"] = old["created"]
            except (RunMismatchError, InputError):
                if not is_empty(self.journal):
                    raise
                # What the other settings rendered must not be taken for this run's.
                shutil.rmtree(self.path / "artifacts", ignore_errors=True)
        self._write("run.json", new)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace `summary.json` in one step."""
        self._write("summary.json", summary)

    def _check_same(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        if difference := mismatch(old, new):
            raise RunMismatchError(
                f"{self.place} holds results of another run: {difference}.",
                remedy="Write to another directory, or delete this one to start again.",
            )
        before, now = old.get("limit"), new["limit"]
        if now is not None and (before is None or now < before):
            raise RunMismatchError(
                f"{self.place} was started with {_limit(before)}; {_limit(now)} is less.",
                remedy="The limit of a run can only grow; write to another directory.",
            )

    def _read(self, name: str, problem: str) -> dict[str, Any]:
        path = self.path / name
        try:
            content: dict[str, Any] = {**json.loads(path.read_text("utf-8"))}
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{self.place} {problem}.",
                remedy="Run `uiproof run` with the same options to make or finish it.",
            ) from None
        except OSError as error:
            raise access_error(path, "read", error) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path} is damaged: {error}.",
                remedy="Restore it, or run again into another directory.",
            ) from error
        return content

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        partial = self.path / f"{name}.tmp"
        with access(partial, "written"):
            with partial.open("w", encoding="utf-8") as file:
                json.dump(content, file, indent=2, allow_nan=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path / name)


def mismatch(
    old: Mapping[str, Any], new: Mapping[str, Any], *, except_for: Container[str] = ()
) -> str:
    """Why results of two manifests do not belong together, in words; empty where they do."""
    found = (
        _difference(old.get(key), new.get(key), label)
        for key, label in _IDENTITY.items()
        if key not in except_for
    )
    return next(filter(None, found), "")


def _difference(old: Any, new: Any, label: str) -> str:
    """The first place where two values differ, in words; empty when they are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = (_difference(old.get(k), new.get(k), f"{label}.{k}") for k in {**old, **new})
        return next(filter(None, found), "")
    return "" if old == new else f"{label} is {old!r} there and {new!r} now"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"a limit of {limit}"


def dataset_key(dataset: Path, *, run: Path) -> str:
    """A short key that changes when files of a data set are added, removed or edited.

    Names and sizes of all files and the first and last 64 kB of each go into it. Hidden files do
    not, nor does `run` nor any other run that lies inside the data set's folder. Of a file that
    cannot be read only name and size count: its case fails by itself.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in dataset_files(dataset, run):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(dataset).as_posix()}\0{size}\0".encode(errors="replace"))
        with suppress(OSError):
            digest.update(_ends(path, size))
    return digest.hexdigest()


def _ends(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(65536)
        if size > 65536:
            file.seek(max(size - 65536, 65536))
            content += file.read(65536)
    return content


def dataset_files(dataset: Path, run: Path) -> Iterator[Path]:
    """The files that make a data set, in a stable order; see `dataset_key` for what is left out."""
    if dataset.is_file():
        yield dataset
        return
    for folder, folders, names in os.walk(dataset):
        if "run.json" in names or Path(folder).resolve() == run.resolve():
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113 - never raises
                yield path
