"""What an instruction asks for: words that are written there, the kind of control, its place.

    wanted = understand("Click on the second 'Open' link from the top")
    wanted.phrases[0].text   # Open
    wanted.kind              # link
    wanted.rank              # the second, counted from the top

English only, and no more than a few rules of thumb: the instruction is cut at prepositions, what
comes before the first of them names the target, what follows says where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from uiproof.benchmarks.grounding.grounders.vocabulary import (
    CLICKING,
    EXTRA,
    FUNCTION_WORDS,
    IMPLIED,
    KINDS,
    NEW_SENTENCE,
    ORDINALS,
    PLACES,
    POINTING,
    RELATIONS,
    SUPERLATIVES,
    VAGUE_KINDS,
    Axis,
    Kind,
    Relation,
)

_LONGEST_RUN = 8  # words of a name that is not in quotes
_TOKENS = re.compile(
    r"""
    (?P<quote> “[^”]+” | "[^"]+" | `[^`]+` | «[^»]+» | (?<!\w)['‘](?=\S).+?(?<=\S)['’](?!\w) )
    | (?P<word> [\w/#@%&$+*=~|<>×-]+ (?:[.'’:/][\w%]+)* )
    | (?P<stop> [.;!?(),:] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that may be written on the target, or on what it stands beside."""

    text: str
    weight: float  # 0-1: how surely they are meant to be read on the target
    quoted: bool = False
    relation: Relation | None = None  # of the clause that they stand in; None: they name the target


@dataclass(frozen=True, slots=True)
class Anchor:
    """Something that the target stands beside, above, in …"""

    relation: Relation
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """Which one of several that look alike: the `index`-th from the start; -1 is the last."""

    index: int
    axis: Axis | None = None  # None: whichever way they are lined up


@dataclass(frozen=True, slots=True)
class Wanted:
    """An instruction, understood as far as it goes."""

    phrases: tuple[Phrase, ...] = ()  # what the target may say, the best first
    kind: Kind | None = None
    anchors: tuple[Anchor, ...] = ()
    places: frozenset[str] = frozenset()  # of top, bottom, left, right, middle
    rank: Rank | None = None
    cell: tuple[str, int] | None = None  # of a spreadsheet: column and row
    words: frozenset[str] = frozenset()  # all that carry meaning, in lower case and singular


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    quoted: bool = False

    @property
    def low(self) -> str:
        return "" if self.quoted else self.text.lower()


@dataclass(slots=True)
class _Clause:
    relation: Relation | None  # None: it names the target
    tokens: list[_Token]
    word: str = ""  # that it began with

    @property
    def words(self) -> set[str]:
        return {token.low for token in self.tokens if not token.quoted}

    @property
    def has_quote(self) -> bool:
        return any(token.quoted for token in self.tokens)


@lru_cache(maxsize=256)
def understand(instruction: str) -> Wanted:
    """Take an instruction apart. Nothing is ever refused: at worst, nothing is wanted."""
    tokens = _tokens(instruction)
    clauses = _clauses(tokens)
    heads = [clause for clause in clauses if clause.relation is None]
    main = next((head for head in heads if head.has_quote), heads[0] if heads else None)
    wordless = main is None or all(_carries(token) < 1 for token in main.tokens)
    places: set[str] = set()
    anchors: list[Anchor] = []
    phrases: list[Phrase] = []
    for clause in clauses:
        if clause.relation is None or _is_place(clause):
            places |= _places(clause) if clause.word != "from" else set()
        if clause.relation is not None and _is_place(clause):
            continue
        # Of several instructions, the one with a quote counts, else the first.
        minor = clause.relation is None and clause is not main
        weight = _WEIGHTS[clause.relation]
        if wordless and clause.relation in _BESIDE:
            weight = 0.85  # "the checkbox left of …": there is nothing else to go by
        found = tuple(_phrases(clause, weight * (0.6 if minor and not clause.has_quote else 1.0)))
        phrases += found
        if clause.relation not in (None, Relation.EXTRA) and found:
            anchors.append(Anchor(clause.relation, found))
    return Wanted(
        tuple(_without_repeats(phrases)),
        _kind(main) if main else None,
        tuple(anchors),
        frozenset(places),
        _rank(clauses, heads),
        _cell(instruction),
        frozenset(stem(token.text) for token in tokens if not token.quoted and _carries(token)),
    )


def stem(word: str) -> str:
    """A word without case and plural, roughly."""
    word = word.lower()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


# What comes after a preposition is rather the target's surroundings than the target; but where the
# target itself has no words ("the size of the desktop icons"), these are the next best.
_WEIGHTS = {
    None: 1.0,
    Relation.OF: 0.7,
    Relation.NEAR: 0.55,
    Relation.LEFT: 0.5,
    Relation.RIGHT: 0.5,
    Relation.ABOVE: 0.45,
    Relation.BELOW: 0.45,
    Relation.EXTRA: 0.5,
    Relation.INSIDE: 0.4,
}


_BESIDE = {
    Relation.OF,
    Relation.NEAR,
    Relation.LEFT,
    Relation.RIGHT,
    Relation.ABOVE,
    Relation.BELOW,
}


def _tokens(instruction: str) -> list[_Token]:
    tokens = []
    for match in _TOKENS.finditer(instruction):
        text = match.group()
        if match.lastgroup == "quote":
            text = text[1:-1].strip()
        if text:
            tokens.append(_Token(text, match.lastgroup == "quote"))
    return tokens


def _clauses(tokens: Sequence[_Token]) -> list[_Clause]:
    """Cut at prepositions, conjunctions and punctuation; the first clause names the target."""
    clauses = [_Clause(Relation.INSIDE if tokens and tokens[0].low == "look" else None, [])]
    place = _after_verb(tokens, 0)
    while place < len(tokens):
        relation, length = _relation(tokens, place)
        if relation is None and tokens[place].text in ".;!?(),:":
            relation, length = Relation.EXTRA, 1
        if relation is None:
            clauses[-1].tokens.append(tokens[place])
            place += 1
            continue
        word = tokens[place].low or tokens[place].text
        place += length
        if relation is Relation.NAMED:
            continue
        if relation is Relation.OF and clauses[-1].relation is not None:
            relation = clauses[-1].relation  # "in the list of the window": all of it surrounds
        if word in NEW_SENTENCE and place < len(tokens):
            after = _after_verb(tokens, place)
            if after > place or tokens[place].low in POINTING:
                relation, place = None, after  # "look there and click on the …"
        clauses.append(_Clause(relation, [], word))
    return [clause for clause in clauses if clause.tokens]


def _relation(tokens: Sequence[_Token], place: int) -> tuple[Relation | None, int]:
    for words, relation in RELATIONS.get(tokens[place].low, ()):
        if [token.low for token in tokens[place : place + len(words)]] == list(words):
            return relation, len(words)
    if tokens[place].low in EXTRA:
        return Relation.EXTRA, 1
    return None, 0


def _after_verb(tokens: Sequence[_Token], place: int) -> int:
    """Where "click on the", "please find" … end; the same place without such a verb."""
    end = place
    while end < len(tokens) and tokens[end].low in ("please", "now", "then", "just", "first"):
        end += 1
    if end == len(tokens) or tokens[end].low not in CLICKING:
        return place
    end += 1
    while end < len(tokens) and tokens[end].low in ("on", "at", "the", "in", "into", "to", "a"):
        end += 1
    return end if end < len(tokens) else place


def _phrases(clause: _Clause, weight: float) -> Iterator[Phrase]:
    """Quotes; and every run of words that could be a name, the more of them the better."""
    for token in clause.tokens:
        if token.quoted:
            yield Phrase(token.text, weight, True, clause.relation)
    if clause.has_quote:
        weight *= 0.45  # beside a quote, other words are descriptions
    tokens = clause.tokens
    carrying = [0.0 if token.quoted else _carries(token) for token in tokens]
    total = max(sum(carrying), 1.0)
    for start in range(len(tokens)):
        share = 0.0
        for end in range(start, min(start + _LONGEST_RUN, len(tokens))):
            if tokens[end].quoted:
                break
            share += carrying[end] / total
            if share and not {tokens[start].low, tokens[end].low} & FUNCTION_WORDS:
                text = " ".join(token.text for token in tokens[start : end + 1])
                yield Phrase(text, weight * (0.25 + 0.7 * share**0.5), False, clause.relation)


def _carries(token: _Token) -> float:
    """How much a word says about what is written there."""
    word = token.low
    if token.quoted:
        return 1.0
    if word in FUNCTION_WORDS or word in CLICKING:
        return 0.0
    if word in KINDS or word in ORDINALS or word in PLACES or word in SUPERLATIVES:
        return 0.1
    if word in POINTING:
        return 0.3
    return 1.3 if token.text[0].isupper() or token.text[0].isdigit() else 1.0


def _kind(clause: _Clause) -> Kind | None:
    """The last noun that says one: "the folder menu button"; else what the verb implies."""
    kinds = [KINDS[token.low] for token in clause.tokens if token.low in KINDS]
    telling = [kind for kind in kinds if kind not in VAGUE_KINDS] or kinds
    implied = [IMPLIED[token.low] for token in clause.tokens if token.low in IMPLIED]
    return telling[-1] if telling else next(iter(implied), None)


def _places(clause: _Clause) -> set[str]:
    return {side for word in clause.words for side in PLACES.get(word, ())}


def _is_place(clause: _Clause) -> bool:
    """Whether a clause only says where on the screen: "in the top right corner"."""
    said = any(_carries(token) >= 1 for token in clause.tokens)
    return not said and bool(_places(clause))


def _rank(clauses: Sequence[_Clause], heads: Sequence[_Clause]) -> Rank | None:
    for head in heads:
        for token in head.tokens:
            if token.low in SUPERLATIVES:
                return Rank(*SUPERLATIVES[token.low])
            if token.low in ORDINALS:
                return _counted(ORDINALS[token.low], clauses)
    return None


def _counted(index: int, clauses: Sequence[_Clause]) -> Rank:
    """An ordinal with the side that it is counted from, if that is said."""
    for clause in clauses:
        if clause.word == "from" and _is_place(clause):
            for side in _places(clause) - {"middle"}:
                axis = Axis.DOWN if side in ("top", "bottom") else Axis.ACROSS
                backwards = side in ("bottom", "right")
                return Rank(-1 - index if backwards and index >= 0 else index, axis)
    return Rank(index)


def _cell(instruction: str) -> tuple[str, int] | None:
    """`("B", 31)` for "cell B31" and for "the second column of the 31st row"."""
    low = instruction.lower()
    named = re.search(r"\b([A-Z]{1,2})([1-9]\d{0,3})\b", instruction)
    if named is not None and "cell" in low:
        return named.group(1), int(named.group(2))
    column = re.search(r"\b(\w{1,20}) column", low)
    row = re.search(r"\b(\w{1,20}) row\b|\brow (\d{1,9})\b", low)
    if column is None or row is None:
        return None
    across, down = _ordinal(column.group(1)), _ordinal(row.group(1) or row.group(2))
    return (chr(ord("A") + across), down + 1) if 0 <= across < 26 and down >= 0 else None


def _ordinal(word: str) -> int:
    """From 0 on; -1 where a word is none."""
    number = re.fullmatch(r"(\d+)(?:st|nd|rd|th)?", word)
    return int(number.group(1)) - 1 if number else ORDINALS.get(word, -1)


def _without_repeats(phrases: Sequence[Phrase]) -> list[Phrase]:
    best: dict[str, Phrase] = {}
    for phrase in phrases:
        known = best.get(phrase.text.lower())
        if known is None or phrase.weight > known.weight:
            best[phrase.text.lower()] = phrase
    return sorted(best.values(), key=lambda phrase: -phrase.weight)
