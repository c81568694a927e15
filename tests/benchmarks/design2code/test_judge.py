from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import uiproof
from uiproof.benchmarks.design2code.cases import cases
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.summary import PAPER, STRICT
from uiproof.browser import PageSource, Renderer
from uiproof.browser.tab import Tab
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import ReferenceRenderError
from uiproof.process_tree import kill_tree
from uiproof.vision.images import decode, read

DEMO = Path(uiproof.__file__).parent / "demo" / "design2code"
PAGE = "<html><body><h1>Hello there</h1><p>Some words.</p></body></html>"
FOUR = ("block_match", "text", "position", "color")


class CountingRenderer:
    """Passes pages on to the module's renderer, of which there can be only one in a thread."""

    def __init__(self, renderer):
        self._renderer = renderer
        self.limits, self.web_digest = renderer.limits, renderer.web_digest
        self.opened = 0

    def open(self, source, limits=None):
        self.opened += 1
        return self._renderer.open(source, limits)

    def close(self):
        """The renderer stays for other judges."""


@pytest.fixture(scope="module")
def judging():
    """Makes judges for `with`; `judge.renderer.opened` says how many pages they opened."""
    with Renderer() as renderer:

        @contextmanager
        def judging(run=None):
            judge = Design2CodeJudge(run)
            judge.renderer = judge._renderer = CountingRenderer(renderer)
            try:
                yield judge
            finally:
                judge.close()

        yield judging


@pytest.fixture(scope="module")
def judge(judging):
    with judging() as judge:
        yield judge


@pytest.fixture(scope="module")
def paper(judge):
    """The paper's four scores of a generated page against a reference, both as bytes."""

    def paper(reference, generated):
        sources = []
        for number, data in enumerate((reference, generated)):
            path = paper.folder / f"{number}.html"
            path.write_bytes(data)
            sources.append(PageSource.from_file(path))
        scores = judge.compare(*sources)[0].scores["paper"]
        return [scores[name] for name in FOUR]

    return paper


