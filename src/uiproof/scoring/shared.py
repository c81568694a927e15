"""One scorer for a whole program, made when the first page is scored."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from uiproof.engine.types import Record
from uiproof.scoring.references import Generated, Page
from uiproof.scoring.scorer import Pair, Scorer

_lock = threading.Lock()
_shared: dict[int, Scorer] = {}  # by process: a fork has no threads, so it needs one of its own


def score_page(reference: Page, generated: Generated) -> dict[str, Any]:
    """Score a generated page against a reference page.

        uiproof.score_page("<h1>Hello</h1>", "<h1>Hallo</h1>")["strict"]["text"]
        uiproof.score_page(Path("reference/1.html"), Path("generated/1.html"))

    A `str` is HTML, a `Path` is a file. The browser stays warm for the next call and ends with
    Python; references that come again are not rendered again. May be called from several threads,
    which score at the same time. `Scorer` says how many workers there are.
    """
    return _scorer().score(reference, generated)


async def score_page_async(reference: Page, generated: Generated) -> dict[str, Any]:
    """The same as `score_page`, awaited.

    await asyncio.gather(*(uiproof.score_page_async(reference, page) for page in pages))
    """
    return await _scorer().score_async(reference, generated)


def score_pages(pairs: Iterable[Pair]) -> list[Record]:
    """Score many pairs of a reference and a generated page at once, in their order.

        for record in uiproof.score_pages([(reference, page) for page in pages]):
            record.status, record.scores["paper"]["text"], record.error

    What is wrong with one pair is in its record; see `Scorer.score_many`.
    """
    return _scorer().score_many(pairs)


def _scorer() -> Scorer:
    with _lock:
        if os.getpid() not in _shared:
            _shared[os.getpid()] = Scorer()
        return _shared[os.getpid()]
