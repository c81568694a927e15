"""The real command in a process of its own, and small things to score."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

from uiproof.process_tree import descendants
from uiproof.vision.images import encode_png

REFERENCE = "<h1>Hello</h1><p>Some words of a page.</p>"
GENERATED = "<h1>Hello</h1><p>Some other words.</p>"
LOOP = "<p>Busy</p><script>while (true) {}</script>"
# Some seconds of work that nothing can make shorter.
SLOW = "<script>let x = 0; for (let i = 0; i < 1.5e9; i++) x += i; document.title = x</script>"

BUTTON, PANEL = (20, 20, 120, 60), (20, 80, 320, 200)  # left, top, right, bottom
SIZE = (400, 240)
MENU = """<body style="margin:0;background:#fff">
<div style="position:absolute;left:20px;top:80px;width:300px;height:120px;background:#14963c;
display:none" id="panel"></div>
<button id="interact1" aria-label="Menu" style="position:absolute;left:20px;top:20px;width:100px;
height:40px;background:#1e3cc8;border:0" onclick="panel.style.display='block'"></button>"""
DEAD_MENU = MENU.replace("onclick", "data-was")


class Service:
    """A running `uiproof serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.client = httpx.Client(base_url=url, timeout=200)

    def score(self, **item) -> httpx.Response:
        return self.client.post("/score", json=item)

    def metric(self, name: str, **labels) -> float:
        from prometheus_client.parser import text_string_to_metric_families

        for family in text_string_to_metric_families(self.client.get("/metrics").text):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return sample.value
        return 0.0

    def wait_for(self, condition, seconds=60) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "it did not come to that"
            time.sleep(0.05)

    def family(self) -> set[int]:
        return set(descendants(self.process.pid))


@contextmanager
def serving(*options, folder: Path, token: str = "", inside: tuple[str, ...] = ()):
    """A service that is warm; whatever is left of it at the end is killed."""
    environment = os.environ | {"UIPROOF_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}
    environment |= {"UIPROOF_SERVE_TOKEN": token} if token else {}
    errors = (folder / "errors.txt").open("w")
    process = subprocess.Popen(
        [*inside, sys.executable, "-m", "uiproof", "serve", "--port", "0", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
    )
    errors.close()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Scores: http://"), (folder / "errors.txt").read_text()
        service = Service(process, line.split()[1])
        with service.client:
            service.wait_for(lambda: service.client.get("/ready").status_code == 200, 120)
            yield service
    finally:
        process.kill()
        process.communicate()
        print((folder / "errors.txt").read_text())  # shown where a test fails


def pictures() -> tuple[bytes, bytes]:
    """A page before and after a click on its button, which opens a panel."""
    before = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    _fill(before, BUTTON, (30, 60, 200))
    after = before.copy()
    _fill(after, PANEL, (20, 150, 60))
    return encode_png(before), encode_png(after)


def interaction() -> dict:
    """The same as requests carry it."""
    before, after = (base64.b64encode(one).decode() for one in pictures())
    boxes = {"trigger": BUTTON, "effect": PANEL}
    return {"before": before, "after": after, "action": "click the menu", **boxes}


def write_interaction(folder: Path) -> Path:
    """The same as a data set of one page, `menu`."""
    page = folder / "menu"
    page.mkdir(parents=True)
    for number, picture in enumerate(pictures()):
        (page / f"{number}.png").write_bytes(picture)
    boxes = {"trigger": list(BUTTON), "effect": list(PANEL)}
    entry = {"src": "0", "dst": "1", "action": "click the menu", **boxes}
    (page / "action.json").write_text(json.dumps({"1": entry}))
    return folder


def _fill(rgb, box, colour) -> None:
    left, top, right, bottom = box
    rgb[top:bottom, left:right] = colour
