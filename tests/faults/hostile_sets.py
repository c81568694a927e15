"""Data sets of interactions and of screenshots whose pictures may be anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from hostile_files import plain
from PIL import Image, ImageDraw


def interaction_set(root: Path, pictures: Mapping[str, bytes]) -> Path:
    """One page per picture, which is what its interaction should end in; and a good one."""
    for name, content in {"good": plain(300, 200, "white"), **pictures}.items():
        page = root / name
        page.mkdir(parents=True)
        (page / "0.png").write_bytes(plain(300, 200))
        (page / "1.png").write_bytes(content)
        entry = {"src": "0", "dst": "1", "action": "click the button", "tag type": ["button"]}
        actions = {"viewport": [300, 200], "1": entry | {"visual type": ["text"]}}
        (page / "action.json").write_text(json.dumps(actions))
    return root


def grounding_set(
    root: Path,
    pictures: Mapping[str, bytes],
    sizes: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> Path:
    """One screenshot per picture, each with one button to find; and a good one."""
    (root / "samples").mkdir(parents=True)
    good = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(good).text((100, 90), "Save", fill="black", font_size=24)
    good.save(root / "samples" / "good.png")
    samples = []
    for name, content in {"good": None, **pictures}.items():
        file = root / "samples" / f"{name}.png"
        if content is not None:
            file.write_bytes(content)
        samples.append(
            {
                "id": name,
                "image_path": f"samples/{name}.png",
                "width": sizes.get(name, (300, 200))[0],
                "height": sizes.get(name, (300, 200))[1],
                "elements": [
                    {
                        "id": "save",
                        "bbox": [0.3, 0.4, 0.3, 0.2],
                        "text": "Save",
                        "element_type": "button",
                        "instruction": "Click on the 'Save' button",
                    }
                ],
            }
        )
    (root / "annotations.json").write_text(
        json.dumps({"name": "faults", "version": "1", "samples": samples})
    )
    return root
