from __future__ import annotations

import re
import time
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.design2code.cleanup import (
    clean_generated,
    drop_repeated_elements,
    wrap_fragment,
)
from uiproof.repetition import _is_readable, _readable_kinds, _without_tags, cut_repetition

markup = st.text(st.sampled_from("<>/ab\n \r&;"), max_size=60)
SENTENCE = "This very same sentence is repeated again and again by a model in a loop. "
# Sentences that have nothing in common but their words' lengths.
DISTINCT = [
    " ".join("abcdefghijklmnopqrstuvwxyz"[(n * k + k) % 26] * (3 + k % 4) for k in range(1, 18))
    for n in range(40)
]


def page(body: str, *, style: str = "body { color: #222 }") -> str:
    return (
        f"<html><head><title>T</title><style>{style}</style></head>"
        f"<body><h1>Words of welcome</h1>{body}</body></html>"
    )


# Text without tags


@given(markup)
@example("<a\n<b>c>d")
@example("<<a>>")
def test_text_without_tags_is_what_is_left_when_every_tag_of_one_line_is_removed(html):
    text, origin = _without_tags(html)
    assert text == re.sub("<.*?>", "", html)
    assert "".join(html[place] for place in origin) == text


@given(markup)
def test_places_of_characters_without_tags_are_in_order(html):
    _, origin = _without_tags(html)
    assert all(a < b for a, b in pairwise(origin))


# Repetition


def plain_kinds(chunks):
    """The description, word by word: compare with the first of each kind, the first hit wins."""
    kinds: dict[int, list[int]] = {}
    for number, chunk in enumerate(chunks):
        for kind in kinds:
            if SequenceMatcher(None, chunk, chunks[kind]).ratio() >= 0.8:
                kinds[kind].append(number)
                break
        else:
            kinds[number] = [number]
    return kinds


def plain_readable_kinds(chunks, readable):
    kinds = {
        first: [number for number in members if readable[number]]
        for first, members in plain_kinds(chunks).items()
    }
    return {first: members for first, members in kinds.items() if len(members) >= 5}


few_letters = st.text("abcé€😀", min_size=1, max_size=12) | st.text("ab", min_size=8, max_size=12)


@settings(max_examples=100)
@given(st.lists(st.tuples(few_letters, st.integers(0, 4)), max_size=40))
def test_kinds_of_chunks_are_those_of_a_plain_comparison_of_all_with_all(listed):
    chunks, readable = [chunk for chunk, _ in listed], np.array([n > 0 for _, n in listed], bool)
    assert _readable_kinds(chunks, readable) == plain_readable_kinds(chunks, readable)


def test_kinds_of_near_copies_are_those_of_a_plain_comparison():
    base = ["".join(chr(97 + (i * k) % 26) for i in range(100)) for k in (1, 3, 5, 7)]
    chunks = [c[:n] + "#" * (100 - n) for n in (100, 95, 90, 80, 60) for c in base * 2]
    for unread in range(1, 9):
        readable = np.arange(len(chunks)) % unread == 0
        assert _readable_kinds(chunks, readable) == plain_readable_kinds(chunks, readable)
    assert _readable_kinds(chunks, np.ones(len(chunks), np.bool_))


def test_every_character_but_blanks_can_be_read():
    everything = "".join(map(chr, range(ord("<")))) + "".join(map(chr, range(ord("?"), 0x110000)))
    readable = [not character.isspace() for character in everything]
    assert _is_readable(everything).tolist() == readable


@given(st.text(max_size=480))
def test_a_short_text_is_never_cut(text):
    assert cut_repetition(text) == text  # less than five chunks of 100


@pytest.mark.parametrize("separator", ["<p>", "<p\nclass='x'\n>", "<br>\n\n      "])
def test_a_page_without_repetition_stays_as_it_is(separator):
    html = page(separator.join(DISTINCT))
    assert clean_generated(html) == html


