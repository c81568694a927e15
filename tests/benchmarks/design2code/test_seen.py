"""Pages that show less than they hold: `strict` and `human` pay only for what is seen.

Every page here is an honest page and something added to it. It must not score higher than the
honest page, and what hides everything must leave what a blank page scores.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import uiproof
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.browser import PageSource

DEMO = Path(uiproof.__file__).parent / "demo" / "design2code"
BLOCKS = ("block_match", "text", "position", "color")
SEVEN = (*BLOCKS, "layout", "page_height", "ssim")
NOISE = {"mean_without_clip": 0.002, "human": 0.002, "ssim": 0.005}  # of rounded pixels

STRIPES = "repeating-linear-gradient(90deg, rgba(0, 0, 0, .06) 0 2px, transparent 2px 4px)"


@pytest.fixture(scope="module")
def judge():
    judge = Design2CodeJudge()
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def scores(judge):
    """All scores of a page against a reference; a page may be a file or HTML."""
    kept = {}

    def source(page):
        return PageSource.from_file(page) if isinstance(page, Path) else PageSource.from_html(page)

    def scores(reference, generated, addition=""):
        key = reference, generated, addition
        if key not in kept:
            page = source(generated)
            page = page.with_text(_with(page.text, addition))
            kept[key] = judge.compare(source(reference), page)[0].scores
        return kept[key]

    return scores


def _with(html, addition):
    """A page with something more at the end of its body."""
    head, end, tail = html.rpartition("</body>")
    return f"{head}{addition}{end}{tail}" if end else html + addition


def css(rules):
    return f"<style>{rules}</style>"


def cover(paint):
    """An element over the whole page."""
    return css("html { position: relative; min-height: 100% } body { position: static }") + (
        f'<div style="position: absolute; inset: 0; z-index: 2147483647; {paint}"></div>'
    )


def pairs(shared_data):
    """A bundled and a real page, with what was made of them."""
    real = shared_data / "data" / "design2code" / "real"
    return [
        (DEMO / "reference" / "pricing.html", DEMO / "generated" / "pricing.html"),
        (real / "reference" / "8512.html", real / "finetuned_v0" / "8512.html"),
    ]


SMALL = """<!DOCTYPE html><html><body style="margin: 20px; font: 18px sans-serif">
<h1>A page with a headline</h1><p>And a paragraph of some words, in one line.</p>
<p style="color: #b00020">Another one in red, which says something else.</p>
<button>Press here</button> <input placeholder="Your name">
<div style="background: #246; color: #fff; padding: 30px; width: 400px">White on blue</div>
<svg width="200" height="90"><circle cx="60" cy="45" r="40" fill="#080"></circle></svg>
</body></html>"""

LONG = SMALL.replace("</body>", "<p>One more line of words</p>" * 30 + "</body>")

HIDING = {
    "cover": cover("background: #fff"),
    "black cover": cover("background: #000"),
    "gradient cover": cover("background: linear-gradient(#fff, #fff)"),
    "faintly striped cover": cover(f"background: #fff {STRIPES.replace('.06', '.012')}"),
    "veil": cover("background: rgba(255, 255, 255, .985)"),
    "brightness": css("html { filter: brightness(0); background: #fff }"),
    "contrast": css("html { filter: contrast(0); background: #fff }"),
    "clip-path": css("body > * { clip-path: inset(0 100% 0 0) }"),
    "mask": css("body > * { -webkit-mask-image: linear-gradient(transparent, transparent) }"),
    "scale": css("body > * { transform: scale(.001) }"),
    "screen": css("html { background: #fff } body > * { mix-blend-mode: screen }"),
    "white": css(
        "* { color: #fff !important; background: #fff !important; border-color: #fff !important }"
        "* { fill: #fff !important; box-shadow: none !important; outline: none !important }"
        "::placeholder { color: #fff !important } button, input { border: 0 !important }"
    ),
}


@pytest.mark.parametrize("how", HIDING)
def test_a_page_on_which_everything_is_hidden_scores_what_a_blank_page_scores(scores, how):
    hidden = scores(SMALL, SMALL, HIDING[how])
    assert hidden["strict"]["mean_without_clip"] <= 0.01
    assert hidden["human"] <= 0.01


FIXED = '<div style="position: fixed; inset: 0; z-index: 9; {}"></div>'

HIDING_TEXT = {
    "transparent": css("* { color: transparent !important }"),
    "transparent fill": css("* { -webkit-text-fill-color: transparent !important }"),
    "transparent under stripes": css("* { -webkit-text-fill-color: transparent !important }")
    + cover(f"background: {STRIPES}"),
    "transparent under bold stripes": css("* { -webkit-text-fill-color: transparent !important }")
    + cover(f"background: {STRIPES.replace('.06', '.5')}"),
    "transparent under lines": css("* { -webkit-text-fill-color: transparent !important }")
    + cover(f"background: {STRIPES.replace('90deg', '0deg').replace('.06', '.3')}"),
    "striped cover": cover(f"background: #fff {STRIPES}"),
    "blurred": cover("backdrop-filter: blur(30px)"),
    "almost no opacity": css("body { opacity: .03 }"),
    "tiny": css("* { font-size: 2px !important }"),
    "squeezed": css("* { letter-spacing: -1em !important }"),
    "indented": css("* { text-indent: -9999px !important }"),
    "shadow only": css("* { color: transparent !important; text-shadow: 0 0 9px #ddd }"),
    "dots": css("* { -webkit-text-security: disc !important }"),
    "cover that goes along": '<div style="position: fixed; inset: 0; z-index: 9; background: #fff">'
    "</div>",
    "modal": "<dialog id=d><p>.</p></dialog><style>::backdrop { background: #fff }</style>"
    "<script>d.showModal()</script>",
    "shown tomorrow": css("@keyframes x { from { opacity: 0 } } body { animation: x 1e5s }"),
    "never shown": css(
        "@keyframes x { from, to { opacity: 0 } } body { animation: x 5s infinite }"
    ),
    "not shown yet": css(
        "@keyframes x { from { opacity: 0 } } body { animation: x 1s paused both }"
    ),
    "shown where nothing scrolls": css(
        "@keyframes x { from, to { opacity: 0 } } body > * { animation: x linear both }"
        "body > * { animation-timeline: scroll(root) } html { min-height: 200vh }"
    ),
    "shown at the end of scrolling": css(
        "@keyframes x { from, 99% { opacity: 0 } } body > * { animation: x linear both }"
        "body > * { animation-timeline: scroll(root) } html { min-height: 400vh }"
    ),
    "shown without scripts": css("@media (scripting: enabled) { body { opacity: 0 } }"),
    "painted over by its outline": css("* { -webkit-text-stroke: 1em #fff }"),
    "far below": css("body { padding-top: 20000px !important }"),
    "five pixels high": css("* { font-size: 5px !important }"),
    "running into each other": css("* { letter-spacing: -.33em !important }"),
    "mirrored": css("body * { transform: none !important } body { transform: scaleX(-1) }"),
    "upside down": css("body * { transform: none !important } body { rotate: 180deg }"),
    "squeezed by a transform": css("body { transform: scaleX(.2) }"),
    "blurred letters": css("body { filter: blur(8px) }"),
    "redrawn by a filter": "<svg width=0 height=0><filter id=f><feMorphology operator=dilate "
    "radius=4 /></filter></svg>" + css("body { filter: url(#f) }"),
    "blots": css("* { -webkit-text-stroke: .4em currentcolor !important }"),
    "bars": css("* { text-decoration: line-through .8em currentcolor !important }"),
    "cover that lets the pointer through": FIXED.format("background: #fff; pointer-events: none"),
    "picture in front": FIXED.format("background: linear-gradient(#fff, #fff)"),
    "pseudo-element in front": css(
        "body::after { content: ''; position: fixed; inset: 0; z-index: 9; background: #fff }"
    ),
    "far to the right": css("html { overflow-x: hidden } body { padding-left: 1400px !important }"),
    "for those who want less motion": css(
        "@media (prefers-reduced-motion: no-preference) { body { display: none } }"
    ),
    "shown in a flash": css(
        "@keyframes x { 0%, 12% { opacity: 0 } 12.5% { opacity: 1 } 13%, 100% { opacity: 0 } }"
        "body { animation: x 20s infinite }"
    ),
    "passing by": css(
        "@keyframes x { 0%, 1% { translate: 0 } 2%, 100% { translate: -300vw } }"
        "body { animation: x 20s infinite }"
    ),
    "shown for a second": css(
        "@keyframes x { 0%, 6% { opacity: 1 } 7%, 100% { opacity: 0 } }"
        "body { animation: x 30s both }"
    ),
    "a slice of each": css(
        "body :not(:has(*)) { display: inline-block; clip-path: inset(calc(50% - .5px) 0) }"
    ),
    "a slice of each line": css(
        "body :not(:has(*)) { mask: linear-gradient(#0000 9px, #000 9px 10px, #0000 10px);"
        " mask-size: 9px 18px }"
    ),
    "gone under a pointer": css("body:hover > * { display: none }"),
    "fading under a pointer": css("html:hover body { opacity: 0; transition: opacity 3s }"),
    "soon gone": "<script>setTimeout(() => document.body.replaceChildren(), 2000)</script>",
    "gone when the pointer moves": "<script>onpointermove = () => document.body.remove()</script>",
    "gone with the first key": "<script>onkeydown = () => document.body.remove()</script>",
    "gone when the wheel turns": "<script>onwheel = () => document.body.remove()</script>",
    "gone when it is scrolled": "<script>onscroll = () => document.body.replaceChildren()</script>"
    + css("body { padding-top: 710px !important }"),
    "covered when it is scrolled": FIXED.format("display: none").replace("<div", "<div id=veil")
    + "<script>onscroll = () => { veil.style = 'position: fixed; inset: 0; background: #fff' }"
    "</script>" + css("body { padding-top: 710px !important }"),
}


@pytest.mark.parametrize("how", HIDING_TEXT)
def test_text_that_nobody_can_read_does_not_pay(scores, how):
    page = DEMO / "reference" / "landing.html"
    hidden = scores(page, page, HIDING_TEXT[how])
    assert hidden["human"] <= 0.25, hidden
    assert all(hidden["strict"][name] <= 0.25 for name in BLOCKS), hidden["strict"]


def test_a_page_that_cannot_be_scrolled_is_its_first_window(scores):
    stuck = css("html, body { overflow: hidden } body { padding-top: 730px }")
    hidden = scores(LONG, LONG, stuck)
    assert hidden["strict"]["mean_without_clip"] <= 0.01
    assert hidden["human"] <= 0.01


def test_a_cover_that_sticks_to_the_window_hides_the_page(scores):
    sticky = (
        '<div style="position: sticky; top: 0; height: 100vh; margin-bottom: -100vh; {}"></div>'
    )
    page = LONG.replace("<h1>", sticky.format("background: #fff; z-index: 9") + "<h1>")
    assert scores(LONG, page)["strict"]["mean_without_clip"] <= 0.01
    # A first screen over which the rest of the page slides hides nothing.
    slides = LONG.replace("<h1>", sticky.format("background: #eee; z-index: -1") + "<h1>")
    assert scores(LONG, slides)["strict"]["text"] == pytest.approx(1)


def test_texts_that_take_turns_are_seen(scores):
    turns = (
        "<p id=turn>The first of two sayings</p><script>let n = 0; setInterval(() => { "
        "turn.textContent = ['The first of two sayings', 'And the second one'][++n % 2] }, 3100)"
        "</script>"
    )
    still = "<p>The first of two sayings</p>"
    turning = scores(LONG + still, LONG, turns)
    assert turning["strict"]["text"] == pytest.approx(1)
    assert turning["human"] == pytest.approx(1)


def test_an_empty_end_does_not_forgive_displacements(scores):
    lines = "".join(f"<p>Line number {n} of the page</p>" for n in range(12))
    pushed = f'<div style="height: 700px"></div>{lines}'
    veil = '<div style="position: absolute; top: 0; left: 0; width: 100%; height: 6000px"></div>'
    alone, longer = scores(lines, pushed)["strict"], scores(lines, pushed, veil)["strict"]
    assert longer["mean_without_clip"] <= alone["mean_without_clip"] + 0.005


CARD = (
    '<div id="card" style="margin-top: 300px; padding: 30px; background: #246; color: #fff">'
    '<p>Some words on a card</p><button style="width: 300px; height: 90px">Buy it</button></div>'
)


def test_what_a_reader_never_gets_to_see_does_not_pay_by_its_surfaces(scores):
    page = LONG + CARD
    leaves = "<script>onscroll = () => document.getElementById('card')?.remove()</script>"
    gone, without = scores(page, page, leaves), scores(page, LONG)
    assert gone["strict"]["mean_without_clip"] <= without["strict"]["mean_without_clip"] + 0.005
    assert gone["human"] <= without["human"] + 0.02


def test_a_copy_that_goes_under_a_pointer_does_not_pay(scores):
    page = "".join(f"<p>Line {number} of all the words</p>" for number in range(20))
    honest = '<p style="padding: 900px 0 0 500px; color: teal">Line 3 of all the words</p>'
    copy = f'<div class="copy" style="position: absolute; top: 0">{page}</div>'
    goes = css(".copy { visibility: hidden } html:not(:hover) .copy { visibility: visible }")
    trick, without = scores(page, honest + copy + goes), scores(page, honest)
    assert trick["strict"]["position"] <= without["strict"]["position"] + 0.005
    assert trick["human"] <= without["human"] + 0.01


def test_fields_and_repeated_texts_go_with_the_element_around_them(scores):
    page = LONG + CARD.replace("<button", '<input value="A name in a field"><button')
    page = page.replace("Some words on a card", "One more line of words")  # also further up
    leaves = "<script>onpointermove = () => { card.style.visibility = 'hidden' }</script>"
    empty = LONG + '<div style="height: 500px"></div>'
    gone, without = scores(page, page, leaves), scores(page, empty)
    for name in BLOCKS:
        assert gone["strict"][name] <= without["strict"][name] + 0.005, name


@pytest.mark.parametrize(
    "end",
    [
        '<div style="height: 500px"></div>',
        css("html { height: 900vh }"),
        # things that leave no pixels
        '<svg width="200" height="500"><text y="490" fill="#fefefe">unseen</text></svg>',
        '<div style="transform: rotateY(180deg); backface-visibility: hidden; height: 500px;'
        ' background: #246">unseen</div>',
        '<p style="height: 480px"></p><input style="border: 0; background: none">',
    ],
)
def test_an_empty_end_does_not_move_what_is_seen(scores, end):
    cut = LONG.replace("<p>One more line of words</p>" * 30, "<p>One more line of words</p>" * 9)
    assert scores(LONG, cut, end)["human"] <= scores(LONG, cut)["human"] + 0.02


def test_texts_that_a_component_shows_stay(scores):
    words = "<p>First words of it</p>Second words of it<p>Third words of it</p>"
    made = f"<script>host.attachShadow({{mode: 'open'}}).innerHTML = '{words}'</script>"
    page = f"<!DOCTYPE html><body><div id=host></div>{made}</body>"
    found = scores(f"<!DOCTYPE html><body>{words}</body>", page)
    assert found["strict"]["text"] == pytest.approx(1)


def test_two_texts_on_one_place_cannot_be_read(seen):
    at = '<div style="position: absolute; left: 20px; top: 20px">{}</div>'
    assert seen(at.format("Some words that") + at.format("lie on others")) == ([], [])


def test_what_appears_where_it_is_scrolled_to_is_seen(scores):
    fading = (
        "@keyframes x { from { opacity: 0 } } p { animation: x linear both; "
        "animation-timeline: view(); animation-range: entry }"
    )
    assert scores(LONG, LONG, css(fading))["strict"]["text"] == pytest.approx(1)


def test_what_changes_a_little_under_a_pointer_is_seen(scores):
    links = "<nav>" + "".join(f"<a>Link {n}</a> " for n in range(20)) + "</nav>"
    page = SMALL.replace("<h1", f"{links}<h1")
    honest = css("a:hover { visibility: hidden } nav:hover { opacity: .9 } p:hover { color: red }")
    assert scores(page, page, honest) == scores(page, page)


def test_texts_printed_all_over_the_page_are_extra(scores):
    again = """<script>for (const one of [...document.querySelectorAll('h1, p')]) {
      for (let n = 0; n < 24; n++) {
        const copy = one.cloneNode(true);
        copy.style = `position: absolute; left: ${(n * 331) % 700}px; top: ${(n * 67) % 560}px`;
        document.body.append(copy);
      }
    }</script>"""
    honest, often = scores(SMALL, SMALL), scores(SMALL, SMALL, again)
    assert honest["human"] == 1
    assert often["human"] < 0.15
    assert all(often["strict"][name] < 0.15 for name in BLOCKS), often["strict"]


def test_texts_on_one_heap_do_not_pay(scores):
    lines = "".join(f"<p>Line {number} of a page of words</p>" for number in range(12))
    heap = css("p { position: absolute; left: 9px; top: 9px }")
    hidden = scores(lines, lines, heap)["strict"]
    assert all(hidden[name] <= 0.05 for name in BLOCKS), hidden


COLOURS = {
    "fill": "* { -webkit-text-fill-color: magenta !important }",
    "hue": "html { filter: hue-rotate(180deg) }",
    "invert": "html { filter: invert(1) }",
    "sepia": "html { filter: sepia(1) }",
    "opacity": "body { opacity: .4 }",
}


@pytest.mark.parametrize("how", COLOURS)
def test_the_colour_of_a_text_is_that_of_its_pixels(scores, how):
    page = f'<html><body style="color: #c00"><p>Some words in red</p>{"<p>and more</p>" * 3}'
    assert scores(page, page, css(COLOURS[how]))["strict"]["color"] < 0.9
    same = scores(page, page, css("p { color: blue; -webkit-text-fill-color: #c00 }"))
    assert same["strict"]["color"] > 0.999


# Additions that must not raise any score of an honest page


def texts_of(reference):
    """The texts of a page, from its markup."""
    html = reference.read_text("utf-8", "replace")
    html = re.sub(r"(?is)<(script|style|head|svg)\b.*?</\1>", " ", html)
    return [text.strip() for text in re.findall(r">([^<>]+)<", html) if len(text.strip()) > 3][:60]


def copies(style, inside="{}"):
    """The reference's own texts, hidden in some way."""

    def add(reference):
        listed = "".join(f"<p>{inside.format(text)}</p>" for text in texts_of(reference))
        return (
            f'<div style="position: absolute; left: 0; top: 0; width: 90%; {style}">{listed}</div>'
        )

    return add


