"""The trigger of an interaction: the element of a generated page that it acts on.

Pages are asked to number their interactive elements by id: `interact1`, also written `interact-1`,
`interact_1`, `Interact 01`, `interaction-1`. Without such an id, every visible element is compared
with the reference's: what it says (its name in the data set's sentence, the words on the mark),
what can be done with it, where it is among the texts that both pages show, and its look.

The action goes to the element with the id, with these exceptions:

- typing, selecting, dragging and pressing a key in a wrapper go to the first field in it that
  accepts them
- clicking or hovering a wrapper without listeners goes to the control in it, if it is the only one
- an id on a hidden check box or radio button means its label, an id on an option its list
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import dist, exp
from typing import Protocol

import numpy as np

from uiproof.benchmarks.interaction2code.cases import Form
from uiproof.benchmarks.interaction2code.categories import category_of
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.constants import EVENTS
from uiproof.benchmarks.interaction2code.verifier.evidence import FoundBy
from uiproof.benchmarks.interaction2code.verifier.layout import (
    Layout,
    gap,
    layout,
    names_its_frame,
    readable,
    text_box,
)
from uiproof.benchmarks.interaction2code.verifier.observation import (
    is_control,
    options_of,
    read_on,
)
from uiproof.benchmarks.interaction2code.verifier.text_compare import plain, similarity, size
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

_NUMBERED = re.compile(r"interact(?:ion|ive)?[-_ .:]*0*(\d+)", re.IGNORECASE)
_STEMS = ("interact", "interaction", "interactive")
_BETWEEN = ("", "-", "_", " ", "--", "__", ".", ":")
_ZEROS = ("", "0", "00")
# Types of inputs in which nothing can be written.
_NOT_FOR_TEXT = frozenset(
    ("button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit")
)
_DRAWN = frozenset(
    (
        *("img", "svg", "canvas", "video", "iframe"),
        *("circle", "ellipse", "path", "polygon", "polyline", "rect"),
    )
)
_SAME_PLACE = 0.3  # overlap (intersection over union) from which boxes are at one place
_ALIKE = 4.0  # how many times larger a control may be that is pointed at in its middle
_REACH = 220.0  # pixels at which a place counts a third
_READS_ALIKE = 0.72  # likeness of texts from which they are the same name
_ENOUGH = 2.2  # score from which an element is the one
_CLEARLY = 1.2  # score by which an element is more like the one that is meant
_GUESS = 0.6  # score from which an element is worth a try
_GUESSED = 0.35  # likeness of an element that is only tried, at most
_SHORT_NAME = 12  # letters
_ROW, _BESIDE_TEXT = 8, 250  # pixels above and below a text, and to its sides
_ICON = 72  # pixels: the largest button that shows only a sign
_AT_PLACE = 0.8  # nearness from which a control is at the place
_BESIDE = 80  # pixels between a switch and its text
_ELSEWHERE = exp(-1_500 / _REACH)
_OTHERS = 5  # elements that are tried where the first does nothing
# Signs: the words of sentences and labels (English, Chinese), the characters, and their names in
# fonts of icons and files.
_SIGNS = (
    (r"\bplus\b|increase|\badd\b|\bnew\b|添加|新增|增加", "+＋➕", r"plus|add"),
    (r"\bminus\b|decrease|减少", "-−–➖", r"minus|subtract"),
    (r"question mark|\bhelp\b|帮助", "?？❓❔", r"question|help"),
    (r"\bclose\b|cross|dismiss|关闭|取消", "×✕✖xX⨯❌", r"times|close|xmark|x|cross|dismiss"),
    (r"\bright\b|\bnext\b|下一", "›→▶>❯»⟩", r"(?:chevron|arrow|angle|caret)-right|next|forward"),
    (
        r"\bleft\b|\bprevious\b|\bback\b|上一|返回",
        "‹←◀<❮«⟨",
        r"(?:chevron|arrow|angle|caret)-left|prev\w*|back",
    ),
    (
        r"menu|hamburger|\bmore\b|菜单|更多",
        "☰≡⋮…⋯",
        r"bars|menu|hamburger|ellipsis|dots|more\w*|kebab|list",
    ),
    (r"heart|like|favou?rite|\bsave\b|收藏|喜欢|点赞", "♥♡❤", r"heart|thumbs-up|like|favou?rite"),
    (r"\bstar\b|收藏", "★☆⭐", r"star"),
    (r"search|magnif|搜索|查找", "🔍🔎⌕", r"search|magnif\w*"),
    (r"mail|message|chat|消息|聊天", "✉💬", r"mail|envelope|message|chat|comments?"),
    (r"\bflag\b|标记", "⚑⚐🚩", r"flag"),
    (r"\bplay\b|播放", "▶►⏵⏯", r"play"),
    (r"\bpause\b|暂停", "⏸", r"pause"),
    (r"delete|remove|trash|\bbin\b|删除|移除", "🗑", r"trash|del|delete|remove|bin"),
    (r"\bedit\b|pencil|rename|编辑|修改", "✎✏🖉📝🖊", r"edit|pen|pencil|modify"),
    (r"settings|\bgear\b|\bcog\b|设置", "⚙", r"cog|gear|settings?|sliders"),
    (r"\bbell\b|notification|alert|通知", "🔔", r"bell|notifications?"),
    (r"\bcart\b|basket|bag|购物", "🛒🛍", r"cart|basket|bag"),
    (
        r"theme|\bdark\b|\blight\b|\bmoon\b|\bsun\b|暗色|深色|夜间|主题",
        "🌙☾🌞☀◐",
        r"moon|sun|theme|dark\w*|light\w*",
    ),
    (r"information|\binfo\b|详情|信息", "ⓘℹ", r"info"),
    (r"\bview\b|preview|\beye\b|show password|查看|预览", "👁", r"eye|view|visibility"),
    (r"\bfilter\b|筛选", "", r"filter|funnel"),
    (r"share|分享", "↗⤴", r"share"),
    (r"copy|复制", "⧉📋", r"copy|clipboard"),
    (r"download|export|下载|导出", "⬇↓", r"download"),
    (r"upload|上传", "⬆↑", r"upload"),
    (r"calendar|date|日历|日期", "📅📆", r"calendar"),
    (r"profile|account|\buser\b|avatar|用户|头像|个人", "👤", r"user|person|avatar|profile"),
    (r"\bhome\b|首页|主页", "🏠", r"home|house"),
    (r"refresh|reload|刷新|重置", "↻⟳🔄", r"refresh|sync|rotate|reload"),
    (
        r"expand|unfold|chevron|dropdown|\bdown\b|展开",
        "▾▼⌄∨",
        r"(?:chevron|arrow|angle|caret)-down|expand",
    ),
)
# Words that describe a position, not content.
_DIRECTION = re.compile(
    r"(?i)\b(?:top|bottom|upper|lower|far|to the|on the|at the)[ -](?:right|left)\b"
    r"(?! (?:arrow|button))"
)
# Words of sentences that are no name of what is acted on.
_COMMON = frozenset(
    (
        *("the", "and", "with", "into", "onto", "from", "over", "under", "that", "this", "which"),
        *("click", "hover", "type", "select", "drag", "press", "scroll", "button", "icon", "link"),
        *("round", "small", "large", "first", "second", "third", "fourth", "last", "left", "right"),
        *("bottom", "corner", "header", "footer", "image", "picture", "photo", "item", "element"),
        *("list", "card", "page", "text", "field", "three", "sign", "symbol", "control"),
    )
)
_BLANK = " \n\t\ufe0e\ufe0f"  # spaces, and what asks for the plain or the coloured form of a sign


# Elements, the likeliest first, each with its score and whether it reads like what is meant.
Ranked = Sequence[tuple[float, bool, Element]]


class _Page(Protocol):
    """A live page that can be searched, such as `uiproof.browser.stage.Stage`."""

    def find(self, selector: str) -> Element | None: ...


@dataclass(frozen=True, slots=True)
class TriggerQuery:
    """The data set's facts about the element that an interaction acts on."""

    number: str  # of the interaction; empty for a step of one
    action: Action
    form: Form
    trigger: PixelBox | None  # the mark, in CSS pixels of the screenshot
    size: tuple[int, int]  # of that screenshot, in CSS pixels
    name: str | None  # in its sentence
    # The mark of the first interaction of the page, if this is another one; asked for if needed.
    first: Callable[[], PixelBox | None] = lambda: None
    sentence: str = ""
    tags: tuple[str, ...] = ()
    picture: Rgb | None = None  # the reference before the act
    lines: Callable[[], Sequence[OcrLine]] = lambda: ()  # read on that picture


