"""A run on disk: `run.json`, `journal.jsonl`, `artifacts/`, `summary.json`.

run = RunDirectory("runs/blueprint")
run.manifest["method"], run.summary["n"]
for record in run.records():
    print(record.id, record.status)
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from urllib.parse import quote

from uiproof.benchmark import CaseError, Record, means_in
from uiproof.errors import InputError, RunLockedError, RunMismatchError, StorageError
from uiproof.files import access, access_error, path_suggestion
from uiproof.markup import tag

FORMAT = 1
_OWN_NAMES = {"lock", "workers.log", "run.json.tmp"}  # may be there before run.json is
_MAX_NAME = 150
# Settings that must agree for results to be merged, with their names in messages.
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
    """The files of one run. Making this object reads and writes nothing.

    `names` are display names of models: the manifest's `method` has them in place of the models.
    """

    def __init__(self, path: Path | str, *, names: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        self.journal = self.path / "journal.jsonl"
        self._names = names or {}

    def __repr__(self) -> str:
        try:
            about = f"{self.manifest['benchmark']}, {self.manifest['method']}"
            summary = self.summary
            about += f", {summary['n']} cases, {summary['failed']} failed"
        except (InputError, KeyError):
            about = "no run" if not (self.path / "run.json").exists() else "unfinished"
        return f"RunDirectory({str(self.path)!r}: {about})"

    def _repr_html_(self) -> str:
        try:
            summary = self.summary
        except InputError:
            return str(tag("p", repr(self)))
        means = [tag("tr", tag("th", name), tag("td", text)) for name, text in _means(summary)]
        return str(tag("table", tag("caption", repr(self)), *means))

    @classmethod
    def of(
        cls,
        run: RunDirectory | Path | str,
        *,
        pictures: bool = True,
        names: Mapping[str, str] | None = None,
    ) -> RunDirectory:
        """Open a run by its path, or fetch it by its URL.

        Without `pictures` only what tables need is fetched.
        """
        if isinstance(run, RunDirectory):
            return run
        if isinstance(run, str) and "://" in run:
            from uiproof.remote.mirror import fetch
            from uiproof.remote.store import is_url

            if is_url(run):
                return cls(fetch(run, deep=pictures), names=names)
        return cls(run, names=names)

    @property
    def place(self) -> str:
        """Return its name for messages: its path, or the URL that it is a copy of."""
        from uiproof.remote.mirror import shown

        return shown(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Read `run.json`: what was run, with which settings, where."""
        found = self._read("run.json", "is not a run: it has no run.json")
        method = str(found.get("method", ""))
        for model, name in self._names.items():
            if f"{method} ".startswith(f"{model} "):  # the prompt may follow
                found["method"] = name + method.removeprefix(model)
        return found

    @property
    def summary(self) -> dict[str, Any]:
        """Read `summary.json`, which exists once a run has ended or was interrupted."""
        return self._read("summary.json", "has no summary.json yet")

    def records(self) -> Iterator[Record]:
        """Return how each case ended, ordered by id. Also works while the run is being written."""
        return last_records(self.journal)

    def artifact(self, name: str) -> Path:
        """Return the file behind an entry of `Record.artifacts`."""
        path = (self.path / name).resolve()
        if not path.is_relative_to(self.path.resolve()):
            raise InputError(f"The artifact {name!r} lies outside of the run {self.place}.")
        return path

    def artifact_dir(self, case_id: str) -> Path:
        """Return the artifact folder of a case, made if needed.

        Every id maps to a separate folder directly under `artifacts/`, whatever it contains.
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
        """Make the directory; refuse one that holds anything but a run."""
        with access(self.path, "made"):
            self.path.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise InputError(
                f"{self.place} is not writable by this user.",
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

        Raise `RunMismatchError` that names the difference. The limit, the number of samples and
        the chosen cases may grow. While the journal is empty, anything may change.
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
                # Artifacts of the other settings do not belong to this run.
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
        only, wanted = old.get("only"), new.get("only")
        samples = old.get("samples", 1), new.get("samples", 1)
        if now is not None and (before is None or now < before):
            less = f"{_limit(before)}; {_limit(now)}"
        elif wanted is not None and (only is None or not set(only) <= set(wanted)):
            less = f"{'all cases' if only is None else ', '.join(only)}; {', '.join(wanted)}"
        elif samples[1] < samples[0]:
            less = f"{samples[0]} answers for each case; {samples[1]}"
        else:
            return
        raise RunMismatchError(
            f"{self.place} was started with {less} is less.",
            remedy="A run can only grow; write to another directory.",
        )

    def _read(self, name: str, problem: str) -> dict[str, Any]:
        path = self.path / name
        try:
            content: dict[str, Any] = {**json.loads(path.read_text("utf-8"))}
        except (FileNotFoundError, NotADirectoryError):
            if not self.path.exists():
                raise InputError(
                    f"There is no file or folder {self.place}.",
                    remedy=path_suggestion(self.path) or "Name the directory of a run.",
                ) from None
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


def _means(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the means of a summary by their paths, with intervals, as text."""
    for path, value in means_in(summary.get("scores")):
        if value is not None and value["mean"] is not None:
            low, high = value.get("low"), value.get("high")
            bounds = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
            yield path, f"{value['mean']:.3f}{bounds}"


def mismatch(
    old: Mapping[str, Any], new: Mapping[str, Any], *, except_for: Container[str] = ()
) -> str:
    """Return why the results of two manifests cannot be combined; empty where they can."""
    found = (
        _difference(old.get(key), new.get(key), label)
        for key, label in _IDENTITY.items()
        if key not in except_for
    )
    return next(filter(None, found), "")


