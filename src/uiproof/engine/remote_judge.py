"""The remote side of a worker on another machine, which may not see the files of the run.

A `RemoteJudge` takes the place of the judge in a worker process and wraps it. The machine that
started the run first checks the node's identity and folders, then has the judge made, and then
sends one case after another.
"""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any

from uiproof.engine.executors import Stage, perform
from uiproof.engine.rundir import dataset_key
from uiproof.errors import InputError, MissingDependencyError, UiproofError, UsageError
from uiproof.files import access, write_atomic
from uiproof.remote import mirror

VISIBILITY_MARKER = ".visible"  # in a run directory: workers that can read it share the disk


class RemoteJudge:
    """The calls that a worker on another machine gets, in this order."""

    def __init__(self) -> None:
        self._judge: Any = None
        self._folders: dict[str, Path] = {}
        self._elsewhere: set[str] = set()  # folders that are not where the run has them
        self._outgoing: Outgoing | None = None

    def identity(self, fingerprint: bytes) -> dict[str, Any]:
        """Return what has to be the same on all machines for scores to be comparable."""
        return {"uiproof": version("uiproof"), "fingerprint": dict(_loaded(fingerprint, {})())}

    def find(self, place: SharedFolder, run: Path) -> Path | None:
        """Return where this machine has a folder: at the same path, or fetched from its URL."""
        if place.is_same(place.folder, run=run):
            return place.folder
        if place.url is None:
            return None
        found = mirror.fetch(place.url)
        found = found.parent if found.is_file() else found
        if not place.is_same(found, run=run):
            raise InputError(
                f"{place.url} has other files than when the run began.",
                remedy="Start the command again; data must not change during a run.",
            )
        return found

    def begin(
        self, recipe: bytes, run: Path, token: str, homes: Mapping[str, tuple[Path, Path]]
    ) -> None:
        """Make the judge. `homes` are places by name: where they are in the run, and here."""
        for _, ours in homes.values():
            mirror.keep(ours)
        here = run
        if not _sees(run, token):
            # The guardian of this process removes its temporary files, however it ends.
            here = Path(tempfile.mkdtemp(prefix="run-"))
            self._outgoing = Outgoing(here)
        pairs = {"run": (run, here), **homes}
        self._folders = {name: ours for name, (_, ours) in pairs.items()}
        self._elsewhere = {name for name, (theirs, ours) in pairs.items() if theirs != ours}
        self._judge = _loaded(recipe, self._folders)()

    def carry(self, stage: Stage, request: bytes) -> tuple[bytes, dict[str, bytes]]:
        """Call one stage of the judge; return its pickled result and the files that it wrote."""
        try:
            answer = True, perform(self._judge, stage, *unpack(request, self._folders))
        except UiproofError as error:
            answer = False, error
        reply = pack(answer, self._folders, in_texts=self._elsewhere)
        return reply, self._outgoing.take() if self._outgoing else {}

    def close(self) -> None:
        """Close the judge."""
        if self._judge is not None:
            self._judge.close()


def _loaded(packed: bytes, folders: Mapping[str, Path]) -> Any:
    try:
        return unpack(packed, folders)
    except ImportError as error:
        raise MissingDependencyError(
            f"The benchmark cannot be loaded: {error}.",
            remedy="Install the same packages on every node.",
        ) from error


def _sees(run: Path, token: str) -> bool:
    try:
        return (run / VISIBILITY_MARKER).read_text("ascii") == token
    except (OSError, ValueError):
        return False


REFERENCES = "references"
_TEXT = ""  # in place of a folder's name: a text in which folders are named


