"""Files that somebody else made: refused as a whole with a reason, or harmless."""

from __future__ import annotations

import json
import stat
import zipfile

import pytest
from said_tasks import HOSTILE, noisy_task, published, say
from studio_server import running_studio

from uiproof.errors import InputError
from uiproof.labels import Item, Judgement
from uiproof.studio import label_bundle
from uiproof.studio.label_bundle import export_task, import_labels, safe_word
from uiproof.studio.routes import results
from uiproof.studio.store import Store

TASK = {"key": "k", "kind": "judge", "title": "T", "per_item": 1, "created": "2026-01-01T00:00:00Z"}
ITEM = {"item": 1, "case": "1/1", "model": "m", "prompt": "p"}
LABEL = {"label": 1, "by": "A", "value": {"usable": True}, "at": "2026-01-01T00:00:00Z"}


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "studio.sqlite3")
    yield opened
    opened.close()


def zipped(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def untouched(store):
    return store.tasks() == [] and store.annotators() == []


@pytest.mark.parametrize(
    "name",
    [
        "../failure_cot_prompt_gpt.json",
        "a/../../failure_cot_prompt_gpt.json",
        "/tmp/failure_cot_prompt_gpt.json",
        "..\\failure_cot_prompt_gpt.json",
        "C:/failure_cot_prompt_gpt.json",
    ],
)
def test_a_zip_file_that_reaches_outside_of_itself_is_refused(tmp_path, store, name):
    path = zipped(
        tmp_path / "x.zip", {"failure_mark_prompt_gpt.json": '{"1/1-x": "0/0"}', name: "{}"}
    )
    with pytest.raises(InputError, match="outside of its folder"):
        import_labels(store, [path])
    assert untouched(store)
    assert not (tmp_path.parent / "failure_cot_prompt_gpt.json").exists()


def test_a_link_in_a_zip_file_is_refused(tmp_path, store):
    link = zipfile.ZipInfo("failure_cot_prompt_gpt.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = zipped(tmp_path / "x.zip", {link: "/etc/passwd"})
    with pytest.raises(InputError, match="outside of its folder"):
        import_labels(store, [path])


def test_what_grows_too_large_or_has_too_many_entries_is_refused(tmp_path, store, monkeypatch):
    monkeypatch.setattr(label_bundle, "MOST_BYTES", 2**20)
    monkeypatch.setattr(label_bundle, "MOST_ENTRIES", 20)
    bomb = zipped(tmp_path / "bomb.zip", {"failure_cot_prompt_gpt.json": b" " * (2**20 + 1)})
    assert bomb.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than 1 MB"):
        import_labels(store, [bomb])
    many = zipped(tmp_path / "many.zip", {f"{n}.json": "{}" for n in range(21)})
    with pytest.raises(InputError, match="more than 20 entries"):
        import_labels(store, [many])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and nothing else", b"hello"])
def test_what_is_no_zip_file_is_refused(tmp_path, store, content):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.zip is not a zip file"):
        import_labels(store, [tmp_path / "x.zip"])


def test_a_zip_file_with_damaged_content_is_refused(tmp_path, store):
    path = zipped(tmp_path / "x.zip", {"failure_cot_prompt_gpt.json": json.dumps({"a": "x" * 500})})
    content = bytearray(path.read_bytes())
    content[60:70] = b"\xff" * 10
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.zip"):
        import_labels(store, [path])
    assert untouched(store)


def test_one_broken_file_keeps_all_others_out(tmp_path, store):
    folder = published(tmp_path / "labels")
    (folder / "failure_mark_prompt_gpt.json").write_text("{")
    with pytest.raises(InputError, match="failure_mark_prompt_gpt"):
        import_labels(store, [folder])
    assert untouched(store)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "empty"),
        (["{"], "line 1 is not JSON"),
        ([[1]], "an object was expected"),
        ([{"format": 99, "task": TASK}], "does not begin with a task"),
        ([{"format": 1, "task": {**TASK, "kind": "poem"}}], "kind: "),
        ([{"format": 1, "task": {**TASK, "per_item": 10**30}}], "per_item: "),
        ([{"format": 1, "task": {**TASK, "created": "soon"}}], "created: "),
        (["TASK", {"what": 1}], "neither an item nor a label"),
        (["TASK", ITEM, ITEM], "is there twice"),
        (["TASK", {**ITEM, "case": ""}], "case: "),
        (["TASK", {**ITEM, "model": 5}], "model: Input should be a valid string"),
        (["TASK", {**ITEM, "model": "\ud800"}], "model: "),
        (["TASK", {**ITEM, "case": "x" * 5000}], "at most 1000"),
        (["TASK", LABEL], "no item 1 above it"),
        (["TASK", ITEM, {**LABEL, "by": " "}], "by: "),
        (["TASK", ITEM, {**LABEL, "value": {"usable": "yes"}}], "line 3"),
        (["TASK", ITEM, {**LABEL, "value": {"usable": True, "failure": ["a"]}}], "line 3"),
        (["TASK", ITEM, {**LABEL, "value": {"outcome": "win"}}], "Not a label for a judge task"),
        (["TASK", ITEM, {**LABEL, "seconds": -1}], "seconds: "),
        (["TASK", ITEM, {**LABEL, "at": "2026-99-01"}], "at: "),
        (["TASK", ITEM, '{"label": 1, "seconds": NaN}'], "NaN is not a number"),
        (["TASK", ITEM, "[" * 100_000], "line 3 is not JSON"),
        (["TASK"], "nothing in 'T'"),
    ],
)
def test_a_labels_file_that_makes_no_sense_is_refused_with_its_line(tmp_path, store, lines, reason):
    first = json.dumps({"format": 1, "task": TASK})
    texts = [
        first if line == "TASK" else line if isinstance(line, str) else json.dumps(line)
        for line in lines
    ]
    good = json.dumps({"format": 1, "task": {**TASK, "key": "other"}})
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "labels.jsonl").write_text("\n".join([good, json.dumps(ITEM)]))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "labels.jsonl").write_text("\n".join(texts))
    with pytest.raises(InputError, match=reason):
        import_labels(store, [tmp_path / "a", tmp_path / "b"])
    assert untouched(store)  # not even of the file that is right


