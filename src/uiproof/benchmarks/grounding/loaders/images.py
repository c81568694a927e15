"""Where the screenshots of a set are: in folders, in archives, or inside parquet files.

What is packed is unpacked when it is needed, into the cache folder; the data itself is never
changed.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath

from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.settings import Settings

Images = Callable[[str], Path]  # the name in the annotations -> the file; `InputError` without

_FOLDERS = (
    "images",
    "frames",
    "screenspot_imgs",
    "screenspotv2_image",
    "screenspotv2_imgs",
    "offline_images",
    "MMBench-GUI-OfflineImages",
    "MMBench-GUI-OfflineImages/offline_images",
)
_MOST_UNPACKED = 256 << 20  # bytes of one image of an archive; screenshots have a few million
_SIGNATURES = ((b"\x89PNG", ".png"), (b"\xff\xd8\xff", ".jpg"), (b"RIFF", ".webp"))


class ImageFolder:
    """Finds images beside an annotation file, or in the folders and archives around it.

    `levels` says how many folders up the set begins. With `shorten`, the front of an annotated path
    may be one that exists only on its author's machine.
    """

    def __init__(self, file: Path, *, levels: int = 0, shorten: bool = False) -> None:
        self._file = file
        bases = [file.parent, *file.parent.parents[:levels]]
        self._roots = [root for base in bases for root in (base, *(base / f for f in _FOLDERS))]
        self._shorten = shorten

    def __call__(self, name: str) -> Path:
        """The image with this name, or `InputError`."""
        path = PurePosixPath(name.replace("\\", "/"))
        if ".." in path.parts or path.is_absolute() or not path.name or "\0" in name:
            raise InputError(
                f"The image {name!r} is outside of the data set.", remedy="Correct the annotations."
            )
        ends = [path]
        if self._shorten:
            # Never to the name alone: the folders of a set hold different images of one name.
            ends += [PurePosixPath(*path.parts[n:]) for n in range(1, len(path.parts) - 1)]
        for end in ends:
            for root in self._roots:
                if (root / end).is_file():
                    return root / end
        for archive in self._archives:
            for end in ends:
                if found := archive.extract(end.as_posix()):
                    return found
        raise InputError(
            f"The image {name} of {self._file} is missing.",
            remedy=f"It was looked for in {self._file.parent} and the folders of images there.",
        )

    @cached_property
    def _archives(self) -> list[_Archive]:
        files = sorted(self._file.parent.glob("*.zip"))
        return [_Archive(file) for file in files if zipfile.is_zipfile(file)]


class _Archive:
    """The images of a zip file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def _members(self) -> dict[str, str]:
        """Where a file is, by its path without the folders that only archives have."""
        try:
            with access(self._file, "read"), zipfile.ZipFile(self._file) as archive:
                names = [info.filename for info in archive.infolist() if not info.is_dir()]
        except (zipfile.BadZipFile, ValueError, RuntimeError) as error:
            raise InputError(
                f"{self._file} cannot be unpacked: {error}.", remedy="Download the archive again."
            ) from error
        found = {name: name for name in names}
        for name in names:
            parts = name.split("/")
            for start in range(1, len(parts)):
                found.setdefault("/".join(parts[start:]), name)
        return found

    def extract(self, name: str) -> Path | None:
        """The unpacked file, or None where the archive does not hold it."""
        member = self._members.get(name)
        if member is None:
            return None
        target = unpacked(self._file) / f"{sha256(member.encode()).hexdigest()[:16]}"
        target = target.with_suffix(PurePosixPath(member).suffix)
        if not target.is_file():
            store(target, self._content(member))
        return target

    def _content(self, member: str) -> bytes:
        try:
            with (
                access(self._file, "read"),
                zipfile.ZipFile(self._file) as archive,
                archive.open(member) as image,
            ):
                content = image.read(_MOST_UNPACKED + 1)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError) as error:
            raise InputError(
                f"{member} in {self._file} cannot be unpacked: {error}.",
                remedy="Download the archive again.",
            ) from error
        if len(content) > _MOST_UNPACKED:
            raise InputError(
                f"{member} in {self._file} unpacks to more than {_MOST_UNPACKED >> 20} MB.",
                remedy="Download the archive again.",
            )
        return content


def unpacked(file: Path) -> Path:
    """The folder of the cache for what comes out of a packed file; another one when it changes."""
    status = file.stat()
    identity = f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"
    cache = Settings.from_environment().cache_dir
    return cache / "grounding" / sha256(identity.encode(errors="surrogateescape")).hexdigest()[:24]


def store(target: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    with access(target, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(target)


def suffix_of(content: bytes) -> str:
    """The usual end of the file name of an image, by its first bytes."""
    for signature, suffix in _SIGNATURES:
        if content.startswith(signature):
            return suffix
    raise InputError("This is no PNG, JPEG or WebP image.", remedy="Download the set again.")


def suffixes() -> Sequence[str]:
    """All ends that `suffix_of` can give."""
    return [suffix for _, suffix in _SIGNATURES]


def image_size(path: Path) -> tuple[int, int]:
    """Width and height from the head of an image file; `InputError` where it is none."""
    from uiproof.vision import images

    try:
        return images.size(path)
    except InputError as error:
        raise InputError(
            f"{path} is not a readable image. {error.message}", remedy="Download the set again."
        ) from error
