"""Chromium on this machine: lookup, command line, confinement, fingerprint."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from uiproof.browser.page import Limits, script
from uiproof.errors import MissingDependencyError

# Tried in this order, after UIPROOF_CHROMIUM and the builds of `playwright install`. headless-shell
# takes a third of the CPU of full Chromium per page.
COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# A port without a server. With the bypass rule, any connection that gets past interception and the
# offline context, even one to loopback, ends here.
DEAD_PROXY = "127.0.0.1:9"

SWITCHES = (
    # deterministic pixels
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--disable-partial-raster",  # it changes edges
    # Animated images show their first frame; there is a mouse.
    "--blink-settings=imageAnimationPolicy=2,primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4",
    "--autoplay-policy=document-user-activation-required",
    "--mute-audio",
    "--disable-smooth-scrolling",  # it takes real time, so its end would vary
    "--disable-blink-features=AutomationControlled",  # pages see no `navigator.webdriver`
    # no network
    f"--proxy-server={DEAD_PROXY}",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--dns-prefetch-disable",
    "--no-first-run",
    # bounded
    "--js-flags=--max-old-space-size=512",
    "--disable-gpu",
)
# Headless and unattended: no throttling, prompts, history or reports.
UNATTENDED = (
    "--headless",
    "--no-startup-window",
    "--remote-debugging-pipe",
    "--allow-pre-commit-input",
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--disable-search-engine-choice-screen",
    "--enable-unsafe-swiftshader",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    # Full-page screenshots are drawn to a separate surface; painting is not held back.
    "--enable-features=CDPScreenshotNewSurface",
    "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,"
    "HttpsUpgrades,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,"
    "ThirdPartyStoragePartitioning",
)
# Chromium maps `system-ui` to fontconfig's "sans", which is DejaVu Sans on most servers: an eighth
# wider than desktop interface fonts, so lines would wrap differently. Selawik has the widths of
# Segoe UI, the interface font of Windows; without the frozen web it is missing, and Arial is about
# as wide. `sans-serif` already is Arial.
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <match target="pattern">
    <test name="family" qual="any"><string>sans</string></test>
    <edit name="family" mode="prepend" binding="strong">
      <string>Selawik</string>
      <string>Arial</string>
    </edit>
  </match>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
</fontconfig>
"""
MORE_VARIABLES = "UIPROOF_BROWSER_ENV"  # names further variables to pass to browsers
_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH")
_OWN_VARIABLES = (
    *("HOME", "TMPDIR", "CHROME_DEVEL_SANDBOX"),
    *("XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
)
_NOBODY = "nobody"
# Scripts whose text is part of the fingerprint.
_SCRIPTS = (
    *("steady", "clock", "freeze", "page_size", "recolor", "inventory", "glyphs"),
    *("observe", "still", "snapshot", "reach", "field", "repaint"),
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser on this machine."""

    path: Path
    kind: str  # `headless-shell` or `chromium`

    @property
    def version(self) -> str:
        """Return the version that the browser reports, for example `Chromium 156.0.8078.79`."""
        return _version(self.path)


@cache
def _version(path: Path) -> str:
    run = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    words = run.stdout.strip().split(" built on ")[0]
    return words or "unknown"


def find_chromium() -> Chromium:
    """Return the browser that uiproof uses on this machine."""
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            name = path.name.replace("_", "-")
            return Chromium(path, "headless-shell" if "headless-shell" in name else "chromium")
    raise MissingDependencyError(
        "No Chromium was found on this machine.",
        remedy="Run `make setup`, or `playwright install --only-shell chromium`, or on Debian "
        "`apt-get install chromium-headless-shell`, or set UIPROOF_CHROMIUM to a browser.",
    )


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("UIPROOF_CHROMIUM"):
        if not (Path(chosen).is_file() and os.access(chosen, os.X_OK)):
            raise MissingDependencyError(
                f"UIPROOF_CHROMIUM is {chosen}, which is not an executable file.",
                remedy="Set it to a browser's executable, or unset it.",
            )
        yield Path(chosen)
    yield from _playwright_builds()
    for command in COMMANDS:
        if found := shutil.which(command):
            yield Path(found)
    yield from map(Path, MAC_APPS)


def _playwright_builds() -> Iterator[Path]:
    """Yield the browsers that `playwright install` downloaded, newest first."""
    if root := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        folder = Path(root)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library/Caches/ms-playwright"
    else:
        folder = Path.home() / ".cache/ms-playwright"
    for pattern in (
        "chromium_headless_shell-*/*/*headless[-_]shell",
        "chromium-*/chrome-linux*/chrome",
        "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    ):
        yield from sorted(folder.glob(pattern), key=_build_number, reverse=True)


def _build_number(path: Path) -> int:
    """Return the build number in a path: 1200 for one below `chromium-1200`."""
    numbers = re.findall(r"(?<=[/\\]chromium)[a-z_]*-(\d+)(?=[/\\])", str(path))
    return int(numbers[-1]) if numbers else 0


@dataclass(frozen=True, slots=True)
class Confinement:
    """The isolation of a browser from this machine, beyond its switches."""

    command: tuple[str, ...] = ()  # prefix of the browser's command line
    sandbox: bool = True  # Chromium's sandbox of namespaces and seccomp
    network_namespace: bool = False  # a namespace without network devices
    user: int | None = None  # the user id it runs as, if not ours

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the additional browser switches."""
        return () if self.sandbox else ("--no-sandbox",)

    def environment(self, home: Path) -> dict[str, str]:
        """Return the few variables that a browser needs, never keys or tokens.

        `home` is the home folder of a browser that runs as another user.
        """
        chosen = re.split(r"[,\s]+", os.environ.get(MORE_VARIABLES, ""))
        names = {*_VARIABLES, *chosen, *(_OWN_VARIABLES if self.user is None else ())}
        kept = {name: os.environ[name] for name in names if name in os.environ}
        own = {} if self.user is None else {"HOME": str(home), "TMPDIR": str(home)}
        return {"PATH": os.defpath, **kept, **own, "LANG": "C.UTF-8", "TZ": "UTC"}


def confinement(browser: Path) -> Confinement:
    """Return the strictest confinement that this system allows for a browser.

    Chromium has no sandbox for root, so root runs it as an unprivileged user if that user can start
    it. A network namespace is added if the sandbox still works inside it.
    """
    return _confinement(browser, tempfile.gettempdir())


@cache
def _confinement(browser: Path, scratch: str) -> Confinement:
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    if sys.platform != "linux" or unshare is None:
        return Confinement(sandbox=not _is_root())
    nested = (unshare, "--user", "true")  # as Chromium's sandbox does
    without_network: tuple[str, ...]
    if not _is_root():
        without_network = (unshare, "--user", "--map-current-user", "--net", "--")
        works = _works(*without_network, *nested)
        return Confinement(without_network if works else (), network_namespace=works)
    without_network = (unshare, "--net", "--")
    if not _works(*without_network, "true"):
        without_network = ()
    user = _unprivileged_user()
    if setpriv is not None and user is not None:
        ids = ("--reuid", str(user[0]), "--regid", str(user[1]), "--clear-groups")
        drop = (setpriv, *ids, "--no-new-privs", "--")
        reach = 'test -x "$1" && test -x "$2"'  # root's home may not be accessible
        if _works(*drop, "/bin/sh", "-c", reach, "sh", str(browser), scratch):
            return Confinement(
                (*without_network, *drop),
                sandbox=_works(*without_network, *drop, *nested),
                network_namespace=bool(without_network),
                user=user[0],
            )
    return Confinement(without_network, sandbox=False, network_namespace=bool(without_network))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _unprivileged_user() -> tuple[int, int] | None:
    import pwd

    try:
        found = pwd.getpwnam(_NOBODY)
    except KeyError:
        return None
    return found.pw_uid, found.pw_gid


def _works(*command: str) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@cache
def fingerprint() -> dict[str, Any]:
    """Return everything on this machine that affects pixels; runs store and compare it."""
    chromium = find_chromium()
    confined = confinement(chromium.path)
    fonts = installed_fonts(confined)
    return {
        "browser": chromium.version,
        "browser_kind": chromium.kind,
        "switches": _digest("\n".join((*UNATTENDED, *SWITCHES, FONTS_CONF))),
        "fonts": len(fonts),
        "fonts_digest": _digest("\n".join(fonts)),
        "scripts": _digest("\n".join(map(script, _SCRIPTS))),
        "viewport": list(Limits().viewport),
        "isolation": "network namespace" if confined.network_namespace else "switches",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def installed_fonts(confined: Confinement | None = None) -> list[str]:
    """Return fontconfig's fonts as `family:style`; empty without fontconfig.

    `confined` is the confinement of the browser whose fonts are listed.
    """
    command = shutil.which("fc-list")
    if command is None:
        return []
    confined = confined or Confinement()
    listed = subprocess.run(
        [command, "--format", "%{family}:%{style}\n"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=confined.environment(Path("/nonexistent")),
    )
    return sorted(set(listed.stdout.split("\n")) - {""})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
