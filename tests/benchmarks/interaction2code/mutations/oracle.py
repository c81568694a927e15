"""Whether a mutant really is what its label says, from what a plain browser saw of it.

Nothing here knows the verifier. A mutant that is not clearly what it claims to be is dropped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mutations.dataset import changed
from mutations.mutate import Scene, centre
from mutations.session import Corners, Seen

FAR = 100  # px that a person sees as another place
NEAR = 45  # px that do not matter
FIELDS = {"type", "select", "drag"}


def objection(type_: str, one: Scene, seen: Seen) -> str | None:
    """Why a mutant does not deserve its label; None where it does."""
    checks: dict[str, Callable[[Scene, Seen], str | None]] = {
        "none": _harmless,
        "a": _missing,
        "b": _nothing_happens,
        "c": _another_element,
        "d": _another_type,
        "e": _elsewhere,
        "f": _effect_elsewhere,
        "g": _another_effect,
        "h": _on_another_element,
        "i": _partial,
        "j": _another_function,
    }
    return checks[type_](one, seen)


# what the checks are made of


def _news(seen: Seen) -> set[str]:
    """Lines of text that came."""
    return set(seen.words_after) - set(seen.words_before)


def _gone(seen: Seen) -> set[str]:
    return set(seen.words_before) - set(seen.words_after)


def _same_words(one: Scene, seen: Seen) -> bool:
    """Whether the same text came and went as on the working page, its own label apart."""
    own = {*one.seen.trigger_text.splitlines(), *seen.trigger_text.splitlines(), ""}
    came = _news(one.seen) ^ _news(seen)
    went = _gone(one.seen) ^ _gone(seen)
    return not {w for w in (came | went) if not any(w in o or (o and o in w) for o in own)}


def _change(seen: Seen) -> np.ndarray:
    return changed(seen.before, seen.after)


def _area(mask: np.ndarray) -> float:
    return float(np.count_nonzero(mask))


def _moved(one: Corners | None, other: Corners | None) -> float | None:
    if one is None or other is None:
        return None
    (x, y), (u, v) = centre(one), centre(other)
    return max(abs(x - u), abs(y - v))


def _same_look_before(one: Scene, seen: Seen, share: float = 0.002) -> bool:
    return bool(changed(one.seen.before, seen.before).mean() <= share)


def _inside(mask: np.ndarray, box: Corners, scale: float, margin: float = 6) -> np.ndarray:
    left, top, right, bottom = (
        max(int((edge + pad) * scale), 0)
        for edge, pad in zip(box, (-margin, -margin, margin, margin), strict=True)
    )
    inside = np.zeros_like(mask)
    inside[top:bottom, left:right] = mask[top:bottom, left:right]
    return inside


def _scale(seen: Seen) -> float:
    return float(seen.before.shape[1]) / seen.size[0]


def _effect_works(one: Scene, seen: Seen) -> str | None:
    """The same words, and as much of the page changes as on the working one."""
    if seen.dialogs or seen.moved_on != one.seen.moved_on:
        return "something else happens"
    if not _same_words(one, seen):
        return "other words"
    pairs = zip(one.seen.effects_after, seen.effects_after, strict=True)
    if any(ours and not theirs for ours, theirs in pairs):
        return "a part of the effect cannot be seen"
    ratio = (_area(_change(seen)) + 1) / (_area(_change(one.seen)) + 1)
    return None if 0.4 < ratio < 2.5 else f"the change is {ratio:.2f} as large"


def _effects_stay(one: Scene, seen: Seen, limit: float = NEAR) -> str | None:
    pairs = zip(one.seen.effects_after, seen.effects_after, strict=True)
    moves = [_moved(ours, theirs) for ours, theirs in pairs]
    return "the effect moved" if any(move is not None and move > limit for move in moves) else None


def _trigger_works(seen: Seen) -> str | None:
    return None if seen.trigger is not None and seen.reachable else "it cannot be reached"


# the labels


def _harmless(one: Scene, seen: Seen) -> str | None:
    far = _moved(one.seen.trigger, seen.trigger)
    if far is None or far > NEAR:
        return "its element moved"
    return _trigger_works(seen) or _effect_works(one, seen) or _effects_stay(one, seen)


def _missing(one: Scene, seen: Seen) -> str | None:
    if seen.trigger is not None:
        return "it is there"
    if one.it.kind in {"key", "scroll"} and _change(seen).any():
        return "it works without its element"
    if changed(one.seen.before, seen.before).mean() > 0.25:
        return "too much of the page is gone"
    own = one.seen.trigger_text.strip()
    return "its words are still there" if own and own in seen.words_before else None


def _nothing_happens(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    if seen.dialogs or seen.moved_on:
        return "something happens"
    mask = _change(seen)
    fielded = one.it.kind in FIELDS or one.seen.trigger_tag in {"input", "label", "select"}
    if fielded and one.seen.trigger is not None and not one.on_body:
        rest = mask & ~_inside(mask, one.seen.trigger, _scale(seen), 8)
        own = _inside(_change(one.seen), one.seen.trigger, _scale(one.seen), 8)
        if _area(own) > 0.5 * _area(_change(one.seen)):
            return "the field itself is most of the effect"
        mask = rest
    return "something changes" if _area(mask) > 0 else None


def _another_element(one: Scene, seen: Seen) -> str | None:
    far = _moved(one.seen.trigger, seen.trigger)
    if far is None or far < 60:
        return "the same place"
    if seen.trigger_text == one.seen.trigger_text:
        return "the same words"
    return _trigger_works(seen) or _effect_works(one, seen) or _effects_stay(one, seen)


def _another_type(one: Scene, seen: Seen) -> str | None:
    far = _moved(one.seen.trigger, seen.trigger)
    if far is None or (far > 1.2 * NEAR and one.seen.trigger[2] - one.seen.trigger[0] < 250):  # type: ignore[index]
        return "it moved"
    if seen.trigger_tag == one.seen.trigger_tag:
        return "the same tag"
    if not _inside(changed(one.seen.before, seen.before), one.trigger, _scale(seen)).any():
        return "it looks the same"
    return _trigger_works(seen) or _effect_works(one, seen) or _effects_stay(one, seen, FAR)


def _elsewhere(one: Scene, seen: Seen) -> str | None:
    far = _moved(one.seen.trigger, seen.trigger)
    if far is None or far < FAR or seen.trigger is None:
        return "it did not move far"
    if seen.trigger[0] < 0 or seen.trigger[1] < 0 or seen.trigger[2] > seen.size[0]:
        return "it is outside"
    if _contrast(seen) < 0.4 * _contrast(one.seen):
        return "it can hardly be seen there"
    return _trigger_works(seen) or _effect_works(one, seen)


def _contrast(seen: Seen) -> float:
    """How much an element stands out from itself: its words on its ground."""
    assert seen.trigger is not None
    left, top, right, bottom = (round(edge * _scale(seen)) for edge in seen.trigger)
    inside = seen.before[max(top, 0) : bottom, max(left, 0) : right]
    return float(inside.std()) if inside.size else 0.0


def _effect_elsewhere(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    main = next((n for n, box in enumerate(one.seen.effects_after) if box is not None), 0)
    if one.appears:
        main = one.it.effect.index(one.appears[0])
    ours, theirs = one.seen.effects_after[main], seen.effects_after[main]
    far = _moved(ours, theirs)
    if far is None or ours is None or theirs is None or far < FAR:
        return "it did not move far"
    width, height = seen.size[0], max(seen.after.shape[0] / _scale(seen), seen.size[1])
    if theirs[0] < -4 or theirs[1] < -4 or theirs[2] > width + 4 or theirs[3] > height + 4:
        return "it is partly outside"
    if (theirs[2] - theirs[0]) * (theirs[3] - theirs[1]) > 0.6 * seen.size[0] * seen.size[1]:
        return "it fills the window"
    if not _news(seen) >= _news(one.seen):
        return "words are missing"
    ratio = (_area(_change(seen)) + 1) / (_area(_change(one.seen)) + 1)
    return None if 0.3 < ratio < 3.5 else "it looks different"


def _another_effect(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    if not seen.dialogs and not _change(seen).any():
        return "nothing happens"
    if seen.dialogs and one.it.kind not in FIELDS and _change(seen).any():
        return "more than a dialog"
    ours, theirs = _news(one.seen), _news(seen)
    return "the right words come" if ours and ours & theirs else None


def _overlap(one: Scene, seen: Seen) -> tuple[float, float]:
    """Of what changes on the working page: the shares that look right and that do not change."""
    should, does = _change(one.seen), _change(seen)
    height = max(should.shape[0], does.shape[0])
    should, does = _tall(should, height), _tall(does, height)
    wrong = _tall(changed(one.seen.after, seen.after), height)
    if one.it.kind in FIELDS:  # what stands in the field is not the effect
        should &= ~_inside(should, one.trigger, _scale(seen))
    total = max(_area(should), 1)
    return _area(should & ~wrong) / total, _area(should & wrong & ~does) / total


def _tall(mask: np.ndarray, height: int) -> np.ndarray:
    return np.pad(mask, ((0, height - mask.shape[0]), (0, 0)), constant_values=False)


def _on_another_element(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    right, _ = _overlap(one, seen)
    if right > 0.5 and not _other_words_come(one, seen):
        return "the right element changes"
    return None if _change(seen).any() else "nothing happens"


def _partial(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    right, missing = _overlap(one, seen)
    ours, theirs = _news(one.seen), _news(seen)
    if theirs - ours and not any(word in line for word in theirs - ours for line in ours):
        return "other words come"
    some_words = bool(ours & theirs) and ours != theirs
    some_pixels = 0.08 < right < 0.92 and _change(seen).any()
    if not (some_words or (some_pixels and missing + (1 - right) > 0.08)):
        return f"{right:.2f} is right, {missing:.2f} is missing"
    if right < 0.03:
        return "hardly anything is right"
    return "the words are complete" if one.appears and ours == theirs and right > 0.85 else None


def _another_function(one: Scene, seen: Seen) -> str | None:
    if not _same_look_before(one, seen, 0.01):
        return "the page looks different before"
    if seen.dialogs or not _change(seen).any():
        return "no effect of this kind"
    right, _ = _overlap(one, seen)
    ours, theirs = _news(one.seen), _news(seen)
    if ours and ours == theirs:
        return "the right words come"
    if right > 0.85 and not _other_words_come(one, seen):
        return "most of it is right"
    return None


def _other_words_come(one: Scene, seen: Seen) -> bool:
    ours, theirs = _news(one.seen), _news(seen)
    return bool(ours) and bool(theirs) and not ours & theirs
