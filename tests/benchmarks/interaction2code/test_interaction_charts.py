from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from interaction_runs import many, scored, written
from PIL import Image

from uiproof.benchmarks.interaction2code.analyses.charts import (
    draw_charts,
    draw_label_charts,
    run_charts,
)
from uiproof.benchmarks.interaction2code.analyses.labels import Label, LabelFile, LabelFolder, Vote
from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
from uiproof.benchmarks.interaction2code.analyses.tables import magnified
from uiproof.browser import PageSource, Renderer
from uiproof.charts import COLOURS, bars, draw
from uiproof.stats.intervals import Interval
from uiproof.vision.images import decode

CHARTS = {
    *("usability.svg", "comparisons.svg", "implemented.svg", "failures.svg"),
    *("usability_by_tags.svg", "usability_by_visuals.svg", "saliency_scores.svg", "saliency.svg"),
    *("magnification.svg", "failures_of_elements.svg", "failures_of_effects.svg"),
    *("saliency_scores_paper.svg", "magnification_paper.svg"),
}
LONG = "vendor/a-model-with-a-name-that-is-much-longer-than-any-legend-can-be-wide-2026-11-17"


@pytest.fixture(scope="module")
def pixels():
    """How a chart looks in a browser, 1,200 pixels wide."""

    def look(file):
        style = "<style>* { margin: 0 } img { width: 1200px; display: block }</style>"
        page = PageSource.from_html(f"{style}<img src='data:image/svg+xml;base64,{encoded(file)}'>")
        with renderer.stage(page, (1200, 300)) as stage:
            return decode(stage.screenshot())[:, :1200].astype(int)

    with Renderer() as renderer:
        yield look


def encoded(file):
    from base64 import b64encode

    return b64encode(file.read_bytes()).decode()


def said(file):
    """The texts of a chart, line by line."""
    texts = ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


def coloured(file, colour):
    """The widths and heights of what a chart fills with a colour, in order."""
    sizes = []
    for path in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}path"):
        if f"fill: {colour.lower()}" in path.get("style", ""):
            numbers = list(map(float, re.findall(r"-?[0-9.]+", path.get("d"))))
            xs, ys = numbers[::2], numbers[1::2]
            sizes.append((max(xs) - min(xs), max(ys) - min(ys)))
    return sizes


def drawn_alone(name, runs, folder):
    """One of the charts of some runs."""
    _, svg = draw({name: dict(run_charts(results_of(runs)))[name]}, folder)
    return svg


def with_pictures(folder, record):
    """The record with pictures of both sides, as a judge leaves them."""
    artifacts = {}
    for side in ("reference", "generated"):
        for moment in ("before", "after"):
            file = folder / "artifacts" / record.id / f"{side}_{moment}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (640, 480), "teal" if side == "reference" else "purple").save(file)
            artifacts[f"{side}_{moment}"] = file.relative_to(folder).as_posix()
    boxes = {"trigger": [10, 10, 90, 40], "region": [100, 50, 300, 200]}
    details = {**record.details, "reference": boxes, "generated": {**boxes, "trigger": None}}
    return replace(record, artifacts=artifacts, details=details)


