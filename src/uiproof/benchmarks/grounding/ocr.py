"""The built-in floor: fuzzy matching of an instruction with the text on the screen, no model.

    grounder = OcrGrounder()
    guess = await grounder.ground(Picture.open(path), "Click on the 'Save' button", context)

The target is named by what is in quotes, else by the words that are neither usual nor about
controls. A few spatial words tell equal texts apart: sides of the screen, `left of`, `below`,
`next to`, ordinals, `top-most`. The text that fits best is clicked; below `MIN_SCORE` the grounder
refuses. English only. Icons, fields and boxes are found by their labels only.

A picture is read once (some seconds of CPU for a full screen); what was read is kept in memory and
on disk. The same picture and instruction always give the same guess.
"""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.grounders import Guess
from uiproof.benchmarks.grounding.pictures import Picture, PictureMemo
from uiproof.geometry import PixelBox
from uiproof.settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from uiproof.engine.context import Context
    from uiproof.vision.ocr import OcrLine

VERSION = 3  # grows whenever the same picture and instruction may give another guess
MIN_SCORE = 0.42
# The detector misses less small type when it sees the whole screen, enlarged as far as one look
# allows: 1920 x 1080 by 4/3, which takes about 1 GB.
_ENLARGED, _ONE_LOOK = 4 / 3, 3_700_000
_LONGEST_RUN = 8  # words of a name that is not in quotes
_SHORTEST_FUZZY, _LEAST_RATIO = 4, 0.75  # letters; of a word that was misread or misspelt
_EQUAL = 0.9  # of the best score: one of those that an ordinal counts


class OcrGrounder:
    """Finds an element by the words that are written on it or beside it."""

    name = "ocr"

    def __init__(self, *, cache_dir: Path | None = None) -> None:
        """Keep what is read below `cache_dir`, by default that of the settings."""
        self._folder = (cache_dir or Settings.from_environment().cache_dir) / "ocr"
        self._screens: PictureMemo[ScreenText] = PictureMemo()
        self._threads: ThreadPoolExecutor | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return all that changes its guesses."""
        return {"version": VERSION, "min_score": MIN_SCORE, "reader": reader_name()}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:  # noqa: ARG002 - no model is called
        """Find the element, or refuse."""
        screen, _ = await self._screens.get(picture, lambda: self._read(picture))
        return choose(screen, instruction) or Guess(refused=True, confidence=0.0)

    async def close(self) -> None:
        """Stop reading."""
        await self._screens.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    async def _read(self, picture: Picture) -> ScreenText:
        from concurrent.futures import ThreadPoolExecutor

        from uiproof.vision.ocr import KeptReadings

        def read() -> ScreenText:
            rgb = picture.rgb()  # first: a picture that cannot be decoded always fails
            kept = KeptReadings(self._folder, reader_name())
            return ScreenText(kept.lines(picture.digest, lambda: read_screen(rgb)), *picture.size)

        if self._threads is None:
            self._threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="ocr")
        return await asyncio.get_running_loop().run_in_executor(self._threads, read)


@cache
def reader_name() -> str:
    """Return the name and options of the reader; readings of another one are not used."""
    return f"rapidocr {version('rapidocr')}, enlarged {_ENLARGED:.3g} up to {_ONE_LOOK} pixels"


def read_screen(rgb: Any) -> list[OcrLine]:
    """Return the lines of text on a screen: 4 to 15 CPU-seconds for 1920 x 1080."""
    from uiproof.vision.ocr import read_lines

    height, width = rgb.shape[:2]
    scale = min(max((_ONE_LOOK / (width * height)) ** 0.5, 1.0), _ENLARGED)
    return read_lines(rgb, scale=scale, tile_pixels=_ONE_LOOK)


# --- the instruction ------------------------------------------------------------------------------

_QUOTE = re.compile(
    r"“([^”]+)”|\"([^\"]+)\"|`([^`]+)`|«([^»]+)»|(?<!\w)['‘](?=\S)(.+?)(?<=\S)['’](?!\w)"
)
_WORD = re.compile(r"[\w/#@%&$+*=~|<>×-]+(?:[.'’:/][\w%]+)*")
_SIDE_OF = r"(?:(?:to|on|at) (?:the )?)?{}(?: side)? of(?! (?:the )?(?:screen|window|page))"
_RELATION = re.compile(
    rf"\b(?:(?P<left>{_SIDE_OF.format('left')})|(?P<right>{_SIDE_OF.format('right')})"
    r"|(?P<above>above|on top of)|(?P<below>below|under|underneath|beneath)"
    r"|(?P<near>next to|near|beside|close to))\b",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom (?:the )?(top|bottom|left|right)\b", re.IGNORECASE)
_SIDES = {"upper": "top", "lower": "bottom", "center": "middle", "centre": "middle"}
_SIDES |= {side: side for side in ("top", "bottom", "left", "right", "middle")}
_ORDINALS = {word: n for n, word in enumerate(("first", "second", "third", "fourth", "fifth"))}
_ORDINALS["last"] = -1
_SUPERLATIVE = re.compile(r"(left|right|top|bottom)-?most")
_AXES = {"left": 0, "right": 0, "top": 1, "bottom": 1}
# Words that say what to do, with what kind of thing, or nothing.
_USUAL = """
    a an the this that these those it its your my their is are be was were will would can could
    should may i you we they not no if than who what how up out there here only also very by on in
    at to of for from and or with into which so when where while as about then please now just
    screen window page app application interface dialog located displayed shown visible see one
    current user want mouse cursor pointer button buttons link field input textbox box bar checkbox
    radio toggle switch slider dropdown drop-down combobox selector icon image logo symbol arrow
    text label labeled labelled named called titled says reads option item entry menu tab row column
    cell line corner side sidebar toolbar panel pane edge part area section click double-click tap
    press hit find locate hover point move look go navigate type enter write select choose pick open
    focus mark highlight check uncheck tick untick expand collapse activate use view show access
    change modify set adjust enable disable
