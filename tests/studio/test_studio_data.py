from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from data_sets import HOSTILE, annotated, digest, pixels, screenshot, screenshots, unpack
from PIL import Image
from studio_server import running_studio

from uiproof.benchmark import Case
from uiproof.benchmarks.grounding.annotation import read_boxes
from uiproof.benchmarks.grounding.cases import cases
from uiproof.benchmarks.grounding.data import read_dataset
from uiproof.geometry import PixelBox
from uiproof.studio.datasets import Library, dataset_id, export_dataset

BOX = {
    "id": "a",
    "box": [300, 200, 340, 240],
    "instruction": "Click it",
    "type": "icon",
    "text": "",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    shots, own = screenshots(folder / "shots"), annotated(folder / "own")
    sets = (shots, own, Path("interaction2code-demo"), folder / "absent")
    with running_studio(folder / "runs", sets) as server:
        server.store.add_annotator("Ann")
        yield server, shots, own


def save(client, path, name, boxes, *, revision=0, done=False) -> httpx.Response:
    change = {"name": name, "revision": revision, "content": {"boxes": boxes, "done": done}}
    return client.post(f"/data/{dataset_id(path)}/boxes", json=change)


def test_every_kind_of_data_set_is_listed_with_what_is_in_it(world):
    server, *_ = world
    page = " ".join(server.client().get("/data").text.split())
    for expected in (
        "3 screenshots, 0 boxes",
        "2 screenshots, 2 boxes",
        "7 pages, 53 interactions",
        "cannot be opened",
    ):
        assert expected in page


def test_without_data_sets_the_page_says_how_to_open_one(studio):
    assert "uiproof studio --dataset" in studio.client().get("/data").text


def test_screenshots_are_found_at_any_depth_in_natural_order(world):
    _, shots, _ = world
    (data_set,) = Library([shots]).datasets()
    assert data_set.editor.names() == ["2.png", "10.jpg", "sub/a b.webp"]


def test_pictures_arrive_byte_for_byte_and_are_asked_for_once(world):
    server, shots, _ = world
    client, address = server.client(), f"/data/{dataset_id(shots)}/picture"
    answer = client.get(address, params={"name": "sub/a b.webp"})
    assert answer.content == (shots / "sub" / "a b.webp").read_bytes()
    assert answer.headers["content-type"] == "image/webp"
    again = client.get(
        address,
        params={"name": "sub/a b.webp"},
        headers={"If-None-Match": answer.headers["etag"]},
    )
    assert (again.status_code, again.content) == (304, b"")
    small = client.get(address, params={"name": "10.jpg", "size": "thumbnail"})
    assert small.headers["content-type"] == "image/jpeg"


def test_pictures_are_for_visitors_of_the_studio_only(world):
    server, shots, _ = world
    address = f"{server.url}/data/{dataset_id(shots)}/picture?name=2.png"
    assert httpx.get(address).status_code == 403


def test_nothing_but_pictures_of_the_data_set_is_served(tmp_path):
    outside = screenshot(tmp_path / "outside" / "secret.png")
    shots = tmp_path / "shots"
    screenshot(shots / "good.png")
    (shots / "text.png").write_text("<script>alert(1)</script>")
    (shots / "notes.txt").write_text("private")
    (shots / "linked.png").symlink_to(outside)
    (shots / "folder").symlink_to(outside.parent)
    with running_studio(tmp_path / "runs", (shots,)) as server:
        client, address = server.client(), f"/data/{dataset_id(shots)}/picture"
        assert client.get(address, params={"name": "good.png"}).status_code == 200
        for name in (
            "notes.txt",
            "text.png",
            "linked.png",
            "folder/secret.png",
            "../outside/secret.png",
            str(outside),
            "",
            "good.png\0",
        ):
            assert client.get(address, params={"name": name}).status_code == 400, name


def test_a_grounding_data_set_cannot_name_files_elsewhere(tmp_path):
    outside = screenshot(tmp_path / "outside.png")
    own = annotated(tmp_path / "own")
    (own / "samples" / "s1.png").unlink()
    (own / "samples" / "s1.png").symlink_to(outside)
    with running_studio(tmp_path / "runs", (own,)) as server:
        answer = server.client().get(f"/data/{dataset_id(own)}/picture", params={"name": "s1"})
    assert answer.status_code == 400


def test_huge_screenshots_come_scaled_but_keep_their_own_pixels(tmp_path):
    shots = tmp_path / "shots"
    shots.mkdir()
    Image.new("L", (300, 31_000), 200).save(shots / "tall.png")
    with running_studio(tmp_path / "runs", (shots,)) as server:
        server.store.add_annotator("Ann")
        client = server.client()
        page = client.get(f"/data/{dataset_id(shots)}/shot", params={"name": "tall.png"}).text
        shown = client.get(f"/data/{dataset_id(shots)}/picture", params={"name": "tall.png"})
        low = {**BOX, "box": [0, 30_990, 300, 31_000]}
        saved = save(client, shots, "tall.png", [low])
    assert "scaled down" in page
    assert shown.headers["content-type"] == "image/jpeg"
    assert saved.status_code == 200


def test_corrected_boxes_are_exported_and_everything_else_stays_as_it_was(world, tmp_path):
    server, _, own = world
    before = digest(own)
    client = server.client()
    kept = {"id": "save", "box": [40, 60, 200, 100], "type": "button", "text": "Save",
            "instruction": "Click the Save button"}  # fmt: skip
    absent = {
        "id": "none",
        "box": None,
        "instruction": "Click Print!",
        "type": "unknown",
        "text": "",
    }
    free = {**BOX, "id": "new", "type": "colour swatch", "text": "red"}
    assert save(client, own, "s1", [kept, absent, free], done=True).status_code == 200
    exported = unpack(client.get(f"/data/{dataset_id(own)}/export"), tmp_path / "out")
    assert digest(own) == before
    old, new = read_dataset(own), read_dataset(exported)
    assert (new.name, new.version, new.metadata) == ("mine", "2", {"a": 1})
    (first, second), was = new.samples, old.samples[0].elements[0]
    assert (first.metadata, first.extra) == ({"platform": "web"}, {"seed": 3})
    assert first.elements[0] == was  # also its fractions of pixels and its clickable area
    assert (first.elements[1].refusal, first.elements[1].instruction) == (True, "Click Print!")
    drawn = first.elements[2]
    assert drawn.bbox.to_pixels(640, 400) == PixelBox(300, 200, 340, 240)
    assert (drawn.element_type, drawn.metadata) == ("unknown", {"type": "colour swatch"})
    assert second.elements == ()
    assert (exported / "samples" / "s1.png").read_bytes() == (own / "samples/s1.png").read_bytes()
    # The exported set can be opened and corrected again, with the type that is not of the format.
    (again,) = Library([exported]).datasets()
    assert again.error is None
    only_done = unpack(client.get(f"/data/{dataset_id(own)}/export?done=true"), tmp_path / "done")
    assert [sample.id for sample in read_dataset(only_done).samples] == ["s1"]


def test_boxes_on_plain_screenshots_become_a_data_set_that_can_be_run(world, tmp_path):
    server, shots, _ = world
    before = digest(shots)
    client = server.client()
    assert save(client, shots, "sub/a b.webp", [BOX]).status_code == 200
    unpack(client.get(f"/data/{dataset_id(shots)}/export"), tmp_path / "zip")
    count = export_dataset(server.store, shots, tmp_path / "folder")
    assert count == 2
    assert digest(tmp_path / "folder") == digest(tmp_path / "zip")
    assert digest(shots) == before
    (case,) = cases(tmp_path / "folder")
    assert isinstance(case, Case)
    assert case.id == "sub__a b/a"
    assert case.truth.element.bbox.to_pixels(640, 400) == PixelBox(300, 200, 340, 240)
    assert (pixels(case.question.image) == pixels(shots / "sub" / "a b.webp")).all()


def test_a_moved_box_loses_the_outline_that_no_longer_fits(world, tmp_path):
    server, _, own = world
    moved = {"id": "save", "box": [41, 60, 200, 100], "type": "button", "text": "Save",
             "instruction": "Click the Save button"}  # fmt: skip
    client = server.client()
    address = f"/data/{dataset_id(own)}"
    state = client.get(f"{address}/shot", params={"name": "s1"}).text
    revision = int(re.search(r"revision&#34;: (\d+)", state)[1])
    assert save(client, own, "s1", [moved], revision=revision).status_code == 200
    exported = unpack(client.get(f"{address}/export"), tmp_path / "out")
    (element,) = read_dataset(exported).samples[0].elements
    assert element.clickable is None
    assert (element.metadata, element.extra) == ({"difficulty": "easy"}, {"source_id": 7})


def test_published_sets_keep_their_tags_in_an_export(shared_data, tmp_path):
    source = shared_data / "data" / "osworld_g"
    with running_studio(tmp_path / "runs", (source,)) as server:
        export_dataset(server.store, source, tmp_path / "out")
    old = {case.id: case for case in cases(source) if isinstance(case, Case)}
    new = {case.id: case for case in cases(tmp_path / "out") if isinstance(case, Case)}
    assert set(new) == set(old)
    for id, case in new.items():
        assert case.truth.element.bbox == old[id].truth.element.bbox
        assert case.truth.element.polygon == old[id].truth.element.polygon
        assert case.truth.tags["split"] == "original"


def test_who_saved_later_sees_the_other_version_and_loses_nothing(world):
    server, shots, _ = world
    ben = server.client(server.store.add_annotator("Ben").token)
    ann = server.client(server.store.add_annotator("Ann").token)
    first = save(ben, shots, "2.png", [BOX])
    assert first.status_code == 200
    late = save(ann, shots, "2.png", [{**BOX, "id": "b"}])
    assert late.status_code == 409
    assert late.json()["by"] == "Ben"
    assert late.json()["content"]["boxes"] == [BOX]
    assert late.json()["revision"] == first.json()["revision"]
    # The same content again is no conflict: an answer may have been lost on its way.
    assert save(ben, shots, "2.png", [BOX]).status_code == 200


def test_somebody_without_a_name_is_asked_for_one(tmp_path):
    shots = screenshots(tmp_path / "shots")
    with running_studio(tmp_path / "runs", (shots,)) as server:
        client = server.client()
        page = client.get(f"/data/{dataset_id(shots)}/shot", params={"name": "2.png"}).text
        answer = save(client, shots, "2.png", [BOX])
    assert "Choose a name" in page
    assert (answer.status_code, "name" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"boxes": "all"},
        {"boxes": [None]},
        {"boxes": [{**BOX, "box": [0, 0, 0, 10]}]},
        {"boxes": [{**BOX, "box": [0, 0, 641, 10]}]},
        {"boxes": [{**BOX, "box": [0.5, 0, 10, 10]}]},
        {"boxes": [{**BOX, "box": [True, 0, 10, 10]}]},
        {"boxes": [{**BOX, "id": ""}]},
        {"boxes": [BOX, BOX]},
        {"boxes": [{**BOX, "text": 3}]},
        {"boxes": [{**BOX, "text": "\ud83d"}]},
        {"boxes": [{**BOX, "text": "x" * 25_000}]},
    ],
)
def test_what_cannot_be_meant_is_refused(content):
    from uiproof.errors import InputError

    with pytest.raises(InputError):
        read_boxes(content, (640, 400))


