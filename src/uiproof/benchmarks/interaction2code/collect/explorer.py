"""Explore a page: try every action that fits, each on the page as it was loaded."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uiproof.benchmarks.interaction2code.categories import tag_categories, visual_categories
from uiproof.benchmarks.interaction2code.collect.findings import (
    Finding,
    Tree,
    is_part,
    is_trivial,
    strong_difference,
)
from uiproof.benchmarks.interaction2code.collect.pages import CUT_LINK
from uiproof.benchmarks.interaction2code.graph import VISUAL_CATEGORIES
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot
from uiproof.errors import RenderError

if TYPE_CHECKING:
    from uiproof.browser.renderer import Renderer
    from uiproof.browser.source import PageSource
    from uiproof.browser.stage import Stage

_ENOUGH_ALIKE = 2  # elements of one rule that all had the same effect
_ENOUGH_NOTHING = 4  # elements of one rule without any effect
_ENOUGH_GUESSED = 3  # the same where nothing suggests an effect
_ENOUGH_KEYS = 2  # and of the same key
_ENOUGH_GUESSES = 24  # clicks on all of the page because something above listens, without effect
_ENOUGH_PARTS = 12  # parts of one component that all had the same effect
_ENOUGH_CHOICES = 3  # entries of one list that did the same
_MOST_OPENED = 10  # actions on what one interaction opened
_CLICKS = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick"})
HOVERS = frozenset(
    {"mouseover", "mouseenter", "mousemove", "pointerover", "pointerenter", "pointermove"}
)
_GRABS = frozenset({"pointerdown", "mousedown", "dragstart", "touchstart"})
_KEYS = frozenset({"keydown", "keyup", "keypress"})
_CHANGES = frozenset({"input", "change", "toggle", "wheel"})
_TYPING = frozenset({"input", "change", "beforeinput"})
_FOCUS = frozenset({"focus", "blur", "focusin", "focusout"})
# A page that listens to these as a whole closes menus or ends a drag; it hardly means each element.
_PRESSES = frozenset({"mousedown", "mouseup", "pointerdown", "pointerup"})
# Style rules that show more of a field's text than the text.
_FIELD_STYLES = re.compile(r":(?:in)?valid|:user-|:placeholder-shown|range\b|:focus-within|:has\(")
_CLICKABLE_TAGS = frozenset({"a", "button", "summary", "label", "area"})
_CLICKABLE_ROLES = frozenset(
    (
        *("button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option"),
        *("switch", "checkbox", "radio", "treeitem", "combobox"),
    )
)
_CHOICES = frozenset({"option", "gridcell", "menuitemradio"})
_COMPOSITES = frozenset({"listbox", "tree", "menu", "menubar", "tablist", "radiogroup", "grid"})
_CLICKABLE_INPUTS = frozenset({"button", "submit", "reset", "image", "checkbox", "radio"})
_TYPED_INPUTS = frozenset({"text", "search", "email", "password", "url", "tel", "number", ""})
_ENTRIES = frozenset({"h3", "h4", "li", "td", "a", "dt", "b"})
_FRAMES = frozenset({"html", "body"})
_NAMED_KEY = re.compile(
    r"""["'`](Enter|Escape|Tab|Space|Backspace|Delete|Home|End|Page(?:Up|Down)"""
    r"""|Arrow(?:Up|Down|Left|Right)|F\d{1,2}|[/?a-z0-9+\- ])["'`]"""
)
_LEGACY_KEYS = {
    **{"13": "Enter", "27": "Escape", "37": "ArrowLeft", "38": "ArrowUp"},
    **{"39": "ArrowRight", "40": "ArrowDown"},
}
_TEXTS = {
    "email": ("someone@example.com", "someone"),
    "password": ("Quiet-River-42",),
    "url": ("https://example.com", "example"),
    "tel": ("+1 202 555 0143", "abc"),
    "number": ("7",),
}
_USUAL_KEYS = ("Enter", "ArrowDown", "ArrowRight", "Escape")
# Keys that a role promises to people without a mouse; all but the first if the code names them.
_ROLE_KEYS = {
    **dict.fromkeys(("tab", "menubar", "toolbar", "gridcell"), ("ArrowRight",)),
    **dict.fromkeys(("menuitem", "combobox", "radio", "tree"), ("ArrowDown",)),
    **dict.fromkeys(("slider", "spinbutton"), ("ArrowUp", "End")),
    "treeitem": ("ArrowRight", "*"),
    "listbox": ("ArrowDown", "End"),
    **dict.fromkeys(("dialog", "alertdialog", "menu"), ("Escape",)),
}
_CLOSED_BY_ESCAPE = frozenset({"dialog", "alertdialog", "menu", "listbox"})
_FOCUSABLE = frozenset({"a", "button", "input", "select", "textarea", "summary"})
_MOST_KEYS = 6
_MOST_DELEGATED = 60  # elements tried only because something above them listens
_SMALLEST = 6  # pixels across
_FRAME_SHARE = 0.25  # of the page
_CONTROL_AREA = 50_000  # square pixels: what can be clicked and is larger may hold other controls
_MOST_SELECTORS = 40
_LONGEST = 200
_HOVER = re.compile(r"([^{};@/]*?):hover(?![\w-])([^{};]*)\{([^}]*)\}")
# Rules that only do these to the element itself show nothing worth a try.
_SLIGHT = re.compile(
    r"^\s*(?:text-decoration[\w-]*|cursor|outline[\w-]*|transition[\w-]*|border-color|color"
    r"|text-underline-offset)\s*:"
)


