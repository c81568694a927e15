"""The verdict on one interaction: observation, assignment, features, probabilities, controls."""

from __future__ import annotations

from uiproof.benchmarks.interaction2code.failures import FAILURES, Failure
from uiproof.benchmarks.interaction2code.verifier.assignment import Assignment, assign
from uiproof.benchmarks.interaction2code.verifier.controls import (
    DOING,
    SHOWN_BEFORE,
    objection,
    shown_before,
    stuck,
)
from uiproof.benchmarks.interaction2code.verifier.element import name_of
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.features import Features, features
from uiproof.benchmarks.interaction2code.verifier.model import Probabilities, probabilities
from uiproof.benchmarks.interaction2code.verifier.observation import Observation, observe

NOTHING_KNOWN = "the reference shows neither the place nor the name of the element"
STUCK = "what it opens cannot be closed by its own controls"
NOTHING_FOUND = "no element with the id, and nothing like it at its place"


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    seen = observe(reference, generated)
    if seen is None:
        unseen = generated.found is not None
        fact = f"{name_of(generated.found)} is there, but cannot be seen"
        if not unseen and reference.trigger is None and not reference.name:
            # An icon, say: that it was not found says little about the page.
            return Verdict(False, False, Failure.MISSING, (NOTHING_KNOWN,), 0.5, unsure=True)
        return Verdict(False, False, Failure.MISSING, (fact if unseen else NOTHING_FOUND,), 0.95)
    assigned = assign(seen)
    found = features(seen, assigned)
    likely = probabilities(found)
    acted = likely.failure not in (Failure.MISSING, Failure.WRONG_ELEMENT)
    reason = SHOWN_BEFORE if acted and shown_before(seen) else None
    if reason is None and likely.is_usable:
        reason = objection(seen)
    if reason is not None:
        return Verdict(False, False, Failure.NO_INTERACTION, (reason,), 0.9, usable_probability=0.1)
    if likely.is_usable and stuck(seen):
        return Verdict(True, False, Failure.PARTIAL, (STUCK,), 0.8, usable_probability=0.2)
    return Verdict(
        implemented=likely.failure not in (Failure.MISSING, Failure.NO_INTERACTION),
        usable=likely.is_usable,
        failure=likely.failure,
        evidence=tuple(_facts(seen, assigned, found, likely)),
        confidence=round(dict(likely.ranked).get(likely.failure, 0.0), 3),
        unsure=likely.unsure,
        usable_probability=round(likely.usable, 3),
        ranked=tuple((failure, round(share, 3)) for failure, share in likely.ranked),
        differences=() if likely.failure is Failure.NONE else assigned.differences(),
    )


def _facts(o: Observation, assigned: Assignment, f: Features, likely: Probabilities) -> list[str]:
    """Return what led to a verdict, in words."""
    doing = f"{DOING[o.reference.action.kind]} {name_of(o.found)}"
    if not o.mine.changed.any():
        mutations = sum(o.outcome.events.mutations.values())
        facts = [f"{doing} changed nothing that can be seen: {mutations} mutations"]
    else:
        facts = [f"{doing}: {f.present:.0%} of the reference's effect is there"]
        if f.came_recall >= 0:
            facts.append(f"{f.came_recall:.0%} of the reference's new words are there")
    if o.outcome.refused:
        facts.append(f"it could not be done: {o.outcome.refused}")
    facts += [f"a script failed: {one}" for one in o.outcome.events.errors[:1]]
    events = o.outcome.events
    facts += [f"it opened: {one}" for one in (*events.dialogs, *events.windows)[:2]]
    if o.generated.found_by not in (None, "id"):
        facts.append(f"it was found by its {o.generated.found_by}, not by its id")
    if likely.failure is not Failure.NONE:
        facts += [one.says for one in assigned.differences(3)]
    if likely.unsure and len(likely.ranked) > 1:
        names = (FAILURES.get(one.value, "works") for one, _ in likely.ranked[:2])
        facts.append(f"unsure: {' or '.join(names)}")
    return facts