ADDITIONS = {
    "tint": lambda _: css("html, body { background-color: #fafafa }"),
    "veil": lambda _: (
        '<div style="position: fixed; inset: 0; background: rgba(0, 0, 0, .02)"></div>'
    ),
    "faint stripes": lambda _: cover(f"background: {STRIPES.replace('.06', '.02')}"),
    "blank canvas": lambda _: (
        '<canvas width="1280" height="900" style="position: absolute; left: 0; top: 0"></canvas>'
    ),
    "transparent copies": copies("color: transparent"),
    "faint copies": copies("opacity: .04"),
    "tiny copies": copies("font-size: 2px; line-height: 2px"),
    "scaled copies": copies("transform: scale(.05); transform-origin: 0 0"),
    "clipped copies": copies("height: 1px; overflow: hidden"),
    "copies behind": copies("z-index: -1; color: #fff; background: #fff; opacity: .02"),
    "copies without display": copies("height: 1px", ".<em style='display: none'>{}</em>"),
    "copies of no opacity": copies("color: transparent", ".<em style='opacity: 0'>{}</em>"),
}


@pytest.mark.parametrize("what", ADDITIONS)
def test_what_nobody_sees_never_raises_a_score(scores, shared_data, what):
    gained = {}
    for reference, generated in pairs(shared_data):
        added = ADDITIONS[what](reference)
        both = [scores(reference, generated), scores(reference, generated, added)]
        for name, noise in NOISE.items():
            a, b = (one["human"] if name == "human" else one["strict"][name] for one in both)
            if b > a + noise:
                gained[reference.stem, name] = (round(a, 4), round(b, 4))
    assert not gained


