"""Stored answers, while other processes read, write, prune or are killed."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest
from cache_tools import (
    ENDPOINT,
    MODEL,
    RULE,
    Rule,
    age,
    answer,
    ask,
    end,
    key_number,
    key_of,
    path_of,
    start,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uiproof.errors import InputError, StorageError, UsageError
from uiproof.models.cache import ReplyCache, cache_table
from uiproof.models.names import parse_name
from uiproof.models.types import (
    Finish,
    Image,
    Message,
    Parameters,
    Piece,
    Reply,
    Request,
    SentImage,
    Usage,
)
from uiproof.units import parse_age, parse_size, size_text

OLD = 3600.0


def files_in(cache: ReplyCache) -> list[Path]:
    return [path for path in cache.folder.rglob("*") if path.is_file()]


def size_of(cache: ReplyCache) -> int:
    return sum(path.stat().st_size for path in files_in(cache))


texts = st.text(st.characters(exclude_categories=()), max_size=20)  # half characters too
numbers = st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
counts = st.none() | st.integers(0, 10**9)
pieces = st.builds(Piece, counts, counts, st.sampled_from(["png", "jpeg", "webp"]), counts)
replies = st.builds(
    Reply,
    text=texts,
    finish=st.sampled_from(Finish),
    usage=st.builds(Usage, counts, counts, st.integers(0), st.integers(0)),
    model=texts,
    network_seconds=numbers,
    queue_seconds=numbers,
    attempts=st.integers(1, 9),
    dropped=st.lists(texts).map(tuple),
    images=st.lists(
        st.builds(SentImage, counts, counts, numbers, st.lists(pieces, max_size=3).map(tuple)),
        max_size=2,
    ).map(tuple),
    raw=st.dictionaries(texts, anything, max_size=4),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reply=replies, model=texts)
def test_what_goes_in_comes_out(tmp_path, reply, model):
    cache = ReplyCache(tmp_path / "cache")
    key = key_of("question")
    cache.put(key, reply, model=model)
    assert cache.get(key) == dataclasses.replace(reply, cached=True)
    (entry,) = cache.entries()
    assert (entry.path, entry.model) == (path_of(cache, key), model)
    assert entry.input_tokens == reply.usage.input_tokens


def test_nothing_is_touched_before_it_is_used(tmp_path):
    cache = ReplyCache(tmp_path / "cache", 1000)
    assert cache.get(key_of("question")) is None
    assert list(cache.entries()) == []
    assert cache.prune(everything=True) == (0, 0)
    assert not cache.folder.exists()


def test_only_the_user_may_read_what_is_stored(tmp_path):
    cache = ReplyCache(tmp_path / "new" / "cache")
    cache.put(key_of("question"), answer(), model=MODEL)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


def test_an_entry_is_json_that_other_programs_can_read(tmp_path):
    cache = ReplyCache(tmp_path)
    key = key_of("question")
    cache.put(key, answer("größer 😀"), model=MODEL)
    content = json.loads(path_of(cache, key).read_text("utf-8"))
    assert content["model"] == MODEL
    assert content["reply"]["text"] == "größer 😀"
    assert abs(content["created"] - time.time()) < 60


@pytest.mark.parametrize(
    "raw", [{"cost": float("nan")}, {"when": object()}, {("a",): 1}], ids=["nan", "object", "key"]
)
def test_an_answer_whose_raw_form_is_not_json_is_kept_without_it(tmp_path, raw):
    cache = ReplyCache(tmp_path)
    key = key_of("question")
    cache.put(key, dataclasses.replace(answer("paid"), raw=raw), model=MODEL)
    assert cache.get(key).text == "paid"
    assert b"NaN" not in path_of(cache, key).read_bytes()


def test_damaged_and_foreign_files_are_misses_and_get_replaced(tmp_path):
    cache = ReplyCache(tmp_path)
    key, other = key_of("question"), key_of("another question")
    cache.put(key, answer("ab" * 50), model=MODEL)
    whole = path_of(cache, key).read_bytes()
    cache.put(other, answer("other"), model=MODEL)
    dice = random.Random(1)
    damaged = [b"", b"{}", b"[]\n[]", b"null", b"\xff" * 100, b"[" * 100_000, whole + whole]
    damaged += [whole[: dice.randrange(len(whole))] for _ in range(50)]
    damaged += [path_of(cache, other).read_bytes(), whole.replace(b'"format": 1', b'"format": 2')]
    damaged += [bytes(len(whole)), whole.replace(b"abab", b"abba", 1)]
    for content in damaged:
        path_of(cache, key).write_bytes(content)
        assert cache.get(key) is None
        list(cache.entries())
    cache.put(key, answer("new"), model=MODEL)
    assert cache.get(key).text == "new"
    assert cache.get(other).text == "other"


def test_everything_that_decides_about_an_answer_is_in_its_key(tmp_path):
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"pixels")
    secret = parse_name("compatible:http://me:password@localhost:1/v1?token=abcd#tiny")
    assert key_of("a", Image(b"pixels")) == key_of("a", Image(picture))
    assert key_of("a") == key_of("a", endpoint=secret)
    assert key_of("a") == key_of("a", rule=Rule("scale"))  # no picture, no rule
    assert key_of("a", parameters=Parameters(temperature=0)) == key_of("a")
    keys = [
        key_of("a"),
        key_of("a", ""),
        key_of("b"),
        key_of("\ud800"),
        key_of("a", sample=1),
        key_of("a", parameters=Parameters(temperature=None)),
        key_of("a", parameters=Parameters(temperature=0.5)),
        key_of("a", parameters=Parameters(max_tokens=5)),
        key_of("a", parameters=Parameters(seed=5)),
        key_of("a", Image(b"pixels")),
        key_of("a", Image(b"pixels"), rule=Rule("scale")),
        key_of(Image(b"pixels"), "a"),
        key_of("a", Image(b"other")),
        key_of("a", endpoint=parse_name("compatible:http://localhost:2/v1#tiny")),
        key_of("a", endpoint=parse_name("compatible:http://localhost:1/v1#large")),
        key_of("a", endpoint=parse_name("openai/tiny")),
        ReplyCache.key(ENDPOINT, Request((Message("system", ("a",)),)), RULE),
        ReplyCache.key(ENDPOINT, Request((Message("user", ("a",)), Message("user", ()))), RULE),
    ]
    assert len(set(keys)) == len(keys)


def test_keys_stay_what_they_are_so_that_paid_answers_are_found_by_later_versions():
    request = ask("größer", Image(b"pixels"), parameters=Parameters(100, 0.5, 7), sample=2)
    assert ReplyCache.key(ENDPOINT, request, RULE) == (
        "2ef5cc0dc5816587316d0db624c3e762517e787470cebfd482f1c7e227b6ffb1"
    )


# A file as version 0.1.0 wrote it.
EARLIER = (
    b'{"format": 1, "key": "34c1721d543eaec747e39ba4a7abce167f0e0359dfa6976713a0b9acbc8e0ce8", '
    b'"model": "compatible:http://localhost:1/v1#tiny", "created": 1794927880.4983907, '
    b'"input_tokens": 1, "output_tokens": 2, "sha256": '
    b'"5d6b41266a4f04830d57119d50014f6d480ecf39fdf0b9371f12214428e9c10c",\n'
    b'"reply": {"text": "ja", "finish": "length", "usage": {"input_tokens": 1, "output_tokens": 2, '
    b'"cached_input_tokens": 3, "reasoning_tokens": 4}, "model": "m", "network_seconds": 0.5, '
    b'"queue_seconds": 0.0, "attempts": 1, "dropped": ["seed"], "images": [{"width": 9, '
    b'"height": 8, "scale": 1.0, "pieces": [{"width": 9, "height": 8, "format": "png", '
    b'"bytes": 70}]}], "raw": {"a": 1}}}\n'
)


def test_answers_of_earlier_versions_are_found(tmp_path):
    cache = ReplyCache(tmp_path)
    path = path_of(cache, key_of("question"))
    path.parent.mkdir()
    path.write_bytes(EARLIER)
    assert cache.get(key_of("question")) == Reply(
        "ja",
        Finish.LENGTH,
        Usage(1, 2, 3, 4),
        model="m",
        network_seconds=0.5,
        dropped=("seed",),
        images=(SentImage(9, 8, 1.0, (Piece(9, 8, "png", 70),)),),
        cached=True,
        raw={"a": 1},
    )


def test_a_request_is_loaded_once_for_its_key_and_for_sending(tmp_path):
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"pixels")
    request = ask("a", Image(picture)).loaded()
    picture.write_bytes(b"edited")
    assert request == ask("a", Image(b"pixels"))
    with pytest.raises(InputError, match=r"gone\.png"):
        ReplyCache.key(ENDPOINT, ask(Image(tmp_path / "gone.png")), RULE)


def test_a_cache_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    cache = ReplyCache(tmp_path / "file" / "cache")
    with pytest.raises(StorageError, match="cannot be written"):
        cache.put(key_of("question"), answer(), model=MODEL)


def test_a_full_disk_leaves_the_older_answer_and_no_rest(tmp_path):
    cache = ReplyCache(tmp_path)
    key = key_of("question")
    cache.put(key, answer("old"), model=MODEL)
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # as if the disk were full there
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    ReplyCache(Path(args[0])).put(args[1], answer("new" * 20_000), model=MODEL)
except Exception as error:
    print(error)
"""
    assert b"cannot be written" in end(start(code, tmp_path, key))
    assert cache.get(key).text == "old"
    assert len(files_in(cache)) == 1