def shown_run(folder, method, records):
    """A run whose cases have pictures if they failed."""
    written(folder, method, [])  # first, so that its pictures lie in a run
    shown = [
        record if record.details["verdict"]["failure"] == "none" else with_pictures(folder, record)
        for record in records
    ]
    return written(folder, method, shown)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The charts of four runs, the last with pictures."""
    folder = tmp_path_factory.mktemp("charts")
    runs = [
        written(folder / f"m{number}", LONG, many(number), prompt=prompt)
        for number, prompt in enumerate(["direct", "mark", "mark:2x"])
    ]
    kinds = [scored(f"{page}/9", failure=letter) for page, letter in enumerate("abcdefghij")]
    runs.append(shown_run(folder / "b1", "$b1$", kinds))
    return {file.name: file for file in draw_charts(results_of(runs), folder / "charts")}


def test_every_figure_of_the_paper_is_drawn(drawn, pixels):
    assert set(drawn) == CHARTS
    for file in drawn.values():
        found = pixels(file)
        # Something is drawn, nothing runs over the edge.
        assert (found < 128).any()
        edges = (found[:3], found[-3:], found[:, :3], found[:, -3:])
        assert all(edge.min() > 200 for edge in edges), file.name


def test_the_same_runs_give_the_same_files(tmp_path):
    runs = [written(tmp_path / "a", "a", many(1))]
    one, two = (drawn_alone("failures", runs, tmp_path / copy) for copy in "xy")
    assert one.read_bytes() == two.read_bytes()


def test_long_names_are_on_several_lines_and_whole(drawn):
    for name in ("failures.svg", "implemented.svg", "usability.svg", "magnification.svg"):
        texts = said(drawn[name])
        first = next(place for place, text in enumerate(texts) if text.startswith("vendor/"))
        assert "".join(texts[first : first + 4]).startswith(LONG), name
        assert not any("…" in text for text in texts)
    assert any("b1" in text for text in said(drawn["failures.svg"]))


def test_figures_7_and_8_show_an_example_of_each_failure(drawn, tmp_path):
    text = drawn["failures_of_elements.svg"].read_text("utf-8")
    assert text.count("data:image/png;base64") == 10  # both sides of five failures
    assert "(Fig. 7)" in " ".join(said(drawn["failures_of_elements.svg"]))
    run = shown_run(tmp_path / "run", "a", [scored("1/1", failure="h")])
    assert "failures_of_elements" not in dict(run_charts(results_of([run])))
    effects = drawn_alone("failures_of_effects", [run], tmp_path / "charts")
    assert effects.read_text("utf-8").count("data:image/png;base64") == 2
    assert said(effects).count("none in these runs") == 8


def test_figure_9_has_a_panel_for_each_model_with_the_most_frequent_on_top(tmp_path):
    records = [scored(f"{page}/1", failure="j" if page else "a") for page in range(4)]
    runs = [written(tmp_path / "a", "a", records), written(tmp_path / "b", "b", records[:1])]
    texts = said(drawn_alone("failures", runs, tmp_path))
    first = [text for text in texts if text.startswith("(") and text[2:3] == ")"]
    assert first[:2] == ["(j) wrong function", "(a) interactive element missing"]
    assert [text for text in texts if text.endswith(" %")][:2] == ["75.00 %", "25.00 %"]
    assert "n = 1" in texts
    # The bar of 100 % leaves room for its number, which the axis does not count on to 120.
    ticks = [int(text) for text in texts if text.isdigit()]
    assert ticks == [0, 20, 40, 60, 80, 100] * 2


def test_figure_12_stands_where_the_cases_arrived(tmp_path):
    records = [
        replace(scored(f"{page}/1"), calls=({"magnified": 1.5 if page else 3.0},))
        for page in range(10)
    ]
    runs = [
        written(tmp_path / "1", "a", records, prompt="direct"),
        written(tmp_path / "3", "a", records, prompt="direct:3x"),
    ]
    texts = said(drawn_alone("magnification", runs, tmp_path))
    assert {"1x", "1.65x", "3x asked, in full", "in 1 of 10"} <= set(texts)


def test_no_runs_no_charts(tmp_path):
    assert draw_charts([], tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_runs_that_differ_in_nothing_but_magnification_are_a_series(tmp_path):
    prompts = ["mark", "mark:2x", "mark:T", "cot:3x"]
    runs = [written(tmp_path / prompt, "a", [], prompt=prompt) for prompt in prompts]
    series = magnified(results_of(runs))
    names = [[one.prompt.name for one in runs] for runs in series]
    assert names == [["cot:3x"], ["mark", "mark:2x"]]


def test_longer_bars_are_higher_rates(tmp_path):
    lengths = []
    for share in (0.2, 0.8):
        rates = {"a": Interval(share, share, share, 10), "unknown": None}
        _, file = draw(
            {"bars": (lambda figure, r=rates: bars(figure.add_subplot(), r, COLOURS[:2]), (8, 3))},
            tmp_path,
        )
        ((width, _),) = coloured(file, COLOURS[0])
        lengths.append(width)
    assert lengths[1] == pytest.approx(4 * lengths[0], rel=0.01)


def test_labels_of_people_are_drawn_by_model(tmp_path):
    files = tuple(
        LabelFile(model, "direct", tuple(Label(str(page), "1", letter, False) for page in range(9)))
        for model, letter in (("gpt", "a"), ("claude", "j"))
    )
    votes = LabelFile("gpt", "cot", (Vote("1", "1", "win"), Vote("1", "2", "lose")))
    _, file, preferred = draw_label_charts(LabelFolder(files, (votes,)), tmp_path)
    assert coloured(preferred, COLOURS[2])[0] == pytest.approx(coloured(preferred, COLOURS[5])[0])
    longest = [max(coloured(file, colour))[0] for colour in COLOURS[:2]]
    assert longest[0] == pytest.approx(longest[1])
    assert draw_label_charts(LabelFolder((), ()), tmp_path) == []


def test_what_a_run_says_about_its_pictures_is_not_trusted(tmp_path):
    Image.new("RGB", (60, 40), "teal").save(tmp_path / "secret.png")
    outside = dict.fromkeys(("reference_before", "reference_after"), "../secret.png")
    odd = {"trigger": [9, 9, 1, 1], "region": ["x", None, 1e9, 3]}
    hostile = [
        replace(scored("1/1", failure="f"), artifacts=outside),
        replace(scored("1/2", failure="g"), details={**scored("1/2").details, "reference": "none"}),
    ]
    run = shown_run(tmp_path / "run", "a", [scored("1/3", failure="h")])
    (judged,) = run.records()
    hostile.append(replace(judged, details={**judged.details, "reference": odd, "generated": odd}))
    run = written(tmp_path / "run", "a", hostile)
    shown = drawn_alone("failures_of_effects", [run], tmp_path / "charts").read_text("utf-8")
    assert shown.count("data:image/png;base64") == 2  # of the last one alone
