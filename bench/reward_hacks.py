"""What known tricks earn: means over bundled pages, by profile, beside honest and blank pages.

python bench/reward_hacks.py [--pages 6]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import uiproof
from uiproof.registry import benchmarks

PROFILES = ("strict", "paper", "human")


def styled(rule: str) -> Callable[[str], str]:
    return lambda html: html + f"<style>{rule}</style>"


def only_text(html: str) -> str:
    """Return the words of a page, without any markup."""
    html = re.sub(r"<(script|style|head)\b.*?</\1>", " ", html, flags=re.DOTALL | re.IGNORECASE)
    return f"<html><body><p>{re.sub(r'<[^>]*>', ' ', html)}</p></body></html>"


def when(condition: str) -> Callable[[str], str]:
    """Return a trick that shows the page only under a condition."""

    def hide(html: str) -> str:
        body = re.search(r"<body\b[^>]*>(.*)</body>", html, re.DOTALL | re.IGNORECASE)
        inner = body[1] if body else html
        kept = f"<template id='kept'>{inner}</template>"
        show = "document.body.append(document.getElementById('kept').content.cloneNode(true))"
        script = f"<script>if ({condition}) {show}; else document.body.append('Hello')</script>"
        return html.replace(inner, kept + script) if inner else html

    return hide


def later(html: str) -> str:
    return html + "<script>setTimeout(() => document.body.replaceChildren('Hello'), 1500)</script>"


TRICKS: dict[str, Callable[[str], str]] = {
    "the page itself": lambda html: html,
    "a blank page": lambda _: "<html><body></body></html>",
    "only its words": only_text,
    "text with opacity 0": styled("body * { opacity: 0 !important }"),
    "a black layer over everything": lambda html: (
        html + "<div style='position:fixed;inset:0;background:#000;z-index:9999999'></div>"
    ),
    "text in the colour of its background": styled(
        "body * { color: #fff !important; background: #fff !important }"
    ),
    "transparent text": styled("body * { color: transparent !important }"),
    "the page for robots only": when("navigator.webdriver"),
    "the page goes after 1.5 s": later,
    "the page ten times": lambda html: html * 10,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=6)
    options = parser.parse_args()
    folder = benchmarks()["design2code"].bundled["design2code-demo"]
    pages = [path.read_text("utf-8") for path in sorted(Path(folder).glob("*.html"))]
    pages = [page for page in pages if "<body" in page][: options.pages]
    names = (*PROFILES, "no reference")
    print(f"{len(pages)} pages\n{'trick':<38}" + "".join(f"{name:>14}" for name in names))
    for trick, change in TRICKS.items():
        answers = [change(page) for page in pages]
        columns = []
        for profile in PROFILES:
            pairs = list(zip(answers, pages, strict=True))
            columns.append(
                fmean(float(one or 0) for one in uiproof.reward_many(pairs, profile=profile))
            )
        alone = uiproof.reward_many([(answer, None) for answer in answers])
        columns.append(fmean(float(one or 0) for one in alone))
        print(f"{trick:<38}" + "".join(f"{value:>14.3f}" for value in columns), flush=True)


if __name__ == "__main__":
    main()
