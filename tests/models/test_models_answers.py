from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uiproof.errors import (
    AnswerError,
    EmptyAnswerError,
    NotHtmlAnswerError,
    RefusedAnswerError,
)
from uiproof.models.answers import PageAnswer, page_in
from uiproof.models.types import Finish, Reply

PAGE = (
    '<!DOCTYPE html>\n<html lang="en">\r\n<head><style>p { color: red }</style></head>\n'
    "<body>\t<p>Hi</p>\n\n</body>\n</html>"
)
OPEN_PAGE = PAGE.removesuffix("</html>").rstrip()


def read(text, finish=Finish.STOP):
    return page_in(Reply(text, finish))


def holding(content):
    """The page with something else in its body."""
    return PAGE.replace("<p>Hi</p>", content)


def test_a_page_alone_is_taken_to_the_byte_and_nothing_is_flagged():
    assert read(PAGE) == PageAnswer(PAGE)
    assert read(f"\n  {PAGE}\n\n") == PageAnswer(PAGE)
    assert read(f"\ufeff{PAGE}") == PageAnswer(PAGE)
    upper = PAGE.replace("html", "HTML").replace("body", "BODY")
    assert read(upper) == PageAnswer(upper)


@pytest.mark.parametrize(
    "answer",
    [
        "```html\n{}\n```",
        "```HTML\r\n{}\r\n```",
        "```\n{}\n```\n",
        "````html\n{}\n````",
        "~~~html\n{}\n~~~",
        "```html {}\n```",
        "```{}```",
        "  ```html\n{}\n  ```",
        "```html\n{}",
        "{}\n```",
    ],
)
def test_a_fence_around_the_page_goes_also_where_half_of_it_is_missing(answer):
    assert read(answer.format(PAGE)) == PageAnswer(PAGE, ("answer:fenced",))


@pytest.mark.parametrize(
    "answer",
    [
        "Here is the page:\n\n{}",
        "Here is the page: {}",
        "{}\n\nI have used `<html>`, `</body>` and `</html>`.",
        "The `<html>` element holds everything:\n{}\nDone.",
        "I start with <html> of course.\n\n{}",
        '<?xml version="1.0"?>\n{}',
        "<answer>\n{}\n</answer>",
        "`{}`",
    ],
)
def test_words_around_the_page_go(answer):
    assert read(answer.format(PAGE)) == PageAnswer(PAGE, ("answer:wrapped",))


@pytest.mark.parametrize(
    "answer",
    [
        "Sure!\n```html\n{}\n```\nIt uses rick.jpg for images.",
        "Sure: ```html\n{}\n```",
        "First the styles:\n```css\np {{ color: red }}\n```\nThen the page:\n```html\n{}\n```",
        "```html\n{}\n```\n```js\nalert(1)\n```",
        "```html\n<!-- index.html -->\n{}\n```",
        "Save as:\n~~~\nindex.html\n~~~\nwith\n~~~html\n{}\n~~~",
    ],
)
def test_of_several_fences_the_one_with_the_page_counts(answer):
    assert read(answer.format(PAGE)) == PageAnswer(PAGE, ("answer:fenced", "answer:wrapped"))


@pytest.mark.parametrize(
    "content",
    [
        "<pre>\n```\ncode\n```\n</pre>",
        "<pre>\n```js\ncode\n```\n</pre>",
        "<p>\n```\n</p>",
        "<p>\n~~~\n</p>",
        "<script>\nconst page = `\n```html\n<html></html>\n```\n`;\n</script>",
        "<script>document.write('</html>')</script>",
        "<!-- </html> <script> \n```\n -->",
        "<style>/* </html> */</style>",
        "<textarea></html></textarea>",
        "<iframe srcdoc=\"<html lang='x'></html>\"></iframe>",
        "<p title='</html>' data-more = \"> </html>\">x</p>",
        "<p>The tags `<!DOCTYPE html>` and '<html>'.</p>",
        "<p>I'm sorry, but I can't assist with that.</p>",
        '<p></think>{"html": 1}</p>',
    ],
)
@pytest.mark.parametrize("around", ["{}", "```html\n{}\n```", "Sure.\n```html\n{}\n```\nBye."])
def test_what_a_page_holds_does_not_cut_it(content, around):
    page = holding(content)
    assert read(around.replace("{}", page)).html == page


