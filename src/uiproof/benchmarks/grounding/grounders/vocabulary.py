"""The words by which instructions speak about controls and places."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """What sort of thing is wanted, as far as it changes where to click."""

    BUTTON = "button"
    LINK = "link"
    TEXT = "text"
    FIELD = "field"
    CHECKBOX = "checkbox"  # or a radio button: a small shape before its label
    TOGGLE = "toggle"  # a switch, at the far end of its row
    DROPDOWN = "dropdown"
    ICON = "icon"
    STEPPER = "stepper"  # a small arrow or sign at the end of a field


class Relation(StrEnum):
    """How the target lies to what is named after a preposition."""

    LEFT = "left"
    RIGHT = "right"
    ABOVE = "above"
    BELOW = "below"
    NEAR = "near"
    OF = "of"
    INSIDE = "inside"
    NAMED = "named"  # no place: what follows is written on the target
    EXTRA = "extra"  # a purpose or a description


class Axis(StrEnum):
    """Which way things are counted."""

    ACROSS = "across"
    DOWN = "down"


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _kinds() -> dict[str, Kind]:
    words = {
        Kind.BUTTON: "button buttons btn",
        Kind.LINK: "link links hyperlink url",
        Kind.TEXT: "text label word letter heading title caption option item entry menu tab row "
        "column cell line paragraph",
        Kind.FIELD: "field fields input textbox box searchbar bar",
        Kind.CHECKBOX: "checkbox checkboxes tickbox radio",
        Kind.TOGGLE: "toggle switch slider",
        Kind.DROPDOWN: "dropdown dropdowns drop-down combobox selector combo autocomplete",
        Kind.ICON: "icon icons image picture logo symbol sign thumbnail",
        Kind.STEPPER: "arrow stepper spinner",
    }
    return {word: kind for kind, listed in words.items() for word in listed.split()}


KINDS: Mapping[str, Kind] = _kinds()

# Verbs that say what kind of control it is, where no noun does.
IMPLIED: Mapping[str, Kind] = {
    **dict.fromkeys(("check", "uncheck", "tick", "untick", "deselect", "unselect"), Kind.CHECKBOX),
    **dict.fromkeys(("enable", "disable"), Kind.TOGGLE),
    **dict.fromkeys(("change", "modify", "set", "adjust", "edit", "fill"), Kind.DROPDOWN),
    **dict.fromkeys(("expand", "unfold"), Kind.DROPDOWN),
    **dict.fromkeys(("increase", "decrease", "reduce", "raise"), Kind.STEPPER),
}
# "text field", "radio button": the other word says more.
VAGUE_KINDS = (Kind.BUTTON, Kind.TEXT)

# After these a verb begins another instruction; after "to", it says what for.
NEW_SENTENCE = ("and", "then", ".", ",", ";", ":", "(")

# Verbs that say only that something is to be pointed at …
CLICKING = _words(
    """click tap press hit find locate hover double-click left-click right-click doubleclick touch
    point move look go navigate place type enter write"""
)
# … and those that mostly do, but may be written on the screen: "Select all".
POINTING = _words(
    """select choose pick open focus mark highlight check uncheck tick untick toggle deselect
    unselect expand collapse unfold activate use view show switch access change modify set adjust
    enable disable"""
)

FUNCTION_WORDS = _words(
    """a an the this that these those it its your my their his her our is are be being been was were
    will would can could should may i you we they he she and or but not no nor so as if then than
    which who whom whose where when while what how to of in on at for from with by into onto out up
    inside within under over near next beside above below between through about after before
    there here just only also very please s screen window page app application interface dialog
    located appears displayed shown visible find look see one called named labeled labelled titled
    says saying reads reading corresponding current user want mouse cursor pointer"""
)

EXTRA = _words("to that which who so and then when where because while or but as if")

ORDINALS: Mapping[str, int] = {
    word: index
    for index, words in enumerate(
        (
            ("first", "1st"),
            ("second", "2nd"),
            ("third", "3rd"),
            ("fourth", "4th"),
            ("fifth", "5th"),
            ("sixth", "6th"),
            ("seventh", "7th"),
            ("eighth", "8th"),
            ("ninth", "9th"),
            ("tenth", "10th"),
        )
    )
    for word in words
} | {"last": -1}


def _superlatives() -> dict[str, tuple[int, Axis]]:
    found = {}
    for stems, index, axis in (
        ("left", 0, Axis.ACROSS),
        ("right", -1, Axis.ACROSS),
        ("top upper", 0, Axis.DOWN),
        ("bottom lower", -1, Axis.DOWN),
    ):
        for stem in stems.split():
            found[f"{stem}most"] = found[f"{stem}-most"] = (index, axis)
    return found | {"highest": (0, Axis.DOWN), "lowest": (-1, Axis.DOWN)}


SUPERLATIVES: Mapping[str, tuple[int, Axis]] = _superlatives()


def _places() -> dict[str, tuple[str, ...]]:
    sides = {
        "top": "top upper header",
        "bottom": "bottom lower footer",
        "left": "left left-hand",
        "right": "right right-hand",
        "middle": "middle center centre central",
    }
    found: dict[str, tuple[str, ...]] = {
        word: (side,) for side, words in sides.items() for word in words.split()
    }
    for down in ("top", "upper", "bottom", "lower"):
        for across in ("left", "right"):
            found[f"{down}-{across}"] = (*found[down], across)
    neutral = "corner side sidebar toolbar panel pane edge part area section half hand"
    return found | dict.fromkeys(neutral.split(), ())


PLACES: Mapping[str, tuple[str, ...]] = _places()  # word -> sides; none: it only goes with them


def _relations() -> dict[str, list[tuple[tuple[str, ...], Relation]]]:
    sides = {"left": Relation.LEFT, "right": Relation.RIGHT}
    listed = {
        "above": Relation.ABOVE,
        "on top of": Relation.ABOVE,
        "below": Relation.BELOW,
        "under": Relation.BELOW,
        "underneath": Relation.BELOW,
        "beneath": Relation.BELOW,
        "next to": Relation.NEAR,
        "beside": Relation.NEAR,
        "near": Relation.NEAR,
        "close to": Relation.NEAR,
        "adjacent to": Relation.NEAR,
        "alongside": Relation.NEAR,
        "after": Relation.RIGHT,
        "before": Relation.LEFT,
        "of": Relation.OF,
        "for": Relation.OF,
        "about": Relation.OF,
        "according to": Relation.OF,
        "in": Relation.INSIDE,
        "inside": Relation.INSIDE,
        "within": Relation.INSIDE,
        "on": Relation.INSIDE,
        "at": Relation.INSIDE,
        "from": Relation.OF,
        "into": Relation.INSIDE,
        "labeled": Relation.NAMED,
        "labelled": Relation.NAMED,
        "named": Relation.NAMED,
        "called": Relation.NAMED,
        "titled": Relation.NAMED,
        "saying": Relation.NAMED,
        "reading": Relation.NAMED,
        "containing": Relation.NAMED,
        "that says": Relation.NAMED,
        "that reads": Relation.NAMED,
        "that contains": Relation.NAMED,
        "which says": Relation.NAMED,
        "with the text": Relation.NAMED,
        "with the label": Relation.NAMED,
        "with": Relation.EXTRA,
    }
    for side, relation in sides.items():
        for form in (
            "to the {} of",
            "on the {} of",
            "at the {} of",
            "to the {} side of",
            "on the {} side of",
            "at the {} side of",
            "on {} of",
            "{} of",
        ):
            listed[form.format(side)] = relation
    by_first: dict[str, list[tuple[tuple[str, ...], Relation]]] = {}
    for words in sorted(listed, key=lambda words: -len(words.split())):
        parts = tuple(words.split())
        by_first.setdefault(parts[0], []).append((parts, listed[words]))
    return by_first


# By their first word, the longest first.
RELATIONS: Mapping[str, list[tuple[tuple[str, ...], Relation]]] = _relations()


# What icons without words are called, and the signs that they are read as.
SIGNS: Mapping[str, tuple[str, ...]] = {
    "close": ("x",),
    "exit": ("x",),
    "dismiss": ("x",),
    "cross": ("x",),
    "plus": ("+",),
    "add": ("+",),
    "increase": ("+",),
    "minus": ("-",),
    "decrease": ("-",),
    "reduce": ("-",),
    "maximize": ("□", "口"),
    "maximise": ("□", "口"),
    "minimize": ("-", "_"),
    "minimise": ("-", "_"),
    "help": ("?",),
    "menu": ("≡", "☰", "⋮", "三"),
    "three-dot": ("⋮", "...", "…"),
}
