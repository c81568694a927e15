"""A benchmark of another package brings its own case view, style sheet, tables and charts."""

from __future__ import annotations

import json
import sys

import pytest

from uiproof.benchmark import Record
from uiproof.engine.rundir import RunDirectory, encode
from uiproof.report import write_report
from uiproof.report.html import Linked, report_file, report_page
from uiproof.report.tables import comparison_details, comparison_markdown

PACKAGE = """
from uiproof.benchmark import Benchmark, Metric
from uiproof.charts import draw
from uiproof.markup import tag
from uiproof.tables import Table
from uiproof.views import Analyses, CardView, Filter, ShownCase


class Stars(CardView):
    styles = (*CardView.styles, "starry:stars.css")
    title, search, legend = "Stars", "id", {"truth": "a star"}
    outcomes_title, outcomes = "Ends", ("bright", "dark")

    def filters(self):
        return [Filter.of("End", self.cases, lambda case: [case.record.details["end"]])]

    def card(self, case, run, **attributes):
        return tag("li", f"<{case.record.id}>", **attributes)


class Starry(Benchmark):
    name = "starry"
    metrics = (Metric("bright", "Bright"),)

    def recognises(self, path):
        return False

    cases = method = judge = None

    def case_view(self, board, runs, pictures):
        cases = [ShownCase(n, record) for n, run in enumerate(runs) for record in run.records()]
        ends = [[case.record.details["end"] for case in cases if case.run == n]
                for n in range(len(runs))]
        counts = [{end: some.count(end) for end in set(some)} for some in ends]
        return Stars(board, cases, counts)

    def analyses(self, board, runs):
        def drawn(folder):
            draw({"sky": (lambda figure: figure.add_subplot().plot([1, 2]), (4, 3))}, folder)

        table = Table("Nights", ("Run", "n"), tuple((row.name, str(row.n)) for row in board.rows))
        return Analyses([table], {"sky": "The sky at night"}, drawn)


BENCHMARK = Starry()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    package = tmp_path / "site" / "starry"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    (package / "stars.css").write_text(".star { color: gold }")
    about = package.parent / "starry-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: starry\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[uiproof.benchmarks]\nstarry = starry:BENCHMARK\n")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "starry", raising=False)
    made = RunDirectory(tmp_path / "run")
    made.path.mkdir()
    ends = ["bright", "dark", "bright"]
    records = [
        Record(f"star-{n}", "scored", {"bright": float(end == "bright")}, details={"end": end})
        for n, end in enumerate(ends)
    ]
    made.journal.write_bytes(b"".join(map(encode, records)))
    manifest = {"format": 1, "benchmark": "starry", "dataset": "sky", "method": "telescope"}
    (made.path / "run.json").write_text(json.dumps(manifest))
    mean = {"mean": 2 / 3, "low": None, "high": None, "n": 3, "clusters": 3}
    made.write_summary({"n": 3, "failed": 0, "scores": {"bright": mean}, "complete": True})
    yield made
    sys.modules.pop("starry", None)


def test_its_view_and_analyses_are_in_the_report(run, tmp_path):
    page = write_report([run], tmp_path / "report.html").read_text("utf-8")
    for text in (
        ".star { color: gold }",
        "&lt;star-2&gt;",
        '<h2 id="verdicts-title">Ends</h2>',
        '<span class="mean">2</span>',
        "The sky at night",
        "data:image/svg+xml;base64",
        ">Nights</h3>",
    ):
        assert text in page


def test_a_server_finds_its_files_and_no_other_packages(run):
    page = "".join(report_page([run], pictures=Linked("/pictures", files_url="/files")))
    assert 'href="/files/starry:stars.css"' in page
    assert report_file("starry:stars.css") == (".star { color: gold }", "text/css")
    assert report_file("starry:other.css") is None
    assert report_file("starry:__init__.py") is None
    assert report_file("antigravity:stars.css") is None
    assert "antigravity" not in sys.modules


def test_its_tables_and_charts_are_compared_and_drawn(run, tmp_path):
    assert "### Nights\n\n| Run | n |" in comparison_markdown([run])
    assert "Nights" in comparison_details([run], charts_dir=tmp_path / "charts")
    assert {file.name for file in (tmp_path / "charts").iterdir()} == {"sky.png", "sky.svg"}
