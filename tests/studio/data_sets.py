"""Small data sets for the data set tools, and how tests look at them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import httpx
import numpy as np
from PIL import Image, ImageDraw

HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
SIZE = (640, 400)


def screenshot(path: Path, size=SIZE, text="Save", **how) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", size, (240, 243, 247))
    draw = ImageDraw.Draw(image)
    draw.rectangle((40, 60, 199, 99), fill=(30, 90, 200))
    draw.text((90, 66), text, fill="white", font_size=22)
    draw.rectangle((300, 200, 339, 239), fill=(200, 60, 40))
    image.save(path, **how)
    return path


def screenshots(folder: Path) -> Path:
    screenshot(folder / "2.png")
    screenshot(folder / "10.jpg")
    screenshot(folder / "sub" / "a b.webp", lossless=True)
    (folder / "notes.txt").write_text("not a picture")
    return folder


def annotated(folder: Path) -> Path:
    """Our own format, with things that nobody corrects in a browser."""
    screenshot(folder / "samples" / "s1.png")
    screenshot(folder / "samples" / "s2.png")
    elements = [
        {
            "id": "save",
            "bbox": [40.25 / 640, 60 / 400, 159.5 / 640, 40 / 400],
            "clickable": [30 / 640, 50 / 400, 180 / 640, 60 / 400],
            "text": "Save",
            "element_type": "button",
            "instruction": "Click the Save button",
            "metadata": {"difficulty": "easy"},
            "source_id": 7,
        },
        {
            "id": "none",
            "bbox": [0, 0, 0, 0],
            "text": "",
            "element_type": "unknown",
            "instruction": "Click Print",
            "refusal": True,
        },
    ]
    samples = [
        {"id": "s1", "image_path": "samples/s1.png", "width": 640, "height": 400,
         "elements": elements, "metadata": {"platform": "web"}, "seed": 3},
        {"id": "s2", "image_path": "samples/s2.png", "width": 640, "height": 400, "elements": []},
    ]  # fmt: skip
    content = {"name": "mine", "version": "2", "metadata": {"a": 1}, "samples": samples}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = [f"{path.relative_to(folder)}\0".encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def unpack(answer: httpx.Response, folder: Path) -> Path:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.array(image.convert("RGB"))
