"""The verifier on drawn pages: each test changes one thing and names the failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import pytest

from uiproof.benchmarks.interaction2code.verifier import (
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Verdict,
    verify,
)
from uiproof.benchmarks.interaction2code.verifier.element import trigger_tags
from uiproof.benchmarks.interaction2code.verifier.evidence import Target
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Element, Events, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine, OcrWord

SIZE = (900, 600)


@dataclass(frozen=True)
class Part:
    """An element of a drawn page: a filled box with a line of text."""

    ref: int
    text: str
    box: tuple[int, int, int, int]
    fill: tuple[int, int, int] = (235, 235, 235)
    tag: str = "div"
    id: str = ""
    listeners: tuple[str, ...] = ()
    position: str = "static"


BUTTON = Part(2, "Open", (60, 120, 180, 160), tag="button", id="interact1", listeners=("click",))
OTHER = Part(3, "Close", (240, 120, 360, 160), tag="button")
TITLE = Part(4, "Garden tools", (60, 40, 420, 90), fill=(255, 255, 255), tag="h1")
PANEL = Part(5, "Spades and rakes", (60, 220, 420, 300), fill=(220, 235, 255))
STATUS = Part(6, "Ready", (500, 40, 700, 90), fill=(255, 255, 255), tag="p")
CLOSED = (TITLE, STATUS, BUTTON, OTHER)
OPEN = (*CLOSED, PANEL)


def drawn(parts: tuple[Part, ...]) -> np.ndarray:
    picture = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    for part in parts:
        left, top, right, bottom = part.box
        cv2.rectangle(picture, (left, top), (right - 1, bottom - 1), part.fill, -1)
        at = (left + 10, (top + bottom) // 2 + 6)
        font, dark = cv2.FONT_HERSHEY_SIMPLEX, (20, 20, 20)
        cv2.putText(picture, part.text, at, font, 0.6, dark, 1, cv2.LINE_AA)
    return picture


def reading(
    *pages: tuple[Part, ...], unread: tuple[str, ...] = ()
) -> Callable[[Rgb], Sequence[OcrLine]]:
    """Read drawn pages without errors, word by word, but for some texts."""

    def line(part: Part) -> OcrLine:
        left, top, _, bottom = part.box
        middle, x, words = (top + bottom) // 2, left + 10, []
        for word in part.text.split():
            end = x + 11 * len(word)
            words.append(OcrWord(word, PixelBox(x, middle - 8, end, middle + 8)))
            x = end + 8
        box = PixelBox(left + 10, middle - 8, max(x - 8, left + 11), middle + 8)
        return OcrLine(part.text, box, 1.0, tuple(words))

    def read(picture: Rgb) -> Sequence[OcrLine]:
        page = next(one for one in pages if np.array_equal(drawn(one), picture))
        return [line(part) for part in page if part.text and part.text not in unread]

    return read


def snapshot(parts: tuple[Part, ...]) -> Snapshot:
    elements = tuple(
        Element(
            part.ref,
            None,
            part.tag,
            part.id,
            PixelBox(*part.box),
            part.text,
            part.text,
            background=(*part.fill, 1.0),
            listeners=part.listeners,
            style={"position": part.position},
        )
        for part in parts
    )
    return Snapshot(elements, SIZE, "http://page/")


def outcome(
    before: tuple[Part, ...], after: tuple[Part, ...], events: Events | None = None
) -> Outcome:
    told = changes(snapshot(before), snapshot(after))
    return Outcome(drawn(after), snapshot(after), told, events or Events())


def judged(
    before: tuple[Part, ...] = CLOSED,
    after: tuple[Part, ...] = OPEN,
    *,
    wanted: tuple[Part, ...] = OPEN,
    visuals: tuple[str, ...] = ("new component",),
    events: Events | None = None,
    tries: dict[tuple[str, str], Outcome] | None = None,
    found: str | None = "interact1",
    again: Outcome | None = None,
    reverts: bool = False,
    shown: tuple[Part, ...] = CLOSED,
    action: Action | None = None,
    elsewhere: Callable[[Element, Sequence[Target], Action], Sequence[Outcome]] | None = None,
    trigger: tuple[int, int, int, int] = (56, 116, 184, 164),
    pointed_at: tuple[Part, ...] | None = None,
    description: str = "",
    unread: tuple[str, ...] = (),
) -> Verdict:
    """The verdict on a page that goes from one state to another; the reference opens the panel."""
    reference = ReferenceEvidence(
        drawn(shown),
        drawn(wanted),
        action or Action("click"),
        trigger=PixelBox(*trigger),
        name="Open",
        tags=("button",),
        visuals=visuals,
        reverts=reverts,
        description=description,
        read=reading(shown, wanted, unread=unread),
    )
    state = snapshot(before)
    element = next((one for one in state.elements if one.id == found), None)
    pointed = outcome(before, before)
    generated = GeneratedEvidence(
        drawn(before),
        state,
        element,
        "id" if element else None,
        outcome(before, after, events) if element else None,
        viewport=SIZE,
        approach=None if pointed_at is None else drawn(pointed_at),
        others=tuple(one for one in state.elements if (one.text, "click") in (tries or {})),
        attempt=lambda one, act: (tries or {}).get((one.text, act.kind), pointed),
        again=lambda: again,
        elsewhere=elsewhere or (lambda _element, _targets, _action: ()),
    )
    return verify(reference, generated)


def changed(part: Part, **fields: object) -> Part:
    return replace(part, **fields)  # type: ignore[arg-type]


def swapped(parts: tuple[Part, ...], **by_text: Part) -> tuple[Part, ...]:
    return tuple(by_text.get(part.text.split()[0].lower(), part) for part in parts)


def test_an_effect_like_the_reference_s_is_no_failure():
    verdict = judged()
    assert (verdict.failure, verdict.usable, verdict.implemented) == ("none", True, True)
    assert verdict.evidence
    assert verdict.confidence > 0.6


def test_what_is_different_before_and_after_alike_does_not_count():
    banner = Part(9, "Sale today", (500, 500, 700, 540), fill=(255, 230, 200))
    assert judged((*CLOSED, banner), (*OPEN, banner)).failure == "none"


def test_an_element_that_is_not_there_is_missing():
    verdict = judged((TITLE, STATUS, OTHER), found=None)
    assert (verdict.failure, verdict.usable, verdict.implemented) == ("a", False, False)


def test_an_element_that_shows_nothing_is_missing():
    unseen = changed(BUTTON, text="", fill=(255, 255, 255))
    before = swapped(CLOSED, open=unseen)
    assert judged(before, (*before, PANEL)).failure == "a"


def test_an_element_that_changes_nothing_has_no_interaction():
    verdict = judged(after=CLOSED)
    assert (verdict.failure, verdict.usable, verdict.implemented) == ("b", False, False)
    assert "changed nothing" in verdict.evidence[0]


def test_a_shade_under_the_pointer_is_no_interaction():
    shaded = swapped(CLOSED, open=changed(BUTTON, fill=(215, 215, 215)))
    assert judged(after=shaded, pointed_at=shaded).failure == "b"


def test_an_effect_that_pointing_has_already_is_not_that_of_a_click():
    hovering = swapped(CLOSED, open=changed(BUTTON, listeners=("mouseenter",)))
    opened = (*hovering, PANEL)
    assert judged(hovering, opened, pointed_at=opened).failure == "b"
    assert judged(hovering, opened, pointed_at=hovering).failure == "none"


def test_a_neighbour_that_has_the_effect_is_the_wrong_element():
    before = swapped(
        CLOSED,
        open=changed(BUTTON, listeners=()),
        close=changed(OTHER, listeners=("click",)),
    )
    works = {("Close", "click"): outcome(before, (*before, PANEL))}
    verdict = judged(before, before, tries=works)
    assert (verdict.failure, verdict.usable) == ("c", False)


def test_a_text_beside_the_element_that_has_the_effect_may_stand_in_for_it():
    text = Part(7, "Tools", (190, 120, 236, 160), fill=(255, 255, 255))
    before = (*CLOSED, text)
    works = {("Tools", "click"): outcome(before, (*before, PANEL))}
    verdict = judged(before, before, shown=before, wanted=(*before, PANEL), tries=works)
    assert (verdict.failure, verdict.usable) == ("c", True)


def test_a_neighbour_that_has_the_id_is_the_wrong_element():
    before = swapped(CLOSED, open=changed(BUTTON, id=""), close=changed(OTHER, id="interact1"))
    assert judged(before, (*before, PANEL)).failure == "c"


@pytest.mark.parametrize("kind", [{"tag": "select"}])
def test_another_kind_of_element_is_of_the_wrong_type(kind: dict[str, object]):
    before = swapped(CLOSED, open=changed(BUTTON, **kind))
    verdict = judged(before, (*before, PANEL))
    assert (verdict.failure, verdict.usable) == ("d", True)


def test_a_link_that_looks_like_the_button_is_no_other_type():
    before = swapped(CLOSED, open=changed(BUTTON, tag="a"))
    assert judged(before, (*before, PANEL)).failure == "none"


def test_another_kind_of_element_of_another_size_and_name_is_of_the_wrong_type():
    box = changed(BUTTON, tag="select", text="Choose", box=(80, 140, 240, 176))
    before = swapped(CLOSED, open=box)
    lower = changed(PANEL, box=tuple(side + 12 * (n % 2) for n, side in enumerate(PANEL.box)))
    assert judged(before, (*before, lower)).failure == "d"


def test_an_area_that_looks_like_the_button_is_of_no_other_type():
    before = swapped(CLOSED, open=changed(BUTTON, tag="div"))
    assert judged(before, (*before, PANEL)).failure == "none"


def test_the_element_elsewhere_is_at_the_wrong_position():
    before = swapped(CLOSED, open=changed(BUTTON, box=(560, 120, 680, 160)))
    assert judged(before, (*before, PANEL)).failure == "e"


def test_the_effect_elsewhere_is_at_the_wrong_position():
    verdict = judged(after=(*CLOSED, changed(PANEL, box=(460, 400, 820, 480))))
    assert (verdict.failure, verdict.usable) == ("f", True)


def test_a_dialog_instead_of_a_panel_is_another_type_of_effect():
    verdict = judged(after=CLOSED, events=Events(dialogs=("alert: Spades",)))
    assert (verdict.failure, verdict.usable, verdict.implemented) == ("g", True, True)


def test_a_colour_instead_of_a_panel_is_another_type_of_effect():
    red = swapped(CLOSED, open=changed(BUTTON, fill=(230, 40, 40)))
    assert judged(after=red).failure == "g"


def test_a_text_on_another_element_is_an_effect_on_the_wrong_one():
    wanted = swapped(CLOSED, ready=changed(STATUS, text="Opened now"))
    mine = swapped(CLOSED, garden=changed(TITLE, text="Opened now"))
    verdict = judged(after=mine, wanted=wanted, visuals=("text",))
    assert (verdict.failure, verdict.usable) == ("h", False)


def test_a_message_at_another_field_is_an_effect_on_the_wrong_one():
    first = Part(21, "Name", (60, 330, 300, 360), fill=(235, 235, 235), tag="input")
    second = Part(22, "Street", (60, 430, 300, 460), fill=(235, 235, 235), tag="input")
    message = Part(23, "Please fill this in", (60, 364, 300, 388), fill=(255, 220, 220))
    before = (*CLOSED, first, second)
    wanted = (*before, message)
    at_second = changed(message, box=(60, 464, 300, 488))
    anywhere = changed(message, box=(520, 40, 760, 64))
    verdict = judged(before, (*before, at_second), wanted=wanted, shown=before)
    assert (verdict.failure, verdict.usable) == ("h", False)
    assert judged(before, (*before, anywhere), wanted=wanted, shown=before).failure == "f"


def test_less_of_the_text_is_partial_and_other_text_is_a_wrong_function():
    whole = changed(PANEL, text="Delivery takes three days")
    some = changed(PANEL, text="Delivery")
    other = changed(PANEL, text="Basket is empty")
    failures = [
        judged(after=(*CLOSED, one), wanted=(*CLOSED, whole)).failure
        for one in (whole, some, other)
    ]
    assert failures == ["none", "i", "j"]


def test_one_of_two_changes_is_a_partial_implementation():
    both = (*swapped(CLOSED, ready=changed(STATUS, text="Opened now")), PANEL)
    verdict = judged(wanted=both, visuals=("new component", "text"))
    assert (verdict.failure, verdict.usable) == ("i", True)


def test_an_effect_that_cannot_be_undone_where_the_graph_can_is_partial():
    assert judged(reverts=True, again=outcome(CLOSED, OPEN)).failure == "i"
    assert judged(reverts=True, again=outcome(CLOSED, CLOSED)).failure == "none"


def test_another_text_at_the_right_place_is_a_wrong_function():
    verdict = judged(after=(*CLOSED, changed(PANEL, text="Your basket is empty")))
    assert (verdict.failure, verdict.usable) == ("j", False)


def test_a_number_that_differs_in_one_digit_is_a_wrong_function():
    wanted = swapped(CLOSED, ready=changed(STATUS, text="4 items"))
    mine = swapped(CLOSED, ready=changed(STATUS, text="2 items"))
    assert judged(after=mine, wanted=wanted, visuals=("text",)).failure == "j"


def test_hiding_something_instead_of_showing_it_is_a_wrong_function():
    assert judged(after=(TITLE, STATUS, BUTTON)).failure == "j"


def test_a_stranger_that_is_recoloured_with_the_page_is_not_a_missing_part():
    def night(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(changed(part, fill=(90, 110, 140)) for part in parts)

    stranger = Part(9, "Made with care", (500, 500, 760, 540), fill=(255, 230, 200))
    ground = Part(1, "", (0, 0, *SIZE), fill=(255, 255, 255), tag="body")
    before = (ground, *CLOSED, stranger)
    verdict = judged(before, night(before), wanted=night((ground, *CLOSED)), visuals=("color",))
    assert verdict.failure == "none"


def lowered(parts: tuple[Part, ...], by: int = 7) -> tuple[Part, ...]:
    def box(part: Part) -> tuple[int, int, int, int]:
        left, top, right, bottom = part.box
        return left + 3, top + by, right + 3, bottom + by

    return tuple(changed(part, box=box(part)) for part in parts)


def test_a_page_that_lies_a_few_pixels_lower_is_compared_with_the_reference_as_closely():
    assert judged(lowered(CLOSED), lowered(OPEN)).failure == "none"
    senseless = changed(PANEL, text="Trains and boats")
    assert judged(lowered(CLOSED), lowered((*CLOSED, senseless))).failure == "j"
    far = changed(PANEL, box=(460, 420, 820, 500))
    assert judged(lowered(CLOSED), lowered((*CLOSED, far))).failure == "f"


RED = changed(BUTTON, fill=(240, 120, 120))


def test_the_change_of_a_peer_instead_of_its_own_is_an_effect_on_the_wrong_element():
    on_other = swapped(CLOSED, close=changed(OTHER, fill=(240, 120, 120)))
    verdict = judged(after=on_other, wanted=swapped(CLOSED, open=RED), visuals=("color",))
    assert verdict.failure == "h"


def test_the_sentence_says_which_of_several_tags_the_element_has():
    tags = ("button", "input")
    assert list(trigger_tags(tags, 'click the "Transfer" button')) == ["button"]
    assert list(trigger_tags(tags, "click on it")) == list(tags)
    assert list(trigger_tags(tags, 'click "the button"')) == list(tags)
    assert list(trigger_tags(("text",), 'click the "x" button')) == ["text"]


def test_a_page_that_a_script_makes_anew_is_no_other_page():
    more = tuple(
        Part(30 + n, f"Row number {n}", (500, 60 * n, 700, 60 * n + 40)) for n in range(1, 6)
    )
    page = (*CLOSED, *more)
    anew = tuple(changed(part, ref=part.ref + 100) for part in page)
    other = changed(PANEL, text="Something quite different")
    verdict = judged(page, (*anew, other), shown=page, wanted=(*page, PANEL))
    assert verdict.failure not in ("g", "none")
    assert "another page" not in " ".join(verdict.evidence)


def test_what_appears_in_another_shade_is_no_failure():
    lighter = changed(PANEL, fill=tuple(max(side - 45, 0) for side in PANEL.fill))
    assert judged(CLOSED, (*CLOSED, lighter)).failure == "none"


# --- negative controls


@pytest.mark.parametrize(
    ("asked", "done"),
    [
        (Action("click"), Action("click")),
        (Action("hover"), Action("hover")),
        (Action("drag", "30,0"), Action("drag", "30,0")),
        (Action("scroll", "down"), Action("scroll", "down")),
        (Action("select", "Rakes"), Action("click")),
        (Action("type", "a rake"), Action("key", "a r a k e")),
    ],
)
def test_the_same_act_on_two_places_that_are_no_control_must_not_have_the_effect(asked, done):
    acts = []

    def elsewhere(element, targets, action):
        acts.append((element, targets, action))
        return [outcome(CLOSED, CLOSED)] * len(targets)

    assert judged(action=asked, elsewhere=elsewhere).usable
    ((element, targets, action),) = acts
    assert (element.id, action) == ("interact1", done)
    assert targets
    for x, y in targets:
        controls = (PixelBox(*part.box) for part in (BUTTON, OTHER))
        assert not any(box.left <= x < box.right and box.top <= y < box.bottom for box in controls)


@pytest.mark.parametrize("number", [0, 1])
def test_one_place_that_has_the_effect_is_enough(number):
    outcomes = [outcome(CLOSED, CLOSED)] * 2
    outcomes[number] = outcome(CLOSED, OPEN)
    said = judged(elsewhere=lambda *_: outcomes)
    assert (said.failure, said.usable, said.implemented) == ("b", False, False)


def test_another_effect_of_another_place_does_not_matter():
    moved = (*CLOSED, changed(PANEL, box=(460, 400, 820, 480)))
    assert judged(elsewhere=lambda *_: [outcome(CLOSED, moved)]).usable


def test_keys_are_held_against_other_keys_in_the_same_element():
    acts = []
    judged(action=Action("key", "Enter"), elsewhere=lambda *act: acts.append(act) or ())
    ((element, targets, action),) = acts
    assert targets == [element]
    assert action.kind == "key"
    assert "enter" not in action.value.lower()


def test_where_the_element_is_the_page_or_only_hides_things_no_place_is_neutral():
    acts = []
    large = changed(BUTTON, box=(0, 100, 900, 590))
    before = swapped(CLOSED, open=large)
    judged(
        before,
        (*before, PANEL),
        shown=before,
        elsewhere=lambda *act: acts.append(act) or (),
        trigger=(0, 100, 900, 590),
    )
    judged(
        OPEN,
        CLOSED,
        wanted=CLOSED,
        shown=OPEN,
        visuals=(),
        elsewhere=lambda *act: acts.append(act) or (),
    )
    assert acts == []


def test_an_element_over_all_of_the_page_is_tried_beside_the_place_that_is_meant():
    acts = []
    large = changed(BUTTON, box=(0, 0, 900, 600))
    before = swapped(CLOSED, open=large)
    judged(before, (*before, PANEL), elsewhere=lambda *act: acts.append(act) or ())
    assert [targets != [] for _, targets, _ in acts] == [True]


def test_what_is_shown_before_is_no_effect():
    for before in ({"text": "Spades and r"}, {"box": (60, 220, 400, 300)}):
        said = judged(swapped(OPEN, spades=changed(PANEL, **before)), OPEN)
        assert (said.failure, said.usable) == ("b", False)


# --- what the description says


def test_a_count_that_cannot_be_read_is_expected_as_the_description_says():
    def page(count, *more):
        mark = Part(8, count, (740, 40, 770, 70), fill=(255, 210, 210), tag="b")
        return (*CLOSED, mark, *more)

    def verdict(count, description):
        return judged(
            page("2"),
            page(count, PANEL),
            shown=page("2"),
            wanted=page("3", PANEL),
            description=description,
            unread=("2", "3"),
        )

    first = "Clicking raises the count from 2 to 3 and shows Spades and rakes."
    last = "Clicking shows Spades and rakes and raises the count from 2 to 3."
    assert verdict("3", first).failure == verdict("3", last).failure == "none"
    # What the description names first is what the user came for.
    assert (verdict("2", first).failure, verdict("2", first).usable) == ("i", False)
    assert (verdict("2", last).failure, verdict("2", last).usable) == ("i", True)


def test_words_in_a_script_that_cannot_be_read_are_those_of_the_description():
    heading = Part(7, "أدوات الحديقة للبيع", (500, 120, 820, 170), fill=(255, 255, 255))
    shown = (TITLE, BUTTON, heading)
    right = changed(PANEL, text="مجرفة ومشط")
    wrong = changed(PANEL, text="سلة فارغة")
    told = {"description": "Clicking shows مجرفة ومشط below.", "unread": (heading.text, right.text)}
    assert judged(shown, (*shown, right), shown=shown, wanted=(*shown, right), **told).usable
    assert not judged(shown, (*shown, wrong), shown=shown, wanted=(*shown, right), **told).usable


def test_a_dialog_that_its_own_controls_do_not_close_is_not_usable():
    veil = Part(40, "", (0, 0, 900, 600), fill=(120, 120, 120), position="fixed")
    close = Part(42, "Close", (480, 360, 560, 390), fill=(200, 200, 200), tag="button")
    window = Part(41, "Spades and rakes", (300, 200, 600, 400), fill=(250, 250, 250))
    opened = (*CLOSED, veil, window, close)

    def verdict(*afterwards):
        return judged(
            after=opened,
            wanted=opened,
            again=outcome(CLOSED, opened),
            elsewhere=lambda _element, targets, _action: [
                outcome(CLOSED, after) for after in afterwards[: len(targets)]
            ],
        )

    stays = verdict(CLOSED, *[opened] * 5)
    assert (stays.failure, stays.usable) == ("i", False)
    assert "closed" in stays.evidence[0]
    assert verdict(opened, CLOSED, CLOSED, CLOSED).evidence != stays.evidence


def test_a_menu_beside_another_thing_of_the_kind_is_on_the_wrong_one():
    dots = [Part(50 + n, "...", (200 + 250 * n, 330, 240 + 250 * n, 360)) for n in (0, 1)]
    menus = [
        Part(60 + n, "Rename or delete", (200 + 250 * n, 370, 400 + 250 * n, 420)) for n in (0, 1)
    ]
    before = (*CLOSED, changed(dots[0], id="interact1", tag="a"), changed(dots[1], tag="a"))
    before = tuple(changed(one, id="") if one.text == "Open" else one for one in before)
    verdict = judged(
        before,
        (*before, menus[1]),
        shown=before,
        wanted=(*before, menus[0]),
        trigger=(200, 330, 240, 360),
    )
    assert (verdict.failure, verdict.usable) == ("h", False)