# Parts of a text, parts of a page


@pytest.fixture(scope="module")
def seen(judge):
    """The texts that are seen on a page, by the strict profile and by the composite."""

    def seen(body):
        source = PageSource.from_html(
            f"<!DOCTYPE html><body style='font: 20px sans-serif'>{body}</body>"
        )
        view = judge.compare(source, source)[1]
        texts = [" ".join(text.split()) for _, text, *_ in view.seen_texts]
        return texts, [block.text for block in view.seen_blocks]

    return seen


COVERED = '<div style="position: absolute; left: {}px; top: 0; {}"></div>'


def test_a_text_is_cut_to_the_words_that_are_seen(seen):
    white = COVERED.format(230, "width: 900px; height: 60px; background: #fff")
    texts, blocks = seen(
        f'<p style="margin: 10px 0">These words are seen, but all of the rest is not{white}</p>'
    )
    assert texts[0].startswith("These words are seen")
    assert "the rest" not in texts[0]
    assert blocks == [texts[0].lower()]


def test_a_text_that_a_small_box_cuts_off_counts_as_far_as_it_is_seen(seen):
    box = '<div style="width: 150px; height: 28px; overflow: hidden">{}</div>'
    (text,), (block,) = seen(box.format("One two three four five six seven eight nine ten " * 20))
    assert text.startswith("One two")
    assert len(text) < 40
    assert block == text.lower()


