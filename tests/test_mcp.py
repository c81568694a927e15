"""`uiproof mcp`, driven by the client of the official SDK."""

from __future__ import annotations

import asyncio
import io
import re
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from uiproof.errors import UiproofError
from uiproof.integrations.mcp import Workshop, make_server, window_size

# Each element has a separate style, so that each fault can be fixed in one place.
RIGHT = {
    "#title": {"color": "#111827", "font-size": "40px", "margin": "40px 40px 20px"},
    "#lead": {"color": "#374151", "font-size": "18px", "margin": "0 40px 30px"},
    "#band": {"background": "#dbeafe", "height": "90px", "margin": "0 40px 30px"},
    "#first": {"background": "#1d4ed8", "color": "#ffffff", "width": "220px", "height": "50px"},
    "#second": {"background": "#0f766e", "color": "#ffffff", "width": "220px", "height": "50px"},
    "#note": {"color": "#6b7280", "font-size": "16px", "margin": "30px 40px"},
    "#list": {"color": "#1f2937", "font-size": "17px", "margin": "0 40px 24px"},
    "#foot": {"background": "#f3f4f6", "height": "60px", "margin": "0"},
}
TEXTS = {
    "#title": "Letters, sorted",
    "#lead": "Every letter finds its place before noon.",
    "#first": "Begin today",
    "#second": "Ask a question",
    "#note": "No card is needed, and nothing is kept.",
    "#list": "Stamps, parcels, registered letters",
    "#foot": "Post office of the old town",
}
FAULTS: list[tuple[str, str, str]] = [  # selector, property or `text`, wrong value
    ("#title", "text", "Letters, shuffled"),
    ("#lead", "color", "#dc2626"),
    ("#band", "background", "#fde68a"),
    ("#first", "background", "#9333ea"),
    ("#second", "text", "Ask nothing"),
    ("#note", "font-size", "24px"),
    ("#list", "color", "#16a34a"),
    ("#foot", "text", "Bakery of the new town"),
]


def page(styles: dict[str, dict[str, str]], texts: dict[str, str]) -> str:
    rules = "\n".join(
        f"{selector} {{ {'; '.join(f'{name}: {value}' for name, value in rule.items())} }}"
        for selector, rule in styles.items()
    )
    body = "\n".join(
        f'<div id="{selector[1:]}">{texts.get(selector, "")}</div>' for selector in styles
    )
    head = '<!doctype html><meta charset="utf-8"><style>body { margin: 0; font-family: sans-serif }'
    return f"{head}\n{rules}</style>\n{body}"


