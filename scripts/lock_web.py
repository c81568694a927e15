"""Write the lock of the frozen web anew, from npm.

    python scripts/lock_web.py            # all of web_packages.txt, as src/uiproof/web/lock.json

To add a package or raise a version, change web_packages.txt and run this again. An address without
a version means the newest version that is named there, so the newest one of `DATE` belongs to every
package. Only files that pages load are taken: minified builds, style sheets, web fonts.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from uiproof.web.fonts import FAMILIES, FONT_VERSION, ICON_PACKAGES, Family
from uiproof.web.packages import LOCK_FILE, find_npm, pack, unpack

DATE = "2025-12-31"

WISHES = Path(__file__).parent / "web_packages.txt"


def main() -> None:
    """Pack every package, take its files, write the lock."""
    npm = find_npm() or sys.exit("npm is not installed.")
    lines = WISHES.read_text("utf-8").splitlines()
    wishes = [line.split() for line in lines if not line.startswith("#")]
    wishes += [[name, *patterns] for name, patterns in ICON_PACKAGES.items()]
    wishes += [_font_wish(one) for one in FAMILIES.values()]
    packages, total = {}, 0
    with TemporaryDirectory() as place:
        folder = Path(place)
        for number in range(0, len(wishes), 10):
            pack(npm, [wish[0] for wish in wishes[number : number + 10]], folder)
            print(f"{number + 10} of {len(wishes)}", end="\r", flush=True)
        for name, *patterns in sorted(wishes):
            files = dict(unpack(folder / f"{_tarball(name)}.tgz"))
            taken = sorted({"package.json", *_matching(files, patterns, name), *_entries(files)})
            packages[name] = {path: hashlib.sha256(files[path]).hexdigest() for path in taken}
            size = sum(len(files[path]) for path in taken)
            total += size
            print(f"{size:>10,}  {len(taken):>5}  {name}")
    text = json.dumps({"date": DATE, "packages": packages}, indent=0, sort_keys=True)
    LOCK_FILE.write_text(text + "\n", "utf-8")
    print(f"{total:>10,}  bytes in {sum(map(len, packages.values()))} files")


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


def _entries(files: dict[str, bytes]) -> Iterator[str]:
    """Yield the files that a CDN serves where an address names no file."""
    manifest = json.loads(files["package.json"])
    for key in ("jsdelivr", "unpkg", "style"):
        path = manifest.get(key)
        if isinstance(path, str):
            path = re.sub(r"^\./", "", path)
            for one in (path, re.sub(r"(\.min)?\.(js|css)$", r".min.\2", path)):
                if one in files and len(files[one]) < 1_500_000:
                    yield one


if __name__ == "__main__":
    main()