def test_letters_that_are_turned_round_are_read_as_they_are_shown(seen):
    turned = '<p style="unicode-bidi: bidi-override; direction: rtl; text-align: left">drawer</p>'
    assert seen(turned) == (["reward"], ["reward"])


def test_a_text_that_ends_in_dots_counts_as_far_as_it_is_seen(seen):
    style = "overflow: hidden; text-overflow: ellipsis; white-space: nowrap; width:"
    (text,), (block,) = seen(f'<div style="{style} 170px">Some words of a longer sentence</div>')
    assert "Some words of a longer sentence".startswith(text)
    assert 15 <= len(text) <= 26
    assert block == text.lower()
    # A few letters of it say nothing.
    assert seen(f'<div style="{style} 70px">Some words of a longer sentence</div>') == ([], [])


def test_neighbouring_texts_that_run_into_each_other_are_not_seen(seen):
    lines = "".join(
        f"<p>The line number {word} of all</p>" for word in ["one", "two", "three", "four"]
    )
    for height, count in ((0.5, 0), (0.9, 4), (1.2, 4)):
        style = f"<style>p {{ margin: 0; line-height: {height} }}</style>"
        assert [len(found) for found in seen(style + lines)] == [count, count]
    # The same for the lines of one text.
    long = "The lines of one text. " * 40
    assert seen(f'<p style="line-height: 0.5">{long}</p>') == ([], [])
    assert len(seen(f'<p style="line-height: 0.9">{long}</p>')[0]) == 1


