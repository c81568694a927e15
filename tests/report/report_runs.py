"""Makes run directories as the engine leaves them, with scores of our choice."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image, ImageDraw

from uiproof.benchmark import CaseError, Record
from uiproof.benchmarks.design2code.scores import human_score
from uiproof.benchmarks.design2code.summary import PAPER, STRICT, summarise
from uiproof.engine.rundir import RunDirectory, encode


def block(text, box, color=(20, 20, 20)):
    return {"text": text, "box": list(box), "color": list(color)}


def scored(case_id, value, *, clip=None, details=None, flags=()):
    paper = dict.fromkeys(PAPER, value) | {"clip": clip}
    strict = dict.fromkeys(STRICT, value / 2) | {"clip": clip}
    if clip is None:
        paper["final"] = strict["final"] = None
    human = human_score(value, value, value, value, clip)
    scores = {"paper": paper, "strict": strict, "human": human}
    return Record(
        case_id,
        "scored",
        scores,
        details=details or example_details(),
        flags=flags,
        seconds={"answer": 0.5, "score": 1.25},
    )


def failed(case_id, message="The page used up its time.", remedy="Look for an endless loop."):
    zeros = {"clip": None, "final": None}
    scores = {
        "paper": dict.fromkeys(PAPER, 0.0) | zeros,
        "strict": dict.fromkeys(STRICT, 0.0) | zeros,
        "human": 0.0,
    }
    error = CaseError("page_timeout", "score", message, remedy)
    return Record(case_id, "failed", scores, error=error)


def example_details():
    return {
        "profile": "paper",
        "reference": {
            "width": 640,
            "height": 400,
            "blocks": [
                block("welcome home", (0.1, 0.1, 0.3, 0.08)),
                block("opening hours", (0.1, 0.3, 0.3, 0.08)),
                block("only in the reference", (0.1, 0.6, 0.4, 0.08)),
            ],
        },
        "generated": {
            "width": 640,
            "height": 400,
            "blocks": [
                block("opening times", (0.15, 0.35, 0.3, 0.08)),
                block("welcome home", (0.1, 0.12, 0.3, 0.08)),
            ],
        },
        "matches": [[1, 0, 1.0, 0.98, 1.0], [0, 1, 0.77, 0.95, 0.9]],
    }


def screenshot(path, colour, size=(640, 400)):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((40, 40, size[0] // 2, 120), fill=colour)
    image.save(path)


def make_run(path: Path, records, *, method="blueprint", assisted=False, pictures=True, **manifest):
    """A finished run; scored cases get a reference and a generated picture."""
    run = RunDirectory(path)
    path.mkdir(parents=True)
    with run.journal.open("wb") as journal:
        for record in records:
            artifacts = dict(record.artifacts)
            if pictures:
                folder = run.artifact_dir(record.id)
                sides = {"reference": "navy"}
                if record.status == "scored":
                    sides["generated"] = "teal"
                for side, colour in sides.items():
                    screenshot(folder / f"{side}.png", colour)
                    artifacts[side] = (folder / f"{side}.png").relative_to(path).as_posix()
            fields = {name: getattr(record, name) for name in Record.__slots__}
            journal.write(encode(Record(**fields | {"artifacts": artifacts})))
    about = {
        "format": 1,
        "uiproof": "0.1.0",
        "benchmark": "design2code",
        "dataset": "demo",
        "method": method,
        "settings": {},
        "assisted": assisted,
        "limit": None,
        "fingerprint": {"browser": "Chromium 1"},
        "created": "2026-01-01T00:00:00+00:00",
    }
    (path / "run.json").write_text(json.dumps(about | manifest), "utf-8")
    run.write_summary(summarise(run.records()) | {"complete": True})
    return run
