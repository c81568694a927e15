"""The ways in which models write places, as patterns and as readers of what the patterns match.

A new way is one more `Form`. Every repetition is bounded, so that a search takes time that grows
with the length of the text and with nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

# Signs of other keyboards, and markup that says nothing, one character for one.
PLAIN_SIGNS = str.maketrans(
    {
        **dict(zip("（）［］【】｛｝〈〉《》", "()[][]{}<><>", strict=True)),
        **dict(zip("，、；：＝≈％＜＞｜／．。", ",,;:==%<>|/..", strict=True)),
        **dict(zip("－−–＋", "---+", strict=True)),
        **dict(zip("“”„‘’", '"""\'\'', strict=True)),
        **dict(zip("０１２３４５６７８９", "0123456789", strict=True)),
        **dict.fromkeys("`*—\u00a0\u3000", " "),
    }
)

NUMBER = (
    r"(?<![A-Za-z0-9_.])[-+]?(?:[0-9]{1,12}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})"
    r"(?:e[-+]?[0-9]{1,4})?(?:\s?%|\s?px)?(?![A-Za-z0-9_%]|\.[0-9])"
)
# 1,234 is one number where another comma, with a space behind it, separates the coordinates.
_GROUPED = r"(?<![A-Za-z0-9_.,])[1-9],[0-9]{3}(?:\.[0-9]{1,20})?(?![A-Za-z0-9_]|[,.][0-9])"
_GROUPED_PAIR = rf"(?:{_GROUPED},\s{{1,6}}(?:{_GROUPED}|{NUMBER})|{NUMBER},\s{{1,6}}{_GROUPED})"
_OPEN, _CLOSE = r"(?:[\[({<]\s{0,6}){1,3}", r"(?:\s{0,6}[\])}>]){1,3}"
_GAP = r"(?:\s{0,6}[,;]\s{0,6}|\s{1,6})"
_PAIR = rf"{NUMBER}{_GAP}{NUMBER}"
_LIST = rf"{_PAIR}(?:{_GAP}{_PAIR})?"
_WHOLE_LIST = rf"{_LIST}(?!{_GAP}[-+.0-9])"  # and not the beginning of a longer one
_CORNERS = rf"{_OPEN}{_PAIR}{_CLOSE}\s{{0,6}}[,;]?\s{{0,6}}{_OPEN}{_PAIR}{_CLOSE}"
_BRACKETS = rf"(?:{_CORNERS}|{_OPEN}(?:{_GROUPED_PAIR}|{_LIST}){_CLOSE})"

QUOTE = r"\\{0,3}[\"']"
_AXIS = r"(?:[xy]_?(?:min|max|[012])|[xywh]|left|top|right|bottom|width|height)"
_AXIS_VALUE = (
    rf"(?<![A-Za-z0-9_])(?:{QUOTE})?{_AXIS}(?:{QUOTE})?\s{{0,4}}[:=]\s{{0,4}}(?:{QUOTE})?"
    rf"(?:{_GROUPED}|{NUMBER})(?:{QUOTE})?"
)
_AXES = rf"{_AXIS_VALUE}(?:\s{{0,6}}(?:[,;&]|and)?\s{{0,6}}{_AXIS_VALUE}){{1,3}}"