@dataclass(frozen=True, slots=True)
class FoundTrigger:
    """An element and how it was found; one without area exists but cannot be seen."""

    element: Element
    by: FoundBy
    score: float = 1.0  # 0-1: how much it is like the reference's
    others: tuple[Element, ...] = ()  # that may be meant instead, the likeliest first
    where: Layout | None = field(default=None, compare=False, repr=False)


def find_trigger(
    page: _Page, snapshot: Snapshot, query: TriggerQuery, picture: Rgb | None = None
) -> FoundTrigger | None:
    """Return the element that an interaction acts on, or None where there is nothing like it.

    With the page's `picture` drawings on elements without a text are compared, too.
    """
    if not query.number and (field := _labelled(snapshot, query)) is not None:
        return FoundTrigger(field, "text")
    search = _Search.of(snapshot, query, picture)
    ranked = search.ranked()
    by_id = _by_id(page, snapshot, query)
    by: FoundBy
    if by_id is not None:
        (element, score), by = search.meant_by_id(by_id, ranked), "id"
    elif likeliest := search.likeliest(ranked):
        score, read, element = likeliest
        element = _switch_beside(snapshot, element, query)
        by = "text" if read else "position"
    else:
        return None
    used = acted_on(page, snapshot, element, query.action)
    others = _others(snapshot, used, ranked, query)
    if by_id is None and not search.names:
        # Several icons may fit: their effects decide.
        both = {one.ref: one for one in (*search.guesses(ranked, used), *others)}
        others = tuple(both.values())[:_OTHERS]
    return FoundTrigger(used, by, min(score / search.best, 1.0), others, search.layout)


