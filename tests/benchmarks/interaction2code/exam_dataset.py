"""Make a data set of an exam: exam_dataset.py exams/p.tar.xz OUT.

An exam is an archive of pages by one author: `ref.html`, `interactions.json`, and variants with
`labels.json` in `mutants/`. Pictures of the references are taken anew. Writes `OUT/dataset`,
`OUT/generated` and `OUT/truth.json`.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action
from uiproof.vision.images import decode

WINDOW = (1280, 900)
LEAST = 12  # of 255: a pixel that differs by less has not changed


def make_dataset(archive: Path, out: Path) -> dict[str, Any]:
    """Write the data set of an exam; return the labels of its cases."""
    with tarfile.open(archive) as pages:
        pages.extractall(out / "pages", filter="data")
    truth: dict[str, Any] = {}
    (out / "generated").mkdir(parents=True, exist_ok=True)
    with Renderer() as renderer:
        for page in sorted((out / "pages").iterdir()):
            told = json.loads((page / "interactions.json").read_text("utf-8"))["interactions"]
            labels = json.loads((page / "mutants" / "labels.json").read_text("utf-8"))
            numbers = {one["id"]: number for number, one in enumerate(told, 1)}
            shown = {one["id"]: _play(renderer, page / "ref.html", one) for one in told}
            for file, label in labels.items():
                id_, name = label["interaction"], f"{page.name}__{Path(file).stem}"
                _write(out / "dataset" / name, numbers[id_], *shown[id_])
                html = (page / "mutants" / file).read_bytes()
                (out / "generated" / f"{name}.html").write_bytes(html)
                truth[f"{name}/{numbers[id_]}"] = {"accepted": [label["type"]], **label}
    (out / "truth.json").write_text(json.dumps(truth, ensure_ascii=False), "utf-8")
    return truth


def _play(
    renderer: Renderer, file: Path, told: dict[str, Any]
) -> tuple[dict[str, Any], list[bytes]]:
    """Do an interaction on a reference; return its entry, and the pictures before and after."""
    with renderer.stage(PageSource.from_file(file), WINDOW) as stage:
        element = stage.find(f"#{told['id']}")
        assert element is not None, f"{file}: {told['id']} is missing"
        stage.reveal(element)
        element = stage.find(f"#{told['id']}") or element
        kind, value = told["action"]["kind"], told["action"].get("value")
        box = element.box
        if kind == "drag":
            x, y = value["from"]
            value = (
                f"{value['dx'] + (x - 0.5) * box.width:.0f},"
                f"{value['dy'] + (y - 0.5) * box.height:.0f}"
            )
        if kind == "scroll" and isinstance(value, dict):
            value = f"{value.get('dx', 0)},{value['dy']}"
        pictures = [stage.screenshot()]
        refused = stage.act(element, Action(kind, value))
        assert refused is None, f"{file}: {told['id']}: {refused}"
        stage.settle()
        pictures.append(stage.screenshot())
    return {
        "action": told["sentence"],
        "description": told["description"],
        "tag type": told["tag_types"],
        "visual type": told["visual_types"],
        "kind": kind,
        "value": value,
        "trigger": [box.left, box.top, box.right, box.bottom],
        "effect": _changed(*map(decode, pictures)),
    }, pictures


def _changed(before: Any, after: Any) -> list[int]:
    """Return the box around everything that changed, in the picture after."""
    height, width = (min(before.shape[axis], after.shape[axis]) for axis in (0, 1))
    off = np.abs(before[:height, :width].astype(int) - after[:height, :width]).max(axis=2)
    rows, columns = np.nonzero(off >= LEAST)
    if not len(rows):
        return [0, 0, after.shape[1], after.shape[0]]
    return [*map(int, (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))]


def _write(folder: Path, number: int, entry: dict[str, Any], pictures: list[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = {"link": "", "topic": folder.name[4:], "framework": "", "viewport": WINDOW}
    entry = {"src": "0", "dst": "1", **entry}
    told = json.dumps({**about, str(number): entry}, ensure_ascii=False)
    (folder / "action.json").write_text(told, "utf-8")
    for name, png in zip("01", pictures, strict=True):
        (folder / f"{name}.png").write_bytes(png)


if __name__ == "__main__":
    print(len(make_dataset(Path(sys.argv[1]), Path(sys.argv[2]))), "cases")
