"""Paths that mean the same on several machines, and files that travel where no disk is shared.

Cases, questions and answers hold paths of the machine that a run was started on. Each of these
lies in a folder that the run knows: its own directory, the data set, a folder of predictions. A
path travels as the name of such a folder and what follows; the other side puts its own in front.

    data = pack(case, {"data": Path("/home/me/pages")})
    case = unpack(data, {"data": Path("/var/cache/uiproof/pages")})
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from uiproof.engine.rundir import dataset_files, dataset_key
from uiproof.engine.storage import access
from uiproof.errors import UsageError

PART_BYTES = 64 << 20
MOST_BYTES = 2 << 30  # of a folder that is sent; more belongs on a disk or a server

Part = list[tuple[str, bytes]]  # names of files in a folder, each with its next bytes
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
    """What was packed, with paths as they are on this machine."""
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
            path = value.absolute()  # there is no telling where workers elsewhere are
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
class Place:
    """A folder that judges read from, as the machine that started the run sees it."""

    name: str
    folder: Path
    sample: Path  # the folder, or the one file of it that was named
    key: str  # `dataset_key` of the sample
    url: str | None = None  # where anybody can get the folder or the file

    @classmethod
    def of(cls, name: str, path: Path, *, run: Path) -> Place:
        """The place that a data set or a folder of predictions is; or the folder of a file."""
        from uiproof.remote.mirror import url_of

        path = path.absolute()
        folder = path.parent if path.is_file() else path
        return cls(name, folder, path, dataset_key(path, run=run), url_of(folder) or url_of(path))

    def is_same(self, folder: Path, *, run: Path) -> bool:
        """Whether a folder of this machine holds what the place does."""
        sample = folder / self.sample.relative_to(self.folder)
        return sample.exists() and dataset_key(sample, run=run) == self.key


def parts_of(place: Place, *, run: Path) -> Iterator[Part]:
    """The files of a folder in parts that can be sent one after the other."""
    part: Part = []
    size = total = 0
    for path in dataset_files(place.folder, run):
        name = path.relative_to(place.folder).as_posix()
        with access(path, "read"), path.open("rb") as file:
            data = file.read(PART_BYTES - size)
            while True:  # at least once: empty files are files
                part.append((name, data))
                size += len(data)
                total += len(data)
                if total > MOST_BYTES:
                    raise _too_much(place)
                if size >= PART_BYTES:
                    yield part
                    part, size = [], 0
                if not (data := file.read(PART_BYTES - size)):
                    break
    yield part


def _too_much(place: Place) -> UsageError:
    return UsageError(
        f"{place.folder} is not on the disks of all nodes, and larger than the "
        f"{MOST_BYTES >> 30} GB that are sent to them.",
        remedy="Put it on a disk that all nodes share, or name it by a URL such as s3://…",
    )


def write_part(folder: Path, part: Part) -> None:
    """Write one part of a folder; parts come in their order."""
    for name, data in part:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)


class Outgoing:
    """What a judge writes into a run directory that only its own machine sees.

    References, which it reads again itself, stay for a while; the rest is deleted when it is sent.
    """

    def __init__(self, run: Path, *, most_kept: int = 1 << 30) -> None:
        self._run, self._most_kept = run, most_kept
        self._sent: dict[Path, tuple[int, int]] = {}  # in the order of sending

    def take(self) -> dict[str, bytes]:
        """The complete files that are new since the last time, by their names in the run."""
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
    """Put files that came from another machine into a run, each all or nothing."""
    for name, data in files.items():
        path = run / name
        if ".." in PurePath(name).parts or PurePath(name).is_absolute():
            raise UsageError(f"A worker wants to write outside of the run: {name}.")
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        with access(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(data)
            partial.replace(path)
