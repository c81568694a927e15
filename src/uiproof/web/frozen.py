"""The frozen web: responses to foreign URLs from local files, without a network.

A URL is looked up in the archive, if there is one, then among fonts, packages and pictures. Nothing
here can open a connection.
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
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from uiproof.settings import Settings
from uiproof.web import addresses, fonts, placeholders
from uiproof.web.addresses import Address, ModuleTarget, Target, choose_versions
from uiproof.web.archive import Archive
from uiproof.web.modules import Modules
from uiproof.web.packages import Files, Lock, Store

Source = Literal["frozen", "placeholder", "archive"]

_CACHE_BYTES = 64 << 20  # of responses in memory
_SCHEME = "uiproof-web-1"  # to be changed with the content of generated files
_FONT_SHEETS = {"fonts.googleapis.com", "fonts.bunny.net", "fonts.loli.net", "fonts.font.im"}
_FONT_FILES = {"fonts.gstatic.com"}
_SYSTEM_FONT = "winstrap"  # the npm package that has Selawik, under the Open Font License
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
    """The response to a foreign URL."""

    body: bytes
    content_type: str
    source: Source
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # besides content type and CORS
    note: str = ""  # for example "6.7.2 instead of 6.0.0" if another version is served


class FrozenWeb:
    """Answer foreign URLs from local files, without a network.

    Thread-safe. Responses are cached in memory up to a limit.
    """

    def __init__(
        self, folder: Path, *, lock: Lock | None = None, archive: Archive | None = None
    ) -> None:
        """Use the files in a folder, which may be empty or missing."""
        self._lock = lock or Lock.packaged()
        self._store = Store(folder)
        self._archive = archive
        self._answers: OrderedDict[str, Answer | None] = OrderedDict()
        self._cached_bytes = 0
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
        """Return the set on this machine, which may be empty, with an archive in front of it.

        Raises `InputError` if the archive cannot be read.
        """
        opened = Archive.open(archive) if archive is not None else None
        return cls(Settings.from_environment().web_dir, archive=opened)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of everything that is served: files, modules and archive."""
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
        """Return the installed packages with their versions and files."""
        return self._packages

    @property
    def system_fonts(self) -> list[bytes]:
        """Return the font files that `system-ui` means; empty if they are not installed."""
        files = next(iter(self._packages.get(_SYSTEM_FONT, {}).values()), {})
        found = [self._store.read(files[path]) for path in sorted(files) if path.endswith(".ttf")]
        return [font for font in found if font is not None]

    @property
    def modules(self) -> int:
        """Return the number of ES modules."""
        return len(self._modules)

    def answer(self, url: str) -> Answer | None:
        """Return the response to a URL, or None if it is not available.

        Accepts any string. Equal URLs have equal responses.
        """
        with self._guard:
            if url in self._answers:
                self._answers.move_to_end(url)
                return self._answers[url]
        answer = self._find(url)
        if _size(answer) < _CACHE_BYTES // 4 and len(url) <= addresses.MAX_ADDRESS:
            with self._guard:
                if url not in self._answers:
                    self._answers[url] = answer
                    self._cached_bytes += _size(answer)
                while self._cached_bytes > _CACHE_BYTES:
                    self._cached_bytes -= _size(self._answers.popitem(last=False)[1])
        return answer

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
        found: list[Answer] = []
        for target in addresses.targets(address):
            if isinstance(target, ModuleTarget):
                one = self._module(target, address)
            else:
                one = self._file(target)
            if one is None:
                return None
            found.append(one)
        if not found:
            return None
        body = b"\n".join(one.body for one in found)
        return replace(found[0], body=body, note=", ".join(one.note for one in found if one.note))

    def _file(self, target: Target) -> Answer | None:
        versions = self._packages.get(target.package, {})
        for version, note in choose_versions(versions, target.version):
            for path in self._paths(target, versions[version]):
                body = self._store.read(versions[version][path])
                if body is not None:
                    return Answer(body, content_type(path), "frozen", note=note)
        return None

    def _paths(self, target: Target, files: Files) -> Iterator[str]:
        """Yield the files of a package that match a target, best first."""
        if not target.path:
            yield from self._entries(target, files)
            return
        path = target.path.strip("/")
        small = {one.lower(): one for one in files}  # capitalization has changed between versions
        for one in (path, *_twins(path)):
            for folder in ("", *target.folders):
                place = f"{folder}/{one}".lstrip("/")
                if place in files:
                    yield place
                elif place.lower() in small:
                    yield small[place.lower()]

    def _entries(self, target: Target, files: Files) -> Iterator[str]:
        """Yield the files that a CDN serves for a package without a path."""
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
        css, missing = fonts.write_sheet(wishes, self._fonts, options.get("display", ""))
        note = f"without {', '.join(missing)}" if missing else ""
        return Answer(css.encode(), _TYPES[".css"], "frozen", note=note) if css else None

    def _font_file(self, address: Address) -> Answer | None:
        found = fonts.find_file(address.path, self._fonts)
        if found is None:
            return None
        package, path, note = found
        body = self._store.read(self._fonts[package][path])
        return Answer(body, content_type(path), "frozen", note=note) if body is not None else None


def _size(answer: Answer | None) -> int:
    return 1000 + (len(answer.body) if answer else 0)


def content_type(path: str) -> str:
    """Return the content type of a file name."""
    suffix = Path(path).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _twins(path: str) -> list[str]:
    """Return the names of minified or other builds of the same file."""
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