def pack(value: Any, folders: Mapping[str, Path], *, in_texts: Container[str] = ()) -> bytes:
    """Pickle a value so that its paths below the folders can be found on another machine.

    Of folders that are `in_texts`, so is what strings say, such as error messages.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, folders, in_texts).dump(value)
    return buffer.getvalue()


def unpack(data: bytes, folders: Mapping[str, Path]) -> Any:
    """Return what was packed, with paths as they are on this machine."""
    return _Unpickler(io.BytesIO(data), folders).load()


class _Pickler(pickle.Pickler):
    def __init__(
        self, file: io.BytesIO, folders: Mapping[str, Path], in_texts: Container[str]
    ) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        # Paths are often resolved, and a folder may have been named by a link to it. A folder in
        # another one goes before that.
        known = set(folders.items())
        known |= {(name, path.resolve()) for name, path in folders.items()}
        self._known = sorted(known, key=lambda one: (-len(one[1].parts), one))
        self._in_texts = [one for one in self._known if one[0] in in_texts]

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Path):
            path = value.absolute()  # relative paths mean nothing on other machines
            for name, folder in self._known:
                if path.is_relative_to(folder):
                    return name, path.relative_to(folder).as_posix()
        elif isinstance(value, str):
            text = value
            for name, folder in self._in_texts:
                text = text.replace(str(folder), f"\0{name}\0")
            if text != value:
                return _TEXT, text
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, folders: Mapping[str, Path]) -> None:
        super().__init__(file)
        self._folders = folders

    def persistent_load(self, found: Any) -> Any:
        name, rest = found
        if name != _TEXT:
            return self._folders[name] / rest
        for known, folder in self._folders.items():
            rest = rest.replace(f"\0{known}\0", str(folder))
        return rest


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder that judges read from, as the machine that started the run sees it."""

    name: str
    folder: Path
    sample: Path  # the folder, or the one file of it that was named
    key: str  # `dataset_key` of the sample
    url: str | None = None  # where anybody can get the folder or the file

    @classmethod
    def of(cls, name: str, path: Path, *, run: Path) -> SharedFolder:
        """Describe a data set, a folder of predictions, or the folder of a file."""
        from uiproof.remote.mirror import url_of

        path = path.absolute()
        folder = path.parent if path.is_file() else path
        return cls(name, folder, path, dataset_key(path, run=run), url_of(folder) or url_of(path))

    def is_same(self, folder: Path, *, run: Path) -> bool:
        """Return whether a folder of this machine has the same content."""
        sample = folder / self.sample.relative_to(self.folder)
        return sample.exists() and dataset_key(sample, run=run) == self.key


class Outgoing:
    """The files of a judge in a run directory that only its own machine sees.

    References, which it reads again itself, stay for a while; the rest is deleted when it is sent.
    """

    def __init__(self, run: Path, *, most_kept: int = 1 << 30) -> None:
        self._run, self._most_kept = run, most_kept
        self._sent: dict[Path, tuple[int, int]] = {}  # in the order of sending

    def take(self) -> dict[str, bytes]:
        """Return the complete files that are new since the last time, by their names in the run."""
        taken = {}
        for path in _visible(self._run):
            about = path.stat()
            state = about.st_mtime_ns, about.st_size
            if self._sent.get(path) == state:
                continue
            name = path.relative_to(self._run)
            taken[name.as_posix()] = path.read_bytes()
            if name.parts[0] == REFERENCES:
                self._sent[path] = state
            else:
                path.unlink()
        self._forget_oldest()
        return taken

    def _forget_oldest(self) -> None:
        kept = sum(size for _, size in self._sent.values())
        while kept > self._most_kept and self._sent:
            path = next(iter(self._sent))
            kept -= self._sent.pop(path)[1]
            path.unlink(missing_ok=True)


def _visible(folder: Path) -> Iterator[Path]:
    for around, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(around, name) for name in names if not name.startswith("."))


def write_files(run: Path, files: Mapping[str, bytes]) -> None:
    """Write files that came from another machine into a run, each atomically."""
    for name, data in files.items():
        path = run / name
        if ".." in PurePath(name).parts or PurePath(name).is_absolute():
            raise UsageError(f"A worker wants to write outside of the run: {name}.")
        with access(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
