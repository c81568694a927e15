"""Finished runs with many cases, a maker for each benchmark; `bench/` uses them too."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageDraw

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import RunDirectory, encode
from uiproof.engine.summary import summarise
from uiproof.registry import benchmarks

SIDES = ("reference", "generated")
DIFFERENT = ("colour", "moved", "missing", "text")
KINDS = ("button", "link", "icon", "text_field")


def picture(path: Path, seed: object, size=(800, 600)) -> Path:
    """Something like a page: a band, panels and lines of words, no two alike."""
    chance = random.Random(repr(seed))
    drawn = Image.new("RGB", size, (chance.randint(230, 255),) * 3)
    pen = ImageDraw.Draw(drawn)
    pen.rectangle((0, 0, size[0], 48), fill=tuple(chance.choices(range(200), k=3)))
    for number in range(1 + size[0] // 60):
        x, y = chance.randrange(size[0]), chance.randrange(48, size[1])
        pen.rectangle((x, y, x + 180, y + 26), fill=tuple(chance.choices(range(256), k=3)))
        pen.text((x + 4, y + 6), f"{number} {chance.random()}", fill="black")
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.save(path, compress_level=1)
    return path


def write(
    folder: Path, benchmark: str, method: str, records: Iterable[Record], **manifest: object
) -> RunDirectory:
    """A run as the engine leaves it; its pictures may be there before."""
    run = RunDirectory(folder)
    folder.mkdir(parents=True, exist_ok=True)
    about = {"format": 1, "benchmark": benchmark, "dataset": "many", "method": method}
    about |= {"settings": {}, "limit": None, "created": "2026-01-01T00:00:00+00:00"} | manifest
    (folder / "run.json").write_text(json.dumps(about), "utf-8")
    with run.journal.open("wb") as journal:
        journal.writelines(encode(record) for record in records)
    run.write_summary({**summarise(run.records(), benchmarks()[benchmark]), "complete": True})
    return run


def design2code(folder: Path, count: int, *, seed=0, method="blueprint", size=(800, 600)):
    """Pages with a few blocks each."""
    return write(
        folder, "design2code", method, [_page(folder, n, seed, size) for n in range(count)]
    )


def _page(folder: Path, number: int, seed: int, size) -> Record:
    chance = random.Random(f"{seed}/{number}")
    blocks = [
        {"text": f"some words {n}", "box": [0.1, n / 60, 0.4, 0.012], "color": [20, 20, 20]}
        for n in range(chance.randint(5, 50))
    ]
    parts = {name: chance.random() for name in ("block_match", "text", "position", "color")}
    mean = sum(parts.values()) / 4
    paper = {**parts, "clip": None, "final": None, "mean_without_clip": mean}
    strict = paper | {"layout": mean, "page_height": mean, "ssim": mean}
    artifacts = {
        side: picture(folder / f"artifacts/{number}/{side}.png", (seed, number, side), size)
        .relative_to(folder)
        .as_posix()
        for side in SIDES
    }
    texts = {
        "differences.json": json.dumps(
            [_difference(n, chance) for n in range(chance.randint(1, 20))]
        ),
        "generated.html": f"<p>{number}</p>\n" * 100,
        "answer.json": json.dumps([{"prompt": "Build this:\n\n[picture]", "text": "<p>Here</p>"}]),
    }
    for name, text in texts.items():
        (folder / f"artifacts/{number}/{name}").write_text(text)
    names = dict(zip(("differences", "html", "answer"), texts, strict=True))
    artifacts |= {key: f"artifacts/{number}/{name}" for key, name in names.items()}
    details = {
        "profile": "paper",
        **{side: {"width": size[0], "height": size[1], "blocks": blocks} for side in SIDES},
        "matches": [[n, n, 0.9, 0.9, 0.9] for n in range(len(blocks) - 1)],
    }
    scores = {"paper": paper, "strict": strict, "human": mean}
    return Record(f"page-{number}", "scored", scores, details=details, artifacts=artifacts)


def _difference(number: int, chance: random.Random) -> dict[str, object]:
    x, y = chance.randrange(600), chance.randrange(500)
    return {
        **{
            "kind": DIFFERENT[number % len(DIFFERENT)],
            "selector": f"main > p:nth-of-type({number})",
        },
        **{
            "box": [x, y, 120, 24],
            "reference_box": [x, y + 9, 120, 24],
            "members": [[x, y, 60, 24]],
        },
        **{"was": "#1d4ed8", "is": "#2563eb", "impact": 1 / (number + 2), "cost": 0.01, "count": 1},
        "says": f"The text “some words {number}” is #2563eb, should be #1d4ed8.",
    }


def grounding(folder: Path, count: int, *, seed=0, method="ocr", size=(800, 600)):
    """Elements, each on a screenshot of its own, two of three missed."""
    records = []
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        name = folder / "screens" / f"{number}.png"
        shot = name if name.exists() else picture(name, number, size)
        box = [chance.uniform(0.05, 0.8), chance.uniform(0.05, 0.8), 0.08, 0.05]
        hit = number % 3 == 0
        click = [box[0] + 0.04, box[1] + 0.02] if hit else [chance.random(), chance.random()]
        distance = 0.0 if hit else 800 * chance.random()
        details = {
            **{"sample": f"s{number}", "element": "e", "instruction": f"Click on {number}"},
            **{"image": str(shot.absolute()), "width": size[0], "height": size[1]},
            **{"element_type": KINDS[number % 4], "verdict": "hit" if hit else "miss"},
            "tags": {"platform": ("web", "desktop", "mobile")[number % 3]},
            "truth": {"bbox": box, "clickable": box, "polygon": [], "refusal": False},
            "answer": {"click": click, "box": None, "refused": False, "confidence": None},
            "looks": [
                {"region": [0, 0, 1, 1], "raw": "no"},
                {"region": [0.2, 0.2, 0.4, 0.4], "raw": "click"},
            ],
        }
        scores = {"accuracy": float(hit), "iou": 0.7 if hit else 0.0, "distance_px": distance}
        records.append(Record(f"s{number}/e", "scored", scores, details=details))
    return write(folder, "grounding", method, records)


def interaction2code(folder: Path, count: int, *, seed=0, method="blueprint", size=(800, 600)):
    """Interactions of pages with four each; every third is not usable, one was not judged."""
    records = [_interaction(folder, number, seed, size) for number in range(count)]
    return write(folder, "interaction2code", method, records)


def _interaction(folder: Path, number: int, seed: int, size) -> Record:
    chance = random.Random(f"{seed}/{number}")
    name, bad = f"p{number // 4}/{number % 4}", number % 3 == 0
    score = chance.random()
    full = {"clip": None, "ssim": score, "text": score}
    part = dict.fromkeys(("ssim", "text", "position_before", "position_after"), score)
    both = {"full": full, "part": {"clip": None, **part}}
    scores = {"paper": both, "strict": both, "implemented": 1.0, "usable": float(not bad)}
    artifacts = {}
    for side in SIDES:
        for moment in ("before", "after"):
            path = folder / "artifacts" / name.replace("/", "-") / f"{side}_{moment}.png"
            if side == "reference":  # the states of a page are shared by its interactions
                state = 0 if moment == "before" else 1 + number % 4
                path = folder / "references" / f"p{number // 4}" / f"{state}.png"
            if not path.exists():
                picture(path, (seed, number, side, moment), size)
            artifacts[f"{side}_{moment}"] = path.relative_to(folder).as_posix()
    facts = {"size": list(size), "trigger": [10, 60, 90, 90], "region": [100, 150, 300, 300]}
    failure = "g" if bad else "none"
    details = {
        **{"page": name.split("/")[0], "interaction": name.split("/")[1], "topic": "shop"},
        **{"action": {"kind": "click"}, "sentence": f"click number {number}"},
        **{"tags": [KINDS[number % 4]], "visuals": ["text"], "reference": facts},
        **{"generated": facts, "saliency": {"paper": 0.1, "strict": 0.1}},
        "verdict": {
            "implemented": True,
            "usable": not bad,
            "failure": failure,
            "evidence": ["the page looks otherwise"],
            "differences": [_change(n) for n in range(3)] if bad else [],
        },
    }
    flags = ("unsure",) if number % 6 == 3 else ()
    return Record(name, "scored", scores, details=details, artifacts=artifacts, flags=flags)


def _change(number: int) -> dict[str, object]:
    box = [20 + 40 * number, 60, 30, 20]
    return {
        **{"kind": "interaction", "says": f"“total {number}” appears: nothing happens there"},
        **{"reference_box": box, "box": None if number else box, "impact": 0.5},
        **{"was": f"“total {number}” appears", "is": "nothing happens there"},
    }


def failed(record: Record, message: str) -> Record:
    """The same case, as it is when there was nothing to judge."""
    error = CaseError("answer_empty", "answer", message, "Ask again.")
    scores = {name: one for name, one in record.scores.items() if name != "distance_px"}
    return Record(record.id, "failed", scores, error=error)


MAKERS = {
    "design2code": design2code,
    "grounding": grounding,
    "interaction2code": interaction2code,
}
