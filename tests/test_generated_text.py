"""Whatever a model writes, its readers find something in it or fail with an error of their own."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.design2code.cleanup import clean_generated
from uiproof.benchmarks.grounding import omniparser
from uiproof.benchmarks.grounding.cases import PROTOCOLS
from uiproof.benchmarks.grounding.coordinates import parse_contract
from uiproof.benchmarks.grounding.ocr import understand
from uiproof.benchmarks.grounding.parsing import locate, parse
from uiproof.benchmarks.grounding.predictions import read_predictions
from uiproof.benchmarks.grounding.screenseeker import CheckResult, ModelPlanner
from uiproof.benchmarks.interaction2code.actions import named_in, read_action
from uiproof.benchmarks.interaction2code.graph import read_graph
from uiproof.benchmarks.interaction2code.opinion import opinion_in
from uiproof.browser.source import PageSource, keep_page
from uiproof.browser.stage import EventLog
from uiproof.errors import ModelError, UiproofError
from uiproof.models.answers import page_in
from uiproof.models.types import Finish, Reply
from uiproof.submissions.model import read_json

# Pieces on which parsers stumble, and anything in between.
_PIECES = """<![foo]> <![ <![CDATA[ ]]> <!-- --> --!> <? <!doctype <html <html> </html> <p> </p>
    <br/> </ <script> </script> <style> <textarea> <a&b='" &#x110000; &#; &nbsp ```html ``` ~~~
    <think> </think> {"html":" "} {"a": [[ [1,2] (1,2) <point>1 click(start_box='(1,2)') x=1,y=
    1e999 99% {"bbox":[0,0,1,1]} {"element":3} "usable":true src=// url( http://[ %00 type key"""
PIECES = st.sampled_from(_PIECES.split())
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)
DEEP = '{"a":' + "[" * 1990 + "}"
HUGE = 10**400  # is JSON, and beyond every float
MANY = "<p>x</p>" * 60  # elements are counted only in pages with more than fifty of them


@given(TEXTS, TEXTS)
@example("<![foo]>", "")
@example("<![>", "<![foo]>")
def test_clean_up_takes_any_page(html, reference):
    clean_generated(MANY + html, MANY + reference)


def test_what_comes_before_and_after_an_unknown_section_is_cleaned_up():
    page = f"<html>{MANY}<![foo]>{MANY}<i>end</i>"
    assert clean_generated(page) == f"<html>{'<p>x</p>' * 50}<![foo]><i>end</i>"


@given(TEXTS, st.sampled_from(Finish))
@example(DEEP, Finish.STOP)
def test_any_answer_holds_a_page_or_is_an_error(text, finish):
    with suppress(UiproofError):
        assert page_in(Reply(text=text, finish=finish)).html.strip()


@given(TEXTS, st.sampled_from(["thousand,xy,point", "unit,yx,box", "resized", "pixels", "percent"]))
def test_any_answer_is_a_place_or_none(text, contract):
    locate(parse(text), parse_contract(contract), 1280, 720)


@given(TEXTS | st.recursive(st.floats() | st.text(), st.lists, max_leaves=20).map(json.dumps))
@example("[" * 100_000)
@example(json.dumps([{"bbox": [0, 0, HUGE, 1]}]))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_any_reply_of_omniparser_is_a_list_of_elements_or_an_error(protocol, text):
    with suppress(ModelError):
        omniparser._read(Reply(text=text, finish=Finish.STOP), protocol)
    omniparser._number_in(text)


@settings(max_examples=30)
@given(TEXTS)
@example(DEEP)
def test_any_answer_of_a_planner_is_a_plan_and_a_verdict(text):
    planner = ModelPlanner(SimpleNamespace(settings={}))

    async def ask(*_):
        return text

    planner._ask = ask
    picture = SimpleNamespace(png=lambda: b"")
    sight = SimpleNamespace()
    asyncio.run(planner.plan(picture, "the button", None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uiproof.benchmarks.grounding.screenseeker.marked", lambda _: b"")
        assert asyncio.run(planner.verify(sight, "the button", None)).result in CheckResult


@given(TEXTS)
def test_any_answer_holds_an_opinion_or_is_an_error(text):
    with suppress(UiproofError):
        opinion_in(text)


@given(TEXTS | st.text("typeinto \"'drag by1,2px press the key", max_size=60))
@example("drag it " + "9" * 5_000 + "px to the right")
@example("the " + "9" * 5_000 + "th column of row 1")
def test_any_sentence_is_an_action_and_an_instruction(text):
    read_action({"action": text, "tag type": [text]})
    named_in(text)
    understand(text)


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from(["src", "dst", "action", "tag type", "kind", "value", "trigger", "effect"]),
        st.none() | st.integers() | st.floats() | TEXTS | st.lists(st.floats(), max_size=4),
    )
)
@example({"src": 0, "dst": 1, "trigger": [0, 0, HUGE, 5]})
@example({"src": 0, "dst": 1, "effect": {"left": HUGE, "top": 0, "right": 1, "bottom": 1}})
def test_any_description_of_an_interaction_is_read_or_refused(tmp_path_factory, entry):
    folder = tmp_path_factory.getbasetemp() / "page"
    folder.mkdir(exist_ok=True)
    (folder / "action.json").write_text(json.dumps({"1": entry, "viewport": [HUGE, 1]}))
    with suppress(UiproofError):
        read_graph(folder)


@settings(max_examples=30)
@given(
    TEXTS | st.lists(st.dictionaries(PIECES, TEXTS | st.floats())).map(json.dumps), st.booleans()
)
@example("[" * 100_000, False)
def test_any_file_of_predictions_or_submission_is_read_or_refused(tmp_path_factory, text, csv):
    file = tmp_path_factory.getbasetemp() / ("any.csv" if csv else "any.json")
    file.write_text(text, "utf-8", "replace")
    for read in (read_predictions, read_json):
        with suppress(UiproofError):
            read(file)


NAMES = (
    *("idna", "punycode", "undefined", "unicode_escape", "utf-7", "hex", "rot13", "utf-16"),
    *("x-sjis", "gbk", "big5"),
)


@given(st.sampled_from(NAMES) | st.text(max_size=12), st.binary(max_size=200))
def test_bytes_in_any_encoding_are_a_page(name, data):
    declared = b"<meta charset=" + name.encode("utf-8", "replace") + b">" + data + b"\xff"
    for page in (PageSource.from_bytes(declared), PageSource.from_bytes(data)):
        clean_generated(page.text)


@pytest.mark.parametrize(
    ("name", "codec"), [("x-sjis", "cp932"), ("windows-31j", "cp932"), ("gb2312", "gb18030")]
)
def test_encodings_are_those_that_browsers_mean(name, codec):
    page = PageSource.from_bytes(f"<meta charset={name}><p>①表</p>".encode(codec))
    assert page.text.endswith("<p>①表</p>")


@settings(max_examples=30)
@given(TEXTS)
@example('<link href="page.html/style.css"><img src="picture.png/x.png">')
def test_any_page_is_kept_with_its_files(tmp_path_factory, html):
    base = tmp_path_factory.mktemp("kept")
    folder, out = base / "folder", base / "out"
    out.mkdir()
    (folder / "page.html").mkdir(parents=True)
    (folder / "page.html" / "style.css").write_text("p {}")  # below the name of the page
    keep_page(PageSource.from_html(html, folder=folder), out / "page.html")
    assert (out / "page.html").read_bytes() == PageSource.from_html(html).html


@pytest.mark.parametrize("payload", ["5", "null", "[1, 2]", '["window", {}]', "[" * 5_000, "{"])
def test_a_record_of_any_text_breaks_nothing(payload):
    log = EventLog(SimpleNamespace(short=lambda text: text[:10], navigations=[]))
    log.add_record(payload)
    assert all(isinstance(text, str) for text in log.take({}).dialogs)


@pytest.mark.parametrize(
    "text",
    [
        "<script>" + "<html" * 40_000,
        MANY + "<![foo " * 40_000 + ">",
        '{"a":' * 40_000,
        '{"a":[1,' * 24_000,
        "click(" * 32_000,
        "```html\n<html>" + "<a b='" * 32_000,
        "<think>" * 32_000,
        "1" * 40_000,
    ],
    ids=lambda text: text[-8:],
)
def test_no_text_takes_minutes(text):
    began = time.process_time()
    clean_generated(text)
    parse(text)
    read_action({"action": text})
    understand(text[:16_000])
    for read in (opinion_in, lambda text: page_in(Reply(text=text, finish=Finish.STOP))):
        with suppress(UiproofError):
            read(text)
    assert time.process_time() - began < 12
