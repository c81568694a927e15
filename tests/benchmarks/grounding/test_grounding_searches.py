"""Searches: where they look, which guess they believe, and what they do when nothing is found."""

from __future__ import annotations

import asyncio
import hashlib
import io
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from provider_servers import ProviderServer
from uiproof.benchmarks.grounding.coordinates import WHOLE
from uiproof.benchmarks.grounding.grounders import Guess
from uiproof.benchmarks.grounding.methods import SEARCHES, make_search
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.benchmarks.grounding.screenseeker import area_of, dilate, marked, suppress, vote_score
from uiproof.benchmarks.grounding.searches import Sight, part, tiles, window
from uiproof.engine.context import Context
from uiproof.errors import ModelError, UsageError
from uiproof.geometry import Box, PixelBox
from uiproof.models.chat import connect

MOST_CALLS = {
    "none": 1,
    "fixed": 4,
    "tiles": 17,
    "reground": 2,
    "narrow": 3,
    "zoom": 7,
    "screenseeker": 40,
}
HD, FOUR_K = (1920, 1080), (3840, 2160)


@lru_cache
def screenshot(size):
    """A file whose pixels nobody decodes unless asked to."""
    content = io.BytesIO()
    Image.new("1", size).save(content, "PNG")
    return Picture.of(content.getvalue())


def in_picture(picture, point):
    """A point of the whole screenshot as a point of a picture."""
    region = picture.region
    return (point[0] - region.x) / region.w, (point[1] - region.y) / region.h


class Seer:
    """Knows where the target is, and errs by a share of the size of what it is shown.

    Where the target is not in sight, or too small to be seen, it refuses or, if it is `pushy`,
    points at something else.
    """

    name = "seer"
    settings = MappingProxyType({})

    def __init__(self, target, error=0.0, *, pushy=False, sees_up_to=9999, boxes=None):
        self.target, self.error, self.pushy = target, error, pushy
        self.sees_up_to, self.boxes = sees_up_to, boxes
        self.asked = []

    async def ground(self, picture, instruction, context):
        self.asked.append((picture, instruction))
        x, y = in_picture(picture, self.target)
        seen = 0 <= x <= 1 and 0 <= y <= 1 and max(picture.size) <= self.sees_up_to * picture.scale
        if not seen and not self.pushy:
            return Guess(refused=True, raw="not there")
        first, second = dice(f"{instruction} {picture.region}")
        if not seen:
            return Guess(point=(first, second))
        x = min(max(x + (first - 0.5) * self.error, 0.0), 1.0)
        y = min(max(y + (second - 0.5) * self.error, 0.0), 1.0)
        if self.boxes:
            return Guess(box=Box(x - self.boxes / 2, y - self.boxes / 2, self.boxes, self.boxes))
        return Guess(point=(x, y), raw=f"{x} {y}")

    async def close(self):
        pass


def dice(text):
    digest = hashlib.sha256(text.encode()).digest()
    return digest[0] / 255, digest[1] / 255


class Scripted:
    """Says what a function says."""

    name = "scripted"
    settings = MappingProxyType({})

    def __init__(self, say):
        self.say = say

    async def ground(self, picture, instruction, context):
        return self.say(picture, instruction)

    async def close(self):
        pass


def search_with(name, grounder, size=HD, instruction="find it"):
    search = make_search(name, connect)
    return asyncio.run(search.find(screenshot(size), instruction, grounder, Context("case")))