# Labels and findings of tried elements, by what groups them.
Results = defaultdict[tuple[object, ...], list[tuple[str, Finding | None]]]


def new_results() -> Results:
    """Return an empty collection of what was tried."""
    return defaultdict(list)


class Explorer:
    """Acts on a page and yields findings.

    A page on which an action changed nothing is used for the next one; otherwise it is reloaded, so
    that no action sees the effects of another. With `opener`, the page is explored as that
    interaction leaves it, and only what it opened is acted on.
    """

    def __init__(
        self,
        renderer: Renderer,
        source: PageSource,
        viewport: tuple[int, int],
        *,
        opener: Finding | None = None,
        links: bool = False,
        results: Results | None = None,
    ) -> None:
        self._renderer, self._source, self._viewport = renderer, source, viewport
        self._opener, self._links = opener, links
        self._stack = ExitStack()
        self._stage: Stage | None = None
        self.left_out = 0  # links to elsewhere
        self._results = new_results() if results is None else results
        self._guesses = 0  # without any effect so far

    def __enter__(self) -> Explorer:
        stage = self._fresh()
        self.start = stage.snapshot()
        self.picture = stage.screenshot()
        self.tree = Tree(self.start.elements)
        scripts = _code_of(self._source)
        self._hovers = "hover" in scripts  # else only listeners react to the pointer
        hovered = hovered_elements(stage, scripts)
        self._hovered_rules = {
            self.tree.rule_key(one) for one in self.start.elements if one.ref in hovered
        }
        self._heard = _ancestor_listeners(self.tree)
        found = candidates(self.start, scripts=scripts, hovered=hovered)
        if not self._links:
            staying = [one for one in found if not self._leads_elsewhere(one)]
            self.left_out = len(found) - len(staying)
            found = staying
        if self._opener is not None:
            found = self._opened(found, closes="Escape" in scripts)
        self.candidates = sorted(found, key=lambda one: one.action.kind == "hover", reverse=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def findings(self) -> Iterator[list[Finding]]:
        """Yield the meaningful findings of each candidate; clicking hovers as well."""
        for candidate in self.candidates:
            if self._is_known(candidate):
                yield []
                continue
            try:
                found = [one for one in self._try(candidate) if not is_trivial(one)]
            except RenderError:
                self._drop()  # the page crashed its browser, or hangs; go on with the others
                found = []
            acted = next((one for one in found if one.action.kind == candidate.action.kind), None)
            if not candidate.sure and candidate.action.kind == "click" and self._guesses >= 0:
                self._guesses = -1 if acted else self._guesses + 1
            self._results[self._group(candidate)].append((candidate.element.label, acted))
            yield found

    def _leads_elsewhere(self, candidate: Candidate) -> bool:
        """Return whether an action only follows a link to another document, or a cut one."""
        element = candidate.element
        href = element.attributes.get("href", "").strip()
        if candidate.action.kind != "click" or not href or _CLICKS & self._hears(element):
            return False
        return href == CUT_LINK or not href.lower().startswith(("#", "javascript:"))

    def _opened(self, found: list[Candidate], *, closes: bool) -> list[Candidate]:
        """Return the candidates in what the opener brought, and what may close it again."""
        known = {one.ref for one in self._known.elements}
        new = [one for one in self.start.elements if one.ref not in known]
        inside = [one for one in found if one.element.ref not in known]
        inside.sort(key=lambda one: one.action.kind != "click")  # only so many are tried
        by_ref = {one.ref: one for one in self.start.elements}
        opener = self._opener and by_ref.get(self._opener.element.ref)
        if opener and "aria-expanded" in opener.state:
            inside.insert(0, Candidate(opener, Action("click")))
        popup = next(
            (one for one in new if one.tag == "dialog" or one.role in _CLOSED_BY_ESCAPE), None
        )
        # People press it where the focus is, which need not be in what was opened.
        focused = by_ref.get(self.start.focus or 0)
        if focused is None or focused.tag in _FRAMES:
            focused = popup
        if focused and (popup or (closes and _KEYS & self._hears(focused))):
            inside.insert(0, Candidate(focused, Action("key", "Escape")))
        return inside[:_MOST_OPENED]

    def _hears(self, element: Element) -> frozenset[str]:
        return self._heard[element.ref] | frozenset(element.listeners)

    def _group(self, candidate: Candidate) -> tuple[object, ...]:
        action = candidate.action
        return action.kind, action.value, self.tree.look_key(candidate.element)

    def _is_known(self, candidate: Candidate) -> bool:
        """Return whether similar elements have shown what this one will do."""
        results = self._results[self._group(candidate)]
        did = [finding for _, finding in results if finding is not None]
        label = candidate.element.label
        if label and any(label == name for name, finding in results if finding is not None):
            return True
        is_again = self._opener is not None and candidate.element.ref == self._opener.element.ref
        if did and (is_again or candidate.action.kind == "key"):
            return True
        alike = _ENOUGH_PARTS if is_part(candidate.element) else _ENOUGH_ALIKE
        if candidate.element.role in _CHOICES:
            alike = _ENOUGH_CHOICES
        if len(did) >= alike and len({one.visuals for one in did}) == 1:
            return True
        if candidate.action.kind == "key":
            return len(results) >= _ENOUGH_KEYS
        if not candidate.sure and self._guesses >= _ENOUGH_GUESSES:
            return True
        enough = _ENOUGH_NOTHING if candidate.sure else _ENOUGH_GUESSED
        return not did and len(results) >= enough

    def _try(self, candidate: Candidate) -> list[Finding]:
        stage = self._stage or self._fresh()
        element, kind = candidate.element, candidate.action.kind
        before, start = self.picture, self.start
        width, height = self._viewport
        if kind != "scroll" and (element.box.bottom > height or element.box.right > width):
            stage.reveal(element)
            before, start = stage.screenshot(), stage.snapshot()
        found = []
        hovered = before
        hears = HOVERS & (set(element.listeners) | self._heard[element.ref])
        if kind in {"click", "drag"} and (self._hovers or hears):
            if stage.act(element, Action("hover")) is not None:
                return []
            stage.settle()
            hovered, events = stage.screenshot(), stage.events()
            if hovered != before:
                later = stage.snapshot()
                reacts = self.tree.rule_key(element) in self._hovered_rules
                reacts = reacts or bool(HOVERS & set(element.listeners))
                hover = Candidate(element, Action("hover"), reacts)
                pictures = before, before, hovered
                found.append(self._finding(hover, pictures, (start, later), events))
                start = later
        if stage.act(element, candidate.action) is not None:
            self._drop()
            return found
        stage.settle()
        after, events = stage.screenshot(), stage.events()
        if after != hovered:
            states = start, stage.snapshot()
            found.append(self._finding(candidate, (before, hovered, after), states, events))
        still = events == Events() and (after == hovered or kind == "hover")
        if not still or kind not in {"click", "hover", "key"}:
            self._drop()
        return found

    def _finding(
        self,
        candidate: Candidate,
        pictures: tuple[bytes, bytes, bytes],  # before, hovered, after
        states: tuple[Snapshot, Snapshot],
        events: Events,
    ) -> Finding:
        element, action = candidate.element, candidate.action
        before, hovered, after = pictures
        start, later = states
        changed = changes(start, later)
        visuals = visual_categories(changed, events, before=start, after=later, trigger=element)
        if not visuals and changed == Changes() and strong_difference(hovered, after):
            visuals = ("color",)  # drawn, as on a canvas: only pixels differ
        if action.kind == "select":
            same = (one for one in later.elements if one.ref == element.ref)
            value = next((one.state.get("selected") for one in same), None)
            action = replace(action, value=value)
        elif action.kind == "scroll":  # also where only a part of the page is scrolled
            known = {*visuals, "position"}
            visuals = tuple(name for name in VISUAL_CATEGORIES if name in known)
        return Finding(
            element=element,
            action=action,
            sure=candidate.sure,
            before=before,
            after=after,
            hovered=hovered,
            snapshot=start,
            later=later,
            changes=changed,
            events=events,
            tags=tag_categories(self.tree.chain(element), self.tree.inside(element)),
            visuals=visuals,
            opener=self._opener,
        )

    def _fresh(self) -> Stage:
        self._drop()
        stage = self._stack.enter_context(self._renderer.stage(self._source, self._viewport))
        # Snapshots number the elements: the same ones in the same order give the same numbers.
        if self._opener is not None:
            self._known = stage.snapshot()
            self._open(stage, self._opener)
        if hasattr(self, "start"):
            stage.snapshot()
        self._stage = stage
        return stage

    def _open(self, stage: Stage, finding: Finding) -> None:
        """Do again what leads to the state that is explored."""
        if finding.opener is not None:
            self._open(stage, finding.opener)
            self._known = stage.snapshot()
        if (why := stage.act(finding.element, finding.action)) is not None:
            raise RenderError(f"An interaction could not be repeated: {why}.")
        stage.settle()
        stage.events()

    def _drop(self) -> None:
        self._stage = None
        self._stack.close()


def _code_of(source: PageSource) -> str:
    """Return the code of all files of a page, to search for names."""
    parts = [source.text]
    if source.folder is not None:
        for path in sorted(source.folder.rglob("*")):
            if path.suffix.lower() in {".js", ".mjs", ".css"} and path.stat().st_size < 3_000_000:
                parts.append(path.read_text("utf-8", "replace"))
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action that may do something to an element."""

    element: Element
    action: Action
    sure: bool = True  # whether the element itself looks interactive


def candidates(
    snapshot: Snapshot, *, scripts: str = "", hovered: Iterable[int] = ()
) -> list[Candidate]:
    """Return all actions that fit the elements of a page, in document order.

    `scripts` is the page's code, searched for names of keys; `hovered` are the numbers of elements
    with a `:hover` rule.
    """
    tree = Tree(snapshot.elements)
    keys = keys_in(scripts)
    word = common_word(snapshot)
    css = frozenset(hovered)
    styled = bool(_FIELD_STYLES.search(scripts))
    heard = _ancestor_listeners(tree)
    near = _ancestor_listeners(tree, page=False)
    found: list[Candidate] = []
    delegated = 0
    for element in snapshot.elements:
        if not element.enabled or min(element.box.width, element.box.height) < _SMALLEST:
            continue
        if element.tag == "html" or (element.tag == "body" and not element.listeners):
            continue
        above = heard[element.ref]
        own = frozenset(element.listeners)
        sure = is_clickable(element, tree)
        guess = not sure and above & (_CLICKS | HOVERS) and _is_delegation_target(element, tree)
        if guess:
            delegated += 1
            guess = delegated <= _MOST_DELEGATED
        # A large element without text listens on behalf of the elements inside it.
        share = element.box.area / max(snapshot.size[0] * snapshot.size[1], 1)
        is_frame = element.tag in _FRAMES or (share > _FRAME_SHARE and not element.text)
        clicked = (sure or (guess and above & _CLICKS)) and not is_frame
        reacts = element.ref in css or bool(own & HOVERS)
        if not clicked and (reacts or (guess and above & HOVERS)) and element.tag not in _FRAMES:
            found.append(Candidate(element, Action("hover"), reacts))
        if element.tag == "select":
            found.append(Candidate(element, Action("select")))
        elif is_typed_into(element):
            if styled or (own | above) & _TYPING or (own | near[element.ref]) & (_FOCUS | _KEYS):
                found += [Candidate(element, Action("type", text)) for text in texts(element, word)]
        elif (element.tag == "input" and element.type == "range") or element.role == "slider":
            found.append(Candidate(element, Action("drag")))
        elif clicked:
            found.append(Candidate(element, Action("click"), sure))
        # Clickable elements may listen to mousedown instead of click.
        grabbed = own & _GRABS and element.role not in _CLICKABLE_ROLES
        if grabbed or element.attributes.get("draggable") == "true":
            ways = _drag_offsets(element, tree)
            found += [Candidate(element, Action("drag", way)) for way in ways]
        # Keys that the page as a whole listens to are pressed once, on the page.
        keyed = own | (above if element.role in _ROLE_KEYS else near[element.ref])
        if keyed & _KEYS and _takes_keys(element):
            first, *others = _ROLE_KEYS.get(element.role, ("",))
            promised = (first, *(key for key in others if _names(scripts, key))) if first else keys
            found += [Candidate(element, Action("key", key)) for key in promised]
        if "scrollable" in element.attributes and element.tag not in _FRAMES:
            down, right = max(element.box.height // 2, 120), element.box.width // 2
            way = f"0,{down}" if "y" in element.attributes["scrollable"] else f"{right},0"
            found.append(Candidate(element, Action("scroll", way)))
    body = next((one for one in snapshot.elements if one.tag == "body"), None)
    if body is not None:
        frames = (one for one in snapshot.elements if one.tag in _FRAMES)
        if any("scrollable" in one.attributes for one in frames):
            found.append(Candidate(body, Action("scroll", "0,400")))
        if _KEYS & (heard[body.ref] | set(body.listeners)):
            found += [Candidate(body, Action("key", key)) for key in keys]
    return found


def keys_in(scripts: str) -> tuple[str, ...]:
    """Return the keys that a page's code names; a few usual ones where it names none."""
    if not re.search(r"keydown|keyup|keypress", scripts):
        return ()
    named = Counter(
        "Space" if key == " " else key
        for key in _NAMED_KEY.findall(scripts)
        if len(key) > 1 or re.search(rf"key\w*\s*===?\s*['\"`]{re.escape(key)}", scripts)
    )
    for code in re.findall(r"(?:keyCode|which)\s*={2,3}\s*(\d+)", scripts):
        if code in _LEGACY_KEYS:
            named[_LEGACY_KEYS[code]] += 1
    return tuple(key for key, _ in named.most_common(_MOST_KEYS)) or _USUAL_KEYS


def _names(scripts: str, key: str) -> bool:
    return any(f"{quote}{key}{quote}" in scripts for quote in "'\"`")


def common_word(snapshot: Snapshot) -> str:
    """Return a word to search for on this page: the last one of some entry on it."""
    entries = [one.text for one in snapshot.elements if one.tag in _ENTRIES and one.text]
    alone = [text for text in entries if entries.count(text) == 1]
    words = [found[-1] for text in alone if (found := re.findall(r"[^\W\d_]{3,12}", text.lower()))]
    return words[len(words) // 2] if words else "hello"


def texts(element: Element, word: str) -> tuple[str, ...]:
    """Return texts for a field: a valid one, and where possible an invalid one."""
    if element.type in _TEXTS:
        return _TEXTS[element.type]
    said = f"{element.label} {element.id} {element.attributes.get('name', '')}".lower()
    if element.type != "search" and re.search(r"e-?mail", said):
        return _TEXTS["email"]
    if element.tag == "textarea" or "contenteditable" in element.attributes:
        return ("A few words to try it out.",)
    is_search = element.type == "search" or re.search(r"search|find|filter|look|query", said)
    return (word,) if is_search else (word, "x1")


def is_typed_into(element: Element) -> bool:
    """Return whether an element takes typed text."""
    if element.tag == "input":
        return element.type in _TYPED_INPUTS
    return element.tag == "textarea" or element.attributes.get("contenteditable") in {"", "true"}


def is_clickable(element: Element, tree: Tree) -> bool:
    """Return whether an element can be clicked by its tag, role, listeners or cursor."""
    if element.tag == "label":
        fields = [one for one in tree.inside(element) if one.tag in {"input", "select", "textarea"}]
        if "for" in element.attributes:
            fields += [one for one in tree.elements if one.id == element.attributes["for"]]
        return all(one.type in {"checkbox", "radio"} for one in fields)
    if element.role in _COMPOSITES and any(is_part(one) for one in tree.inside(element)):
        return False  # its parts are clicked
    if element.tag == "a":
        return "href" in element.attributes or bool(_CLICKS & set(element.listeners))
    if element.tag in _CLICKABLE_TAGS or element.role in _CLICKABLE_ROLES:
        return True
    if element.tag == "input" and element.type in _CLICKABLE_INPUTS:
        return True
    if _CLICKS & set(element.listeners) or element.attributes.get("tabindex") == "0":
        return element.tag not in _FRAMES
    parent = tree.parent(element)
    is_hand = element.style.get("cursor") == "pointer"
    return is_hand and (parent is None or parent.style.get("cursor") != "pointer")


def can_be_used(element: Element, tree: Tree) -> bool:
    """Return whether an element is interactive by its tag, role, listeners or attributes."""
    if element.tag in _FRAMES:
        return False
    return (
        is_clickable(element, tree)
        or is_typed_into(element)
        or element.tag in {"select", "input"}
        or element.role in {"slider", "listbox", "textbox", "searchbox", "spinbutton"}
        or bool((_CLICKS | HOVERS | _GRABS | _KEYS | _CHANGES) & set(element.listeners))
        or element.attributes.get("draggable") == "true"
        or (element.tag in {"audio", "video"} and "controls" in element.attributes)
    )


def _ancestor_listeners(tree: Tree, *, page: bool = True) -> dict[int, frozenset[str]]:
    """Return the events that the ancestors of each element listen to, and the page as a whole."""
    heard: dict[int, frozenset[str]] = {}
    for element in tree.elements:
        parent = tree.parent(element)
        above = frozenset(tree.page_listeners) - _PRESSES if page else frozenset()
        if parent is not None and parent.tag != "html":
            above |= heard[parent.ref] | frozenset(parent.listeners)
        heard[element.ref] = above
    return heard


def _is_delegation_target(element: Element, tree: Tree) -> bool:
    """Return whether a listener of an ancestor may be about this element.

    It carries text or a picture itself, or is a box that repeats, and a pointer on its middle would
    not be on something that can be used by itself. What is inside a control belongs to the control.
    """
    if element.tag in _FRAMES or element.tag in {"input", "select", "textarea", "option"}:
        return False
    for one in tree.chain(element)[1:]:
        is_small = one.box.area < _CONTROL_AREA
        if one.tag in {"button", "a", "summary", "label"} or (is_small and is_clickable(one, tree)):
            return False
    if element.text or element.tag in {"img", "svg", "canvas"}:
        return True
    x, y = element.box.centre
    if any(one.box.contains(x, y) and is_clickable(one, tree) for one in tree.inside(element)):
        return False
    return tree.repeats(element) and bool(element.label or element.background[3] > 0)


def _takes_keys(element: Element) -> bool:
    if element.role in _ROLE_KEYS and element.tag in _FOCUSABLE:
        return element.attributes.get("tabindex") != "-1"
    return is_typed_into(element) or element.attributes.get("tabindex") == "0"


def opens(finding: Finding) -> bool:
    """Return whether an interaction brought something that can be acted on."""
    if finding.changes.new_page or finding.action.kind in {"scroll", "drag"}:
        return False
    tree = Tree(finding.later.elements)
    return any(
        can_be_used(one, tree)
        for top in finding.changes.appeared
        for one in (top, *finding.later.inside(top))
    )


def _drag_offsets(element: Element, tree: Tree) -> tuple[str, ...]:
    """Return where to drag an element: onto a drop target, else beyond its own place."""
    around = {one.ref for one in tree.chain(element)}
    box = element.box
    for other in tree.elements:
        if "drop" in other.listeners and other.ref not in around and other.tag not in _FRAMES:
            dx = (other.box.left + other.box.right - box.left - box.right) // 2
            dy = (other.box.top + other.box.bottom - box.top - box.bottom) // 2
            return (f"{dx},{dy}",)
    if box.height >= 3 * box.width:  # a divider between two columns
        return ("80,0",)
    return f"{max(box.width + 40, 80)},0", f"0,{max(box.height + 20, 60)}"


def hover_selectors(styles: str) -> list[str]:
    """Return the selectors of what must be hovered over for some rule to apply."""
    found: dict[str, None] = {}
    styles = re.sub(r"/\*.*?\*/", " ", styles, flags=re.DOTALL)
    for before, behind, rules in _HOVER.findall(styles):
        selector = before.split(",")[-1].strip()
        if not selector or len(selector) > _LONGEST or ":" in selector.replace(":not(", ""):
            continue
        is_alone = not re.match(r"[^,]*[\s>+~]", behind.strip())
        if is_alone and all(_SLIGHT.match(rule) for rule in rules.split(";") if rule.strip()):
            continue
        found.setdefault(selector)
    return list(found)[:_MOST_SELECTORS]


def hovered_elements(stage: Stage, styles: str) -> list[int]:
    """Return visible elements with a `:hover` rule, one for each selector."""
    from uiproof.browser.devtools import BrowserError

    refs = []
    for selector in hover_selectors(styles):
        try:
            element = stage.find(selector)
        except (RenderError, BrowserError):
            continue  # not a valid selector
        if element is not None and element.box.area > 0:
            refs.append(element.ref)
    return refs
