"""How long block matching takes, and how much of the plain algorithm's work it leaves out.

    python bench/matching.py

Makes pages of so many text blocks, edits them as a good and as a poor model would, and matches
the two. The work is counted as text comparisons: the plain algorithm compares every pair of texts
again for every merge that it tries.
"""

from __future__ import annotations

import random
import time

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.matching import TextSimilarity, match_blocks
from uiproof.geometry import Box

WORDS = [
    "river",
    "stone",
    "early",
    "green",
    "morning",
    "market",
    "paper",
    "window",
    "seven",
    "garden",
    "letter",
    "train",
]


class Counting(TextSimilarity):
    """Knows how many texts were really compared."""

    @property
    def comparisons(self) -> int:
        """How many pairs of texts there are values for."""
        return sum(map(len, self._known.values()))


def page(count: int, chance: random.Random) -> list[TextBlock]:
    return [
        TextBlock(
            " ".join(chance.choices(WORDS, k=chance.randint(1, 8))),
            Box(0.1, i / count, 0.5, 0.5 / count),
            (chance.randrange(256), 0.0, 0.0),
        )
        for i in range(count)
    ]


def edited(blocks: list[TextBlock], share: float, chance: random.Random) -> list[TextBlock]:
    result = []
    for block in blocks:
        if chance.random() < share:
            words = block.text.split()
            words[chance.randrange(len(words))] = chance.choice(WORDS)
            block = TextBlock(" ".join(words), block.box, block.color)
        result.append(block)
    return result


def main() -> None:
    chance = random.Random(1)
    print("blocks  edited   seconds   comparisons   of the plain algorithm's first turn")
    for count in (50, 100, 200, 416):
        for share in (0.1, 0.5):
            reference = page(count, chance)
            generated = edited(reference, share, chance)
            similarity = Counting()
            start = time.perf_counter()
            match_blocks(generated, reference, similarity)
            seconds = time.perf_counter() - start
            plain = count * count * 2 * count
            done = similarity.comparisons
            print(f"{count:6} {share:7.0%} {seconds:9.2f} {done:13,} {done / plain:9.2%}")


if __name__ == "__main__":
    main()
