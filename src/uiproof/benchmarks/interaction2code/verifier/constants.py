"""All numbers and sets of names that the verifier decides by.

Distances are in CSS pixels, colours in steps of 255, shares between 0 and 1.
"""

from __future__ import annotations

# --- pixels
TOLERANCE = 40  # colour: antialiasing differs by less where an edge is the same
CHANGE = 3  # colour: one browser drawing the same twice differs by less
CLEAR = 60  # colour: more than a hover style shades
REDRAWN = 0.03  # share of an element that clearly changes, from which it is drawn anew
SPECK = 10  # pixels: less than the smallest letter that reads differently
TRACE = 4  # pixels: the least change that counts at all
DRAWING = 20  # pixels: the side at which drawings are compared
INK = 32  # colour: the least contrast of a drawing with its background
SCALED = 17  # pixels around a clear change that count with it on pictures that were scaled

BRIGHT = 200  # of 255: the ground of a page that a veil makes darker
VEIL_STEP = 4  # pixels of which one is looked at
LEAST_FRONT, MOST_FRONT = 0.005, 0.7  # share of a page that a dialog takes

# --- texts
ALIKE_TEXT = 0.75  # similarity from which texts are the same, OCR errors apart
SAME_WORD = 0.8  # similarity from which two words are the same word
ALL_WORDS = 0.85  # share of words from which nothing of it is missing: OCR makes errors
SHADED, SAME_DRAWING = 0.5, 0.9  # changed share of a word: its ground; fit of its drawing
OTHER_SCRIPT = 0.2  # share of letters unknown to OCR from which readings are not trusted
FEW_LETTERS = 8  # fewer may be an OCR error

# --- pages on one canvas
FOCUS_RING = 6  # pixels around a trigger in which browsers draw its focus

FIELD_HEIGHT = 100  # pixels: the tallest field of one line, with its frame

# --- the trigger
LEAST_SIDE = 3  # smaller elements cannot be seen
FAR = 0.12  # of the window: the same on pages that do not
WRAPPED = 0.5  # share of a wrapper that the control in it fills

# --- changes of elements
RETEXT_AWAY = 24  # from which a text that changes is another one, on near copies
TEXT_AWAY = 64  # from which a text is elsewhere on pages that look different

# --- the effect
AWAY = 40  # from which content is elsewhere, beyond the offset of the pages before
HALF, MOSTLY = 0.5, 0.6  # shares
HARDLY = 0.15

# --- elements of one kind
PEER_SLACK = 10  # by which they may be placed or sized differently
BESIDE = 16  # between an element and what belongs to it

# --- probes
PAGE_SHARE = 0.4  # of the window, from which an element is as good as the page
WIDE_SHARE = 0.2  # the same, from which a part of the page is more than what is around an element
EFFECT_SHARE = 0.5  # share of an effect from which it is there
SCROLLED = 100  # pixels from which a page was scrolled
MOST_CLOSING = 3  # controls that are tried to close what an act opened
PART_GAP = 12  # between changes that are one
GRID = (12, 16)  # rows and columns of neutral points
EDGE = 6  # from the edge of the window
APART = 12  # from elements that must not be touched
NEUTRAL_KEYS = ("Shift", "F8")  # keys that do nothing by themselves

# --- names of HTML
ACTIVE = frozenset({"a", "button", "input", "label", "select", "summary", "textarea"})
CONTROLS = ACTIVE | {"audio", "details", "embed", "iframe", "object", "option", "video"}
CONTROL_ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "slider"),
        *("searchbox", "spinbutton", "switch", "tab", "textbox"),
    )
)
LANDMARKS = frozenset(("aside", "footer", "form", "header", "main", "nav"))
EVENTS = {
    "click": frozenset(
        (
            *("click", "mousedown", "mouseup", "pointerdown", "pointerup"),
            *("touchstart", "touchend"),
        )
    ),
    "hover": frozenset(
        (
            *("mouseenter", "mouseover", "mousemove"),
            *("pointerenter", "pointerover", "pointermove"),
        )
    ),
    "type": frozenset(("input", "change", "keyup", "keydown", "keypress", "beforeinput")),
    "select": frozenset(("change", "input", "click")),
    "drag": frozenset(("mousedown", "pointerdown", "touchstart", "dragstart", "input", "change")),
    "scroll": frozenset(("scroll", "wheel")),
    "key": frozenset(("keydown", "keyup", "keypress", "submit", "change", "click")),
}
# Tag categories that say how an element works; the others only say what it looks like.
WORKING = frozenset(
    (
        *("button", "link", "input", "textarea", "select", "option", "datalist", "detail"),
        *("summary", "progress"),
    )
)
TAG_SYNONYMS = {
    **dict.fromkeys(("div", "section", "container", "card", "nav", "header", "li", "ul"), "area"),
    **dict.fromkeys(("a", "anchor", "hyperlink"), "link"),
    **dict.fromkeys(("checkbox", "radio", "slider", "range", "switch", "search"), "input"),
    **dict.fromkeys(("img", "svg", "icon", "picture", "canvas"), "image"),
    **dict.fromkeys(("p", "h1", "h2", "h3", "h4", "heading", "paragraph"), "text"),
    **dict.fromkeys(("dropdown", "combobox", "listbox"), "select"),
    "details": "detail",
    "btn": "button",
    "tab": "button",
}
ALIKE_TAGS = ({"select", "option", "datalist"}, {"detail", "summary"}, {"input", "progress"})

# --- both sides compared by their texts and objects
LONG_WORD, MISREAD = 5, 0.65  # letters, and similarity of a word that is struck through
NEAREST = 4  # texts that tell where something is
ANCHOR_LETTERS = 2
LONGEST_SPAN = 8  # words
MOST_FUZZY = 120  # texts that are compared letter by letter
SAME_SPOT = 14  # pixels by which a text may lie elsewhere on a near copy
AROUND_TEXT = 400  # pixels in which texts are neighbours
STILL = 5  # pixels by which a word may jitter
MOST_WORDS = 200  # of one side that are grouped
NEAR_COPY = 0.8  # share of texts at their places from which pictures can be compared
CELL = 16  # pixels: the side of the squares in which changed areas are compared
MUCH = 0.3  # share of an area that must change where it should
COLUMN = 3  # short words that go together from which they have moved
REFLOW = 4  # words that move from which a text is broken into other lines
MOST_WAYS = 3  # displacements of parts of a page that are followed
LEAST_LETTERS = 4  # that a text is worth at least: a count is short
AREA_WEIGHT = 6  # letters that an area without words is worth, at most
WRITTEN = 0.03  # share of an area from which its words stand for it
MOST_PARTS = 30  # pieces of a change that are followed
BELONGS = 160  # pixels within which a text or heading is that of an element
MORE_ALIKE = 0.2  # by which an element that works must be more like the reference's
GUESS = 0.4  # likeness below which an element without an id may be any other
BESIDE_NAME = 40  # pixels from which a name in the sentence is not on the element
