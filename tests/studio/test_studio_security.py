from __future__ import annotations

import hmac
import html
import re

import httpx

from uiproof.labels import Choice, Item
from uiproof.sockets import HostNames
from uiproof.studio.routes import ROUTERS
from uiproof.studio.store import Store, labels, save_label
from uiproof.studio.tasks import result_is_left


def test_without_a_token_nothing_opens(studio):
    assert httpx.get(studio.url + "/tasks").status_code == 403
    assert httpx.get(studio.url + "/tasks?token=wrong").status_code == 403


def test_the_token_leaves_the_address_and_goes_into_a_cookie_scripts_cannot_read(studio):
    answer = httpx.get(studio.owner_url + "&run=a&run=b")
    assert answer.headers["location"] == "/?run=a&run=b"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_other_names_of_this_machine_are_refused(studio):
    answer = httpx.get(studio.owner_url, headers={"Host": "evil.example"})
    assert answer.status_code == 400


def test_changes_need_the_csrf_token(studio):
    client = studio.client()
    assert client.post("/people", headers={"X-CSRF-Token": ""}).status_code == 403
    assert client.post("/people", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_every_answer_has_a_strict_policy(studio):
    for address in ("/tasks", "/static/studio.css", "/nowhere"):
        policy = studio.client().get(address).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_what_a_generated_page_could_send_is_refused_even_with_a_cookie(studio):
    owner = studio.client()
    sent_by_a_page = {"Origin": "null", "Sec-Fetch-Site": "cross-site"}
    for address in ("/people", "/people/me", "/tasks/new", "/tasks/1/answer", "/tasks/1/undo"):
        answer = owner.post(address, headers=sent_by_a_page, data={"name": "Eve"})
        assert answer.status_code == 403
    assert studio.store.annotators() == []


def test_frames_can_be_read_but_not_written_and_get_no_cookie(studio):
    assert httpx.post(studio.url + "/frame/x/").status_code == 403
    answer = httpx.get(studio.url + "/frame/x/")
    assert answer.status_code == 404
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert "set-cookie" not in answer.headers


FOR_ANNOTATORS = re.compile(
    r"/tasks(/\{task_id\}(/answer|/skip|/undo)?)?|/(frame|picture)/.*|/runs/files/.*"
    r"|/data(/\{set_id\}(?!/close).*)?"
)


def test_an_annotator_reaches_the_queue_and_the_data_set_tools_and_nothing_else(studio):
    ann = studio.client(studio.store.add_annotator("Ann").token)
    routes = [route for router in ROUTERS for route in router.routes]
    assert len(routes) > 40
    for route in routes:
        address = re.sub(r"\{[^}]*\}", "1", route.path)
        for method in route.methods - {"HEAD"}:
            # A link that is not known is refused, too, but not because of the visitor.
            refused = "Only the owner" in ann.request(method, address).text
            assert refused == (not FOR_ANNOTATORS.fullmatch(route.path)), (method, route.path)
    page = ann.get("/tasks").text
    assert studio.studio.access.owner_token not in page
    assert "People" not in page


def test_what_an_annotator_knows_does_not_tell_the_sides(studio):
    """Sides that are computed from the token are those of chance, not those that are shown."""
    ann = studio.store.add_annotator("Ann")
    many = [Item(f"p/{number}", "m", id=number) for number in range(400)]
    shown = [result_is_left(studio.store, ann, item) for item in many]
    for key in (ann.token, str(ann.id), ann.name):
        guesses = [
            hmac.digest(key.encode(), f"side {item.id}".encode(), "sha256")[0] < 128
            for item in many
        ]
        assert 120 < sum(one == other for one, other in zip(shown, guesses, strict=True)) < 280


def test_sides_stay_with_the_file_and_are_others_in_another(tmp_path):
    many = [Item(f"p/{number}", "m", id=number) for number in range(100)]
    sides = []
    for name in ("a", "a", "b"):
        store = Store(tmp_path / f"{name}.sqlite3")
        ann = store.add_annotator("Ann")
        store.renew_token(ann.id)  # another link changes nothing that was shown
        sides.append([result_is_left(store, ann, item) for item in many])
        store.close()
    assert sides[0] == sides[1] != sides[2]


def test_labels_of_an_older_file_keep_their_meaning(tmp_path):
    """A file without a secret, as it was written before there was one."""
    path = tmp_path / "studio.sqlite3"
    store = Store(path)
    ann = store.add_annotator("Ann")
    items = [Item(f"p/{number}", "m", run="r", baseline="b") for number in range(6)]
    task = store.add_task("compare", "t", items, per_item=1)
    said = [Choice(("win", "tie", "lose")[number % 3]) for number in range(6)]
    for item, value in zip(store.items(task.id), said, strict=True):
        save_label(store, item.id, ann.id, value)
    with store.writing() as db:
        db.execute("DROP TABLE secrets")
    store.close()
    again = Store(path)
    assert [label.value for label in labels(again, task.id)] == said
    assert again.chance("x") != Store(tmp_path / "other.sqlite3").chance("x")
    again.close()


def test_no_page_or_header_has_the_secret(studio):
    with studio.store.reading() as db:
        (secret,) = db.execute("SELECT value FROM secrets").fetchone()
    client = studio.client()
    for address in ("/tasks", "/people", "/runs", "/static/studio.js"):
        answer = client.get(address)
        whole = answer.content + str(answer.headers).encode()
        assert secret not in whole
        assert secret.hex().encode() not in whole


def test_an_annotators_link_asks_before_it_takes_the_owners_session(studio):
    ann = studio.store.add_annotator("<b>Ann</b>")
    owner = studio.client()
    cookies = dict(owner.cookies)
    page = owner.get("/tasks", params={"token": ann.token, "a": "b"})
    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    assert "&lt;b&gt;Ann&lt;/b&gt;" in page.text
    assert "the owner of this studio" in page.text
    assert dict(owner.cookies) == cookies
    assert owner.get("/people").status_code == 200  # still the owner
    agreed = html.unescape(re.search(r'href="(/tasks\?[^"]+)"', page.text)[1])
    landed = owner.get(agreed)
    assert str(landed.url) == f"{studio.url}/tasks?a=b"
    assert owner.get("/people").status_code == 403
    # And the other way round.
    page = owner.get("/", params={"token": studio.studio.access.owner_token})
    assert "Continue as the owner" in page.text
    assert owner.get("/people").status_code == 403
    owner.get(html.unescape(re.search(r'href="(/\?[^"]+)"', page.text)[1]))
    assert owner.get("/people").status_code == 200


def test_a_link_of_ones_own_asks_nothing_and_agreement_cannot_be_made_up(studio):
    ann, ben = (studio.store.add_annotator(name) for name in ("Ann", "Ben"))
    client = studio.client(ann.token)
    assert str(client.get("/tasks", params={"token": ann.token}).url) == f"{studio.url}/tasks"
    for agreed in ("", "1", "x" * 40, "\ud7ff"):
        answer = client.get("/tasks", params={"token": ben.token, "agreed": agreed})
        assert "set-cookie" not in answer.headers
        assert "Continue as Ben" in answer.text


def test_bodies_without_a_length_or_without_an_end_are_refused(studio):
    client = studio.client()
    assert client.post("/people", content=iter([b"name=x"])).status_code == 400
    large = client.post("/people", content=b" " * 9_000_000)
    assert (large.status_code, large.text) == (413, "The request is larger than 8 MB.\n")


def test_addresses_and_other_names(tmp_path):
    names = HostNames.of("127.0.0.1", ["Lab.example.org"])
    for header in ("127.0.0.1:8710", "LOCALHOST", "[::1]:1", "lab.example.org"):
        assert names.know(header)
    for header in ("", "10.0.0.1", "evil.example", "localhost:80@evil", "localhost:x", "[::1", "["):
        assert not names.know(header)
    everywhere = HostNames.of("0.0.0.0")
    assert everywhere.know("10.0.0.1:8710")
    assert everywhere.know("[fe80::1]:8710")
    assert not everywhere.know("evil.example")
    assert not everywhere.know("10.0.0.1.evil.example")