fractions = st.floats(0, 1)
sizes = st.sampled_from([HD, FOUR_K, (390, 844), (1280, 720), (7, 3), (1, 1), (300, 5000)])


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=25, deadline=None)
@given(target=st.tuples(fractions, fractions), size=sizes, error=fractions, pushy=st.booleans())
def test_no_search_ever_leaves_the_screenshot_or_asks_too_often(name, target, size, error, pushy):
    grounder = Seer(target, error, pushy=pushy)
    answer = search_with(name, grounder, size, "the button at the top left")

    assert len(answer.looks) == len(grounder.asked) <= MOST_CALLS[name]
    assert answer.point is not None
    for value in answer.point:
        assert -1e-9 <= value <= 1 + 1e-9
    for look, (picture, _) in zip(answer.looks, grounder.asked, strict=True):
        region = look.region
        assert region == picture.region
        assert look.sent == picture.size
        assert min(region.x, region.y) >= 0
        assert max(region.x + region.w, region.y + region.h) <= 1 + 1e-9
        if look.point is not None:
            assert region.x - 1e-9 <= look.point[0] <= region.x + region.w + 1e-9
            assert region.y - 1e-9 <= look.point[1] <= region.y + region.h + 1e-9


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=15, deadline=None)
@given(target=st.tuples(fractions, fractions), size=sizes)
def test_what_is_seen_exactly_comes_back_exactly(name, target, size):
    answer = search_with(name, Seer(target), size)
    assert answer.point == pytest.approx(target, abs=1e-9)
    assert not answer.refused


@settings(max_examples=60, deadline=None)
@given(
    centre=st.tuples(st.floats(-500, 5000), st.floats(-500, 5000)),
    width=st.floats(0, 5000),
    height=st.floats(0, 5000),
    size=sizes,
    point=st.tuples(fractions, fractions),
)
def test_a_window_is_within_bounds_and_points_survive_the_way_there_and_back(
    centre, width, height, size, point
):
    whole = screenshot(size)
    area = window(centre, width, height, whole.area)
    crop = part(whole, area)

    assert crop.area == area
    assert area.width == min(max(round(width), 1), size[0])
    assert area.height == min(max(round(height), 1), size[1])
    assert in_picture(crop, crop.to_whole(point)) == pytest.approx(point, abs=1e-9)
    x, y = (at * side for at, side in zip(crop.to_whole(point), crop.whole_size, strict=True))
    assert (x - area.left, y - area.top) == pytest.approx(
        (point[0] * area.width, point[1] * area.height), abs=1e-6
    )


@pytest.mark.parametrize("name", ["fixed", "reground", "narrow", "zoom", "screenseeker"])
def test_looking_closer_makes_a_coarse_grounder_more_exact(name):
    def mean_error(search):
        errors = []
        for index in range(40):
            target = dice(f"target {index}")
            answer = search_with(search, Seer(target, 0.05), FOUR_K)
            errors.append(max(abs(a - b) for a, b in zip(answer.point, target, strict=True)))
        return sum(errors) / len(errors)

    assert mean_error(name) < 0.75 * mean_error("none")


@pytest.mark.parametrize(
    ("name", "size", "calls"),
    [
        ("none", HD, 1),
        ("fixed", HD, 4),
        ("fixed", (200, 200), 1),  # there is nothing smaller than the whole
        ("tiles", (390, 844), 5),
        ("tiles", HD, 7),
        ("tiles", FOUR_K, 13),
        ("tiles", (7680, 4320), 17),
        ("reground", HD, 2),
        ("reground", (1000, 800), 1),
        ("narrow", HD, 3),
        ("zoom", HD, 7),
        ("zoom", (700, 700), 5),  # already as small as it may be
        ("screenseeker", (1280, 720), 1),
        ("screenseeker", HD, 2),
    ],
)
def test_the_number_of_calls_is_as_documented(name, size, calls):
    assert len(search_with(name, Seer((0.4, 0.6)), size).looks) == calls


@pytest.mark.parametrize("name", SEARCHES)
def test_an_answer_is_a_refusal_only_if_every_look_refused(name):
    refusing = search_with(name, Scripted(lambda *_: Guess(refused=True)))
    assert refusing.refused
    assert refusing.click is None

    def mumbles_first(picture, _):
        whole = picture.region == WHOLE
        return Guess(raw="hm") if whole else Guess(refused=True)

    unclear = search_with(name, Scripted(mumbles_first))
    assert not unclear.refused
    assert unclear.click is None
    assert unclear.looks[0].raw == "hm"


