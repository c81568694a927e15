"""The built-in floor: fuzzy matching of an instruction with the text on the screen, no model.

    grounder = OcrGrounder()
    guess = await grounder.ground(Picture.open(path), "Click on the 'Save' button", context)

An instruction is cut at prepositions. What comes before the first names the target, what follows
says where it is: beside what, on which side of the screen, which one of several. Every text on the
screen that matches some words is a candidate; the best one is clicked, and below `MIN_SCORE` the
grounder refuses. English only. Icons, fields and boxes are found by their labels only.

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

VERSION = 2  # grows whenever the same picture and instruction may give another guess
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
        choice = choose(screen, instruction)
        if choice is None:
            return Guess(refused=True, confidence=0.0)
        width, height = picture.size
        x, y = choice.point
        box = choice.box.normalised(width, height)
        return Guess((x / width, y / height), box, confidence=choice.confidence, raw=choice.text)

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
_QUOTED = 0xE000  # private characters stand for quotes while an instruction is taken apart
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_TOKEN = re.compile(r"[\ue000-\uf8ff]|[\w/#@%&$+*=~|<>×-]+(?:[.'’:/][\w%]+)*")
_VERB = re.compile(
    r"\b(?:please |now |just )?(?:(?:left|right|double|mouse)[- ])?(?:click|tap|press|hit|find|"
    r"locate|hover|point|move|look|go|navigate|type|enter|write)\b(?: (?:on|at|in|into|to|over))?",
    re.IGNORECASE,
)
_SIDE_OF = r"(?:(?:to|on|at) (?:the )?)?{}(?: side)? of(?! (?:the )?(?:screen|window|page))"
_BOUNDARY = re.compile(
    rf"\b(?:(?P<left>{_SIDE_OF.format('left')}|before)|(?P<right>{_SIDE_OF.format('right')}|after)"
    r"|(?P<above>above|on top of)|(?P<below>below|under|underneath|beneath)"
    r"|(?P<near>next to|near|beside|close to|adjacent to|alongside)"
    r"|(?P<named>says|reads|contains|labell?ed|named|called|titled)"
    r"|(?P<other>inside|within|into|in|on|at|of|for|about|according to|with|from|and|then|to|that|"
    r"which|so|when|where|while|or|as))\b|(?P<stop>[.;!?(),:](?!\w))",
    re.IGNORECASE,
)
# Weights of words after a preposition: where the target itself has no words
# ("the size of the desktop icons"), its surroundings are the next best.
_WEIGHTS = {"": 1.0, "named": 1.0, "other": 0.6}
_BESIDE_WEIGHT = 0.5
_FROM = re.compile(r"\bfrom (?:the )?(top|bottom|left|right)\b", re.IGNORECASE)
_SIDES = {"upper": "top", "lower": "bottom", "center": "middle", "centre": "middle"}
_SIDES |= {side: side for side in ("top", "bottom", "left", "right", "middle")}
_ORDINALS = {
    **{word: index for index, word in enumerate(("first", "second", "third", "fourth", "fifth"))},
    **{word: index for index, word in enumerate(("1st", "2nd", "3rd", "4th", "5th"))},
    "last": -1,
}
_SUPERLATIVE = re.compile(r"(left|right|top|bottom)-?most")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FUNCTION_WORDS = _listed(
    """a an the this these those it its your my their is are be was were will would can could
    should may i you we they not no if than who what how up out there here only also very s by
    screen window page app application interface dialog located displayed shown visible see one
    current user want mouse cursor pointer"""
)
_KIND_WORDS = _listed(
    """button buttons link field input textbox box bar checkbox radio toggle switch slider dropdown
    drop-down combobox selector icon image logo symbol arrow text label option item entry menu tab
    row column cell line corner side sidebar toolbar panel pane edge part area section"""
)
_ACTIONS = _listed(
    """select choose pick open focus mark highlight check uncheck tick untick deselect unselect
    expand collapse unfold activate use view show access change modify set adjust enable disable"""
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that may be written on the target, or on what it stands beside."""

    text: str
    weight: float  # 0-1: how surely they name the target
    quoted: bool


