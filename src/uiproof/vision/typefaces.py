"""How wide and how high letters are in the typefaces that browsers mostly use.

Widths and heights are in thousandths of the type size. They let a picture of a line of text tell
its type size: from its height, and, much more exactly, from its width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

# From the space to the tilde, in the order of ASCII.
_WIDTHS = {
    "DejaVu Sans": """
        318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636
        636 636 636 337 337 838 838 838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863
        748 787 603 787 695 635 611 732 684 989 685 611 685 390 337 390 838 500 500 613 635 550 635
        615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592 525 636
        337 636 838""",
    "DejaVu Sans Bold": """
        348 456 521 838 696 1002 872 306 457 457 523 838 380 415 380 365 696 696 696 696 696 696 696
        696 696 696 400 400 838 838 838 580 1000 774 762 734 830 683 683 821 837 372 372 775 637 995
        837 850 733 850 770 720 682 812 774 1103 771 724 725 457 365 457 838 500 500 675 716 593 716
        678 435 716 712 343 343 665 343 1042 712 687 716 716 493 595 478 712 652 924 645 652 582 712
        365 712 838""",
    "DejaVu Serif": """
        318 402 460 838 636 950 890 275 390 390 500 838 318 338 318 337 636 636 636 636 636 636 636
        636 636 636 337 337 838 838 838 536 1000 722 735 765 802 730 694 799 872 395 401 747 664
        1024 875 820 673 820 753 685 667 843 722 1028 712 660 695 390 337 390 838 500 500 596 640
        560 640 592 370 640 644 320 310 606 320 948 644 602 640 640 478 513 402 644 565 856 564 565
        527 636 337 636 838""",
    "DejaVu Serif Bold": """
        348 439 521 838 696 950 903 306 473 473 523 838 348 415 348 365 696 696 696 696 696 696 696
        696 696 696 369 369 838 838 838 586 1000 776 845 796 867 762 710 854 945 468 473 869 703
        1107 914 871 752 871 831 722 744 872 776 1123 776 714 730 473 365 473 838 500 500 648 699
        609 699 636 430 699 727 380 362 693 380 1058 727 667 699 699 527 563 462 727 581 861 596 581
        568 643 364 643 838""",
    "Arial": """
        278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556
        556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833
        722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556
        556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334
        260 334 584""",
    "Arial Bold": """
        278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556
        556 556 556 333 333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833
        722 778 667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556 333 556 611 556 611
        556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389
        280 389 584""",
    "Times": """
        250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500
        500 500 500 278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889
        722 722 556 722 667 556 611 722 722 944 722 722 611 333 278 333 469 500 333 444 500 444 500
        444 333 500 500 278 278 500 278 778 500 500 500 500 333 389 278 500 500 722 500 500 444 480
        200 480 541""",
    "Times Bold": """
        250 333 555 500 500 1000 833 278 333 333 500 570 250 333 250 278 500 500 500 500 500 500 500
        500 500 500 333 333 570 570 570 500 930 722 667 722 722 667 611 778 778 389 500 778 667 944
        722 778 611 778 722 556 667 722 722 1000 722 722 667 333 278 333 581 500 333 500 556 444 556
        444 333 500 556 278 333 556 278 833 556 500 556 556 444 389 333 556 500 722 500 500 444 394
        220 394 520""",
    "Mono": "602 " * 95,
}


@dataclass(frozen=True, slots=True)
class Typeface:
    """A family with the measures that its letters share."""

    css: str  # the family and what replaces it elsewhere
    regular: str
    bold: str
    capital: int
    small: int  # letters such as x
    tall: int  # letters such as b
    tail: int  # how far letters such as g hang down
    ascent: int  # of the line box that a browser makes
    descent: int
    bearing: int = 75  # white before the first and after the last letter

    def widths(self, text: str, *, bold: bool) -> tuple[float, ...]:
        """The advance of each letter of a text set at size 1."""
        return _text_widths(self.bold if bold else self.regular, text)

    def width(self, text: str, *, bold: bool) -> float:
        """The advance of a text set at size 1."""
        return sum(self.widths(text, bold=bold))

    def extent(self, text: str) -> tuple[float, float]:
        """How far a text set at size 1 reaches above and below the baseline."""
        letters = set(text) - {" "}
        above = max(map(self._above, letters), default=self.small)
        below = max(map(self._below, letters), default=0)
        return above / 1000, below / 1000

    def _above(self, letter: str) -> int:
        if letter in "acegmnopqrsuvwxyz:;+<>~=":
            return self.small
        if letter in ".,_-–—·…":
            return self.small // 2
        return self.tall if letter in "bdfhijklt()[]{}|/\\'\"“”‘’" else self.capital

    def _below(self, letter: str) -> int:
        if letter in "gjpqy|":
            return self.tail
        return self.tail * 3 // 5 if letter in "()[]{}/\\,;Q@_$" else 0


def _other_width(letter: str) -> int:
    return 1000 if ord(letter) >= 0x1100 and letter.isalpha() else 600


@lru_cache(maxsize=4096)
def _text_widths(face: str, text: str) -> tuple[float, ...]:
    known = _widths(face)
    return tuple((known.get(letter) or _other_width(letter)) / 1000 for letter in text)


@cache
def _widths(face: str) -> dict[str, int]:
    numbers = (int(number) for number in _WIDTHS[face].split())
    return dict(zip(map(chr, range(32, 127)), numbers, strict=True))


WIDE_SANS = Typeface(
    '"DejaVu Sans", Verdana, sans-serif',
    "DejaVu Sans", "DejaVu Sans Bold", 729, 552, 760, 208, 928, 236,
)  # fmt: skip
WIDE_SERIF = Typeface(
    '"DejaVu Serif", Georgia, serif',
    "DejaVu Serif", "DejaVu Serif Bold", 729, 530, 760, 215, 928, 236, bearing=40,
)  # fmt: skip
SANS = Typeface(
    'Arial, "Liberation Sans", Helvetica, sans-serif',
    "Arial", "Arial Bold", 716, 528, 722, 211, 905, 212, bearing=60,
)  # fmt: skip
SERIF = Typeface(
    '"Times New Roman", "Liberation Serif", Times, serif',
    "Times", "Times Bold", 662, 456, 683, 217, 891, 216, bearing=25,
)  # fmt: skip
MONO = Typeface(
    '"DejaVu Sans Mono", Menlo, Consolas, "Courier New", monospace',
    "Mono", "Mono", 729, 552, 760, 208, 928, 236,
)  # fmt: skip
