"""A page of a few rectangles in the published layout, for tests of what is asked and answered."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.cases import Question, question_of
from uiproof.benchmarks.interaction2code.graph import Graph, read_graph
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb, encode_png

SIZE = (480, 300)
BLUE, GREEN, RED, GREY = (30, 60, 200), (20, 150, 60), (255, 0, 0), (120, 120, 120)
MENU = PixelBox(20, 20, 120, 50)  # what is acted on first
LIST = PixelBox(20, 60, 180, 160)  # what appears then
SEARCH = PixelBox(300, 20, 440, 50)
RESULT = PixelBox(300, 200, 440, 260)
WORDS = ("click the menu", "a list {appears} below it")


def picture(*filled: tuple[PixelBox, tuple[int, int, int]], size: tuple[int, int] = SIZE) -> Rgb:
    """White, with the menu and the search field of every page, and some boxes more."""
    rgb = np.full((size[1], size[0], 3), 255, np.uint8)
    for box, colour in ((MENU, BLUE), (SEARCH, GREY)):
        rgb[box.top : box.bottom, box.left : box.right] = colour
    cv2.putText(
        rgb, "Menu", (44, 41), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 255), 1, cv2.LINE_AA
    )
    for box, colour in filled:
        rgb[box.top : box.bottom, box.left : box.right] = colour
    return rgb


def interaction(source, target, action, description="", **more):
    return {
        "src": str(source),
        "dst": str(target),
        "action": action,
        "description": description,
        "tag type": ["button"],
        "visual type": ["new component"],
        **more,
    }


def write_page(folder: Path, pictures: dict[str, Rgb], interactions: list[dict]) -> Graph:
    folder.mkdir(parents=True)
    for name, rgb in pictures.items():
        (folder / f"{name}.png").write_bytes(encode_png(rgb))
    numbered = {str(number): one for number, one in enumerate(interactions, start=1)}
    (folder / "action.json").write_text(json.dumps({"topic": "test", **numbered}))
    return read_graph(folder)


def two_interactions(folder: Path, **more) -> Graph:
    """A menu that opens when it is clicked, and a search that shows something when it is typed in.

    Both begin on the same page, of which there are two pictures, as published pages have it.
    """
    boxes = {"trigger": list(edges(MENU)), "effect": list(edges(LIST))}
    others = {"trigger": list(edges(SEARCH)), "effect": list(edges(RESULT))}
    return write_page(
        folder,
        {
            "0": picture(),
            "1": picture((LIST, GREEN)),
            "2": picture(),
            "3": picture((RESULT, RED)),
        },
        [
            interaction(0, 1, *WORDS, **boxes, **more),
            interaction(2, 3, 'type "tea" in the search', "results", kind="type", **others),
        ],
    )


def edges(box: PixelBox) -> tuple[int, int, int, int]:
    return box.left, box.top, box.right, box.bottom


def question(graph: Graph, number: int = 1) -> Question:
    return question_of(graph, graph.interactions[number - 1])
