"""Small runs as the engine leaves them, with generated pages to look at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import RunDirectory, encode

SIZE = (640, 400)
PAGE = (
    "<!doctype html><html lang=en><title>Shop</title><h1>Shop</h1>"
    "<button id=interact1 onclick=\"document.body.append('Added')\">Add</button>"
)


def picture(path: Path, colour: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", SIZE, "white")
    ImageDraw.Draw(image).rectangle((40, 40, 240, 120), fill=colour)
    image.save(path)


def interaction(run: RunDirectory, case: str, html: str | bytes | None, sentence: str) -> Record:
    """One case with all that a judge keeps; without a page it is one that failed."""
    if html is None:
        error = CaseError("answer_empty", "answer", "secret-model said nothing.")
        return Record(case, "failed", {"usable": 0.0}, error=error)
    folder, page = run.artifact_dir(case), case.partition("/")[0]
    content = html.encode() if isinstance(html, str) else html
    (folder / "page.html").write_bytes(content)
    kept = {"page": folder / "page.html"}
    for name in ("before", "after"):
        kept[f"generated_{name}"] = folder / f"generated_{name}.png"
        kept[f"reference_{name}"] = run.path / "references" / page / f"{name}.png"
    for name, path in kept.items():
        if name != "page":
            picture(path, "teal" if name.endswith("before") else "navy")
    details = {
        "action": {"kind": "click", "value": None},
        "sentence": sentence,
        "reference": {"size": SIZE, "trigger": [40, 40, 240, 120], "region": [40, 40, 240, 120]},
        "generated": {"size": SIZE},
    }
    artifacts = {name: path.relative_to(run.path).as_posix() for name, path in kept.items()}
    return Record(case, "scored", {"usable": 1.0}, details=details, artifacts=artifacts)


def webpage(run: RunDirectory, case: str, html: str) -> Record:
    """A case of Design2Code."""
    folder = run.artifact_dir(case)
    (folder / "generated.html").write_text(html)
    picture(folder / "generated.png", "teal")
    picture(run.path / "references" / "all" / f"{case}.png", "navy")
    facts = {"width": SIZE[0], "height": SIZE[1], "blocks": []}
    artifacts = {
        "html": (folder / "generated.html").relative_to(run.path).as_posix(),
        "generated": (folder / "generated.png").relative_to(run.path).as_posix(),
        "reference": f"references/all/{case}.png",
    }
    return Record(
        case, "scored", {}, details={"reference": facts, "generated": facts}, artifacts=artifacts
    )


def make_run(
    folder: Path,
    pages: dict[str, str | bytes | None],
    *,
    model: str = "secret-model",
    prompt: str = "secret-prompt",
    benchmark: str = "interaction2code",
    sentence: str = 'click the "Add" button',
    unsure: tuple[str, ...] = (),
) -> RunDirectory:
    """A run with a case for every page; None stands for a case without one."""
    run = RunDirectory(folder)
    folder.mkdir(parents=True)
    about = {
        "format": 1,
        "benchmark": benchmark,
        "dataset": "pages",
        "method": f"{model} {prompt}" if prompt else model,
        "settings": {"prompt": prompt} if prompt else {},
    }
    (folder / "run.json").write_text(json.dumps(about))
    with run.journal.open("wb") as journal:
        for case, html in pages.items():
            if benchmark == "design2code":
                journal.write(encode(webpage(run, case, str(html))))
            else:
                record = interaction(run, case, html, sentence)
                flags = ("unsure",) if case in unsure else ()
                journal.write(encode(replace(record, flags=flags)))
    return run
