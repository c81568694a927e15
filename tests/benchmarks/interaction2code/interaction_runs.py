"""Runs of Interaction2Code on disk, written as the engine writes them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from uiproof.benchmark import CaseError, Record
from uiproof.benchmarks.interaction2code.summary import FULL, PART, summarise
from uiproof.engine.rundir import Journal, RunDirectory, encode

UNUSABLE = "abghj"


def scored(
    name,
    *,
    failure="none",
    usable=None,
    score=0.5,
    clip=None,
    tags=("button",),
    visuals=("text",),
    saliency=0.01,
    topic="shop",
):
    """An interaction that was judged; what is not implemented has 0 in its interaction part."""
    implemented = failure not in ("a", "b")
    usable = failure not in UNUSABLE if usable is None else usable
    full = {"clip": clip, "ssim": score, "text": score}
    part = dict.fromkeys(("ssim", "text", "position_before", "position_after"), score)
    part = {"clip": clip, **part} if implemented else dict.fromkeys(("clip", *part), 0.0)
    page, _, interaction = name.rpartition("/")
    return Record(
        name,
        "scored",
        {
            "paper": {"full": full, "part": part},
            "strict": {"full": full, "part": part},
            "implemented": float(implemented),
            "usable": float(usable),
        },
        details={
            "verdict": {"implemented": implemented, "usable": usable, "failure": failure},
            "page": page,
            "interaction": interaction,
            "topic": topic,
            "tags": list(tags),
            "visuals": list(visuals),
            "saliency": {"strict": saliency, "paper": saliency},
        },
    )


def without_page(name):
    """A case for which the model wrote no page."""
    zeros = {"full": dict.fromkeys(FULL, 0.0), "part": dict.fromkeys(PART, 0.0)}
    scores = {"paper": zeros, "strict": zeros, "implemented": 0.0, "usable": 0.0}
    return Record(name, "failed", scores, error=CaseError("answer_empty", "answer", "No text."))


def written(folder: Path, method: str, records: Iterable[Record], *, prompt=None, **manifest):
    """A finished run in a folder."""
    records = list(records)
    run = RunDirectory(folder)
    run.create()
    run._write(
        "run.json",
        {
            "format": 1,
            "benchmark": "interaction2code",
            "dataset": "interaction2code-demo",
            "method": f"{method} {prompt}" if prompt else method,
            "settings": {"prompt": prompt} if prompt else {},
            **manifest,
        },
    )
    with Journal(run.journal) as journal:
        for record in records:
            journal.append(encode(record))
    run.write_summary({**summarise(records), "complete": True})
    return run


def many(seed, *, better=0.0, pages=20):
    """Records as a model might have them, the same for the same seed."""
    chance = random.Random(seed)
    kinds = ["none", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    weights = [30 + 60 * better, 5, 25, 4, 4, 4, 4, 2, 1, 12, 6]
    effects = [
        "new component",
        "text",
        "color",
        "new window",
        "position",
        "size",
        "switch",
        "new page",
    ]
    records = []
    for page in range(1, pages + 1):
        topic = ["shop", "blog", "social media", "software development"][page % 4]
        for number in range(1, page % 4 + 2):
            trait = random.Random(f"{page}/{number}")  # of the data, not of the model
            records.append(
                scored(
                    f"{page}/{number}",
                    failure=chance.choices(kinds, weights)[0],
                    score=min(max(chance.gauss(0.5 + 0.3 * better, 0.2), 0), 1),
                    tags=trait.sample(["button", "link", "input", "select", "image"], 1 + page % 2),
                    visuals=trait.sample(effects, 1 + number % 2),
                    saliency=trait.random() ** 4,
                    topic=topic,
                )
            )
    return records
