from __future__ import annotations

import httpx


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


def test_an_annotators_token_opens_nothing_of_the_owner(studio):
    ann = studio.client(studio.store.add_annotator("Ann").token)
    for address in ("/people", "/tasks/new"):
        assert ann.get(address).status_code == 403
    page = ann.get("/tasks").text
    assert studio.studio.gate.owner_token not in page
    assert "People" not in page