def _labelled(snapshot: Snapshot, query: TriggerQuery) -> Element | None:
    """Return the field of a step of a form: the one that follows its label most closely.

    Labels stand above or beside fields of one width, so places do not tell which is meant.
    """
    takes, name = _TAKES.get(query.action.kind), plain(query.name or "")
    if takes is None or not name:
        return None
    fields: list[tuple[int, Element]] = []
    for number, one in enumerate(snapshot.elements):
        if plain(one.text) == name and not takes(one):
            after = enumerate(snapshot.elements[number + 1 :])
            fields += next(([(away, each)] for away, each in after if takes(each)), [])
    return min(fields, key=lambda pair: pair[0])[1] if fields else None


def _switch_beside(snapshot: Snapshot, found: Element, query: TriggerQuery) -> Element:
    """Return the switch that a mere text belongs to, where a switch is meant."""
    switches = {"input", "label", "checkbox", "radio", "switch"}
    meant = {one.strip().lower() for one in query.tags} & switches
    if not meant or query.action.kind != "click" or _is_control(found):
        return found
    beside = [
        one
        for one in snapshot.elements
        if (
            one.type in ("checkbox", "radio")
            or one.role in ("switch", "checkbox", "radio")
            or one.tag == "label"
        )
        and _seen(one)
        and gap(one.box, found.box) <= _BESIDE
    ]
    return min(beside, key=lambda one: gap(one.box, found.box), default=found)


def _others(
    snapshot: Snapshot,
    found: Element,
    ranked: Ranked,
    query: TriggerQuery,
) -> tuple[Element, ...]:
    """Return what a person tries next: its label, what reacts near it, its heading and frame."""
    by_ref = {one.ref: one for one in snapshot.elements}
    events = EVENTS.get(query.action.kind, frozenset())
    page = snapshot.size[0] * snapshot.size[1]

    def away(one: Element) -> float:
        return gap(one.box, found.box)

    shown = [
        one
        for one in snapshot.elements
        if one.ref != found.ref
        and one.tag not in ("html", "body", "main")
        and 0 < one.box.area < 0.5 * page
        and not _NUMBERED.fullmatch(one.id.strip())
    ]
    numbered = [one for one in snapshot.elements if _NUMBERED.fullmatch(one.id.strip())]
    labels = [one for one in shown if one.tag in ("label", "summary") and away(one) <= 60]
    listening = [one for one in shown if events & set(one.listeners)]
    pointed = [one for one in shown if one.style.get("cursor") == "pointer" and one.text]
    headings = [one for one in shown if one.tag in ("h1", "h2", "h3", "h4", "img", "svg", "legend")]
    beside = [one for one in shown if away(one) <= 60 and _shows_something(one)]
    inside = {found.parent, *(one.ref for one in snapshot.inside(found))}
    alike = [one for _, read, one in ranked if read and one.ref not in inside]
    chosen = [
        *[one for one in alike if one.ref != found.ref][:1],
        *sorted(labels, key=away)[:1],
        *sorted(listening, key=away)[:3],
        *sorted(headings, key=away)[:1],
        *sorted(beside, key=lambda one: (not _is_control(one), away(one)))[:1],
        *sorted(pointed, key=away)[:1],
        by_ref.get(found.parent or 0),
        *(one for _, _, one in ranked[:2]),
    ]
    tried: list[Element] = []
    for one in chosen:
        known = [found.ref, *(other.ref for other in (*tried, *numbered))]
        if one is not None and one.ref not in known and one.tag not in ("html", "body", "main"):
            tried.append(one)
    return tuple(tried[:_OTHERS])


