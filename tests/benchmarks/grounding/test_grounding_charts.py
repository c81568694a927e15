from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from grounding_records import assisted, click, hit, scored
from PIL import Image

from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF
from uiproof.benchmarks.grounding.charts import draw_charts
from uiproof.benchmarks.grounding.results import MethodMetrics, metrics_of

SIZES = {
    "detection_rate_overall.png": (1800, 900),
    "detection_rate_by_size.png": (1800, 900),
    "accuracy_vs_latency.png": (1500, 1200),
}


def run(name, share, *, latency=1.0, dataset="synthetic", shown=False, protocol=UIPROOF):
    records = []
    for number in range(24):
        answer = hit() if number < share * 24 else click(500, 500)
        if shown:
            answer = assisted(number < share * 24, 0.5, answer=answer)
        records.append(
            scored(
                f"s{number // 3}/e{number}",
                answer,
                side=(20, 50, 120)[number % 3],
                calls=[{"network_seconds": latency * (1 + number / 24)}],
            )
        )
    return metrics_of(records, method=name, dataset=dataset, assisted=shown, protocol=protocol)


def six(**more):
    names = ("omniparser", "omniparser-fixed", "omniparser-screenseeker", "a", "b", "c")
    return [run(name, 0.95 - 0.1 * i, **more) for i, name in enumerate(names)]


def pixels(file):
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize(
    "metrics",
    [
        six(),
        [*six(), *six(dataset="other")],
        [
            run("quick", 0, latency=0.0),
            run("slow", 0.6, latency=20),
            MethodMetrics("old", "y", 0.5, 0, 0, 1, 0, 0.5, 0, {}, 10, 5),  # without results
        ],
    ],
    ids=["six", "two-data-sets", "far-apart"],
)
def test_three_charts_have_the_described_names_and_sizes(tmp_path, metrics):
    files = draw_charts(metrics, tmp_path / "charts")
    svgs = [name.replace(".png", ".svg") for name in SIZES]
    assert sorted(file.name for file in files) == sorted([*SIZES, *svgs])
    for file in (tmp_path / "charts").glob("*.svg"):
        assert ElementTree.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    for file in (tmp_path / "charts").glob("*.png"):
        with Image.open(file) as image:
            assert image.size == SIZES[file.name]
            assert image.format == "PNG"
            assert image.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    assert {file.name for file in (tmp_path / "charts").iterdir()} == {*SIZES, *svgs}


def test_nothing_is_drawn_of_nothing(tmp_path):
    assert draw_charts([], tmp_path / "charts") == []
    assert not (tmp_path / "charts").exists()


def test_longer_bars_are_higher_rates_and_those_of_assisted_methods_are_hatched(tmp_path):
    runs = (run("a", 0.25), run("a", 0.75), run("a", 0.75, shown=True))
    blue = [0x00, 0x72, 0xB2]  # the first colour
    filled = []
    for number, one in enumerate(runs):
        draw_charts([one], tmp_path / str(number))
        files = [tmp_path / str(number) / name for name in SIZES]
        filled.append([(np.abs(pixels(file) - blue) < 3).all(axis=2).sum() for file in files])
    low, high, shown = filled
    assert high[0] == pytest.approx(3 * low[0], rel=0.1)
    assert all(hatched < 0.9 * solid for hatched, solid in zip(shown[:2], high[:2], strict=True))
    drawing = (tmp_path / "2" / "detection_rate_overall.svg").read_text()
    [pattern] = re.findall(r"<pattern.*?</pattern>", drawing, re.DOTALL)
    assert len(set(re.findall(r"(?:fill=\"|stroke: )(#\w+)", pattern))) == 2
    assert shown[2] < high[2]  # most of a point's colour is in its whiskers


def test_drawing_leaves_no_state_behind_and_needs_no_screen(tmp_path):
    code = (
        "import sys; from pathlib import Path;"
        "from uiproof.benchmarks.grounding.results import MethodMetrics;"
        "from uiproof.benchmarks.grounding.charts import draw_charts;"
        "assert 'matplotlib' not in sys.modules;"
        "draw_charts([MethodMetrics('x', 'y', 0.5, 0, 0, 1, 0, 0, 0, {}, 10, 5)], Path('out'));"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)


def test_points_have_names_and_axes_end_where_the_points_do(tmp_path):
    draw_charts([run("first", 0.5, latency=0.1), run("second", 0.75, latency=0.2)], tmp_path)
    chart = (tmp_path / "accuracy_vs_latency.svg").read_text()
    written = re.findall(r"<text[^>]*>([^<]+)</text>", chart)
    assert {"first", "second"} <= set(written)
    numbers = [float(text) for text in written if text.replace(".", "").isdigit()]
    assert 0 < max(numbers) < 1000  # and not as far as the guide line at 2,000 ms
    assert "dashed" not in chart


def both_protocols():
    return [
        run(name, share, shown=True, protocol=protocol)
        for name, share in (("OmniParser + screenseeker", 1.0), ("UI-TARS + baseline", 0.1))
        for protocol in (UIPROOF, OPENADAPT)
    ]


@pytest.mark.parametrize("chart", ["_overall", "_by_size", "_against_latency"])
def test_nothing_that_is_written_is_cut_off(chart):
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from uiproof.benchmarks.grounding import charts

    figure = Figure(figsize=(12, 6), layout="constrained")
    getattr(charts, chart)(figure, both_protocols())
    figure.draw_without_rendering()
    # Names and counts; ticks beyond the ends of an axis are there too, but not drawn.
    written = [text for text in figure.findobj(Text) if re.search(r"\[|n = ", text.get_text())]
    boxes = {text.get_text(): Text.get_window_extent(text) for text in written}
    assert any("openadapt-0.1.2]" in name for name in boxes)  # whole names
    for name, box in boxes.items():
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width, name
        assert 0 <= box.y0 < box.y1 <= figure.bbox.height, name


def test_a_method_has_one_colour_and_each_rule_for_sizes_a_panel_that_names_it():
    from matplotlib.figure import Figure

    from uiproof.benchmarks.grounding.charts import _by_size

    figure = Figure(figsize=(12, 6), layout="constrained")
    _by_size(figure, both_protocols())
    area, short_side = figure.axes
    assert (area.get_title(), short_side.get_title()) == (
        "sizes by the area",
        "sizes by the short side",
    )
    colours = [{bar.get_edgecolor() for bar in axes.patches} for axes in figure.axes]
    assert colours[0] == colours[1]
    assert len(colours[0]) == 2
    hatches = [{bar.get_hatch() for bar in axes.patches} for axes in figure.axes]
    assert hatches[0].isdisjoint(hatches[1])


def test_a_rate_without_an_interval_has_no_whisker():
    from matplotlib.figure import Figure

    from uiproof.benchmarks.grounding.charts import _overall

    one = MethodMetrics("old", "y", 0.5, 0, 0, 1, 0, 0.5, 0, {}, 10, 5)
    figure = Figure()
    _overall(figure, [one])
    assert not figure.axes[0].collections
    _overall(figure := Figure(), [run("new", 0.5)])
    assert figure.axes[0].collections
