"""The rules, from the features to one verdict; see `docs/interaction2code-verifier.md`.

Tables are read from top to bottom: the first rule that holds decides. A rule is named after its
condition: a feature, or one of `CONDITIONS`. Messages are templates of features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.features import Features


@dataclass(frozen=True, slots=True)
class Rule:
    """A failure, the condition under which it is one, and the message about it."""

    condition: str  # also its name: one of `CONDITIONS`, or a feature that is not empty
    failure: Failure
    confidence: float
    message: str | tuple[str, ...] = ()
    before: str = ""  # the feature with facts that come before the message
    after: str = ""  # and the one with facts that come after it

    def verdict(self, f: Features | None) -> Verdict:
        """Return the verdict on an interaction for which the rule holds."""
        templates = (self.message,) if isinstance(self.message, str) else self.message
        evidence = (
            *(getattr(f, self.before) if self.before else ()),
            *(one.format(f=f) for one in templates),
            *(getattr(f, self.after) if self.after else ()),
        )
        implemented = self.failure not in (Failure.MISSING, Failure.NO_INTERACTION)
        return Verdict(implemented, self.failure.usable, self.failure, evidence, self.confidence)


@dataclass(frozen=True, slots=True)
class Section:
    """Rules that only count under a condition."""

    condition: str
    rules: tuple[Rule | Section, ...]
    accepts: Callable[[Features, Failure], bool] = lambda _f, _failure: True


F = Failure
Table = tuple[Rule | Section, ...]
_effect = partial(Rule, before="effect_facts")
_nothing = partial(Rule, before="nothing_facts")

# Conditions that are not features by themselves; `f.trigger` is the identity of the element.
CONDITIONS: dict[str, Callable[[Features], object]] = {
    "always": lambda _: True,
    # the element
    "invisible": lambda f: not f.trigger.visible,
    "gone": lambda f: f.place_is_blank and not (f.trigger.same_look and f.trigger.same_kind),
    "is_a_guess": lambda f: not (f.trigger.by_id or f.trigger.same_kind or f.trigger.same_look),
    "unlike_without_id": lambda f: not (f.trigger.by_id or f.trigger.same_element),
    "still_there": lambda f: f.trigger.still_there,
    "other_kind": lambda f: (
        not (f.trigger.same_kind or f.trigger.stranger) and (f.trigger.near or f.trigger.at_place)
    ),
    "displaced": lambda f: not f.trigger.at_place,
    "same_elsewhere": lambda f: not f.trigger.at_place and f.trigger.same_element,
    "elsewhere_without_id": lambda f: not (f.trigger.at_place or f.trigger.by_id),
    "unknown_elsewhere": lambda f: not (f.trigger.at_place or f.trigger.stranger),
    "unlike_beside": lambda f: (
        not f.trigger.same_element and (f.trigger.stranger or not f.trigger.on_place)
    ),
    "other_text": lambda f: not f.trigger.same_element and f.both_have_texts,
    "replaced": lambda f: f.trigger.lost and (f.trigger.stranger or not f.trigger.at_place),
    "replaced_or_other_kind": lambda f: (
        f.trigger.lost and (f.trigger.stranger or not (f.trigger.at_place and f.trigger.same_kind))
    ),
    "certain": lambda f: f.trigger.same_element and f.trigger.at_place,
    # events
    "opens_something": lambda f: (
        f.outcome.events.dialogs or f.outcome.events.windows or f.outcome.events.downloads
    ),
    "wrong_destination": lambda f: f.destination and "new page" in f.reference.visuals,
    "leaves_page": lambda f: (
        "new page" not in f.wanted and f.goes_away and f.effect.right_share < const.MOSTLY
    ),
    # words
    "both_show_words": lambda f: f.effect.recall is not None and f.effect.precision is not None,
    "shows_some_words": lambda f: f.effect.shows_its_words and f.effect.recall,
    "lacks_words": lambda f: f.effect.lacks_words,
    "other_numbers": lambda f: f.effect.other_numbers,
    "opposite_numbers": lambda f: f.action == "drag" and f.effect.opposite_numbers,
    # A window hides the numbers that it covers, and does not replace them.
    "stale_number": lambda f: f.action != "drag" and not f.covers_page and f.effect.stale_number,
    "new_words_misplaced": lambda f: (
        all(one.is_new for one in f.wrong) and not f.effect.lacks_words and f.misplaced
    ),
    "parts_misplaced": lambda f: f.lacks_parts and f.effect.same and f.misplaced,
    "looks_like_its_texts": lambda f: f.text_counts[0] and not f.text_counts[1],
    # the kind of change
    "only_hides": lambda f: f.effect.only_hides,
    "hides_as_reference": lambda f: f.effect.recall is not None and f.effect.removes_its_words,
    "reference_shows": lambda f: f.effect.recall is not None or not f.reference_hides,
    "hides_other_texts": lambda f: f.effect.removes_words and not f.effect.removes_its_words,
    "other_visual_kind": lambda f: f.wanted and not f.same_visual_kind,
    "wordless_of_other_kind": lambda f: (
        f.wanted and not f.same_visual_kind and not f.effect.recall and not f.effect.precision
    ),
    "shrinks_instead": lambda f: any(map(f.effect.shrinks_instead, f.effect.changes)),
    "unlike_in_kind_or_all": lambda f: not f.same_visual_kind or not f.wrong,
    "only_recolours": lambda f: f.effect.only_recolours,
    "only_empties": lambda f: f.wrong and f.effect.only_empties,
    "mostly_right_without_words": lambda f: (
        f.effect.right_share >= const.MOSTLY
        and not any(any(one.texts) or "moved" in one.kinds for one in f.effect.changes)
    ),
    "wordless_and_different": lambda f: (
        f.effect.recall is None
        and f.effect.precision is None
        and f.wrong
        and f.effect.right_share < const.BROADLY
    ),
    # the place of the change
    "nothing_right": lambda f: not f.right,
    "words_without_frame": lambda f: (
        f.effect.same and all(map(f.effect.within_the_new, f.elsewhere))
    ),
    "moved_up": lambda f: (
        f.effect.shows_its_words
        and f.effect.lacks_words
        and all(map(f.effect.closed_a_gap, f.elsewhere))
    ),
    "all_elsewhere": lambda f: not f.right or not f.wrong,
    "other_words_elsewhere": lambda f: f.elsewhere and not f.its_words_elsewhere,
    "fades_others": lambda f: f.right and any(map(f.effect.faded, f.effect.having("extra"))),
    "shows_more": lambda f: any(one.is_new and any(one.texts) for one in f.effect.having("extra")),
}
_AWAY = "{f.name} is {f.trigger.shift[0]:+d},{f.trigger.shift[1]:+d} px from its place"

NOT_FOUND = Rule(
    "nothing_found",
    F.MISSING,
    0.95,
    "no element with the id, and nothing like it at its place",
)
MISSING: Table = (
    Rule("invisible", F.MISSING, 0.95, "{f.name} is there, but cannot be seen"),
    Rule("gone", F.MISSING, 0.8, "only {f.name} is left at the reference's place"),
    Rule("is_a_guess", F.MISSING, 0.7, "only {f.name} is there, which is {f.trigger.kinds}"),
)

# Acting has no visible effect.
NOTHING: Table = (
    _nothing("opens_something", F.EFFECT_TYPE, 0.85, after="opened"),
    _nothing("wrong_destination", F.WRONG_FUNCTION, 0.6, "it wants to go to {f.destination}"),
    _nothing("destination", F.EFFECT_TYPE, 0.6, "it wants to go to {f.destination}"),
    _nothing(
        "unlike_without_id",
        F.MISSING,
        0.7,
        "nothing on the page looks or reads like the element of the reference",
    ),
    _nothing(
        "works_otherwise",
        F.WRONG_TYPE,
        0.7,
        "it is {f.trigger.kinds}, not {f.tags}, and {f.works_otherwise}",
    ),
    _nothing(
        "replaced_or_other_kind",
        F.MISSING,
        0.6,
        "it is another element, and the reference's is not on the page",
    ),
    _nothing(
        "other_that_works",
        F.WRONG_ELEMENT,
        0.75,
        ("{f.no_listener}", "{f.other_that_works} has the effect instead"),
    ),
    _nothing("no_listener", F.NO_INTERACTION, 0.9, "{f.no_listener}"),
    _nothing("always", F.NO_INTERACTION, 0.9),
)

# The element, given that its effect is broadly the reference's. An element of another kind also has
# another size and look: that decides before its place, unless the reference has it too.
TRIGGER: Table = (
    Rule(
        "still_there",
        F.WRONG_ELEMENT,
        0.85,
        "{f.name} has the effect; the reference's element is another, and is there",
    ),
    Rule("other_kind", F.WRONG_TYPE, 0.85, "{f.name} is {f.trigger.kinds}, not {f.tags}"),
    Rule("same_elsewhere", F.WRONG_POSITION, 0.85, _AWAY),
    Rule("elsewhere_without_id", F.MISSING, 0.7, _AWAY + " and is another element"),
    Rule(
        "unknown_elsewhere",
        F.WRONG_POSITION,
        0.6,
        _AWAY + ", and no other is there; the reference has none here",
    ),
    Rule(
        "displaced",
        F.WRONG_ELEMENT,
        0.8,
        _AWAY + " and neither looks nor reads like the reference's",
    ),
    Rule(
        # Something else may have flowed into the place of the missing element.
        "unlike_without_id",
        F.MISSING,
        0.6,
        "only {f.name} is there, which looks and reads differently",
    ),
    Rule(
        "unlike_beside",
        F.WRONG_ELEMENT,
        0.7,
        "{f.name} is near the place, but looks and reads differently",
    ),
    Rule(
        "other_text",
        F.WRONG_ELEMENT,
        0.6,
        "{f.name} reads “{f.found.label:.40}”, the reference's does not",
    ),
)

# The effect is the reference's.
COMPLETE: Table = (
    Rule(
        "pointing_is_enough",
        F.NO_INTERACTION,
        0.7,
        "pointing at {f.name} has the effect already; clicking adds none",
    ),
    *TRIGGER,
    Rule(
        "does_not_go_back",
        F.PARTIAL,
        0.75,
        ("{f.likeness}", "acting on {f.name} again does not undo it"),
    ),
    Rule("certain", F.NONE, 0.95, "{f.doing}: {f.likeness}", after="found_otherwise"),
    Rule("always", F.NONE, 0.7, "{f.doing}: {f.likeness}", after="found_otherwise"),
)

HIDING: Table = (
    _effect(
        "hides_as_reference",
        F.PARTIAL,
        0.7,
        "what the reference hides is gone; what it shows is not",
    ),
    _effect(
        "reference_shows",
        F.WRONG_FUNCTION,
        0.7,
        "it hides something and the reference shows something",
    ),
    _effect("hides_other_texts", F.WRONG_FUNCTION, 0.6, "it hides what the reference leaves"),
)

DISPLACED: Table = (
    _effect(
        "changed_instead",
        F.EFFECT_TARGET,
        0.75,
        "it is on {f.changed_instead}, which the reference leaves",
    ),
    _effect(
        "words_without_frame", F.PARTIAL, 0.6, "the words are there, what was around them is not"
    ),
    _effect("moved_up", F.PARTIAL, 0.6, "the rest is missing, and what is there moved up"),
    _effect("all_elsewhere", F.EFFECT_POSITION, 0.85, "{f.farthest}"),
)

ITSELF: Table = (
    _effect(
        "shrinks_instead", F.WRONG_FUNCTION, 0.7, "it becomes smaller, and the reference's larger"
    ),
    _effect("unlike_in_kind_or_all", F.EFFECT_TYPE, 0.7, "only the element itself changes"),
)

# Other content where the reference changes: less of it, or not it at all?
CONTENT: Table = (
    Section(
        "both_show_words",
        (
            _effect("other_numbers", F.WRONG_FUNCTION, 0.7, "and it says another number"),
            _effect("shows_some_words", F.PARTIAL, 0.7),
            _effect(
                "new_words_misplaced",
                F.EFFECT_POSITION,
                0.6,
                "“{f.misplaced}” is there, at another place",
            ),
        ),
    ),
    # Misread words may look the same all the same.
    _effect(
        "looks_like_its_texts",
        F.PARTIAL,
        0.6,
        "{f.text_counts[0]} of its texts are in the reference",
    ),
    _effect(
        "always", F.WRONG_FUNCTION, 0.6, "{f.text_counts[1]} of its texts are not in the reference"
    ),
)

NOTHING_RIGHT: Table = (
    Section("shows_some_words", CONTENT),
    _effect("other_visual_kind", F.EFFECT_TYPE, 0.8, "{f.visual_kinds}"),
    _effect("recolours_alike", F.PARTIAL, 0.6, "only the colours are the reference's"),
    _effect(
        "only_recolours", F.EFFECT_TYPE, 0.7, "it shows and hides nothing, it only looks different"
    ),
    _effect(
        "mostly_right_without_words", F.PARTIAL, 0.6, "it says nothing, and else is mostly right"
    ),
    _effect("only_empties", F.PARTIAL, 0.6, "what the reference replaces is gone, no more"),
    Section("wrong", CONTENT),
    _effect("always", F.WRONG_FUNCTION, 0.65),
)

PARTLY_RIGHT: Table = (
    _effect(
        "is_small_part", F.EFFECT_TARGET, 0.5, "which is only a small part of what should change"
    ),
    _effect("lacks_words", F.PARTIAL, 0.8, "the rest is missing"),
    _effect("stale_number", F.PARTIAL, 0.7, "a number stays that the reference replaces"),
    _effect("wordless_and_different", F.WRONG_FUNCTION, 0.5, "most of it looks different"),
    _effect(
        "parts_misplaced", F.EFFECT_POSITION, 0.6, "“{f.misplaced}” is there, at another place"
    ),
    _effect("lacks_parts", F.PARTIAL, 0.8, "the rest of the reference's change is missing"),
    _effect(
        "shows_more", F.WRONG_FUNCTION, 0.5, "and it shows something that the reference does not"
    ),
)

# The effect is not the reference's.
EFFECT: Table = (
    _effect("unlike_without_id", F.MISSING, 0.7, "and it is not the reference's element"),
    Section("always", TRIGGER, accepts=Features.blames_trigger),
    _effect(
        "works_otherwise", F.WRONG_TYPE, 0.6, "it is {f.trigger.kinds}, and {f.works_otherwise}"
    ),
    _effect(
        "opposite_numbers",
        F.WRONG_FUNCTION,
        0.7,
        "its number falls where the reference's rises, or rises",
    ),
    Rule("is_all_there", F.NONE, 0.95),
    _effect("replaced", F.MISSING, 0.5, "it is another element; the reference's is not there"),
    _effect("leaves_page", F.EFFECT_TYPE, 0.8, "it goes to another page or opens a window"),
    Section("only_hides", HIDING),
    _effect(
        "dragged_instead",
        F.EFFECT_TARGET,
        0.75,
        "{f.dragged_instead} moves, which the reference leaves",
    ),
    Section("its_words_elsewhere", DISPLACED),
    Section("only_on_itself", ITSELF),
    _effect(
        "changed_peer", F.EFFECT_TARGET, 0.7, "it is on {f.changed_peer}, which is another one"
    ),
    _effect("fades_others", F.WRONG_FUNCTION, 0.6, "it fades or marks others than the reference"),
    _effect("hides_others", F.WRONG_FUNCTION, 0.6, "it hides what the reference leaves"),
    _effect(
        "changes_others",
        F.EFFECT_TARGET,
        0.7,
        "the change is on {f.changes_others}, which the reference leaves",
    ),
    _effect(
        "owning_peer", F.EFFECT_TARGET, 0.6, "it belongs to {f.owning_peer}, not to the reference's"
    ),
    Section("nothing_right", NOTHING_RIGHT),
    Section("shows_other_words", CONTENT),
    _effect("wordless_of_other_kind", F.EFFECT_TYPE, 0.7, "{f.visual_kinds}"),
    _effect("other_words_elsewhere", F.WRONG_FUNCTION, 0.6, "and else it says something else"),
    *PARTLY_RIGHT,
)

# Negative controls of interactions that would be usable.
CONTROLS: Table = (
    Rule(
        "shown_before", F.NO_INTERACTION, 0.8, "the page shows the effect before anything is done"
    ),
    Rule("works_elsewhere", F.NO_INTERACTION, 0.8, "{f.works_elsewhere} has the effect too"),
)


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    f = Features.of(reference, generated)
    if f is None:
        return NOT_FOUND.verdict(None)
    if rule := first(MISSING, f):
        return rule.verdict(f)
    verdict = _judge(f)
    if not verdict.usable:
        return verdict
    if f.shows_none_of_the_words:
        fact = "of the words that the reference shows none can be seen"
        return replace(verdict, usable=False, evidence=(*verdict.evidence, fact))
    rule = first(CONTROLS, f)
    return verdict if rule is None else rule.verdict(f)


Control = Callable[[], Verdict | None]


def control(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict | None:
    """Return the verdict on an effect that is not the element's doing, else None."""
    f = Features.of(reference, generated)
    rule = None if f is None else first(CONTROLS, f)
    return None if rule is None else rule.verdict(f)


def _judge(f: Features) -> Verdict:
    """Return the verdict by the look of the element and the effect of acting on it."""
    rule: Rule | None = None
    if not f.complete_at_once:
        f = f.without_approach()
        if f.nothing_happened:
            rule = first(NOTHING, f)
        elif not f.assessed.complete:
            rule = first(EFFECT, f)
            if rule is None or rule.failure is Failure.NONE:
                rule = None
                shared = "what the page shares with the reference looks the same afterwards"
                f = replace(f, likeness=shared)
    rule = rule or first(COMPLETE, f)
    assert rule is not None, "the last rule holds always"
    return rule.verdict(f)


def first(table: Table, f: Features) -> Rule | None:
    """Return the first rule that holds."""
    for one in table:
        condition = CONDITIONS.get(one.condition)
        if not (condition(f) if condition else getattr(f, one.condition)):
            continue
        if isinstance(one, Rule):
            return one
        rule = first(one.rules, f)
        if rule is not None and one.accepts(f, rule.failure):
            return rule
    return None
