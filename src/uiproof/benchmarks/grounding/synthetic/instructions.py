"""What the instructions of synthetic pages say, and what they may ask for in vain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType
from uiproof.benchmarks.grounding.drawing.pictograms import PICTOGRAMS
from uiproof.benchmarks.grounding.synthetic.pages import Item, Page
from uiproof.benchmarks.grounding.synthetic.stream import Stream
from uiproof.benchmarks.grounding.synthetic.words import WORDS
from uiproof.boxes import Box

_ORDINALS = ("first", "second", "third", "fourth")  # pages have no more elements that look alike
_ENDS = (("left-most", "right-most", "left"), ("top-most", "bottom-most", "top"))


def described(kind: ElementType, text: str, rank: tuple[int, int, int] | None) -> str:
    """What an instruction calls an element; `rank` (see `tell_apart`) says which of several."""
    noun = kind.replace("_", " ")
    if kind is ElementType.TEXT:
        name = f"text '{text}'"
    elif kind is ElementType.ICON:
        name = f"{text} icon"
    else:
        name = f"'{text}' {noun}"
    if rank is None:
        return name
    axis, place, of = rank
    first, last, side = _ENDS[axis]
    if place == 0:
        return f"{first} {name}"
    if place == of - 1:
        return f"{last} {name}"
    return f"{_ORDINALS[place]} {name} from the {side}"


def refusals(stream: Stream, page: Page, elements: int, negatives: float) -> list[AnnotatedElement]:
    """Instructions for what is not there: about the wanted share of all instructions."""
    if not negatives:
        return []
    share = Fraction(str(negatives))
    number, part = divmod(elements * share / (1 - share), 1)
    wanted = int(number) + (stream.below(10**6) < part * 10**6)
    everything = {**WORDS, ElementType.ICON: tuple(PICTOGRAMS)}
    absent = [
        (kind, text)
        for kind, texts in everything.items()
        for text in texts
        if is_absent(text, kind, page.items)
    ]
    stream.shuffle(absent)
    return [
        AnnotatedElement(
            id=f"absent-{order:02d}-{kind}",
            bbox=Box(0, 0, 0, 0),
            text=text,
            element_type=kind,
            instruction=f"Click on the {described(kind, text, None)}",
            refusal=True,
        )
        for order, (kind, text) in enumerate(absent[:wanted])
    ]


def is_absent(text: str, kind: ElementType, items: Sequence[Item]) -> bool:
    """Whether nothing on a page could be meant by a text: neither words nor icons come near it."""
    wanted = {text.lower(), *(PICTOGRAMS[text].meanings if kind is ElementType.ICON else ())}
    for item in items:
        there = {item.text.lower()}
        if item.kind is ElementType.ICON:
            there |= set(PICTOGRAMS[item.text].meanings)
        if any(a in b or b in a for a in wanted for b in there):
            return False
    return True
