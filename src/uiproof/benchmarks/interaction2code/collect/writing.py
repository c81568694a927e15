"""Findings as a page of a data set: pictures, marks, crops, words, and the page itself."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from uiproof.benchmarks.interaction2code.categories import window_box
from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.collect.telling import description, sentence
from uiproof.benchmarks.interaction2code.collect.tree import Tree
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.layout import write_graph
from uiproof.benchmarks.interaction2code.region import region
from uiproof.boxes import PixelBox
from uiproof.browser.source import PageSource
from uiproof.vision.images import Rgb, decode, encode_png

_MARGIN = 5  # pixels
# Names in the layout that a file of the page must not take.
_TAKEN = re.compile(r"\d+(_mark)?\.png|interaction_\d+\.png|action\.json")


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
    pictures: dict[str, Rgb | bytes] = {}
    sources: dict[bytes, str] = {}
    interactions = []
    for number, finding in enumerate(findings, 1):
        if finding.before not in sources:
            sources[finding.before] = str(len(pictures))
            pictures[str(len(pictures))] = _smaller(finding.before)
        source, target = sources[finding.before], str(len(pictures))
        pictures[target] = _smaller(finding.after)
        interactions.append(
            Interaction(
                id=str(number),
                source=source,
                target=target,
                action=finding.action,
                sentence=sentence(finding, tree),
                description=description(finding, tree),
                tags=finding.tags,
                visuals=finding.visuals,
                trigger=_trigger(finding),
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


def effect_box(finding: Finding) -> PixelBox | None:
    """Where the effect of an interaction is, in pixels of the picture after it.

    What appeared, where something did; else all pixels that differ.
    """
    after = decode(finding.after)
    height, width = after.shape[:2]
    whole = PixelBox(0, 0, width, height)
    if finding.changes.new_page:
        return whole
    if {"new window", "new component"} & set(finding.visuals) and finding.changes.appeared:
        boxes = [window_box(one, finding.later) for one in finding.changes.appeared]
        if (covered := _union(boxes)) is not None:
            return _within(covered, whole)
    changed = region(decode(finding.hovered), after).box
    if changed is None:
        return whole
    # A frame around the bare pixels would lie on them.
    left, top = changed.left - _MARGIN, changed.top - _MARGIN
    return _within(PixelBox(left, top, changed.right + _MARGIN, changed.bottom + _MARGIN), whole)


def _trigger(finding: Finding) -> PixelBox:
    """The element's box; of a page that is scrolled, what the window shows of it."""
    width, height = finding.snapshot.size
    return _within(finding.trigger, PixelBox(0, 0, width, height))


def _union(boxes: Iterable[PixelBox]) -> PixelBox | None:
    sides = [(box.left, box.top, box.right, box.bottom) for box in boxes if box.width * box.height]
    if not sides:
        return None
    lefts, tops, rights, bottoms = zip(*sides, strict=True)
    return PixelBox(min(lefts), min(tops), max(rights), max(bottoms))


def _within(box: PixelBox, whole: PixelBox) -> PixelBox:
    left, top = max(box.left, 0), max(box.top, 0)
    right, bottom = min(box.right, whole.right), min(box.bottom, whole.bottom)
    return PixelBox(left, top, right, bottom) if left < right and top < bottom else whole


def _smaller(png: bytes) -> bytes:
    # The browser writes screenshots quickly and not small.
    return encode_png(decode(png))


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