def test_names_of_people_models_and_prompts_stay_inside_of_an_export(tmp_path, store):
    names = ["..", "../../up", "/etc", ".", "con", HOSTILE, "a/b", "a-b", "é" * 80, "A", "a "]
    items = [Item("../1/../2", name, name) for name in names]
    task = store.add_task("judge", HOSTILE, items, per_item=1).id
    for name in names:
        say(store, task, name, [Judgement(False, "b")] * len(items))
    files = export_task(store, task, tmp_path / "out")
    people = list((tmp_path / "out" / "annotators").iterdir())
    assert len(people) == 10  # capitals make no difference between people
    assert len({path.name.casefold() for path in people}) == 10
    for file in files:
        assert file.resolve().is_relative_to(tmp_path / "out")
        assert len(file.name.encode()) < 256
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("out", "studio.sqlite3", "studio.sqlite3-wal", "studio.sqlite3-shm"),
    }
    other = Store(tmp_path / "other.sqlite3")
    import_labels(other, [tmp_path / "out"])
    assert other.items(1)[0].case == "../1/../2"
    other.close()


def test_words_for_file_names_differ_wherever_names_do():
    taken: set[str] = set()
    words = [safe_word(name, taken) for name in ("a/b", "a-b", "A:B", "", "..", "x" * 300, "NUL")]
    assert words == ["a-b", "a-b-2", "A-B-3", "unnamed", "unnamed-2", "x" * 100, "_NUL"]


def test_an_upload_is_bounded_checked_and_for_the_owner_only(tmp_path, monkeypatch):
    with running_studio(tmp_path / "runs") as studio:
        client = studio.client()

        def upload(*files, **fields):
            named = [("files", (name, content)) for name, content in files]
            return client.post("/import", files=named, data=fields)

        good = ("failure_cot_prompt_gpt.json", b'{"1/1-x": "0/0"}')
        for files, reason in [
            ([("evil.exe", b"x")], "neither a label file"),
            ([good, good], "is there twice"),
            ([good, ("failure_mark_prompt_gpt.json", b"{")], "is not JSON"),
            ([("x.zip", b"PK")], "not a zip file"),
            ([("notes.json", b"{}")], "no label files"),
        ]:
            answer = upload(*files)
            assert (answer.status_code, reason in answer.text) == (400, True), answer.text
            assert untouched(studio.store)
        assert client.post("/import", content=b"x" * 10).status_code == 400
        assert client.post("/import", content=iter([b"x"])).status_code == 400  # of unknown size
        with monkeypatch.context() as patch:
            patch.setattr(label_bundle, "MOST_BYTES", -results._ENVELOPE)
            assert "at most" in upload(good).text
        answer = upload(("../../" + good[0], good[1]), annotator=HOSTILE)
        assert answer.status_code == 200
        assert [person.name for person in studio.store.annotators()] == [HOSTILE]
        ann = studio.client(studio.store.add_annotator("Ann").token)
        task = noisy_task(studio.store).id
        for address in ("", "/agreement", "/runs", ".json"):
            assert ann.get(f"/tasks/{task}/results{address}").status_code == 403
        for address in (f"/tasks/{task}/decide", f"/tasks/{task}/export", "/import"):
            assert ann.get(address).status_code == 403
        item = studio.store.items(task)[0].id
        assert ann.post(f"/tasks/{task}/decide/{item}").status_code == 403
        assert ann.post("/import", files=[("files", good)]).status_code == 403
        page = client.get("/tasks/1/results").text
        assert HOSTILE not in page
        headers = client.get("/tasks/1/export").headers
        assert headers["content-disposition"].startswith('attachment; filename="')
