"""Ways to look for an element with more than one look, none of which ever sees the truth.

search = make_search("screenseeker:openai/gpt-4o", connect)
answer = await search.find(picture, "Save the file", grounder, context)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.searches.base import Search
    from uiproof.models.chat import ChatModel

SEARCHES: Mapping[str, str] = {
    "none": "one look at the whole screenshot (1 call)",
    "fixed": "then squares of 200, 300 and 500 px around the first guess, and a vote (4 calls)",
    "tiles": "the whole and overlapping tiles at once, and a vote (5 to 17 calls)",
    "reground": "once more in 1024 x 1024 px around the first guess (2 calls)",
    "narrow": "three rounds, each in half the sides around the last guess (3 calls)",
    "zoom": "the whole and its quarters, then twice closer; says how sure it is (7 calls)",
    "screenseeker": "a planner, candidate areas, votes and checks (2 to 40 calls, and the "
    "planner's); `screenseeker:MODEL` names the planner",
}


def make_search(text: str, connect: Callable[[str], ChatModel]) -> Search:
    """The search of this name; `connect` makes the model of a planner, as in
    `screenseeker:openai/gpt-4o`.
    """
    from uiproof.benchmarks.grounding.searches import simple
    from uiproof.benchmarks.grounding.searches.screenseeker import ScreenSeeker
    from uiproof.benchmarks.grounding.searches.zoom import Zoom

    name, colon, planner = text.partition(":")
    if name == "screenseeker" and bool(colon) == bool(planner):
        return ScreenSeeker(connect(planner) if planner else None)
    plain: Mapping[str, Callable[[], Search]] = {
        "none": simple.NoSearch,
        "fixed": simple.FixedCrops,
        "tiles": simple.Tiles,
        "reground": simple.Reground,
        "narrow": simple.Narrowing,
        "zoom": Zoom,
    }
    if text not in plain:
        names = ", ".join(SEARCHES)
        raise UsageError(
            f"There is no search {text!r}.",
            remedy=f"Use one of: {names}. Only screenseeker takes a planner: "
            "screenseeker:openai/gpt-4o.",
        )
    return plain[text]()
