"""What is written down about an interaction besides its scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from uiproof.benchmarks.interaction2code.cases import Answer, Truth
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.playing import Act
from uiproof.benchmarks.interaction2code.judging.reference import Reference
from uiproof.benchmarks.interaction2code.judging.scoring import Changed
from uiproof.benchmarks.interaction2code.judging.sequences import Played, path_to
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Verdict
from uiproof.boxes import PixelBox


@dataclass(frozen=True, slots=True)
class Round:
    """One interaction on a generated page."""

    act: Act
    noise: Mask | None
    verdict: Verdict
    way: Played | None  # how the interactions went that lead to it
    flags: tuple[str, ...]


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as journals and `--json` have it."""
    return {**asdict(verdict), "evidence": list(verdict.evidence)}


def facts(truth: Truth) -> dict[str, Any]:
    """What tables group interactions by."""
    interaction = truth.interaction
    return {
        "page": truth.graph.page,
        "interaction": interaction.id,
        "topic": truth.graph.topic,
        "action": {"kind": interaction.action.kind, "value": interaction.action.value},
        "sentence": interaction.sentence,
        "tags": list(interaction.tags),
        "visuals": list(interaction.visuals),
    }


def reference_as_json(reference: Reference) -> dict[str, Any]:
    """The reference side, in CSS pixels."""
    return {
        "size": list(reference.size),
        "scale": reference.scale,
        "trigger": _edges(reference.trigger),
        "effect": _edges(reference.effect),
        "region": _edges(reference.box),
        "parts": [_edges(part) for part in reference.parts],
    }


def generated_as_json(played: Round, ours: Changed) -> dict[str, Any]:
    """The generated side, in CSS pixels."""
    found = played.act.found
    picture = played.act.before.picture
    return {
        "size": [picture.shape[1], picture.shape[0]],
        "trigger": _edges(found.element.box) if found else None,
        "region": _edges(ours.box),
        "parts": [_edges(part) for part in ours.parts],
        "found": found.by if found else None,
        "element": f"<{found.element.tag}> {found.element.label[:80]}".strip() if found else None,
    }


def sequence_as_json(
    graph: Graph, interaction: Interaction, answer: Answer, played: Round
) -> dict[str, Any]:
    """How a path went, on the case of its last interaction."""
    path = path_to(graph, interaction) if answer.form == "all" else None
    if path is None or played.way is None:
        return {}
    edges = tuple(one.id for one in path)
    if played.way.done < played.way.steps:
        whole = Played(edges, played.way.done, played.way.stopped)
    elif played.verdict.usable:
        whole = Played(edges, len(edges))
    else:
        reason = (*played.verdict.evidence, f"failure {played.verdict.failure}")[0]
        whole = Played(edges, len(edges) - 1, f"{interaction.id}: {reason}")
    return {"sequence": whole.as_json()}


def flags_of(reference: Reference, played: Round, ours: Changed) -> tuple[str, ...]:
    """What was unusual on either side."""
    flags = [f"reference:{flag}" for flag in reference.flags]
    flags += [f"generated:{flag}" for flag in played.flags]
    done = played.act
    if done.found is not None and done.found.by != "id":
        flags.append(f"generated:found_by_{done.found.by}")
    if done.found is not None and done.after is None:
        flags.append("generated:trigger_invisible")
    if done.outcome is not None and done.outcome.refused:
        flags.append("generated:act_refused")
    if done.action is not None:
        flags.append(f"generated:acted_by_{done.action.kind}")
    if played.noise is not None:
        flags.append("generated:restless")
    if played.way is not None and played.way.done < played.way.steps:
        flags.append("generated:way_broken")
    if played.verdict.implemented and ours.box is None:
        flags.append("generated:no_visible_change")
    return tuple(flags)


def _edges(box: PixelBox | None) -> list[int] | None:
    return None if box is None else [box.left, box.top, box.right, box.bottom]
