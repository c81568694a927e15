"""How long the region of an interaction takes, beside a plain version of the published approach.

    python bench/regions.py [--size 3360x1700] [--repeat 5]

Draws pairs of pictures as interactions leave them and finds what changed. The plain version is
the published idea without its text files: subtract the pictures and look for rows and columns
that are not zero; where the sizes differ, compare the rows as lines of text. Times are CPU time,
the best of so many, decoding apart; what counts is the ratio, measured in one run.
"""

from __future__ import annotations

import argparse
import difflib
import time
from collections.abc import Callable

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.region import paper_region, region
from uiproof.vision.images import Rgb


def page(width: int, height: int, *, seed: int = 1) -> Rgb:
    """A picture with lines of something like text, no two alike."""
    chance = np.random.default_rng(seed)
    picture = np.full((height, width, 3), 255, np.uint8)
    for top in range(20, height - 40, 60):
        letters = chance.integers(0, 2, (6, width // 16), dtype=np.uint8) * 200
        line = cv2.resize(letters, (width // 16 * 12, 30), interpolation=cv2.INTER_NEAREST)
        picture[top : top + 30, 40 : 40 + line.shape[1]] = 255 - line[:, : width - 80, None]
    return picture


def pairs(width: int, height: int) -> dict[str, tuple[Rgb, Rgb]]:
    before = page(width, height)
    popup = before.copy()
    popup[height // 4 : height // 2, width // 3 : width // 2] = (40, 60, 120)
    panel = page(width, height // 6, seed=2)
    at = height // 3 // 60 * 60
    grown = np.concatenate([before[:at], panel, before[at:]])
    return {
        "nothing": (before, before.copy()),
        "pop-up": (before, popup),
        "other theme": (before, 255 - before),
        "new page": (before, page(width, height, seed=3)),
        "page grew": (before, grown),
        "pushed down": (before, grown[:height]),
    }


def plain(before: Rgb, after: Rgb) -> tuple[int, int, int, int] | None:
    if before.shape == after.shape:
        bounds = []
        for axes in ((1, 2), (0, 2)):
            lines = np.nonzero((after - before).any(axis=axes))[0]
            if not len(lines):
                return None
            bounds += [int(lines.min()), int(lines.max())]
        return bounds[2], bounds[0], bounds[3], bounds[1]
    old = [row.tobytes().hex() for row in before]
    new = [row.tobytes().hex() for row in after]
    changed = [
        (start, end)
        for kind, _, _, start, end in difflib.SequenceMatcher(
            None, old, new, autojunk=False
        ).get_opcodes()
        if kind != "equal"
    ]
    return 0, changed[0][0], after.shape[1], changed[-1][1]


def best(work: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="3360x1700")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    width, height = (int(side) for side in options.size.split("x"))
    cv2.setNumThreads(1)  # so that CPU time is time
    print(f"{options.size}, ms    strict    paper    plain   strict/plain   paper/plain")
    total = np.zeros(3)
    for name, (before, after) in pairs(width, height).items():
        times = np.array(
            [
                best(lambda b=before, a=after: region(b, a), options.repeat),
                best(lambda b=before, a=after: paper_region(b, a), options.repeat),
                best(lambda b=before, a=after: plain(b, a), options.repeat),
            ]
        )
        total += times
        print_row(name, times)
    print_row("mean", total / len(pairs(16, 120)))


def print_row(name: str, times: np.ndarray) -> None:
    strict, paper, reference = times
    print(
        f"{name:15}{strict:9.1f}{paper:9.1f}{reference:9.1f}"
        f"{strict / reference:14.2f}{paper / reference:14.2f}"
    )


if __name__ == "__main__":
    main()
