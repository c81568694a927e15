"""Many people at once, and a studio that dies: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

import warm_commands
from uiproof.labels import Item
from uiproof.studio.store import Store, labels, progress

NAMES = [f"annotator {n}" for n in range(8)]


@contextmanager
def studio_process(runs):
    """A studio as people start it; yields its process and each person's address."""
    command = ["studio", "--runs", str(runs), "--port", "0"]
    for name in NAMES:
        command += ["--annotator", name]
    with warm_commands.Command(command, cwd=runs, env=os.environ) as process:
        try:
            addresses = {}
            for line in process.first_lines(len(NAMES) + 1)[1:]:
                name, _, address = line.strip().partition(": ")
                addresses[name] = address
            yield process, addresses
        finally:
            process.kill()


class Person:
    """Somebody with a browser, as far as the studio can tell."""

    def __init__(self, name, address):
        self.name = name
        self.client = httpx.Client(follow_redirects=True, timeout=60, trust_env=False, verify=False)
        self.base = address.partition("/tasks")[0]
        page = self.client.get(address).text
        csrf = re.search(r'data-csrf="(\w+)"', page)[1]
        self.client.headers["X-CSRF-Token"] = csrf

    def label(self, task, number, acknowledged):
        """Answer items until there is none left; notes name every answer that was accepted."""
        html = self.client.get(f"{self.base}/tasks/{task}").text
        while key := re.search(r'data-key="(\w+)"', html):
            number += 1
            note = f"{self.name} {number}"
            usable = number % 3 > 0
            sent = {"item": key[1], "usable": usable, "note": note, "nonce": note}
            sent["failure"] = "none" if usable else "b"
            answer = self.client.post(f"{self.base}/tasks/{task}/answer", json=sent)
            assert answer.status_code == 200, answer.text
            acknowledged.append(note)
            html = answer.json()["html"]


def add_task(runs, items, per_item):
    store = Store(runs / "studio.sqlite3")
    task = store.add_task(
        "judge", "Load", [Item(f"{n}/1", "model") for n in range(items)], per_item=per_item
    )
    return store, task


def test_eight_people_at_once_lose_nothing_and_label_nothing_twice(tmp_path):
    store, task = add_task(tmp_path, 30, per_item=3)
    with studio_process(tmp_path) as (_, addresses), ThreadPoolExecutor(len(NAMES)) as pool:
        people = [Person(name, address) for name, address in addresses.items()]
        acknowledged = [[] for _ in people]
        work = [
            pool.submit(person.label, task.id, 0, said)
            for person, said in zip(people, acknowledged, strict=True)
        ]
        for one in work:
            one.result()
        for person in people:
            person.client.close()
    kept = labels(store, task.id)
    assert sorted(one.note for one in kept) == sorted(
        note for said in acknowledged for note in said
    )
    assert len(kept) == 90
    assert len({(one.item, one.annotator) for one in kept}) == 90
    assert all(progress(store, task.id, one.id).open == 0 for one in store.annotators())
    store.close()


@pytest.mark.parametrize("answers_before", [5, 23])
def test_what_was_acknowledged_survives_a_kill(tmp_path, answers_before):
    store, task = add_task(tmp_path, 400, per_item=8)
    acknowledged: list[str] = []
    with studio_process(tmp_path) as (process, addresses):
        people = [Person(name, address) for name, address in list(addresses.items())[:4]]

        def work(person):
            try:
                person.label(task.id, 0, acknowledged)
            except httpx.HTTPError:
                return  # the studio is dead: what was sent and not answered may be there or not

        threads = [threading.Thread(target=work, args=[person]) for person in people]
        for thread in threads:
            thread.start()
        while len(acknowledged) < answers_before and process.poll() is None:
            threads[0].join(0.005)
        process.kill()
        for thread in threads:
            thread.join()
        for person in people:
            person.client.close()
    assert len(acknowledged) >= answers_before
    with studio_process(tmp_path) as (_, addresses):  # it starts again, and goes on
        person = Person(*next(iter(addresses.items())))
        assert "data-key" in person.client.get(f"{person.base}/tasks/{task.id}").text
        person.client.close()
    notes = [one.note for one in labels(store, task.id)]
    assert set(acknowledged) <= set(notes)
    assert len(notes) == len(set(notes))
    assert len(notes) <= len(acknowledged) + len(people)
    store.close()