@pytest.fixture
def data(tmp_path):
    """A small data set: two pages and the placeholder picture."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "1.html").write_text(PAGE)
    (folder / "2.html").write_text(PAGE.replace("Hello", "Bye") + '<img src="rick.jpg">')
    shutil.copy(DEMO / "reference" / "rick.jpg", folder)
    return folder


def case_of(folder, name="1"):
    return next(case for case in cases(folder) if case.id == name)


def digests(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# What a score is


def test_a_score_has_every_name_of_both_profiles_and_can_be_written_as_json(judge, data):
    score = judge.score(case_of(data), PageSource.from_html(PAGE))
    scores = json.loads(json.dumps(score.scores))
    assert tuple(scores) == ("paper", "strict", "human")
    assert set(scores["paper"]) == set(PAPER)
    assert set(scores["strict"]) == set(STRICT)
    json.dumps(score.details)


def test_without_clip_the_final_score_is_not_measured_and_the_mean_of_four_is(judge, data, no_clip):
    scores = judge.score(case_of(data), PageSource.from_html("<h1>Hello where</h1>")).scores
    for profile in ("paper", "strict"):
        assert scores[profile]["clip"] is None
        assert scores[profile]["final"] is None
    four = [scores["paper"][name] for name in FOUR]
    assert scores["paper"]["mean_without_clip"] == pytest.approx(fmean(four))
    assert 0 < scores["human"] < 1


def test_details_hold_the_merged_blocks_and_their_matches(judge, data):
    details = judge.score(case_of(data), PageSource.from_html(PAGE)).details
    assert details["profile"] == "paper"
    assert details["reference"] == details["generated"]
    assert (details["reference"]["width"], details["reference"]["height"]) == (1280, 720)
    texts = [block["text"] for block in details["reference"]["blocks"]]
    assert texts == ["hello there", "some words."]
    assert details["matches"] == [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]


def test_a_failure_scores_zero_and_nothing_that_was_not_measured():
    judge = Design2CodeJudge()
    scores = judge.failure(None).scores
    judge.close()
    for profile, names in (("paper", PAPER), ("strict", STRICT)):
        for name in names:
            unmeasured = name in ("clip", "final")
            assert scores[profile][name] == (None if unmeasured else 0)
    assert scores["human"] == 0


def test_scores_come_with_what_was_unusual(judge):
    page = "<p>Words</p><img src='http://elsewhere.example/x.png'>"
    score, _ = judge.compare(PageSource.from_html(PAGE), PageSource.from_html(page + "<br>" * 60))
    assert "generated:requests_blocked" in score.flags
    assert "generated:cleaned" in score.flags
    score, _ = judge.compare(PageSource.from_html(page), PageSource.from_html(PAGE))
    assert score.flags == ("reference:requests_blocked",)


# References and artifacts


def test_artifacts_are_written_into_the_run_and_can_be_read(judging, data, tmp_path):
    run = tmp_path / "run"
    with judging(run) as judge:
        score = judge.score(case_of(data), PageSource.from_html("<p>Words</p>"))
    assert set(score.artifacts) == {"reference", "generated", "html", "differences"}
    paths = {name: RunDirectory(run).artifact(path) for name, path in score.artifacts.items()}
    assert read(paths["reference"]).shape == read(paths["generated"]).shape == (720, 1280, 3)
    assert paths["html"].read_text() == "<p>Words</p>"


def test_without_a_run_nothing_is_kept(judge, data):
    before = digests(data)
    assert judge.score(case_of(data), PageSource.from_html(PAGE)).artifacts == {}
    assert digests(data) == before


def test_references_are_rendered_once_for_questions_and_all_answers(judging, data, tmp_path):
    with judging(tmp_path / "run") as judge:
        case = case_of(data)
        question = judge.pose(case)
        for text in ("One", "Two"):
            judge.score(case, PageSource.from_html(f"<p>{text}</p>"))
        assert judge.renderer.opened == 3
        first = judge.score(case, PageSource.from_html(PAGE)).scores
        assert judge.renderer.opened == 4
    assert question.texts == ("Hello there", "Some words.")
    assert read(question.screenshot).shape == (720, 1280, 3)
    with judging(tmp_path / "run") as other:
        again = other.score(case, PageSource.from_html(PAGE)).scores
        assert other.pose(case) == question
        assert other.renderer.opened == 1  # the generated page only
    assert again == first
    assert again["strict"]["mean_without_clip"] == 1


def test_a_damaged_reference_in_a_run_is_rendered_again(judging, data, tmp_path):
    run = tmp_path / "run"
    with judging(run) as judge:
        question = judge.pose(case_of(data))
    stored = question.screenshot.with_suffix(".json")
    stored.write_bytes(stored.read_bytes()[:40])
    with judging(run) as judge:
        assert judge.pose(case_of(data)) == question
        assert judge.renderer.opened == 1


def test_a_changed_reference_page_is_another_page(judging, data, tmp_path):
    with judging(tmp_path / "run") as judge:
        before = judge.pose(case_of(data))
        (data / "1.html").write_text("<p>Other words</p>")
        assert judge.pose(case_of(data)).texts == ("Other words",)
        assert before.texts != ("Other words",)


# What a generated page may see


@pytest.mark.parametrize(
    "trick",
    [
        '<iframe src="1.html"></iframe><object data="1.html"></object><img src="1.png">'
        '<img src="link.png"><img src="./sub/../1.png"><img src="%31.png">',
        "<script>fetch('1.html').then((r) => r.text()).then((t) => document.write(t))</script>",
    ],
)
def test_a_generated_page_beside_the_reference_cannot_show_it(judge, data, trick):
    (data / "1.png").write_bytes(read_demo_picture())
    (data / "sub").mkdir()
    (data / "link.png").symlink_to(data / "1.png")
    generated = data / "other.html"
    generated.write_text(f"<html><body>{trick}</body></html>")
    score = judge.score(case_of(data), PageSource.from_file(generated))
    assert score.scores["paper"]["mean_without_clip"] == 0
    assert score.scores["strict"]["text"] == 0
    # What is seen is what a page sees whose picture is not there at all.
    _, alone = judge.compare(
        PageSource.from_file(data / "1.html"), PageSource.from_html(generated.read_text())
    )
    _, seen = judge.compare(
        PageSource.from_file(data / "1.html"),
        PageSource(generated.read_bytes(), data, withheld=withheld(data)),
    )
    assert np.array_equal(alone.rgb, seen.rgb)


def shown(*pages):
    return "".join(f'<iframe src="{page}" width="1280" height="300"></iframe>' for page in pages)


@pytest.mark.parametrize(
    ("place", "trick"),
    [
        # The page of another case says as much if it is like this one.
        (
            "other.html",
            shown("copy.html", "1.HTML")
            + '<img src="1.webp"><img src="1.start.png"><script src="page.js"></script>',
        ),
        ("../other.html", shown("data/1.html", "data/copy.html", "link/1.html")),
        ("generated/1.html", '<script>location = "../1.html"</script>'),
        ("generated/1.html", shown("../1.html", "2.html")),
    ],
)
def test_no_page_of_the_data_is_in_reach(judge, data, place, trick):
    (data / "1.html").write_text(PAGE.replace("</body>", '<script src="page.js"></script></body>'))
    (data / "page.js").write_text(f"document.body.innerHTML = {PAGE!r}")
    (data / "copy.html").write_text(PAGE)
    (data / "generated").mkdir()
    (data / "generated" / "2.html").write_text(PAGE)
    for name in ("1.webp", "1.start.png"):
        (data / name).write_bytes(read_demo_picture())
    (data.parent / "link").symlink_to(data)
    generated = data / place
    generated.write_text(f"<html><body>{trick}</body></html>")
    score, seen = judge.compare(
        PageSource.from_file(data / "1.html"), PageSource.from_file(generated)
    )
    assert score.scores["paper"]["mean_without_clip"] == 0
    assert score.scores["strict"]["text"] == 0
    _, alone = judge.compare(
        PageSource.from_file(data / "1.html"), PageSource.from_html(generated.read_text())
    )
    assert np.array_equal(alone.rgb, seen.rgb)


def test_what_a_page_may_not_see_is_not_kept_with_the_run_either(judging, data, tmp_path):
    (data / "1.png").write_bytes(read_demo_picture())
    generated = data / "other.html"
    generated.write_text('<img src="1.png"><img src="rick.jpg">')
    with judging(tmp_path / "run") as judge:
        score = judge.score(case_of(data), PageSource.from_file(generated))
    kept = (tmp_path / "run" / score.artifacts["html"]).parent
    assert (kept / "rick.jpg").is_file()
    assert not (kept / "1.png").exists()


def withheld(data):
    return frozenset((data / name).resolve() for name in ("1.html", "1.png"))


def read_demo_picture():
    return (DEMO / "reference" / "rick.jpg").read_bytes()


def test_an_answer_of_a_model_may_use_the_placeholder_and_nothing_else(judging, data, tmp_path):
    shutil.copy(data / "rick.jpg", data / "secret.jpg")
    with judging(tmp_path / "run") as judge:

        def shown(html):
            score = judge.score(case_of(data, "2"), PageSource.from_html(html))
            return read(tmp_path / "run" / score.artifacts["generated"])

        assert not np.array_equal(shown('<img src="rick.jpg">'), shown('<img src="absent.jpg">'))
        assert np.array_equal(shown('<img src="secret.jpg">'), shown('<img src="absent.jpg">'))


def test_a_prediction_may_use_the_files_of_its_own_folder(judge, data, tmp_path):
    folder = tmp_path / "predictions"
    folder.mkdir()
    shutil.copy(data / "rick.jpg", folder / "own.jpg")
    (folder / "2.html").write_text((data / "2.html").read_text().replace("rick.jpg", "own.jpg"))
    score = judge.score(case_of(data, "2"), PageSource.from_file(folder / "2.html"))
    assert score.scores["strict"]["mean_without_clip"] == 1


def test_the_files_of_the_user_stay_as_they_are(judge, tmp_path):
    for side in ("reference", "generated"):
        (tmp_path / side).mkdir()
        shutil.copy(DEMO / side / "landing.html", tmp_path / side / "1.html")
        shutil.copy(DEMO / side / "rick.jpg", tmp_path / side)
    repetitive = PAGE + "<br>" * 90 + "<p>Again and again the same words.</p>" * 90
    (tmp_path / "generated" / "1.html").write_text(repetitive)
    before = digests(tmp_path)
    source = PageSource.from_file(tmp_path / "generated" / "1.html")
    judge.score(case_of(tmp_path / "reference"), source)
    assert digests(tmp_path) == before


# Input of all kinds

BODY = "<html><head>{}</head><body><h1>Grüße, café</h1><p>Zwölf Boxkämpfer</p></body></html>"
META = '<meta charset="{}">'


@pytest.mark.parametrize(
    "data",
    [
        BODY.format("").encode(),
        b"\xef\xbb\xbf" + BODY.format("").encode(),
        BODY.format("").encode("latin-1"),
        BODY.format(META.format("iso-8859-1")).encode("latin-1"),
        BODY.format(META.format("latin9")).encode("iso-8859-15"),
        BODY.format(META.format("base64")).encode("latin-1"),
        BODY.format("").encode("utf-16"),
    ],
    ids=["utf-8", "utf-8 mark", "bare latin-1", "latin-1", "latin-9", "no encoding", "utf-16"],
)
def test_pages_in_any_encoding_are_read_as_browsers_read_them(paper, tmp_path, data):
    paper.folder = tmp_path
    assert paper(BODY.format("").encode(), data) == [1, 1, 1, 1]
    assert paper(data, data) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "data",
    [b"", b"   \n", b"\0\0\0", bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n" + b"\xff" * 99],
    ids=["nothing", "blanks", "zeros", "all bytes", "picture"],
)
def test_what_is_no_page_scores_nothing(paper, tmp_path, data):
    paper.folder = tmp_path
    assert paper(PAGE.encode(), data) == [0, 0, 0, 0]


def test_a_fragment_is_a_page(paper, tmp_path):
    paper.folder = tmp_path
    fragment = b"<!DOCTYPE html><h1>Hello there</h1><p>Some words.</p>"
    assert paper(PAGE.encode(), fragment)[:2] == [1, 1]
    assert paper(fragment, fragment) == [1, 1, 1, 1]


# CLIP


@pytest.fixture
def no_clip(monkeypatch, tmp_path, judge):
    for variable in ("UIPROOF_CLIP", "UIPROOF_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    judge.__dict__.pop("_clip", None)
    yield
    judge.__dict__.pop("_clip", None)


@pytest.fixture(scope="module")
def clip_judge(judging, tmp_path_factory):
    """A judge with a small tower in place of CLIP's: patches of pixels, projected."""
    path = tmp_path_factory.mktemp("clip") / "model.onnx"
    random = np.random.default_rng(0)
    kernel = (random.normal(size=(8, 3, 32, 32)) / 50).astype(np.float32)
    projection = random.normal(size=(8 * 49, 512)).astype(np.float32)
    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["pixel_values", "kernel"], ["patches"], strides=[32, 32]),
            helper.make_node("Flatten", ["patches"], ["flat"]),
            helper.make_node("MatMul", ["flat", "projection"], ["image_embeds"]),
        ],
        "tower",
        [helper.make_tensor_value_info("pixel_values", kind, ["batch", 3, 224, 224])],
        [helper.make_tensor_value_info("image_embeds", kind, ["batch", 512])],
        [
            numpy_helper.from_array(kernel, "kernel"),
            numpy_helper.from_array(projection, "projection"),
        ],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    with judging() as judge:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("UIPROOF_CLIP", str(path))
            assert judge._clip is not None  # loaded now, and not for the other tests
        yield judge


