from __future__ import annotations

import numpy as np
import pytest
from interaction_runs import many, written
from PIL import Image

from uiproof.benchmarks.interaction2code.analyses.canvas import COLOURS, bars, draw
from uiproof.benchmarks.interaction2code.analyses.charts import draw_charts, draw_label_charts
from uiproof.benchmarks.interaction2code.analyses.labels import Label, LabelFile, LabelFolder, Vote
from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
from uiproof.benchmarks.interaction2code.analyses.tables import magnified
from uiproof.stats.intervals import Interval

CHARTS = {
    *("usability.png", "implemented.png", "failures.png", "usability_by_tags.png"),
    *("usability_by_visuals.png", "saliency_scores.png", "saliency.png", "magnification.png"),
}


def pixels(file):
    with Image.open(file) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB")).astype(int)


def coloured(file, colour):
    """How many pixels have a colour, nearly."""
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return int((np.abs(pixels(file) - wanted).max(axis=2) < 6).sum())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The charts of five runs."""
    folder = tmp_path_factory.mktemp("charts")
    prompts = ["direct", "mark", "mark:2x"]
    runs = [
        written(folder / f"m{number}", "a-model", many(number), prompt=prompt)
        for number, prompt in enumerate(prompts)
    ]
    runs += [written(folder / f"b{number}", f"b{number}", many(9 + number)) for number in (0, 1)]
    return {file.name: file for file in draw_charts(results_of(runs), folder / "charts")}


def test_every_figure_of_the_paper_is_drawn(drawn):
    assert set(drawn) == CHARTS
    for file in drawn.values():
        found = pixels(file)
        assert found.shape[1] >= 1500
        # Something is drawn, nothing runs over the edge.
        assert (found < 128).any()
        edges = (found[:3], found[-3:], found[:, :3], found[:, -3:])
        assert all(edge.min() > 200 for edge in edges), file.name


def test_no_runs_no_charts(tmp_path):
    assert draw_charts([], tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_runs_that_differ_in_nothing_but_magnification_are_a_series(tmp_path):
    prompts = ["mark", "mark:2x", "mark:T", "cot:3x"]
    runs = [written(tmp_path / prompt, "a", [], prompt=prompt) for prompt in prompts]
    (series,) = magnified(results_of(runs))
    assert [one.prompt.name for one in series] == ["mark", "mark:2x"]


def test_longer_bars_are_higher_rates(tmp_path):
    lengths = []
    for share in (0.2, 0.8):
        rates = {"a": Interval(share, share, share, 10), "unknown": None}
        (file,) = draw(
            {"bars": (lambda figure, r=rates: bars(figure.add_subplot(), r, COLOURS[:2]), (8, 3))},
            tmp_path,
        )
        lengths.append(coloured(file, COLOURS[0]))
    assert lengths[1] == pytest.approx(4 * lengths[0], rel=0.1)


def test_labels_of_people_are_drawn_by_model(tmp_path):
    files = tuple(
        LabelFile(model, "direct", tuple(Label(str(page), "1", letter, False) for page in range(9)))
        for model, letter in (("gpt", "a"), ("claude", "j"))
    )
    votes = LabelFile("gpt", "cot", (Vote("1", "1", "win"), Vote("1", "2", "lose")))
    _, file, preferred = draw_label_charts(LabelFolder(files, (votes,)), tmp_path)
    assert coloured(preferred, COLOURS[2]) == pytest.approx(
        coloured(preferred, COLOURS[5]), rel=0.05
    )
    assert coloured(file, COLOURS[0]) == pytest.approx(coloured(file, COLOURS[1]), rel=0.05)
    assert draw_label_charts(LabelFolder((), ()), tmp_path) == []
