"""Files that come from elsewhere and go there: names that are safe, zip files that are bounded."""

from __future__ import annotations

import io
import lzma
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from uiproof.engine.storage import access
from uiproof.errors import InputError

MOST_BYTES = 64 * 1024 * 1024  # of one upload, and of all that is in a zip file
MOST_ENTRIES = 5000
_LONGEST_WORD = 100  # bytes; two of them and some more must fit into the name of a file
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # on Windows


def safe_word(name: str, taken: set[str], otherwise: str = "unnamed") -> str:
    """A name as a part of a file name that no other of `taken` has; it is added to them."""
    plain = _NOT_IN_NAMES.sub("-", unicodedata.normalize("NFC", name)).strip(".-")
    plain = plain.encode("utf-8", "ignore")[:_LONGEST_WORD].decode("utf-8", "ignore")
    plain = plain.rstrip(".-") or otherwise
    if _DEVICES.fullmatch(plain):
        plain = f"_{plain}"
    word, number = plain, 1
    while word.casefold() in taken:  # some disks do not tell capitals apart
        number += 1
        word = f"{plain}-{number}"
    taken.add(word.casefold())
    return word


def zipped(folder: Path) -> bytes:
    """All files of a folder as a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return out.getvalue()


@contextmanager
def unpacked(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The same paths, with a folder of what is in it for each zip file."""
    with ExitStack() as stack:
        found = []
        for path in paths:
            if not path.exists():
                raise InputError(f"There is no file or folder {path}.")
            if path.suffix.lower() == ".zip" and path.is_file():
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="uiproof-import-")))
                _unpack(path, folder)
                found.append(folder)
            else:
                found.append(path)
        yield found


def _unpack(path: Path, folder: Path) -> None:
    """Unpack a zip file, or refuse it as a whole: nothing in it may lie outside of the folder."""
    try:
        with access(path, "read"), zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise InputError(f"{path.name} has more than {MOST_ENTRIES:,} entries.")
            left = MOST_BYTES
            for entry in entries:
                if not entry.is_dir():
                    target = folder / _inside(path, entry)
                    with archive.open(entry) as stream:
                        content = stream.read(left + 1)  # what the entry says of itself may lie
                    left -= len(content)
                    if left < 0:
                        raise InputError(
                            f"{path.name} holds more than {MOST_BYTES // 2**20} MB.",
                            remedy="Unpack it, and name the folder to `uiproof studio import`.",
                        )
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
    except (zipfile.BadZipFile, RuntimeError, EOFError, ValueError) as error:
        # RuntimeError: a password is needed, or the kind of packing is not known; the others: bytes
        # that make no sense.
        raise InputError(
            f"{path.name} is not a zip file that can be read: {error}.",
            remedy="Zip the folder again, without a password.",
        ) from error
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise InputError(f"{path.name} is damaged: {error}.", remedy="Zip it again.") from error


def _inside(path: Path, entry: zipfile.ZipInfo) -> Path:
    name = entry.filename
    parts = PurePosixPath(name).parts
    link = stat.S_ISLNK(entry.external_attr >> 16)
    unsafe = not parts or name.startswith("/") or ".." in parts
    if unsafe or link or "\\" in name or ":" in parts[0] or "\0" in name:
        raise InputError(
            f"{path.name} has an entry that would lie elsewhere: {name[:80]!r}. "
            "Nothing of it was imported."
        )
    return Path(*parts)
