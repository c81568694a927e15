"""A page with interactions, a data set made of it, and what its generated versions score."""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, write_graph
from uiproof.benchmarks.interaction2code.region import region
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action
from uiproof.vision.images import decode

WINDOW = (640, 400)

# Interaction 1 shows the menu, 2 orders from it, 3 is a field.
SHOP = """<!doctype html><html><body style="margin:0;font:18px sans-serif">
<h1 style="margin:16px">Coffee shop</h1>
<button id="interact1" style="margin:0 16px;padding:8px 16px"
  onclick="document.getElementById('menu').hidden = false">Show menu</button>
<input id="interact3" placeholder="Your name" style="font:18px sans-serif"
  oninput="document.getElementById('hello').textContent = 'Hello ' + this.value">
<p id="hello" style="margin:16px;height:24px"></p>
<div id="menu" hidden
  style="margin:16px;padding:16px;background:#ffd;border:2px solid #a60;width:360px">
<h2 style="margin:0 0 12px">Menu of the day</h2>
<button id="interact2" onclick="this.nextElementSibling.textContent = 'Thank you, it is coming'"
  >Order espresso</button> <span></span></div>
</body></html>"""


def make_shop(root: Path) -> Path:
    """The data set: one page, three interactions, the second behind the first."""
    edges = (
        ("1", "0", "1", Action("click"), 'click the "Show menu" button', ("new component",)),
        ("2", "1", "2", Action("click"), 'click the "Order espresso" button', ("text",)),
        ("3", "0", "3", Action("type", "Ann"), 'type "Ann" in the name field', ("text",)),
    )
    pictures: dict[str, bytes] = {}
    interactions = []
    with Renderer() as renderer:
        for number, source, target, action, sentence, visuals in edges:
            with renderer.stage(PageSource.from_html(SHOP), WINDOW) as stage:
                if source == "1":
                    stage.act(stage.find("#interact1"), Action("click"))
                    stage.settle()
                pictures.setdefault(source, stage.screenshot())
                trigger = stage.find(f"#interact{number}")
                before = stage.screenshot()
                stage.act(trigger, action)
                stage.settle()
                pictures[target] = stage.screenshot()
            interactions.append(
                Interaction(
                    number,
                    source,
                    target,
                    action,
                    sentence,
                    tags=("input",) if number == "3" else ("button",),
                    visuals=visuals,
                    trigger=trigger.box,
                    effect=region(decode(before), decode(pictures[target])).box,
                )
            )
    graph = Graph("shop", root / "shop", tuple(interactions), topic="food", viewport=WINDOW)
    write_graph(graph, pictures)
    return root