@pytest.mark.parametrize(
    "html",
    [
        page("<p>" + "<p>".join(DISTINCT[:3]), style=".a { color: red; margin: 0 }\n" * 80),
        page("<p>One</p>" + "<script>add('row', 1);\n</script>" + DISTINCT[0], style="b{}" * 300),
        page("<script>" + "draw(1, 2, 3);\n" * 90 + "</script>" + DISTINCT[1]),
        page("\n".join(f"<td>{' ' * 120}\n{' ' * 120}{n * 7919}</td>" for n in range(9))),
        page(("&nbsp;" * 40 + "\n").join(DISTINCT[:9])),
        page("<!-- " + "row of the table, row of the table " * 40 + "-->" + DISTINCT[2]),
    ],
    ids=["styles", "styles and script", "script", "indentation", "nbsp", "comment"],
)
def test_styles_scripts_and_blanks_that_repeat_do_not_make_a_page_repetitive(html):
    assert cut_repetition(html) == html


@pytest.mark.parametrize(
    "start",
    [
        page("").removesuffix("</body></html>"),
        page("", style=".row { margin: 0 }\n" * 60).removesuffix("</body></html>"),
        "<html><body>",
        "",
        "<style>p { margin: 0 }</style>",
    ],
    ids=["head", "long style", "no head", "fragment", "fragment with style"],
)
def test_two_hundred_equal_paragraphs_leave_the_beginning_and_one_chunk(start):
    html = start + f"<p>{SENTENCE}</p>" * 200
    cut = cut_repetition(html)
    assert html.startswith(cut)
    assert cut.startswith(start)
    assert SENTENCE[:40] in cut
    assert len(cut) < len(start) + 5 * len(SENTENCE)


def test_text_before_the_repetition_is_kept_up_to_the_place_of_the_reference_implementation():
    # Its place is found by following the characters of the text through the HTML, tags included.
    html = page("<p>" + "</p><p>".join(DISTINCT[:8]) + "</p>" + f"<p>{SENTENCE}</p>" * 60)
    cut = cut_repetition(html)
    assert html.startswith(cut)
    assert DISTINCT[0] in cut
    assert cut.count(SENTENCE.strip()) <= 2
    text = re.sub("<.*?>", "", html)
    kinds = plain_kinds([text[i : i + 100] for i in range(0, len(text), 100)])
    first = min(first for first, members in kinds.items() if len(members) >= 5)
    place = -1
    for character in text[: first * 100 + 1]:
        place = html.index(character, place + 1)
    assert cut == html[:place]


@pytest.mark.parametrize("times", [1, 200], ids=["once", "often"])
def test_only_what_the_reference_repeats_itself_may_be_repeated(times):
    html = page(f"<p>{SENTENCE}</p>" * 200)
    reference = page("<p>" + "</p><p>".join(DISTINCT) + "</p>" + f"<p>{SENTENCE * 2}</p>" * times)
    assert (cut_repetition(html, reference) == html) == (times > 1)


def test_a_generated_page_may_repeat_what_the_reference_repeats():
    html = page(f"<p>{SENTENCE}</p>" * 200 + "<br>" * 70)
    assert clean_generated(html, html) == html
    assert clean_generated(html, page("<p>Hello")) != html


def test_another_repetition_than_the_reference_has_is_cut():
    rows = "".join(
        f"<tr><td>Row number {n} of the table</td><td>{n} items</td></tr>" for n in range(90)
    )
    reference = page(f"<table>{rows}</table>")
    html = page("<p>" + "</p><p>".join(DISTINCT[:3]) + "</p>" + f"<p>{SENTENCE}</p>" * 80)
    assert clean_generated(html, reference) == clean_generated(html, page("<p>Hello")) != html


def test_equal_paragraphs_under_different_headings_are_repetition():
    loop = "".join(f"<h2>{words[:40]}</h2>\n<p>{SENTENCE * 3}</p>\n" for words in DISTINCT[:10])
    html = page("<h1>Blog</h1>\n" + loop)
    assert len(cut_repetition(html)) < len(html)


def test_more_equal_elements_than_the_reference_has_are_dropped():
    reference = page("<br>" * 70)
    assert clean_generated(page("<br>" * 90), reference).count("<br>") == 70
    assert clean_generated(page("<br>" * 90), page("<br>" * 3)).count("<br>") == 50


# Fragments