@pytest.mark.parametrize("content", ['<a href="x>y</a>', "<!-- x", "<script>let x = 1;"])
def test_a_page_that_leaves_something_open_still_ends_with_its_end_tag(content):
    page = holding(content)
    assert read(f"```html\n{page}\n```\nBye.").html == page
    assert "answer:unterminated" not in read(page).flags
    without_end = page.removesuffix("</html>").rstrip()
    assert read(f"```html\n{without_end}\n```\nBye.").html == without_end


def test_of_several_pages_the_longest_complete_one_is_taken():
    longer = holding("<p>Hello there</p>")
    both = f"A draft:\n```html\n{PAGE}\n```\nBetter:\n```html\n{longer}\n```"
    assert read(both) == PageAnswer(
        longer, ("answer:fenced", "answer:wrapped", "answer:several_pages")
    )
    unfinished = holding("<p>" * 99)[:300]
    assert read(f"```html\n{PAGE}\n```\n```html\n{unfinished}", Finish.LENGTH).html == PAGE
    assert read(f"```html\n{unfinished}\n```\n```html\n{PAGE}\n```").html == PAGE
    assert read(f"{unfinished}\nOnce more.\n{PAGE}").html == PAGE


@pytest.mark.parametrize("around", ["{}", "```html\n{}", "Well:\n```html\n{}"])
def test_a_page_that_ran_into_the_token_limit_is_judged_and_called_truncated(around):
    for cut in (30, 60, len(PAGE) - 3):
        answer = read(around.format(PAGE[:cut]), Finish.LENGTH)
        assert answer.html == PAGE[:cut].rstrip()
        assert "answer:truncated" in answer.flags
        assert "answer:unterminated" not in answer.flags


def test_a_page_without_its_end_is_truncated_unless_the_model_said_that_it_was_done():
    assert read(OPEN_PAGE, Finish.OTHER).flags == ("answer:truncated",)
    assert read(OPEN_PAGE, Finish.STOP) == PageAnswer(OPEN_PAGE, ("answer:unterminated",))
    assert read(PAGE, Finish.OTHER).flags == ()
    assert read(PAGE + "\nAnd so", Finish.LENGTH).flags == ("answer:wrapped", "answer:truncated")


@pytest.mark.parametrize("after", ["", "\nThat is all.", "\nI left out </html> here.\n"])
def test_the_fence_ends_a_page_that_has_no_end_of_its_own(after):
    answer = read(f"```html\n{OPEN_PAGE}\n```{after}")
    assert answer.html == OPEN_PAGE
    assert {"answer:fenced", "answer:unterminated"} <= set(answer.flags)


@pytest.mark.parametrize(
    ("answer", "html"),
    [
        ("<div>Hi</div>", "<div>Hi</div>"),
        ("<p>one", "<p>one"),
        ("<!DOCTYPE html>\n<title>x</title>\n<p>one", "<!DOCTYPE html>\n<title>x</title>\n<p>one"),
        ('<img src="rick.jpg">', '<img src="rick.jpg">'),
        ("Here:\n<div>\nHi</div>\n", "<div>\nHi</div>"),
        ("Sure! <div>hi</div>", "<div>hi</div>"),
        ("```html\n<div>a</div>\n```", "<div>a</div>"),
        ("```html\n<!-- a -->\n<div>a</div>\n```", "<div>a</div>"),
        ("~~~\n<div>a</div>\n~~~", "<div>a</div>"),
        ("```html\n<b>a</b>\n```\nor\n```html\n<ul><li>longer</ul>\n```", "<ul><li>longer</ul>"),
        ("```html\n<pre>\n```js\nx\n```\n</pre>\n```", "<pre>\n```js\nx\n```\n</pre>"),
        ("<body><p>a</p></body>", "<body><p>a</p></body>"),
    ],
)
def test_html_that_is_no_whole_page_is_judged_as_a_fragment(answer, html):
    found = read(answer)
    assert found.html == html
    assert "answer:fragment" in found.flags
    assert "answer:unterminated" not in found.flags


