"""The verdict: two judgements of one interaction, and what follows from both.

The rules compare pages closely, the guidelines by words and objects, whatever the layout. What
either of them calls usable is usable, unless a negative control fails; of two that find a failure
the guidelines name it. Where the two disagree, the verdict is `unsure`.
"""

from __future__ import annotations

from dataclasses import replace

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import rules
from uiproof.benchmarks.interaction2code.verifier.comparison import Features, features, observe
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.guidelines import Opinion, opinion


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    verdict = rules.verify(reference, generated)
    seen = observe(reference, generated) if reference.read is not None else None
    if seen is None:
        return verdict
    found = features(seen)
    return combine(verdict, found, opinion(found), lambda: rules.control(reference, generated))


def combine(verdict: Verdict, found: Features, said: Opinion, control: rules.Control) -> Verdict:
    """Return what follows from the verdict of the rules and the opinion of the guidelines.

    Usable is what either of them calls so, as long as the effect is the element's own; of two that
    find a failure the guidelines name it.
    """
    unsure = verdict.failure is not said.failure or verdict.usable != said.usable
    if verdict.usable or verdict.failure is Failure.NO_INTERACTION:
        return replace(verdict, unsure=unsure)
    if said.usable and (failed := control()) is not None:
        return failed
    if verdict.failure is said.failure and verdict.usable == said.usable:
        return verdict
    share = f"{said.presence:.0%} of the reference's effect is there"
    if found.came_recall >= 0:
        share += f", {found.came_recall:.0%} of its new words"
    return replace(
        verdict,
        implemented=said.failure not in (Failure.MISSING, Failure.NO_INTERACTION),
        usable=said.usable,
        failure=said.failure,
        evidence=(share, *verdict.evidence),
        confidence=const.CORRECTED,
        unsure=True,
    )