def test_a_text_that_runs_into_a_shorter_one_counts_as_far_as_it_can_be_read(seen):
    style = "<style>p { margin: 0; line-height: 0.4 }</style>"
    long = "The first words cannot be read but all of those that follow them stand alone here"
    (text,), (block,) = seen(f"{style}<p>{long}</p><p>Shorter than that</p>")
    assert "The first" not in text
    assert text.endswith("follow them stand alone here")
    assert block == text.lower()


def test_a_page_with_one_word_of_many_is_worth_next_to_nothing(scores):
    words = "<p style='margin: 9px; height: 20px'>Another sentence {} of the page</p>"
    page = "<p>Title</p>" + "".join(words.format(number) for number in range(60))
    assert scores(page, "<p>Title</p><p style='height: 1760px'></p><p>.</p>")["human"] < 0.2


def test_a_field_counts_as_far_as_it_shows_its_text(seen):
    (text,), _ = seen(f'<input style="width: 90px" value="{"many words " * 50}">')
    assert text.startswith("many words")
    assert len(text) < 40


def test_text_over_other_text_is_not_taken_for_it(seen):
    hidden = '<p style="position: absolute; left: 0; top: 0; margin: 0; color: transparent">{}</p>'
    body = '<div style="position: relative; font-size: {}px">What is really to be read here{}</div>'
    for size in (20, 40):
        texts, blocks = seen(body.format(size, hidden.format("Something else is said below it")))
        assert texts == ["What is really to be read here"]
        assert blocks == ["what is really to be read here"]
    texts, blocks = seen(body.format(9, hidden.format("Something else is said below it")))
    assert not {text for text in (*texts, *blocks) if "omething" in text}


