"""How a model is asked, as one word on the command line: `mark`, `cot:all,T`, `direct:2x`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from uiproof.benchmarks.interaction2code.cases import Form
from uiproof.errors import UsageError

Inputs = Literal["V", "T", "V+T"]

PROMPTS: Mapping[str, str] = {
    "direct": "pictures before and after the interaction",
    "cot": "direct, thinking step by step (chain of thought)",
    "mark": "direct, with red boxes around the element and the effect",
    "failure-aware": "direct, with a warning of the ten ways in which others failed",
}
OPTIONS: Mapping[str, str] = {
    "all": "all interactions of a page at once; else one at a time",
    "rounds": "all of them, one per request, added to the page so far",
    "V, T or V+T": "pictures (default), words with the picture before, or both",
    "1x … 3x": "pictures cropped till the interaction takes so much more of them",
}
MOST_MAGNIFIED = 3.0  # as in Fig. 12 of the paper

_FACTOR = re.compile(r"(\d+(?:\.\d+)?)x")
_INPUTS: Mapping[str, Inputs] = {"v": "V", "t": "T", "v+t": "V+T", "t+v": "V+T"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """One of the `PROMPTS` with its options."""

    recipe: str
    rounds: bool = False  # one interaction per request, on top of the page so far
    form: Form = "single"
    inputs: Inputs = "V"
    magnification: float = 1.0

    @classmethod
    def named(cls, text: str) -> Prompt:
        """Read `recipe`, or `recipe:option,option` with the options in any order.

        Raises `UsageError` for what is unknown, said twice or does not go together.
        """
        recipe, colon, rest = text.partition(":")
        if recipe not in PROMPTS:
            raise UsageError(
                f"Interaction2Code has no prompt {recipe!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}.",
            )
        prompt, seen = cls(recipe), set[str]()
        options = [option.strip() for option in rest.split(",")] if colon else []
        for option in options:
            about, prompt = prompt._with(option, text)
            if about in seen:
                raise UsageError(
                    f"The prompt {text!r} says twice {about}.", remedy="Leave one of them away."
                )
            seen.add(about)
        if prompt.rounds and "single" in options:
            raise UsageError(
                f"The prompt {text!r} goes by rounds, which takes several interactions."
            )
        if prompt.rounds:
            prompt = replace(prompt, form="all")
        if prompt.form == "all" and prompt.magnification > 1:
            raise UsageError(
                f"The prompt {text!r} magnifies, which works for one interaction at a time.",
                remedy="Leave the magnification, or `all` and `rounds`, away.",
            )
        return prompt

    @property
    def name(self) -> str:
        """The one way to write it: options in a fixed order, those that are as usual left out."""
        options = (
            "rounds" if self.rounds else "all" if self.form == "all" else "",
            "" if self.inputs == "V" else self.inputs,
            f"{self.magnification:g}x" if self.magnification > 1 else "",
        )
        said = ",".join(filter(None, options))
        return f"{self.recipe}:{said}" if said else self.recipe

    def _with(self, option: str, text: str) -> tuple[str, Prompt]:
        """What an option is about, and the prompt with it."""
        if option in ("single", "all"):
            return "for how many interactions it is", replace(self, form=cast("Form", option))
        if option == "rounds":
            return "that it goes by rounds", replace(self, rounds=True)
        if option.lower() in _INPUTS:
            return "what is shown", replace(self, inputs=_INPUTS[option.lower()])
        if factor := _FACTOR.fullmatch(option):
            times = float(factor[1])
            if not 1 <= times <= MOST_MAGNIFIED:
                raise UsageError(
                    f"The prompt {text!r} magnifies {option}; it can be 1x to {MOST_MAGNIFIED:g}x."
                )
            return "how much is magnified", replace(self, magnification=times)
        raise UsageError(
            f"The prompt {text!r} has an unknown option {option!r}.",
            remedy="Options follow a colon, with commas between them, as in `mark:all,V+T`: "
            f"{'; '.join(f'{name} ({what})' for name, what in OPTIONS.items())}.",
        )
