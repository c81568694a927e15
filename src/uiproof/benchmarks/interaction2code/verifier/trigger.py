"""What is wrong with the element itself, given that its effect is broadly the reference's."""

from __future__ import annotations

from uiproof.benchmarks.interaction2code.verifier import identity
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.evidence import Verdict
from uiproof.benchmarks.interaction2code.verifier.telling import listed, name_of, verdict


def trigger_failure(case: Case) -> Verdict | None:
    """Another element (c, or a without an id), of another kind (d), at another place (e), or None.

    An element of another kind also has another size and look: that it stands where the reference's
    stood, and nothing that looks like that one is left, decides before anything else.
    """
    who, name = case.who, name_of(case.found)
    away = f"{name} is {who.shift[0]:+d},{who.shift[1]:+d} px from its place"
    if who.still_there:
        return verdict(
            "c", 0.85, f"{name} has the effect; the reference's element is another, and is there"
        )
    if not who.same_kind and not who.stranger and (who.near or who.at_place):
        kinds = f"{listed(who.kinds)}, not {listed(case.reference.tags)}"
        return verdict("d", 0.85, f"{name} is {kinds}")
    if not who.at_place:
        if who.same_element:
            return verdict("e", 0.85, away)
        if case.generated.found_by != "id":
            return verdict("a", 0.7, f"{away} and is another element")
        if not who.stranger:
            return verdict("e", 0.6, f"{away}, and no other is there; the reference has none here")
        return verdict("c", 0.8, f"{away} and neither looks nor reads like the reference's")
    if who.same_element:
        return None
    if case.generated.found_by != "id":
        # Nobody said that it is this one: something else flowed into the place of what is missing.
        return verdict("a", 0.6, f"only {name} is there, which looks and reads differently")
    if not who.on_place or who.stranger:
        return verdict("c", 0.7, f"{name} is near the place, but looks and reads differently")
    if _reads_differently(case):
        return verdict(
            "c", 0.6, f"{name} reads “{case.found.label[:40]}”, the reference's does not"
        )
    return None


def _reads_differently(case: Case) -> bool:
    theirs, mine = identity.trigger_text(case.reference), case.found.label
    return len(theirs.strip()) >= 2 and len(mine.strip()) >= 2