BOXES = """<html><body style="margin: 0"><h1>Hello there</h1>
<div style="background: #c33; height: 260px"></div>
<div style="background: #36c; height: 200px; width: 600px"></div></body></html>"""


def test_with_clip_the_final_score_is_the_mean_of_all(clip_judge):
    score, _ = clip_judge.compare(
        PageSource.from_html(BOXES), PageSource.from_html(BOXES.replace("260px", "90px"))
    )
    paper, strict = score.scores["paper"], score.scores["strict"]
    assert 0 < paper["clip"] < 1
    assert paper["final"] == pytest.approx(fmean(paper[name] for name in (*FOUR, "clip")))
    assert 0 < strict["clip"] < paper["clip"]
    eight = [strict[name] for name in STRICT if name not in ("final", "mean_without_clip")]
    assert strict["final"] == pytest.approx(fmean(eight))
    assert paper["mean_without_clip"] == pytest.approx(fmean(paper[name] for name in FOUR))


def test_a_reference_page_is_shown_to_clip_once_however_many_pages_it_is_compared_with(
    clip_judge, monkeypatch
):
    shown = []
    embed = clip_judge._clip.embed
    monkeypatch.setattr(clip_judge._clip, "embed", lambda rgb: shown.append(rgb) or embed(rgb))
    reference = PageSource.from_html(BOXES + "<p>asked for again")
    first, _ = clip_judge.compare(reference, PageSource.from_html("<p>one"))
    before = len(shown)
    clip_judge.compare(reference, PageSource.from_html("<p>two"))
    assert len(shown) == before + 1
    again, _ = clip_judge.compare(reference, PageSource.from_html("<p>one"))
    assert again.scores == first.scores


