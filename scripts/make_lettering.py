"""Draw the letters of the synthetic screenshots once, from DejaVu Sans Condensed.

    python scripts/make_lettering.py DejaVuSansCondensed.ttf

The result is part of the package, so that screenshots do not depend on the FreeType of a machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

EM = 96
CHARACTERS = "".join(map(chr, range(33, 127))) + "…"
FOLDER = Path(__file__).parents[1] / "src/uiproof/fonts"


def main(font_file: str) -> None:
    """Write `lettering.png`, one letter beside the other, and their measures."""
    font = ImageFont.truetype(font_file, EM, layout_engine=ImageFont.Layout.BASIC)
    ascent, descent = font.getmetrics()
    letters: dict[str, list[int]] = {" ": [0, 0, 0, round(font.getlength(" "))]}
    strips: list[Image.Image] = []
    left = 0
    for character in CHARACTERS:
        start, _, end, _ = font.getbbox(character)
        strip = Image.new("L", (int(end - start), ascent + descent))
        ImageDraw.Draw(strip).text((-start, 0), character, fill=255, font=font)
        # From where, how wide, how far from the pen, and how far the pen goes on.
        letters[character] = [left, strip.width, int(start), round(font.getlength(character))]
        strips.append(strip)
        left += strip.width
    sheet = Image.new("L", (left, ascent + descent))
    for strip, (x, *_) in zip(strips, list(letters.values())[1:], strict=True):
        sheet.paste(strip, (x, 0))
    sheet.save(FOLDER / "lettering.png", optimize=True)
    measures = {"em": EM, "baseline": ascent, "letters": letters}
    (FOLDER / "lettering.json").write_text(json.dumps(measures) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