@dataclass(frozen=True)
class _Search:
    """The elements of a page, each compared with the one that the reference acts on."""

    snapshot: Snapshot
    query: TriggerQuery
    layout: Layout
    names: tuple[str, ...]  # of the element, and what is read on it
    signs: tuple[tuple[str, str, str], ...]  # that it may show
    place: PixelBox | None  # where it should be on this page
    beside: tuple[PixelBox, ...]  # texts of the page that the sentence says it is beside
    ground: tuple[float, ...] | None  # the reference's colour there
    called: frozenset[str]  # what the sentence calls it, besides its kind
    drawing: pixels.Drawing | None  # on the reference's
    picture: Rgb | None  # of the page

    @classmethod
    def of(cls, snapshot: Snapshot, query: TriggerQuery, picture: Rgb | None) -> _Search:
        """Read the reference, and find its texts on the page."""
        lines = readable(query.lines(), snapshot)
        where = layout(lines, snapshot, query.size)
        named = query.name and not names_its_frame(query.name, query.trigger, lines, query.sentence)
        names = [query.name] if query.name and named and _is_written(query, snapshot) else []
        # A long name is written out; what a short one means may be drawn instead.
        said = query.sentence
        if names and size(names[0]) > _SHORT_NAME:
            said = said.replace(names[0], "")
        said = _DIRECTION.sub(" ", said)
        signs = tuple(one for one in _SIGNS if re.search(one[0], said, re.IGNORECASE))
        place = ground = drawing = None
        if query.trigger is not None:
            read = read_on(query.trigger, lines, query.sentence)
            # A sign that is read on it may be drawn here: it is no name.
            if any(map(str.isalnum, read)) and len(read) <= 80:
                names.append(read)
            place = where.place(query.trigger)
            if query.picture is not None:
                ground = _colour(query.picture, query.trigger)
                drawing = pixels.drawing(pixels.crop(query.picture, query.trigger))
        # A name that is not on it is that of its row or card.
        row = () if named else (query.name or "",)
        beside = tuple(_beside(query.sentence, row, snapshot))
        called = frozenset(_words(said.partition(" of the ")[0]) - _COMMON)
        return cls(
            *(snapshot, query, where, tuple(names), signs, place, beside, ground),
            *(called, drawing, picture),
        )

    @property
    def best(self) -> float:
        """Return the score of an element that is like the reference's in every way."""
        return 3.0 + 1.2 + (1.5 if self.place is not None else 0.0)

    @property
    def _is_slider(self) -> bool:
        tags = {one.strip().lower() for one in self.query.tags}
        return bool(tags & {"input", "progress", "slider", "range"})

    def likeliest(self, ranked: Ranked) -> tuple[float, bool, Element] | None:
        """Return the element that is meant: the most alike, a control at its place, or a guess."""
        if ranked and ranked[0][0] >= _ENOUGH:
            return ranked[0]
        controls = [one for one in ranked if _is_control(one[2])]
        at_place = (one for one in controls if self._near(one[2]) >= _AT_PLACE)
        # A guess, of what takes such an act, or of what shows no text where none is asked for:
        # acting on it tells whether it is the one.
        takes = self.query.action.kind in ("drag", "select", "type")
        likely = [one for one in controls if not _NUMBERED.fullmatch(one[2].id.strip())]
        if not takes:
            likely = [] if self.names else [one for one in likely if self._is_mute(one[2])]
        guess = likely[0] if likely and likely[0][0] >= _GUESS else None
        if guess is not None and not takes:
            guess = (min(guess[0], _GUESSED * self.best - 0.01), False, guess[2])
        return next(at_place, guess)

    def meant_by_id(self, element: Element, ranked: Ranked) -> tuple[Element, float]:
        """Return the element with the id, or the one in it that is clearly meant, with its score.

        An id may be on the frame around a control, or on the list that an item is in.
        """
        own, inside = self.score(element)[0], {one.ref for one in self.snapshot.inside(element)}
        for score, _, one in ranked:
            if one.ref in inside and score >= max(_ENOUGH, own + _CLEARLY):
                return one, score
        return element, own

    def guesses(self, ranked: Ranked, found: Element) -> tuple[Element, ...]:
        """Return what else may be the sign that is asked for: one of each kind, then others."""
        chosen: dict[str, Element] = {}
        again: list[Element] = []
        known = {found.ref, found.parent, *(one.ref for one in self.snapshot.inside(found))}
        for _, _, one in ranked:
            if one.ref not in known and _is_control(one) and self._is_mute(one):
                kind = f"{one.label} {self.icons.get(one.ref, '')}"
                if kind in chosen:
                    again.append(one)
                chosen.setdefault(kind, one)
        own = f"{found.label} {self.icons.get(found.ref, '')}"
        first = [one for name, one in chosen.items() if name != own]
        rest = [*([chosen[own]] if own in chosen else []), *again]
        return (*first[: _OTHERS - 2], *rest[:2])

    def _is_mute(self, element: Element) -> bool:
        """Return whether it is small and shows no text, whatever it is called."""
        if max(element.box.width, element.box.height) > _ICON:
            return False
        shown = (one.text for one in (element, *self.snapshot.inside(element)))
        return not any(map(str.isalnum, "".join(shown)))

    def ranked(self) -> Ranked:
        """Return the elements that may be meant, the likeliest first, and whether texts say so."""
        takes = _TAKES.get(self.query.action.kind)
        if self.query.action.kind == "drag" and not self._is_slider:
            takes = None  # a card may be dragged by listeners of the whole page
        if takes is not None and not any(map(takes, self.snapshot.elements)):
            # A number that is written stands for a slider.
            written = takes is _takes_drag and any(map(_takes_text, self.snapshot.elements))
            takes = _takes_text if written else None
        scored = []
        for one in self.snapshot.elements:
            if one.tag in ("html", "body") or min(one.box.width, one.box.height) < 3:
                continue
            if not (_is_control(one) or _shows_something(one) or "scrollable" in one.attributes):
                continue
            score, read = self.score(one)
            scored.append((score, read, one))
        if takes is not None:
            fit = [one for one in scored if takes(one[2])]
            # The page itself hears keys that are pressed on a row, and scrolls.
            kind = self.query.action.kind
            by_page = (kind == "scroll" and not fit) or (
                kind == "key" and not any(read for _, read, _ in fit)
            )
            scored = scored if by_page else fit
        # Of nested elements the innermost: clicking it clicks them all. Of others the first one.
        depths = _depths(self.snapshot)
        scored.sort(key=lambda one: (-round(one[0], 2), -depths[one[2].ref], one[2].ref))
        if takes is not None and len(scored) == 1 and self.query.action.kind != "drag":
            score, read, only = scored[0]
            return [(max(score, _ENOUGH), read, only)]  # nothing else can be typed in
        return scored

    def score(self, element: Element) -> tuple[float, bool]:
        """Return how much an element is like the reference's, and whether it reads like it."""
        score, reads = self._alone(element)
        return score + self._beside(element), reads

    def _beside(self, element: Element) -> float:
        """Return a bonus for being in one row with a text that the sentence says it is beside."""
        y = element.box.centre[1]
        away = [
            gap(one, element.box) for one in self.beside if one.top - _ROW <= y <= one.bottom + _ROW
        ]
        return 0.0 if not away else 1.2 if min(away) <= _BESIDE_TEXT else 0.6

    def _alone(self, element: Element) -> tuple[float, bool]:
        reads = self._reads(element)
        near = self._near(element)
        kind = self._kind(element)
        if not self.names or not any(map(plain, self.names)):
            # Nothing is written on it: place, kind and look decide.
            sign = self._sign(element)
            look = self._look(element)
            size = self._size(element)
            mute = len(element.label) <= 2 or not any(map(str.isalnum, element.label))
            mute = mute or self._is_mute(element)
            score = 2.0 * near + kind + 0.8 * look + 0.6 * size + 1.2 * sign + 0.6 * mute - 0.4
            if _is_control(element) and mute:
                score += 1.6 * self._drawn_alike(element)
            return score, sign
        if reads >= _READS_ALIKE:
            # The same words at the other end of a long page are another element.
            return (3 if near > _ELSEWHERE or self.place is None else 1) * reads + (
                1.2 * kind + 1.5 * near
            ), True
        if not any(map(str.isalnum, element.label)):
            look, size, sign = self._look(element), self._size(element), self._sign(element)
            return 1.6 * near + 0.8 * kind + 0.5 * look + 0.4 * size + 1.8 * sign - 0.6, False
        return 1.5 * reads + 0.7 * kind + 0.9 * near - 0.3, False

    def _reads(self, element: Element) -> float:
        label = element.label
        if not label.strip() or len(label) > 300:
            return 0.0
        shown = {label, element.text}  # a sign may have a name for screen readers, too
        if self.query.action.kind in ("click", "hover"):
            # A list of what should be tabs or tiles.
            shown |= {*options_of(element)}
        return max((_alike(name, one) for name in self.names for one in shown), default=0.0)

    def _sign(self, element: Element) -> bool:
        """Return whether it shows, or is called by, a sign that stands for what is asked for."""
        if not (self.signs or self.called) or not _is_control(element):
            return False
        small = max(element.box.width, element.box.height) <= _ICON
        label = element.label.strip(_BLANK)
        icon = ""
        if small:
            named = element.attributes.get("title", ""), element.id, self.icons.get(element.ref, "")
            icon = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(named))
            if self.called & _words(f"{label} {icon}"):
                return True
        for words, characters, names in self.signs:
            if label in tuple(characters):
                return True
            if small and label and re.search(words, label, re.IGNORECASE):
                return True
            if icon and re.search(rf"(?<![a-z])(?:{names})(?![a-z])", icon, re.IGNORECASE):
                return True
        return False

    def _drawn_alike(self, element: Element) -> float:
        """Return how much the drawing on an element looks like that on the reference's."""
        if self.drawing is None or self.picture is None:
            return 0.0
        own = pixels.drawing(pixels.crop(self.picture, element.box))
        return -0.5 if own is None else pixels.alike(self.drawing, own)

    @cached_property
    def icons(self) -> dict[int, str]:
        """Return what the source calls the drawings on each element."""
        found: dict[int, str] = {}
        for one in reversed(self.snapshot.elements):  # what is in an element comes after it
            said = f"{one.attributes.get('icon', '')} {found.get(one.ref, '')}".strip()
            if said:
                found[one.ref] = said
                if one.parent is not None:
                    found[one.parent] = f"{said} {found.get(one.parent, '')}"[:400]
        return found

    def _near(self, element: Element) -> float:
        if self.place is None:
            return 0.0
        x, y = element.box.centre
        places = [self.place]
        if self.query.trigger is not None and not (self.layout.anchors and self.names):
            places.append(self.query.trigger)  # signs are in corners, whatever is beside them
        ways = [(dist(one.centre, (x, y)), _at(element.box, one)) for one in places]
        far = min(min(away, 10.0) if at else away for away, at in ways)
        return exp(-far / _REACH)

    def _size(self, element: Element) -> float:
        if self.place is None:
            return 0.5
        one, other = self.place, element.box
        ratio = max(one.width, 4) / max(other.width, 4), max(one.height, 4) / max(other.height, 4)
        return min(*ratio, 1 / ratio[0], 1 / ratio[1])

    def _look(self, element: Element) -> float:
        if self.ground is None or element.background[3] < 0.1:
            return 0.4
        away = max(abs(a - b) for a, b in zip(self.ground, element.background[:3], strict=True))
        return exp(-away / 60)

    def _kind(self, element: Element) -> float:
        takes = _TAKES.get(self.query.action.kind)
        wanted = {one.strip().lower() for one in self.query.tags}
        own = category_of(element)
        fits = own in wanted or (own == "label" and "input" in wanted)
        if takes is not None and self.query.action.kind != "scroll":  # the page scrolls as well
            return 1.0 if takes(element) else 0.0
        if fits and _is_control(element):
            return 1.0
        if _is_control(element):
            return 0.8
        return 0.5 if fits else 0.2


