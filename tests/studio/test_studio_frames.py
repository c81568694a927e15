from __future__ import annotations

import re
from dataclasses import replace

import pytest
from annotate_runs import PAGE, make_run
from studio_server import running_studio

from uiproof.studio.frames import (
    MOST_PAGE_BYTES,
    FrameKey,
    disarmed,
    file_beside,
    page_policy,
    seal,
    unseal,
)
from uiproof.studio.runs import open_run
from uiproof.studio.tasks import single_items

SECRETS = (".env", ".env.html", ".ssh/id_rsa", ".git/config", ".git/x.css", "id_rsa")
SECRETS += ("secrets.yaml", "key.pem", "answer.txt", "a/.b/c.png", "dump.sql", "README")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A studio with one page and files beside it, and the address of that page."""
    with running_studio(tmp_path_factory.mktemp("frames") / "runs") as studio:
        folder = studio.studio.runs
        run = make_run(folder / "run", {"shop/1": PAGE, "large/1": b" " * (MOST_PAGE_BYTES + 1)})
        beside = run.artifact_dir("shop/1")
        (beside / "style.css").write_text("h1 { color: red }")
        (beside / "more.html").write_text("<p>more")
        (beside / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
        (beside / "answer.json").write_text('{"model": "secret-model"}')
        (beside / ".hidden.css").write_text("p {}")
        for name in SECRETS:
            (beside / name).parent.mkdir(parents=True, exist_ok=True)
            (beside / name).write_text("hunter2")
        (beside / "fine.css").symlink_to(beside / ".env")
        (beside / "link.css").symlink_to(beside / "style.css")
        (beside / "out.css").symlink_to("/etc/passwd")
        (beside / "folder").symlink_to(folder)
        (folder / "run" / "secret.css").write_text("p {}")
        task = studio.store.add_task(
            "judge", "t", single_items([open_run(folder, "run")]), per_item=1
        )
        items = {item.case: item.id for item in studio.store.items(task.id)}
        ann = studio.store.add_annotator("Ann").id
        access = studio.studio.access
        keys = {case: seal(access, FrameKey("page", item, ann)) for case, item in items.items()}
        yield studio, studio.client(), keys


def test_a_key_opens_what_it_was_made_for_and_cannot_be_made_up(served):
    access = served[0].studio.access
    seen = FrameKey("generated", 12, 3, True, 1)
    key = seal(access, seen)
    assert unseal(access, key) == seen
    assert seal(access, seen) == key
    for other in (replace(seen, item=13), replace(seen, of_baseline=False)):
        assert seal(access, other)[:40] != key[:40]
        assert len(seal(access, other)) == len(key)
    for wrong in ("", "x", key[:-2], key + "00", "0" * len(key), key[:40], key[40:] + key[:40]):
        assert unseal(access, wrong) is None
    changed = key[:-2] + ("00" if key[-2:] != "00" else "01")
    assert unseal(access, changed) is None


def test_a_page_is_served_without_a_cookie_under_a_policy_that_holds_it(served):
    studio, client, keys = served
    client.cookies.clear()
    answer = client.get(f"/frame/{keys['shop/1']}/")
    assert answer.status_code == 200
    assert "Shop" in answer.text
    policy = answer.headers["content-security-policy"]
    own = f"{studio.url}/frame/{keys['shop/1']}/"
    assert policy == page_policy(own)
    assert "allow-same-origin" not in policy
    assert "allow-modals" not in policy
    for rule in ("connect-src 'none'", "form-action 'none'", "frame-src 'none'"):
        assert rule in policy
    assert "set-cookie" not in answer.headers
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_page_can_load_what_lies_beside_it_and_nothing_else(served):
    _, client, keys = served
    base = f"/frame/{keys['shop/1']}"
    style = client.get(f"{base}/style.css")
    assert style.text.startswith("h1")
    assert style.headers["cross-origin-resource-policy"] == "cross-origin"
    assert client.get(f"{base}/page.html").text == client.get(f"{base}/").text
    for name in (
        "answer.json",
        ".hidden.css",
        "link.css",
        "out.css",
        "folder/run/secret.css",
        "nothing.css",
        "..%2f..%2fsecret.css",
        "%2e%2e/%2e%2e/secret.css",
        "%2fetc%2fpasswd",
        "style.css%00",
    ):
        assert client.get(f"{base}/{name}").status_code == 404, name
    for key in ("x", "0" * 120, keys["shop/1"][:-1] + "x"):
        assert client.get(f"/frame/{key}/").status_code == 404


@pytest.mark.parametrize("name", [*SECRETS, "fine.css"])
def test_nothing_hidden_and_no_other_kind_of_file_is_shown(served, name):
    _, client, keys = served
    base = f"/frame/{keys['shop/1']}"
    spellings = {
        name,
        name.replace("/", "%2f"),
        name.replace(".", "%2e"),
        f"./{name}",
        f"a/../{name}",
    }
    for spelling in spellings | {f"x%2f..%2f{name}", name.replace("/", "%5c"), name + "%2f"}:
        answer = client.get(f"{base}/{spelling}")
        assert answer.status_code == 404, spelling
        assert "hunter2" not in answer.text


def test_a_journal_that_names_a_secret_as_a_page_or_picture_shows_nothing(tmp_path):
    with running_studio(tmp_path / "runs") as studio:
        folder = studio.studio.runs
        run = make_run(folder / "run", {"shop/1": PAGE, "shop/2": PAGE, "shop/3": PAGE})
        lines = run.journal.read_text().splitlines()
        for number, name in enumerate((".env", "id_rsa", "link.html")):
            beside = run.artifact_dir(f"shop/{number + 1}")
            (beside / ".env").write_text("hunter2")
            (beside / "id_rsa").write_text("hunter2")
            (beside / "link.html").symlink_to(beside / ".env")
            lines[number] = lines[number].replace("page.html", name)
        run.journal.write_text("\n".join(lines) + "\n")
        items = single_items([open_run(folder, "run")])
        task = studio.store.add_task("judge", "t", items, per_item=1)
        client, ann = studio.client(), studio.store.add_annotator("Ann").id
        for item in studio.store.items(task.id):
            key = seal(studio.studio.access, FrameKey("page", item.id, ann))
            answer = client.get(f"/frame/{key}/")
            assert answer.status_code == 404
            assert "hunter2" not in answer.text


def test_other_documents_of_the_folder_are_held_as_well(served):
    _, client, keys = served
    base = f"/frame/{keys['shop/1']}"
    assert "RTC" in client.get(f"{base}/more.html").text
    policy = client.get(f"{base}/drawing.svg").headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")


def test_a_page_of_many_megabytes_is_not_sent(served):
    _, client, keys = served
    answer = client.get(f"/frame/{keys['large/1']}/")
    assert "This page has 20 MB" in answer.text
    assert len(answer.content) < 1000


def test_a_page_cannot_be_opened_in_a_window_of_its_own(served):
    _, client, keys = served
    address = f"/frame/{keys['shop/1']}/"
    assert client.get(address, headers={"Sec-Fetch-Dest": "document"}).status_code == 403
    assert client.get(address, headers={"Sec-Fetch-Dest": "iframe"}).status_code == 200


def test_pictures_need_a_visitor(served):
    studio, _, _ = served
    client = studio.client()
    page = client.get("/tasks/1").text
    address = re.search(r'href="(/picture/[^"]+)"', page)[1]
    assert client.get(address).headers["content-type"] == "image/png"
    client.cookies.clear()
    assert client.get(address).status_code == 403


def test_a_journal_cannot_show_files_from_elsewhere(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("x")
    (tmp_path / "style.css").write_text("p {}")
    assert file_beside(page, "style.css") == (tmp_path / "style.css", "text/css")
    assert file_beside(page, "/etc/passwd") is None
    assert file_beside(page, "../" + tmp_path.name + "/style.css") is None


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="preconnect" href="https://evil.example">',
        "<LINK href=//evil.example REL=dns-prefetch>",
        "<link rel='icon prefetch' href=x>",
        '<meta content="0;url=/tasks" http-equiv="refresh">',
        "<META HTTP-EQUIV = Refresh content=1>",
        '<div><template shadowrootmode="closed"><iframe></iframe></template></div>',
    ],
)
def test_what_no_policy_stops_is_taken_out(html):
    left = disarmed(html).partition("</script>")[2]
    assert not re.search(r"\s(rel|http-equiv|shadowrootmode)\s*=", left, re.IGNORECASE)


@pytest.mark.parametrize("start", ["<!doctype html>", "<!-- made -->\n<!DOCTYPE html>\n", ""])
def test_our_script_comes_first_and_leaves_the_layout_mode_alone(start):
    html = start + '<html><link rel="stylesheet" href="a.css"><meta charset="utf-8"><p>text'
    before, _, after = disarmed("\ufeff" + html).partition("<script>")
    assert before == start.rstrip("\n")
    assert after.partition("</script>")[2].lstrip("\n") == html[len(start) :]
