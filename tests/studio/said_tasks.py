"""Tasks in which people have said something, for tests about what comes out of them."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from uiproof.labels import Choice, Item, Judgement

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "interaction2code"))

from interaction_runs import many, scored, without_page, written

__all__ = ["HOSTILE", "many", "noisy_task", "published", "say", "scored", "without_page", "written"]

HOSTILE = "<img src=x onerror=alert(1)>../../x"
AT = "2026-01-01T00:00:00.000+00:00"


def say(store, task, name, values, *, note="", at=AT):
    """Labels of one person, in the order of the items; None says nothing."""
    person = store.add_annotator(name).id
    items = store.items(task)
    with store.writing() as db:
        db.executemany(
            "INSERT INTO events (at, item, annotator, action, value, note) "
            "VALUES (?, ?, ?, 'label', ?, ?)",
            [
                (at, item.id, person, json.dumps(value.as_json()), note)
                for item, value in zip(items, values, strict=True)
                if value is not None
            ],
        )


def noisy_task(store, *, pages=10, models=("gpt", "claude"), people=("Ann", "Ben", "Cleo"), seed=0):
    """A judge task whose annotators mostly agree."""
    chance = random.Random(seed)
    items = [Item(f"{page}/{k}", m, "cot") for m in models for page in range(pages) for k in (1, 2)]
    task = store.add_task("judge", "Noisy", items, per_item=len(people))
    truth = [chance.choice(["none", "b", "i"]) for _ in items]

    def one(failure):
        failure = failure if chance.random() < 0.7 else chance.choice(["none", "b", "j"])
        return Judgement(failure in ("none", "i"), failure)

    for name in people:
        say(store, task.id, name, [one(failure) for failure in truth])
    return task


def published(folder, *, models=("gpt", "claude"), prompt="cot", pages=5):
    """Label files in the published format; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, model in enumerate(models):
        failures, votes = {}, {}
        for page in range(1, pages + 1):
            key = f"{page}/1-{prompt}_prompt-{model}.html"
            failures[key] = "0/0" if (page + number) % 3 else "2/1"
            votes[key.replace("_prompt-", "_prompt_")] = (page + number) % 3
        for kind, content in (("failure", failures), ("compare", votes)):
            file = folder / f"{kind}_{prompt}_prompt_{model}.json"
            file.write_text(json.dumps(content))
    return folder


def outcome(word):
    return None if word is None else Choice(word)