def test_names_and_texts_of_a_data_set_are_shown_as_text(tmp_path):
    name = HOSTILE.replace("/", "") + ".png"
    shots = tmp_path / "<b>shots"
    screenshot(shots / name)
    with running_studio(tmp_path / "runs", (shots,)) as server:
        server.store.add_annotator("Ann")
        client, address = server.client(), f"/data/{dataset_id(shots)}"
        for answer in (
            client.get("/data"),
            client.get(address),
            client.get(f"{address}/shot", params={"name": name}),
        ):
            assert answer.status_code == 200
            assert "<img src=x" not in answer.text
            assert "<b>" not in answer.text


def test_an_export_has_nothing_that_is_hidden_or_no_part_of_a_page(tmp_path):
    pages = tmp_path / "pages"
    for node in ("0", "1"):
        screenshot(pages / "1" / f"{node}.png")
    entry = {"src": "0", "dst": "1", "action": "click", "trigger": [40, 60, 199, 99]}
    (pages / "1" / "action.json").write_text(json.dumps({"1": entry}))
    (pages / "1" / "index.html").write_text("<p>page")
    for name in (".env", ".ssh/id_rsa", ".git/config", "id_rsa", "secrets.yaml", "key.pem"):
        (pages / "1" / name).parent.mkdir(exist_ok=True)
        (pages / "1" / name).write_text("hunter2")
    (pages / "1" / "link.html").symlink_to(pages / "1" / ".env")
    with running_studio(tmp_path / "runs", (pages,)) as studio:
        client = studio.client()
        answer = client.get(f"/data/{dataset_id(pages)}/export")
        folder = unpack(answer, tmp_path / "out")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"1/action.json", "1/0.png", "1/1.png", "1/index.html"} <= names
    assert not [name for name in names if "hunter2" in (folder / name).read_text(errors="ignore")]
