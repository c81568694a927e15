"""One service with two workers, asked in every way."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import sync_playwright
from serve_process import (
    DEAD_MENU,
    GENERATED,
    LOOP,
    MENU,
    REFERENCE,
    SLOW,
    interaction,
    serving,
    write_interaction,
)

import page_looks
import uiproof
from uiproof.browser.chromium import find_chromium
from uiproof.errors import UsageError
from uiproof.serve.queue import archive_of, open_datasets

WORKERS = 2
QUEUE = 70


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def service(folder):
    pages = folder / "pages"
    pages.mkdir()
    (pages / "1.html").write_text(REFERENCE)
    options = ["--workers", WORKERS, "--queue", QUEUE, "--deadline", 100]
    options += ["--dataset", f"pages={pages}"]
    options += ["--dataset", f"clicks={write_interaction(folder / 'clicks')}"]
    with serving(*options, folder=folder) as service:
        yield service


def test_the_archive_beside_a_data_set_answers_and_two_of_them_are_refused(tmp_path):
    for name in ("one", "two", "bare"):
        (tmp_path / name / "web").mkdir(parents=True)
        (tmp_path / name / "1.html").write_text(REFERENCE)
        if name != "bare":
            (tmp_path / name / "web" / "index.json").write_text("{}")
    named = [f"{name}={tmp_path / name}" for name in ("one", "two", "bare")]
    assert archive_of(open_datasets([named[0], named[2]]).values()) == tmp_path / "one" / "web"
    assert archive_of(open_datasets(named[2:]).values()) is None
    with pytest.raises(UsageError, match="one, two each have an archive"):
        archive_of(open_datasets(named).values())


def test_a_page_is_scored_against_html_and_against_a_case(service):
    inline = service.score(reference=REFERENCE, generated=GENERATED, id="mine")
    assert inline.status_code == 200
    result = inline.json()
    assert (result["id"], result["status"], result["error"]) == ("mine", "scored", None)
    assert result["benchmark"] == "design2code"
    assert 0 < result["scores"]["paper"]["text"] < 1
    assert {"queue", "score"} <= result["seconds"].keys()
    named = service.score(dataset="pages", case="1", generated=GENERATED, id=7).json()
    assert named["id"] == 7
    assert named["scores"] == result["scores"]


def test_an_interaction_is_scored_against_pictures_and_against_a_case(service):
    named = service.score(dataset="clicks", case="menu/1", generated=MENU).json()
    assert named["scores"]["usable"] == 1, named
    assert named["benchmark"] == "interaction2code"
    inline = service.score(reference=interaction(), generated=MENU).json()
    assert inline["scores"] == named["scores"]
    dead = service.score(reference=interaction(), generated=DEAD_MENU).json()
    assert (dead["status"], dead["scores"]["usable"]) == ("scored", 0)


def test_a_batch_mixes_benchmarks_and_one_bad_page_stops_no_other(service):
    items = [
        {"id": "a", "reference": REFERENCE, "generated": REFERENCE},
        {"id": "b", "dataset": "clicks", "case": "menu/1", "generated": ""},
        {"id": "c", "reference": REFERENCE, "generated": GENERATED, "deadline": 0.0001},
        {"id": "d", "reference": REFERENCE, "generated": f"Sure:\n{REFERENCE}", "completion": True},
    ]
    results = service.client.post("/score", json={"items": items}).json()["results"]
    assert [one["id"] for one in results] == ["a", "b", "c", "d"]
    assert [one["status"] for one in results] == ["scored", "failed", "failed", "scored"]
    assert results[0]["scores"]["strict"]["mean_without_clip"] == 1
    assert results[3]["scores"] == results[0]["scores"]
    assert results[1]["error"]["code"] == "answer_empty"
    assert results[1]["scores"]["usable"] == 0
    assert results[2]["error"]["code"] == "deadline"
    assert results[2]["scores"] is None


def test_the_same_pages_score_the_same_whatever_the_concurrency_and_order(service):
    references = [REFERENCE, "<h2>Prices</h2><ul><li>Tea 3</li><li>Cake 5</li></ul>"]
    pages = [
        GENERATED,
        "<h2>Prices</h2><p>Tea 3 Cake 5</p>",
        "<b>Hello</b>",
        "<p style='color:red'>Some words of a page.</p><script>document.title = 'x'</script>",
    ]
    pairs = [(reference, page) for reference in references for page in pages]
    with uiproof.Scorer(workers=1) as scorer:
        expected = [scorer.score(*pair) for pair in pairs]
    order = random.Random(7).sample(list(range(len(pairs))) * 4, 4 * len(pairs))
    items = [
        {"id": number, "reference": pairs[number][0], "generated": pairs[number][1]}
        for number in order
    ]

    def single(item):
        return service.score(**item).json()

    with ThreadPoolExecutor(17) as threads:
        batch = threads.submit(service.client.post, "/score", json={"items": items[:16]})
        results = list(threads.map(single, items[16:])) + batch.result().json()["results"]
    assert len(results) == 32
    for result in results:
        assert result["scores"] == expected[result["id"]]
    assert service.metric("uiproof_reference_cache_total", result="hit") > 20


def test_hostile_pages_are_contained_and_answered(service):
    alerts = "<p>Hi</p><script>for (let i = 0; i < 200; i++) alert(i)</script>"
    items = [{"reference": REFERENCE, "generated": page} for page in (alerts, LOOP)]
    results = service.client.post("/score", json={"items": items}).json()["results"]
    assert all(result["scores"] is not None for result in results), results
    assert all(result["flags"] or result["status"] == "failed" for result in results[1:])
    assert service.score(reference=REFERENCE, generated=REFERENCE).json()["status"] == "scored"


def test_a_page_whose_worker_is_killed_is_scored_by_another(service):
    expected = service.score(reference=REFERENCE, generated=GENERATED).json()["scores"]
    before = service.metric("uiproof_worker_deaths_total")
    # Every worker is busy: a case would lose its second try to an idle one that dies beside it.
    with ThreadPoolExecutor(WORKERS) as threads:
        answers = [
            threads.submit(
                service.score, reference=REFERENCE, generated=f"{GENERATED}{SLOW}<!--{n}-->"
            )
            for n in range(WORKERS)
        ]
        service.wait_for(lambda: service.metric("uiproof_in_flight") == WORKERS)
        for pid in _judges(service):
            os.kill(pid, signal.SIGKILL)
        results = [answer.result().json() for answer in answers]
    assert [(result["status"], result.get("error")) for result in results] == [
        ("scored", None)
    ] * WORKERS
    assert all(result["scores"] == expected for result in results)
    assert service.metric("uiproof_worker_deaths_total") > before


def _judges(service):
    """The processes of workers that run a judge, without those that guard them."""
    found = []
    for pid in service.family():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if b"uiproof.engine.worker_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append((pid, int(words[1])))
    return [pid for pid, parent in found if parent in dict(found)]


def test_a_deadline_ends_the_wait_and_not_the_worker(service):
    deaths = service.metric("uiproof_worker_deaths_total")
    late = service.score(reference=REFERENCE, generated=SLOW, deadline=0.5)
    assert late.status_code == 504
    assert late.json()["error"]["code"] == "deadline"
    assert late.json()["scores"] is None
    assert service.metric("uiproof_worker_deaths_total") == deaths
    assert service.score(reference=REFERENCE, generated=REFERENCE).status_code == 200


def test_a_full_queue_says_when_to_come_back_and_who_leaves_makes_room(service):
    service.wait_for(lambda: service.metric("uiproof_in_flight") == 0, 100)
    many = {"items": [{"reference": REFERENCE, "generated": SLOW}] * QUEUE}
    some = {"items": [{"reference": REFERENCE, "generated": GENERATED}] * 5}
    started = service.metric("uiproof_requests_total", outcome="cancelled")
    with httpx.Client(base_url=service.url, timeout=200) as impatient:
        thread = threading.Thread(target=_give_up, args=(impatient, many))
        thread.start()
        service.wait_for(lambda: service.metric("uiproof_queue_length") >= QUEUE - 2)
        refused = service.client.post("/score", json=some)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.json()["error"]["code"] == "queue_full"
        thread.join()
    service.wait_for(lambda: service.metric("uiproof_queue_length") == 0)
    assert service.metric("uiproof_requests_total", outcome="cancelled") >= started + QUEUE
    assert service.client.post("/score", json=some).status_code == 200
    too_many = {"items": some["items"] * 20}
    assert service.client.post("/score", json=too_many).status_code == 422


def _give_up(client, body):
    with pytest.raises(httpx.ReadTimeout):
        client.post("/score", json=body, timeout=3)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"generated": "x"}, "reference"),
        ({"reference": "x"}, "generated: Field required"),
        ({"reference": "x", "generated": "x", "deadlin": 3}, "deadlin"),
        ({"reference": "x", "generated": "x", "deadline": -1}, "deadline"),
        ({"reference": "x", "generated": "x", "benchmark": "interaction2code"}, "pictures"),
        ({"reference": "x", "generated": "x", "benchmark": "grounding"}, "benchmark"),
        ({"reference": "x", "dataset": "pages", "case": "1", "generated": "x"}, "either"),
        ({"dataset": "pages", "generated": "x"}, "go together"),
        ({"dataset": "none", "case": "1", "generated": "x"}, "pages, clicks"),
        ({"dataset": "pages", "case": "9", "generated": "x"}, "such as 1"),
        ({"items": []}, "items"),
        ({"items": [{"reference": "x", "generated": 3}]}, "items.0.generated"),
        ({"reference": {"before": "eA==", "after": "eA=="}, "generated": "x"}, "PNG"),
        ([], "body"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_what_to_do(service, folder, body, told):
    answer = service.client.post("/score", json=body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "request"
    assert told in error["message"] + error["remedy"]
    assert str(folder) not in answer.text


def test_what_is_not_json_or_far_too_large_is_refused(service):
    headers = {"content-type": "application/json"}
    assert service.client.post("/score", content=b"{", headers=headers).status_code == 422
    plain = service.client.post("/score", content=b'{"reference": "a", "generated": "a"}')
    assert plain.status_code == 422
    assert "Content-Type" in plain.json()["error"]["remedy"]
    huge = b" " * (65 * 2**20)
    assert service.client.post("/score", content=huge, headers=headers).status_code == 413

    def in_pieces():
        yield b"{"
        for _ in range(65):
            yield b" " * 2**20

    answer = service.client.post("/score", content=in_pieces(), headers=headers)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


def test_a_broken_picture_fails_without_telling_where_it_lies(service, folder):
    broken = {**interaction(), "before": "iVBORw0KGgo="}
    result = service.score(reference=broken, generated=MENU).json()
    assert result["status"] == "failed"
    assert result["error"]["code"] == "input"
    assert str(folder) not in json.dumps(result)
    assert "/" not in result["error"]["message"]


def test_a_text_that_names_a_file_of_the_server_is_only_a_text(service):
    result = service.score(reference="/etc/passwd", generated="/etc/passwd").json()
    assert result["status"] == "scored"


def test_probes_metrics_and_the_description_are_there(service):
    assert service.client.get("/health").json() == {"status": "ok"}
    assert service.client.get("/ready").json() == {"status": "ok"}
    assert service.metric("uiproof_workers") == 2
    assert service.score(reference=REFERENCE, generated=GENERATED).status_code == 200
    assert service.score(generated=GENERATED).status_code == 422
    assert service.metric("uiproof_requests_total", outcome="scored") > 0
    assert service.metric("uiproof_rejected_total", reason="invalid") > 0
    described = service.client.get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    score = described["paths"]["/score"]["post"]
    assert {"200", "401", "413", "422", "429", "503", "504"} <= score["responses"].keys()
    assert service.client.get("/nothing").json()["error"]["code"] == "not_found"


def test_the_description_for_people_is_whole_and_asks_no_other_host(service):
    described = service.client.get("/openapi.json").json()
    answer = service.client.get("/docs")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    for path, operations in described["paths"].items():
        assert all(f"{method.upper()} {path}<" in answer.text for method in operations)
    for name, schema in described["components"]["schemas"].items():
        assert f'id="{name}"' in answer.text
        assert all(f"<code>{field}</code>" in answer.text for field in schema["properties"])
    assert not re.search(r"<(script|link|img|iframe|base|form)|url\(|@import", answer.text)
    links = set(re.findall(r'(?:href|src|action)="([^"]*)"', answer.text))
    assert links - {"/openapi.json"} == {f"#{name}" for name in described["components"]["schemas"]}
    assert service.client.get("/redoc").status_code == 404


def test_the_description_for_people_is_accessible_and_fits_narrow_windows(service):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium().path))
        for scheme in ("light", "dark"):
            page = browser.new_page(bypass_csp=True, color_scheme=scheme)
            page.goto(f"{service.url}/docs")
            assert page_looks.barriers(page) == []
            assert page_looks.overflows(page) == []
        browser.close()


def test_the_examples_of_the_description_fit_its_schema(service):
    jsonschema = pytest.importorskip("jsonschema")
    described = service.client.get("/openapi.json").json()
    media = described["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]
    schema = {**media["schema"], "components": described["components"]}
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert len(media["examples"]) == 6
    for example in media["examples"].values():
        validator.validate(example["value"])
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"generated": 3})
