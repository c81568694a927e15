"""All numbers and sets of names that the verifier decides by.

Distances are in CSS pixels, colours in steps of 255, shares between 0 and 1.
"""

from __future__ import annotations

# --- pixels
TOLERANCE = 40  # colour: antialiasing differs by less where an edge is the same
CHANGE = 3  # colour: one browser drawing the same twice differs by less
SPECK = 10  # pixels: less than the smallest letter that reads differently
TRACE = 4  # pixels: the least change that counts at all
INK = 32  # colour: the least contrast of a drawing with its background
EQUAL_FIT = 0.03  # places that fit a patch almost as well as the best

# --- texts
ALIKE_TEXT = 0.75  # similarity from which texts are the same, OCR errors apart
SAME_WORD = 0.8  # similarity from which two words are the same word
SAME_WORDS = 0.7  # share of words from which the content is the same
ALL_WORDS = 0.85  # share of words from which nothing of it is missing: OCR makes errors
SOME_WORDS = 0.3  # share of words from which they are there in some form
FEW_LETTERS = 8  # fewer may be an OCR error
READ_PARTS = 4  # of a picture
LONGEST_READING = 3 * 200_000  # values of a patch that is read to make sure

# --- pages on one canvas
CLOSE = 0.12  # share of drawn edges that may differ between pages that look the same
ALIKE_PAGE = 0.7  # share of the texts that look as they do in the reference
FOCUS_RING = 6  # pixels around a trigger in which browsers draw its focus
HEIGHT_SLACK = 8
SPREAD = 0.5  # share of the page's tiles that differ when letters are drawn differently
SPREAD_TILE = 64
FAINT_AREA = 100  # pixels: a fainter change of fewer is antialiasing
ANCHORS = 120
ANCHOR_FIT = 0.8
ANCHOR_REACH = (160, 240)  # across and down
ALIGN_REACH = 24  # anything farther away is elsewhere
ALIGN_FIT = 0.9
ALIGN_PIECES = 300
ALIGN_BLOCK = 16  # the squares that move as one
ALIGN_LEAST, ALIGN_WIDEST, ALIGN_HIGHEST = 8, 600, 200  # sides of a piece
ALIGN_KEPT = 0.9  # share of the reference's change that must survive the alignment

# --- the trigger
LEAST_SIDE = 3  # smaller elements cannot be seen
NEAR = 28  # on pages that look the same nothing moves so far by chance
FAR = 0.12  # of the window: the same on pages that do not
SAME_LOOK = 0.85  # fit of an element's picture
LOOK_REACH = 12  # pixels around an element in which its picture is searched
NAMED_REACH = 240  # the same for an element with a name
NEIGHBOURS = 6
BESIDE_TRIGGER = 60  # between an element and the place of one of another kind that it replaces
MARK_MARGIN = 14  # by which a mark is larger than its element, at most
SAME_GROUND = 8  # colour: browsers draw buttons on a gray that is twice as far from white
SAME_LETTERS = 48  # colour
WRAPPED = 0.5  # share of a wrapper that the control in it fills

# --- changes of elements
SHADE = 48  # colour: colours that differ by less are shades of one
STYLE_SHADE = 60  # colour: the same, where the page has a style of its own
FAINT_COLOUR = 12  # colour: less is no other colour
SAME_WAY = 0.9  # cosine between two changes of colour
ROUGHLY_SAME_WAY = 0.5
FLAT_SLACK = 0.1  # share of recoloured pixels that may differ
SHARED = 0.4  # share of a change that must be where the reference changes too
MOVED = 16  # from which something is elsewhere, by pixels
FIT = 0.8
MOST_CHANGES = 12  # the largest ones; a hundred that are alike say no more
MOST_TEXTS = 16
FRAME = 16  # around an element: its shadows and rings
TEXT_AWAY = 64  # from which a text is elsewhere on pages that look different
TEXT_AWAY_SHARE = 0.08  # of the page's width
COVERED = 0.4  # share of the reference's change that right changes lie on
COVERED_ALONE = 0.7  # the same where nothing is pushed
COVER_REACH = 24
MOST_LOOSE_CHANGES = 24

