"""Actions on elements, read from structured fields or from the published English sentences.

read_action({"action": 'click the "login" button'})                # click
read_action({"action": "Drag the progress bar to the right"})      # drag by 100,0
read_action({"kind": "type", "value": "tea", "action": "…"})       # type "tea"
named_in('hover the mouse over the "Product " item')               # Product
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from uiproof.browser.snapshots import ACTION_KINDS, Action, ActionKind

_DRAG_STEP = 100  # pixels, where a sentence only says which way
_SCROLL_STEP = 500
_TO_THE_END = 10_000

_QUOTED = re.compile(
    r'"((?:[^"\\]|\\.)*)"'
    r"|[“”]([^“”]*)[”“]|«([^«»]*)»|`([^`]*)`"
    r"|(?<!\w)['‘]([^'‘’]+)['’](?!\w)",
    re.DOTALL,
)
_GAP = "\x00"  # stands where a quoted text was

# What may come before the verb, and what divides a sentence into things done one after another.
_LEAD = re.compile(
    r"(?i)^(?:please|first|next|finally|now|then|again|to|you|we|user|users|the user|a user"
    r"|the mouse|after|when|by|if|can|should|simply|just|left|single|once)\b[\s,:]*"
)
_CLAUSES = re.compile(r"(?i)(?:\s*[,;.]\s+|\s+)(?:and then|and|then)\s+|\s*[,;]\s+|\.\s+|\n+")

# Published sentences are typed by hand: "move teh coursor".
_MOUSE = r"(?:mouse|moues|mosue|muose|mous|mouce)"
_CURSOR = (
    r"(?:(?!(?:course|coarse|cross|core|care|cure|curse)s?\b)(?=\w*s)(?=\w*r)c[aeorsu]{3,6}"
    r"|pointer|ponter|poiner|pointor)"
)
_POINTER = rf"(?:{_MOUSE}(?: {_CURSOR})?|{_CURSOR})"
_THE_POINTER = rf"(?:(?:the|teh|hte|th|your|a) )?{_POINTER}"
_KEY_NAMES = {
    **{"enter": "Enter", "return": "Enter", "esc": "Escape", "escape": "Escape", "tab": "Tab"},
    **{"space": "Space", "spacebar": "Space", "space bar": "Space", "backspace": "Backspace"},
    **{"delete": "Delete", "del": "Delete", "home": "Home", "end": "End", "insert": "Insert"},
    **{"page up": "PageUp", "page down": "PageDown", "pageup": "PageUp", "pagedown": "PageDown"},
    **{f"{arrow}{way}": f"Arrow{way.title()}"
       for way in ("up", "down", "left", "right") for arrow in ("arrow ", "arrow")},
    **{f"{way} arrow": f"Arrow{way.title()}" for way in ("up", "down", "left", "right")},
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}  # fmt: skip
_MODIFIERS = {
    **{"ctrl": "Control", "control": "Control", "shift": "Shift", "alt": "Alt"},
    **{"option": "Alt", "cmd": "Meta", "command": "Meta", "meta": "Meta", "win": "Meta"},
}
_ANY_KEY_NAME = "|".join(sorted(_KEY_NAMES, key=len, reverse=True))
_HELD = rf"(?:(?:{'|'.join(_MODIFIERS)})\s?\+\s?)+"
_NAMED_KEY = rf"(?:{_ANY_KEY_NAME}|{_HELD}[a-z0-9]+)"
_KEY = rf"(?:{_NAMED_KEY}|\x00|[a-z0-9])"
_PRESS = r"(?:press|pressing|hit|hitting|push|strike|tap|click)(?: on)?"

# The first of these that fits the beginning of a clause says what is done in it.
_VERBS: tuple[tuple[ActionKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"{pattern}"))  # type: ignore[misc]  # the kinds are literals below
    for kind, pattern in (
        ("key", rf"{_PRESS} (?:a|any)(?P<key>) key\b"),
        ("key", rf"{_PRESS} (?:the )?(?P<key>{_KEY}) (?:key|keys|keyboard)\b"),
        ("key", rf"{_PRESS} (?:the )?key (?P<key>{_KEY})(?!\w)"),
        (
            "key",
            rf"(?:press|pressing|hit|hitting|strike) (?P<key>{_NAMED_KEY})"
            r"(?=\s*$|\s+(?:on|in|at|while|to|once|after|again)\b)",
        ),
        ("hover", r"(?:ho+v[aeo]r?(?:s|ing)?|mouse ?over|mouse ?enter|mouse ?on)\b"),
        (
            "hover",
            r"(?:moves?|moving|mvoe|moev|mov|place|put|point|rest|position|bring|keep|hold) "
            rf"{_THE_POINTER}\b",
        ),
        ("hover", rf"(?:point at|point to|{_THE_POINTER} (?:over|on|to|moves|hovers|touches))\b"),
        ("drag", r"(?:drag|dragging|slide|sliding|swipe|swiping|pull|pulling)\b"),
        ("drag", r"(?:click|press|hold|grab)(?:ing)? and (?:drag|slide|pull|move|hold)"),
        (
            "drag",
            r"(?:move|moving|adjust|adjusting) (?:the |a )?(?:[\w\x00-]+ ){0,3}?"
            r"(?:slider|handle|thumb|knob|progress|bar|range|dot|divider)\b",
        ),
        ("scroll", r"(?:scroll|scrolling|scrolls)\b"),
        ("type", r"(?:type|types|typing|write|writing|fill|filling|key in|edit|editing)\b"),
        # "input" and "enter" are also what things are called.
        (
            "type",
            r"(?:input|inputs|inputting|inputing|enter|enters|entering)\b"
            r"(?! (?:box|field|key|button|area)\b)",
        ),
        ("type", r"search for \x00"),
        ("select", r"(?:select|selecting|choose|choosing|pick|picking)\b"),
        (
            "click",
            r"(?:double[- ]?click|right[- ]?click|left[- ]?click|click|clicking|clicks|tap|tapping"
            r"|press|pressing|push|hit|check|checking|uncheck|tick|untick|toggle|toggling|turn"
            r"|switch|open|opening|close|closing|expand|collapse|submit|focus|focusing|activate"
            r"|mark|star|like|dismiss|show|hide|play|pause|go to|visit|touch|upload|long[- ]press)"
            r"\b",
        ),
    )
)  # fmt: skip

# Things that one clicks, also where a sentence says "select" or "choose".
_CLICKED = re.compile(
    r"\b(?:button|tab|link|icon|checkbox|check box|radio|radio button|image|picture|card|menu item"
    r"|file|avatar|logo|toggle|switch|row|cell|date|day|color|colour|swatch|page|text)\b"
)
_CHOSEN_FROM = re.compile(r"\b(?:option|options|dropdown|drop-down|drop down|select|list|combo)\b")

_NOUNS = (
    "button|buttons|icon|item|link|hyperlink|tab|block|option|box|text box|textbox|input|input box"
    "|input field|field|bar|card|menu|element|checkbox|label|image|picture|text|area|section|key"
    "|dropdown|list|switch|slider|component|page|window"
)
_TRAILING_NOUN = re.compile(rf"\s+(?:{_NOUNS})$")
_ARTICLE = re.compile(r"^(?:the|a|an|this|that|one of|any|any of|some|each|your)\s+", re.IGNORECASE)
_BEFORE_THE_NAME = re.compile(
    r"^(?:double|right|left)?[-\s]*\w+\s+(?:(?:the )?(?:mouse|cursor|pointer) |it )?"
    r"(?:(?:on|onto|to|over|at|in|into|inside|down|up|above|upon|from)\s+)*",
    re.IGNORECASE,
)
_UNNAMED_OPTION = re.compile(r"(?i)\w+ (?:an|one|any|another)(?: other)? option\b")
_CLICKED_WITH = re.compile(r"click (?:\x00|the element) with \x00$")
_UNQUOTED_TEXT = re.compile(
    r"(?i)(?:type|input|enter|write)\s+(?!(?:in|into|on|out|the|a|an|your|some|something|any|text"
    r"|texts|words|content|contents|information|data|it)\b)([^\x00]+?)\s+(?:in|into|on|to)\b"
)
_GENERIC = {"options", "option", "element", "button", "item", "link", "it", "them", "one", "page"}


def read_action(entry: Mapping[str, Any]) -> Action:
    """Return the action of an interaction as `action.json` describes it.

    Our own fields `kind` and `value` come first; else the English sentence in `action` is
    understood as far as it goes. What cannot be understood is a click, as most of them are.
    """
    sentence = entry.get("action")
    tags = entry.get("tag type")
    tags = tags if isinstance(tags, list | tuple) else [tags]
    spoken, _, _ = _parsed(
        sentence if isinstance(sentence, str) else "",
        frozenset(tag.strip().lower() for tag in tags if isinstance(tag, str)),
    )
    kind = entry.get("kind")
    kind = kind.strip().lower() if isinstance(kind, str) else None
    value = _value(entry.get("value"))
    for known in ACTION_KINDS:
        if kind == known:
            said = spoken.value if spoken.kind == known else None
            return Action(known, said if value is None else value)
    return spoken if value is None else Action(spoken.kind, value)


def named_in(sentence: str) -> str | None:
    """Return the name of the element in an English sentence: quoted, else plain."""
    action, quotes, plain = _parsed(sentence)
    names = [quote for quote in quotes if quote.strip()]
    if action.kind in ("type", "key", "select") and action.value in names:
        # What is typed, pressed or selected is not what the element is called …
        names.remove(action.value)
        place = _plain_name(plain, action)
        if action.kind == "select" and not names and place is None:
            names = [action.value]  # … unless the option itself is all that is named.
    return " ".join(names[0].split()) if names else _plain_name(plain, action)


def _parsed(
    sentence: str, tags: frozenset[str] = frozenset()
) -> tuple[Action, tuple[str, ...], str]:
    """Return the action, its quoted texts, and the sentence with gaps in their place."""
    quotes: list[str] = []

    def take(match: re.Match[str]) -> str:
        quoted = next(group for group in match.groups() if group is not None)
        quotes.append(re.sub(r'\\(["\\])', r"\1", quoted))
        return f" {_GAP} "

    plain = re.sub(r"[ \t]+", " ", _QUOTED.sub(take, sentence.replace(_GAP, " "))).strip()
    kind: ActionKind = "click"
    said, own = plain, quotes
    passed = 0
    for clause in _CLAUSES.split(plain):
        found = _verb_of(clause)
        if found is not None:
            # Later things done are what an interaction is about: "click the box and type …".
            kind, said, own = found, _from_verb(clause), quotes[passed:]
        passed += clause.count(_GAP)
    if kind == "select" and _is_click(said.lower(), tags):
        kind = "click"
    return Action(kind, _value_in(kind, said, own)), tuple(quotes), plain


def _from_verb(clause: str) -> str:
    """Return a clause from its verb on."""
    clause = clause.strip(" .,:;!\"'")
    while (shorter := _LEAD.sub("", clause)) != clause:
        clause = shorter
    return clause


def _verb_of(clause: str) -> ActionKind | None:
    begins = _from_verb(clause).lower()
    return next((kind for kind, pattern in _VERBS if pattern.match(begins)), None)


def _is_click(said: str, tags: frozenset[str]) -> bool:
    if tags & {"select", "option", "datalist"} or _CHOSEN_FROM.search(said.partition(" ")[2]):
        return False
    return bool(_CLICKED.search(said)) or not said.partition(" ")[2]


def _value_in(kind: ActionKind, said: str, quotes: list[str]) -> str | None:
    if kind == "type":
        return _typed_text(said, quotes)
    if kind == "select":
        return None if not quotes or _UNNAMED_OPTION.match(said) else quotes[0]
    if kind == "key":
        return _pressed_key(said.lower(), quotes)
    if kind in ("drag", "scroll"):
        return _direction(said.lower(), quotes, _DRAG_STEP if kind == "drag" else _SCROLL_STEP)
    return quotes[-1] if kind == "click" and quotes and _CLICKED_WITH.match(said) else None


def _typed_text(said: str, quotes: list[str]) -> str | None:
    """Return what is typed: quoted, else the words between the verb and `in` or `into`."""
    with_text = re.search(r"(?i)\b(?:with|as|text|word|words|query|number)\s*:?\s+\x00", said)
    if with_text:
        return quotes[said[: with_text.end() - 1].count(_GAP)]
    named = re.match(
        r"(?i)(?:fill|edit)|\S+ (?:[^\x00\s]+ )*?(?:in|into|on|out)\b[^\x00]*\x00", said
    )
    if quotes and not named:
        return quotes[0]
    plain = _UNQUOTED_TEXT.match(said)
    return plain[1] if plain else None


def _pressed_key(said: str, quotes: list[str]) -> str | None:
    for kind, pattern in _VERBS:
        if kind == "key" and (found := pattern.search(said)):
            key = found["key"].replace(_GAP, quotes[0] if quotes else "")
            return _key_name(key)
    return None


def _key_name(key: str) -> str | None:
    if len(key) == 1:
        return key
    if not key.strip():
        return None
    *held, last = (part.strip() for part in key.split("+")) if key.strip("+ ") else (key,)
    names = [_MODIFIERS.get(part.lower(), part) for part in held]
    return "+".join([*names, _KEY_NAMES.get(last.lower(), last)])


def _direction(said: str, quotes: list[str], step: int) -> str | None:
    if re.search(r"by \x00$", said) and quotes:
        return quotes[-1]
    both = re.search(r"\bby \(?(-?\d{1,6})\s{0,4},\s{0,4}(-?\d{1,6})", said)
    if both:
        return f"{both[1]},{both[2]}"
    number = re.search(r"(?<!\d)(\d{1,6})\s{0,4}(?:px|pixels?)\b", said)
    length = int(number[1]) if number else step
    scrolls = step == _SCROLL_STEP
    if scrolls and re.search(r"\bto (?:the )?(?:very )?(?:bottom|end)\b", said):
        return f"0,{_TO_THE_END}"
    if scrolls and re.search(r"\bto (?:the )?(?:very )?(?:top|beginning|start)\b", said):
        return f"0,{-_TO_THE_END}"
    # The last way named counts: "drag the left handle to the right".
    ways = re.findall(
        r"\b(right|left|down|up)(?:wards?)?\b(?! (?:arrow|handle|button|corner))", said
    )
    if not ways:
        return None
    dx, dy = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}[ways[-1]]
    return f"{dx * length},{dy * length}"


def _value(value: Any) -> str | None:
    """Return a value in any form as the text that `Action` wants."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if value == value and abs(value) < 1e15 else str(value)
    if isinstance(value, list | tuple):
        return ",".join(_value(part) or "" for part in value) or None
    if isinstance(value, Mapping):
        for x, y in (("dx", "dy"), ("x", "y"), ("left", "top"), ("deltaX", "deltaY")):
            if x in value or y in value:
                return f"{_value(value.get(x, 0))},{_value(value.get(y, 0))}"
        for name in ("value", "text", "label", "key", "option"):
            if name in value:
                return _value(value[name])
    return None