@dataclass(frozen=True, slots=True)
class Target:
    """An instruction, as far as it is understood."""

    phrases: tuple[Phrase, ...]  # the heaviest first
    anchors: tuple[tuple[str, tuple[Phrase, ...]], ...]  # left, right … of what the target stands
    sides: frozenset[str]  # of top, bottom, left, right, middle
    rank: tuple[int, str] | None  # which one of equals (-1: the last), and along "x", "y" or ""


@lru_cache(maxsize=256)
def understand(instruction: str) -> Target:
    """Take an instruction apart; at worst, nothing is wanted."""
    quotes: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quotes.append(next(filter(None, match.groups())).strip())
        return f" {chr(_QUOTED + len(quotes) - 1)} " if len(quotes) <= 1000 else " "

    text = _VERB.sub(" ", _QUOTE.sub(mask, _PRIVATE.sub(" ", instruction)))
    counted = _FROM.search(text)
    text = _FROM.sub(" ", text)
    phrases: list[Phrase] = []
    anchors, sides = [], set()
    for relation, clause in _clauses(text):
        tokens = _TOKEN.findall(clause)
        found = tuple(_phrases(tokens, quotes, _WEIGHTS.get(relation, _BESIDE_WEIGHT)))
        phrases += found
        if relation not in _WEIGHTS and found:
            anchors.append((relation, found))
        placed = (token.lower() for token in tokens if not _SUPERLATIVE.fullmatch(token.lower()))
        parts = {part for token in placed for part in token.split("-")}
        sides |= {_SIDES[part] for part in parts & _SIDES.keys()}
    best: dict[str, Phrase] = {}
    for phrase in sorted(phrases, key=lambda phrase: -phrase.weight):
        best.setdefault(phrase.text.lower(), phrase)
    rank = _rank(text, counted[1].lower() if counted else "")
    return Target(tuple(best.values()), tuple(anchors), frozenset(sides), rank)