"""
_IGNORED = frozenset(_USUAL.split())


@dataclass(frozen=True, slots=True)
class Target:
    """An instruction, as far as it is understood."""

    names: tuple[tuple[str, float], ...]  # texts that may be written on it, and how surely
    relation: str  # left, right, above, below or near what `beside` names; "" for none
    beside: tuple[tuple[str, float], ...]
    sides: frozenset[str]  # of top, bottom, left, right, middle
    rank: tuple[int, int | None] | None  # which one of equals (-1: the last), along which axis


@lru_cache(maxsize=256)
def understand(instruction: str) -> Target:
    """Take an instruction apart; at worst, nothing is wanted."""
    # Quotes keep their places, but what is in them is no preposition.
    plain = _QUOTE.sub(lambda match: "\0" * len(match[0]), instruction)
    relation = _RELATION.search(plain)
    end = relation.start() if relation else len(plain)
    counted = _FROM.search(plain)
    words = _WORD.findall(_FROM.sub(" ", plain[:end]).lower())
    parts = {part for word in words if not _SUPERLATIVE.fullmatch(word) for part in word.split("-")}
    return Target(
        names=tuple(_names(instruction[:end], plain[:end])),
        relation=(relation.lastgroup or "") if relation else "",
        beside=tuple(_names(instruction[relation.end() :], plain[relation.end() :]))
        if relation
        else (),
        sides=frozenset(_SIDES[part] for part in parts & _SIDES.keys()),
        rank=_rank(words, counted[1].lower() if counted else ""),
    )


def named_sides(instruction: str) -> frozenset[str]:
    """Return the sides of the screen that an instruction names, such as top and left."""
    return understand(instruction).sides


def _names(text: str, plain: str) -> Iterator[tuple[str, float]]:
    """Yield the quotes, or else each run of words that mean something: the longer, the surer."""
    quotes = [next(filter(None, match.groups())).strip() for match in _QUOTE.finditer(text)]
    yield from ((quote, 0.6 if number else 1.0) for number, quote in enumerate(quotes))
    if quotes:
        return
    words = _WORD.findall(plain)
    telling = [not _is_ignored(word.lower()) for word in words]
    for start in range(len(words)):
        for end in range(start, min(start + _LONGEST_RUN, len(words))):
            if not telling[end]:
                break
            share = (end - start + 1) / sum(telling)
            yield " ".join(words[start : end + 1]), 0.25 + 0.7 * share**0.5


def _is_ignored(word: str) -> bool:
    sides = all(part in _SIDES for part in word.split("-"))
    return sides or word in _IGNORED or word in _ORDINALS or bool(_SUPERLATIVE.fullmatch(word))


def _rank(words: Sequence[str], counted_from: str) -> tuple[int, int | None] | None:
    for word in words:
        if extreme := _SUPERLATIVE.fullmatch(word):
            return (-1 if extreme[1] in ("right", "bottom") else 0), _AXES[extreme[1]]
        if (index := _ORDINALS.get(word)) is not None:
            backwards = counted_from in ("right", "bottom") and index >= 0
            return (-1 - index if backwards else index), _AXES.get(counted_from)
    return None


# --- the screen -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """Some words of a line of text."""

    line: int
    text: str
    box: PixelBox
    cover: float  # its share of the line's letters


class ScreenText:
    """The texts on a screen, by their letters: OCR often loses spaces."""

    def __init__(self, lines: Sequence[OcrLine], width: int, height: int) -> None:
        self.lines, self.width, self.height = lines, width, height
        self._spans: dict[str, list[Span]] = defaultdict(list)
        for number, line in enumerate(lines):
            words = list(_words(line))
            letters = max(sum(len(_plain(text)) for text, _ in words), 1)
            for start in range(len(words)):
                box = words[start][1]
                for end in range(start, min(start + _LONGEST_RUN, len(words))):
                    box = box.union(words[end][1])
                    text = " ".join(text for text, _ in words[start : end + 1])
                    if plain := _plain(text):
                        span = Span(number, text, box, len(plain) / letters)
                        self._spans[plain].append(span)

    def find(self, text: str, *, nearly: bool) -> list[tuple[Span, float]]:
        """Return where words are written and how well they fit, exactly or else nearly."""
        plain = _plain(text)
        exact = [
            (span, (0.8 + 0.2 * span.cover) * (1.0 if span.text == text else 0.97))
            for span in self._spans.get(plain, ())
        ]
        if exact or not nearly or len(plain) < _SHORTEST_FUZZY:
            return exact
        from cydifflib import SequenceMatcher, get_close_matches

        near = (len(plain) * _LEAST_RATIO, len(plain) / _LEAST_RATIO)
        alike = [other for other in self._spans if near[0] <= len(other) <= near[1]]
        matcher = SequenceMatcher(None, plain, "", False)
        found = []
        for other in get_close_matches(plain, alike, 6, _LEAST_RATIO):
            matcher.set_seq2(other)
            fit = matcher.ratio() ** 2
            found += [(span, fit * (0.75 + 0.2 * span.cover)) for span in self._spans[other]]
        return found


def _words(line: OcrLine) -> Iterator[tuple[str, PixelBox]]:
    if line.words:
        yield from ((word.text, word.box) for word in line.words)
        return
    step, place = line.box.width / max(len(line.text), 1), 0
    for word in line.text.split():
        place = line.text.index(word, place)
        left = round(line.box.left + step * place)
        right = max(round(line.box.left + step * (place + len(word))), left + 1)
        yield word, PixelBox(left, line.box.top, right, line.box.bottom)
        place += len(word)


def _plain(text: str) -> str:
    """Return the letters and digits in lower case; of a text that has none, its signs."""
    text = unicodedata.normalize("NFKC", text).lower()
    return "".join(filter(str.isalnum, text)) or "".join(text.split())


# --- the choice -----------------------------------------------------------------------------------


def choose(screen: ScreenText, instruction: str) -> Guess | None:
    """Return the text that an instruction means, or None when there is nothing like it.

    The confidence says how well it fits, less where others fit as well; `raw` is its whole line.
    """
    target = understand(instruction)
    anchors = _best_places(screen, target.beside)
    found = []
    for span, said in _matches(screen, target.names):
        factor = 1.0
        for side in target.sides:
            factor *= 1 - 0.3 * _distance_to(side, span.box, screen)
        if anchors and span.box not in anchors:
            factor *= max(_agreement(target.relation, span.box, one, screen) for one in anchors)
        found.append((said * factor, said, span))
    # Equal ones in reading order, so that the answer never depends on how they were found.
    found.sort(key=lambda one: (-one[0], one[2].box.top, one[2].box.left))
    if not found:
        return None
    score, said, span = found[0]
    rivals = [other for other, _, one in found[1:2] if one is not span]
    if target.rank is not None:
        equals = [one for one in found if one[1] >= _EQUAL * said]
        score, _, span = _ranked(equals, *target.rank)
        rivals = []
    if score < MIN_SCORE:
        return None
    doubt = 0.5 * (rivals[0] / score) ** 4 if rivals else 0.0
    x, y = span.box.centre
    return Guess(
        (x / screen.width, y / screen.height),
        span.box.normalised(screen.width, screen.height),
        confidence=min(score, 1.0) * (1 - doubt),
        raw=screen.lines[span.line].text,
    )


def _matches(
    screen: ScreenText, names: Sequence[tuple[str, float]]
) -> Iterator[tuple[Span, float]]:
    """Yield the best match at each place of the screen."""
    found = [
        (span, weight * fit)
        for name, weight in names
        for span, fit in screen.find(name, nearly=weight > 0.85)
    ]
    found.sort(key=lambda one: (-one[1], one[0].line, one[0].box.left))
    taken: list[Span] = []
    for span, said in found:
        if not any(span.line == one.line and span.box.overlap(one.box) for one in taken):
            taken.append(span)
            yield span, said


def _best_places(screen: ScreenText, names: Sequence[tuple[str, float]]) -> list[PixelBox]:
    """Return where the thing is that the target stands beside: all places that say the same."""
    matches = list(_matches(screen, names))
    best = max((said for _, said in matches), default=0.0)
    return [span.box for span, said in matches if said >= max(_EQUAL * best, MIN_SCORE)]


def _distance_to(side: str, box: PixelBox, screen: ScreenText) -> float:
    across, down = box.centre[0] / screen.width, box.centre[1] / screen.height
    if side == "middle":
        return min(hypot(across - 0.5, down - 0.5) * 1.4, 1.0)
    return {"left": across, "right": 1 - across, "top": down, "bottom": 1 - down}[side]


def _agreement(relation: str, box: PixelBox, other: PixelBox, screen: ScreenText) -> float:
    """Return how well a box lies to another one as a preposition says."""
    across = max(box.left, other.left) - min(box.right, other.right)  # a gap, or below 0
    down = max(box.top, other.top) - min(box.bottom, other.bottom)
    away = min(hypot(max(across, 0) / screen.width, max(down, 0) / screen.height), 1.0)
    if relation == "near":
        return 1 - 0.6 * min(4 * away, 1.0)
    (x, y), (other_x, other_y) = box.centre, other.centre
    if relation in ("left", "right"):
        on_side, aligned = (x > other_x) == (relation == "right"), down < 0
    else:
        on_side, aligned = (y > other_y) == (relation == "below"), across < 0
    return (1.0 if on_side else 0.55) * (1.0 if aligned else 0.7) * (1 - 0.3 * away)


def _ranked(
    equals: Sequence[tuple[float, float, Span]], index: int, axis: int | None
) -> tuple[float, float, Span]:
    """Return the one that an ordinal means; the best one when there are not so many."""
    if axis is None:
        xs, ys = zip(*(one[2].box.centre for one in equals), strict=True)
        axis = 0 if max(xs) - min(xs) > max(ys) - min(ys) else 1
    order = sorted(equals, key=lambda one: (one[2].box.centre[axis], one[2].box.centre[1 - axis]))
    return order[index] if -len(order) <= index < len(order) else equals[0]
