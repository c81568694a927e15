"""What lists of cards have in common: a table of how cases ended, a legend, groups of cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from uiproof.report.markup import Markup, joined, tag

_COLOURS = 8  # of runs, in the style sheet


def run_name(names: Sequence[str], run: int) -> Markup:
    """The name of a run with the colour that it has in the whole report."""
    if len(names) == 1:
        return joined(names[run])
    dot = tag("span", class_=f"dot run-{run % _COLOURS}")
    return tag("span", dot, tag("span", names[run]), class_="run-name")


def count_table(
    title: str,
    rows: Sequence[tuple[Markup, Mapping[str, int]]],
    outcomes: Iterable[str],
    shown: Callable[[str], str],
    *,
    class_: str = "",
) -> Markup:
    """A section with how many cases of each run ended how; outcomes of no case are left out."""
    found = [outcome for outcome in outcomes if any(counts.get(outcome) for _, counts in rows)]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Method", *map(shown, found))))
    lines = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(_count(counts.get(outcome, 0), sum(counts.values())) for outcome in found),
        )
        for name, counts in rows
    ]
    table = tag(
        "table", tag("thead", head), tag("tbody", *lines), class_=f"verdicts {class_}".strip()
    )
    titled = "verdicts-title"
    return tag(
        "section",
        tag("h2", title, id=titled),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby=titled),
        aria_labelledby=titled,
    )


def group(title: str, cards: Sequence[Markup], *, open_: bool = True, class_: str) -> Iterator[str]:
    """Cards under a heading that can be closed; nothing where there are none."""
    if not cards:
        return
    count = tag("span", f"{len(cards):,}", class_="group-count quiet")
    yield f'<details class="group"{" open" if open_ else ""}>'
    yield tag("summary", title, " ", count) + f'<ol class="{class_}">'
    for card in cards:
        yield card + "\n"
    yield "</ol></details>"


def notes(texts: Sequence[str]) -> Markup:
    """Remarks under a heading; nothing where there are none."""
    if not texts:
        return Markup("")
    return tag("ul", *(tag("li", text) for text in texts), class_="notes")


def legend(kinds: Mapping[str, str]) -> Markup:
    """What the lines of the drawings mean, by their classes."""
    return tag("p", *(_key(kind, text) for kind, text in kinds.items()), class_="legend")


def _key(kind: str, text: str) -> Markup:
    if kind == "click":
        shape = tag("path", d="M4 2l10 10M4 12l10 -10", class_="line click")
    else:
        drawn = "look" if kind == "look" else f"line {kind}"
        shape = tag("rect", x=2, y=2, width=14, height=10, class_=drawn)
    return tag("span", tag("svg", shape, viewBox="0 0 18 14", aria_hidden="true"), text)


def _count(count: int, of: int) -> Markup:
    if not count:
        return tag("td", "–", class_="quiet")
    share = tag("span", f"{100 * count / of:.1f} %", class_="range")
    return tag("td", tag("span", f"{count:,}", class_="mean"), share)
