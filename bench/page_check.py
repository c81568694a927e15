"""Does the check without a reference rank pages above broken copies of themselves?

    python bench/page_check.py FOLDER... [--half tune|test] [--pages 40] [--json out.json]

Each page below the folders is broken in several ways (`FAULTS`), and both are checked. Pages are
divided by the digest of their content: what was looked at while the check was made is `tune`, and
figures that are published come from `test`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from uiproof.browser import PageSource, Renderer
from uiproof.errors import UiproofError
from uiproof.page_check import PageCheck, check_source
from uiproof.web import FrozenWeb

LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor."


def before_end(html: str, extra: str) -> str:
    at = html.lower().rfind("</body>")
    return html + extra if at < 0 else html[:at] + extra + html[at:]


def script_error(html: str) -> str:
    return before_end(html, "<script>document.getElementById('no-such-id').value = 1;</script>")


def syntax_error(html: str) -> str:
    return before_end(html, "<script>function init( { return 1; }</script>")


def removed_css(html: str) -> str:
    html = re.sub(r"<style\b.*?</style>", "", html, flags=re.DOTALL | re.IGNORECASE)
    html = re.sub(r"<link\b[^>]*stylesheet[^>]*>", "", html, flags=re.IGNORECASE)
    html = re.sub(r"<script\b[^>]*tailwind[^>]*>\s*</script>", "", html, flags=re.IGNORECASE)
    return re.sub(r"""\sstyle\s*=\s*("[^"]*"|'[^']*')""", "", html)


def overflow(html: str) -> str:
    return before_end(html, '<div style="width:1900px;background:#ddd">A very wide block</div>')


def white_text(html: str) -> str:
    rule = "<style>body, body * { color: #fff !important; -webkit-text-fill-color: #fff !important;"
    return before_end(html, f"{rule} background: #fff !important }}</style>")


def faint_text(html: str) -> str:
    rule = "body * { color: #ccc !important; background-color: #fff !important }"
    return before_end(html, f"<style>{rule}</style>")


def dead_controls(html: str) -> str:
    if not re.search(r"<script|\son\w+=", html, re.IGNORECASE):
        return html
    dead = (
        "for (const kind of ['click','mousedown','mouseup','pointerdown','input','change','submit',"
    )
    dead += (
        "'keydown','keyup']) window.addEventListener(kind, (e) => { e.stopImmediatePropagation();"
    )
    dead += "e.preventDefault() }, true)"
    return re.sub(r"(<head\b[^>]*>)|^", rf"\1<script>{dead}</script>", html, count=1, flags=re.I)


def blank(html: str) -> str:
    return re.sub(r"(<body\b[^>]*>).*", r"\1</body></html>", html, flags=re.DOTALL | re.IGNORECASE)


def hidden(html: str) -> str:
    return before_end(html, "<style>body { display: none !important }</style>")


def black_layer(html: str) -> str:
    style = "position:fixed;inset:0;background:#000;z-index:2147483647"
    return before_end(html, f'<div style="{style}"></div>')


def placeholders(html: str) -> str:
    return re.sub(
        r"(<(p|h1|h2|h3|li|td)\b[^>]*>)[^<]{8,}", rf"\1{LOREM}", html, flags=re.IGNORECASE
    )


def template(html: str) -> str:
    return re.sub(
        r"(<(h1|h2|h3|a|button)\b[^>]*>)[^<]{3,}", r"\1{{ item.title }}", html, flags=re.I
    )


def repeated(html: str) -> str:
    visible = re.sub(
        r"<(script|style|template)\b.*?</\1>|<!--.*?-->", "", html, flags=re.DOTALL | re.I
    )
    found = re.findall(
        r"<(?:p|li|h2|h3|td|a)\b[^>]*>[^<{]{25,}</(?:p|li|h2|h3|td|a)>", visible, re.I
    )
    texts = [" ".join(re.sub(r"<[^>]*>", "", one).split()) for one in found]
    long = [text for text in texts if len(text) >= 25]
    return before_end(html, f"<p>{long[-1]}</p>" * 25) if long else html


