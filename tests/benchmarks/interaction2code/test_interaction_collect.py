"""Collecting on other pages: what is tried, what is dropped, what is one and the same."""

import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

from uiproof.benchmarks.interaction2code.collect import collect, collect_page, collect_pages
from uiproof.benchmarks.interaction2code.collect.explorer import (
    common_word,
    hover_selectors,
    keys_in,
    texts,
)
from uiproof.benchmarks.interaction2code.collect.pages import cut_links, prepare
from uiproof.benchmarks.interaction2code.drawing import draw_graph
from uiproof.benchmarks.interaction2code.graph import read_graph
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.errors import DownloadError, InputError, UsageError
from uiproof.geometry import PixelBox

PAGES = Path(__file__).parent / "collect_pages"
TRIVIAL = (PAGES / "trivial.html").read_text()
MIXED = (PAGES / "mixed.html").read_text()


def explored(tmp_path, html, **options):
    page = tmp_path / "page" / "index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(html)
    return collect(page, tmp_path / "out", **options)


@contextmanager
def served(folder):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def element(tag, text="", *, ref=1, **more):
    more.setdefault("box", PixelBox(0, 0, 100, 30))
    more.setdefault("label", text)
    return Element(ref=ref, parent=None, tag=tag, id="", text=text, **more)


def test_a_page_with_nothing_but_trivial_effects_has_no_interactions(tmp_path):
    with pytest.raises(InputError, match="No interaction was found"):
        explored(tmp_path, TRIVIAL)


def test_other_ways_to_write_a_page_are_understood_and_duplicates_are_one(tmp_path):
    graph = explored(tmp_path, MIXED, topic="mixed")
    found = {one.sentence: one for one in graph.interactions}
    assert set(found) == {
        'hover on the "Card 0" item',
        'click the "Open" button',
        "click the image",
        'drag the "Piece" item down',
        "press the ? key",
    }
    assert found['click the "Open" button'].visuals == ("new component",)
    assert found["click the image"].visuals == ("color",)
    assert found['drag the "Piece" item down'].visuals == ("position",)
    assert found["press the ? key"].visuals == ("new component", "text")
    assert "More about it" in found['hover on the "Card 0" item'].description
    assert graph.topic == "mixed"


def test_only_the_best_are_kept(tmp_path):
    page = """<!DOCTYPE html><p onclick="this.style.color = '#c00'">Paint</p>
      <button onclick="d.showModal()">Ask</button><dialog id="d">Are you sure?</dialog>"""
    (one,) = explored(tmp_path, page, most=1).interactions
    assert one.sentence == 'click the "Ask" button'


def test_a_live_page_is_fetched_only_when_that_is_allowed(tmp_path):
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "look.css").write_text("#box { width: 300px; height: 90px; background: #dde }")
    (site / "sub" / "index.html").write_text(
        '<!DOCTYPE html><link rel="stylesheet" href="/look.css"><div id="box">Box</div>'
        '<img src="photo.png" alt=""><button>Load</button><script src="code.js"></script>'
    )
    (site / "sub" / "code.js").write_text(
        "const part = 'words'; fetch(part + '.json').then((r) => r.json()).then((words) => {"
        "document.querySelector('button').onclick = () => { box.textContent = words.text } })"
    )
    (site / "sub" / "words.json").write_text('{"text": "It came over the network."}')
    Image.new("RGB", (160, 80), "red").save(site / "sub" / "photo.png")
    with served(site) as address:
        with pytest.raises(UsageError, match="--allow-network"):
            collect(f"{address}/sub/", tmp_path / "out")
        graph = collect(f"{address}/sub/", tmp_path / "out", allow_network=True)
        with pytest.raises(DownloadError, match="could not be fetched: the server says 404"):
            collect(f"{address}/missing", tmp_path / "none", allow_network=True)
    (one,) = graph.interactions
    assert one.sentence == 'click the "Load" button'
    assert "It came over the network." in one.description
    assert graph.link == f"{address}/sub/"
    with Image.open(tmp_path / "out" / "photo.png") as photo:
        assert photo.size == (160, 80)
        assert len(photo.convert("RGB").getcolors()) == 2  # grey, with its diagonals