def test_a_fragment_is_wrapped_into_a_page_and_a_page_is_not():
    assert wrap_fragment("<h1>Hi</h1>") == "<html><body><p><h1>Hi</h1></p></body></html>"
    assert wrap_fragment("") == "<html><body><p></p></body></html>"
    for whole in ("<html>", "<!DOCTYPE html>\n<HTML lang='en'>\n<p>x"):
        assert wrap_fragment(whole) == whole


def test_a_fragment_stays_one_where_the_reference_is_one():
    assert clean_generated("<h1>Hi</h1>", "<!DOCTYPE html><h1>Hi</h1>") == "<h1>Hi</h1>"
    assert clean_generated("<h1>Hi</h1>", page("Hi")).startswith("<html>")


# Elements that are repeated more than fifty times


@pytest.mark.parametrize(
    "element",
    [
        "<br>",
        "<br/>",
        "<td></td>",
        "<td></td\n>",
        '<img src="rick.jpg">',
        "<li>Same <b>bold</b> &amp; text</li>",
        "<b>x</b >",
    ],
)
def test_the_fifty_first_equal_element_and_later_ones_are_dropped(element):
    def body(count):
        return "".join(f"<i>{n}</i>{element if n < count else ''}" for n in range(80))

    assert drop_repeated_elements(page(body(50))) == page(body(50))
    assert drop_repeated_elements(page(body(70))) == page(body(50))


def test_equal_children_of_different_parents_are_dropped_and_the_parents_stay():
    html = "".join(f"<div id={n}><b>x</b></div>" for n in range(60))
    cleaned = drop_repeated_elements(html)
    assert cleaned.count("<div") == 60
    assert cleaned.count("<b>x</b>") == 50
    assert cleaned.endswith("<div id=59></div>")


def test_equal_parents_are_dropped_with_their_children_which_then_do_not_count():
    html = "<div><b>x</b></div>" * 60 + "<p>end</p>"
    assert drop_repeated_elements(html) == "<div><b>x</b></div>" * 50 + "<p>end</p>"


@pytest.mark.parametrize(
    "vary",
    ["<b id={}>x</b>", "<b>{}</b>", "<b><i>{}</i></b>", "<b>&#{};</b>", "<b><!--{}--></b>"],
)
def test_elements_that_differ_in_anything_are_not_dropped(vary):
    html = "".join(vary.format(n) for n in range(100, 160))
    assert drop_repeated_elements(html) == html


def test_elements_that_are_never_closed_hold_what_follows_and_so_differ():
    html = "<p>a" * 60
    assert drop_repeated_elements(html) == html


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["<br>", "<p>a", "</p>", "<b>", "</b>", "x<y", "<td></td>", "\n"]),
        max_size=300,
    )
)
def test_dropping_removes_whole_pieces_and_keeps_all_else_to_the_letter(pieces):
    html = "".join(pieces)
    cleaned = drop_repeated_elements(html)
    rest = iter(html)
    assert all(character in rest for character in cleaned)  # a subsequence of the page
    assert cleaned.count("<br>") == min(html.count("<br>"), 50)
    # White space is in no element of its own kind, and unclosed elements are never equal.
    assert drop_repeated_elements(cleaned) == cleaned


@settings(max_examples=80)
@given(markup)
def test_clean_up_takes_any_text(html):
    cleaned = clean_generated(html)
    assert html in cleaned


# Time


@pytest.mark.parametrize(
    "html",
    [
        "<" * 100_000,
        "<a " * 40_000,
        "<a href='" * 20_000,
        "<!--" * 30_000,
        "<style>" * 30_000,
        "<\n" * 60_000 + ">",
        "<br>" * 30_000,
        "<div>" * 5_000 + "x" + "</div>" * 5_000,
        "<div>" * 20_000 + "</p>" * 20_000,
        "".join(f"<p>{n * 7919 % 10_007} {n}</p>" for n in range(8_000)),
        "".join(f"{chr(97 + n // 26 % 26)}{n}" * 9 for n in range(3_000)) + "same again " * 9_000,
    ],
    ids=lambda html: html[:6].encode("unicode_escape").decode(),
)
def test_no_page_takes_long(html):
    began = time.process_time()
    clean_generated(html)
    assert time.process_time() - began < 30  # where time grows with the square it is minutes
