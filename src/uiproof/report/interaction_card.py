"""One card about an interaction: both sides before and after, the verdict and its evidence."""

from __future__ import annotations

from uiproof.benchmarks.interaction2code.failures import NONE
from uiproof.engine.types import Record
from uiproof.report.interaction_cases import Pane, Shown, named
from uiproof.report.markup import Markup, tag
from uiproof.report.pictures import image

_LONGEST = 400
_SCORES = (
    *(("full", name) for name in ("clip", "ssim", "text")),
    *(("part", name) for name in ("clip", "ssim", "text", "position_before", "position_after")),
)


def case_card(case: Shown, *, run: Markup | None, codes: str, anchor: str) -> Markup:
    """A card as an item of a list; scripts open it large by the pictures it names."""
    figures = [tag("figure", _drawing(pane), tag("figcaption", pane.label)) for pane in case.panes]
    pictures = tag("div", *figures, class_="states") if figures else Markup("")
    about = tag("div", _about(case, run), class_="about")
    numbers = {
        f"data_{moment}": " ".join("-" if n is None else str(n) for n in case.pictures(moment))
        for moment in ("before", "after", "difference")
    }
    return tag(
        "li",
        pictures,
        about,
        _numbers(case.record),
        class_="find",
        id=anchor,
        data_values=codes,
        data_title=case.record.id,
        **numbers,
    )


def _drawing(pane: Pane) -> Markup:
    if pane.picture is None or pane.region is None:
        return tag("p", "no picture", class_="missing quiet")
    boxes = [
        tag(
            "rect",
            x=box.left,
            y=box.top,
            width=box.width,
            height=box.height,
            class_=f"{layer} {kind}",
        )
        for kind, box in pane.boxes
        for layer in ("halo", "line")
    ]
    region = pane.region
    return tag(
        "svg",
        image(pane.picture, region),
        *boxes,
        viewBox=f"{region.left} {region.top} {region.width} {region.height}",
        preserveAspectRatio="xMidYMin meet",
        role="img",
        aria_label=pane.label,
    )


def _about(case: Shown, run: Markup | None) -> Markup:
    record, details = case.record, case.record.details
    verdict = details.get("verdict") or {}
    colour = "bad" if not case.usable else "good" if case.failure == NONE else "warn"
    badge = tag("span", "usable" if case.usable else "not usable", class_=f"badge {colour}")
    lines = [tag("p", badge, named(case.failure), class_="verdict")]
    sentence = details.get("sentence") or (details.get("action") or {}).get("kind") or ""
    lines.append(tag("p", _short(str(sentence)), class_="instruction", dir="auto"))
    if run is not None:
        lines.append(tag("p", run, class_="small"))
    facts = [record.id, *map(str, details.get("tags") or ()), "→"]
    facts += map(str, details.get("visuals") or ())
    lines.append(tag("p", " · ".join(map(_short, facts)), class_="small quiet"))
    if record.error is not None:
        error = f"{record.error.code} ({record.error.stage}): {record.error.message}"
        lines.append(tag("p", _short(error), class_="small bad", dir="auto"))
    evidence = [tag("li", _short(str(one)), dir="auto") for one in verdict.get("evidence") or ()]
    if evidence:
        lines.append(tag("ul", *evidence, class_="evidence small"))
    return tag("div", *lines)


def _numbers(record: Record) -> Markup:
    """The scores, for who wants to know."""
    rows = []
    for part, name in _SCORES:
        values = [
            (record.scores.get(profile) or {}).get(part, {}).get(name)
            for profile in ("paper", "strict")
        ]
        cells = [tag("td", "–" if value is None else f"{value:.3f}") for value in values]
        label = f"{'Full page' if part == 'full' else 'Part'} {name.replace('_', ' ')}"
        rows.append(tag("tr", tag("th", label, scope="row"), *cells))
    head = tag("tr", tag("td"), *(tag("th", name, scope="col") for name in ("paper", "strict")))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return tag("details", tag("summary", "Scores"), table)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