# --- the effect
AWAY = 40  # from which content is elsewhere, beyond the offset of the pages before
AWAY_BEFORE = 100  # the same for content that was displaced before
TRIFLE = 48  # an element that moves or grows by less only follows from another change
GROWTH = 12  # around an element into which it grows
BROADLY, HALF, MOSTLY = 0.3, 0.5, 0.6  # shares of the reference's change
ALL_BUT, NEARLY = 0.97, 0.995
HARDLY = 0.15
ROW = 3  # an element, its cell, its row
AROUND = 25  # around a change in which the reference's may lie
LAID_OUT = 25  # twice as far as things may end elsewhere in another layout
CORNER = 64  # pixels
STRANGE = 9  # around differences before
SHADOW = 49  # twice as far as shadows reach
SHADOW_FAINT = 40  # colour: shadows are fainter
TOUCHED = 0.3  # share of a part that changes here too
DRAWN = 0.5  # share of the reference's lines from which as much is drawn
KEPT_PAGE = 0.2  # share of a page's texts: with fewer left it is another page

# --- elements of one kind
PEER_SLACK = 10  # by which they may be placed or sized differently
BESIDE = 16  # between an element and what belongs to it
PEER_LARGEST = 0.25  # of the page: larger ones are frames
PEER_LEAST = 12
PEER_CHANGED = 0.3  # share of an element that changes where it is another one
SAME_PLACE = 0.75  # overlap
UNFOLDED = 40  # between a header and what unfolds below it

# --- probes
SAME_EFFECT = 0.8  # share of the reference's change
OTHER_TRIES = 4  # elements
OTHER_REACH = 600  # from the reference's trigger
UNDONE = 0.1  # share of a change
PAGE_SHARE = 0.4  # of the window, from which an element is as good as the page
EFFECT_SHARE = 0.5  # share of an effect from which it is there
PART_GAP = 12  # between changes that are one
GRID = (12, 16)  # rows and columns of neutral points
EDGE = 6  # from the edge of the window
APART = 12  # from elements that must not be touched
NEUTRAL_KEYS = ("Shift", "F8")  # keys that do nothing by themselves

# --- names of HTML
FIELDS = frozenset({"input", "select", "textarea", "option"})
LINKS_AND_FIELDS = frozenset({"a", "summary", "label", *FIELDS})
ACTIVE = frozenset({"a", "button", "input", "label", "select", "summary", "textarea"})
CONTROLS = ACTIVE | {"audio", "details", "embed", "iframe", "object", "option", "video"}
CONTROL_ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "slider"),
        *("searchbox", "spinbutton", "switch", "tab", "textbox"),
    )
)
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
VISUAL_SYNONYMS = {
    "colour": "color",
    "popup": "new window",
    "modal": "new window",
    "component": "new component",
    "toggle": "switch",
    "move": "position",
    "resize": "size",
    "navigation": "new page",
}
TOGGLE_STATES = ("aria-expanded", "aria-pressed", "aria-checked")

# --- both sides compared by their texts and objects
LONG_WORD, MISREAD = 5, 0.65  # letters, and similarity of a word that is struck through
NEAREST = 4  # texts that tell where something is
ANCHOR_LETTERS = 2
LONGEST_SPAN = 8  # words
MOST_FUZZY = 120  # texts that are compared letter by letter
SAME_SPOT = 14  # pixels by which a text may lie elsewhere on a near copy
AROUND_TEXT = 400  # pixels in which texts are neighbours
STILL = 5  # pixels by which a word may jitter
CELL = 16  # pixels: the side of the squares in which changed areas are compared
MOST_PARTS = 30  # pieces of a change that are followed
MORE_ALIKE = 0.2  # by which an element that works must be more like the reference's
BESIDE_NAME = 40  # pixels from which a name in the sentence is not on the element
CORRECTED = 0.6  # confidence of a verdict on which the two judgements differ