def test_links_to_elsewhere_are_cut_and_pictures_become_placeholders(tmp_path):
    source = tmp_path / "source"
    (source / "pictures").mkdir(parents=True)
    Image.new("RGB", (90, 40), "blue").save(source / "pictures" / "one.png")
    (source / "unused.png").write_bytes(b"not named by the page")
    (source / "index.html").write_text(
        '<a href="https://x.example/y">x</a><a href="two.html">two</a><img src="pictures/one.png">'
        "<img src='//cdn.example/z.jpg' srcset='//cdn.example/z2.jpg 2x'>"
        '<form action="http://x.example"></form><video src="film.mp4"></video>'
    )
    (source / "two.html").write_text('<a href="http://x.example">x</a>')
    (source / "film.mp4").write_bytes(b"film")
    out = tmp_path / "out"
    out.mkdir()
    page = prepare(source, out)
    assert "example" not in page.text
    assert 'href="two.html"' in page.text
    assert "example" not in (out / "two.html").read_text()
    with Image.open(out / "pictures" / "one.png") as picture:
        assert picture.size == (90, 40)
    names = {path.name for path in out.rglob("*") if path.is_file()}
    assert names == {"page.html", "two.html", "one.png", "placeholder.png"}
    assert "https://x.example/y" in (source / "index.html").read_text()
    assert cut_links("<a class=b href=http://x.example/>x</a>").count("example") == 0


def test_a_folder_without_a_page_is_said_to_be_one(tmp_path):
    with pytest.raises(InputError, match=re.escape("index.html")):
        collect(tmp_path, tmp_path / "out")
    with pytest.raises(InputError, match="no page"):
        collect(tmp_path / "missing.html", tmp_path / "out")


def test_the_command_tells_what_it_found_and_ctrl_c_keeps_it(tmp_path):
    page = tmp_path / "page.html"
    buttons = "".join(
        f"<p><button onclick=\"this.textContent = 'done {i}'\" class=b{i}>Do {i}</button></p>"
        for i in range(60)
    )
    page.write_text(f"<!DOCTYPE html><dialog id=d>Hello</dialog>{buttons}")
    command = [
        sys.executable,
        "-m",
        "uiproof",
        "collect",
        str(page),
        "--out",
        str(tmp_path / "out"),
    ]
    for seconds in (1, 4, 16, 64):  # a busy machine may have found nothing yet
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            told = run.stderr.readline()  # the first line about progress
            assert told.startswith("uiproof: ")
            time.sleep(seconds)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=120)
        if (tmp_path / "out").exists():
            break
        assert err.rstrip().endswith("Stopped.")
    if 'click the "Do 0" button' not in out:  # else it was quicker than we were
        # The second where the signal came when all was written already.
        assert "found so far are in" in err or err.rstrip().endswith("Stopped.")
    assert read_graph(tmp_path / "out").interactions[0].action.kind == "click"


def test_keys_are_those_that_the_code_names():
    assert keys_in("el.onclick = go") == ()
    assert keys_in('on("keydown", e => e.key === "Enter" || e.key === "j")') == ("Enter", "j")
    assert keys_in("onkeydown = e => { if (e.keyCode == 40) next() }") == ("ArrowDown",)
    assert "Enter" in keys_in("addEventListener('keydown', anything)")


def test_fields_get_texts_that_fit_them():
    assert texts(element("input", type="email"), "word")[0].count("@") == 1
    assert texts(element("input", label="Your e-mail", type="text"), "word")[0].count("@") == 1
    assert texts(element("input", type="search"), "tent") == ("tent",)
    entries = [element("li", name, ref=i) for i, name in enumerate(("Red tent", "Buy", "Buy"))]
    assert common_word(Snapshot(tuple(entries), (100, 100), "")) == "tent"


def test_hover_rules_are_found_unless_they_only_draw_a_line():
    styles = """
      a:hover { text-decoration: underline } .menu:hover ul { display: block }
      /* .x:hover { top: 0 } */
      .card:hover, .tile:hover { transform: scale(1.2) } nav > li:hover > .sub { opacity: 1 }
      button:hover { background: red; color: white }
    """
    found = hover_selectors(styles)
    assert "a" not in found
    assert ".x" not in found
    assert {".menu", "nav > li", "button"} <= set(found)


SITE = PAGES / "site"


def test_a_components_parts_come_first_and_what_opens_is_explored(tmp_path):
    found = collect_page(SITE / "menus" / "sections.html", tmp_path / "out", root=SITE)
    sentences = [one.sentence for one in found.graph.interactions]
    # All three sections, before anything else; no link, no focus ring, no label.
    assert sentences[:3] == [
        'click the "Your name" button',
        'click the "Where the bill goes" button',
        'click the "Where the parcel goes" button',
    ]
    assert sentences[3] == 'click the "Remove all" button'
    # Closing by the button and by Escape are one; either may be named.
    assert 'click the "Remove them" button' in sentences[4:]
    assert len(sentences) == 6
    assert found.dropped["leaves the page"] >= 1
    ask, inside = found.graph.interactions[3], found.graph.interactions[4]
    assert inside.source == ask.target
    assert found.graph.way_to(inside) == (ask,)
    # The style sheet above the page's folder was used, and the missing file is named.
    assert (tmp_path / "out" / "shared" / "look.css").is_file()
    assert found.missing == ("../shared/nothing.js",)
    drawing = draw_graph(found.graph)
    assert drawing.count("<image ") == len({one.target for one in found.graph.interactions}) + 1
    assert "Where the parcel" in drawing