def _depths(snapshot: Snapshot) -> dict[int, int]:
    """Return how deep each element is nested; parents come before what is in them."""
    depths: dict[int, int] = {}
    for one in snapshot.elements:
        depths[one.ref] = depths.get(one.parent or 0, 0) + 1
    return depths


def _alike(name: str, label: str) -> float:
    """Return how much a label is a name, perhaps with an icon or a count added to it."""
    a, b = plain(name), plain(label)
    if not a or not b:
        return 0.0
    if a == b:
        # Signs decide where letters are the same: A+ is not A-.
        same = "".join(name.split()).casefold() == "".join(label.split()).casefold()
        return 1.0 if same or size(a) > 2 else 0.5
    if min(size(a), size(b)) <= 2:
        return 0.0
    found = similarity(a, b)
    shorter, longer = sorted((a, b), key=len)
    if size(shorter) >= 3 and shorter in longer:
        found = max(found, 0.6 + 0.4 * len(shorter) / len(longer))
    return found


def _words(text: str) -> set[str]:
    """Return the longer words of a text; parts of names in code are words, too."""
    return {one.lower() for one in re.findall(r"[^\W\d_]{3,}", text)}


def _is_written(query: TriggerQuery, snapshot: Snapshot) -> bool:
    """Return whether the name in a sentence is on the page, and does not only describe it."""
    name = query.name or ""
    if re.search(r"[\"“«`']\s*" + re.escape(name), query.sentence) or not query.sentence:
        return True
    if re.search(r"\bicon\b", name):
        return False  # it shows a sign
    # One of its words alone is no name: the second picture of the collection.
    return any(
        plain(name) in plain(one.label) or similarity(name, one.label) >= _READS_ALIKE
        for one in snapshot.elements
    )