_PLACE_WORD = (
    r"(?:point|bbox|box|coordinate|coord|position|location|bound|bounding_?box|center|centre|"
    r"click|pos|xy)s?(?:_?2d)?"
)
KEY = rf"(?:(?:start|click|target|center|centre|predicted|screen|action|final)_?)?{_PLACE_WORD}"
_ACTION = (
    r"(?:(?:left|right|middle|double|triple|long|mouse)_?)?"
    r"(?:click|tap|press|touch|hover|single|double|triple|drag|move|select|scroll|swipe|type_text)"
    r"(?:_?(?:at|to|on|element|single|double))?"
)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern that does not care about capitals; compiled when it is first used."""
    return re.compile(pattern, re.IGNORECASE)


def number_value(text: str) -> float:
    """What a text that `NUMBER` matches says, without its unit; infinite if it is beyond floats."""
    return float(text.lower().rstrip("%px \t\r\n"))


_ONE_GROUPED_PAIR = rf"{_OPEN}{_GROUPED_PAIR}{_CLOSE}"
_ONE_NUMBER = rf"{_GROUPED}|{NUMBER}"
_NAMED_NUMBER = rf"({_AXIS})(?:{QUOTE})?\s{{0,4}}[:=]\s{{0,4}}(?:{QUOTE})?({_GROUPED}|{NUMBER})"
_ARGUMENT = rf"(?P<axes>{_AXES})|(?P<place>{_BRACKETS}|{_LIST})"


# --- how each form is read ----------------------------------------------------------------------


class Values(NamedTuple):
    """Numbers as written; `named` if their axes are."""

    texts: Sequence[str]
    named: bool = False


_CORNER_NAMES = (
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("left", "top", "right", "bottom"),
)
_SIZE_NAMES = (
    ("x", "y", "width", "height"),
    ("x", "y", "w", "h"),
    ("left", "top", "width", "height"),
)


def _listed(text: str) -> Values | None:
    if compile_pattern(_ONE_GROUPED_PAIR).fullmatch(text):
        return Values(
            [value.replace(",", "") for value in compile_pattern(_ONE_NUMBER).findall(text)]
        )
    return Values(compile_pattern(NUMBER).findall(text))


def _by_axis(text: str) -> Values | None:
    values = {
        name.lower().replace("_", ""): value.replace(",", "")
        for name, value in compile_pattern(_NAMED_NUMBER).findall(text)
    }
    for names in _CORNER_NAMES:
        if all(name in values for name in names):
            return Values([values[name] for name in names], named=True)
    for names in _SIZE_NAMES:
        if all(name in values for name in names):
            left, top, width, height = (number_value(values[name]) for name in names)
            corner = [repr(left + width), repr(top + height)]
            return Values([repr(left), repr(top), *corner], named=True)
    if "x" in values and "y" in values:
        return Values([values["x"], values["y"]], named=True)
    return None


def _by_quoted_axis(text: str) -> Values | None:
    return _by_axis(text) if '"' in text or "'" in text else None


def _first_of_points(text: str) -> Values | None:
    """`<points x1= y1= x2= y2=>` are two points, not two corners."""
    values = compile_pattern(_NAMED_NUMBER).findall(text)[:2]
    if [name.lower()[0] for name, _ in values] != ["x", "y"]:
        return None
    return Values([value for _, value in values], named=True)


def _first_argument(text: str) -> Values | None:
    """Of a drag this is where it starts."""
    place = compile_pattern(_ARGUMENT).search(text)
    if place is None:
        return None
    return _by_axis(place["axes"]) if place["axes"] else _listed(place["place"])


def _tokens(text: str) -> Values | None:
    return Values(re.findall(r"[0-9]{1,4}", text))


class Form(NamedTuple):
    """A way of writing: what it matches, how the group `place` of a match is read."""

    name: str
    pattern: str
    read: Callable[[str], Values | None]
    needs: str = ""  # any of these characters: a text without them is not searched, for speed

    def may_be_in(self, text: str) -> bool:
        """Whether a search is worth its time."""
        return not self.needs or any(sign in text for sign in self.needs)


CALL = Form(
    "action",
    rf"(?<![A-Za-z0-9]){_ACTION}\((?P<place>(?:[^()\n]|\([^()\n]{{0,80}}\)){{0,240}}+)\)",
    _first_argument,
    "(",
)
MARKED: tuple[Form, ...] = (
    CALL,
    Form(
        "tag",
        rf"<\|?(?:begin_of_)?(?:{_PLACE_WORD}|det|loc|quad)(?:_start|_begin)?\|?>\s{{0,6}}"
        rf"(?P<place>{_BRACKETS}|{_WHOLE_LIST}(?=\s{{0,6}}[<\"']))",
        _listed,
        "<",
    ),
    Form(
        "parameter",
        rf"name={QUOTE}{KEY}{QUOTE}>\s{{0,6}}(?P<place>{_BRACKETS}|{_WHOLE_LIST}(?=\s{{0,6}}<))",
        _listed,
        ">",
    ),
    Form(
        "json",
        rf"(?:{QUOTE}{KEY}{QUOTE}|(?<=\{{)\s{{0,4}}{KEY})\s{{0,6}}:\s{{0,6}}"
        rf"(?:{QUOTE}\s{{0,4}})?(?P<place>{_BRACKETS}|{_WHOLE_LIST})",
        _listed,
        ":",
    ),
    Form("json", rf"(?P<place>{_AXES})", _by_quoted_axis, "\"'"),
    Form("points", rf"<points?\s{{1,4}}(?P<place>{_AXES})", _first_of_points, "<"),
    Form(
        "tag",
        rf"(?P<place><x>\s?{NUMBER}\s?</x>\s{{0,6}}<y>\s?{NUMBER})\s?</y>",
        lambda text: Values(compile_pattern(NUMBER).findall(text), named=True),
        "<",
    ),
    Form("tokens", r"(?P<place>(?:<loc_?[0-9]{1,4}>){2,5})", _tokens, "<"),
    Form("boxed", rf"\\boxed\{{\s{{0,4}}(?P<place>{_WHOLE_LIST})\s{{0,4}}\}}", _listed, "\\"),
)
"""Forms that can hardly be anything but an answer. An action spans its whole call."""

BARE: tuple[Form, ...] = (
    Form("brackets", rf"(?P<place>{_BRACKETS})", _listed, "([{<"),
    Form("axes", rf"(?P<place>{_AXES})", _by_axis, ":="),
    Form("command", rf"(?<![\w-])(?:tap|click)\s(?P<place>{_PAIR})(?=[.\s]|$)", _listed),
)
"""Forms that also turn up in reasoning."""

ALONE: tuple[Form, ...] = (
    Form(
        "line",
        rf"(?m:^)[^\S\n]{{0,8}}(?:[^0-9:=\n]{{1,60}}[:=]\s{{0,4}})?(?:{QUOTE})?"
        rf"(?P<place>{_LIST})[\"'.]{{0,2}}[^\S\n]{{0,8}}(?m:$)",
        _listed,
    ),
)
"""Numbers without any sign around them, alone on a line."""