def test_a_page_in_a_json_object_is_unwrapped():
    flags = ("answer:json",)
    assert read(json.dumps({"html": PAGE})) == PageAnswer(PAGE, flags)
    assert read(json.dumps({"title": "x", "code": PAGE}, indent=1)) == PageAnswer(PAGE, flags)
    assert read(f"```json\n{json.dumps({'html': PAGE})}\n```") == PageAnswer(PAGE, flags)
    fenced = json.dumps({"html": f"```html\n{PAGE}\n```"})
    assert read(fenced) == PageAnswer(PAGE, ("answer:json", "answer:fenced"))
    literal_newlines = '{"html": "' + PAGE.replace('"', '\\"') + '"}'
    assert read(literal_newlines) == PageAnswer(PAGE, flags)


@pytest.mark.parametrize("end", ["", "\\", "\\u00", "\\u"])
def test_a_json_object_that_was_cut_off_gives_what_there_is_of_the_page(end):
    cut = json.dumps({"html": OPEN_PAGE}).removesuffix('"}') + end
    assert read(cut, Finish.LENGTH) == PageAnswer(OPEN_PAGE, ("answer:json", "answer:truncated"))


@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>\nI could write <html> and `</html>`.\n```html\n<html></html>\n```\n</think>",
        "<think></think>\n<thinking>\nmore\n</thinking>",
        "The user wants <html>, so:\n<html><body>...</body></html>\n</think>",
        "◁think▷hm◁/think▷",
        "<think>",
    ],
)
def test_thoughts_before_the_page_are_removed(thoughts):
    assert read(f"{thoughts}\n\n{PAGE}") == PageAnswer(PAGE)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "<think>So much to</think>\n"])
def test_an_answer_without_text_is_empty(text):
    with pytest.raises(EmptyAnswerError, match=r"nothing.*--retry-failed"):
        read(text)


@pytest.mark.parametrize("text", ["", "<think>First, <html> needs a <body> and"])
def test_an_answer_whose_tokens_all_went_into_reasoning_says_so(text):
    with pytest.raises(EmptyAnswerError, match=r"token limit went into reasoning.*--max-tokens"):
        read(text, Finish.LENGTH)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I’m sorry, I cannot help with this request.",
        "I am really sorry, but I am not able to recreate this page.",
        "Sorry, I'm unable to view images.",
        "Unfortunately, I cannot reproduce copyrighted material.",
        "I cannot assist with that request.",
        "**I can't** create phishing pages.",
        "I must decline this request.",
        "I apologize, but this violates the usage policy.",
        "As an AI language model, I cannot see screenshots.",
        "Your request was blocked by our safety filters.",
        "抱歉，我无法协助完成这个请求。",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "<think>A bank. Hm.</think>I won't help to copy the site of a bank.",
    ],
)
def test_a_refusal_in_words_is_told_from_other_answers(text):
    with pytest.raises(RefusedAnswerError, match=r"declined.*another prompt or model"):
        read(text)


@pytest.mark.parametrize("text", ["", PAGE, "No."])
def test_what_the_provider_calls_a_refusal_is_one(text):
    with pytest.raises(RefusedAnswerError, match="declined"):
        read(text, Finish.REFUSAL)


