"""Flags of cases in words, for people who do not know their names."""

from __future__ import annotations

_SIDES = {
    "generated": "the generated page",
    "reference": "the reference",
    "answer": "the answer",
    "method": "the method",
}
# What is said of the page or answer; docs/rendering.md says more.
_WORDS = {
    "act_refused": "has an element that could not be acted on",
    "boxes_skipped": "has boxes that are not valid, which were ignored",
    "load_timeout": "never finished loading",
    "no_visible_change": "does not change when it is acted on",
    "restless": "never came to rest",
    "fenced": "was in a Markdown fence, and was taken out",
    "unfenced": "was in a Markdown fence, JSON or thoughts, and was taken out",
    "picture_scaled": "is about a screenshot that was scaled for the model",
    "unsure": "has a verdict that is not sure",
    "cut_height": "is taller than the limit, and was cut",
    "cut_width": "is wider than the limit, and was cut",
    "requests_blocked": "asked for files of other hosts and did not get them",
    "incomplete": "lacks a style sheet or script of another host",
    "fonts_missing": "lacks a font of another host",
    "integrity_mismatch": "names a file of another host that has changed",
    "script_errors": "has scripts that failed",
    "files_missing": "asked for files that its folder does not have",
    "navigation_blocked": "tried to become another page",
    "left_document": "became another page; it was shown without scripts",
    "crashed": "crashed the browser; it was shown without scripts",
    "timeout": "hung the browser; it was shown without scripts",
    "scripts_off": "was shown without scripts",
    "busy": "never came to rest",
    "missing_glyphs": "has text that no font here can show",
    "cleaned": "had markup that was cut or repaired before the comparison",
    "not_html": "is not HTML",
    "text_cut": "has more text than can be measured",
    "truncated": "was cut off by the limit of tokens",
    "several_pages": "has several pages, of which the longest was taken",
    "unterminated": "ends before the page does",
    "fragment": "is a fragment of a page",
    "component": "is a component that a page was made of",
    "declined": "declines the question",
}
HARMLESS = frozenset({"answer:fenced", "answer:wrapped", "answer:json", "generated:unfenced"})


def meaning(name: str) -> str:
    """Return what a flag says of a page, without its subject; an unknown one by its name."""
    return _WORDS.get(name, name.replace("_", " "))


def flag_words(flag: str) -> str:
    """Return a flag such as `generated:load_timeout` as a sentence without its full stop."""
    side, _, name = flag.rpartition(":")
    said = meaning(name)
    if not side:
        return f"the page {said}" if name in _WORDS else said
    subject = _SIDES.get(side, side.replace("_", " "))
    return f"{subject} {said}" if name in _WORDS else f"{subject}: {said}"