def test_a_pseudo_element_out_of_sight_is_not_taken_for_the_text_of_its_element(seen):
    style = 'p::before { content: "Not seen at all"; position: absolute; left: -9999px }'
    assert seen(f"<style>{style}</style><p>Seen</p>")[0] == ["Seen"]


@pytest.mark.parametrize(
    "style",
    [
        "color: #999",
        "color: #fff; background: #246",
        "-webkit-text-fill-color: #246",
        "background: linear-gradient(90deg, red, blue); -webkit-background-clip: text;"
        "-webkit-text-fill-color: transparent",
        "opacity: .5",
        "filter: grayscale(1)",
        "filter: drop-shadow(0 0 2px #999)",
        "font-size: 9px",
        "font-size: 90px; font-weight: bold",
        "text-shadow: 1px 1px 3px #999",
        "background: repeating-linear-gradient(45deg, #fff 0 9px, #eef 9px 18px)",
        "transform: rotate(8deg)",
        "transform: rotate(-90deg) translateX(-200px)",
        "transform: rotateY(180deg) rotateY(180deg)",
        "writing-mode: vertical-rl",
        "letter-spacing: -.05em",
        "filter: blur(.5px)",
        "color: #0000; text-shadow: 0 0 0 #000; color: #00000010",
        "mix-blend-mode: multiply",
    ],
)
def test_text_that_can_be_read_is_seen_as_a_whole(seen, style):
    room, text = '<div style="height: 300px"></div>', "All of this can be read"
    body = "".join(f'{room}<{tag} style="{style}">{text}</{tag}>' for tag in ("p", "em"))
    assert seen(body + room)[0] == [text] * 2


