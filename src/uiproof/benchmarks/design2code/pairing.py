"""Find the same things on two pages: which text, picture or surface is which."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from math import hypot

import cv2
import numpy as np

from uiproof.benchmarks.design2code.blocks import PixelRect
from uiproof.benchmarks.design2code.matching import TextSimilarity, assign
from uiproof.benchmarks.design2code.scene import Node, Scene, around
from uiproof.vision.images import Rgb

SAME_TEXT = 0.6  # similarity of two texts, one of which was changed
NEAR = 150.0  # pixels: farther apart, place says nothing
IN_PLACE = 0.75  # how near a text must be to one with other words to stand in its place
STAYS = 0.96  # how near a text must be to the place that its neighbours let expect
ALIKE = 0.1  # of the area of a picture or a surface, to stand in its place
SAME_AREA = 1 / 32  # of the areas of two pictures that show the same
SAME_SIGHT = 16.0  # mean levels between them
MOST_PICTURES = 200
EMPTIED = 0.3  # of the size of a surface is left when it has lost what it held
SAME_CONTENTS = 0.5  # of what two surfaces hold must be the same
MOST_PIECES = 16  # texts of one page that are one text of the other
WHOLE = 0.8  # of the letters of a text that its pieces have
LONG_TEXT = 40  # letters of texts that may be told from others by how they begin
BEGINNING = 12  # letters that they begin with
LEAST_ABSORBED = 12  # letters and digits of a text that is part of a longer one
MOST_OF_IT = 0.4  # of its letters that stand together in the longer one
APART = 30.0  # pixels between it and the rest of the longer one
MOST_COMPARED = 4_000_000  # leaves of one page times those of the other


def pair(generated: Scene, reference: Scene) -> set[Node]:
    """Make partners of the nodes of two pages that are the same thing.

    Returns the nodes of the generated page that stand in another order than their partners.
    """
    ours, theirs = _bounded(generated.leaves, reference.leaves)
    for side, other in ((ours, theirs), (theirs, ours)):
        _join_pieces(side, other)
    ours = [one for one in ours if one.parent is not None]
    theirs = [one for one in theirs if one.parent is not None]
    runs = SequenceMatcher(None, [*map(_token, theirs)], [*map(_token, ours)], autojunk=False)
    codes = _slid(runs.get_opcodes(), ours, theirs)
    for name, i1, i2, j1, j2 in codes:
        if name == "equal":
            for a, b in zip(theirs[i1:i2], ours[j1:j2], strict=True):
                marry(b, a)
    similarity = TextSimilarity()
    units = _pair_units(generated.root, reference.root)
    displaced: set[Node] = set()
    for name, i1, i2, j1, j2 in codes:
        if name == "replace":
            _pair_rest(ours[j1:j2], theirs[i1:i2], theirs, similarity, _in_place)
    settled = {id(one) for one in theirs if one.partner is not None}
    for node in _pair_rest(ours, theirs, theirs, similarity, _same_elsewhere):
        twin = node.twin
        if _nearness(node, twin, _shifts([twin], theirs, settled)[0]) < STAYS:
            displaced.add(node)
    _pair_rest(ours, theirs, theirs, similarity, _like_elsewhere)
    for side, other in ((ours, theirs), (theirs, ours)):
        _join_rest(side)
        _absorb(side, other)
    _pair_pictures(generated, reference)
    _pair_surfaces(generated, reference)
    turned = [unit for unit in units if any(_is_turned(one, ours) for one in unit)]
    alone = (node for node in displaced if _is_turned(node, ours))
    return {*alone, *(one for unit in turned for one in unit)}


def _pair_units(ours: Node, theirs: Node) -> list[list[Node]]:
    """Marry what elements hold that stand elsewhere as a whole, and return their texts of ours.

    One text may be equal by chance; several in one element are not.
    """

    def units(root: Node) -> dict[tuple[str, ...], list[list[Node]]]:
        found: dict[tuple[str, ...], list[list[Node]]] = defaultdict(list)
        for holder in root.walk():
            if holder.parent is None or holder.tag in ("html", "body"):
                continue
            leaves = [*holder.leaves()]
            texts = [leaf for leaf in leaves if leaf.kind == "text"]
            if len(texts) > 1 and all(leaf.partner is None for leaf in texts):
                found[tuple(leaf.text for leaf in texts)].append(leaves)
        return found

    moved: list[list[Node]] = []
    others = units(theirs)
    for texts, own in units(ours).items():
        # An element may be the only one in another, which then has the same texts.
        same = _nested(own) and _nested(others.get(texts, []))
        if not same:
            continue
        if [leaf.kind for leaf in own[0]] != [leaf.kind for leaf in same]:
            own[0], same = ([one for one in side if one.kind == "text"] for side in (own[0], same))
        pairs = [(a, b) for a, b in zip(own[0], same, strict=True) if not (a.partner or b.partner)]
        for a, b in pairs:
            marry(a, b)
        moved.append([a for a, _ in pairs if a.kind == "text"])
    return moved


def _nested(units: Sequence[list[Node]]) -> list[Node]:
    """Return what the outermost element holds if all others are in it; else nothing."""
    if not units:
        return []
    outer = {id(leaf) for leaf in units[0]}
    return units[0] if all(id(leaf) in outer for one in units for leaf in one) else []


def is_before(a: PixelRect, b: PixelRect) -> bool:
    """Return whether a thing ends above another, or before it in the same row."""
    if a[1] + a[3] <= b[1] + 3:
        return True
    shared = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return shared > 0.5 * min(a[3], b[3]) and a[0] + a[2] <= b[0] + 3


def _is_turned(node: Node, others: Sequence[Node]) -> bool:
    """Return whether a thing has changed places with another one, not only in the document."""
    for other in others:
        if other.kind != "text" or other.partner is None or node.partner is None:
            continue
        for a, b in ((node, other), (other, node)):
            assert a.partner is not None
            assert b.partner is not None
            if is_before(a.box, b.box) and is_before(b.partner.box, a.partner.box):
                return True
    return False


def pair_rest(ours: Sequence[Node], theirs: Sequence[Node]) -> None:
    """Make partners of texts that have none: those of a page, and those read in a screenshot."""
    waiting, read = _bounded(
        *([one for one in side if one.partner is None] for side in (ours, theirs))
    )
    for side, other in ((waiting, read), (read, waiting)):
        _join_pieces(side, other)
    sequence, similarity = _as_read(theirs), TextSimilarity()
    for worth in (_in_place, _same_elsewhere, _like_elsewhere):
        _pair_rest(waiting, read, sequence, similarity, worth)


def _bounded(ours: list[Node], theirs: list[Node]) -> tuple[list[Node], list[Node]]:
    if len(ours) * len(theirs) > MOST_COMPARED:
        most = int(MOST_COMPARED**0.5)
        return ours[:most], theirs[:most]
    return ours, theirs


def _as_read(texts: Sequence[Node]) -> list[Node]:
    """Return texts row by row, from left to right."""
    rows: list[list[Node]] = []
    for node in sorted(texts, key=lambda one: one.box[1]):
        first = rows[-1][0].box if rows else None
        if first is not None and node.box[1] < first[1] + 0.6 * min(first[3], node.box[3]):
            rows[-1].append(node)
        else:
            rows.append([node])
    return [node for row in rows for node in sorted(row, key=lambda one: one.box[0])]


def marry(ours: Node, theirs: Node) -> None:
    """Make two nodes partners."""
    ours.partner, theirs.partner = theirs, ours


def _token(node: Node) -> str:
    if node.kind == "text":
        return node.text
    return f"\0{node.kind} {round(node.box[2])} {round(node.box[3])}"


def _pair_rest(
    ours: Sequence[Node],
    theirs: Sequence[Node],
    sequence: Sequence[Node],
    similarity: TextSimilarity,
    worth: Callable[[Node, Node, float, TextSimilarity], float],
) -> list[Node]:
    """Marry what has no partner, so that the whole is worth most; 0 is no match."""
    our_rest = [one for one in ours if one.partner is None]
    their_rest = [one for one in theirs if one.partner is None]
    if not our_rest or not their_rest:
        return []
    shifts = _shifts(their_rest, sequence)
    beside = [sibling_shifts(one) for one in our_rest]
    table = np.zeros((len(our_rest), len(their_rest)))
    for j, b in enumerate(their_rest):
        for i, a in enumerate(our_rest):
            if a.kind == b.kind:
                table[i, j] = worth(a, b, _nearness(a, b, [*shifts[j], *beside[i]]), similarity)
    found = []
    for i, j in zip(*assign(table), strict=True):
        if table[i, j] > 0:
            marry(our_rest[i], their_rest[j])
            found.append(our_rest[i])
    return found


def _slid(
    codes: Sequence[tuple[str, int, int, int, int]], ours: Sequence[Node], theirs: Sequence[Node]
) -> list[tuple[str, int, int, int, int]]:
    """Return how one sequence becomes the other, with gaps where whole elements are gone or new.

    Of equal texts any may be taken for the one that is gone: each of two neighbouring cards may
    end with the same link.
    """
    codes = [*codes]
    for place in range(1, len(codes) - 1):
        name, i1, i2, j1, j2 = codes[place]
        if name not in ("delete", "insert"):
            continue
        before, after = codes[place - 1], codes[place + 1]
        if before[0] != "equal" or after[0] != "equal":
            continue
        side, start, end = (theirs, i1, i2) if name == "delete" else (ours, j1, j2)
        most_back = (before[2] - before[1]) - 1
        most_on = (after[2] - after[1]) - 1
        back = on = 0
        while back < most_back and _token(side[start - back - 1]) == _token(side[end - back - 1]):
            back += 1
        while on < most_on and _token(side[start + on]) == _token(side[end + on]):
            on += 1
        by = min(
            range(-back, on + 1),
            key=lambda by: (_pieces(side[start + by : end + by]), abs(by)),
        )
        if by:
            codes[place - 1] = (*before[:2], before[2] + by, before[3], before[4] + by)
            codes[place] = (name, i1 + by, i2 + by, j1 + by, j2 + by)
            codes[place + 1] = (after[0], after[1] + by, after[2], after[3] + by, after[4])
    return codes


def _pieces(leaves: Sequence[Node]) -> int:
    """Return how many elements hold just some leaves and nothing else."""
    inside = {id(leaf) for leaf in leaves}
    tops = set()
    for leaf in leaves:
        top = leaf
        for one in leaf.ancestors():
            if not all(id(other) in inside for other in one.leaves()):
                break
            top = one
        tops.add(id(top))
    return len(tops)


def _shifts(
    nodes: Sequence[Node], sequence: Sequence[Node], settled: set[int] | None = None
) -> list[list[tuple[float, float]]]:
    """Return by how much the neighbours of nodes are displaced that have partners."""
    places = {id(node): index for index, node in enumerate(sequence)}
    paired = [
        index
        for index, node in enumerate(sequence)
        if node.partner is not None and (settled is None or id(node) in settled)
    ]
    found = []
    for node in nodes:
        at = int(np.searchsorted(paired, places[id(node)]))
        shifts = []
        for index in paired[max(at - 1, 0) : at + 1]:
            partner = sequence[index].partner
            assert partner is not None
            a, b = partner.box, sequence[index].box
            shifts += [(a[0] - b[0], a[1] - b[1]), (a[0] - b[0], a[1] + a[3] - b[1] - b[3])]
        found.append([*shifts, (0.0, 0.0)])
    return found


def sibling_shifts(node: Node) -> list[tuple[float, float]]:
    """Return by how much the nearest things around a node are displaced that have partners."""
    for holder in [*node.ancestors()][:3]:
        found = [
            (leaf.box[0] - leaf.partner.box[0], leaf.box[1] - leaf.partner.box[1])
            for leaf in holder.leaves()
            if leaf.partner is not None
        ]
        if found:
            return [*dict.fromkeys(found)][:4]
    return []


def _nearness(a: Node, b: Node, shifts: Sequence[tuple[float, float]]) -> float:
    """Return 1 where a thing is just where its neighbours let expect it, falling to 0."""
    x, y, w, _ = a.box
    apart = min(
        hypot(
            min(
                *(abs(x - b.box[0] - dx), abs(x + w - b.box[0] - b.box[2] - dx)),
                abs(x + w / 2 - b.box[0] - b.box[2] / 2 - dx),
            ),
            y - b.box[1] - dy,
        )
        for dx, dy in shifts
    )
    return max(1 - apart / NEAR, 0.0)


def _alike(a: Node, b: Node) -> float:
    """Return how alike two boxes are in size."""
    (w, h), (v, g) = a.box[2:], b.box[2:]
    return min(w, v) / max(w, v, 1e-9) * min(h, g) / max(h, g, 1e-9)


def _in_place(a: Node, b: Node, near: float, similarity: TextSimilarity) -> float:
    if a.kind != "text":
        alike = _alike(a, b)
        score = (alike + near) / 2
        return score if score >= 0.5 and near > 0 and alike >= ALIKE else 0.0
    alike = similarity(a.text.lower(), b.text.lower())
    if alike >= SAME_TEXT:
        return 1 + alike + near / 10
    unknown = b.font_size == 0  # read in a screenshot
    styled = unknown or a.font.split("|")[:2] == b.font.split("|")[:2] or _alike(a, b) > 0.8
    if near >= IN_PLACE and (styled or alike >= SAME_TEXT / 2):
        return (alike + near) / 2
    return 0.0


def _same_elsewhere(a: Node, b: Node, near: float, _similarity: TextSimilarity) -> float:
    if a.kind != "text":
        return 0.0
    return 1 + near if a.text == b.text else 0.0


def _like_elsewhere(a: Node, b: Node, near: float, similarity: TextSimilarity) -> float:
    if a.kind == "text":
        alike = similarity(_letters(a.text) or a.text, _letters(b.text) or b.text)
        shortest = min(len(a.text), len(b.text))
        if shortest >= LONG_TEXT and _letters(a.text)[:BEGINNING] == _letters(b.text)[:BEGINNING]:
            return 0.5 + alike / 2 + near / 10  # written anew
        return alike + near / 10 if alike >= (0.75 if shortest > 12 else 0.9) else 0.0
    score = (_alike(a, b) + near) / 2
    return score if score >= (0.6 if a.kind == "image" else 0.8) and near > 0 else 0.0


def _join_pieces(side: list[Node], other: list[Node]) -> None:
    """Join texts that stand apart in the document and are one text on the other page.

    Only letters and digits are compared: separators are often left out.
    """
    wanted = Counter(_letters(node.text) for node in other if node.kind == "text")
    have = Counter(_letters(node.text) for node in side if node.kind == "text")
    starts: dict[str, list[str]] = defaultdict(list)
    for whole, count in wanted.items():
        if whole and count > have[whole]:
            starts[whole[:4]].append(whole)
    index = 0
    while index < len(side):
        node, text = side[index], _letters(side[index].text)
        last = index
        if node.kind == "text" and text and text not in wanted:
            ends = (_pieces_of(whole, side, index) for whole in starts[text[:4]])
            last = max(ends, default=index)
        if last > index:
            pieces = side[index + 1 : last + 1]
            node.text = " ".join([node.text, *(piece.text for piece in pieces)])
            node.box = around([node.box, *(piece.box for piece in pieces)])
            for piece in pieces:
                if piece.parent is not None:
                    piece.parent.children.remove(piece)
                    piece.parent = None
            del side[index + 1 : last + 1]
        index += 1


def _pieces_of(whole: str, side: Sequence[Node], first: int) -> int:
    """Return the last of the texts that make up most of a longer one, beginning with the first."""
    joined, last = _letters(side[first].text), first
    if not whole.startswith(joined):
        return first
    for index in range(first + 1, min(first + MOST_PIECES, len(side))):
        more = _letters(side[index].text)
        if side[index].kind != "text" or not whole.startswith(joined + more):
            break
        if more or side[index].parent is side[first].parent:
            joined, last = joined + more, index
    return last if len(joined) >= WHOLE * len(whole) else first


def _join_rest(side: Sequence[Node]) -> None:
    """Join texts without partners to the text before them, if both are more like its partner."""
    last: Node | None = None
    for node in side:
        if node.kind != "text" or node.parent is None:
            continue
        if node.partner is not None or last is None:
            last = None if node.partner is None else node
            continue
        wanted = last.twin.text.lower().split()
        known, more = last.text.lower().split(), node.text.lower().split()
        if (
            last.parent in (node.parent, node.parent.parent)
            and len(wanted) > len(known) + MOST_OF_IT * len(more)
            and _ratio(known + more, wanted) > _ratio(known, wanted)
        ):
            last.text = f"{last.text} {node.text}"
            last.box = around((last.box, node.box))
            node.parent.children.remove(node)
            node.parent = None


def _ratio(words: Sequence[str], wanted: Sequence[str]) -> float:
    return SequenceMatcher(None, wanted, words, autojunk=False).ratio()


def _absorb(side: Sequence[Node], other: Sequence[Node]) -> None:
    """Join texts without partners to those whose partners have their words as well."""
    whole = {node: _letters(node.text) for node in other if node.kind == "text"}
    for node in side:
        words = _letters(node.text)
        if node.kind != "text" or node.partner is not None or len(words) < LEAST_ABSORBED:
            continue
        some = [words[at * len(words) // 4 :][:8] for at in range(4)]
        for longer, letters in whole.items():
            own = longer.partner
            if len(letters) <= len(words) or not any(part in letters for part in some):
                continue
            match = SequenceMatcher(None, letters, words, autojunk=False).find_longest_match()
            if match.size < MOST_OF_IT * len(words):
                continue
            if own is None:
                if len(words) >= MOST_OF_IT * len(letters) or match.size >= WHOLE * len(words):
                    marry(node, longer)
                    break
                continue
            known = _letters(own.text)
            if words in known or not _is_beside(own.box, node.box):
                continue
            begin = SequenceMatcher(None, letters, known, autojunk=False).find_longest_match()
            before = begin.a - begin.b <= match.a - match.b
            own.text = f"{own.text} {node.text}" if before else f"{node.text} {own.text}"
            own.box = around((own.box, node.box))
            if node.parent is not None:
                node.parent.children.remove(node)
                node.parent = None
            break


def _is_beside(a: PixelRect, b: PixelRect) -> bool:
    """Return whether two texts may be lines of one."""
    across = max(b[0] - a[0] - a[2], a[0] - b[0] - b[2])
    down = max(b[1] - a[1] - a[3], a[1] - b[1] - b[3])
    return across <= APART and down <= APART


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _pair_pictures(generated: Scene, reference: Scene) -> None:
    """Marry pictures that show the same, wherever they are and however large.

    A plain area may stand in for a picture.
    """
    ours, theirs = (
        [
            one
            for one in scene.leaves
            if one.partner is None and one.kind in ("image", "surface") and min(one.box[2:]) >= 16
        ][:MOST_PICTURES]
        for scene in (generated, reference)
    )
    if not ours or not theirs:
        return
    longest = max(*generated.size, *reference.size)
    small = [_small(generated.rgb, node) for node in ours]
    others = [_small(reference.rgb, node) for node in theirs]
    table = np.zeros((len(ours), len(theirs)))
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            if "image" not in (a.kind, b.kind):
                continue
            (w, h), (v, g) = a.box[2:], b.box[2:]
            shape = min(w * g, v * h) / max(w * g, v * h, 1e-9)
            if _alike(a, b) < SAME_AREA:
                continue
            if float(cv2.absdiff(small[i], others[j]).mean()) < SAME_SIGHT:
                apart = hypot(a.box[0] - b.box[0], a.box[1] - b.box[1])
                table[i, j] = shape + _alike(a, b) + 2 * max(1 - apart / longest, 0.0)
    for i, j in zip(*assign(table), strict=True):
        if table[i, j] > 0:
            marry(ours[i], theirs[j])


def _small(rgb: Rgb, node: Node) -> Rgb:
    x, y, w, h = (max(round(value), 0) for value in node.box)
    part = rgb[y : y + h, x : x + w]
    if not part.size:
        return np.zeros((8, 8, 3), np.uint8)
    return np.asarray(cv2.resize(part, (8, 8), interpolation=cv2.INTER_AREA), np.uint8)


def _pair_surfaces(generated: Scene, reference: Scene) -> None:
    """Marry surfaces that hold the same things."""
    theirs = {id(node): {id(leaf) for leaf in node.leaves()} for node in _holders(reference)}
    candidates = []
    for node in _holders(generated):
        leaves = list(node.leaves())
        partners = [leaf.partner for leaf in leaves if leaf.partner is not None]
        shared: Counter[Node] = Counter()
        for partner in partners:
            shared.update(one for one in partner.ancestors() if id(one) in theirs)
        for other, count in shared.items():
            alike = count / (len(leaves) + len(theirs[id(other)]) - count)
            if node.paint == other.paint and node.tag == other.tag:
                # Missing contents do not make two equally painted surfaces less alike.
                held = sum(leaf.partner is not None for leaf in other.leaves())
                alike = max(alike, count / (len(partners) + held - count))
            if alike > SAME_CONTENTS or (alike == SAME_CONTENTS and _alike(node, other) > 0.5):
                same = (node.kind == other.kind) + (node.tag == other.tag)
                same += (node.paint == other.paint) + (node.selector == other.selector)
                candidates.append((alike + _alike(node, other) + same / 2, node, other))
    # Of surfaces that lie on each other, the outer ones first.
    candidates.sort(key=lambda one: (-one[0], one[1].order, one[2].order))
    for _, node, other in candidates:
        if node.partner is None and other.partner is None:
            marry(node, other)
    _pair_emptied(generated, reference)
    _pair_emptied(reference, generated)


def _pair_emptied(full: Scene, emptied: Scene) -> None:
    """Marry surfaces that have lost what they held to those that hold it."""
    bare = [one for one in emptied.leaves if one.kind == "surface" and one.partner is None]
    if not bare:
        return
    for node in _holders(full):
        if node.kind != "surface" or any(one.partner for one in node.walk()):
            continue
        same = [
            one
            for one in bare
            if one.partner is None
            and one.paint == node.paint
            and one.tag == node.tag
            and (one.selector == node.selector or not node.selector)
            and abs(one.box[0] - node.box[0]) <= NEAR
            and _alike(one, node) >= EMPTIED
        ]
        if same:
            other = min(same, key=lambda one: abs(one.box[1] - node.box[1]))
            marry(node, other)


def _holders(scene: Scene) -> list[Node]:
    return [node for node in scene.root.walk() if node.is_drawn and node.children]