def _beside(sentence: str, rows: Sequence[str], snapshot: Snapshot) -> list[PixelBox]:
    """Return the texts that a sentence names as neighbours: the star of the mail from Lena."""
    found = re.search(r"\b(?:of|beside|before|next to|near|from|for)\b(.*)", sentence)
    said = re.sub(r"[^\w\s]", " ", found[1]) if found else ""
    words = said.split()
    names = {plain(" ".join(words[start:])) for start in range(len(words))} | {*map(plain, rows)}
    return [
        text_box(one)
        for one in snapshot.elements
        if size(plain(one.text)) > 3 and plain(one.text) in names
    ]


def _colour(picture: Rgb, box: PixelBox) -> tuple[float, ...] | None:
    part = picture[max(box.top, 0) : box.bottom, max(box.left, 0) : box.right].reshape(-1, 3)
    return tuple(np.median(part, axis=0)) if len(part) else None


def acted_on(page: _Page, snapshot: Snapshot, element: Element, action: Action) -> Element:
    """Return the element that a person would use when told to act on this one."""
    if element.tag == "option":
        return page.find(f"select:has({_with_id(element.id)})") or element
    if element.tag == "input" and element.type in ("checkbox", "radio") and not _seen(element):
        around = page.find(f"label:has({_with_id(element.id)})")
        label = around or page.find(f"label[for={_quoted(element.id)}]")
        return label if label is not None and _seen(label) else element
    takes = _TAKES.get(action.kind)
    inside = [one for one in snapshot.inside(element) if _seen(one)]
    if takes is not None:
        if takes(element):
            return element
        return next((one for one in inside if takes(one)), element)
    if _is_control(element):
        return element
    outermost: list[Element] = []
    covered: set[int | None] = set()
    for one in inside:
        # A label and its field, or an icon in a button, are one control.
        if one.parent not in covered and _is_control(one):
            outermost.append(one)
            covered.add(one.ref)
        elif one.parent in covered:
            covered.add(one.ref)
    return outermost[0] if len(outermost) == 1 else element