def test_pictures_and_controls_that_leave_no_pixels_do_not_count(scores):
    line = "<p>A line of words</p>"
    blank = (
        '<canvas width="400" height="300"></canvas><svg width="200" height="200"></svg>'
        '<input style="border: 0; background: none; outline: 0">'
    )
    apart = '<div style="position: absolute; left: 600px; top: 0">{}</div>'
    page = f"<!DOCTYPE html><html><body>{line}{apart}</body></html>"
    assert scores(page.format(""), page.format(blank))["strict"]["mean_without_clip"] == 1.0


# Honest pages


@pytest.mark.parametrize(
    "what",
    [
        '<div style="height: 1500px"></div>',
        '<svg width="1200" height="1500" style="position: absolute; left: 0; top: 0">'
        '<rect width="1200" height="1500" fill="none"/></svg>',
    ],
    ids=["space", "an empty drawing"],
)
def test_an_empty_end_does_not_make_a_page_as_high_as_the_reference(scores, what):
    honest, hostile = scores(LONG, SMALL), scores(LONG, SMALL, what)
    assert hostile["strict"]["page_height"] <= honest["strict"]["page_height"] + 0.002


def test_the_height_of_a_page_that_shows_something_else_does_not_pay(scores):
    bar = '<div style="width: 300px; height: 18px; margin: 20px; background: #888"></div>'
    assert scores(LONG, bar * 30)["strict"]["page_height"] < 0.25
    assert scores(LONG, LONG)["strict"]["page_height"] == 1


@pytest.mark.parametrize("page", ["dashboard", "landing", "news", "teashop"])
def test_identical_pages_score_exactly_one_in_everything(scores, page):
    page = DEMO / "reference" / f"{page}.html"
    found = scores(page, page)
    for profile in ("paper", "strict"):
        assert {v for v in found[profile].values() if v is not None} == {1.0}, found[profile]
    assert found["human"] == 1.0


@pytest.mark.parametrize(
    "body",
    [
        '<p style="height: 40px"><b>Buy</b> <i>Sell</i> <b>Buy</b></p>' * 12,
        "<p>a</p><p>b</p>" * 20 + "<p>a</p>" * 5,
        '<svg width="50" height="50"><rect width="50" height="50"></rect></svg>',
        "",
    ],
)
def test_identical_pages_score_exactly_one_whatever_is_on_them(scores, body):
    found = scores(f"<html><body>{body}</body></html>", f"<html><body>{body}</body></html>")
    for profile in ("paper", "strict"):
        assert {v for v in found[profile].values() if v is not None} == {1.0}, found[profile]
    assert found["human"] == 1.0
