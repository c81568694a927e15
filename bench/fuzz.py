"""Feed hostile text to every reader of what models wrote: nothing but our own errors may come out.

    python bench/fuzz.py --minutes 60 --out findings/

Uses atheris (`pip install atheris`), which is guided by the lines that a text reaches. Without it
texts are mutated at random. The first byte of an input chooses the reader. Anything but a
`UiproofError` is a finding, and so is a text that takes more than `--slow` seconds of CPU time:
both are written to `--out` once for each reader and place, and the fuzzing goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NoReturn

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(include=["uiproof"]) if atheris else nullcontext():
    from uiproof.benchmarks.design2code.blocks import TextBlock
    from uiproof.benchmarks.design2code.cleanup import clean_generated
    from uiproof.benchmarks.design2code.matching import TextSimilarity, match_blocks
    from uiproof.benchmarks.grounding import omniparser
    from uiproof.benchmarks.grounding.annotation import read_boxes
    from uiproof.benchmarks.grounding.cases import PROTOCOLS
    from uiproof.benchmarks.grounding.coordinates import parse_contract
    from uiproof.benchmarks.grounding.ocr import understand
    from uiproof.benchmarks.grounding.parsing import locate, parse
    from uiproof.benchmarks.grounding.predictions import read_predictions
    from uiproof.benchmarks.grounding.screenseeker import ModelPlanner
    from uiproof.benchmarks.interaction2code.actions import named_in, read_action
    from uiproof.benchmarks.interaction2code.analyses.labels import (
        read_comparisons,
        read_failures,
    )
    from uiproof.benchmarks.interaction2code.graph import read_graph
    from uiproof.benchmarks.interaction2code.opinion import opinion_in
    from uiproof.benchmarks.page_files import generated_page
    from uiproof.browser.input import parse_keys, parse_offset
    from uiproof.browser.source import PageSource, keep_page
    from uiproof.browser.stage import EventLog
    from uiproof.browser.tab import is_active
    from uiproof.errors import UiproofError
    from uiproof.geometry import Box
    from uiproof.integrations.mcp import Workshop, window_size
    from uiproof.models.answers import page_in
    from uiproof.models.tokens import text_tokens
    from uiproof.models.types import Finish, Reply
    from uiproof.prompts import prompt_file
    from uiproof.redaction import redact
    from uiproof.rewards.completions import answer_in, reference_in
    from uiproof.studio.label_bundle import _read_bundle as read_bundle
    from uiproof.submissions.checking import problems_of
    from uiproof.submissions.model import read_json
    from uiproof.web.archive import Archive, asked_by_css, asked_by_page, asked_by_script

MANY = "<p>x</p>" * 60  # elements are counted only in pages with more than fifty of them
LONGEST = 4_096  # bytes of one input
_PIECES = """<![foo]> <![ <![CDATA[ ]]> <!-- --> --!> <? <!doctype <html <html> </html> <p> </p>
    <br/> </ <script> </script> <style> <textarea> <a&b='" &#x110000; &#; &nbsp ```html ``` ~~~
    <think> </think> {"html":" "} {"a": [[ [1,2] (1,2) <point>1 click(start_box='(1,2)') x=1,y=
    1e999 99% {"bbox":[0,0,1,1]} {"element":3} "usable":true src=// url( http://[ %00 type key
    {"1":{"src":"0","dst":"1","action":"click","trigger":[0,0,1,1]}} <meta charset= utf-7 \\ud800
    drag by1,2px press,label,usable {"kind":"task","format": {"runs":[{"cases":[ null NaN -0
    <link href=" ../ %2e%2e/ file:/// .css data:, \\u0000 &quot; &lt; ENTER Control+A 50%,50%"""
PIECES = _PIECES.split()

Reader = Callable[[bytes], object]


def readers(folder: Path) -> dict[str, Reader]:
    """Return all readers by name; each takes any bytes."""
    page, kept = folder / "page", folder / "kept"
    for one in (page, kept, folder / "assets"):
        one.mkdir(exist_ok=True)
    (folder / "assets" / "style.css").write_text("p {}")
    contracts = [
        parse_contract(one)
        for one in ("thousand,xy,point", "unit,yx,box", "resized", "pixels", "percent")
    ]
    log = EventLog(SimpleNamespace(short=lambda text: text[:10], navigations=[]))  # type: ignore[arg-type]
    workshop = Workshop([folder / "assets"])
    similarity = TextSimilarity()
    similarity_box = Box(0.1, 0.1, 0.2, 0.1)

    def text_of(data: bytes) -> str:
        # Lone surrogates come from JSON that models write.
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "replace")

    def halves(data: bytes) -> tuple[str, str]:
        text = text_of(data)
        return text[: len(text) // 2], text[len(text) // 2 :]

    def clean(data: bytes) -> None:
        ours, theirs = halves(data)
        clean_generated(MANY + ours, MANY + theirs)
        clean_generated(ours, theirs)

    def answer(data: bytes) -> None:
        for finish in Finish:
            with suppress(UiproofError):
                page_in(Reply(text=text_of(data), finish=finish))

    def place(data: bytes) -> None:
        found = parse(text_of(data))
        for contract in contracts:
            locate(found, contract, 1280, 720)

    def elements(data: bytes) -> None:
        for protocol in PROTOCOLS:
            with suppress(UiproofError):
                omniparser._read(Reply(text=text_of(data), finish=Finish.STOP), protocol)
        omniparser._number_in(text_of(data))

    def plan(data: bytes) -> None:
        planner = ModelPlanner(SimpleNamespace(settings={}))  # type: ignore[arg-type]

        async def ask(*_: Any) -> str:
            return text_of(data)

        planner._ask = ask  # type: ignore[assignment,method-assign]
        picture: Any = SimpleNamespace(png=lambda: b"")
        asyncio.run(planner.plan(picture, "the button", None))  # type: ignore[arg-type]

    def sentence(data: bytes) -> None:
        text = text_of(data)
        read_action({"action": text, "tag type": [text]})
        named_in(text)
        understand(text)
        parse_offset(text, (100.0, 50.0))
        parse_keys(text)

    def graph(data: bytes) -> None:
        (page / "action.json").write_bytes(data)
        read_graph(page)

    def source(data: bytes) -> None:
        found = generated_page(PageSource.from_bytes(data))
        is_active(found)
        clean_generated(found.text)
        keep_page(PageSource.from_html(found.text, folder=folder / "assets"), kept / "page.html")

    def address(data: bytes) -> None:
        PageSource.from_html("<p>", folder=folder / "assets").own_file(text_of(data))

    def similar(data: bytes) -> None:
        ours, theirs = (
            [TextBlock(one, similarity_box, (0.0, 0.0, 0.0)) for one in half.split("\n")[:8]]
            for half in halves(data)
        )
        match_blocks(ours, theirs, similarity)

    def file(name: str, *read: Callable[[Path], object]) -> Reader:
        def reader(data: bytes) -> None:
            path = folder / name
            path.write_bytes(data)
            for one in read:
                with suppress(UiproofError):
                    one(path)

        return reader

    def archive(path: Path) -> None:
        found = Archive.open(path)
        for url in list(found.index.entries)[:3]:
            found.read(url)

    def archive_index(data: bytes) -> None:
        (page / "index.json").write_bytes(data)
        archive(page)

    def asked(data: bytes) -> None:
        asked_by_page(data, "https://example.com/")
        asked_by_css(text_of(data))
        asked_by_script(text_of(data))

    def completion(data: bytes) -> None:
        text, prompt = halves(data)
        answer_in(text, prompt)
        reference_in(text)
        with suppress(ValueError, RecursionError):
            answer_in(json.loads(data))

    def tool(data: bytes) -> None:
        name, size = halves(data)
        with suppress(UiproofError):
            workshop.file(name, (".html",))
        window_size(size)

    def boxes(data: bytes) -> None:
        with suppress(ValueError, RecursionError):  # of this JSON, which the studio refuses itself
            content = json.loads(data)
            read_boxes(content, (100, 100))

    return {
        "clean-up": clean,
        "answer": answer,
        "place": place,
        "omniparser": elements,
        "planner": plan,
        "opinion": lambda data: opinion_in(text_of(data)),
        "sentence": sentence,
        "graph": graph,
        "page source": source,
        "address": address,
        "predictions.json": file("any.json", read_predictions),
        "predictions.csv": file("any.csv", read_predictions),
        "submission": file("submission.json", lambda path: problems_of(read_json(path))),
        "failure labels": file("failures.csv", read_failures, read_comparisons),
        "failure sheets": file("failures.json", read_failures, read_comparisons),
        "label bundle": file("labels.jsonl", read_bundle),
        "boxes": boxes,
        "record": lambda data: (log.add_record(text_of(data)), log.take({})),
        "tokens": lambda data: text_tokens(text_of(data)),
        "redaction": lambda data: redact({"url": text_of(data), "more": [text_of(data)]}),
        "matching": similar,
        "archive": file("archive.zip", archive),
        "archive index": archive_index,
        "asked by pages": asked,
        "completion": completion,
        "prompt": file("prompt.md", lambda path: prompt_file(str(path), (), {})),
        "tool": tool,
    }


class Fuzzer:
    """Runs one input after the other and keeps what went wrong."""

    def __init__(self, known: Mapping[str, Reader], out: Path | None, slow: float) -> None:
        self.executions: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self._names, self._known = list(known), known
        self._out, self._slow = out, slow

    def run(self, data: bytes) -> None:
        """Run one input."""
        if not data:
            return
        name = self._names[data[0] % len(self._names)]
        self.executions[name] += 1
        began = time.process_time()
        try:
            self._known[name](data[1:])
        except UiproofError:
            pass
        except Exception as error:  # noqa: BLE001 - all of them are findings
            self._note(name, error, data)
        if time.process_time() - began > self._slow:
            self._note(name, TimeoutError("slow"), data)

    @property
    def readers(self) -> int:
        """Return how many readers there are."""
        return len(self._names)

    def report(self) -> str:
        """Return counts of executions and findings."""
        lines = [f"{name}: {count:,}" for name, count in self.executions.most_common()]
        lines.append(f"{sum(self.executions.values()):,} executions, {len(self.findings)} findings")
        return "\n".join([*lines, *map(str, self.findings.most_common())])

    def _note(self, name: str, error: Exception, data: bytes) -> None:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if "uiproof" in frame.filename and "bench" not in frame.filename
        ]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        key = f"{name} {type(error).__name__} {where}"
        self.findings[key] += 1
        if self.findings[key] == 1:
            print(f"finding: {key}: {error} in {data[1:200]!r}", file=sys.stderr, flush=True)
            if self._out is not None:
                self._out.mkdir(parents=True, exist_ok=True)
                (self._out / f"{len(self.findings)}.bin").write_bytes(data)
                (self._out / f"{len(self.findings)}.txt").write_text(
                    f"{key}\n{''.join(traceback.format_exception(error))}"
                )


def mutate(chance: random.Random, corpus: list[bytes]) -> bytes:
    """Return a mixture of known pieces, parts of earlier inputs and any bytes."""
    parts = [bytes([chance.randrange(256)])]
    for _ in range(chance.randrange(1, 30)):
        kind = chance.random()
        if kind < 0.5:
            parts.append(chance.choice(PIECES).encode())
        elif kind < 0.8 and corpus:
            known = chance.choice(corpus)
            start = chance.randrange(len(known) + 1)
            parts.append(known[start : start + chance.randrange(80)])
        else:
            parts.append(chance.randbytes(chance.randrange(6)))
    return b"".join(parts)[:LONGEST]


def main() -> None:
    """Parse, fuzz, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder of files to begin with")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--slow", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known = [one.encode() for one in PIECES]
    files = sorted(options.corpus.rglob("*")) if options.corpus else []
    known += [file.read_bytes()[: LONGEST - 1] for file in files if file.is_file()]
    with TemporaryDirectory() as name:
        folder = Path(name)
        fuzzer = Fuzzer(readers(folder), options.out, options.slow)
        until = time.monotonic() + 60 * options.minutes
        if atheris:
            _run_atheris(fuzzer, folder, known, until, options.seed)
        chance = random.Random(options.seed)
        while time.monotonic() < until:
            fuzzer.run(mutate(chance, known))
        print(fuzzer.report())
    sys.exit(1 if fuzzer.findings else 0)


def _run_atheris(
    fuzzer: Fuzzer, folder: Path, known: list[bytes], until: float, seed: int
) -> NoReturn:
    words, corpus = folder / "words.dict", folder / "corpus"
    quoted = (one.replace("\\", "\\\\").replace('"', '\\"') for one in PIECES)
    words.write_text("".join(f'"{one}"\n' for one in quoted))
    corpus.mkdir()
    for number in range(fuzzer.readers):
        for at, one in enumerate(known):
            (corpus / f"{number}-{at}").write_bytes(bytes([number]) + one)

    def run(data: bytes) -> None:
        if time.monotonic() > until:
            # The engine has no way back: nothing after it would run.
            print(fuzzer.report(), flush=True)
            rmtree(folder, ignore_errors=True)
            os._exit(1 if fuzzer.findings else 0)
        fuzzer.run(data)

    limits = (f"-max_len={LONGEST}", "-len_control=0", "-timeout=120", "-rss_limit_mb=0")
    atheris.Setup([sys.argv[0], *limits, f"-dict={words}", f"-seed={seed}", str(corpus)], run)
    atheris.Fuzz()
    raise AssertionError("unreachable")


if __name__ == "__main__":
    main()
