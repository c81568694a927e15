"""Write the lock of the frozen web anew, from npm.

    python scripts/lock_web.py            # web_packages.txt, as src/uiproof/web/lock.json
    python scripts/lock_web.py vue@3.5.26 # only this line of it, the others stay
    python scripts/lock_web.py modules    # web_modules.txt, as src/uiproof/web/modules-lock.json
    python scripts/lock_web.py newest     # packages whose newest version of `DATE` is not named

To add a package or raise a version, change web_packages.txt and run this again. An address without
a version means the newest version that is named there, so the newest one of `DATE` belongs to every
package. Only files that pages load are taken: minified builds, style sheets, web fonts.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from uiproof.web.addresses import number_of
from uiproof.web.fonts import FAMILIES, FONT_VERSION, ICON_PACKAGES, Family
from uiproof.web.modules import BUILD_LOCK
from uiproof.web.packages import LOCK_FILE, find_npm, pack, unpack

DATE = "2025-12-31"

WISHES = Path(__file__).parent / "web_packages.txt"
MODULES = Path(__file__).parent / "web_modules.txt"
# What builds modules, and parts of packages whose newer versions do not fit.
MODULE_TOOLS = {"esbuild": "0.27.2", "motion-dom": "12.23.23", "motion-utils": "12.23.6"}


def main() -> None:
    """Pack every package, take its files, write the lock."""
    npm = find_npm() or sys.exit("npm is not installed.")
    lines = WISHES.read_text("utf-8").splitlines()
    wishes = [line.split() for line in lines if not line.startswith("#")]
    wishes += [[name, *patterns] for name, patterns in ICON_PACKAGES.items()]
    wishes += [_font_wish(one) for one in FAMILIES.values()]
    packages: dict[str, dict[str, str]] = {}
    if only := set(sys.argv[1:]):
        locked = json.loads(LOCK_FILE.read_text("utf-8"))["packages"]
        known = {wish[0] for wish in wishes}
        packages = {name: files for name, files in locked.items() if name in known}
        wishes = [wish for wish in wishes if wish[0] in only]
    total = 0
    with TemporaryDirectory() as place:
        folder = Path(place)
        for number in range(0, len(wishes), 10):
            pack(npm, [wish[0] for wish in wishes[number : number + 10]], folder)
            print(f"{number + 10} of {len(wishes)}", end="\r", flush=True)
        for name, *patterns in sorted(wishes):
            files = dict(unpack(folder / f"{_tarball(name)}.tgz"))
            taken = sorted({*_matching(files, patterns, name), *_entries(files, name)})
            packages[name] = {path: hashlib.sha256(files[path]).hexdigest() for path in taken}
            size = sum(len(files[path]) for path in taken)
            total += size
            print(f"{size:>10,}  {len(taken):>5}  {name}")
    text = json.dumps({"date": DATE, "packages": packages}, indent=0, sort_keys=True)
    LOCK_FILE.write_text(text + "\n", "utf-8")
    print(f"{total:>10,}  bytes in {sum(map(len, packages.values()))} files")


def lock_modules() -> None:
    """Write npm's lock file of everything that built modules consist of."""
    npm = find_npm() or sys.exit("npm is not installed.")
    dependencies = dict(MODULE_TOOLS)
    for line in MODULES.read_text("utf-8").splitlines():
        name, _, version = line.rpartition("@")
        if not line.startswith("#"):
            alias = name.removeprefix("@").replace("/", "-")
            dependencies[f"{alias}-{version.partition('.')[0]}"] = f"npm:{name}@{version}"
    with TemporaryDirectory() as place:
        root = {"name": "uiproof-web", "private": True, "dependencies": dependencies}
        (Path(place) / "package.json").write_text(json.dumps(root))
        options = ("--package-lock-only", "--legacy-peer-deps", "--omit-lockfile-registry-resolved")
        subprocess.run([npm, "install", *options], cwd=place, check=True)
        BUILD_LOCK.write_bytes((Path(place) / "package-lock.json").read_bytes())


def check_newest() -> None:
    """Print the packages whose newest release of the date is not in the list."""
    npm = find_npm() or sys.exit("npm is not installed.")
    named: dict[str, set[str]] = {}
    for line in WISHES.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.split()[0].rpartition("@")
            named.setdefault(name, set()).add(version)

    def newest(name: str) -> str:
        command = [npm, "view", name, "time", "--json"]
        shown = subprocess.run(command, capture_output=True, check=True).stdout
        dates = json.loads(shown)
        released = [one for one, day in dates.items() if day[:10] <= DATE and number_of(one)]
        stable = [one for one in released if "-" not in one]
        return max(stable, key=lambda one: number_of(one) or (), default="")

    with ThreadPoolExecutor(8) as pool:
        for name, version in zip(named, pool.map(newest, named), strict=True):
            if all((number_of(version) or ()) > (number_of(one) or ()) for one in named[name]):
                print(f"{name}: {version} is newer than {', '.join(sorted(named[name]))}")


def _font_wish(family: Family) -> list[str]:
    return [f"{family.package}@{FONT_VERSION}", *family.patterns()]


def _tarball(name: str) -> str:
    package, _, version = name.rpartition("@")
    return f"{package.removeprefix('@').replace('/', '-')}-{version}"


def _matching(files: dict[str, bytes], patterns: list[str], name: str) -> Iterator[str]:
    for pattern in patterns:
        depth = pattern.count("/")
        found = [path for path in files if path.count("/") == depth and fnmatchcase(path, pattern)]
        if not found:
            print(f"{name}: nothing matches {pattern}", file=sys.stderr)
        yield from found


def _entries(files: dict[str, bytes], name: str) -> Iterator[str]:
    """Yield the manifest, and the files that a CDN serves where an address names none."""
    if name.startswith("@fontsource"):
        return  # only style sheets lead to their files
    yield "package.json"
    manifest = json.loads(files["package.json"])
    for key in ("jsdelivr", "unpkg", "style"):
        path = manifest.get(key)
        if isinstance(path, str):
            path = re.sub(r"^\./", "", path)
            for one in (path, re.sub(r"(\.min)?\.(js|css)$", r".min.\2", path)):
                if one in files and len(files[one]) < 1_500_000:
                    yield one


if __name__ == "__main__":
    {"modules": lock_modules, "newest": check_newest}.get("".join(sys.argv[1:2]), main)()
