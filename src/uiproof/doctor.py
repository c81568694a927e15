"""Check this machine, and name the command that installs what is missing.

for finding in examine():
    print(finding.name, finding.found, finding.detail, finding.remedy)
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from uiproof.errors import MissingDependencyError, UiproofError

if TYPE_CHECKING:
    from uiproof.browser.chromium import Chromium

_PAGE = "<!doctype html><title>uiproof</title><p style='font: 20px sans-serif'>Hello</p>"
_BROWSER = (
    "apt-get install chromium-headless-shell, or set UIPROOF_CHROMIUM to a browser that works"
)
_PROBE_SECONDS = 2.0
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str
    found: bool
    detail: str  # what was found, or what its absence means
    remedy: str = ""  # the command that gets it
    required: bool = False  # nothing can be scored without it


def examine(*, dev: bool = False) -> Iterator[Finding]:
    """Check this machine, one finding at a time; rendering a page takes a second or two.

    With `dev`, also check for what is needed to work on uiproof itself.
    """
    yield _python()
    yield from _browser()
    yield from _fonts()
    yield _frozen_web()
    yield _text_recognition()
    yield _clip_weights()
    yield from _servers()
    yield from _extras(dev=dev)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", True, f"{version} at {sys.executable}", required=True)


def _browser() -> Iterator[Finding]:
    from uiproof.browser.chromium import find_chromium

    try:
        chromium = find_chromium()
    except UiproofError as error:
        yield Finding("browser", False, error.message, error.remedy or _BROWSER, required=True)
        return
    try:
        version = next(iter(chromium.version.splitlines()), "unknown")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        broken = f"{chromium.path} does not start: {error}"
        yield Finding("browser", False, broken, _BROWSER, required=True)
        return
    where = f"{chromium.kind} {version} at {chromium.path}"
    yield Finding("browser", True, where, required=True)
    yield _rendering()
    yield _isolation(chromium)


def _isolation(chromium: Chromium) -> Finding:
    """Check how well hostile pages are isolated."""
    from uiproof.browser.chromium import confinement

    found = confinement(chromium.path)
    layers = (
        f"Chromium's sandbox {'on' if found.sandbox else 'off'}",
        "no network device" if found.network_namespace else "network shut off by switches only",
        *(() if found.user is None else (f"as user {found.user}",)),
    )
    remedy = "Allow user namespaces on this system; docs/trust.md says what holds without them."
    full = found.sandbox and found.network_namespace
    return Finding("isolation", full, ", ".join(layers), "" if full else remedy)


def _rendering() -> Finding:
    from uiproof.browser import PageSource, Renderer

    try:
        with Renderer() as renderer, renderer.open(PageSource.from_html(_PAGE)) as page:
            picture = page.screenshot()
    except UiproofError as error:
        # Other errors point to `uiproof doctor` itself.
        remedy = error.remedy if isinstance(error, MissingDependencyError) else _BROWSER
        return Finding("rendering", False, error.message, remedy, required=True)
    drawn = picture.startswith(_PNG)
    detail = "a test page was rendered" if drawn else "the browser did not return a picture"
    return Finding("rendering", drawn, detail, "" if drawn else _BROWSER, required=True)


def _fonts() -> Iterator[Finding]:
    if shutil.which("fc-list") is None:
        # macOS and Windows always have fonts; there fontconfig is not what the browser asks.
        if sys.platform == "linux":
            yield Finding(
                "fonts",
                False,
                "fontconfig is missing, so the fonts cannot be listed",
                "apt-get install fontconfig fonts-dejavu-core",
            )
        return
    families = _families(":")
    sans, mono = _families(":lang=en"), _families(":lang=en:spacing=mono")
    yield Finding(
        "fonts",
        bool(sans and mono),
        f"{len(families)} families, {len(mono)} of them monospaced",
        "" if sans and mono else "apt-get install fonts-dejavu-core",
        required=True,
    )
    for name, pattern, package in (
        ("fonts: chinese, japanese, korean", ":lang=zh-cn", "fonts-noto-cjk"),
        ("fonts: emoji", ":lang=und-zsye", "fonts-noto-color-emoji"),
        ("fonts: other scripts", ":lang=hi", "fonts-noto-core"),
    ):
        found = _families(pattern)
        yield Finding(
            name,
            bool(found),
            ", ".join(sorted(found)[:3])
            if found
            else "such text is drawn as boxes, and its page flagged missing_glyphs",
            "" if found else f"apt-get install {package}  (changes how pages are rendered)",
        )


def _families(pattern: str) -> set[str]:
    listed = subprocess.run(
        ["fc-list", pattern, "family"], capture_output=True, text=True, check=False, timeout=60
    )
    return {line.split(",")[0].strip() for line in listed.stdout.splitlines() if line.strip()}


def _frozen_web() -> Finding:
    """Check the frozen copies of what pages load from elsewhere."""
    from uiproof.settings import Settings
    from uiproof.web.frozen import FrozenWeb
    from uiproof.web.packages import Lock

    folder = Settings.from_environment().web_dir
    web, lock = FrozenWeb(folder), Lock.packaged()
    here, wanted = len(web.packages), len(lock.packages)
    if not here:
        missing = "pages do without what they load from elsewhere"
        return Finding("frozen web", False, missing, "uiproof web get")
    detail = f"{here} of {wanted} packages, {web.modules} modules, as of {lock.date}, at {folder}"
    return Finding(
        "frozen web", here == wanted, detail, "" if here == wanted else "uiproof web get"
    )


def _text_recognition() -> Finding:
    remedy = f"{sys.executable} -m pip install --force-reinstall rapidocr onnxruntime"
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        missing = "text in pictures cannot be read: screenshots as references, interactions"
        return Finding("ocr", False, missing, "pip install 'uiproof[ocr]'")
    models = sorted(Path(spec.origin).parent.glob("models/*.onnx"))
    if not models:
        return Finding("ocr", False, "rapidocr is there, its recognition models are not", remedy)
    return Finding("ocr", True, f"rapidocr {_version('rapidocr')} with {len(models)} models")


def _clip_weights() -> Finding:
    from uiproof.vision.clip import find_weights

    try:
        path = find_weights()
    except UiproofError as error:
        return Finding("clip weights", False, error.message, error.remedy)
    if path is None:
        missing = "the CLIP score is `not measured`; everything else is"
        return Finding("clip weights", False, missing, "uiproof data get clip-vit-b-32")
    return Finding("clip weights", True, str(path))


def _servers() -> Iterator[Finding]:
    """Check the servers that some methods need."""
    from uiproof.settings import Settings

    settings = Settings.from_environment()
    for name, address, path, variable in (
        ("omniparser server", settings.omniparser_url, "/probe/", "EVAL_OMNIPARSER_URL"),
        ("ui-tars server", settings.uitars_url, "/models", "EVAL_UITARS_URL"),
    ):
        shown = urlsplit(address).hostname or address
        answers = _answers(f"{address.rstrip('/')}{path}")
        yield Finding(
            name,
            answers,
            f"answers at {shown}" if answers else f"nothing answers at {shown}",
            "" if answers else f"start one and set {variable}; only its own methods need it",
        )


def _answers(url: str) -> bool:
    import httpx

    try:
        return httpx.get(url, timeout=_PROBE_SECONDS).is_success
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return False


def _extras(*, dev: bool) -> Iterator[Finding]:
    """Look for the optional parts that the package's metadata declares."""
    from importlib.metadata import metadata, requires

    declared = requires("uiproof") or []
    for extra in metadata("uiproof").get_all("Provides-Extra") or []:
        if extra == "dev" and not dev:
            continue
        marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
        names = [_distribution(line) for line in declared if marker.search(line)]
        names = [name for name in names if name != "uiproof"]  # another extra, listed by itself
        if not names:
            continue
        missing = [name for name in names if not _version(name)]
        yield Finding(
            f"extra: {extra}",
            not missing,
            f"missing: {', '.join(missing)}" if missing else ", ".join(names),
            f"pip install 'uiproof[{extra}]'" if missing else "",
        )


def _distribution(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return match.group() if match else requirement


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
