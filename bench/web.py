"""Processor seconds of pages that load libraries from elsewhere, answered from the frozen web.

    python bench/web.py                       with the installed set (`uiproof web get`)
    python bench/web.py --rounds 10 --json web.json

Four pages with the same content, in one run, browser and driver together: with plain CSS and no
scripts, with plain CSS and a script, with Tailwind Play, and with React, Babel and Tailwind. Each
is rendered and measured as the judge of design2code does it. The first two load nothing from
elsewhere and are measured with and without the web.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cpu import Clocks, adopt_orphans, spent_so_far
from uiproof.benchmarks.design2code.pages import measure as judged
from uiproof.benchmarks.design2code.pages import photograph
from uiproof.browser import PageSource, Renderer
from uiproof.web import FrozenWeb

REACT_SECONDS = 2.5  # at most, for a page with React, Babel and Tailwind
TAILWIND_RATIO = 1.5  # at most, against the same page with plain CSS and a script
OWN_RATIO = 1.1  # at most, of pages without foreign addresses, with against without the web

CARDS = 24
_IN_A_ROW = 4
_PLAIN = """
body{margin:0;font-family:sans-serif;background:#f8fafc;color:#0f172a}
header{display:flex;justify-content:space-between;padding:16px 32px;background:#1e3a8a;color:#fff}
main{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:24px;padding:32px}
article{background:#fff;border-radius:8px;padding:24px;box-shadow:0 1px 3px rgba(0,0,0,.1)}
h2{font-size:18px;margin:0 0 8px}p{font-size:14px;line-height:20px;margin:0;color:#475569}
"""
_CLASSES = {
    "header": "flex justify-between px-8 py-4 bg-blue-900 text-white",
    "main": "grid grid-cols-3 gap-6 p-8",
    "article": "bg-white rounded-lg p-6 shadow",
    "h2": "text-lg mb-2",
    "p": "text-sm leading-5 text-slate-600",
}
_TAILWIND = '<script src="https://cdn.tailwindcss.com"></script>'
_REACT = "".join(
    f'<script src="https://unpkg.com/{path}"></script>'
    for path in (
        "react@18/umd/react.development.js",
        "react-dom@18/umd/react-dom.development.js",
        "@babel/standalone/babel.min.js",
    )
)
_TEXT = "Tickets for this walk are sold at the harbour, one hour before the boat leaves."


def pages() -> dict[str, str]:
    """Return the pages by name."""
    plain = _body({})
    styled = _body(_CLASSES)
    react = f"""<div id=root></div><script type="text/babel">
const Card = ({{ n }}) => (<article className="{_CLASSES["article"]}">
  <h2 className="{_CLASSES["h2"]}">Walk {{n}}</h2>
  <p className="{_CLASSES["p"]}">{_TEXT}</p></article>);
const App = () => {{
  const [cards] = React.useState(Array.from({{ length: {CARDS} }}, (_, n) => n));
  return (<div><header className="{_CLASSES["header"]}"><b>Harbour</b><span>Walks</span></header>
    <main className="{_CLASSES["main"]}">
      {{cards.map((n) => <Card key={{n}} n={{n}} />)}}
    </main></div>);
}};
ReactDOM.createRoot(document.getElementById("root")).render(<App />);
</script>"""
    return {
        "plain": f"<!DOCTYPE html><meta charset=utf-8><style>{_PLAIN}</style>{plain}",
        "scripted": f"<!DOCTYPE html><meta charset=utf-8><style>{_PLAIN}</style>{plain}"
        "<script>document.title = 'Walks'</script>",
        "tailwind": f"<!DOCTYPE html><meta charset=utf-8>{_TAILWIND}{styled}",
        "react": f"<!DOCTYPE html><meta charset=utf-8>{_TAILWIND}{_REACT}{react}",
    }


def _body(classes: dict[str, str]) -> str:
    def tag(name: str, content: str) -> str:
        chosen = f' class="{classes[name]}"' if name in classes else ""
        return f"<{name}{chosen}>{content}</{name}>"

    cards = "".join(tag("article", tag("h2", f"Walk {n}") + tag("p", _TEXT)) for n in range(CARDS))
    return tag("header", "<b>Harbour</b><span>Walks</span>") + tag("main", cards)


def measure(web: FrozenWeb, rounds: int) -> dict[str, float]:
    """Return the processor seconds of each page; `without …` is without the web.

    The least of all rounds: other work on the machine only ever adds to it. A round shows a page
    several times, since a closed tab ends some time after.
    """
    clocks = Clocks()
    made = {name: PageSource.from_html(html) for name, html in pages().items()}
    spent: dict[str, list[float]] = {}
    pictures: dict[str, set[bytes]] = {}
    with Renderer(web=web) as renderer, Renderer() as bare:
        jobs = [(name, renderer, name) for name in made]
        jobs += [(f"without {name}", bare, name) for name in ("plain", "scripted")]
        for round_ in range(rounds + 1):
            for label, browser, name in jobs:
                before = spent_so_far(clocks).total
                for _ in range(_IN_A_ROW):
                    view = judged(photograph(browser, made[name]))
                    pictures.setdefault(name, set()).add(view.png)
                    if missing := view.web.get("missing"):
                        sys.exit(f"{name}: no copy of {missing[0][1]}. Run `uiproof web get`.")
                if round_:  # the first one starts the browsers
                    took = (spent_so_far(clocks).total - before) / _IN_A_ROW
                    spent.setdefault(label, []).append(took)
    for name, seen in pictures.items():
        if len(seen) > 1:
            sys.exit(f"{name}: {len(seen)} different pictures.")
    return {name: min(seconds) for name, seconds in spent.items()}


def main() -> None:
    """Measure, print, and exit with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    adopt_orphans()
    seconds = measure(FrozenWeb.installed(), options.rounds)
    ratios = {
        "react, seconds": (seconds["react"], REACT_SECONDS),
        "tailwind / plain CSS with a script": (
            seconds["tailwind"] / seconds["scripted"],
            TAILWIND_RATIO,
        ),
        "plain, with / without the web": (seconds["plain"] / seconds["without plain"], OWN_RATIO),
        "scripted, with / without the web": (
            seconds["scripted"] / seconds["without scripted"],
            OWN_RATIO,
        ),
    }
    for name, value in seconds.items():
        print(f"{name:<40}{value:8.3f} s")
    for name, (value, most) in ratios.items():
        print(f"{name:<40}{value:8.2f}   at most {most}{'' if value <= most else '   TOO MUCH'}")
    if options.json:
        found = {"seconds": seconds, "ratios": {name: one for name, (one, _) in ratios.items()}}
        options.json.write_text(json.dumps(found, indent=2))
    sys.exit(any(value > most for value, most in ratios.values()))


if __name__ == "__main__":
    main()
