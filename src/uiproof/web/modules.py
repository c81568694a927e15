"""ES modules that CDNs build on the fly (`esm.sh`, `+esm`), built once with esbuild.

Each package becomes one module per entry. Shared packages, such as React, remain imports from the
requested CDN, so that a page has one instance of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from uiproof.errors import DownloadError
from uiproof.files import access, write_atomic
from uiproof.web.addresses import Address, ModuleTarget, choose_versions
from uiproof.web.packages import CommandError, Files, Store, run_command

_FOLDER = Path(__file__).parent
BUILD_LOCK = _FOLDER / "modules-lock.json"  # npm's lock file of all bundled packages
BUILD_SCRIPT = _FOLDER / "build_modules.mjs"
_SECONDS = 600
_NO_DEFAULT = "\nexport default null;\n"  # jsDelivr gives every module a default export
# An import of another package in a built module, as the build script writes it.
_IMPORT = re.compile(r"""(["'])uiproof:((?:@[\w.-]+/)?[\w.-]+)(/[^"'\s]*)?\1""")


def _index_file(store: Store) -> Path:
    """Return the index of built modules, which is specific to lock file and build script."""
    build = hashlib.sha256(BUILD_LOCK.read_bytes() + BUILD_SCRIPT.read_bytes()).hexdigest()
    return store.folder / f"modules-{build[:16]}.json"


class Modules:
    """The modules built on this machine."""

    def __init__(self, store: Store, index: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        # name@version, entry, and its `sha256` and whether it has a `default` export
        self._store, self._index = store, index
        self._versions: dict[str, list[str]] = {}
        for key in index:
            name, _, version = key.rpartition("@")
            self._versions.setdefault(name, []).append(version)

    @classmethod
    def installed(cls, store: Store) -> Modules:
        """Return the modules built by this version of uiproof."""
        try:
            modules = json.loads(_index_file(store).read_bytes())
        except (OSError, ValueError):
            modules = {}
        return cls(store, modules if isinstance(modules, dict) else {})

    @property
    def digest(self) -> str:
        """Return the digest of all modules."""
        return hashlib.sha256(json.dumps(self._index, sort_keys=True).encode()).hexdigest()

    def __len__(self) -> int:
        return sum(map(len, self._index.values()))

    def answer(
        self,
        target: ModuleTarget,
        address: Address,
        packages: Mapping[str, Mapping[str, Files]],
        manifest: Callable[[Files], dict[str, Any]],
    ) -> tuple[str, str] | None:
        """Return the source of a module, and a note if another version is served.

        Browsers treat each URL as a separate module, so every URL except the canonical one
        re-exports the canonical module.
        """
        entry = re.sub(r"\.(?:m?js)$", "", target.path)
        for version, note in choose_versions(
            self._versions.get(target.package, []), target.version
        ):
            found = self._index[f"{target.package}@{version}"].get(entry)
            if found is not None:
                files = packages.get(target.package, {}).get(version, {})
                text = self._text(target, address, version, entry, found, manifest(files))
                return (text, note) if text else None
        return None

    def _text(
        self,
        target: ModuleTarget,
        address: Address,
        version: str,
        entry: str,
        found: Mapping[str, Any],
        manifest: Mapping[str, Any],
    ) -> str:
        body = (self._store.read(found["sha256"]) or b"").decode()
        deps = dict(target.deps)
        needs = sorted({one[2] for one in _IMPORT.finditer(body)})
        versions = {name: self._needed(name, deps, manifest) for name in needs}
        versions |= {target.package: version} if target.package in versions else {}
        own = self._own_address(target, version, entry, versions, deps)
        has_default = bool(found["default"])
        if address.path + (f"?{address.query}" if address.query else "") == own:
            text = _IMPORT.sub(lambda one: _written(one, target, versions), body)
            return text if has_default or target.style != "jsdelivr" else text + _NO_DEFAULT
        if address.host == "esm.run":
            own = f"https://cdn.jsdelivr.net{own}"
        lines = [f'export * from "{own}";']
        if has_default or target.style == "jsdelivr":
            lines.append(f'export {{ default }} from "{own}";')
        return "\n".join(lines) + "\n"

    def _needed(self, name: str, deps: Mapping[str, str], manifest: Mapping[str, Any]) -> str:
        """Return the version of an imported package."""
        wanted = deps.get(name)
        for key in ("peerDependencies", "dependencies"):
            ranges = manifest.get(key)
            if wanted is None and isinstance(ranges, dict) and isinstance(ranges.get(name), str):
                wanted = ranges[name]
        chosen = choose_versions(self._versions.get(name, []), wanted or "")
        return chosen[0][0] if chosen else wanted or "latest"

    def _own_address(
        self,
        target: ModuleTarget,
        version: str,
        entry: str,
        versions: Mapping[str, str],
        deps: Mapping[str, str],
    ) -> str:
        """Return the canonical path of a module, with the options that affect its source."""
        options = []
        if target.style == "esm.sh":
            if kept := [f"{name}@{one}" for name, one in versions.items() if name in deps]:
                options.append(f"deps={','.join(kept)}")
            if kept := sorted(target.external & {*versions, "*"}):
                options.append(f"external={','.join(kept)}")
        path = _address(target.package, version, f"/{entry}" if entry else "", target.style)
        return path + (f"?{'&'.join(options)}" if options else "")


def _address(name: str, version: str, entry: str, style: str) -> str:
    if style == "jsdelivr":
        return f"/npm/{name}@{version}{entry}/+esm"
    return f"/{name}@{version}{entry}"


def _written(found: re.Match[str], target: ModuleTarget, versions: Mapping[str, str]) -> str:
    mark, name, entry = found[1], found[2], found[3] or ""
    if {name, "*"} & target.external:
        return f"{mark}{name}{entry}{mark}"
    address = _address(name, versions[name], quote(entry), target.style)
    return f"{mark}{address}{mark}"


# --- building -----------------------------------------------------------------------------------


def build(store: Store, npm: str) -> int:
    """Build all modules with npm and esbuild unless they exist; return their number.

    Raises `DownloadError` if npm or esbuild fails.
    """
    index = _index_file(store)
    built = Modules.installed(store)
    if len(built) and all(
        store.read(one["sha256"]) is not None
        for entries in built._index.values()
        for one in entries.values()
    ):
        return len(built)
    node = shutil.which("node")
    if node is None:
        raise DownloadError("node is missing, so modules cannot be built.", remedy="Install node.")
    with TemporaryDirectory(prefix="uiproof-web-") as place:
        folder = Path(place)
        lock = json.loads(BUILD_LOCK.read_text("utf-8"))
        root = {"name": "uiproof-web", "private": True}
        root["dependencies"] = lock["packages"][""]["dependencies"]
        (folder / "package.json").write_text(json.dumps(root))
        shutil.copy(BUILD_LOCK, folder / "package-lock.json")
        shutil.copy(BUILD_SCRIPT, folder / "build.mjs")
        options = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent")
        try:
            run_command([npm, "ci", *options], folder, _SECONDS)
            run_command([node, "build.mjs", "out"], folder, _SECONDS)
        except CommandError as error:
            raise DownloadError(
                f"Modules could not be built: {error}",
                remedy="URLs of esm.sh and +esm are not available; all others are.",
            ) from error
        made: dict[str, dict[str, Any]] = {}
        for one in json.loads((folder / "out/index.json").read_text("utf-8")):
            digest = store.write((folder / "out" / one["file"]).read_bytes())
            entry = {"sha256": digest, "default": one["default"]}
            made.setdefault(one["package"], {})[one["entry"]] = entry
    with access(index, "written"):
        write_atomic(index, json.dumps(made, sort_keys=True))
    return sum(map(len, made.values()))
