"""Small data sets in the layouts of the published ones, and how tests look at them."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from uiproof.benchmark import Case
from uiproof.benchmarks.grounding.cases import cases
from uiproof.benchmarks.grounding.published_sets import find_loader

W, H = 400, 200
# Boxes [x1, y1, x2, y2] all over the image, so that no two conventions can be confused.
CORNERS = [(x, y, x + 20, y + 10) for x in range(0, 380, 90) for y in range(0, 190, 45)]


def picture(path: Path, size=(W, H), format=None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "white").save(path, format)
    return path


def write(path: Path, content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def as_size(corners):
    x1, y1, x2, y2 = corners
    return [x1, y1, x2 - x1, y2 - y1]


def as_fractions(corners):
    x1, y1, x2, y2 = corners
    return [x1 / W, y1 / H, x2 / W, y2 / H]


def pixels(case):
    box = case.truth.element.bbox
    numbers = (box.x * W, box.y * H, (box.x + box.w) * W, (box.y + box.h) * H)
    return tuple(round(number, 6) for number in numbers)


def loaded(path):
    assert find_loader(path) is not None
    return list(cases(path))


def good(path):
    found = loaded(path)
    assert all(isinstance(case, Case) for case in found)
    return found


def screenspot(folder, *, convert=as_size, v2=True, count=None):
    end, images = ("_v2", "screenspotv2_image") if v2 else ("", "screenspot_imgs")
    sources = {"mobile": "ios", "desktop": "windows", "web": "gitlab"}
    for platform, source in sources.items():
        picture(folder / images / f"{platform}_1.png")
        rows = [
            {
                "img_filename": f"{platform}_1.png",
                "bbox": convert(corners),
                "instruction": f"open {number}",
                "data_type": "icon" if number % 2 else "text",
                "data_source": source,
            }
            for number, corners in enumerate(CORNERS[:count])
        ]
        write(folder / f"screenspot_{platform}{end}.json", rows)
    return folder


def pro_row(number, corners, **more):
    return {
        "img_filename": "blender_windows/shot.png",
        "bbox": list(corners),
        "instruction": f"press {number}",
        "instruction_cn": "按",
        "id": f"blender_windows_{number}",
        "application": "blender",
        "platform": "windows",
        "img_size": [W, H],
        "ui_type": "icon",
        "group": "Creative",
        **more,
    }


def screenspot_pro(folder, rows=None, image=True):
    if image:
        picture(folder / "images" / "blender_windows" / "shot.png")
    rows = rows or [pro_row(number, corners) for number, corners in enumerate(CORNERS)]
    write(folder / "annotations" / "blender_windows.json", rows)
    return folder