@pytest.mark.parametrize(
    "text",
    [
        "The page has a header, a list and a footer.",
        "# Title\n\n- one\n- two\n",
        "Sorry for the delay, here it comes.",
        "Put the words into a `<div>` and a `<p>`.",
        "```python\nprint('<p>hello</p>')\n```",
        "```jsx\nconst app = () => (\n<div>Hi</div>\n)\n```",
        "export default function App() {\n  return (\n    <div>Hi</div>\n  );\n}",
        '{"error": {"message": "overloaded"}}',
        '{"html": "soon"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "<Error><Code>AccessDenied</Code></Error>",
        "<",
        "I'm sorry, but I can't. " * 100,
    ],
)
def test_anything_else_is_not_html_and_the_error_shows_how_it_begins(text):
    with pytest.raises(NotHtmlAnswerError) as caught:
        read(text)
    assert text[:12].split()[0] in caught.value.message
    assert len(caught.value.message) < 200
    assert caught.value.remedy


def test_errors_show_no_control_characters_of_an_answer():
    with pytest.raises(NotHtmlAnswerError) as caught:
        read("\x1b[31mred\x00\n\nwords")
    assert caught.value.message.isprintable()


def test_prose_that_was_cut_off_before_the_page_asks_for_more_tokens():
    with pytest.raises(NotHtmlAnswerError, match="raise --max-tokens"):
        read("First, let me describe the layout in", Finish.LENGTH)


BITS = (
    *("<!DOCTYPE html>", "<html>", "<html lang='en'>", "</html>", "<body>", "</body>", "<p>"),
    *("\n", "\n```\n", "\n```html\n", "```", "~~~", "\n~~~\n", "```js\n", "````\n", "`", " "),
    *("<script>", "</script>", "<style>", "<title>", "<!--", "-->", '<a b="', '"', "'", ">", "="),
    *('{"html": "', '"}', "\\n", "\\u12", "<think>", "</think>", "◁think▷", "words", "<div>"),
    *("I'm sorry, but I can't", "\u3000", "\ufeff", "\x00", "\ud800", "import x;"),
)
ANSWERS = st.lists(st.one_of(st.sampled_from(BITS), st.text(max_size=5)), max_size=25)


@settings(max_examples=300, deadline=None)
@given(ANSWERS.map("".join), st.sampled_from(list(Finish)))
@example("~~~<div>\n```html\n~~~<!DOCTYPE html>", Finish.STOP)
@example("</html><html><!DOCTYPE html>", Finish.STOP)
@example("<!DOCTYPE html>```<!DOCTYPE html>```", Finish.STOP)
def test_any_text_is_a_page_or_an_answer_error_and_a_page_is_found_in_itself(text, finish):
    try:
        answer = read(text, finish)
    except AnswerError:
        return
    assert answer.html in text or "answer:json" in answer.flags
    again = read(answer.html, finish)
    assert again.html == answer.html
    assert not {"answer:fenced", "answer:wrapped", "answer:json"} & set(again.flags)


HOSTILE = (
    *(
        "<",
        "<!--",
        "<html",
        "<html>",
        "<!doctype html>",
        "<a ",
        '<a b="',
        "<a b=' = ",
        "= ",
        "</html",
    ),
    *("```\n", "```html\n", "```\n<html>\n", "```\nx<html>\n```\n<!-- ", "~~~js\n", "`", "\n", " "),
    *("<script>", "<title><html>", "<think>", "</think>", "{", '{"html": "', "\\", "`<html>`"),
    *("<p>", "\n<p>", "```\n<p>\n```\n", "x<html>\n```\n<script>\n```\n</script>", "I'm sorry "),
)


@pytest.mark.parametrize("start", ["", "```html\n<!DOCTYPE html><html>", "words"])
def test_no_hostile_text_takes_time_out_of_proportion(start):
    for bit in HOSTILE:
        text = start + bit * (500_000 // len(bit))  # what is quadratic takes minutes for this
        began = time.process_time()
        with suppress(AnswerError):
            read(text)
        spent = time.process_time() - began
        assert spent < 10, f"{bit!r} took {spent:.1f} s"


def test_a_page_of_five_megabytes_is_taken_whole():
    page = holding("<p class=\"x\" title='</html>'>Some words.</p>\n```\n" * 110_000)
    assert len(page) > 5_000_000
    assert read(f"```html\n{page}\n```\nBye.").html == page