@pytest.mark.parametrize("name", ["tiles", "zoom", "screenseeker"])
def test_what_is_too_small_to_see_on_the_whole_is_found_in_a_part(name):
    answer = search_with(name, Seer((0.8, 0.2), sees_up_to=1300), HD)
    assert answer.point == pytest.approx((0.8, 0.2), abs=1e-9)
    assert not answer.refused
    assert answer.looks[0].point is None


@pytest.mark.parametrize("name", ["none", "fixed", "reground", "narrow"])
def test_searches_that_need_a_first_guess_refuse_without_one(name):
    answer = search_with(name, Seer((0.8, 0.2), sees_up_to=1300), HD)
    assert answer.refused
    assert len(answer.looks) == 1


@pytest.mark.parametrize("name", sorted(set(SEARCHES) - {"none"}))
def test_a_guess_stays_when_looking_closer_finds_nothing(name):
    def only_the_whole(picture, _):
        whole = picture.region == WHOLE
        return Guess(point=(0.3, 0.4)) if whole else Guess(refused=True)

    answer = search_with(name, Scripted(only_the_whole))
    assert answer.point == (0.3, 0.4)
    assert len(answer.looks) > 1


@pytest.mark.parametrize("name", SEARCHES)
def test_a_point_beside_the_picture_is_never_moved_into_it(name):
    answer = search_with(name, Scripted(lambda *_: Guess(point=(1.5, 0.5))))
    assert answer.point == (1.5, 0.5)  # what was said about the whole, for the judge to see
    assert not answer.refused


@pytest.mark.parametrize("name", SEARCHES)
def test_a_look_without_an_answer_ends_the_search(name):
    last = len(search_with(name, Seer((0.4, 0.6))).looks) - 1
    count = 0

    def fails_late(picture, _):
        nonlocal count
        count += 1
        if count > last:
            raise ModelError("the server is gone")
        return Guess(point=in_picture(picture, (0.4, 0.6)))

    with pytest.raises(ModelError, match="the server is gone"):
        search_with(name, Scripted(fails_late))


def test_other_looks_are_given_up_when_one_fails():
    ended = []

    class Slow(Scripted):
        async def ground(self, picture, instruction, context):
            if picture.region == WHOLE:
                raise ModelError("gone")
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                ended.append(picture)
                raise
            return Guess(refused=True)

    with pytest.raises(ModelError):
        search_with("tiles", Slow(None))
    assert len(ended) == 6


# --- single searches ----------------------------------------------------------------------------


def test_reground_looks_at_1024_pixels_around_the_guess_moved_at_the_borders():
    grounder = Seer((0.99, 0.5))
    search_with("reground", grounder, FOUR_K)
    assert grounder.asked[1][0].area == PixelBox(3840 - 1024, 1080 - 512, 3840, 1080 + 512)


def test_narrowing_halves_the_sides_around_the_last_guess():
    grounder = Seer((0.5, 0.5))
    search_with("narrow", grounder, (1600, 800))
    assert [picture.area for picture, _ in grounder.asked] == [
        PixelBox(0, 0, 1600, 800),
        PixelBox(400, 200, 1200, 600),
        PixelBox(600, 300, 1000, 500),
    ]


def test_fixed_crops_are_200_300_and_500_pixels_and_enlarged():
    grounder = Seer((0.5, 0.5))
    answer = search_with("fixed", grounder, HD)
    areas = [(picture.area.width, picture.area.height) for picture, _ in grounder.asked]
    assert areas == [HD, (200, 200), (300, 300), (500, 500)]
    assert [look.sent for look in answer.looks] == [HD, (640, 640), (640, 640), (640, 640)]


def test_parts_are_enlarged_by_four_at_most_and_never_shrunk():
    whole = screenshot(FOUR_K)
    sides = {(100, 50): (400, 200), (1000, 700): (1000, 700), (3000, 100): (3000, 100)}
    for (width, height), sent in sides.items():
        assert part(whole, PixelBox(0, 0, width, height)).size == sent