class Agent:
    """Mends a page by what it is told, and knows nothing else of the design."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.styles = {selector: dict(rule) for selector, rule in RIGHT.items()}
        self.texts = dict(TEXTS)
        for selector, name, wrong in FAULTS:
            if name == "text":
                self.texts[selector] = wrong
            else:
                self.styles[selector][name] = wrong
        self.write()

    def write(self) -> None:
        self.file.write_text(page(self.styles, self.texts), encoding="utf-8")

    def mend(self, difference: dict[str, Any]) -> bool:
        selector, kind, was = difference["selector"], difference["kind"], difference["was"]
        if selector not in self.styles or was is None:
            return False
        if kind == "text":
            self.texts[selector] = was
        elif kind == "colour":
            self.styles[selector]["color"] = was
        elif kind == "background":
            self.styles[selector]["background"] = was
        elif kind == "font" and (size := re.search(r"[\d.]+ ?px", was)):
            self.styles[selector]["font-size"] = size[0].replace(" ", "")
        else:
            return False
        self.write()
        return True


def test_an_agent_mends_eight_faults_by_what_the_server_tells_it(tmp_path: Path) -> None:
    (tmp_path / "design.html").write_text(page(RIGHT, TEXTS), encoding="utf-8")
    agent = Agent(tmp_path / "page.html")
    names = {"reference": "design.html", "page": "page.html"}

    async def loop(client: Client) -> list[dict[str, Any]]:
        course = []
        for _ in range(12):
            answer = await client.call_tool("diff", names)
            assert not answer.is_error, answer
            told = answer.structured_content
            course.append(told)
            if not told["differences"]:
                break
            mended = [agent.mend(one) for one in told["differences"]]
            assert any(mended), told["differences"]
        return course

    async def drive() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "uiproof", "mcp", str(tmp_path)]
        )
        async with Client(server) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"render", "diff", "score", "check"}
            course = await loop(client)
            assert course[0]["total"] >= 8
            assert course[-1]["total"] == 0
            assert course[-1]["score"] > course[0]["score"]
            assert agent.file.read_text() == (tmp_path / "design.html").read_text()
            scored = await client.call_tool("score", names)
            assert scored.structured_content["score"] == 1.0

    asyncio.run(drive())


def test_pictures_are_bounded_pages_are_checked_and_errors_name_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "long.html").write_text("<title>T</title>" + "<p>A line of text.</p>" * 300)
    (tmp_path / "a.html").write_text(
        "<title>T</title><p>Words</p><script>throw new Error('broken')</script>"
    )
    workshop = Workshop([tmp_path])

    async def drive() -> None:
        async with Client(make_server(workshop)) as client:
            whole = await client.call_tool("render", {"page": "long.html"})
            said, image = whole.content
            assert "ask for a box" in said.text
            with Image.open(io.BytesIO(b64decode(image.data))) as picture:
                assert max(picture.size) <= 1568
            part = {"page": "long.html", "viewport": "390x844", "box": [0, 0, 390, 200]}
            image = (await client.call_tool("render", part)).content[1]
            with Image.open(io.BytesIO(b64decode(image.data))) as picture:
                assert picture.size == (390, 200)
            checked = (await client.call_tool("check", {"page": "a.html"})).structured_content
            assert "script_error" in {fault["kind"] for fault in checked["faults"]}
            both = {"reference": "a.html", "page": "long.html"}
            found = await client.call_tool("diff", both)
            with Image.open(io.BytesIO(b64decode(found.content[1].data))) as picture:
                assert max(picture.size) <= 1568
            assert len(found.structured_content["differences"]) <= 20
            bad = await client.call_tool("render", {"page": "a.html", "viewport": "wide"})
            assert bad.is_error
            assert "390x844" in bad.content[0].text

    try:
        asyncio.run(drive())
    finally:
        workshop.close()


def test_nothing_outside_of_the_folders_can_be_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.html").write_text("<p>Secret</p>")
    (outside / "secret.png").write_bytes(b"\x89PNG")
    (inside / "page.html").write_text("<p>Page</p>")
    (inside / "link.html").symlink_to(outside / "secret.html")
    (inside / "folder").symlink_to(outside)
    for hidden in (inside / ".git", inside / ".ssh"):
        hidden.mkdir()
        (hidden / "secret.html").write_text("<p>Secret</p>")
    (inside / "seen.html").symlink_to(inside / ".git" / "secret.html")
    workshop = Workshop([inside])
    try:
        assert workshop.file("page.html", (".html",)) == (inside / "page.html").resolve()
        assert workshop.file(str(inside / "page.html"), (".html",)).name == "page.html"
        for name in (
            *("link.html", "folder/secret.html", "../outside/secret.html", "a\0b.html"),
            *(".git/secret.html", "seen.html", "x/../.ssh/secret.html", "\ud800.html"),
            *(str(outside / "secret.html"), "/etc/passwd", "folder/secret.png", "~/page.html"),
        ):
            with pytest.raises(UiproofError, match="may be read"):
                workshop.file(name, (".html", ".png"))
    finally:
        workshop.close()


@pytest.mark.parametrize("size", ["9" * 5000 + "x100", "٣٩٠x844", "100", "1e3x200", "99x100", ""])
def test_a_window_of_any_text_is_a_window_or_refused_with_a_remedy(size: str) -> None:
    with pytest.raises(UiproofError):
        window_size(size)
    assert window_size("390 × 844") == (390, 844)