def same_element(snapshot: Snapshot, element: Element) -> Element | None:
    """Find an element again after a reload: by its id, or by tag and position."""
    if element.id:
        same_id = [one for one in snapshot.elements if one.id == element.id]
        if same_id:
            return same_id[0]
    alike = [one for one in snapshot.elements if one.tag == element.tag]
    exact = [one for one in alike if one.box == element.box and one.label == element.label]
    if exact:
        return exact[0]
    overlapping = [(one.box.iou(element.box), one) for one in alike]
    best = max(overlapping, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _SAME_PLACE else None


def _by_id(page: _Page, snapshot: Snapshot, query: TriggerQuery) -> Element | None:
    numbered = [
        (int(match[1]), element)
        for element in snapshot.elements
        if (match := _NUMBERED.fullmatch(element.id.strip()))
    ]
    if not query.number.isdecimal():
        return None
    number = int(query.number)
    for n, element in numbered:
        if n == number:
            return element
    if hidden := page.find(_selector(number)):
        return hidden
    if query.form == "all":
        return None
    # A page for one interaction numbers from 1. Another number may be the right element under a
    # wrong name, or belong to another interaction: its position decides.
    if not numbered:
        return page.find(_selector(1))
    trigger, first = query.trigger, query.first()
    if trigger is not None:
        for _, element in numbered:
            if _is_at(element, trigger, snapshot, query):
                return element
    (n, only), several = numbered[0], len(numbered) > 1
    if several or n != 1 or (first is not None and _is_at(only, first, snapshot, query)):
        return None
    return only


def _is_at(element: Element, mark: PixelBox, snapshot: Snapshot, query: TriggerQuery) -> bool:
    """Return whether an element is at the position of a mark."""
    places = _places(mark, snapshot, query)
    return any(element.box.iou(one) >= _SAME_PLACE or _at(element.box, one) for one in places)


def _at(box: PixelBox, place: PixelBox) -> bool:
    """Return whether a box contains the centre of another one of about its size."""
    ratio = box.area / max(place.area, 1)
    return box.contains(*place.centre) and 1 / _ALIKE <= ratio <= _ALIKE


def _places(trigger: PixelBox, snapshot: Snapshot, query: TriggerQuery) -> list[PixelBox]:
    """Return the positions of a mark on another page: in the same pixels, and in proportion."""
    width, height = query.size
    return [trigger, trigger.normalised(width, height).to_pixels(*snapshot.size)]


def _selector(number: int) -> str:
    forms = (
        f"[id={_quoted(f'{stem}{between}{zeros}{number}')} i]"
        for stem in _STEMS
        for between in _BETWEEN
        for zeros in _ZEROS
    )
    return ", ".join(forms)


def _with_id(id: str) -> str:
    return f"[id={_quoted(id)}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ")
    return f'"{escaped}"'


