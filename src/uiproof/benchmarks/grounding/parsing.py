"""Read a place out of what a model wrote.

`parse` says what is written; what its numbers mean is said by the contract of the model
(`coordinates.Contract`), which `locate` applies:

    parsed = parse("Action: click(start_box='(197,525)')")   # Parsed("point", (197.0, 525.0), …)
    locate(parsed, contract_for("UI-TARS-7B-DPO"), 1920, 1080)             # (0.197, 0.525)

Of several places the answer is one in a marked form (an action, a tag, JSON) before one in bare
brackets, one outside of `<think>` before one inside, then the last one; of a JSON list the first,
where models put their best one. Every repetition in the patterns is bounded, so that the time is
linear however hostile the text; of a text of megabytes only both ends are read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import Literal, NamedTuple

from uiproof.benchmarks.grounding.coordinates import Contract, Order, Point, Space, to_unit
from uiproof.geometry import Box

Kind = Literal["point", "box", "refusal", "nothing"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """The content of an answer: a point, a box, a refusal, or nothing that can be read.

    A box is four numbers as they are written, read as two opposite corners. `form` names the way of
    writing.
    `named` is true if the answer names its axes (`x=3, y=5`), which are then x first whatever the
    contract says; `percent` if the numbers carry a percent sign.
    """

    kind: Kind
    numbers: tuple[float, ...] = ()
    form: str = ""
    confidence: float | None = None
    named: bool = False
    percent: bool = False


NOTHING = Parsed("nothing")


def parse(text: str) -> Parsed:
    """Return the place in an answer. Never raises; what cannot be read is `nothing`."""
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]}\n…\n{text[-_READ:]}"
    # Deeply indented JSON has long gaps, which the bounded patterns would not cross.
    plain = _SPACES.sub(" ", text.translate(PLAIN_SIGNS))
    answer, thought = _answer_and_thought(plain)
    confidence = _confidence(answer)
    found = _answered(answer)
    if found is None:
        if _refuses(answer):
            return Parsed("refusal", form="words", confidence=confidence)
        # Some models put the action into their reasoning; bare numbers there are not an answer.
        found = _latest(thought, MARKED)
    if found is None:
        return NOTHING
    kind: Kind = "point" if len(found.numbers) == 2 else "box"
    return Parsed(kind, found.numbers, found.form, confidence, found.named, found.percent)


def locate(
    parsed: Parsed, contract: Contract, sent_width: int, sent_height: int
) -> Point | Box | None:
    """Return the place of a parsed answer in 0-1 of the picture sent; None if it has none.

    The answer overrides the contract: named axes are not swapped, and numbers with a percent sign
    are percent.
    """
    if not parsed.numbers:
        return None
    if parsed.named:
        contract = replace(contract, order=Order.XY)
    if parsed.percent:
        contract = replace(contract, space=Space.PERCENT, resize=None)
    return to_unit(parsed.numbers, contract, sent_width, sent_height)


_SPACES = re.compile(r"[^\S\n]+")
_READ = 100_000  # characters at each end; nothing longer is an answer
_LOOKED_AT = 1000  # matches of one form that are looked at, from the end


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    numbers: tuple[float, ...]
    form: str
    named: bool
    percent: bool


_THOUGHT_END = r"</think(?:ing)?>|◁/think▷"
_THOUGHT_START = r"<think(?:ing)?>|◁think▷"
_ANSWER_START = r"<answer>|<\|begin_of_box\|>"
_ANSWER_END = r"</answer>|<\|end_of_box\|>"
_NEXT_IN_LIST = re.compile(r"\}\s{0,20},\s{0,20}\{")
_FARTHEST_IN_LIST = 600


def _answer_and_thought(text: str) -> tuple[str, str]:
    """Return the part that answers, and the reasoning before it."""
    start, end = 0, len(text)
    if thought := _last_matches(_THOUGHT_END, text):
        start = thought[-1].end()
    if marks := _last_matches(_ANSWER_START, text):
        start = max(start, marks[-1].end())
    closing = compile_pattern(rf"{_ANSWER_END}|{_THOUGHT_START}").search(text, start)
    if closing:
        end = closing.start()
    return text[start:end], text[:start] + text[end:]


def _answered(answer: str) -> _Found | None:
    if marked := _latest(answer, MARKED):
        return marked
    bare = _latest(answer, BARE) or _latest(answer, ALONE)
    if bare is None:
        return None
    # An action without a place, or a refusal, after the numbers: they belong to the reasoning.
    calls = _last_matches(CALL.pattern, answer)
    if (calls and calls[-1].start() > bare.start) or _refuses(answer[bare.end :]):
        return None
    return bare


def _latest(text: str, forms: tuple[Form, ...]) -> _Found | None:
    """Return the place that ends last; of several that end there, the outermost."""
    found = [f for form in forms if form.may_be_in(text) and (f := _last_of(form, text))]
    return max(found, key=lambda place: (place.end, -place.start), default=None)


def _last_of(form: Form, text: str) -> _Found | None:
    last: _Found | None = None
    for match in reversed(_last_matches(form.pattern, text)):
        found = _read(form, match)
        if found is None:
            continue
        if last is None:
            last = found
        elif _same_list(text, found.end, last.start):
            last = replace(found, end=last.end)
        if form.name != "json" or last.start != found.start:
            break
    return last


def _same_list(text: str, start: int, end: int) -> bool:
    between = text[start : min(end, start + _FARTHEST_IN_LIST)]
    near = end - start < _FARTHEST_IN_LIST and "[" not in between
    return near and _NEXT_IN_LIST.search(between) is not None


def _read(form: Form, match: re.Match[str]) -> _Found | None:
    values = form.read(match["place"])
    if values is None or len(values.texts) not in (2, 4):
        return None
    numbers = tuple(number_value(text) for text in values.texts)
    if not all(map(isfinite, numbers)):
        return None
    percent = all(text.endswith("%") for text in values.texts)
    return _Found(match.start(), match.end(), numbers, form.name, values.named, percent)


def _last_matches(pattern: str, text: str) -> deque[re.Match[str]]:
    return deque(compile_pattern(pattern).finditer(text), maxlen=_LOOKED_AT)


# --- the forms in which models write places ---------------------------------------------------

# Full-width and typographic characters, and markup without meaning, one character for one.
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
    """Return a pattern that ignores case, compiled on first use."""
    return re.compile(pattern, re.IGNORECASE)


def number_value(text: str) -> float:
    """Return the value of a text that `NUMBER` matches; infinite if it is beyond floats."""
    return float(text.lower().rstrip("%px \t\r\n"))


_ONE_GROUPED_PAIR = rf"{_OPEN}{_GROUPED_PAIR}{_CLOSE}"
_ONE_NUMBER = rf"{_GROUPED}|{NUMBER}"
_NAMED_NUMBER = rf"({_AXIS})(?:{QUOTE})?\s{{0,4}}[:=]\s{{0,4}}(?:{QUOTE})?({_GROUPED}|{NUMBER})"
_ARGUMENT = rf"(?P<axes>{_AXES})|(?P<place>{_BRACKETS}|{_LIST})"


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
    """Read the first point of `<points x1= y1= x2= y2=>`: these are no corners."""
    values = compile_pattern(_NAMED_NUMBER).findall(text)[:2]
    if [name.lower()[0] for name, _ in values] != ["x", "y"]:
        return None
    return Values([value for _, value in values], named=True)


def _first_argument(text: str) -> Values | None:
    """Read the first argument: of a drag, its start."""
    place = compile_pattern(_ARGUMENT).search(text)
    if place is None:
        return None
    return _by_axis(place["axes"]) if place["axes"] else _listed(place["place"])


def _tokens(text: str) -> Values | None:
    return Values(re.findall(r"[0-9]{1,4}", text))


class Form(NamedTuple):
    """A way of writing a place: its pattern, and the reader of the pattern's group `place`."""

    name: str
    pattern: str
    read: Callable[[str], Values | None]
    needs: str = ""  # a text without any of these characters is not searched, for speed

    def may_be_in(self, text: str) -> bool:
        """Return whether the text has any of the characters that the form needs."""
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
"""Forms that are answers wherever they stand. An action spans its whole call."""