def _difference(old: Any, new: Any, label: str) -> str:
    """Describe the first difference between two values; empty if they are equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = (_difference(old.get(k), new.get(k), f"{label}.{k}") for k in {**old, **new})
        return next(filter(None, found), "")
    return "" if old == new else f"{label} is {old!r} there and {new!r} now"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"a limit of {limit}"


def dataset_key(dataset: Path, *, run: Path) -> str:
    """Return a short key that changes when files of a data set are added, removed or edited.

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
    """Yield the files of a data set in a stable order, without those that `dataset_key` skips."""
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


# A finished line is in the page cache and survives the death of the process. Only a power cut can
# lose it; fsync, at most this often, guards against that.
_SYNC_SECONDS = 0.5


def encode(record: Record) -> bytes:
    """Return a journal line; raise TypeError or ValueError for what JSON cannot hold."""
    written = {
        "id": record.id,
        "status": record.status,
        "scores": dict(record.scores),
        "error": asdict(record.error) if record.error else None,
        "details": dict(record.details),
        "artifacts": dict(record.artifacts),
        "flags": list(record.flags),
        "seconds": dict(record.seconds),
        "attempts": record.attempts,
        "answer_key": record.answer_key,
        "calls": [dict(call) for call in record.calls],
        **({"sample": record.sample} if record.sample else {}),
    }
    return json.dumps(written, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Record:
    """Return the record of a journal line; raise ValueError, TypeError or KeyError for others."""
    fields: dict[str, Any] = json.loads(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
        raise TypeError("it holds no case")
    if error := fields.get("error"):
        fields["error"] = CaseError(**error)
    fields["flags"] = tuple(fields["flags"])
    fields["calls"] = tuple(fields.get("calls", ()))
    return Record(**fields)


class Journal:
    """Appends lines to a journal.

    with Journal(path) as journal:
        journal.append(encode(record))
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced = time.monotonic()
        with access(path, "written"):
            self._file = path.open("ab", buffering=0)
            cut_torn_line(path)

    def append(self, line: bytes) -> None:
        """Add one finished case."""
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with suppress(OSError):  # never append to half a line
                cut_torn_line(self._path)
            raise self._error(error) from error
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._error(error) from error
        self._synced = time.monotonic()

    def _error(self, error: OSError) -> StorageError:
        return StorageError(
            f"The journal {self._path} cannot be written: {error.strerror}.",
            remedy="Put that right, then run again: the run continues where it stopped.",
        )

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._file:
            if error is None:
                self._sync()


def whole_lines(file: IO[bytes]) -> int:
    """Return how many bytes of a journal are finished lines."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(end - 65536, 0)
        file.seek(start)
        if (found := file.read(end - start).rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0


def cut_torn_line(path: Path) -> None:
    """Cut off the last line of a journal where it is not finished."""
    with path.open("r+b") as file:
        if (whole := whole_lines(file)) < file.seek(0, os.SEEK_END):
            file.truncate(whole)


def is_empty(path: Path) -> bool:
    """Return whether the journal has no finished case."""
    try:
        with path.open("rb") as file:
            return not file.readline().endswith(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        raise access_error(path, "read", error) from error


def last_records(path: Path) -> Iterator[Record]:
    """Yield how each case ended, ordered by id: the last line counts where a case has several.

    The order makes summaries independent of who finished first. Records are read one by one; only
    the ids are held in memory.
    """
    if is_empty(path):
        return
    where: dict[str, int] = {}
    for position, record in _lines(path):
        where[record.id] = position
    with path.open("rb") as file:
        for case_id in sorted(where, key=_natural):
            file.seek(where[case_id])
            yield decode(file.readline())


def _lines(path: Path) -> Iterator[tuple[int, Record]]:
    position = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn, or just being written
            try:
                yield position, decode(line)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise InputError(
                    f"Line {number} of {path} is damaged: {error}.",
                    remedy="Delete that line and run again: its case is then done again.",
                ) from error
            position += len(line)


def _natural(case_id: str) -> tuple[list[str | int], str]:
    """Return a key that sorts `page-2` before `page-10`."""
    parts = re.split(r"(\d{1,18})", case_id)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)], case_id


_LOOKS = 25  # `is_locked` holds the lock for a moment; retrying tells it from a writer
_LOOK_SECONDS = 0.02


@contextmanager
def locked(path: Path, name: str = "") -> Iterator[None]:
    """Hold the lock file at `path`; raise `RunLockedError` while another process holds it.

    `name` is what to call its folder in messages.
    """
    name = name or str(path.parent)
    # The file is never deleted: two processes could then lock two different files.
    with access(path, "written"):
        file = path.open("ab", buffering=0)
    with file:
        try:
            _take(file)
        except BlockingIOError:
            raise RunLockedError(
                f"{name} is being written by {_holder(path)}.",
                remedy="Wait for it to finish or stop it, or write to another directory.",
            ) from None
        except OSError as error:
            raise InputError(
                f"{name} is on a file system that cannot lock files ({error}).",
                remedy="Write the run to a local disk.",
            ) from error
        with access(path, "written"):
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield


def is_locked(path: Path) -> bool:
    """Return whether some process holds the lock file at `path`."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no lock file, or no locking: nothing writes here
    return False


def _take(file: IO[bytes]) -> None:
    for _ in range(_LOOKS):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_SECONDS)
    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_holder(path: Path) -> tuple[int, str] | None:
    """Return the process that holds or held a lock file, and its host; None if it is not known."""
    try:
        holder = json.loads(path.read_text("utf-8"))
        return int(holder["pid"]), str(holder["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not written yet, or not readable


def _holder(path: Path) -> str:
    holder = lock_holder(path)
    return "another process" if holder is None else f"process {holder[0]} on {holder[1]}"
