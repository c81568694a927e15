"""The rules, from the evidence to one verdict; see `docs/interaction2code-verifier.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uiproof.benchmarks.interaction2code.verifier import identity, looks
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.contents import says_nothing
from uiproof.benchmarks.interaction2code.verifier.controls import not_caused
from uiproof.benchmarks.interaction2code.verifier.differences import incomplete
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.scene import build
from uiproof.benchmarks.interaction2code.verifier.telling import DOING, listed, name_of, verdict
from uiproof.benchmarks.interaction2code.verifier.trigger import trigger_failure


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    found, outcome = generated.found, generated.outcome
    if found is None or outcome is None:
        return verdict("a", 0.95, "no element with the id, and nothing like it at its place")
    scene = build(reference, generated, outcome)
    who = identity.identify(reference, generated, found, close=scene.close, alike=scene.alike)
    if not who.visible:
        return verdict("a", 0.95, f"{name_of(found)} is there, but cannot be seen")
    if identity.is_gone(reference, generated, found) and not (who.same_look and who.same_kind):
        return verdict("a", 0.8, f"only {name_of(found)} is left at the reference's place")
    if generated.found_by != "id" and not who.same_kind and not who.same_look:
        return verdict("a", 0.7, f"only {name_of(found)} is there, which is {listed(who.kinds)}")
    case = Case(reference, generated, found, outcome, scene, who)
    decided = _decide(case)
    if not decided.usable:
        return decided
    if says_nothing(case):
        fact = "of the words that the reference shows none can be seen"
        return replace(decided, usable=False, evidence=(*decided.evidence, fact))
    return not_caused(case) or decided


def _decide(case: Case) -> Verdict:
    """The verdict by what the element looks like and what acting on it changed."""
    assessed = case.assess(closely=False)
    if assessed.complete and looks.clusters(case.scene.changed, least=4):
        return _complete(case, "the page looks as the reference does afterwards")
    case = case.without_approach()
    if case.nothing_happened():
        return _nothing(case)
    assessed = case.assess()
    if assessed.complete:
        return _complete(case, "the page looks as the reference does afterwards")
    return incomplete(case, assessed) or _complete(
        case, "what the page shares with the reference looks the same afterwards"
    )


# --- nothing to be seen


def _nothing(case: Case) -> Verdict:
    events, refused = case.outcome.events, case.outcome.refused
    done = f"{DOING[case.reference.action.kind]} {name_of(case.found)}"
    mutations = sum(events.mutations.values())
    facts = [f"{done} changed nothing that can be seen: {mutations} mutations"]
    if refused:
        facts.append(f"it could not be done: {refused}")
    facts += [f"a script failed: {one}" for one in events.errors[:2]]
    if events.dialogs or events.windows or events.downloads:
        facts += [f"it opened: {one}" for one in (*events.dialogs, *events.windows)[:2]]
        return verdict("g", 0.85, *facts, seen=True)
    if events.navigations and not events.navigations[0].split("#")[0].endswith(
        case.generated.snapshot.url.split("#")[0]
    ):
        facts.append(f"it wants to go to {events.navigations[0]}")
        new_page = "new page" in case.reference.visuals
        return verdict("j" if new_page else "g", 0.6, *facts, seen=True)
    who = case.who
    if case.generated.found_by != "id" and not who.same_element:
        facts.append("nothing on the page looks or reads like the element of the reference")
        return verdict("a", 0.7, *facts)
    if not who.same_kind and who.near and (way := case.works_otherwise()):
        facts.append(f"it is {listed(who.kinds)}, not {listed(case.reference.tags)}, and {way}")
        return verdict("d", 0.7, *facts, seen=True)
    strange = who.stranger or not (who.at_place and who.same_kind)
    if strange and not who.same_element and not who.still_there:
        facts.append("it is another element, and the reference's is not on the page")
        return verdict("a", 0.6, *facts)
    if not any(case.listens(one, case.reference.action.kind) for one in case.around(case.found)):
        facts.append("it listens to nothing that this would cause")
        other = case.other_that_works()
        if other is not None:
            facts.append(f"{name_of(other)} has the effect instead")
            return verdict("c", 0.75, *facts, seen=True)
    return verdict("b", 0.9, *facts)


# --- the reference's effect


def _complete(case: Case, fact: str) -> Verdict:
    who = case.who
    name = name_of(case.found)
    if case.pointing_is_enough():
        return verdict("b", 0.7, f"pointing at {name} has the effect already; clicking adds none")
    if failure := trigger_failure(case):
        return failure
    if case.does_not_go_back():
        return verdict("i", 0.75, fact, f"acting on {name} again does not undo it")
    sure = 0.95 if who.same_element and who.at_place else 0.7
    return verdict(
        "none", sure, f"{DOING[case.reference.action.kind]} {name}: {fact}", *_extras(case)
    )


def _extras(case: Case) -> Sequence[str]:
    if case.generated.found_by != "id":
        return [f"it was found by its {case.generated.found_by}, not by its id"]
    return []
