"""The webpage interaction graph, and the published folder layout that it is kept in.

Screenshots are nodes, interactions are directed edges. The layout is read with its irregularities
and written without them:

    dataset/101/action.json          link, topic, framework and the numbered interactions
               /0.png 1.png …        screenshots, the nodes of the graph
               /0_mark.png …         the same with a red frame around the trigger or the effect
               /interaction_1.png …  what an interaction changed, cut out by hand

An interaction may also have fields that we added: `kind`, `value`, `trigger` and `effect` (boxes as
`[left, top, right, bottom]` in pixels), and `steps` before the action itself, each with
`kind`, `value` and `action`; a page may have `viewport`. Other fields are kept in `extra` and
written again. Pages of WebVIA are read as well (`webvia.py`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.interaction2code.actions import read_action
from uiproof.benchmarks.withholding import SCRIPTS, STYLES, Withheld, documents_in
from uiproof.browser.snapshots import Action
from uiproof.errors import InputError
from uiproof.files import access
from uiproof.geometry import PixelBox

if TYPE_CHECKING:
    from uiproof.vision.images import Rgb

# Categories of elements and of changes, in the words of the paper.
TAG_CATEGORIES: tuple[str, ...] = (
    *("button", "input", "link", "iframe", "textarea", "option", "select", "form", "label"),
    *("detail", "progress", "datalist", "summary", "output", "image", "video", "dialog", "audio"),
    *("template", "text", "area", "span", "table"),
)
VISUAL_CATEGORIES: tuple[str, ...] = (
    *("new component", "text", "color", "new window", "position", "size", "switch", "new page"),
)
FILE = "action.json"
_LARGEST = 1e9  # pixels; whole numbers in JSON may be too large for a float
_MARKED = "0_mark.png"
_PICTURES = r"\d+(?:_mark)?|interaction_\d+"  # stems of the pictures of a page folder
_PREDICTION = re.compile(r"\d+(?:[-_].+)?", re.DOTALL)  # stems of pages for one interaction
_DEPTH = 3  # how far below a folder its pages may lie
_REMEDY = "docs/interaction2code.md describes the layout of a page folder."
# Our names for the fields of an interaction, and how files spell them.
_FIELDS = {
    **{"src": "src", "source": "src", "dst": "dst", "target": "dst", "action": "action"},
    **{"description": "description", "tag type": "tags", "visual type": "visuals"},
    **{"kind": "kind", "value": "value", "trigger": "trigger", "effect": "effect"},
    "steps": "steps",
}


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is done before the action of an interaction, such as filling in a field."""

    action: Action
    sentence: str  # in English, with the name of the element


@dataclass(frozen=True, slots=True)
class Interaction:
    """An edge: acting on an element leads from one screenshot to another."""

    id: str  # its number in `action.json`, such as `3`
    source: str  # the name of the screenshot before, such as `4`
    target: str  # and of the one after
    action: Action
    sentence: str  # the published `action`: what is done, in English
    description: str = ""  # what it does, in English
    tags: tuple[str, ...] = ()  # of `TAG_CATEGORIES`; data sets may have others
    visuals: tuple[str, ...] = ()  # of `VISUAL_CATEGORIES`; data sets may have others
    trigger: PixelBox | None = None  # in pixels of the screenshot before; None: look at the marks
    effect: PixelBox | None = None  # in pixels of the screenshot after; None: look at the marks
    extra: Mapping[str, Any] = field(default_factory=dict)  # other fields of the file
    steps: tuple[Step, ...] = ()  # that come before the action, both between the two screenshots


@dataclass(frozen=True, slots=True)
class Graph:
    """One page of a data set. Nothing is read from its pictures until it is asked for."""

    page: str  # the name of its folder
    folder: Path
    interactions: tuple[Interaction, ...]
    topic: str = ""
    link: str = ""
    framework: str = ""
    viewport: tuple[int, int] | None = None  # our own field: the window it was collected in
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Interactions that are listed but cannot be used, by their numbers, and why.
    broken: Mapping[str, InputError] = field(default_factory=dict)

    def screenshot(self, node: str) -> Path:
        """Return the picture of a node."""
        return self.folder / f"{node}.png"

    def marked(self, node: str) -> Path:
        """Return the picture of a node with a red box around the trigger or the effect."""
        return self.folder / f"{node}_mark.png"

    def crop(self, interaction: str) -> Path:
        """Return the published manual crop of what changed; it need not exist."""
        return self.folder / f"interaction_{interaction}.png"

    def interaction(self, id: str) -> Interaction:
        """Return the interaction with this number."""
        return next(one for one in self.interactions if one.id == id)

    @property
    def start(self) -> str | None:
        """Return the screenshot of the page as it is loaded: the first source."""
        return self.interactions[0].source if self.interactions else None

    def way_to(self, interaction: Interaction) -> tuple[Interaction, ...]:
        """Return the interactions that lead to the screenshot before this one, first to last.

        Empty where that screenshot is where some way begins: it is the page as it is loaded, or a
        state that the data set does not say how to reach.
        """
        into = {one.target: one for one in reversed(self.interactions)}
        into.pop(self.start or "", None)  # a way back to the page as it is loaded leads nowhere new
        way: list[Interaction] = []
        node = interaction.source
        while node in into and into[node] not in way and into[node].id != interaction.id:
            way.append(into[node])
            node = into[node].source
        return tuple(reversed(way))