def test_fixed_believes_what_most_looks_agree_on():
    def say(picture, _):
        side = picture.area.width
        points = {1920: (960, 540), 200: (900, 480), 300: (1050, 600), 500: (970, 545)}
        return Guess(point=in_picture(picture, (points[side][0] / 1920, points[side][1] / 1080)))

    answer = search_with("fixed", Scripted(say))
    x, y = answer.point[0] * 1920, answer.point[1] * 1080
    assert (x, y) == pytest.approx((970, 545))  # the closer look of the two that agree


def test_tiles_cover_everything_and_overlap_by_a_quarter():
    for size in (HD, FOUR_K, (390, 844), (7680, 4320), (3, 2), (1, 1)):
        areas = tiles(PixelBox(0, 0, *size))
        across = sorted({(area.left, area.right) for area in areas})
        assert across[0][0] == 0
        assert across[-1][1] == size[0]
        for (_, right), (left, _) in pairwise(across):
            assert left <= right
            if size[0] > 100:
                assert (right - left) / areas[0].width == pytest.approx(0.25, abs=0.01)


def test_tiles_outvote_a_grounder_that_always_points_somewhere():
    answer = search_with("tiles", Seer((0.52, 0.45), 0.01, pushy=True), FOUR_K)
    assert answer.point == pytest.approx((0.52, 0.45), abs=0.005)


def test_without_agreement_the_surest_tile_is_believed():
    def say(picture, _):
        if picture.region == WHOLE:
            return Guess(refused=True)
        sure = 0.9 if picture.region.x == 0 and picture.region.y > 0 else 0.2
        return Guess(point=(0.1, 0.9), confidence=sure)

    answer = search_with("tiles", Scripted(say))
    assert answer.confidence == 0.9
    assert answer.point[1] > 0.9


@pytest.mark.parametrize(("off", "taken"), [(40, True), (60, False)])
def test_zoom_takes_a_quarter_s_guess_only_when_it_is_within_50_pixels(off, taken):
    def say(picture, _):
        x, y = in_picture(picture, ((480 + off) / 1920, 270 / 1080))
        if picture.region == WHOLE:
            return Guess(point=(480 / 1920, 270 / 1080))
        if picture.area == PixelBox(0, 0, 960, 540):
            return Guess(point=(x, y))
        return Guess(refused=True)

    answer = search_with("zoom", Scripted(say))
    assert answer.point[0] * 1920 == pytest.approx(480 + off if taken else 480)


def test_zoom_is_sure_when_looking_closer_finds_the_same():
    steady = search_with("zoom", Seer((0.4, 0.6)), FOUR_K)
    shaky = search_with("zoom", Seer((0.4, 0.6), 0.3), FOUR_K)
    lost = search_with(
        "zoom",
        Scripted(
            lambda picture, _: (
                Guess(point=(0.5, 0.5)) if picture.region == WHOLE else Guess(refused=True)
            )
        ),
    )
    assert steady.confidence == pytest.approx(1.0)
    assert 0 < shaky.confidence < 0.95
    assert lost.confidence == 0.0


def test_zoom_windows_are_half_the_sides_and_at_least_768_pixels():
    grounder = Seer((0.0, 0.5))
    search_with("zoom", grounder, FOUR_K)
    areas = [picture.area for picture, _ in grounder.asked[5:]]
    assert areas == [PixelBox(0, 540, 1920, 1620), PixelBox(0, 696, 960, 1464)]


# --- screenseeker -------------------------------------------------------------------------------


def test_finds_are_grown_to_parts_that_are_worth_a_look():
    bounds = PixelBox(0, 0, *FOUR_K)
    assert dilate(PixelBox(2000, 1000, 2010, 1010), bounds) == [PixelBox(1365, 621, 2645, 1389)]
    assert dilate(PixelBox(0, 0, 5, 5), bounds) == [PixelBox(0, 0, 1280, 768)]
    large = PixelBox(100, 100, 1700, 1000)
    assert dilate(large, bounds) == [large]
    bar = PixelBox(0, 0, 3840, 100)
    assert dilate(bar, bounds) == [PixelBox(0, 0, 1920, 768), PixelBox(1920, 0, 3840, 768)]
    column = PixelBox(0, 0, 60, 2160)
    assert dilate(column, bounds) == [PixelBox(0, 0, 1280, 1080), PixelBox(0, 1080, 1280, 2160)]