def named_sides(instruction: str) -> frozenset[str]:
    """Return the sides of the screen that an instruction names, such as top and left."""
    return understand(instruction).sides


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield each clause with the name of its preposition; "" for the one that names the target."""
    relation, start = "", 0
    for boundary in _BOUNDARY.finditer(text):
        yield relation, text[start : boundary.start()]
        name = boundary.lastgroup or ""
        relation, start = "other" if name == "stop" else name, boundary.end()
    yield relation, text[start:]


def _phrases(tokens: Sequence[str], quotes: Sequence[str], weight: float) -> Iterator[Phrase]:
    """Yield the quotes, and each run of words that could be a name: the longer, the heavier."""
    quoted = [quotes[ord(token) - _QUOTED] for token in tokens if _PRIVATE.match(token)]
    yield from (Phrase(text, weight, True) for text in quoted)
    if quoted:
        weight *= 0.45  # beside a quote, other words are descriptions
    meanings = [_meaning(token) for token in tokens]
    total = max(sum(meanings), 1.0)
    for start in range(len(tokens)):
        share = 0.0
        for end in range(start, min(start + _LONGEST_RUN, len(tokens))):
            if _PRIVATE.match(tokens[end]):
                break
            share += meanings[end] / total
            if meanings[start] and meanings[end]:
                text = " ".join(tokens[start : end + 1])
                yield Phrase(text, weight * (0.25 + 0.7 * share**0.5), False)


def _meaning(token: str) -> float:
    """Return how much a word says about what is written on the target."""
    word = token.lower()
    if word in _FUNCTION_WORDS or _PRIVATE.match(token):
        return 0.0
    if word in _KIND_WORDS or word in _ORDINALS or _SUPERLATIVE.fullmatch(word):
        return 0.1
    if all(part in _SIDES for part in word.split("-")):
        return 0.1
    return 0.3 if word in _ACTIONS else 1.0


def _rank(text: str, counted_from: str) -> tuple[int, str] | None:
    for token in _TOKEN.findall(text.lower()):
        if extreme := _SUPERLATIVE.fullmatch(token):
            return (-1 if extreme[1] in ("right", "bottom") else 0), _axis(extreme[1])
        if (index := _ORDINALS.get(token)) is not None:
            backwards = counted_from in ("right", "bottom") and index >= 0
            return (-1 - index if backwards else index), _axis(counted_from)
    return None


def _axis(side: str) -> str:
    return {"left": "x", "right": "x", "top": "y", "bottom": "y"}.get(side, "")


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


@dataclass(frozen=True, slots=True)
class Choice:
    """The text that fits best."""

    point: tuple[float, float]  # pixels
    box: PixelBox
    text: str  # its whole line
    confidence: float  # 0-1: how well it fits, less where others fit as well


def choose(screen: ScreenText, instruction: str) -> Choice | None:
    """Return what an instruction means, or None when there is nothing like it."""
    target = understand(instruction)
    anchors = [(name, boxes) for name, one in target.anchors if (boxes := _anchor(screen, one))]
    candidates = []
    for span, said in _candidates(screen, target):
        factor = 1.0
        for side in target.sides:
            factor *= 1 - 0.3 * _distance_to(side, span.box, screen)
        for relation, boxes in anchors:
            if span.box not in boxes:
                factor *= max(_agreement(relation, span.box, other, screen) for other in boxes)
        candidates.append((said * factor, said, span))
    # Equal ones in reading order, so that the answer never depends on how they were found.
    candidates.sort(key=lambda one: (-one[0], one[2].box.top, one[2].box.left))
    if not candidates:
        return None
    score, said, span = candidates[0]
    rivals = [other for other, *_ in candidates[1:2]]
    if target.rank is not None:
        equals = [one for one in candidates if one[1] >= _EQUAL * said]
        score, _, span = _ranked(equals, target.rank)
        rivals = []
    if score < MIN_SCORE:
        return None
    doubt = 0.5 * (rivals[0] / score) ** 4 if rivals else 0.0
    return Choice(
        span.box.centre, span.box, screen.lines[span.line].text, min(score, 1.0) * (1 - doubt)
    )


def _candidates(screen: ScreenText, target: Target) -> Iterator[tuple[Span, float]]:
    """Yield the best match at each place of the screen."""
    found = [
        (span, phrase.weight * fit)
        for phrase in target.phrases
        for span, fit in screen.find(phrase.text, nearly=phrase.quoted or phrase.weight > 0.85)
    ]
    found.sort(key=lambda one: (-one[1], one[0].line, one[0].box.left))
    taken: dict[int, list[PixelBox]] = defaultdict(list)
    for span, said in found:
        if not any(span.box.overlap(box) for box in taken[span.line]):
            taken[span.line].append(span.box)
            yield span, said


def _anchor(screen: ScreenText, phrases: Sequence[Phrase]) -> list[PixelBox]:
    """Return where the thing is that the target stands beside: all places that say the same."""
    for phrase in sorted(phrases, key=lambda phrase: (not phrase.quoted, -phrase.weight)):
        matches = screen.find(phrase.text, nearly=phrase.quoted)
        best = max((fit for _, fit in matches), default=0.0)
        if best >= 0.7:
            return [span.box for span, fit in matches if fit >= _EQUAL * best]
    return []


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
    equals: Sequence[tuple[float, float, Span]], rank: tuple[int, str]
) -> tuple[float, float, Span]:
    """Return the one that an ordinal means; the best one when there are not so many."""
    index, axis = rank
    centres = [one[2].box.centre for one in equals]
    if not axis:
        xs, ys = zip(*centres, strict=True)
        axis = "x" if max(xs) - min(xs) > max(ys) - min(ys) else "y"
    which = 0 if axis == "x" else 1
    order = sorted(range(len(equals)), key=lambda i: (centres[i][which], centres[i][1 - which]))
    return equals[order[index]] if -len(order) <= index < len(order) else equals[0]
