"""Requests that hold what the store cannot: every route answers with 4xx and a sentence."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from annotate_runs import PAGE, make_run
from data_sets import screenshot, screenshots
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studio_server import running_studio

from uiproof.studio.datasets import dataset_id
from uiproof.studio.routes import ROUTERS
from uiproof.studio.runs import open_run
from uiproof.studio.tasks import single_items

NUMBERS = [2**63, 2**64, -(2**63) - 1, 10**400, 10**5000, -(10**30)]
TEXTS = ["\ud800", "a\udfffb", "\0", "x" * 100_000]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("requests")
    sets = (screenshots(folder / "shots"), interactions(folder / "pages"))
    with running_studio(folder / "runs", sets) as studio:
        make_run(studio.studio.runs / "run", {"shop/1": PAGE})
        items = single_items([open_run(studio.studio.runs, "run")])
        studio.store.add_task("judge", "t", items, per_item=1)
        studio.store.add_annotator("Ann")
        names = {"shots": dataset_id(sets[0]), "pages": dataset_id(sets[1])}
        yield studio, studio.client(), names


def interactions(folder):
    """A data set of one page, `1`."""
    for node in ("0", "1"):
        screenshot(folder / "1" / f"{node}.png")
    entry = {"src": "0", "dst": "1", "action": "click", "trigger": [40, 60, 199, 99]}
    (folder / "1" / "action.json").write_text(json.dumps({"1": entry}))
    return folder


def fine(answer):
    assert 200 <= answer.status_code < 500, (answer.request.url, answer.text[:300])
    if answer.status_code >= 400:
        assert answer.text.strip()


def routes():
    """All addresses of the studio with their methods."""
    every = [route for router in ROUTERS for route in router.routes if hasattr(route, "methods")]
    assert len(every) > 30
    return [(method, route.path) for route in every for method in route.methods]


@pytest.mark.parametrize("value", [*map(str, NUMBERS[:4]), "%ED%A0%80", "%00", "-1", "1e999", "²"])
def test_whatever_is_in_an_address(served, value):
    _, client, _ = served
    for method, path in routes():
        whole = re.sub(r"\{[^}]*\}", value, path)
        query = "&".join(
            f"{name}={value}"
            for name in ("run", "name", "node", "page", "seen", "opened", "known", "find", "done")
        )
        for address in (whole, f"{whole}?{query}"):
            fine(client.request(method, address))


def test_sets_and_tasks_with_numbers_that_are_too_large(served):
    _, client, names = served
    for number in NUMBERS[:4]:
        for address in ("results", "results/agreement?seen={}", "decide?page={}", "export"):
            fine(client.get(f"/tasks/1/{address.format(number)}"))
        fine(client.get(f"/data/{names['shots']}?page={number}"))
        fine(client.get(f"/runs/pictures/x/{number}"))


FORMS = {
    "/people": ["name"],
    "/people/me": ["name"],
    "/tasks/new": ["title", "kind", "runs", "baseline", "per_item", "size", "seed"],
    "/tasks/new/count": ["title", "kind", "runs", "baseline", "per_item", "size", "seed"],
    "/tasks/1/decide/1": ["value", "usable", "failure", "outcome", "note"],
    "/import": ["into", "annotator", "title"],
}


@pytest.mark.parametrize("address", FORMS)
def test_forms(served, address):
    _, client, _ = served
    usual = {"kind": "judge", "runs": "run", "per_item": "1", "name": "Ann"}
    for field in FORMS[address]:
        for value in (*map(str, NUMBERS[:4]), "9" * 5_000, "%ED%A0%80", "\0", "1e999", "NaN"):
            content = usual | {field: value}
            fine(client.post(address, data=content))
            fine(client.post(address, data=content, files={"files": ("x.json", b"{}")}))


@pytest.mark.parametrize("charset", ["unicode_escape", "utf-7", "utf-16", "rot13", "none-such"])
def test_forms_in_other_encodings(served, charset):
    studio, client, _ = served
    before = len(studio.store.annotators())
    body = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n\\ud800 +2AA-\r\n--x--\r\n'
    kinds = (f"multipart/form-data; boundary=x; charset={charset}",)
    for kind in (*kinds, f"application/x-www-form-urlencoded; charset={charset}"):
        answer = client.post("/people", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 415
    assert len(studio.store.annotators()) == before


def jsons(names):
    key = {"item": "x", "nonce": "n", "seconds": 1, "note": "", "usable": True, "failure": "none"}
    box = {"boxes": [{"edges": [0, 0, 5, 5], "instruction": "x", "type": "t", "text": ""}]}
    return {
        "/tasks/1/answer": key,
        "/tasks/1/skip": key,
        "/tasks/1/undo": {},
        f"/data/{names['shots']}/boxes": {"name": "2.png", "revision": 0, "content": box},
        f"/data/{names['shots']}/text": {"name": "2.png", "box": [0, 0, 5, 5]},
        f"/data/{names['pages']}/interactions": {"name": "1", "revision": 0, "content": {}},
    }


def test_numbers_and_texts_in_json(served):
    _, client, names = served
    for address, usual in jsons(names).items():
        for value in (*NUMBERS[:4], *TEXTS, float("nan"), float("inf"), [[1]], {"\ud800": 1}):
            for field in usual or {"x": 1}:
                fine(post(client, address, json.dumps(usual | {field: value})))
            fine(post(client, address, json.dumps(value)))
        for raw in ("9" * 5_000, "[" * 100_000, "{" * 100_000, "1e999", '"\\ud800"', "\xff", "{"):
            answer = post(client, address, f'{{"name": {raw}}}')
            assert 400 <= answer.status_code < 500
            assert answer.text.strip()


def test_what_is_wrong_is_said(served):
    _, client, _ = served
    for raw, words in (
        (str(2**63), "The number 9223372036854775808 is too large."),
        ("1e999", "too large"),
        ("NaN", "too large"),
        ('"\\ud800"', "cannot be written"),
        ("[" * 5_000, "nested too deeply"),
        ("x", "not JSON"),
        ("[" + "1," * 300_000 + "1]", "values"),
        ('"' + "x" * 9_000_000 + '"', "8 MB"),
    ):
        assert words in post(client, "/tasks/1/answer", f'{{"item": {raw}}}').text


def test_a_cookie_with_a_number_that_is_too_large_names_nobody(served):
    studio, _, _ = served
    client = studio.client()
    port = studio.url.rpartition(":")[2]
    for value in ("9" * 5_000, str(2**63), "-1", "x"):
        client.cookies.set(f"uiproof_{port}_name", value)
        fine(client.get("/tasks/1"))
        client.cookies.delete(f"uiproof_{port}_name")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_anything_in_json(served, data):
    _, client, names = served
    known = jsons(names)
    address = data.draw(st.sampled_from(sorted(known)))
    usual = known[address]
    field = data.draw(st.sampled_from(sorted(usual) or ["x"]))
    fine(post(client, address, json.dumps(usual | {field: data.draw(ANYTHING)})))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(ANYTHING, max_size=4), content=ANYTHING)
def test_anything_in_uploads(served, lines, content):
    _, client, _ = served
    task = {"format": 1, "task": {"key": "k", "kind": "judge", "title": "t", "per_item": content}}
    item = {"item": content, "case": "1/1", "model": "m", "prompt": "", "run": None}
    label = {"label": 1, "by": "A", "value": {"usable": True}, "note": "", "seconds": content}
    text = "\n".join(json.dumps(one) for one in (task, item, label, *lines))
    files = [("files", ("labels.jsonl", text.encode()))]
    fine(client.post("/import", files=files))
    published = {"1/1-x": content}
    named = ("failure_cot_prompt_gpt.json", json.dumps(published).encode())
    fine(client.post("/import", files=[("files", named)]))


def post(client, address, text) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    return client.post(address, content=text.encode("utf-8", "surrogatepass"), headers=headers)
