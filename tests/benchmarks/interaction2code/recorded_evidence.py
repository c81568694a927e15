"""Evidence of the verifier, recorded in a browser once and replayed without one.

A recording holds what `verify` was given, the answers of the probes and of the text reader that it
asked, and its verdict. Elements, texts and tiles of pictures are kept once for all cases.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Target,
    Verdict,
)
from uiproof.browser.snapshots import Action, Changes, Element, Events, Ink, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine, OcrWord

Json = Any
Verify = Callable[[ReferenceEvidence, GeneratedEvidence], Verdict]
TILE = 32  # pixels
_CHANGED_ONE = ("appeared", "vanished")
_CHANGED_TWO = ("moved", "resized", "recoloured", "retexted", "restated", "restyled")


@dataclass(frozen=True)
class RecordedCase:
    """One interaction on a generated page: the evidence, its label and the recorded verdict."""

    name: str
    label: Mapping[str, Any]  # failure, usable
    reference: ReferenceEvidence
    generated: GeneratedEvidence
    verdict: Verdict


class NotRecordedError(Exception):
    """A probe or a reading that the recording has no answer for."""


# --- recording


class Recording:
    """Collects evidence. Write it with `save`."""

    def __init__(self) -> None:
        self.elements: dict[str, int] = {}
        self.tiles: dict[bytes, int] = {}
        self.pictures: dict[str, tuple[tuple[int, ...], list[int]]] = {}
        self.lines: dict[str, Json] = {}
        self.cases: list[Json] = []

    def add(
        self,
        verify: Verify,
        name: str,
        label: Mapping[str, Any],
        reference: ReferenceEvidence,
        generated: GeneratedEvidence,
    ) -> Verdict:
        """Run the verifier on live evidence and record all that it asks for."""
        case: Json = {"name": name, "label": dict(label), "attempts": [], "again": [], "places": []}
        reads: list[str] = []

        def read(crop: Rgb) -> Sequence[OcrLine]:
            assert reference.read is not None
            found = reference.read(crop)
            key = digest(crop)
            lines = [_line_json(line) for line in found]
            if key in self.lines and self.lines[key] != lines:
                print(f"{name}: read twice with other results: {crop.shape}")
                key += f" {name}"
            self.lines[key] = lines
            reads.append(key)
            return found

        def attempt(element: Element, action: Action) -> Outcome | None:
            outcome = generated.attempt(element, action)
            case["attempts"].append(
                [self._element(element), _action_json(action), self._outcome(outcome)]
            )
            return outcome

        def again() -> Outcome | None:
            outcome = generated.again()
            case["again"].append(self._outcome(outcome))
            return outcome

        def elsewhere(
            element: Element, targets: Sequence[Target], action: Action
        ) -> Sequence[Outcome]:
            outcomes = generated.elsewhere(element, targets, action)
            case["places"].append(
                [
                    self._element(element),
                    [self._target(one) for one in targets],
                    _action_json(action),
                    [self._outcome(one) for one in outcomes],
                ]
            )
            return outcomes

        watched = replace(reference, read=None if reference.read is None else read)
        verdict = verify(
            watched, replace(generated, attempt=attempt, again=again, elsewhere=elsewhere)
        )
        case["reference"] = {
            **_flat(reference, "sentence", "description", "name", "tags", "visuals", "reverts"),
            "before": self._picture(reference.before),
            "after": self._picture(reference.after),
            "action": _action_json(reference.action),
            "trigger": _box_json(reference.trigger),
            "reads": None if reference.read is None else sorted(set(reads)),
        }
        case["generated"] = {
            **_flat(generated, "found_by", "viewport"),
            "before": self._picture(generated.before),
            "snapshot": self._snapshot(generated.snapshot),
            "found": None if generated.found is None else self._element(generated.found),
            "outcome": self._outcome(generated.outcome),
            "noise": None if generated.noise is None else self._picture(generated.noise),
            "approach": None if generated.approach is None else self._picture(generated.approach),
            "others": [self._element(one) for one in generated.others],
            "score": generated.score,
            "action": None if generated.action is None else _action_json(generated.action),
        }
        case["verdict"] = _verdict_json(verdict)
        self.cases.append(case)
        return verdict

    def save(self, path: Path) -> None:
        """Write everything into one compressed file."""
        about = {
            "elements": [json.loads(one) for one in self.elements],
            "pictures": self.pictures,
            "lines": self.lines,
            "cases": self.cases,
        }
        text = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
        data = len(text).to_bytes(8, "big") + text + b"".join(self.tiles)
        filters = [
            {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 28}
        ]
        path.write_bytes(lzma.compress(data, filters=filters))

    def _picture(self, picture: Rgb | np.ndarray) -> str:
        key = digest(picture)
        if key not in self.pictures:
            tiles = [self.tiles.setdefault(one, len(self.tiles)) for one in _tiles(picture)]
            self.pictures[key] = (picture.shape, tiles)
        return key

    def _element(self, element: Element) -> int:
        text = json.dumps(_element_json(element), ensure_ascii=False)
        return self.elements.setdefault(text, len(self.elements))

    def _target(self, target: Target) -> Json:
        return self._element(target) if isinstance(target, Element) else list(target)

    def _snapshot(self, snapshot: Snapshot) -> Json:
        return {
            **_flat(snapshot, "size", "url", "scroll", "title", "focus", "document", "cut"),
            "elements": [self._element(one) for one in snapshot.elements],
        }

    def _outcome(self, outcome: Outcome | None) -> Json:
        if outcome is None:
            return None
        changes = outcome.changes
        return {
            "picture": self._picture(outcome.picture),
            "snapshot": self._snapshot(outcome.snapshot),
            "changes": {
                **_flat(changes, "pushed", "new_page"),
                **{k: [self._element(one) for one in getattr(changes, k)] for k in _CHANGED_ONE},
                **{
                    k: [[self._element(one) for one in pair] for pair in getattr(changes, k)]
                    for k in _CHANGED_TWO
                },
            },
            "events": asdict(outcome.events),
            "refused": outcome.refused,
        }


def digest(picture: np.ndarray) -> str:
    """Return a key for the pixels of a picture."""
    found = hashlib.sha256(f"{picture.shape} {picture.dtype}".encode())
    found.update(np.ascontiguousarray(picture).data)
    return found.hexdigest()[:24]


def _tiles(picture: np.ndarray) -> Iterator[bytes]:
    rgb = picture if picture.ndim == 3 else np.repeat(picture[:, :, None], 3, axis=2)
    rgb = rgb.astype(np.uint8)
    height, width = rgb.shape[:2]
    for top in range(0, height, TILE):
        for left in range(0, width, TILE):
            tile = np.zeros((TILE, TILE, 3), np.uint8)
            part = rgb[top : top + TILE, left : left + TILE]
            tile[: part.shape[0], : part.shape[1]] = part
            yield tile.tobytes()


def _flat(thing: object, *names: str) -> Json:
    return {name: getattr(thing, name) for name in names}


def _box_json(box: PixelBox | None) -> Json:
    return None if box is None else [box.left, box.top, box.right, box.bottom]


def _action_json(action: Action) -> Json:
    return [action.kind, action.value]


def _line_json(line: OcrLine) -> Json:
    words = [[word.text, _box_json(word.box)] for word in line.words]
    return [line.text, _box_json(line.box), line.confidence, words]


def _verdict_json(verdict: Verdict) -> Json:
    return {**asdict(verdict), "failure": str(verdict.failure), "evidence": list(verdict.evidence)}


def _element_json(element: Element) -> Json:
    found = {}
    for one in fields(Element):
        value = getattr(element, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if value != default:
            found[one.name] = value
    found["box"] = _box_json(element.box)
    for name in ("style", "state", "attributes"):
        if name in found:
            found[name] = dict(found[name])
    if element.ink is not None:
        ink = element.ink
        found["ink"] = [_box_json(ink.box), ink.color, ink.opacity, ink.covered]
    return found


# --- replaying


def load(path: Path) -> Iterator[RecordedCase]:
    """Yield the cases of a recording."""
    data = lzma.decompress(path.read_bytes())
    end = 8 + int.from_bytes(data[:8], "big")
    about = json.loads(data[8:end])
    tiles = np.frombuffer(data, np.uint8, offset=end).reshape(-1, TILE, TILE, 3)
    elements = [_element(one) for one in about["elements"]]
    lines = {key: tuple(_line(one) for one in found) for key, found in about["lines"].items()}
    for case in about["cases"]:
        yield _Case(case, about["pictures"], tiles, elements, lines).load()


@dataclass(frozen=True)
class _Case:
    case: Json
    pictures: Json
    tiles: np.ndarray
    elements: Sequence[Element]
    lines: Mapping[str, Sequence[OcrLine]]

    def load(self) -> RecordedCase:
        case, theirs, mine = self.case, self.case["reference"], self.case["generated"]
        reference = ReferenceEvidence(
            before=self._picture(theirs["before"]),
            after=self._picture(theirs["after"]),
            action=Action(*theirs["action"]),
            trigger=_box(theirs["trigger"]),
            tags=tuple(theirs["tags"]),
            visuals=tuple(theirs["visuals"]),
            read=None if theirs["reads"] is None else self._read,
            description=theirs.get("description", ""),
            **{key: theirs[key] for key in ("sentence", "name", "reverts")},
        )
        noise = mine["noise"] and self._picture(mine["noise"])[:, :, 0] > 0
        generated = GeneratedEvidence(
            before=self._picture(mine["before"]),
            snapshot=self._snapshot(mine["snapshot"]),
            found=None if mine["found"] is None else self.elements[mine["found"]],
            found_by=mine["found_by"],
            outcome=self._outcome(mine["outcome"]),
            noise=noise,
            approach=mine.get("approach") and self._picture(mine["approach"]),
            others=tuple(self.elements[one] for one in mine.get("others", ())),
            score=mine.get("score", 1.0),
            action=mine.get("action") and Action(*mine["action"]),
            viewport=tuple(mine["viewport"]),
            attempt=self._attempt,
            again=self._again,
            elsewhere=self._elsewhere,
        )
        told = case["verdict"]
        verdict = {
            **told,
            "failure": Failure(told["failure"]),
            "evidence": tuple(told["evidence"]),
        }
        return RecordedCase(case["name"], case["label"], reference, generated, Verdict(**verdict))

    def _read(self, crop: Rgb) -> Sequence[OcrLine]:
        key = digest(crop)
        own = f"{key} {self.case['name']}"
        for one in (own, key):
            if one in self.lines:
                return self.lines[one]
        raise NotRecordedError(f"{self.case['name']}: reading of {crop.shape}")

    def _attempt(self, element: Element, action: Action) -> Outcome | None:
        for index, done, outcome in self.case["attempts"]:
            if self.elements[index] == element and done == _action_json(action):
                return self._outcome(outcome)
        raise NotRecordedError(f"{self.case['name']}: {action} on {element.tag} {element.id}")

    def _again(self) -> Outcome | None:
        if not self.case["again"]:
            raise NotRecordedError(f"{self.case['name']}: acting again")
        return self._outcome(self.case["again"][0])

    def _elsewhere(
        self, element: Element, targets: Sequence[Target], action: Action
    ) -> Sequence[Outcome]:
        places = [one if isinstance(one, Element) else list(one) for one in targets]
        for index, wanted, done, outcomes in self.case["places"]:
            there = [self.elements[one] if isinstance(one, int) else one for one in wanted]
            same = self.elements[index] == element and there == places
            if same and done == _action_json(action):
                return [found for one in outcomes if (found := self._outcome(one))]
        raise NotRecordedError(f"{self.case['name']}: {action} on {targets}")

    def _picture(self, key: str) -> Rgb:
        (height, width, *_), numbers = self.pictures[key]
        rows, columns = -(-height // TILE), -(-width // TILE)
        grid = self.tiles[np.array(numbers)].reshape(rows, columns, TILE, TILE, 3)
        whole = grid.transpose(0, 2, 1, 3, 4).reshape(rows * TILE, columns * TILE, 3)
        return np.ascontiguousarray(whole[:height, :width])

    def _snapshot(self, about: Json) -> Snapshot:
        return Snapshot(
            elements=tuple(self.elements[one] for one in about["elements"]),
            size=tuple(about["size"]),
            scroll=tuple(about["scroll"]),
            **{key: about[key] for key in ("url", "title", "focus", "document", "cut")},
        )

    def _outcome(self, about: Json) -> Outcome | None:
        if about is None:
            return None
        told, at = about["changes"], self.elements
        events = {k: tuple(v) if isinstance(v, list) else v for k, v in about["events"].items()}
        return Outcome(
            picture=self._picture(about["picture"]),
            snapshot=self._snapshot(about["snapshot"]),
            changes=Changes(
                **{key: tuple(at[one] for one in told[key]) for key in _CHANGED_ONE},
                **{key: tuple((at[a], at[b]) for a, b in told[key]) for key in _CHANGED_TWO},
                pushed=told["pushed"],
                new_page=told["new_page"],
            ),
            events=Events(**events),
            refused=about["refused"],
        )


def _box(edges: Json) -> PixelBox | None:
    return None if edges is None else PixelBox(*edges)


def _line(about: Json) -> OcrLine:
    text, box, confidence, words = about
    return OcrLine(
        text,
        PixelBox(*box),
        confidence,
        tuple(OcrWord(word, PixelBox(*place)) for word, place in words),
    )


def _element(about: Json) -> Element:
    found = {**about, "box": PixelBox(*about["box"])}
    for name in ("color", "background", "listeners"):
        if name in found:
            found[name] = tuple(found[name])
    if "ink" in found:
        box, color, opacity, covered = found["ink"]
        found["ink"] = Ink(PixelBox(*box), tuple(color), opacity, covered)
    return Element(**found)
