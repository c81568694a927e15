"""Write findings as a page of a data set: pictures, marks, sentences, and the page itself."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from uiproof.benchmarks.interaction2code.categories import (
    category_of,
    own_value_changed,
    window_box,
)
from uiproof.benchmarks.interaction2code.collect.findings import Finding, Tree
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, write_graph
from uiproof.benchmarks.interaction2code.region import region
from uiproof.benchmarks.interaction2code.visible import visible_recolouring
from uiproof.browser.snapshots import Element
from uiproof.browser.source import PageSource
from uiproof.geometry import PixelBox
from uiproof.vision.difference import around
from uiproof.vision.images import Rgb, decode

_MARGIN = 5  # pixels
_LONGEST = 48  # characters of a name
# Names in the layout that a file of the page must not take.
_TAKEN = re.compile(r"\d+(_mark)?\.png|interaction_\d+\.png|action\.json")
_NOUNS = {
    **{"button": "button", "link": "link", "input": "field", "textarea": "field"},
    **{"select": "list", "label": "switch", "summary": "heading", "option": "option"},
    **{"image": "image", "progress": "slider", "table": "row", "text": "text"},
    **{"video": "video", "iframe": "frame", "dialog": "dialog"},
}
_ROLE_NOUNS = {
    **{"tab": "tab", "radio": "radio button", "checkbox": "checkbox", "switch": "switch"},
    **{"slider": "slider", "option": "option"},
}
_WHOLES = frozenset({"button", "link", "summary"})  # everything on them is their name
_BLOCK_AREA = 20_000  # square pixels above which an item is called a block


def write(
    findings: list[Finding],
    tree: Tree,
    page: PageSource,
    out: Path,
    *,
    topic: str,
    link: str,
    viewport: tuple[int, int],
) -> Graph:
    """Write a page into a folder: a screenshot of every state, and the page's files.

    Interactions that start from the same picture share it, as in the paper's graph: `0` is the page
    as it was loaded. A page with fixed parts looks different when it was scrolled to an element.
    """
    pictures: dict[str, Rgb | bytes] = {}  # as pixels: the browser's own files are not small
    sources: dict[bytes, str] = {}
    targets: dict[Finding, str] = {}
    interactions = []
    for number, finding in enumerate(findings, 1):
        if finding.opener is not None:
            source = targets[finding.opener]
        elif finding.before in sources:
            source = sources[finding.before]
        else:
            source = sources[finding.before] = str(len(pictures))
            pictures[source] = decode(finding.before)
        target = targets[finding] = str(len(pictures))
        pictures[target] = decode(finding.after)
        around = tree if finding.opener is None else Tree(finding.snapshot.elements)
        imperative, gerund = phrases(finding, around)
        interactions.append(
            Interaction(
                id=str(number),
                source=source,
                target=target,
                action=finding.action,
                sentence=imperative,
                description=f"after {gerund}, {_listed(_effects(finding))}",
                tags=finding.tags,
                visuals=finding.visuals,
                trigger=_within(finding.element.box, finding.snapshot.size),
                effect=effect_box(finding),
            )
        )
    graph = Graph(
        page=out.resolve().name,
        folder=out,
        interactions=tuple(interactions),
        topic=topic,
        link=link,
        viewport=viewport,
    )
    write_graph(graph, pictures)
    _copy_page(page, out)
    return graph


def effect_box(finding: Finding) -> PixelBox:
    """Return where the effect is in the picture after: what appeared, else all that differs."""
    after = decode(finding.after)
    size = after.shape[1], after.shape[0]
    whole = PixelBox(0, 0, *size)
    if finding.changes.new_page:
        return whole
    if {"new window", "new component"} & set(finding.visuals):
        boxes = [window_box(one, finding.later) for one in finding.changes.appeared]
        if boxes := [box for box in boxes if box.area]:
            return _within(around(boxes), size)
    changed = region(decode(finding.hovered), after).box
    if changed is None:
        return whole
    # A frame around the bare pixels would lie on them.
    left, top = changed.left - _MARGIN, changed.top - _MARGIN
    return _within(PixelBox(left, top, changed.right + _MARGIN, changed.bottom + _MARGIN), size)


def _within(box: PixelBox, size: tuple[int, int]) -> PixelBox:
    """Cut a box at the borders of a picture; all of the picture where nothing is left."""
    whole = PixelBox(0, 0, *size)
    return box.intersection(whole) or whole


def _copy_page(page: PageSource, out: Path) -> None:
    """Put the prepared page and its files beside the pictures, except what would hide them."""
    if page.folder is None:
        return
    for file in sorted(page.folder.rglob("*")):
        relative = file.relative_to(page.folder)
        if file.is_file() and not _TAKEN.fullmatch(str(relative)):
            to = out / relative
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)


# --- English


def phrases(finding: Finding, tree: Tree) -> tuple[str, str]:
    """Return the action as an imperative and a gerund: `click the "Save" button`, `clicking …`."""
    name, value = name_of(finding.element, tree), finding.action.value
    what = "the " + (f'"{name}" ' if name else "") + _noun(finding.element)
    is_page = finding.element.tag == "body"
    match finding.action.kind:
        case "click":
            return f"click {what}", f"clicking {what}"
        case "hover":
            return f"hover on {what}", f"hovering over {what}"
        case "type":
            return f'type "{value}" in {what}', f'typing "{value}" in {what}'
        case "select":
            return f'select "{value}" in {what}', f'selecting "{value}" in {what}'
        case "drag":
            return f"drag {what}{_direction(value)}", f"dragging {what}"
        case "scroll":
            how = "scrolling down the page" if is_page else f"scrolling {what}"
            return f"scroll down {'the page' if is_page else what}", how
        case "key":
            where = "" if is_page else f" in {what}"
            return f"press the {value} key{where}", f"pressing the {value} key"


def _effects(finding: Finding) -> list[str]:
    """Return clauses that say what changed."""
    changed, visuals = finding.changes, set(finding.visuals)
    if "new page" in visuals:
        title = finding.later.title
        return [f"the page turns to {_quoted(title) if title else 'another page'}"]
    clauses = []
    if changed.appeared and visuals & {"new window", "new component", "switch"}:
        kind = "the content changes"
        if visuals & {"new window", "new component"}:
            is_window = "new window" in visuals
            kind = "a window pops up" if is_window else "a new component appears"
        named = [_quoted(one.label) for one in changed.appeared if one.label][:2]
        clauses.append(f"{kind} with {' and '.join(named)}" if named else kind)
    texts = [pair for pair in changed.retexted if not own_value_changed(pair, finding.element)]
    for old, new in texts[:2] if "text" in visuals else []:
        if old.text and new.text:
            clauses.append(f"the text {_quoted(old.text)} changes to {_quoted(new.text)}")
        else:
            verb = "appears" if new.text else "goes"
            clauses.append(f"the text {_quoted(new.text or old.text)} {verb}")
    if "color" in visuals:
        many = len(visible_recolouring(changed, finding.snapshot, finding.later))
        several = "the colors of the page" if many > 20 else "the colors of several parts"
        clauses.append("the color changes" if many <= 2 else f"{several} change")
    if "position" in visuals:
        said = ("other parts move", "its position changes", "elements change their position")
        clauses.append(said[min(len(changed.moved), 2)])
    if "size" in visuals:
        clauses.append("the size changes")
    if changed.vanished and not changed.appeared:
        names = [_quoted(one.label) for one in changed.vanished if one.label][:2]
        clauses.append(f"{' and '.join(names) or 'something'} disappears")
    if "switch" in visuals and not clauses:
        clauses.append("it is switched over")
    return clauses or ["the page changes"]


def _noun(element: Element) -> str:
    if element.tag == "input" and element.type in {"checkbox", "radio", "range"}:
        return {"checkbox": "checkbox", "radio": "radio button", "range": "slider"}[element.type]
    if element.role in _ROLE_NOUNS:
        return _ROLE_NOUNS[element.role]
    if "scrollable" in element.attributes:
        return "list"
    usual = "block" if element.box.area > _BLOCK_AREA else "item"
    return _NOUNS.get(category_of(element), usual)


def name_of(element: Element, tree: Tree) -> str:
    """Return the text on an element, or beside it, cut to a few words."""
    labels = [one for one in tree.chain(element)[1:4] if one.tag == "label"]
    if element.tag in {"input", "textarea", "select"} and labels:
        others = (one.text for one in tree.inside(labels[0]) if one.ref != element.ref)
        if heading := labels[0].text or next(filter(None, others), ""):
            return _short(heading)
    if "scrollable" in element.attributes:
        return ""  # what it begins with is not its name
    if element.text and element.tag != "select":
        whole = category_of(element) in _WHOLES and len(element.label) <= _LONGEST
        return _short(element.label if whole and element.tag != "label" else element.text)
    first = next((one.text for one in tree.inside(element) if one.text), "")
    return _short(first or element.label or element.attributes.get("title", ""))


def _direction(value: str | None) -> str:
    numbers = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", value or "")]
    if len(numbers) != 2:
        return ""
    dx, dy = numbers
    if abs(dx) >= abs(dy):
        return " to the right" if dx > 0 else " to the left"
    return " down" if dy > 0 else " up"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _quoted(text: str) -> str:
    return f'"{_short(text)}"'


def _short(text: str) -> str:
    text = " ".join(text.replace('"', "'").split())
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
