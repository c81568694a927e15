"""Say what is different between two pages: a ranked list, one entry for each cause.

    found = uiproof.diff(Path("design.html"), Path("page.html"))
    for one in found.differences:
        print(f"{one.impact:.2f} {one.kind}: {one.says}")

`docs/diff.md` defines the kinds, the impact and how things that have one cause are grouped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from typing import Any

import cv2
import numpy as np

from uiproof.benchmarks.design2code.blocks import Color
from uiproof.benchmarks.design2code.displacement import Shift, is_mirrored, shifts
from uiproof.benchmarks.design2code.matching import TextSimilarity
from uiproof.benchmarks.design2code.page_diff import Difference, with_costs
from uiproof.benchmarks.design2code.pages import PageView
from uiproof.benchmarks.design2code.pairing import pair
from uiproof.benchmarks.design2code.picture import PictureView
from uiproof.benchmarks.design2code.pixels import (
    colours_apart,
    has_same_shape,
    letters_height,
    levels_apart,
    line_lengths,
    own_colour,
    rounded_crop,
    surrounding_colour,
    widened,
)
from uiproof.benchmarks.design2code.scene import (
    Node,
    Scene,
    area_of,
    around,
    by_parent,
    drawn_box,
    ground_of,
    moving_with,
    not_on_surfaces,
    outermost,
    overlap,
    replace_box,
    runs_of,
    scene_of,
    shares_rows,
    union_of,
    unpaired,
)
from uiproof.benchmarks.design2code.screenshots import scenes_of
from uiproof.benchmarks.design2code.strict import commonest_colour
from uiproof.benchmarks.design2code.wording import (
    apart_at,
    be,
    capital,
    cut,
    hex_of,
    how_far,
    name_of,
    names_of,
    paint_change,
    place_of,
    role_of,
    shortened,
    size_of,
    subject_of,
)

SEEN_COLOUR = 2.5  # CIEDE2000 between two colours that are told apart
READ_COLOUR = 6.0  # the same for letters of which only a picture is known
SEEN_WIDTH = 0.035  # of the width of a text, by which letters of another font differ
SEEN_PICTURE = 6.0  # mean levels of 0-255 by which the pixels of two pictures differ
THINNEST = 3.0  # pixels of letters whose colour can be told from a picture
MOST_GROUND = 0.4  # of what is behind thin letters is mixed into their colour
SEEN_WEIGHT = 0.16  # logarithm of the ink of two weights of a font
SEEN_HEIGHT = 0.08  # of the height of letters
BOLD = 600  # the weight of letters that are
SEEN_CUT = 2.0  # pixels of the width of a field
_FIELDS = frozenset(("input", "select", "textarea"))
WEIGHT = 1000  # the group of letters that have another weight
SPACE = 0.28  # of the size of letters, between words


def page_differences(
    generated: PageView, reference: PageView, strict: Mapping[str, Any] | None = None
) -> tuple[Difference, ...]:
    """Return how a page differs from a reference page, worst first.

    `strict` holds the scores of that profile, which costs are taken from.
    """
    if generated.png == reference.png:
        return ()
    ours, theirs = scene_of(generated), scene_of(reference)
    displaced = pair(ours, theirs)
    return _ranked(_Comparison(ours, theirs, displaced).differences(), strict)


def picture_differences(
    generated: PictureView, reference: PictureView, scores: Mapping[str, Any] | None = None
) -> tuple[Difference, ...]:
    """Return how a page differs from a screenshot, worst first."""
    if np.array_equal(generated.picture, reference.picture):
        return ()
    found = _Comparison(*scenes_of(generated, reference), by_pixels=True).differences()
    return _ranked(found, scores)


def _ranked(
    found: Iterable[Difference], scores: Mapping[str, Any] | None
) -> tuple[Difference, ...]:
    return tuple(with_costs(sorted(found, key=lambda one: -one.impact), scores))


class _Comparison:
    """The differences of two scenes, kind by kind.

    `by_pixels` is for a reference of which only a picture is known: letters are measured there.
    """

    def __init__(
        self, ours: Scene, theirs: Scene, displaced: set[Node], *, by_pixels: bool = False
    ) -> None:
        self.ours, self.theirs, self.by_pixels = ours, theirs, by_pixels
        self.similarity = TextSimilarity()
        self.texts = [one for one in ours.leaves if one.kind == "text" and one.partner is not None]
        self.unsteady: set[Node] = set()
        self.unordered: set[Node] = set()
        self.recoloured: set[Node] = set()
        # Pixels that show something; differences are told as shares of these.
        self.total = max(1.0, *(sum(map(area_of, scene.leaves)) for scene in (ours, theirs)))
        self.mirrored = is_mirrored(ours.root, theirs.root)
        if self.mirrored:
            displaced = set()  # their order is that of the other side
        self.displaced = outermost(displaced, lambda node: node in displaced)
        self.missing = self._told(unpaired(theirs), theirs, ours)
        self.extra = self._told(unpaired(ours), ours, theirs)

    def differences(self) -> list[Difference]:
        found = [
            *self._lost("missing", self.missing),
            *self._lost("extra", self.extra),
            *self._texts(),
            *(self._measured_fonts() if self.by_pixels else self._fonts()),
            *self._colours(),
            *self._backgrounds(),
            *self._pictures(),
            *self._orders(),
        ]
        return [*found, *self._shifts()]

    @staticmethod
    def _told(nodes: Sequence[Node], scene: Scene, other: Scene) -> list[Node]:
        """Return nodes without plain surfaces behind texts that have the same colour there."""
        texts = [leaf for leaf in scene.leaves if leaf.partner is not None and leaf.kind == "text"]
        found = []
        for node in nodes:
            plain = node.kind == "surface" and not node.children and node.background is not None
            on_it = [
                one for one in texts if plain and overlap(one.box, node.box) > 0.6 * area_of(one)
            ]
            twins = [one.partner for one in on_it if one.partner is not None]
            if twins:
                behind = commonest_colour(rounded_crop(other.rgb, around(one.box for one in twins)))
                if colours_apart([(behind, node.background or behind)])[0] < SEEN_COLOUR:
                    continue
            found.append(node)
        return found

    def _impact(self, nodes: Iterable[Node], severity: float) -> float:
        area = sum(area_of(node) for node in nodes)
        return _bounded(severity * sqrt(area / self.total))

    # --- what only one page has

    def _lost(self, kind: str, nodes: Sequence[Node]) -> list[Difference]:
        found = []
        for run in runs_of(nodes):
            leaves = [leaf for node in run for leaf in node.leaves()]
            box = around([node.box if node.is_drawn else drawn_box(node) for node in run])
            name = name_of(run[0], leaves) if len(run) == 1 else names_of(run, leaves)
            several = len(run) > 1
            verb = ("are" if several else "is") + (" missing" if kind == "missing" else "")
            says = f"{capital(name)} {verb}."
            if kind == "extra":
                says = f"{capital(name)} {'are' if several else 'is'} not on the reference page."
            text = shortened(" ".join(leaf.text for leaf in leaves if leaf.text)) or None
            found.append(
                Difference(
                    kind,
                    box=None if kind == "missing" else box,
                    reference_box=box if kind == "missing" else None,
                    selector=None if kind == "missing" else run[0].selector,
                    was=text if kind == "missing" else None,
                    is_=None if kind == "missing" else text,
                    impact=self._impact(leaves, 1.0),
                    cost=0.0,
                    says=says,
                    count=len(run),
                    members=tuple(node.box for node in run),
                )
            )
        return found

    # --- texts

    def _texts(self) -> list[Difference]:
        found = []
        for node in self.texts:
            other = node.twin
            if node.text == other.text:
                continue
            self.unsteady.add(node)
            alike = self.similarity(node.text.lower(), other.text.lower())
            severity = min(max(1 - alike, 0.15) * 1.5, 1.0)
            was, is_ = apart_at(other.text, node.text)
            says = f"The {role_of(node)} reads “{is_}”, should be “{was}”."
            found.append(self._one("text", [node], cut(other.text), cut(node.text), severity, says))
        return found

    def _one(
        self,
        kind: str,
        nodes: Sequence[Node],
        was: str | None,
        is_: str | None,
        severity: float,
        says: str,
    ) -> Difference:
        """Return a difference of nodes that both pages have."""
        first = max(nodes, key=area_of)
        partner = first.partner
        return Difference(
            kind,
            box=first.box,
            reference_box=None if partner is None else partner.box,
            selector=first.selector,
            was=was,
            is_=is_,
            impact=self._impact(nodes, severity),
            cost=0.0,
            says=says,
            count=len(nodes),
            members=tuple(node.box for node in nodes),
        )

    def _fonts(self) -> list[Difference]:
        groups: dict[tuple[tuple[str, str, str], ...], list[Node]] = defaultdict(list)
        for node in self.texts:
            if changes := self._font_changes(node):
                groups[changes].append(node)
                self.unsteady.add(node)
        found = []
        for changes, nodes in groups.items():
            was = ", ".join(was for _, was, _ in changes)
            is_ = ", ".join(now for _, _, now in changes)
            severity = max(_font_severity(*change) for change in changes)
            says = f"{capital(subject_of(nodes))} {be(nodes)} set in {is_}, should be {was}."
            found.append(self._one("font", nodes, was, is_, severity, says))
        return found

    def _measured_fonts(self) -> list[Difference]:
        """Return texts whose letters are wider or narrower, as far as pictures tell."""
        groups: dict[int, list[Node]] = defaultdict(list)
        for node in self.texts:
            other = node.twin
            if node.text != other.text or self._looks_the_same(node) or _is_cut(node):
                continue
            lines = line_lengths(self.ours.rgb, node.box), line_lengths(self.theirs.rgb, other.box)
            ratio = node.box[2] / max(other.box[2], 1)
            least = SEEN_WIDTH
            heights = [
                letters_height(rgb, one)
                for rgb, one in ((self.ours.rgb, node), (self.theirs.rgb, other))
            ]
            same = abs(heights[0] - heights[1]) <= max(1, SEEN_HEIGHT * heights[1])
            if len(lines[0]) != len(lines[1]) and same:
                self.unsteady.add(node)
                continue  # the same letters in other lines
            if max(map(len, lines)) > 1:  # which may break elsewhere
                # A line that is broken has lost the space between its words.
                space = SPACE * node.font_size
                a, b = (sum(one) + space * (len(one) - 1) for one in lines)
                ratio, least = a / max(b, 1.0), 2 * SEEN_WIDTH
            if abs(ratio - 1) <= least and self._is_bolder(node, other):
                groups[WEIGHT].append(node)
            elif abs(ratio - 1) > least and abs(node.box[2] - other.box[2]) > 1.5:
                groups[round(log(ratio) * 20)].append(node)
                self.unsteady.add(node)
        found = []
        for key, nodes in groups.items():
            first = max(nodes, key=area_of)
            other = first.twin
            if key == WEIGHT:
                says = f"The letters of {subject_of(nodes)} have another weight."
                found.append(self._one("font", nodes, None, None, 0.3, says))
                continue
            was, is_ = f"{other.box[2]:.0f} px wide", f"{first.box[2]:.0f} px wide"
            severity = min(abs(log(max(first.box[2], 1) / max(other.box[2], 1))) * 2 + 0.1, 1.0)
            says = (
                f"The letters of {subject_of(nodes)} are set in another font or size: the text is "
                f"{is_}, should be {was}."
            )
            found.append(self._one("font", nodes, was, is_, severity, says))
        return found

    def _is_bolder(self, node: Node, other: Node) -> bool:
        """Return whether letters of one size cover clearly more or less than they should."""
        if abs(node.box[3] - other.box[3]) > 1 or min(node.box[2:]) < 2 * THINNEST:
            return False
        if node.box[3] > 2 * node.font_size or any(
            leaf is not one and overlap(leaf.box, one.box)
            for scene, one in ((self.ours, node), (self.theirs, other))
            for leaf in scene.leaves
        ):
            return False  # other pixels than its own
        grounds = (
            surrounding_colour(self.ours.rgb, node.box),
            surrounding_colour(self.theirs.rgb, other.box),
        )
        if max(colours_apart([grounds, (node.color, other.color)])) > 2 * READ_COLOUR:
            return False
        # The sum stays where letters lie between two rows of pixels.
        ours, theirs = (
            float(np.abs(rounded_crop(rgb, widened(one.box)) - np.array(ground, np.float64)).sum())
            for rgb, one, ground in zip(
                (self.ours.rgb, self.theirs.rgb), (node, other), grounds, strict=True
            )
        )
        return abs(log(max(ours, 1.0) / max(theirs, 1.0))) > SEEN_WEIGHT

    def _font_changes(self, node: Node) -> tuple[tuple[str, str, str], ...]:
        other = node.twin
        if node.font == other.font or self._looks_the_same(node):
            return ()
        a, b = node.font.split("|"), other.font.split("|")
        changes = []
        size, their_size = node.font_size, other.font_size
        if abs(size - their_size) >= 0.5:
            changes.append(("size", f"{their_size:g} px", f"{size:g} px"))
        if (float(a[1]) >= BOLD) != (float(b[1]) >= BOLD):
            changes.append(("weight", f"weight {b[1]}", f"weight {a[1]}"))
        if a[3] != b[3]:
            changes.append(("slant", b[3], a[3]))
        if a[6] != b[6]:
            changes.append(
                ("line", b[6].replace("none", "no line"), a[6].replace("none", "no line"))
            )
        if a[7] != b[7]:
            changes.append(("case", f"case {b[7]}", f"case {a[7]}"))
        if a[5] != b[5] and not changes:
            changes.append(("letters", f"letter spacing {b[5]}", f"letter spacing {a[5]}"))
        if a[2] != b[2] and not changes and self._is_other_family(node):
            changes.append(("family", b[2], a[2]))
        return tuple(changes)

    def _is_other_family(self, node: Node) -> bool:
        """Return whether letters of equal size have other shapes, not only another name."""
        other = node.twin
        if node.text != other.text:
            return False
        (w, h), (v, g) = node.box[2:], other.box[2:]
        if abs(h - g) <= 1 and h < 1.6 * max(node.font_size, 1):
            return abs(w - v) > max(0.015 * v, 1.5) or not self._looks_the_same(node)
        return abs(h - g) > 1

    def _looks_the_same(self, node: Node) -> bool:
        """Return whether a text has the same pixels on both pages."""
        other = node.twin
        a, b = rounded_crop(self.ours.rgb, node.box), rounded_crop(self.theirs.rgb, other.box)
        rows, columns = (abs(x - y) for x, y in zip(a.shape[:2], b.shape[:2], strict=True))
        if rows > 1 or columns > 1 or not a.size or not b.size:
            return False
        height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
        apart = cv2.absdiff(a[:height, :width], b[:height, :width])
        return float(apart.mean()) < 1.0

    # --- colours

    def _colours(self) -> list[Difference]:
        pairs = []
        for node in self.texts:
            other = node.twin
            if node.color != other.color:
                colours = (
                    (node.color, other.color)
                    if self.by_pixels
                    else (own_colour(node), own_colour(other))
                )
                pairs.append((node, *colours))
        groups: dict[tuple[Color, Color], list[Node]] = defaultdict(list)
        seen = colours_apart(
            [(a.color, a.partner.color) for a, *_ in pairs if a.partner is not None]
        )
        declared = colours_apart([(ours, theirs) for _, ours, theirs in pairs])
        for (node, ours, theirs), by_pixels, by_style in zip(pairs, seen, declared, strict=True):
            least = READ_COLOUR if self.by_pixels else SEEN_COLOUR
            if (
                (by_pixels if self.by_pixels else min(by_pixels, by_style)) >= least
                and not self._looks_the_same(node)
                and not (self.by_pixels and self._is_ground_shining_through(node))
            ):
                groups[ours, theirs].append(node)
                self.recoloured.add(node)
        found = []
        for (ours, theirs), nodes in groups.items():
            severity = min(colours_apart([(ours, theirs)])[0] / 40, 1.0)
            was, is_ = hex_of(theirs), hex_of(ours)
            says = f"{capital(subject_of(nodes))} {be(nodes)} {is_}, should be {was}."
            found.append(self._one("colour", nodes, was, is_, severity, says))
        return found

    def _is_ground_shining_through(self, node: Node) -> bool:
        """Return whether what is behind thin letters explains their other colour."""
        other = node.twin
        if min(node.box[2:]) < THINNEST or min(other.box[2:]) < THINNEST:
            return True
        if node in self.unsteady and self._is_mixed(node, other):
            return True
        behind, theirs = (
            np.array(surrounding_colour(rgb, one.box), np.float64)
            for rgb, one in ((self.ours.rgb, node), (self.theirs.rgb, other))
        )
        ground = behind - theirs
        if float(ground @ ground) < 1:
            return False
        apart = np.array(node.color, np.float64) - np.array(other.color, np.float64)
        share = min(max(float(apart @ ground / (ground @ ground)), 0.0), MOST_GROUND)
        left = (np.array(other.color) + apart - share * ground).clip(0, 255)
        red, green, blue = (round(float(value)) for value in left)
        return colours_apart([((red, green, blue), other.color)])[0] < READ_COLOUR

    def _is_mixed(self, node: Node, other: Node) -> bool:
        """Return whether letters of another size or text show a mix of the same colour."""
        for one, rgb in ((node, self.ours.rgb), (other, self.theirs.rgb)):
            colour = np.array((other if one is node else node).color, np.float64)
            ground = np.array(surrounding_colour(rgb, one.box), np.float64)
            to_ground = ground - colour
            share = float((np.array(one.color) - colour) @ to_ground)
            share /= max(float(to_ground @ to_ground), 1.0)
            red, green, blue = (colour + min(max(share, 0.0), MOST_GROUND) * to_ground).round()
            mixed = int(red), int(green), int(blue)
            if colours_apart([(mixed, one.color)])[0] < READ_COLOUR:
                return True
        return False

    def _backgrounds(self) -> list[Difference]:
        groups: dict[tuple[str, str, str], list[Node]] = defaultdict(list)
        for node in self.ours.root.walk():
            other = node.partner
            if other is None or node.kind not in ("surface", "control"):
                continue
            if other.kind == "image":
                continue
            if node.paint != other.paint and (change := paint_change(node, other)):
                if change[0] == "picture" and self._has_same_ground(node):
                    continue
                groups[change].append(node)
        for node, other in self._bodies():
            if (change := paint_change(node, other)) and change[0] == "colour":
                groups[change].append(node)
        found = []
        for (what, was, is_), nodes in groups.items():
            severity = 0.25
            if what == "colour":
                severity = min(colours_apart([self._seen_grounds(nodes[0])])[0] / 30, 1.0)
            if what == "picture" and "gradient(" in was + is_:
                what = "gradient"
            what = "background" if what == "colour" else what
            says = f"The {what} of {subject_of(nodes)} is {is_}, should be {was}."
            found.append(self._one("background", nodes, was, is_, severity, says))
        return [*found, *self._lost_surfaces()]

    def _has_same_ground(self, node: Node) -> bool:
        """Return whether a background picture is not seen, such as one that was not loaded."""
        return colours_apart([self._seen_grounds(node)])[0] < SEEN_COLOUR

    def _seen_grounds(self, node: Node) -> tuple[Color, Color]:
        """Return the background colours of a surface; where one has none, what is seen of it."""
        ours, theirs = (
            one.background or (commonest_colour(part) if part.size else (255, 255, 255))
            for one, rgb in ((node, self.ours.rgb), (node.twin, self.theirs.rgb))
            for part in (rounded_crop(rgb, one.box),)
        )
        return ours, theirs

    def _bodies(self) -> list[tuple[Node, Node]]:
        """Return the bodies of both pages as if they were surfaces."""
        bodies = [
            next((node for node in scene.root.walk() if node.tag == "body"), None)
            for scene in (self.ours, self.theirs)
        ]
        if bodies[0] is None or bodies[1] is None:
            return []
        a, b = (
            replace_box(body, (0.0, 0.0, float(scene.size[0]), float(scene.size[1])))
            for body, scene in zip(bodies, (self.ours, self.theirs), strict=True)
            if body is not None
        )
        a.partner = b
        return [(a, b)]

    def _lost_surfaces(self) -> list[Difference]:
        """Return surfaces that only one page has, below things that both have."""
        lost = [
            node
            for scene in (self.theirs, self.ours)
            for node in scene.root.walk()
            if node.is_drawn and node.partner is None and node.background is not None
        ]
        ours = {*self.ours.root.walk()}
        told: dict[tuple[str, str], set[Node]] = defaultdict(set)
        found = []
        for node in sorted(lost, key=area_of):
            on_it = [leaf for leaf in node.leaves() if leaf.partner and ground_of(leaf) is node]
            is_ours, background = node in ours, node.background
            if not on_it or background is None:
                continue
            there = self.theirs if is_ours else self.ours
            grounds = [surrounding_colour(there.rgb, leaf.twin.box) for leaf in on_it]
            behind = Counter(grounds).most_common(1)[0][0]
            on_it = [leaf for leaf, ground in zip(on_it, grounds, strict=True) if ground == behind]
            if colours_apart([(behind, background)])[0] < SEEN_COLOUR:
                continue  # what is around it has the same colour
            colours = (behind, background) if is_ours else (background, behind)
            was, is_ = map(hex_of, colours)
            about = [leaf if is_ours else leaf.twin for leaf in on_it]
            # A surface that both pages have is reported only once.
            if told[was, is_].intersection(about):
                continue
            told[was, is_].update(about)
            beyond = around(leaf.twin.box for leaf in on_it)
            found.append(
                Difference(
                    "background",
                    box=node.box if is_ours else beyond,
                    reference_box=beyond if is_ours else node.box,
                    selector=(node if is_ours else about[0]).selector,
                    was=was,
                    is_=is_,
                    impact=self._impact([node], 0.5),
                    cost=0.0,
                    says=f"The background behind {subject_of(about[:1])} is {is_}, "
                    f"should be {was}.",
                    members=(node.box,),
                )
            )
        return found

    # --- pictures

    def _pictures(self) -> list[Difference]:
        found = []
        for node in self.ours.root.walk():
            other = node.partner
            if other is None or "image" not in (node.kind, other.kind) or node.children:
                continue
            apart = self._pictures_apart(node, other)
            if apart < SEEN_PICTURE or self._is_other_ground(node):
                continue
            if size_of(node.box) != size_of(other.box) and (
                (node.tag == "img" and node.paint.split("|")[1] == other.paint.split("|")[1] != "")
                if not self.by_pixels
                else apart < 4 * SEEN_PICTURE
            ):
                continue  # the same in another size
            if self._is_recoloured_with_text(node, other):
                continue
            was, is_ = (one.paint.split("|")[1].rsplit("/", 1)[-1] for one in (other, node))
            severity = min(apart / 48, 1.0)
            says = f"The picture {place_of(node)} shows something else than on the reference page."
            named = was != is_ and "none" not in (was, is_)
            found.append(
                self._one(
                    *("picture", [node], was if named else None, is_ if named else None),
                    *(severity, says),
                )
            )
        return found

    def _is_recoloured_with_text(self, node: Node, other: Node) -> bool:
        """Return whether an icon has another colour just as the text beside it."""
        beside = node.parent.leaves() if node.parent is not None else ()
        return any(one in self.recoloured for one in beside) and has_same_shape(
            rounded_crop(self.ours.rgb, node.box), rounded_crop(self.theirs.rgb, other.box)
        )

    def _pictures_apart(self, node: Node, other: Node) -> float:
        """Return by how many levels two pictures differ, beside what lies on them."""
        parts, masks = [], []
        for scene, one in ((self.ours, node), (self.theirs, other)):
            part = rounded_crop(scene.rgb, one.box)
            x, y = (max(round(value), 0) for value in one.box[:2])
            hidden = np.zeros(part.shape[:2], np.uint8)
            for above in scene.root.walk():
                if above.is_drawn and above.order > one.order and overlap(above.box, one.box):
                    left, top, w, h = (round(value) for value in above.box)
                    rows = slice(max(top - y - 1, 0), max(top - y + h + 1, 0))
                    hidden[rows, max(left - x - 1, 0) : max(left - x + w + 1, 0)] = 1
            parts.append(part)
            masks.append(hidden)
        if min(min(part.shape[:2]) for part in parts) < 4:
            return 0.0
        height, width = (min(part.shape[axis] for part in parts) for axis in (0, 1))
        a, b = (cv2.resize(one, (width, height), interpolation=cv2.INTER_AREA) for one in parts)
        shown = np.ones((height, width), np.bool_)
        for hidden in masks:
            shown &= cv2.resize(hidden, (width, height), interpolation=cv2.INTER_NEAREST) == 0
        if shown.sum() < 0.1 * shown.size:
            return 0.0
        return float(cv2.absdiff(a, b)[shown].mean())

    def _is_other_ground(self, node: Node) -> bool:
        """Return whether a picture differs only where what is behind it is seen through it."""
        other = node.twin
        grounds = (
            surrounding_colour(self.ours.rgb, node.box),
            surrounding_colour(self.theirs.rgb, other.box),
        )
        if colours_apart([grounds])[0] < SEEN_COLOUR:
            return False
        parts = rounded_crop(self.ours.rgb, node.box), rounded_crop(self.theirs.rgb, other.box)
        height, width = (min(one.shape[axis] for one in parts) for axis in (0, 1))
        a, b = (one[:height, :width] for one in parts)
        through = np.ones((height, width), np.bool_)
        for part, ground in zip((a, b), grounds, strict=True):
            through &= levels_apart(part, ground) <= 3
        apart = np.where(through, 0, cv2.absdiff(a, b).mean(axis=2))
        return float(apart.mean()) < SEEN_PICTURE

    # --- places

    def _orders(self) -> list[Difference]:
        found = []
        for nodes in by_parent(self.displaced):
            leaves = [leaf for node in nodes for leaf in node.leaves()]
            first = nodes[0]
            partners = [leaf.partner for leaf in leaves if leaf.partner is not None]
            box, ref_box = union_of(nodes), around(leaf.box for leaf in partners)
            span = around((box, ref_box))
            if first.parent is not None:
                self.unordered.update(
                    one
                    for child in first.parent.children
                    if any(
                        leaf.partner is not None
                        and (shares_rows(leaf.box, span) or shares_rows(leaf.partner.box, span))
                        for leaf in child.leaves()
                    )
                    for one in not_on_surfaces(child)
                )
            name = name_of(first, leaves) if len(nodes) == 1 else names_of(nodes, leaves)
            says = f"{capital(name)} {be(nodes)} in another order than on the reference page."
            found.append(
                Difference(
                    *("order", box, ref_box, first.selector, None, None),
                    impact=self._impact(leaves, 0.6),
                    cost=0.0,
                    says=says,
                    count=len(nodes),
                    members=tuple(node.box for node in nodes),
                )
            )
        return found

    def _shifts(self) -> list[Difference]:
        displaced = [leaf for node in self.displaced for leaf in node.leaves()]
        twins = [leaf.partner for leaf in displaced if leaf.partner is not None]
        found = shifts(
            self.ours.root,
            self.theirs.root,
            missing=[*self.missing, *twins],
            extra=[*self.extra, *displaced],
            unsteady=self.unsteady,
            unordered=self.unordered,
            mirrored=self.mirrored,
        )
        groups: dict[Any, list[Shift]] = defaultdict(list)
        for one in found:
            groups[_shift_key(one)].append(one)
        told = [
            self._shift(group) if group[0].rows is None else self._rearranged(group)
            for group in groups.values()
        ]
        return [self._on_other_side(), *told] if self.mirrored else told

    def _on_other_side(self) -> Difference:
        """Return a page that shows left what should be right as one difference."""
        nodes = [leaf for leaf in self.ours.leaves if leaf.partner is not None]
        boxes = around(node.box for node in nodes), around(node.twin.box for node in nodes)
        says = "The page is mirrored: what should be on the right is on the left."
        return Difference(
            *("moved", *boxes, "html", None, None, 1.0, 0.0, says, len(nodes)),
            members=tuple(node.box for node in nodes),
        )

    def _rearranged(self, group: Sequence[Shift]) -> Difference:
        """Return things that stand in other rows than they should as one difference."""
        first = max(group, key=lambda one: one.area)
        nodes, rows = first.nodes, first.rows or ()
        now, should = (f"{count} row{'s' if count > 1 else ''}" for count in rows)
        name = capital(names_of(nodes, [leaf for node in nodes for leaf in node.leaves()]))
        more = f" So do {len(group) - 1} more like them." if len(group) > 1 else ""
        around_it = [one for one in nodes[0].ancestors() if one in {*nodes[-1].ancestors()}]
        boxes = union_of(nodes), union_of([node.twin for node in nodes])
        area = min(sum(one.area for one in group), self.total)
        every = [node for one in group for node in one.nodes]
        return Difference(
            *("moved", *boxes, around_it[0].selector, should, now),
            impact=_bounded(sqrt(area / self.total)),
            cost=0.0,
            says=f"{name} stand in {now}, should stand in {should}.{more}",
            count=len(every),
            members=tuple(node.box for node in every),
        )

    def _shift(self, group: Sequence[Shift]) -> Difference:
        first = max(group, key=lambda one: one.area)
        nodes = [one.nodes[0] for one in group]
        node = first.nodes[0]
        other = node.twin
        area = min(sum(one.area for one in group), self.total)
        also = len(group) - 1
        dx, dy = first.dx, first.dy
        if first.kind == "resized":
            share = max(abs(dx) / max(other.box[2], 1), abs(dy) / max(other.box[3], 1))
            severity = min(0.3 + share, 1.0)
            was, is_ = size_of(other.box), size_of(node.box)
            says = f"{capital(subject_of(nodes))} {be(nodes)} {is_} px, should be {was} px."
        elif first.kind == "moved":
            severity = min(max(abs(dx), abs(dy)) / 100, 1.0)
            was, is_ = (f"{box[0]:.0f}, {box[1]:.0f}" for box in (other.box, node.box))
            says = f"{capital(subject_of(nodes))} {be(nodes)} {how_far(dx, dy)}."
        else:
            severity = min(abs(dy) / 100, 1.0)
            was, is_ = f"{first.was:.0f} px", f"{first.was + dy:.0f} px"
            direction = "lower" if dy > 0 else "higher"
            says = (
                f"Everything from {subject_of([node])} on stands {abs(dy):.0f} px {direction}: "
                f"the space above is {is_}, should be {was}."
                if not also
                else f"The space above {subject_of(nodes)} is {is_}, should be {was}."
            )
            area = max(area, area_of(node))
        impact = _bounded(severity * sqrt(area / self.total))
        box, reference_box, selector = node.box, other.box, node.selector
        if first.kind != "resized" and (outer := moving_with(node)) is not None:
            box, selector = outer.box, outer.selector
            reference_box = around(leaf.partner.box for leaf in outer.leaves() if leaf.partner)
        return Difference(
            first.kind,
            box=box,
            reference_box=reference_box,
            selector=selector,
            was=was,
            is_=is_,
            impact=impact,
            cost=0.0,
            says=says,
            count=len(group),
            members=tuple(one.box for one in nodes),
        )


def _is_cut(node: Node) -> bool:
    """Return whether a text is in a control of another width, which may cut it."""
    holder = node.parent
    if holder is None or holder.kind != "control" or holder.partner is None:
        return False
    return holder.tag in _FIELDS and abs(holder.box[2] - holder.partner.box[2]) > SEEN_CUT


def _shift_key(shift: Shift) -> Any:
    node = shift.nodes[0]
    if shift.rows is not None:
        return shift.rows, tuple(one.tag for one in shift.nodes)
    if shift.kind == "resized":
        # Heights follow where contents fill other lines.
        height = 0 if shift.dx and node.children else round(shift.dy / 2)
        return shift.kind, node.kind, node.tag, round(shift.dx / 2), height
    return shift.kind, node.tag, round(shift.dx), round(shift.dy), id(_great_parent(node))


def _great_parent(node: Node) -> Node | None:
    found = list(node.ancestors())[:3]
    return found[-1] if found else None


def _bounded(impact: float) -> float:
    return min(max(impact, 0.0001), 1.0)


def _font_severity(what: str, was: str, is_: str) -> float:
    if what == "size":
        a, b = float(was.removesuffix(" px")), float(is_.removesuffix(" px"))
        return min(abs(log(max(b, 1) / max(a, 1))) * 2 + 0.1, 1.0)
    return {"weight": 0.3, "family": 0.3, "slant": 0.25}.get(what, 0.2)
