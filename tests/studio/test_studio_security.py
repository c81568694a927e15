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
