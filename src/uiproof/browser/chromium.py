"""Finding Chromium, and the switches that it is started with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from uiproof.errors import MissingDependencyError

# Looked for in this order after UIPROOF_CHROMIUM and Playwright's own; headless-shell spends a
# third of the CPU of full Chromium per page.
COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# Nothing listens there; together with the bypass rule every connection, also to loopback, ends
# here if it gets past request interception and the offline context.
DEAD_PROXY = "127.0.0.1:9"

SWITCHES = (
    # the same pixels everywhere
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--disable-partial-raster",  # what is drawn in parts has other edges than what is drawn at once
    "--blink-settings=imageAnimationPolicy=2",  # animated images show their first frame
    "--autoplay-policy=document-user-activation-required",
    "--mute-audio",
    # no way out
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
    "--disable-dev-shm-usage",
)
# A browser that nobody sits in front of: it does not save power, ask, remember or report.
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
    # Screenshots of whole pages are drawn apart from the window; nothing waits for the first paint.
    "--enable-features=CDPScreenshotNewSurface",
    "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,"
    "HttpsUpgrades,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,"
    "ThirdPartyStoragePartitioning",
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser on this machine."""

    path: Path
    kind: str  # `headless-shell` or `chromium`

    @property
    def version(self) -> str:
        """What the browser says of itself, for example `Chromium 156.0.8078.79`."""
        return _version(self.path)


@cache
def _version(path: Path) -> str:
    run = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    words = run.stdout.strip().split(" built on ")[0]
    return words or "unknown"


def find_chromium() -> Chromium:
    """The browser that uiproof uses on this machine."""
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
                f"UIPROOF_CHROMIUM names {chosen}, which is not an executable file.",
                remedy="Set it to the browser's executable or unset it.",
            )
        yield Path(chosen)
    yield from _playwright_builds()
    for command in COMMANDS:
        if found := shutil.which(command):
            yield Path(found)
    yield from map(Path, MAC_APPS)


def _playwright_builds() -> Iterator[Path]:
    """Browsers that `playwright install` brought, newest first."""
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
    """1200 for a browser somewhere below `chromium-1200`."""
    numbers = re.findall(r"(?<=[/\\]chromium)[a-z_]*-(\d+)(?=[/\\])", str(path))
    return int(numbers[-1]) if numbers else 0


@cache
def network_namespace() -> tuple[str, ...]:
    """The command that starts a process without any network; empty where that is not possible.

    Chromium's own sandbox wants to make namespaces too, so only root, who has to run it without
    that sandbox, gets this.
    """
    unshare = shutil.which("unshare")
    if unshare is None or sys.platform != "linux" or os.geteuid() != 0:
        return ()
    command = (unshare, "--net", "--")
    probe = subprocess.run([*command, "true"], capture_output=True, timeout=10, check=False)
    return command if probe.returncode == 0 else ()


def sandbox_switches() -> tuple[str, ...]:
    """Chromium refuses its own sandbox to root."""
    return ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