def unnamed(html: str) -> str:
    icon = '<button><svg width="20" height="20"><circle cx="10" cy="10" r="9"/></svg></button>'
    html = re.sub(r"""\s(?:aria-label|alt|title|placeholder)\s*=\s*("[^"]*"|'[^']*')""", "", html)
    return re.sub(r"<button\b[^>]*>.*?</button>", icon, html, flags=re.DOTALL | re.IGNORECASE)


FAULTS: dict[str, Callable[[str], str]] = {
    one.__name__: one
    for one in (
        *(script_error, syntax_error, removed_css, overflow, white_text, faint_text),
        *(dead_controls, blank, hidden, black_layer, placeholders, template, repeated, unnamed),
    )
}


def half_of(html: str) -> str:
    return "test" if hashlib.sha256(html.encode()).digest()[0] % 2 else "tune"


def chosen_faults(html: str, most: int) -> list[str]:
    """Return faults that change the page, in an order that its digest decides."""
    order = sorted(FAULTS, key=lambda name: hashlib.sha256((name + html).encode()).digest())
    return [name for name in order if FAULTS[name](html) != html][:most]


def auc(better: list[float], worse: list[float]) -> float:
    pairs = [(a > b) + 0.5 * (a == b) for a in better for b in worse]
    return fmean(pairs)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--half", choices=("tune", "test"), default="tune")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument(
        "--faults", type=int, default=len(FAULTS), help="of each page, by its digest"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pages = []
    for folder in options.folders:
        found = [(one, PageSource.from_file(one)) for one in sorted(folder.rglob("*.html"))]
        kept = [one for one in found if half_of(one[1].text) == options.half]
        pages += kept[: options.pages]
    rows, reals, blank = [], [], 0
    wins: defaultdict[str, list[float]] = defaultdict(list)
    scores: defaultdict[str, list[float]] = defaultdict(list)
    with Renderer(web=FrozenWeb.installed(None)) as renderer:

        def checked(source: PageSource) -> PageCheck | None:
            try:
                return check_source(renderer, source)
            except UiproofError as error:
                print(f"  {error}")
                return None

        for path, source in pages:
            real = checked(source)
            if real is None or real.score == 0:  # nothing can be worse than what shows nothing
                blank += 1
                continue
            reals.append(real.score)
            rows.append({"page": str(path), "fault": "", **real.as_json()})
            for name in chosen_faults(source.text, options.faults):
                html = FAULTS[name](source.text)
                broken = checked(source.with_text(html))
                score = 0.0 if broken is None else broken.score
                wins[name].append((real.score > score) + 0.5 * (real.score == score))
                scores[name].append(score)
                if broken is not None:
                    rows.append({"page": str(path), "fault": name, **broken.as_json()})
            print(
                f"{real.score:.3f} {real.seconds:5.1f} s  {path.parent.name}/{path.name}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows))
    print(
        f"\n{len(reals)} pages, mean {fmean(reals):.3f}; {blank} others show nothing themselves\n"
    )
    print(f"{'fault':<14} {'n':>4} {'mean':>6} {'own':>6} {'all':>6}   (AUC)")
    for name, own in wins.items():
        row = f"{name:<14} {len(own):>4} {fmean(scores[name]):>6.3f} {fmean(own):>6.3f}"
        print(f"{row} {auc(reals, scores[name]):>6.3f}")
    every = [score for some in scores.values() for score in some]
    own = [win for some in wins.values() for win in some]
    row = f"{'together':<14} {len(own):>4} {fmean(every):>6.3f} {fmean(own):>6.3f}"
    print(f"{row} {auc(reals, every):>6.3f}")


if __name__ == "__main__":
    main()
