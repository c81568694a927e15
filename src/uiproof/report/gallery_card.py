"""One card of the gallery: what was asked, where it is, where the click went, what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite
from typing import Any

from uiproof.report.gallery_cases import Shown
from uiproof.report.gallery_drawing import Pane, Scene, drawing
from uiproof.report.markup import Markup, joined, tag

_LONGEST_INSTRUCTION = 400
_LONGEST_ANSWER = 600
_MOST_ANSWERS = 6


def case_card(
    case: Shown,
    scene: Scene | None,
    panes: Sequence[Pane],
    pictures: Sequence[Markup | None],
    *,
    run: Markup | None,
    codes: str,
    anchor: str,
) -> Markup:
    """A card as an item of a list; `panes` and `pictures` end with the whole screenshot."""
    about = tag("div", _verdict(case), _instruction(case), _facts(case, run))
    card = partial(
        tag, "li", class_="find", id=anchor, data_values=codes, data_title=case.record.id
    )
    if scene is None:
        return card(tag("div", about, class_="about"), _more(case))
    whole, missing = panes[-1], pictures[-1] is None
    if missing and len(panes) > 2:
        # Two empty pictures would not even say where they are.
        panes, pictures = [whole, whole], [None, None]
    overview = tag(
        "div",
        drawing(scene, whole.region, pictures[-1], looks=True, label="The whole screenshot"),
        tag("span", "no screenshot", class_="quiet") if missing else "",
        class_="overview",
    )
    return card(
        _zoomed(case, scene, panes[:-1], pictures[:-1]),
        tag("div", overview, about, class_="about"),
        _more(case),
    )


def words(name: str) -> str:
    """A name of the data for people: `wrong_element` is a wrong element."""
    return name.replace("_", " ")


def _zoomed(
    case: Shown, scene: Scene, panes: Sequence[Pane], pictures: Sequence[Markup | None]
) -> Markup:
    figures = []
    for pane, picture in zip(panes, pictures, strict=True):
        label = f"{pane.label or 'Target and click'}: {words(case.outcome)}"
        view = drawing(scene, pane.region, picture, looks=False, label=label)
        caption = tag("figcaption", pane.label) if pane.label else ""
        figures.append(tag("figure", view, caption))
    return tag("div", *figures, class_=f"zoomed of-{len(figures)}")


def _verdict(case: Shown) -> Markup:
    scores = case.record.scores
    colour = "good" if case.right else "warn" if case.badness < 0 else "bad"
    facts = []
    if distance := scores.get("distance_px"):
        facts.append(f"{_pixels(distance)} from the target")
    if case.outcome == "wrong_element":
        facts.append(f"on {_shortened(str(case.details.get('hit_element')), 60)}")
    if "detected" in scores:
        facts.append(f"{'detected' if scores['detected'] else 'not detected'} by its own rule")
    badge = tag("span", words(case.outcome), class_=f"badge {colour}")
    return tag("p", badge, " · ".join(facts), class_="verdict")


def _instruction(case: Shown) -> Markup:
    text = case.details.get("instruction")
    if text is None:
        return tag("p", "The case could not be loaded.", class_="instruction quiet")
    return tag("p", _shortened(str(text), _LONGEST_INSTRUCTION), class_="instruction", dir="auto")


def _facts(case: Shown, run: Markup | None) -> Markup:
    details = case.details
    refusal = (details.get("truth") or {}).get("refusal")
    about = [case.record.id]
    if refusal:
        about.append("not on the screenshot")
    elif details.get("element_type"):
        about += [words(str(details["element_type"])), case.size or ""]
    about += [f"{words(str(name))}: {value}" for name, value in details.get("tags", {}).items()]
    text = tag("p", " · ".join(_shortened(one, 80) for one in about if one), class_="small quiet")
    return text if run is None else joined(tag("p", run, class_="small"), text)


def _more(case: Shown) -> Markup:
    """What is only read when a case is strange: the error, the numbers, the raw answers."""
    rows = [
        joined(tag("dt", name), tag("dd", value, dir="auto"))
        for name, value in _details(case)
        if value
    ]
    if not rows:
        return Markup("")
    return tag("details", tag("summary", "Answer"), tag("dl", *rows))


def _details(case: Shown) -> Iterator[tuple[str, str]]:
    record, details = case.record, case.details
    if record.error is not None:
        yield (
            "Error",
            f"{record.error.code} ({record.error.stage}): {_answer(record.error.message)}",
        )
        yield "Remedy", _answer(record.error.remedy)
    answer = details.get("answer") or {}
    click = answer.get("click")
    if click and None not in click:
        x, y = click[0] * details["width"], click[1] * details["height"]
        yield "Click", f"{x:,.0f}, {y:,.0f} px of {details['width']} × {details['height']}"
    yield "Confidence", _number(answer.get("confidence"))
    yield "IoU", _number(record.scores.get("iou"))
    yield "Target text", _answer(str((details.get("truth") or {}).get("text") or ""))
    finding = details.get("assisted") or {}
    yield "Matched", _answer(str(finding.get("matched_text") or ""))
    for error in (finding.get("region_errors") or ())[:_MOST_ANSWERS]:
        yield "Look failed", _answer(str(error))
    looks = details.get("looks") or ()
    if len(looks) > 1:
        yield "Looks", str(len(looks))
    said = [str(look["raw"]) for look in looks if look.get("raw")]
    for raw in said[:_MOST_ANSWERS]:
        yield "Said", _answer(raw)
    if len(said) > _MOST_ANSWERS:
        yield "And", f"{len(said) - _MOST_ANSWERS} answers more"
    for note in (details.get("notes") or ())[:_MOST_ANSWERS]:
        yield "Note", _answer(str(note))


def _answer(text: str) -> str:
    return _shortened(text, _LONGEST_ANSWER)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _pixels(distance: float) -> str:
    return f"{distance:.1f} px" if distance < 10 else f"{distance:,.0f} px"


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, (int, float)) and isfinite(value) else ""