def _seen(element: Element) -> bool:
    return element.box.width > 0 and element.box.height > 0


def _shows_something(element: Element) -> bool:
    """Return whether an element shows anything itself, apart from its children."""
    drawn = element.tag in _DRAWN
    coloured = element.background[3] > 0 or "background-image" in element.style
    return drawn or coloured or bool(element.label.strip()) or "border" in element.style


def _is_control(element: Element) -> bool:
    return element.tag == "details" or is_control(element)


def _takes_text(element: Element) -> bool:
    return (
        (element.tag == "input" and element.type not in _NOT_FOR_TEXT)
        or element.tag == "textarea"
        or element.role in ("textbox", "searchbox")
        or element.attributes.get("contenteditable", "false") != "false"
    )


def _takes_choice(element: Element) -> bool:
    return element.tag == "select" or element.role in ("combobox", "listbox", "radiogroup")


def _takes_drag(element: Element) -> bool:
    return (
        (element.tag == "input" and element.type == "range")
        or element.role == "slider"
        or element.attributes.get("draggable") == "true"
        or bool({"mousedown", "pointerdown", "touchstart", "dragstart"} & set(element.listeners))
    )


def _takes_keys(element: Element) -> bool:
    focused = ("select", "button", "input", "a", "summary")
    return _takes_text(element) or element.tag in focused or "tabindex" in element.attributes


def _takes_scroll(element: Element) -> bool:
    return "scrollable" in element.attributes


_TAKES: dict[str, Callable[[Element], bool]] = {
    "type": _takes_text,
    "select": _takes_choice,
    "drag": _takes_drag,
    "key": _takes_keys,
    "scroll": _takes_scroll,
}