@dataclass(frozen=True, slots=True)
class BrokenPage:
    """A page of a data set that cannot be read, and why."""

    page: str
    error: InputError


def recognises(path: Path) -> bool:
    """Return whether a folder holds pages in this layout or WebVIA's, or is one."""
    return next(_page_folders(path), None) is not None or webvia().set_file(path) is not None


@dataclass(frozen=True, slots=True)
class TruthFiles:
    """The files that would show a generated page the truth; test with `path in files`.

    They are files of page folders: that of the case, and any other that the page may lie in or
    above. `uiproof.benchmarks.withholding` lists what may be loaded from such a folder.
    """

    folder: Path  # of the case's page
    pictures: str
    own: Path | None  # the generated page, if it is a file

    @classmethod
    def of(cls, graph: Graph, own: Path | None) -> TruthFiles:
        """Return the files that a page which is compared with a graph may not load."""
        nodes = {node for one in graph.interactions for node in (one.source, one.target)}
        named = [f"{re.escape(node.casefold())}(?:_mark)?" for node in sorted(nodes)]
        return cls(graph.folder.resolve(), "|".join((_PICTURES, *named)), own)

    def __contains__(self, path: object) -> bool:
        """Return whether a file, its links followed, may not be loaded."""
        if not isinstance(path, Path):
            return False
        for folder in path.parents:
            if folder == self.folder or _is_page_folder(folder):
                documents = (
                    one
                    for one in documents_in(folder)
                    if one != self.own and not _PREDICTION.fullmatch(one.stem)
                )
                parts = SCRIPTS | STYLES
                return path in Withheld(folder, tuple(documents), parts, self.pictures)
        return False


def _is_page_folder(folder: Path) -> bool:
    own = (folder / FILE).is_file() or (folder / _MARKED).is_file()
    return own or bool(webvia().is_page(folder))


def webvia() -> ModuleType:
    """Return the reader of WebVIA, which makes graphs and so cannot be imported before them."""
    from uiproof.benchmarks.interaction2code import webvia

    return webvia


def read_dataset(path: Path) -> tuple[Graph | BrokenPage, ...]:
    """Read all pages below a folder, or the one page that it is, in natural order.

    A page that cannot be read comes as `BrokenPage` and does not stop the others. Raises
    `InputError` where there are no pages at all.
    """
    folders = sorted(_page_folders(path), key=lambda folder: _natural(folder.as_posix()))
    if not folders and (file := webvia().set_file(path)) is not None:
        return tuple(webvia().read_set(file))
    if not folders:
        raise InputError(f"There are no pages with an {FILE} in {path}.", remedy=_REMEDY)
    names = [folder.resolve().name for folder in folders]
    pages: list[Graph | BrokenPage] = []
    for folder, name in zip(folders, names, strict=True):
        # Folders of the same name are distinguished by their paths.
        page = name if names.count(name) == 1 else "-".join(folder.relative_to(path).parts)
        try:
            pages.append(read_graph(folder, page=page))
        except InputError as error:
            pages.append(BrokenPage(page, error))
    return tuple(pages)