def test_clip_of_a_page_with_itself_is_one(clip_judge):
    score, _ = clip_judge.compare(PageSource.from_html(BOXES), PageSource.from_html(BOXES))
    assert score.scores["paper"]["clip"] == pytest.approx(1, abs=1e-5)
    assert score.scores["strict"]["clip"] == 1
    assert score.scores["strict"]["final"] == 1


def test_strict_clip_of_an_empty_page_is_zero_where_the_papers_is_not(clip_judge):
    score, seen = clip_judge.compare(PageSource.from_html(BOXES), PageSource.from_html(""))
    assert decode(seen.png).min() == 255
    assert score.scores["paper"]["clip"] > 0.1
    assert score.scores["strict"]["clip"] == 0
    assert score.scores["strict"]["final"] == 0


def test_a_crash_does_not_spoil_the_reference(tmp_path, monkeypatch):
    """A browser that dies twice shows a page without scripts: nobody is compared with that."""
    reference = tmp_path / "page.html"
    reference.write_text("<body><script>document.body.innerHTML = '<p>Written</p>'</script>")
    source = PageSource.from_file(reference)
    left = [2]
    show = Tab.show

    def fatal(tab, page):
        if left[0] > 0:
            left[0] -= 1
            kill_tree(judge._renderer.pid)
        return show(tab, page)

    monkeypatch.setattr(Tab, "show", fatal)
    with closing(Design2CodeJudge(tmp_path / "run")) as judge:
        with pytest.raises(ReferenceRenderError, match="crashed"):
            judge.compare(source, source)
        assert not list(tmp_path.glob("run/references/*/*.json"))
        score, _ = judge.compare(source, source)
    assert score.scores["strict"]["final"] in (None, 1.0)
    assert score.scores["paper"]["block_match"] == pytest.approx(1.0)
    assert not any("crashed" in flag for flag in score.flags)


def test_a_spoilt_reference_of_an_older_version_is_rendered_again(tmp_path):
    reference = tmp_path / "page.html"
    reference.write_text("<p>Hello</p>")
    source = PageSource.from_file(reference)
    with closing(Design2CodeJudge(tmp_path / "run")) as judge:
        judge.compare(source, source)
        judge._threads.submit(int).result()
    (stored,) = tmp_path.glob("run/references/*/*.json")
    spoilt = json.loads(stored.read_text()) | {"flags": ["crashed", "scripts_off"], "blocks": []}
    stored.write_text(json.dumps(spoilt))
    with closing(Design2CodeJudge(tmp_path / "run")) as judge:
        score, _ = judge.compare(source, source)
        assert judge.references_made == 1
    assert score.scores["paper"]["block_match"] == pytest.approx(1.0)