def _plain_name(plain: str, action: Action) -> str | None:
    """Return a sentence without its verb, its articles and the kind of the element."""
    text = _from_verb(" ".join(plain.replace(_GAP, " ").replace('"', " ").split()))
    if action.kind in ("type", "select", "key"):
        place = re.search(r"(?i)\b(?:in|into|on|from)\s+(.*)$", text)
        if place is None:
            return None
        name = place[1]
    elif _verb_of(text) is None:
        return None
    else:
        if action.kind == "hover":
            text = re.sub(rf"(?i)^{_THE_POINTER} (moves|hovers|touches)\b", r"\1", text)
            text = re.sub(rf"(?i)^(\w+) {_THE_POINTER}\b", r"\1", text)
        if action.kind in ("drag", "scroll"):
            text = re.sub(r"(?i)\b(?:left|right|down|up)(?:wards?)? on\b", "", text)
            text = re.sub(r"(?i)\s*\bto the (?:bottom|top|end|left|right)\b.*$", "", text)
            text = re.sub(r"(?i)^(\w+) (?:left|right|down|up)(?:wards?)?$", r"\1", text)
        name = _BEFORE_THE_NAME.sub("", f"{text} ", count=1).strip()
    while (shorter := _ARTICLE.sub("", name)) != name:
        name = shorter
    name = re.split(r"\s+by \d", name)[0]
    short = _TRAILING_NOUN.sub("", name)
    # "progress bar" and "select list" are names of their own kind, "moon icon" is not.
    if short != name and not re.search(r"(?i)(?:bar|list|menu|box)$", name):
        name = short
    return None if not name or name.lower() in _GENERIC else name
