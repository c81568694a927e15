"""The frozen web: every foreign address that has an answer, and the answer.

An address is looked up in the archive first, if there is one, then among fonts, packages and
pictures. What is not found has no answer: there is nothing here that could open a connection.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from uiproof.settings import Settings
from uiproof.web import addresses, fonts, placeholders
from uiproof.web.addresses import Address, ModuleTarget, Target, choose_versions
from uiproof.web.archive import Archive
from uiproof.web.modules import Modules
from uiproof.web.packages import Files, Lock, Store

Source = Literal["frozen", "placeholder", "archive"]

_CACHE_BYTES = 64 << 20  # of answers that are kept in memory
_SCHEME = "uiproof-web-1"  # changes when pictures or style sheets are written differently
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".cjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".woff": "font/woff",
    ".ttf": "font/ttf",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a foreign address."""

    body: bytes
    content_type: str
    source: Source
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # besides content type and CORS
    note: str = ""  # such as "6.7.2 instead of 6.0.0" where another version stands in


class FrozenWeb:
    """Answers addresses from files on this machine; it never opens a network.

    May be used by several threads. Answers are kept in memory up to a limit, files are read and
    checked once.
    """

    def __init__(
        self, folder: Path, *, lock: Lock | None = None, archive: Archive | None = None
    ) -> None:
        """Use the set in a folder, which may be empty or missing."""
        self._lock = lock or packaged_lock()
        self._store = Store(folder)
        self._archive = archive
        self._answers: OrderedDict[str, Answer | None] = OrderedDict()
        self._kept = 0
        self._guard = threading.Lock()
        present = self._store.present
        self._packages: dict[str, dict[str, Files]] = {}
        for name, version, files in self._lock.entries():
            if here := {path: digest for path, digest in files.items() if digest in present}:
                self._packages.setdefault(name, {})[version] = here
        self._modules = Modules.installed(self._store)
        # Fonts have one version each.
        self._fonts = {name: next(iter(one.values())) for name, one in self._packages.items()}

    @classmethod
    def installed(cls, archive: Path | None = None) -> FrozenWeb:
        """Return the set that is on this machine, maybe none, with an archive before it.

        Raises `InputError` where the archive cannot be read.
        """
        opened = Archive.open(archive) if archive is not None else None
        return cls(Settings.from_environment().web_dir, archive=opened)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of everything that may answer: lock, files, modules, archive."""
        here = [
            f"{name}@{version}/{path}={digest}"
            for name, versions in sorted(self._packages.items())
            for version, files in sorted(versions.items())
            for path, digest in sorted(files.items())
        ]
        archive = self._archive.digest if self._archive else ""
        parts = [_SCHEME, self._lock.date, self._modules.digest, archive, *here]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def packages(self) -> Mapping[str, Mapping[str, Files]]:
        """Return the packages that are here, with versions and files."""
        return self._packages

    @property
    def modules(self) -> int:
        """Return how many ES modules were built."""
        return len(self._modules)

    def answer(self, url: str) -> Answer | None:
        """Return the content of an address; None where it is not available.

        Never raises, for any string. Equal addresses have equal answers.
        """
        with self._guard:
            if url in self._answers:
                self._answers.move_to_end(url)
                return self._answers[url]
        answer = self._find(url)
        size = 1000 + (len(answer.body) if answer else 0)
        if size < _CACHE_BYTES // 4 and len(url) <= addresses.MAX_ADDRESS:
            self._keep(url, answer)
        return answer

    def _keep(self, url: str, answer: Answer | None) -> None:
        with self._guard:
            if url in self._answers:
                return
            self._answers[url] = answer
            self._kept += 1000 + (len(answer.body) if answer else 0)
            while self._kept > _CACHE_BYTES:
                _, old = self._answers.popitem(last=False)
                self._kept -= 1000 + (len(old.body) if old else 0)

    def _find(self, url: str) -> Answer | None:
        if self._archive and (found := self._archive.read(url)):
            body, content_type, status = found
            return Answer(body, content_type, "archive", status)
        address = addresses.parse(url)
        if address is None:
            return None
        if address.host in _FONT_SHEETS:
            return self._font_sheet(address)
        if address.host in _FONT_FILES:
            return self._font_file(address)
        if picture := placeholders.picture_of(address):
            body, note = placeholders.draw(picture)
            return Answer(body, "image/png", "placeholder", note=note)
        return self._package_files(address)

    # --- packages -----------------------------------------------------------------------------

    def _package_files(self, address: Address) -> Answer | None:
        found = []
        for target in addresses.targets(address):
            one = (
                self._module(target, address)
                if isinstance(target, ModuleTarget)
                else self._file(target)
            )
            if one is None:
                return None
            found.append(one)
        if len(found) < 2:
            return found[0] if found else None
        body = b"\n".join(one.body for one in found)
        return replace(
            found[0], body=body, note=", ".join(filter(None, (one.note for one in found)))
        )

    def _file(self, target: Target) -> Answer | None:
        versions = self._packages.get(target.package, {})
        for version, note in choose_versions(versions, target.version):
            for path in self._paths(target, versions[version]):
                body = self._store.read(versions[version][path])
                if body is not None:
                    return Answer(body, content_type(path), "frozen", note=note)
        return None

    def _paths(self, target: Target, files: Files) -> Iterator[str]:
        """Yield the files of a package that a target may mean, best first."""
        if not target.path:
            yield from self._entries(target, files)
            return
        path = target.path.strip("/")
        small = {one.lower(): one for one in files}  # some names were written larger once
        for one in (path, *_twins(path)):
            for folder in ("", *target.folders):
                place = f"{folder}/{one}".lstrip("/")
                if place in files:
                    yield place
                elif place.lower() in small:
                    yield small[place.lower()]

    def _entries(self, target: Target, files: Files) -> Iterator[str]:
        """Yield what a CDN serves where no file is named."""
        manifest = self._manifest(files)
        for key in target.entries:
            path = manifest.get(key)
            if isinstance(path, str):
                path = path.removeprefix("./")
                for one in (path, f"{path}.js", *_twins(path)):
                    if one in files:
                        yield one

    def _manifest(self, files: Files) -> dict[str, Any]:
        body = self._store.read(files.get("package.json", ""))
        return _parsed(body) if body else {}

    def _module(self, target: ModuleTarget, address: Address) -> Answer | None:
        found = self._modules.answer(target, address, self._packages, self._manifest)
        if found is None:
            return None
        text, note = found
        return Answer(text.encode(), _TYPES[".js"], "frozen", note=note)

    # --- fonts --------------------------------------------------------------------------------

    def _font_sheet(self, address: Address) -> Answer | None:
        wishes = fonts.parse_query(address.path, address.query)
        if not wishes:
            return None
        options = dict(addresses.query_pairs(address.query))
        sheet = fonts.write_sheet(wishes, self._fonts, options.get("display", ""))
        if not sheet.css:
            return None
        note = f"without {', '.join(sheet.missing)}" if sheet.missing else ""
        return Answer(sheet.css.encode(), _TYPES[".css"], "frozen", note=note)

    def _font_file(self, address: Address) -> Answer | None:
        found = fonts.find_file(address.path, self._fonts)
        if found is None:
            return None
        package, path, note = found
        body = self._store.read(self._fonts[package][path])
        return Answer(body, content_type(path), "frozen", note=note) if body is not None else None


_FONT_SHEETS = {"fonts.googleapis.com", "fonts.bunny.net", "fonts.loli.net", "fonts.font.im"}
_FONT_FILES = {"fonts.gstatic.com"}


@lru_cache(maxsize=1)
def packaged_lock() -> Lock:
    """Return the lock that is part of uiproof, read once."""
    return Lock.packaged()


def content_type(path: str) -> str:
    """Return the content type of a file by its name."""
    suffix = Path(path).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _twins(path: str) -> list[str]:
    """Return the names of the same file, minified or not, for development or not."""
    if path.endswith(".development.js"):
        return [f"{path.removesuffix('.development.js')}.production.min.js"]
    if path.endswith((".production.js", ".production.min.js")):
        return [f"{path.rpartition('.production')[0]}.development.js"]
    if found := re.fullmatch(r"(.+\.(?:global|iife|esm-browser))(\.prod)?\.js", path):
        return [f"{found[1]}.js" if found[2] else f"{found[1]}.prod.js"]
    found = re.fullmatch(r"(.+?)((?:[.-]min)?)(\.m?js|\.css)", path)
    if found is None:
        return []
    stem, minified, suffix = found.groups()
    return [f"{stem}{suffix}"] if minified else [f"{stem}.min{suffix}", f"{stem}-min{suffix}"]


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(body)
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}
