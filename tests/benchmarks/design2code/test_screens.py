"""Pages on other screens, and screenshots in the place of pages, in a real browser."""

from __future__ import annotations

from base64 import b64encode
from statistics import fmean

import pytest

from lpips_weights import alexnet_of_chance
from uiproof.benchmark import Case
from uiproof.benchmarks.design2code.benchmark import BENCHMARK
from uiproof.benchmarks.design2code.cases import Question, Screenshot, Truth, cases
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.screens import Design2CodeOptions
from uiproof.benchmarks.design2code.serving import reference_case
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.browser.chromium import fingerprint
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.vision.images import decode, encode_png, size

STYLE = "body{margin:24px;font:18px sans-serif}p{max-width:500px}"
TEXT = "<h1>Opening hours</h1><p>Monday to Friday from nine to five.</p><p>Closed in August.</p>"
PAGE = f"<html><head><style>{STYLE}</style></head><body>{TEXT}</body></html>"
# The same on a wide screen; narrow ones show something else.
WIDE_ONLY = PAGE.replace("</style>", "@media(max-width:600px){p{display:none}}</style>")
# The same where light colours are preferred.
DARK = "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>"


@pytest.fixture(scope="module")
def renderer():
    with Renderer() as renderer:
        yield renderer


@pytest.fixture
def judge(renderer):
    return lambda run=None, **chosen: Design2CodeJudge(
        run, options=Design2CodeOptions.of(**chosen), renderer=renderer
    )


@pytest.fixture
def lpips_weights(tmp_path, monkeypatch):
    """AlexNet with weights of chance, where the published ones would be."""
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))
    (tmp_path / "hub" / "lpips-alexnet").mkdir(parents=True)
    (tmp_path / "hub" / "lpips-alexnet" / "alexnet.ckpt").write_bytes(alexnet_of_chance())


def score(judge, reference, generated):
    given = reference if isinstance(reference, Screenshot) else PageSource.from_html(reference)
    return judge.score_against(given, PageSource.from_html(generated), "1")


def picture_of(renderer, html, **screen):
    with renderer.open(PageSource.from_html(html), Limits(**screen)) as page:
        return page.screenshot()


def test_several_viewports_give_scores_of_each_and_their_mean(judge):
    scores = score(judge(viewport=["1280x720", "390x844"]), PAGE, WIDE_ONLY).scores
    wide, narrow = (scores["viewports"][name] for name in ("1280x720", "390x844"))
    assert wide == score(judge(), PAGE, WIDE_ONLY).scores
    assert wide["strict"]["mean_without_clip"] == 1
    assert narrow["paper"]["block_match"] < 0.8
    for key in ("block_match", "mean_without_clip"):
        both = [one["paper"][key] for one in (wide, narrow)]
        assert scores["paper"][key] == fmean(both)
    assert scores["human"] == fmean([wide["human"], narrow["human"]])
    failure = judge(viewport=["1280x720", "390x844"]).failure(None).scores
    assert failure["viewports"]["390x844"]["paper"]["text"] == 0


def test_dark_pages_differ_where_only_one_of_them_knows_dark_colours(judge):
    dark = PAGE.replace("</style>", DARK)
    assert score(judge(), dark, PAGE).scores["paper"]["color"] == 1
    assert score(judge(dark=True), dark, PAGE).scores["paper"]["color"] < 0.5
    assert score(judge(dark=True), dark, dark).scores["strict"]["mean_without_clip"] == 1


def test_at_twice_the_pixels_scores_stay_close_and_pictures_are_twice_as_large(judge, tmp_path):
    other = PAGE.replace("Monday to Friday", "Tuesday to Friday").replace("24px", "40px")
    once = score(judge(), PAGE, other).scores["strict"]
    run = tmp_path / "run"
    (data := tmp_path / "data").mkdir()
    (data / "1.html").write_text(PAGE)
    fine = judge(run, scale=2)
    (case,) = cases(data)
    twice = fine.score(case, PageSource.from_html(other))
    assert size(run / twice.artifacts["generated"])[0] == 2 * 1280
    assert size(run / twice.artifacts["reference"])[0] == 2 * 1280
    for name, value in once.items():
        assert value is None or twice.scores["strict"][name] == pytest.approx(value, abs=0.03), name
    assert fine.score(case, PageSource.from_html(PAGE)).scores["paper"]["mean_without_clip"] == 1
    # What another worker finds in the folder of the run is the same.
    again = judge(run, scale=2).score(case, PageSource.from_html(other))
    assert again.scores == twice.scores


def test_auto_takes_the_window_of_the_screenshot_beside_a_page(judge, renderer, tmp_path):
    (tmp_path / "1.html").write_text(PAGE)
    (tmp_path / "1.png").write_bytes(picture_of(renderer, PAGE, viewport=(500, 700)))
    (case,) = cases(tmp_path)
    found = judge(viewport="auto").score(case, PageSource.from_html(WIDE_ONLY))
    assert found.details["reference"]["width"] == 500
    assert found.scores["paper"]["block_match"] < 0.8