def test_a_writer_that_is_killed_never_leaves_half_an_answer(tmp_path):
    code = """
cache = ReplyCache(Path(args[0]), 10**9)
dice = random.Random(int(args[1]))
print("writing", flush=True)
while True:
    number = dice.randrange(5)
    cache.put(key_number(number), answer(str(number) * dice.randrange(1, 200_000)), model=MODEL)
"""
    cache = ReplyCache(tmp_path)
    dice = random.Random(3)
    for round_number in range(5):
        writers = [start(code, tmp_path, round_number + 100 * n) for n in range(2)]
        for writer in writers:
            assert writer.stdout.readline()
            time.sleep(dice.random() * 0.1)
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate()
        for number in range(5):
            if path_of(cache, key_number(number)).exists():
                text = cache.get(key_number(number)).text
                assert set(text) == {str(number)}


def fill(cache: ReplyCache, count: int, *, size: int = 1000, age_step: float = 60) -> list[str]:
    """Answers, the first one the oldest; returns their keys."""
    keys = [key_number(number) for number in range(count)]
    for number, key in enumerate(keys):
        cache.put(key, answer("x" * size), model=MODEL)
        age(cache, key, OLD + (count - number) * age_step)
    return keys


def test_pruning_by_size_removes_what_was_not_used_for_longest(tmp_path):
    cache = ReplyCache(tmp_path)
    keys = fill(cache, 10)
    assert cache.get(keys[0])  # used just now
    each = path_of(cache, keys[0]).stat().st_size
    files, freed = cache.prune(max_bytes=5 * each + each // 2)
    assert files == 5
    assert freed == pytest.approx(5 * each, abs=50)
    assert [bool(cache.get(key)) for key in keys] == [True] + [False] * 5 + [True] * 4


def test_pruning_by_age_and_by_model(tmp_path):
    cache = ReplyCache(tmp_path)
    keys = fill(cache, 4, age_step=OLD)
    other = key_of("of another model")
    cache.put(other, answer(), model="openai/other")
    assert cache.prune(older_than=3.5 * OLD)[0] == 2
    assert cache.prune(older_than=0, model="openai/none")[0] == 0
    assert cache.prune(model="openai/other")[0] == 1
    assert [bool(cache.get(key)) for key in [*keys, other]] == [False, False, True, True, False]
    assert cache.prune(everything=True)[0] == 2
    assert not files_in(cache)
    for wrong in [{}, {"everything": True, "model": "openai/x"}]:
        with pytest.raises(UsageError):
            cache.prune(**wrong)


def test_pruning_spares_what_is_new_or_not_ours(tmp_path):
    cache = ReplyCache(tmp_path)
    (old_key,) = fill(cache, 1)
    new_key = key_of("new")
    cache.put(new_key, answer(), model=MODEL)
    foreign = path_of(cache, old_key).with_name("notes.json")
    foreign.write_text("mine")
    os.utime(foreign, (0, 0))
    assert cache.prune(max_bytes=0)[0] == 1
    assert cache.get(old_key) is None
    assert cache.get(new_key)
    assert foreign.exists()


def test_the_limit_on_size_is_about_kept_while_writing(tmp_path):
    limit = 200_000
    cache = ReplyCache(tmp_path, limit)
    for number in range(300):
        cache.put(key_number(number), answer("x" * 4000), model=MODEL)
        age(cache, key_number(number), OLD - number)
    assert limit / 2 < size_of(cache) <= 1.5 * limit
    assert cache.get(key_number(299))
    assert cache.get(key_number(0)) is None


def test_pruning_while_other_processes_read_and_write_does_no_harm(tmp_path):
    work = """
cache = ReplyCache(Path(args[0]), 300_000)
dice = random.Random(int(args[1]))
until = time.monotonic() + 1.5
print("working", flush=True)
while time.monotonic() < until:
    key = key_number(dice.randrange(100))
    reply = cache.get(key)
    assert reply is None or reply.text == key * 50
    if reply is None:
        cache.put(key, answer(key * 50), model=MODEL)
        if dice.random() < 0.7:
            try:
                age(cache, key, 1000 * dice.random())
            except FileNotFoundError:
                pass
"""
    prune = """
cache = ReplyCache(Path(args[0]))
until = time.monotonic() + 1.5
total = 0
while time.monotonic() < until:
    total += cache.prune(max_bytes=100_000)[0] + cache.prune(older_than=500)[0]
    list(cache.entries())
print(total)
"""
    workers = [start(work, tmp_path, number) for number in range(3)]
    pruners = [start(prune, tmp_path) for _ in range(2)]
    for worker in workers:
        end(worker)
    assert sum(int(end(pruner)) for pruner in pruners) > 0


def test_a_folder_that_is_deleted_while_in_use_is_made_again(tmp_path):
    cache = ReplyCache(tmp_path / "cache", 10**6)
    key = key_of("question")

    cache.put(key, answer(), model=MODEL)
    shutil.rmtree(cache.folder)
    cache.put(key, answer(), model=MODEL)
    assert cache.get(key)


def test_what_is_stored_is_told_per_model(tmp_path):
    cache = ReplyCache(tmp_path / "cache", 5 * 10**9)
    assert "No answers" in cache_table(cache)
    fill(cache, 3)
    cache.put(key_of("other"), dataclasses.replace(answer(), usage=Usage()), model="openai/other")
    path_of(cache, key_number(0)).write_bytes(b"damaged")
    _, header, tiny, other, *_, last = cache_table(cache).splitlines()
    assert " ".join(header.split()) == "Model Answers Tokens in Tokens out Size Oldest Newest"
    assert tiny.split()[:4] == [MODEL, "2", "22", "10"]
    assert other.split()[:3] == ["openai/other", "1", "0"]
    assert last.startswith("3 answers, ")
    assert "of at most 5.0 GB" in last


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 MB", 5 * 10**8), ("1.5 GiB", 3 * 2**29), ("0", 0), ("7kb", 7000)],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("30d", 2_592_000), ("12h", 43_200), ("90 min", 5400), ("1.5w", 907_200)]
)
def test_ages_are_read_as_people_write_them(text, seconds):
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "2 PB", "1e9", "2GB2", "nan", "٣GB", "9" * 400])
def test_nonsense_is_no_size_and_no_age(text):
    with pytest.raises(UsageError, match="Write it like"):
        parse_size(text)
    with pytest.raises(UsageError, match="Write it like"):
        parse_age(text or "30")


def test_sizes_are_shown_for_people():
    assert [size_text(n) for n in (0, 999, 1000, 123_456, 999_960, 5 * 10**9)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "123 kB",
        "1.0 MB",
        "5.0 GB",
    ]