def test_votes_count_by_a_bell_curve_around_the_middle_of_a_part():
    area = PixelBox(0, 0, 1000, 500)
    assert vote_score(area, [(500, 250)]) == 1
    assert vote_score(area, [(800, 250)]) == pytest.approx(0.6065, abs=1e-4)  # one spread away
    assert vote_score(area, [(500, 250), (800, 250)]) == pytest.approx(1.6065, abs=1e-4)
    assert vote_score(area, [(1001, 250)]) == 0


def test_parts_that_are_nearly_the_same_are_searched_once():
    first, near, far = (PixelBox(x, 0, x + 100, 100) for x in (0, 20, 60))
    assert suppress([first, near, far]) == [first, far]


def test_words_for_places_become_areas():
    assert area_of(frozenset({"top", "left"})) == Box(0, 0, 0.5, 0.5)
    assert area_of(frozenset({"right"})) == Box(0.5, 0, 0.5, 1)
    assert area_of(frozenset({"bottom", "middle"})) == Box(0.25, 0.5, 0.5, 0.5)


def test_without_a_planner_places_in_the_instruction_are_looked_at():
    grounder = Seer((0.9, 0.9), sees_up_to=1300)
    answer = search_with("screenseeker", grounder, FOUR_K, "the clock in the bottom right corner")
    assert answer.point == pytest.approx((0.9, 0.9), abs=1e-9)
    assert answer.notes == ("plan: bottom, right",)
    assert grounder.asked[1][0].region == Box(0.5, 0.5, 0.5, 0.5)


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    """A server that plans, a search that asks it, and the event loop of both."""
    with (
        ProviderServer() as server,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        search = make_search(f"screenseeker:compatible:{server.base_url('openai')}#mini", connect)
        yield server, search, loop
        loop.run(search.close())


def planned(planner, grounder, instruction, *, plan, check):
    """Search with a planner that says this; returns the answer, the context and the requests."""
    server, search, loop = planner
    server.log.clear()

    def answer(asked):
        said = check if "red mark" in asked.prompt else plan
        return said(asked) if callable(said) else said

    server.answer = answer
    context = Context("case")
    found = loop.run(search.find(screenshot(FOUR_K), instruction, grounder, context))
    return found, context, server.log


def test_the_planner_s_places_are_found_searched_by_votes_and_checked(planner):
    def say(picture, instruction):
        places = {"save": (0.1, 0.1), "blue toolbar": (0.8, 0.85), "print": (0.82, 0.8)}
        x, y = in_picture(picture, places[instruction])
        if instruction == "save" and picture.region != WHOLE and not 0 <= x <= 1:
            x, y = in_picture(picture, (0.81, 0.81))  # the real one
        inside = 0 <= x <= 1 and 0 <= y <= 1
        return Guess(point=(x, y)) if inside else Guess(refused=True)

    answer, context, log = planned(
        planner,
        Scripted(say),
        "save",
        plan="1. <area>blue toolbar</area>\n2. next to <neighbor>print</neighbor>\n",
        check='It is.\n{"result": "is_target"}',
    )
    assert answer.point == pytest.approx((0.81, 0.81), abs=1e-9)
    # One plan and three looks on the whole, then one look where two of three votes are, one check.
    assert len(answer.looks) == 4
    assert len(log) == len(context.calls) == 2
    assert answer.notes[0].startswith("plan: 1. <area>blue toolbar</area>")
    assert answer.notes[1] == 'check: It is. {"result": "is_target"}'


def test_what_the_planner_denies_is_not_taken_and_the_next_part_is_searched(planner):
    def say(picture, instruction):
        x, y = in_picture(picture, (0.1, 0.1) if instruction == "first go" else (0.9, 0.9))
        inside = 0 <= x <= 1 and 0 <= y <= 1
        return Guess(point=(x, y) if inside else (0.75, 0.75))

    denied = []

    def check(asked):
        denied.append(asked)
        found = "is_target" if len(denied) > 1 else "target_not_found"
        return f'{{"result": "{found}"}}'

    answer, _, _ = planned(
        planner, Scripted(say), "first go", plan="<element>the other</element>", check=check
    )
    assert len(denied) == 2
    assert len(answer.looks) == 4
    assert answer.looks[2].region.x == 0  # where the first guess was
    assert answer.looks[3].region.x > 0.5
    assert answer.point == answer.looks[3].point


def test_the_planner_s_better_words_are_used_and_believed(planner):
    said = []

    def say(picture, instruction):
        said.append(instruction)
        return Guess(point=(0.25, 0.5) if instruction == "the left one" else (0.75, 0.5))

    answer, _, _ = planned(
        planner,
        Scripted(say),
        "second thoughts",
        plan="I see nothing to name.",
        check='{"result": "target_elsewhere", "new_instruction": "the left one"}',
    )
    assert said == ["second thoughts", "second thoughts", "the left one"]
    assert answer.point == answer.looks[-1].point
    assert answer.looks[-1].region == answer.looks[-2].region


@pytest.mark.parametrize("check", ["target_not_found", "no JSON", '{"result": []}', "{"])
def test_where_nothing_is_confirmed_the_first_guess_is_the_answer(planner, check):
    answer, _, _ = planned(
        planner, Seer((0.3, 0.3)), f"nobody agrees {check}", plan="No target", check=check
    )
    assert answer.point == (0.3, 0.3)
    assert answer.notes[-1] == "nothing was confirmed"


def test_a_planner_that_names_everything_and_confirms_nothing_ends_all_the_same(planner):
    def say(picture, instruction):
        x, y = dice(f"{instruction} {picture.region}")
        return Guess(box=Box(x * 0.55, y * 0.55, 0.45, 0.45))

    areas = "".join(f"<area>part {number}</area>\n" for number in range(30))
    answer, _, log = planned(
        planner, Scripted(say), "endless", plan=areas, check='{"result": "nothing"}'
    )
    assert len(answer.looks) == 40
    assert len(log) <= 40
    assert answer.click == answer.looks[0].point


def test_grounders_that_give_boxes_are_searched_by_their_boxes(planner):
    answer, _, _ = planned(
        planner, Seer((0.5, 0.5), boxes=0.2), "boxes", plan="-", check='{"result": "is_target"}'
    )
    assert answer.click == pytest.approx((0.5, 0.5))
    assert answer.box.w == pytest.approx(answer.looks[-1].region.w * 0.2)


def test_the_check_shows_what_was_found_in_red_and_leaves_it_visible():
    whole = screenshot((400, 300))
    for guess in (Guess(point=(0.5, 0.5)), Guess(box=Box(0.45, 0.45, 0.1, 0.1))):
        with Image.open(io.BytesIO(marked(Sight(whole, guess)))) as picture:
            pixels = picture.convert("RGB")
        red = [(x, y) for x in range(400) for y in range(300) if pixels.getpixel((x, y))[0] > 200]
        assert red
        assert pixels.getpixel((200, 150)) == (0, 0, 0)
        assert all(abs(x - 200) < 40 and abs(y - 150) < 40 for x, y in red)


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_has_its_name_and_says_what_it_does(name):
    search = make_search(name, connect)
    assert search.name == name
    assert "ENLARGED" not in str(search.settings)
    assert isinstance(dict(search.settings), dict)


@pytest.mark.parametrize("text", ["", "nope", "zoom:openai/gpt-4o", "screenseeker:", "Zoom"])
def test_an_unknown_search_is_refused_with_a_list_of_those_there_are(text):
    with pytest.raises(UsageError) as raised:
        make_search(text, connect)
    assert all(name in raised.value.remedy for name in SEARCHES)


def test_the_planner_is_part_of_the_name_and_of_the_settings(planner):
    _, search, _ = planner
    assert search.name.startswith("screenseeker:compatible:http://127.0.0.1")
    assert search.settings["planner"]["prompt_digest"]