def test_options_are_checked_and_change_the_fingerprint_of_a_run():
    def facts(**chosen):
        return BENCHMARK.fingerprint(BENCHMARK.judge_options(**chosen))

    assert facts() == facts(viewport="1280x720", scale="1", dark=False)
    assert facts()["viewport"] == fingerprint()["viewport"] == [1280, 720]
    assert facts(viewport=[(390, 844), "auto"])["viewport"] == [[390, 844], "auto"]
    assert {"dark": True, "scale": 2}.items() <= facts(dark=True, scale=2).items()
    for wrong in ({"viewport": "wide"}, {"viewport": "1x1"}, {"scale": 9}, {"depth": 1}):
        with pytest.raises(UsageError):
            BENCHMARK.judge_options(**wrong)


def test_lpips_is_measured_on_request_where_its_weights_are(
    judge, lpips_weights, monkeypatch, tmp_path
):
    assert "lpips" not in score(judge(), PAGE, PAGE).scores
    chosen = judge(viewport=["1280x720", "390x844"], lpips=True)
    assert score(chosen, PAGE, PAGE).scores["lpips"] == 0
    found = score(chosen, PAGE, WIDE_ONLY).scores
    assert found["viewports"]["1280x720"]["lpips"] == 0
    assert found["lpips"] == pytest.approx(found["viewports"]["390x844"]["lpips"] / 2)
    assert found["lpips"] > 0
    assert chosen.failure(None).scores["lpips"] == 1
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "empty"))
    with pytest.raises(MissingDependencyError, match="weights of LPIPS"):
        score(judge(lpips=True), PAGE, WIDE_ONLY)


def test_a_page_that_looks_like_the_screenshot_scores_1_and_only_that(judge, renderer):
    shown = picture_of(renderer, PAGE, viewport=(640, 480))
    reference = Screenshot(shown)
    same = score(judge(), reference, PAGE)
    assert set(same.scores) == {"picture"}
    assert set(same.scores["picture"].values()) <= {1.0, None}
    invisible = PAGE.replace("<body>", '<body><p style="position:absolute;opacity:0">More</p>')
    assert score(judge(), reference, invisible).scores == same.scores
    near = score(judge(), reference, PAGE.replace("24px", "30px")).scores["picture"]
    far = score(judge(), reference, "<h1>Something else</h1>").scores["picture"]
    blank = score(judge(), reference, "<p></p>").scores["picture"]
    means = [one["mean_without_clip"] for one in (near, far, blank)]
    assert 1 > means[0] > means[1] > means[2] == 0
    assert near["text"] == 1
    failed = judge().failure(Case("1", Question(), reference)).scores["picture"]
    assert failed["mean_without_clip"] == 0


def test_a_screenshot_of_a_fine_screen_is_compared_at_its_scale(judge, renderer):
    reference = Screenshot(picture_of(renderer, PAGE, viewport=(640, 480), scale=2))
    found = score(judge(scale=2), reference, PAGE)
    assert found.details["reference"]["width"] == 640
    assert found.scores["picture"]["mean_without_clip"] == 1


def test_a_page_beside_screenshots_may_not_show_them(judge, renderer, tmp_path):
    (tmp_path / "1.png").write_bytes(picture_of(renderer, PAGE, viewport=(640, 480)))
    page = tmp_path / "copy.html"
    page.write_text('<body style="margin:0"><img src="1.png">')
    case = Case("1", Question(), Truth((tmp_path / "1.png").resolve()))
    found = judge(tmp_path / "run").score(case, PageSource.from_file(page))
    assert found.scores["picture"]["text"] == 0
    assert "generated:files_missing" in found.flags
    question = judge(tmp_path / "run").pose(case)
    assert "Opening hours" in question.texts
    assert (
        decode(question.screenshot.read_bytes()) == decode((tmp_path / "1.png").read_bytes())
    ).all()


def test_references_of_requests_may_be_pictures_in_base64(renderer):
    png = picture_of(renderer, PAGE, viewport=(640, 480))
    text = b64encode(png).decode()
    for given in (png, text, f"data:image/png;base64,{text}"):
        assert reference_case(given, "1").truth == Screenshot(png)
    assert isinstance(reference_case("<p>iVBORw0KGgo</p>", "1").truth, PageSource)
    with pytest.raises(InputError):
        reference_case("iVBORw0KGgo###", "1")
    broken = Screenshot(encode_png(decode(png))[:300])
    with pytest.raises(InputError):
        Design2CodeJudge(renderer=renderer).score_against(broken, PageSource.from_html(PAGE), "1")