BARE: tuple[Form, ...] = (
    Form("brackets", rf"(?P<place>{_BRACKETS})", _listed, "([{<"),
    Form("axes", rf"(?P<place>{_AXES})", _by_axis, ":="),
    Form("command", rf"(?<![\w-])(?:tap|click)\s(?P<place>{_PAIR})(?=[.\s]|$)", _listed),
)
"""Forms that also appear in reasoning."""

ALONE: tuple[Form, ...] = (
    Form(
        "line",
        rf"(?m:^)[^\S\n]{{0,8}}(?:[^0-9:=\n]{{1,60}}[:=]\s{{0,4}})?(?:{QUOTE})?"
        rf"(?P<place>{_LIST})[\"'.]{{0,2}}[^\S\n]{{0,8}}(?m:$)",
        _listed,
    ),
)
"""Numbers without brackets, alone on a line."""


# --- confidence and refusals --------------------------------------------------------------------

_CONFIDENCE = (
    rf"(?:(?:confidence|certainty|置信度)(?:[_ ](?:score|level))?|{QUOTE}score)(?:{QUOTE})?"
    rf"\s{{0,4}}[:=]\s{{0,4}}(?:{QUOTE})?(?P<value>{NUMBER})"
)
_SEEN = r"(?:find|found|locate|located|identify|identified|see|seen|detect|detected|determine)"
_REFUSAL = (
    rf"(?:can(?:not|'t| not)|could(?:n't| not)|unable to|not able to|failed to|did(?:n't| not))"
    rf"\s{{1,4}}(?:be\s{{1,4}})?(?:[a-z]{{1,20}}\s{{1,4}})?{_SEEN}\b"
    r"|\bnot[ _]found\b|\bnot (?:present|visible|shown|available|displayed)\b"
    r"|\bnot (?:on|in) (?:the|this) (?:screen|image|screenshot|picture)\b"
    r"|\b(?:does|do)(?:n't| not)\s{1,4}(?:seem to )?(?:exist|appear|contain)\b"
    r"|\bno (?:such|matching|corresponding|visible)\b|\bno target\b|\binfeasible\b"
    r"|\bcall_user\(|[\"'](?:found|exists|visible)[\"']\s{0,4}:\s{0,4}false"
    rf"|[\"']{KEY}[\"']\s{{0,4}}:\s{{0,4}}(?:null|none|\[\s{{0,4}}\])"
    r"|[\"']status[\"']\s{0,4}:\s{0,4}[\"'](?:failure|fail|infeasible)[\"']"
    r"|找不到|无法找到|未找到|没有找到|没找到|无法定位|未发现|没有发现|不存在|无法识别"
)
_REFUSING_WORD = r"\W{0,10}(?:none|null|n/a|no|refused?|无|没有)\W{0,10}"


def _refuses(text: str) -> bool:
    if compile_pattern(_REFUSING_WORD).fullmatch(text):
        return True
    return compile_pattern(_REFUSAL).search(text) is not None


def _confidence(text: str) -> float | None:
    matches = _last_matches(_CONFIDENCE, text)
    if not matches:
        return None
    written = matches[-1]["value"]
    value = number_value(written)
    if written.endswith("%") or 1 < value <= 100:
        value /= 100
    return value if 0 <= value <= 1 else None