WIDGETS = """<!DOCTYPE html><style>
  [role=radio]::before { content: "o " } [aria-checked=true]::before { content: "x " }
  [aria-selected=true] { background: #9cf } button:focus { background: #024; color: #fff }
  [hidden] { display: none } li { cursor: default }
</style>
<a href="elsewhere.html">Elsewhere</a> <a href="https://elsewhere.example/">Far away</a>
<form action="https://pens.example/" method="post" target="_blank"><button>Edit</button></form>
<label for="who">Who</label> <input id="who">
<div role="radio" tabindex="0" aria-checked="false"
  onclick="this.setAttribute('aria-checked', true)">Thin crust</div>
<ul role="listbox" tabindex="0"><li role="option">Lead</li><li role="option">Tin</li>
  <li role="option">Zinc</li></ul>
<button aria-expanded="false" aria-controls="more">More</button>
<div id="more" hidden><a href="#" onclick="said.textContent = 'All of it'">Overview</a></div>
<h2 id="said">Start</h2>
<script>
  const list = document.querySelector("[role=listbox]"), options = [...list.children];
  const more = document.querySelector("[aria-expanded]"), box = document.getElementById("more");
  const choose = (one) => options.forEach((o) => o.setAttribute("aria-selected", o === one));
  list.onclick = (e) => choose(e.target);
  list.onkeydown = (e) => {
    if (e.key === "ArrowDown") choose(options[0]);
    if (e.key === "End") choose(options[2]);
  };
  const open = (yes) => { box.hidden = !yes; more.setAttribute("aria-expanded", yes); };
  more.onclick = () => open(box.hidden);
  more.onkeydown = (e) => { if (e.key === "Escape") open(false); };
</script>"""


def test_widgets_of_a_page_are_asked_with_the_keys_of_their_roles_and_closed_again(tmp_path):
    graph = explored(tmp_path, WIDGETS)
    inside = {one.sentence for one in graph.interactions if one.source != "0"}
    first = {one.sentence for one in graph.interactions if one.source == "0"}
    # Links and forms that leave the page, a field and its label do nothing here.
    assert first == {
        'click the "o Thin crust" radio button',
        'click the "Lead" option',
        'click the "Tin" option',
        'click the "Zinc" option',
        'click the "More" button',
    }
    # Closing by the button and by Escape are one, and so is the key that does what a click did.
    assert 'click the "Overview" link' in inside
    closing = {'click the "More" button', 'press the Escape key in the "More" button'}
    assert len(inside & closing) == 1
    assert len(inside) == 2


def test_files_above_a_page_need_a_root_and_links_can_be_kept(tmp_path):
    page = SITE / "menus" / "sections.html"
    found = collect_page(page, tmp_path / "out", depth=1, links=True)
    assert set(found.missing) == {"../shared/look.css", "../shared/nothing.js"}
    assert 'click the "Other patterns" link' in [one.sentence for one in found.graph.interactions]
    with pytest.raises(InputError, match="--root"):
        collect_page(page, tmp_path / "none", root=PAGES / "site" / "shared")


def test_many_pages_are_collected_once_and_none_stops_the_others(tmp_path):
    pages = tmp_path / "pages"
    (pages / "two").mkdir(parents=True)
    button = (
        "<!DOCTYPE html><button onclick=\"this.textContent = 'Thank you very much'\">Go</button>"
    )
    (pages / "one.html").write_text(button)
    (pages / "two" / "index.html").write_text(button * 2)
    (pages / "still.html").write_text("<!DOCTYPE html><p>Nothing happens here.</p>")
    first = {one.page: one for one in collect_pages([pages], tmp_path / "data", depth=1)}
    assert {name: one.kept for name, one in first.items()} == {"one": 1, "still": 0, "two": 1}
    assert "No interaction was found" in first["still"].error
    assert read_graph(tmp_path / "data" / "two").interactions
    (tmp_path / "data" / "one" / "action.json").unlink()  # it is not made again
    again = list(collect_pages([pages], tmp_path / "data", depth=1))
    assert again == list(first.values())
    assert not (tmp_path / "data" / "one" / "action.json").exists()
    few = collect_pages([pages / "one.html"], tmp_path / "few", depth=1, at_least=2)
    assert [one.error.split(":")[0].split(" found")[0] for one in few] == [
        "Only 1 interactions were"
    ]