def read_graph(folder: Path, *, page: str | None = None) -> Graph:
    """Read one page, without its pictures; see `check_pictures`.

    Interactions that cannot be used are in `broken` with the reason. Raises `InputError` where
    `action.json` as a whole cannot be used.
    """
    file = folder / FILE
    if not file.is_file() and webvia().is_page(folder):
        found: Graph = webvia().read_page(folder, page=page)
        return found
    content = _content(file)
    interactions: dict[str, Interaction] = {}
    broken: dict[str, InputError] = {}
    extra: dict[str, Any] = {}
    about: dict[str, str] = {}
    viewport: tuple[int, int] | None = None
    for key, value in content.items():
        id_, name = key.strip(), key.strip().lower()
        if id_.isdecimal() and id_ not in interactions:
            try:
                interactions[id_] = _interaction(id_, value)
            except InputError as error:
                broken[id_] = InputError(f"{file}: {error.message}", remedy=_REMEDY)
        elif name in ("link", "topic", "framework") and isinstance(value, str):
            about[name] = value.strip()
        elif name == "viewport" and (size := _size(value)) is not None:
            viewport = size
        else:
            extra[key] = value
    if not interactions and not broken:
        raise InputError(f"{file} has no numbered interactions.", remedy=_REMEDY)
    return Graph(
        page=folder.resolve().name if page is None else page,
        folder=folder,
        interactions=tuple(sorted(interactions.values(), key=lambda one: _natural(one.id))),
        viewport=viewport,
        extra=extra,
        broken=broken,
        **about,
    )


def check_pictures(graph: Graph, interaction: Interaction) -> None:
    """Raise `InputError` if a screenshot of an interaction is missing or empty.

    Marked ones may be missing: their absence only leaves open where the trigger or effect is.
    """
    for node in (interaction.source, interaction.target):
        path = graph.screenshot(node)
        if not path.is_file() or path.stat().st_size == 0:
            state = "is empty" if path.is_file() else "is missing"
            raise InputError(
                f"The screenshot {path} of interaction {interaction.id} {state}.",
                remedy="Get the whole page folder again, or remove the interaction.",
            )


def write_graph(graph: Graph, pictures: Mapping[str, Rgb | bytes]) -> None:
    """Write a page into `graph.folder`: its `action.json`, screenshots, marks and crops.

    `pictures` has the screenshot of every node, as pixels or as the bytes of a PNG file. The marks
    are drawn around the triggers that start at a node and the effects that arrive there; the crops
    are cut out of the screenshot after. Everything is written beside the folder first and moved
    into place when it is complete; files of the folder that have other names stay.
    """
    from uiproof.benchmarks.interaction2code.marks import draw_mark
    from uiproof.vision.images import decode, encode_png

    nodes = {node for one in graph.interactions for node in (one.source, one.target)}
    missing = sorted(nodes - set(pictures), key=_natural)
    if missing:
        raise InputError(f"Page {graph.page} cannot be written: no picture of {missing[0]}.png.")
    with access(graph.folder, "written"):
        graph.folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{graph.folder.name}-", dir=graph.folder.parent))
        try:
            for node in sorted(nodes, key=_natural):
                given = pictures[node]
                rgb = decode(given) if isinstance(given, bytes) else given
                plain = given if isinstance(given, bytes) else encode_png(rgb)
                (draft / f"{node}.png").write_bytes(plain)
                marked, whole = rgb, PixelBox(0, 0, rgb.shape[1], rgb.shape[0])
                for one in graph.interactions:
                    if one.source == node and one.trigger is not None:
                        marked = draw_mark(marked, one.trigger)
                    if one.target == node and one.effect is not None:
                        marked = draw_mark(marked, one.effect)
                        if (seen := one.effect.intersection(whole)) is not None:
                            crop = rgb[seen.top : seen.bottom, seen.left : seen.right]
                            (draft / f"interaction_{one.id}.png").write_bytes(encode_png(crop))
                if marked is not rgb:
                    (draft / f"{node}_mark.png").write_bytes(encode_png(marked))
            # Written last and moved last: a folder with this file is complete.
            content = json.dumps(_json(graph), indent=4, ensure_ascii=False) + "\n"
            # Half a surrogate pair is no UTF-8; as an escape it is JSON all the same.
            (draft / FILE).write_bytes(content.encode("utf-8", "backslashreplace"))
            graph.folder.mkdir(exist_ok=True)
            (graph.folder / FILE).unlink(missing_ok=True)
            for old in graph.folder.glob("*.png"):
                if re.fullmatch(_PICTURES, old.stem):
                    old.unlink()
            for new in sorted(draft.iterdir(), key=lambda path: path.name == FILE):
                new.replace(graph.folder / new.name)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _json(graph: Graph) -> dict[str, Any]:
    about = {"link": graph.link, "topic": graph.topic, "framework": graph.framework}
    written: dict[str, Any] = {**about, **graph.extra}
    if graph.viewport is not None:
        written["viewport"] = list(graph.viewport)
    for one in graph.interactions:
        entry: dict[str, Any] = {
            "src": one.source,
            "dst": one.target,
            "action": one.sentence,
            "description": one.description,
            "tag type": list(one.tags),
            "visual type": list(one.visuals),
            "kind": one.action.kind,
            "value": one.action.value,
        }
        for name, box in (("trigger", one.trigger), ("effect", one.effect)):
            if box is not None:
                entry[name] = [box.left, box.top, box.right, box.bottom]
        if one.steps:
            entry["steps"] = [
                {"kind": step.action.kind, "value": step.action.value, "action": step.sentence}
                for step in one.steps
            ]
        written[one.id] = {**entry, **{k: v for k, v in one.extra.items() if k not in entry}}
    return written


