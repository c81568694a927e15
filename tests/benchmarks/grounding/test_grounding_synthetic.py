"""Synthetic pages: the same bytes everywhere, tight boxes, instructions that name one element."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from uiproof.benchmarks.grounding.data import ElementType, Sample, read_dataset
from uiproof.benchmarks.grounding.drawing import PICTOGRAMS, lettering, pictogram
from uiproof.benchmarks.grounding.synthetic import (
    DEFAULT_MIX,
    LEVELS,
    WORDS,
    Page,
    generate,
    is_absent,
    make_page,
    make_sample,
    parse_resolution,
    plan_samples,
    render,
    shares,
)
from uiproof.errors import InputError, UsageError

SCREENS = {"resolutions": ((1920, 1080), (1280, 720)), "scales": (1.0, 1.5)}


@pytest.fixture(scope="module")
def made() -> list[Sample]:
    return [make_sample(5, one, negatives=0.2)[0] for one in plan_samples(40, **SCREENS)]


def colours(page: Page) -> np.ndarray:
    return np.asarray(render(page))


# --- how many of what


def test_the_default_mix_of_500_is_exact():
    assert shares(500) == {
        "easy-light": 75,
        "easy-dark": 25,
        "medium-light": 150,
        "medium-dark": 75,
        "hard-light": 100,
        "hard-dark": 75,
    }


@given(count=st.integers(1, 3000))
def test_every_count_is_met_and_no_share_is_off_by_one_or_more(count):
    parts = shares(count)
    assert sum(parts.values()) == count
    assert all(abs(parts[name] - count * share) < 1 for name, share in DEFAULT_MIX.items())
    assert len(plan_samples(count)) == count


def test_the_first_samples_are_mixed_like_all_of_them():
    levels = Counter(one.level for one in plan_samples(500)[:100])
    assert all(abs(levels[level] - wanted) <= 2 for level, wanted in
               {"easy": 20, "medium": 45, "hard": 35}.items())  # fmt: skip


def test_several_screens_take_turns():
    screens = Counter((one.width, one.scale) for one in plan_samples(200, **SCREENS))
    assert len(screens) == 4
    assert max(screens.values()) - min(screens.values()) <= 6


def test_elements_are_as_many_and_as_large_as_their_level_says(made):
    for sample in made:
        level, scale = LEVELS[sample.metadata["difficulty"]], sample.metadata["scale"]
        there = [element for element in sample.elements if not element.refusal]
        assert level.fewest <= len(there) <= level.most
        for element in there:
            box = element.bbox.to_pixels(sample.width, sample.height)
            longer = max(box.width, box.height)
            assert round(level.smallest * scale) <= longer <= round(level.largest * scale)


def test_all_kinds_of_elements_occur(made):
    kinds = {element.element_type for sample in made for element in sample.elements}
    assert kinds == set(ElementType) - {ElementType.UNKNOWN}


# --- what is drawn


@pytest.mark.parametrize("one", plan_samples(12, **SCREENS), ids=lambda one: one.id)
def test_boxes_are_exactly_what_is_drawn_and_nothing_else_is(one):
    page, _ = make_page(11, one)
    sample, _ = make_sample(11, one)
    changed = (colours(page) != colours(replace(page, items=()))).any(axis=2)
    seen = np.zeros_like(changed)
    for element in sample.elements:
        box = element.bbox.to_pixels(one.width, one.height)
        part = changed[box.top : box.bottom, box.left : box.right]
        assert part[0].any()
        assert part[-1].any()
        assert part[:, 0].any()
        assert part[:, -1].any()
        seen[box.top : box.bottom, box.left : box.right] = True
    assert not (changed & ~seen).any()


def test_clickable_areas_hold_their_boxes_and_never_meet(made):
    for sample in made:
        areas = []
        for element in sample.elements:
            if element.refusal:
                continue
            box = element.bbox.to_pixels(sample.width, sample.height)
            area = element.clickable.to_pixels(sample.width, sample.height)
            assert area.left <= box.left
            assert area.top <= box.top
            assert area.right >= box.right
            assert area.bottom >= box.bottom
            assert min(element.clickable.x, element.clickable.y) >= 0
            areas.append(area)
        for number, a in enumerate(areas):
            for b in areas[:number]:
                apart = a.right <= b.left or b.right <= a.left
                assert apart or a.bottom <= b.top or b.bottom <= a.top


def test_texts_fit_into_their_elements():
    for one in plan_samples(24, **SCREENS):
        for item in make_page(3, one)[0].items:
            for layer in item.sprite.layers:
                assert layer.x >= 0
                assert layer.y >= 0
                assert layer.x + layer.mask.width <= item.sprite.width
                assert layer.y + layer.mask.height <= item.sprite.height
            if item.kind in {ElementType.BUTTON, ElementType.TEXT_FIELD, ElementType.DROPDOWN}:
                line = item.sprite.layers[1 if len(item.sprite.layers) == 2 else 2]
                assert line.x >= 3
                assert line.x + line.mask.width <= item.sprite.width - 3


def test_at_least_twenty_icons_look_different_even_when_small():
    assert len(PICTOGRAMS) >= 20
    pictures = {(mask.size, mask.tobytes()) for mask in (pictogram(n, 16) for n in PICTOGRAMS)}
    assert len(pictures) == len(PICTOGRAMS)
    for name in PICTOGRAMS:
        assert 190 <= max(pictogram(name, 200).size) <= 200


def test_letters_are_sharp_at_the_baseline_and_grow_with_their_size():
    for size in (11, 14, 23):
        line = lettering("HHH", size)
        assert np.asarray(line.mask)[-1].max() > 190
        assert line.rise == line.mask.height
    widths = [lettering("Save", size).mask.width for size in (14, 28)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


# --- what is asked


def resolve(sample: Sample, instruction: str) -> list[str]:
    """What an instruction means to somebody who sees all elements: the ids that fit."""
    found = re.fullmatch(
        r"Click on the (?:(left-most|right-most|top-most|bottom-most|second|third) )?"
        r"(?:text '(?P<text>.+)'|'(?P<named>.+)' (?P<kind>[a-z ]+?)|(?P<icon>[a-z ]+) icon)"
        r"(?: from the (left|top))?",
        instruction,
    )
    assert found, instruction
    text = found["text"] or found["named"] or found["icon"]
    kind = (found["kind"] or ("text" if found["text"] else "icon")).replace(" ", "_")
    same = [
        element
        for element in sample.elements
        if not element.refusal and (element.element_type, element.text) == (kind, text)
    ]
    which, side = found[1], found[6]
    if which is None:
        return [element.id for element in same]
    across = which in {"left-most", "right-most"} or side == "left"
    same.sort(key=lambda element: element.click_point[0 if across else 1])
    places = {"left-most": 0, "top-most": 0, "second": 1, "third": 2}
    return [same[places.get(which, -1)].id]


def test_every_instruction_means_exactly_one_element(made):
    with_place = 0
    for sample in made:
        for element in sample.elements:
            expected = [] if element.refusal else [element.id]
            assert resolve(sample, element.instruction) == expected
            with_place += "-most " in element.instruction
    assert with_place > 15  # there are elements that look alike


def test_no_word_belongs_to_two_kinds_of_elements():
    words = [word.lower() for kind in WORDS.values() for word in kind]
    assert len(words) == len(set(words))
    assert not set(words) & set(PICTOGRAMS)


def test_what_is_not_there_is_neither_written_nor_pictured(made):
    refusals = 0
    for one, sample in zip(plan_samples(40, **SCREENS), made, strict=True):
        items = make_page(5, one)[0].items
        for element in sample.elements:
            if element.refusal:
                refusals += 1
                assert is_absent(element.text, element.element_type, items)
                shown = {item.text.lower() for item in items}
                assert element.text.lower() not in shown
                assert element.bbox.area == 0
    total = sum(len(sample.elements) for sample in made)
    assert refusals / total == pytest.approx(0.2, abs=0.02)


def test_even_full_pages_can_have_as_many_negatives_as_elements():
    for one in [one for one in plan_samples(18) if one.level == "hard"]:
        refusals = Counter(
            element.refusal for element in make_sample(8, one, negatives=0.5)[0].elements
        )
        assert refusals[True] == refusals[False]


def test_a_search_button_is_not_absent_where_a_magnifier_is():
    page, _ = make_page(1, plan_samples(1)[0])
    magnifier = replace(page.items[0], kind=ElementType.ICON, text="magnifier")
    assert not is_absent("Search term", ElementType.TEXT_FIELD, [magnifier])
    assert is_absent("Country", ElementType.DROPDOWN, [magnifier])


# --- the same bytes


def test_a_sample_has_the_same_pixels_on_every_machine():
    digest = hashlib.sha256()
    for one in plan_samples(6, **SCREENS):
        with Image.open(io.BytesIO(make_sample(42, one)[1])) as picture:
            digest.update(picture.tobytes())
    assert digest.hexdigest() == "fc2d021c586efeb04b641d2fd57bcc0e9d6858c6a75cc1037a8181b0c88eddbf"


def test_samples_do_not_depend_on_those_made_before_them():
    plans = plan_samples(6)
    forwards = [make_sample(9, one) for one in plans]
    backwards = [make_sample(9, one) for one in reversed(plans)]
    assert forwards == backwards[::-1]
    assert forwards[0] != make_sample(10, plans[0])


def test_generate_writes_a_data_set_with_a_manifest(tmp_path):
    told: list[tuple[int, int]] = []
    dataset = generate(
        tmp_path / "a", count=5, negatives=0.1, progress=lambda *step: told.append(step)
    )
    generate(tmp_path / "b", count=5, negatives=0.1)
    assert told == [(number, 5) for number in range(1, 6)]
    assert read_dataset(tmp_path / "a") == dataset
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert dataset.metadata["generator"] == "uiproof-synthetic"
    assert dataset.metadata["seed"] == 42
    for path, digest in dataset.metadata["sha256"].items():
        assert hashlib.sha256((tmp_path / "a" / path).read_bytes()).hexdigest() == digest


def test_another_data_set_in_the_folder_is_left_alone(tmp_path):
    generate(tmp_path, count=2)
    generate(tmp_path, count=2)
    before = (tmp_path / "annotations.json").read_bytes()
    with pytest.raises(InputError, match="already holds"):
        generate(tmp_path, count=2, seed=1)
    assert (tmp_path / "annotations.json").read_bytes() == before


# --- wrong use


@pytest.mark.parametrize(
    "options",
    [
        {"count": 0},
        {"negatives": 0.51},
        {"negatives": -0.1},
        {"scales": (0.0,)},
        {"scales": ()},
        {"resolutions": ((0, 100),)},
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path, options):
    with pytest.raises(UsageError):
        generate(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_screen_that_is_too_small_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match="larger resolution"):
        generate(tmp_path, count=3, resolutions=((160, 120),))


def test_resolutions_are_read_as_people_write_them():
    assert parse_resolution("1280x720") == (1280, 720)
    for text in ("1280", "axb", "-1x5", "1280x720x3"):
        with pytest.raises(UsageError, match="1280x720"):
            parse_resolution(text)