def _page_folders(path: Path) -> Iterator[Path]:
    """Yield the folders with an `action.json`, or with marked pictures beside such folders."""
    if path.name == FILE and path.is_file():
        path = path.parent
    if (path / FILE).is_file() or webvia().is_page(path):
        yield path
    elif path.is_dir():
        yield from _pages_below(path, _DEPTH)


def _pages_below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        below = [entry for entry in folder.iterdir() if entry.is_dir()]
    except OSError:
        return  # a folder that cannot be looked into has no pages that could be read
    for entry in below:
        if not entry.name.startswith((".", "__")):
            if _is_page_folder(entry):
                yield entry
            elif depth > 1:
                yield from _pages_below(entry, depth - 1)


def _content(file: Path) -> dict[str, Any]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.", remedy=_REMEDY) from error
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        content = json.loads(data.decode("utf-16" if wide else "utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}", remedy=_REMEDY) from error
    if isinstance(content, list):
        content = {str(number): entry for number, entry in enumerate(content, 1)}
    if not isinstance(content, dict):
        raise InputError(f"{file} is not a list of interactions.", remedy=_REMEDY)
    return content


def _interaction(id_: str, entry: Any) -> Interaction:
    if not isinstance(entry, dict):
        raise InputError(f"Interaction {id_} has no fields.")
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in entry.items():
        name = _FIELDS.get(re.sub(r"[\s_-]+", " ", key.strip().lower()))
        if name is None or name in known:
            extra[key] = value
        else:
            known[name] = value
    tags, visuals = _categories(known.get("tags")), _categories(known.get("visuals"))
    sentence, steps = _text(known.get("action")), known.get("steps")
    steps = [] if steps is None else steps
    if not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps):
        raise InputError(f"Interaction {id_}: `steps` is not a list of actions: {steps!r}.")
    return Interaction(
        id=id_,
        source=_node(id_, "src", known.get("src")),
        target=_node(id_, "dst", known.get("dst")),
        action=read_action({**known, "action": sentence, "tag type": tags}),
        sentence=sentence,
        description=_text(known.get("description")),
        tags=tags,
        visuals=visuals,
        trigger=_box(id_, "trigger", known.get("trigger")),
        effect=_box(id_, "effect", known.get("effect")),
        steps=tuple(Step(read_action(one), _text(one.get("action"))) for one in steps),
        extra=extra,
    )


def _node(id_: str, field: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    name = str(value).strip() if isinstance(value, str | int) else ""
    name = re.sub(r"(?i)\.png$", "", name)
    # A screenshot lies in the folder of its page and nowhere else.
    if not re.fullmatch(r"[\w][\w .-]*", name) or isinstance(value, bool):
        raise InputError(f"Interaction {id_} has no usable `{field}`: {value!r}.")
    return name


def _categories(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[,;/|]", value)
    if not isinstance(value, list | tuple):
        return ()
    names = [" ".join(name.lower().split()) for name in value if isinstance(name, str)]
    return tuple(dict.fromkeys(name for name in names if name))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_text(part) for part in value).strip()
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _box(id_: str, field: str, value: Any) -> PixelBox | None:
    if value is None or value == [] or value == "":
        return None
    if isinstance(value, list) and len(value) == 4 and all(_is_number(side) for side in value):
        left, top, right, bottom = (round(float(side)) for side in value)
        if left < right and top < bottom:
            return PixelBox(left, top, right, bottom)
    raise InputError(
        f"Interaction {id_}: `{field}` is not a box [left, top, right, bottom]: {value!r}."
    )


def _size(value: Any) -> tuple[int, int] | None:
    if isinstance(value, list) and len(value) == 2 and all(_is_number(side) for side in value):
        width, height = round(float(value[0])), round(float(value[1]))
        return (width, height) if width > 0 and height > 0 else None
    return None


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= _LARGEST  # false for NaN


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key with `2` before `10` and numbers before words."""
    return [
        (0, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]
